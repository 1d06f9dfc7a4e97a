"""What the text of answer (d) says over several cases, precision by precision."""

from collections.abc import Sequence

from workflow_src.answers import wording
from workflow_src.answers.evidence import Row
from workflow_src.answers.step_parts import STEP
from workflow_src.answers.wording import median_of
from workflow_src.common.case import CASE_COLUMNS

SAME_WITHIN = 0.05
"""The optimizer's times count as the same if the longest exceeds the shortest by at most this."""


def precision_row(precision: str, pairs: Sequence[Row]) -> Row:
    """How the share changes in the cases of one precision, and what changes it."""
    known = [pair for pair in pairs if "by_optimizer" in pair]
    row: Row = {
        "precision": precision,
        "cases": len(pairs),
        "falls": wording.in_cases(_count(pairs, "falls"), len(pairs)),
        "forward": median_of(pairs, "gemm_before"),
        "train_step": median_of(pairs, "gemm_after"),
        "parts_known": len(known),
    }
    return row | (_effects(known) if known else {})


def _count(pairs: Sequence[Row], verdict: str) -> int:
    return sum(pair["verdict"] == verdict for pair in pairs)


def _effects(pairs: Sequence[Row]) -> Row:
    """Medians of what backward and the optimizer change, and the counts that go with them."""
    verdicts = [pair["backward_verdict"] for pair in pairs]
    differ = [pair for pair in pairs if pair["backward_verdict"] != "unchanged"]
    return {
        "by_backward": median_of(pairs, "by_backward"),
        "by_optimizer": median_of(pairs, "by_optimizer"),
        "richer": wording.in_cases(verdicts.count("rises"), len(pairs)),
        "poorer": wording.in_cases(verdicts.count("falls"), len(pairs)),
        "alike": wording.in_cases(verdicts.count("unchanged"), len(pairs)),
        "furthest": max(differ, key=lambda p: abs(p["backward_richer"])) if differ else None,
        "most_diluted": min(pairs, key=lambda pair: pair["by_optimizer"]),
    }


def causes(pairs: Sequence[Row]) -> Row:
    """In how many cases the share falls, and in how many of those the optimizer lowers it more.

    The latter only of the cases whose parts are known: `compared`.
    """
    falls = _count(pairs, "falls")
    falling = [pair for pair in pairs if pair["verdict"] == "falls" and "by_optimizer" in pair]
    optimizer = [pair for pair in falling if pair["by_optimizer"] < pair["by_backward"]]
    backward = [pair for pair in falling if pair not in optimizer]
    contexts = {pair["context"] for pair in backward}
    apart = len(contexts) == 1 < len({pair["context"] for pair in falling})
    return {
        "falling": len(falling),
        "falls": wording.in_cases(falls, len(pairs)) if falls else "",
        "by_optimizer": _of_them(len(optimizer), len(falling), falls),
        "more_by_backward": len(backward),
        "backward": wording.listed(backward),
        "context": backward[0]["context"] if apart else None,
    }


def _of_them(count: int, known: int, falls: int) -> str:
    """How many of the cases whose share falls: "in 3 of them", "in all of them"."""
    them = "them" if known == falls else f"the {known} whose parts are known"
    if known == 1:
        return wording.in_cases(count, known)
    return f"in {'all' if count == known else count or 'none'} of {them}"


def optimizers(cases: Sequence[Row]) -> list[Row]:
    """The optimizer's time, by optimizer and size, in cases whose parts are known.

    same_within is the share by which its longest time exceeds its shortest over precisions and
    contexts, at most over the sizes; None where no size has two cases or it exceeds SAME_WITHIN.
    """
    found = []
    for name in dict.fromkeys(case["optimizer"] for case in cases):
        mine = [case for case in cases if case["optimizer"] == name]
        sizes: dict[tuple[str, str], list[float]] = {}
        for case in mine:
            key = (case["size"], case["device"])
            sizes.setdefault(key, []).append(case["parts"]["optimizer"]["ms"])
        spreads = [max(times) / min(times) - 1 for times in sizes.values() if len(times) > 1]
        same = max(spreads, default=SAME_WITHIN + 1)
        found.append(
            {
                "optimizer": wording.OPTIMIZER_WORDS.get(name, name),
                "cases": len(mine),
                "multiplies": any(case["parts"]["optimizer"]["matmul_ms"] > 0 for case in mine),
                "same_within": same if same <= SAME_WITHIN else None,
                "over": " and ".join(
                    axis for axis in ("precision", "context") if len({c[axis] for c in mine}) > 1
                ),
                "shortest": min(mine, key=_optimizer_ms),
                "longest": max(mine, key=_optimizer_ms),
                "shares": shares_of_step(mine),
            }
        )
    return found


def _optimizer_ms(case: Row) -> float:
    return float(case["parts"]["optimizer"]["ms"])


def shares_of_step(cases: Sequence[Row]) -> list[Row]:
    """The optimizer's median share of the step's device time, by precision."""
    return [
        {
            "precision": precision,
            "share": median_of(
                [{"s": _optimizer_ms(c) / c["parts"][STEP]["ms"]} for c in mine], "s"
            ),
        }
        for precision, mine in wording.by_precision(cases).items()
    ]


def replaced(cases: Sequence[Row]) -> list[Row]:
    """Pairs of cases that differ only in the optimizer, the first being written out.

    One pair for each other optimizer: the one whose written-out optimizer takes longest.
    """
    base = {_but_optimizer(case): case for case in cases if case["optimizer"] == "adamw"}
    found: dict[str, Row] = {}
    for case in cases:
        before = base.get(_but_optimizer(case))
        if before is None or before is case:
            continue
        pair = {"optimizer": case["optimizer"], "before": before, "after": case}
        known = found.get(case["optimizer"])
        if known is None or _optimizer_ms(before) > _optimizer_ms(known["before"]):
            found[case["optimizer"]] = pair
    words = wording.OPTIMIZER_WORDS
    return [pair | {"optimizer": words.get(name, name)} for name, pair in found.items()]


def _but_optimizer(case: Row) -> tuple[object, ...]:
    return tuple(case[c] for c in CASE_COLUMNS if c not in ("case", "optimizer"))


def own(pairs: Sequence[Row]) -> Row | None:
    """A typical case to work through: its fall is nearest to the median of its precision.

    The precision is the first one. None if no case's parts are known.
    """
    known = wording.by_precision(pair for pair in pairs if "by_optimizer" in pair)
    first = next(iter(known.values()), [])
    return wording.nearest_to_median(first, lambda pair: pair["gemm_after"] - pair["gemm_before"])


def beside(pairs: Sequence[Row], chosen: Row) -> list[Row]:
    """The chosen case at every precision that was measured, fp32 first."""
    same = ("size", "context", "batch", "attention", "optimizer", "device")
    mine = [p for p in pairs if p.get("parts") and all(p[key] == chosen[key] for key in same)]
    return [pair for rows in wording.by_precision(mine).values() for pair in rows]
