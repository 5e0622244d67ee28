//! Do servers over one PostgreSQL agree on what all of them must know?

use mesh_tests::{Cluster, Server, TempDir};

use crate::signed::{PASSWORD, Session, login};

const TABLES: &str = "
CREATE TABLE accounts (id integer PRIMARY KEY, email text UNIQUE, password_hash text, role text);
INSERT INTO accounts VALUES (1, 'ada@example.org',
    '$argon2id$v=19$m=64,t=1,p=1$GItD1fQ32lMZTXGkoQpEUw$TF1TCtzU44/RidGjD5+uUoqmN4ysh0RRp4V+0EMp3Xo', 'admin');
CREATE TABLE posts (id integer PRIMARY KEY, title text NOT NULL);
INSERT INTO posts VALUES (1, 'Rust at dawn');
";

/// A database whose servers sign.
pub(crate) struct Deployment {
    pub(crate) cluster: Cluster,
    folder: TempDir,
}

impl Deployment {
    pub(crate) fn new() -> Option<Self> {
        let cluster = Cluster::start()?;
        cluster.execute(TABLES);
        Some(Self { cluster, folder: TempDir::new() })
    }

    /// One of its servers, with further settings.
    pub(crate) fn start(&self, more: &str) -> Server {
        let config = self.folder.write(
            "mesh.toml",
            &format!(
                "database = \"{}\"\n{more}\n[integrity]\nenabled = true\n\
                 secret = \"the secret of these tests, 32 bytes or more\"\n\
                 [integrity.users]\ntable = \"accounts\"\n",
                self.cluster.url()
            ),
        );
        Server::start(&["--config", &config])
    }
}

#[test]
fn failed_logins_are_counted_by_all_servers_together() {
    let Some(deployment) = Deployment::new() else { return };
    let limits = "[limits]\nlogin_per_minute = 3";
    let (a, b) = (deployment.start(limits), deployment.start(limits));
    let fails = |server: &Server| login(server, "ada@example.org", "guess").status;
    assert_eq!([fails(&a), fails(&b), fails(&a)], [401; 3]);
    assert_eq!([fails(&b), fails(&a)], [429; 2]);
    let refused = login(&b, "ada@example.org", PASSWORD);
    assert_eq!(refused.status, 429, "nobody learns whether a further guess was right");
    let wait: u32 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=20).contains(&wait), "{wait}");
    assert_eq!(login(&b, "bo@example.org", "guess").status, 401, "others can still try");
    // What succeeds is not counted, nor is what was refused.
    deployment.cluster.execute("DELETE FROM mesh.attempt");
    let c = deployment.start(limits);
    for _ in 0..5 {
        let _ = Session::begin(&c);
    }
    let left = "SELECT count(*) FROM mesh.attempt WHERE paid_off > extract(epoch FROM now()) * 1000 + 1000";
    assert_eq!(deployment.cluster.query(left).as_deref(), Some("0"));
}
