//! Writes that hide the record that they refer to: the record was visible when it was linked, so they succeed.

use mesh_tests::{Cluster, Database, Request, Server};
use serde_json::json;

const TABLES: &str = "
CREATE TABLE projects (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE members (id INTEGER PRIMARY KEY, name TEXT, project_id INTEGER REFERENCES projects (id));
CREATE TABLE tags (id INTEGER PRIMARY KEY);
CREATE TABLE project_tags (project_id INTEGER REFERENCES projects (id), tag_id INTEGER REFERENCES tags (id));
INSERT INTO projects VALUES (1, 'one'), (2, 'two'), (3, 'three'), (4, 'four'), (5, 'five'), (6, 'six');
INSERT INTO members VALUES (1, 'me', 1), (2, 'me', 2), (3, 'me', 3), (4, 'me', 4), (5, 'me', 5), (6, 'me', 6), (7, 'other', 2),
    (8, 'me', NULL), (9, 'closed', NULL), (10, 'closed', NULL), (11, 'closed', NULL);
INSERT INTO tags VALUES (1), (2);
INSERT INTO project_tags VALUES (6, 1);
";

/// Projects of which `me` is a member, and which are neither closed nor tagged with 2.
fn schema() -> String {
    let member = |op: &str, name: &str| json!({"relation": "members", "op": op, "where": {"field": "name", "op": "eq", "value": name}});
    let tagged = json!({"relation": "tags", "op": "none", "where": {"field": "id", "op": "eq", "value": 2}});
    let seen = json!({"and": [member("some", "me"), member("none", "closed"), tagged]});
    json!({
        "entities": {
            "project": {"fields": ["id", "name"], "writable": true},
            "member": {"fields": ["id", "name", "projectId"], "columns": {"projectId": "project_id"}, "writable": true},
            "tag": {"fields": ["id"]}
        },
        "joins": {
            "member.project": {"entity": "project", "type": "one", "on": "projects.id = members.project_id"},
            "project.members": {"entity": "member", "type": "many", "on": "members.project_id = projects.id"},
            "project.tags": {
                "entity": "tag", "type": "many",
                "through": {"table": "project_tags", "from": "project_id", "to": "tag_id"}
            }
        },
        "policies": {"*": {
            "project": {"$where": seen, "writable": true},
            "member": {"writable": true},
            "tag": true
        }}
    })
    .to_string()
}

/// Writes that hide the project of that number, with their statuses.
const CASES: &[(u32, &str, &str, &str, u16)] = &[
    (1, "DELETE", "/project/1/members/1", "", 204),
    (2, "POST", "/project/2/members", r#"{"id": 20, "name": "closed"}"#, 201),
    (3, "POST", "/member", r#"{"id": 30, "name": "closed", "projectId": 3}"#, 201),
    (4, "PUT", "/member/9", r#"{"projectId": 4}"#, 200),
    (5, "PUT", "/member/10/project", r#"{"entityId": 5}"#, 200),
    (6, "POST", "/project/6/tags", r#"{"entityId": 2}"#, 204),
];

#[test]
fn a_write_may_hide_its_parent_or_its_target() {
    let sqlite = Database::new(TABLES);
    let schema = sqlite.dir.write("schema.json", &schema());
    let cluster = Cluster::start();
    let postgres = cluster.as_ref().map(|cluster| cluster.database("projects", TABLES));
    for url in [Some(sqlite.url()), postgres].into_iter().flatten() {
        let server = Server::start(&["--database", &url, "--schema", &schema, "--mutations"]);
        let write = |method: &str, path: &str, body: &str| {
            let request = Request::new(method, &server.path(path));
            let typed = request.clone().header("Content-Type", "application/json").body(body);
            server.send(if body.is_empty() { &request } else { &typed })
        };
        for (project, method, path, body, status) in CASES {
            let read =
                || server.get(&format!("/project/{project}"), "{\"project\":{\"$select\":{\"id\":true}}}");
            assert_eq!(read().text(), format!(r#"{{"id":{project}}}"#), "{url}");
            let reply = write(method, path, body);
            assert_eq!(reply.status, *status, "{url} {method} {path} {body}: {}", reply.text());
            assert_eq!(read().text(), "null", "{url} {method} {path} {body}");
            // The next write of this kind no longer finds the project.
            let reply = write("PUT", "/member/11/project", &json!({"entityId": project}).to_string());
            assert_eq!(reply.status, 404, "{url} {project}: {}", reply.text());
        }
    }
}
