"""Study accounting: formulas against measurements, and passes against the machine's ceilings."""

import pandas as pd

from workflow_src.common.case import Case
from workflow_src.common.thresholds import WORKING_FULLY
from workflow_src.common.units import MIB, NS_PER_MS
from workflow_src.common.words import PHASES
from workflow_src.model.flops import phase_flops
from workflow_src.model.memory_formulas import model_row, peak_bytes
from workflow_src.paper.number import of, over, to
from workflow_src.paper.run import Run
from workflow_src.paper.written import Facts
from workflow_src.studies.facts import load, or_state, span, unmeasured
from workflow_src.studies.models import case_of, identity
from workflow_src.studies.study import Point, Row

KEY = ["size", "precision"]


def facts(run: Run) -> Facts:
    """What the study's table says, and how near the run's fastest product its passes come."""
    table = load(run, "accounting")
    models = formulas(table[table["measurement"] == "model"])
    phases = of_phases(table[table["measurement"] == "phase"], run["ceilings"])
    off = of(phases["off"].map(abs), "max")
    used = phases["reached"][phases["phase"] == "forward"]
    known = [name for name, n in (("memory", off), ("rates", of(used))) if n == n]
    ruled = "formulas" if models["step_rule"].notna().any() else "can't tell"
    return {
        "verdict": " and ".join(known) or ruled,
        "off": to(pd.Series([off], dtype=object), "share").iloc[0],
        "used": span(used),
        "rule": span(models["step_rule"]),
        "context": span(phases["context"]),
        "sizes": by_size(phases, models),
        "models": models,
        "phases": phases,
        "missing": unmeasured(table, *KEY, "measurement", "phase"),
    }


def of_phases(rows: pd.DataFrame, ceilings: pd.DataFrame) -> pd.DataFrame:
    """Phases with their peak memory against its formula, and the rate of a whole pass.

    works: the device's share of the time, known of forward passes on a GPU. reached: the rate as a
    share of the fastest product's, only where the device works for WORKING_FULLY or more. That is
    of medians: a single fastest sample is reached by nothing that lasts.
    """
    products = ceilings[ceilings["kind"] == "compute"]
    fastest = over(products, "precision", "median_tflop_per_s", "max")
    ms, on_gpu = rows["median_ms"].where(rows["ok"]), rows["gpu"] != ""
    peak = to(rows["peak_mib"].where(rows["ok"]), "GiB")
    predicted = to(rows["predicted_peak_mib"], "GiB")
    works = to(rows["busy_ms"].where(on_gpu) / ms, "share")
    best = rows["precision"].map(fastest).astype(object)
    reached = to(to(rows["flops"] / ms, "TFLOP/s") / best, "share")
    return rows.assign(
        name=rows["phase"].map(lambda phase: PHASES.get(phase, phase)),
        peak=peak,
        shown=or_state(peak, rows),
        took=or_state(rows["time"], rows),
        predicted=predicted,
        off=to(predicted / peak - 1, "change"),
        works=works,
        reached=reached.where((works >= WORKING_FULLY) | ~on_gpu),
    )


def formulas(rows: pd.DataFrame) -> pd.DataFrame:
    """FLOPs and memory of sizes by formula, activations in a column per precision, and the FLOPs of
    rules as shares of the exact ones."""
    forward, backward = rows["forward_flops"], rows["backward_flops"]
    rules = {
        "forward_rule": rows["forward_rule_flops"] / forward,
        "step_rule": rows["step_rule_flops"] / (forward + backward),
        "step_rule_all": rows["step_rule_all_flops"] / (forward + backward),
    }
    made = rows.assign(**{name: to(cells, "share") for name, cells in rules.items()})
    for name in ("weights", "gradients", "optimizer", "activations"):
        made[name] = to(made[f"{name}_mib"], "GiB")
    for name in ("forward", "backward"):
        made[name] = to(made[f"{name}_flops"], "GFLOP")
    one = made.drop_duplicates("size")
    wide = made.drop_duplicates(KEY).pivot(index="size", columns="precision", values="activations")
    return one.join(wide.astype(object), on="size")


def by_size(phases: pd.DataFrame, models: pd.DataFrame) -> pd.DataFrame:
    """The training step and the forward pass of each size and precision that was measured."""
    one = phases.drop_duplicates([*KEY, "phase"])
    step, forward = (one[one["phase"] == n].set_index(KEY) for n in ("train_step", "forward"))
    made = phases[KEY].drop_duplicates()
    made = made.join(step[["shown", "predicted", "took"]], on=KEY)
    made = made.join(forward[["took", "works", "reached"]].add_prefix("forward_"), on=KEY)
    return made.join(models.set_index("size")["step_rule"], on="size")


def derive(point: Point, rows: list[Row]) -> list[Row]:
    """A row of formulas per size, then the measured phases, of forward with its device time."""
    cases = {size: case_of(point, size, point["precision"]) for size in point["sizes"]}
    works = {
        row["size"]: sum(each["busy_ns"] for each in row["activities"]) / row["steps"] / NS_PER_MS
        for row in rows
        if "activities" in row
    }
    ok = {"status": "ok", "reason": ""}
    models = cases.values()
    made = [{"measurement": "model"} | identity(each) | ok | model_row(each) for each in models]
    for row in (row for row in rows if row["measurement"] == "phase"):
        busy_ms = works.get(row["size"]) if row["phase"] == "forward" else None
        made.append(_phase(cases[row["size"]], row) | {"busy_ms": busy_ms})
    return made


def _phase(case: Case, row: Row) -> Row:
    """A phase's FLOPs and predicted peak (MiB); if it ran, its measured peak, without memory that
    was held before the model was built."""
    known = row | {"flops": phase_flops(case, row["phase"])}
    known["predicted_peak_mib"] = peak_bytes(case, row["phase"]) / MIB
    if row["status"] == "ok":
        known["peak_mib"] = row["peak_memory_mib"] - row["memory_before_mib"]
    return known
