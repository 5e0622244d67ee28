// A client of a Mesh server, and the types of what its queries select. Written by `mesh-server types` beside the file
// that describes a schema; it is the same for every schema and needs nothing but `fetch` and Web Crypto, which browsers
// have on https and on localhost.

/** Any JSON value. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** What is known of one entity. */
export interface EntityTypes {
  /** What is no relation, as answers hold it. */
  fields: object;
  /** The field that a record is found by; `null` where there are lists only. */
  id: string | null;
  /** The kind of each field that can stand in a control, which decides what it is compared with. */
  kinds: object;
  /** Where relations lead. */
  relations: object;
  /** Fields that take files. */
  uploads: string;
  /** Fields that may be written. */
  writable: string;
}
/** What is known of all entities of a schema. */
export type SchemaTypes<S> = { [E in keyof S]: EntityTypes };
/** A relation to one record, or to none. */
export interface One<E> {
  one: E;
}
/** A relation to any number of records. */
export interface Many<E> {
  many: E;
}

type Part<S, E, P extends keyof EntityTypes> = E extends keyof S ? (S[E] extends { [K in P]: infer T } ? T : never) : never;
type Text<T> = T & string;
type Flat<T> = { -readonly [K in keyof T]: T[K] } & {};

// What can be asked.

/** What a field of a kind is compared with. */
interface Literals {
  string: string;
  integer: number;
  bigint: number | string;
  number: number;
  decimal: number | string;
  boolean: boolean;
  datetime: string;
  date: string;
  uuid: string;
  scalar: string | number | boolean;
}
type FieldsOf<S, E, Without> = { [F in keyof Part<S, E, "kinds">]: Part<S, E, "kinds">[F] extends Without ? never : Text<F> }[keyof Part<S, E, "kinds">];
type Compared<F, K> = K extends keyof Literals
  ?
      | { readonly field: F; readonly op: "eq" | "ne"; readonly value: Literals[K] }
      | { readonly field: F; readonly op: "in" | "nin"; readonly value: readonly Literals[K][] }
      | (K extends "uuid" ? never : { readonly field: F; readonly op: "gt" | "gte" | "lt" | "lte"; readonly value: Literals[K] })
      | (K extends "string" | "scalar" ? { readonly field: F; readonly op: "like" | "ilike"; readonly value: string } : never)
  : never;
type Tree<Leaf> =
  | Leaf
  | { readonly and: readonly [Tree<Leaf>, ...Tree<Leaf>[]] }
  | { readonly or: readonly [Tree<Leaf>, ...Tree<Leaf>[]] }
  | { readonly not: Tree<Leaf> };
type Leaf<S, E> = {
  [F in keyof Part<S, E, "kinds">]:
    | { readonly field: Text<F>; readonly op: "isNull" | "isNotNull" }
    | Compared<Text<F>, Part<S, E, "kinds">[F]>;
}[keyof Part<S, E, "kinds">];
/** A filter, for `$where`. */
export type Filter<S, E> = Tree<Leaf<S, E>>;
type Operator = "eq" | "ne" | "gt" | "gte" | "lt" | "lte" | "in" | "nin" | "like" | "ilike" | "isNull" | "isNotNull";
type Aggregated = { readonly aggregate: string; readonly op: Operator; readonly value?: Json | readonly Json[] };

/** What is read of a record. */
export interface OneNode<S, E> {
  readonly $select: Select<S, E>;
}
type Direction = { readonly direction: "asc" | "desc"; readonly nulls?: "first" | "last" };
type Order<S, E> = { readonly field: FieldsOf<S, E, "json"> } & Direction;
/** What is read of a list below a record. */
export interface ManyNode<S, E> extends OneNode<S, E> {
  readonly $where?: Filter<S, E>;
  readonly $orderBy?: readonly Order<S, E>[];
  readonly $page?: { readonly first?: number; readonly after?: null };
}
type Fold<S, E> =
  | { readonly fn: "count"; readonly field?: FieldsOf<S, E, never> | "*"; readonly distinct?: boolean }
  | {
      readonly fn: "sum" | "avg";
      readonly field: FieldsOf<S, E, "string" | "boolean" | "datetime" | "date" | "json" | "binary" | "uuid">;
      readonly distinct?: boolean;
    }
  | { readonly fn: "min" | "max"; readonly field: FieldsOf<S, E, "boolean" | "json" | "binary" | "uuid">; readonly distinct?: boolean };
/** What is read of a collection. */
export interface RootNode<S, E> extends OneNode<S, E> {
  readonly $where?: Filter<S, E>;
  readonly $orderBy?: readonly (Order<S, E> | ({ readonly aggregate: string } & Direction))[];
  readonly $page?: { readonly first?: number; readonly after?: string | null };
  readonly $distinct?: readonly FieldsOf<S, E, "json">[];
  readonly $groupBy?: readonly FieldsOf<S, E, "json">[];
  readonly $aggregate?: { readonly [alias: string]: Fold<S, E> };
  readonly $having?: Tree<Aggregated | Leaf<S, E>>;
}
/** The names that are wanted. */
export type Select<S, E> = { readonly [F in keyof Part<S, E, "fields">]?: true } & {
  readonly [R in keyof Part<S, E, "relations">]?: Part<S, E, "relations">[R] extends Many<infer T>
    ? ManyNode<S, T>
    : Part<S, E, "relations">[R] extends One<infer T>
      ? OneNode<S, T>
      : never;
};
/** A read of a collection: one entity, and what is wanted of it. */
export type Query<S> = { readonly [E in keyof S]?: RootNode<S, E> };
/** A read of one record. */
export type PointQuery<S> = { readonly [E in keyof S as Part<S, E, "id"> extends null ? never : E]?: OneNode<S, E> };

// A query as it was written must have no name that is not there; types with all keys optional let such names pass.

type Target<R> = R extends Many<infer T> ? T : R extends One<infer T> ? T : never;
type Grouped<N> = N extends { readonly $groupBy: readonly (infer F)[] }
  ? F
  : N extends { readonly $distinct: readonly (infer F)[] }
    ? F
    : N extends { readonly $aggregate: object }
      ? never
      : PropertyKey;
type CheckedNode<S, E, N, Controls> = {
  [K in keyof N]: K extends "$select"
    ? {
        [F in keyof N[K]]: F extends Grouped<N>
          ? F extends keyof Part<S, E, "relations">
            ? CheckedNode<S, Target<Part<S, E, "relations">[F]>, N[K][F], Part<S, E, "relations">[F] extends Many<unknown> ? keyof ManyNode<S, E> : "$select">
            : F extends keyof Part<S, E, "fields">
              ? true
              : never
          : never;
      }
    : K extends Controls
      ? unknown
      : never;
};
type Single<T, Whole = T> = T extends unknown ? ([Whole] extends [T] ? T : never) : never;
/**
 * The query itself where every name in it is known; a name that is not has the type `never`. A query that is wrong in
 * another way is taken for any query, of which there is nothing to say here.
 */
export type Checked<S, Q, Controls = keyof RootNode<S, keyof S>> = Query<S> extends Q
  ? unknown
  : { [E in keyof Q]: E extends Single<keyof Q> & keyof S ? CheckedNode<S, E, Q[E], Controls> : never };

// What is answered.

type Picked<S, E, P> = Flat<{
  [K in keyof P]: K extends keyof Part<S, E, "fields">
    ? Part<S, E, "fields">[K]
    : K extends keyof Part<S, E, "relations">
      ? P[K] extends { readonly $select: infer Below }
        ? Part<S, E, "relations">[K] extends Many<infer T>
          ? Picked<S, T, Below>[]
          : Picked<S, Target<Part<S, E, "relations">[K]>, Below> | null
        : never
      : never;
}>;
type Folded<S, E, A> = {
  [K in keyof A]: A[K] extends { readonly fn: "count" }
    ? number
    : A[K] extends { readonly fn: "avg" }
      ? number | null
      : A[K] extends { readonly field: infer F extends keyof Part<S, E, "fields"> }
        ? NonNullable<Part<S, E, "fields">[F]> | null
        : never;
};
/** One record, or one group, of exactly the names that the query selects. */
export type Item<S, Q> = {
  [E in keyof Q]: Q[E] extends { readonly $select: infer P }
    ? Q[E] extends { readonly $aggregate: infer A }
      ? Flat<Picked<S, E, P> & Folded<S, E, A>>
      : Picked<S, E, P>
    : never;
}[keyof Q];
/** The answer to a read of a collection. */
export interface Page<T> {
  items: T[];
  pageInfo: { hasNextPage: boolean; startCursor: string | null; endCursor: string | null };
}

// What can be written.

/** What a field of a kind takes. */
interface Taken extends Literals {
  json: Json;
  binary: string;
}
/** The fields of a record that may be written. */
export type Fields<S, E> = {
  readonly [F in keyof Part<S, E, "kinds"> & Part<S, E, "writable">]?:
    | Taken[Part<S, E, "kinds">[F] & keyof Taken]
    | (F extends keyof Part<S, E, "fields"> ? Extract<Part<S, E, "fields">[F], null> : never);
};
/** Entities whose records may be made, changed and deleted. */
export type Writable<S> = { [E in keyof S]: [Part<S, E, "writable">] extends [never] ? never : Text<E> }[keyof S];
type Relation<S, E, Kind> = { [R in keyof Part<S, E, "relations">]: Part<S, E, "relations">[R] extends Kind ? Text<R> : never }[keyof Part<S, E, "relations">];
type To<S, E, R> = R extends keyof Part<S, E, "relations"> ? Target<Part<S, E, "relations">[R]> & keyof S : never;
/** A query that shapes the answer to a write. */
type Shape<S, E extends keyof S> = { readonly [K in E]: OneNode<S, E> };
/** What is answered: what the query selects, and without one every field, but none that is computed. */
type Written<S, E, Q> = [Q] extends [never] ? Flat<Pick<Part<S, E, "fields">, keyof Part<S, E, "kinds"> & keyof Part<S, E, "fields">>> : Item<S, Q>;

// Who asks.

/** What a login gives; it may be kept, and handed to another client. */
export interface Session {
  token: string;
  signingToken: string;
  /** Milliseconds since 1970. */
  expiresAt: number;
}
export interface Options {
  /** Sends requests, in place of the global function. */
  fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /** Reads by query ids, and registers the queries that the server does not know. */
  persisted?: boolean;
  /** Binds signatures to method, path and time, so that no other request can carry them; on unless `false`. */
  bound?: boolean;
  /** Signs with this session. */
  session?: Session;
}
export interface Call {
  signal?: AbortSignal;
}
/** What a stored file is told by. */
export interface Uploaded {
  contentHash: string;
  size: number;
  contentType: string;
  url: string;
  [field: string]: Json;
}

/** What a server says when it refuses. */
export class MeshError extends Error {
  override name = "MeshError";
  readonly status: number;
  /** `ValidationError`, `IntegrityError` and the like. */
  readonly kind: string;
  readonly code?: string;
  /** Where in the query, as `post.comments.author`. */
  readonly path?: string;
  readonly line?: number;
  readonly column?: number;
  readonly requestId?: string;

  constructor(status: number, body: { [key: string]: unknown }) {
    super(typeof body["message"] === "string" ? body["message"] : `The server answered ${status}`);
    const { error, message: _, ...more } = body;
    Object.assign(this, more);
    this.status = status;
    this.kind = typeof error === "string" ? error : "Error";
  }
}

/** The longest query that goes into a header; longer ones are posted. */
const HEADER = 8192;

interface Sent extends Call {
  method?: string;
  /** Names of a header and its value: the query, or its id. */
  query?: [string, string];
  json?: string;
  form?: FormData;
  headers?: Record<string, string>;
}

/** A server. */
export class Client<S extends SchemaTypes<S>> {
  /** The session that requests are signed with. */
  session: Session | undefined;
  readonly #base: string;
  readonly #options: Options;

  /** `base` is where the server is, its base path included, such as `http://127.0.0.1:4000/mesh`. */
  constructor(base: string, options: Options = {}) {
    this.#base = base.replace(/\/+$/, "");
    this.#options = options;
    this.session = options.session;
  }

  /** Logs in; what follows is signed. */
  async login(credentials: { [name: string]: Json }): Promise<Session> {
    this.session = undefined;
    const reply = await this.#send("/auth", { method: "POST", json: JSON.stringify(credentials) });
    return (this.session = (await reply.json()) as Session);
  }

  /** Ends the session, on all servers. */
  async logout(): Promise<void> {
    if (this.session) await this.#send("/logout", { method: "POST" });
    this.session = undefined;
  }

  /** Reads a page of a collection. */
  async list<const Q extends Query<S>>(query: Q & Checked<S, Q>, call: Call = {}): Promise<Page<Item<S, Q>>> {
    return (await this.#read(query, undefined, call)) as Page<Item<S, Q>>;
  }

  /** Reads a record; `null` where there is none. */
  async one<const Q extends PointQuery<S>>(id: string | number, query: Q & Checked<S, Q, "$select">, call: Call = {}): Promise<Item<S, Q> | null> {
    return (await this.#read(query, id, call)) as Item<S, Q> | null;
  }

  /** Reads the items of all pages, a page at a time as they are wanted. */
  async *items<const Q extends Query<S>>(query: Q & Checked<S, Q>, call: Call = {}): AsyncGenerator<Item<S, Q>, void, undefined> {
    const [entity, node] = root(query);
    const page = node["$page"] as object | undefined;
    let next: object = query;
    for (;;) {
      const { items, pageInfo } = (await this.#read(next, undefined, call)) as Page<Item<S, Q>>;
      yield* items;
      if (!pageInfo.hasNextPage) return;
      next = { [entity]: { ...node, $page: { ...page, after: pageInfo.endCursor } } };
    }
  }

  /**
   * Follows a record: its answer at once, and again whenever that changes; `null` when the record is gone. A lost
   * connection is made again. Ends when `signal` says so; a reading that fails meanwhile is told to `trouble`.
   */
  async *watch<const Q extends PointQuery<S>>(
    id: string | number,
    query: Q & Checked<S, Q, "$select">,
    call: Call & { trouble?: (error: MeshError) => void } = {},
  ): AsyncGenerator<Item<S, Q> | null, void, undefined> {
    const path = place(root(query)[0], id, "events");
    let last = "";
    let wait = 2000;
    for (;;) {
      try {
        const headers: Record<string, string> = { Accept: "text/event-stream", ...(last && { "Last-Event-ID": last }) };
        const reply = await this.#ask(path, JSON.stringify(query), { ...call, headers });
        for await (const event of events(reply)) {
          last = event["id"] ?? last;
          wait = Number(event["retry"] ?? wait);
          if (event["event"] === "error") {
            const error = new MeshError(reply.status, JSON.parse(event["data"] ?? "{}"));
            if (error.code?.startsWith("TOKEN_")) throw error;
            call.trouble?.(error);
          } else if (event["data"] !== undefined) {
            yield JSON.parse(event["data"]);
          }
        }
      } catch (error) {
        if (call.signal?.aborted) return;
        // What the server refuses it would refuse again, unless it has too much to do.
        if (error instanceof MeshError && error.status < 500 && error.status !== 429) throw error;
      }
      await new Promise((done) => setTimeout(done, wait));
      if (call.signal?.aborted) return;
    }
  }

  /** Sends a file to a field of a record, or with an id of `null` makes a record of it. */
  async upload<E extends keyof S & string>(
    entity: E,
    id: string | number | null,
    field: S[E]["uploads"],
    file: Blob,
    more: Call & { meta?: { [field: string]: Json }; name?: string } = {},
  ): Promise<Uploaded> {
    const contentHash = `sha256:${await sha256(await file.arrayBuffer())}`;
    const statement = JSON.stringify({ [entity]: { [field]: { upload: true } }, contentHash });
    const form = new FormData();
    if (more.meta) form.set("meta", JSON.stringify(more.meta));
    form.set("file", file, more.name ?? (file as File).name ?? "file");
    const path = id === null ? place(entity) : place(entity, id, field);
    const { signal } = more;
    const reply = await this.#send(path, { method: "POST", query: ["X-Mesh-Query", base64(statement)], form, ...(signal && { signal }) });
    return (await reply.json()) as Uploaded;
  }

  /** Makes a record. As with all writes that leave one, the answer is what the query selects of it, else its fields. */
  async create<E extends Writable<S>, const Q extends Shape<S, E> = never>(
    entity: E,
    fields: Fields<S, E>,
    query?: Q & Checked<S, Q, "$select">,
    call?: Call,
  ): Promise<Written<S, E, Q>> {
    return (await this.#write("POST", [entity], fields, query, call)) as Written<S, E, Q>;
  }

  /** Changes fields of a record. */
  async update<E extends Writable<S>, const Q extends Shape<S, E> = never>(
    entity: E,
    id: string | number,
    fields: Fields<S, E>,
    query?: Q & Checked<S, Q, "$select">,
    call?: Call,
  ): Promise<Written<S, E, Q>> {
    return (await this.#write("PUT", [entity, id], fields, query, call)) as Written<S, E, Q>;
  }

  /** Deletes a record. */
  async delete(entity: Writable<S>, id: string | number, call?: Call): Promise<void> {
    await this.#write("DELETE", [entity, id], undefined, undefined, call);
  }

  /** Makes a record below another one. */
  async createChild<E extends Text<keyof S>, R extends Relation<S, E, Many<unknown>>, const Q extends Shape<S, To<S, E, R>> = never>(
    entity: E,
    id: string | number,
    relation: R,
    fields: Fields<S, To<S, E, R>>,
    query?: Q & Checked<S, Q, "$select">,
    call?: Call,
  ): Promise<Written<S, To<S, E, R>, Q>> {
    return (await this.#write("POST", [entity, id, relation], fields, query, call)) as Written<S, To<S, E, R>, Q>;
  }

  /** Links two records, many to many. */
  async attach<E extends Text<keyof S>>(entity: E, id: string | number, relation: Relation<S, E, Many<unknown>>, other: string | number, call?: Call): Promise<void> {
    await this.#write("POST", [entity, id, relation], { entityId: other }, undefined, call);
  }

  /** Has a relation to one record lead to another one, which is the answer. */
  async connect<E extends Text<keyof S>, R extends Relation<S, E, One<unknown>>, const Q extends Shape<S, To<S, E, R>> = never>(
    entity: E,
    id: string | number,
    relation: R,
    other: string | number,
    query?: Q & Checked<S, Q, "$select">,
    call?: Call,
  ): Promise<Written<S, To<S, E, R>, Q>> {
    return (await this.#write("PUT", [entity, id, relation], { entityId: other }, query, call)) as Written<S, To<S, E, R>, Q>;
  }

  /** Has a relation to one record lead nowhere. */
  async disconnect<E extends Text<keyof S>>(entity: E, id: string | number, relation: Relation<S, E, One<unknown>>, call?: Call): Promise<void> {
    await this.#write("DELETE", [entity, id, relation], undefined, undefined, call);
  }

  /** Deletes a child of a record; many to many, only its link. */
  async remove<E extends Text<keyof S>>(entity: E, id: string | number, relation: Relation<S, E, Many<unknown>>, child: string | number, call?: Call): Promise<void> {
    await this.#write("DELETE", [entity, id, relation, child], undefined, undefined, call);
  }

  async #write(method: string, at: (string | number)[], fields?: object, query?: object, call: Call = {}): Promise<unknown> {
    const path = place(...at);
    const sent: Sent = { ...call, method, ...(fields && { json: JSON.stringify(fields) }) };
    const reply = await (query ? this.#ask(path, JSON.stringify(query), sent) : this.#send(path, sent));
    return reply.status === 204 ? null : reply.json();
  }

  /** Any other request under the base path, signed in a session: routes of the application's own. */
  async call(method: string, path: string, json?: Json, call: Call = {}): Promise<Json> {
    const reply = await this.#send(path, { ...call, method, ...(json !== undefined && { json: JSON.stringify(json) }) });
    const text = await reply.text();
    return text === "" ? null : (JSON.parse(text) as Json);
  }

  async #read(query: object, id: string | number | undefined, call: Call): Promise<unknown> {
    const text = JSON.stringify(query);
    const [entity, node] = root(query);
    const after = (node["$page"] as { after?: unknown } | undefined)?.after;
    if (base64(text).length > HEADER && !this.#options.persisted) {
      const json = JSON.stringify(id === undefined ? { query: text } : { query: text, id });
      return (await this.#send("", { ...call, method: "POST", json })).json();
    }
    // A cursor makes each page another query, which is not worth an id.
    return (await this.#ask(place(entity, id), text, call, after == null)).json();
  }

  /** A request with a query in its head: by id if wanted, where the query is registered as soon as the server turns out not to know it. */
  async #ask(path: string, text: string, sent: Sent, byId = true): Promise<Response> {
    if (!this.#options.persisted || !byId) return this.#send(path, { ...sent, query: ["X-Mesh-Query", base64(text)] });
    const id = `q_${(await sha256(utf8(`json\0${text}`))).slice(0, 32)}`;
    const known: Sent = { ...sent, query: ["X-Mesh-Query-Id", id] };
    try {
      return await this.#send(path, known);
    } catch (error) {
      if (!(error instanceof MeshError) || error.code !== "QUERY_ID_UNKNOWN") throw error;
      await this.#send("/queries", { method: "POST", json: JSON.stringify({ query: text, format: "json" }) });
      return this.#send(path, known);
    }
  }

  async #send(path: string, sent: Sent): Promise<Response> {
    const { method = "GET", query, json, form, signal } = sent;
    const headers: Record<string, string> = { ...sent.headers };
    const url = this.#base + path;
    if (query) headers[query[0]] = query[1];
    if (json !== undefined) headers["Content-Type"] = "application/json";
    if (this.session) await this.#sign(this.session, headers, url, sent);
    const send = this.#options.fetch ?? fetch;
    const reply = await send(url, { method, headers, body: json ?? form ?? null, ...(signal && { signal }) });
    if (reply.ok) return reply;
    throw new MeshError(reply.status, (await reply.json().catch(() => ({}))) as { [key: string]: unknown });
  }

  async #sign(session: Session, headers: Record<string, string>, url: string, { method = "GET", query, json }: Sent): Promise<void> {
    let message = query?.[1] ?? "";
    if (json !== undefined) message += `\n${await sha256(utf8(json))}`;
    if (this.#options.bound !== false) {
      const timestamp = String(Math.floor(Date.now() / 1000));
      const nonce = hex(crypto.getRandomValues(new Uint8Array(16)));
      message += `\n${method}\n${new URL(url, globalThis.location?.href).pathname}\njson\n${timestamp}\n${nonce}`;
      headers["X-Mesh-Timestamp"] = timestamp;
      headers["X-Mesh-Nonce"] = nonce;
    }
    const hmac = { name: "HMAC", hash: "SHA-256" };
    const key = await crypto.subtle.importKey("raw", utf8(session.signingToken), hmac, false, ["sign"]);
    headers["X-Mesh-Token"] = session.token;
    headers["X-Mesh-Signature"] = `sha256=${hex(await crypto.subtle.sign("HMAC", key, utf8(message)))}`;
  }
}

function root(query: object): [string, { [key: string]: unknown }] {
  const [first] = Object.entries(query);
  if (!first) throw new TypeError("the query names no entity");
  return first;
}

function place(...segments: (string | number | undefined)[]): string {
  return segments.map((segment) => (segment === undefined ? "" : `/${encodeURIComponent(segment)}`)).join("");
}

/** The events of a stream, each as its lines say. */
async function* events(reply: Response): AsyncGenerator<{ [name: string]: string }, void, undefined> {
  const reader = reply.body?.getReader();
  const decoder = new TextDecoder();
  let pending = "";
  try {
    for (;;) {
      const read = await reader?.read();
      if (!read || read.done) return;
      pending += decoder.decode(read.value, { stream: true });
      const blocks = pending.split(/\r?\n\r?\n/);
      pending = blocks.pop() ?? "";
      for (const block of blocks) {
        const event: { [name: string]: string } = {};
        for (const line of block.split(/\r?\n/)) {
          const [, name = "", value = ""] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
          if (name) event[name] = name === "data" && "data" in event ? `${event[name]}\n${value}` : value;
        }
        yield event;
      }
    }
  } finally {
    await reader?.cancel().catch(() => {});
  }
}

function utf8(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text) as Uint8Array<ArrayBuffer>;
}

function base64(text: string): string {
  let binary = "";
  for (const byte of utf8(text)) binary += String.fromCharCode(byte);
  return btoa(binary);
}

function hex(bytes: ArrayBuffer | Uint8Array): string {
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function sha256(bytes: ArrayBuffer | Uint8Array<ArrayBuffer>): Promise<string> {
  return hex(await crypto.subtle.digest("SHA-256", bytes));
}
