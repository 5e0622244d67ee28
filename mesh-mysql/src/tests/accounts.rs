//! Accounts in a table of the database.

use mesh_integrity::{AccountSource as _, UsersTable};
use mesh_tests::MariaDb;

use crate::{Backend as _, Database, Settings};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn accounts_are_found_by_their_login() {
    let Some(server) = MariaDb::start() else { return };
    server.execute(
        "CREATE TABLE user (id int PRIMARY KEY, `the login` varchar(20) COLLATE utf8mb4_general_ci, hash text, role text);
        INSERT INTO user VALUES (7, 'ada', '$argon2id$v', 'editor'), (8, 'twice', NULL, NULL), (9, 'twice', NULL, NULL)",
    );
    let database = Database::connect(&server.url(), &Settings::default()).await.unwrap();
    let mut users = UsersTable {
        table: "user".to_owned(),
        id: "id".to_owned(),
        login: "the login".to_owned(),
        password: "hash".to_owned(),
        role: Some("role".to_owned()),
        tenant: None,
    };
    let accounts = database.accounts(&users).await.unwrap();
    let ada = accounts.find("ada").await.unwrap().unwrap();
    assert_eq!((ada.id.as_str(), ada.login.as_str()), ("7", "ada"));
    assert_eq!(ada.hash.as_deref(), Some("$argon2id$v"));
    assert_eq!((ada.role.as_deref(), ada.tenant), (Some("editor"), None));
    // The collation of the column treats the first two as equal to the login.
    for unknown in ["Ada", "ada ", "twice", "", "a\0", "' OR true -- "] {
        assert!(accounts.find(unknown).await.unwrap().is_none(), "{unknown:?}");
    }
    assert_eq!(accounts.any_hash().await.unwrap().as_deref(), Some("$argon2id$v"));
    users.role = Some("roles".to_owned());
    users.id = "key".to_owned();
    let faults = database.accounts(&users).await.unwrap_err().faults();
    assert_eq!(
        faults,
        [
            "the table 'user' of accounts has no column 'key' for the id",
            "the table 'user' of accounts has no column 'roles' for the role"
        ]
    );
    users.table = "people".to_owned();
    let faults = database.accounts(&users).await.unwrap_err().faults();
    assert_eq!(faults, ["there is no table 'people' of accounts"]);
}
