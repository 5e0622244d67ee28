// Formatting and highlighting of SQL statements.

export type SqlToken = { kind: "keyword" | "name" | "text" | "number" | "param" | "sign" | "space"; text: string };

const KEYWORDS = new Set(
  ("select from where and or not in is null as order by group having limit offset asc desc nulls first last join " +
    "left inner on distinct case when then else end exists between like escape with union all over partition " +
    "count sum avg min max coalesce cast lateral true false").split(" "),
);
const CLAUSES = new Set(["from", "where", "group", "having", "order", "limit", "left", "inner", "union", "join"]);

export function tokens(sql: string): SqlToken[] {
  const found: SqlToken[] = [];
  for (const [text] of sql.matchAll(/"(?:[^"]|"")*"|'(?:[^']|'')*'|\$\d+|\?\d*|\d+(?:\.\d+)?|[A-Za-z_][\w]*|\s+|./gs)) {
    const first = text[0] ?? "";
    if (/\s/.test(first)) found.push({ kind: "space", text: " " });
    else if (first === '"') found.push({ kind: "name", text });
    else if (first === "'") found.push({ kind: "text", text });
    else if (first === "?" || /^\$\d/.test(text)) found.push({ kind: "param", text });
    else if (/\d/.test(first)) found.push({ kind: "number", text });
    else if (/[A-Za-z_]/.test(first)) found.push({ kind: KEYWORDS.has(text.toLowerCase()) ? "keyword" : "name", text });
    else found.push({ kind: "sign", text });
  }
  return found;
}

/** Breaks a statement into lines: before clauses and conditions of the outermost level, and in its long lists. */
export function lines(sql: string, width = 88): SqlToken[][] {
  const all: { indent: number; tokens: SqlToken[] }[] = [{ indent: 0, tokens: [] }];
  let depth = 0;
  const flat = tokens(sql.trim());
  flat.forEach((token, index) => {
    const word = token.text.toLowerCase();
    const before = flat[index - 2]?.text.toLowerCase();
    const clause = token.kind === "keyword" && CLAUSES.has(word) && !(word === "join" && (before === "left" || before === "inner"));
    if (depth === 0 && clause && index > 0) all.push({ indent: 0, tokens: [] });
    else if (depth === 0 && token.kind === "keyword" && (word === "and" || word === "or")) all.push({ indent: 2, tokens: [] });
    if (token.text === "(") depth += 1;
    if (token.text === ")") depth -= 1;
    all.at(-1)?.tokens.push(token);
  });
  return all.flatMap(({ indent, tokens: line }) => broken(trim(line), indent, width));
}

function trim(line: SqlToken[]): SqlToken[] {
  const first = line.findIndex((token) => token.kind !== "space");
  const last = line.findLastIndex((token) => token.kind !== "space");
  return first < 0 ? [] : line.slice(first, last + 1);
}

function broken(line: SqlToken[], indent: number, width: number): SqlToken[][] {
  const rows: SqlToken[][] = [];
  let row: SqlToken[] = indent > 0 ? [{ kind: "space", text: " ".repeat(indent) }] : [];
  let length = indent;
  let depth = 0;
  for (const token of line) {
    if (token.text === "(") depth += 1;
    if (token.text === ")") depth -= 1;
    if (length > 0 || token.kind !== "space") {
      row.push(token);
      length += token.text.length;
    }
    if (token.text === "," && depth === 0 && length > width * 0.75) {
      rows.push(row);
      row = [{ kind: "space", text: " ".repeat(indent + 3) }];
      length = 0;
    }
  }
  if (trim(row).length > 0) rows.push(row);
  return rows;
}
