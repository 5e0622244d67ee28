//! Compares the results of memory, SQLite, PostgreSQL and MariaDB for one seed.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use mesh_plan::plan::{ComputedInputs, QuerySource};
use mesh_plan::{
    Context, Error, Limits, Mesh, MeshBuilder, Plan, RecordId, Request, ResolveError, Value, ValueRef,
};
use mesh_ql::Format;
use mesh_schema::{Catalog, CellKinds};
use mesh_sql::sqlite::Statements;
use mesh_sql::{mysql, postgres};
use rusqlite::Connection;
use serde_json::{Value as Json, json};

use super::data::{Database, Entity};
use super::dice::Dice;
use super::others::Others;
use super::params::{Parameterized, parameterized};
use super::query;
use super::tally::Tally;

/// Queries for each database in every run.
pub(crate) const QUERIES: usize = 12;
/// Queries for each database in longer runs, and for single seeds. Loading a database takes longer than all of them.
pub(crate) const MANY_QUERIES: usize = 100;

/// Compares the first queries of a seed. The error describes the first mismatch.
pub(crate) fn seed(seed: u64, queries: usize, verbose: bool, others: &Others) -> Result<Tally, String> {
    let mut dice = Dice::new(seed);
    let database = Database::random(&mut dice);
    let engines = Engines::new(seed, database, verbose, others);
    let mut tally = Tally::default();
    tally.add("databases", 1);
    for _ in 0..queries {
        tally.add("queries", 1);
        let root = dice.below(engines.database.entities.len());
        let entity = &engines.database.entities[root];
        if entity.points && dice.chance(15) {
            let node = query::point(&mut dice, &engines.database.entities, root);
            let id = point_id(&mut dice, &entity.ids);
            let text = json!({entity.key: node}).to_string();
            let body = engines.compare(&Request::point(Format::Json, &text, &id))?;
            let with_params =
                engines.with_params(entity.key, &node, &Json::Null, Some(RecordId::Text(&id)))?;
            if with_params != body {
                return Err(engines.describe(
                    &text,
                    Some(RecordId::Text(&id)),
                    &differs(&with_params, &body),
                ));
            }
            tally.add("results", 1);
        } else {
            let node = query::collection(&mut dice, &engines.database.entities, root);
            engines.walk(&mut dice, entity.key, node, &mut tally)?;
        }
    }
    for entity in &engines.database.entities {
        // The inputs of the function are not selected.
        let alone = json!({"$select": {FILLED: true}, "$page": {"first": 5}});
        let related = entity.relations.iter().map(|relation| {
            json!({"$select": {relation.name.as_str(): {"$select": {FILLED: true}}}, "$page": {"first": 2}})
        });
        for node in [alone].into_iter().chain(related) {
            let text = json!({entity.key: node}).to_string();
            engines.compare(&Request::collection(Format::Json, &text))?;
            tally.add("results", 1);
        }
    }
    Ok(tally)
}

/// The name of a computed field in code, which depends on all fields of its entity.
const FILLED: &str = "filled";

/// Adds a function that shows which fields of a record are not NULL.
fn with_function(builder: MeshBuilder, entity: &Entity) -> MeshBuilder {
    let names: Vec<String> = entity.fields.iter().map(|field| field.name.clone()).collect();
    let from = names.clone();
    builder.computed(
        format!("{}.{FILLED}", entity.key),
        from.iter().map(String::as_str),
        move |inputs: &ComputedInputs<'_>| {
            let mark = |name: &String| if inputs.value(name) == ValueRef::Null { '-' } else { '+' };
            names.iter().map(mark).collect::<String>()
        },
    )
}

/// Returns the id of a record as in a path, or a text that is not the id of any record.
pub(super) fn point_id(dice: &mut Dice, ids: &[Value]) -> String {
    let ids: Vec<_> = ids
        .iter()
        .filter_map(|id| match id {
            Value::Integer(id) => Some(id.to_string()),
            Value::Text(id) => Some(id.clone()),
            _ => None,
        })
        .collect();
    if ids.is_empty() || dice.chance(20) {
        return dice.pick(&["77", "seven", "", "1.0", "01", "' OR 1=1 --", "NULL", "+1"]).to_owned();
    }
    dice.pick(&ids)
}

/// A database in each of the engines.
struct Engines<'o> {
    postgres: Option<Mesh>,
    mysql: Option<Mesh>,
    others: &'o Others,
    seed: u64,
    verbose: bool,
    database: Database,
    memory: Mesh,
    sqlite: Mesh,
    /// Dropped last, after the file is closed.
    _folder: Folder,
}

impl<'o> Engines<'o> {
    fn new(seed: u64, database: Database, verbose: bool, others: &'o Others) -> Self {
        let folder = Folder::new("differential", seed);
        let path = folder.0.join("data.db");
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; BEGIN;").unwrap();
        connection
            .execute_batch(&database.scripts.sqlite)
            .unwrap_or_else(|error| panic!("seed {seed}: {error}\n{}", database.scripts.sqlite));
        connection.execute_batch("COMMIT").unwrap();
        drop(connection);

        let opened = mesh_sqlite::Database::open(&path).unwrap();
        let times = database.schema.document().time_columns();
        let catalog = without_samples(opened.contents(&times).unwrap().catalog);
        let schema = database.schema.clone().build_with(&catalog).unwrap_or_else(|faults| {
            panic!(
                "seed {seed}: {}\n{}\n{}",
                faults[0],
                database.schema.document().to_json(),
                database.scripts.sqlite
            )
        });
        let schema = Arc::new(schema);
        let secret = b"the secret of both servers";
        let many =
            mesh_ql::Limits { relation_conditions: 1_000, aggregate_sorts: 1_000, ..Default::default() };
        let limits = Limits { query: many, ..Limits::default() };
        let builder = |schema: &Arc<_>| {
            let builder = Mesh::builder(Arc::clone(schema)).cursor_secret(secret).limits(limits);
            database.entities.iter().fold(builder, with_function)
        };
        let postgres = others.postgres.as_ref().map(|served| {
            let (schema, opened) = served.open(&database, database.schema.document(), &catalog);
            builder(&Arc::new(schema)).default_resolver(opened).build().unwrap()
        });
        let mysql = others.mysql(seed).map(|served| {
            let (schema, opened) = served.open(&database, database.schema.document(), &catalog);
            builder(&Arc::new(schema)).default_resolver(opened).build().unwrap()
        });
        Self {
            postgres,
            mysql,
            others,
            memory: builder(&schema).default_resolver(database.tables.clone()).build().unwrap(),
            sqlite: builder(&schema).default_resolver(opened).build().unwrap(),
            seed,
            verbose,
            database,
            _folder: folder,
        }
    }

    /// Follows cursors to the end. All pages together have to be equal to one large page.
    fn walk(&self, dice: &mut Dice, entity: &str, mut node: Json, tally: &mut Tally) -> Result<(), String> {
        let backward = node["$page"]["last"].is_number();
        let (size, cursor, end, more) = match backward {
            false => ("first", "after", "endCursor", "hasNextPage"),
            true => ("last", "before", "startCursor", "hasPreviousPage"),
        };
        let mut whole = node.clone();
        whole["$page"] = json!({"first": 200, "total": true});
        let whole_text = json!({entity: whole}).to_string();
        let Some(whole) = self.compare(&Request::collection(Format::Json, &whole_text))? else {
            return Ok(());
        };
        tally.add("results", 1);
        let skipped = node["$page"]["skip"].as_u64().unwrap_or_default() as usize;
        let expected: Vec<Json> = items(&whole).into_iter().skip(skipped).collect();
        tally.add("skips", usize::from(skipped > 0));
        let mut read: Vec<Json> = Vec::new();
        let mut own_cursor = Json::Null;
        let pages_before = tally.count("later pages");
        loop {
            let text = json!({entity: node}).to_string();
            let Some(body) = self.compare(&Request::collection(Format::Json, &text))? else {
                return Err(self.describe(&text, None, "a page fails, but the whole list does not"));
            };
            tally.add("results", 1);
            let with_params = self.with_params(entity, &node, &own_cursor, None)?;
            if with_params.as_ref().map(without_cursors) != Some(without_cursors(&body)) {
                return Err(self.describe(&text, None, &differs(&with_params, &Some(body))));
            }
            own_cursor = with_params.map(|body| body["pageInfo"][end].clone()).unwrap_or_default();
            let page = items(&body);
            let more = body["pageInfo"][more] == json!(true);
            if more && page.is_empty() || read.len() > expected.len() {
                return Err(self.describe(&text, None, "the walk does not end"));
            }
            match backward {
                false => read.extend(page),
                true => drop(read.splice(..0, page)),
            }
            if !more {
                break;
            }
            tally.add("later pages", 1);
            // The size may change from page to page.
            if dice.chance(20) {
                node["$page"][size] = json!(1 + dice.below(4));
            }
            node["$page"].as_object_mut().unwrap().remove("skip");
            node["$page"][cursor] = body["pageInfo"][end].clone();
        }
        tally.add("rows", read.len());
        let walk = if backward { "walks backward" } else { "walks forward" };
        tally.add(walk, usize::from(tally.count("later pages") > pages_before));
        if read == expected {
            return Ok(());
        }
        let what = format!("the pages hold\n  {}\ninstead of\n  {}", json!(read), json!(expected));
        Err(self.describe(&whole_text, None, &what))
    }

    /// Returns the body of the query with parameters in place of its literals. Each plan is first made for other values.
    fn with_params(
        &self,
        entity: &str,
        node: &Json,
        cursor: &Json,
        id: Option<RecordId<'_>>,
    ) -> Result<Option<Json>, String> {
        let Parameterized { node, values, decoys } = parameterized(node, cursor);
        let text = json!({entity: node}).to_string();
        let mut request = Request::collection(Format::Json, &text);
        request.id = id;
        let context = Context::default();
        for mesh in [&self.memory, &self.sqlite].into_iter().chain(&self.postgres).chain(&self.mysql) {
            if let Ok(plan) = mesh.plan(&request.with_params(Some(&decoys))) {
                // The result is ignored.
                let _ = self.others.runtime.block_on(mesh.read(&plan, &context));
            }
        }
        self.compare(&request.with_params(Some(&values)))
    }

    /// Returns the body if all are equal; `None` if all fail with an allowed error.
    fn compare(&self, request: &Request<'_>) -> Result<Option<Json>, String> {
        let QuerySource::Text { text, .. } = request.query else { panic!("the query is a text") };
        let of = |mesh: &Mesh| -> Result<String, Error> {
            let body = self.others.runtime.block_on(mesh.read(&mesh.plan(request)?, &Context::default()))?;
            Ok(String::from_utf8(body.bytes.to_vec()).unwrap())
        };
        let (memory, sqlite) = (of(&self.memory), of(&self.sqlite));
        for (name, other) in [("PostgreSQL", &self.postgres), ("MariaDB", &self.mysql)] {
            if let Some(other) = other.as_ref().map(of)
                && shown(&other) != shown(&sqlite)
            {
                let what = format!("SQLite\n  {}\n{name}\n  {}", shown(&sqlite), shown(&other));
                return Err(self.describe(text, request.id, &what));
            }
        }
        if self.verbose {
            eprintln!("{:?} {}\n  {}", request.id, text, shown(&memory));
        }
        match (&memory, &sqlite) {
            (Ok(one), Ok(other)) if one == other => Ok(Some(serde_json::from_str(one).unwrap())),
            // Other errors are a bug in the generator, because a refused query compares nothing.
            (
                Err(Error::Resolve(ResolveError::SumOverflow)),
                Err(Error::Resolve(ResolveError::SumOverflow)),
            )
            | (
                Err(Error::Resolve(ResolveError::TooLarge { .. })),
                Err(Error::Resolve(ResolveError::TooLarge { .. })),
            ) => Ok(None),
            // A random query may lead through more relations than the bound allows.
            (Err(one), Err(other))
                if one.to_string().contains("query_hops") && one.to_string() == other.to_string() =>
            {
                Ok(None)
            }
            _ => {
                let what = format!("memory\n  {}\nSQLite\n  {}", shown(&memory), shown(&sqlite));
                Err(self.describe(text, request.id, &what))
            }
        }
    }

    /// Returns all that is needed to reproduce a mismatch.
    fn describe(&self, text: &str, id: Option<RecordId<'_>>, what: &str) -> String {
        let request = match id {
            Some(id) => Request::point(Format::Json, text, id),
            None => Request::collection(Format::Json, text),
        };
        let mut sql = String::new();
        if let Ok(plan) = self.sqlite.plan(&request) {
            write_sql(&mut sql, &plan);
        }
        if let Some(Ok(plan)) = self.postgres.as_ref().map(|mesh| mesh.plan(&request)) {
            let read = postgres::ReadStatement::from_plan(&plan, &self.others.dialect());
            writeln!(sql, "{}", read.statement).unwrap();
        }
        if let Some(Ok(plan)) = self.mysql.as_ref().map(|mesh| mesh.plan(&request)) {
            let read = mysql::ReadStatement::from_plan(&plan, &mysql::MySql);
            writeln!(sql, "{}", read.statement).unwrap();
        }
        let Self { seed, database, .. } = self;
        format!(
            "MESH_DIFF_SEED={seed}\nschema {}\n{}\n{}\nid {id:?} query {text}\n{what}\nSQL\n{sql}",
            database.schema.document().to_json(),
            database.scripts.postgres,
            database.scripts.mysql,
        )
    }
}

/// Returns the catalog without the kinds of values that were found in its columns: only SQLite has values of other types than the
/// column's, and their cursors differ from those of other databases. The tests of the laws of values have such columns.
pub(super) fn without_samples(mut catalog: Catalog) -> Catalog {
    for column in catalog.tables.iter_mut().flat_map(|table| &mut table.columns) {
        column.sampled = CellKinds::default();
    }
    catalog
}

/// Returns the body of a page without cursors, which depend on how the conditions are written.
fn without_cursors(body: &Json) -> Json {
    let mut body = body.clone();
    for key in ["startCursor", "endCursor"] {
        body["pageInfo"][key] = json!(body["pageInfo"][key].is_string());
    }
    body
}

fn differs(with_params: &Option<Json>, expected: &Option<Json>) -> String {
    format!("with parameters\n  {}\ninstead of\n  {}", json!(with_params), json!(expected))
}

fn items(body: &Json) -> Vec<Json> {
    body["items"].as_array().unwrap().clone()
}

fn shown(result: &Result<String, Error>) -> String {
    match result {
        Ok(body) => body.clone(),
        Err(error) => {
            let source = std::error::Error::source(error).map(ToString::to_string);
            format!("{error} ({})", source.unwrap_or_default())
        }
    }
}

pub(super) fn write_sql(out: &mut String, plan: &Plan) {
    for statement in Statements::from_plan(plan).iter() {
        writeln!(out, "{statement}").unwrap();
    }
}

/// The folder of a database, removed on drop.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str, seed: u64) -> Self {
        let path = std::env::temp_dir().join(format!("mesh-{name}-{}-{seed}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that is left behind is harmless.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
