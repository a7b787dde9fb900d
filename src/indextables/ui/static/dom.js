// Elements from data. Text is always a text node: nothing that a table holds is ever parsed as HTML.
export function h(tag, options = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else if (name === "value") element.value = value;
    else if (name === "style") Object.assign(element.style, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

export function number(value) {
  return value === null || value === undefined ? "?" : Number(value).toLocaleString("en");
}

// 1 split, 2 splits; of the text between number and noun, "3 more splits".
export function counted(value, ...words) {
  return `${number(value)} ${words.join("")}${value === 1 ? "" : "s"}`;
}

export function bytes(value) {
  if (value === null || value === undefined) return "?";
  let amount = Number(value);
  for (const unit of ["B", "KiB", "MiB", "GiB", "TiB"]) {
    if (amount < 1024 || unit === "TiB") return `${unit === "B" ? amount : amount.toFixed(1)} ${unit}`;
    amount /= 1024;
  }
}

export function when(text) {
  return text ? String(text).replace("T", " ").replace(/\.(\d{3})\d*/, ".$1").replace(/\.000(?=Z|$)/, "").replace(/Z$/, "") : "";
}

export function plain(value) {
  if (value === null || value === undefined) return "null";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

export function table(heads, rows) {
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "table" }, h("table", {},
    h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col", class: head.number && "number" }, head.name ?? head)))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell, place) => h("td", { class: heads[place].number && "number" }, cell)))))));
}

// A table of the first rows, and a button for the others: what is left out is counted, and can be seen.
// `more` counts those that the server has not sent.
export function listing(heads, rows, { first = 20, more = 0, noun = "row", hint = "" } = {}) {
  const shown = table(heads, rows.slice(0, first));
  const unsent = more > 0 && h("p", { class: "dim" }, `and ${counted(more, "more ", noun)}${hint && `: ${hint}`}`);
  if (rows.length <= first) return [shown, unsent].filter(Boolean);
  const rest = h("button", { type: "button", class: "rest", onclick: () => {
    shown.querySelector("tbody").append(...table(heads, rows.slice(first)).querySelectorAll("tbody tr"));
    rest.remove();
  } }, `and ${counted(rows.length - first, "more ", noun)}`);
  return [shown, rest, unsent].filter(Boolean);
}

export function copyButton(text) {
  const button = h("button", { type: "button", onclick: async () => {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  } }, "Copy");
  return button;
}
