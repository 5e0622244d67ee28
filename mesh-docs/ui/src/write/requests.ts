// Writes as they go over the wire, and reads that give the tags for them.

import { base64 } from "../api/bytes";
import { needsPost, readHeaders, readPath, RequestError, send, unansweredWrite, type QueryRequest } from "../api/client";
import { bodyMessage, signedHeaders } from "../api/session";
import { parseJson, type Json } from "../query/json";
import { printCompact } from "../query/print";
import { emptyNode, newQuery } from "../query/tree";
import { scalars, type Entity } from "../schema";
import { leaf } from "../browse/view";

export interface Write {
  method: "POST" | "PUT" | "DELETE";
  path: string;
  /** The text of a JSON object. */
  body?: string;
  /** The record that must not have changed: the query that read it, and its tag. */
  unchanged?: Tag | undefined;
}

/** The tag of a record, with the query that it belongs to. */
export interface Tag {
  query: string;
  tag: string;
}

/** A record as it was read to be written. */
export interface Original {
  source: string;
  data: Json;
  tag: Tag | undefined;
}

export function relationPath(entity: string, id: string, relation: string, child?: string): string {
  return `${readPath(entity, id)}/${readPath(relation, child ?? "").slice(readPath("", "").length)}`;
}

/** Reads all scalar fields of a record, with its tag. */
export async function readOriginal(entity: Entity, id: string): Promise<Original> {
  const query = printCompact({ ...newQuery(entity.name), root: { ...emptyNode(), select: scalars(entity).map(({ name }) => leaf(name)) } });
  const request: QueryRequest = { query, format: "json", id };
  const path = readPath(entity.name, id);
  const reply = await send(path, { headers: await readHeaders(request, path), cache: "no-store" });
  const source = await reply.text();
  const tag = reply.headers.get("ETag");
  return { source, data: parseJson(source), tag: tag === null || needsPost(request) ? undefined : { query, tag } };
}

/** Returns the text of a write as people read it. */
export function previewOf({ method, path, body, unchanged }: Write): string {
  const condition = unchanged ? `\nIf-Match: ${unchanged.tag}` : "";
  return `${method} ${path}${condition}${body === undefined ? "" : `\n\n${body}`}`;
}

/** Sends a write. Its signature covers method, path and body. */
export async function sendWrite({ method, path, body, unchanged }: Write): Promise<Response> {
  const query = unchanged ? base64(unchanged.query) : "";
  const message = query + (body === undefined ? "" : await bodyMessage(body));
  const headers: Record<string, string> = {
    ...(body !== undefined && { "Content-Type": "application/json" }),
    ...(unchanged && { "X-Mesh-Query": query, "If-Match": unchanged.tag }),
    ...(await signedHeaders(message, { method, path, format: "json" }, true)),
  };
  return send(path, { method, headers, ...(body !== undefined && { body }) }).catch((error: unknown) => {
    throw error instanceof RequestError && error.status === 0 ? unansweredWrite() : error;
  });
}
