import assert from "node:assert/strict";
import { test } from "node:test";
import { stepsOf } from "../src/plan/steps";

const SLOW = { params: [], durationMs: 40, rows: 3 };
const FILTERED = 'SELECT "t0"."Title" FROM "Album" AS "t0" WHERE "t0"."Title" = ? ORDER BY "t0"."Year" DESC, "t0"."Id" ASC LIMIT ?';

test("a scan that an index would avoid is a problem", () => {
  const [scan, sort] = stepsOf({ ...SLOW, sql: FILTERED, queryPlan: ["SCAN t0", "USE TEMP B-TREE FOR ORDER BY"] });
  assert.equal(scan?.table, "Album");
  assert.equal(scan?.advice, 'CREATE INDEX "album_title_year_id" ON "Album" ("Title", "Year", "Id")');
  assert.equal(sort?.advice, scan?.advice);
});

test("fast statements and lists without a condition have no problem", () => {
  const fast = stepsOf({ ...SLOW, durationMs: 0.2, sql: FILTERED, queryPlan: ["SCAN t0"] });
  assert.deepEqual(fast.map(({ advice }) => advice), [undefined]);
  const all = stepsOf({ ...SLOW, sql: 'SELECT "t0"."Id" FROM "Album" AS "t0" ORDER BY "t0"."Id" ASC LIMIT ?', queryPlan: ["SCAN t0"] });
  assert.deepEqual(all.map(({ advice }) => advice), [undefined]);
});

test("the index of a step is named", () => {
  const sql = 'SELECT "t2"."Name" FROM "Track" AS "t2" WHERE "t2"."AlbumId" = ?';
  const steps = stepsOf({ ...SLOW, sql, queryPlan: ["SEARCH t2 USING INDEX IFK_TrackAlbumId (AlbumId=?)", "SEARCH t2 USING INTEGER PRIMARY KEY (rowid=?)"] });
  assert.deepEqual(steps.map(({ kind, table, index }) => [kind, table, index]), [
    ["index", "Track", "IFK_TrackAlbumId (AlbumId=?)"],
    ["index", "Track", "INTEGER PRIMARY KEY (rowid=?)"],
  ]);
});

test("plans of PostgreSQL are read", () => {
  const steps = stepsOf({
    ...SLOW,
    sql: FILTERED.replaceAll("?", "$1"),
    queryPlan: ["Limit  (cost=0.15..8.17 rows=1 width=36)", "  ->  Sort  (cost=1.00..2.00 rows=1)", '        Sort Key: "Year" DESC', '        ->  Seq Scan on "Album" t0  (cost=0.00..1.06 rows=1 width=4)', '  ->  Index Scan using "Album_pkey" on public."Album" t0  (cost=0.15..8.17 rows=1 width=36)'],
  });
  assert.deepEqual(steps.map(({ kind }) => kind), ["other", "sort", "other", "scan", "index"]);
  assert.equal(steps[3]?.advice, 'CREATE INDEX "album_title_year_id" ON "Album" ("Title", "Year", "Id")');
  assert.equal(steps[4]?.index, "Album_pkey");
});

test("the keys of parents are part of an index", () => {
  const sql = 'SELECT "t1"."Text" FROM "Comment" AS "t1" WHERE "t1"."PostId" IN (?, ?) ORDER BY "t1"."Id" ASC';
  const [scan] = stepsOf({ ...SLOW, sql, queryPlan: ["SCAN t1"] });
  assert.equal(scan?.advice, 'CREATE INDEX "comment_postid_id" ON "Comment" ("PostId", "Id")');
});
