"""The report: its overview, and the whole as Markdown and HTML."""
