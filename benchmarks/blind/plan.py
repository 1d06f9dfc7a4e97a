"""Which programs a seed makes: kind of model, fault, place, pace, profiler and name of each."""

import random
from dataclasses import dataclass

from benchmarks.blind.faults import FAULTS, suits
from benchmarks.blind.models import KINDS

CLEAN_SHARE = 6
"""One of so many has no fault."""

NO_FAULT = "none"
CONSONANTS, VOWELS = "bdfgklmnprstvz", "aeiou"


@dataclass(frozen=True)
class Planned:
    """One program. fault: a key of FAULTS or NO_FAULT; place: the layers of one that is in layers;
    style: see program.clean; cost_share: what a fault of the host takes, as a share of a step."""

    name: str
    kind: str
    fault: str
    place: tuple[int, ...]
    pace: str
    profiler: str
    style: int
    cost_share: float


def planned(seed: int, count: int, tiny: bool = False) -> list[Planned]:
    """The programs of a seed; with so many, no two have the same fault."""
    chance = random.Random(seed)
    faults = chance.sample(sorted(FAULTS), min(count, len(FAULTS)))
    for place in chance.sample(range(len(faults)), len(faults) // CLEAN_SHARE):
        faults[place] = NO_FAULT
    return [_planned(chance, number, key, tiny) for number, key in enumerate(faults)]


def _planned(chance: random.Random, number: int, key: str, tiny: bool) -> Planned:
    kind = chance.choice([kind for kind in KINDS if suits(key, kind)])
    pace = "tiny" if tiny else ("host", "device")[number % 2]
    layers = range(KINDS[kind].size(pace).layers)
    place = tuple(sorted(chance.sample(layers, chance.randint(1, len(layers)))))
    name = "".join(chance.choice(CONSONANTS) + chance.choice(VOWELS) for _ in range(3))
    profiler = ("nsys", "torch")[chance.randrange(2)]
    share = chance.uniform(0.08, 0.5)
    return Planned(name, kind, key, place, pace, profiler, chance.randrange(6), share)
