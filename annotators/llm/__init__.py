"""An annotator that asks a language model: any endpoint of OpenAI's form, names and quotes only."""
