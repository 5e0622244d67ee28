// Binary values, which results have as base64.

import { size } from "../format";

/** The beginnings of known formats in base64, their names, and the media types that a browser shows. */
const FORMATS: [string, string, string?][] = [
  ["iVBORw0KGgo", "PNG image", "image/png"],
  ["/9j/", "JPEG image", "image/jpeg"],
  ["R0lGOD", "GIF image", "image/gif"],
  ["UklGR", "WebP image", "image/webp"],
  ["JVBERi0", "PDF"],
  ["UEsDB", "ZIP"],
  ["H4sI", "gzip"],
  ["KLUv/", "zstd"],
];

export interface Binary {
  /** The format, if it is known, and the size. */
  label: string;
  /** The media type of an image. */
  image?: string | undefined;
}

export function describeBinary(base64: string): Binary {
  const padding = base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0;
  const bytes = Math.max(0, Math.floor((base64.length * 3) / 4) - padding);
  const [, name = "binary", image] = FORMATS.find(([start]) => base64.startsWith(start)) ?? [];
  return { label: `${name}, ${size(bytes)}`, image };
}
