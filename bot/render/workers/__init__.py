"""Worker processes of the renderer: what people push is parsed and rendered in them alone."""
