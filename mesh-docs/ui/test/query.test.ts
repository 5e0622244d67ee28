// Tests of parsing, printing, editing and completion of queries.

import assert from "node:assert/strict";
import { test } from "node:test";
import { inJson } from "../src/editor/offers";
import { contextAt } from "../src/query/cursor";
import { isSelected, rename, setAlias, setPlace, setWhere, toggle, withControlsOf, withCursor } from "../src/query/edit";
import { localFaults } from "../src/query/faults";
import { joinSearch, operatorsFor, parseValue, readFilter, showValue, splitSearch, writeFilter } from "../src/query/filter";
import { changeBucket, keyNames, readGrouping, writeGrouping } from "../src/query/group";
import { formatJson, parseJson } from "../src/query/json";
import { isMissingValue, locate } from "../src/query/locate";
import { parametersOf, paramsText, textsOf, valuesFor } from "../src/query/params";
import { printCompact, printQuery } from "../src/query/print";
import { readQuery } from "../src/query/read";
import { entityOfNode } from "../src/query/resolve";
import { fieldAt, pathFields, type Schema } from "../src/schema";
import { lines } from "../src/sql";

const schema = {
  entities: [
    { name: "post", fields: ["id", "title"].map((name) => ({ name, kind: "scalar" })), joins: [{ name: "author", entity: "user", type: "one" }], idField: "id", listCapable: true },
    { name: "user", fields: ["id", "name"].map((name) => ({ name, kind: "scalar" })), joins: [{ name: "posts", entity: "post", type: "many" }], idField: "id", listCapable: true },
  ],
} as unknown as Schema;

/** The blog with types, relations of both kinds and JSON, for relational queries. */
const field = (name: string, type: string) => ({ name, type, kind: "scalar" });
const blog = {
  query: { controls: ["$select", "$where", "$orderBy", "$page", "$distinct", "$groupBy", "$aggregate", "$having"], filterOperators: ["eq", "in", "like", "isNull"], aggregateFunctions: ["count", "max"] },
  entities: [
    {
      name: "post",
      fields: [field("id", "integer"), field("title", "string"), field("meta", "json"), field("at", "datetime"), field("day", "date")],
      search: true,
      joins: [
        { name: "author", entity: "user", type: "one" },
        { name: "comments", entity: "comment", type: "many" },
      ],
      idField: "id",
    },
    { name: "user", fields: [field("id", "integer"), field("name", "string")], joins: [{ name: "manager", entity: "user", type: "one" }], idField: "id" },
    { name: "comment", fields: [field("id", "integer"), field("text", "string")], joins: [{ name: "user", entity: "user", type: "one" }], idField: "id" },
  ],
} as unknown as Schema;

test("what is printed reads back the same", () => {
  const texts = [
    '{"post":{"$select":{"headline":{"$field":"title"},"recent":{"$relation":"comments","$select":{"id":true},"$page":{"last":2}},"comments":{"$select":{},"$aggregate":{"n":{"fn":"count"}}}},"$page":{"first":{"$param":"n"},"total":true}}}',
    '{"post":{"$select":{"id":true,"author":{"$select":{"name":true,"posts":{"$select":{"id":true},"$page":{"first":2}}}}},"$where":{"field":"id","op":"in","value":[1,9007199254740993,1.50]}}}',
    '{"post":{"$select":{"tag":{"$field":"meta","at":"/tags/0"},"whole":{"$field":"meta","at":""}},"$where":{"field":"meta","op":"hasAny","value":["x"]}}}',
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

test("relation conditions, places and parameters go through the forms unharmed", () => {
  const texts = [
    '{"relation":"comments","op":"none"}',
    '{"and":[{"relation":"comments","op":"every","where":{"or":[{"field":"user.name","op":"eq","value":"x"},{"relation":"user","op":"some"}]}},{"field":"meta","at":"/a/0","op":"in","value":["5",5,true]}]}',
    '{"field":"id","op":"in","value":[1,{"$param":"n"}]}',
    '{"field":"id","op":"eq","value":{"$param":"n"}}',
  ];
  for (const text of texts) assert.equal(JSON.stringify(writeFilter(readFilter(JSON.parse(text))!)), text);
  for (const wrong of [{ relation: "comments" }, { relation: "comments", op: "some", where: [] }, { field: "a", at: 1, op: "eq" }]) {
    assert.equal(readFilter(wrong), undefined);
  }
  const typed = (value: Parameters<typeof showValue>[0], type: string) => parseValue(showValue(value, type), type, Array.isArray(value) ? "in" : "eq");
  for (const value of ["5", 5, "true", true, "x", '"x"', ["5", 5, "b"]]) assert.deepEqual(typed(value, "place"), value);
  assert.deepEqual(typed([1, { $param: "n" }], "integer"), [1, { $param: "n" }]);
});

test("the forms offer the operators of a type", () => {
  const all = ["eq", "gt", "in", "like", "isNull", "has", "hasAny"];
  assert.deepEqual(operatorsFor("json", all), ["isNull", "has", "hasAny"]);
  assert.deepEqual(operatorsFor("place", all), all);
  assert.deepEqual(operatorsFor("uuid", all), ["eq", "in", "isNull"]);
  assert.deepEqual(parseValue("x, 1, true", "json", "hasAny"), ["x", 1, true]);
});

test("a search stands beside other conditions", () => {
  const words = { kind: "search" as const, text: "rust -slow" };
  const written = (text: string) => {
    const { search, rest } = splitSearch(readFilter(JSON.parse(text)));
    return [search?.text, rest && JSON.stringify(writeFilter(rest))];
  };
  const [likes, id] = ['{"field":"likes","op":"gt","value":1}', '{"field":"id","op":"eq","value":{"$param":"n"}}'];
  assert.deepEqual(written('{"search":"rust"}'), ["rust", undefined]);
  assert.deepEqual(written(`{"and":[${likes},{"search":{"$param":"q"}}]}`), [{ $param: "q" }, likes]);
  assert.deepEqual(written(`{"and":[{"search":"rust"},${likes},${id}]}`), ["rust", `{"and":[${likes},${id}]}`]);
  const other = `{"or":[{"search":"rust"},{"relation":"comments","op":"some","where":{"search":"x"}}]}`;
  assert.deepEqual(written(other), [undefined, other]);
  const joined = (rest: string) => JSON.stringify(writeFilter(joinSearch(words, readFilter(JSON.parse(rest)))!));
  assert.equal(joined("null"), '{"search":"rust -slow"}');
  assert.equal(joined(likes), `{"and":[{"search":"rust -slow"},${likes}]}`);
  assert.equal(joined(`{"and":[${likes},${id}]}`), `{"and":[{"search":"rust -slow"},${likes},${id}]}`);
  assert.equal(joined(other), `{"and":[{"search":"rust -slow"},${other}]}`);
  // The order by relevance goes with the search.
  const query = readQuery("json", `{"post":{"$select":{"id":true},"$where":{"search":"x"},"$orderBy":[{"search":"relevance"},{"field":"id","direction":"asc"}]}}`)!;
  assert.deepEqual(setWhere(query, [], { and: [{ search: "y" }, JSON.parse(likes)] }).root.controls["$orderBy"], query.root.controls["$orderBy"]);
  assert.equal(printCompact(setWhere(query, [], undefined)), '{"post":{"$select":{"id":true},"$orderBy":[{"field":"id","direction":"asc"}]}}');
  assert.deepEqual(parametersOf(blog, readQuery("json", '{"post":{"$select":{"id":true},"$where":{"or":[{"search":{"$param":"q"}}]}}}')), [{ name: "q", type: "string", op: "eq" }]);
});

test("searches out of place are marked", () => {
  const faults = (node: string) => localFaults(blog, "json", `{"post":{"$select":{"id":true},${node}}}`).map(({ message }) => message);
  const relevance = '"$orderBy":[{"search":"relevance"}]';
  assert.deepEqual(faults(`"$where":{"and":[{"search":"x"},{"relation":"comments","op":"none"}]},${relevance}`), []);
  assert.match(faults('"$where":{"relation":"author","op":"some","where":{"search":"x"}}').join(), /'user' cannot be searched/);
  assert.match(faults('"$where":{"not":{"and":[{"search":"x"}]}}').join(), /below 'not'/);
  assert.match(faults(`"$where":{"or":[{"search":"x"}]},${relevance}`).join(), /one search/);
  assert.match(faults('"$where":{"search":"x"},"$orderBy":[{"field":"id","direction":"asc"},{"search":"relevance"}]').join(), /first key/);
});

test("aliases are added, renamed, followed and taken away", () => {
  const query = readQuery("json", '{"post":{"$select":{"id":true}}}')!;
  const [post, , comment] = blog.entities;
  const one = setAlias(blog, query, [], post!, "title");
  assert.equal(printCompact(one), '{"post":{"$select":{"id":true,"title2":{"$field":"title"}}}}');
  const two = setAlias(blog, one, [], post!, "comments", one.root.select[1]);
  assert.equal(printCompact(two), '{"post":{"$select":{"id":true,"comments2":{"$relation":"comments","$select":{"id":true}}}}}');
  const named = rename(two, [], "comments2", "recent");
  assert.equal(entityOfNode(blog, named, ["recent"]), comment);
  const deep = toggle(blog, named, "post", ["recent", "user"], "name");
  assert.equal(entityOfNode(blog, deep, ["recent", "user"])?.name, "user");
  assert.equal(printCompact(deep), '{"post":{"$select":{"id":true,"recent":{"$relation":"comments","$select":{"id":true,"user":{"$select":{"name":true}}}}}}}');
  const part = setPlace(one, [], "title2", "a");
  assert.equal(printCompact(part), '{"post":{"$select":{"id":true,"title2":{"$field":"title","at":"/a"}}}}');
  assert.deepEqual(setPlace(part, [], "title2", ""), one);
  // A chosen name stays when the alias becomes one of another relation.
  assert.match(printCompact(setAlias(blog, named, [], post!, "author", named.root.select[1])), /"recent":\{"\$relation":"author"/);
  assert.equal(printCompact(toggle(blog, named, "post", [], "recent")), '{"post":{"$select":{"id":true}}}');
});

test("the brace format and back keeps aliases and aggregates", () => {
  const text =
    '{"post":{"$select":{"title":true,"a":{"$field":"title"},"recent":{"$relation":"comments","$select":{"id":true},"$page":{"last":2}},"comments":{"$select":{},"$aggregate":{"n":{"fn":"count"}}}},"$page":{"first":1}}}';
  const query = readQuery("json", text)!;
  const ql = printQuery("ql", query);
  assert.equal(ql.replaceAll(/\s+/g, " ").trim(), "{ post { title comments { id } } }");
  assert.equal(printCompact(withControlsOf(readQuery("ql", ql)!, query)), text);
});

test("a relation is grouped or one object of aggregates", () => {
  const query = readQuery("json", '{"post":{"$select":{"comments":{"$select":{"id":true},"$orderBy":[{"field":"id","direction":"asc"}],"$page":{"first":2}}}}}')!;
  const comment = blog.entities[2]!;
  const count = { alias: "n", fn: "count", field: "", distinct: false };
  const one = writeGrouping(query, ["comments"], comment, { keys: [], buckets: [], aggregates: [count] });
  assert.equal(printCompact(one), '{"post":{"$select":{"comments":{"$select":{},"$aggregate":{"n":{"fn":"count"}}}}}}');
  const groups = writeGrouping(one, ["comments"], comment, { keys: ["text"], buckets: [], aggregates: [count] });
  assert.equal(printCompact(groups), '{"post":{"$select":{"comments":{"$select":{"text":true},"$groupBy":["text"],"$aggregate":{"n":{"fn":"count"}}}}}}');
  // Groups of a relation need aggregates, and a relation without them selects fields.
  const none = writeGrouping(groups, ["comments"], comment, { keys: ["text"], buckets: [], aggregates: [] });
  assert.equal(printCompact(none), '{"post":{"$select":{"comments":{"$select":{"id":true,"text":true}}}}}');
  // It has no selection, and stays when a field beside it goes.
  assert.equal(printCompact(toggle(blog, toggle(blog, one, "post", [], "title"), "post", [], "title")), printCompact(one));
});

test("paths lead through relations to one record", () => {
  const post = blog.entities[0];
  const paths = (chosen: string) => pathFields(blog, post, chosen).map(({ path }) => path);
  assert.deepEqual(paths(""), ["id", "title", "meta", "at", "day", "author.id", "author.name"]);
  assert.deepEqual(paths("author.na").slice(-2), ["author.manager.id", "author.manager.name"]);
  assert.equal(fieldAt(blog, "post", "author.manager.name")?.type, "string");
  assert.equal(fieldAt(blog, "post", "comments.text"), undefined);
});

test("parameters have the types of their places", () => {
  const query = readQuery(
    "json",
    '{"post":{"$select":{"few":{"$relation":"comments","$select":{"id":true},"$where":{"field":"user.id","op":"in","value":{"$param":"users"}}}},"$where":{"and":[{"relation":"comments","op":"some","where":{"field":"text","op":"like","value":{"$param":"text"}}},{"field":"meta","at":"/a","op":"eq","value":{"$param":"at"}},{"field":"id","op":"in","value":[1,{"$param":"id"}]}]},"$page":{"first":{"$param":"n"},"after":{"$param":"cursor"}}}}',
  )!;
  const parameters = parametersOf(blog, query);
  const types = parameters.map(({ name, type, op }) => [name, type, op]);
  assert.deepEqual(types, [["text", "string", "like"], ["at", "place", "eq"], ["id", "integer", "eq"], ["n", "integer", "eq"], ["cursor", "cursor", "eq"], ["users", "integer", "in"]]);
  assert.equal(paramsText(parameters, {}), '{"cursor":null}');
  const texts = { text: "", at: '"5"', id: "9007199254740993", n: "2", users: "1, 2", cursor: "abc", other: "x" };
  const values = '{"text":"","at":"5","id":9007199254740993,"n":2,"cursor":"abc","users":[1,2]}';
  assert.equal(paramsText(parameters, texts), values);
  const { other: _, ...shown } = texts;
  assert.deepEqual(textsOf(parameters, values), shown);
  // The next page has a cursor in place of the parameter.
  assert.equal(valuesFor(withCursor(query, "def"), values), '{"text":"","at":"5","id":9007199254740993,"n":2,"users":[1,2]}');
  assert.equal(valuesFor(readQuery("json", '{"post":{"$select":{"id":true}}}'), values), undefined);
});

test("skipped records are followed by the cursor after them", () => {
  const query = readQuery("json", '{"post":{"$select":{"id":true},"$page":{"first":2,"skip":4}}}')!;
  assert.equal(printCompact(withCursor(query, "abc")), '{"post":{"$select":{"id":true},"$page":{"first":2,"after":"abc"}}}');
});

test("pages from the end are followed by the cursor before them", () => {
  const query = readQuery("json", '{"post":{"$select":{"id":true},"$page":{"last":2,"total":true}}}')!;
  assert.equal(printCompact(withCursor(query, "abc")), '{"post":{"$select":{"id":true},"$page":{"last":2,"total":true,"before":"abc"}}}');
});

/** Returns the labels that completion offers at the end of a text. */
function offered(text: string, isPoint = false): string[] {
  const cursor = contextAt("json", text, text.length);
  assert.ok(cursor, text);
  const around = { schema: blog, format: "json" as const, query: readQuery("json", '{"post":{"$select":{},"$aggregate":{"n":{"fn":"count"}},"$page":{"first":{"$param":"size"}}}}'), isPoint };
  return inJson(blog, cursor, around, text.slice(cursor.from)).map(({ label }) => label);
}

test("completion knows relational queries", () => {
  const cases: [string, string[], string[]][] = [
    ['{"post": {"$where": {"', ["field", "relation", "and"], []],
    ['{"post": {"$where": {"field": "author.', ["author.name", "author.manager.name"], ["comments.text"]],
    ['{"post": {"$where": {"relation": "', ["author", "comments"], ["title"]],
    ['{"post": {"$where": {"relation": "comments", "', ["op", "where"], ["value", "field"]],
    ['{"post": {"$where": {"relation": "comments", "op": "', ["some", "none", "every"], ["eq"]],
    ['{"post": {"$where": {"and": [{"relation": "comments", "op": "some", "where": {"field": "', ["text", "user.name"], ["title"]],
    ['{"post": {"$where": {"field": "meta", "', ["at", "op", "value"], ["and", "relation"]],
    ['{"post": {"$where": {"field": "id", "op": "eq", "value": ', ['{ "$param": … }'], []],
    ['{"post": {"$where": {"field": "id", "op": "eq", "value": {"', ["$param"], ["field"]],
    ['{"post": {"$where": {"field": "id", "op": "eq", "value": {"$param": "', ["size"], []],
    ['{"post": {"$where": {"field": "id", "op": "in", "value": [', ['{ "$param": … }'], []],
    ['{"post": {"$where": {"', ["search"], []],
    ['{"post": {"$where": {"not": {"', ["field"], ["search"]],
    ['{"post": {"$where": {"search": ', ['{ "$param": … }'], []],
    ['{"post": {"$where": {"search": {"', ["$param"], ["field"]],
    ['{"user": {"$where": {"', ["field"], ["search"]],
    ['{"post": {"$where": {"relation": "comments", "op": "some", "where": {"', ["field"], ["search"]],
    ['{"post": {"$orderBy": [{"', ["search"], []],
    ['{"post": {"$orderBy": [{"search": "', ["relevance"], []],
    ['{"post": {"$select": {"comments": {"$orderBy": [{"', ["field"], ["search"]],
    ['{"post": {"$orderBy": [{"', ["field", "relation"], []],
    ['{"post": {"$orderBy": [{"field": "author.', ["author.name"], []],
    ['{"post": {"$orderBy": [{"relation": "', ["comments"], ["author"]],
    ['{"post": {"$orderBy": [{"relation": "comments", "', ["aggregate", "direction"], ["field"]],
    ['{"post": {"$orderBy": [{"relation": "comments", "aggregate": {"fn": "max", "field": "', ["text"], ["title", "user.name"]],
    ['{"post": {"$orderBy": [{"aggregate": "', ["n"], []],
    ['{"post": {"$page": {"', ["first", "after", "skip", "last", "before", "total"], []],
    ['{"post": {"$page": {"first": 1, "', ["after", "skip", "total"], ["last", "before"]],
    ['{"post": {"$page": {"after": null, "', ["first", "total"], ["skip", "last"]],
    ['{"post": {"$page": {"last": 1, "', ["before", "total"], ["first", "after"]],
    ['{"post": {"$page": {"before": ', ["null", '{ "$param": … }'], []],
    ['{"post": {"$select": {"mine": ', ['{ "$field": … }', '{ "$relation": … }'], ["true"]],
    ['{"post": {"$select": {"mine": {"', ["$field", "$relation"], ["$where"]],
    ['{"post": {"$select": {"mine": {"$relation": "', ["author", "comments"], []],
    ['{"post": {"$select": {"mine": {"$field": "', ["title"], []],
    ['{"post": {"$select": {"mine": {"$field": "title", "', ["at"], ["$relation"]],
    ['{"post": {"$select": {"mine": {"$relation": "comments", "', ["$select", "$where", "$aggregate", "$groupBy"], ["$field", "$distinct"]],
    ['{"post": {"$select": {"mine": {"$relation": "comments", "$select": {"', ["text", "user"], ["title"]],
    ['{"post": {"$select": {"comments": {"$page": {"', ["first", "last"], ["total"]],
    ['{"post": {"$select": {"author": {"', ["$select"], ["$where"]],
    ['{"post": {"$groupBy": ["', ["title"], ["author.name"]],
    ['{"post": {"$groupBy": [{"', ["field", "by", "as", "zone"], ["op"]],
    ['{"post": {"$groupBy": [{"field": "title", "by": "', ["month", "week"], ["title"]],
  ];
  for (const [text, wanted, unwanted] of cases) {
    const labels = offered(text);
    assert.deepEqual(wanted.filter((label) => !labels.includes(label)), [], `${text}: ${labels.join(" ")}`);
    assert.deepEqual(unwanted.filter((label) => labels.includes(label)), [], `${text}: ${labels.join(" ")}`);
  }
  assert.deepEqual(offered('{"post": {"', true), ["$select"]);
});

test("faults of parameters are found at their places", () => {
  const text = '{"post": {"$select": {"n": {"$field": "id"}}, "$where": {"field": "id", "op": "eq", "value": {"$param": "n"}}}}';
  const fault = { message: "The parameter 'n' has no value", path: "post", line: 1, column: 94 };
  const { from, to } = locate("json", text, fault);
  assert.deepEqual([text.slice(0, from).endsWith('"$param": '), text.slice(from, to)], [true, '"n"']);
  assert.ok(isMissingValue(fault) && !isMissingValue({ message: "The value of the parameter 'n' is wrong" }));
});

test("grouping by forms keeps the query whole", () => {
  const entity = schema.entities[0]!;
  const query = readQuery("json", '{"post":{"$select":{"id":true,"author":{"$select":{"name":true}}},"$orderBy":[{"field":"id","direction":"asc"}]}}')!;
  const grouped = writeGrouping(query, [], entity, { keys: ["title"], buckets: [], aggregates: [{ alias: "n", fn: "count", field: "", distinct: false }] });
  assert.equal(printCompact(grouped), '{"post":{"$select":{"title":true},"$groupBy":["title"],"$aggregate":{"n":{"fn":"count"}}}}');
  assert.deepEqual(readGrouping(grouped.root).keys, ["title"]);
  assert.equal(printCompact(writeGrouping(grouped, [], entity, { keys: [], buckets: [], aggregates: [] })), '{"post":{"$select":{"id":true,"title":true}}}');
});

test("periods of time are group keys with names of their own", () => {
  const post = blog.entities[0]!;
  const text = '{"post":{"$select":{"title":true,"month":true},"$orderBy":[{"field":"month","direction":"desc"}],"$groupBy":["title",{"field":"at","by":"month","as":"month","zone":"Europe/Berlin"}],"$aggregate":{"n":{"fn":"count"}}}}';
  const query = readQuery("json", text)!;
  const grouping = readGrouping(query.root);
  const [month] = grouping.buckets;
  assert.deepEqual(keyNames(grouping), ["title", "month"]);
  assert.equal(printCompact(writeGrouping(query, [], post, grouping)), text);
  const hour = changeBucket(month!, { by: "hour" }, "datetime", ["title"]);
  assert.deepEqual(hour, { field: "at", by: "hour", as: "hour", zone: "" });
  assert.deepEqual(changeBucket(hour, { field: "day" }, "date", ["day"]), { field: "day", by: "day", as: "day2", zone: "" });
  assert.equal(changeBucket({ ...hour, as: "start" }, { by: "week", zone: "UTC" }, "datetime", []).as, "start");
  const only = writeGrouping(query, [], post, { keys: [], buckets: [hour], aggregates: [] });
  assert.equal(printCompact(only), '{"post":{"$select":{"hour":true},"$groupBy":[{"field":"at","by":"hour","as":"hour"}]}}');
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
