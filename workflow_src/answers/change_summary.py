"""What the text of answer (f) says over several cases, precision by precision."""

from collections.abc import Sequence

from workflow_src.answers import comparable, example_case, wording
from workflow_src.answers.evidence import Row
from workflow_src.answers.hosts import Hosts
from workflow_src.answers.remedies import REMEDIES
from workflow_src.answers.tried import paid, tried
from workflow_src.answers.wording import median_of
from workflow_src.common.thresholds import LAUNCH_BOUND_BELOW

OWN = "a typical case"

ELSEWHERE = 0.1
"""A step's idle time exceeds that of forward + backward by itself from this share of it on."""


def summarize(rows: Sequence[Row], hosts: Hosts, example: Row | None = None) -> Row:
    """Values for the template, from the rows that `change_first.measure` gives.

    `hosts` are those of all cases. `example` is the case to work through; see example_case.
    """
    named = wording.named(rows)
    bounded = [row for row in named if "savings" in row]
    own = wording.nearest_to_median(_last(bounded), lambda row: row["largest_share"])
    worked = example_case.beside(bounded, example) or ([own] if own else [])
    precisions = [precision_row(name, mine) for name, mine in wording.by_precision(bounded).items()]
    known = [row for row in named if "median_ms" in row and row["doubt"] != comparable.BUSY]
    found = tried(known, hosts)
    return {
        "bounded": bounded,
        "precisions": precisions,
        "remedies": [key for key in REMEDIES if any(key in row["savings"] for row in bounded)],
        "replayed": sum(each["replayed"] for each in precisions),
        "beyond_bound": beyond_bound(bounded),
        "idle_elsewhere": idle_elsewhere(bounded),
        "withheld": comparable.summarize([row for row in named if "median_ms" in row]),
        "tried": found,
        "pays": paid(found, known, hosts) if found else None,
        "hosts_timed": all(hosts[row["case"]].is_timed for row in known),
        "elsewhere": sum(each["elsewhere"] for each in found),
        "waiting": waiting(bounded),
        "working_limit": LAUNCH_BOUND_BELOW,
        "worked": worked,
        "worked_hosts": len({hosts[row["case"]].kind for row in worked}),
        "said": example_case.said(worked[0] if worked else None, example, OWN, len(bounded)),
    }


def _last(rows: Sequence[Row]) -> list[Row]:
    """The rows of the last precision: the one in which the remedies matter most."""
    groups = list(wording.by_precision(rows).values())
    return groups[-1] if groups else []


def precision_row(precision: str, rows: Sequence[Row]) -> Row:
    """Medians of each remedy's share in the cases of one precision, the largest first."""
    keys = [key for key in REMEDIES if any(key in row["savings"] for row in rows)]
    shares = {
        key: median_of([r for r in rows if key in r["savings"]], f"{key}_share") for key in keys
    }
    order = sorted(shares, key=lambda key: -shares[key])
    idle = [row for row in rows if row["waits"]]
    replayed = [row for row in rows if "replay_share" in row]
    alone = [row for row in rows if "by_itself_share" in row]
    return {
        "precision": precision,
        "cases": len(rows),
        "shares": shares,
        "order": order,
        "replayed": len(replayed),
        "replay": median_of(replayed, "replay_share") if replayed else None,
        "by_itself": median_of(alone, "by_itself_share") if alone else None,
        "idle": wording.in_cases(len(idle), len(rows)),
        "often_idle": len(idle),
    }


def waiting(rows: Sequence[Row]) -> Row:
    """How many cases wait for their launches, and what a replay saves there: median and ends.

    `others` are those in which another bound is larger than that of idle time.
    """
    waits = [row for row in rows if row["waits"]]
    replayed = sorted(
        (row for row in waits if "replay_share" in row), key=lambda row: float(row["replay_share"])
    )
    return {
        "cases": len(waits),
        "others": [row for row in waits if row["largest"] != "idle"],
        "replayed": len(replayed),
        "replay": median_of(replayed, "replay_share") if replayed else None,
        "least": replayed[0] if replayed else None,
        "most": replayed[-1] if replayed else None,
    }


def beyond_bound(rows: Sequence[Row]) -> Row | None:
    """The cases in which a replay took less time than the device's work was; None if none did."""
    alone = [row for row in rows if "by_itself_share" in row]
    beyond = [row for row in alone if row["replay_share"] > row["by_itself_share"]]
    if not beyond:
        return None
    most = max(beyond, key=lambda row: row["replay_share"] - row["by_itself_share"])
    return {"in_cases": wording.in_cases(len(beyond), len(alone)), "most": most}


def idle_elsewhere(rows: Sequence[Row]) -> Row | None:
    """The case whose step is idle for longest beside what forward + backward by itself is idle.

    As a share of the step; None if that is less than ELSEWHERE of it.
    """
    alone = [row for row in rows if "by_itself_share" in row]
    most = max(alone, key=lambda row: row["idle_share"] - row["by_itself_share"], default=None)
    if most is None or most["idle_share"] - most["by_itself_share"] < ELSEWHERE:
        return None
    return most
