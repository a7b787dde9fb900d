// Versions: a timeline, a slider, the difference of two versions, and the past to search in.
import { get, getSession, post } from "./api.js";
import { bytes, counted, h, listing, number, table, when } from "./dom.js";
import { go, href, read } from "./state.js";

const HEADS = ["version", "time (UTC)", "operation", { name: "files +", number: true }, { name: "files −", number: true }, { name: "rows +", number: true }, { name: "rows −", number: true }, { name: "bytes +", number: true }, "engine", "past"];

export async function versions(place, info) {
  const state = read();
  const [found, session] = await Promise.all([get({ ...state, v: "" }, "history", { before: state.before }), getSession()]);
  const { oldest, newest } = found;
  info.oldest = oldest;
  const at = state.v === "" ? newest : Number(state.v);
  const to = (version) => ({ v: version === newest ? "" : String(version), old: "" });
  const diff = h("div", { "aria-live": "polite" });
  place.replaceChildren(h("div", { class: "page" },
    h("h1", {}, "Versions"),
    h("p", { class: "dim" }, "Every commit is a version. Move the slider, or type a number, to look at the table as it was. The height of a bar grows with the square root of its rows."),
    newest > oldest && timeline(found, at, to),
    controls(found, at, to, session, state),
    diff, h("h2", {}, "Commits"), commits(found, at, to, state)));
  if (at > oldest) await drawDifference(diff, state, at, oldest);
}

// Each bar stands above the positions of its versions on the slider: the slider is as much shorter than the bars as its
// thumb needs, so that the middle of the thumb is in the middle of the bar of a version.
function timeline({ oldest, newest, bars, per_bar: step }, at, to) {
  const size = (bar) => Math.max(bar.added, bar.removed);
  const most = Math.max(1, ...bars.map(size));
  const count = newest - oldest + 1;
  const drawn = bars.map((bar, place) => {
    const first = oldest + place * step;
    const last = Math.min(newest, first + step - 1);
    const kind = at >= first && at <= last ? "at" : first > at ? "after" : bar.removed > bar.added ? "fewer" : "";
    const name = first === last ? `version ${first}` : `versions ${first} to ${last}`;
    return h("div", { class: kind, title: `${name}: ${counted(bar.added, "row")} added, ${number(bar.removed)} removed`, style: { flexGrow: String(last - first + 1) }, onclick: () => go(to(at >= first && at <= last ? at : last)) },
      h("i", { style: { height: `${size(bar) ? Math.max(3, 100 * Math.sqrt(size(bar) / most)) : 0}%` } }));
  });
  const slider = h("input", { type: "range", id: "slider", min: String(oldest), max: String(newest), value: String(at), "aria-label": "Version",
    style: { marginInline: `calc(${50 / count}% - var(--thumb) / 2)`, width: `calc(${100 - 100 / count}% + var(--thumb))` },
    oninput: (event) => { document.getElementById("version").value = event.target.value; },
    onchange: (event) => go(to(Number(event.target.value))) });
  return h("div", { class: "timeline" }, h("div", { class: "bars", "aria-hidden": "true" }, drawn), slider);
}

function controls({ oldest, newest, total }, at, to, session, state) {
  const field = h("input", { type: "number", id: "version", min: String(oldest), max: String(newest), value: String(at), "aria-label": "Number of the version", required: true });
  const move = (event) => {
    event.preventDefault();
    go(to(Number(field.value)));
  };
  const step = (by, name, text) => h("button", { type: "button", "aria-label": name, disabled: at + by < oldest || at + by > newest, onclick: () => go(to(at + by)) }, text);
  const restore = async () => {
    if (!confirm(`Make the table what it was at version ${at}, as a new version?`)) return;
    await post(state, "restore", { to: String(at) });
    go({ v: "", old: "", before: "" });
  };
  return h("form", { class: "bar controls", onsubmit: move },
    step(-1, "older version", "‹"), h("label", {}, "version ", field), step(1, "newer version", "›"), h("button", {}, "Go"),
    h("span", { class: "dim", id: "range" }, oldest === 0 ? `of 0 to ${newest}` : `of ${oldest} to ${newest}: the ${counted(total, "version")} that clean-up has kept`),
    h("span", { class: "space" }),
    session.write && at !== newest && h("button", { type: "button", id: "restore", onclick: restore }, `Restore version ${at}`),
    h("button", { type: "button", class: "main", onclick: () => go({ page: "discover", offset: "" }) }, "Search at this version"));
}

function commits({ versions: all, oldest, newest }, at, to, state) {
  const most = Math.max(1, ...all.map((row) => row.rows_added ?? 0));
  const rows = all.map((row) => [
    h("a", { href: href(to(row.version)), "data-go": true, "aria-current": row.version === at && "true" }, String(row.version)),
    h("span", { class: "nowrap" }, when(row.timestamp)), row.operation ?? "", number(row.files_added), number(row.files_removed),
    h("span", { class: "nowrap" }, number(row.rows_added), h("span", { class: "amount" }, h("i", { style: { width: `${100 * (row.rows_added ?? 0) / most}%` } }))), number(row.rows_removed),
    bytes(row.bytes_added), row.engine ?? "",
    h("a", { href: href({ page: "discover", ...to(row.version), offset: "" }), "data-go": true, "aria-label": `search at version ${row.version}` }, "search"),
  ]);
  const last = all.length ? all[all.length - 1].version : oldest;
  const pager = (last > oldest || state.before !== "") && h("div", { class: "pager" },
    h("button", { type: "button", disabled: state.before === "", onclick: () => go({ before: "" }) }, "Newest commits"),
    h("span", { class: "dim" }, all.length ? `versions ${last} to ${all[0].version} of ${oldest} to ${newest}` : "no version"),
    h("button", { type: "button", disabled: last <= oldest, onclick: () => go({ before: String(last) }) }, "Older commits"));
  return h("div", { id: "commits" }, table(HEADS, rows), pager);
}

async function drawDifference(place, state, at, oldest) {
  const old = state.old === "" ? at - 1 : Number(state.old);
  const field = h("input", { type: "number", id: "old", min: String(oldest), max: String(at - 1), value: String(old), required: true });
  const compare = (event) => { event.preventDefault(); go({ old: field.value }); };
  const form = h("form", { class: "bar", onsubmit: compare }, h("label", {}, "since version ", field), h("button", {}, "Compare"));
  if (old >= at) { place.replaceChildren(h("h2", {}, `Changes up to version ${at}`), form); return; }
  const found = await get({ ...state, v: String(at) }, "diff", { old: String(old) });
  form.append(h("span", { class: "dim", id: "difference" }, `${counted(found.added, "split")} added, ${number(found.removed)} removed, ${number(found.changed)} changed; ${counted(found.rows_added, "row")} added, ${number(found.rows_removed)} removed`));
  place.replaceChildren(h("h2", {}, `Changes up to version ${at}`), form,
    ...listing(["change", "split", { name: "rows", number: true }, { name: "bytes", number: true }],
      found.files.map((file) => [file.change, h("span", { class: "mono" }, file.path), number(file.rows), bytes(file.bytes)]),
      { first: 10, more: found.more, noun: "split", hint: "indextables diff lists all of them" }));
}
