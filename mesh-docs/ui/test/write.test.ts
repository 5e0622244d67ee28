import assert from "node:assert/strict";
import { test } from "node:test";
import { member, parseJson } from "../src/query/json";
import { bodyOf, inputOf, literal, withoutReferences } from "../src/write/body";

test("inputs are values of their types, and other text is sent as it is", () => {
  assert.equal(literal("7", "integer"), "7");
  assert.equal(literal("12345678901234567890", "integer"), "12345678901234567890");
  assert.equal(literal("many", "integer"), '"many"');
  assert.equal(literal("7", "string"), '"7"');
  assert.equal(literal("12.50", "decimal"), '"12.50"');
  assert.equal(literal("true", "boolean"), "true");
  assert.equal(literal('{"a": 1}', "json"), '{"a": 1}');
  assert.equal(literal("", "string"), '""');
  assert.equal(literal(null, "string"), "null");
});

test("a body has the changed fields only", () => {
  const body = bodyOf(new Map([["title", "One"], ["likes", "3"]]), (name) => (name === "likes" ? "integer" : "string"));
  assert.deepEqual(JSON.parse(body), { title: "One", likes: 3 });
  assert.equal(bodyOf(new Map(), () => undefined), "{}");
});

test("values of a record are shown as they are typed", () => {
  const source = '{"a": 9007199254740993, "b": null, "c": "x", "d": [1, 2]}';
  const data = parseJson(source);
  const shown = ["a", "b", "c", "missing"].map((name) => inputOf(member(data, name), source));
  assert.deepEqual(shown, ["9007199254740993", null, "x", null]);
  assert.deepEqual(JSON.parse(inputOf(member(data, "d"), source) ?? ""), [1, 2]);
});

test("texts of a batch that begin with a dollar are no references", () => {
  assert.equal(withoutReferences('{ "$a": "$5", "b": ["$$", "\\u0024x", "5$"], "c": "\\"$x" }'), '{ "$a": "$$5", "b": ["$$$", "$$x", "5$"], "c": "\\"$x" }');
});
