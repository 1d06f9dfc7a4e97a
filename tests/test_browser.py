"""The page in a real browser: readable, searchable, accessible, and without a request."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.report.written import assemble, chapters
from tests.synthetic_tables import grid
from workflow_src.paper.svg import Boxes, chart, picture

pytestmark = pytest.mark.browser

WIDTHS = (400, 1280)
ALIKE = "#cards-tables section:nth-of-type(n+3), tbody tr:nth-child(n+4)"
"""Cards and rows that are as those before them."""


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
    """The page of 16 cases, of which one has a picture of its step."""
    folder = tmp_path_factory.mktemp("report")
    step = folder / "small-ctx128-fp32.svg"
    boxes = [Boxes(9.0 * depth, 8, "#abc", name, [(0, 1000 - depth)])
             for depth, name in enumerate(["step: 9 ms in 1", "forward: 1 ms in 2"])]  # fmt: skip
    step.write_text(picture([chart(boxes, 4, 1000, 20)], 40))
    paths = chapters(folder, *grid(sizes=2, contexts=4, precisions=2))
    assemble(folder, paths, "--timelines", str(step))
    return folder / "report.html"


@pytest.fixture
def open_page(browser: Any, report: Path) -> Iterator[Callable[..., Any]]:
    """Loads the page at a place in a window of its own, which keeps errors and requests."""
    contexts = []

    def opened(place: str = "", width: int = 1280, height: int = 900, **options: Any) -> Any:
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        page = context.new_page()
        page.wrong, page.requests = [], []
        page.on("pageerror", lambda error: page.wrong.append(str(error)))
        page.on("console", lambda said: page.wrong.append(said.text))
        page.on("request", lambda request: page.requests.append(request.url))
        page.goto(report.as_uri() + place)
        return page

    yield opened
    for context in contexts:
        context.close()


@pytest.mark.parametrize(
    ("width", "scheme", "within"), [(400, "light", "#cases"), (1280, "dark", "#panel")]
)
def test_it_is_accessible_also_with_a_card_and_evidence_open(open_page, width, scheme, within):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no axe: chromium")
    page = open_page("#case=medium-ctx256-fp32", width=width, color_scheme=scheme)
    if within == "#cases":
        page.keyboard.press("Escape")
    page.locator(f"{within} data").first.click()
    page.wait_for_selector("#evidence:popover-open")
    page.evaluate("alike => document.querySelectorAll(alike).forEach(each => each.remove())", ALIKE)
    found = axe.Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    assert [(each["id"], each["nodes"][0]["html"]) for each in found] == []


@pytest.mark.parametrize("width", WIDTHS)
def test_it_fits_any_screen_and_requests_nothing(open_page, width):
    page = open_page(width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.click("#cases data")
    page.wait_for_selector("#evidence:popover-open")
    assert page.wrong == [] and len(page.requests) == 1


def test_with_scripts_off_everything_is_there_to_read(open_page):
    page = open_page(java_script_enabled=False)
    for table in page.locator("table").all():
        assert table.locator("td").first.is_visible()
    page.click("a[href='#case-medium-ctx256-fp32']")
    assert page.locator("#case-medium-ctx256-fp32").is_visible()
    assert page.url.endswith("#case-medium-ctx256-fp32")


def cases(page: Any) -> list[str]:
    return [
        str(row.get_attribute("data-case")) for row in page.locator("tr[data-case]:visible").all()
    ]


def test_filters_keep_their_state_in_the_address(open_page):
    page = open_page("#size=medium&prec=fp32")
    assert cases(page) == [f"medium-ctx{context}-fp32" for context in (128, 256, 512, 1024)]
    page.click(".seg button:text-is('256')")
    page.click(".seg button:text-is('small')")
    assert cases(page) == ["small-ctx256-fp32", "medium-ctx256-fp32"]
    assert page.url.endswith("#size=medium,small&prec=fp32&ctx=256")
    page.fill(".filters input", "SMALL")
    assert cases(page) == ["small-ctx256-fp32"] and page.url.endswith("&text=SMALL")
    assert page.locator(".filters output").text_content() == "1 of 16 cases"
    page.reload()
    assert cases(page) == ["small-ctx256-fp32"]
    page.click("nav a[href='#a']")
    assert page.url.endswith("&at=a"), "a place in the page beside it"


def test_a_row_opens_the_card_of_its_case_and_back_closes_it(open_page):
    page = open_page("#size=medium")
    panel = page.locator("#panel")
    assert not panel.is_visible()
    page.click("tr[data-case=medium-ctx128-fp32] td:last-child", position={"x": 3, "y": 3})
    assert panel.locator("h3").text_content() == "medium-ctx128-fp32"
    assert page.url.endswith("#size=medium&case=medium-ctx128-fp32")
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((each) => each.id)")
    assert len(ids) == len(set(ids))
    page.go_back()
    page.wait_for_selector("#panel", state="hidden")
    page.evaluate("location.hash = '#case-small-ctx128-fp32'")
    page.wait_for_selector("#panel #case-small-ctx128-fp32")
    page.keyboard.press("Escape")
    assert not panel.is_visible()
    assert page.locator("#cards-tables [id^=case-]").count() == 16, "in the page again"


def test_a_number_tells_its_value_formula_and_rows(open_page):
    page = open_page(width=400)
    page.locator("#a data").first.press("Enter")
    box = page.locator("#evidence")
    box.wait_for()
    said = page.locator("#a data").first.text_content()
    assert box.locator("b").text_content() == said
    assert " = " in box.locator("code").text_content()
    assert ".csv, line" in box.locator("p").last.text_content()
    page.keyboard.press("Escape")
    assert not box.is_visible() and page.locator("data[aria-expanded]").count() == 0


def test_modules_are_folded_by_a_click_and_not_on_paper(open_page):
    page = open_page("#case=medium-ctx256-fp32")
    rows = page.locator("#panel .tree tbody tr")
    names = ["training step", "optimizer", "forward", "block", "backward", "elsewhere"]
    assert sorted(rows.locator("td:first-child").all_text_contents()) == sorted(names)
    rows.filter(has_text="forward").locator("button.fold").click()
    assert not rows.filter(has_text="block").is_visible()
    rows.first.locator("button.fold[aria-expanded=true]").click()
    assert page.locator("#panel .tree tbody tr:visible").count() == 1
    page.keyboard.press("Escape")
    page.emulate_media(media="print")
    assert page.locator(".tree tbody tr:visible").count() == 16 * len(names)


COLUMN = """([table, at]) => [...table.tBodies[0].rows].filter((row) => !row.hidden)
  .map((row) => row.cells[at].textContent)"""


def test_a_long_table_is_searched_and_sorted_with_what_is_missing_last(open_page):
    page = open_page()
    table = page.locator("#a-tables table.long").first
    box = table.locator("xpath=..")
    search, every = box.locator("xpath=preceding-sibling::input[1]"), table.locator("tbody tr")
    search.fill("medium tf32")
    assert 0 < table.locator("tbody tr:visible").count() < every.count()
    search.fill("")
    table.evaluate("table => { table.tBodies[0].rows[0].cells[2].textContent = 'OOM'; }")
    head = table.locator("th button").nth(2)
    for up in (True, False):
        head.click()
        found = table.evaluate("(table) => (" + COLUMN + ")([table, 2])")
        assert found.pop() == "OOM" and len(found) > 12
        values = [float(text.replace(",", "").split()[0]) for text in found]
        assert values == sorted(values, reverse=not up)


def shown(chart: Any) -> list[float]:
    return [float(part) for part in str(chart.get_attribute("viewBox")).split()]


def test_a_chart_is_zoomed_by_keys_and_its_boxes_have_names(open_page):
    page = open_page()
    figure = page.locator("figure:has(svg.zoom)").first
    assert figure.get_attribute("role") == "group" and figure.get_attribute("aria-label")
    chart = figure.locator("svg.zoom").first
    _, _, whole, _ = shown(chart)
    figure.focus()
    for key, left, wide in [
        ("ArrowRight", 0, 1), ("+", 0.25, 0.5), ("ArrowLeft", 0.125, 0.5), ("-", 0, 1),
        ("+", 0.25, 0.5), ("ArrowRight", 0.375, 0.5), ("0", 0, 1),
    ]:  # fmt: skip
        page.keyboard.press(key)
        assert shown(chart)[:3] == [left * whole, 0, wide * whole], key
    for said in ("step: 9 ms in 1", "forward: 1 ms in 2"):
        page.keyboard.press("ArrowDown")
        assert figure.locator("output").evaluate("output => output.value") == said
