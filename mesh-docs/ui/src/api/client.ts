// Requests to the server: introspection, runs and checks, registration, event streams.

import { config } from "../config";
import type { Schema } from "../schema";
import type { Fault } from "../query/locate";
import type { Format } from "../query/tree";
import { member, parseJson, type Json } from "../query/json";
import { plain } from "../query/read";
import { base64 } from "./bytes";
import { bodyMessage, credential, dropCredential, session, signedHeaders } from "./session";
import { viewHeader } from "./viewAs";

/** What is wrong with a member of a body. */
export interface FieldFault {
  path: string;
  message: string;
}

/** What became of a write: nothing was written, it is in effect, or it may be. */
export type Effect = "none" | "applied" | "unknown";

/** An error reply, or the lack of a reply, with status 0. */
export class RequestError extends Error {
  constructor(
    readonly status: number,
    readonly kind: string,
    message: string,
    readonly details: { code?: string; path?: string; line?: number; column?: number; requestId?: string; fields?: FieldFault[]; step?: number; effect?: Effect } = {},
  ) {
    super(message);
  }
}

/** The error of a write without a reply: it may have arrived. */
export function unansweredWrite(): RequestError {
  const message = "The server cannot be reached, so the write may or may not be in effect: read the record before you send it again";
  return new RequestError(0, "Unreachable", message, { effect: "unknown" });
}

export interface QueryRequest {
  query: string;
  format: Format;
  id: string;
  /** The values of parameters, as the text of a JSON object. */
  params?: string | undefined;
}
export interface PlanJoin {
  path: string;
  entity: string;
  type: "one" | "many";
  fields: string[];
}
export interface Statement {
  sql: string;
  params: unknown[];
  durationMs: number;
  rows: number;
  runs?: number;
  path?: string;
  queryPlan?: string[];
}
export interface Meta {
  durationMs: number;
  rows: number;
  plan: { entity: string; fields: string[]; joins: PlanJoin[] };
  sql?: Statement[];
}
export interface Answer {
  /** The whole reply, so that numbers can be shown with all their digits. */
  source: string;
  data: Json;
  /** `undefined` of a read in a batch. */
  meta: Meta | undefined;
  /** The status of the reply. */
  status: number;
  /** Bytes of the data. */
  size: number;
  /** The duration including the network. */
  elapsedMs: number;
}

export async function errorOf(reply: Response): Promise<RequestError> {
  const body = (await reply.json().catch(() => ({}))) as RequestError["details"] & { error?: string; message?: string };
  const isRefused = session.value ? body.code !== "BAD_CREDENTIALS" : body.code?.startsWith("TOKEN_");
  if (reply.status === 401 && isRefused) dropCredential();
  return new RequestError(reply.status, body.error ?? "Error", body.message ?? `The server answered ${reply.status}`, body);
}

export async function send(path: string, init: RequestInit & { headers: Record<string, string> }): Promise<Response> {
  const headers = session.value ? init.headers : { ...init.headers, ...credential() };
  const reply = await fetch(path, { ...init, headers }).catch((error: unknown) => {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new RequestError(0, "Unreachable", "The server cannot be reached");
  });
  if (!reply.ok) throw await errorOf(reply);
  return reply;
}

export async function fetchSchema(): Promise<Schema> {
  const reply = await send(`${config.docs}/schema`, { headers: { ...credential(), ...viewHeader() } });
  return (await reply.json()) as Schema;
}

function body(request: QueryRequest, more: Record<string, unknown>): string {
  const id = request.id === "" ? {} : { id: request.id };
  const text = JSON.stringify({ query: request.query, format: request.format, ...id, ...more });
  // The values are text, so that numbers keep their digits.
  return request.params === undefined ? text : `${text.slice(0, -1)},"params":${request.params}}`;
}

export async function post(path: string, text: string, signal?: AbortSignal, more: Record<string, string> = {}): Promise<Response> {
  const signed = await signedHeaders(await bodyMessage(text), { method: "POST", path, format: "json" });
  const headers = { "Content-Type": "application/json", ...signed, ...more };
  return send(path, { method: "POST", headers, body: text, ...(signal ? { signal } : {}) });
}

/** Runs a query on the server. */
export async function execute(request: QueryRequest, explain: boolean, signal?: AbortSignal): Promise<Answer> {
  const start = performance.now();
  const reply = await post(`${config.docs}/execute`, body(request, explain ? { explain } : {}), signal, viewHeader());
  const source = await reply.text();
  const elapsedMs = performance.now() - start;
  const json = parseJson(source);
  const data = member(json, "data");
  const meta = member(json, "meta");
  if (!data || !meta) throw new RequestError(reply.status, "Error", "The server sent an unexpected reply");
  return { source, data, meta: plain(meta) as unknown as Meta, size: sizeOf(source, data), elapsedMs, status: reply.status };
}

/** Returns the number of bytes of a part of a reply. */
export function sizeOf(source: string, { from, to }: Json): number {
  return new Blob([source.slice(from, to)]).size;
}

/** Checks a query without running it; `undefined` if it is valid. */
export async function check(request: QueryRequest): Promise<Fault | undefined> {
  const reply = await post(`${config.docs}/execute`, body(request, { check: true }), undefined, viewHeader());
  return ((await reply.json()) as { meta: { fault?: Fault } }).meta.fault;
}

/** Registers a query and returns its id. */
export async function register(query: string, format: Format): Promise<string> {
  const reply = await post(`${config.base}/queries`, JSON.stringify({ query, format }));
  return ((await reply.json()) as { id: string }).id;
}

/** Returns the path of a read. The parts of an id are separated by commas, and may have escapes. */
export function readPath(entity: string, id: string): string {
  const parts = id.split(",");
  const segment = parts.map((part) => encodeURIComponent(parts.length > 1 ? unescaped(part) : part)).join(",");
  return `${config.base}/${encodeURIComponent(entity)}${id === "" ? "" : `/${segment}`}`;
}

function unescaped(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Returns the headers of a read by GET, or by the id of a registered query, signed in a session. `SPEC §19.4` */
export async function readHeaders(request: QueryRequest, path: string, queryId?: string): Promise<Record<string, string>> {
  const query = queryId ?? base64(request.query);
  const headers: Record<string, string> = { [queryId === undefined ? "X-Mesh-Query" : "X-Mesh-Query-Id"]: query };
  if (queryId === undefined && request.format === "ql") headers["X-Mesh-Format"] = "ql";
  let message = query;
  if (request.params !== undefined) {
    const params = (headers["X-Mesh-Params"] = base64(request.params));
    message += `\n${params}`;
  }
  return { ...headers, ...(await signedHeaders(message, { method: "GET", path, format: request.format })) };
}

/** The most bytes of a query and its parameters in headers. Servers refuse requests with long headers. */
const HEADERS_MAX = 8000;

/** Whether a read is sent by POST, because its query is too long for a header. `SPEC §2.7` */
export function needsPost({ query, params = "" }: QueryRequest): boolean {
  return base64(query).length + base64(params).length > HEADERS_MAX;
}

/** A read with its query in the body. */
export interface PostedRead {
  path: string;
  headers: Record<string, string>;
  body: string;
}

/** Returns a read by POST, signed in a session. */
export async function postedRead(request: QueryRequest): Promise<PostedRead> {
  const path = config.base === "" ? "/" : config.base;
  const text = body(request, {});
  const signed = await signedHeaders(await bodyMessage(text), { method: "POST", path, format: "json" });
  return { path, headers: { "Content-Type": "application/json", ...signed }, body: text };
}

export interface Event {
  kind: string;
  data: string;
}

/** Watches a record, or a list without an id, until `signal` is aborted, and calls `receive` with each event. */
export async function watch(request: QueryRequest, entity: string, signal: AbortSignal, receive: (event: Event) => void): Promise<void> {
  const path = readPath(entity, request.id) + (request.id === "" ? "" : "/events");
  const headers = { Accept: "text/event-stream", ...(await readHeaders(request, path)) };
  const reply = await send(path, { headers, signal });
  const reader = reply.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (!reader) return;
  let pending = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    pending += value.replaceAll("\r\n", "\n");
    const blocks = pending.split("\n\n");
    pending = blocks.pop() ?? "";
    for (const block of blocks) {
      const event = parseEvent(block);
      if (event) receive(event);
    }
  }
}

/** Parses a block of an event stream; `undefined` if it has no data. */
function parseEvent(block: string): Event | undefined {
  let kind = "message";
  const data: string[] = [];
  for (const line of block.split("\n")) {
    const match = /^(event|data):? ?(.*)$/.exec(line);
    if (match?.[1] === "event") kind = match[2] ?? "";
    if (match?.[1] === "data") data.push(match[2] ?? "");
  }
  return data.length > 0 ? { kind, data: data.join("\n") } : undefined;
}
