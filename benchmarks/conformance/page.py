"""docs/conformance.md: fixed text, and tables of the results."""

import math
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks.conformance.planted import HEADS, planted_tables
from benchmarks.conformance.run import OTHER_FORMAT, Result
from benchmarks.conformance.score import Score
from benchmarks.conformance.tools import OURS, PROJ, PUSHPOP, TOOLS

TEXT = Path(__file__).with_name("page.md")
HOST_ONLY, UNKNOWN, REFUSED = "host time", "-", "can't read"


def page(results: Sequence[Result], about: dict[str, str]) -> str:
    """The page as Markdown."""
    kinds = dict.fromkeys(result.trace.kind for result in results)
    by_kind = []
    for kind in kinds:
        rows = [result for result in results if result.trace.kind == kind]
        by_kind.append(f"### {kind[0].upper() + kind[1:]}\n\n{right_table(rows)}")
    slots = {
        "ABOUT": table(["what", "which"], [[name, value] for name, value in about.items()]),
        "SUMMARY": summary(results),
        "SHARED": shared(results),
        "WRONG": wrong(results),
        "REFUSED": refusals(results),
        "BY_KIND": "\n\n".join(by_kind),
        "TOLD": told_table(results),
        "COUNT": str(len(results)),
        **planted_slots(),
    }
    text = TEXT.read_text(encoding="utf-8")
    for name, value in slots.items():
        text = text.replace(f"@{name}@", value)
    return text


def planted_slots() -> dict[str, str]:
    """The tables of planted faults."""
    totals, rows = planted_tables()
    heads = ["tool", "faults named", "clean programs in which it claims a cause"]
    return {
        "PLANTED_TOTALS": table(heads, totals),
        "PLANTED": table(["fault", "costs, ms", "of a step", *HEADS.values()], rows),
    }


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def share(value: float | None) -> str:
    """A share in percent; "100 %" only if it is all."""
    if value is None:
        return UNKNOWN
    return "100 %" if value == 1 else f"{math.floor(value * 1000) / 10:.1f} %"


def summary(results: Sequence[Result]) -> str:
    """A row per tool, over the traces that it reads."""
    rows = []
    for tool in TOOLS:
        scores = [r.scores[tool] for r in results if not r.scores[tool].refused]
        right = [s.right for s in scores if s.right is not None]
        attributed = [s.attributed for s in scores if s.attributed is not None]
        told = [s.told for s in scores if s.told is not None]
        rows.append(
            [
                tool,
                str(len(scores)),
                share(median(right)) if right else UNKNOWN,
                share(min(right)) if right else UNKNOWN,
                f"{sum(value == 1 for value in right)} of {len(right)}" if right else UNKNOWN,
                share(median(attributed)) if attributed else UNKNOWN,
                f"{sum(told)} of {len(told)}" if told else UNKNOWN,
                spread([s.seconds for s in scores], ".2f"),
                spread([s.peak_mb for s in scores], ".0f"),
            ]
        )
    head = ["tool", "traces read", "right: median", "right: worst", "wholly right"]
    more = ["in any range: median", "losses told", "seconds: median, worst", "MB: median, worst"]
    return table([*head, *more], rows)


def spread(values: Sequence[float], form: str) -> str:
    """The median and the worst of some values."""
    return f"{median(values):{form}}, {max(values):{form}}" if values else UNKNOWN


def shared(results: Sequence[Result]) -> str:
    """This project against each other tool, on the traces that both are judged by."""
    rows = []
    for tool in TOOLS[1:]:
        pairs = [
            (ours, other)
            for r in results
            if (ours := r.scores[OURS].right) is not None
            and (other := r.scores[tool].right) is not None
        ]
        if not pairs:
            continue
        better, worse = (sum(sign * (a - b) > 0 for a, b in pairs) for sign in (1, -1))
        rows.append([tool, *map(str, (len(pairs), better, len(pairs) - better - worse, worse))])
    head = ["tool", "traces", "this project is more right", "alike", "the other one is more right"]
    return table(head, rows)


def named(result: Result) -> str:
    """A trace and its format."""
    return f"{result.trace.name} ({result.trace.format})"


def cell(score: Score) -> str:
    """How right a tool is on a trace."""
    if score.refused:
        return OTHER_FORMAT if score.refused == OTHER_FORMAT else REFUSED
    return HOST_ONLY if score.attributed is None and score.told is None else share(score.right)


def right_table(results: Sequence[Result]) -> str:
    """A row per trace: how right each tool is."""
    rows = [[named(r), *(cell(r.scores[tool]) for tool in TOOLS)] for r in results]
    return table(["trace", *TOOLS], rows)


def wrong(results: Sequence[Result]) -> str:
    """The traces on which this project isn't wholly right."""
    found = [r for r in results if (right := r.scores[OURS].right) is not None and right < 1]
    refused = [r for r in results if r.scores[OURS].refused]
    return right_table([*found, *refused]) if found or refused else "None."


def refusals(results: Sequence[Result]) -> str:
    """A row per trace that a tool doesn't read although its format is the tool's."""
    rows = [
        [named(result), tool, score.refused.replace("|", "/")]
        for result in results
        for tool, score in result.scores.items()
        if score.refused not in ("", OTHER_FORMAT)
    ]
    return table(["trace", "tool", "what it says"], rows) if rows else "None."


def told_table(results: Sequence[Result]) -> str:
    """A row per trace: what is attributed to any range, and whether the rest is told."""
    tools = [tool for tool in TOOLS if tool not in (PROJ, PUSHPOP)]
    rows = []
    for result in results:
        cells = []
        for tool in tools:
            score = result.scores[tool]
            if score.refused:
                cells.append(cell(score))
            else:
                share_of = share(score.attributed)
                cells.append(share_of if score.told else f"{share_of}, not told")
        rows.append([named(result), *cells])
    return table(["trace", *tools], rows)
