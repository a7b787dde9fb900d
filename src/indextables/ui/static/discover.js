// Discover: query, condition, histogram, fields, rows. Rows and figures are drawn as each of them arrives.
import { Refusal, exportUrl, get, getSession } from "./api.js";
import { histogram } from "./chart.js";
import { counted, h, number } from "./dom.js";
import { drawFields, firstFields } from "./fields.js";
import { restore } from "./focus.js";
import { form } from "./form.js";
import { remember } from "./history.js";
import { PAGE, drawPager, drawRows, shownColumns } from "./rows.js";
import { go, read } from "./state.js";

let running = null;

export async function discover(place, info) {
  const state = read();
  running?.abort(); // the server ends the searches of the view that was left
  running = new AbortController();
  const { signal } = running;
  const params = { q: state.q, where: state.where, from: state.from, to: state.to, by: state.by, sort: state.sort };
  const problem = h("div", { role: "alert" });
  const summary = h("div", { class: "summary", "aria-live": "polite" }, "searching…");
  const notice = h("div");
  const chart = h("div", { class: "chart" });
  const fields = h("aside", { class: "fields", "aria-label": "Fields" });
  const rows = h("div", { class: "rows" });
  const pager = h("div", { class: "pager" });
  place.replaceChildren(
    h("h1", { class: "hidden" }, "Discover"), form(state, info), problem,
    h("div", { class: "discover" }, fields, h("section", { "aria-label": "Results" }, summary, notice, info.time && chart, rows, pager)));
  restore();
  const asked = { ...params, fields: firstFields(info).map((column) => column.name).join("\x1f") };
  try {
    const session = await getSession();
    const waiting = get(state, "overview", asked, signal).then((overview) => {
      info.every = overview.every;
      info.range = { from: overview.from, to: overview.to };
      const columns = shownColumns(state, info)?.join("\x1f");
      drawSummary(summary, overview, exportUrl(state, { ...params, columns }), session.most_exported);
      drawNotice(notice, overview);
      if (info.time) drawChart(chart, state, info, overview);
      drawFields(fields, state, info, overview, params);
      remember(state, info.uri, overview.total);
      restore();
      return overview;
    });
    const [overview, found] = await Promise.all([waiting, get(state, "rows", { ...params, limit: PAGE, offset: state.offset }, signal).then((found) => {
      drawRows(rows, state, info, found);
      return found;
    })]);
    drawPager(pager, state, found, overview.total);
  } catch (error) {
    if (error.name === "AbortError") return;
    if (!(error instanceof Refusal)) throw error;
    running.abort();
    place.querySelector(".discover > section").remove();
    const everything = { q: "", where: "", from: "", to: "" }; // an error often needs the names, and some values
    drawFields(fields, state, info, { top: {}, nulls: {}, counted: 0, total: 0 }, everything);
    const limit = /^'?(from|to)'? is/.exec(error.message)?.[1];
    const box = limit ?? (/condition|column|where/i.test(error.message) && state.where && !/INDEXQUERY/.test(error.message) ? "where" : "query");
    document.getElementById(box)?.setAttribute("aria-invalid", "true");
    problem.replaceChildren(h("pre", { class: "error" }, error.message.replace(/^INDEXQUERY on all columns(?: at position \d+)?: /, "")));
  }
}

function drawSummary(place, overview, url, most) {
  const plan = overview.plan;
  const skipped = Object.entries(plan.skipped).map(([stage, count]) => `${count} skipped by ${stage}`).join(", ");
  place.replaceChildren(
    h("strong", { id: "total" }, counted(overview.total, "row")),
    h("span", { title: skipped }, `${plan.read} of ${counted(plan.splits, "split")} read${skipped ? ` (${skipped})` : ""}`),
    h("span", {}, `${number(overview.ms)} ms`),
    h("span", {}, `version ${overview.version}`),
    h("i", { class: "space" }),
    h("a", { href: url, download: overview.total > most ? `first-${most}-rows.csv` : "rows.csv", id: "export",
      title: overview.total > most ? "indextables export writes all rows: see Copy as" : null },
    overview.total > most ? `Export the first ${number(most)} rows as CSV` : "Export CSV"));
}

function drawNotice(place, overview) {
  if (overview.counted >= overview.total) return;
  place.replaceChildren(h("p", { class: "notice", id: "partial" },
    `The histogram and the values are those of ${number(overview.counted)} of ${number(overview.total)} rows: counting was ended after ${Math.round(overview.ms / 1000)} s. A time range or a condition makes it faster.`));
}

function drawChart(place, state, info, overview) {
  const bars = overview.histogram;
  if (!bars || !bars.times.length) { place.remove(); return; }
  const iso = (time) => new Date(Math.round(time * 1000)).toISOString().slice(0, info.zoned ? undefined : -1);
  const zoom = (from, to) => go({ from: iso(from), to: iso(to), offset: "" });
  histogram(place, bars, { stacked: state.by !== "", zoned: info.zoned, zoom });
}
