"""Write docs/settings.md: each setting with its type, limits, default and meaning."""

import json
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from workflow_src.common.arguments import Parser, new_file
from workflow_src.common.atomic_write import write_text
from workflow_src.plan.settings import Config, Size, Suite

INTRODUCTION = """\
# Settings

Made by `python -m workflow_src.cli.describe_settings --output docs/settings.md` from \
`workflow_src/plan/settings.py`. Settings stand in `config.yaml`, or on the command line behind \
`--config`, as `steps=20`.
"""

PLACES: dict[str, type[BaseModel]] = {"Settings of a run": Config, "A size": Size, "A suite": Suite}

TYPES = {"integer": "whole number", "array": "list", "object": "mapping", "string": "text"}
LIMITS = {"minimum": "from {}", "exclusiveMinimum": "above {}", "maximum": "to {}"}


def description() -> str:
    """The page as Markdown."""
    return "\n".join([INTRODUCTION, *(_section(name, kind) for name, kind in PLACES.items())])


def _section(name: str, kind: type[BaseModel]) -> str:
    schema = kind.model_json_schema()
    rows = "\n".join(_row(key, rules, schema) for key, rules in schema["properties"].items())
    return f"## {name}\n\n{kind.__doc__}\n\n{rows}\n"


def _row(key: str, rules: dict[str, Any], schema: dict[str, Any]) -> str:
    said = list(_types(rules)) or ["any"]
    if key in schema.get("required", ()):
        said.append("required")
    elif rules.get("default") is not None:
        said.append(f"default `{json.dumps(rules['default'])}`")
    about = " ".join(rules["description"].split())
    return f"- `{key}` ({', '.join(said)}): {about}"


def _types(rules: dict[str, Any]) -> Iterator[str]:
    of = next((each for each in rules.get("anyOf", ()) if each.get("type") != "null"), rules)
    if "type" in of:
        yield TYPES.get(of["type"], of["type"])
    yield from (said.format(of[name]) for name, said in LIMITS.items() if name in of)


def main() -> None:
    """Write the page."""
    parser = Parser(description=__doc__)
    parser.add_argument("--output", type=new_file, required=True, help="docs/settings.md")
    write_text(parser.parse_args().output, description())


if __name__ == "__main__":
    main()
