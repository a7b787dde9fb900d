// Requests to the server of this page, and to no other.
let session = null;
let running = 0;

export async function getSession() {
  session ??= await ask("/api/session");
  return session;
}

export class Refusal extends Error {
  constructor(message, kind) { super(message); this.kind = kind; }
}

async function ask(path, options = {}) {
  const status = document.getElementById("status");
  running += 1;
  status.textContent = "searching…";
  try {
    const answer = await fetch(path, { credentials: "same-origin", ...options });
    const type = answer.headers.get("content-type") ?? "";
    if (!type.startsWith("application/json")) throw new Refusal(`${answer.status}: ${await answer.text()}`, "server");
    const body = await answer.json();
    if (!answer.ok) throw new Refusal(body.error, body.kind);
    return body;
  } finally {
    running -= 1;
    if (!running) status.textContent = "";
  }
}

function query(params) {
  const given = Object.entries(params).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return new URLSearchParams(given).toString();
}

export function get(state, view, params = {}, signal = undefined) {
  return ask(`/api/${encodeURIComponent(state.t)}/${view}?${query({ v: state.v, ...params })}`, { signal });
}

export function exportUrl(state, params) {
  return `/api/${encodeURIComponent(state.t)}/export?${query({ v: state.v, ...params })}`;
}

export async function post(state, view, params = {}) {
  const { write_token: token } = await getSession();
  return ask(`/api/${encodeURIComponent(state.t)}/${view}?${query(params)}`,
    { method: "POST", headers: { "x-indextables-write": token ?? "" } });
}
