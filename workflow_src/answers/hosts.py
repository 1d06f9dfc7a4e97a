"""Which hosts the cases were measured on, and the marks that tell their times apart.

Where launches set the pace, a time depends on the host as much as on the GPU, so that a table with
cases of several kinds of hosts, or of hosts of several speeds, must not look as if one host had
measured them all.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from workflow_src.answers import evidence
from workflow_src.answers.answer import Fact
from workflow_src.answers.evidence import Row
from workflow_src.common.environment import HOST_SPEEDS
from workflow_src.common.thresholds import SLOWER_HOST
from workflow_src.render import markdown

MARKS = "†‡§"
"""In the order of their use; then they are doubled, as those of footnotes are."""

SLOW = "°"
"""The mark of a host that was slower than the fastest, after that of its kind; (f) uses others.

Where most hosts were slower, the mark of the others.
"""


@dataclass(frozen=True)
class Host:
    """What environments.csv says of the host of one case: "" or None where it doesn't.

    launch_us and operation_us: the times of a launch and of an eager operation, before the case.
    """

    cpu: str = ""
    cores: int | None = None
    launch_us: float | None = None
    operation_us: float | None = None
    gpu: str = ""
    throttled: bool = False
    rows: tuple[int, ...] = ()

    @property
    def kind(self) -> tuple[str, int | None]:
        """What tells kinds of hosts apart."""
        return self.cpu, self.cores

    @property
    def is_timed(self) -> bool:
        """Whether its speed is known by some measure."""
        return bool(self.launch_us or self.operation_us)

    def speed_us(self, measure: str) -> float | None:
        """A measure of HOST_SPEEDS."""
        return self.launch_us if measure == "host_launch_us" else self.operation_us


Kind = tuple[str, int | None]
Hosts = dict[str, Host]
"""The host of each case."""


def hosts_of(cases: Sequence[str], environments: pd.DataFrame) -> Hosts:
    """The host of each of the cases, in their order."""
    return {case: _host(evidence.of(environments, case)) for case in cases}


def _host(mine: pd.DataFrame) -> Host:
    """The host of the case whose rows of environments.csv are given."""
    if mine.empty:
        return Host()
    row = markdown.records(mine)[0]
    cores = _number(row.get("cpu_cores"))
    launch_us, operation_us = (_number(row.get(f"{name}_before")) for name in HOST_SPEEDS)
    whole = None if cores is None else int(cores)
    cpu, gpu = (str(row.get(name, "")) for name in ("cpu", "gpu"))
    throttled = "throttled" in str(row.get("warning", ""))
    return Host(cpu, whole, launch_us, operation_us, gpu, throttled, evidence.row_numbers(mine))


def _number(text: object) -> float | None:
    """A cell of environments.csv, all of which are text, as a number."""
    found = float(pd.to_numeric(str(text), errors="coerce"))
    return None if found != found else found


def by_kind(hosts: Hosts) -> dict[Kind, list[str]]:
    """The cases of each kind of host: first the kind of most cases, then by cores, most first.

    Of kinds with equally many cases the one with more cores comes first, so that the order of the
    tables' rows makes no difference.
    """
    kinds: dict[Kind, list[str]] = {}
    for case, host in hosts.items():
        kinds.setdefault(host.kind, []).append(case)
    ranked = sorted(kinds, key=lambda kind: (-(kind[1] or 0), kind[0]))
    usual = max(ranked, key=lambda kind: len(kinds[kind]), default=None)
    return {kind: kinds[kind] for kind in sorted(ranked, key=lambda kind: kind != usual)}


def mark_of(place: int) -> str:
    """The mark of a kind of host, counted from 0 without the usual kind."""
    return MARKS[place % len(MARKS)] * (place // len(MARKS) + 1)


def summarize(hosts: Hosts) -> Row:
    """Values for the template, and the marks of each case whose host isn't of the usual kind or
    was slower than the fastest.

    "marked" describes the kinds with a mark, "usual" the kind without, and "slow" the slower hosts.
    """
    slow = slower(hosts)
    found = _kinds(hosts) | {"slow": slow}
    for case in (slow["few_fast"] or slow["cases"]) if slow else ():
        found["marks"][case] = found["marks"].get(case, "") + SLOW
    return found


def _kinds(hosts: Hosts) -> Row:
    """What `summarize` says of kinds; nothing is marked if all hosts are of one."""
    kinds = by_kind(hosts)
    if len(kinds) < 2:
        return {"marks": {}, "marked": []}
    usual, *others = kinds
    marks = {kind: mark_of(place) for place, kind in enumerate(others)}
    gpus = {host.gpu for host in hosts.values()}
    return {
        "marks": {case: mark for kind, mark in marks.items() for case in kinds[kind]},
        "marked": [described(kind, kinds[kind], hosts, mark) for kind, mark in marks.items()],
        "usual": described(usual, kinds[usual], hosts),
        "cpus_vary": len({cpu for cpu, _ in kinds}) > 1,
        "cores_vary": len({cores for _, cores in kinds}) > 1,
        "one_gpu": len(gpus) == 1 and "" not in gpus,
    }


def slower(hosts: Hosts) -> Row | None:
    """The cases whose host was slower than the fastest by more than SLOWER_HOST, if any was.

    By the first measure of HOST_SPEEDS that was taken before any case: its name, what it is the
    time of, the fastest host's, and those of the slower hosts from the least to the most.
    `few_fast` lists the other cases where they are the fewer, and `fast_us` is the most there.
    """
    for measure, what in HOST_SPEEDS.items():
        taken = {case: host.speed_us(measure) for case, host in hosts.items()}
        known = {case: us for case, us in taken.items() if us is not None}
        if known:
            fastest = min(known.values())
            slow = {case: us for case, us in known.items() if us > SLOWER_HOST * fastest}
            found = {"of": len(hosts), "measured": len(known), "measure": measure, "what": what}
            fast = {case: us for case, us in known.items() if case not in slow}
            few = len(fast) < len(slow) and len(known) == len(hosts)
            found |= {"few_fast": list(fast) if few else []}
            return found | _slower(slow, fast) if slow else None
    return None


def _slower(slow: dict[str, float], fast: dict[str, float]) -> Row:
    return {
        "mark": SLOW,
        "fastest_us": min(fast.values()),
        "fast_us": max(fast.values()),
        "least_us": min(slow.values()),
        "most_us": max(slow.values()),
        "slowest": max(slow, key=lambda case: slow[case]),
        "by_more_than": SLOWER_HOST - 1,
        "cases": list(slow),
    }


def alike(one: Host, other: Host) -> bool:
    """Whether hosts are of one kind, and equally fast, within SLOWER_HOST, where that is known."""
    speeds = [(one.speed_us(measure), other.speed_us(measure)) for measure in HOST_SPEEDS]
    known = [(mine, its) for mine, its in speeds if mine and its]
    return one.kind == other.kind and all(max(two) <= SLOWER_HOST * min(two) for two in known)


def apart(some: Sequence[str], others: Sequence[str], hosts: Hosts) -> bool:
    """Whether these cases and those were measured on different kinds of hosts altogether."""
    kinds, rest = ({hosts[case].kind for case in cases} for cases in (some, others))
    return bool(kinds and rest) and not kinds & rest


def described(kind: Kind, cases: Sequence[str], hosts: Hosts, mark: str = "") -> Row:
    """A kind of host, with the median time of a launch where any was measured."""
    speeds = [us for case in cases if (us := hosts[case].launch_us) is not None]
    return {
        "mark": mark,
        "cpu": kind[0],
        "cores": kind[1],
        "launch_us": statistics.median(speeds) if speeds else None,
        "several": len(speeds) > 1,
    }


def facts_of(hosts: Hosts) -> list[Fact]:
    """What the text says of hosts, case by case: nothing where no host is marked."""
    slow = slower(hosts)
    if len(by_kind(hosts)) < 2 and not slow:
        return []
    speed = slow["measure"] if slow else "host_launch_us"
    values = [
        Fact(case, name, value, unit, "environments", host.rows)
        for case, host in hosts.items()
        for name, value, unit in (
            ("cpu_cores", host.cores, ""),
            (speed, host.speed_us(speed), "us"),
        )
    ]
    return [fact for fact in values if fact.value is not None]
