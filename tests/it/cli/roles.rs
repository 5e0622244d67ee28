//! `explain --role`: what the policies of a role add to a query.

use mesh_tests::{Database, TempDir, run};
use serde_json::{Value, json};

use super::{assert_fails, stderr, stdout};

const TABLES: &str = "
    CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, email TEXT);
    CREATE TABLE posts (id INTEGER PRIMARY KEY, title TEXT, published BOOLEAN, owner_id INTEGER REFERENCES users);";

fn document() -> Value {
    let own = json!({"field": "ownerId", "op": "eq", "value": {"session": "userId"}});
    json!({
        "entities": {
            "post": {"fields": ["id", "title", "published", "ownerId"], "columns": {"ownerId": "owner_id"}},
            "user": {"fields": ["id", "name", "email"]}
        },
        "joins": {
            "post.owner": {"entity": "user", "type": "one", "on": "users.id = posts.owner_id"},
            "user.posts": {"entity": "post", "type": "many", "on": "users.id = posts.owner_id"}
        },
        "policies": {
            "admin": true,
            "author": {
                "post": {"$where": {"or": [{"field": "published", "op": "eq", "value": true}, own]}},
                "user": {"fields": ["id", "name"], "$where": {"field": "name", "op": "eq", "value": {"session": "tenant"}}}
            },
            "*": {"post": {"fields": ["id", "title"], "$where": {"field": "published", "op": "eq", "value": true}}}
        }
    })
}

/// Runs `explain` with a schema, and a database if there is one.
struct Explain {
    schema: String,
    database: Option<String>,
}

impl Explain {
    fn run(&self, arguments: &[&str]) -> std::process::Output {
        let mut all = vec!["explain", "--schema", &self.schema];
        all.extend(self.database.iter().flat_map(|url| ["--database", url]));
        run(&[&all, arguments].concat())
    }

    fn text(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        stdout(&output)
    }
}

#[test]
fn explain_marks_the_conditions_of_a_role() {
    let dir = TempDir::new();
    let schema = dir.write("schema.json", &document().to_string());
    let database = Database::new(TABLES);
    for database in [None, Some(database.url())] {
        let explain = Explain { schema: schema.clone(), database };
        let query = json!({"user": {
            "$select": {"name": true, "posts": {"$select": {"id": true}}},
            "$where": {"relation": "posts", "op": "every", "where": {"field": "title", "op": "eq", "value": "x"}}
        }});
        let query = query.to_string();
        let arguments = ["--role", "author", "--user", "7", "--tenant", "red", &query];
        let said = explain.text(&arguments);
        for line in [
            "\n  policy  name = session.tenant\n",
            "\n  where   posts every (title = \"x\")\n",
            "\n    policy  (published = true or owner_id = session.userId)\n",
            "\n  session tenant = \"red\", userId = 7\n",
        ] {
            assert!(said.contains(line), "{line:?} expected in: {said}");
        }
        // Once for the condition and once for the list.
        assert_eq!(said.matches("\n    policy  ").count(), 2, "{said}");

        let shown: Value =
            serde_json::from_str(&explain.text(&[&["--json"], &arguments[..]].concat())).unwrap();
        let policies: Vec<_> =
            shown["conditions"].as_array().unwrap().iter().filter(|it| it["origin"] == "policy").collect();
        let paths: Vec<_> = policies.iter().map(|it| (&it["path"], &it["entity"], &it["session"])).collect();
        let (red, seven) = (json!({"tenant": "red"}), json!({"userId": 7}));
        let (user, posts, post) = (json!("user"), json!("user.posts"), json!("post"));
        assert_eq!(
            paths,
            [(&user, &user, &red), (&posts, &post, &seven), (&posts, &post, &seven)],
            "{shown}"
        );
        let requested: Vec<_> =
            shown["conditions"].as_array().unwrap().iter().filter(|it| it["origin"] == "query").collect();
        assert_eq!(requested.len(), 2, "{shown}");
        assert_eq!(
            (&shown["role"], shown["statements"].as_array().unwrap().is_empty()),
            (&json!("author"), false)
        );

        let anonymous = explain.text(&["--role", "*", "{ post title }"]);
        assert!(anonymous.contains("\n  policy  published = true\n"), "{anonymous}");
        let lacking = explain.text(&["--role", "author", "--user", "7", "{ user name }"]);
        assert!(
            lacking.contains("\n  session tenant = null, for which no comparison is true\n"),
            "{lacking}"
        );
        for arguments in [&["{ post title }"][..], &["--role", "admin", "{ post title }"]] {
            assert!(!explain.text(arguments).contains("policy"), "{arguments:?}");
        }
    }
}

#[test]
fn explain_refuses_names_as_the_role_sees_them() {
    let dir = TempDir::new();
    let schema = dir.write("schema.json", &document().to_string());
    let explain = Explain { schema, database: None };
    for (arguments, status, words) in [
        (
            &["--role", "*", "{ post title published }"][..],
            1,
            &["Field 'published' not found on entity 'post'"][..],
        ),
        (&["--role", "*", "{ user name }"], 1, &["Entity 'user' not found"]),
        (
            &["--role", "author", "--user", "1", "{ user email }"],
            1,
            &["Field 'email' not found on entity 'user'"],
        ),
        (&["--role", "auhtor", "{ post title }"], 2, &["no role 'auhtor'", "did you mean 'author'?"]),
        (&["--role", "guest", "{ post title }"], 2, &["no role 'guest'", "--role '*'"]),
        (&["--role", "author", "{ post title }"], 2, &["userId", "--user"]),
        (&["--role", "author", "--claim", "teams", "{ post title }"], 2, &["NAME=VALUE", "'teams'"]),
        (&["--user", "7", "{ post title }"], 2, &["--role"]),
        (&["--claim", "teams=1", "{ post title }"], 2, &["--role"]),
    ] {
        assert_fails(&explain.run(arguments), status, words);
    }
    // Names that are hidden and names that do not exist are refused alike.
    let hidden = stderr(&explain.run(&["--role", "*", "{ post ownerId }"]));
    let unknown = stderr(&explain.run(&["--role", "*", "{ post ownerXd }"]));
    assert_eq!(hidden, unknown.replace("ownerXd", "ownerId"));

    let mut open = document();
    open.as_object_mut().unwrap().remove("policies");
    let open = Explain { schema: dir.write("open.json", &open.to_string()), database: None };
    assert_fails(&open.run(&["--role", "author", "{ post title }"]), 2, &["no policies"]);
}
