// The differences between two states of a watched record or list.

import { member, type Json } from "../query/json";

export interface Change {
  kind: "added" | "removed" | "changed";
  /** What has changed: ids of records and names of members. */
  path: string[];
  /** The values as text, of a change. */
  from?: string;
  to?: string;
}

/** A state with the text that its values refer to. */
export interface State {
  source: string;
  data: Json;
}

const TEXT_MAX = 80;

function textOf(json: Json | undefined, source: string): string {
  const text = json ? source.slice(json.from, json.to) : "";
  return text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)}…` : text;
}

/** Returns the text of the key of a record: of the first of these members that it has. */
function keyOf(record: Json, source: string, names: readonly string[]): string | undefined {
  const parts = names.map((name) => member(record, name)).filter((json) => json !== undefined);
  return parts.length === names.length && parts.length > 0 ? parts.map((json) => textOf(json, source)).join(",") : undefined;
}

/** Returns the items of a list by their keys; by their positions if they have no key, or not a distinct one. */
function byKey(items: readonly Json[], source: string, names: readonly string[]): Map<string, Json> {
  const keyed = new Map(items.map((item, index) => [keyOf(item, source, names) ?? keyOf(item, source, ["id"]) ?? `#${index + 1}`, item]));
  return keyed.size === items.length ? keyed : new Map(items.map((item, index) => [`#${index + 1}`, item]));
}

/** Returns what differs between two states. Records of lists are compared by the members `names`, or by `id`. */
export function changesBetween(before: State, after: State, names: readonly string[]): Change[] {
  const found: Change[] = [];
  const compare = (one: Json | undefined, other: Json | undefined, path: string[]): void => {
    if (one?.kind === "object" && other?.kind === "object") {
      const keys = new Set([...one.members.map(({ key }) => key), ...other.members.map(({ key }) => key)]);
      for (const key of keys) compare(member(one, key), member(other, key), path.length === 0 && key === "items" ? path : [...path, key]);
      return;
    }
    if (one?.kind === "array" && other?.kind === "array") {
      const [old, now] = [byKey(one.items, before.source, names), byKey(other.items, after.source, names)];
      for (const [key, item] of old) if (now.has(key)) compare(item, now.get(key), [...path, key]);
      for (const key of old.keys()) if (!now.has(key)) found.push({ kind: "removed", path: [...path, key] });
      for (const key of now.keys()) if (!old.has(key)) found.push({ kind: "added", path: [...path, key] });
      return;
    }
    const [from, to] = [one ? before.source.slice(one.from, one.to) : "", other ? after.source.slice(other.from, other.to) : ""];
    if (from !== to) found.push({ kind: "changed", path, from: textOf(one, before.source), to: textOf(other, after.source) });
  };
  compare(before.data, after.data, []);
  // Cursors differ with every row at an edge of the page.
  return found.filter(({ path }) => path[0] !== "pageInfo" || path[1] === "totalCount");
}
