// Requests to the server: introspection, runs and checks, registration, event streams.

import { config } from "../config";
import type { Schema } from "../schema";
import type { Fault } from "../query/locate";
import type { Format } from "../query/tree";
import { member, parseJson, type Json } from "../query/json";
import { plain } from "../query/read";
import { base64 } from "./bytes";
import { bodyMessage, forget, session, signedHeaders } from "./session";

/** An error reply, or none at all. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly kind: string,
    message: string,
    readonly details: { code?: string; path?: string; line?: number; column?: number; requestId?: string } = {},
  ) {
    super(message);
  }
}

export interface Asked {
  query: string;
  format: Format;
  id: string;
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
  /** The whole reply, so that numbers can be shown as they came. */
  source: string;
  data: Json;
  meta: Meta;
  /** Bytes of the data. */
  size: number;
  /** As the browser measured it, the way there and back included. */
  elapsedMs: number;
}

async function refusal(reply: Response): Promise<Refused> {
  const body = (await reply.json().catch(() => ({}))) as Record<string, unknown>;
  const message = typeof body["message"] === "string" ? body["message"] : `The server answered ${reply.status}`;
  const kind = typeof body["error"] === "string" ? body["error"] : "Error";
  const code = body["code"];
  if (reply.status === 401 && code !== "BAD_CREDENTIALS") forget();
  return new Refused(reply.status, kind, message, body as Refused["details"]);
}

async function send(path: string, init: RequestInit): Promise<Response> {
  let reply: Response;
  try {
    reply = await fetch(path, init);
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Refused(0, "Unreachable", "The server cannot be reached");
  }
  if (!reply.ok) throw await refusal(reply);
  return reply;
}

function tokenHeader(): Record<string, string> {
  return session.value ? { "X-Mesh-Token": session.value.token } : {};
}

export async function fetchSchema(): Promise<Schema> {
  const reply = await send(`${config.docs}/schema`, { headers: tokenHeader() });
  return (await reply.json()) as Schema;
}

function body(asked: Asked, more: Record<string, unknown>): string {
  const id = asked.id === "" ? {} : { id: asked.id };
  return JSON.stringify({ query: asked.query, format: asked.format, ...id, ...more });
}

async function post(path: string, text: string, signal?: AbortSignal): Promise<Response> {
  const bound = { method: "POST", path, format: "json" };
  const signed = await signedHeaders(await signedMessage(text), bound);
  const headers = { "Content-Type": "application/json", ...signed };
  return send(path, { method: "POST", headers, body: text, ...(signal ? { signal } : {}) });
}

async function signedMessage(text: string): Promise<string> {
  return session.value ? bodyMessage(text) : "";
}

/** Runs a query in the server's process. */
export async function execute(asked: Asked, explain: boolean, signal?: AbortSignal): Promise<Answer> {
  const start = performance.now();
  const reply = await post(`${config.docs}/execute`, body(asked, explain ? { explain } : {}), signal);
  const source = await reply.text();
  const elapsedMs = performance.now() - start;
  const json = parseJson(source);
  const data = member(json, "data");
  const meta = member(json, "meta");
  if (!data || !meta) throw new Refused(reply.status, "Error", "The server sent an unexpected reply");
  const size = new Blob([source.slice(data.from, data.to)]).size;
  return { source, data, meta: plain(meta) as unknown as Meta, size, elapsedMs };
}

/** Whether a query would run: nothing, or why not. */
export async function check(asked: Asked): Promise<Fault | undefined> {
  const reply = await post(`${config.docs}/execute`, body(asked, { check: true }));
  return ((await reply.json()) as { meta: { fault?: Fault } }).meta.fault;
}

/** Registers a query and tells its id. */
export async function register(query: string, format: Format): Promise<string> {
  const reply = await post(`${config.base}/queries`, JSON.stringify({ query, format }));
  return ((await reply.json()) as { id: string }).id;
}

/** The path of a read under the base. */
export function readPath(entity: string, id: string): string {
  return `${config.base}/${encodeURIComponent(entity)}${id === "" ? "" : `/${encodeURIComponent(id)}`}`;
}

/** Headers of a read by GET, signed in a session. */
export async function readHeaders(asked: Asked, path: string, method = "GET"): Promise<Record<string, string>> {
  const query = base64(asked.query);
  const format: Record<string, string> = asked.format === "ql" ? { "X-Mesh-Format": "ql" } : {};
  const signed = await signedHeaders(query, { method, path, format: asked.format });
  return { "X-Mesh-Query": query, ...format, ...signed };
}

export interface Event {
  kind: string;
  data: string;
}

/** Follows a record until `signal` ends it; each event is told as it comes. */
export async function watch(asked: Asked, entity: string, signal: AbortSignal, tell: (event: Event) => void): Promise<void> {
  const path = `${readPath(entity, asked.id)}/events`;
  const headers = { Accept: "text/event-stream", ...(await readHeaders(asked, path)) };
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
      if (event) tell(event);
    }
  }
}

/** One block of an event stream; comments and bare settings are none. */
export function parseEvent(block: string): Event | undefined {
  let kind = "message";
  const data: string[] = [];
  for (const line of block.split("\n")) {
    const match = /^(event|data):? ?(.*)$/.exec(line);
    if (match?.[1] === "event") kind = match[2] ?? "";
    if (match?.[1] === "data") data.push(match[2] ?? "");
  }
  return data.length > 0 ? { kind, data: data.join("\n") } : undefined;
}
