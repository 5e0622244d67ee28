// The client

/** A session, which can be stored and used by another client. */
export interface Session {
  token: string;
  signingToken: string;
  /** Milliseconds since 1970. */
  expiresAt: number;
}
export interface Options {
  /** Replaces the global function `fetch`. */
  fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /** Reads by query ids, and registers queries that are unknown to the server. */
  persisted?: boolean;
  /**
   * Binds signatures to method, path and time, so that they are invalid for other requests; `true` by default. Servers
   * accept writes with unbound signatures only if their `integrity.binding` is `off`, which needs `false`.
   */
  bound?: boolean;
  /** The initial session. */
  session?: Session;
  /**
   * A token of an issuer, or an API key, that identifies the caller of requests without a session; or a function that
   * returns one, which is called again when the server says that the token has expired.
   */
  bearer?: string | (() => string | Promise<string>);
  /** The segment of stored files, if the server is not configured with `files`. */
  files?: string;
}
export interface Call {
  signal?: AbortSignal;
}
/** How a record or a list is watched. */
export interface Watching {
  /** Is called with the errors of reads after the first one. */
  trouble?: (error: MeshError) => void;
}
/** A type that accepts a query without pages. */
type Unpaged<Q> = { readonly [E in keyof Q]: { readonly $page?: undefined } };
/** A read whose entity tag is passed to `tag`. A read whose query is so long that it is posted has none. */
export interface Tagged {
  tag?: (tag: string) => void;
}
/** A write that fails with status 412 unless the record has the tag of a read with the same query; `*` for any. An empty tag is refused. */
export interface Conditional extends Call {
  ifMatch?: string;
}
/** A read or a write in a batch. `$name.field` in `path`, `params` and `body` stands for a field of an earlier result. */
export interface Step {
  method: "GET" | "POST" | "PUT" | "DELETE";
  /** The path below the base path, such as `/post/7`. */
  path: string;
  body?: { readonly [field: string]: Json };
  /** The text of the query of a read, or of the one that shapes the result of a write. */
  query?: string;
  /** The id of a registered query, in place of the query of a read. */
  queryId?: string;
  /** The values of the parameters of a read's query. */
  params?: object;
  format?: "json" | "ql";
  /** The name of the result. */
  as?: string;
}
/** A step that reads an `R`. */
export interface ReadStep<R> extends Step {
  /** The type of the result, for the compiler only: there is no such value. */
  readonly result?: R;
}
export interface StepResult<R = Json | undefined> {
  status: number;
  body: R;
}
/** The results of steps. */
type StepResults<T extends readonly Step[]> = { -readonly [I in keyof T]: StepResult<T[I] extends ReadStep<infer R> ? (unknown extends R ? Json | undefined : R) : never> };
/** A stored file. */
export interface Uploaded {
  contentHash: string;
  size: number;
  contentType: string;
  url: string;
  [field: string]: Json;
}

/** A field of a write that is at fault. */
export interface FieldError {
  /** Its name in the body of the write. */
  path: string;
  message: string;
}

/** An error reply of the server. */
export class MeshError extends Error {
  override name = "MeshError";
  readonly status: number;
  /** The class of the error, such as `ValidationError`. */
  readonly kind: string;
  readonly code?: string;
  /** The position in the query, such as `post.comments.author`. */
  readonly path?: string;
  readonly line?: number;
  readonly column?: number;
  readonly requestId?: string;
  /** The step of a batch that failed, counted from 0. */
  readonly step?: number;
  /** The fields of a write that are at fault. */
  readonly fields: readonly FieldError[] = [];
  /** What became of a write: nothing was written, it is in effect without an answer, or the server does not know. */
  readonly effect?: "none" | "applied" | "unknown";

  constructor(status: number, body: { [key: string]: unknown }) {
    super(typeof body["message"] === "string" ? body["message"] : `The server answered ${status}`);
    const { error, message: _, ...more } = body;
    Object.assign(this, more);
    this.status = status;
    this.kind = typeof error === "string" ? error : "Error";
  }
}

/** The maximum length of a query in a header; longer ones are posted. */
const HEADER = 8192;
/** How often a request is sent again that a busy server has refused. */
const RETRIES = 2;
/** The longest pause that a busy server asks for, in seconds. Longer ones are those of rate limits, and are left to the caller. */
const PAUSE = 5;

interface Sent extends Call {
  method?: string;
  /** The values of the query's parameters. */
  params?: object;
  /** The header with the query or its id: name and value. */
  query?: [string, string];
  /** What is signed in place of the query. */
  signed?: string;
  json?: string;
  form?: FormData;
  headers?: Record<string, string>;
}

function readStep(query: object, path: string, { params, as }: Sent & { as?: string } = {}): Step {
  return { method: "GET", path, query: JSON.stringify(query), ...(params && { params }), ...(as && { as }) };
}

/** A client of a server. */
export class Client<S extends SchemaTypes<S>> {
  /** The types of the schema, for the compiler only: there is no such value. */
  declare readonly schema?: S;
  /** The session that requests are signed with. */
  session: Session | undefined;
  readonly #base: string;
  readonly #options: Options;
  /** The declarations of registered queries' parameters, by text of the query. */
  readonly #declared = new Map<string, object>();
  /** The bearer until it has expired. */
  #bearer: Promise<string> | undefined;

  /** `base` is the URL of the server with its base path, such as `http://127.0.0.1:4000/mesh`. */
  constructor(base: string, options: Options = {}) {
    this.#base = base.replace(/\/+$/, "");
    this.#options = options;
    this.session = options.session;
  }

  /** Logs in, or with `{}` exchanges the bearer for a session. Subsequent requests are signed. */
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
  async list<const Q extends Query<S, true>>(query: Q & Checked<S, Q>, ...[call]: Sending<S, Q>): Promise<Result<S, Q>> {
    return (await this.#read(query, undefined, call)) as Result<S, Q>;
  }

  /** Reads a record; `null` if it does not exist. */
  async one<const Q extends PointQuery<S, true>>(id: RecordId, query: Q & Checked<S, Q, "one">, ...[call]: Sending<S, Q, Tagged>): Promise<Item<S, Q> | null> {
    return (await this.#read(query, id, call)) as Item<S, Q> | null;
  }

  /**
   * Returns a function that reads the page after a cursor, or with `last` in `$page` the page before it, for loops that keep
   * cursors themselves. If `$page` has a parameter for the cursor, its value is the cursor and the query is always the same.
   */
  pages<const Q extends Query<S, true>>(query: Q & Checked<S, Q>, ...[call]: Sending<S, Q>): (cursor?: string | null) => Promise<Result<S, Q>> {
    const [entity, node] = root(query);
    const page = (node["$page"] ?? {}) as { [key: string]: unknown };
    const key = page["last"] === undefined ? "after" : "before";
    const param = (page[key] as Param | null | undefined)?.$param;
    const { skip, ...later } = page;
    return async (cursor) => {
      const sent: Sent = { ...call };
      let read: object = query;
      if (cursor && param) sent.params = { ...sent.params, [param]: cursor };
      else if (cursor) {
        read = { [entity]: { ...node, $page: { ...later, [key]: cursor } } };
        const unused = (skip as Param | undefined)?.$param;
        // The server refuses the value of a parameter that only `skip` has used.
        if (unused && !JSON.stringify(read).includes(JSON.stringify({ $param: unused }))) {
          const { [unused]: _, ...params } = { ...sent.params } as { [name: string]: unknown };
          sent.params = params;
        }
      }
      return (await this.#read(read, undefined, sent)) as Result<S, Q>;
    };
  }

  /**
   * Reads the items of all pages, and requests each page when it is needed. With `last` in `$page`, the items come from the
   * last one to the first.
   */
  async *items<const Q extends Query<S, true>>(query: Q & Checked<S, Q>, ...call: Sending<S, Q>): AsyncGenerator<Item<S, Q>, void, undefined> {
    const read = this.pages<Q>(query, ...call);
    let cursor: string | null | undefined;
    for (;;) {
      const { items, pageInfo } = (await read(cursor)) as Page<Item<S, Q>, { hasPreviousPage?: boolean }>;
      const { hasPreviousPage: before, hasNextPage, startCursor, endCursor } = pageInfo;
      yield* before === undefined ? items : items.reverse();
      if (!(before ?? hasNextPage)) return;
      cursor = before === undefined ? endCursor : startCursor;
    }
  }

  /**
   * Registers a query with declarations of its parameters, and returns it. Those with a default may be left out of `params`
   * when this client reads the returned query, which it does by its id.
   */
  async register<const Q extends Query<S, true>, const D extends Declared<S, Q>>(query: Q & Checked<S, Q>, params: D): Promise<Q & Defaults<Defaulted<D>>> {
    const text = JSON.stringify(query);
    this.#declared.set(text, params);
    await this.#register(text);
    return query as Q & Defaults<Defaulted<D>>;
  }

  /** Fetches a stored file by its storage key, which is the value of a field that accepts files. */
  file(key: string, call: Call & { headers?: Record<string, string> } = {}): Promise<Response> {
    return this.#send(`/${this.#options.files ?? "files"}/${key}`, { ...call, signed: key });
  }

  /**
   * Watches a record: yields it at the start and after each change, and `null` if it does not exist. Reconnects after a
   * lost connection. Ends when `signal` is aborted. `trouble` is called with the errors of reads in between.
   */
  watch<const Q extends PointQuery<S, true>>(id: RecordId, query: Q & Checked<S, Q, "one">, ...[call]: Sending<S, Q, Watching>): AsyncGenerator<Item<S, Q> | null, void, undefined> {
    return this.#watch(query, route(root(query)[0], id, "events"), call) as AsyncGenerator<Item<S, Q> | null, void, undefined>;
  }

  /** Watches a page of a collection, or its groups, as `watch` does a record. */
  watchList<const Q extends Query<S, true>>(query: Q & Checked<S, Q>, ...[call]: Sending<S, Q, Watching>): AsyncGenerator<Result<S, Q>, void, undefined> {
    return this.#watch(query, route(root(query)[0]), call) as AsyncGenerator<Result<S, Q>, void, undefined>;
  }

  async *#watch(query: object, path: string, call: Sent & Watching = {}): AsyncGenerator<unknown, void, undefined> {
    let last = "";
    let wait = 2000;
    for (;;) {
      try {
        const reply = await this.#as("text/event-stream", path, query, { ...call, headers: last ? { "Last-Event-ID": last } : {} });
        for await (const event of events(reply)) {
          last = event["id"] ?? last;
          wait = Number(event["retry"] ?? wait);
          if (event["event"] === "error") {
            const error = new MeshError(reply.status, JSON.parse(event["data"] ?? "{}"));
            if (error.code?.startsWith("TOKEN_") && !this.#renews(error)) throw error;
            call.trouble?.(error);
          } else if (event["data"] !== undefined) {
            yield JSON.parse(event["data"]);
          }
        }
      } catch (error) {
        if (call.signal?.aborted) return;
        // Other refusals are permanent.
        if (error instanceof MeshError && error.status < 500 && error.status !== 429) throw error;
      }
      await new Promise((done) => setTimeout(done, wait));
      if (call.signal?.aborted) return;
    }
  }

  /** Reads all records of a collection from one snapshot, and yields each when it has arrived. Fails if the export is incomplete. */
  async *exportNdjson<const Q extends Query<S, true>>(query: Q & Checked<S, Q> & Unpaged<Q>, ...[call]: Sending<S, Q>): AsyncGenerator<Item<S, Q>, void, undefined> {
    const reply = await this.#as("application/x-ndjson", route(root(query)[0]), query, call);
    for await (const line of pieces(reply, "\n")) yield JSON.parse(line);
  }

  /** Reads all records of a collection from one snapshot as CSV. Reading `body` fails if the export is incomplete. */
  exportCsv<const Q extends Query<S, true>>(query: Q & Checked<S, Q> & Unpaged<Q>, ...[call]: Sending<S, Q>): Promise<Response> {
    return this.#as("text/csv", route(root(query)[0]), query, call);
  }

  /** Uploads a file to a field of a record, or creates a record with it if the id is `null`. */
  async upload<E extends keyof S & string>(
    entity: E,
    id: RecordId | null,
    field: S[E]["uploads"],
    file: Blob,
    more: Call & { meta?: { [field: string]: Json }; name?: string } = {},
  ): Promise<Uploaded> {
    const contentHash = `sha256:${await sha256(await file.arrayBuffer())}`;
    const meta = more.meta && JSON.stringify(more.meta);
    const stated = {
      contentHash,
      contentType: file.type || "application/octet-stream",
      ...(meta !== undefined && { metaHash: `sha256:${await sha256(utf8(meta))}` }),
    };
    const statement = JSON.stringify({ [entity]: { [field]: { upload: true } }, ...stated });
    const form = new FormData();
    if (meta !== undefined) form.set("meta", meta);
    form.set("file", file, more.name ?? (file as File).name ?? "file");
    const path = id === null ? route(entity) : route(entity, id, field);
    const { signal } = more;
    const reply = await this.#send(path, { method: "POST", query: ["X-Mesh-Query", base64(statement)], form, ...(signal && { signal }) });
    return (await reply.json()) as Uploaded;
  }

  /** Creates a record. Like all writes of records, it returns the selection of the query, by default all fields. */
  async create<E extends Writable<S, "creatable">, const Q extends Query<S, true> = never>(
    entity: E,
    fields: NewFields<S, E>,
    query?: Q & Shape<S, E, Q>,
    call?: Call,
  ): Promise<Written<S, E, Q>> {
    return (await this.#write("POST", [entity], fields, query, call)) as Written<S, E, Q>;
  }

  /** Creates records, all or none, and returns them in this order. */
  async createAll<E extends Writable<S, "creatable">, const Q extends Query<S, true> = never>(
    entity: E,
    records: readonly NewFields<S, E>[],
    query?: Q & Shape<S, E, Q>,
    call?: Call,
  ): Promise<Written<S, E, Q>[]> {
    return (await this.#write("POST", [entity], records, query, call)) as Written<S, E, Q>[];
  }

  /** Runs steps in one transaction, in this order. The first one that fails undoes all. Reads alone are of one snapshot. */
  async batch<const T extends readonly Step[]>(steps: T, call?: Call): Promise<StepResults<T>> {
    return ((await this.#write("POST", ["batch"], { steps }, undefined, call)) as { results: StepResults<T> }).results;
  }

  /** Returns the step of a batch that reads a page of a collection. */
  listStep<const Q extends Query<S, true>>(query: Q & Checked<S, Q>, ...[call]: Sending<S, Q, { as?: string }>): ReadStep<Result<S, Q>> {
    return readStep(query, route(root(query)[0]), call);
  }

  /** Returns the step of a batch that reads a record; `null` if it does not exist. */
  oneStep<const Q extends PointQuery<S, true>>(id: RecordId, query: Q & Checked<S, Q, "one">, ...[call]: Sending<S, Q, { as?: string }>): ReadStep<Item<S, Q> | null> {
    return readStep(query, route(root(query)[0], id), call);
  }

  /** Updates fields of a record. */
  async update<E extends Writable<S, "updatable">, const Q extends Query<S, true> = never>(
    entity: E,
    id: RecordId,
    fields: Fields<S, E, "updatable">,
    query?: Q & Shape<S, E, Q>,
    call?: Conditional,
  ): Promise<Written<S, E, Q>> {
    return (await this.#write("PUT", [entity, id], fields, query, call)) as Written<S, E, Q>;
  }

  /** Updates fields of the record with that id, or creates it with them. */
  async upsert<E extends Writable<S, "creatable"> & Writable<S, "updatable">, const Q extends Query<S, true> = never>(
    entity: E,
    id: RecordId,
    fields: Fields<S, E, "creatable"> & Fields<S, E, "updatable">,
    query?: Q & Shape<S, E, Q>,
    call?: Call,
  ): Promise<Written<S, E, Q>> {
    const merging = { ...call, headers: { Prefer: "resolution=merge-duplicates" } };
    return (await this.#write("PUT", [entity, id], fields, query, merging)) as Written<S, E, Q>;
  }

  /** Deletes a record. */
  async delete<E extends Deletable<S>, const Q extends Query<S, true> = never>(entity: E, id: RecordId, call?: Conditional & { query?: Q & Shape<S, E, Q> }): Promise<void> {
    const { query, ...more } = call ?? {};
    await this.#write("DELETE", [entity, id], undefined, query, more);
  }

  /** Creates a record in a to-many relation. */
  async createChild<E extends Text<keyof S>, R extends Relation<S, E, Many<unknown>>, const Q extends Query<S, true> = never>(
    entity: E,
    id: RecordId,
    relation: R,
    fields: NewFields<S, To<S, E, R>, Link<S, E, R>>,
    query?: Q & Shape<S, To<S, E, R>, Q>,
    call?: Call,
  ): Promise<Written<S, To<S, E, R>, Q>> {
    return (await this.#write("POST", [entity, id, relation], fields, query, call)) as Written<S, To<S, E, R>, Q>;
  }

  /** Links two records of a many-to-many relation. */
  async attach<E extends Text<keyof S>>(entity: E, id: RecordId, relation: Relation<S, E, Many<unknown>>, other: RecordId, call?: Call): Promise<void> {
    await this.#write("POST", [entity, id, relation], { entityId: other }, undefined, call);
  }

  /** Sets the record of a to-one relation and returns it. */
  async connect<E extends Text<keyof S>, R extends Relation<S, E, One<unknown>>, const Q extends Query<S, true> = never>(
    entity: E,
    id: RecordId,
    relation: R,
    other: RecordId,
    query?: Q & Shape<S, To<S, E, R>, Q>,
    call?: Call,
  ): Promise<Written<S, To<S, E, R>, Q>> {
    return (await this.#write("PUT", [entity, id, relation], { entityId: other }, query, call)) as Written<S, To<S, E, R>, Q>;
  }

  /** Clears a to-one relation. */
  async disconnect<E extends Text<keyof S>>(entity: E, id: RecordId, relation: Relation<S, E, One<unknown>>, call?: Call): Promise<void> {
    await this.#write("DELETE", [entity, id, relation], undefined, undefined, call);
  }

  /** Deletes a child of a record; of a many-to-many relation, only the link. */
  async remove<E extends Text<keyof S>>(entity: E, id: RecordId, relation: Relation<S, E, Many<unknown>>, child: RecordId, call?: Call): Promise<void> {
    await this.#write("DELETE", [entity, id, relation, child], undefined, undefined, call);
  }

  async #write(method: string, at: RecordId[], fields?: object, query?: object, { ifMatch, ...call }: Sent & Conditional = {}): Promise<unknown> {
    const path = route(...at);
    const headers = { ...call.headers, ...(ifMatch !== undefined && { "If-Match": ifMatch }) };
    const sent: Sent = { ...call, method, headers, ...(fields && { json: JSON.stringify(fields) }) };
    const reply = await (query ? this.#query(path, query, sent) : this.#send(path, sent));
    return reply.status === 204 ? null : reply.json();
  }

  /** Sends any other request below the base path, signed in a session, for routes of the application. */
  async call(method: string, path: string, json?: Json, call: Call = {}): Promise<Json> {
    const reply = await this.#send(path, { ...call, method, ...(json !== undefined && { json: JSON.stringify(json) }) });
    const text = await reply.text();
    return text === "" ? null : (JSON.parse(text) as Json);
  }

  async #read(query: object, id: RecordId | undefined, { tag, ...sent }: Sent & Tagged = {}): Promise<unknown> {
    const text = JSON.stringify(query);
    const { params } = sent;
    if (base64(text + (JSON.stringify(params) ?? "")).length > HEADER && !this.#options.persisted && !this.#declared.has(text)) {
      const json = JSON.stringify({ query: text, id, params });
      return (await this.#send("", { ...sent, method: "POST", json })).json();
    }
    const reply = await this.#query(route(root(query)[0], id), query, sent);
    tag?.(reply.headers.get("ETag") ?? "");
    return reply.json();
  }

  /** Reads as a media type, and refuses a reply of another one. */
  async #as(type: string, path: string, query: object, sent: Sent = {}): Promise<Response> {
    const reply = await this.#query(path, query, { ...sent, headers: { ...sent.headers, Accept: type } });
    if (reply.headers.get("Content-Type")?.startsWith(type)) return reply;
    await reply.body?.cancel();
    throw new MeshError(reply.status, { message: `The server does not offer ${type}` });
  }

  /** Sends a request with a query in its headers. With query ids, an unknown query is registered first. */
  async #query(path: string, query: object, sent: Sent): Promise<Response> {
    const text = JSON.stringify(query);
    const { after, before } = (root(query)[1]["$page"] ?? {}) as { after?: unknown; before?: unknown };
    // Queries with cursors are not registered, because each page is another query.
    const byId = this.#options.persisted && typeof (after ?? before) !== "string";
    if (!byId && !this.#declared.has(text)) return this.#send(path, { ...sent, query: ["X-Mesh-Query", base64(text)] });
    const id = `q_${(await sha256(utf8(`json\0${text}`))).slice(0, 32)}`;
    const known: Sent = { ...sent, query: ["X-Mesh-Query-Id", id] };
    try {
      return await this.#send(path, known);
    } catch (error) {
      if (!(error instanceof MeshError) || error.code !== "QUERY_ID_UNKNOWN") throw error;
      await this.#register(text);
      return this.#send(path, known);
    }
  }

  async #register(text: string): Promise<void> {
    const params = this.#declared.get(text);
    await this.#send("/queries", { method: "POST", json: JSON.stringify({ query: text, format: "json", params }) });
  }

  async #send(path: string, sent: Sent, renews = true, retries = RETRIES): Promise<Response> {
    const { method = "GET", query, json, form, signal } = sent;
    const headers: Record<string, string> = { ...sent.headers };
    const url = this.#base + path;
    if (query) {
      headers[query[0]] = query[1];
      if (sent.params) headers["X-Mesh-Params"] = base64(JSON.stringify(sent.params));
    }
    if (json !== undefined) headers["Content-Type"] = "application/json";
    const bearer = this.session ? undefined : this.#token();
    if (this.session) await this.#sign(this.session, headers, url, sent);
    else if (bearer) headers["Authorization"] = `Bearer ${await bearer}`;
    const send = this.#options.fetch ?? fetch;
    const reply = await send(url, { method, headers, body: json ?? form ?? null, ...(signal && { signal }) });
    if (reply.ok) return reply;
    const error = new MeshError(reply.status, (await reply.json().catch(() => ({}))) as { [key: string]: unknown });
    if (renews && this.#renews(error, bearer)) return this.#send(path, sent, false, retries);
    const pause = Number(reply.headers.get("Retry-After") ?? Infinity);
    // A write is sent again only if the server says that nothing was written.
    const unchanged = method === "GET" || path === "" || error.effect === "none";
    if (retries === 0 || !unchanged || (reply.status !== 429 && reply.status !== 503) || !(pause <= PAUSE)) throw error;
    await new Promise((done) => setTimeout(done, pause * 1000));
    return this.#send(path, sent, renews, retries - 1);
  }

  #token(): Promise<string> | undefined {
    const { bearer } = this.#options;
    if (typeof bearer !== "function") return bearer === undefined ? undefined : Promise.resolve(bearer);
    return (this.#bearer ??= Promise.resolve(bearer()).catch((error) => {
      this.#bearer = undefined;
      throw error;
    }));
  }

  /** Drops a bearer that has expired. Returns whether there may be another one. */
  #renews(error: MeshError, bearer = this.#bearer): boolean {
    if (!bearer || this.session || error.code !== "TOKEN_EXPIRED") return false;
    // Another request may have dropped it already.
    if (this.#bearer === bearer) this.#bearer = undefined;
    return typeof this.#options.bearer === "function";
  }

  async #sign(session: Session, headers: Record<string, string>, url: string, { method = "GET", query, signed, json }: Sent): Promise<void> {
    let message = signed ?? query?.[1] ?? "";
    const params = headers["X-Mesh-Params"];
    if (json !== undefined) message += `\n${await sha256(utf8(json))}`;
    else if (params) message += `\n${params}`;
    if (this.#options.bound !== false) {
      const timestamp = String(Math.floor(Date.now() / 1000));
      const nonce = hex(crypto.getRandomValues(new Uint8Array(16)));
      // Only browsers have a location, and only there can the base be relative.
      const { location } = globalThis as { location?: { href: string } };
      message += `\n${method}\n${new URL(url, location?.href).pathname}\njson\n${timestamp}\n${nonce}`;
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

function route(...segments: (RecordId | undefined)[]): string {
  return segments.map((segment) => (segment === undefined ? "" : `/${encoded(segment)}`)).join("");
}

/** Encodes a segment. Commas in text stay, so that `"1,2"` is the id of two fields as well. */
function encoded(segment: RecordId): string {
  return typeof segment === "object" ? segment.map((part) => encodeURIComponent(part)).join(",") : encodeURIComponent(segment).replace(/%2C/g, ",");
}

/** Parses the events of a stream, each to its fields. */
async function* events(reply: Response): AsyncGenerator<{ [name: string]: string }, void, undefined> {
  for await (const block of pieces(reply, /\r?\n\r?\n/)) {
    const event: { [name: string]: string } = {};
    for (const line of block.split(/\r?\n/)) {
      const [, name = "", value = ""] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
      if (name) event[name] = name === "data" && "data" in event ? `${event[name]}\n${value}` : value;
    }
    yield event;
  }
}

/** Yields the complete pieces of a body when they have arrived. */
async function* pieces(reply: Response, end: string | RegExp): AsyncGenerator<string, void, undefined> {
  const reader = reply.body?.getReader();
  const decoder = new TextDecoder();
  let pending = "";
  try {
    for (;;) {
      const read = await reader?.read();
      if (!read || read.done) return;
      pending += decoder.decode(read.value, { stream: true });
      const complete = pending.split(end);
      pending = complete.pop() ?? "";
      yield* complete;
    }
  } finally {
    await reader?.cancel().catch(() => {});
  }
}

function utf8(text: string): ArrayBuffer {
  return new TextEncoder().encode(text).slice().buffer as ArrayBuffer;
}

function base64(text: string): string {
  let binary = "";
  for (const byte of new Uint8Array(utf8(text))) binary += String.fromCharCode(byte);
  return btoa(binary);
}

function hex(bytes: ArrayBuffer | Uint8Array): string {
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function sha256(bytes: ArrayBuffer): Promise<string> {
  return hex(await crypto.subtle.digest("SHA-256", bytes));
}
