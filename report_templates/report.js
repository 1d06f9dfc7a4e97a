// Long tables with filters for all at once and a CSV each, deep links, and pictures that tell and zoom.
const bar = document.getElementById("filters"), axes = [...bar.querySelectorAll("select")];
const tables = [...document.querySelectorAll("table.long")];
// What links lead to in them, by id, because a filter takes rows out of the page.
const targets = new Map([...document.querySelectorAll("table.long [id]:not([id=''])")].map((each) => [each.id, each]));
// A row has what it says of each axis as data; one that says nothing of an axis isn't hidden by it.
const shows = (row) => axes.every(({ name, value }) => !value || (row.dataset[name] ?? value) === value)
  && (bar.text.value.toLowerCase().match(/\S+/g) ?? []).every((word) => row.textContent.toLowerCase().includes(word));
DataTable.ext.search.push((settings, _, at) => shows(settings.aoData[at].nTr));
// What has no number comes last in both directions.
for (const [direction, sign] of [["asc", 1], ["desc", -1]])
  DataTable.ext.type.order[`num-${direction}`] = (a, b) => (a === -Infinity) - (b === -Infinity) || sign * (a - b) || 0;

// Makes a long table a DataTable once it is near the screen: all at once would take seconds.
function explore(table) {
  const tools = table.parentElement.previousElementSibling, shown = document.createElement("span");
  for (const row of table.tBodies[0].rows) row.hidden = false;
  const data = new DataTable(table, { paging: false, info: false, order: [], autoWidth: false,
    layout: { topStart: null, topEnd: null, bottomStart: null, bottomEnd: null },
    drawCallback({ aiDisplay, aoData }) { shown.textContent = `${aiDisplay.length} of ${aoData.length} rows`; } });
  const csv = { extend: "csv", text: "Save as CSV", title: tools.dataset.title };
  tools.append(new DataTable.Buttons(data, { buttons: [csv] }).container()[0], shown);
  table.querySelector(":target")?.scrollIntoView(); // Rows have other heights now, and a linked one has moved.
}
const near = (all) => all.forEach(({ isIntersecting, target }) =>
  isIntersecting && !DataTable.isDataTable(target) && explore(target));
tables.forEach((table) => new IntersectionObserver(near, { rootMargin: "300px" }).observe(table));
// Filters a table, which may be no DataTable yet, and returns how many of its rows are shown.
function refresh(table) {
  if (DataTable.isDataTable(table)) new DataTable.Api(table).draw();
  else for (const row of table.tBodies[0].rows) row.hidden = !shows(row);
  const shown = table.querySelectorAll("tbody tr:not([hidden], :has(> .dt-empty))").length, box = table.closest(".table");
  box.classList.toggle("few", shown <= 6);
  box.hidden = !shown;
  return shown;
}
const sum = (counts) => counts.reduce((all, count) => all + count, 0).toLocaleString("en");
// The table of the first case that the axes leave, beside the opening: of the example if they leave that.
const slot = document.getElementById("card"), example = slot?.innerHTML;
const heads = [...document.querySelectorAll("h3")].filter((head) => !slot?.contains(head));
function choose() {
  const chosen = (row) => axes.every(({ name, value }) => !value || (row.dataset[name] ?? value) === value);
  const cases = [...targets.values()].filter((row) => row.id.startsWith("case-") && chosen(row)).map((row) => row.id.slice(5));
  slot.innerHTML = example;
  if (cases.includes(slot.querySelector("h3")?.textContent)) return;
  const head = heads.find(({ textContent }) => textContent === cases[0]);
  if (!head) return;
  const parts = [head.cloneNode(true)];
  parts[0].removeAttribute("id");
  for (let next = head.nextElementSibling; next && !/^H[123]$/.test(next.tagName); next = next.nextElementSibling)
    parts.push(next.cloneNode(true));
  slot.replaceChildren(...parts);
}
const filter = () => { bar.elements.found.value = `${sum(tables.map(refresh))} rows`; slot && choose(); };
let later; // A word is typed faster than all tables are searched.
const soon = (delay) => { clearTimeout(later); later = setTimeout(filter, delay); };
for (const kind of ["input", "reset"]) bar.addEventListener(kind, ({ target }) => soon(target === bar.text ? 250 : 0));
bar.inert = false;

// #case=small-ctx128-fp32: that case is chosen, and its table shown. Any other id: that row.
function follow() {
  const id = decodeURIComponent(location.hash.slice(1)), one = id.startsWith("case="), row = targets.get(id.replace("=", "-"));
  if (row && (one || row.hidden || !row.isConnected)) {
    [...axes, bar.text].forEach((input) => { input.value = one && row.dataset[input.name] || ""; });
    filter();
  }
  if (one) slot?.scrollIntoView();
  else if (row) location.replace(location.hash);
}
addEventListener("hashchange", follow);
addEventListener("click", ({ target }) => target.closest("a")?.hash === location.hash && follow());
follow();
addEventListener("click", ({ target }) => target.closest("nav a")?.closest("nav").hidePopover?.());

// By key or button: how far the left end moves, and how wide what is shown becomes, in widths of what is shown.
const KEYS = { "+": [0.25, 0.5], "-": [-0.5, 2], ArrowLeft: [-0.25, 1], ArrowRight: [0.25, 1], 0: [0, 1e5] };
function zoomable(svg) {
  const [, , whole, high] = svg.getAttribute("viewBox").split(" ").map(Number), names = [...svg.nextElementSibling.children];
  let [x, across] = [svg.x, svg.width].map((length) => length.baseVal.value), left = 0, wide = whole;
  const show = (by, factor) => {
    const start = left + by * wide;
    wide = Math.min(Math.max(factor * wide, whole / 1e4), whole);
    left = Math.min(Math.max(start, 0), whole - wide);
    svg.setAttribute("viewBox", `${left} 0 ${wide} ${high}`);
    svg.classList.toggle("zoomed", wide < whole);
    for (const name of names) {
      const [from, long] = name.dataset.span.split(" ").map(Number), first = Math.max(from, left);
      const room = (Math.min(from + long, left + wide) - first) * across / wide;
      name.setAttribute("x", x + (first - left) * across / wide + 4);
      name.setAttribute("visibility", room > 6.5 * name.textContent.length + 8 ? "visible" : "hidden");
    }
  };
  svg.addEventListener("click", ({ clientX, shiftKey, pointerType }) => {
    const back = svg.previousElementSibling.getBoundingClientRect(), factor = shiftKey ? 2 : 0.5;
    if (pointerType !== "touch") show((clientX - back.left) / back.width * (1 - factor), factor);
  });
  return show;
}
for (const figure of document.querySelectorAll("figure:has(svg.zoom)")) {
  const shows = [...figure.querySelectorAll("svg.zoom")].map(zoomable), boxes = [...figure.querySelectorAll("svg.zoom path")];
  const press = (key) => KEYS[key] && shows.forEach((show) => show(...KEYS[key]));
  const tell = (box) => {
    boxes.forEach((each) => each.classList.toggle("told", each === box));
    figure.querySelector("output").value = box.textContent;
  };
  figure.addEventListener("pointerover", ({ target }) => boxes.includes(target) && tell(target));
  figure.addEventListener("click", ({ target }) => press(target.value));
  figure.addEventListener("keydown", (event) => {
    const { key } = event, step = { ArrowUp: -1, ArrowDown: 1 }[key], told = boxes.findIndex((box) => box.matches(".told"));
    if (event.ctrlKey || event.metaKey || !(step || key === "+" || KEYS[key] && figure.querySelector(".zoomed"))) return;
    event.preventDefault();
    step ? tell(boxes[Math.min(Math.max(told + step, 0), boxes.length - 1)]) : press(key);
  });
}
