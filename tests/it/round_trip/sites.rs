//! A server over tables with columns of each type, whose schema is inferred.

use std::fmt::Write as _;

use mesh_tests::{Connection, Request, Response, Server, TempDir, encode, run};
use serde_json::Value;

use super::engine::{Client, ColumnType, Key};

/// Rows with random values, if the type has an expression for them.
const RANDOM: usize = 4;

/// The entities of a type.
pub(super) struct Tables<'t> {
    pub(super) ty: &'t ColumnType,
    /// The number in the names of its tables.
    number: usize,
    /// Rows with all values and NULL: fields `n`, the id, and `v`.
    pub(super) cells: String,
    /// The number of these rows.
    pub(super) count: usize,
    /// Rows with `v` as their id.
    pub(super) keys: Option<String>,
    /// Rows that refer to those: fields `n`, the id, and `v`.
    pub(super) references: Option<References>,
    /// Rows with the id `n`, `v`.
    pub(super) pairs: Option<String>,
}

/// An entity that refers to another one by `v`.
pub(super) struct References {
    pub(super) entity: String,
    /// The relation to the key.
    pub(super) one: String,
    /// The relation from the key.
    pub(super) many: String,
}

/// A value that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReadValue {
    /// Its JSON text.
    pub(super) json: String,
}

impl ReadValue {
    pub(super) fn is_null(&self) -> bool {
        self.json == "null"
    }

    /// Returns the text of the value in an id.
    pub(super) fn id(&self) -> String {
        match serde_json::from_str(&self.json) {
            Ok(Value::String(text)) => text,
            _ => self.json.clone(),
        }
    }

    /// Returns the value as a segment of a path.
    pub(super) fn segment(&self) -> String {
        escape(&self.id())
    }
}

/// Escapes a segment of a path.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

pub(super) struct Site<'t> {
    server: Server,
    connection: Connection,
    client: &'t dyn Client,
    database: String,
    pub(super) tables: Vec<Tables<'t>>,
    pub(super) faults: Vec<String>,
    _folder: TempDir,
}

impl<'t> Site<'t> {
    /// Creates tables for the types, and serves them.
    pub(super) fn start(client: &'t dyn Client, types: &[&'t ColumnType], prepare: &str, seed: u64) -> Self {
        let database = format!("laws{seed}");
        let statements: String =
            types.iter().enumerate().map(|(number, ty)| statements(number, ty, seed > 1)).collect();
        let url = client.create(&database, &format!("{prepare}{statements}"));
        let inferred = run(&["introspect", "--database", &url]);
        let errors = String::from_utf8_lossy(&inferred.stderr).into_owned();
        assert!(inferred.status.success(), "{errors}");
        let mut document: Value = serde_json::from_slice(&inferred.stdout).unwrap();
        for entity in document["entities"].as_object_mut().unwrap().values_mut() {
            entity["writable"] = true.into();
        }
        let (folder, mut faults) = (TempDir::new(), Vec::new());
        let schema = folder.write("schema.json", &document.to_string());
        let server = Server::start(&["--database", &url, "--schema", &schema, "--mutations"]);
        let connection = server.connect();
        let tables = types.iter().enumerate().map(|(number, ty)| {
            let entity = |table: &str| entity_of(&document, &format!("{table}{number}"));
            let keys = entity("keys").filter(|(_, is_readable)| *is_readable).map(|(name, _)| name);
            let is_key = matches!(ty.key, Key::Referable | Key::Single);
            if keys.is_some() != is_key {
                faults.push(format!("{}: {:?} is the entity with that key", ty.declared, keys));
            }
            let keys = keys.filter(|_| is_key);
            let references = keys.as_ref().and_then(|key| {
                let (entity, _) = entity("refs")?;
                let one = relation(&document, &entity, key)?;
                let many = relation(&document, key, &entity)?;
                Some(References { entity, one, many })
            });
            if ty.key == Key::Referable && references.is_none() {
                faults.push(format!("{}: no relations", ty.declared));
            }
            let (cells, _) = entity("cells").unwrap();
            let pairs = keys.as_ref().and_then(|_| entity("pairs")).map(|(name, _)| name);
            Tables { ty, number, cells, count: rows(ty, seed > 1).len() * 2 + 2, keys, references, pairs }
        });
        let tables = tables.collect();
        Self { server, connection, client, database, tables, faults, _folder: folder }
    }

    pub(super) fn send(&mut self, request: &Request) -> Response {
        self.connection.send(request)
    }

    /// Sends a read with that text as its query.
    pub(super) fn get(&mut self, path: &str, query: &str) -> Response {
        let request = Request::get(&self.server.path(path), query);
        self.send(&request)
    }

    /// Sends a read with parameters.
    pub(super) fn get_with(&mut self, path: &str, query: &str, params: &str) -> Response {
        let request = Request::get(&self.server.path(path), query).header("X-Mesh-Params", encode(params));
        self.send(&request)
    }

    /// Sends a write.
    pub(super) fn write(&mut self, method: &str, path: &str, body: &str) -> Response {
        let request =
            Request::new(method, &self.server.path(path)).header("Content-Type", "application/json");
        let request = if body.is_empty() { request } else { request.body(body) };
        self.send(&request)
    }

    /// Returns what the database's own client sees in one of the tables of a type.
    pub(super) fn stored(&self, table: &str, tables: &Tables<'_>) -> String {
        let (shown, number) = (tables.ty.shown, tables.number);
        self.client.rows(&self.database, &format!("SELECT n, {shown} FROM {table}{number} ORDER BY n"))
    }

    /// Reads the numbers and values of all records of an entity.
    pub(super) fn records(&mut self, entity: &str) -> Vec<(u64, ReadValue)> {
        let query = format!(r#"{{"{entity}":{{"$select":{{"n":true,"v":true}},"$page":{{"first":200}}}}}}"#);
        let text = self.get(&format!("/{entity}"), &query).text();
        let items =
            text.strip_prefix(r#"{"items":[{"n":"#).and_then(|rest| rest.rsplit_once(r#"}],"pageInfo""#));
        let Some((items, _)) = items else { panic!("{entity}: {text}") };
        // The text of a value must not change, so the values are not parsed.
        let record = |item: &str| {
            let (number, json) = item.split_once(r#","v":"#).unwrap();
            (number.parse().unwrap(), ReadValue { json: json.to_owned() })
        };
        items.split(r#"},{"n":"#).map(record).collect()
    }

    pub(super) fn fault(&mut self, ty: &ColumnType, what: &str, reply: &Response) {
        self.faults.push(format!("{}: {what}: {} {}", ty.declared, reply.status, reply.text()));
    }
}

impl Drop for Site<'_> {
    fn drop(&mut self) {
        // The server holds connections, and prints nothing when it is killed.
        self.server.signal("KILL");
        let _ = self.server.wait();
        if !std::thread::panicking() {
            self.client.remove(&self.database);
        }
    }
}

/// Returns the values of a type as SQL expressions.
fn rows(ty: &ColumnType, is_random: bool) -> Vec<&'static str> {
    let random = ty.random.filter(|_| is_random);
    let random = random.into_iter().flat_map(|random| std::iter::repeat_n(random, RANDOM));
    ty.values.iter().copied().chain(random).collect()
}

/// Returns the tables of a type. In `cells`, all values occur twice, and so does NULL.
fn statements(number: usize, ty: &ColumnType, is_random: bool) -> String {
    let (declared, values) = (ty.declared, rows(ty, is_random));
    let mut out =
        format!("CREATE TABLE cells{number} (n integer NOT NULL PRIMARY KEY, v {declared} NULL);\n");
    for (n, value) in values.iter().chain(&["NULL"]).chain(&values).chain(&["NULL"]).enumerate() {
        let _ = writeln!(out, "INSERT INTO cells{number} VALUES ({n}, {value});");
    }
    if ty.key != Key::Impossible {
        let _ = writeln!(
            out,
            "CREATE TABLE keys{number} (v {declared} NOT NULL PRIMARY KEY, n integer NOT NULL);
             CREATE TABLE pairs{number} (v {declared} NOT NULL, n integer NOT NULL, m integer, PRIMARY KEY (n, v));"
        );
        for (n, value) in values.iter().enumerate() {
            let _ = writeln!(
                out,
                "INSERT INTO keys{number} VALUES ({value}, {n});
                 INSERT INTO pairs{number} SELECT v, n, 0 FROM keys{number} WHERE n = {n};"
            );
        }
    }
    if ty.key == Key::Referable {
        let _ = writeln!(
            out,
            "CREATE TABLE refs{number} (n integer NOT NULL PRIMARY KEY, v {declared} NULL, FOREIGN KEY (v) REFERENCES keys{number} (v));
             INSERT INTO refs{number} SELECT n, v FROM keys{number};"
        );
    }
    out
}

/// Returns the name of the entity of a table, and whether it has an id.
fn entity_of(document: &Value, table: &str) -> Option<(String, bool)> {
    let entities = document["entities"].as_object().unwrap();
    let found = entities.iter().find(|(name, entity)| {
        entity["table"]
            .as_str()
            .map_or_else(|| format!("{name}s") == *table, |name| name.trim_matches('"').ends_with(table))
    })?;
    Some((found.0.clone(), found.1.get("idField").is_none_or(|id| !id.is_null())))
}

/// Returns the name of the relation from an entity to another.
fn relation(document: &Value, from: &str, to: &str) -> Option<String> {
    let joins = document["joins"].as_object()?;
    let found =
        joins.iter().find(|(name, join)| name.starts_with(&format!("{from}.")) && join["entity"] == to);
    Some(found?.0.split_once('.')?.1.to_owned())
}
