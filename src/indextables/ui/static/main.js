// The frame: pages, table and version of the URL, keys.
import { Refusal, get, getSession } from "./api.js";
import { showCopies } from "./copying.js";
import { discover } from "./discover.js";
import { h } from "./dom.js";
import { hold, restore } from "./focus.js";
import { showHistory } from "./history.js";
import { files, health, schema } from "./inspection.js";
import { go, href, read } from "./state.js";
import { versions } from "./versions.js";

const PAGES = { discover: ["Discover", discover], versions: ["Versions", versions], health: ["Health", health], files: ["Files", files], schema: ["Schema", schema] };
const KEYS = [["/", "go to the query"], ["Enter", "search"], ["j, k", "next, previous row"], ["o", "open the row"], ["[, ]", "older, newer version"], ["1 to 5", "pages"], ["t", "light or dark"], ["h", "query history"], ["c", "copy as CLI, Python, SQL"], ["?", "this list"]];
const SYNTAX = [["disk full", "at least one of the words"], ["disk AND full, disk -full", "both; the first without the second"], ["\"disk full\"", "the phrase"], ["disk*, d?sk, disc~1", "a prefix, a pattern, a misspelt word"],
  ["message:(disk AND full)", "in this column"], ["level:ERROR", "an exact value, with its case"], ["status:[500 TO 599], size:>1000", "a range"], ["level: IN [WARN ERROR]", "one of the values"], ["at:[now-1h TO now]", "the last hour"], ["host:*", "any value"]];
const place = document.getElementById("page");
const dialog = document.getElementById("dialog");
let info = null;
let drawn = 0;

async function draw() {
  const state = read();
  const number = ++drawn;
  hold();
  const session = await getSession();
  document.getElementById("table").replaceChildren(...session.tables.map((table) => h("option", { value: table.id, selected: table.id === state.t }, table.uri.replace(/^file:\/\//, ""))));
  document.getElementById("pages").replaceChildren(...Object.entries(PAGES).map(([name, [title]]) => h("a", { href: href({ page: name, offset: "" }), "data-go": true, "aria-current": name === state.page && "page" }, title)));
  document.getElementById("version-mark").replaceChildren(...(state.v === "" ? [] : [h("span", { class: "chip" }, `version ${state.v}`, h("button", { type: "button", "aria-label": "back to the newest version", onclick: () => go({ v: "" }) }, "×"))]));
  const [title, page] = PAGES[state.page] ?? PAGES.discover;
  try {
    info = await get(state, "describe");
    if (number !== drawn) return;
    document.title = `${title} · ${info.uri.split("/").pop()} · IndexTables`;
    await page(place, info);
    if (number === drawn) restore({ last: true });
  } catch (error) {
    if (number !== drawn || error.name === "AbortError") return;
    place.replaceChildren(h("h1", {}, title), h("pre", { class: "error", role: "alert" }, error instanceof Refusal ? error.message : `${error}`));
  }
}

function theme() {
  const root = document.documentElement;
  root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
  try { localStorage.setItem("theme", root.dataset.theme); } catch { /* storage is off */ }
  draw();
}

function showKeys() {
  dialog.replaceChildren(h("h2", { id: "dialog-title" }, "Keys and queries"),
    h("div", { class: "help" }, h("table", {}, h("tbody", {}, KEYS.map(([key, text]) => h("tr", {}, h("td", { class: "nowrap" }, h("kbd", {}, key)), h("td", {}, text))))),
      h("table", { id: "syntax" }, h("tbody", {}, SYNTAX.map(([query, text]) => h("tr", {}, h("td", {}, h("code", {}, query)), h("td", {}, text)))))),
    h("button", { type: "button", onclick: () => dialog.close() }, "Close"));
  dialog.showModal();
}

function move(step) {
  const rows = [...document.querySelectorAll(".rows tr.row")];
  const next = Math.min(Math.max(rows.findIndex((row) => row.classList.contains("at")) + step, 0), rows.length - 1);
  rows.forEach((row, n) => row.classList.toggle("at", n === next));
  rows[next]?.querySelector("button")?.focus();
  rows[next]?.scrollIntoView({ block: "nearest" });
}

async function travel(step) {
  const state = read();
  const { oldest, newest } = await get({ ...state, v: "" }, "history");
  const next = (state.v === "" ? newest : Number(state.v)) + step;
  if (next >= oldest && next <= newest) go({ v: next === newest ? "" : String(next) });
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || dialog.open) return;
  if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const actions = {
    "/": () => document.getElementById("query")?.focus(), j: () => move(1), k: () => move(-1), o: () => document.querySelector(".rows tr.at button")?.click(),
    "[": () => travel(-1), "]": () => travel(1), t: theme, h: () => info && showHistory(dialog, info.uri), c: () => info && showCopies(dialog, read(), info), "?": showKeys,
  };
  const page = Object.keys(PAGES)[Number(event.key) - 1];
  const action = page ? () => go({ page, offset: "" }) : actions[event.key];
  if (action) { event.preventDefault(); action(); }
});
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-go]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  history.pushState(null, "", link.getAttribute("href"));
  draw();
});
document.getElementById("table").addEventListener("change", (event) => go({ t: event.target.value, q: "", where: "", from: "", to: "", v: "", by: "", cols: "", offset: "", old: "", before: "", split: "" }));
document.getElementById("theme").addEventListener("click", theme);
document.getElementById("keys").addEventListener("click", showKeys);
document.getElementById("history").addEventListener("click", () => info && showHistory(dialog, info.uri));
document.getElementById("copy").addEventListener("click", () => info && showCopies(dialog, read(), info));
addEventListener("popstate", draw);
addEventListener("statechange", draw);
draw();
