"""What Snakemake itself knows: settings as its --config takes them, what it would run, and why."""

import ast
import json
import re
import sys
from argparse import ArgumentTypeError, Namespace
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import snakemake
from snakemake.utils import update_config

from workflow_src.common.errors import StageError
from workflow_src.plan.config import CONFIG, read_config

try:
    from snakemake.cli import main, parse_config
except ImportError:  # Snakemake 7 has them elsewhere, one for the arguments of its command.
    from snakemake import main

    def parse_config(entries: Sequence[str]) -> dict[str, Any]:
        """The values of settings given as KEY=VALUE, by key."""
        found: dict[str, Any] = snakemake.parse_config(Namespace(config=entries))
        return found


CODE = re.compile("[0-9a-f]{12}")


def setting(text: str) -> str:
    """A setting as KEY=VALUE."""
    try:
        parse_config([text])
    except (ValueError, AssertionError):
        message = f"{text!r} must be KEY=VALUE, as in suite=assignment"
        raise ArgumentTypeError(message) from None
    return text


def configured(given: Sequence[str], file: Path = CONFIG) -> dict[str, Any]:
    """The configuration of `file` with settings as snakemake's --config takes them. Raises
    ConfigError for a file that can't be read."""
    config = dict(read_config(file))
    update_config(config, parse_config(given))
    return config


class Job(NamedTuple):
    """A job that would run: why, and how the log of the last try ends."""

    rule: str
    outputs: tuple[str, ...]
    why: str
    said: str


def command(config: Sequence[str]) -> list[str]:
    """The command that makes the report, as one would type it."""
    return ["snakemake", "--cores", "1", *(["--config", *config] if config else [])]


def planned(config: Sequence[str]) -> list[Job]:
    """The jobs that the command would run in this folder; this process can run no other. Raises
    StageError, with what Snakemake says last, if it fails."""
    dag = _dag(config)
    # Of a dry run, all jobs have ended.
    jobs = [job for job in dag.needrun_jobs(exclude_finished=False) if job.output]
    return sorted(
        Job(job.rule.name, tuple(map(str, job.output)), why(dag.reason(job)), _said(job.log))
        for job in jobs
    )


def _said(logs: Sequence[str]) -> str:
    """The last line of a job's log, and where that is; "" without one."""
    for log in (path for path in map(Path, logs) if path.is_file()):
        lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
        last = next((line.strip()[:300] for line in reversed(lines) if line.strip()), "")
        return f"{last or 'nothing said'} ({log})"
    return ""


def _dag(config: Sequence[str]) -> Any:
    """Snakemake's DAG of the command, after a dry run."""
    said = StringIO()
    sys.argv = [*command(config), "-n", "--quiet", "rules", "progress"]
    with redirect_stdout(said), redirect_stderr(said):
        try:
            main()
        except SystemExit as end:
            if end.code:
                told = f"{said.getvalue()}\n{end.code}".split("\n")
                # The last line is the exit status where that isn't a sentence.
                lines = [line.strip() for line in told if line.strip() and not line.isdigit()]
                raise StageError(lines[-1] if lines else "snakemake -n failed") from None
    return snakemake.workflow.workflow.persistence.dag


def why(reason: Any) -> str:
    """Snakemake's reason for a job; "" where its output is missing, which says all."""
    updated = sorted(map(str, {*reason.updated_input} - {*reason.updated_input_run}))
    found = {
        "it is forced": reason.forced,
        "it was interrupted": reason.incomplete_output,
        f"{', '.join(updated)} changed": updated,
        "what it is made from is made again": reason.updated_input_run,
        "it is made from other files": reason.input_changed,
        "its rule changed": reason.code_changed or reason.software_stack_changed,
        " and ".join(_changed(reason.params_changed)) or "its params changed": (
            reason.params_changed
        ),
    }
    return " and ".join(text for text, applies in found.items() if applies)


def _changed(params: Any) -> Iterator[str]:
    """Which params a job had before or has now alone; Snakemake 7 says only that some did."""
    rows: list[dict[str, Any]] = [{}, {}]
    code = False
    for when, row in zip(("old", "new"), rows, strict=True):
        for text in getattr(params, f"only_{when}", ()):
            value = ast.literal_eval(text)
            code |= isinstance(value, str) and bool(CODE.fullmatch(value))
            with suppress(ValueError, TypeError):
                # A plan row, or a point of a study.
                row |= json.loads(value) if value.startswith("{") else {}
    before, now = rows
    for name in before | now if before and now else ():
        old, new = before.get(name), now.get(name)
        if old != new:
            nested = isinstance(old, dict | list) or isinstance(new, dict | list)
            yield f"{name} changed" if nested else f"{name} was {old}, is {new}"
    if code:
        yield "its code changed"
