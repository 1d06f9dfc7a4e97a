"""What Snakemake would run, and why: its own DAG, made by a dry run in this process."""

import ast
import json
import os
import re
import sys
from collections.abc import Iterable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from workflow_src.common.errors import StageError

RECORDS = Path(".snakemake")
CODE = re.compile("[0-9a-f]{12}")


class Job(NamedTuple):
    """A job that would run: its rule, its outputs, and why."""

    rule: str
    outputs: tuple[str, ...]
    why: str


def command(config: Sequence[str]) -> list[str]:
    """The command that makes the report, as one would type it."""
    return ["snakemake", "--cores", "1", *(["--config", *config] if config else [])]


def refusal() -> str:
    """Why there can be no dry run, which writes into Snakemake's records; "" if there can."""
    places = [RECORDS, *filter(Path.is_dir, RECORDS.glob("*"))] if RECORDS.is_dir() else [Path()]
    closed = [path for path in places if not os.access(path, os.W_OK | os.X_OK)]
    return f"{closed[0].resolve()} can't be written to" if closed else ""


def jobs(config: Sequence[str]) -> list[Job]:
    """The jobs that the command would run in this folder; this process can run no other one.

    Raises StageError, with what Snakemake says last, if it finds none because it fails.
    """
    # Imported here, as it takes longer than all else.
    import snakemake.workflow

    try:
        from snakemake.cli import main
    except ImportError:  # Snakemake 7 has it elsewhere.
        from snakemake import main
    said = StringIO()
    sys.argv = [*command(config), "-n", "--quiet", "rules", "progress"]
    with redirect_stdout(said), redirect_stderr(said):
        try:
            main()
        except SystemExit as end:
            if end.code:
                raise StageError(_last_said(f"{said.getvalue()}\n{end.code}")) from None
    dag = snakemake.workflow.workflow.persistence.dag
    # Of a dry run, all jobs have ended.
    found = [
        Job(job.rule.name, tuple(map(str, job.output)), why(dag.reason(job)))
        for job in dag.needrun_jobs(exclude_finished=False)
    ]
    return sorted(job for job in found if job.outputs)


def _last_said(text: str) -> str:
    """What is wrong with the configuration, or else what a snakemake that failed said last."""
    # The last line is the exit status where that isn't a sentence.
    lines = [line.strip() for line in text.splitlines() if not line.strip().isdigit()]
    told = list(filter(None, lines))
    wrong = [line for line in told if line.startswith("config: ")]
    return next(iter([*wrong, *reversed(told)]), "snakemake -n failed and said nothing")


def why(reason: Any) -> str:
    """Snakemake's reason for a job in words; "" where its output is missing and all is said."""
    updated = sorted(map(str, {*reason.updated_input} - {*reason.updated_input_run}))
    found = {
        "it is forced": reason.forced,
        "it was interrupted": reason.incomplete_output,
        f"{', '.join(updated)} changed": updated,
        "what it is made from is made again": reason.updated_input_run,
        "it is made from other files": reason.input_changed,
        "its rule changed": reason.code_changed or reason.software_stack_changed,
        # Snakemake 7 says only that some did.
        _params(*(getattr(reason.params_changed, f"only_{when}", ()) for when in ("old", "new"))): (
            reason.params_changed
        ),
    }
    return " and ".join(text for text, applies in found.items() if applies)


def _params(before: Iterable[str], now: Iterable[str]) -> str:
    """Which params changed, of those that a job had before or has now alone, as Python has them."""
    old, new = ([ast.literal_eval(each) for each in texts] for texts in (before, now))
    rows = [next(filter(None, map(_row, values)), None) for values in (old, new)]
    found = []
    if rows[0] and rows[1]:
        found = [
            _difference(name, *(row.get(name) for row in rows if row)) for name in rows[0] | rows[1]
        ]
    if any(isinstance(each, str) and CODE.fullmatch(each) for each in (*old, *new)):
        found.append("its code changed")
    return " and ".join(filter(None, found)) or "its params changed"


def _row(param: object) -> dict[str, Any] | None:
    """A param that is a plan row or a point as JSON."""
    try:
        value = json.loads(param) if isinstance(param, str) else None
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _difference(name: str, before: Any, now: Any) -> str:
    if before == now:
        return ""
    nested = isinstance(before, dict | list) or isinstance(now, dict | list)
    return f"{name} changed" if nested else f"{name} was {before}, is {now}"
