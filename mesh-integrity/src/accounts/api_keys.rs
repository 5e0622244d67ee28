//! API keys and the database table that stores their hashes. `SPEC §17.3`

use std::fmt;
use std::time::SystemTime;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use ring::digest::{SHA256, digest};

use super::TableLayoutError;
use crate::{BoxFuture, SessionId, StoreError};

/// The prefix of every API key.
pub const API_KEY_PREFIX: &str = "mk_";

/// The number of random bytes of a key from [`new_api_key`].
pub const API_KEY_BYTES: usize = 24;

/// The maximum length of a key in bytes.
const MAX_LENGTH: usize = 256;

/// The number of hex digits of an [`ApiKeyHash`] that identify a key in messages and logs.
const ID_DIGITS: usize = 12;

/// Returns a new key: the prefix and random bytes as base64url.
pub fn new_api_key(random: [u8; API_KEY_BYTES]) -> String {
    format!("{API_KEY_PREFIX}{}", URL_SAFE_NO_PAD.encode(random))
}

/// The SHA-256 of an API key. It is not a secret: a key cannot be found by its hash.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ApiKeyHash(pub [u8; 32]);

impl ApiKeyHash {
    /// Returns the hash of a key. Returns `None` if it cannot be a key: it lacks the prefix, has nothing after it, has
    /// characters that a bearer token cannot have, or is too long.
    pub fn from_key(key: &[u8]) -> Option<Self> {
        let rest = key.strip_prefix(API_KEY_PREFIX.as_bytes())?;
        let is_allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(byte);
        if rest.is_empty() || key.len() > MAX_LENGTH || !rest.iter().all(is_allowed) {
            return None;
        }
        digest(&SHA256, key).as_ref().try_into().ok().map(Self)
    }

    /// Parses 64 hex digits of either case.
    pub fn parse(text: &str) -> Option<Self> {
        HEXLOWER_PERMISSIVE.decode(text.as_bytes()).ok()?.try_into().ok().map(Self)
    }

    /// Returns the id of the key in messages and logs: the first digits of the hash.
    pub fn id(&self) -> String {
        let mut digits = self.to_string();
        digits.truncate(ID_DIGITS);
        digits
    }

    /// Returns the session id that all requests with this key share: the first half of the hash.
    pub fn session(&self) -> SessionId {
        let mut id = [0; 16];
        id.iter_mut().zip(self.0).for_each(|(to, from)| *to = from);
        SessionId(id)
    }
}

/// 64 lowercase hex digits.
impl fmt::Display for ApiKeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        HEXLOWER.encode_write(&self.0, f)
    }
}

impl fmt::Debug for ApiKeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ApiKeyHash({self})")
    }
}

/// A stored API key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredApiKey {
    /// The hash of the key.
    pub hash: ApiKeyHash,
    /// The id of the user who owns the key.
    pub owner: Option<String>,
    /// The role of requests with the key.
    pub role: Option<String>,
    /// The time of expiry.
    pub expires: Option<SystemTime>,
}

impl StoredApiKey {
    /// Returns the id of the user: the owner, or `key:` and the id of the key if it has no owner.
    pub fn user(&self) -> String {
        match &self.owner {
            Some(owner) if !owner.is_empty() => owner.clone(),
            _ => format!("key:{}", self.hash.id()),
        }
    }

    /// Returns whether the key has expired.
    pub fn has_expired(&self, now: SystemTime) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }
}

/// Finds API keys. Implemented by back ends.
pub trait ApiKeySource: Send + Sync + 'static {
    /// Returns the key with that hash, even if it has expired; `None` if there is none or more than one.
    ///
    /// # Errors
    /// The database cannot be read.
    fn find(&self, hash: ApiKeyHash) -> BoxFuture<'_, Result<Option<StoredApiKey>, StoreError>>;
}

/// The columns of a table of API keys.
pub const API_KEY_COLUMNS: [&str; 4] = ["hash", "owner", "role", "expires"];

/// Checks `columns`, the columns of a table of API keys, which are empty if the table does not exist. `is_column`
/// compares a column of the table with a name; `create` is the statement that creates such a table.
///
/// # Errors
/// [`TableLayoutError`] if the table or some of its columns are missing.
pub fn check_api_key_columns(
    table: &str,
    columns: &[String],
    is_column: impl Fn(&str, &str) -> bool,
    create: &str,
) -> Result<(), TableLayoutError> {
    if columns.is_empty() {
        return Err(TableLayoutError::from(format!(
            "there is no table '{table}' of API keys; create it with `mesh-server api-key --role ROLE --create-table`, which \
             makes a first key, too, or with\n  {create}"
        )));
    }
    let missing = |name: &&str| !columns.iter().any(|column| is_column(column, name));
    let missing = API_KEY_COLUMNS.into_iter().filter(missing);
    let faults = missing.map(|name| format!("the table '{table}' of API keys has no column '{name}'"));
    check_api_key_faults(faults.collect(), create)
}

/// Turns the faults of an existing table into an error, which ends with the statement that creates a table.
///
/// # Errors
/// [`TableLayoutError`] unless `faults` is empty.
pub fn check_api_key_faults(mut faults: Vec<String>, create: &str) -> Result<(), TableLayoutError> {
    if let Some(last) = faults.last_mut() {
        last.push_str(&format!("; a table of API keys is created with\n  {create}"));
    }
    TableLayoutError::check(faults)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn a_hash_is_that_of_the_whole_key() {
        // printf mk_abc | sha256sum
        let hash = ApiKeyHash::from_key(b"mk_abc").unwrap();
        let hex = "a32e980105d0bf6651f896287e5b52d3e40dc1fc0983324ebc32b21d76cfe195";
        assert_eq!(hash.to_string(), hex);
        assert_eq!(ApiKeyHash::parse(hex), Some(hash));
        assert_eq!(ApiKeyHash::parse(&hex.to_uppercase()), Some(hash));
        assert_eq!(hash.id(), hex[..12]);
        assert_eq!(hash.session().to_string(), hex[..32]);
        for other in ["", &hex[1..], &format!("{hex}0"), &hex.replace('0', "g")] {
            assert_eq!(ApiKeyHash::parse(other), None, "{other}");
        }
    }

    #[test]
    fn new_keys_have_192_random_bits_and_can_be_looked_up() {
        let key = new_api_key([0xfb; API_KEY_BYTES]);
        assert_eq!(key, format!("mk_{}", "-_v7".repeat(8)));
        assert!(ApiKeyHash::from_key(key.as_bytes()).is_some());
    }

    #[test]
    fn what_cannot_be_a_key_has_no_hash() {
        let long = format!("mk_{}", "a".repeat(254));
        for text in [
            "",
            "mk",
            "mk_",
            "MK_abc",
            "Mk_abc",
            " mk_abc",
            "mk_a b",
            "mk_a'--",
            "mk_\u{e4}",
            "mk-abc",
            &long,
        ] {
            assert_eq!(ApiKeyHash::from_key(text.as_bytes()), None, "{text:?}");
        }
        assert!(ApiKeyHash::from_key(&long.as_bytes()[1..]).is_none());
        assert!(ApiKeyHash::from_key(&long.as_bytes()[..256]).is_some());
    }

    #[test]
    fn a_key_without_an_owner_is_a_user_of_its_own() {
        let hash = ApiKeyHash([0x1a; 32]);
        let end = UNIX_EPOCH + Duration::from_secs(60);
        let key = StoredApiKey { hash, owner: None, role: None, expires: Some(end) };
        assert_eq!(key.user(), "key:1a1a1a1a1a1a");
        assert!(!key.has_expired(UNIX_EPOCH) && key.has_expired(end));
        let owned = StoredApiKey { owner: Some("7".to_owned()), expires: None, ..key };
        assert_eq!(owned.user(), "7");
        assert!(!owned.has_expired(end));
    }

    #[test]
    fn faults_of_a_table_end_with_the_statement_that_creates_one() {
        let check = |columns: &[&str]| {
            let columns: Vec<String> = columns.iter().map(ToString::to_string).collect();
            let checked =
                check_api_key_columns("keys", &columns, str::eq_ignore_ascii_case, "CREATE TABLE …");
            checked.map_err(|error| error.faults)
        };
        assert_eq!(check(&["HASH", "owner", "role", "expires", "more"]), Ok(()));
        let missing = check(&[]).unwrap_err();
        assert!(missing[0].starts_with("there is no table 'keys'") && missing[0].ends_with("CREATE TABLE …"));
        let faults = check(&["hash", "role"]).unwrap_err();
        assert_eq!(faults[0], "the table 'keys' of API keys has no column 'owner'");
        assert!(faults[1].contains("has no column 'expires'") && faults[1].ends_with("CREATE TABLE …"));
    }
}
