//! The writes of the model on PostgreSQL.

use mesh_postgres::Settings;
use mesh_tests::Cluster;
use proptest::test_runner::TestRunner;

use super::*;

/// The tables, with ids that are assigned as SQLite does.
const TABLES: &str = "
CREATE TABLE users (id integer PRIMARY KEY, name text NOT NULL UNIQUE);
CREATE TABLE profiles (id integer PRIMARY KEY, bio text, user_id integer REFERENCES users);
CREATE TABLE posts (id integer PRIMARY KEY, title text NOT NULL, author_id integer NOT NULL REFERENCES users);
CREATE TABLE tags (id integer PRIMARY KEY, label text);
CREATE TABLE post_tags (post_id integer NOT NULL REFERENCES posts, tag_id integer NOT NULL REFERENCES tags);
CREATE FUNCTION assign_id() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF NEW.id IS NULL THEN
        EXECUTE format('SELECT coalesce(max(id), 0) + 1 FROM %I', TG_TABLE_NAME) INTO NEW.id;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER assign_id BEFORE INSERT ON users FOR EACH ROW EXECUTE FUNCTION assign_id();
CREATE TRIGGER assign_id BEFORE INSERT ON posts FOR EACH ROW EXECUTE FUNCTION assign_id();
";
const ROWS: &str = "
SET client_min_messages = error;
TRUNCATE users, profiles, posts, tags, post_tags;
INSERT INTO users VALUES (1, 'u1'), (2, 'u2'), (3, 'u3');
INSERT INTO profiles VALUES (1, 'p1', 1), (2, 'p2', NULL), (3, 'p3', NULL);
INSERT INTO posts VALUES (1, 't1', 1), (2, 't2', 2);
INSERT INTO tags VALUES (1, 'a'), (2, 'b'), (3, 'c');
";

#[test]
fn writes_leave_the_state_of_the_model() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(TABLES);
    let runtime = runtime();
    let app = runtime.block_on(async {
        let opened = mesh_postgres::Database::connect(&cluster.url(), &Settings::default()).await.unwrap();
        let catalog = opened.contents(&[]).await.unwrap().catalog;
        let schema = schema_with(Some(&catalog));
        let writer = opened.writer();
        let mesh = Mesh::builder(schema).default_resolver(opened).default_mutator(writer);
        let mut app = App::builder(mesh.build().unwrap());
        app.mutations = true;
        app.build().unwrap()
    });
    let config = ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() };
    let cases = prop::collection::vec(write(), 1..40);
    let outcome = TestRunner::new(config).run(&cases, |writes| {
        cluster.execute(ROWS);
        runtime.block_on(async {
            let mut model = Model::new();
            for write in &writes {
                let expected = model.apply(write);
                assert_eq!(perform(&app, write).await, expected, "{write:?} of {writes:?}");
            }
            assert_eq!(read_all(&app).await, model, "{writes:?}");
        });
        Ok(())
    });
    outcome.unwrap();
}
