"""Page parts: templates, forms, tables, charts, and the stream that keeps them live."""
