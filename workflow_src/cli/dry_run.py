"""What Snakemake would run, and why, from a dry run."""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from workflow_src.common.errors import StageError

JOB = re.compile(r"^ *Job \d+: (.*)\n *Reason: (.*)$", re.MULTILINE)
COUNT = re.compile(r"^(\w+) +(\d+)$", re.MULTILINE)
VALUE = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
NOW = re.compile(r" now: (?=['\"<])")
CODE = re.compile("[0-9a-f]{12}")

UNWRITABLE = re.compile(
    r"^(?:OSError|PermissionError): \[Errno \d+\] "
    r"(Read-only file system|Permission denied|Operation not permitted): '?(.*?)'?$"
    r"|^(.*): (.*); Snakemake keeps its records there",
    re.MULTILINE,
)
"""How Snakemake ends where it can't write, with the reason and the path, or how dag/start.py does,
with the path and the reason."""

REASONS = {
    "Missing output files": "",
    "Incomplete output files": "it was interrupted",
    "Updated input files": "{} changed",
    "Input files updated by another job": "what it is made from is made again",
    "Set of input files has changed since last execution": "it is made from other files",
    "Code has changed since last execution": "its rule changed",
    "Software environment definition has changed since last execution": "its rule changed",
}
"""What Snakemake's reasons mean here; {} stands for what the reason names."""


@dataclass(frozen=True)
class DryRun:
    """The jobs that would run: their number by rule, and the reason of each by its message.

    refused: why there was no dry run, which has to write into .snakemake; "" if there was one.
    """

    counts: dict[str, int]
    reasons: dict[str, str]
    refused: str = ""


def command(config: Sequence[str]) -> list[str]:
    """The command that makes the report, as one would type it."""
    return ["snakemake", "--cores", "1", *(["--config", *config] if config else [])]


def start(config: Sequence[str]) -> subprocess.Popen[str]:
    """Start a dry run in this folder."""
    words = [sys.executable, "-m", *command(config), "-n"]
    return subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace"
    )


def finish(process: subprocess.Popen[str]) -> DryRun:
    """What a dry run found. Raises StageError, with what Snakemake says last, if it failed."""
    printed, errors = process.communicate()
    if process.returncode and (refused := UNWRITABLE.search(errors + printed)):
        path, reason = refused[2] or refused[3], refused[1] or refused[4]
        return DryRun({}, {}, f"{path}: {reason.lower()}")
    if process.returncode:
        lines = [line.strip() for line in (errors + printed).splitlines() if line.strip()]
        told = [line for line in lines if line.startswith("config: ")] or lines[-1:]
        raise StageError(told[0] if told else "snakemake -n failed and said nothing")
    return parsed(printed + errors)


def parsed(printed: str) -> DryRun:
    """What a dry run printed."""
    counts = {rule: int(count) for rule, count in COUNT.findall(printed)}
    jobs = {rule: count for rule, count in counts.items() if rule not in ("all", "total")}
    return DryRun(jobs, {message: why(reason) for message, reason in JOB.findall(printed)})


def why(reason: str) -> str:
    """Snakemake's reason in words; "" where the output is missing and nothing else is to say."""
    found = []
    before, params, changed = reason.partition("Params have changed since last execution")
    for part in before.split("; "):
        kind, _, named = part.partition(": ")
        if kind.strip():
            found.append(REASONS.get(kind.strip(), kind.strip()).format(named))
    if params:
        found.append(_params(changed))
    return " and ".join(dict.fromkeys(text for text in found if text))


def _params(changed: str) -> str:
    """Which params changed, from what Snakemake names as those before and those now."""
    old, *new = NOW.split(changed, maxsplit=1)
    before, now = _values(old), _values("".join(new))
    rows = [[v for v in values if isinstance(v, dict)] for values in (before, now)]
    found = _differences(rows[0][0], rows[1][0]) if all(rows) else []
    texts = [v for v in (*before, *now) if isinstance(v, str)]
    if any(map(CODE.fullmatch, texts)):
        found.append("its code changed")
    return " and ".join(found) or "its params changed"


def _values(text: str) -> list[Any]:
    found = []
    for literal in VALUE.findall(text):
        with suppress(ValueError, SyntaxError):
            found.append(ast.literal_eval(literal))
    return [_as_json(value) for value in found]


def _as_json(text: str) -> Any:
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, dict) else text


def _differences(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    return [_difference(name, before.get(name), now.get(name)) for name in names]


def _difference(name: str, before: Any, now: Any) -> str:
    if isinstance(before, dict | list) or isinstance(now, dict | list):
        return f"{name} changed"
    return f"{name} was {before}, is {now}"
