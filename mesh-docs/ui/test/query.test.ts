// Tests of parsing, printing, editing and completion of queries.

import assert from "node:assert/strict";
import { test } from "node:test";
import { contextAt } from "../src/query/cursor";
import { isSelected, toggle, withCursor } from "../src/query/edit";
import { parseValue, readFilter, writeFilter } from "../src/query/filter";
import { readGrouping, writeGrouping } from "../src/query/group";
import { formatJson, parseJson } from "../src/query/json";
import { locate } from "../src/query/locate";
import { printCompact, printQuery } from "../src/query/print";
import { readQuery } from "../src/query/read";
import type { Schema } from "../src/schema";
import { lines } from "../src/sql";

const schema = {
  entities: [
    { name: "post", fields: ["id", "title"].map((name) => ({ name, kind: "scalar" })), joins: [{ name: "author", entity: "user", type: "one" }], idField: "id", listCapable: true },
    { name: "user", fields: ["id", "name"].map((name) => ({ name, kind: "scalar" })), joins: [{ name: "posts", entity: "post", type: "many" }], idField: "id", listCapable: true },
  ],
} as unknown as Schema;

test("what is printed reads back the same", () => {
  const texts = [
    '{"post":{"$select":{"id":true,"author":{"$select":{"name":true,"posts":{"$select":{"id":true},"$page":{"first":2}}}}},"$where":{"field":"id","op":"in","value":[1,9007199254740993,1.50]}}}',
    '{"post":{"$select":{},"$aggregate":{"n":{"fn":"count"}},"$having":{"aggregate":"n","op":"gt","value":1e3}}}',
  ];
  for (const text of texts) {
    const query = readQuery("json", text);
    assert.ok(query);
    assert.equal(printCompact(query), text);
    assert.equal(printCompact(readQuery("json", printQuery("json", query))!), text);
  }
});

test("both forms of the brace format are read", () => {
  for (const text of ["{ post id author { name } }", "{ post { id\n author{name} } }"]) {
    assert.equal(printCompact(readQuery("ql", text)!), '{"post":{"$select":{"id":true,"author":{"$select":{"name":true}}}}}');
  }
  for (const text of ["", "{ post }", "{ post { id }", "{ post id } x", "{ post { } }", "{ post $id }"]) {
    assert.equal(readQuery("ql", text), undefined, text);
  }
});

test("hostile texts are refused, not fatal", () => {
  assert.equal(readQuery("json", "[".repeat(100_000)), undefined);
  assert.equal(readQuery("json", '{"a":'.repeat(10_000)), undefined);
  assert.equal(readQuery("json", '{"post": {"$select": {"id": true}},}'), undefined);
});

test("a click adds, and another takes away", () => {
  const empty = undefined;
  const one = toggle(schema, empty, "post", ["author"], "name");
  assert.equal(printCompact(one), '{"post":{"$select":{"author":{"$select":{"name":true}}}}}');
  const two = toggle(schema, one, "post", ["author", "posts"], "title");
  assert.ok(isSelected(two, "post", ["author", "posts"], "title"));
  // What is left without fields goes too.
  assert.equal(printCompact(toggle(schema, toggle(schema, two, "post", ["author", "posts"], "title"), "post", ["author"], "name")), '{"post":{"$select":{}}}');
  assert.equal(toggle(schema, two, "user", [], "id").entity, "user");
});

test("the next page keeps everything but the cursor", () => {
  const query = readQuery("json", '{"post":{"$select":{"id":true},"$page":{"first":2}}}')!;
  assert.equal(printCompact(withCursor(query, "abc")), '{"post":{"$select":{"id":true},"$page":{"first":2,"after":"abc"}}}');
});

test("filters go through the forms unharmed", () => {
  const texts = ['{"and":[{"field":"a","op":"eq","value":1},{"not":{"or":[{"field":"b","op":"isNull"},{"field":"c","op":"in","value":["x"]}]}}]}'];
  for (const text of texts) {
    const filter = readFilter(JSON.parse(text));
    assert.ok(filter);
    assert.equal(JSON.stringify(writeFilter(filter)), text);
  }
  assert.equal(readFilter({ aggregate: "n", op: "gt", value: 1 }), undefined);
  assert.deepEqual(parseValue("1, 2,", "integer", "in"), [1, 2]);
  assert.equal(parseValue("12", "string", "eq"), "12");
  assert.equal(parseValue("true", "boolean", "eq"), true);
});

test("grouping by forms keeps the query whole", () => {
  const entity = schema.entities[0]!;
  const query = readQuery("json", '{"post":{"$select":{"id":true,"author":{"$select":{"name":true}}},"$orderBy":[{"field":"id","direction":"asc"}]}}')!;
  const grouped = writeGrouping(query, entity, { keys: ["title"], aggregates: [{ alias: "n", fn: "count", field: "", distinct: false }] });
  assert.equal(printCompact(grouped), '{"post":{"$select":{"title":true},"$groupBy":["title"],"$aggregate":{"n":{"fn":"count"}}}}');
  assert.deepEqual(readGrouping(grouped.root).keys, ["title"]);
  assert.equal(printCompact(writeGrouping(grouped, entity, { keys: [], aggregates: [] })), '{"post":{"$select":{"id":true,"title":true}}}');
});

test("the place at the cursor is known while the text is not yet a query", () => {
  const at = (text: string) => contextAt("json", text, text.length);
  assert.deepEqual(at('{"po')?.path, []);
  assert.deepEqual(at('{"post": {"$select": {"id": true, "author": {"$select": {"na')?.path, ["post", "$select", "author", "$select"]);
  assert.deepEqual(at('{"post": {"$select": {"id": true, ti')?.before, ["id"]);
  assert.equal(at('{"post": {"$where": {"field": "')?.key, "field");
  assert.deepEqual(at('{"post": {"$orderBy": [{"direction": ')?.path, ["post", "$orderBy", "[]"]);
  assert.deepEqual(at('{"post": {"$groupBy": ["')?.path, ["post", "$groupBy"]);
  assert.equal(at('{"post": {"$select": {"id": true ti')?.comma, '{"post": {"$select": {"id": true'.length);
  const ql = (text: string) => contextAt("ql", text, text.length);
  assert.deepEqual(ql("{ post { id author { na")?.path, ["post", "author"]);
  assert.deepEqual(ql("{ post id ti")?.path, ["post"]);
  assert.deepEqual(ql("{ po")?.path, []);
});

test("faults are found by place or by name", () => {
  const text = '{"post": {"$select": {"id": true, "author": {"$select": {"nam": true}}}, "$where": {"field": "nam", "op": "eq", "value": 1}}}';
  const marked = (fault: Parameters<typeof locate>[2]) => {
    const { from, to } = locate("json", text, fault);
    return [from, text.slice(from, to)];
  };
  assert.deepEqual(marked({ message: "Field 'nam' not found on entity 'user'", path: "post.author" }), [text.indexOf("nam"), "nam"]);
  assert.deepEqual(marked({ message: "Field 'nam' not found on entity 'post'", path: "post" }), [text.lastIndexOf("nam"), "nam"]);
  assert.deepEqual(marked({ message: "…", line: 1, column: 3 }), [2, "post"]);
  assert.equal(locate("ql", "{ post \u{1F600}x }", { message: "…", line: 1, column: 9 }).from, 9);
});

test("numbers are shown as they came", () => {
  const source = '{"items":[{"id":9007199254740993,"ratio":1.50,"text":"a\\u00e9"}]}';
  const shown = '{\n  "items": [\n    { "id": 9007199254740993, "ratio": 1.50, "text": "a\\u00e9" }\n  ]\n}';
  assert.equal(formatJson(parseJson(source), source), shown);
});

test("statements are laid out by clause and lose nothing", () => {
  const sql = 'SELECT "a"."id", count(*) FROM "a" WHERE ("x" = ? AND "y" = 1) AND "t" LIKE \'from where\' ORDER BY "a"."id" ASC LIMIT $1';
  const shown = lines(sql).map((line) => line.map((token) => token.text).join(""));
  assert.equal(shown.length, 6);
  assert.equal(shown.map((line) => line.trim()).join(" "), sql);
});
