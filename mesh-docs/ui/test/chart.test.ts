import assert from "node:assert/strict";
import { test } from "node:test";
import { barOf, lineOf, pointsOf, rangeOf } from "../src/chart/series";
import { parseJson } from "../src/query/json";

function points(source: string, keys: string[], aggregate: string) {
  return pointsOf(parseJson(source), source, keys, aggregate);
}

test("groups are points with their keys and exact values", () => {
  const source = '[{"author": {"name": "Ada"}, "n": 9007199254740993}, {"author": null, "n": null}]';
  const found = points(source, ["author.name"], "n");
  assert.deepEqual(found.map(({ label, text }) => [label, text]), [["Ada", "9007199254740993"], ["", "null"]]);
  assert.equal(found[1]?.value, null);
});

test("bars begin at zero, on both sides of it", () => {
  const range = rangeOf(points('[{"k": 1, "n": 30}, {"k": 2, "n": -10}]', ["k"], "n"));
  assert.deepEqual(range, [-10, 30]);
  assert.deepEqual(barOf(30, range), { from: 25, width: 75 });
  assert.deepEqual(barOf(-10, range), { from: 0, width: 25 });
  assert.deepEqual(rangeOf([]), [0, 1]);
});

test("a line is in the order of its times", () => {
  const source = '[{"t": "2024-01-03", "n": 4}, {"t": null, "n": 1}, {"t": "2024-01-01", "n": 2}, {"t": "2024-01-02", "n": 0}]';
  const found = lineOf(points(source, ["t"], "n"));
  assert.deepEqual(found.map(({ x, y }) => [x, y]), [[0, 50], [50, 100], [100, 0]]);
});
