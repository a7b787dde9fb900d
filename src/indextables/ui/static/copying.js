// The view as a command, as Python and as SQL.
import { copyButton, h } from "./dom.js";

const shell = (text) => /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
const python = (text) => JSON.stringify(text);
const sql = (text) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;

export function condition(state, info) {
  const parts = state.where ? [`(${state.where})`] : [];
  if (info.time && state.from) parts.push(`${info.time} >= timestamp'${state.from}'`);
  if (info.time && state.to) parts.push(`${info.time} < timestamp'${state.to}'`);
  return parts.length === 1 && state.where && !state.from && !state.to ? state.where : parts.join(" AND ");
}

export function texts(state, info) {
  const where = condition(state, info);
  const path = info.uri.replace(/^file:\/\//, "");
  const flag = [where && `--where ${shell(where)}`, state.v && `--version ${state.v}`].filter(Boolean).join(" ");
  const open = `it.open(${python(path)}${state.v ? `, version=${state.v}` : ""})`;
  const from = `indextables.\`${path}\`${state.v ? ` VERSION AS OF ${state.v}` : ""}`;
  const named = where ? `where=${python(where)}` : "";
  if (state.page === "versions") {
    return { CLI: `indextables history ${shell(path)}`, Python: `import indextables as it\n${open}.history()`, SQL: `DESCRIBE INDEXTABLES TRANSACTION LOG ${sql(path)} INCLUDE ALL` };
  }
  if (state.page === "health") {
    return { CLI: `indextables doctor ${shell(path)}`, Python: `import indextables as it\n${open}.describe_state()`, SQL: `DESCRIBE INDEXTABLES STATE ${sql(path)}` };
  }
  if (state.page === "files") {
    return { CLI: `indextables files ${shell(path)} ${flag}`.trim(), Python: `import indextables as it\n${open}.files()`, SQL: `DESCRIBE INDEXTABLES TRANSACTION LOG ${sql(path)}` };
  }
  if (state.page === "schema") {
    return { CLI: `indextables describe ${shell(path)}`, Python: `import indextables as it\n${open}.schema`, SQL: `DESCRIBE TABLE ${from}` };
  }
  if (!state.q) {
    return { CLI: `indextables tail ${shell(path)} ${flag}`.trim(), Python: `import indextables as it\n${open}.to_arrow(${[named, "limit=50"].filter(Boolean).join(", ")})`, SQL: `SELECT * FROM ${from}${where ? ` WHERE ${where}` : ""} LIMIT 50` };
  }
  const both = `_indexall INDEXQUERY ${sql(state.q)}${where ? ` AND ${where}` : ""}`;
  return {
    CLI: `indextables search ${shell(path)} ${shell(state.q)} ${flag}`.trim(),
    Python: `import indextables as it\n${open}.search(${[python(state.q), "limit=50", named].filter(Boolean).join(", ")})`,
    SQL: `SELECT *, _score FROM ${from} WHERE ${both} ORDER BY _score DESC LIMIT 50`,
  };
}

export function showCopies(dialog, state, info) {
  dialog.replaceChildren(h("h2", { id: "dialog-title" }, "Copy this view as"),
    ...Object.entries(texts(state, info)).flatMap(([name, text]) => [h("div", { class: "bar" }, h("strong", {}, name), copyButton(text)), h("pre", {}, text)]),
    h("button", { type: "button", onclick: () => dialog.close() }, "Close"));
  dialog.showModal();
}
