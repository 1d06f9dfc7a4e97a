"""A run for programs: what its chapters say, the times of its cases, and what couldn't be told.

docs/agents.md describes summary.json.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_src.answers.cards.doubts import doubts
from workflow_src.answers.cards.phases import phases
from workflow_src.answers.facts import KEY, tables_of
from workflow_src.answers.questions import CARDS
from workflow_src.common.arguments import Parser, existing_folder
from workflow_src.common.atomic_write import write_json
from workflow_src.common.environment import SAME_EVERYWHERE
from workflow_src.common.errors import StageError, one_sentence
from workflow_src.paper.number import over, within
from workflow_src.paper.plain import SCHEMA, file_of, told
from workflow_src.paper.run import Run, keyed

TIMES = {
    "replayed_ms": "replayed", "profiled_ms": "profiled", "memory_gib": "memory",
    "joules": "joules", "joules_per_token": "per_token", "watts": "watts",
    "processes": "processes",
}  # fmt: skip

FINDING = ("case", "phase", "rank", "mechanism", "name", "path", "headline", "remedy", "saves_ms",
           "saves_share", "step_ms")  # fmt: skip

ENVIRONMENT = (*SAME_EVERYWHERE, "python", "host_id")
SETTINGS = ("workload", "code", "attention_code", "warmup_steps", "steps", "processes",
            "capture_steps", "energy_seconds", "memory_limit_gib", "seed")  # fmt: skip
"""Columns that tell one run from another."""

SILENT = ("failed", "can't tell")
"""Verdicts of a chapter that tells nothing."""

PRINTED = re.compile(r'<button class="n" value="(n\w+)">')


def of_folder(folder: Path, chapters: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """The summary of the run in a folder. Raises StageError if one of its tables is damaged."""
    tables = [folder / "tables" / f"{name}.csv" for name in tables_of(CARDS)]
    run = Run([*tables, folder / "plan.csv"])
    return summary(run, chapters, folder.resolve().name)


def summary(run: Run, chapters: Sequence[Mapping[str, Any]], name: str) -> dict[str, Any]:
    """What is said of a run; chapters: see Written.said."""
    cards = phases(run)
    opening = [each for each in chapters if each["level"] == "#"]
    spoken = [each for each in chapters if each["level"] != "#"]
    silent = [
        {"what": _plain(each["title"]), "why": each.get("log", "") or _plain(each["headline"])}
        for each in spoken
        if each["verdict"] in SILENT
    ]
    found = {
        "says": [_plain(each[line]) for each in opening for line in ("question", "headline")],
        "questions": [_question(each) for each in spoken],
        "cases": times(run, cards),
        "findings": run.numbers("findings")[[*FINDING]],
        "unknown": [*silent, *told(unknown(cards))],
        "doubts": doubts(run, cards).reset_index(),
        "environment": _values(run["environments"], ENVIRONMENT),
        "settings": _values(run["plan"], SETTINGS),
    }
    return {"schema": SCHEMA, "kind": "run", "name": name, **told(found)}


def times(run: Run, cards: pd.DataFrame) -> pd.DataFrame:
    """A row per case and phase: what a step takes; see docs/agents.md."""
    steps = run["ranges"]
    steps = steps[(steps["path"] == steps["phase"]) & (steps["busy_ms"] > 0)]
    device = (over(steps, KEY, "busy_ms", how) for how in ("median", "min", "max"))
    busy, *ends = (each.reindex(cards.index).astype(object) for each in device)
    timed = keyed(run["timings"], KEY)["status"]
    made = {
        "status": timed.reindex(cards.index, fill_value="not_measured"),
        "unprofiled_ms": within(cards["unprofiled"], cards["fastest"], cards["slowest"]),
        "device_ms": within(busy, *ends).where(cards["busy"].notna()),
        **{name: cards[column] for name, column in TIMES.items()},
    }
    return pd.DataFrame(made, cards.index, dtype=object).reset_index()


def unknown(cards: pd.DataFrame) -> pd.DataFrame:
    """What has no number, and why."""
    profiled = cards["profiled_state"].where(cards["profiled"].isna(), "")
    plain = cards["reason"].where(cards["reason"] != "", cards["state"])
    reasons = {
        "unprofiled time": plain.where(cards["unprofiled"].isna(), ""),
        "device time": profiled,
        "as a CUDA graph": cards["replay_reason"],
    }
    made = [pd.DataFrame({"what": what, "why": why}) for what, why in reasons.items()]
    found = pd.concat(made).reset_index()
    return found[found["why"].fillna("") != ""]


def _question(said: Mapping[str, Any]) -> dict[str, Any]:
    """A chapter, with the numbers of its headline and of the table of medians."""
    printed = {("headline", ""): said["html"]["headline"]}
    for row in said["opening"]:
        printed |= {(row["label"], name): cell["page"] for name, cell in row["cells"].items()}
    numbers = [
        {"label": label, "precision": precision, **_evidence(said["evidence"][key])}
        for (label, precision), page in printed.items()
        for key in PRINTED.findall(page)
    ]
    lines = {name: _plain(said[name]) for name in ("title", "question", "headline")}
    return {"name": said["name"], "verdict": said["verdict"], **lines, "numbers": numbers}


def _evidence(why: Mapping[str, Any]) -> dict[str, Any]:
    ends = {"interval": why["ends"]} if "ends" in why else {}
    rows = "; ".join(f"{file_of(table)}:{lines}" for table, lines in why["rows"].items())
    return {name: why[name] for name in ("text", "value", "unit")} | ends | {"rows": rows}


def _values(rows: pd.DataFrame, names: Iterable[str]) -> dict[str, list[str]]:
    """The values that columns have, most frequent first."""
    there = [name for name in names if name in rows]
    texts = {name: rows[name].dropna().map(lambda cell: f"{cell:.10g}" if isinstance(cell, float)
                                           else str(cell)) for name in there}  # fmt: skip
    known = {name: cells[cells != ""].value_counts() for name, cells in texts.items()}
    return {name: [*map(str, found.index)] for name, found in known.items() if len(found)}


def _plain(text: str) -> str:
    """A line of Markdown without its escapes."""
    return re.sub(r"\\(.)", r"\1", text)


@one_sentence()
def main(arguments: Sequence[str] | None = None) -> None:
    """Write the summary of a run that has no report, without its questions, beside its tables."""
    parser = Parser(prog="workflow_src.answers.summary", description=__doc__)
    parser.add_argument("--run", type=existing_folder, required=True, help="it has tables/")
    given = parser.parse_args(arguments)
    if not (given.run / "tables" / "timings.csv").is_file():
        raise StageError(f"{given.run} has no tables/timings.csv; give the folder of a run")
    write_json(given.run / "summary.json", of_folder(given.run))


if __name__ == "__main__":
    main()
