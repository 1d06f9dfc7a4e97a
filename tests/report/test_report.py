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
from workflow_src.answers.answer import answer
from workflow_src.answers.other_kernels.headline import headline
from workflow_src.answers.questions import FIGURES, QUESTIONS
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


def test_every_printed_number_leads_to_its_sources(published):
    """Outside of links, cells hold names of cases and axes, limits, and what was recorded.

    Of chapters of one template, tests/answers/test_any_subset.py says so; what the opening has of
    them has its evidence there.
    """
    text = published[1][: published[1].index('id="evidence"')]
    text = re.sub(r'<section id="[a-f]">.*?</section>', "", text, flags=re.S)
    page = Page(re.sub(r"<tr>\s*<td[^>]*>(\([abf]\)|forward: device).*?</tr>", "", text, flags=re.S))
    loose = {cell.removeprefix("≈ ") for cell in page.cells if NUMERAL.search(cell)}
    named = re.compile(
        r"\s*(.*, \d+ of \d+|[\w.]+-ctx\d+-\w+|2\.7B|\d+( to \d+)?|[a-z0-9]+32|bf16"
        r"|.*(bf16|float32|128x|_\d|\dd).*|.*[a-zA-Z]\d.*|1\.[12] x|0\.1 %"
        r"|.* within 10 %.*|.* by over 1 point|(yes|no);\s* / 30;\s*"
        r"|10\^9 exp/s|\w+ 1024 MiB|matmul (in bursts )?8192 x 8192 x 8192 \w\w)\s*"
    )
    printed = set(re.findall(r'<div popover id="\w+"><b>(.*?)</b>', published[1]))
    assert sorted(cell for cell in loose - printed if not named.fullmatch(cell)) == []


def test_all_answers_and_figures_are_there(plain):
    _, text, page = plain
    for question in QUESTIONS:
        assert f"\n*({question}) " in text or f"\n## ({question}) " in text
    for name in FIGURES:
        assert f"](results/mine/figures/{name}.svg)" in text
    charts = page.count('<svg class="zoom"')
    assert charts == len(PHASES)
    assert Page(page).tags.count("figure") == len(FIGURES) + 1
    assert "img" not in Page(page).tags


def test_the_page_is_self_contained(plain):
    _, _, page = plain
    assert all(link.startswith("#") for link in Page(page).links)
    assert "@import" not in page and page.count("<script") == 1
    assert "default-src 'none'" in page


def test_an_answer_that_could_not_be_written_is_named_with_its_log(plain, tmp_path):
    shutil.copytree(plain[0], tmp_path, dirs_exist_ok=True)
    broken = answer("c", lambda tables: tables["none"], headline)
    failed = broken.written({}, TEMPLATES, "results/mine/logs/answers/c.log")
    failed.write(tmp_path / "results/mine/answers", "c")
    text, _ = assemble(tmp_path)
    assert "**Missing:** (c)" in opening(text)
    assert "`results/mine/logs/answers/c.log`" in opening(text)
    assert "\n## (d) " in text


def test_the_command_for_other_studies_keeps_the_settings_of_the_run(plain):
    _, text, _ = plain
    kept = "--config suite=small memory_limit_gib=32 tag=mine"
    assert f"`snakemake --cores 1 report.md {kept} 'studies=[{', '.join(STUDIES)}]'`" in text


def test_names_of_machines_stay_at_home(plain):
    assert all("secret" not in made for made in plain[1:])


PLAIN = "so their plain times may not compare"
HERE, THERE = {"host_id": "0a1b2c3d"}, {"host_id": "4e5f6a7b"}


def opening(text: str) -> str:
    return text[: text.index("\n## (a)")]


def test_several_hosts_are_a_doubt_and_the_example_stands_beside_the_opening(reported):
    text, page = reported(
        Sample(environment=HERE),
        Sample(context=256, environment=THERE),
        Sample(context=512, environment=HERE),
    )
    assert f"> Cases ran on 2 hosts, {PLAIN}; device times do.\n" in opening(text)
    assert "Doubts." in text and "Doubts." in page
    assert re.search(r"(?m)^\| hosts ", text)
    first = page[page.index('<section id="card"') :].partition("</section>")[0]
    assert "<h3" in first and "small-ctx256-fp32" in first


def test_without_a_doubt_none_is_told(plain):
    assert all("Doubts." not in made and "hosts" not in opening(plain[1]) for made in plain[1:])


def test_on_a_cpu_operators_take_the_place_of_kernels_and_hosts_do_not_compare(reported, plain):
    first, second = (
        Sample(device="cpu", context=context, environment=host)
        for context, host in zip((128, 256), (HERE, THERE), strict=True)
    )
    text, _ = reported(first, second)
    assert "operators take the place of kernels" in text.splitlines()[0]
    assert f"> Cases ran on 2 hosts, {PLAIN}.\n" in text
    _, on_gpu, _ = plain
    assert "operators" not in on_gpu.splitlines()[0] and "Some GPU" in on_gpu.splitlines()[0]


def test_warnings_are_counted_in_the_opening_and_listed_with_what_is_missing(reported):
    hot = THERE | {"throttled": "power cap", "gpu": "Other"}
    oom = {"train_step": ("oom", "CUDA out of memory")}
    text, _ = reported(Sample(environment=HERE, status=oom), Sample(size="medium", environment=hot))
    assert "(results/mine/appendix.md#warnings): 1 of 2; device throttled: 1." in opening(text)
    assert "Cases differ in `gpu`" in opening(text)
    assert f"> Cases ran on 2 hosts, {PLAIN}.\n" in opening(text)
    warned = text[text.index("\n## Warnings") :]
    assert re.search(r"\| medium-ctx128-fp32 +\| device throttled +\| power cap +\|", warned)
    missing = text[text.index("\n## What is missing") :]
    assert re.search(r"\| training step +\| OOM +\| OOM +\| CUDA out of memory", missing)


def test_hostile_values_stay_text(reported, tmp_path):
    bad = "<script>alert(1)</script>|`[x](javascript:y)"
    _, page = reported(Sample(size=bad, environment={"cpu": bad, "throttled": bad}))
    found = Page(page)
    assert found.tags.count("script") == 1
    assert all(link.startswith("#") for link in found.links)
    assert "&lt;script&gt;alert(1)" in page


def test_nothing_measured_still_gives_a_report(reported):
    text, page = reported()
    assert "Cases: 0" in text and page.endswith("</html>\n")


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
