"""The page in a real browser: readable, explorable, accessible, and without a request."""

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.report.written import write_report
from tests.synthetic_tables import grid

pytestmark = pytest.mark.browser

READY = "#filters:not([inert])"
WIDTHS = (390, 1280)
TABLE = "b-the-top-kernel-of-each-case-and-part-of-a-step"
CASES = "cases-their-files-and-commands"


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


def written(folder: Path, drawn: bool = True, **axes: int) -> Path:
    """The page of cases of which one lacks a range, and the last ran out of memory."""
    *samples, last = grid(**axes)
    lacking = samples.pop()
    forward = [each for each in lacking.kernels["forward"] if not each[0].endswith("/norm")]
    samples.append(replace(lacking, kernels={**lacking.kernels, "forward": forward}))
    last = replace(last, status={"train_step": ("oom", "out of memory")})
    write_report(folder, *samples, last, drawn=drawn)
    return folder / "report.html"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Without its figures, whose elements `short` has, too."""
    folder = tmp_path_factory.mktemp("report")
    return written(folder, drawn=False, sizes=2, contexts=4, precisions=2)


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With elements of all kinds and colors of `report`, and fewer of each."""
    return written(tmp_path_factory.mktemp("short"), sizes=3, contexts=1, precisions=1)


@pytest.fixture(scope="module")
def windows(browser: Any) -> Iterator[Callable[..., Any]]:
    """An empty window with these options: the one that an earlier test used, or a new one."""
    known: dict[str, Any] = {}

    def window(**options: Any) -> Any:
        name = repr(sorted(options.items()))
        if name not in known:
            context = browser.new_context(**options)
            context.set_default_timeout(300_000)
            known[name] = page = context.new_page()
            page.on("pageerror", lambda error: page.wrong.append(str(error)))
            page.on("console", lambda said: page.wrong.append(said.text))
            page.on("request", lambda request: page.requests.append(request.url))
        known[name].mouse.move(0, 0)
        known[name].goto("about:blank")
        return known[name]

    yield window
    for page in known.values():
        page.context.close()


@pytest.fixture
def open_page(windows: Callable[..., Any], report: Path) -> Callable[..., Any]:
    """Loads the page in a window; to start a window takes three times as long as that."""

    def opened(
        place: str = "", of: Path = report, width: int = 1280, height: int = 900, **options: Any
    ) -> Any:
        page = windows(**options)
        page.bring_to_front()
        page.wrong, page.requests = [], []
        page.emulate_media(media="null")
        page.set_viewport_size({"width": width, "height": height})
        scripts = options.get("java_script_enabled", True)
        if scripts:  # A window that is resized while a page loads moves what is in it.
            page.wait_for_function("width => innerWidth === width", arg=width)
        page.goto(of.as_uri() + place)
        if scripts:
            page.wait_for_selector(READY, state="attached")
        return page

    return opened


def texts(page: Any, selector: str) -> list[str]:
    return [text.strip() for text in page.locator(selector).all_text_contents()]


def violations(page: Any, part: str = "html") -> list[tuple[str, str]]:
    """What axe finds wrong in a part of the page, and the first place of each."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no axe: chromium")
    kinds = {"resultTypes": ["violations"]}
    found = axe.Axe().run(page, context=part, options=kinds).response["violations"]
    return [(each["id"], each["nodes"][0]["html"]) for each in found]


@pytest.mark.parametrize(("width", "scheme"), [(WIDTHS[0], "light"), (WIDTHS[-1], "dark")])
def test_it_is_accessible(open_page, short, width, scheme):
    page = open_page(of=short, width=width, color_scheme=scheme)
    assert violations(page) == []


@pytest.mark.parametrize(("button", "part"), [("Contents", "#contents"), ("Filter", "#filters")])
def test_what_opens_on_a_narrow_screen_is_accessible(open_page, short, button, part):
    page = open_page(of=short, width=390, color_scheme="dark")
    page.click(f"text='{button}'")
    assert page.locator(part).is_visible()
    assert violations(page, part) == []


@pytest.mark.parametrize("width", WIDTHS)
def test_long_cells_are_broken_into_lines_in_columns_that_hold_them(open_page, width):
    """A column that alone may shrink has a word a line, and makes all rows as tall."""
    page = open_page(width=width)
    heights = page.eval_on_selector_all(
        ".table tbody tr:not(:has(.text), [id])", "rows => rows.map(row => row.offsetHeight)"
    )
    cells = page.eval_on_selector_all(
        # Beside the opening, on a wide screen, tables are made to fit.
        ".table td.wide" if width < 1120 else "main > .table td.wide",
        "cells => cells.map(cell => cell.offsetWidth)",
    )
    assert cells and min(cell for cell in cells if cell) >= 160
    assert max(heights) < 180


@pytest.mark.parametrize("width", WIDTHS)
def test_it_fits_any_screen_and_requests_nothing(open_page, report, short, width):
    for each in (report, short):
        page = open_page(of=each, width=width)
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
    page = open_page(width=PAPER, height=1000, java_script_enabled=scripts)
    page.emulate_media(media="print")
    if scripts:
        page.evaluate(READ_ALL)
        page.wait_for_function("!document.querySelector('.tools:empty')")
    assert page.evaluate(TOO_WIDE) == 0


SHIFTS = """new PerformanceObserver((seen) => seen.getEntries().forEach((each) => {
  window.shifts = (window.shifts ?? 0) + each.value;
})).observe({ type: "layout-shift", buffered: true })"""
# To the end, with time for what is done near the screen. Resolves to the page's height before, also
# where the browser draws no frame any more, as was seen once: a call like this has no limit.
READ_ALL = """async () => {
  const { scrollHeight } = document.documentElement;
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const second = () => new Promise((done) => setTimeout(done, 1000));
  for (let at = 0; at < scrollHeight; at += innerHeight) {
    scrollTo(0, at);
    await Promise.race([frame(), second()]);
  }
  return scrollHeight;
}"""


@pytest.mark.parametrize("width", [390, 1440])
def test_nothing_moves_while_scripts_start_and_tables_are_built(open_page, width):
    page = open_page(width=width)
    page.evaluate(SHIFTS)
    before = page.evaluate(READ_ALL)
    page.wait_for_function("!document.querySelector('.tools:empty')")
    assert page.evaluate("window.shifts ?? 0") < 0.001
    assert page.evaluate("document.documentElement.scrollHeight") == before


def test_with_scripts_off_everything_is_there_to_read(open_page, report):
    page = open_page(java_script_enabled=False)
    assert not page.locator("#filters").is_visible()
    page.click("text='Contents'")
    assert page.locator("nav a[href='#in-one-minute']").is_visible()
    for table in page.locator("table").all():
        assert table.locator("td").first.is_visible()
    assert page.locator("svg").first.is_visible()


KINDS = """() => [...new Set([...document.querySelectorAll("*")].map((each) => {
  const style = getComputedStyle(each), names = [each, each.parentElement];
  return [...names.map((it) => `${it?.tagName}.${it?.getAttribute("class")}`),
    each.getAttribute("role"), style.color, style.backgroundColor, style.fill].join(" ");
}))].sort()"""


def test_the_short_page_has_elements_of_all_kinds(open_page, short):
    """Whether a wide cell also has a long word changes where it breaks, and no color or role."""

    def kinds(**page: Path) -> set[str]:
        found = open_page(**page).evaluate(KINDS)
        return {kind.replace(".word wide", ".wide") for kind in found}

    assert kinds() <= kinds(of=short)


# The first long table that has a column of that heading.
OF = """heading => [...document.querySelectorAll("table.long")].find((table) =>
  [...table.tHead.rows[0].cells].some((cell) => cell.textContent.trim() === heading))"""
# The texts of its column.
COLUMN = f"""heading => {{
  const table = ({OF})(heading);
  const names = [...table.tHead.rows[0].cells].map((cell) => cell.textContent.trim());
  const at = names.indexOf(heading);
  return [...table.tBodies[0].rows].map((row) => row.cells[at].textContent.trim());
}}"""
SORT = f"""heading => [...({OF})(heading).tHead.rows[0].cells]
  .find((cell) => cell.textContent.trim() === heading).querySelector("[role=button]").click()"""


@pytest.mark.parametrize(("heading", "missing"), [("ms", False), ("norms", True), ("case", False)])
def test_columns_sort_by_value_with_cells_without_one_last(open_page, heading, missing):
    page = open_page()
    page.evaluate(f"heading => ({OF})(heading).scrollIntoView()", heading)
    page.wait_for_function(f"heading => ({OF})(heading).closest('.dt-container')", arg=heading)
    planned = list(dict.fromkeys(page.evaluate(COLUMN, heading)))
    for up in (True, False):
        page.evaluate(SORT, heading)
        found = list(dict.fromkeys(page.evaluate(COLUMN, heading)))
        if heading == "case":
            assert found == (planned if up else planned[::-1]) and len(found) == 16
            continue
        if missing:
            assert found.pop() in ("OOM", "\N{EN DASH}")
        values = [float(text.split()[0].replace(",", "")) for text in found]
        assert len(values) > 2 and values == sorted(values, reverse=not up)


FILTERED = "() => document.querySelector('output[name=found]').value.endsWith(' rows')"
SHOWN = """[...document.querySelectorAll("table.long")].map((table) => [...table.tBodies[0].rows]
  .filter((row) => row.cells.length > 1 && !row.hidden).map((row) => ({...row.dataset}))
).flat()"""


def test_all_long_tables_are_filtered_at_once(open_page):
    page = open_page()
    page.select_option("select[name=size]", "medium")
    page.select_option("select[name=phase]", "training step")
    page.wait_for_function(FILTERED)
    shown = page.evaluate(SHOWN)
    assert texts(page, "output[name=found]") == [f"{len(shown)} rows"]
    said = {(row.get("size"), row.get("phase")) for row in shown}
    assert ("medium", "training step") in said
    assert {size for size, _ in said} <= {"medium", None}
    assert {phase for _, phase in said} <= {"training step", None}
    page.click("button[type=reset]")
    page.wait_for_function("() => document.querySelector('select[name=size]').value === ''")


# How many rows of the table after an element of that id are shown.
ROWS_AFTER = """id => [...document.querySelector(`#${id} ~ .table:not([hidden]) tbody`).rows]
  .filter((row) => !row.hidden).length"""


def test_a_table_that_says_nothing_of_phases_is_not_hidden_by_one(open_page):
    page = open_page()
    before = {each: page.evaluate(ROWS_AFTER, each) for each in (CASES, TABLE)}
    page.select_option("select[name=phase]", "forward")
    page.wait_for_function(FILTERED)
    assert page.evaluate(ROWS_AFTER, CASES) == before[CASES]
    assert page.evaluate(ROWS_AFTER, TABLE) == 16 < before[TABLE]


def test_a_filter_makes_no_table_explorable_that_is_far_from_the_screen(open_page):
    page = open_page()
    made = "[...document.querySelectorAll('.dt-container')].map((each) => each.offsetTop)"
    assert page.evaluate(made) == []
    page.select_option("select[name=size]", "medium")
    page.wait_for_function(FILTERED)
    assert page.evaluate(made) == []
    page.locator(f"#{TABLE}").scroll_into_view_if_needed()
    page.wait_for_selector(f"#{TABLE} ~ .table .dt-container")
    assert {row.get("size") for row in page.evaluate(SHOWN)} <= {"medium", None}


def test_filters_offer_the_values_of_the_plan_in_its_order(open_page):
    page = open_page()
    assert [texts(page, f"select[name={axis}] option")[1:] for axis in ("size", "phase")] == [
        ["small", "medium"],
        ["forward", "backward", "forward + backward", "training step"],
    ]


def test_rows_of_no_one_case_are_hidden_by_the_link_of_a_case(open_page):
    shown = open_page("#case=medium-ctx256-fp32").evaluate(SHOWN)
    for axis, value in {"size": "medium", "context": "256", "precision": "fp32"}.items():
        assert {row.get(axis) for row in shown} <= {value, None}
    assert sum("phase" in row for row in shown) == 11
    assert 11 < sum("size" in row for row in shown) < 20


def test_a_table_is_sorted_and_saved_as_csv_as_it_is_shown(open_page, tmp_path):
    page = open_page()
    page.fill("input[name=text]", "medium")
    page.wait_for_function(FILTERED)
    heading = page.locator(f"#{TABLE}")
    heading.scroll_into_view_if_needed()
    with page.expect_download() as started:
        page.locator(f"#{TABLE} ~ .tools button").first.press("Enter")
    saved = tmp_path / "saved.csv"
    started.value.save_as(saved)
    lines = saved.read_text(encoding="utf-8-sig").splitlines()
    assert "case" in lines[0] and len(lines) > 1
    assert [line for line in lines[1:] if line and "medium" not in line] == []


def test_a_deep_link_shows_the_table_of_its_case(open_page):
    page = open_page("#case=medium-ctx256-fp32")
    chosen = [page.input_value(f"select[name={name}]") for name in ("size", "context", "precision")]
    assert chosen == ["medium", "256", "fp32"]
    assert texts(page, "#card h3") == ["medium-ctx256-fp32"]
    top = page.evaluate("document.querySelector('#card').getBoundingClientRect().top")
    assert -5 < top < 400


# The texts of the cells of the table after a heading that says this, in the card or below it.
CELLS = """([heading, slot]) => {
  const head = [...document.querySelectorAll(slot ? "#card h3" : "main > h3")]
    .find((each) => each.textContent === heading);
  let at = head.nextElementSibling;
  while (!at.matches(".table")) at = at.nextElementSibling;
  return [...at.querySelectorAll("td")].map((cell) => cell.textContent.trim());
}"""


def test_filters_choose_the_case_whose_table_stands_beside_the_opening(open_page):
    page = open_page()
    (first,) = texts(page, "#card h3")
    seen = "name => document.querySelector('#card h3').textContent === name"
    for name, choice in {
        "medium-ctx128-fp32": {"size": "medium", "precision": "fp32"},
        "medium-ctx256-fp32": {"context": "256"},
        "small-ctx256-fp32": {"size": "small"},
    }.items():
        for axis, value in choice.items():
            page.select_option(f"select[name={axis}]", value)
        page.wait_for_function(seen, arg=name)
        assert page.evaluate(CELLS, [name, True]) == page.evaluate(CELLS, [name, False])
        assert page.locator("#card a[href^='#']").count() > 10
    page.click("button[type=reset]")
    page.wait_for_function(seen, arg=first)
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((each) => each.id)")
    assert len(ids) == len(set(ids))


# The ids of the rows of sources that links of the page's part after a heading, or of all, lead to.
NUMBERS = """heading => {
  const links = [...document.querySelectorAll("main :is(p, li, td) a[href^='#']")];
  const heads = [...document.querySelectorAll("h2")];
  const start = heads.findIndex((head) => head.id === heading), [from, to] = heads.slice(start);
  const after = (one, other) => one.compareDocumentPosition(other) & 4;
  return links.filter((link) => !heading || after(from, link) && !after(to, link))
    .map((link) => decodeURIComponent(link.hash.slice(1)))
    .filter((id) => document.getElementById(id)?.matches("[data-title=sources] + .table tr"));
}"""


def test_each_number_leads_to_its_row_and_a_case_to_its_filters(open_page):
    page = open_page()
    numbers = page.evaluate(NUMBERS, "")
    assert len(set(numbers)) > 20
    missing = page.evaluate(
        "[...document.querySelectorAll(\"a[href^='#']\")].map(a => a.getAttribute('href').slice(1))"
        ".filter(id => !id.startsWith('case=') && !document.getElementById(id))"
    )
    assert missing == []
    assert page.locator("tr[id^='case-'] a[href^='#case=']").count() == 16
    rows = texts(page, "[data-title=sources] + .table tbody tr td:first-child")
    assert len(rows) >= len(set(numbers)) and all(".csv: " in text for text in rows)


# Below the filters and the table's own header, too.
IN_VIEW = """id => {
  const row = document.getElementById(id), at = row?.cells[0].getBoundingClientRect();
  const seen = at && document.elementFromPoint(at.left + 2, at.top + 2)?.closest("tr");
  return row?.matches(":target") && seen === row;
}"""


def test_a_number_leads_to_its_row_though_a_filter_took_it_away(open_page):
    page = open_page()
    row = page.evaluate(NUMBERS, "")[0]
    link = page.locator(f"main a[href='#{row}']").first
    for _ in range(2):
        page.fill("input[name=text]", "no row has this text")
        page.wait_for_function("id => document.getElementById(id)?.hidden ?? true", arg=row)
        # By a key: a click goes to where the link was, and tables that are drawn above may move it.
        link.press("Enter")
        page.wait_for_function(IN_VIEW, arg=row)
        assert page.input_value("input[name=text]") == ""
        assert page.evaluate("location.hash") == f"#{row}"


def test_a_number_leads_to_its_row_while_its_table_is_built(open_page):
    page = open_page()
    heads = [str(head.get_attribute("id")) for head in page.locator("main > h2").all()]
    answers = [head for head in heads if head[:2] in ("a-", "b-", "c-", "d-", "e-", "f-")]
    assert len(answers) == 6
    # Numbers of answers that are chapters open their evidence where they stand.
    links = [found[-1] for answer in answers if (found := page.evaluate(NUMBERS, answer))]
    assert links
    for row in links:
        page = open_page()
        page.locator(f"main a[href='#{row}']").first.evaluate("link => link.click()")
        page.wait_for_selector(f".dt-container [id='{row}']", state="attached")
        page.wait_for_function(IN_VIEW, arg=row)


# Whether the second cell of a row is inside of its table's box from left to right, and has text.
WHOLE = """id => {
  const cell = document.getElementById(id).cells[1], at = cell.getBoundingClientRect();
  const box = cell.closest(".table").getBoundingClientRect();
  return cell.textContent.trim() && box.left <= at.left && at.right <= box.right + 1;
}"""


@pytest.mark.parametrize("width", WIDTHS)
def test_what_a_link_leads_to_is_on_the_screen(open_page, width):
    page = open_page(width=width)
    for row in (page.evaluate(NUMBERS, "")[0], "case-medium-ctx256-fp32"):
        page.evaluate("id => { location.hash = id; }", row)
        page.wait_for_function(IN_VIEW, arg=row)
        assert page.evaluate(WHOLE, row)


@pytest.mark.parametrize("width", [390, 820])
def test_on_a_narrow_screen_contents_and_filters_open_above_the_page(open_page, width):
    page = open_page(width=width)
    page.locator(f"#{TABLE}").scroll_into_view_if_needed()
    contents, filters = page.locator("#contents"), page.locator("#filters")
    assert not contents.is_visible() and not filters.is_visible()
    page.click("text='Contents'")
    assert contents.is_visible()
    page.keyboard.press("Escape")
    assert not contents.is_visible()
    page.click("text='Contents'")
    page.click(f"#contents a[href='#{TABLE}']")
    assert not contents.is_visible()
    page.click("text='Filter'")
    page.select_option("select[name=size]", "medium")
    page.wait_for_function(FILTERED)
    assert page.locator("output[name=found]").bounding_box()["y"] < 50
    page.mouse.click(width / 2, 800)
    assert not filters.is_visible()


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
    page = open_page("#case=medium-ctx256-fp32")
    chosen = "size => document.querySelector('select[name=size]').value == size"
    page.evaluate("() => { location.hash = '#case=small-ctx128-tf32'; }")
    page.wait_for_function(chosen, arg="small")
    page.go_back()
    page.wait_for_function(chosen, arg="medium")
    assert page.input_value("select[name=context]") == "256"


def shown(chart: Any) -> list[float]:
    return [float(part) for part in str(chart.get_attribute("viewBox")).split()]


def test_a_chart_is_zoomed_by_clicks_and_buttons(open_page):
    page = open_page()
    figure = page.locator("figure:has(svg.zoom)").first
    chart, reset = figure.locator("svg.zoom").first, figure.locator("text='Reset'")
    before = shown(chart)
    assert not reset.is_visible()
    chart.locator("path").first.dblclick(position={"x": 20, "y": 5})
    assert shown(chart)[2] == before[2] / 4, "two quick clicks are two"
    reset.click()
    assert shown(chart) == before
    figure.locator("text='Zoom in'").click()
    assert shown(chart)[2] == before[2] / 2
    figure.locator("text='Zoom out'").click()
    assert shown(chart) == before and not reset.is_visible()


# Of each name that is shown: how far it begins and ends outside of what is shown of its box.
OUTSIDE = """figure => [...figure.querySelectorAll(".names text")].flatMap((name) => {
  if (name.getAttribute("visibility") === "hidden") return [];
  const [start, length] = name.dataset.span.split(" ").map(Number);
  const chart = name.parentElement.previousElementSibling;
  const [left, , wide] = chart.getAttribute("viewBox").split(" ").map(Number);
  const box = chart.previousElementSibling.getBoundingClientRect();
  const at = name.getBoundingClientRect();
  const edge = (ns) => box.left + box.width * Math.min(Math.max((ns - left) / wide, 0), 1);
  return [edge(start) - at.left, at.right - edge(start + length)];
})"""


def test_names_stay_inside_of_their_boxes_while_a_chart_is_zoomed(open_page):
    figure = open_page().locator("figure:has(svg.zoom)").first
    seen = []
    for _ in range(4):
        found = figure.evaluate(OUTSIDE)
        assert max(found) <= 0
        seen.append(len(found))
        figure.locator("text='Zoom in'").click()
    assert seen[0] > 6 and len(set(seen)) > 1


def test_a_box_tells_below_its_picture_when_it_is_pointed_at_or_chosen_by_keys(open_page):
    page = open_page()
    figure = page.locator("figure:has(svg.zoom)").first
    said, boxes = figure.locator("output"), figure.locator("svg.zoom path")
    boxes.first.hover(position={"x": 20, "y": 5})
    assert said.text_content() == boxes.first.text_content()
    figure.focus()
    for key, place in [("ArrowDown", 1), ("ArrowDown", 2), ("ArrowUp", 1)]:
        page.keyboard.press(key)
        assert said.text_content() == boxes.nth(place).text_content()


def test_a_tap_on_a_box_tells_and_does_not_zoom(open_page):
    page = open_page(width=390, has_touch=True)
    figure = page.locator("figure:has(svg.zoom)").first
    chart = figure.locator("svg.zoom").first
    before, box = shown(chart), chart.locator("path").first
    box.tap(position={"x": 20, "y": 5})
    assert figure.locator("output").text_content() == box.text_content()
    assert shown(chart) == before


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
    boxes = page.get_by_role("group", name=str(figure.get_attribute("aria-label")))
    assert "forward" in boxes.aria_snapshot()
