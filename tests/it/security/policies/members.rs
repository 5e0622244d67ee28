//! Conditions on related records: users see the posts of projects that they are members of, but not the other members.

use mesh_tests::Request;
use mesh_tests::kit::encoding;
use serde_json::{Value, json};

use super::{Session, Site, TABLES};
use crate::events::stream::Stream;

const PROJECTS: &str = "
CREATE TABLE projects (id BIGINT PRIMARY KEY, name TEXT);
CREATE TABLE members (id BIGINT PRIMARY KEY, project_id BIGINT REFERENCES projects (id), user_id BIGINT REFERENCES users (id));
CREATE TABLE tasks (id BIGINT PRIMARY KEY, title TEXT, project_id BIGINT REFERENCES projects (id));
INSERT INTO projects VALUES (1, 'Bread'), (2, 'Maps');
INSERT INTO members VALUES (1, 1, 2), (2, 2, 3), (3, 2, 2);
INSERT INTO tasks VALUES (1, 'Flour', 1), (2, 'Paper', 2), (3, 'Yeast', 1), (4, 'Loose', NULL);
";

fn schema() -> Value {
    let member = json!({"field": "userId", "op": "eq", "value": {"session": "userId"}});
    let member = json!({"relation": "members", "op": "some", "where": member});
    json!({
        "entities": {
            "task": {"fields": ["id", "title", "projectId"], "columns": {"projectId": "project_id"}, "writable": true},
            "project": {"fields": ["id", "name"]},
            "member": {"fields": ["id", "projectId", "userId"],
                "columns": {"projectId": "project_id", "userId": "user_id"}, "writable": true}
        },
        "joins": {
            "task.project": {"entity": "project", "type": "one", "on": "projects.id = tasks.project_id"},
            "project.tasks": {"entity": "task", "type": "many", "on": "tasks.project_id = projects.id"},
            "project.members": {"entity": "member", "type": "many", "on": "members.project_id = projects.id"}
        },
        "policies": {
            "admin": true,
            "editor": {
                "task": {"$where": {"relation": "project", "op": "some", "where": member}, "writable": true},
                "project": {"$where": member}
            }
        }
    })
}

fn sites() -> impl Iterator<Item = Site> {
    Site::both_with(schema(), &[TABLES, PROJECTS].concat())
}

fn stream(site: &Site, (token, key): &Session, path: &str, query: &str) -> Stream {
    let signature = encoding::signature(key, &mesh_tests::encode(query));
    let request = Request::get(&format!("/mesh{path}"), query);
    let request = request.header("X-Mesh-Token", token).header("X-Mesh-Signature", signature);
    Stream::try_open(site.server.address, &request).unwrap_or_else(|reply| panic!("{reply:?}"))
}

/// Attack with a session of few rights: a membership that ends while a stream is open.
#[test]
fn a_stream_ends_with_the_membership_and_continues_with_it() {
    for site in sites() {
        let (ada, bo, cy) = (site.login("Ada"), site.login("Bo"), site.login("Cy"));
        let query = r#"{"task":{"$select":{"title":true,"project":{"$select":{"name":true}}}}}"#;
        let (mut of_bo, mut of_cy) =
            (stream(&site, &bo, "/task/2/events", query), stream(&site, &cy, "/task/2/events", query));
        let shown = r#"{"title":"Paper","project":{"name":"Maps"}}"#;
        assert_eq!((of_bo.data().as_str(), of_cy.data().as_str()), (shown, shown));
        assert_eq!(site.write(&ada, "DELETE", "/member/3", &Value::Null).status, 204);
        assert_eq!(of_bo.data(), "null");
        let member = json!({"id": 4, "projectId": 2, "userId": 2});
        assert_eq!(site.write(&ada, "POST", "/member", &member).status, 201);
        assert_eq!(of_bo.data(), shown);
        let other = shown.replace("Paper", "Ink");
        assert_eq!(site.write(&ada, "PUT", "/task/2", &json!({"title": "Ink"})).status, 200);
        assert_eq!(
            (of_bo.data(), of_cy.data()),
            (other.clone(), other),
            "nothing else was sent to the other stream"
        );
    }
}
