"""Paragraphs and lines of Markdown as HTML."""

import re

NOTES = ("†", "‡", "≈", "<i>")
"""What a paragraph begins with that explains a mark, or says little."""


def inline(text: str) -> str:
    """A line: bold, italics, links and code."""
    text = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", text, flags=re.S)
    text = re.sub(r"\*(?!\s)([^*\n]+?)\*", r"<i>\1</i>", text)
    text = re.sub(r"\[([^\]\n]+)\]\((https?:[^)\s]+)\)", r'<a href="\2">\1</a>', text)
    text = re.sub(r"\[([^\]\n]+)\]\(([^)\s]+)\)", r"\1 (<code>\2</code>)", text)
    return re.sub(r"`([^`\n]+)`", r"<code>\1</code>", text)


def paragraph(part: str) -> str:
    """A paragraph, a list, or what is HTML already."""
    if re.match(r"<(table|div|figure|svg|section)", part):
        return part
    part = inline(part)
    if part.startswith("- "):
        items = re.split(r"^- ", part, flags=re.M)[1:]
        return f"<ul>{''.join(f'<li>{each.strip()}</li>' for each in items)}</ul>"
    note = ' class="note"' if part.startswith(NOTES) else ""
    return f"<p{note}>{part}</p>"
