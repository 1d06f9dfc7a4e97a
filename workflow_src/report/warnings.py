"""Warnings of many cases as one line per kind, with the worst case's figures."""

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from workflow_src.answers.evidence import Row


@dataclass(frozen=True)
class Kind:
    """A kind of warning, as tables/case_tables.py words it.

    pattern: its text, with the figures as groups; severity: what of them is largest in the worst
    case; text: what is said of several cases.
    """

    pattern: str
    severity: Callable[..., float]
    text: str

    def badness(self, warning: str) -> float | None:
        """How bad a warning of this kind is; None for one of another kind."""
        found = re.fullmatch(self.pattern, warning)
        return self.severity(*map(float, found.groups())) if found else None


HOST_CHANGED = Kind(
    r"the host's speed changed \([^()]* took ([\d.]+) us before, ([\d.]+) us after\)",
    lambda before, after: max(before, after) / (min(before, after) or math.inf),
    "the host's speed changed during {count} cases{checked}, most in {worst} "
    "({figures}): times that depend on the host can't be compared with those of other cases",
)
SHARED = Kind(
    r"device shared with (\d+) other process(?:es)?",
    lambda others: others,
    "the device was shared while {count} cases were measured, most in {worst} ({figures})",
)
BUSY = Kind(
    r"busy \(load ([\d.]+) on (\d+) cores\)",
    lambda load, cores: load / cores,
    "the machine was busy while {count} cases were measured, most in {worst} ({figures})",
)
KINDS = (HOST_CHANGED, SHARED, BUSY)


def grouped(warnings: Iterable[tuple[str, str]], checked: str = "") -> list[Row]:
    """A row per kind of warning, given (case, its warnings joined by "; ").

    checked: of how many cases the host's speed is known, where it isn't of all. "text" is said of
    "cases". "told" is whether it names their number and the worst of them itself.
    """
    found: dict[str, list[tuple[float, str, str]]] = {}
    for case, texts in warnings:
        for text in texts.split("; "):
            kind, bad = _kind_of(text)
            found.setdefault(kind, []).append((bad, case, text))
    return [_row(kind, given, checked) for kind, given in found.items()]


def _kind_of(text: str) -> tuple[str, float]:
    for kind in KINDS:
        if (bad := kind.badness(text)) is not None:
            return kind.text, bad
    return text, 0.0


def _row(kind: str, given: list[tuple[float, str, str]], checked: str) -> Row:
    cases = list(dict.fromkeys(case for _, case, _ in given))
    if len(cases) == 1 or len({text for _, _, text in given}) == 1:
        texts = dict.fromkeys(text for _, _, text in given)
        return {"text": "; ".join(texts), "cases": cases, "told": False}
    _, worst, text = max(given, key=lambda each: each[0])
    figures = text.partition("(")[2].rstrip(")") or text.partition("with ")[2]
    said = kind.format(count=len(cases), checked=checked, worst=worst, figures=figures)
    return {"text": said, "cases": cases, "told": True}
