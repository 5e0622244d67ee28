//! Databases and settings of the tests of generated clients.

use mesh_tests::{Database, run};
use serde_json::{Value, json};

use crate::support::sessions::Deployment;

/// Creates the blog with invoices and a schema with parts that inference cannot find: big numbers, files, computed
/// fields. The titles of posts can be searched.
pub(super) fn shop() -> (Database, String) {
    let database = Database::blog();
    let tables = "CREATE TABLE invoices (id INTEGER PRIMARY KEY, total DECIMAL(10, 2) NOT NULL, number INTEGER, scan TEXT);
        CREATE VIRTUAL TABLE post_words USING fts5(title, content='posts', content_rowid='id');
        INSERT INTO post_words (post_words) VALUES ('rebuild');";
    database.connect().execute_batch(tables).unwrap();
    let output = run(&["introspect", "--database", &database.url()]);
    let mut document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let invoice = &mut document["entities"]["invoice"];
    invoice["types"]["number"] = json!("bigint");
    invoice["uploads"] = json!({"scan": {}});
    invoice["computed"] = json!({"label": {"from": ["id", "total"], "template": "{id}: {total}"}});
    let post = json!(["title", "likes", "attributes", "authorId"]);
    document["entities"]["post"]["search"] = json!({"fields": ["title"], "table": "post_words"});
    document["entities"]["post"]["writable"] = json!({"create": post, "update": post, "delete": true});
    let comment = json!(["text", "userId"]);
    document["entities"]["comment"]["writable"] =
        json!({"create": ["id", "text", "userId"], "update": comment, "delete": true});
    let schema = database.dir.write("schema.json", &document.to_string());
    (database, schema)
}

/// A deployment with uploads that requires signed and bound requests.
pub(super) fn guarded() -> Deployment {
    let uploads = "[uploads]\nenabled = true\n";
    let deployment = Deployment::with("binding = \"require\"", uploads);
    let folder = deployment.database.dir.path().display().to_string();
    let schema = json!({
        "entities": {
            "post": {
                "fields": ["id", "title", "banner"], "uploads": {"banner": {}}, "writable": ["title", "banner"],
            },
        },
        "joins": {},
    });
    let schema = deployment.database.dir.write("schema.json", &schema.to_string());
    let text = std::fs::read_to_string(&deployment.config).unwrap();
    let text = text.replace(
        "enabled = true\n\n[integrity]",
        &format!("enabled = true\nstore = \"file:{folder}/files\"\n\n[integrity]"),
    );
    std::fs::write(
        &deployment.config,
        format!("schema = \"{schema}\"\n{text}\n[mutations]\nenabled = true\n"),
    )
    .unwrap();
    deployment
}
