// Health, Files, and Schema and settings.
import { get, getSession, post } from "./api.js";
import { bytes, copyButton, h, number, plain, table, when } from "./dom.js";
import { go, read } from "./state.js";

const WORDS = { ok: "OK", warning: "Could be better", error: "Wrong" };

export async function health(place) {
  const state = { ...read(), v: "" };
  place.replaceChildren(h("h1", {}, "Health"), h("p", { class: "dim" }, "checking…"));
  const [{ findings }, session] = await Promise.all([get(state, "health"), getSession()]);
  const order = { error: 0, warning: 1, ok: 2 };
  const run = (finding) => {
    const action = /^indextables (merge|checkpoint) /.exec(finding.command)?.[1];
    if (!session.write || !action) return null;
    return h("button", { type: "button", class: "main", onclick: async () => { await post(state, action); await health(place); } }, "Do it");
  };
  place.replaceChildren(h("h1", {}, "Health"), ...findings.toSorted((a, b) => order[a.severity] - order[b.severity]).map((finding) =>
    h("section", { class: `card ${finding.severity === "error" ? "error-card" : finding.severity}` },
      h("h3", {}, finding.check, " ", h("span", { class: "severity" }, WORDS[finding.severity])),
      h("p", {}, finding.message),
      finding.command && h("div", { class: "command" }, h("code", {}, finding.command), copyButton(finding.command), run(finding)))));
}

export async function files(place) {
  const state = read();
  const { files: all, total } = await get(state, "files");
  const parts = new Map();
  for (const file of all) {
    const name = Object.entries(file.partition_values ?? {}).map(([key, value]) => `${key}=${value}`).join("/") || "all rows";
    parts.set(name, [...(parts.get(name) ?? []), file]);
  }
  const weight = (list) => list.reduce((sum, file) => sum + (file.size ?? 0), 0);
  const largest = Math.max(1, ...all.map((file) => file.size ?? 0));
  const open = (file) => go({ split: file.path });
  const map = h("div", { class: "map", role: "group", "aria-label": "Partitions by size" }, [...parts].map(([name, list]) =>
    h("div", { class: "part", style: { flex: String(weight(list) || 1) } }, list.slice(0, 60).map((file) =>
      h("button", { type: "button", title: `${name}: ${bytes(file.size)}, ${number(file.num_records)} rows`, "aria-label": `split of ${name}, ${bytes(file.size)}`,
        style: { flex: String(file.size || 1), filter: `brightness(${0.75 + 0.25 * (file.size ?? 0) / largest})` }, onclick: () => open(file) }, name)))));
  const detail = h("div");
  place.replaceChildren(h("h1", {}, "Files"), h("p", { class: "dim" }, `${number(total)} splits in ${number(parts.size)} partitions, ${bytes(weight(all))}. Area is bytes.`), map, detail,
    h("h2", {}, "Splits"), table(["split", "partition", { name: "rows", number: true }, { name: "bytes", number: true }, "written (UTC)", { name: "merges", number: true }], all.slice(0, 200).map((file) => [
      h("button", { type: "button", class: "link mono", onclick: () => open(file) }, file.path), h("span", { class: "mono" }, Object.entries(file.partition_values ?? {}).map(([key, value]) => `${key}=${value}`).join("/")),
      number(file.num_records), bytes(file.size), when(file.modification_time), number(file.num_merge_ops ?? 0)])));
  if (!state.split) return;
  const found = await get(state, "split", { path: state.split });
  const kinds = new Map();
  for (const part of found.parts) kinds.set(part.type, (kinds.get(part.type) ?? 0) + part.bytes);
  detail.replaceChildren(h("section", { class: "card", id: "split" }, h("h3", { class: "mono" }, found.path),
    h("p", {}, [...kinds].toSorted((a, b) => b[1] - a[1]).map(([kind, size]) => `${kind} ${bytes(size)} (${Math.round(100 * size / found.bytes)} %)`).join(" · ")),
    table(["part", "type", "field", { name: "bytes", number: true }, { name: "%", number: true }], found.parts.slice(0, 60).map((part) => [h("span", { class: "mono" }, part.part), part.type, part.field ?? "", bytes(part.bytes), (100 * part.bytes / found.bytes).toFixed(1)]))));
}

export async function schema(place, info) {
  const found = await get(read(), "settings");
  const search = h("input", { type: "search", placeholder: "find a setting", "aria-label": "Find a setting", oninput: () => draw() });
  const list = h("div");
  const draw = () => {
    const text = search.value.toLowerCase();
    list.replaceChildren(table(["key", "default", "meaning"], found.settings.filter((row) => `${row.key} ${row.meaning}`.toLowerCase().includes(text)).map((row) => [h("span", { class: "mono" }, row.key), plain(row.default ?? ""), row.meaning])));
  };
  place.replaceChildren(h("h1", {}, "Schema and settings"),
    h("p", {}, h("span", { class: "mono" }, info.uri)),
    h("p", {}, `version ${info.version}: ${number(info.rows)} rows in ${number(info.splits)} splits, ${bytes(info.bytes)}; ${info.partition_columns.length ? `partitioned by ${info.partition_columns.join(", ")}` : "not partitioned"}; readers of protocol ${info.min_reader_version}, writers of ${info.min_writer_version}`),
    h("h2", {}, "Columns"), table(["column", "type", "index"], info.columns.map((column) => [h("span", { class: "mono" }, column.name), column.type, column.index])),
    h("h2", {}, "Properties of the table"), table(["key", "value"], Object.entries(found.properties).map(([key, value]) => [h("span", { class: "mono" }, key), h("span", { class: "mono" }, value)])),
    h("h2", {}, "Settings"), search, list);
  draw();
}
