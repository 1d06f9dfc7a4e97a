"""Templates of report_templates: fixed prose around cells, printed with or without links."""

import re
from functools import partial
from pathlib import Path
from types import CodeType

from jinja2 import (
    BytecodeCache,
    Environment,
    FileSystemLoader,
    StrictUndefined,
    Template,
    TemplateSyntaxError,
)
from jinja2.bccache import Bucket

from workflow_src.common.errors import StageError
from workflow_src.common.reading import reading
from workflow_src.paper.legend import legend
from workflow_src.paper.show import Headline, Printer


class _Compiled(BytecodeCache):
    """The templates compiled so far: each printer has an environment of its own."""

    def __init__(self) -> None:
        self.code: dict[tuple[str, str], CodeType | None] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        bucket.code = self.code.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket: Bucket) -> None:
        self.code[bucket.key, bucket.checksum] = bucket.code


_COMPILED = _Compiled()


def template(templates: Path, name: str, show: Printer) -> Template:
    """A template whose values `show` prints. Raises StageError if `templates` has no valid one."""
    advice = "give this project's folder report_templates"
    with reading(templates / name, "a template", advice, StageError):
        try:
            return _environment(templates, show).get_template(name)
        except TemplateSyntaxError as error:
            raise StageError(f"{templates / name}, line {error.lineno}: {error.message}") from None


def _environment(templates: Path, show: Printer) -> Environment:
    made = Environment(
        loader=FileSystemLoader(templates),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
        finalize=show,
        bytecode_cache=_COMPILED,
    )
    made.filters["table"] = show.table
    made.filters["legend"] = partial(legend, show)
    made.filters["first_rows"] = lambda table, count: table.iloc[:count]
    made.filters["headline"] = lambda headline: Headline.text(headline, show)
    return made


def render(templates: Path, name: str, show: Printer, **words: object) -> str:
    """A template's text, with at most one empty line between paragraphs."""
    text = template(templates, name, show).render(**words)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"
