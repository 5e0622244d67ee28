// Login, signatures of requests, and bearers. Keys stay in this tab.

import { batch, signal } from "@preact/signals";
import { config } from "../config";
import { hex, utf8 } from "./bytes";

export interface Session {
  login: string;
  token: string;
  signingToken: string;
  /** Milliseconds since 1970. */
  expiresAt: number;
}

const KEY = `mesh.session ${config.docs}`;

const stored = restored();
const isOver = stored !== null && stored.expiresAt <= Date.now();

export const session = signal<Session | null>(isOver ? null : stored);

/** The login of a session, or `Bearer`, that ended without a logout, until another login or a decision to go on without. */
export const lapsed = signal<string | null>(isOver ? stored.login : null);

/** The pasted bearer. It is in the memory of this page only: neither in a storage nor in links and copied calls. */
export const bearer = signal("");

/** Whether the caller can identify itself. */
export const hasCredentials = config.integrity || config.bearer;

/** Returns the header of the credential where no signature is needed. */
export function credential(): Record<string, string> {
  if (session.value) return { "X-Mesh-Token": session.value.token };
  return bearer.value === "" ? {} : { Authorization: `Bearer ${bearer.value}` };
}

/** Returns a header in place of the bearer, for calls that are copied. */
export function placeholder(): Record<string, string> {
  return bearer.value === "" || session.value ? {} : { Authorization: "Bearer TOKEN" };
}

function restored(): Session | null {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? "null") as Session | null;
  } catch {
    return null;
  }
}

/** The longest delay of a timer. */
const DELAY_MAX = 2 ** 31 - 1;
let expiry = 0;

function setSession(next: Session | null): void {
  batch(() => {
    session.value = next;
    if (next) lapsed.value = null;
  });
  awaitExpiry();
  if (next) sessionStorage.setItem(KEY, JSON.stringify(next));
  else sessionStorage.removeItem(KEY);
}

/** Ends the session when it expires, now if it has expired. */
export function awaitExpiry(): void {
  window.clearTimeout(expiry);
  if (!session.value) return;
  const left = session.value.expiresAt - Date.now();
  if (left <= 0) lapse();
  else expiry = window.setTimeout(awaitExpiry, Math.min(left, DELAY_MAX));
}

/** Ends the session without a logout. */
function lapse(): void {
  batch(() => {
    lapsed.value = session.value?.login ?? "Bearer";
    bearer.value = "";
    setSession(null);
  });
}

/** Goes on without the credential that has ended. */
export function continueAnonymously(): void {
  lapsed.value = null;
}

/** Identifies the caller by a bearer from now on; by none if the text is empty. */
export function setBearer(text: string): void {
  batch(() => {
    lapsed.value = null;
    bearer.value = text.trim().replace(/^Bearer +/i, "");
  });
}

/** Logs in; throws an error with the message of the server if it refuses. */
export async function login(name: string, password: string): Promise<void> {
  const body = JSON.stringify({ login: name, password });
  const reply = await fetch(`${config.base}/auth`, { method: "POST", headers: { "Content-Type": "application/json" }, body });
  const answer = (await reply.json().catch(() => ({}))) as Partial<Session> & { message?: string };
  if (!reply.ok || !answer.token || !answer.signingToken) {
    throw new Error(answer.message ?? `The server answered ${reply.status}`);
  }
  setSession({ login: name, token: answer.token, signingToken: answer.signingToken, expiresAt: answer.expiresAt ?? Number.MAX_SAFE_INTEGER });
}

/** Ends the session in this tab, and on the server if it can be reached. */
export async function logout(): Promise<void> {
  const headers = await signedHeaders("");
  setSession(null);
  await fetch(`${config.base}/logout`, { method: "POST", headers }).catch(() => undefined);
}

/** Removes the credential that the server refuses, if there is one. */
export function dropCredential(): void {
  if (session.value || bearer.value !== "") lapse();
}

async function hmac(key: string, message: string): Promise<string> {
  const usages: KeyUsage[] = ["sign"];
  const imported = await crypto.subtle.importKey("raw", utf8(key), { name: "HMAC", hash: "SHA-256" }, false, usages);
  return hex(await crypto.subtle.sign("HMAC", imported, utf8(message)));
}

/** Returns the token and the signature of a message, bound to a request if the server requires it; none without a session. */
export async function signedHeaders(message: string, bound?: { method: string; path: string; format: string }, isWrite = false): Promise<Record<string, string>> {
  const current = session.value;
  if (!current) return {};
  const headers: Record<string, string> = { "X-Mesh-Token": current.token };
  let signed = message;
  if (bound && (config.binding || (isWrite && config.boundWrites))) {
    const timestamp = String(Math.floor(Date.now() / 1000));
    const nonce = hex(crypto.getRandomValues(new Uint8Array(16)).buffer);
    headers["X-Mesh-Timestamp"] = timestamp;
    headers["X-Mesh-Nonce"] = nonce;
    signed = [message, bound.method, bound.path, bound.format, timestamp, nonce].join("\n");
  }
  headers["X-Mesh-Signature"] = `sha256=${await hmac(current.signingToken, signed)}`;
  return headers;
}

/** Returns the signed message of a request with a JSON body; empty without a session. */
export async function bodyMessage(body: string): Promise<string> {
  return session.value ? `\n${hex(await crypto.subtle.digest("SHA-256", utf8(body)))}` : "";
}
