// What the boxes of the diagram contain, and their sizes.

import { described, fieldTitle, idFields, typeText, type Entity } from "../schema";

export const LINE = 18;
export const HEAD = 28;
const PAD = 10;
/** The width of a character, in units of the picture. */
const CHAR = 7.3;
/** The most fields in a box; the others are counted. */
const FIELDS_MAX = 8;
/** The number of entities above which boxes have only their names. */
const DETAILED_MAX = 24;
/** The least width of a box. */
const WIDTH_MIN = 64;
const NAME_MAX = 30;

export interface BoxText {
  name: string;
  title: string;
  /** The whole name, with the description. */
  hint: string;
  lines: { name: string; type: string; hint: string; isKey: boolean }[];
  width: number;
  height: number;
}

function cut(text: string): string {
  return text.length > NAME_MAX ? `${text.slice(0, NAME_MAX - 1)}…` : text;
}

export function boxText(entity: Entity, shown: number): BoxText {
  const keys = idFields(entity);
  const fields = shown > DETAILED_MAX ? [] : entity.fields;
  const lines = fields.slice(0, FIELDS_MAX).map((field) => ({ name: cut(field.name), type: typeText(field), hint: fieldTitle(field), isKey: keys.includes(field.name) }));
  const rest = fields.length - lines.length;
  if (rest > 0) {
    const hidden = fields.slice(FIELDS_MAX).map(({ name }) => name);
    lines.push({ name: `and ${rest} more`, type: "", hint: hidden.join(", "), isKey: false });
  }
  const longest = Math.max(cut(entity.name).length * 1.1, ...lines.map(({ name, type }) => name.length + type.length + 2));
  return {
    name: entity.name,
    title: cut(entity.name),
    hint: described(entity),
    lines,
    width: Math.round(Math.max(WIDTH_MIN, longest * CHAR) + 2 * PAD),
    height: HEAD + (lines.length > 0 ? lines.length * LINE + PAD : 0),
  };
}
