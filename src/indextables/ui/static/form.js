// The query, the condition, the time range and the order of rows.
import { h } from "./dom.js";
import { go } from "./state.js";

const shown = (text) => text.replace("T", " ").replace(/Z$/, "").replace(/\.0+$/, "");

// A time of day gets its zone. The server reads dates and times before now, and quotes what it cannot read as it was typed.
const moment = (text, zoned) => {
  if (!/^\d{4}-\d\d-\d\d[T ]\d/.test(text)) return text;
  const clock = text.replace(" ", "T");
  const time = !zoned || /[zZ]$|[+-]\d\d:?\d\d$/.test(clock) ? clock : `${clock}Z`;
  return Number.isNaN(Date.parse(time)) ? text : time;
};

export function form(state, info) {
  const input = (options) => h("input", { autocomplete: "off", spellcheck: "false", ...options });
  const query = input({ type: "search", id: "query", value: state.q, placeholder: info.text ? `Search words, or ${info.text}:(disk AND full)` : "Search field:value", "aria-label": "Query" });
  const where = input({ class: "where", id: "where", value: state.where, placeholder: "condition, as in SQL", "aria-label": "Condition" });
  const zone = info.zoned ? "UTC" : "no time zone";
  const from = info.time && input({ id: "from", value: shown(state.from), placeholder: `from, ${zone}`, title: "2026-01-31, 2026-01-31 12:00, or before now: -1h, -7d", "aria-label": `From (${zone})` });
  const to = info.time && input({ id: "to", value: shown(state.to), placeholder: `to, ${zone}`, title: "2026-01-31 (all of the day), 2026-01-31 12:00, or before now: -1h, -7d", "aria-label": `To (${zone})` });
  const choice = (name, label, options) => h("select", { id: name, "aria-label": label, onchange: (event) => go({ [name]: event.target.value, offset: "" }) },
    options.map(([value, text]) => h("option", { value, selected: value === state[name] }, text)));
  const stacks = info.columns.filter((column) => column.index !== "text" && /string|bool|int8|int16|date/.test(column.type)).map((column) => [column.name, `stacked by ${column.name}`]);
  const search = (event) => {
    event.preventDefault();
    const range = info.time ? { from: moment(from.value.trim(), info.zoned), to: moment(to.value.trim(), info.zoned) } : {};
    go({ q: query.value, where: where.value, ...range, offset: "" });
  };
  return h("form", { onsubmit: search, role: "search" },
    h("div", { class: "bar" }, query, where, h("button", { class: "main" }, "Search")),
    h("div", { class: "bar fine" },
      info.time && [from, h("span", { class: "dim" }, "to"), to,
        (state.from || state.to) && h("button", { type: "button", id: "all-times", class: "quiet", onclick: () => go({ from: "", to: "", offset: "" }) }, "All times"),
        h("span", { class: "space" }), choice("by", "Stack the histogram by", [["", "not stacked"], ...stacks])],
      choice("sort", "Order of rows", [["", info.time ? "automatic (best with a query, else newest)" : "best first"], ["score", "best first"], ...(info.time ? [["time", "newest first"]] : [])])));
}
