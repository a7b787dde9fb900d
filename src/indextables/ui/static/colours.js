// Colours of series, the same in light and dark. Levels keep theirs, whatever their order.
const SERIES = ["#5b8ff0", "#f0a03c", "#3fae7c", "#e0648c", "#9a6ee8", "#2fb3c4", "#c9b22e", "#b3704a", "#7f8ea8", "#e8705a", "#6d9e2f", "#c46bd1"];
const LEVELS = { FATAL: "#b5225f", CRITICAL: "#b5225f", ERROR: "#e5544b", WARN: "#f2b13f", WARNING: "#f2b13f", INFO: "#5b8ff0", DEBUG: "#9fb0c9", TRACE: "#c5cfdf" };

export const MOST = SERIES.length;

export function colour(name, place) {
  return LEVELS[String(name).toUpperCase()] ?? (name === "other" ? "#a9b3c4" : SERIES[place % MOST]);
}
