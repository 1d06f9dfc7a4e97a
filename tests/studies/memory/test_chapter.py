"""What the study memory finds in small tables."""

from typing import Any

import pytest

from tests.studies.chapters import facts

ABOUT = {"size": "s", "context": 8, "precision": "fp32", "batch": 4, "gpu": "H200"}


def peak(phase: str, predicted: float, mib: float | None, **more: Any) -> dict[str, Any]:
    """A peak on a device of 1,000 MiB; without one, the phase ran out of memory."""
    row = ABOUT | {"measurement": "peak", "phase": phase, "predicted_peak_mib": predicted}
    row |= {"available_mib": 1000.0, "fits_predicted": "yes" if predicted <= 1000 else "no"}
    ran = {"status": "ok", "peak_mib": mib} if mib else {"status": "oom", "reason": "full"}
    return row | ran | more


FORWARD = peak("forward", 100.0, 104.0)


@pytest.mark.parametrize(
    ("rows", "verdict", "fits", "close"),
    [
        ([FORWARD, peak("train_step", 900.0, None)], "both", "1 of 2", "0 of 1"),
        ([FORWARD, peak("train_step", 1300.0, None)], "both", "2 of 2", "nan"),
        ([FORWARD | {"fits_predicted": None}], "peaks", "nan", "nan"),
        ([peak("train_step", 1200.0, None)], "fits", "1 of 1", "1 of 1"),
        ([FORWARD | {"status": "skipped", "peak_mib": None}], "can't tell", "nan", "nan"),
    ],
)
def test_predictions_are_scored(
    rows: list[dict[str, Any]], verdict: str, fits: str, close: str
) -> None:
    """Apart, those of phases that nearly fill the device: by 25 % of what it has free."""
    found = facts("memory", rows)
    assert [found["verdict"], str(found["fits"]), str(found["close"])] == [verdict, fits, close]
    assert str(found["off"]) in ("3.8 %", "nan")
