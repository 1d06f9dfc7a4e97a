"""What the study attention says of small tables."""

from typing import Any

import pytest

from tests.studies.chapters import chapter, run_of
from tests.studies.tables import table

OWN, FLASH, NAIVE = "mine.py:tiles", "sdpa_flash", "naive"


def row(implementation: str, context: int, ms: float | None, phase: str, **more: Any) -> Any:
    about = {"sweep": "time", "implementation": implementation, "precision": "bf16", "batch": 1}
    about |= {"head_size": 64, "context": context, "phase": phase, "median_ms": ms}
    return about | {"status": "ok" if ms else "oom", "samples": 9} | more


def both(implementation: str, context: int, ms: float | None, **more: Any) -> Any:
    return row(implementation, context, ms, "forward_backward", **more)


def check(implementation: str, status: str = "ok", **errors: float) -> Any:
    about = {"sweep": "check", "implementation": implementation, "precision": "bf16"}
    named = {f"error_{name}": error for name, error in errors.items()}
    return about | {"head_size": 64, "status": status, "error_allowed": 0.03} | named


@pytest.mark.parametrize(
    ("rows", "verdict", "said"),
    [
        (
            [row(FLASH, 256, 1.0, "forward"), row(OWN, 256, 2.0, "forward"), both(FLASH, 128, 1.0)],
            "own",
            "mine.tiles takes 2.0 ×",
        ),
        ([both(NAIVE, 128, 4.0), check(OWN, "failed")], "wrong", "mine.tiles isn't right"),
        ([both(NAIVE, 128, 4.0), both(FLASH, 128, 1.0)], "faster", "SDPA flash is 4.0 × as fast"),
        ([both(NAIVE, 128, 4.0), both(FLASH, 128, 3.9, p20_ms=3, p80_ms=5)], "alike", "no attent"),
        ([both(NAIVE, 128, None), both(FLASH, 128, 3.9)], "alone", "SDPA flash is fastest"),
        ([both(NAIVE, 128, None)], "can't tell", "can't be told"),
    ],
)
def test_verdicts(rows: list[Any], verdict: str, said: str) -> None:
    made = chapter("attention", run_of("attention", table(*rows)))
    assert made.verdict == verdict and said in made.markdown["headline"]
