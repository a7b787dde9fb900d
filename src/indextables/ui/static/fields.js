// The list of fields, with their most frequent values to filter by.
import { get } from "./api.js";
import { h, number, plain } from "./dom.js";
import { go } from "./state.js";

const FIRST = 5;
const SHORT = 5;
const USUAL = ["level", "severity", "service", "status", "host"];

const hasValues = (column, info) => column.index !== "text" && column.name !== info.time && !/binary|float|double|list|struct|map/.test(column.type);

// The fields whose values are counted with every search: those that logs are filtered by first.
export function firstFields(info) {
  const listed = info.columns.filter((column) => hasValues(column, info));
  const rank = (column) => { const at = USUAL.indexOf(column.name.toLowerCase()); return at < 0 ? USUAL.length : at; };
  return listed.toSorted((a, b) => rank(a) - rank(b)).slice(0, FIRST);
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

export function kind(column) {
  if (column.index === "text" || column.index === "partition") return column.index;
  if (column.index === "none") return "not indexed";
  if (column.type.startsWith("timestamp")) return column.type.includes("tz=") ? "time" : "time, no zone";
  const type = column.type.replace(/\[.*/, "");
  return { string: "exact", large_string: "exact", bool: "exact", date32: "date", double: "number", float: "number" }[type] ?? (/^u?int|decimal/.test(type) ? "number" : type);
}

const shownValue = (value) => value === null ? h("span", { class: "null" }, "null") : value === "" ? h("span", { class: "null" }, "empty") : plain(value);

export function drawFields(place, state, info, overview, params) {
  const row = (column, { value, count }, counted) => h("div", { class: "value" },
    h("span", { class: "share", style: { width: `${100 * count / counted}%` } }),
    h("button", { type: "button", class: "name", title: `only ${plain(value)}`, onclick: () => filter(state, column, value) }, shownValue(value)),
    h("span", { class: "count" }, number(count)),
    h("button", { type: "button", "aria-label": `only ${column.name} ${plain(value)}`, onclick: () => filter(state, column, value) }, "+"),
    h("button", { type: "button", "aria-label": `without ${column.name} ${plain(value)}`, onclick: () => filter(state, column, value, { out: true }) }, "−"));
  const values = (column, found) => {
    const top = found.top[column.name];
    const nulls = found.nulls[column.name];
    const counted = Math.max(found.counted, 1);
    if (top === null) return [h("p", { class: "dim" }, "Too many values to count.")];
    if (!top.length) return [h("p", { class: "dim" }, "No value.")];
    const others = found.counted - top.reduce((sum, { count }) => sum + count, 0);
    const rest = h("div", {}, top.slice(SHORT).map((value) => row(column, value, counted)),
      others > 0 && h("p", { class: "dim" }, `and ${number(others)} ${others === 1 ? "row" : "rows"} of other values`));
    rest.hidden = true;
    const more = top.length > SHORT && h("button", { type: "button", class: "link", onclick: () => { rest.hidden = !rest.hidden; more.textContent = rest.hidden ? `${top.length - SHORT} more` : "fewer"; } }, `${top.length - SHORT} more`);
    const share = nulls && nulls < counted ? h("span", { title: `${number(nulls)} rows` }, `${(100 * nulls / counted).toFixed(nulls / counted < 0.1 ? 1 : 0)} % null`) : null;
    return [...top.slice(0, SHORT).map((value) => row(column, value, counted)), rest, h("div", { class: "field-tools" }, more, share)];
  };
  const columns = state.cols ? state.cols.split(",") : [];
  const details = (column) => {
    const top = overview.top[column.name];
    const box = h("div", {}, top === undefined ? [] : values(column, overview));
    const show = h("input", { type: "checkbox", "aria-label": `show ${column.name} as a column`, checked: columns.includes(column.name), onchange: (event) => {
      const rest = columns.filter((name) => name !== column.name);
      go({ cols: (event.target.checked ? [...rest, column.name] : rest).join(",") });
    } });
    const element = h("details", { "data-field": column.name, open: top !== undefined && overview.total > 0 }, h("summary", {}, h("b", {}, column.name), h("span", { class: "kind" }, kind(column))),
      box, h("div", { class: "field-tools" }, h("label", {}, show, "show as a column")));
    element.addEventListener("toggle", async () => {
      if (!element.open || box.childElementCount || !hasValues(column, info)) return;
      box.replaceChildren(h("p", { class: "dim" }, "counting…"));
      try {
        const more = await get(state, "overview", { ...params, by: "", fields: column.name });
        box.replaceChildren(...values(column, more));
      } catch (error) { box.replaceChildren(h("p", { class: "dim" }, error.message)); }
    });
    return element;
  };
  const shown = info.columns.filter((column) => overview.top[column.name] !== undefined);
  const rest = info.columns.filter((column) => overview.top[column.name] === undefined);
  place.replaceChildren(h("h2", {}, "Fields"), ...shown.map(details), ...rest.map(details));
}
