"""The report: its opening, and the complete text as Markdown and HTML."""
