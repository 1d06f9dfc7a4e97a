"""How the energy of a step changed between two runs: no verdict, as it makes nothing slower."""

import pandas as pd

from workflow_src.answers.energy import energy
from workflow_src.compare.change import Verdict, apart, beside
from workflow_src.compare.runs import Measured
from workflow_src.paper.number import end

CHANGED = {Verdict.SLOWER: "more", Verdict.FASTER: "less", Verdict.SAME: Verdict.SAME}
"""Said of energy whose intervals lie apart, by more than `apart` asks for."""


def energies(a: Measured, b: Measured, cases: pd.Index) -> pd.DataFrame:
    """A row per case and phase of which both runs tell it: a_j, b_j (of a step), ratio, changed."""
    found = beside(_joules(a, cases), _joules(b, cases), "inner")
    found["ratio"] = found["b_j"].astype(object) / found["a_j"].astype(object)
    changed = apart(found).map(CHANGED)
    return found.assign(changed=changed)[["a_j", "b_j", "ratio", "changed"]].reset_index()


def _joules(run: Measured, cases: pd.Index) -> pd.DataFrame:
    joules = energy(run.tables)["joules"].dropna()
    joules = joules[joules.index.get_level_values("case").isin(cases)]
    ends = {name: end(joules, place).astype(float) for place, name in enumerate(("least", "most"))}
    return pd.DataFrame({"j": joules, **ends}, joules.index)
