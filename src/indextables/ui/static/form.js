// The query, the condition, the time range and the order of rows.
import { h } from "./dom.js";
import { go } from "./state.js";

const shown = (text) => text.replace("T", " ").replace(/(\.\d+)?Z$/, "");
const zoned = (text) => text.trim() && (/[zZ]|[+-]\d\d:?\d\d$/.test(text.trim()) ? text.trim() : `${text.trim().replace(" ", "T")}${text.trim().length > 10 ? "" : "T00:00:00"}Z`);

export function form(state, info) {
  const input = (options) => h("input", { autocomplete: "off", spellcheck: "false", ...options });
  const query = input({ type: "search", id: "query", value: state.q, placeholder: info.text ? `Search words, or ${info.text}:(disk AND full)` : "Search field:value", "aria-label": "Query" });
  const where = input({ class: "where", id: "where", value: state.where, placeholder: "condition, as in SQL", "aria-label": "Condition" });
  const from = info.time && input({ id: "from", value: shown(state.from), placeholder: "from, UTC", title: "2026-01-31, or 2026-01-31 12:00", "aria-label": "From (UTC)" });
  const to = info.time && input({ id: "to", value: shown(state.to), placeholder: "to, UTC", title: "2026-01-31, or 2026-01-31 12:00", "aria-label": "To (UTC)" });
  const choice = (name, label, options) => h("select", { id: name, "aria-label": label, onchange: (event) => go({ [name]: event.target.value, offset: "" }) },
    options.map(([value, text]) => h("option", { value, selected: value === state[name] }, text)));
  const stacks = info.columns.filter((column) => column.index !== "text" && /string|bool|int8|int16|date/.test(column.type)).map((column) => [column.name, `stacked by ${column.name}`]);
  const search = (event) => {
    event.preventDefault();
    const range = info.time ? { from: zoned(from.value), to: zoned(to.value) } : {};
    go({ q: query.value, where: where.value, ...range, offset: "" });
  };
  return h("form", { onsubmit: search, role: "search" },
    h("div", { class: "bar" }, query, where, h("button", { class: "main" }, "Search")),
    h("div", { class: "bar fine" },
      info.time && [from, h("span", { class: "dim" }, "to"), to,
        (state.from || state.to) && h("button", { type: "button", id: "all-times", class: "quiet", onclick: () => go({ from: "", to: "", offset: "" }) }, "All times"),
        h("span", { class: "space" }), choice("by", "Stack the histogram by", [["", "not stacked"], ...stacks])],
      choice("sort", "Order of rows", [["", info.time ? "best or newest first" : "best first"], ["score", "best first"], ...(info.time ? [["time", "newest first"]] : [])])));
}
