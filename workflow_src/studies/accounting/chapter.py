"""Study accounting: formulas against measurements, and passes against the machine's ceilings."""

import pandas as pd

from workflow_src.common.components import COMPONENTS
from workflow_src.common.precisions import NARROW
from workflow_src.common.thresholds import WORKING_FULLY
from workflow_src.common.words import PHASES
from workflow_src.paper.figures import Panel, Plot
from workflow_src.paper.number import lift, of, over, to
from workflow_src.paper.run import Run
from workflow_src.paper.written import Facts
from workflow_src.studies.facts import load, or_state, span, unmeasured

WRITES_ALONE = "write"
"""The bandwidth of writing alone is no ceiling of work that reads."""

PRODUCTS_ALONE, WITHOUT_PRODUCTS = ("qkv", "feed_forward", "head"), "softmax"
"""Components that run products and elementwise work counted with them, and copy nothing; and one
that runs none."""

KEY = ["size", "precision"]


def facts(run: Run) -> Facts:
    """What the study's table says, and how near the run's ceilings its forward passes come."""
    table = load(run, "accounting")
    rows = {name: mine for name, mine in table.groupby("measurement")}
    models = formulas(rows.get("model", table[:0]))
    roofs = ceilings(run)
    roofs = roofs[roofs.index.isin(table["precision"])]
    phases = of_phases(rows.get("phase", table[:0]), roofs)
    off = of(phases["off"].map(abs), "max")
    used = phases["reached"][phases["phase"] == "forward"]
    parts = components(rows.get("component", table[:0]), roofs)
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
        "components": parts,
        "roofs": roofs.reset_index(),
        "missing": unmeasured(table, *KEY, "measurement", "phase", "component"),
        "figure": figure(parts, roofs),
    }


def ceilings(run: Run) -> pd.DataFrame:
    """By precision the rate of the fastest product (TFLOP/s), and the bandwidth (GB/s).

    Both are of medians: a single fastest sample is reached by nothing that lasts. ridge: the FLOPs
    per byte below which the bandwidth is the lower ceiling.
    """
    rows = run["ceilings"]
    products = rows[rows["kind"] == "compute"]
    moved = rows[(rows["kind"] == "bandwidth") & (rows["name"] != WRITES_ALONE)]
    rate = over(products, "precision", "median_tflop_per_s", "max").rename_axis("precision")
    bandwidth = of(lift(moved["median_gb_per_s"]), "max")
    made = pd.DataFrame({"products": rate, "bandwidth": bandwidth}, dtype=object)
    ridge = made["products"].astype(float) * 1e3 / made["bandwidth"].astype(float)
    return made.assign(ridge=ridge)


def of_phases(rows: pd.DataFrame, roofs: pd.DataFrame) -> pd.DataFrame:
    """Phases with their peak memory against its formula, and the rate of a whole pass.

    works: the device's share of the time, known of forward passes on a GPU. reached: the rate as a
    share of the fastest product's, only where the device works for WORKING_FULLY or more.
    """
    ms, on_gpu = rows["median_ms"].where(rows["ok"]), rows["gpu"] != ""
    peak = to(rows["peak_mib"].where(rows["ok"]), "GiB")
    predicted = to(rows["predicted_peak_mib"], "GiB")
    works = to(rows["busy_ms"].where(on_gpu) / ms, "share")
    best = rows["precision"].map(roofs["products"]).astype(object)
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
    """By size FLOPs and memory by formula, and the FLOPs of rules as shares of the exact ones.

    Activations depend on the precision, so that each has a column.
    """
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
    """A row per size and precision that was measured: its training step and its forward pass."""
    one = phases.drop_duplicates([*KEY, "phase"])
    step, forward = (one[one["phase"] == n].set_index(KEY) for n in ("train_step", "forward"))
    made = phases[KEY].drop_duplicates()
    made = made.join(step[["shown", "predicted", "took"]], on=KEY)
    made = made.join(forward[["took", "works", "reached"]].add_prefix("forward_"), on=KEY)
    return made.join(models.set_index("size")["step_rule"], on="size")


def components(rows: pd.DataFrame, roofs: pd.DataFrame) -> pd.DataFrame:
    """Components of forward passes, and how near their lower ceiling they come.

    reached: only of those of one kind of work: of a product and a cast, the time says nothing of
    either. After Williams, Waterman & Patterson 2009, "Roofline".
    """
    rows = rows[rows["ok"] & rows["busy_ms"].notna() & rows["flops_per_byte"].notna()]
    rate = to(rows["flops"] / rows["busy_ms"], "TFLOP/s")
    moved = to(rows["bytes"] / rows["busy_ms"], "GB/s")
    roof = rows[["precision"]].join(roofs, on="precision")
    by_bandwidth = rows["flops_per_byte"] < roof["ridge"]
    reached = (rate / roof["products"]).mask(by_bandwidth, moved / roof["bandwidth"])
    wide = rows["component"].isin(PRODUCTS_ALONE) & ~rows["precision"].isin(NARROW)
    alone = wide | (rows["component"] == WITHOUT_PRODUCTS)
    lower = by_bandwidth.map({True: "bandwidth", False: "products"})
    named = {name: each.name for name, each in COMPONENTS.items()}
    return rows.assign(
        name=rows["component"].map(lambda each: named.get(each, each)),
        rate=rate,
        lower=lower.where(roof["ridge"].notna(), ""),
        reached=to(reached.where(alone), "share"),
    )


def figure(parts: pd.DataFrame, roofs: pd.DataFrame) -> Plot:
    """A roofline per precision, with the components of one kind of work."""
    known = parts[parts["reached"].notna()]
    # First of all what is in each panel, so that a component has one color.
    known = known.sort_values("component", key=lambda c: c != WITHOUT_PRODUCTS, kind="stable")
    panels = []
    for precision, mine in known.groupby("precision", sort=False):
        ((best, bandwidth, ridge),) = roofs.loc[[precision]].astype(float).to_numpy()
        x = mine["flops_per_byte"].astype(float)
        places = [min(x.min(), ridge) / 2, ridge, max(x.max(), ridge) * 2]
        levels = [min(best, place * bandwidth / 1e3) for place in places]
        line = {"name": "ceilings", "flops_per_byte": places, "rate": levels}
        rows = pd.concat([pd.DataFrame(line, dtype=object), mine[[*line]]])
        panel = Panel(
            rows,
            x="flops_per_byte",
            y="rate",
            by="name",
            mark="o",
            log="xy",
            title=str(precision),
            xlabel="FLOPs per byte",
            reference="ceilings",
        )
        panels.append(panel)
    return Plot(panels, "no component of one kind of work was measured", "TFLOP/s")
