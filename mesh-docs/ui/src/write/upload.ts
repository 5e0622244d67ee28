// Uploads of files, with their progress.

import { base64, hex, utf8 } from "../api/bytes";
import { readPath, RequestError, unansweredWrite, type FieldFault } from "../api/client";
import { credential, session, signedHeaders } from "../api/session";

/** Larger files are hashed only if a session requires it, because hashing needs the whole file in memory. */
const HASHED_MAX = 64 << 20;
const UNTYPED = "application/octet-stream";

async function statement(entity: string, field: string, file: File, meta: string | undefined): Promise<string> {
  const isHashed = session.value !== null || (file.size <= HASHED_MAX && isSecureContext);
  const hash = isHashed ? hex(await crypto.subtle.digest("SHA-256", await file.arrayBuffer())) : undefined;
  const metaHash = isHashed && meta !== undefined ? hex(await crypto.subtle.digest("SHA-256", utf8(meta))) : undefined;
  const content = { ...(metaHash !== undefined && { metaHash: `sha256:${metaHash}` }), ...(hash !== undefined && { contentHash: `sha256:${hash}` }), contentType: file.type.toLowerCase() || UNTYPED };
  return base64(JSON.stringify({ [entity]: { [field]: { upload: true } }, ...content }));
}

/** A file for a field of an entity: of the record `id`, or of a new one with the other fields in `meta`, a JSON object. */
export interface Upload {
  entity: string;
  field: string;
  file: File;
  id?: string;
  meta?: string;
}

/** Returns the path of an upload. */
export function uploadPath({ entity, field, id }: Upload): string {
  return id === undefined ? readPath(entity, "") : `${readPath(entity, id)}/${encodeURIComponent(field)}`;
}

/**
 * Sends a file. `progress` is called with the part that has been sent, from 0 to 1. Returns the header `Location` of the reply,
 * which a new record has.
 */
export async function upload(sent: Upload, signal: AbortSignal, progress: (part: number) => void): Promise<string | null> {
  const { entity, field, file } = sent;
  const path = uploadPath(sent);
  // On one line, because forms change line breaks.
  const meta = sent.meta?.replaceAll("\n", " ");
  const stated = await statement(entity, field, file, meta);
  const signed = await signedHeaders(stated, { method: "POST", path, format: "json" });
  const headers = { ...(session.value ? {} : credential()), ...signed, "X-Mesh-Query": stated };
  const form = new FormData();
  if (meta !== undefined) form.append("meta", meta);
  form.append("file", file.type === "" ? new File([file], file.name, { type: UNTYPED }) : file);
  return new Promise<string | null>((resolve, reject) => {
    // Unlike fetch, this reports progress.
    const request = new XMLHttpRequest();
    request.open("POST", path);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.upload.onprogress = ({ loaded, total }) => progress(total > 0 ? loaded / total : 0);
    request.onload = () => (request.status < 300 ? resolve(request.getResponseHeader("Location")) : reject(errorOf(request)));
    request.onerror = () => reject(unansweredWrite());
    request.onabort = () => reject(new DOMException("Cancelled", "AbortError"));
    signal.addEventListener("abort", () => request.abort());
    request.send(form);
  });
}

function errorOf({ status, responseText }: XMLHttpRequest): RequestError {
  try {
    const body = JSON.parse(responseText) as { error: string; message: string; fields?: FieldFault[] };
    return new RequestError(status, body.error, body.message, body);
  } catch {
    return new RequestError(status, "Error", `The server answered ${status}`);
  }
}
