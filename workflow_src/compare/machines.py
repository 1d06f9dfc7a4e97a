"""What the two runs' environments leave in doubt, and in what they differ."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pandas as pd

from workflow_src.answers.doubts import OF_THE_DEVICE, OF_THE_HOST, recorded_warnings
from workflow_src.answers.tables import CaseKey
from workflow_src.common.case import VARIED
from workflow_src.common.environment import HOST_SPEEDS, SAME_EVERYWHERE
from workflow_src.common.errors import StageError
from workflow_src.common.thresholds import SLOWER_HOST
from workflow_src.compare.runs import Run

COMPARED = (*SAME_EVERYWHERE, "cpu_cores", "gpu_memory_gib", "python")
"""Columns of environments.csv."""

WORK = (
    *("d_model", "d_ff", "layers", "heads", "vocabulary"),
    *VARIED,
)
"""Columns of the plan that say what a case computes: another value is another case."""

SETTINGS = (
    *("device", "warmup_steps", "steps", "processes", "capture_steps", "profiler"),
    *("os_tracing", "seed", "memory_limit_gib"),
)
"""Columns of the plan that say how it was measured."""

UNRECORDED = "not recorded"


class SameHost(StrEnum):
    """Whether two runs measured on the same host, in words."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Difference:
    """A recorded property in which two runs differ."""

    what: str
    a: str
    b: str


@dataclass(frozen=True)
class InCommon:
    """What two runs have in common, and in what they differ besides times.

    cases: those that are compared; only_a, only_b: how many one of the runs has alone; other_work:
    cases whose name stands for two things, with how these differ.
    """

    cases: tuple[CaseKey, ...]
    only_a: int
    only_b: int
    same_host: SameHost
    environments: tuple[Difference, ...]
    other_work: dict[str, str]

    @property
    def environments_table(self) -> pd.DataFrame:
        """What differs in the environments."""
        lines = [(each.what, each.a, each.b) for each in self.environments]
        return pd.DataFrame(lines, columns=["", "A", "B"], dtype="object")

    @property
    def other_work_table(self) -> pd.DataFrame:
        """Cases that are not compared, because one name stands for two things."""
        return pd.DataFrame(list(self.other_work.items()), columns=["case", "how they differ"])


def in_common(a: Run, b: Run) -> InCommon:
    """What two runs have in common. Raises StageError if they have no case in common."""
    ours, theirs = ({case.case: case for case in run.tables.cases} for run in (a, b))
    named = [case for name, case in ours.items() if name in theirs]
    if not named:
        raise StageError(f"{a.name} and {b.name} have no case in common; compare runs of one suite")
    others = other_work(a, b, named)
    return InCommon(
        cases=tuple(case for case in named if case.case not in others),
        only_a=len(ours) - len(named),
        only_b=len(theirs) - len(named),
        same_host=same_host(a, b, named),
        environments=differences(a, b, named),
        other_work=others,
    )


def device_disturbed(run: Run, case: CaseKey) -> bool:
    """Whether the device was shared with other processes, or throttled."""
    return bool(recorded_warnings(run.tables, case.case) & OF_THE_DEVICE)


def host_changed(a: Run, b: Run, case: CaseKey) -> bool:
    """Whether a host's speed changed during the case, differs between the runs, or was loaded."""
    during = any(recorded_warnings(run.tables, case.case) & OF_THE_HOST for run in (a, b))
    return during or any(_differ(a, b, case, name) for name in HOST_SPEEDS)


def _differ(a: Run, b: Run, case: CaseKey, name: str) -> bool:
    speeds = [
        _numbers(run.tables.of("environments", case.case), f"{name}_before") for run in (a, b)
    ]
    if not all(map(len, speeds)):
        return False
    ours, theirs = (float(np.median(us)) for us in speeds)
    return max(ours, theirs) > SLOWER_HOST * min(ours, theirs)


def _numbers(rows: pd.DataFrame, *columns: str) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """The numbers in some columns, without missing ones."""
    cells = [cell for column in columns if column in rows for cell in rows[column]]
    found = pd.to_numeric(pd.Series(cells, dtype="object"), errors="coerce").dropna()
    return found.to_numpy(dtype=np.float64)


def differences(a: Run, b: Run, cases: Sequence[CaseKey]) -> tuple[Difference, ...]:
    """The recorded properties in which the measurements of `cases` differ."""
    names = [case.case for case in cases]
    every = [
        Difference(name, *(_seen(run.tables["environments"], names, name) for run in (a, b)))
        for name in COMPARED
    ]
    every += [
        Difference(name, *(_planned(run, names, name) for run in (a, b))) for name in SETTINGS
    ]
    every += [_speeds(a, b, names, name, what) for name, what in HOST_SPEEDS.items()]
    if same_host(a, b, cases) is SameHost.NO:
        ours, theirs = (_seen(run.tables["environments"], names, "host_id") for run in (a, b))
        every.append(Difference("host", ours, theirs))
    return tuple(each for each in every if each.a != each.b)


def same_host(a: Run, b: Run, cases: Sequence[CaseKey]) -> SameHost:
    """Whether each case ran on the same host in both runs; one booted in between is another."""
    pairs = [[_host(run, case.case) for run in (a, b)] for case in cases]
    if any(ours and theirs and ours != theirs for ours, theirs in pairs):
        return SameHost.NO
    return SameHost.YES if pairs and all(map(all, pairs)) else SameHost.UNKNOWN


def _host(run: Run, case: str) -> str:
    return "".join(run.tables.of("environments", case).get("host_id", ()))


def _seen(table: pd.DataFrame, names: Sequence[str], column: str) -> str:
    """The values of a column for these cases, most frequent first."""
    if column not in table.columns:
        return UNRECORDED
    values = table.loc[table["case"].isin(names), column]
    shown = ["none" if pd.isna(value) or value == "" else str(value) for value in values]
    return ", ".join(word for word, _ in Counter(shown).most_common()) or UNRECORDED


def _planned(run: Run, names: Sequence[str], column: str) -> str:
    return UNRECORDED if run.plan is None else _seen(run.plan, names, column)


def _speeds(a: Run, b: Run, names: Sequence[str], name: str, what: str) -> Difference:
    """The hosts' median speeds, the same text where they differ by no more than SLOWER_HOST."""
    found = []
    for run in (a, b):
        table = run.tables["environments"]
        us = _numbers(table[table["case"].isin(names)], f"{name}_before", f"{name}_after")
        found.append(float(np.median(us)) if len(us) else float("nan"))
    alike = not max(found) > SLOWER_HOST * min(found)
    texts = ["", ""] if alike else [f"{us:.2f} us" for us in found]
    return Difference(f"{what} on the host", *texts)


def other_work(a: Run, b: Run, cases: Sequence[CaseKey]) -> dict[str, str]:
    """Cases of the same name that compute something else in each run, and how they differ."""
    found = {}
    for case in cases:
        ours, theirs = (_work(run, case.case) for run in (a, b))
        known = [column for column in WORK if column in ours and column in theirs]
        different = [column for column in known if ours[column] != theirs[column]]
        if different:
            column = different[0]
            found[case.case] = f"{column} is {ours[column]} in A and {theirs[column]} in B"
    return found


def _work(run: Run, case: str) -> dict[str, str]:
    """The columns of WORK that are recorded for a case, from its plan and its timings."""
    row: dict[str, str] = {}
    for table in (run.tables["timings"], run.plan):
        mine = pd.DataFrame() if table is None else table[table["case"] == case]
        if len(mine):
            row |= {c: str(mine[c].iloc[0]) for c in WORK if c in mine and c not in row}
    return row
