"""The page in a real browser: readable, explorable, accessible, and without a request."""

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.synthetic_tables import grid
from tests.test_report import write_report

pytestmark = pytest.mark.browser

READY = "#filters:not([inert])"


def chromium() -> str:
    """The browser's path; skips the test without one, or fails it if REQUIRE_BROWSER is set."""
    path = shutil.which("chromium")
    if path is None:
        reason = "no chromium on the PATH"
        (pytest.fail if os.environ.get("REQUIRE_BROWSER") else pytest.skip)(reason)
    return str(path)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    path = chromium()
    api = pytest.importorskip("playwright.sync_api", reason="no playwright for chromium")
    with api.sync_playwright() as play:
        opened = play.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    *samples, last = grid(sizes=2, contexts=2, precisions=2)
    write_report(folder, *samples, replace(last, status={"train_step": ("oom", "out of memory")}))
    return folder / "report.html"


@pytest.fixture
def open_page(browser: Any, report: Path) -> Iterator[Callable[..., Any]]:
    contexts = []

    def opened(place: str = "", **options: Any) -> Any:
        contexts.append(browser.new_context(**options))
        contexts[-1].set_default_timeout(30_000)
        page = contexts[-1].new_page()
        page.wrong, page.requests = [], []
        page.on("pageerror", lambda error: page.wrong.append(str(error)))
        page.on("console", lambda said: page.wrong.append(said.text))
        page.on("request", lambda request: page.requests.append(request.url))
        page.goto(report.as_uri() + place)
        if options.get("java_script_enabled", True):
            page.wait_for_selector(READY)
        return page

    yield opened
    for context in contexts:
        context.close()


def texts(page: Any, selector: str) -> list[str]:
    return [text.strip() for text in page.locator(selector).all_text_contents()]


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1440, "dark")])
def test_it_is_accessible(open_page, width, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no axe: chromium")
    page = open_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    found = axe.Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    assert [(each["id"], each["nodes"][0]["html"]) for each in found] == []


@pytest.mark.parametrize("width", [390, 820, 1440])
def test_it_fits_any_screen_and_requests_nothing(open_page, width):
    page = open_page(viewport={"width": width, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.wrong == [] and len(page.requests) == 1


TOO_WIDE = """() => {
  const { clientWidth } = document.documentElement;
  const cells = [...document.querySelectorAll("td, th")];
  return [...document.querySelectorAll("table")].map((table) => table.getBoundingClientRect().right)
    .filter((right) => right > clientWidth).length
    + cells.filter((cell) => cell.scrollWidth > cell.clientWidth + 1).length;
}"""
# Of A4 at 96 pixels per inch, without margins.
PAPER = 718


@pytest.mark.parametrize("scripts", [True, False])
def test_no_table_is_wider_than_printed_paper(open_page, scripts):
    page = open_page(viewport={"width": PAPER, "height": 1000}, java_script_enabled=scripts)
    page.emulate_media(media="print")
    if scripts:
        page.evaluate(READ_ALL)
        page.wait_for_function("!document.querySelector('.tools:empty')")
    assert page.evaluate(TOO_WIDE) == 0


SHIFTS = """new PerformanceObserver((seen) => seen.getEntries().forEach((each) => {
  window.shifts = (window.shifts ?? 0) + each.value;
})).observe({ type: "layout-shift", buffered: true })"""
# To the end, with time for what is done near the screen. Resolves to the page's height before.
READ_ALL = """async () => {
  const { scrollHeight } = document.documentElement;
  for (let at = 0; at < scrollHeight; at += innerHeight) {
    scrollTo(0, at);
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  }
  return scrollHeight;
}"""


@pytest.mark.parametrize("width", [390, 1440])
def test_nothing_moves_while_scripts_start_and_tables_are_built(open_page, width):
    page = open_page(viewport={"width": width, "height": 900})
    page.evaluate(SHIFTS)
    before = page.evaluate(READ_ALL)
    page.wait_for_function("!document.querySelector('.tools:empty')")
    assert page.evaluate("window.shifts ?? 0") < 0.001
    assert page.evaluate("document.documentElement.scrollHeight") == before


def test_with_scripts_off_everything_is_there_to_read(open_page, report):
    page = open_page(java_script_enabled=False)
    assert not page.locator("#filters").is_visible()
    assert page.locator("nav a[href='#in-one-minute']").is_visible()
    for table in page.locator("table").all():
        assert table.locator("td").first.is_visible()
    assert page.locator("svg").first.is_visible()


# The texts of a heading's column in the first table after an element of that id.
COLUMN = """([id, heading]) => {
  const table = document.querySelector(`#${id} ~ .table table`);
  const names = [...table.tHead.rows[0].cells].map((cell) => cell.textContent.trim());
  const at = names.indexOf(heading);
  return [...table.tBodies[0].rows].map((row) => row.cells[at].textContent.trim());
}"""
SORT = """([id, heading]) => [...document.querySelectorAll(`#${id} ~ .table thead th`)]
  .find((cell) => cell.textContent.trim() === heading).querySelector("[role=button]").click()"""


@pytest.mark.parametrize(
    ("heading", "numbers"), [("unprofiled median ms", True), ("overhead", True), ("size", False)]
)
def test_columns_sort_by_value_with_cells_without_one_last(open_page, heading, numbers):
    page = open_page()
    page.locator("#timings").scroll_into_view_if_needed()
    page.wait_for_selector("#timings ~ .table .dt-container")
    place = ["timings", heading]
    for up in (True, False):
        page.evaluate(SORT, place)
        found = list(dict.fromkeys(page.evaluate(COLUMN, place)))
        if not numbers:
            assert found == (["small", "medium"] if up else ["medium", "small"])
            continue
        values = [float(text.rstrip(" %").replace(",", "")) for text in found[:-1]]
        assert len(values) > 5 and values == sorted(values, reverse=not up)
        assert found[-1] in ("OOM", "\N{EN DASH}")


FILTERED = "() => document.querySelector('output[name=found]').value !== ''"
SHOWN = """[...document.querySelectorAll("table.long")].map((table) =>
  [...table.tBodies[0].rows].filter((row) => row.cells.length > 1).map((row) => ({...row.dataset}))
).flat()"""


def test_all_long_tables_are_filtered_at_once(open_page):
    page = open_page()
    page.select_option("select[name=size]", "medium")
    page.select_option("select[name=phase]", "training step")
    page.wait_for_function(FILTERED)
    shown = page.evaluate(SHOWN)
    assert texts(page, "output[name=found]") == [f"{len(shown)} rows"]
    assert {(row["size"], row["phase"]) for row in shown} == {("medium", "training step")}
    page.click("button[type=reset]")
    page.wait_for_function("() => document.querySelector('select[name=size]').value === ''")


def test_filters_offer_the_values_of_the_plan_in_its_order(open_page):
    page = open_page()
    assert [texts(page, f"select[name={axis}] option")[1:] for axis in ("size", "phase")] == [
        ["small", "medium"],
        ["forward", "backward", "forward + backward", "training step"],
    ]


def test_rows_that_name_no_case_are_hidden_by_the_link_of_a_case(open_page):
    shown = open_page("#case=medium-ctx256-fp32&question=b").evaluate(SHOWN)
    of = {(row.get("size"), row.get("context"), row.get("precision")) for row in shown}
    assert of == {("medium", "256", "fp32")}
    assert 10 < len(shown) < 100


def test_a_table_is_sorted_and_saved_as_csv_as_it_is_shown(open_page, tmp_path):
    page = open_page()
    page.fill("input[name=text]", "medium")
    page.wait_for_function(FILTERED)
    heading = page.locator("#timings")
    heading.scroll_into_view_if_needed()
    with page.expect_download() as started:
        page.locator("#timings ~ .tools button").first.click()
    saved = tmp_path / "saved.csv"
    started.value.save_as(saved)
    lines = saved.read_text(encoding="utf-8-sig").splitlines()
    assert "size" in lines[0] and len(lines) > 1
    assert [line for line in lines[1:] if line and "medium" not in line] == []


def test_a_deep_link_leads_to_the_tables_of_a_question_for_one_case(open_page):
    page = open_page("#case=medium-ctx256-fp32&question=b")
    chosen = [page.input_value(f"select[name={name}]") for name in ("size", "context", "precision")]
    assert chosen == ["medium", "256", "fp32"]
    top = page.evaluate("document.querySelector('#tables-of-b').getBoundingClientRect().top")
    assert -5 < top < 400


def test_each_number_leads_to_its_row_and_the_row_to_its_case(open_page):
    page = open_page()
    links = page.locator("main p a[href^='#number-']").all()
    assert len(links) > 20
    missing = page.evaluate(
        "[...document.querySelectorAll(\"a[href^='#']\")].map(a => a.getAttribute('href').slice(1))"
        ".filter(id => !id.startsWith('case=') && !document.getElementById(id))"
    )
    assert missing == []
    rows = "tr[id^='number-']"
    assert page.locator(f"{rows} a[href^='#case-']").count() > 0
    assert any(".csv row" in text for text in texts(page, f"{rows} td:last-child"))


# Below the filters and the table's own header, too.
IN_VIEW = """id => {
  const row = document.getElementById(id), at = row?.cells[0].getBoundingClientRect();
  const seen = at && document.elementFromPoint(at.left + 2, at.top + 2)?.closest("tr");
  return row?.matches(":target") && seen === row;
}"""
NUMBERS = "main p a[href^='#number-']"


def test_a_number_leads_to_its_row_though_a_filter_took_it_away(open_page):
    page = open_page()
    link = page.locator(NUMBERS).first
    row = str(link.get_attribute("href")).removeprefix("#")
    for _ in range(2):
        page.fill("input[name=text]", "no row has this text")
        page.wait_for_function("id => document.getElementById(id) === null", arg=row)
        link.click()
        page.wait_for_function(IN_VIEW, arg=row)
        assert page.input_value("input[name=text]") == ""
        assert page.evaluate("location.hash") == f"#{row}"


def test_a_number_leads_to_its_row_while_its_table_is_built(open_page):
    links = open_page().locator(NUMBERS).evaluate_all("all => all.map(a => a.hash.slice(1))")
    last = {row.split("-")[1]: row for row in links}
    assert len(last) >= 5, "one per question"
    for row in last.values():
        page = open_page()
        page.locator(f"main p a[href='#{row}']").first.evaluate("link => link.click()")
        page.wait_for_selector(f".dt-container #{row}", state="attached")
        page.wait_for_function(IN_VIEW, arg=row)


def test_headings_of_a_long_table_stay_in_view(open_page):
    page = open_page()
    page.locator("table.long").first.scroll_into_view_if_needed()
    page.wait_for_selector(".dt-container thead th")
    page.evaluate("() => { document.querySelector('.table:has(.dt-container)').scrollTop = 300; }")
    box, head = (
        page.locator(each).first.bounding_box()
        for each in (".table:has(.dt-container)", ".dt-container thead th")
    )
    assert abs(head["y"] - box["y"]) < 3


def test_going_back_filters_for_the_case_before(open_page):
    page = open_page("#case=medium-ctx256-fp32&question=b")
    chosen = "size => document.querySelector('select[name=size]').value == size"
    page.evaluate("() => { location.hash = '#case=small-ctx128-tf32&question=b'; }")
    page.wait_for_function(chosen, arg="small")
    page.go_back()
    page.wait_for_function(chosen, arg="medium")
    assert page.input_value("select[name=context]") == "256"


def test_a_chart_is_zoomed_by_clicks(open_page):
    page = open_page()
    chart = page.locator("svg.zoom").first
    chart.scroll_into_view_if_needed()
    before = chart.get_attribute("viewBox").split()
    chart.locator("path").first.dblclick(position={"x": 20, "y": 5})
    after = chart.get_attribute("viewBox").split()
    assert float(after[2]) == float(before[2]) / 4, "two quick clicks are two"


def test_a_chart_is_zoomed_by_keys_and_its_boxes_have_names(open_page):
    page = open_page()
    figure = page.locator("figure:has(svg.zoom)").first
    assert figure.get_attribute("role") == "group" and figure.get_attribute("aria-label")
    chart = figure.locator("svg.zoom").first

    def shown() -> list[float]:
        return [float(part) for part in str(chart.get_attribute("viewBox")).split()]

    _, _, whole, _ = shown()
    figure.focus()
    for key, left, wide in [
        ("ArrowRight", 0, 1), ("+", 0.25, 0.5), ("ArrowLeft", 0.125, 0.5), ("-", 0, 1),
        ("+", 0.25, 0.5), ("ArrowRight", 0.375, 0.5), ("0", 0, 1),
    ]:  # fmt: skip
        page.keyboard.press(key)
        assert (shown()[0], shown()[2]) == (left * whole, wide * whole), key
    boxes = page.get_by_role("group", name=str(figure.get_attribute("aria-label")))
    assert "forward" in boxes.aria_snapshot()
