//! The server of this repository as a target, started once for each of the settings that its profile claims.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use mesh_conformance::case::Level;
use mesh_conformance::encoding::jwt::{AUDIENCE, ISSUER, SECRET};
use mesh_conformance::fixture::{Dialect, file, sql};
use mesh_conformance::profile::Profile;
use mesh_conformance::target::{SETTINGS, Target};

use crate::{Cluster, Database, MariaDb, Server};

/// Returns the section `[bearer]` of servers that accept the bearers of the fixture's issuer, by its secret or its keys.
fn bearer(keys: &str) -> String {
    format!(
        "[bearer]\n{keys}\nissuer = \"{ISSUER}\"\naudience = [\"{AUDIENCE}\"]\nrole = \"role\"\ntenant = \"tenant\"\n\
         claims = [\"postIds\", \"app.userIds\"]\nleeway = \"10s\"\n"
    )
}

/// Returns the configuration for the named settings, without database, schema and address.
fn config(settings: &str) -> String {
    let signed = "[integrity]\nenabled = true\nsecret = \"a secret of the fixture, of more than 32 bytes\"\n";
    let users = "[integrity.users]\ntable = \"users\"\nid = \"id\"\nlogin = \"email\"\npassword = \"password_hash\"\n\
                 role = \"role\"\n";
    // The cases run on sixteen threads. Of an address, four exports run at a time for each 480 requests.
    let many = "[limits]\nlogin_per_minute = 1000000\nrequests = 3000\n";
    let uploads = "[uploads]\nenabled = true\nstore = \"file:FOLDER/uploads\"\n[export]\nenabled = true\n";
    let mutations = "[mutations]\nenabled = true\n";
    let docs = "[docs]\nenabled = true\ntitle = \"Fixture\"\n";
    let cors = "[cors]\norigins = [\"https://app.example\"]\n";
    let events = "[events]\nheartbeat = \"1s\"\n";
    let bare = "[persisted]\nenabled = false\n[events]\nenabled = false\n";
    let guarded = format!("{docs}auth = \"admin\"\nsql = \"false\"\n");
    let by_secret = bearer(&format!("secret = \"{SECRET}\""));
    let by_keys = bearer("jwks = \"file:JWKS\"");
    let others = format!("{many}{guarded}{cors}{events}{mutations}");
    let sessions = format!("{many}{signed}{users}{guarded}{cors}{events}{mutations}");
    let text = match settings {
        "bearer" => format!("{others}{by_secret}[api_keys]\ntable = \"api_keys\"\n"),
        "bearer-keys" => format!("{others}{by_keys}anonymous = \"visitor\"\n"),
        "bearer-signed" => format!("{sessions}{by_secret}"),
        "open" | "inferred" => format!("{many}{uploads}{docs}{cors}{events}"),
        "writes" | "keys" => format!("{many}{uploads}{docs}{cors}{events}{mutations}"),
        "signed" => format!("{many}{signed}{users}{uploads}{guarded}{cors}{events}"),
        "signed-writes" => format!("{many}{signed}{users}{uploads}{guarded}{cors}{events}{mutations}"),
        "bare" => bare.to_owned(),
        "only" => "[persisted]\nonly = true\nregistration = \"closed\"\npreload = \"PRELOAD\"\n".to_owned(),
        "brief" => format!("{many}{signed}ttl = \"1s\"\n{users}{uploads}{events}{mutations}"),
        "strict" => {
            format!(
                "{many}{signed}binding = \"require\"\n{users}{uploads}{guarded}{by_secret}unsigned = false\n"
            )
        }
        "curtained" => format!("{docs}sql = \"false\"\nentities = [\"user\", \"post\"]\n"),
        "tight" => format!("[limits]\nlogin_per_minute = 3\n{signed}{users}"),
        "metered" => {
            let limits = "[limits]\nper_session = \"2/m\"\nlogin_per_minute = 1000000\n";
            format!("{limits}{signed}binding = \"off\"\n{users}")
        }
        "named" => format!("allowed_hosts = [\"mesh.example\"]\n{many}{uploads}{docs}{cors}{events}"),
        "small" => format!("[limits]\nresponse_bytes = 4096\n{docs}{mutations}"),
        "faulty" => format!("[persisted]\nmax_entries = 3\n{events}{mutations}"),
        "busy" => "[limits]\nrequests = 1\n".to_owned(),
        "rated" => format!("[limits]\nper_address = \"2/m\"\n{bare}"),
        _ => String::new(),
    };
    // A slow read has a low priority, so it takes long on a busy machine. The cases of some settings wait for a timeout.
    let timeout = if matches!(settings, "faulty" | "busy") { "1s" } else { "50s" };
    format!("request_timeout = \"{timeout}\"\n{text}")
}

/// Returns the settings that cases of the claimed level and profiles need.
fn required_settings(profile: &Profile) -> Vec<&'static str> {
    let claims = |name: &str| profile.profiles.iter().any(|claimed| claimed == name);
    let integrity = profile.level >= Level::L3;
    let needed = |settings: &str| match settings {
        "open" => true,
        "named" => claims("hosts"),
        "bare" => profile.level >= Level::L4 && profile.profiles.len() > 1,
        "writes" => claims("mutations"),
        "only" => claims("persisted"),
        "curtained" => claims("docs"),
        "small" | "faulty" | "busy" => claims("hooks"),
        "keys" => claims("keys"),
        "inferred" => claims("inference"),
        "signed-writes" => integrity && (claims("mutations") || claims("policies")),
        "bearer" | "bearer-keys" => claims("bearer"),
        "bearer-signed" => integrity && claims("bearer"),
        _ => integrity,
    };
    SETTINGS.into_iter().filter(|name| needed(name)).collect()
}

/// Running servers, stopped when this value is dropped.
#[derive(Debug)]
pub struct Reference {
    _servers: Vec<Server>,
    /// The target that consists of these servers.
    pub target: Target,
}

/// Starts the program with the fixture, once for each of the settings that the profile needs.
pub fn start(program: &Path, profile: Profile) -> Result<Reference, String> {
    start_on(program, profile, Storage::Sqlite)
}

/// Where the fixture is stored.
#[derive(Clone, Copy, Debug)]
pub enum Storage<'s> {
    /// In SQLite files.
    Sqlite,
    /// In databases of a PostgreSQL cluster.
    Postgres(&'s Cluster),
    /// In databases of a server of MariaDB.
    MariaDb(&'s MariaDb),
}

impl Storage<'_> {
    fn dialect(self) -> Dialect {
        match self {
            Self::Sqlite => Dialect::Sqlite,
            Self::Postgres(_) => Dialect::Postgres,
            Self::MariaDb(_) => Dialect::MySql,
        }
    }
}

/// Starts the program like [`start`], with a database in that storage for each of the settings.
pub fn start_on(program: &Path, mut profile: Profile, storage: Storage<'_>) -> Result<Reference, String> {
    let statements = sql(storage.dialect())?;
    let (mut servers, mut broken) = (Vec::new(), Vec::new());
    for settings in required_settings(&profile) {
        match serve(program, settings, &statements, &profile, storage) {
            Ok(server) => {
                let url = format!("http://{}{}", server.address, server.base);
                profile.servers.insert(settings.to_owned(), url);
                servers.push(server);
            }
            Err(why) => broken.push((settings, why)),
        }
    }
    let load = [&program.display().to_string(), "check", "--schema", "{file}"];
    profile.declare("load", load.map(str::to_owned).to_vec());
    let mut target = Target::new(profile)?;
    for (settings, why) in broken {
        target.mark_unavailable(settings, why);
    }
    Ok(Reference { _servers: servers, target })
}

fn serve(
    program: &Path,
    settings: &str,
    statements: &str,
    profile: &Profile,
    storage: Storage<'_>,
) -> Result<Server, String> {
    let database = Database::new(if matches!(storage, Storage::Sqlite) { statements } else { "" });
    let folder = Arc::clone(&database.dir);
    let name = format!("fixture_{}", settings.replace('-', "_"));
    let url = match storage {
        Storage::Sqlite => database.url(),
        Storage::Postgres(cluster) => cluster.database(&name, statements),
        Storage::MariaDb(server) => server.database(&name, statements),
    };
    let config = config(settings).replace("FOLDER", &folder.path().display().to_string());
    let config = config.replace("PRELOAD", &file("preload.json").display().to_string());
    let config = config.replace("JWKS", &file("jwks.json").display().to_string());
    let config = folder.write("mesh.toml", &claimed_sections(&config, profile));
    let log = std::fs::File::create(folder.path().join("log"));
    let mut command = crate::without_settings(program);
    command.args(["serve", "--listen", "127.0.0.1:0", "--log", "error", "--config", &config]);
    let schema = match settings {
        "signed-writes" | "bearer" | "bearer-keys" | "bearer-signed"
            if profile.claims_profile("policies") =>
        {
            "policies.json"
        }
        "keys" => "keys.json",
        "faulty" | "busy" => "hooks.json",
        _ => "schema.json",
    };
    command.args(["--database", &url]);
    if settings != "inferred" {
        command.args(["--schema", &file(schema).display().to_string()]);
    }
    command.stdin(Stdio::null());
    if let Ok(log) = log {
        command.stderr(log);
    }
    Server::try_spawn(&mut command, Some(Arc::clone(&folder))).map_err(|error| {
        let log = std::fs::read_to_string(folder.path().join("log")).unwrap_or_default();
        format!("the server '{settings}' does not start: {error}\n{log}")
    })
}

/// Removes the sections of a configuration that belong to profiles which are not claimed, because a server that does not
/// have the feature refuses them.
fn claimed_sections(config: &str, profile: &Profile) -> String {
    let claims = |name: &str| profile.profiles.iter().any(|claimed| claimed == name);
    let has = |section: &str| match section {
        "uploads" => profile.level >= Level::L4,
        "persisted" | "events" | "docs" | "cors" | "mutations" => claims(section),
        _ => true,
    };
    let mut out = String::new();
    let mut keep = true;
    for line in config.lines() {
        if let Some(section) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            keep = has(section);
        }
        if keep {
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}
