// A read as it goes over the wire: the request with its headers, and the response with its own.

import { postedRead, readHeaders, readPath, register, type QueryRequest } from "./client";
import { credential, session } from "./session";

export type Way = "get" | "post" | "id";

/** A message as it is shown: its first line, its headers, and its body. */
export interface Message {
  line: string;
  headers: [string, string][];
  body: string;
}
export interface Exchange {
  request: Message;
  response: Message;
  status: number;
  /** Duration until the end of the body. */
  elapsedMs: number;
  etag: string | null;
}

interface Prepared {
  method: "GET" | "POST";
  path: string;
  headers: Record<string, string>;
  body?: string;
}

async function prepare(way: Way, request: QueryRequest, entity: string): Promise<Prepared> {
  const own = session.value ? {} : credential();
  if (way === "post") {
    const { path, headers, body } = await postedRead(request);
    return { method: "POST", path, headers: { ...headers, ...own }, body };
  }
  const path = readPath(entity, request.id);
  const id = way === "id" ? await register(request.query, request.format) : undefined;
  return { method: "GET", path, headers: { ...(await readHeaders(request, path, id)), ...own } };
}

/** Secrets, which are shown as far as they can be told apart. */
const SECRETS = ["x-mesh-token", "x-mesh-signature", "authorization"];

function shown(headers: [string, string][]): [string, string][] {
  return headers.map(([name, value]) => [name, SECRETS.includes(name.toLowerCase()) ? `${value.slice(0, 12)}…` : value]);
}

/** Sends a read to its real route and returns what went both ways. With a tag, the server may answer that nothing changed. */
export async function exchange(way: Way, request: QueryRequest, entity: string, tag: string | null): Promise<Exchange> {
  const { method, path, headers, body } = await prepare(way, request, entity);
  const all = { ...headers, ...(tag !== null && { "If-None-Match": tag }) };
  const start = performance.now();
  const reply = await fetch(path, { method, headers: all, cache: "no-store", ...(body !== undefined && { body }) });
  const text = await reply.text();
  return {
    request: { line: `${method} ${path} HTTP/1.1`, headers: shown([["Host", location.host], ...Object.entries(all)]), body: body ?? "" },
    response: { line: `HTTP/1.1 ${reply.status} ${reply.statusText}`.trimEnd(), headers: [...reply.headers], body: text },
    status: reply.status,
    elapsedMs: performance.now() - start,
    etag: reply.headers.get("ETag"),
  };
}

