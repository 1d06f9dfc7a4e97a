"""(f) What to change first: what was measured to pay, and what each other remedy could save."""

from collections.abc import Sequence

import pandas as pd
from markupsafe import Markup

from workflow_src.answers import by_itself, command, comparable, evidence, hosts, remedies
from workflow_src.answers import levers as study
from workflow_src.answers.answer import Answer, Fact
from workflow_src.answers.change_summary import summarize
from workflow_src.answers.evidence import Row, State
from workflow_src.answers.remedies import REMEDIES
from workflow_src.answers.tried import measured_table
from workflow_src.common.thresholds import LAUNCH_BOUND_BELOW
from workflow_src.render import markdown
from workflow_src.render.markdown import Column

TITLE = "What to change first?"
PHASE = "train_step"


def measure(
    case: Row,
    timings: pd.DataFrame,
    ranges: pd.DataFrame,
    kernels: pd.DataFrame,
    captures: pd.DataFrame,
    load: Row,
) -> Row:
    """One case's unprofiled training step (median_ms), and what each remedy could save of it.

    "savings" maps remedies to ms; see `remedies.savings`. Nothing is said to be saved in a case
    with a "doubt" for which that is withheld; `load` is as for `comparable.doubt`.
    """
    name = case["case"]
    steps = evidence.whole_steps(ranges, name, PHASE)
    state = evidence.profile_state(timings, captures, kernels, name, PHASE)
    row: Row = case | {"state": state.word, "reason": state.reason, "doubt": ""} | load
    row |= remedies.unprofiled(evidence.of(timings, name, PHASE))
    if state.word != "ok" or "median_ms" not in row:
        return row
    found = remedies.savings(case, row["median_ms"], steps, evidence.of(kernels, name, PHASE))
    row["doubt"] = doubt(row | {"busy_ms": found["idle"]["busy_ms"]}, steps, found)
    if comparable.withheld(row):
        return row
    row["savings"] = found
    shares = {key: each["ms"] / row["median_ms"] for key, each in found.items()}
    row |= {f"{key}_share": share for key, share in shares.items()}
    timed = evidence.of(timings, name, by_itself.PHASE)
    alone = evidence.whole_steps(ranges, name, by_itself.PHASE)
    if replay := by_itself.measure(timed, alone):
        row |= {"replay": replay} | by_itself.shares(replay, row["median_ms"])
    row["waits"] = found["idle"]["busy_ms"] < LAUNCH_BOUND_BELOW * row["median_ms"]
    row["largest"] = max(shares, key=lambda key: shares[key])
    row["largest_share"] = shares[row["largest"]]
    return row


def doubt(row: Row, steps: pd.DataFrame, savings: Row) -> str:
    """Why a step's bounds are doubtful, as `comparable.doubt`; beyond if one is above 100 %."""
    times = {"host_ms": float(steps["host_ms"].median())} if len(steps) else {}
    found = comparable.doubt(row | times)
    above = any(each["ms"] > row["median_ms"] for each in savings.values())
    return comparable.BEYOND if above and found in ("", comparable.OVER) else found


def facts_of(row: Row) -> list[Fact]:
    """The facts of one case."""
    if "median_ms" not in row:
        return []
    case, timed = row["case"], row["evidence"]
    facts = comparable.facts_of(row)
    facts += [Fact(case, "train_step/median_ms", row["median_ms"], "ms", "timings", timed)]
    for key, saving in row.get("savings", {}).items():
        source = (
            {"derived_from": ("train_step/median_ms", "train_step/busy_ms")}
            if key == "idle"
            else {"table": "kernels", "rows": saving["evidence"]}
        )
        facts.append(Fact(case, f"{key}/ms", saving["ms"], "ms", **source))
        parts = (f"{key}/ms", "train_step/median_ms")
        facts.append(Fact(case, f"{key}/share", row[f"{key}_share"], "1", derived_from=parts))
    if "savings" in row:
        idle = row["savings"]["idle"]
        rows = idle["evidence"]
        facts.append(Fact(case, "train_step/busy_ms", idle["busy_ms"], "ms", "ranges", rows))
    return facts + by_itself.facts_of(row)


def answer(
    timings: pd.DataFrame,
    ranges: pd.DataFrame,
    kernels: pd.DataFrame,
    captures: pd.DataFrame,
    environments: pd.DataFrame,
    levers: pd.DataFrame,
    example: Row | None = None,
) -> Answer:
    """Answer (f) from timings.csv, ranges.csv, kernels.csv, captures.csv and studies/levers.csv.

    From environments.csv, on which kind of host each case was measured. `example` is the case to
    work through; see example_case.
    """
    cases = evidence.cases_of(timings, captures)
    loads = {case["case"]: comparable.load_of(environments, case["case"]) for case in cases}
    rows = [
        measure(case, timings, ranges, kernels, captures, loads[case["case"]]) for case in cases
    ]
    measured_on = hosts.hosts_of([row["case"] for row in rows], environments)
    states = {(row["case"], ""): State(row["state"], row["reason"]) for row in rows}
    tried = study.measured(levers)
    facts = [fact for row in rows for fact in facts_of(row)]
    facts += [fact for case in tried for fact in study.facts_of(case)]
    summary = summarize(rows, measured_on, example)
    summary |= {"levers": tried, "levers_short": study.in_short(tried)}
    summary["levers_again"] = study.measured_again(tried, rows)
    return evidence.answered(
        "f", TITLE, cases, states, captures, facts, {"cases": pd.DataFrame(rows)}, summary
    )


WAITS = "\N{PILCROW SIGN}"
"""Marks a step that waits for its launches; daggers mark hosts in (a)."""


def largest(value: tuple[float, float, str, bool, str]) -> str:
    """A step's time (ms), a share of it, and what it is; marked where it waits for launches.

    For example "67.0 ms: 43 % optimizer". Without the share where comparing is in doubt.
    """
    median_ms, share, key, waits, doubt = value
    remark = f" {comparable.MARK}" if doubt else ""
    if doubt in comparable.WITHHELD:
        return f"{markdown.number(median_ms)} ms{remark}"
    mark = (f" {WAITS}" if waits else "") + remark
    return f"{markdown.number(median_ms)} ms: {100 * share:.0f} % {REMEDIES[key].short}{mark}"


def tables(answer: Answer) -> dict[str, Markup]:
    """The answer's tables as Markdown."""
    rows = markdown.records(answer.rows["cases"])
    for row in rows:
        row["bound_state"] = "none" if row["state"] == "ok" else row["state"]
        if comparable.withheld(row):
            row["bound_state"] = comparable.STATE
        if row["bound_state"] in ("none", comparable.STATE) and row["median_ms"] > 0:
            key = row.get("largest")
            said = (row.get(f"{key}_share"), key)
            row["shown"] = (row["median_ms"], *said, row.get("waits"), row.get("doubt"))
    there = answer.summary["remedies"]
    on_cpu = answer.summary["words"]["kernel"] == "operator"
    columns = [
        *markdown.case_columns(evidence.axes(rows)),
        Column("unprofiled training step ms", "median_ms", markdown.number),
        *(
            Column(REMEDIES[key].short, f"{key}_share", markdown.percent, "bound_state")
            for key in there
        ),
    ]
    return {
        "matrix": markdown.matrix(rows, "shown", largest),
        "bounds": bounds_table(answer),
        "measured": measured_table(answer.summary["tried"], on_cpu),
        "worked": worked_table(answer),
        "by_case": markdown.markdown_table(rows, columns),
    }


def worked_table(answer: Answer) -> Markup:
    """One size and context by hand: at each precision the step and what remedies could save."""
    worked = answer.summary["worked"]
    columns = [
        Column("precision", "precision"),
        Column("step: ms", "median_ms", markdown.precise),
        Column("device's work: ms", "busy_ms", markdown.precise),
    ]
    keys = [key for key in answer.summary["remedies"] if any(key in r["savings"] for r in worked)]
    for key in keys:
        columns.append(Column(f"{REMEDIES[key].short}: ms", f"{key}_ms", markdown.precise))
        columns.append(Column("share", f"{key}_share", markdown.percent))
    lines = [
        row
        | {"state": "none", "busy_ms": row["savings"]["idle"]["busy_ms"]}
        | {f"{key}_ms": saving["ms"] for key, saving in row["savings"].items()}
        for row in worked
    ]
    return markdown.markdown_table(lines, columns)


def bounds_table(answer: Answer) -> Markup:
    """A row per remedy: what it could save at most of the step, a median per precision.

    Below idle time, which is the first, that of forward + backward by itself in the cases in which
    it was replayed, and what the replay was measured to save.
    """
    precisions = answer.summary["precisions"]
    on_cpu = answer.summary["words"]["kernel"] == "operator"
    lines = [
        {"what": each.removes, "how": (on_cpu and each.how_on_cpu) or each.how}
        | {row["precision"]: row["shares"].get(key) for row in precisions}
        for key, each in REMEDIES.items()
        if key in answer.summary["remedies"]
    ]
    lines[1:1] = replay_lines(precisions)
    columns = [
        Column("what could be saved", "what"),
        *(Column(each["precision"], each["precision"], markdown.percent) for each in precisions),
        Column("by", "how"),
    ]
    return markdown.markdown_table([line | {"state": "none"} for line in lines], columns)


def replay_lines(precisions: Sequence[Row]) -> list[Row]:
    """Lines of forward + backward by itself: its idle time, and what the replay saved; or none."""
    counts = [
        f"{each['replayed']} in {each['precision']}" for each in precisions if each["replayed"]
    ]
    if not counts:
        return []
    in_all = all(each["replayed"] == each["cases"] for each in precisions)
    where = "" if in_all else f", in the replayed cases alone ({', '.join(counts)})"
    found = {"by_itself": f"the same, of forward + backward by itself{where}"}
    found["replay"] = remedies.REPLAY.removes
    how = {"by_itself": "", "replay": remedies.REPLAY.how}
    return [
        {"what": what, "how": how[key]} | {each["precision"]: each[key] for each in precisions}
        for key, what in found.items()
        if any(each[key] is not None for each in precisions)
    ]


if __name__ == "__main__":
    command.main("f", answer, tables)
