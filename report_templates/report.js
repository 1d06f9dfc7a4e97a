// Long tables with filters for all at once and a CSV each, deep links, and zoom in pictures.
const bar = document.getElementById("filters"), axes = [...bar.querySelectorAll("select")];
const headings = [...document.querySelectorAll("h1, h2, h3, h4")];
const before = (box) => headings.findLast((each) => each.compareDocumentPosition(box) & Node.DOCUMENT_POSITION_FOLLOWING);

// Each long table, and its DataTable once it was near the screen or filtered.
const tables = new Map([...document.querySelectorAll("table.long")].map((table) => [table, null]));
// What links lead to in them, by id, because a filter takes rows out of the page.
const targets = new Map([...document.querySelectorAll("table.long [id]")].map((each) => [each.id, each]));

// A row has its value of each axis as data; one that says nothing of an axis isn't of any of its values.
DataTable.ext.search.push((settings, _, at) => axes.every(({ name, value }) =>
  !value || settings.aoData[at].nTr.dataset[name] === value));
// What has no number comes last in both directions.
for (const [direction, sign] of [["asc", 1], ["desc", -1]])
  DataTable.ext.type.order[`num-${direction}`] = (a, b) => (a === -Infinity) - (b === -Infinity) || sign * (a - b) || 0;

function explore(table) {
  if (tables.get(table)) return tables.get(table);
  const box = table.parentElement, shown = document.createElement("span");
  const data = new DataTable(table, { paging: false, info: false, order: [], autoWidth: false,
    layout: { topStart: null, topEnd: null, bottomStart: null, bottomEnd: null },
    drawCallback() {
      const { recordsDisplay, recordsTotal } = this.api().page.info();
      shown.textContent = `${recordsDisplay} of ${recordsTotal} rows`;
      box.classList.toggle("few", recordsDisplay <= 6);
      box.hidden = !recordsDisplay;
    } });
  const csv = { extend: "csv", text: "Save as CSV", title: before(box).textContent.trim().replace(/\W+/g, "-") };
  box.previousElementSibling.append(new DataTable.Buttons(data, { buttons: [csv] }).container()[0], shown);
  tables.set(table, data);
  table.querySelector(":target")?.scrollIntoView(); // Rows have other heights now, and a linked one has moved.
  return data;
}

const near = new IntersectionObserver((seen) => seen.forEach((each) => each.isIntersecting && explore(each.target)),
  { rootMargin: "300px" });
tables.forEach((_, table) => near.observe(table));

let later;
function filter() {
  const found = [...tables.keys()].map((table) => explore(table).search(bar.text.value).draw().page.info().recordsDisplay);
  const rows = found.reduce((sum, count) => sum + count, 0);
  bar.elements.found.value = `${rows.toLocaleString("en")} rows`;
}
function filterSoon(delay) { // A word is typed faster than all tables are searched.
  clearTimeout(later);
  later = setTimeout(filter, delay);
}
bar.addEventListener("input", ({ target }) => filterSoon(target === bar.text ? 250 : 0));
bar.addEventListener("submit", (event) => event.preventDefault());
bar.addEventListener("reset", () => filterSoon(0));
bar.inert = false;

// #case=small-ctx128-fp32&question=b: that case's rows, at the tables of that question. Any other id: that row.
function follow() {
  const id = location.hash.slice(1), asked = new URLSearchParams(id), one = asked.get("case"), question = asked.get("question");
  const row = targets.get(one ? `case-${one}` : id);
  if (row && (one || !row.isConnected)) {
    axes.forEach((axis) => { axis.value = one && row.dataset[axis.name] || ""; });
    bar.text.value = "";
    filter();
  }
  const start = row ? `Tables of (${question})` : `(${question})`;
  const target = headings.find((each) => each.tagName === "H3" && each.textContent.startsWith(start));
  if (target || one) (target ?? row)?.scrollIntoView();
  else if (row) location.replace(location.hash);
}
addEventListener("hashchange", follow);
addEventListener("click", ({ target }) => target.closest("a")?.hash === location.hash && follow());
follow();

// By key or button: how far the left end moves, and how wide what is shown becomes, in widths of what is shown.
const KEYS = { "+": [0.25, 0.5], "-": [-0.5, 2], ArrowLeft: [-0.25, 1], ArrowRight: [0.25, 1], 0: [0, 1e5] };
for (const svg of document.querySelectorAll("svg.zoom")) {
  const [, , whole, high] = svg.getAttribute("viewBox").split(" ").map(Number);
  const picture = svg.ownerSVGElement, { x, width } = svg;
  const across = ({ clientX }, box = picture.getBoundingClientRect()) => (clientX - box.left) / box.width;
  const at = (event) => (across(event) * picture.viewBox.baseVal.width - x.baseVal.value) / width.baseVal.value;
  let left = 0, wide = whole;
  const show = (by, factor) => {
    const start = left + by * wide;
    wide = Math.min(Math.max(factor * wide, whole / 1e4), whole);
    left = Math.min(Math.max(start, 0), whole - wide);
    svg.setAttribute("viewBox", `${left} 0 ${wide} ${high}`);
  };
  const zoom = (event, factor) => show(at(event) * (1 - factor), factor);
  svg.addEventListener("click", (event) => zoom(event, event.shiftKey ? 2 : 0.5));
  svg.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    zoom(event, event.deltaY > 0 ? 1.25 : 0.8);
  }, { passive: false });
  svg.closest("figure").addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || !KEYS[event.key] || (wide === whole && event.key !== "+")) return;
    event.preventDefault();
    show(...KEYS[event.key]);
  });
}
