"""Parts of pages: templates, forms, tables, charts, and the stream that keeps them live."""
