"""The report of a run: one self-contained file, HTML or Markdown, made from its documents."""
