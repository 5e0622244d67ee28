// Uploads of files, with their progress.

import { base64, hex } from "../api/bytes";
import { readPath, RequestError, type FieldFault } from "../api/client";
import { credential, session, signedHeaders } from "../api/session";

/** Larger files are hashed only if a session requires it, because hashing needs the whole file in memory. */
const HASHED_MAX = 64 << 20;
const UNTYPED = "application/octet-stream";

async function statement(entity: string, field: string, file: File): Promise<string> {
  const isHashed = session.value !== null || (file.size <= HASHED_MAX && isSecureContext);
  const hash = isHashed ? hex(await crypto.subtle.digest("SHA-256", await file.arrayBuffer())) : undefined;
  const content = { ...(hash !== undefined && { contentHash: `sha256:${hash}` }), contentType: file.type.toLowerCase() || UNTYPED };
  return base64(JSON.stringify({ [entity]: { [field]: { upload: true } }, ...content }));
}

/** Attaches a file to a field of a record. `progress` is called with the part that has been sent, from 0 to 1. */
export async function upload(entity: string, id: string, field: string, file: File, signal: AbortSignal, progress: (part: number) => void): Promise<void> {
  const path = `${readPath(entity, id)}/${encodeURIComponent(field)}`;
  const stated = await statement(entity, field, file);
  const signed = await signedHeaders(stated, { method: "POST", path, format: "json" });
  const headers = { ...(session.value ? {} : credential()), ...signed, "X-Mesh-Query": stated };
  const form = new FormData();
  form.append("file", file.type === "" ? new File([file], file.name, { type: UNTYPED }) : file);
  await new Promise<void>((resolve, reject) => {
    // Unlike fetch, this reports progress.
    const request = new XMLHttpRequest();
    request.open("POST", path);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.upload.onprogress = ({ loaded, total }) => progress(total > 0 ? loaded / total : 0);
    request.onload = () => (request.status < 300 ? resolve() : reject(errorOf(request)));
    request.onerror = () => reject(new RequestError(0, "Unreachable", "The server cannot be reached"));
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
