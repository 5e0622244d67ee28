import assert from "node:assert/strict";
import { test } from "node:test";
import { parseRows } from "../src/write/rows";

const shown = (text: string): unknown[] => parseRows(text).rows.map((row) => Object.fromEntries(row));

test("CSV has a line of names, and quoted cells have any text", () => {
  assert.deepEqual(shown('title,likes\r\n"Slow ""bread"", and\nmore",3\r\n"",\r\n'), [{ title: 'Slow "bread", and\nmore', likes: "3" }, { title: "" }]);
  assert.deepEqual(parseRows("title,likes\nOne,1").names, ["title", "likes"]);
});

test("cells are separated by tabs, semicolons or commas, as the names are", () => {
  assert.deepEqual(shown("a\tb\n1,5\t2;5"), [{ a: "1,5", b: "2;5" }]);
  assert.deepEqual(shown("a;b\n1,5;2"), [{ a: "1,5", b: "2" }]);
  assert.deepEqual(shown("a\n1\n\n2"), [{ a: "1" }, { a: "2" }]);
});

test("JSON is an array of objects, or objects in lines", () => {
  const [first, second] = ['{"id": 9007199254740993, "title": null}', '{"id": 2, "tags": [1]}'];
  for (const text of [`[${first}, ${second}]`, `${first}\n${second}`]) {
    const [one, other] = parseRows(text).rows;
    assert.deepEqual([one?.get("id"), one?.get("title"), one?.has("tags")], ["9007199254740993", null, false]);
    assert.deepEqual(JSON.parse(other?.get("tags") ?? ""), [1]);
  }
});

test("what cannot be understood is named", () => {
  assert.throws(() => parseRows("a,b\n1,2,3"), /Row 1 has 3 cells/);
  assert.throws(() => parseRows('a\n"x'), /not closed/);
  assert.throws(() => parseRows('a\n"x"y'), /after a closing quote/);
  assert.throws(() => parseRows('[{"a": 1}, 2]'), /Row 2 is not an object/);
  assert.throws(() => parseRows('{"a": 1}\n{"a":'), /in line 2/);
});
