// The current read as code: curl, JavaScript, Rust and Python.

import { readHeaders, readPath, type QueryRequest } from "./api/client";

export const LANGUAGES = ["curl", "JavaScript", "Rust", "Python"] as const;
export type Language = (typeof LANGUAGES)[number];

/** The request as source text, signed in a session. */
export async function snippet(language: Language, request: QueryRequest, entity: string, origin: string): Promise<string> {
  const path = readPath(entity, request.id);
  const all = await readHeaders(request, path);
  const { "X-Mesh-Query": _, ...others } = all;
  const headers = Object.entries(others).map(([name, value]): [string, string] => [JSON.stringify(name), JSON.stringify(value)]);
  const url = origin + path;
  switch (language) {
    case "curl":
      return curl(url, all, " \\\n  ");
    case "JavaScript":
      return [
        `const query = ${template(request.query)};`,
        "const bytes = new TextEncoder().encode(query);",
        `const reply = await fetch(${JSON.stringify(url)}, {`,
        "  headers: {",
        '    "X-Mesh-Query": btoa(String.fromCharCode(...bytes)),',
        ...headers.map(([name, value]) => `    ${name}: ${value},`),
        "  },",
        "});",
        "if (!reply.ok) throw new Error((await reply.json()).message);",
        "const data = await reply.json();",
        "",
      ].join("\n");
    case "Rust":
      return [
        "// ureq 3 with its feature json, base64 0.22, serde_json 1",
        "use base64::{Engine, engine::general_purpose::STANDARD};",
        "",
        `let query = ${rustRaw(request.query)};`,
        `let mut reply = ureq::get(${JSON.stringify(url)})`,
        '    .header("X-Mesh-Query", STANDARD.encode(query))',
        ...headers.map(([name, value]) => `    .header(${name}, ${value})`),
        "    .call()?;",
        "let data: serde_json::Value = reply.body_mut().read_json()?;",
        "",
      ].join("\n");
    case "Python":
      return [
        "import base64, json, urllib.request",
        "",
        `query = ${python(request.query)}`,
        `request = urllib.request.Request(${JSON.stringify(url)}, headers={`,
        '    "X-Mesh-Query": base64.b64encode(query.encode()).decode(),',
        ...headers.map(([name, value]) => `    ${name}: ${value},`),
        "})",
        "with urllib.request.urlopen(request) as reply:",
        "    data = json.load(reply)",
        "",
      ].join("\n");
  }
}

/** Returns a command for a POSIX shell, with a separator before each header. */
export function curl(url: string, headers: Record<string, string>, separator: string): string {
  return [`curl -s ${shell(url)}`, ...Object.entries(headers).map(([name, value]) => `-H ${shell(`${name}: ${value}`)}`)].join(separator);
}

/** Quotes a word for a POSIX shell. */
function shell(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function template(text: string): string {
  return `\`${text.trim().replaceAll("\\", "\\\\").replaceAll("`", "\\`").replaceAll("${", "\\${")}\``;
}

function rustRaw(text: string): string {
  const longest = Math.max(0, ...[...text.matchAll(/"(#*)/g)].map((match) => (match[1] ?? "").length + 1));
  const marks = "#".repeat(longest);
  return `r${marks}"${text.trim()}"${marks}`;
}

function python(text: string): string {
  const trimmed = text.trim();
  return /'''|\\|'$/.test(trimmed) ? JSON.stringify(trimmed) : `'''${trimmed}'''`;
}
