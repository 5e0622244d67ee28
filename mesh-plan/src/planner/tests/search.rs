//! Searches and the order by relevance. `SPEC §20`

use expect_test::expect;
use mesh_ql::{Format, ParamValues};
use mesh_schema::{FieldType, JoinDocument, Schema};

use super::check_messages;
use crate::policy::Access;
use crate::{Limits, Mesh, Request};

fn schema() -> Schema {
    Schema::builder()
        .entity("post", |post| {
            let post = post.field("id", FieldType::Integer).field("topicId", FieldType::Integer);
            post.field("title", FieldType::String).field("body", FieldType::String).search(["title", "body"])
        })
        .entity("topic", |topic| topic.field("id", FieldType::Integer).field("name", FieldType::String))
        .relation("topic.posts", JoinDocument::many("post", "posts.topicId = topics.id"))
        .build()
        .unwrap()
}

fn mesh() -> Mesh {
    let query = mesh_ql::Limits { search_words: 3, ..mesh_ql::Limits::default() };
    let limits = Limits { query, ..Limits::default() };
    Mesh::builder(schema()).limits(limits).build().unwrap()
}

/// Returns the condition and the order of a query, or the message of its refusal.
fn planned(mesh: &Mesh, query: &str, params: &ParamValues) -> String {
    match mesh.plan(&Request::collection(Format::Json, query).with_params(Some(params))) {
        Ok(plan) => {
            let order: Vec<_> = plan.node().order.iter().map(ToString::to_string).collect();
            format!("{}; {}", plan.node().filter.as_ref().unwrap(), order.join(", "))
        }
        Err(error) => error.to_string(),
    }
}

#[test]
fn searches_have_words_and_relevance_has_a_search() {
    let mesh = mesh();
    let table = expect![[r#"
        post {"id":true},"$where":{"search":"a b* \"c d\""}
            search "a b* \"c d\""; id asc nulls last
        topic {"id":true},"$where":{"search":"a"}
            The records of entity 'topic' cannot be searched
        topic {"id":true},"$where":{"relation":"posts","op":"every","where":{"search":"a"}}
            not exists 0; id asc nulls last
        post {"id":true},"$where":{"search":"a b c -d"}
            The search has 4 words, prefixes and phrases, more than the bound `search_words` (3) allows
        post {"id":true},"$where":{"search":"-a *"}
            The search has no word to look for
        post {"id":true},"$where":{"search":"a"},"$orderBy":[{"search":"relevance"}]
            search "a"; search relevance desc, id asc nulls last
        post {"id":true},"$where":{"and":[{"search":"a"},{"or":[{"search":"b"},{"search":"c"}]}]},"$orderBy":[{"search":"relevance"},{"field":"title","direction":"desc"}]
            (search "a" and (search "b" or search "c")); search relevance desc, title desc nulls last, id desc nulls last
        post {"id":true},"$where":{"search":"a"},"$orderBy":[{"search":"relevance"}],"$page":{"last":1}
            search "a"; search relevance asc, id desc nulls first
        post {"id":true},"$orderBy":[{"search":"relevance"}]
            An order by relevance needs a `$where` that is one `search`, or an `and` with one among its members
        post {"id":true},"$where":{"or":[{"search":"a"}]},"$orderBy":[{"search":"relevance"}]
            An order by relevance needs a `$where` that is one `search`, or an `and` with one among its members
        post {"id":true},"$where":{"and":[{"search":"a"},{"search":"b"}]},"$orderBy":[{"search":"relevance"}]
            An order by relevance needs a `$where` that is one `search`, or an `and` with one among its members
        post {"title":true},"$where":{"search":"a"},"$orderBy":[{"search":"relevance"}],"$distinct":["title"]
            An order by relevance is allowed only at the root of a read that is neither grouped nor distinct
        topic {"posts":{"$select":{"id":true},"$where":{"search":"a"},"$orderBy":[{"search":"relevance"}]}},"$where":{"field":"id","op":"eq","value":1}
            An order by relevance is allowed only at the root of a read that is neither grouped nor distinct
    "#]];
    check_messages(&table, |line| {
        let (entity, rest) = line.split_once(' ').unwrap();
        planned(&mesh, &format!(r#"{{"{entity}":{{"$select":{rest}}}}}"#), &ParamValues::new())
    });
}

#[test]
fn the_value_of_a_parameter_is_checked_as_the_text_is() {
    let mesh = mesh();
    let query = r#"{"post":{"$select":{"id":true},"$where":{"search":{"$param":"q"}},"$orderBy":[{"search":"relevance"}]}}"#;
    let with = |value: &str| {
        let params = ParamValues::parse(&format!("{{{value}}}")).unwrap();
        planned(&mesh, query, &params)
    };
    let table = expect![[r#"
        "q":"a b"
            search $q; search relevance desc, id asc nulls last
        "q":"c"
            search $q; search relevance desc, id asc nulls last
        "q":"-c"
            The value of the parameter 'q' is wrong: The search has no word to look for
        "q":"a b c d"
            The value of the parameter 'q' is wrong: The search has 4 words, prefixes and phrases, more than the bound `search_words` (3) allows
        "q":1
            The value of the parameter 'q' is wrong: it must be a string, not 1
        "q":null
            The value of the parameter 'q' is wrong: it must be a string, not null
        "q":["a"]
            The value of the parameter 'q' is wrong: it must be a string, not a list
        "r":"a"
            The parameter 'q' has no value
    "#]];
    check_messages(&table, with);
    let parameters = mesh.parameters(&Request::collection(Format::Json, query)).unwrap();
    assert_eq!((parameters[0].name.as_str(), parameters[0].ty), ("q", Some(FieldType::String)));
}

#[test]
fn a_role_that_may_not_read_each_field_cannot_search() {
    let with_fields = |fields: &'static [&'static str]| {
        let policy = |_: &str, _: &mesh_schema::Entity| Access::all().only(fields.iter().copied());
        let mesh = Mesh::builder(schema()).policy(policy).build().unwrap();
        planned(&mesh, r#"{"post":{"$select":{"id":true},"$where":{"search":"a"}}}"#, &ParamValues::new())
    };
    assert_eq!(with_fields(&["id", "title"]), "The records of entity 'post' cannot be searched");
    assert_eq!(with_fields(&["id", "title", "body"]), "search \"a\"; id asc nulls last");
}
