// Versions: a timeline, a slider, the difference of two versions, and the past to search in.
import { get, getSession, post } from "./api.js";
import { bytes, counted, h, number, table, when } from "./dom.js";
import { go, href, read } from "./state.js";

const BARS = 240;

export async function versions(place) {
  const state = read();
  const [{ versions: all, newest }, session] = await Promise.all([get({ ...state, v: "" }, "history"), getSession()]);
  const oldest = all.length ? all[all.length - 1].version : 0;
  const at = state.v === "" ? newest : Number(state.v);
  const to = (version) => ({ v: version === newest ? "" : String(version) });
  const diff = h("div", { "aria-live": "polite" });
  const label = h("output", { for: "slider" }, `version ${at} of ${newest}`);
  const slider = h("input", { type: "range", id: "slider", min: String(oldest), max: String(newest), value: String(at), "aria-label": "Version",
    oninput: (event) => { label.textContent = `version ${event.target.value} of ${newest}`; },
    onchange: (event) => go(to(Number(event.target.value))) });
  const size = (row) => Math.max(row.rows_added ?? 0, row.rows_removed ?? 0);
  const most = Math.max(1, ...all.map(size));
  const bars = all.slice(0, BARS).toReversed().map((row) => h("div", { class: [row.version === at ? "at" : row.version > at && "after", (row.rows_removed ?? 0) > (row.rows_added ?? 0) && "fewer"].filter(Boolean).join(" "),
    title: `version ${row.version}: ${row.operation ?? ""}, ${number(row.rows_added)} rows added, ${number(row.rows_removed)} removed`, style: { height: `${4 + 96 * size(row) / most}%` }, onclick: () => go(to(row.version)) }));
  const rows = all.map((row) => [
    h("a", { href: href(to(row.version)), "data-go": true, "aria-current": row.version === at && "true" }, String(row.version)),
    h("span", { class: "nowrap" }, when(row.timestamp)), row.operation ?? "", number(row.files_added), number(row.files_removed),
    h("span", {}, number(row.rows_added), h("span", { class: "amount", style: { width: `${60 * (row.rows_added ?? 0) / most}px` } })), number(row.rows_removed),
    bytes(row.bytes_added), row.engine ?? "",
    h("a", { href: href({ page: "discover", ...to(row.version), offset: "" }), "data-go": true, "aria-label": `search at version ${row.version}` }, "search"),
  ]);
  place.replaceChildren(h("div", { class: "page" },
    h("h1", {}, "Versions"),
    h("p", { class: "dim" }, "Every commit is a version. Move the slider to look at the table as it was."),
    h("div", { class: "timeline", "aria-hidden": "true" }, bars),
    h("div", { class: "slider" }, h("div", { class: "track" }, slider), label,
      h("button", { type: "button", class: "main", onclick: () => go({ page: "discover", offset: "" }) }, "Search at this version"),
      session.write && at !== newest && h("button", { type: "button", id: "restore", onclick: async () => {
        if (!confirm(`Make the table what it was at version ${at}, as a new version?`)) return;
        await post(state, "restore", { to: String(at) });
        go({ v: "" });
      } }, `Restore version ${at}`)),
    diff, h("h2", {}, "Commits"),
    table(["version", "time (UTC)", "operation", { name: "files +", number: true }, { name: "files −", number: true }, { name: "rows +", number: true }, { name: "rows −", number: true }, { name: "bytes +", number: true }, "engine", "past"], rows)));
  const old = state.old === "" ? Math.max(at - 1, oldest) : Number(state.old);
  const choose = h("select", { "aria-label": "Compare with version", onchange: (event) => go({ old: event.target.value }) },
    all.filter((row) => row.version < at).map((row) => h("option", { value: String(row.version), selected: row.version === old }, `version ${row.version}`)));
  if (old < at) {
    const found = await get({ ...state, v: String(at) }, "diff", { old: String(old) });
    diff.replaceChildren(h("h2", {}, `Changes up to version ${at}`), h("div", { class: "bar" }, h("span", {}, "since"), choose,
      h("span", { class: "dim" }, `${counted(found.added, "split")} added, ${number(found.removed)} removed, ${number(found.changed)} changed; ${counted(found.rows_added, "row")} added, ${number(found.rows_removed)} removed`)),
      table(["change", "split", { name: "rows", number: true }, { name: "bytes", number: true }], found.files.slice(0, 20).map((file) => [file.change, h("span", { class: "mono" }, file.path), number(file.rows), bytes(file.bytes)])));
  }
}
