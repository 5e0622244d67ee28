//! Tests of the catalog: it is complete, and an odd object does not hide the others.

use mesh_schema::FieldType::{self, *};
use mesh_schema::{Catalog, CellKinds, Column, ForeignKey, Table, TimeForm};
use rusqlite::Connection;

use super::read;

fn made_by(sql: &str) -> (Catalog, Vec<std::string::String>) {
    let mut connection = Connection::open_in_memory().unwrap();
    connection.execute_batch(sql).unwrap();
    let (mut catalog, notes) = read(&mut connection, &[]).unwrap();
    // The declarations are tested here, not the values.
    let columns = catalog.tables.iter_mut().flat_map(|table| &mut table.columns);
    columns.for_each(|column| column.sampled = CellKinds::default());
    (catalog, notes)
}

/// Returns the only table of a database whose catalog has no notes.
fn table(sql: &str) -> Table {
    let (catalog, notes) = made_by(sql);
    assert_eq!(notes, [""; 0]);
    assert_eq!(catalog.tables.len(), 1);
    catalog.tables.into_iter().next().unwrap()
}

fn names(catalog: &Catalog) -> Vec<&str> {
    catalog.tables.iter().map(|table| table.name.as_str()).collect()
}

fn find<'c>(catalog: &'c Catalog, name: &str) -> &'c Table {
    catalog.tables.iter().find(|table| table.name == name).unwrap()
}

fn column(name: &str, ty: Option<FieldType>, nullable: bool) -> Column {
    // A real may be infinite.
    Column { name: name.to_owned(), ty, nullable, not_finite: ty == Some(Number), ..Column::default() }
}

/// Returns a column that cannot be written.
fn fixed(name: &str, ty: Option<FieldType>, nullable: bool) -> Column {
    Column { generated: true, ..column(name, ty, nullable) }
}

fn foreign_key(columns: &[&str], target: &str, target_columns: &[&str]) -> ForeignKey {
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    ForeignKey {
        columns: owned(columns),
        target_schema: None,
        target: target.to_owned(),
        target_columns: owned(target_columns),
    }
}

#[test]
fn an_empty_database_has_no_tables() {
    let (catalog, notes) = made_by("");
    assert_eq!((catalog.tables, notes), (vec![], vec![]));
}

#[test]
fn an_ordinary_table_is_read_completely() {
    let table = table(
        "CREATE TABLE user (id INTEGER PRIMARY KEY, email TEXT NOT NULL UNIQUE, age INT, score REAL,
           photo BLOB, price DECIMAL(10,2), active BOOLEAN NOT NULL, extra JSON, anything, at TIME)",
    );
    let expected = Table {
        name: "user".to_owned(),
        columns: vec![
            column("id", Some(Integer), false),
            Column { required: true, ..column("email", Some(String), false) },
            column("age", Some(Integer), true),
            column("score", Some(Number), true),
            column("photo", Some(Binary), true),
            column("price", Some(Decimal), true),
            Column { required: true, ..column("active", Some(Boolean), false) },
            column("extra", Some(Json), true),
            column("anything", None, true),
            column("at", None, true),
        ],
        primary_key: vec!["id".to_owned()],
        integer_key: Some("id".to_owned()),
        unique: vec![vec!["email".to_owned()]],
        row_id: Some("rowid".to_owned()),
        ..Table::default()
    };
    assert_eq!(table, expected);
}

#[test]
fn odd_names_are_kept_as_they_are() {
    let (catalog, notes) = made_by(
        r#"CREATE TABLE "order ""details""; --" ("group" DATETIME UNIQUE, "größe 'x'" DATE, "a.b" DATETIME, "" INT);
           INSERT INTO "order ""details""; --" VALUES ('2024-01-01T00:00:00Z', '2024-01-01', '2024-01-01 00:00:00', 1);
           CREATE TABLE "select" ("from" INTEGER PRIMARY KEY, "Straße" REFERENCES "order ""details""; --" ("group"));
           CREATE VIEW "ансамбль" AS SELECT "größe 'x'" FROM "order ""details""; --";"#,
    );
    assert_eq!(notes, [""; 0]);
    assert_eq!(names(&catalog), ["order \"details\"; --", "select", "ансамбль"]);
    let [orders, select, view] = catalog.tables.as_slice() else { panic!("three tables") };
    let column_names: Vec<&str> = orders.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(column_names, ["group", "größe 'x'", "a.b", ""]);
    assert_eq!(orders.columns[0].time_form, Some(TimeForm::Text { separator: 'T', fraction: 0, zulu: true }));
    assert_eq!(
        orders.columns[2].time_form,
        Some(TimeForm::Text { separator: ' ', fraction: 0, zulu: false })
    );
    assert_eq!(orders.unique, [["group"]]);
    assert_eq!(select.foreign_keys, [foreign_key(&["Straße"], "order \"details\"; --", &["group"])]);
    assert_eq!(view.columns, [fixed("größe 'x'", Some(Date), true)]);
}

#[test]
fn keys_are_in_key_order_and_nullable_if_sqlite_allows_it() {
    let composite = table("CREATE TABLE t (a TEXT, b INT NOT NULL, c INT, PRIMARY KEY (c, a))");
    assert_eq!(composite.primary_key, ["c", "a"]);
    let nullable: Vec<bool> = composite.columns.iter().map(|column| column.nullable).collect();
    assert_eq!(nullable, [true, false, true]);

    let keyless = table("CREATE TABLE t (a TEXT)");
    assert_eq!(keyless.primary_key, [""; 0]);
    assert_eq!(keyless.row_id.as_deref(), Some("rowid"));

    let cases = [
        ("id INTEGER PRIMARY KEY", false),
        ("id INTEGER PRIMARY KEY AUTOINCREMENT", false),
        ("id INTEGER, PRIMARY KEY (id DESC)", false),
        ("id INTEGER PRIMARY KEY DESC", true),
        ("id INTEGER PRIMARY KEY DESC NOT NULL", false),
        ("id INT PRIMARY KEY", true),
        ("id TEXT PRIMARY KEY", true),
    ];
    for (columns, nullable) in cases {
        let table = table(&format!("CREATE TABLE t ({columns})"));
        assert_eq!(table.columns[0].nullable, nullable, "{columns}");
        assert_eq!(table.primary_key, ["id"], "{columns}");
        assert_eq!(table.unique, Vec::<Vec<std::string::String>>::new(), "{columns}");
    }
}

#[test]
fn tables_without_row_id_have_none_and_a_key_without_null() {
    let table = table("CREATE TABLE t (a TEXT, b TEXT, c TEXT, PRIMARY KEY (b, a)) WITHOUT ROWID");
    assert_eq!(table.row_id, None);
    assert_eq!(table.primary_key, ["b", "a"]);
    let nullable: Vec<bool> = table.columns.iter().map(|column| column.nullable).collect();
    assert_eq!(nullable, [false, false, true]);
}

#[test]
fn strict_tables_are_read_like_others() {
    let table = table("CREATE TABLE t (k TEXT PRIMARY KEY, n INT, b BLOB, x ANY) STRICT");
    let expected = [
        Column { required: true, ..column("k", Some(String), false) },
        column("n", Some(Integer), true),
        column("b", Some(Binary), true),
        column("x", None, true),
    ];
    assert_eq!(table.columns, expected);
}

#[test]
fn the_row_id_has_a_name_that_no_column_hides() {
    assert_eq!(table("CREATE TABLE t (RowId TEXT)").row_id.as_deref(), Some("_rowid_"));
    assert_eq!(table("CREATE TABLE t (rowid, _ROWID_)").row_id.as_deref(), Some("oid"));
    assert_eq!(table("CREATE TABLE t (rowid, _rowid_, OID)").row_id, None);
    assert_eq!(table("CREATE TABLE t (a, oid AS (a))").row_id.as_deref(), Some("rowid"));
}

#[test]
fn generated_columns_are_columns_that_writes_leave_out() {
    let table = table("CREATE TABLE t (a INT, b TEXT AS (a || ''), c REAL NOT NULL AS (a * 2) STORED)");
    let expected =
        [column("a", Some(Integer), true), fixed("b", Some(String), true), fixed("c", Some(Number), false)];
    assert_eq!(table.columns, expected);
}

#[test]
fn a_column_that_cannot_be_computed_is_left_out_alone() {
    // The program that created such a database defines a function that this program lacks.
    let (catalog, notes) = made_by(
        "CREATE TABLE t (a INT, b INT AS (abs(a)), UNIQUE (a, b), UNIQUE (a));
         PRAGMA writable_schema = ON;
         UPDATE sqlite_schema SET sql = replace(sql, 'abs', 'private') WHERE name = 't';
         PRAGMA writable_schema = RESET;",
    );
    assert_eq!(catalog.tables[0].columns, [column("a", Some(Integer), true)]);
    assert_eq!(catalog.tables[0].unique, [["a"]]);
    assert_eq!(notes, ["Column 't.b' is left out: unknown function: private()"]);
}

#[test]
fn unique_keys_have_plain_columns_and_cover_all_rows() {
    let table = table(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a, b, c, d, UNIQUE (a, b), UNIQUE (c COLLATE NOCASE));
         CREATE UNIQUE INDEX whole ON t (d);
         CREATE UNIQUE INDEX again ON t (d DESC);
         CREATE UNIQUE INDEX key ON t (id);
         CREATE UNIQUE INDEX partial ON t (b) WHERE a > 1;
         CREATE UNIQUE INDEX expression ON t (a, lower(b));
         CREATE UNIQUE INDEX expression_first ON t (lower(b), a);
         CREATE INDEX plain ON t (b);",
    );
    assert_eq!(table.unique, [vec!["a", "b"], vec!["c"], vec!["d"]]);
}

#[test]
fn foreign_keys_are_in_the_order_of_their_declaration() {
    let (catalog, notes) = made_by(
        "CREATE TABLE Author (Id INTEGER PRIMARY KEY, Region, Code, UNIQUE (Region, Code));
         CREATE TABLE post (
           id INTEGER PRIMARY KEY, writer REFERENCES AUTHOR, editor REFERENCES author (ID), parent REFERENCES post (id),
           region, code, ghost REFERENCES nowhere (key),
           FOREIGN KEY (code, region) REFERENCES author (code, region),
           FOREIGN KEY (region, code) REFERENCES nowhere);",
    );
    assert_eq!(notes, [""; 0]);
    let expected = [
        foreign_key(&["writer"], "Author", &[]),
        foreign_key(&["editor"], "Author", &["Id"]),
        foreign_key(&["parent"], "post", &["id"]),
        foreign_key(&["ghost"], "nowhere", &["key"]),
        foreign_key(&["code", "region"], "Author", &["Code", "Region"]),
        foreign_key(&["region", "code"], "nowhere", &[]),
    ];
    assert_eq!(find(&catalog, "post").foreign_keys, expected);
}

#[test]
fn columns_of_views_have_the_types_of_their_sources() {
    let (catalog, _) = made_by(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT NOT NULL, born DATE);
         CREATE VIEW plain AS SELECT id, name AS label, born FROM t;
         CREATE VIEW mixed (n, double, again) AS SELECT count(*), max(id) * 2, max(born) FROM t;
         CREATE VIEW twice AS SELECT one.id, other.id FROM t one, t other;",
    );
    let plain = find(&catalog, "plain");
    let expected = [
        fixed("id", Some(Integer), true),
        fixed("label", Some(String), true),
        fixed("born", Some(Date), true),
    ];
    assert_eq!(plain.columns, expected);
    assert_eq!((plain.row_id.as_ref(), plain.primary_key.len()), (None, 0));
    let expected = [fixed("n", None, true), fixed("double", None, true), fixed("again", None, true)];
    assert_eq!(find(&catalog, "mixed").columns, expected);
    let expected = [fixed("id", Some(Integer), true), fixed("id:1", Some(Integer), true)];
    assert_eq!(find(&catalog, "twice").columns, expected);
}

#[test]
fn broken_views_are_left_out_with_a_reason() {
    let (catalog, notes) = made_by(
        "CREATE TABLE t (a INT);
         CREATE VIEW lost AS SELECT * FROM gone;
         CREATE VIEW lost_too (x) AS SELECT missing FROM t;
         CREATE VIEW on_lost AS SELECT * FROM lost;
         CREATE VIEW round AS SELECT * FROM circle;
         CREATE VIEW circle AS SELECT * FROM round;
         CREATE VIEW few (a, b) AS SELECT a FROM t;
         CREATE VIEW good AS SELECT a FROM t;",
    );
    assert_eq!(names(&catalog), ["t", "good"]);
    let expected = [
        "View 'lost' is left out: no such table: main.gone",
        "View 'lost_too' is left out: no such column: missing",
        "View 'on_lost' is left out: no such table: main.gone",
        "View 'round' is left out: view round is circularly defined",
        "View 'circle' is left out: view circle is circularly defined",
        "View 'few' is left out: expected 2 columns for 'few' but got 1",
    ];
    assert_eq!(notes, expected);
}

#[test]
fn virtual_tables_are_read_without_their_shadow_tables() {
    let (catalog, notes) = made_by(
        "CREATE TABLE book (id INTEGER PRIMARY KEY, title TEXT);
         CREATE VIRTUAL TABLE search USING fts5(title, body);
         CREATE VIRTUAL TABLE old USING fts4(title);
         CREATE VIRTUAL TABLE place USING rtree(id, low, high);
         CREATE VIRTUAL TABLE orphan USING fts5(title, content='gone');
         INSERT INTO search VALUES ('a', 'b');",
    );
    assert_eq!(names(&catalog), ["book", "old", "place"]);
    let expected = [
        "FTS5 table 'search' is left out: it has no 'content' table",
        "FTS5 table 'orphan' is left out: it has no 'content' table",
    ];
    assert_eq!(notes, expected);
    let old = find(&catalog, "old");
    assert_eq!(old.columns, [column("title", None, true)]);
    assert_eq!(old.row_id.as_deref(), Some("rowid"));
    assert_eq!(find(&catalog, "place").columns.len(), 3);
}

#[test]
fn fts5_tables_are_indexes_of_their_content_tables() {
    let index = |options: &str| {
        let (catalog, notes) = made_by(&format!(
            "CREATE TABLE \"my 'posts'\" (Id INTEGER PRIMARY KEY, Title TEXT, body TEXT, \"a, b\" TEXT, other INT);
             CREATE TABLE pairs (x INTEGER, y TEXT, PRIMARY KEY (x, y)); CREATE TABLE numbers (x INT PRIMARY KEY, y TEXT);
             CREATE TABLE shadowing (id INTEGER PRIMARY KEY, rowid INT, a TEXT);
             CREATE TABLE hiding (oid TEXT, id INTEGER PRIMARY KEY); CREATE VIEW seen AS SELECT * FROM hiding;
             CREATE VIRTUAL TABLE IF NOT EXISTS main.\"found, \"\"x\"\"\" USING fts5({options});"
        ));
        assert!(catalog.tables.iter().all(|table| !table.name.starts_with("found")));
        let mut indexes = catalog.tables.iter().flat_map(|table| &table.text_indexes);
        let found = indexes.next().map(|index| {
            assert_eq!(index.name, "found, \"x\"");
            assert_eq!(find(&catalog, "my 'posts'").integer_key.as_deref(), Some("Id"));
            index.columns.join("|")
        });
        found.ok_or_else(|| notes.join(";"))
    };
    let fits = [
        ("title, body, content='my ''posts''', content_rowid='id'", "Title|body"),
        ("title, content=\"MY 'posts'\", content_rowid=\"ID\"", "Title"),
        ("[body], `title`, content=[my 'posts'], content_rowid=[id]", "body|Title"),
        (
            "\"a, b\", 'body', tokenize=\"unicode61 tokenchars '-_'\", content=`my 'posts'`, content_rowid=`id`",
            "a, b|body",
        ),
        ("title, body UNINDEXED, 'a, b' unindexed, content='my ''posts'''", "Title"),
        (
            "title, prefix=2, columnsize=0, detail=full, Content = 'my ''posts''' , content_rowid = ROWID",
            "Title",
        ),
    ];
    for (options, columns) in fits {
        assert_eq!(index(options), Ok(columns.to_owned()), "{options}");
    }
    let unfit = [
        ("title", "no 'content' table"),
        ("title, content=''", "no 'content' table"),
        ("x, content=seen, content_rowid=id", "no INTEGER PRIMARY KEY"),
        ("title, content='my ''posts''', content_rowid=other", "no INTEGER PRIMARY KEY"),
        ("oid, content=hiding, content_rowid=oid", "no INTEGER PRIMARY KEY"),
        ("a, content=shadowing", "no INTEGER PRIMARY KEY"),
        ("y, content=pairs", "no INTEGER PRIMARY KEY"),
        ("y, content=numbers, content_rowid=x", "no INTEGER PRIMARY KEY"),
        ("title, nothing, content='my ''posts'''", "lacks one of its columns"),
        ("title, content='my ''posts''', detail=column", "finds no phrases"),
    ];
    for (options, why) in unfit {
        let note = index(options).unwrap_err();
        assert!(note.contains(why), "{options}: {note}");
    }
}

#[test]
fn tables_of_missing_modules_and_with_broken_names_are_left_out() {
    let mut connection = Connection::open_in_memory().unwrap();
    connection
        .execute_batch(
            "CREATE TABLE t (a INT); CREATE TABLE broken (a INT); CREATE TABLE inside (strange INT);
             PRAGMA writable_schema = ON;
             INSERT INTO sqlite_schema VALUES
               ('table', 'alien', 'alien', 0, 'CREATE VIRTUAL TABLE alien USING no_such_module(x)');
             UPDATE sqlite_schema SET name = CAST(x'62ff' AS TEXT), tbl_name = CAST(x'62ff' AS TEXT),
               sql = 'CREATE TABLE \"b' || CAST(x'ff' AS TEXT) || '\" (a INT)' WHERE name = 'broken';
             UPDATE sqlite_schema SET sql = 'CREATE TABLE inside (\"c' || CAST(x'ff' AS TEXT) || '\" INT)'
               WHERE name = 'inside';
             PRAGMA writable_schema = RESET;",
        )
        .unwrap();
    let (catalog, notes) = read(&mut connection, &[]).unwrap();
    assert_eq!(names(&catalog), ["t"]);
    assert_eq!(notes.len(), 3, "{notes:#?}");
    assert_eq!(notes[0], "Table 'b\u{fffd}' is left out: its name is not UTF-8");
    assert!(notes[1].starts_with("Table 'inside' is left out: "), "{}", notes[1]);
    assert_eq!(notes[2], "Virtual table 'alien' is left out: no such module: no_such_module");
}

#[test]
fn attached_databases_are_ignored() {
    let (catalog, notes) = made_by(
        "CREATE TABLE t (a INT);
         CREATE TEMP TABLE t (b TEXT, at DATETIME);
         CREATE TEMP TABLE other (c);
         ATTACH ':memory:' AS second;
         CREATE TABLE second.third (d);",
    );
    assert_eq!(names(&catalog), ["t"]);
    assert_eq!(catalog.tables[0].columns, [column("a", Some(Integer), true)]);
    assert_eq!(notes, [""; 0]);
}

#[test]
fn an_open_transaction_stays_open() {
    let mut connection = Connection::open_in_memory().unwrap();
    connection.execute_batch("CREATE TABLE t (a INT)").unwrap();
    read(&mut connection, &[]).unwrap();
    assert!(connection.is_autocommit());
    connection.execute_batch("BEGIN; CREATE TABLE u (a INT)").unwrap();
    assert_eq!(names(&read(&mut connection, &[]).unwrap().0), ["t", "u"]);
    assert!(!connection.is_autocommit());
}
