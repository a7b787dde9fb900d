// Health, Files, and Schema and settings.
import { get, getSession, post } from "./api.js";
import { bytes, copyButton, counted, h, number, plain, table, when } from "./dom.js";
import { go, read } from "./state.js";

const WORDS = { warning: "could be better", error: "wrong" };
const SHADES = ["var(--accent)", "var(--bar)", "var(--warn)", "var(--good)", "var(--dim)", "var(--line)"];

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
  const { files: all, total } = await get(state, "files");
  const named = (file) => Object.entries(file.partition_values ?? {}).map(([key, value]) => `${key}=${value}`).join("/");
  const parts = new Map();
  for (const file of all) parts.set(named(file), [...(parts.get(named(file)) ?? []), file]);
  const weight = (list) => list.reduce((sum, file) => sum + (file.size ?? 0), 0);
  const open = (file) => go({ split: file.path });
  const map = h("div", { class: "map", role: "group", "aria-label": "Partitions by size" }, [...parts].slice(0, 200).map(([name, list]) =>
    h("div", { class: "part", style: { flex: `${weight(list) || 1} 1 ${Math.min(320, 46 * list.length)}px` } },
      h("span", { title: `${name || "not partitioned"}, ${bytes(weight(list))}` }, `${name || "not partitioned"} · ${bytes(weight(list))}`), list.slice(0, 60).map((file) =>
        h("button", { type: "button", title: `${name} ${bytes(file.size)}, ${number(file.num_records)} rows`, "aria-label": `split of ${name || "the table"}, ${bytes(file.size)}`, "aria-pressed": String(file.path === state.split),
          style: { flexGrow: String(file.size || 1) }, onclick: () => open(file) }, bytes(file.size))))));
  const detail = h("div");
  place.replaceChildren(h("div", { class: "page" }, h("h1", {}, "Files"),
    h("p", { class: "dim" }, `${counted(total, "split")} in ${counted(parts.size, "partition")}, ${bytes(weight(all))}. Width is bytes; a click opens a split.`), map, detail,
    h("h2", {}, "Splits"), table(["split", "partition", { name: "rows", number: true }, { name: "bytes", number: true }, "written (UTC)", { name: "merges", number: true }], all.slice(0, 200).map((file) => [
      h("button", { type: "button", class: "link mono", onclick: () => open(file) }, file.path), h("span", { class: "mono" }, named(file)),
      number(file.num_records), bytes(file.size), h("span", { class: "nowrap" }, when(file.modification_time)), number(file.num_merge_ops ?? 0)]))));
  if (!state.split) return;
  const found = await get(state, "split", { path: state.split });
  const kinds = new Map();
  for (const part of found.parts) kinds.set(part.type, (kinds.get(part.type) ?? 0) + part.bytes);
  const sorted = [...kinds].toSorted((a, b) => b[1] - a[1]);
  detail.replaceChildren(h("section", { class: "card", id: "split" }, h("h3", { class: "mono" }, found.path),
    h("div", { class: "stack", "aria-hidden": "true" }, sorted.map(([, size], place) => h("i", { style: { flex: String(size), background: SHADES[place % SHADES.length] } }))),
    h("ul", { class: "legend" }, sorted.map(([name, size], place) => h("li", {}, h("i", { style: { background: SHADES[place % SHADES.length] } }), `${name} ${bytes(size)} (${Math.round(100 * size / found.bytes)} %)`))),
    table(["part", "type", "columns", { name: "bytes", number: true }, { name: "%", number: true }], found.parts.slice(0, 60).map((part) => [h("span", { class: "mono" }, part.part), part.type, part.columns.join(", "), bytes(part.bytes), (100 * part.bytes / found.bytes).toFixed(1)]))));
}

export async function schema(place, info) {
  const found = await get(read(), "settings");
  const search = h("input", { type: "search", placeholder: "find a setting", "aria-label": "Find a setting", oninput: () => draw() });
  const list = h("div");
  const draw = () => {
    const text = search.value.toLowerCase();
    list.replaceChildren(table(["key", "default", "meaning"], found.settings.filter((row) => `${row.key} ${row.meaning}`.toLowerCase().includes(text)).map((row) => [h("span", { class: "mono" }, row.key), h("span", { class: "mono" }, plain(row.default ?? "")), row.meaning])));
  };
  const properties = Object.entries(found.properties);
  place.replaceChildren(h("div", { class: "page" }, h("h1", {}, "Schema and settings"),
    h("p", { class: "dim mono" }, info.uri),
    h("p", {}, `Version ${info.version}: ${counted(info.rows, "row")} in ${counted(info.splits, "split")}, ${bytes(info.bytes)}; ${info.partition_columns.length ? `partitioned by ${info.partition_columns.join(", ")}` : "not partitioned"}; readers of protocol ${info.min_reader_version}, writers of ${info.min_writer_version}.`),
    h("h2", {}, "Columns"), table(["column", "type", "index"], info.columns.map((column) => [h("span", { class: "mono" }, column.name), column.type, column.index])),
    properties.length > 0 && [h("h2", {}, "Properties of the table"), table(["key", "value"], properties.map(([key, value]) => [h("span", { class: "mono" }, key), h("span", { class: "mono" }, value)]))],
    h("h2", {}, "Settings"), h("div", { class: "bar" }, search), list));
  draw();
}
