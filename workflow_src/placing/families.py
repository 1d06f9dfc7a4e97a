"""The family of an activity: of a GPU kernel, a memory operation or a CPU operator.

Only the name decides, by the ordered table `families.csv`: the first pattern found in its own name
(own_names.py) wins, or with `::` in the pattern in the one with namespaces; `why` says what the
rule is for and what it must come before. One table serves nsys
(`void <unnamed>::softmax_warp_forward<...>`), Kineto (`void (anonymous namespace)::...`) and
operators (`aten::_softmax`); an operator and the kernel that it launches share a family. A gradient
(`aten::max_pool2d_with_indices_backward`) that no rule matches has the family of its forward
operator, if that is known.

Pass full (demangled) names. A short name such as `vectorized_elementwise_kernel` hides the
functor that tells a fill or a copy from arithmetic, and `softmax_warp_forward` hides log-softmax.
"""

import re
from functools import cache
from pathlib import Path

import pandas as pd

from workflow_src.common.errors import StageError
from workflow_src.common.reading import reading
from workflow_src.placing.kernel_names import precision_ran, short_names
from workflow_src.placing.own_names import own_name, qualified_name

UNKNOWN = "unknown"

_GRADIENT = re.compile(r"(aten::\w+?)_(?:double_)?backward(?:_\w+)?$")

RULES = Path(__file__).with_name("families.csv")


@cache
def load_rules(path: Path = RULES) -> pd.DataFrame:
    """The ordered rules: columns family, pattern (a regular expression, searched), why.

    Raises StageError for a file that isn't one of rules.
    """
    expected = "a table of rules with the columns family, pattern and why"
    with reading(path, expected, "restore it, or correct that line", StageError):
        rules = pd.read_csv(path, dtype=str, keep_default_na=False)[["family", "pattern", "why"]]
        for pattern in rules["pattern"]:
            re.compile(pattern)
    return rules


def families(names: pd.Series, rules: pd.DataFrame | None = None) -> pd.Series:
    """The family of each name, on the index of `names`; `rules` are load_rules() unless given.

    Each distinct name is matched once. A name that no rule matches is `unknown`.
    """
    compiled = _compiled(load_rules() if rules is None else rules)
    known = {name: _first_match(str(name), compiled) for name in names.unique()}
    return names.map(known).astype(str)


@cache
def family_of(name: str) -> str:
    """The family of one name, by load_rules()."""
    return _first_match(name, _compiled(load_rules()))


Rules = list[tuple[re.Pattern[str], bool, str]]
"""Pattern, whether it asks for namespaces, and family."""


def _compiled(rules: pd.DataFrame) -> Rules:
    rows = zip(map(str, rules["pattern"]), map(str, rules["family"]), strict=True)
    return [(re.compile(pattern), "::" in pattern, family) for pattern, family in rows]


def _first_match(name: str, compiled: Rules) -> str:
    for each in filter(None, (name, _forward_of(name))):
        own, qualified = own_name(each), qualified_name(each)
        for pattern, asks, family in compiled:
            if pattern.search(qualified if asks else own):
                return family
    return UNKNOWN


def _forward_of(name: str) -> str:
    """The operator whose gradient one of this name computes; "" if it is no gradient."""
    found = _GRADIENT.match(name)
    return found[1] if found else ""


def naming(names: pd.Series, rules: pd.DataFrame | None = None) -> dict[str, pd.Series]:
    """Columns of kernels by name: short_name, family and, if the name tells it, precision_ran."""
    family = families(names, rules)
    ran = precision_ran(names, family)
    return {"short_name": short_names(names), "family": family, "precision_ran": ran}


def coverage(table: pd.DataFrame) -> float:
    """Share (0 to 1) of `busy_ns` whose `family` is known; 1.0 if there is no time at all."""
    total = int(table["busy_ns"].sum())
    unknown = int(table.loc[table["family"] == UNKNOWN, "busy_ns"].sum())
    return 1.0 - unknown / total if total else 1.0
