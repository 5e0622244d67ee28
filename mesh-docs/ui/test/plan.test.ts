import assert from "node:assert/strict";
import { test } from "node:test";
import { stepsOf } from "../src/plan/steps";

const SLOW = { params: [], durationMs: 40, rows: 3 };
const FILTERED = 'SELECT "t0"."Title" FROM "Album" AS "t0" WHERE "t0"."Title" = ? ORDER BY "t0"."Year" DESC, "t0"."Id" ASC LIMIT ?';

test("a scan that an index would avoid is a problem", () => {
  const [scan, sort] = stepsOf({ ...SLOW, sql: FILTERED, queryPlan: ["SCAN t0", "USE TEMP B-TREE FOR ORDER BY"] });
  assert.equal(scan?.table, "Album");
  assert.equal(scan?.advice, 'CREATE INDEX "album_title_year_id" ON "Album" ("Title", "Year" DESC, "Id")');
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

const POSTGRES = `SELECT CAST("c1" AS text), "c2" FROM (SELECT "t0"."title" AS "c1", "t0"."event_id" AS "c2" FROM "public"."event" AS "t0" WHERE "t0"."kind" OPERATOR(pg_catalog.=) CAST($1 AS text) ORDER BY "t0"."title" DESC NULLS LAST, "t0"."event_id" DESC LIMIT 6) AS "q0"`;
const POSTGRES_PLAN = [
  "Limit  (cost=6964.46..6965.15 rows=6 width=16)",
  "  ->  Gather Merge  (cost=6964.46..7485.87 rows=4534 width=16)",
  "        Workers Planned: 1",
  "        ->  Sort  (cost=5964.45..5975.78 rows=4534 width=16)",
  "              Sort Key: t0.title DESC NULLS LAST, t0.event_id DESC",
  "              ->  Parallel Seq Scan on event t0  (cost=0.00..5883.18 rows=4534 width=16)",
  "                    Filter: (kind = 'kind 7'::text)",
];

test("plans of PostgreSQL are read", () => {
  const steps = stepsOf({ ...SLOW, sql: POSTGRES, queryPlan: POSTGRES_PLAN });
  assert.deepEqual(steps.map(({ kind }) => kind), ["other", "other", "other", "sort", "other", "scan", "other"]);
  const advice = 'CREATE INDEX "event_kind_title_event_id" ON "event" ("kind", "title" DESC NULLS LAST, "event_id" DESC)';
  assert.deepEqual(steps.map((step) => step.advice), [undefined, undefined, undefined, advice, undefined, advice, undefined]);
  assert.deepEqual(steps.map(({ indent }) => indent), [0, 6, 8, 12, 14, 18, 20]);
  const byIndex = stepsOf({ ...SLOW, sql: POSTGRES, queryPlan: ['Index Scan using "Album_pkey" on public."Album" t0  (cost=0.15..8.17 rows=1 width=36)', "  ->  Bitmap Index Scan on event_kind_idx  (cost=0.00..4.29 rows=1 width=0)"] });
  assert.deepEqual(byIndex.map(({ index }) => index), ["Album_pkey", "event_kind_idx"]);
});

test("cheap scans and sorts of PostgreSQL are no problem, nor those of all rows", () => {
  const plan = (sort: string, scan: string, filter: string): string[] => ["Limit  (cost=1.00..2.00 rows=6 width=16)", sort, "Sort Key: t0.title", scan, filter];
  const advised = (queryPlan: string[]): number => stepsOf({ ...SLOW, sql: POSTGRES, queryPlan }).filter(({ advice }) => advice !== undefined).length;
  const scan = (cost: string): string => `  ->  Seq Scan on event t0  (cost=0.00..${cost} rows=275 width=16)`;
  assert.equal(advised(plan("  ->  Sort  (cost=5.00..6.00 rows=275 width=16)", scan("5.47"), "Filter: (kind = 'kind 7'::text)")), 0);
  assert.equal(advised(plan("  ->  Sort  (cost=5.00..6.00 rows=275 width=16)", scan("883.18"), "->  Hash  (cost=3.59..3.60 rows=1 width=1)")), 0);
  assert.equal(advised(plan("  ->  Sort  (cost=5.00..6.00 rows=4534 width=16)", scan("883.18"), "Filter: (kind = 'kind 7'::text)")), 2);
});

test("an index has the columns that the order begins with, and their directions if they are mixed", () => {
  const advice = (order: string): string | undefined => stepsOf({ ...SLOW, sql: `SELECT "t0"."Id" FROM "Album" AS "t0" LEFT JOIN "Artist" AS "t1" ON "t1"."Id" = "t0"."ArtistId" ORDER BY ${order} LIMIT ?`, queryPlan: ["SCAN t0", "USE TEMP B-TREE FOR ORDER BY"] })[1]?.advice;
  assert.equal(advice('"t1"."Name" ASC, "t0"."Id" ASC'), undefined);
  assert.equal(advice('"t0"."Title" ASC NULLS LAST, "t0"."Id" ASC'), 'CREATE INDEX "album_title_id" ON "Album" ("Title", "Id")');
  assert.equal(advice('"t0"."Title" ASC, "t0"."Year" DESC, "t1"."Name" ASC'), 'CREATE INDEX "album_title_year" ON "Album" ("Title", "Year" DESC)');
});

test("the keys of parents are part of an index", () => {
  const sql = 'SELECT "t1"."Text" FROM "Comment" AS "t1" WHERE "t1"."PostId" IN (?, ?) ORDER BY "t1"."Id" ASC';
  const [scan] = stepsOf({ ...SLOW, sql, queryPlan: ["SCAN t1"] });
  assert.equal(scan?.advice, 'CREATE INDEX "comment_postid_id" ON "Comment" ("PostId", "Id")');
});
