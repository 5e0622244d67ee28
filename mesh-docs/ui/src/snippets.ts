// The current read as code: curl, TypeScript with the generated client, and JavaScript, Rust and Python without one.

import { needsPost, postedRead, readHeaders, readPath, type QueryRequest } from "./api/client";
import { bearer, placeholder, session } from "./api/session";
import { config } from "./config";
import { printQuery } from "./query/print";
import { readQuery } from "./query/read";

export const LANGUAGES = ["curl", "TypeScript", "JavaScript", "Rust", "Python"] as const;
export type Language = (typeof LANGUAGES)[number];

/** Whether code in a language contains the token of the session. The generated client logs in by itself. */
export function hasToken(language: Language): boolean {
  return session.value !== null && language !== "TypeScript";
}

/** The request as source text, signed in a session. A bearer is left out. A long query is sent in the body of a POST. */
export async function snippet(language: Language, request: QueryRequest, entity: string, origin: string): Promise<string> {
  if (language === "TypeScript") return typescript(request, origin + config.base);
  if (needsPost(request)) return byPost(language, request, origin);
  const path = readPath(entity, request.id);
  const all = { ...(await readHeaders(request, path)), ...placeholder() };
  const { "X-Mesh-Query": _, "X-Mesh-Params": __, ...others } = all;
  const { params } = request;
  const headers = quoted(others);
  const url = origin + path;
  switch (language) {
    case "curl":
      return curl(url, all, " \\\n  ");
    case "JavaScript":
      return [
        `const query = ${template(request.query)};`,
        ...(params === undefined ? [] : [`const params = ${template(params)};`]),
        "const base64 = (text) => btoa(String.fromCharCode(...new TextEncoder().encode(text)));",
        `const reply = await fetch(${JSON.stringify(url)}, {`,
        "  headers: {",
        '    "X-Mesh-Query": base64(query),',
        ...(params === undefined ? [] : ['    "X-Mesh-Params": base64(params),']),
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
        ...(params === undefined ? [] : [`let params = ${rustRaw(params)};`]),
        `let mut reply = ureq::get(${JSON.stringify(url)})`,
        '    .header("X-Mesh-Query", STANDARD.encode(query))',
        ...(params === undefined ? [] : ['    .header("X-Mesh-Params", STANDARD.encode(params))']),
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
        ...(params === undefined ? [] : [`params = ${python(params)}`]),
        `request = urllib.request.Request(${JSON.stringify(url)}, headers={`,
        '    "X-Mesh-Query": base64.b64encode(query.encode()).decode(),',
        ...(params === undefined ? [] : ['    "X-Mesh-Params": base64.b64encode(params.encode()).decode(),']),
        ...headers.map(([name, value]) => `    ${name}: ${value},`),
        "})",
        "with urllib.request.urlopen(request) as reply:",
        "    data = json.load(reply)",
        "",
      ].join("\n");
  }
}

/** Returns a read by POST. The body is a literal, because the signature of a session covers its bytes. */
async function byPost(language: Exclude<Language, "TypeScript">, request: QueryRequest, origin: string): Promise<string> {
  const posted = await postedRead(request);
  const url = origin + posted.path;
  const all = { ...posted.headers, ...placeholder() };
  const headers = quoted(all);
  switch (language) {
    case "curl":
      return `${curl(url, all, " \\\n  ")} \\\n  --data-binary ${shell(posted.body)}`;
    case "JavaScript":
      return [
        `const body = ${template(posted.body)};`,
        `const reply = await fetch(${JSON.stringify(url)}, {`,
        '  method: "POST",',
        "  headers: {",
        ...headers.map(([name, value]) => `    ${name}: ${value},`),
        "  },",
        "  body,",
        "});",
        "if (!reply.ok) throw new Error((await reply.json()).message);",
        "const data = await reply.json();",
        "",
      ].join("\n");
    case "Rust":
      return [
        "// ureq 3 with its feature json, serde_json 1",
        `let body = ${rustRaw(posted.body)};`,
        `let mut reply = ureq::post(${JSON.stringify(url)})`,
        ...headers.map(([name, value]) => `    .header(${name}, ${value})`),
        "    .send(body)?;",
        "let data: serde_json::Value = reply.body_mut().read_json()?;",
        "",
      ].join("\n");
    case "Python":
      return [
        "import json, urllib.request",
        "",
        `body = ${python(posted.body)}`,
        `request = urllib.request.Request(${JSON.stringify(url)}, data=body.encode(), headers={`,
        ...headers.map(([name, value]) => `    ${name}: ${value},`),
        "})",
        "with urllib.request.urlopen(request) as reply:",
        "    data = json.load(reply)",
        "",
      ].join("\n");
  }
}

/** Returns headers as string literals, which are the same in all of these languages. */
function quoted(headers: Record<string, string>): [string, string][] {
  return Object.entries(headers).map(([name, value]) => [JSON.stringify(name), JSON.stringify(value)]);
}

/** Returns a read with the generated client, which logs in and signs by itself. */
function typescript({ query, format, id, params }: QueryRequest, base: string): string {
  const tree = readQuery(format, query);
  const text = (tree ? printQuery("json", tree) : query).trim();
  const call = params === undefined ? "" : `, { params: ${params} }`;
  const login = session.value?.login;
  const options = bearer.value !== "" && login === undefined ? ', { bearer: "TOKEN" }' : "";
  return [
    "// mesh-server types --database … -o mesh.ts",
    'import { connect } from "./mesh.js";',
    "",
    `const mesh = connect(${JSON.stringify(base)}${options});`,
    ...(login === undefined ? [] : [`await mesh.login({ login: ${JSON.stringify(login)}, password: "…" });`]),
    `const data = await mesh.${id === "" ? "list(" : `one(${JSON.stringify(id)}, `}${text}${call});`,
    "",
  ].join("\n");
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
