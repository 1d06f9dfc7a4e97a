"""Values in Markdown."""

import html
import re
from typing import Any

from workflow_src.common.printable import printable


def number(value: float) -> str:
    """Three significant digits: 1,234 12.3 0.0123."""
    if value == 0:
        return "0"
    text = f"{value:,.0f}" if abs(value) >= 99.95 else f"{value:#.3g}"
    return text.rstrip(".")


def significant(value: float, digits: int) -> str:
    """So many significant digits: 130, 3.6."""
    rounded = float(f"{value:.{digits - 1}e}")
    if value == 0 or abs(rounded) >= 10 ** (digits - 1):
        return f"{rounded:,.0f}"
    return f"{rounded:#.{digits}g}"


def literal(value: Any) -> str:
    """Text as one line that can be printed."""
    return printable(re.sub(r"\s+", " ", str(value)))


def escape(value: Any) -> str:
    """Text that Markdown and HTML show literally, in sentences and table cells."""
    text = html.escape(literal(value), quote=False).replace("|", "&#124;")
    text = re.sub(r"([\\`*\[\]])", r"\\\1", text)
    return re.sub(r"(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])", r"\\_", text)
