"""What to change in a step, what saves most first, and what is large though no finding has it."""

import re
from dataclasses import replace
from typing import Any

import pandas as pd

from workflow_src.capture_report.capture import Capture, most_first
from workflow_src.capture_report.screen import per_launch, whole_ms
from workflow_src.common.thresholds import FINDING_AT_LEAST, UNNAMED
from workflow_src.diagnosis.finding import MECHANISMS
from workflow_src.diagnosis.idle import Before
from workflow_src.diagnosis.subject import MOST, NUMBER
from workflow_src.paper.number import is_number, to
from workflow_src.paper.run import lifted

SMALLER = 6


def ranked(capture: Capture) -> pd.DataFrame:
    """Findings and launches: what, what it saves, where, what shows it, what to do."""
    rows = _placed(capture, capture.special)
    rows["seen"] = pd.Series([_seen(row) for _, row in rows.iterrows()], rows.index, dtype=object)
    assumes = rows["assumes"].where(rows["saves_ms"].notna(), "")
    rows = rows.assign(assumes=assumes, gain=rows["saves_ms"].map(whole_ms))
    rows = most_first(pd.concat([rows, *_launching(capture)]), "saves_ms")
    return rows.assign(share=to(rows["saves_ms"] / rows["step_ms"], "share"))


def _launching(capture: Capture) -> list[pd.DataFrame]:
    """A row of the process whose launches add most to its device's time and findings, if much."""
    rows = capture.diagnoses
    limit = (FINDING_AT_LEAST * rows["step_ms"]).astype(float)
    rows = rows[rows["launching_ms"].astype(float) >= limit]
    if rows.empty:
        return []
    most, words = rows["launching_ms"].astype(float).to_numpy().argmax(), MECHANISMS["launch_bound"]
    row = rows.iloc[int(most)]
    idle = capture["idle_causes"]
    idle = idle[(idle["process"] == row["process"]) & (idle["before"] == Before.LAUNCHES)]
    path, (host, device) = next(iter(idle["next_path"]), ""), per_launch(row)
    each = (" a step, each ", host, " µs of the host and ", device, " of the device")
    made = {"process": row["process"], "name": "Launches, one by one", "path": path, "where": path}
    made |= {"saves_ms": row["launching_ms"], "gain": ("up to ", whole_ms(row["launching_ms"]))}
    made |= {"seen": (row["launches"], *each), "step_ms": row["step_ms"]}
    made |= {"assumes": words.assumes, "remedy": words.remedy}
    return [capture.of_process(pd.DataFrame([made], dtype=object))]


def _seen(row: pd.Series) -> tuple[Any, ...]:
    """How often a finding occurs, what it takes of a step, and between which calls a gap lies."""
    parts: list[tuple[Any, ...]] = [
        (row["calls"], " × a step"),
        (row["when"], " steps"),
        (whole_ms(row["host_ms"]), " ms of the host"),
        (whole_ms(row["device_ms"]), " ms of the device"),
        *([("between " + row["between"], "")] if row["between"] else []),
    ]
    known = [part for part in parts if not is_number(part[0]) or part[0] > 0]
    return tuple(piece for part in known if part[0] == part[0] for piece in (", ", *part))[1:]


def smaller(capture: Capture) -> pd.DataFrame:
    """Findings that save little, the largest first."""
    rows = most_first(capture["smaller"], "saves_ms")
    return _placed(capture, lifted(rows.drop_duplicates(["mechanism", "path"])[:SMALLER]))


def _placed(capture: Capture, rows: pd.DataFrame) -> pd.DataFrame:
    """Findings with their paths, and in how many steps they occur."""
    path, also = rows["path"], rows["also_in"]
    steps = zip(rows["in_steps"], rows["of_steps"], strict=True)
    when = [replace(some, unit=f"of {every}") for some, every in steps if is_number(some)]
    told = pd.Series(when, rows.index[rows["in_steps"].notna()], dtype=object)
    where = path + (" and " + also).where((path != "") & (also != ""), also)
    return capture.of_process(rows.assign(where=where, when=told.reindex(rows.index)))


def unfound(capture: Capture) -> pd.DataFrame:
    """What takes much of a step and has no finding: work of one kind, and the host's other time."""
    work, calls, rest = map(capture.numbers, ("step_work", "step_calls", "diagnoses"))
    kinds = work["family"] + (", " + work["precision"]).where(work["precision"] != "", "")
    work = work.assign(side="device", what=kinds, ms=work["device_ms"])
    most = calls.assign(example="most before: " + calls["what"])[["process", "path", "example"]]
    rest = rest[["process", "recorded_ms", "unnamed_ms"]].rename(columns={"unnamed_ms": "ms"})
    rest = rest.merge(most.drop_duplicates("process"), "left", "process")
    rows = pd.concat([work, rest.assign(side="host", what="neither launches nor a finding")])
    step = rows["process"].map(rest.set_index("process")["recorded_ms"])
    rows = rows.assign(share=to(rows["ms"] / step, "share")).reset_index()
    rows = rows[rows["share"].astype(float) >= UNNAMED]
    rows = rows.drop([at for at, row in rows.iterrows() if _is_found(capture, row)])
    return capture.of_process(most_first(rows, "ms").drop_duplicates(["what", "path"]))


def _is_found(capture: Capture, row: pd.Series) -> bool:
    """Whether a finding takes most of a kind of work, at its place; launches take of all kinds."""
    known, names = pd.concat([capture["findings"], capture["smaller"]]), capture["kernels"]
    general = known["mechanism"].map(lambda key: MECHANISMS[key].general).astype(bool)
    takes = (known["device_ms"] >= MOST * float(row["ms"])) & ~general
    for each in known[takes & (known["process"] == row["process"])].itertuples():
        shown = names["family"][names["short_name"].str.startswith(each.example)]
        family = "copy" if each.example.startswith("copy from") else next(iter(shown), "")
        paths = [row["path"], *filter(None, (each.path, each.also_in))]
        own, *its = (re.sub(NUMBER, "*", f"{path}/") for path in paths)
        near = not its or any(path.startswith(own) or own.startswith(path) for path in its)
        if near and row["what"].split(",")[0] == family:
            return True
    return False
