// Rows as log lines with marked hits, and one row with all of its fields and the rows around it.
import { get } from "./api.js";
import { counted, h, number, plain, when } from "./dom.js";
import { filter, kind } from "./fields.js";
import { go } from "./state.js";

export const PAGE = 50;
const COLUMNS = 6;

function marked(parts, text) {
  if (!parts) return [text ?? ""];
  return parts.map((part, place) => place % 2 ? h("mark", {}, part) : part);
}

const cell = (value) => value === null || value === undefined ? h("span", { class: "null" }, "null") : plain(value);

export const levelOf = (info) => info.columns.find((column) => /^(level|severity|loglevel)$/i.test(column.name) && /string/.test(column.type));

// The columns that are shown, if some are chosen: those, between the time and level and the text.
export function shownColumns(state, info) {
  if (!state.cols) return null;
  const chosen = state.cols.split(",").filter((name) => info.columns.some((column) => column.name === name));
  return [...new Set([info.time, levelOf(info)?.name, ...chosen, info.text])].filter(Boolean);
}

export function drawRows(place, state, info, found) {
  if (!found.rows.length) { place.replaceChildren(nothing(state, info)); return; }
  const level = levelOf(info);
  const chosen = state.cols ? state.cols.split(",").filter((name) => info.columns.some((column) => column.name === name)) : null;
  const others = info.columns.filter((column) => column.name !== info.time && column.name !== level?.name).map((column) => column.name);
  const names = chosen ?? (info.text ? [] : others.slice(0, COLUMNS));
  const hidden = chosen || info.text ? 0 : others.length - names.length;
  const scored = found.rows.some((row) => row._score !== undefined && row._score !== null) && state.sort !== "time";
  const body = h("tbody");
  for (const row of found.rows) {
    const more = h("button", { type: "button", "aria-expanded": "false", "aria-label": "all fields", onclick: () => expand(line, more, row, state, info, found.version) }, "▸");
    const line = h("tr", { class: "row" },
      h("td", { class: "open" }, more),
      info.time && h("td", { class: "time" }, when(row[info.time])),
      level && h("td", {}, h("span", { class: `level ${/^\w+$/.test(row[level.name] ?? "") ? row[level.name] : ""}` }, row[level.name] ?? "")),
      names.map((name) => h("td", { "data-name": name }, h("div", { class: "clamp" }, cell(row[name])))),
      info.text && h("td", {}, h("div", { class: "clamp" }, marked(row._snippet, row[info.text]))),
      scored && h("td", { class: "score" }, row._score?.toFixed(2)));
    body.append(line);
  }
  const heads = ["", info.time, level?.name, ...names, info.text, scored && "score"].filter((name) => name !== null && name !== undefined && name !== false);
  place.replaceChildren(
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Rows" }, h("table", {}, h("thead", {}, h("tr", {}, heads.map((name) => h("th", { scope: "col", class: name === "score" && "number" }, name || h("span", { class: "hidden" }, "open"))))), body)),
    ...(hidden > 0 ? [h("p", { class: "dim" }, `and ${counted(hidden, "more ", "column")}: open a row, or show one as a column`)] : []));
}

export function drawPager(place, state, found, total) {
  const offset = Number(state.offset || 0);
  if (!found.rows.length || (offset === 0 && found.rows.length >= total)) { place.replaceChildren(); return; }
  place.replaceChildren(
    h("button", { type: "button", disabled: offset === 0, onclick: () => go({ offset: offset > PAGE ? String(offset - PAGE) : "" }) }, "Previous"),
    h("span", { class: "dim" }, `${number(offset + 1)} to ${number(offset + found.rows.length)} of ${number(total)}`),
    h("button", { type: "button", disabled: offset + found.rows.length >= total, onclick: () => go({ offset: String(offset + PAGE) }) }, "Next"));
}

// What may be in the way of a match can be taken away by a click.
function nothing(state, info) {
  const named = [...state.q.matchAll(/(?:^|[\s(+!-])`?([\w.]+)`?:/g)].map((match) => match[1].toLowerCase());
  const exact = info.columns.filter((column) => kind(column) === "exact" && named.includes(column.name.toLowerCase())).map((column) => column.name);
  const hint = exact.length ? `Values of ${exact.join(" and ")} are exact and case-sensitive: error is not ERROR.`
    : state.q ? "Words are matched whole: try a prefix such as disk*, or fewer words." : "The table has no such row.";
  const without = (name, text) => h("button", { type: "button", onclick: () => go(name === "from" ? { from: "", to: "", offset: "" } : { [name]: "", offset: "" }) }, text);
  return h("div", { class: "blank" }, h("strong", {}, "No row matches"),
    hint,
    h("div", { class: "bar" }, state.where && without("where", "Without the condition"), (state.from || state.to) && without("from", "At all times"), state.v && without("v", "In the newest version")));
}

function expand(line, button, row, state, info, version) {
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
    h("dd", {}, cell(row[column.name]), " ", column.index !== "text" && column.name !== info.time && !/binary|list|struct|map/.test(column.type)
      ? h("button", { type: "button", class: "link", "aria-label": `only ${column.name} ${plain(row[column.name])}`, onclick: () => filter(state, column, row[column.name]) }, "only these") : null)]));
  const show = info.time && row[info.time] && h("button", { type: "button", onclick: async () => {
    try {
      const found = await get({ ...state, v: String(version) }, "around", { split: row.__split_path, row: row.__row_number });
      around.replaceChildren(h("ol", { class: "around mono" }, found.rows.map((other, n) => h("li", { class: n === found.here && "here", "aria-current": n === found.here && "true" },
        h("time", {}, when(other[info.time])), plain(other[info.text] ?? info.columns.filter((column) => column.name !== info.time).map((column) => plain(other[column.name])).join("  "))))));
    } catch (error) { around.replaceChildren(h("p", { class: "dim" }, error.message)); }
  } }, "Rows around it");
  line.after(h("tr", { class: "expanded" }, h("td", { colspan: String(line.childElementCount) }, list, show, around)));
}
