"""What was run: models, settings, versions and hosts; the ceilings; what is missing."""

from collections import Counter

import pandas as pd

from workflow_src.answers.facts import KEY, captured, states, tables_of
from workflow_src.answers.machines import counted, hosts, of_cases
from workflow_src.answers.questions import FRONT
from workflow_src.common import words
from workflow_src.common.case import PHASES, Case
from workflow_src.common.ceilings import RATES
from workflow_src.common.datasheets import peak_tflop_per_s
from workflow_src.model.flops import parameter_count
from workflow_src.paper.cells import is_missing
from workflow_src.paper.number import Number, to
from workflow_src.paper.run import Run, keyed, ordered
from workflow_src.paper.written import Facts, main

SIZE = ("d_model", "d_ff", "layers", "heads")

RECORDED = {
    "gpu": "GPU",
    "cpu": "CPU",
    "cpu_cores": "CPU cores",
    "cpu_threads": "CPU threads of torch",
    "torch": "torch",
    "cuda": "CUDA",
    "driver": "driver",
    "python": "Python",
}
PLANNED = {
    "workload": "workload",
    "warmup_steps": "steps of warm-up",
    "steps": "steps timed per process",
    "processes": "processes",
    "capture_steps": "steps captured",
    "memory_limit_gib": "memory limit, GiB",
    "vocabulary": "vocabulary",
    "seed": "seed",
}

PROFILERS = {"nsys": "Nsight Systems", "torch": "torch.profiler"}

NO_RESULT = "the run has no result of it, and allow_missing lets it be left out"

KINDS = {"bandwidth": "memory", "compute": "matrix product", "exponential": "exponentials"}
"""Kinds of ceilings; rows of other kinds are none."""

UNITS = {"gb_per_s": "GB/s", "tflop_per_s": "TFLOP/s", "giga_exp_per_s": "10^9 exp/s"}

SHOWN = 4
"""A setting with more values is shown by its smallest and largest."""


def facts(run: Run) -> Facts:
    """What the template says."""
    gone, timed = missing(run), run["timings"]
    whole = run.cases.index[~run.cases.index.isin(gone["case"])]
    return {
        "verdict": "all" if gone.empty else "some",
        "cases": of_cases(run, run.cases.index, "cases"),
        "whole": of_cases(run, whole, "cases with all times and captures"),
        "sizes": sizes(run),
        "settings": settings(run),
        "missing": gone,
        "energy": (timed["joules_per_step"].notna() | (timed["device"] == "cpu")).any(),
        "states": {*gone["unprofiled"], *gone["profiled"]},
        "ceilings": ceilings(run),
    }


def sizes(run: Run) -> pd.DataFrame:
    """A row per size of this project's own model."""
    plan = run["plan"].drop_duplicates("size")
    plan = plan[plan["d_model"].notna()]
    rows, about = run.numbers("plan").loc[plan.index], plan.to_dict("records")
    counts = [parameter_count(Case.from_dict({str(k): v for k, v in row.items()})) for row in about]
    billions = [
        Number(count / 1e9, "", frozenset([at]), "parameters / 10^9")
        for at, count in zip(plan.index, counts, strict=True)
    ]
    return rows[["size", *SIZE]].assign(
        head=to(rows["d_model"] / rows["heads"], "whole"),
        billions=pd.Series(billions, rows.index, dtype=object),
    )


def settings(run: Run) -> pd.DataFrame:
    """Settings, versions and hosts, a row each."""
    machines, plan = run["environments"], run["plan"]
    compiled = machines[machines["compiled"]]
    names = run["captures"]["profiler"].replace(PROFILERS)
    days = sorted(machines["started_at"].str[:10].unique())
    gpus = machines["gpu"].unique()
    peaks = {name: peak_tflop_per_s(gpu, name) for name in run.precisions for gpu in gpus}
    compiling = counted(compiled, "compiled", machines) if len(compiled) else ""
    rows = {
        **{said: values(machines[name]) for name, said in RECORDED.items()},
        **{said: values(plan[name]) for name, said in PLANNED.items()},
        "profiler": f"{values(names)} {values(machines['profiler_version'])}".strip(),
        "dense peak by datasheet, TFLOP/s": ", ".join(f"{n} {p}" for n, p in peaks.items() if p),
        "cases measured on": " to ".join(dict.fromkeys([*days[:1], *days[-1:]])),
        "hosts": hosts(run),
        "GPUs": hosts(run, "gpu_id"),
        "cases under torch.compile, so without ranges of modules": compiling,
    }
    lines = [[name, cell] for name, cell in rows.items() if not is_missing(cell)]
    return pd.DataFrame(lines, columns=["what", "value"], dtype=object)


def values(cells: pd.Series) -> str:
    """The values of a column, with the cases of each; of many the least and the most."""
    found = [f"{cell:g}" if isinstance(cell, float) else str(cell) for cell in cells.dropna()]
    told = Counter(text for text in found if text)
    if len(told) == 1:
        return "".join(told)
    if len(told) <= SHOWN:
        return ", ".join(f"{text} in {cases}" for text, cases in told.most_common())
    ordered = sorted(told, key=float if cells.dtype == float else str)
    return f"{ordered[0]} to {ordered[-1]}"


def missing(run: Run) -> pd.DataFrame:
    """The phases of cases without a time or a capture, and why."""
    found = []
    for phase in PHASES:
        plain, profiled = states(run, phase), captured(run, phase)
        rows = pd.DataFrame({"unprofiled": plain, "profiled": profiled, "phase": phase})
        found.append(rows[(plain != "ok") | (profiled != "ok")])
    why = keyed(run["timings"], KEY)["reason"]
    rows = pd.concat(found).rename_axis("case").reset_index().join(why, on=KEY)
    kinds = ["unprofiled", "profiled"]
    unknown = (rows[kinds] == "not_measured").any(axis=1)
    reason = rows["reason"].astype(object).fillna("")
    said = rows[kinds].map(lambda state: words.STATES.get(state, state))
    rows = said.assign(
        case=rows["case"],
        phase=rows["phase"].map(words.PHASES),
        reason=reason.mask((reason == "") & unknown, NO_RESULT),
    )
    together = rows.groupby(["case", *kinds, "reason"], sort=False)["phase"].agg(", ".join)
    return ordered(together.reset_index(), "case", run.cases.index)


def ceilings(run: Run) -> pd.DataFrame:
    """A row per ceiling; all of bandwidth, since what only writes has another rate."""
    texts, rows = run["ceilings"], run.numbers("ceilings")
    chosen = texts["kind"].isin(KINDS) & ((texts["kind"] == "bandwidth") | texts["is_ceiling"])
    texts, rows = texts[chosen], rows[chosen]
    unit = texts["kind"].map(lambda kind: RATES[kind][1])
    picked = {
        end: [rows.at[at, f"{end}_{name}"] for at, name in unit.items()]
        for end in ("best", "median")
    }
    return pd.DataFrame(picked, rows.index, dtype=object).assign(
        of=texts["kind"].map(KINDS),
        precision=texts["precision"].where(texts["kind"] == "compute", ""),
        by=(texts["name"] + " " + texts["shape"] + " " + texts["layout"]).str.strip(),
        unit=unit.map(UNITS),
        clock=rows["sm_clock_mhz"],
    )


if __name__ == "__main__":
    main("ran", facts, ["report/ran.j2"], tables=tables_of(FRONT["ran"]))
