//! Compares servers with a policy with the model, for one seed.

use std::sync::Arc;

use mesh_plan::plan::{ColumnSource, ConditionOrigin};
use mesh_plan::{Context, Error, Limits, Mesh, Node, Plan, Principal, Request};
use mesh_ql::{Format, ParamValues};
use mesh_schema::{Catalog, Document, Schema};
use mesh_tests::kit::encoding;
use rusqlite::Connection;
use serde_json::{Value as Json, json};

use super::super::check::{Folder, point_id, write_sql};
use super::super::data::{Database, Entity};
use super::super::dice::Dice;
use super::super::others::Others;
use super::super::params::{Parameterized, parameterized};
use super::super::query;
use super::super::tally::Tally;
use super::model;
use super::roles::{HEIR, Policies, Role};
use super::rules::sessions;
use super::writes::LOADED;

/// Queries for each role. The role that inherits gets twice as many.
const QUERIES: usize = 6;

/// The secret of all servers.
const SECRET: &[u8] = b"the secret of all servers";

/// The bytes of the MAC of a cursor, before its values.
const MAC: usize = 16;

/// Compares the sessions and queries of a seed. The error describes the first mismatch.
pub(super) fn seed(seed: u64, verbose: bool, others: &Others) -> Result<Tally, String> {
    let mut dice = Dice::new(seed);
    let database = Database::random(&mut dice);
    let policies = Policies::random(&mut dice, &database.entities, false);
    let (site, roles) = Site::new(seed, verbose, database, policies, others)?;
    let mut tally = Tally::default();
    tally.add("databases", 1);
    for role in &roles {
        let seen = role.seen(&site.database.entities);
        let visits: Vec<_> =
            sessions(&mut dice, role.name).into_iter().map(|who| site.visit(role, who)).collect();
        for _ in 0..if role.name == HEIR { 2 * QUERIES } else { QUERIES } {
            // Some queries name entities and fields that the role cannot see.
            let entities = if dice.chance(20) { &site.database.entities } else { &seen };
            let roots: Vec<_> = (0..entities.len()).filter(|at| role.sees(*at) || dice.chance(3)).collect();
            let root = dice.pick(&roots);
            tally.add("pairs of role and query", 1);
            let asked = Asked::random(&mut dice, entities, root);
            // All sessions of a role share the plan.
            for visit in &visits {
                site.compare(&mut dice, visit, &asked, &mut tally)?;
            }
        }
    }
    Ok(tally)
}

/// A query.
struct Asked {
    entity: &'static str,
    node: Json,
    /// The id of a point read.
    id: Option<String>,
    params: ParamValues,
}

impl Asked {
    fn random(dice: &mut Dice, entities: &[Entity], root: usize) -> Self {
        let entity = &entities[root];
        if entity.points && dice.chance(15) {
            let node = query::point(dice, entities, root);
            return Self { id: Some(point_id(dice, &entity.ids)), ..Self::new(entity.key, node) };
        }
        let mut node = query::collection(dice, entities, root);
        if dice.chance(50) {
            node["$page"]["total"] = json!(true);
        }
        Self::new(entity.key, node)
    }

    fn new(entity: &'static str, node: Json) -> Self {
        Self { entity, node, id: None, params: ParamValues::new() }
    }

    /// Returns the query with parameters in place of its literals, and with other values of them.
    fn with_params(&self) -> [Self; 2] {
        let Parameterized { node, values, decoys } = parameterized(&self.node, &Json::Null);
        [decoys, values].map(|params| Self {
            id: self.id.clone(),
            params,
            ..Self::new(self.entity, node.clone())
        })
    }

    fn text(&self) -> String {
        json!({self.entity: self.node}).to_string()
    }

    /// Returns the page control that takes a cursor, and the members of the page info that lead to the next page.
    fn cursor(&self) -> [&'static str; 3] {
        match self.node["$page"]["last"].is_number() {
            false => ["after", "endCursor", "hasNextPage"],
            true => ["before", "startCursor", "hasPreviousPage"],
        }
    }

    /// Returns the node of the page beyond a cursor.
    fn page(&self, cursor: &Json) -> Json {
        let mut node = self.node.clone();
        if let Some(page) = node.get_mut("$page").and_then(Json::as_object_mut) {
            page.remove("skip");
        }
        node["$page"][self.cursor()[0]] = cursor.clone();
        node
    }

    fn with_node(&self, node: Json) -> Self {
        Self { id: self.id.clone(), params: self.params.clone(), ..Self::new(self.entity, node) }
    }
}

/// A session, and the server over the data that its policy leaves visible.
struct Visit<'r> {
    role: &'r Role,
    session: Option<Principal>,
    model: Mesh,
}

/// The servers with policies over a database.
struct Site<'o> {
    seed: u64,
    verbose: bool,
    others: &'o Others,
    database: Database,
    catalog: Catalog,
    document: Document,
    /// Memory, SQLite, and PostgreSQL if it is installed.
    servers: Vec<(&'static str, Mesh)>,
    /// All data without policies.
    open: Mesh,
    /// Dropped last, after the file is closed.
    _folder: Folder,
}

/// The answer to a query, with the values of cursors in place of the cursors.
type Shown = Result<Json, String>;

/// The queries for the next page. A cursor is bound to the conditions of its read, including those of policies.
struct Next {
    own: Json,
    model: Json,
}

impl<'o> Site<'o> {
    fn new(
        seed: u64,
        verbose: bool,
        database: Database,
        policies: Policies,
        others: &'o Others,
    ) -> Result<(Self, Vec<Role>), String> {
        let folder = Folder::new("policies", seed);
        let path = folder.0.join("data.db");
        let connection = Connection::open(&path).unwrap();
        let script = &database.scripts.sqlite;
        connection
            .execute_batch(&format!(
                "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; BEGIN; {script} COMMIT;"
            ))
            .unwrap_or_else(|error| panic!("seed {seed}: {error}\n{script}"));
        drop(connection);
        let opened = mesh_sqlite::Database::open(&path).unwrap();
        let catalog = opened.contents(&database.schema.document().time_columns()).unwrap().catalog;
        let catalog = crate::differential::check::without_samples(catalog);

        let load = |document: &Document| load(document, &catalog, seed);
        let add = |policies: Policies| {
            let added = policies.add_to(database.schema.document(), load);
            added.map_err(|mismatch| format!("MESH_DIFF_SEED={seed}\n{mismatch}"))
        };
        let (document, roles) = add(policies)?;
        let mut dice = Dice::new(seed);
        for _ in 0..LOADED {
            add(Policies::random(&mut dice, &database.entities, false))?;
        }
        let schema = Arc::new(load(&document));
        let mut servers = vec![
            ("memory", builder(&schema).default_resolver(database.tables.clone()).build().unwrap()),
            ("SQLite", builder(&schema).default_resolver(opened).build().unwrap()),
        ];
        if let Some(served) = &others.postgres {
            let (schema, opened) = served.open(&database, &document, &catalog);
            servers
                .push(("PostgreSQL", builder(&Arc::new(schema)).default_resolver(opened).build().unwrap()));
        }
        if let Some(served) = others.mysql(seed) {
            let (schema, opened) = served.open(&database, &document, &catalog);
            servers.push(("MariaDB", builder(&Arc::new(schema)).default_resolver(opened).build().unwrap()));
        }
        let open = Arc::new(load(database.schema.document()));
        let open = builder(&open).default_resolver(database.tables.clone()).build().unwrap();
        let site =
            Self { seed, verbose, others, catalog, document, servers, open, database, _folder: folder };
        Ok((site, roles))
    }

    /// Returns a session with its model.
    fn visit<'r>(&self, role: &'r Role, session: Option<Principal>) -> Visit<'r> {
        let document = model::document(&self.database, role).to_string();
        let document = Document::parse(&document)
            .unwrap_or_else(|faults| panic!("MESH_DIFF_SEED={}\n{}\n{document}", self.seed, faults[0]));
        let schema = Arc::new(load(&document, &self.catalog, self.seed));
        let tables = model::tables(&self.database, self.open.schema(), role, session.as_ref());
        Visit { role, model: builder(&schema).default_resolver(tables).build().unwrap(), session }
    }

    /// Compares the answers to a query with and without parameters, page by page.
    fn compare(
        &self,
        dice: &mut Dice,
        visit: &Visit<'_>,
        asked: &Asked,
        tally: &mut Tally,
    ) -> Result<(), String> {
        let first = Next { own: asked.node.clone(), model: asked.node.clone() };
        let mut next = self.compare_page(visit, asked, first, tally)?;
        let open = self.answer(&self.open, None, asked).0;
        tally.add("restricted", usize::from(open != self.answer(&visit.model, None, asked).0));
        if dice.chance(30) {
            for asked in asked.with_params() {
                let first = Next { own: asked.node.clone(), model: asked.node.clone() };
                self.compare_page(visit, &asked, first, tally)?;
            }
        }
        while let Some(page) = next.filter(|_| !dice.chance(10)) {
            tally.add("later pages", 1);
            next = self.compare_page(visit, asked, page, tally)?;
        }
        Ok(())
    }

    /// Compares the answers for one page. Returns the next one.
    fn compare_page(
        &self,
        visit: &Visit<'_>,
        asked: &Asked,
        page: Next,
        tally: &mut Tally,
    ) -> Result<Option<Next>, String> {
        let (expected, model) = self.answer(&visit.model, None, &asked.with_node(page.model));
        let own_page = asked.with_node(page.own);
        let mut own = None;
        for (name, server) in &self.servers {
            let (shown, next) = self.answer(server, visit.session.as_ref(), &own_page);
            if shown != expected {
                let what = format!("{name}\n  {}\nthe model\n  {}", text(&shown), text(&expected));
                return Err(self.describe(visit, &own_page, &what));
            }
            own = next;
        }
        self.check_plan(visit, &own_page)?;
        if self.verbose {
            eprintln!(
                "{} {:?} {} {:?}\n  {}",
                visit.role.name,
                visit.session,
                own_page.text(),
                asked.id,
                text(&expected)
            );
        }
        tally.add("answers", 1);
        tally.add("refused", usize::from(expected.is_err()));
        let (Some(own), Some(model)) = (own, model) else { return Ok(None) };
        let [own, model] = [own, model].map(|cursor| asked.page(&cursor));
        Ok(Some(Next { own, model }))
    }

    /// Returns the answer of a server, and the cursor of the next page.
    fn answer(&self, mesh: &Mesh, session: Option<&Principal>, asked: &Asked) -> (Shown, Option<Json>) {
        let read = || -> Result<Json, Error> {
            let plan = plan(mesh, session, asked)?;
            let body = self.others.runtime.block_on(mesh.read(&plan, &Context::default()))?;
            Ok(serde_json::from_slice(&body.bytes).unwrap())
        };
        match read() {
            Ok(mut body) => {
                let next = next(&body, asked);
                for cursor in ["startCursor", "endCursor"] {
                    if let Some(text) = body["pageInfo"][cursor].as_str() {
                        body["pageInfo"][cursor] = cursor_values(text);
                    }
                }
                (Ok(body), next)
            }
            Err(error) => (Err(shown_error(&error)), None),
        }
    }

    /// Checks that each node of a plan has the condition of its entity, and nothing else from a policy.
    fn check_plan(&self, visit: &Visit<'_>, asked: &Asked) -> Result<(), String> {
        let Ok(plan) = plan(&self.servers[0].1, visit.session.as_ref(), asked) else { return Ok(()) };
        let has_condition = |key: &str| {
            let at = self.database.entities.iter().position(|entity| entity.key == key).unwrap();
            visit.role.rules[at].iter().all(|rule| rule.condition.is_some())
        };
        let mut expected = Vec::new();
        each_node(plan.node(), &mut |node| {
            if has_condition(&node.entity) {
                expected.push(node.path.clone());
            }
        });
        let conditions = plan.conditions();
        let of_policies = conditions.iter().filter(|condition| condition.origin == ConditionOrigin::Policy);
        let found: Vec<_> = of_policies.map(|condition| condition.path.to_owned()).collect();
        match found == expected {
            true => Ok(()),
            false => {
                Err(self.describe(visit, asked, &format!("conditions at {found:?} instead of {expected:?}")))
            }
        }
    }

    /// Returns all that is needed to reproduce a mismatch.
    fn describe(&self, visit: &Visit<'_>, asked: &Asked, what: &str) -> String {
        let mut sql = String::new();
        if let Ok(plan) = plan(&self.servers[1].1, visit.session.as_ref(), asked) {
            write_sql(&mut sql, &plan);
        }
        format!(
            "MESH_DIFF_SEED={}\nschema {}\n{}\nrole {} session {:?}\nid {:?} query {}\n{what}\nSQL\n{sql}",
            self.seed,
            self.document.to_json(),
            self.database.scripts.sqlite,
            visit.role.name,
            visit.session,
            asked.id,
            asked.text(),
        )
    }
}

fn load(document: &Document, catalog: &Catalog, seed: u64) -> Schema {
    document
        .load(Some(catalog))
        .unwrap_or_else(|faults| panic!("MESH_DIFF_SEED={seed}\n{}\n{}", faults[0], document.to_json()))
}

fn builder(schema: &Arc<Schema>) -> mesh_plan::MeshBuilder {
    let many = mesh_ql::Limits { relation_conditions: 1_000, aggregate_sorts: 1_000, ..Default::default() };
    Mesh::builder(Arc::clone(schema))
        .cursor_secret(SECRET)
        .limits(Limits { query: many, ..Limits::default() })
}

fn plan(mesh: &Mesh, session: Option<&Principal>, asked: &Asked) -> Result<Plan, Error> {
    let text = asked.text();
    let request = match &asked.id {
        Some(id) => Request::point(Format::Json, &text, id.as_str()),
        None => Request::collection(Format::Json, &text),
    };
    mesh.plan(&request.with_params(Some(&asked.params)).with_principal(session))
}

/// Returns the cursor of the next page, if there is one.
fn next(body: &Json, asked: &Asked) -> Option<Json> {
    let [_, cursor, more] = asked.cursor();
    let info = &body["pageInfo"];
    (info[more] == json!(true)).then(|| info[cursor].clone())
}

/// Returns the values of a cursor, whose MAC depends on conditions of policies.
fn cursor_values(text: &str) -> Json {
    let padded =
        format!("{}{}", text.replace('-', "+").replace('_', "/"), "=".repeat((4 - text.len() % 4) % 4));
    let bytes = encoding::from_base64(&padded).expect("a cursor is base64url");
    json!(bytes[MAC..])
}

/// Returns everything that a client sees of an error.
fn shown_error(error: &Error) -> String {
    let source = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
    match error {
        Error::Plan(fault) => format!("{fault} at {} {:?}", fault.path, fault.position),
        other => format!("{other} ({source})"),
    }
}

fn text(shown: &Shown) -> String {
    match shown {
        Ok(body) => body.to_string(),
        Err(error) => error.clone(),
    }
}

/// Visits a node and those below it, in the order of [`Plan::conditions`], but not the records that conditions of policies
/// relate to.
fn each_node<'p>(node: &'p Node, visit: &mut impl FnMut(&'p Node)) {
    visit(node);
    let mut of_policy = Vec::new();
    if let Some(filter) = node.policy_filter() {
        filter.for_each_source(&mut |source| match source {
            ColumnSource::Related { related, .. } | ColumnSource::Exists(related) => of_policy.push(*related),
            _ => {}
        });
    }
    let requested = node.related.iter().enumerate().filter(|(index, _)| !of_policy.contains(index));
    requested.for_each(|(_, related)| each_node(&related.node, visit));
    node.joins.iter().for_each(|join| each_node(&join.node, visit));
}
