// The whole state of the page is in its URL, so that a link shows what its sender saw.
const DEFAULTS = { page: "discover", t: "0", q: "", where: "", from: "", to: "", v: "", by: "", sort: "", cols: "", offset: "", old: "", before: "", split: "" };

export function read() {
  const params = new URLSearchParams(location.search);
  return Object.fromEntries(Object.entries(DEFAULTS).map(([name, value]) => [name, params.get(name) ?? value]));
}

export function href(changes) {
  const next = { ...read(), ...changes };
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(next)) if (value !== DEFAULTS[name]) params.set(name, value);
  const text = params.toString();
  return text ? `/?${text}` : "/";
}

export function go(changes, { replace = false } = {}) {
  history[replace ? "replaceState" : "pushState"](null, "", href(changes));
  dispatchEvent(new Event("statechange"));
}
