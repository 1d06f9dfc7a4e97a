"""The verdict on two runs: the status for a gate, and the sentence that says why."""

from collections import Counter
from collections.abc import Callable, Sequence

from workflow_src.compare.rows import Row
from workflow_src.compare.shown import beyond
from workflow_src.compare.times import FASTER, FEW, ONE, SLOWER, SPREAD, UNKNOWN, WARNED
from workflow_src.render.markdown import PHASE_WORDS, limit, ratio

Pick = Callable[..., Row]
"""max or min."""

SAME_STATUS, SLOWER_STATUS, USAGE_STATUS, UNKNOWN_STATUS = 0, 1, 2, 3

NO_LONGER = ("oom", "skipped", "not_measured", "missing")
"""What became of a phase that ran in A; one that isn't in B's plan is not held against B."""

REASONS = {
    ONE: ("has", "have", "only one process in A or in B"),
    FEW: ("has", "have", "too few processes for a test of so many phases"),
    WARNED: ("was", "were", "measured with a warning in A or in B"),
    SPREAD: ("varies", "vary", "too much between processes"),
}
"""Why nothing can be told of some phases: what one does, what several do, and the rest."""


def status_of(rows: Sequence[Row], absent: Sequence[Row]) -> int:
    """The exit status of a gate: 0 same (or faster), 1 slower, 3 can't tell."""
    verdicts = {row["verdict"] for row in rows}
    if SLOWER in verdicts:
        return SLOWER_STATUS
    if not rows or UNKNOWN in verdicts or lost(absent):
        return UNKNOWN_STATUS
    return SAME_STATUS


def lost(absent: Sequence[Row]) -> list[Row]:
    """Phases that ran in A and, though planned, not in B."""
    return [row for row in absent if row["a_status"] == "ok" and row["b_status"] in NO_LONGER]


def sentences(rows: Sequence[Row], absent: Sequence[Row], threshold: float) -> str:
    """What was found, in one to three sentences."""
    if not rows:
        return "Can't tell: no phase of a case has a time in both runs."
    found = {word: [row for row in rows if row["verdict"] == word] for word in (SLOWER, FASTER)}
    if found[SLOWER]:
        return (
            f"B is slower than A by more than {limit(threshold)} in {_share(found[SLOWER], rows)}; "
            f"{_most(found[SLOWER], rows, max)}."
        )
    doubts = _doubts(rows, absent)
    if doubts:
        faster = f" It is faster in {_share(found[FASTER], rows)}." if found[FASTER] else ""
        seen = as_measured(rows, threshold)
        return f"Can't tell whether B is slower than A: {'; '.join(doubts)}.{faster} {seen}"
    if found[FASTER]:
        return (
            f"B is nowhere slower than A, and faster in {_share(found[FASTER], rows)}; "
            f"{_most(found[FASTER], rows, min)}."
        )
    return f"No difference shown between A and B beyond {limit(threshold)}. {_reach(rows)}"


def _most(some: Sequence[Row], rows: Sequence[Row], most: Pick) -> str:
    row = most(some, key=lambda each: float(each["ratio"]))
    which = "it" if len(rows) == 1 else f"most in {_name(row)}, which"
    return f"{which} takes {ratio(row['ratio'])} times as long"


def as_measured(rows: Sequence[Row], threshold: float) -> str:
    """How many phases took longer and less in B, and the extremes: observed, not shown."""
    longer, less = beyond(rows, threshold)
    by = f"more than {limit(threshold)}"
    said = []
    if longer:
        said.append(f"{_share(longer, rows)} took {by} longer ({_extreme(longer, rows, max)})")
    if less:
        said.append(f"{_share(less, rows)} took {by} less time ({_extreme(less, rows, min)})")
    return f"As measured, in B {' and '.join(said) or f'no phase took {by} longer or less'}."


def _extreme(some: Sequence[Row], rows: Sequence[Row], most: Pick) -> str:
    row = most(some, key=lambda each: float(each["ratio"]))
    most_of_all = "" if len(some) == 1 else "up to " if row["ratio"] > 1 else "down to "
    where = "" if len(rows) == 1 else f", {row['case']}, {PHASE_WORDS[row['phase']]}"
    return f"{most_of_all}{ratio(row['ratio'])} times the time{where}"


def _doubts(rows: Sequence[Row], absent: Sequence[Row]) -> list[str]:
    """Why nothing can be told of some phases, most frequent reason first."""
    counts = Counter(row["why"] for row in rows if row["verdict"] == UNKNOWN)
    said = [_doubt(count, len(rows), *REASONS[why]) for why, count in counts.most_common()]
    gone = lost(absent)
    if gone:
        said.append(f"{_name(gone[0])} ran in A and not in B" + _and_more(len(gone) - 1))
    return said


def _doubt(count: int, total: int, one: str, several: str, rest: str) -> str:
    return f"{_of(count, total)} {one if count == 1 else several} {rest}"


def _and_more(count: int) -> str:
    return f" (nor did {count} more)" if count else ""


def _reach(rows: Sequence[Row]) -> str:
    """How large a slowdown the intervals leave room for."""
    row = max(rows, key=lambda each: float(each["high"]))
    if len(rows) == 1:
        return f"The interval of the ratio B / A reaches up to {ratio(row['high'])}."
    return (
        f"The intervals of the {len(rows)} ratios B / A reach up to {ratio(row['high'])}, in "
        f"{_name(row)}."
    )


def _share(some: Sequence[Row], rows: Sequence[Row]) -> str:
    return _of(len(some), len(rows))


def _of(count: int, total: int) -> str:
    if total == 1:
        return "the only phase"
    return f"all {total} phases" if count == total else f"{count} of {total} phases"


def _name(row: Row) -> str:
    return f"{row['case']} ({PHASE_WORDS[row['phase']]})"
