// Changes that are collected, and sent as one batch: all of them are written, or none is. `SPEC §18.4`

import { signal } from "@preact/signals";
import { config } from "../config";
import { schema } from "../state";
import type { Write } from "./requests";

/** A change that is collected. A new record has a name, by which later changes refer to it. */
export interface Staged extends Write {
  created?: { entity: string; name: string };
}

export const staged = signal<Staged[]>([]);
/** Whether links are collected as well, instead of written at once. */
export const stagesLinks = signal(false);

/** Whether the server accepts batches. */
export function hasBatch(): boolean {
  return schema.value?.profiles?.includes("batch") ?? false;
}

/** Collects a change. `entity` is that of the record that it creates. */
export function stage(write: Write, entity?: string): void {
  staged.value = [...staged.value, entity === undefined ? write : { ...write, created: { entity, name: freeName(entity) } }];
}

/** Returns the positions of a change and of those that cannot be written without the record that it creates. */
export function withDependents(index: number): number[] {
  const removed = [index];
  const names = new Set([staged.value[index]?.created?.name]);
  staged.value.forEach(({ body, created }, at) => {
    if (at <= index || body === undefined || !referencesOf(JSON.parse(body)).some((name) => names.has(name))) return;
    removed.push(at);
    if (created) names.add(created.name);
  });
  return removed;
}

/** Removes a change and those that depend on it. */
export function unstage(index: number): void {
  const removed = withDependents(index);
  staged.value = staged.value.filter((_, at) => !removed.includes(at));
}

/** Returns the names of the new records that a body refers to. */
function referencesOf(value: unknown): string[] {
  if (typeof value === "object" && value !== null) return Object.values(value).flatMap(referencesOf);
  const name = typeof value === "string" ? referenceIn(value) : undefined;
  return name === undefined ? [] : [name];
}

function referenceIn(text: string): string | undefined {
  return /^\$(\w+)\./.exec(text)?.[1];
}

/** The longest beginning of the name of a new record, to which a number is added. */
const STEM_MAX = 48;

function freeName(entity: string): string {
  const stem = entity.replaceAll(/\W/g, "_").replace(/^(?=\d)/, "_").slice(0, STEM_MAX);
  const taken = new Set(staged.value.map(({ created }) => created?.name));
  let number = 1;
  while (taken.has(`${stem}${number}`)) number += 1;
  return `${stem}${number}`;
}

/** Returns the names of the new records of an entity. */
export function newNames(entity: string): string[] {
  return staged.value.flatMap(({ created }) => (created?.entity === entity ? [created.name] : []));
}

/** Returns whether a text refers to a new record. */
export function isReference(text: string | null | undefined): boolean {
  const name = referenceIn(text ?? "");
  return name !== undefined && staged.value.some(({ created }) => created?.name === name);
}

/** Returns the request that sends changes as a batch. */
export function batchOf(writes: readonly Staged[]): Write {
  const step = ({ method, path, body, created }: Staged): string => {
    const name = created ? `, "as": ${JSON.stringify(created.name)}` : "";
    const text = `{ "method": "${method}", "path": ${JSON.stringify(path.slice(config.base.length))}${name}`;
    // The body is text already, whose numbers keep their digits.
    return body === undefined ? `${text} }` : `${text}, "body": ${body.replaceAll("\n", "\n    ")} }`;
  };
  return { method: "POST", path: `${config.base}/batch`, body: `{\n  "steps": [\n    ${writes.map(step).join(",\n    ")}\n  ]\n}` };
}
