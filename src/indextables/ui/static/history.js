// The queries of this browser, newest first. They stay in it: the server keeps none.
import { h, number, when } from "./dom.js";
import { go } from "./state.js";

const KEY = "queries";
const MOST = 200;
const KEPT = ["q", "where", "from", "to", "v", "by", "sort", "cols"];

export function remembered() {
  try {
    const found = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(found) ? found.filter((entry) => entry && typeof entry === "object") : [];
  } catch { return []; } // storage is off, or another program wrote there
}

const same = (entry, other) => entry.uri === other.uri && KEPT.every((name) => (entry[name] ?? "") === (other[name] ?? ""));

export function remember(state, uri, total) {
  if (!state.q && !state.where) return;
  const entry = { ...Object.fromEntries(KEPT.map((name) => [name, state[name]])), uri, total, at: new Date().toISOString() };
  const others = remembered().filter((other) => !same(entry, other));
  try { localStorage.setItem(KEY, JSON.stringify([entry, ...others].slice(0, MOST))); } catch { /* storage is off or full */ }
}

export function showHistory(dialog, uri) {
  const search = h("input", { type: "search", placeholder: "find a query", "aria-label": "Find a query", oninput: () => draw() });
  const list = h("div", { class: "list", tabindex: "0", role: "region", "aria-label": "Queries" });
  const again = (entry) => {
    dialog.close();
    go({ page: "discover", offset: "", ...Object.fromEntries(KEPT.map((name) => [name, String(entry[name] ?? "")])) });
  };
  const draw = () => {
    const text = search.value.toLowerCase();
    const found = remembered().filter((entry) => entry.uri === uri && `${entry.q} ${entry.where}`.toLowerCase().includes(text));
    list.replaceChildren(found.length ? h("table", {}, h("tbody", {}, found.map((entry) => h("tr", {},
      h("td", {}, h("button", { type: "button", class: "link mono", onclick: () => again(entry) }, [entry.q, entry.where && `where ${entry.where}`, (entry.from || entry.to) && "in a time range", entry.v && `at version ${entry.v}`].filter(Boolean).join(" "))),
      h("td", { class: "number dim" }, `${number(entry.total)} rows`),
      h("td", { class: "dim nowrap" }, when(entry.at)))))) : h("p", { class: "dim" }, "No query yet. Searches of this table are listed here, in this browser alone."));
  };
  const clear = () => { try { localStorage.setItem(KEY, JSON.stringify(remembered().filter((entry) => entry.uri !== uri))); } catch { /* storage is off */ } draw(); };
  dialog.replaceChildren(h("h2", { id: "dialog-title" }, "Query history"), search, list,
    h("div", { class: "bar" }, h("button", { type: "button", onclick: () => dialog.close() }, "Close"), h("button", { type: "button", class: "quiet", onclick: clear }, "Forget them")));
  draw();
  dialog.showModal();
}
