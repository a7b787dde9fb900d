// The histogram: bars, stacked by the values of a field. A click zooms into a bar, a drag into a range.
const LIGHT = ["#1f5fc4", "#c4501f", "#2b8a57", "#8a4fc4", "#b08900", "#0f8b9d", "#7a7f8a"];
const DARK = ["#7fb0ff", "#ff9e6b", "#7ddba3", "#c49bff", "#f0cd62", "#6fd6e5", "#9aa5b8"];

// Times are UTC: the day at midnight, else the time of day.
function label(time) {
  const text = new Date(time * 1000).toISOString();
  if (time % 86400 === 0) return text.slice(0, 10);
  return time % 60 ? text.slice(11, 19) : text.slice(11, 16);
}

export function histogram(place, { times, series }, width, zoom) {
  const dark = document.documentElement.dataset.theme === "dark";
  const colours = dark ? DARK : LIGHT;
  const dim = getComputedStyle(document.documentElement).getPropertyValue("--dim");
  const line = getComputedStyle(document.documentElement).getPropertyValue("--line");
  const names = Object.keys(series);
  const sums = [];
  let below = times.map(() => 0);
  for (const name of names) {
    below = below.map((count, n) => count + series[name][n]);
    sums.push(below);
  }
  // The tallest first: each is drawn over by the sums below it.
  const order = names.map((_, n) => n).reverse();
  const bars = uPlot.paths.bars({ size: [0.9, 100], align: 1, gap: 1 });
  const options = {
    width: place.clientWidth - 12,
    height: 130,
    legend: { show: names.length > 1, live: false },
    cursor: { drag: { x: true, y: false }, points: { show: false }, y: false },
    scales: { x: { time: true, range: () => [times[0], times[times.length - 1] + width] }, y: { range: (_, low, high) => [0, high || 1] } },
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "UTC"),
    axes: [
      { stroke: dim, grid: { show: false }, ticks: { stroke: line }, font: "11px sans-serif", space: 70, values: (_, splits) => splits.map(label) },
      { stroke: dim, grid: { stroke: line, width: 1 }, ticks: { show: false }, size: 56, font: "11px sans-serif" },
    ],
    series: [{}, ...order.map((n) => ({ label: names[n], fill: colours[n % colours.length], stroke: colours[n % colours.length], width: 0, paths: bars, points: { show: false } }))],
    hooks: {
      setSelect: [(chart) => {
        if (chart.select.width > 4) {
          zoom(chart.posToVal(chart.select.left, "x"), chart.posToVal(chart.select.left + chart.select.width, "x"));
        }
      }],
    },
  };
  const chart = new uPlot(options, [times, ...order.map((n) => sums[n])], place);
  let from = null;
  chart.over.addEventListener("mousedown", (event) => { from = event.clientX; });
  chart.over.addEventListener("mouseup", (event) => {
    if (from === null || Math.abs(event.clientX - from) > 4) return;
    const at = chart.posToVal(event.clientX - chart.over.getBoundingClientRect().left, "x");
    const start = times.findLast((time) => time <= at);
    if (start !== undefined) zoom(start, start + width);
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
