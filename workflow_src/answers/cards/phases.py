"""All that the questions ask of each phase of each case."""

import pandas as pd

from workflow_src.answers import facts
from workflow_src.answers.energy import energy
from workflow_src.answers.facts import KEY
from workflow_src.common.datasheets import peak_tflop_per_s
from workflow_src.common.words import STATES
from workflow_src.paper.number import NAN, Number, Numbers, added, named, over, to
from workflow_src.paper.run import Run, keyed

OTHER_IDLE = ("synchronization", "tail", "profiler", "unexplained")

PASSES = {"forward": 1, "forward_backward": 3, "train_step": 3}
"""How often each phase has forward's FLOPs: backward makes two products of each."""


def phases(run: Run) -> pd.DataFrame:
    """A row per case and phase."""
    found = times(run)
    found = found.join(idle(run, found))
    return found.join(energy(run).reindex(found.index)).join(speed(run, found))


def times(run: Run) -> pd.DataFrame:
    """facts.phases; `replayed`, or why not; `shown`: the unprofiled time; `steps` captured."""
    found = facts.phases(run)
    whole = run["ranges"]
    whole = whole[whole["path"] == whole["phase"]].assign(step_count=1.0)
    same, why = found["same"], found["replay_status"]
    why = why.mask(why == "ok", "not_comparable").replace("", NAN)
    reason = found["replay_reason"].where(why != "not_comparable", OTHER_KERNELS)
    return found.assign(
        steps=over(whole, KEY, "step_count", unit="count").reindex(found.index),
        shown=facts.marked(found),
        replayed=found["replayed"].where(same, why.map(STATES)),
        replay_reason=reason.mask(same | why.isna(), ""),
        reason=found["reason"].where(~found["status"].isin(["ok", "not_measured"]), ""),
    )


OTHER_KERNELS = "it took less time than the kernels of a plain step, so it ran other ones"


def idle(run: Run, found: pd.DataFrame) -> pd.DataFrame:
    """Idle ms of a profiled step by cause, medians; none on a CPU."""
    steps = run["ledger"]
    causes = {name: f"idle_{name}_ns" for name in ("launch", "queued", *OTHER_IDLE)}
    made = {name: to(over(steps, KEY, col, "median"), "ms") for name, col in causes.items()}
    frame = pd.DataFrame(made, dtype=object).reindex(found.index)
    frame = frame.where((found["device"] != "cpu") & frame["unexplained"].notna())
    waits = {"idle_launch": frame["launch"], "idle_queued": frame["queued"]}
    return pd.DataFrame(waits | {"idle_other": added(frame[[*OTHER_IDLE]])}, dtype=object)


def speed(run: Run, found: pd.DataFrame) -> pd.DataFrame:
    """FLOPs of a step, by formula or as torch counts them, rates, MFU (arXiv:2204.02311, appendix
    B, with all T x T scores), and `rate_of_peak`, the products' in their own time."""
    work = run["work"]
    forward = over(work[work["component"] != "softmax"], "case", "flops")
    name = found.index.get_level_values("phase")
    multiplied = of_cases(forward, found) * name.map(PASSES).astype("object")
    known = named(found[["unprofiled", "fastest", "slowest", "works", "products"]])
    counted = found["counted_flops_per_step"]
    flops = counted.where(counted.notna(), multiplied)
    rate = to(multiplied / known["unprofiled"], "TFLOP/s")
    mfu = to(rate / of_cases(datasheet(run), found), "share")
    amounts = {
        "flops_rate": (flops, "TFLOP/s"),
        "tokens_rate": (found["tokens_per_step"], "count/s"),
        "items_rate": (found["samples_per_step"], "count/s"),
    }
    times = [known[name] for name in ("unprofiled", "slowest", "fastest")]
    rates = {
        name: facts.told(found, *(to(amount / each, unit) for each in times))
        for name, (amount, unit) in amounts.items()
    }
    made = {
        "flops": to(flops, "GFLOP"),
        "mfu": mfu,
        "rate_of_peak": to(mfu / known["works"] / known["products"], "share"),
        "millions": to(found["parameters"], "millions"),
    }
    return pd.DataFrame(made | rates, dtype=object)


def of_cases(cells: Numbers, found: pd.DataFrame) -> Numbers:
    """Cells of cases for each of their phases."""
    return cells.reindex(found.index.get_level_values("case")).set_axis(found.index)


def datasheet(run: Run) -> Numbers:
    """By case the dense peak of its GPU in its precision; NaN if not known."""
    gpu = keyed(run["environments"], "case")["gpu"]
    pairs = zip(gpu.reindex(run.cases.index).fillna(""), run.cases["precision"], strict=True)
    peaks = [peak_tflop_per_s(*pair) for pair in pairs]
    made = [Number(peak, "TFLOP/s", formula="datasheet") if peak else NAN for peak in peaks]
    return pd.Series(made, run.cases.index, dtype=object)
