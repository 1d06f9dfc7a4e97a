"""Write the report: report.md, its appendix, and the page that holds both."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from markupsafe import Markup

from workflow_src.answers.example import example
from workflow_src.common.arguments import (
    Parser,
    existing_file,
    existing_folder,
    key_and_value,
    new_file,
)
from workflow_src.common.asked import noted
from workflow_src.common.atomic_write import write_text
from workflow_src.common.case import is_brought
from workflow_src.common.errors import one_sentence
from workflow_src.paper.html import make_html
from workflow_src.paper.markdown import records
from workflow_src.paper.page_table import PageTable
from workflow_src.paper.show import Printer
from workflow_src.paper.templates import render
from workflow_src.paper.written import popovers
from workflow_src.report import commands, explore, pictures
from workflow_src.report.run import Run, Sources, read_run
from workflow_src.studies.study import STUDIES

FIRST = {
    "first": Markup('<div class="first"><section>'),
    "card": Markup('</section><section id="card" aria-label="one case" aria-live="polite">'),
    "rest": Markup("</section></div>"),
}
"""What the first screen of the page is framed by: the opening, and the table of one case."""


class Report:
    """The report of a run in its three forms, with links relative to `folder`."""

    def __init__(self, run: Run, sources: Sources, folder: Path) -> None:
        self._run, self._sources, self._folder = run, sources, folder
        names = [part.name for part in run.studies]
        studies = () if is_brought(run.plan) else STUDIES
        self._about: dict[str, object] = {
            "tag": run.tag,
            "not_chosen": ", ".join(name for name in studies if name not in names),
            "with_all_studies": _options(commands.with_studies(run.settings, STUDIES)),
        }

    def markdown(self) -> str:
        """The report as Markdown."""
        return self._rendered("report.md.j2", Printer())

    def appendix(self) -> str:
        """The appendix as Markdown."""
        return self._rendered("appendix.md.j2", Printer())

    def page(self) -> str:
        """The report and its appendix as one HTML page, each number a link to its sources."""
        run, sources, show = self._run, self._sources, Printer(page=True)
        chosen = example(run.tables)
        first = chosen.case if chosen else ""
        drawn = pictures.pictures(run.tables, sources.timelines, self._folder, first)
        about = {
            "card": run.card_of(chosen),
            "pictures": drawn,
            "results": run.results,
            "options": _options(commands.without_studies(run.settings)),
        }
        text = self._rendered("page.md.j2", show, **about)
        values = [*show.printed, *(value for part in run.parts for value in part.values)]
        own = explore.tables(run, dict.fromkeys(values))
        charts = {picture.chart: picture.drawn for picture in drawn}
        written = {part.name: part.html for part in run.parts if part.html}
        known = {key: why for part in run.parts for key, why in part.evidence.items()}
        rest = FIRST["rest"] + popovers(known, sources.templates)
        every: Mapping[str, Markup | PageTable]
        every = {**FIRST, **own, **charts, **written, "rest": rest}
        return make_html(text, self._folder, sources.templates, every, records(run.plan))

    def _rendered(self, template: str, show: Printer, **about: object) -> str:
        """A template with all that the report says, and the parts in the printer's form."""
        run, page = self._run, show.page
        written = {
            "appendix": Markup("" if page else f"{run.results}/appendix.md"),
            "front": {part.name: part.body.on(page) for part in run.front},
            "answers": [part.body.on(page) for part in run.answers],
            "studies": [part.body.on(page) for part in run.studies],
            "cards": run.cards.body.on(page),
            "long_tables": [part.long.on(page) for part in run.parts if part.long.on(page)],
        }
        return render(self._sources.templates, template, show, **self._about, **written, **about)


def _options(settings: Sequence[str]) -> Markup:
    return Markup(commands.options(settings))


@one_sentence()
def main(arguments: Sequence[str] | None = None) -> None:
    """Write the report and its page, its appendix, or all of them."""
    parser = Parser(prog="workflow_src.report.report", description=__doc__)
    folder, file = existing_folder, existing_file
    parser.add_argument("--tables", type=folder, required=True, help="folder of joined CSVs")
    parser.add_argument("--answers", type=folder, required=True, help="folder of a.md to f.md")
    parser.add_argument("--templates", type=folder, required=True, help="report_templates")
    parser.add_argument("--plan", type=file, required=True, help="plan.csv")
    parser.add_argument("--suite", required=True, help="the suite that ran")
    parser.add_argument("--tag", required=True, help="the run's name")
    about = "settings that differ from config.yaml, as KEY=VALUE, for the commands"
    parser.add_argument("--changed-settings", type=key_and_value, nargs="*", default=[], help=about)
    about = "Markdown of the studies, each with its other files beside it"
    parser.add_argument("--sections", type=file, nargs="*", default=[], help=about)
    about = "timelines/{case}.svg to show"
    parser.add_argument("--timelines", type=file, nargs="*", default=[], help=about)
    parser.add_argument("--asked", default="", help="what is made, noted at each text's end")
    parser.add_argument("--markdown", type=new_file, help="the report, with --html")
    parser.add_argument("--html", type=new_file, help="the report as a page, with --markdown")
    parser.add_argument("--appendix", type=new_file, help="the long tables")
    given = parser.parse_args(arguments)
    sources = Sources(
        given.tables,
        given.answers,
        given.templates,
        given.plan,
        tuple(given.sections),
        tuple(given.timelines),
    )
    run = read_run(sources, given.tag, given.suite, given.changed_settings)
    found = Report(run, sources, (given.markdown or given.appendix or Path()).parent)
    texts = {}
    if given.appendix:
        texts[given.appendix] = found.appendix()
    if given.markdown and given.html:
        texts |= {given.markdown: found.markdown(), given.html: found.page()}
    for path, text in texts.items():
        write_text(path, noted(text, given.asked))


if __name__ == "__main__":
    main()
