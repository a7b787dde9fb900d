// The histogram: bars, stacked by the values of a field. A click zooms into a bar, a drag into a range.
import { h } from "./dom.js";

const LIGHT = ["#8fb0ea", "#e8a87c", "#8cc9a6", "#bda0e0", "#dcc46b", "#7cc4cf", "#b9c1cf"];
const DARK = ["#5b86d6", "#cf8152", "#56a67c", "#9674c9", "#b89a3c", "#4a9dab", "#6d7789"];
// Levels keep their colour, whatever their order.
const LEVELS = {
  light: { FATAL: "#8f1d14", CRITICAL: "#8f1d14", ERROR: "#d9584a", WARN: "#e6b04c", WARNING: "#e6b04c", INFO: "#8fb0ea", DEBUG: "#c3cbd8", TRACE: "#dde2ea" },
  dark: { FATAL: "#ff7a6e", CRITICAL: "#ff7a6e", ERROR: "#c9483b", WARN: "#b98a2e", WARNING: "#b98a2e", INFO: "#4f78c4", DEBUG: "#56607a", TRACE: "#3c4558" },
};

// Times are UTC: the day at midnight, else the time of day.
function label(time) {
  const at = new Date(time * 1000);
  const text = at.toISOString();
  if (time % 86400 === 0) return at.toLocaleDateString("en", { month: "short", day: "numeric", timeZone: "UTC" });
  return time % 60 ? text.slice(11, 19) : text.slice(11, 16);
}

function colour(name, place) {
  const theme = document.documentElement.dataset.theme === "dark" ? "dark" : "light";
  return LEVELS[theme][name.toUpperCase()] ?? (theme === "dark" ? DARK : LIGHT)[place % LIGHT.length];
}

export function histogram(place, { times, series }, width, zoom) {
  const style = getComputedStyle(document.documentElement);
  const dim = style.getPropertyValue("--dim");
  const line = style.getPropertyValue("--line");
  const names = Object.keys(series);
  const sums = [];
  let below = times.map(() => 0);
  for (const name of names) {
    below = below.map((count, n) => count + series[name][n]);
    sums.push(below);
  }
  // The tallest first: each is drawn over by the sums below it.
  const order = names.map((_, n) => n).reverse();
  const bars = uPlot.paths.bars({ size: [0.92, 60], align: 1, gap: 1 });
  const options = {
    width: place.clientWidth,
    height: 118,
    padding: [8, 24, 0, 0],
    legend: { show: false },
    cursor: { drag: { x: true, y: false }, points: { show: false }, y: false },
    scales: { x: { time: true, range: () => [times[0], times[times.length - 1] + width] }, y: { range: (_, low, high) => [0, high || 1] } },
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "UTC"),
    axes: [
      { stroke: dim, grid: { show: false }, ticks: { show: false }, gap: 4, size: 24, font: "11px sans-serif", space: 80, values: (_, splits) => splits.map(label) },
      { stroke: dim, grid: { stroke: line, width: 1 }, ticks: { show: false }, size: 58, space: 34, font: "11px sans-serif" },
    ],
    series: [{}, ...order.map((n) => ({ label: names[n], fill: colour(names[n], n), stroke: colour(names[n], n), width: 0, paths: bars, points: { show: false } }))],
    hooks: {
      setSelect: [(chart) => {
        if (chart.select.width > 4) {
          zoom(chart.posToVal(chart.select.left, "x"), chart.posToVal(chart.select.left + chart.select.width, "x"));
        }
      }],
    },
  };
  const legend = names.length > 1 && h("ul", { class: "legend", "aria-label": "Stacked by" },
    names.map((name, n) => h("li", {}, h("i", { style: { background: colour(name, n) } }), name)));
  const canvas = h("div");
  place.replaceChildren(...[legend, canvas].filter(Boolean));
  const chart = new uPlot(options, [times, ...order.map((n) => sums[n])], canvas);
  let from = null;
  chart.over.addEventListener("mousedown", (event) => { from = event.clientX; });
  chart.over.addEventListener("mouseup", (event) => {
    if (from === null || Math.abs(event.clientX - from) > 4) return;
    const at = chart.posToVal(event.clientX - chart.over.getBoundingClientRect().left, "x");
    const start = times.findLast((time) => time <= at);
    if (start !== undefined) zoom(start, start + width);
  });
  chart.over.addEventListener("mousemove", () => {
    const n = chart.cursor.idx;
    if (n === null || n === undefined) return;
    chart.over.title = `${new Date(times[n] * 1000).toISOString().slice(0, 19).replace("T", " ")} UTC\n${names.map((name) => `${name}: ${series[name][n].toLocaleString("en")}`).join("\n")}`;
  });
  const total = sums.length ? sums[sums.length - 1].reduce((sum, count) => sum + count, 0) : 0;
  chart.root.setAttribute("role", "img");
  chart.root.setAttribute("aria-label", `Histogram over time of ${total} rows in ${times.length} intervals`);
  return chart;
}

export function seconds(every) {
  const units = { s: 1, m: 60, h: 3600, d: 86400, w: 604800, month: 2629800, y: 31557600 };
  const found = /^(\d+)\s*(\w+)$/.exec(every);
  return found ? Number(found[1]) * units[found[2]] : 3600;
}
