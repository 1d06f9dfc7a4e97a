"""What launched each activity of a capture's steps, and where it belongs.

A benchmark records that in a step of its own (measure/operators.py); here the record is aligned
with each captured step, activity by activity.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from workflow_src.common.intervals import Indices
from workflow_src.placing.families import families
from workflow_src.placing.kernel_names import short_names
from workflow_src.placing.paths import common_path

TIE = ["range_path", "of_operator", "of_shapes"]
"""What the records of a gradient and of its forward operator have in common."""

GIVEN = ("shapes", "dtypes")
WORDS = ("operator_name", "forward_operator", *TIE, *GIVEN)
SHORT_DTYPES = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "float64": "fp64"}

NOT_ALIGNED = -1
RUN = 8
"""So many activities in a row must agree before two recordings count as together again."""
REACH = 64
"""At most so many activities are skipped, in both together, to get there."""

_MEMORY = {r"^\[CUDA memcpy|^Memcpy ": "copy", r"^\[CUDA memset|^Memset ": "set"}

Launched = Mapping[str, Any]
"""What launched the work of a phase, as measure/operators.py records it."""


def with_records(
    steps: pd.DataFrame, launched: Launched, captured: Collection[str]
) -> pd.DataFrame:
    """A phase's activities with what launched each, as far as the record aligns with the capture.

    operator: its number there, or NOT_ALIGNED, and in words; call: the place in the record's
    sequence of the call's first activity; own_family: of the operator; path and captured_path: see
    with_paths. captured: the paths of the phase's ranges.
    """
    sequence = np.array(launched["sequence"], dtype=np.int64).reshape(-1, 2)
    names = pd.Series(launched["names"], dtype="str")
    others = normal_names(names).iloc[sequence[:, 1]].tolist()
    mine = normal_names(steps["name"])
    place = np.full(len(steps), NOT_ALIGNED)
    for rows in steps.groupby("step").indices.values():
        place[rows] = align(mine.iloc[rows].tolist(), others)
    first = np.arange(len(sequence) + 1)
    for later, earlier in launched["continued"]:
        first[later] = earlier
    operator, call = np.append(sequence[:, 0], NOT_ALIGNED)[place], first[place]
    words = pd.DataFrame([*map(_in_words, launched["operators"]), dict.fromkeys(WORDS, "")])
    words["own_family"] = families(words["operator_name"])
    said = words.iloc[operator].set_index(steps.index)
    return with_paths(steps.assign(**said, operator=operator, call=call), captured)


def short_dtype(dtype: Any) -> str:
    """A dtype as tables have it; of a list of tensors each different one."""
    if isinstance(dtype, list):
        return "/".join(sorted({short_dtype(each) for each in dtype}))
    return SHORT_DTYPES.get(dtype, str(dtype))


def _in_words(operator: Mapping[str, Any]) -> dict[str, str]:
    pairs = zip(*(operator[name] for name in GIVEN), strict=True)
    given = [(shape, dtype) for shape, dtype in pairs if dtype]
    return {
        "range_path": operator["range"],
        "operator_name": operator["operator"],
        "forward_operator": operator["forward_operator"],
        "of_operator": operator["forward_operator"] or operator["operator"],
        "of_shapes": str(operator.get("forward_shapes", operator["shapes"])),
        "shapes": "; ".join(
            f"list of {len(dtype)}"
            if isinstance(dtype, list)
            else " x ".join(map(str, shape)) or "scalar"
            for shape, dtype in given
        ),
        "dtypes": "; ".join(short_dtype(dtype) for _, dtype in given),
    }


def with_paths(table: pd.DataFrame, captured: Collection[str]) -> pd.DataFrame:
    """A phase's activities, the `path` of gradients being that of their forward operator.

    The captured one becomes captured_path. The profiler of the record may have lost a range. So a
    gradient has the path that the capture gives the forward operators recorded as its own is, or
    the innermost range around these; if they launched nothing, the recorded one; and its own if no
    range was captured there.
    """
    gradient = table["forward_operator"] != ""
    forward = table[(table["operator"] != NOT_ALIGNED) & ~gradient]
    own = forward.groupby(TIE)["path"].agg(common_path).rename("own")
    recorded = (table["phase"] + "/" + table["range_path"]).str.rstrip("/")
    placed = recorded.where(recorded.isin(captured), table["path"])
    path = table.join(own, on=TIE)["own"].astype(object).fillna(placed)
    return table.assign(path=path.where(gradient, table["path"]), captured_path=table["path"])


def normal_names(names: pd.Series) -> pd.Series:
    """Names by which activities of nsys and of torch.profiler compare: these demangle differently,
    and name copies and sets differently."""
    normal = short_names(names)
    for pattern, kind in _MEMORY.items():
        normal[names.str.contains(pattern, regex=True)] = kind
    return normal


def align(names: Sequence[object], others: Sequence[object]) -> Indices:
    """For each of `names`, the place in `others` of the same activity, or NOT_ALIGNED.

    Places increase. Where the two part, both are searched for the nearest place from which they
    agree again; if none is within reach, only their ends are still compared.
    """
    found = np.full(len(names), NOT_ALIGNED)
    here = there = 0
    while here < len(names) and there < len(others):
        if names[here] == others[there]:
            found[here] = there
            here, there = here + 1, there + 1
        elif skips := _skips(names[here : here + REACH + RUN], others[there : there + REACH + RUN]):
            here, there = here + skips[0], there + skips[1]
        else:
            last, other = len(names) - 1, len(others) - 1
            while last >= here and other >= there and names[last] == others[other]:
                found[last] = other
                last, other = last - 1, other - 1
            break
    return found


def _skips(names: Sequence[object], others: Sequence[object]) -> tuple[int, int] | None:
    for total in range(1, REACH + 1):
        for skipped in range(total + 1):
            mine = names[skipped : skipped + RUN]
            theirs = others[total - skipped : total - skipped + RUN]
            common = min(len(mine), len(theirs))
            if common and mine[:common] == theirs[:common]:
                return skipped, total - skipped
    return None
