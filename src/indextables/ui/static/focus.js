// The keyboard focus survives a page that is drawn again: its element is found by its name, else its group, else the page.
let held = null;

const named = (element) => element.id || element.getAttribute("aria-label") || element.textContent.trim();

export function hold() {
  const element = document.activeElement;
  if (!element || element === document.body || element.closest("dialog")) return; // what is held waits for its element
  held = { tag: element.tagName, name: named(element), field: element.closest("[data-field]")?.dataset.field };
}

// Called after each part of a page is drawn. Focus that the user has set since then stays.
export function restore({ last = false } = {}) {
  if (!held || document.activeElement !== document.body) return;
  const same = [...document.querySelectorAll(held.tag)].find((element) => named(element) === held.name);
  const group = last && held.field && [...document.querySelectorAll("[data-field]")].find((element) => element.dataset.field === held.field)?.querySelector("summary");
  const found = same ?? group ?? (last ? document.getElementById("page") : null);
  if (!found) return;
  found.focus({ preventScroll: true });
  held = null;
}
