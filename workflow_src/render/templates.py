"""Templates of report_templates: fixed prose around cells, printed with or without links."""

import re
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template, TemplateSyntaxError

from workflow_src.common.errors import StageError
from workflow_src.common.reading import reading
from workflow_src.render.show import Headline, Printer


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
    )
    made.filters["table"] = show.table
    made.filters["headline"] = lambda headline: Headline.text(headline, show)
    return made


def render(templates: Path, name: str, show: Printer, **words: object) -> str:
    """A template's text, with at most one empty line between paragraphs."""
    text = template(templates, name, show).render(**words)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"
