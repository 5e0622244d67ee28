//! Accounts are found by the settings, and wrong settings are reported.

use mesh_backend::accounts::Accounts;
use mesh_integrity::{Account, AccountSource as _, UsersTable};

use crate::Backend as _;
use crate::tests::File;

const USERS: &str =
    "CREATE TABLE \"my users\" (nr INTEGER PRIMARY KEY, mail TEXT, \"pass word\" TEXT, role TEXT, t INT);
    INSERT INTO \"my users\" VALUES (7, 'ada', '$argon2id$x', 'admin', 3), (8, 'bo', NULL, NULL, NULL),
    (9, 'twice', 'x', NULL, NULL), (10, 'twice', 'x', NULL, NULL);";

async fn accounts(file: &File, users: &UsersTable) -> Result<Accounts, String> {
    file.database().accounts(users).await.map_err(|error| error.faults().join("; "))
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
    let file = File::new(USERS);
    let accounts = accounts(&file, &users()).await.unwrap();
    let ada = Account {
        id: "7".to_owned(),
        login: "ada".to_owned(),
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
async fn an_account_has_its_stored_login_in_any_spelling() {
    let file = File::new(&USERS.replace("mail TEXT", "mail TEXT COLLATE NOCASE"));
    let found = accounts(&file, &users()).await.unwrap().find("ADA").await.unwrap().unwrap();
    assert_eq!((found.id.as_str(), found.login.as_str()), ("7", "ada"));
}

#[tokio::test]
async fn roles_and_tenants_may_be_left_out() {
    let file = File::new(USERS);
    let accounts = accounts(&file, &UsersTable { role: None, tenant: None, ..users() }).await.unwrap();
    let ada = accounts.find("ada").await.unwrap().unwrap();
    assert_eq!((ada.role, ada.tenant), (None, None));
}

#[tokio::test]
async fn errors_name_the_columns() {
    let file = File::new(USERS);
    let fault = async |users: UsersTable| accounts(&file, &users).await.unwrap_err();
    assert_eq!(
        fault(UsersTable { table: "users".to_owned(), ..users() }).await,
        "there is no table 'users' of accounts"
    );
    assert_eq!(
        fault(UsersTable { role: Some("rank".to_owned()), ..users() }).await,
        "the table 'my users' of accounts has no column 'rank' for the role"
    );
    assert_eq!(
        fault(UsersTable {
            id: "key".to_owned(),
            password: "hash".to_owned(),
            tenant: Some("org".to_owned()),
            ..users()
        })
        .await,
        "the table 'my users' of accounts has no column 'key' for the id; the table 'my users' of accounts has no column 'hash' for \
         the password; the table 'my users' of accounts has no column 'org' for the tenant"
    );
    assert!(fault(UsersTable { login: "name\" --".to_owned(), ..users() }).await.contains("has no column"));
}

#[tokio::test]
async fn a_replaced_file_replaces_the_accounts() {
    let (file, next) = (File::new(USERS), File::new(USERS));
    let accounts = accounts(&file, &users()).await.unwrap();
    assert!(accounts.find("ada").await.unwrap().is_some());
    next.write("DELETE FROM \"my users\" WHERE nr = 7");
    std::fs::rename(next.path(), file.path()).unwrap();
    assert_eq!(accounts.find("ada").await.unwrap(), None);
    assert!(accounts.find("bo").await.unwrap().is_some());
    std::fs::remove_file(file.path()).unwrap();
    assert!(accounts.find("bo").await.is_err(), "a missing file is an error");
}
