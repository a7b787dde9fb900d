// The histogram: bars, stacked by the values of a field. A click zooms into a bar, a drag into a range.
import { colour } from "./colours.js";
import { h, number } from "./dom.js";

const WHOLE = Array.from({ length: 16 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat();

// Times are UTC, or have no zone: the day at midnight, else the time of day.
function label(time) {
  const at = new Date(time * 1000);
  const text = at.toISOString();
  if (time % 86400 === 0) return at.toLocaleDateString("en", { month: "short", day: "numeric", timeZone: "UTC" });
  return time % 60 ? text.slice(11, 19) : text.slice(11, 16);
}

const dated = (time) => time % 86400 === 0 && new Date(time * 1000).getUTCDate() === 1;
const labels = (_, times) => times.every(dated)
  ? times.map((time) => new Date(time * 1000).toLocaleDateString("en", { month: "short", year: "numeric", timeZone: "UTC" }))
  : times.map(label);

// The counts of the axis: two or three whole steps, so that no bar is higher than the highest of them.
const stepOf = (high) => WHOLE.find((step) => 3 * step >= high);
const top = (high) => Math.ceil(high / stepOf(high)) * stepOf(high);
const steps = (high) => Array.from({ length: Math.round(high / stepOf(high)) + 1 }, (_, n) => n * stepOf(high));

const short = (count) => count >= 1e9 ? `${count / 1e9}G` : count >= 1e6 ? `${count / 1e6}M` : count >= 1e4 ? `${count / 1e3}k` : number(count);

export function histogram(place, { times, ends, series }, { stacked, zoned, zoom }) {
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
  const bars = uPlot.paths.bars({ size: [0.9, 90], align: 1, gap: 1, radius: stacked ? 0 : 0.12 });
  const fill = (n) => stacked ? colour(names[n], n) : style.getPropertyValue("--bar");
  const options = {
    width: place.clientWidth,
    height: 132,
    padding: [8, 24, 0, 0],
    legend: { show: false },
    cursor: { drag: { x: true, y: false }, points: { show: false }, y: false },
    scales: { x: { time: true, range: () => [times[0], Math.max(...ends)] }, y: { range: (_, low, high) => [0, top(high || 1)] } },
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "UTC"),
    axes: [
      { stroke: dim, grid: { show: false }, ticks: { show: false }, gap: 4, size: 24, font: "11px sans-serif", space: 80, values: labels },
      { stroke: dim, grid: { stroke: line, width: 1 }, ticks: { show: false }, size: 52, font: "11px sans-serif", splits: (chart) => steps(chart.scales.y.max), values: (_, counts) => counts.map(short) },
    ],
    series: [{}, ...order.map((n) => ({ label: names[n], fill: fill(n), stroke: fill(n), width: 0, paths: bars, points: { show: false } }))],
    hooks: {
      setSelect: [(chart) => {
        if (chart.select.width > 4) {
          const range = [chart.select.left, chart.select.left + chart.select.width].map((at) => chart.posToVal(at, "x"));
          zoom(...(range[1] - range[0] > 100 ? range.map(Math.round) : range));
        }
      }],
    },
  };
  const legend = stacked && h("ul", { class: "legend", "aria-label": "Stacked by" },
    names.map((name, n) => h("li", {}, h("i", { style: { background: colour(name, n) } }), name)));
  const canvas = h("div");
  place.replaceChildren(...[legend, canvas, !zoned && h("p", { class: "dim zone" }, "The times have no time zone.")].filter(Boolean));
  const chart = new uPlot(options, [times, ...order.map((n) => sums[n])], canvas);
  let from = null;
  chart.over.addEventListener("mousedown", (event) => { from = event.clientX; });
  chart.over.addEventListener("mouseup", (event) => {
    if (from === null || Math.abs(event.clientX - from) > 4) return;
    const at = chart.posToVal(event.clientX - chart.over.getBoundingClientRect().left, "x");
    const bar = times.findLastIndex((time) => time <= at);
    if (bar >= 0) zoom(times[bar], ends[bar]);
  });
  chart.over.addEventListener("mousemove", () => {
    const n = chart.cursor.idx;
    if (n === null || n === undefined) return;
    chart.over.title = `${new Date(times[n] * 1000).toISOString().slice(0, 19).replace("T", " ")}${zoned ? " UTC" : ""}\n${names.map((name) => `${name}: ${number(series[name][n])}`).join("\n")}`;
  });
  const total = sums.length ? sums[sums.length - 1].reduce((sum, count) => sum + count, 0) : 0;
  chart.root.setAttribute("role", "img");
  chart.root.setAttribute("aria-label", `Histogram over time of ${total} rows in ${times.length} intervals`);
  return chart;
}
