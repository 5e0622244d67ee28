// How a value is shown in one line of a table.

import type { Json } from "../query/json";
import { isNumeric } from "../query/types";
import { describeBinary } from "./binary";
import { count } from "../format";

/** The most characters of a value in a cell. */
const SHOWN_MAX = 240;

export interface CellText {
  text: string;
  /** How the text is colored and aligned. */
  kind: "text" | "number" | "null" | "truth" | "binary" | "nested" | "missing";
  /** Whether there is more to see than the text. */
  hasMore: boolean;
}

function cut(text: string): CellText {
  const line = text.slice(0, SHOWN_MAX).replaceAll(/\s+/g, " ");
  return { text: line, kind: "text", hasMore: text.length > 60 || line !== text };
}

export function cellText(json: Json | undefined, type: string | undefined, source: string): CellText {
  if (json === undefined) return { text: "", kind: "missing", hasMore: false };
  switch (json.kind) {
    case "string":
      if (type === "binary") return { text: describeBinary(json.value).label, kind: "binary", hasMore: true };
      if (isNumeric(type)) return { text: json.value, kind: "number", hasMore: false };
      return cut(json.value);
    case "number":
      return { text: json.raw, kind: "number", hasMore: false };
    case "word":
      return { text: String(json.value), kind: json.value === null ? "null" : "truth", hasMore: false };
    case "array":
      return { text: count(json.items.length, "item"), kind: "nested", hasMore: true };
    case "object":
      return { ...cut(source.slice(json.from, Math.min(json.to, json.from + SHOWN_MAX))), kind: "nested", hasMore: true };
  }
}
