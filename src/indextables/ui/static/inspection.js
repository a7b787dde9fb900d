// Health, Files, and Schema and settings.
import { get, getSession, post } from "./api.js";
import { MOST, colour } from "./colours.js";
import { bytes, copyButton, counted, h, listing, number, plain, table, when } from "./dom.js";
import { kind } from "./fields.js";
import { go, read } from "./state.js";

const WORDS = { warning: "could be better", error: "wrong" };
const FILES = 100;
const PARTITIONS = 30;
const SMALLEST = 0.25; // percent of the width: a narrower piece cannot be clicked, and is shown with the other small ones

export async function health(place) {
  const state = { ...read(), v: "" };
  place.replaceChildren(h("div", { class: "page" }, h("h1", {}, "Health"), h("p", { class: "dim" }, "checking…")));
  const [{ findings }, session] = await Promise.all([get(state, "health"), getSession()]);
  const order = { error: 0, warning: 1, ok: 2 };
  const run = (finding) => {
    const action = /^indextables (merge|checkpoint) /.exec(finding.command)?.[1];
    if (!session.write || !action) return null;
    return h("button", { type: "button", class: "main", onclick: async () => { await post(state, action); await health(place); } }, "Do it");
  };
  const open = findings.filter((finding) => finding.severity !== "ok").toSorted((a, b) => order[a.severity] - order[b.severity]);
  const fine = findings.filter((finding) => finding.severity === "ok");
  const worst = open[0]?.severity ?? "ok";
  place.replaceChildren(h("div", { class: "page" }, h("h1", {}, "Health"),
    h("p", { class: `verdict ${worst}` }, open.length ? `${counted(open.length, "finding")}, ${counted(fine.length, "check")} passed.` : `All ${fine.length} checks passed.`),
    ...open.map((finding) => h("section", { class: `card ${finding.severity === "error" ? "error-card" : finding.severity}` },
      h("h3", {}, finding.check, h("span", { class: "severity" }, WORDS[finding.severity])),
      h("p", {}, finding.message),
      finding.command && h("div", { class: "command" }, h("code", {}, finding.command), copyButton(finding.command), run(finding)))),
    h("ul", { class: "checks" }, fine.map((finding) => h("li", {}, h("strong", {}, finding.check), h("span", { class: "dim" }, finding.message))))));
}

export async function files(place) {
  const state = read();
  const found = await get(state, "files", { offset: state.offset });
  const open = (path) => go({ split: path });
  const detail = h("div");
  const rest = found.num_partitions - found.partitions.length;
  const widest = Math.max(1, ...found.partitions.map((part) => part.bytes));
  const drawn = found.partitions.map((part) => partition(part, widest, state, open));
  const map = h("div", { class: "map", role: "group", "aria-label": "Partitions" }, drawn.slice(0, PARTITIONS));
  const more = drawn.length > PARTITIONS && h("button", { type: "button", class: "rest", onclick: () => { map.append(...drawn.slice(PARTITIONS)); more.remove(); } }, `and ${counted(drawn.length - PARTITIONS, "more ", "partition")}`);
  const offset = Number(state.offset || 0);
  const page = (start) => go({ offset: start > 0 ? String(start) : "" });
  const last = offset + found.files.length;
  place.replaceChildren(h("div", { class: "page" }, h("h1", {}, "Files"),
    h("p", { class: "dim", id: "files-total" }, `${counted(found.splits, "split")} in ${counted(found.num_partitions, "partition")}, ${bytes(found.bytes)}. The length of a bar is the bytes of a partition, each piece is a split: a click opens it.`),
    map, more, rest > 0 && h("p", { class: "dim" }, `and ${counted(rest, "more ", "partition")} of ${bytes(found.bytes - found.partitions.reduce((sum, part) => sum + part.bytes, 0))}: indextables files lists all of them`), detail,
    h("h2", {}, "Splits, largest first"), table(["split", "partition", { name: "rows", number: true }, { name: "bytes", number: true }, "written (UTC)", { name: "merges", number: true }], found.files.map((file) => [
      h("button", { type: "button", class: "link mono nowrap", onclick: () => open(file.path) }, file.path.split("/").pop()), h("span", { class: "mono nowrap" }, file.partition),
      number(file.num_records), bytes(file.size), h("span", { class: "nowrap" }, when(file.modification_time)), number(file.num_merge_ops ?? 0)])),
    (offset > 0 || last < found.splits) && h("div", { class: "pager" },
      h("button", { type: "button", disabled: offset === 0, onclick: () => page(offset - FILES) }, "Previous"),
      h("span", { class: "dim" }, `${number(offset + 1)} to ${number(last)} of ${number(found.splits)}`),
      h("button", { type: "button", disabled: last >= found.splits, onclick: () => page(last) }, "Next"))));
  if (state.split) detail.replaceChildren(await opened(state));
}

// One partition: its pieces are as long as their bytes, to scale with those of all other partitions.
function partition(part, widest, state, open) {
  const share = (size) => 100 * size / part.bytes;
  const pieces = part.largest.filter((split) => share(split.bytes) * part.bytes / widest > SMALLEST || split.path === state.split);
  const others = part.splits - pieces.length;
  const name = part.name || "all rows";
  const buttons = pieces.map((split) => h("button", { type: "button", class: "piece", title: `${bytes(split.bytes)}, ${counted(split.rows, "row")}`, "aria-label": `split of ${name}, ${bytes(split.bytes)}`, "aria-pressed": String(split.path === state.split),
    style: { width: `${share(split.bytes)}%` }, onclick: () => open(split.path) }));
  const left = part.bytes - pieces.reduce((sum, split) => sum + split.bytes, 0);
  return h("div", { class: "part" }, h("span", { class: "name mono" }, name),
    h("div", { class: "lane" }, h("div", { class: "length", style: { width: `${100 * part.bytes / widest}%` } }, buttons,
      others > 0 && h("span", { class: "piece others", title: `${counted(others, others === part.splits ? "" : "smaller ", "split")}, ${bytes(left)}`, style: { width: `${share(left)}%` } }))),
    h("span", { class: "dim figures" }, `${bytes(part.bytes)} · ${counted(part.splits, "split")} · ${counted(part.rows, "row")}`));
}

async function opened(state) {
  const found = await get(state, "split", { path: state.split });
  const kinds = new Map();
  for (const part of found.parts) kinds.set(part.type, (kinds.get(part.type) ?? 0) + part.bytes);
  const sorted = [...kinds].toSorted((a, b) => b[1] - a[1]);
  // No colour is used twice: the smallest kinds are shown together if there are more kinds than colours.
  const shown = sorted.length > MOST ? [...sorted.slice(0, MOST - 1), ["other", sorted.slice(MOST - 1).reduce((sum, [, size]) => sum + size, 0)]] : sorted;
  const percent = (size) => { const share = 100 * size / found.bytes; return share < 0.1 ? "< 0.1" : share.toFixed(1); };
  return h("section", { class: "card", id: "split" },
    h("div", { class: "bar" }, h("h3", { class: "mono" }, found.path), h("span", { class: "space" }), h("strong", {}, bytes(found.bytes)), h("button", { type: "button", onclick: () => go({ split: "" }) }, "Close")),
    h("div", { class: "stack", "aria-hidden": "true" }, shown.map(([name, size], place) => h("i", { style: { width: `${100 * size / found.bytes}%`, background: colour(name, place) } }))),
    h("ul", { class: "legend" }, shown.map(([name, size], place) => h("li", {}, h("i", { style: { background: colour(name, place) } }), `${name} ${bytes(size)} (${percent(size)} %)`))),
    ...listing(["part", "type", "columns", { name: "bytes", number: true }, { name: "%", number: true }], found.parts.map((part) => [h("span", { class: "mono nowrap" }, part.part), h("span", { class: "nowrap" }, part.type), part.columns.join(", "), bytes(part.bytes), percent(part.bytes)]), { first: 12, noun: "part" }));
}

export async function schema(place, info) {
  const found = await get(read(), "settings");
  const search = h("input", { type: "search", placeholder: "find a setting", "aria-label": "Find a setting", oninput: () => draw() });
  const list = h("div");
  const draw = () => {
    const text = search.value.toLowerCase();
    list.replaceChildren(table(["key", "default", "meaning"], found.settings.filter((row) => `${row.key} ${row.meaning}`.toLowerCase().includes(text)).map((row) => [h("span", { class: "mono nowrap" }, row.key), h("span", { class: "mono nowrap" }, row.default), row.meaning])));
  };
  const properties = Object.entries(found.properties);
  place.replaceChildren(h("div", { class: "page wide" }, h("h1", {}, "Schema and settings"),
    h("p", { class: "dim mono" }, info.uri),
    h("p", {}, `Version ${info.version}: ${counted(info.rows, "row")} in ${counted(info.splits, "split")}, ${bytes(info.bytes)}; ${info.partition_columns.length ? `partitioned by ${info.partition_columns.join(", ")}` : "not partitioned"}; readers of protocol ${info.min_reader_version}, writers of ${info.min_writer_version}.`),
    h("h2", {}, "Columns"), table(["column", "type", "index"], info.columns.map((column) => [h("span", { class: "mono" }, column.name), h("span", { class: "mono nowrap" }, column.type), kind(column)])),
    properties.length > 0 && [h("h2", {}, "Properties of the table"), table(["key", "value"], properties.map(([key, value]) => [h("span", { class: "mono nowrap" }, key), h("span", { class: "mono" }, value)]))],
    h("h2", {}, "Settings"), h("div", { class: "bar" }, search), list));
  draw();
}
