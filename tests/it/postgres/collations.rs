//! Orders, pages and conditions over texts with collations of a language, of ICU and of the system's library, some of which
//! treat different texts as equal.

use mesh_tests::{Cluster, Request, Server, TempDir};
use serde_json::{Value, json};

/// A collation of each kind, by the name of its column.
const COLLATIONS: [(&str, &str); 7] = [
    ("bytes", "\"C\""),
    ("lib", "\"C.utf8\""),
    ("english", "\"en-x-icu\""),
    ("swedish", "\"sv-x-icu\""),
    ("numeric", "numeric_order"),
    ("folded", "no_case"),
    ("bare", "no_accent"),
];

/// Texts that collations order differently, treat as equal, or compare beyond their letters.
const TEXTS: [Option<&str>; 22] = [
    Some("a"),
    Some("A"),
    Some("b"),
    Some("B"),
    Some("ä"),
    Some("Ä"),
    Some("z"),
    Some("Z"),
    Some("ö"),
    Some("o"),
    Some("co-op"),
    Some("coop"),
    Some("CO-OP"),
    Some("file10"),
    Some("file9"),
    Some("résumé"),
    Some("resume"),
    Some("Resume"),
    Some("straße"),
    Some("strasse"),
    Some(""),
    None,
];

fn tables() -> String {
    let columns: Vec<_> =
        COLLATIONS.iter().map(|(name, collation)| format!("{name} text COLLATE {collation}")).collect();
    let mut sql = format!(
        "CREATE COLLATION no_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
         CREATE COLLATION no_accent (provider = icu, locale = 'und-u-ks-level1', deterministic = false);
         CREATE COLLATION numeric_order (provider = icu, locale = 'en-u-kn-true');
         CREATE TABLE words (id integer PRIMARY KEY, parent integer, {});\n",
        columns.join(", ")
    );
    // Each text twice, so that there are ties that only the id breaks.
    for (index, text) in TEXTS.iter().chain(&TEXTS).enumerate() {
        let literal = text.map_or_else(|| "NULL".to_owned(), |text| format!("'{text}'"));
        let cells = vec![literal; COLLATIONS.len()].join(", ");
        sql += &format!("INSERT INTO words VALUES ({index}, {}, {cells});\n", index % 3);
    }
    for (name, _) in COLLATIONS {
        sql += &format!("CREATE INDEX ON words ({name}, id);\n");
    }
    sql + "ANALYZE words;"
}

struct Site {
    server: Server,
    cluster: Cluster,
    _folder: TempDir,
}

impl Site {
    fn start() -> Option<Self> {
        let cluster = Cluster::start()?;
        let url = cluster.database("site", &tables());
        let folder = TempDir::new();
        let fields: Vec<_> = ["id", "parent"].into_iter().chain(COLLATIONS.map(|(name, _)| name)).collect();
        let schema = json!({
            "entities": {"word": {"fields": fields, "writable": true}},
            "joins": {"word.alike": {"entity": "word", "type": "many", "on": "words.folded = words.folded"}}
        });
        let schema = folder.write("schema.json", &schema.to_string());
        let server = Server::start(&["--database", &url, "--schema", &schema, "--mutations"]);
        Some(Self { server, cluster, _folder: folder })
    }

    fn list(&self, node: &Value) -> Value {
        let query = json!({"word": node}).to_string();
        let reply = self.server.send(&Request::post("/mesh", &json!({"query": query}).to_string()));
        assert_eq!(reply.status, 200, "{query}: {}", reply.text());
        reply.json()
    }

    /// Returns the first column of the rows of a statement.
    fn query(&self, sql: &str) -> Vec<String> {
        let rows = self.cluster.query_in("site", sql).unwrap();
        rows.lines().map(str::to_owned).collect()
    }

    /// Follows the cursors of a list and returns the values of a field.
    fn walk(&self, mut node: Value, field: &str, first: usize) -> Vec<String> {
        node["$page"] = json!({"first": first});
        let mut found = Vec::new();
        loop {
            let page = self.list(&node);
            let items = page["items"].as_array().unwrap();
            found.extend(items.iter().map(|item| match &item[field] {
                Value::String(text) => text.clone(),
                value => value.to_string(),
            }));
            assert!(found.len() <= 2 * TEXTS.len(), "the walk does not end: {node}");
            if page["pageInfo"]["hasNextPage"] == false {
                return found;
            }
            node["$page"]["after"] = page["pageInfo"]["endCursor"].clone();
        }
    }
}

#[test]
fn pages_follow_the_collation_of_their_column() {
    let Some(site) = Site::start() else { return };
    for (column, _) in COLLATIONS {
        for (direction, nulls) in [("asc", "last"), ("desc", "last"), ("asc", "first"), ("desc", "first")] {
            let order = json!([{"field": column, "direction": direction, "nulls": nulls}]);
            let expected = site.query(&format!(
                "SELECT id FROM words ORDER BY {column} {direction} NULLS {nulls}, id {direction}"
            ));
            for first in [1, 7] {
                let node = json!({"$select": {"id": true}, "$orderBy": order});
                assert_eq!(site.walk(node, "id", first), expected, "{column} {direction} {nulls} {first}");
            }
        }
        // With a second key, in both directions, and below a condition.
        for direction in ["asc", "desc"] {
            let order =
                json!([{"field": "parent", "direction": "asc"}, {"field": column, "direction": direction}]);
            let condition = json!({"field": column, "op": "gte", "value": "b"});
            let expected = site.query(&format!(
                "SELECT id FROM words WHERE {column} >= 'b' ORDER BY parent, {column} {direction}, id {direction}"
            ));
            let node = json!({"$select": {"id": true}, "$where": condition, "$orderBy": order});
            assert_eq!(site.walk(node, "id", 3), expected, "{column} {direction}");
        }
    }
}

#[test]
fn equal_texts_are_those_of_the_collation() {
    let Some(site) = Site::start() else { return };
    for (column, _) in COLLATIONS {
        let mut conditions = Vec::new();
        for text in TEXTS.into_iter().flatten() {
            for (op, sql) in [("eq", "="), ("ne", "<>"), ("lt", "<"), ("gte", ">=")] {
                conditions.push((op, json!(text), format!("{column} {sql} '{text}'")));
            }
            for (op, sql) in [("in", "IN"), ("nin", "NOT IN")] {
                conditions.push((op, json!([text, "coop"]), format!("{column} {sql} ('{text}', 'coop')")));
            }
        }
        // One statement, since each starts a process.
        let found = conditions.iter().map(|(.., condition)| {
            format!(
                "(SELECT coalesce(string_agg(id::text, ' ' ORDER BY id), '-') FROM words WHERE {condition})"
            )
        });
        let expected = site.query(&format!("SELECT unnest(ARRAY[{}])", found.collect::<Vec<_>>().join(", ")));
        assert_eq!(expected.len(), conditions.len());
        for ((op, value, condition), expected) in conditions.into_iter().zip(expected) {
            let node = json!({"$select": {"id": true}, "$where": {"field": column, "op": op, "value": value},
                "$orderBy": [{"field": "id", "direction": "asc"}]});
            let found = site.walk(node, "id", 44).join(" ");
            assert_eq!(found, expected.trim_matches('-'), "{condition}");
        }
        // Groups, and pages of groups.
        let groups =
            json!({"$select": {column: true}, "$groupBy": [column], "$aggregate": {"n": {"fn": "count"}}});
        let expected = site.query(&format!("SELECT count(*) FROM words GROUP BY {column} ORDER BY {column}"));
        assert_eq!(site.walk(groups, "n", 2), expected, "{column}");
        let distinct = json!({"$select": {column: true}, "$distinct": [column]});
        assert_eq!(site.walk(distinct, column, 2).len(), expected.len(), "{column}");
        let counted = json!({"$select": {}, "$aggregate": {
            "n": {"fn": "count", "field": column, "distinct": true},
            "min": {"fn": "min", "field": column}, "max": {"fn": "max", "field": column}
        }});
        let counted = &site.list(&counted)["items"][0];
        let expected = site.query(&format!("SELECT count(DISTINCT {column}) FROM words"));
        assert_eq!(counted["n"].to_string(), expected[0], "{column}");
    }
    let alike = json!({"$select": {"alike": {"$select": {"id": true}}}, "$where": {"field": "id", "op": "eq", "value": 0}});
    assert_eq!(site.list(&alike)["items"][0]["alike"].as_array().unwrap().len(), 4, "a and A, each twice");
}

/// Patterns match letter by letter: the database has no patterns over collations that treat texts as equal.
#[test]
fn patterns_compare_letters_under_every_collation() {
    let Some(site) = Site::start() else { return };
    for (column, _) in COLLATIONS {
        for (pattern, op, expected) in [
            ("a", "like", 2),
            ("a", "ilike", 4),
            ("%-%", "like", 4),
            ("r_sum_", "like", 4),
            ("r_sum_", "ilike", 6),
            ("ä", "ilike", 4),
            ("ÄX%", "ilike", 0),
        ] {
            let node =
                json!({"$select": {"id": true}, "$where": {"field": column, "op": op, "value": pattern}});
            assert_eq!(site.walk(node, "id", 40).len(), expected, "{column} {op} {pattern}");
        }
    }
}
