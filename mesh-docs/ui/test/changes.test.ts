import assert from "node:assert/strict";
import { test } from "node:test";
import { parseJson } from "../src/query/json";
import { changesBetween, type Change } from "../src/watch/changes";

function between(before: string, after: string, names: string[] = []): string[] {
  const state = (source: string) => ({ source, data: parseJson(source) });
  const show = ({ kind, path, from, to }: Change): string => `${kind} ${path.join(".")}${kind === "changed" ? `: ${from} to ${to}` : ""}`;
  return changesBetween(state(before), state(after), names).map(show);
}

test("changed fields of a record are named with both values", () => {
  assert.deepEqual(between('{"title": "One", "likes": 1}', '{"title": "Two", "likes": 1}'), ['changed title: "One" to "Two"']);
  assert.deepEqual(between('{"title": "One"}', "null"), ['changed : {"title": "One"} to null']);
});

test("records of a list are compared by their ids", () => {
  const before = '{"items": [{"id": 1, "n": 1}, {"id": 2, "n": 2}], "pageInfo": {"endCursor": "a"}}';
  const after = '{"items": [{"id": 3, "n": 3}, {"id": 1, "n": 9}], "pageInfo": {"endCursor": "b"}}';
  assert.deepEqual(between(before, after), ["changed 1.n: 1 to 9", "removed 2", "added 3"]);
  assert.deepEqual(between('{"items": [{"slug": "a", "n": 1}]}', '{"items": [{"slug": "a", "n": 2}]}', ["slug"]), ['changed "a".n: 1 to 2']);
});

test("lists without distinct keys are compared by position", () => {
  assert.deepEqual(between('{"items": [{"n": 1}, {"n": 1}]}', '{"items": [{"n": 1}]}'), ["removed #2"]);
});

test("nested lists are compared in their record", () => {
  const before = '{"comments": [{"id": 1, "text": "a"}]}';
  assert.deepEqual(between(before, '{"comments": [{"id": 1, "text": "b"}, {"id": 2, "text": "c"}]}'), ['changed comments.1.text: "a" to "b"', "added comments.2"]);
});
