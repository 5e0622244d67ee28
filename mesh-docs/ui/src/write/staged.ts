// Changes that are collected, and sent as one batch: all of them are written, or none is. `SPEC §18.4`

import { signal } from "@preact/signals";
import { config } from "../config";
import { schema } from "../state";
import type { Write } from "./requests";

export const staged = signal<Write[]>([]);

/** Whether the server accepts batches. */
export function hasBatch(): boolean {
  return schema.value?.profiles?.includes("batch") ?? false;
}

export function stage(write: Write): void {
  staged.value = [...staged.value, write];
}

export function unstage(index: number): void {
  staged.value = staged.value.filter((_, at) => at !== index);
}

/** Returns the request that sends changes as a batch. */
export function batchOf(writes: readonly Write[]): Write {
  const step = ({ method, path, body }: Write): string => {
    const text = `{ "method": "${method}", "path": ${JSON.stringify(path.slice(config.base.length))}`;
    // The body is text already, whose numbers keep their digits.
    return body === undefined ? `${text} }` : `${text}, "body": ${body.replaceAll("\n", "\n    ")} }`;
  };
  return { method: "POST", path: `${config.base}/batch`, body: `{\n  "steps": [\n    ${writes.map(step).join(",\n    ")}\n  ]\n}` };
}
