// Evidence of numbers, tables to search and sort, cases to filter and open, pictures to zoom. All
// that a page says is there without this.
const $ = (what, root = document) => root.querySelector(what);
const $$ = (what, root = document) => [...root.querySelectorAll(what)];
const make = (tag, text = "", more = {}) => Object.assign(document.createElement(tag), { textContent: text, ...more });

// Columns of numbers' values, units, formulas, ends and rows, as JSON packed by gzip: unpacked when
// first asked for.
let known;
async function unpacked() {
  const bytes = Uint8Array.from(atob($("#numbers").textContent), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}
function titleOf(number) {
  const row = number.closest("tr"), cell = number.closest("td"), table = number.closest("table");
  if (!row) return "";
  const head = table.tHead?.rows[0].cells[cell.cellIndex]?.textContent;
  return [table.caption?.textContent, row.cells[0] !== cell && row.cells[0].textContent, head].filter(Boolean).join(": ");
}
async function tell(number) {
  known ??= unpacked();
  const at = parseInt(number.value, 16), box = $("#evidence");
  const [value, unit, formula, ends, rows] = (await known).map((column) => column[at]), lines = Object.entries(rows);
  box.replaceChildren(make("span", titleOf(number)), make("b", number.textContent), make("code", `${formula} = ${value} ${unit}`),
    ...(ends ? [make("p", `least ${ends[0]}, most ${ends[1]}`)] : []),
    ...lines.map(([table, of]) => make("p", `${table.includes(": ") ? "" : "tables/"}${table}.csv, ${/\D/.test(of) ? "lines" : "line"} ${of}`)));
  box.showPopover();
  number.setAttribute("aria-expanded", "true");
  const place = number.getBoundingClientRect(), wide = box.offsetWidth, high = box.offsetHeight;
  const top = place.bottom + 6 + high < innerHeight ? place.bottom + 6 : Math.max(8, place.top - high - 6);
  box.style.left = `${Math.max(12, Math.min(innerWidth - wide - 12, place.left + place.width / 2 - wide / 2))}px`;
  box.style.top = `${scrollY + top}px`;
}
$("#evidence").addEventListener("toggle", ({ newState }) =>
  newState === "closed" && $$("data[aria-expanded]").forEach((each) => each.removeAttribute("aria-expanded")));
for (const each of $$("main data")) Object.assign(each, { tabIndex: 0, role: "button" });
addEventListener("click", ({ target }) => target.closest("data") && tell(target.closest("data")));
addEventListener("keydown", (event) => {
  if (!event.target.matches("data") || !["Enter", " "].includes(event.key)) return;
  event.preventDefault();
  tell(event.target);
});

// Tables of many columns become cards on a narrow screen: each cell beside its heading.
for (const table of $$("table.cards")) {
  const heads = [...table.tHead.rows[0].cells].map((head) => head.textContent);
  for (const row of table.tBodies[0].rows) [...row.cells].forEach((cell, at) => { cell.dataset.label = heads[at]; });
}

// Long tables: rows that have all words are shown, and a click on a heading sorts.
const has = (row, words) => words.every((word) => row.textContent.toLowerCase().includes(word));
const wordsOf = (input) => input.value.toLowerCase().match(/\S+/g) ?? [];
const amount = (row, at) => parseFloat((row.cells[at]?.textContent ?? "").replace(/[, ≈]/g, ""));
function sorting(table) {
  for (const head of table.tHead.rows[0].cells) {
    if (!head.textContent) continue;
    const button = make("button", head.textContent), at = head.cellIndex;
    head.replaceChildren(button);
    button.onclick = () => {
      const down = button.ariaSort === "ascending", sign = down ? -1 : 1;
      const isNumber = head.classList.contains("r"), text = (row) => row.cells[at].textContent;
      $$("[aria-sort]", table).forEach((each) => each.removeAttribute("aria-sort"));
      button.ariaSort = down ? "descending" : "ascending";
      table.tBodies[0].append(...[...table.tBodies[0].rows].sort((one, two) => {
        const [a, b] = [one, two].map((row) => amount(row, at));
        if (!isNumber) return sign * text(one).localeCompare(text(two), "en", { numeric: true });
        return isNaN(a) - isNaN(b) || sign * (a - b) || 0; // What has no number comes last.
      }));
    };
  }
}
for (const table of $$("table.long")) {
  sorting(table);
  if ($("tr[data-case]", table)) continue; // It has filters, below.
  const rows = [...table.tBodies[0].rows], input = make("input", "", { type: "search", placeholder: `Search ${rows.length} rows` });
  input.ariaLabel = `Search ${table.caption?.textContent ?? "the table below"}`;
  input.oninput = () => rows.forEach((row) => { row.hidden = !has(row, wordsOf(input)); });
  table.closest(".table").before(input);
}

// Modules: rows below the second level are folded, unless they are nearly all of the one above.
for (const table of $$("table.tree")) {
  const rows = [...table.tBodies[0].rows], level = (row) => +row?.dataset.level;
  const share = (row) => parseFloat($(".meter", row)?.style.getPropertyValue("--w"));
  const fold = () => {
    let shut = Infinity;
    for (const row of rows) {
      row.hidden = level(row) > shut;
      if (!row.hidden) shut = row.matches(".shut") ? level(row) : Infinity;
    }
  };
  rows.forEach((row, at) => {
    if (!(level(rows[at + 1]) > level(row))) return;
    const above = rows.slice(0, at).findLast((each) => level(each) < level(row));
    const shut = row.classList.toggle("shut", level(row) > 1 && share(row) < 0.9 * share(above));
    const button = make("button", "", { className: "fold", ariaLabel: "Modules in it", ariaExpanded: String(!shut) });
    button.onclick = () => {
      button.ariaExpanded = String(!row.classList.toggle("shut"));
      fold();
    };
    row.cells[0].prepend(button);
  });
  fold();
}

// The cases: rows with data, such as data-size, are filtered by it. The address keeps the state:
// #size=large,xl&prec=bf16&case=large-ctx256-bf16.
let state = new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
const cases = $("tr[data-case]")?.closest("table"), rows = cases ? $$("tr[data-case]", cases) : [];
const axes = Object.keys(rows[0]?.dataset ?? {}).filter((axis) => axis !== "case" && new Set(rows.map((row) => row.dataset[axis])).size > 1);
const short = (axis) => ({ context: "ctx", precision: "prec" })[axis] ?? axis;
const chosen = (axis) => (state.get(short(axis)) ?? "").split(",").filter(Boolean);
function keep(name, value, push = false) {
  value ? state.set(name, value) : state.delete(name);
  history[push ? "pushState" : "replaceState"](null, "", `#${String(state).replaceAll("%2C", ",")}`);
  show();
}
const filters = make("div", "", { className: "filters" }), found = make("output");
const search = make("input", "", { type: "search", placeholder: "Search", ariaLabel: "Search the cases", oninput: () => keep("text", search.value) });
function toggle(axis, value) {
  const now = chosen(axis);
  keep(short(axis), (now.includes(value) ? now.filter((each) => each !== value) : [...now, value]).join(","));
}
if (cases) {
  for (const axis of axes) {
    const group = make("span", "", { className: "seg", role: "group", ariaLabel: axis }), label = make("span", axis);
    for (const value of new Set(rows.map((row) => row.dataset[axis]))) {
      const button = make("button", value, { onclick: () => toggle(axis, value) });
      Object.assign(button.dataset, { axis, value });
      group.append(button);
    }
    label.append(group);
    filters.append(label);
  }
  filters.append(search, found);
  cases.closest(".table").before(filters);
  if (!cases.matches(".long")) sorting(cases);
}

// A case's card stands in the page; open, it is in a panel at the right, which leaves the page usable.
const panel = $("#panel"), place = make("i");
function open(name) {
  const card = name && document.getElementById(`case-${name}`);
  if (card && panel.contains(card)) return;
  if (place.isConnected) place.replaceWith($("[id^=case-]", panel));
  panel.hidden = !card;
  if (!card) return panel.replaceChildren();
  card.replaceWith(place);
  panel.replaceChildren(make("button", "×", { className: "close", ariaLabel: "Close", onclick: () => keep("case", "") }), card);
  panel.scrollTop = 0;
}
function show() {
  for (const button of $$("[data-axis]", filters)) button.ariaPressed = chosen(button.dataset.axis).includes(button.dataset.value);
  if (search.value !== (state.get("text") ?? "")) search.value = state.get("text") ?? "";
  const isChosen = ({ dataset }) => axes.every((axis) => !chosen(axis).length || chosen(axis).includes(dataset[axis]));
  for (const row of rows) {
    row.hidden = !isChosen(row) || !has(row, wordsOf(search));
    row.classList.toggle("on", row.dataset.case === state.get("case"));
  }
  found.value = `${rows.filter((row) => !row.hidden).length} of ${rows.length} cases`;
  open(state.get("case"));
}
// What stands in the address beside a state is a place in the page.
function follow() {
  const hash = decodeURIComponent(location.hash.slice(1));
  if (hash.includes("=")) state = new URLSearchParams(hash);
  else if (hash.startsWith("case-")) return keep("case", hash.slice(5));
  show();
  if (state.get("at")) document.getElementById(state.get("at"))?.scrollIntoView();
}
addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='#']"), row = event.target.closest("tr[data-case]");
  const to = link ? decodeURIComponent(link.hash.slice(1)) : "";
  const name = to.startsWith("case-") ? to.slice(5) : !link && !event.target.closest("data") && row?.dataset.case;
  if (name) event.preventDefault(), keep("case", name, true);
  else if (link && state.size) event.preventDefault(), keep("at", to), document.getElementById(to)?.scrollIntoView();
});
addEventListener("keydown", ({ key }) => key === "Escape" && !$("#evidence").matches(":popover-open") && state.get("case") && keep("case", ""));
addEventListener("hashchange", follow);
addEventListener("popstate", follow);
follow();

// The bar at the top names the section that is read.
const links = new Map($$(".top nav a").map((link) => [link.hash.slice(1), link]));
const seen = new IntersectionObserver((all) => all.forEach(({ target, isIntersecting }) =>
  links.get(target.id).classList.toggle("on", isIntersecting)), { rootMargin: "-20% 0px -75% 0px" });
links.forEach((_, id) => document.getElementById(id) && seen.observe(document.getElementById(id)));

// By key or button: how far the left end moves, and how wide what is shown becomes, in widths of what is shown.
const KEYS = { "+": [0.25, 0.5], "-": [-0.5, 2], ArrowLeft: [-0.25, 1], ArrowRight: [0.25, 1], 0: [0, 1e5] };
function zoomable(svg) {
  const [, , whole, high] = svg.getAttribute("viewBox").split(" ").map(Number);
  let left = 0, wide = whole;
  const show = (by, factor) => {
    const start = left + by * wide;
    wide = Math.min(Math.max(factor * wide, whole / 1e4), whole);
    left = Math.min(Math.max(start, 0), whole - wide);
    svg.setAttribute("viewBox", `${left} 0 ${wide} ${high}`);
    svg.classList.toggle("zoomed", wide < whole);
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
