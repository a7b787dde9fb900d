// Discover: query, condition, histogram, fields, rows.
import { Refusal, exportUrl, get } from "./api.js";
import { histogram, seconds } from "./chart.js";
import { h, number, plain, when } from "./dom.js";
import { go, read } from "./state.js";

const PAGE = 50;
const FIRST_FIELDS = 5;
let running = null;
let opened = new Set(["level", "service", "severity", "status", "host"]);

export async function discover(place, info) {
  const state = read();
  running?.abort();
  running = new AbortController();
  const { signal } = running;
  const params = { q: state.q, where: state.where, from: state.from, to: state.to, by: state.by, sort: state.sort };
  const problem = h("div", { role: "alert" });
  const summary = h("div", { class: "summary" }, "searching…");
  const chart = h("div", { class: "chart" });
  const fields = h("aside", { class: "fields", "aria-label": "Fields" });
  const rows = h("div", { class: "rows" });
  place.replaceChildren(
    h("h1", { class: "hidden" }, "Discover"), form(state, info), problem,
    h("div", { class: "discover" }, fields, h("section", { "aria-label": "Results" }, summary, info.time && chart, rows)));

  const listed = info.columns.filter((column) => column.index !== "text" && column.name !== info.time && !/binary|float|double|list|struct|map/.test(column.type));
  const shown = [...listed.filter((column) => opened.has(column.name)), ...listed.filter((column) => !opened.has(column.name))].slice(0, FIRST_FIELDS);
  try {
    const [found, overview] = await Promise.all([
      get(state, "rows", { ...params, limit: PAGE, offset: state.offset }, signal),
      get(state, "overview", { ...params, fields: shown.map((column) => column.name).join("\x1f") }, signal),
    ]);
    drawSummary(summary, state, params, found, overview);
    if (info.time) drawChart(chart, state, overview);
    drawFields(fields, state, info, shown, overview, params);
    drawRows(rows, state, info, found, overview);
  } catch (error) {
    if (error.name === "AbortError") return;
    if (!(error instanceof Refusal)) throw error;
    summary.remove();
    chart.remove();
    problem.replaceChildren(h("pre", { class: "error" }, error.message));
  }
}

function form(state, info) {
  const query = h("input", { type: "search", id: "query", value: state.q, placeholder: info.text ? `words, or ${info.text}:(disk AND full)` : "field:value", "aria-label": "Query", autocomplete: "off", spellcheck: "false" });
  const where = h("input", { class: "where", id: "where", value: state.where, placeholder: "condition, as in SQL", "aria-label": "Condition", autocomplete: "off", spellcheck: "false" });
  const by = h("select", { id: "by", "aria-label": "Stack the histogram by", onchange: (event) => go({ by: event.target.value }) },
    h("option", { value: "" }, "no stacking"),
    info.columns.filter((column) => column.index !== "text" && /string|bool|int8|int16|date/.test(column.type))
      .map((column) => h("option", { value: column.name, selected: column.name === state.by }, `stack by ${column.name}`)));
  const order = h("select", { id: "sort", "aria-label": "Order of rows", onchange: (event) => go({ sort: event.target.value, offset: "" }) },
    [["", "order: automatic"], ["score", "best first"], ["time", "newest first"]].map(([value, text]) => h("option", { value, selected: value === state.sort }, text)));
  const range = (name, label) => h("input", { type: "datetime-local", step: "1", "aria-label": label, value: state[name].slice(0, 19), onchange: (event) => go({ [name]: event.target.value && `${event.target.value}Z`, offset: "" }) });
  return h("form", { onsubmit: (event) => { event.preventDefault(); go({ q: query.value, where: where.value, offset: "" }); } },
    h("div", { class: "bar" }, query, where, h("button", { class: "main" }, "Search")),
    h("div", { class: "bar" }, info.time && [range("from", "From (UTC)"), h("span", { class: "dim" }, "to"), range("to", "To (UTC)"),
      (state.from || state.to) && h("button", { type: "button", id: "all-times", onclick: () => go({ from: "", to: "", offset: "" }) }, "All times"), by], order));
}

function drawSummary(place, state, params, found, overview) {
  const plan = overview.plan;
  const skipped = Object.entries(plan.skipped).map(([stage, count]) => `${count} skipped by ${stage}`).join(", ");
  place.replaceChildren(
    h("strong", { id: "total" }, `${number(overview.total)} rows`),
    h("span", { title: skipped }, `${plan.read} of ${plan.splits} splits read${skipped ? ` (${skipped})` : ""}`),
    h("span", {}, `${found.ms + overview.ms} ms`),
    h("span", {}, `version ${found.version}`),
    h("a", { href: exportUrl(state, params), download: "rows.csv" }, "Export CSV"));
}

function drawChart(place, state, overview) {
  const bars = overview.histogram;
  if (!bars || !bars.times.length) { place.replaceChildren(h("p", { class: "dim" }, "no row has a time")); return; }
  const iso = (time) => new Date(Math.round(time * 1000)).toISOString();
  histogram(place, bars, seconds(overview.every), (from, to) => go({ from: iso(from), to: iso(to), offset: "" }));
}

function literal(value, type) {
  return /int|float|double|decimal|bool/.test(type) ? String(value) : `'${String(value).replaceAll("'", "''")}'`;
}

export function filter(state, column, value, { out = false } = {}) {
  const name = /^[A-Za-z_]\w*$/.test(column.name) ? column.name : `\`${column.name.replaceAll("`", "``")}\``;
  const test = value === null ? `${name} IS ${out ? "NOT " : ""}NULL` : `${name} ${out ? "<>" : "="} ${literal(value, column.type)}`;
  const where = state.where ? `${/\bOR\b/i.test(state.where) ? `(${state.where})` : state.where} AND ${test}` : test;
  go({ where, offset: "" });
}

function drawFields(place, state, info, shown, overview, params) {
  const values = (column, top) => top === null ? [h("p", { class: "dim" }, "too many values")] : top.map((row) => h("div", { class: "value" },
    h("button", { type: "button", class: "name", title: `only ${plain(row.value)}`, onclick: () => filter(state, column, row.value) }, plain(row.value)),
    h("span", { class: "count" }, number(row.count)),
    h("button", { type: "button", "aria-label": `only ${column.name} ${plain(row.value)}`, onclick: () => filter(state, column, row.value) }, "+"),
    h("button", { type: "button", "aria-label": `without ${column.name} ${plain(row.value)}`, onclick: () => filter(state, column, row.value, { out: true }) }, "−"),
    h("span", { class: "share", style: { width: `${100 * row.count / Math.max(overview.total, 1)}%` } })));
  const columns = state.cols ? state.cols.split(",") : [];
  const details = (column) => {
    const top = overview.top[column.name];
    const box = h("div", {}, top === undefined ? [] : values(column, top));
    const toggle = h("label", { class: "dim" }, h("input", { type: "checkbox", checked: columns.includes(column.name), onchange: (event) => {
      const rest = columns.filter((name) => name !== column.name);
      go({ cols: (event.target.checked ? [...rest, column.name] : rest).join(",") });
    } }), " show as a column");
    const element = h("details", { open: top !== undefined }, h("summary", {}, column.name, h("span", { class: "kind" }, `${column.type.replace(/\[.*/, "")} · ${column.index}`)), toggle, box);
    element.addEventListener("toggle", async () => {
      if (!element.open || box.childElementCount || column.index === "text" || column.name === info.time) return;
      const more = await get(state, "overview", { ...params, fields: column.name });
      box.replaceChildren(...values(column, more.top[column.name]));
    });
    return element;
  };
  const rest = info.columns.filter((column) => !shown.includes(column));
  place.replaceChildren(h("h2", {}, "Fields"), ...shown.map(details), ...rest.map(details));
}

function marked(parts, text) {
  if (!parts) return [text ?? ""];
  return parts.map((part, place) => place % 2 ? h("mark", {}, part) : part);
}

function drawRows(place, state, info, found, overview) {
  if (!found.rows.length) { place.replaceChildren(h("p", { class: "dim" }, "No row matches.")); return; }
  const level = info.columns.find((column) => /^(level|severity|loglevel)$/i.test(column.name) && /string/.test(column.type));
  const chosen = state.cols ? state.cols.split(",").filter((name) => info.columns.some((column) => column.name === name)) : null;
  const names = chosen ?? (info.text ? [] : info.columns.filter((column) => column.name !== info.time).slice(0, 6).map((column) => column.name));
  const scored = found.rows.some((row) => row._score !== undefined && row._score !== null) && state.sort !== "time";
  const body = h("tbody");
  for (const row of found.rows) {
    const more = h("button", { type: "button", "aria-expanded": "false", "aria-label": "all fields", onclick: () => expand(line, more, row, state, info) }, "▸");
    const line = h("tr", { class: "row" },
      h("td", { class: "open" }, more),
      info.time && h("td", { class: "time" }, when(row[info.time])),
      level && h("td", {}, h("span", { class: `level ${/^\w+$/.test(row[level.name] ?? "") ? row[level.name] : ""}` }, row[level.name] ?? "")),
      names.map((name) => h("td", {}, plain(row[name]))),
      info.text && h("td", {}, marked(row._snippet, row[info.text])),
      scored && h("td", { class: "score" }, row._score?.toFixed(2)));
    body.append(line);
  }
  const heads = ["", info.time, level?.name, ...names, info.text, scored && "score"].filter((name) => name !== null && name !== undefined && name !== false);
  const offset = Number(state.offset || 0);
  place.replaceChildren(
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Rows" }, h("table", {}, h("thead", {}, h("tr", {}, heads.map((name) => h("th", { scope: "col" }, name || h("span", { class: "hidden" }, "open"))))), body)),
    h("div", { class: "pager" },
      h("button", { type: "button", disabled: offset === 0, onclick: () => go({ offset: offset > PAGE ? String(offset - PAGE) : "" }) }, "Previous"),
      h("span", { class: "dim" }, `${number(offset + 1)} to ${number(offset + found.rows.length)} of ${number(overview.total)}`),
      h("button", { type: "button", disabled: offset + found.rows.length >= overview.total, onclick: () => go({ offset: String(offset + PAGE) }) }, "Next")));
}

function expand(line, button, row, state, info) {
  if (button.getAttribute("aria-expanded") === "true") {
    line.nextElementSibling.remove();
    button.setAttribute("aria-expanded", "false");
    button.textContent = "▸";
    return;
  }
  button.setAttribute("aria-expanded", "true");
  button.textContent = "▾";
  const around = h("div");
  const list = h("dl", {}, info.columns.flatMap((column) => [
    h("dt", {}, column.name),
    h("dd", {}, plain(row[column.name]), " ", column.index !== "text" && column.name !== info.time && !/binary/.test(column.type)
      ? h("button", { type: "button", class: "link", "aria-label": `only ${column.name} ${plain(row[column.name])}`, onclick: () => filter(state, column, row[column.name]) }, "only these") : null)]));
  const show = info.time && row[info.time] && h("button", { type: "button", onclick: async () => {
    const found = await get(state, "around", { at: row[info.time] });
    around.replaceChildren(h("ol", { class: "around mono" }, found.rows.map((other) => h("li", { class: other[info.time] === row[info.time] && "here" }, `${when(other[info.time])}  ${plain(other[info.text] ?? Object.values(other).map(plain).join("  "))}`))));
  } }, "Rows around it");
  line.after(h("tr", { class: "expanded" }, h("td", { colspan: String(line.childElementCount) }, list, show, around)));
}
