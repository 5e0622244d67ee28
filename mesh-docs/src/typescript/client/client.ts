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
