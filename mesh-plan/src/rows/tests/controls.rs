//! Controls and policies hold over resolvers that return all rows.

use futures_util::FutureExt as _;
use mesh_ql::Format;
use mesh_schema::{Entity, FieldType, JoinDocument, Schema};
use serde_json::{Value as Json, json};

use crate::memory::Tables;
use crate::policy::{Access, Condition, SessionValue};
use crate::{
    Applied, Context, Limits, Mesh, Plan, Principal, Request, ResolveError, Resolver, Rows, Table, Value,
};

type Record = Vec<(&'static str, Value)>;

/// Posts and comments, in no particular order.
#[derive(Clone, Debug)]
struct Data {
    posts: Vec<Record>,
    comments: Vec<Record>,
}

impl Data {
    fn new(posts: &[(i64, &'static str, Option<i64>)], comments: &[(i64, i64, i64)]) -> Self {
        let post = |&(id, title, score): &(i64, &'static str, Option<i64>)| {
            vec![("id", id.into()), ("title", title.into()), ("score", score.into())]
        };
        let comment = |&(id, post, stars): &(i64, i64, i64)| {
            vec![("id", id.into()), ("post_id", post.into()), ("stars", stars.into())]
        };
        Self { posts: posts.iter().map(post).collect(), comments: comments.iter().map(comment).collect() }
    }

    fn sample() -> Self {
        let posts = [(3, "c", Some(1)), (1, "a", Some(2)), (4, "d", None), (2, "b", Some(1))];
        Self::new(&posts, &[(5, 1, 3), (1, 1, 1), (2, 3, 2), (3, 1, 2), (4, 2, 9)])
    }

    /// Returns all rows and ignores the plan.
    fn rows(&self, plan: &Plan) -> Rows {
        let push = |table: &mut Table, record: &Record| {
            table.push_with(|name| {
                let cell = record.iter().find(|(known, _)| *known == name);
                cell.map_or(Value::Null, |(_, value)| value.clone())
            });
        };
        let mut rows = Rows::new(plan);
        self.posts.iter().for_each(|post| push(rows.root(), post));
        if let Some(table) = rows.table("comments") {
            self.comments.iter().for_each(|comment| push(table, comment));
        }
        rows
    }

    fn naive(&self) -> impl Resolver + use<> {
        let data = self.clone();
        move |plan: Plan, _: Context| {
            let rows = data.rows(&plan);
            async move { Ok::<_, ResolveError>(rows) }
        }
    }

    fn tables(&self) -> Tables {
        let cells = |records: &[Record]| {
            let cells = |record: &Record| record.iter().map(|(_, value)| value.clone()).collect();
            records.iter().map(cells).collect::<Vec<Vec<Value>>>()
        };
        Tables::new().with("posts", ["id", "title", "score"], cells(&self.posts)).with(
            "comments",
            ["id", "post_id", "stars"],
            cells(&self.comments),
        )
    }
}

fn schema() -> Schema {
    use FieldType::{Integer, String};
    Schema::builder()
        .entity("post", |post| post.field("id", Integer).field("title", String).field("score", Integer))
        .entity("comment", |comment| comment.field("id", Integer).field("stars", Integer))
        .relation("post.comments", JoinDocument::many("comment", "comments.post_id = posts.id"))
        .build()
        .unwrap()
}

fn mesh(resolver: impl Resolver) -> Mesh {
    Mesh::builder(schema()).default_resolver(resolver).build().unwrap()
}

fn run(mesh: &Mesh, request: &Request<'_>) -> Result<String, ResolveError> {
    let plan = mesh.plan(request).unwrap();
    let body = mesh.read(&plan, &Context::default()).now_or_never().unwrap()?;
    Ok(String::from_utf8(body.bytes.to_vec()).unwrap())
}

fn list(mesh: &Mesh, query: &Json) -> Json {
    let text = json!({ "post": query }).to_string();
    serde_json::from_str(&run(mesh, &Request::collection(Format::Json, &text)).unwrap()).unwrap()
}

#[test]
fn groups_are_made_over_a_resolver_that_ignores_them() {
    let query = json!({
        "$select": {"score": true},
        "$groupBy": ["score"],
        "$aggregate": {"posts": {"fn": "count"}, "last": {"fn": "max", "field": "title"}},
        "$having": {"aggregate": "posts", "op": "gt", "value": 1},
    });
    let mesh = mesh(Data::sample().naive());
    let text = json!({ "post": query }).to_string();
    let plan = mesh.plan(&Request::collection(Format::Json, &text));
    let Ok(_) = plan else { panic!("{}", plan.unwrap_err()) };
    assert_eq!(list(&mesh, &query)["items"], json!([{"score": 1, "posts": 2, "last": "c"}]));
}

#[test]
fn a_group_of_no_rows_needs_no_columns() {
    let resolver = |_: Plan, _: Context| async { Ok::<_, ResolveError>(Rows::default()) };
    let query = json!({
        "$select": {},
        "$where": {"field": "id", "op": "gt", "value": 1},
        "$aggregate": {"posts": {"fn": "count"}, "last": {"fn": "max", "field": "title"}},
    });
    let items = json!([{"posts": 0, "last": null}]);
    assert_eq!(list(&mesh(resolver), &query)["items"], items);
    assert_eq!(list(&mesh(Data::new(&[], &[]).tables()), &query)["items"], items);
}

#[test]
fn the_id_of_a_point_read_holds_over_a_resolver_that_ignores_it() {
    let mesh = mesh(Data::sample().naive());
    let read = |id| run(&mesh, &Request::point(Format::Ql, "{ post title }", id)).unwrap();
    assert_eq!((read("2"), read("9")), (r#"{"title":"b"}"#.to_owned(), "null".to_owned()));
}

#[test]
fn conditions_of_policies_hold_over_a_resolver_that_ignores_them() {
    let policy = |_: &str, entity: &Entity| match entity.key.as_str() {
        "post" => Access::all().except(["score"]).when(Condition::equal("score", SessionValue::Tenant)),
        _ => Access::all().when(Condition::equal("stars", 2)),
    };
    let data = Data::sample();
    let mesh = Mesh::builder(schema()).policy(policy).default_resolver(data.naive()).build().unwrap();
    let mut principal = Principal::new("1", "s");
    principal.tenant = Some("1".into());
    let read = |request: Request<'_>, principal| run(&mesh, &request.with_principal(principal)).unwrap();
    let query = "{ post id comments { id } }";
    let body = read(Request::collection(Format::Ql, query), Some(&principal));
    let items = r#"{"items":[{"id":2,"comments":[]},{"id":3,"comments":[{"id":2}]}],"#;
    assert!(body.starts_with(items), "{body}");
    assert_eq!(read(Request::point(Format::Ql, query, "1"), Some(&principal)), "null");
    assert!(read(Request::collection(Format::Ql, query), None).starts_with(r#"{"items":[],"#));
}

#[test]
fn a_control_without_its_column_fails_the_read() {
    let resolver = |_: Plan, _: Context| async {
        let mut rows = Rows::default();
        let mut table = Table::new(["id"]);
        table.push([1.into()]);
        rows.set("", table);
        Ok::<_, ResolveError>(rows)
    };
    let mesh = mesh(resolver);
    for control in [
        json!({"$where": {"field": "score", "op": "eq", "value": 1}}),
        json!({"$orderBy": [{"field": "score", "direction": "asc"}]}),
    ] {
        let mut query = control;
        query["$select"] = json!({"id": true});
        let text = json!({ "post": query }).to_string();
        let read = run(&mesh, &Request::collection(Format::Json, &text));
        assert!(matches!(read, Err(ResolveError::Failed(_))), "{read:?}");
    }
}

#[test]
fn declared_controls_are_left_to_the_resolver() {
    let data = Data::sample();
    let declare = move |applied| {
        let data = data.clone();
        let resolver = move |plan: Plan, _: Context| {
            let rows = data.rows(&plan).applied(applied);
            async move { Ok::<_, ResolveError>(rows) }
        };
        run(&mesh(resolver), &Request::collection(Format::Ql, "{ post id }"))
    };
    let all = declare(Applied::all()).unwrap();
    assert!(all.starts_with(r#"{"items":[{"id":3},{"id":1},{"id":4},{"id":2}],"#), "{all}");
    let filtered = declare(Applied::FILTER).unwrap();
    assert!(filtered.starts_with(r#"{"items":[{"id":1},{"id":2},{"id":3},{"id":4}],"#), "{filtered}");
    for incomplete in [Applied::PAGE, Applied::PAGE | Applied::FILTER, Applied::GROUP] {
        assert!(matches!(declare(incomplete), Err(ResolveError::Failed(_))), "{incomplete:?}");
    }
}

/// A linear congruential generator, so that a failure can be repeated.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn one_of<T: Clone>(&mut self, values: &[T]) -> T {
        values[self.below(values.len() as u64) as usize].clone()
    }

    fn data(&mut self) -> Data {
        let mut ids: Vec<i64> = (1..=self.below(8) as i64).collect();
        for last in (1..ids.len()).rev() {
            ids.swap(last, self.below(last as u64 + 1) as usize);
        }
        let posts: Vec<_> = (ids.iter())
            .map(|id| (*id, self.one_of(&["a", "b", "B", ""]), self.one_of(&[None, Some(1), Some(2)])))
            .collect();
        let comments: Vec<_> = (1..=self.below(12))
            .rev()
            .map(|id| (id as i64, self.below(9) as i64, self.below(4) as i64))
            .collect();
        Data::new(&posts, &comments)
    }

    fn condition(&mut self, fields: &[&str]) -> Json {
        let field = self.one_of(fields);
        match self.below(4) {
            0 => json!({"field": field, "op": "isNull"}),
            1 => json!({"not": self.condition(fields)}),
            _ if field == "title" => {
                json!({"field": field, "op": self.one_of(&["like", "ilike"]), "value": "%b%"})
            }
            _ => json!({
                "field": field,
                "op": self.one_of(&["eq", "ne", "gt", "lte"]),
                "value": self.below(4),
            }),
        }
    }

    fn controls(&mut self, query: &mut Json, fields: &[&str]) {
        if self.below(2) == 0 {
            query["$where"] = self.condition(fields);
        }
        if self.below(2) == 0 {
            query["$orderBy"] = json!([{
                "field": self.one_of(fields),
                "direction": self.one_of(&["asc", "desc"]),
                "nulls": self.one_of(&["first", "last"]),
            }]);
        }
        if self.below(2) == 0 {
            query["$page"] = json!({"first": 1 + self.below(3), "skip": self.below(3)});
        }
    }

    fn query(&mut self) -> Json {
        let mut comments = json!({"$select": {"id": true, "stars": true}});
        self.controls(&mut comments, &["id", "stars"]);
        let mut query = json!({"$select": {"title": true, "comments": comments}});
        self.controls(&mut query, &["id", "title", "score"]);
        query
    }
}

#[test]
fn naive_resolvers_answer_as_tables_do() {
    let mut random = Random(7);
    for round in 0..400 {
        let (data, mut query) = (random.data(), random.query());
        let [tables, naive] = [mesh(data.tables()), mesh(data.naive())];
        // Three pages of each.
        for _ in 0..3 {
            let expected = list(&tables, &query);
            assert_eq!(list(&naive, &query), expected, "{round}: {query} of {data:?}");
            let cursor = expected["pageInfo"]["endCursor"].clone();
            if cursor.is_null() || query.get("$page").is_none() {
                break;
            }
            query["$page"].as_object_mut().unwrap().remove("skip");
            query["$page"]["after"] = cursor;
        }
    }
}

#[test]
fn skipped_rows_do_not_count_against_the_bound_of_objects() {
    let limits = Limits { rows: 3, ..Limits::default() };
    let builder = Mesh::builder(schema()).limits(limits).default_resolver(Data::sample().tables());
    let comments = json!({"$select": {"id": true}, "$page": {"first": 1, "skip": 1}});
    let order = json!([{"field": "id", "direction": "desc"}]);
    let page = json!({"first": 2, "skip": 2});
    let query = json!({"$select": {"id": true, "comments": comments}, "$orderBy": order, "$page": page});
    let body = list(&builder.build().unwrap(), &query);
    assert_eq!(body["items"], json!([{"id": 2, "comments": []}, {"id": 1, "comments": [{"id": 3}]}]));
}

/// A resolver that sorts and pages provides the values of related records for the cursors, and the total.
#[test]
fn a_resolver_that_pages_gives_cursors_and_the_total() {
    let schema = Schema::builder()
        .entity("post", |post| post.field("id", FieldType::Integer))
        .entity("comment", |comment| comment.field("id", FieldType::Integer))
        .relation("post.comments", JoinDocument::many("comment", "comments.post_id = posts.id"));
    let resolver = |plan: Plan, _: Context| async move {
        let mut rows = Rows::with_applied(&plan, Applied::all());
        // Two posts with three comments each, and one more that shows that another page follows.
        for id in [7i64, 4, 1] {
            rows.root().push_with(|column| if column == "id" { id.into() } else { 3.into() });
        }
        Ok::<_, ResolveError>(rows.total(9))
    };
    let mesh = Mesh::builder(schema.build().unwrap()).default_resolver(resolver).build().unwrap();
    let query = |page: Json| {
        json!({"post": {"$select": {"id": true}, "$page": page,
            "$orderBy": [{"relation": "comments", "aggregate": {"fn": "count"}, "direction": "desc"}]}})
        .to_string()
    };
    let text = query(json!({"first": 2, "total": true}));
    let plan = mesh.plan(&Request::collection(Format::Json, &text)).unwrap();
    let body = mesh.read(&plan, &Context::default()).now_or_never().unwrap().unwrap();
    let body: Json = serde_json::from_slice(&body.bytes).unwrap();
    assert_eq!(body["items"], json!([{"id": 7}, {"id": 4}]));
    assert_eq!(body["pageInfo"]["totalCount"], json!(9));
    let text = query(json!({"first": 2, "after": body["pageInfo"]["endCursor"]}));
    let next = mesh.plan(&Request::collection(Format::Json, &text)).unwrap();
    assert_eq!(next.cursor(), Some(&[Value::Integer(3), Value::Integer(4)][..]));
}
