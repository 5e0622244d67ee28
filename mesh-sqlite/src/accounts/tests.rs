//! Accounts are found by the settings, and wrong settings are reported.

use std::path::PathBuf;

use super::*;

struct File(PathBuf);

impl File {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("mesh-accounts-{}-{name}.db", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let connection = Connection::open(&path).unwrap();
        connection
            .execute_batch(
                "CREATE TABLE \"my users\" (nr INTEGER PRIMARY KEY, mail TEXT, \"pass word\" TEXT, role TEXT, t INT);
                 INSERT INTO \"my users\" VALUES (7, 'ada', '$argon2id$x', 'admin', 3), (8, 'bo', NULL, NULL, NULL),
                 (9, 'twice', 'x', NULL, NULL), (10, 'twice', 'x', NULL, NULL);",
            )
            .unwrap();
        Self(path)
    }

    fn accounts(&self, users: &UsersTable) -> Result<Accounts, String> {
        Database::open(&self.0).unwrap().accounts(users).map_err(|error| error.to_string())
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn users() -> UsersTable {
    UsersTable {
        table: "my users".to_owned(),
        id: "nr".to_owned(),
        login: "mail".to_owned(),
        password: "pass word".to_owned(),
        role: Some("role".to_owned()),
        tenant: Some("t".to_owned()),
    }
}

#[tokio::test]
async fn accounts_are_found_by_their_login() {
    let file = File::new("found");
    let accounts = file.accounts(&users()).unwrap();
    let ada = Account {
        id: "7".to_owned(),
        hash: Some("$argon2id$x".to_owned()),
        role: Some("admin".to_owned()),
        tenant: Some("3".to_owned()),
    };
    assert_eq!(accounts.find("ada").await.unwrap(), Some(ada));
    let bo = accounts.find("bo").await.unwrap().unwrap();
    assert_eq!((bo.hash, bo.role, bo.tenant), (None, None, None));
    for unknown in ["ADA", "", "ada' OR 1=1 --", "\"mail\""] {
        assert_eq!(accounts.find(unknown).await.unwrap(), None, "{unknown}");
    }
    assert_eq!(accounts.find("twice").await.unwrap(), None, "a login of two accounts is ambiguous");
    assert_eq!(accounts.any_hash().await.unwrap().as_deref(), Some("$argon2id$x"));
}

#[tokio::test]
async fn roles_and_tenants_may_be_left_out() {
    let file = File::new("without");
    let accounts = file.accounts(&UsersTable { role: None, tenant: None, ..users() }).unwrap();
    let ada = accounts.find("ada").await.unwrap().unwrap();
    assert_eq!((ada.role, ada.tenant), (None, None));
}

#[test]
fn errors_name_the_setting() {
    let file = File::new("faults");
    let fault = |users: UsersTable| file.accounts(&users).unwrap_err();
    assert_eq!(
        fault(UsersTable { table: "users".to_owned(), ..users() }),
        "there is no table 'users' for 'integrity.users.table'"
    );
    assert_eq!(
        fault(UsersTable { role: Some("rank".to_owned()), ..users() }),
        "the table 'my users' has no column 'rank' for 'integrity.users.role'"
    );
    assert!(fault(UsersTable { login: "name\" --".to_owned(), ..users() }).contains("has no column"));
}

#[tokio::test]
async fn a_replaced_file_replaces_the_accounts() {
    let (file, next) = (File::new("before"), File::new("after"));
    let accounts = file.accounts(&users()).unwrap();
    assert!(accounts.find("ada").await.unwrap().is_some());
    Connection::open(&next.0)
        .and_then(|it| it.execute_batch("DELETE FROM \"my users\" WHERE nr = 7"))
        .unwrap();
    std::fs::rename(&next.0, &file.0).unwrap();
    assert_eq!(accounts.find("ada").await.unwrap(), None);
    assert!(accounts.find("bo").await.unwrap().is_some());
    std::fs::remove_file(&file.0).unwrap();
    assert!(accounts.find("bo").await.is_err(), "a missing file is an error");
}
