//! A server that verifies signatures needs its state, from the start on and while it runs. `SPEC §7.5`

use std::fs;
use std::path::{Path, PathBuf};

use mesh_tests::{Database, Request, Server, run, wait_until};

use crate::support::sessions::{Deployment, Session, why};

const TITLE: &str = r#"{"post":{"$select":{"title":true}}}"#;

fn state_of(database: &Database) -> PathBuf {
    database.dir.path().join("data.db.mesh-state")
}

/// Ways to make a state file unusable.
const SPOILED: [fn(&Path); 3] = [
    |path| fs::create_dir(path).unwrap(),
    |path| {
        fs::write(path, "this text is no database, and longer than the header of one ".repeat(20)).unwrap()
    },
    |path| {
        rusqlite::Connection::open(path).unwrap().execute_batch("CREATE TABLE other (id INTEGER)").unwrap()
    },
];

#[test]
fn a_server_that_verifies_signatures_does_not_start_without_its_state() {
    for spoil in SPOILED {
        let deployment = Deployment::new("");
        spoil(&state_of(&deployment.database));
        let output = run(&["serve", "--listen", "127.0.0.1:0", "--config", &deployment.config]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        for word in ["data.db.mesh-state", "integrity.enabled", "state.path", "state.store"] {
            assert!(said.contains(word), "{word} in {said}");
        }
    }
}

#[test]
fn memory_is_a_choice() {
    let deployment = Deployment::new("[state]\nstore = \"memory\"\n");
    SPOILED[0](&state_of(&deployment.database));
    let server = deployment.start();
    let session = Session::begin(&server);
    assert_eq!(session.logout(&server).status, 200);
    assert_eq!(why(&session.get(&server, "/post/1", TITLE)), (401, "TOKEN_REVOKED".to_owned()));
}

#[test]
fn sessions_are_refused_while_the_state_file_is_gone() {
    let deployment = Deployment::new("");
    let server = deployment.start();
    let session = Session::begin(&server);
    let ready = || server.send(&Request::new("GET", "/readyz")).status;
    assert_eq!((session.get(&server, "/post/1", TITLE).status, ready()), (200, 200));
    let (path, aside) = (state_of(&deployment.database), deployment.database.dir.path().join("aside"));
    fs::rename(&path, &aside).unwrap();
    for replace in [false, true] {
        if replace {
            fs::write(&path, "").unwrap();
        }
        assert_eq!(session.get(&server, "/post/1", TITLE).status, 503);
        assert_eq!(session.logout(&server).status, 503);
        wait_until("the server is not ready", || ready() == 503);
    }
    fs::rename(&aside, &path).unwrap();
    assert_eq!(session.get(&server, "/post/1", TITLE).status, 200);
    wait_until("the server is ready", || ready() == 200);
}

/// Servers that open one database by different paths share its state.
#[cfg(unix)]
#[test]
fn a_logout_applies_to_servers_that_open_the_database_through_links() {
    let deployment = Deployment::new("");
    let folder = deployment.database.dir.path();
    fs::create_dir(folder.join("links")).unwrap();
    std::os::unix::fs::symlink("../data.db", folder.join("links/blog.db")).unwrap();
    std::os::unix::fs::symlink(folder, folder.join("links/folder")).unwrap();
    let first = deployment.start();
    for path in ["links/blog.db", "links/folder/data.db", "links/../data.db"] {
        let path = folder.join(path).display().to_string();
        let second = Server::start(&["--config", &deployment.config, "--database", &path]);
        let session = Session::begin(&first);
        assert_eq!(session.logout(&second).status, 200);
        assert_eq!(why(&session.get(&first, "/post/1", TITLE)), (401, "TOKEN_REVOKED".to_owned()), "{path}");
    }
}
