//! The rules for schema documents, with the path and message of each fault.

mod entries;

use expect_test::{Expect, expect};

use crate::{Catalog, Document, Link, Member, Piece, Schema};

pub(crate) fn load(text: &str, catalog: Option<&Catalog>) -> Result<Schema, String> {
    let document = Document::parse(text).unwrap_or_else(|faults| panic!("{faults:?}"));
    document.load(catalog).map_err(|faults| faults.iter().map(|fault| format!("{fault}\n")).collect())
}

fn faults(text: &str) -> String {
    load(text, None).expect_err("faults")
}

/// Checks the faults of texts. Each line of the table that is not indented is a text; its faults follow.
#[track_caller]
pub(crate) fn check_faults(table: &Expect, faults: impl Fn(&str) -> String) {
    let lines = || table.data().lines().filter(|line| !line.trim().is_empty());
    let indent = lines().map(|line| line.len() - line.trim_start().len()).min().unwrap_or_default();
    let mut shown = String::new();
    for text in lines().map(|line| &line[indent..]).filter(|line| !line.starts_with("    ")) {
        shown.push_str(&format!("{text}\n"));
        faults(text).lines().for_each(|fault| shown.push_str(&format!("    {fault}\n")));
    }
    assert!(!shown.is_empty(), "the table has no texts");
    table.assert_eq(&shown);
}

fn texts(table: Expect) {
    check_faults(&table, faults);
}

/// Checks documents with one entity `post`, which has the fields `id` and `title`, followed by these properties.
fn entities(table: Expect) {
    check_faults(&table, |properties| faults(&entity(&format!(", {properties}"))));
}

/// Checks documents with users, posts, tags and one join, whose key precedes it.
fn joins(table: Expect) {
    check_faults(&table, |text| {
        let (key, properties) = text.split_once(": ").unwrap();
        faults(&join(key, properties))
    });
}

/// Checks conditions of the join `post.author`.
fn conditions(table: Expect) {
    check_faults(&table, |on| faults(&to_user(on)));
}

/// Returns a document with one entity `post`, which has the fields `id` and `title`, followed by `more`.
fn entity(more: &str) -> String {
    format!(r#"{{"entities": {{"post": {{"fields": ["id", "title"]{more}}}}}}}"#)
}

fn named(key: &str) -> String {
    format!(r#"{{"entities": {{"{key}": {{"fields": ["id"]}}}}}}"#)
}

/// Returns a document with users, posts, tags and one join under `key`.
fn join(key: &str, join: &str) -> String {
    format!(
        r#"{{"entities": {{
            "user": {{"fields": ["id", "name"]}},
            "post": {{"fields": ["id", "title"], "computed": {{"label": {{"from": ["title"], "template": "{{title}}"}}}}}},
            "tag": {{"fields": ["text"], "idField": null}}
        }}, "joins": {{"{key}": {join}}}}}"#
    )
}

fn to_user(on: &str) -> String {
    join("post.author", &format!(r#"{{"entity": "user", "type": "one", "on": {on:?}}}"#))
}

fn link(text: &str, catalog: Option<&Catalog>) -> Link {
    let schema = load(text, catalog).unwrap();
    let (_, entity) = schema.entities().find(|(_, entity)| !entity.relations.is_empty()).unwrap();
    entity.relations[0].link.clone()
}

pub(crate) fn shown(link: &Link) -> String {
    match link {
        Link::Direct { pairs } => {
            let pairs: Vec<_> =
                pairs.iter().map(|pair| format!("parent.{} = target.{}", pair.parent, pair.target)).collect();
            pairs.join(", ")
        }
        Link::Through { table, from, to, parent, target, .. } => {
            format!("parent.{parent} = {table}.{from}, {table}.{to} = target.{target}")
        }
    }
}

#[test]
fn invalid_names_are_refused() {
    texts(expect![[r#"
        {"entities": {"": {"fields": ["id"]}}}
            entities.: An entity needs a name
        {"entities": {"$post": {"fields": ["id"]}}}
            entities.$post: The name '$post' begins with '$', which marks controls; rename it
        {"entities": {"a.b": {"fields": ["id"]}}}
            entities.a.b: The entity key 'a.b' has a dot, which separates entity and ref in join keys; rename it
    "#]]);
    for key in ["queries", "auth", "logout", "write", "files", "batch"] {
        let message = load(&named(key), None).unwrap_err();
        assert!(message.contains("is reserved"), "{message}");
    }
    texts(expect![[r#"
        {"entities": {"post": {"fields": ["id", "events", "$x", "", "a.b"]}}}
            entities.post.fields[1]: The name 'events' is reserved for the event stream; rename it
            entities.post.fields[2]: The name '$x' begins with '$', which marks controls; rename it
            entities.post.fields[3]: A field needs a name
            entities.post.fields[4]: The name 'a.b' has a dot, which separates the names of a path; rename it
    "#]]);
    entities(expect![[r#"
        "computed": {"events": {"from": [], "template": ""}}
            entities.post.computed.events: The name 'events' is reserved for the event stream; rename it
    "#]]);
    joins(expect![[r#"
        post.events: {"entity": "user", "type": "one", "on": "users.id = posts.a"}
            joins.post.events: The name 'events' is reserved for the event stream; rename it
        post.a.b: {"entity": "user", "type": "one", "on": "users.id = posts.a"}
            joins.post.a.b: The name 'a.b' has a dot, which separates the names of a path; rename it
        post.: {"entity": "user", "type": "one", "on": "users.id = posts.a"}
            joins.post.: A relation needs a name
    "#]]);
    for key in ["__proto__", "constructor", "toString", "a/b", "events", "ünï côde", "Queries"] {
        assert!(load(&named(key), None).unwrap().find(key).is_some());
    }
    assert!(load(&named("post"), None).unwrap().find("__proto__").is_none());
}

#[test]
fn entities_need_fields_and_an_id() {
    texts(expect![[r#"
        {"entities": {"post": {"fields": []}}}
            entities.post.fields: An entity needs at least one field
        {"entities": {"post": {"fields": ["id", "id"]}}}
            entities.post.fields[1]: The field 'id' is listed twice
        {"entities": {"post": {"fields": ["title"]}}}
            entities.post.idField: There is no field 'id'; set idField to the field that identifies a row, or to null if none does
    "#]]);
    entities(expect![[r#"
        "idField": "titel"
            entities.post.idField: Field 'titel' not found on entity 'post'; did you mean 'title'?
        "table": "a.b.c"
            entities.post.table: The table 'a.b.c' has more than one dot; put names with dots in double quotes
        "idField": ["titel", "id", "id"]
            entities.post.idField[0]: Field 'titel' not found on entity 'post'; did you mean 'title'?
            entities.post.idField[2]: The field 'id' is listed twice
        "idField": ["title"]
            entities.post.idField: A list must have two or more fields; write a single field as text, or null if no field identifies a row
    "#]]);
    let schema = load(&entity(r#", "idField": ["title", "id"]"#), None).unwrap();
    let post = schema.entity(schema.find("post").unwrap());
    assert_eq!(post.id_fields().map(|field| field.name.as_str()).collect::<Vec<_>>(), ["title", "id"]);
    assert!(post.tie_break.is_empty() && post.is_id_column("TITLE"));
    let schema = load(&entity(r#", "idField": null"#), None).unwrap();
    let post = schema.entity(schema.find("post").unwrap());
    assert_eq!((post.id.len(), post.table.to_string().as_str()), (0, "posts"));
    let columns: Vec<_> = post.tie_break.iter().map(|key| (key.column.as_str(), key.nullable)).collect();
    assert_eq!(columns, [("id", true), ("title", true)]);
    let schema = load(&named("news"), None).unwrap();
    let news = schema.entity(schema.find("news").unwrap());
    assert_eq!((news.table.name.as_str(), news.tie_break.len()), ("news", 0));
}

#[test]
fn computed_fields_depend_on_fields_only() {
    let computed = entity(
        r#", "computed": {
                "title": {"from": [], "template": ""},
                "a": {"from": ["titel", "id", "id"], "template": "{title}"},
                "b": {"from": ["title"], "template": "{titel} {"},
                "c": {"from": ["title"], "template": "{titel}"},
                "d": {"from": ["c"], "template": "{c}"}
            }"#,
    );
    expect![[r#"
            entities.post.computed.title: 'title' is already a field of entity 'post'
            entities.post.computed.a.from[0]: Field 'titel' not found on entity 'post'; did you mean 'title'?
            entities.post.computed.a.from[2]: The field 'id' is listed twice
            entities.post.computed.a.template: The template uses 'title', which 'from' does not list; did you mean 'titel'?
            entities.post.computed.b.template: The template has an unmatched brace or an empty placeholder; write {{ or }} for a literal brace
            entities.post.computed.c.template: The template uses 'titel', which 'from' does not list; did you mean 'title'?
            entities.post.computed.d.from[0]: Field 'c' not found on entity 'post'
        "#]]
    .assert_eq(&faults(&computed));
    let schema =
        load(&entity(r#", "computed": {"a": {"from": ["title", "id"], "template": "{id}: {title}"}}"#), None);
    let schema = schema.unwrap();
    let post = schema.entity(schema.find("post").unwrap());
    let Some(Member::Computed(index)) = post.member("a") else { panic!("not computed") };
    let (id, title) = (post.id[0], post.field_of_column("title").unwrap());
    assert_eq!(post.computed[index].from, [title, id]);
    assert_eq!(
        post.computed[index].template,
        [Piece::Field(id), Piece::Text(": ".into()), Piece::Field(title)]
    );
}

#[test]
fn joins_connect_entities() {
    joins(expect![[r#"
        author: {"entity": "user", "type": "one", "on": "users.id = posts.a"}
            joins.author: The join key 'author' is not of the form entityKey.ref
        pots.author: {"entity": "usr", "type": "one", "on": "users.id = posts.a"}
            joins.pots.author: Entity 'pots' not found; did you mean 'post'?
            joins.pots.author.entity: Entity 'usr' not found; did you mean 'user'?
        post.title: {"entity": "user", "type": "one", "on": "users.id = posts.a"}
            joins.post.title: 'title' is a field of entity 'post' already
        post.label: {"entity": "user", "type": "one", "on": "users.id = posts.a"}
            joins.post.label: 'label' is a computed field of entity 'post' already
        post.author: {"entity": "user", "type": "one"}
            joins.post.author.on: 'on' is missing; write which column of 'users' equals which of 'posts'
    "#]]);
}

#[test]
fn conditions_must_name_both_tables() {
    for on in ["users.id = posts.author_id", "posts.author_id = users.id", "POSTS.author_id=\"users\".id"] {
        assert_eq!(shown(&link(&to_user(on), None)), "parent.author_id = target.id", "{on}");
    }
    assert_eq!(
        shown(&link(&to_user("users.id = posts.a and posts.b = users.c"), None)),
        "parent.a = target.id, parent.b = target.c"
    );
    assert_eq!(shown(&link(&to_user("public.users.id = posts.a"), None)), "parent.a = target.id");
    conditions(expect![[r#"
        users.id
            joins.post.author.on: Expected '=' at character 9, found the end; write table.column = table.column, with further equalities joined by AND
        user.id = posts.a
            joins.post.author.on: 'user.id' names neither 'posts', the table of entity 'post', nor 'users', that of 'user'
        users.id = users.a
            joins.post.author.on: Both sides name 'users'; one side has to name 'posts'
        posts.id = posts.a AND x.y = z.w
            joins.post.author.on: Both sides name 'posts'; one side has to name 'users'
            joins.post.author.on: 'x.y' names neither 'posts', the table of entity 'post', nor 'users', that of 'user'
            joins.post.author.on: 'z.w' names neither 'posts', the table of entity 'post', nor 'users', that of 'user'
        other.users.id = posts.a
            joins.post.author.on: 'other.users.id' names neither 'posts', the table of entity 'post', nor 'users', that of 'user'
    "#]]);
}

#[test]
fn self_joins_have_the_target_on_the_left() {
    let join = |target: &str, on: &str| {
        format!(
            r#"{{"entities": {{
                "employee": {{"fields": ["id"], "table": "staff"}},
                "manager": {{"fields": ["id"], "table": "staff"}}
            }}, "joins": {{"employee.boss": {{"entity": "{target}", "type": "one", "on": "{on}"}}}}}}"#
        )
    };
    for target in ["employee", "manager"] {
        let text = join(target, "staff.id = staff.manager_id");
        assert_eq!(shown(&link(&text, None)), "parent.manager_id = target.id");
    }
    let wrong = faults(&join("manager", "managers.id = staff.manager_id"));
    expect!["joins.employee.boss.on: 'managers.id' does not name 'staff', the table of entity 'employee'\n"]
        .assert_eq(&wrong);
}

#[test]
fn ambiguous_table_names_are_refused() {
    let join = |on: &str| {
        format!(
            r#"{{"entities": {{
                "a": {{"fields": ["id"], "table": "x.items"}},
                "b": {{"fields": ["id"], "table": "y.items"}},
                "c": {{"fields": ["id"], "table": "items"}}
            }}, "joins": {{"a.b": {{"entity": "b", "type": "one", "on": "{on}"}}}}}}"#
        )
    };
    assert_eq!(shown(&link(&join("y.items.id = x.items.b"), None)), "parent.b = target.id");
    expect![[r#"
        joins.a.b.on: 'items.id' is ambiguous: it can mean 'x.items' or 'y.items'; write it with the name of its schema
    "#]]
    .assert_eq(&faults(&join("items.id = x.items.b")));
    let plain = join("items.id = x.items.c").replace(r#""entity": "b""#, r#""entity": "c""#);
    assert_eq!(shown(&link(&plain, None)), "parent.c = target.id");
}

fn through(entity: &str, more: &str) -> String {
    let table = r#""through": {"table": "likes", "from": "post_id", "to": "user_id"}"#;
    join("post.x", &format!(r#"{{"entity": "{entity}", "type": "many", {table}{more}}}"#))
}

#[test]
fn junctions_refer_to_ids_unless_on_says_otherwise() {
    assert_eq!(
        shown(&link(&through("user", ""), None)),
        "parent.id = likes.post_id, likes.user_id = target.id"
    );
    let on = r#", "on": "users.email = likes.user_id AND LIKES.post_id = posts.slug""#;
    assert_eq!(
        shown(&link(&through("user", on), None)),
        "parent.slug = likes.post_id, likes.user_id = target.email"
    );
    let on = r#", "on": "likes.user_id = tags.text""#;
    assert_eq!(
        shown(&link(&through("tag", on), None)),
        "parent.id = likes.post_id, likes.user_id = target.text"
    );
    let on = r#", "on": "likes.user_id = posts.other AND likes.post_id = posts.id""#;
    assert_eq!(
        shown(&link(&through("post", on), None)),
        "parent.id = likes.post_id, likes.user_id = target.other"
    );
}

#[test]
fn unresolvable_junctions_are_refused() {
    let junctions = |table: Expect| {
        check_faults(&table, |text| match text.split_once(" on ") {
            Some((entity, on)) => faults(&through(entity, &format!(r#", "on": "{on}""#))),
            None => faults(&through(text, "")),
        });
    };
    junctions(expect![[r#"
        tag
            joins.post.x.through.to: Entity 'tag' has no id field for the junction's 'to' to refer to; specify in 'on' what 'user_id' equals
        user on users.id = posts.a
            joins.post.x.on: 'users.id = posts.a': exactly one side has to name the junction table 'likes'
        user on likes.other = users.id
            joins.post.x.on: 'likes.other' is neither the junction's column 'post_id' nor 'user_id'
        user on likes.user_id = posts.id
            joins.post.x.on: 'likes.user_id' is the junction's 'to', so 'posts.id' has to name 'users'
        user on likes.user_id = users.id AND users.name = likes.user_id
            joins.post.x.on: 'likes.user_id' is equated twice
    "#]]);
    joins(expect![[r#"
        post.x: {"entity": "user", "type": "one", "through": {"table": "", "from": "a", "to": "a"}}
            joins.post.x.type: A relation through a junction table leads to many rows; set type to 'many'
            joins.post.x.through.to: 'from' and 'to' have to be two columns of the junction table
            joins.post.x.through.table: A table needs a name
        post.x: {"entity": "user", "type": "many", "through": {"table": "t", "from": "", "to": ""}}
            joins.post.x.through.from: A column needs a name
            joins.post.x.through.to: A column needs a name
    "#]]);
}
