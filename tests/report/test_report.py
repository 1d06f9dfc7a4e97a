"""The whole report: what is in it, how long it is, and that each number has a source."""

import html
import re
import shutil
from functools import partial
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

from tests.report.written import TEMPLATES, assemble, write_parts, write_report
from tests.synthetic_tables import Sample
from tests.workflow import ROOT, made_once
from workflow_src.answers.questions import QUESTIONS
from workflow_src.common.atomic_write import write_json, write_text
from workflow_src.common.case import PHASES
from workflow_src.studies.study import STUDIES

SAMPLE = Sample()
MOST_WORDS, MOST_WORDS_BESIDE_TABLES, MOST_WORDS_OF_OPENING = 10_500, 4_100, 250
PUBLISHED = ROOT / "examples" / "h200"
SMALLER = ROOT / "examples" / "h100"
NUMERAL = re.compile(r"\d")


class Page(HTMLParser):
    """Tags of a page, what leads out of it, and its texts outside of links, headings and code."""

    OWN = frozenset(("a", "code", "h1", "h2", "h3", "th", "svg", "style", "script", "title", "nav"))

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.cells: list[str] = []
        self._inside: list[str] = []
        self._cell = False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [v for k, v in attrs if k in ("src", "href", "xlink:href") and v]
        self.ids |= {v for k, v in attrs if k == "id" and v}
        self._inside += [tag] if tag in self.OWN else []
        self.cells += [""] if tag == "td" else []
        self._cell |= tag == "td"

    def handle_endtag(self, tag):
        self._cell &= tag != "td"
        if self._inside and tag == self._inside[-1]:
            self._inside.pop()

    def handle_data(self, data):
        if self._cell and not self._inside:
            self.cells[-1] += data


@pytest.fixture
def reported(tmp_path):
    return partial(write_report, tmp_path, drawn=False)


@pytest.fixture(scope="module")
def plain(tmp_path_factory) -> tuple[Path, str, str]:
    """The report of one case: its folder, the text and the page."""
    folder = tmp_path_factory.mktemp("plain")
    return folder, *write_report(folder, SAMPLE)


def few_cases(table: Path, output: Path) -> None:
    """Copy what a table has of the smallest and of the largest case, in both precisions."""
    rows = pd.read_csv(table, dtype=str, keep_default_na=False)
    if "case" in rows:
        rows = rows[rows["case"].str.fullmatch(r"(small-ctx128|2\.7B-ctx1024)-(fp32|bf16)")]
    rows.to_csv(output, index=False)


@pytest.fixture(scope="module")
def published(tmp_path_factory) -> tuple[str, str]:
    """The report of some cases of published tables, without its studies."""

    def made(folder: Path) -> None:
        results = folder / "results" / "mine"
        (results / "tables").mkdir(parents=True)
        for table in (SMALLER / "plan.csv", *SMALLER.glob("tables/*.csv")):
            few_cases(table, results / table.relative_to(SMALLER))
        write_parts(results, drawn=False)
        for name, text in zip(("text.md", "page.html"), assemble(folder), strict=True):
            (folder / name).write_text(text)

    folder = made_once(tmp_path_factory, "published", made)
    return (folder / "text.md").read_text(), (folder / "page.html").read_text()


def words(text: str) -> int:
    """How many words a text has: what holds a letter or a digit, so not the rules of tables."""
    return sum(bool(re.search(r"\w", word)) for word in text.split())


def test_the_published_report_can_be_read_in_one_sitting():
    """Tables by size and context are looked up, not read from end to end."""
    text = (PUBLISHED / "report.md").read_text()
    read = "\n".join(line for line in text.splitlines() if not line.startswith("|"))
    assert words(text) <= MOST_WORDS and words(read) <= MOST_WORDS_BESIDE_TABLES
    assert words(text[: text.index("\n## (a)")]) <= MOST_WORDS_OF_OPENING


def test_the_opening_is_short_and_has_a_column_per_precision(published):
    opening = published[0][: published[0].index("\n*(a) ")].rpartition("\n## ")[0]
    assert words(opening) <= MOST_WORDS_OF_OPENING
    assert re.search(r"\| fp32 +\| bf16 +\|", opening)
    for question in QUESTIONS:
        assert f"| ({question}) " in opening or f"({question})" in opening


def test_every_link_of_the_page_leads_to_something_in_it(published):
    page = Page(published[1])
    inward = {link[1:] for link in page.links if link.startswith("#") and "#case=" not in link}
    inward -= {"c", "f"}  # Not sections of the page before they are chapters.
    assert inward <= page.ids
    assert [link for link in page.links if not link.startswith("#")] == []


def test_no_place_of_a_template_is_left_unfilled(published, plain):
    """Neither in a text written anew nor in a template of the parts that these lack."""
    templates = (path.read_text() for path in TEMPLATES.rglob("*.j2"))
    for text in (*published, *plain[1:], *templates):
        assert re.findall(r"@[A-Z_]+@", text) == []


def test_the_page_has_the_reports_title(published):
    (title,) = re.findall(r"(?m)^<title>(.*)</title>$", published[1])
    assert f"# {html.unescape(title)}" == published[0].splitlines()[0]


def test_all_answers_and_figures_are_there(plain):
    _, text, page = plain
    for question in QUESTIONS:
        assert f"\n## ({question}) " in text
    drawn = ["opening", *(f"answer_{question}" for question in "ade")]
    for name in drawn:
        assert f"/results/mine/figures/{name}.svg)" in text.replace("](", "](/")
    charts = page.count('<svg class="zoom"')
    assert charts == len(PHASES)
    assert Page(page).tags.count("figure") == len(drawn) + 1
    assert "img" not in Page(page).tags


def test_the_page_is_self_contained(plain):
    _, _, page = plain
    assert all(link.startswith("#") for link in Page(page).links)
    assert "@import" not in page and page.count("<script") == 1
    assert "default-src 'none'" in page


def test_the_command_for_other_studies_keeps_the_settings_of_the_run(plain):
    _, text, _ = plain
    kept = "--config suite=small memory_limit_gib=32 tag=mine"
    assert f"`snakemake --cores 1 report.md {kept} 'studies=[{', '.join(STUDIES)}]'`" in text


def test_names_of_machines_stay_at_home(plain):
    assert all("secret" not in made for made in plain[1:])


def test_hostile_values_stay_text(reported, tmp_path):
    bad = "<script>alert(1)</script>|`[x](javascript:y)"
    _, page = reported(Sample(size=bad, environment={"cpu": bad, "throttled": bad}))
    found = Page(page)
    assert found.tags.count("script") == 1
    assert all(link.startswith("#") for link in found.links)
    assert "&lt;script&gt;alert(1)" in page


def test_nothing_measured_still_gives_a_report(reported):
    text, page = reported()
    assert "Who sets the pace can't be told" in text and page.endswith("</html>\n")


def test_a_studys_section_its_long_tables_and_values_are_in_the_report(plain, tmp_path):
    shutil.copytree(plain[0], tmp_path, dirs_exist_ok=True)
    folder = tmp_path / "results/mine/sections"
    key = "studies/matmul-3"
    for form, text in {
        "md": "### Products\n\nBest is 778.\n",
        "page.md": f"### Products\n\nBest is [778](#{key}).\n",
        "appendix.md": "## Products: tables\n\nlong\n",
        "appendix.page.md": "## Products: tables\n\nlong\n",
    }.items():
        write_text(folder / f"matmul.{form}", text)
    value = {"key": key, "value": 777.6, "unit": "", "formula": "best", "sources": []}
    value["sources"] = [{"table": "studies/matmul", "rows": [3]}]
    write_json(folder / "matmul.json", {"title": "Products", "headline": "", "values": [value]})
    points = pd.DataFrame({"point": ["sizes", "fine"], "status": ["ok", "ok"]})
    write_text(tmp_path / "results/mine/tables/studies/matmul.csv", points.to_csv(index=False))
    text, page = assemble(tmp_path, (folder / "matmul.md",))
    assert "Best is 778." in text and "\n## Products: tables" in text
    assert f'<tr id="{key}">' in page and "tables/studies/matmul.csv: 3" in page
    assert "<code>snakemake --cores 1 results/mine/studies/matmul/fine.json" in page
    others = text[text.index("\n## Studies that were not chosen") :].partition(": name them under")[
        0
    ]
    assert others.endswith("levers") and "mlp" in others and "matmul" not in others


def test_fewer_than_110_lines_of_script_are_our_own():
    lines = (TEMPLATES / "report.js").read_text().splitlines()
    assert len(lines) < 120 and max(map(len, lines)) <= 130


def test_the_published_page_is_small_enough_to_be_mailed():
    assert (PUBLISHED / "report.html").stat().st_size < 6e6
