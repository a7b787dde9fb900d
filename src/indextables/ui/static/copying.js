// The view as a command, as Python and as SQL.
import { copyButton, h } from "./dom.js";
import { shownColumns } from "./rows.js";

const shell = (text) => {
  if (/^[\w@%+=:,./-]+$/.test(text)) return text;
  return /'/.test(text) && !/["$`\\!]/.test(text) ? `"${text}"` : `'${text.replaceAll("'", "'\\''")}'`;
};
const python = (text) => JSON.stringify(text);
const sql = (text) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
const name = (text) => /^[A-Za-z_]\w*$/.test(text) ? text : `\`${text.replaceAll("`", "``")}\``;

export function condition(state, info) {
  const parts = state.where ? [`(${state.where})`] : [];
  const time = (text) => info.zoned ? `timestamp'${text}'` : `timestamp_ntz'${text.replace(/([zZ]|[+-]\d\d:?\d\d)$/, "")}'`;
  // A day, or a time before now, is what the server has made of it.
  const limit = (which) => time(/^\d{4}-\d\d-\d\dT/.test(state[which]) ? state[which] : info.range?.[which] ?? state[which]);
  if (info.time && state.from) parts.push(`${name(info.time)} >= ${limit("from")}`);
  if (info.time && state.to) parts.push(`${name(info.time)} < ${limit("to")}`);
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
    return versionTexts(state, info, path);
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
  const columns = shownColumns(state, info);
  const byTime = info.time && (state.sort === "time" || !state.q);
  const order = byTime ? `.sort_by([(${python(info.time)}, "descending")]).slice(0, 50)` : "";
  const list = columns && `columns=[${columns.map(python).join(", ")}]`;
  const limit = byTime ? "limit=None" : "limit=50";
  const words = [shell(path), state.q && shell(state.q)].filter(Boolean).join(" ");
  const chosen = columns ? `-c ${shell(columns.join(","))}` : "";
  const selected = columns ? columns.map(name).join(", ") : "*";
  const both = [state.q && `_indexall INDEXQUERY ${sql(state.q)}`, where && state.q && /\bOR\b/i.test(where) ? `(${where})` : where].filter(Boolean).join(" AND ");
  const score = state.q && !byTime ? ", _score" : "";
  const sorted = byTime ? ` ORDER BY ${name(info.time)} DESC` : score && " ORDER BY _score DESC";
  const call = state.q
    ? `search(${[python(state.q), limit, named, list].filter(Boolean).join(", ")})`
    : `to_arrow(${[byTime ? "" : "limit=50", named, list].filter(Boolean).join(", ")})`;
  const command = byTime ? "tail" : state.q ? "search" : "head";
  const found = {
    CLI: `indextables ${[command, words, "-n 50", flag, chosen].filter(Boolean).join(" ")}`,
    Python: `import indextables as it\n${open}.${call}${order}`,
    SQL: `SELECT ${selected}${score} FROM ${from}${both ? ` WHERE ${both}` : ""}${sorted || ""} LIMIT 50`,
  };
  if (!state.by || !info.time) return found;
  const every = info.every ?? "1h";
  const query = state.q ? `query=${python(state.q)}` : "";
  found.CLI += `\nindextables ${["count", words, `--every ${every}`, `--by ${shell(state.by)}`, `--on ${shell(info.time)}`, flag].filter(Boolean).join(" ")}`;
  found.Python += `\n${open}.histogram(${[python(info.time), `every=${python(every)}`, `by=${python(state.by)}`, query, named].filter(Boolean).join(", ")})`;
  found.SQL += `;\nSELECT indextables_date_histogram(${name(info.time)}, ${sql(every)}) AS bucket, ${name(state.by)}, COUNT(*) FROM ${from}${both ? ` WHERE ${both}` : ""} GROUP BY 1, 2`;
  return found;
}

// The commits, and the difference of the two versions that are shown.
function versionTexts(state, info, path) {
  const found = {
    CLI: `indextables history ${shell(path)}`,
    Python: `import indextables as it\nit.open(${python(path)}).history()`,
    SQL: `DESCRIBE INDEXTABLES TRANSACTION LOG ${sql(path)} INCLUDE ALL`,
  };
  const old = state.old === "" ? info.version - 1 : Number(state.old);
  if (old < (info.oldest ?? 0) || old >= info.version) return found;
  const at = (version) => `indextables.\`${path}\` VERSION AS OF ${version}`;
  found.CLI += `\nindextables diff ${shell(path)} ${old} ${info.version}`;
  found.Python += `\nit.open(${python(path)}, version=${info.version}).changes(since=${old})`;
  found.SQL += `;\nSELECT * FROM ${at(info.version)} EXCEPT ALL SELECT * FROM ${at(old)}; -- rows added\nSELECT * FROM ${at(old)} EXCEPT ALL SELECT * FROM ${at(info.version)} -- rows removed`;
  return found;
}

export function showCopies(dialog, state, info) {
  dialog.replaceChildren(h("h2", { id: "dialog-title" }, "Copy this view as"),
    ...Object.entries(texts(state, info)).flatMap(([name, text]) => [h("div", { class: "bar" }, h("strong", {}, name), copyButton(text)), h("pre", {}, text)]),
    h("button", { type: "button", onclick: () => dialog.close() }, "Close"));
  dialog.showModal();
}
