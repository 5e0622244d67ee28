//! `mesh-server api-key`: creates, lists and revokes API keys. `SPEC §17.3`

use std::error::Error;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::{Args, Subcommand};
use jiff::Timestamp;
use mesh_backend::api_keys::ApiKeys;
use mesh_backend::error::with_causes;
use mesh_integrity::{API_KEY_BYTES, API_KEY_PREFIX, ApiKeyHash, StoredApiKey, new_api_key};
use serde_json::{Value, json};

use crate::cli::args::collect_flags;
use crate::cli::client::random;
use crate::cli::failure::Failure;
use crate::cli::output::{print, print_stderr};
use crate::cli::server::database::{block_on, connect};
use crate::cli::settings::load_config;
use crate::cli::terminal::table;
use crate::config::parse;

/// The minimum number of hex digits that `revoke` accepts.
const MIN_DIGITS: usize = 6;
/// Maximum width of a cell on a terminal.
const CELL_WIDTH: u16 = 40;

/// Arguments of `api-key`.
#[derive(Debug, Args)]
#[command(subcommand_negates_reqs = true)]
pub(crate) struct ApiKeyArgs {
    #[command(subcommand)]
    action: Option<Action>,
    /// TOML file with settings, with the table in 'api_keys.table' [variable: MESH_CONFIG]
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
    /// Database of the table, such as sqlite:blog.db, postgres://user@host/db or mysql://user@host/db
    #[arg(long, value_name = "URL", global = true)]
    database: Option<String>,
    /// Role of requests with the key, which policies check
    #[arg(long, required = true)]
    role: Option<String>,
    /// Id of the user who owns the key, which policies see as the user; without it, the key is a user of its own
    #[arg(long, value_name = "ID")]
    owner: Option<String>,
    /// Time until the key expires, such as 90d or 12h; without it, the key is valid until it is revoked
    #[arg(long, value_name = "TIME", value_parser = parse::flag_duration(parse::SECOND))]
    expires: Option<Duration>,
    /// Create the table of keys if it is missing
    #[arg(long)]
    create_table: bool,
}

/// What to do with existing keys.
#[derive(Debug, Subcommand)]
enum Action {
    /// List the keys with their ids, which are the first digits of their hashes
    #[command(after_help = "Example:
  mesh-server api-key list --config mesh.toml")]
    List,
    /// Delete a key, which servers then refuse within seconds
    #[command(after_help = "Example:
  mesh-server api-key revoke 1a2b3c4d5e6f --config mesh.toml")]
    Revoke {
        /// Id of the key, from 'api-key list'; never the key itself
        id: String,
    },
}

pub(crate) fn run(args: &ApiKeyArgs) -> Result<(), Failure> {
    if args.action.is_some() && (args.role.is_some() || args.owner.is_some() || args.expires.is_some()) {
        return Err(Failure::usage_error(
            "--role, --owner and --expires apply only to a new key: leave out the subcommand",
        ));
    }
    if let Some(Action::Revoke { id }) = &args.action {
        check_id(id)?;
    }
    if args.role.as_ref().is_some_and(String::is_empty) {
        return Err(Failure::usage_error("--role must not be empty"));
    }
    let config = load_config(collect_flags([("database", &args.database)]), args.config.as_deref())?;
    let Some(url) = &config.database else {
        return Err(Failure::usage_error("no database with a table of API keys: name one with --database"));
    };
    let name = &config.api_keys.table;
    if name.is_empty() {
        return Err(Failure::usage_error(
            "'api_keys.table' is not set: name the table of API keys in the configuration, or in the variable \
             MESH_API_KEYS__TABLE",
        ));
    }
    block_on(async {
        let database = connect(url, &config).await?;
        if args.create_table {
            let created = database.create_api_keys_table(name).await;
            created.map_err(|error| failed("cannot create the table of API keys", &error))?;
        }
        let keys = database.api_keys(name).await;
        let keys = keys.map_err(|error| Failure::of_setting("api_keys.table", error.faults()))?;
        match &args.action {
            None => create(&keys, args).await,
            Some(Action::List) => list(&keys).await,
            Some(Action::Revoke { id }) => revoke(&keys, id).await,
        }
    })
}

/// Returns all keys whose hashes are well-formed, and the number of the others.
async fn stored_keys(keys: &ApiKeys) -> Result<(Vec<StoredApiKey>, usize), Failure> {
    keys.list().await.map_err(|error| failed("cannot read the API keys", &error))
}

fn failed(what: &str, error: &dyn Error) -> Failure {
    let cause = error.source().map_or_else(|| error.to_string(), with_causes);
    Failure::check_failed(format!("{what}: {cause}"))
}

async fn create(keys: &ApiKeys, args: &ApiKeyArgs) -> Result<(), Failure> {
    let key = new_api_key(random::<API_KEY_BYTES>()?);
    let hash = ApiKeyHash::from_key(key.as_bytes())
        .ok_or_else(|| Failure::usage_error("the new key is malformed"))?;
    // Tables store whole seconds.
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    let expires = args.expires.map(|age| UNIX_EPOCH + Duration::from_secs(now + age.as_secs()));
    let stored = StoredApiKey { hash, owner: args.owner.clone(), role: args.role.clone(), expires };
    keys.insert(&stored).await.map_err(|error| failed("the API key was not stored", &error))?;
    let id = hash.id();
    let role = args.role.as_deref().unwrap_or_default();
    let expires = expires.map_or_else(|| "never".to_owned(), date);
    print(&key).inspect_err(|_| {
        print_stderr(format_args!("the key {id} is stored, but could not be printed: revoke it"))
    })?;
    print_stderr(format_args!(
        "API key {id}: user {}, role {role}, expires {expires}\nThe key is not shown again. Send it as 'Authorization: \
         Bearer {API_KEY_PREFIX}…'; revoke it with `mesh-server api-key revoke {id}`",
        stored.user()
    ));
    Ok(())
}

async fn list(keys: &ApiKeys) -> Result<(), Failure> {
    let (stored, malformed) = stored_keys(keys).await?;
    let now = SystemTime::now();
    let record = |key: &StoredApiKey| {
        json!({
            "id": key.hash.id(),
            "owner": key.owner,
            "role": key.role,
            "expires": key.expires.map_or_else(|| "never".to_owned(), date),
            "state": if key.has_expired(now) { "expired" } else { "valid" },
        })
    };
    let records: Vec<Value> = stored.iter().map(record).collect();
    if malformed > 0 {
        print_stderr(format_args!(
            "rows whose hash is neither 64 hex digits nor 32 bytes, which match no key: {malformed}"
        ));
    }
    if records.is_empty() {
        print_stderr("there are no API keys; `mesh-server api-key --role ROLE` makes one");
        return Ok(());
    }
    let max_width = io::stdout().is_terminal().then_some(CELL_WIDTH);
    print(table(&records.iter().filter_map(Value::as_object).collect::<Vec<_>>(), max_width))
}

async fn revoke(keys: &ApiKeys, id: &str) -> Result<(), Failure> {
    let (stored, _) = stored_keys(keys).await?;
    let digits = id.to_ascii_lowercase();
    let mut hashes: Vec<ApiKeyHash> = stored.iter().map(|key| key.hash).collect();
    hashes.retain(|hash| hash.to_string().starts_with(&digits));
    hashes.sort_unstable();
    hashes.dedup();
    let revoke =
        async |hash| keys.delete(hash).await.map_err(|error| failed("the API key was not revoked", &error));
    match hashes.as_slice() {
        [hash] if revoke(*hash).await? => {
            print_stderr(format_args!(
                "revoked the API key {}: servers refuse it within a few seconds",
                hash.id()
            ));
            Ok(())
        }
        [] | [_] => Err(Failure::check_failed(format!(
            "there is no API key {id}; `mesh-server api-key list` lists them"
        ))),
        several => Err(Failure::check_failed(format!(
            "{} API keys begin with {id}: write more digits of the hash",
            several.len()
        ))),
    }
}

/// Refuses an id that is not the beginning of a hash. If a key was passed instead of its id, the message does not repeat it.
fn check_id(id: &str) -> Result<(), Failure> {
    if id.starts_with(API_KEY_PREFIX) {
        let hint = ApiKeyHash::from_key(id.as_bytes())
            .map_or_else(String::new, |hash| format!("; the id of this key is {}", hash.id()));
        return Err(Failure::usage_error(format!(
            "pass the id of the key, not the key itself, which your shell may have recorded{hint}"
        )));
    }
    let is_hex = id.len() >= MIN_DIGITS && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hex {
        return Ok(());
    }
    Err(Failure::usage_error(format!(
        "the id of a key is {MIN_DIGITS} or more hex digits; `mesh-server api-key list` lists the ids"
    )))
}

/// Formats a time as in RFC 3339.
fn date(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let time = i64::try_from(seconds).ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
    time.map_or_else(|| "never".to_owned(), |time| time.to_string())
}
