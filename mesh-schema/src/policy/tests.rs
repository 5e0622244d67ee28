//! Parsing of policies, and their faults.

use expect_test::{Expect, expect};

use super::*;
use crate::{Document, Schema};

fn document(policies: &str) -> String {
    format!(
        r#"{{"entities": {{
            "post": {{"fields": ["id", "title", "ownerId"], "writable": ["title"],
                "computed": {{"label": {{"from": ["title"], "template": "{{title}}"}}}}}},
            "user": {{"fields": ["id", "name"]}}
        }},
        "joins": {{"post.owner": {{"entity": "user", "type": "one", "on": "users.id = posts.ownerId"}},
            "user.posts": {{"entity": "post", "type": "many", "on": "posts.ownerId = users.id"}}}},
        "policies": {policies}}}"#
    )
}

fn check(policies: &str, expected: Expect) {
    let faults = Schema::read(&document(policies), None).expect_err("faults");
    expected.assert_eq(&faults.iter().map(|fault| format!("{fault}\n")).collect::<String>());
}

#[test]
fn policies_are_parsed_and_printed() {
    let text = document(
        r#"{
            "admin": true,
            "author": {"user": true, "post": {
                "fields": ["id", "title", "label"], "writable": ["title"],
                "$check": {"field": "title", "op": "ne", "value": "x"}, "$set": {"ownerId": {"session": "userId"}},
                "$setOnCreate": {"id": 7},
                "$where": {"and": [
                    {"field": "ownerId", "op": "eq", "value": {"session": "userId"}},
                    {"not": {"or": [{"field": "id", "op": "in", "value": [1, 2.5, "x", true]},
                        {"field": "title", "op": "isNull", "value": null}, {"field": "title", "op": "like", "value": "a%"},
                        {"field": "id", "op": "in", "value": {"session": "claim.teams.ids"}},
                        {"relation": "owner", "op": "every", "where": {"field": "name", "op": "eq", "value": "x"}},
                        {"relation": "owner", "op": "none"}, {"field": "owner.name", "op": "isNotNull"}]}}
                ]}
            }},
            "*": {},
            "chief": {"$inherits": ["author", "*"], "user": {"fields": ["id"]}}
        }"#,
    );
    let parsed = Document::parse(&text).unwrap();
    assert_eq!(Document::parse(&parsed.to_json()), Ok(parsed.clone()));
    let schema = parsed.load(None).unwrap();
    let roles: Vec<_> = schema.policies().unwrap().keys().collect();
    assert_eq!(roles, ["admin", "author", "*", "chief"]);
    let of_chief = |entity| rules_for(schema.policies().unwrap(), "chief", entity);
    assert_eq!(of_chief("user").iter().map(|(role, _)| *role).collect::<Vec<_>>(), ["chief", "author"]);
    assert_eq!(of_chief("post").len(), 1);
    let Some(RoleDocument::Entities(author)) = schema.policies().unwrap().get("author") else { panic!() };
    assert_eq!(author.get("user"), Some(&RuleDocument::All));
    let Some(RuleDocument::Listed(post)) = author.get("post") else { panic!() };
    assert_eq!(post.fields.as_ref().unwrap().len(), 3);
    let Some(ConditionDocument::And(parts)) = &post.condition else { panic!() };
    assert_eq!(
        parts[0],
        ConditionDocument::Compare {
            field: "ownerId".to_owned(),
            op: "eq".to_owned(),
            value: OperandDocument::Session(SessionValue::UserId),
        }
    );
}

#[test]
fn missing_policies_are_none() {
    let schema = Schema::read(r#"{"entities": {"post": {"fields": ["id"]}}}"#, None).unwrap();
    assert!(schema.policies().is_none());
}

#[test]
fn rights_that_the_entity_does_not_permit_are_faults() {
    check(
        r#"{
            "a": {"post": {"writable": {"create": ["title", "label"], "update": ["ownerId"], "delete": true}}},
            "b": {"post": {"writable": {"create": true, "delete": false}}},
            "c": {"post": {"writable": true}}
        }"#,
        expect![[r#"
            policies.a.post.writable.create[1]: Field 'label' not found on entity 'post'
            policies.a.post.writable.update[0]: The field 'ownerId' is not writable on entity 'post'
            policies.a.post.writable.delete: The records of entity 'post' cannot be deleted
        "#]],
    );
}

#[test]
fn unknown_names_are_faults() {
    check(
        r#"{
            "": true,
            "author": {"pots": true, "post": {
                "fields": ["id", "titel", "id", "owner"], "writable": ["title", "id", "nothing"],
                "$where": {"or": [{"field": "ownr", "op": "isNull"}, {"not": {"field": "label", "op": "eq", "value": "x"}}]}
            }}
        }"#,
        expect![[r#"
            policies.: A role needs a name; use '*' for roles that are not listed
            policies.author.pots: Entity 'pots' not found; did you mean 'post'?
            policies.author.post.fields[1]: Field 'titel' not found on entity 'post'; did you mean 'title'?
            policies.author.post.fields[2]: The field 'id' is listed twice
            policies.author.post.fields[3]: 'owner' is a relation, not a field; a role can read it if it can read the related entity
            policies.author.post.writable[0]: The field 'title' can be written only if the role can read it; add it to 'fields'
            policies.author.post.writable[1]: The field 'id' is not writable on entity 'post'
            policies.author.post.writable[2]: Field 'nothing' not found on entity 'post'
            policies.author.post.$where[0].field: Field 'ownr' not found on entity 'post'
            policies.author.post.$where[1].field: Field 'label' not found on entity 'post'
        "#]],
    );
}

#[test]
fn columns_of_rules_exist_and_fit_each_other() {
    check(
        r#"{
            "a": {"post": {"fields": ["id"], "except": ["title"]}},
            "b": {"post": {"except": ["titel"], "writable": ["title"], "$set": {"title": "x"}}},
            "c": {"post": {"$set": {"owner": 1, "ownr": 2, "id": null}, "$setOnCreate": {"id": {"session": "user"}}}},
            "d": {"post": {"$set": {"id": 1}, "$setOnCreate": {"id": 2}}},
            "e": {"post": {"except": ["title"], "writable": {"update": ["title"]}}},
            "f": {"post": {"$check": {"field": "nothing", "op": "isNull"}}},
            "g": {"post": {"writable": {"create": ["title"]}, "$setOnCreate": {"title": "x"}}},
            "h": {"post": {"$set": {"owner": 1, "ownr": 2}}}
        }"#,
        expect![[r#"
            policies.a.post.except: 'except' cannot be combined with 'fields'
            policies.c.post.$set.id: Expected text, a number, true or false; use 'isNull' to find NULL
            policies.c.post.$setOnCreate.id.session: Unknown session value 'user'; expected one of userId, role, tenant, session, claim.NAME
            policies.b.post.except[0]: 'titel' not found on entity 'post'; did you mean 'title'?
            policies.b.post.writable[0]: The field 'title' has a preset value, so the role cannot write it
            policies.d.post.$setOnCreate.id: The field 'id' is given twice
            policies.e.post.writable.update[0]: The field 'title' can be written only if the role can read it
            policies.f.post.$check.field: Field 'nothing' not found on entity 'post'
            policies.g.post.writable.create[0]: The field 'title' has a preset value, so the role cannot write it
            policies.h.post.$set.owner: Field 'owner' not found on entity 'post'
            policies.h.post.$set.ownr: Field 'ownr' not found on entity 'post'
        "#]],
    );
}

#[test]
fn roles_inherit_roles_that_exist_and_not_themselves() {
    check(
        r#"{
            "a": {"$inherits": ["b", "athor"]},
            "b": {"$inherits": ["c"]},
            "c": {"$inherits": ["a"]},
            "d": {"$inherits": ["d"]},
            "e": {"$inherits": ["author"]},
            "f": {"$inherits": "author"},
            "author": {"$inherits": ["*"], "pots": true},
            "*": true
        }"#,
        expect![[r#"
            policies.f.$inherits: Expected a list, found text
            policies.a.$inherits[0]: The role 'a' inherits itself
            policies.a.$inherits[1]: Role 'athor' not found; did you mean 'author'?
            policies.b.$inherits[0]: The role 'b' inherits itself
            policies.c.$inherits[0]: The role 'c' inherits itself
            policies.d.$inherits[0]: The role 'd' inherits itself
            policies.author.pots: Entity 'pots' not found; did you mean 'post'?
        "#]],
    );
}

#[test]
fn related_records_are_named_by_relations_that_exist() {
    check(
        r#"{
            "a": {"post": {"$where": {"or": [
                {"relation": "ownr", "op": "some"},
                {"relation": "title", "op": "some"},
                {"relation": "owner", "op": "none", "where": {"field": "nam", "op": "isNull"}},
                {"relation": "owner", "op": "none", "where": {"relation": "posts", "op": "some", "where": {"field": "id", "op": "isNull"}}}
            ]}}},
            "b": {"post": {"$where": {"field": "owner.nme", "op": "isNull"}}},
            "c": {"post": {"$where": {"field": "ownr.name", "op": "isNull"}}},
            "d": {"user": {"$where": {"field": "posts.id", "op": "isNull"}}},
            "e": {"post": {"$where": {"field": "owner", "op": "isNull"}}}
        }"#,
        expect![[r#"
            policies.a.post.$where[0].relation: Relation 'ownr' not found on entity 'post'; did you mean 'owner'?
            policies.a.post.$where[1].relation: 'title' is a field of entity 'post', not a relation
            policies.a.post.$where[2].where.field: Field 'nam' not found on entity 'user'; did you mean 'name'?
            policies.b.post.$where.field: Field 'nme' not found on entity 'user'; did you mean 'name'?
            policies.c.post.$where.field: Relation 'ownr' not found on entity 'post'; did you mean 'owner'?
            policies.d.user.$where.field: The relation 'posts' leads to many records; use a condition on it
            policies.e.post.$where.field: Field 'owner' not found on entity 'post'
        "#]],
    );
}

#[test]
fn invalid_structures_are_faults() {
    check(
        r#"{
            "a": false,
            "b": {"post": "all"},
            "c": {"post": {"field": ["id"], "$where": {"field": "id", "op": "is", "value": 1}}},
            "d": {"post": {"$where": {"field": "id", "op": "eq", "value": {"session": "user"}}}},
            "e": {"post": {"$where": {"field": "id", "op": "eq", "value": null}}},
            "f": {"post": {"$where": {"and": []}}},
            "g": {"post": {"$where": {"field": "id", "op": "isNull", "value": 1}}},
            "h": {"post": {"$where": {"and": [{"field": "id", "op": "isNull"}], "or": []}}},
            "i": {"post": {"$where": {"field": "id", "op": "eq"}}},
            "j": {"post": {"$where": {"field": "id", "op": "in", "value": {"session": "userId"}}}},
            "k": {"post": {"$where": {}}},
            "n": {"post": {"$where": {"relation": "owner", "op": "any"}}},
            "o": {"post": {"$where": {"relation": "owner", "op": "every"}}},
            "p": {"post": {"$where": {"relation": "owner", "op": "some", "value": 1}}},
            "q": {"post": {"$where": {"where": {"field": "id", "op": "isNull"}}}},
            "r": {"post": {"$where": {"relation": "owner", "op": "some", "not": {"field": "id", "op": "isNull"}}}},
            "l": {"post": {"$where": {"field": "id", "op": "nin", "value": {"session": "claim."}}}},
            "m": {"post": {"$where": {"field": "title", "op": "like", "value": {"session": "claim.c"}}}}
        }"#,
        expect![[r#"
            policies.a: Expected an object of entities, or true for a role without limits, found a boolean
            policies.b.post: Expected an object, found text
            policies.c.post.field: Unknown key 'field'; did you mean 'fields'?
            policies.c.post.$where.op: Unknown operator 'is'; did you mean 'in'?
            policies.d.post.$where.value.session: Unknown session value 'user'; expected one of userId, role, tenant, session, claim.NAME
            policies.e.post.$where.value: Expected text, a number, true or false; use 'isNull' to find NULL
            policies.f.post.$where.and: Expected at least one condition
            policies.g.post.$where.value: 'isNull' takes no value
            policies.h.post.$where.and: 'and' must be the only key of its object
            policies.i.post.$where.value: 'eq' needs a value
            policies.j.post.$where.value: 'in' takes a list or a claim, and 'userId' is neither
            policies.k.post.$where: 'field' is missing
            policies.k.post.$where: 'op' is missing
            policies.n.post.$where.op: Unknown operator of relations 'any'; expected one of some, none, every
            policies.o.post.$where.where: 'every' needs a condition
            policies.p.post.$where.value: 'value' cannot be combined with 'relation'
            policies.q.post.$where: 'relation' is missing
            policies.q.post.$where: 'op' is missing
            policies.r.post.$where.not: 'not' must be the only key of its object
            policies.l.post.$where.value.session: Unknown session value 'claim.'; expected one of userId, role, tenant, session, claim.NAME
            policies.m.post.$where.value: Expected text, found an object
        "#]],
    );
}

#[test]
fn deeply_nested_conditions_are_refused() {
    let nested = |depth: usize| {
        let open = r#"{"not":"#.repeat(depth - 1);
        let condition = format!(r#"{open}{{"field":"id","op":"isNull"}}{}"#, "}".repeat(depth - 1));
        Schema::read(&document(&format!(r#"{{"a": {{"post": {{"$where": {condition}}}}}}}"#)), None)
    };
    assert!(nested(8).is_ok());
    for depth in [9, 5_000] {
        let faults = nested(depth).unwrap_err();
        assert_eq!(faults.len(), 1);
        assert_eq!(faults[0].message, "A condition is nested at most 8 deep");
    }
}
