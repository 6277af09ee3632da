"""What pages are made of: templates, forms, tables, charts, and the stream that keeps them live."""
