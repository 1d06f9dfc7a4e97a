"""The report: its overview, and the complete text as Markdown and HTML."""
