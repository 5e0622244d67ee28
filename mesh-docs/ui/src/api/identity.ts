// Who the credential of this tab identifies, read from the credential itself. The server decides what it permits.

import { computed } from "@preact/signals";
import { fromBase64Url } from "./bytes";
import { bearer, session } from "./session";

export interface Identity {
  name: string;
  role?: string | undefined;
  /** Milliseconds since 1970. */
  expiresAt?: number | undefined;
}

export const identity = computed((): Identity | null => {
  const current = session.value;
  if (current) return { name: current.login, role: roleOfToken(current.token), expiresAt: current.expiresAt };
  return bearer.value === "" ? null : ofBearer(bearer.value);
});

/** Where the user begins in a session token: after the layout, the expiry, and the id of the session. */
const USER_AT = 1 + 8 + 16;
const ABSENT = 255;

/** Returns the role in a session token, whose layout is described in `SPEC §7.2`; `undefined` if it has none. */
function roleOfToken(token: string): string | undefined {
  try {
    const binary = atob(token.replace(/^tok_/, "").replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(binary, (char) => char.charCodeAt(0));
    const at = USER_AT + 1 + (bytes[USER_AT] ?? 0);
    const length = bytes[at] ?? ABSENT;
    if (length === ABSENT || at + 1 + length > bytes.length) return undefined;
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes.slice(at + 1, at + 1 + length));
  } catch {
    return undefined;
  }
}

/** Returns the claims of a bearer; of an API key only that it is one. */
function ofBearer(text: string): Identity {
  try {
    const claims = JSON.parse(fromBase64Url(text.split(".")[1] ?? "")) as Record<string, unknown>;
    const word = (name: string): string | undefined => (typeof claims[name] === "string" ? claims[name] : undefined);
    const expiresAt = typeof claims["exp"] === "number" ? claims["exp"] * 1000 : undefined;
    return { name: word("preferred_username") ?? word("sub") ?? "", role: word("role"), expiresAt };
  } catch {
    return { name: "" };
  }
}

