//! Writes under policies: the status and the tables after each write equal those of a model, and the announced changes
//! cover every change that a session sees.

mod model;
mod write;

use std::sync::Arc;

use mesh_plan::{
    Change, Context, Error, Fields, Mesh, Principal, RecordId, Request, Value, WriteRequest, WriteTarget,
};
use mesh_ql::Format;
use mesh_schema::{Document, JoinDocument, Schema, ThroughDocument};
use mesh_server::mesh_wire::WireError;
use rusqlite::Connection;
use serde_json::{Map, Value as Json, json};

use super::super::check::Folder;
use super::super::data::{Database, Entity, Junction, Relation};
use super::super::dice::Dice;
use super::super::kind::{Kind, TEXTS};
use super::super::others::Others;
use super::super::script::{Column, Scripts};
use super::super::tally::Tally;
use super::roles::{HEIR, Policies, Role};
use super::rules::sessions;
use model::{Status, expected, is_hidden};
use write::{POST, TAG, USER, Write};

/// Policies that are only loaded, to see whether their rules can be combined.
pub(super) const LOADED: usize = 10;

/// Writes for each database.
const WRITES: usize = 40;

/// Compares the writes of a seed. The error describes the first mismatch.
pub(super) fn seed(seed: u64, others: &Others) -> Result<Tally, String> {
    let mut tally = Tally::default();
    let mut dice = Dice::new(seed);
    let mut library = library(&mut dice);
    let policies = Policies::random(&mut dice, &library.entities, true);
    let (desks, roles) = Desks::new(seed, &library, policies, others)?;
    let visits: Vec<_> = roles
        .iter()
        .flat_map(|role| sessions(&mut dice, role.name).into_iter().map(move |session| (role, session)))
        .collect();
    for _ in 0..WRITES {
        let is_heir = dice.chance(50);
        let of_kind: Vec<_> = visits.iter().filter(|(role, _)| (role.name == HEIR) == is_heir).collect();
        let (role, session) = dice.pick(&of_kind);
        let write = Write::random(&mut dice);
        let (statuses, after) = expected(&library, desks.schema(), role, session.as_ref(), &write);
        let is_hidden = is_hidden(&library, desks.schema(), role, session.as_ref(), &write);
        // A refused write changes nothing that a session could see.
        let count = if statuses == [200] { 12 } else { 0 };
        let watched: Vec<_> =
            (0..count).map(|_| (&visits[dice.below(visits.len())].1, 1 + dice.below(6) as i64)).collect();
        for desk in &desks.list {
            let describe = |what: &str| {
                format!(
                    "MESH_DIFF_SEED={seed}\n{}\n{}\nrole {} session {session:?}\n{write:?} of {}\n{what}",
                    desks.document.to_json(),
                    shown(&library),
                    role.name,
                    desk.name
                )
            };
            let before = desks.read_all(desk, &watched);
            let (status, text, changes) = desks.write(desk, session.as_ref(), &write);
            if !statuses.contains(&status) {
                return Err(describe(&format!("{status} ({text}) instead of {statuses:?}")));
            }
            let tables = desks.tables(desk);
            let wanted = tables_of(if status == 200 { &after } else { &library });
            if tables != wanted {
                return Err(describe(&format!("{status} leaves\n  {tables}\ninstead of\n  {wanted}")));
            }
            if is_hidden
                && let Some(absent) = write.of_absent_records()
                && let (other_status, other, _) = desks.write(desk, session.as_ref(), &absent)
                && (other_status, without_numbers(&other)) != (status, without_numbers(&text))
            {
                return Err(describe(&format!(
                    "'{text}', but of records that do not exist {other_status} '{other}'"
                )));
            }
            for ((plan, old), new) in before.iter().zip(desks.read_all(desk, &watched)) {
                if *old == new.1 {
                    continue;
                }
                tally.add("announced", 1);
                if !changes.iter().any(|change| plan.is_touched_by(change, desk.mesh.schema())) {
                    let what = format!("{changes:?} do not touch\n  {old:?}\nwhich is now\n  {:?}", new.1);
                    return Err(describe(&what));
                }
            }
        }
        let is_written = statuses == [200];
        tally.add("written", usize::from(is_written));
        tally.add("refused", usize::from(!is_written));
        tally.add("hidden", usize::from(is_hidden));
        if is_written {
            library = after;
        }
    }
    Ok(tally)
}

/// Returns users with posts, and posts with tags. Ids are small, so that writes affect each other.
fn library(dice: &mut Dice) -> Database {
    let id = |dice: &mut Dice| if dice.chance(20) { Value::Null } else { (1 + dice.below(4) as i64).into() };
    let ids = |count: usize| 1..=count as i64;
    let users = ids(4).map(|key| vec![key.into(), dice.pick(&TEXTS).into(), (dice.below(4) as i64).into()]);
    let users = users.collect();
    let posts = ids(5).map(|key| {
        let title = if dice.chance(20) { Value::Null } else { dice.pick(&TEXTS).into() };
        vec![key.into(), title, (dice.below(2) as i64).into(), id(dice), (dice.below(5) as i64).into()]
    });
    let posts = posts.collect();
    let tags = ids(3).map(|key| vec![key.into(), dice.pick(&TEXTS).into()]).collect();
    let links = (0..5).map(|_| vec![(1 + dice.below(5) as i64).into(), (1 + dice.below(3) as i64).into()]);
    let mut links: Vec<Vec<Value>> = links.collect();
    links.sort_by_key(|row| format!("{row:?}"));
    links.dedup();
    let (key, text) = (("id", Kind::Integer), Kind::Text);
    let mut entities = vec![
        Entity::plain("user", &[key, ("name", text), ("level", Kind::Integer)], users),
        Entity::plain(
            "post",
            &[
                key,
                ("title", text),
                ("published", Kind::Boolean),
                ("ownerId", Kind::Integer),
                ("rank", Kind::Integer),
            ],
            posts,
        ),
        Entity::plain("tag", &[key, ("label", text)], tags),
    ];
    let relation = |name: &str, target, many| Relation { name: name.to_owned(), target, many };
    entities[USER].relations = vec![relation("posts", POST, true)];
    entities[POST].relations = vec![relation("oneOwner", USER, false), relation("tags", TAG, true)];
    entities[TAG].relations = vec![relation("posts", POST, true)];
    let mut schema = Schema::builder();
    for entity in &entities {
        schema = schema.entity(entity.key, |builder| entity.describe(builder).writable());
    }
    let through = |from, to| ThroughDocument::new("links", from, to);
    let schema = schema
        .relation("post.oneOwner", JoinDocument::one("user", "users.id = posts.ownerId"))
        .relation("user.posts", JoinDocument::many("post", "posts.ownerId = users.id"))
        .relation("post.tags", JoinDocument::through("tag", through("from", "to")))
        .relation("tag.posts", JoinDocument::through("post", through("to", "from")));
    let mut scripts = Scripts::default();
    for entity in &entities {
        entity.add_to(&mut scripts);
    }
    let column = |name: &str| Column { name: name.to_owned(), sqlite: "INTEGER", postgres: "integer" };
    let key = r#", PRIMARY KEY ("from", "to")"#;
    scripts.add_table("links", &Junction::COLUMNS.map(column), key, " WITHOUT ROWID", &links);
    let junctions = vec![Junction { table: "links".to_owned(), rows: links }];
    Database { entities, scripts, tables: mesh_plan::memory::Tables::new(), junctions, schema }
}

/// A database with a policy.
struct Desk {
    name: &'static str,
    mesh: Mesh,
    /// The same without policies, for reads.
    open: Mesh,
}

/// The same data in each database.
struct Desks<'o> {
    others: &'o Others,
    document: Document,
    list: Vec<Desk>,
    /// Dropped last, after the file is closed.
    _folder: Folder,
}

impl<'o> Desks<'o> {
    fn new(
        seed: u64,
        library: &Database,
        policies: Policies,
        others: &'o Others,
    ) -> Result<(Self, Vec<Role>), String> {
        let folder = Folder::new("policy-writes", seed);
        let path = folder.0.join("data.db");
        Connection::open(&path).unwrap().execute_batch(&library.scripts.sqlite).unwrap();
        let sqlite = mesh_sqlite::Database::open(&path).unwrap();
        let catalog = sqlite.contents(&[]).unwrap().catalog;
        let load = |document: &Document| {
            let schema = document.load(Some(&catalog));
            schema.unwrap_or_else(|faults| {
                panic!("MESH_DIFF_SEED={seed}\n{}\n{}", faults[0], document.to_json())
            })
        };
        let add = |policies: Policies| {
            let added = policies.add_to(library.schema.document(), load);
            added.map_err(|mismatch| format!("MESH_DIFF_SEED={seed}\n{mismatch}"))
        };
        let (document, roles) = add(policies)?;
        let mut dice = Dice::new(seed);
        for _ in 0..LOADED {
            add(Policies::random(&mut dice, &library.entities, true))?;
        }
        let schema = Arc::new(load(&document));
        let open = Arc::new(schema.without_policies());
        let mut list = vec![Desk {
            name: "SQLite",
            open: Mesh::builder(open).default_resolver(sqlite.clone()).build().unwrap(),
            mesh: Mesh::builder(schema)
                .default_mutator(sqlite.writer().unwrap())
                .default_resolver(sqlite)
                .build()
                .unwrap(),
        }];
        if let Some(served) = &others.postgres {
            let (schema, postgres) = served.open(library, &document, &catalog);
            let open = schema.without_policies();
            list.push(Desk {
                name: "PostgreSQL",
                open: Mesh::builder(open).default_resolver(postgres.clone()).build().unwrap(),
                mesh: Mesh::builder(schema)
                    .default_mutator(postgres.writer())
                    .default_resolver(postgres)
                    .build()
                    .unwrap(),
            });
        }
        if let Some(served) = others.mysql(seed) {
            let (schema, mysql) = served.open(library, &document, &catalog);
            let open = schema.without_policies();
            list.push(Desk {
                name: "MariaDB",
                open: Mesh::builder(open).default_resolver(mysql.clone()).build().unwrap(),
                mesh: Mesh::builder(schema)
                    .default_mutator(mysql.writer())
                    .default_resolver(mysql)
                    .build()
                    .unwrap(),
            });
        }
        Ok((Self { others, document, list, _folder: folder }, roles))
    }

    /// Returns the whole schema.
    fn schema(&self) -> &Schema {
        self.list[0].mesh.schema()
    }

    /// Returns the status of a write with its message, and the changes that it announces.
    fn write(
        &self,
        desk: &Desk,
        session: Option<&Principal>,
        write: &Write,
    ) -> (Status, String, Vec<Change>) {
        let (target, body) = write.request();
        let body = body.map(|body| body.to_string());
        let fields = body.as_ref().map(|body| Fields::parse(body.as_bytes()).unwrap());
        let written = || -> Result<Vec<Change>, Error> {
            let ids = target.ids.map(|id| id.to_string());
            let mut request = WriteRequest::new(target.to_write(&ids)).with_principal(session);
            if let Some(fields) = &fields {
                request = request.with_fields(fields);
            }
            let mutation = desk.mesh.plan_write(&request)?;
            let context = Context::default();
            let writing = desk.mesh.write(mutation, &context);
            Ok(self.others.runtime.block_on(writing).into_result()?.changes)
        };
        match written() {
            Ok(changes) => (200, String::new(), changes),
            Err(error) => {
                let error = WireError::from(error);
                (error.status.as_u16(), error.message.into_owned(), Vec::new())
            }
        }
    }

    fn read(&self, mesh: &Mesh, plan: &mesh_plan::Plan) -> Json {
        let body = self.others.runtime.block_on(mesh.read(plan, &Context::default())).unwrap();
        serde_json::from_slice(&body.bytes).unwrap()
    }

    /// Returns what sessions see of posts, with the plans of these reads.
    fn read_all(&self, desk: &Desk, watched: &[(&Option<Principal>, i64)]) -> Vec<(mesh_plan::Plan, Json)> {
        let queries = ["{ post title }", "{ post id oneOwner { id name } tags { id } }", "{ post id }"];
        let mut read = Vec::new();
        for (session, id) in watched {
            for query in queries {
                let id = id.to_string();
                let request = Request::point(Format::Ql, query, id.as_str()).with_principal(session.as_ref());
                if let Ok(plan) = desk.mesh.plan(&request) {
                    let seen = self.read(&desk.mesh, &plan);
                    read.push((plan, seen));
                }
            }
        }
        read
    }

    /// Returns all records of a database.
    fn tables(&self, desk: &Desk) -> Json {
        let queries = [
            "{ user id name level }",
            "{ post id title published ownerId rank tags { id } }",
            "{ tag id label }",
        ];
        let read = queries.map(|query| {
            let plan = desk.open.plan(&Request::collection(Format::Ql, query)).unwrap();
            self.read(&desk.open, &plan)["items"].take()
        });
        json!(read)
    }
}

/// Returns the records of a database in the form of [`Desks::tables`].
fn tables_of(library: &Database) -> Json {
    let [users, posts, tags] = [USER, POST, TAG].map(|at| {
        let entity = &library.entities[at];
        let mut rows = entity.rows.clone();
        rows.sort_by_key(|row| match row[0] {
            Value::Integer(id) => id,
            _ => i64::MAX,
        });
        let rows = rows.iter().map(|row| {
            let cells = entity.fields.iter().zip(row);
            let cells = cells.map(|(field, value)| (field.name.clone(), json_of(value, field.kind)));
            cells.collect::<Map<_, _>>()
        });
        rows.collect::<Vec<_>>()
    });
    let ids: Vec<_> = tags.iter().map(|tag| tag["id"].clone()).collect();
    let posts = posts.into_iter().map(|mut post| {
        let pairs = library.junctions[0].rows.iter();
        let mut linked: Vec<_> = pairs
            .filter(|pair| json_of(&pair[0], Kind::Integer) == post["id"])
            .map(|pair| json_of(&pair[1], Kind::Integer))
            .filter(|tag| ids.contains(tag))
            .collect();
        linked.sort_by_key(Json::as_i64);
        post.insert("tags".to_owned(), linked.into_iter().map(|id| json!({"id": id})).collect());
        post
    });
    json!([users, posts.collect::<Vec<_>>(), tags])
}

fn json_of(value: &Value, kind: Kind) -> Json {
    match (value, kind) {
        (Value::Integer(value), Kind::Boolean) => json!(*value != 0),
        (Value::Integer(value), _) => json!(value),
        (Value::Text(value), _) => json!(value),
        _ => Json::Null,
    }
}

fn shown(library: &Database) -> String {
    format!("{}\nlinks {:?}", tables_of(library), library.junctions[0].rows)
}

/// Returns a message without its numbers, which are ids.
fn without_numbers(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_ascii_digit()).collect()
}

/// The path of a write.
pub(super) struct Path {
    entity: &'static str,
    relation: &'static str,
    kind: PathKind,
    ids: [i64; 2],
}

#[derive(Clone, Copy)]
enum PathKind {
    Create,
    Update,
    Delete,
    Attach,
    Connect,
    Disconnect,
    Remove,
}

impl Path {
    /// Returns the target of the write. `ids` are the ids of the path as text.
    fn to_write<'a>(&self, ids: &'a [String; 2]) -> WriteTarget<'a> {
        let Self { entity, relation, .. } = *self;
        let [id, child] = [RecordId::Text(&ids[0]), RecordId::Text(&ids[1])];
        match self.kind {
            PathKind::Create => WriteTarget::Create { entity },
            PathKind::Update => WriteTarget::Update { entity, id },
            PathKind::Delete => WriteTarget::Delete { entity, id },
            PathKind::Attach => WriteTarget::Attach { entity, id, relation },
            PathKind::Connect => WriteTarget::Connect { entity, id, relation },
            PathKind::Disconnect => WriteTarget::Disconnect { entity, id, relation },
            PathKind::Remove => WriteTarget::Remove { entity, id, relation, child },
        }
    }
}
