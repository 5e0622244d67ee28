//! The printed settings read back as the settings in effect, without secrets.

use crate::config::{Config, SettingsFile};

fn load(environment: &[(&str, &str)], file: &str) -> (Config, String) {
    let environment = environment.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
    let file = SettingsFile { path: "mesh.toml".into(), text: file.to_owned() };
    let loaded = Config::load(vec![("listen", "127.0.0.1:9".to_owned())], environment, Some(&file));
    (loaded.config.unwrap(), loaded.effective.to_toml())
}

/// Reads again what was printed.
fn again(printed: &str) -> Config {
    let file = SettingsFile { path: "printed.toml".into(), text: printed.to_owned() };
    let loaded = Config::load(Vec::new(), [], Some(&file));
    loaded.config.unwrap_or_else(|faults| panic!("{faults:?}\n{printed}"))
}

/// Makes the paths absolute, as they are printed.
fn absolute(mut config: Config) -> Config {
    let folder = std::env::current_dir().unwrap();
    config.database = config.database.map(|url| url.relative_to(&folder));
    config.uploads.store = config.uploads.store.relative_to(&folder);
    config.audit.store = config.audit.store.map(|store| store.relative_to(&folder));
    config.persisted.preload = config.persisted.preload.map(|path| folder.join(path));
    config
}

const MANY: &str = r##"
base = ""
database = "sqlite:odd \"name\" # é\\.db"
replicas = ["postgres://ada@replica/db"]
trusted_proxies = ["10.0.0.0/8", "::1"]
request_timeout = "1500ms"
shutdown_timeout = "0s"
log_format = "json"
postgres.pooler = true
limits.per_address = "100/s"
limits.per_session = "30/m"
limits.body_bytes = "64KiB"
limits.page_max = 20
admin.listen = "[::1]:9000"
otlp.endpoint = "https://collector.example"
persisted.registration = "closed"
persisted.preload = "queries.json"
integrity.binding = "require"
audit.store = "file:audit.log"
integrity.users.tenant = "org"
uploads.content_types = ["image/png", "text/plain"]
docs.auth = "admin"
docs.sql = "false"
docs.theme = "light"
docs.title = "A \"title\"\nof two lines"
state.store = "memory"
cors.origins = ["https://app.example"]
caching.control = "max-age=5"
[caching.entities]
post = "public, max-age=60"
"a b" = "no-store"
"##;

#[test]
fn printed_settings_read_back_as_the_settings_in_effect() {
    for (environment, file) in [
        (&[][..], ""),
        (&[("MESH_THREADS", "3"), ("MESH_LIMITS__DEPTH", "5")][..], MANY),
        (&[("MESH_BASE", "/variable")][..], MANY),
    ] {
        let (config, printed) = load(environment, file);
        assert_eq!(again(&printed), absolute(config), "{printed}");
    }
}

#[test]
fn each_setting_is_printed_with_its_origin() {
    let (_, printed) = load(&[("MESH_LIMITS__DEPTH", "5")], MANY);
    for line in [
        "listen = \"127.0.0.1:9\" # --listen",
        "depth = 5 # MESH_LIMITS__DEPTH",
        "page_max = 20 # mesh.toml:13",
        "fields = 1000 # default",
        "# schema is not set",
        "per_address = \"100/s\" # mesh.toml:10",
        "[integrity.users]",
    ] {
        assert!(printed.lines().any(|printed| printed == line), "{line}\n{printed}");
    }
    for path in Config::load(Vec::new(), [], None).effective.0.keys() {
        let name = path.rsplit('.').next().unwrap();
        assert!(
            printed.lines().any(|line| line.trim_start_matches("# ").starts_with(name)),
            "{path}\n{printed}"
        );
    }
}

#[test]
fn secrets_are_not_printed() {
    let secrets = r#"
        database = "postgres://ada:hunter2@db/blog"
        replicas = ["postgres://replica/blog?user=ada&password=hunter3"]
        [integrity]
        secret = "hunter4 hunter4 hunter4 hunter4 hunter4"
        previous_secrets = ["hunter5 hunter5 hunter5 hunter5 hunter5"]
    "#;
    let (config, printed) = load(&[], secrets);
    assert!(!printed.contains("hunter"), "{printed}");
    for line in [
        "# database = \"********\" # mesh.toml:2, not shown",
        "# replicas = \"********\" # mesh.toml:3, not shown",
        "# secret = \"********\" # mesh.toml:5, not shown",
        "# previous_secrets = \"********\" # mesh.toml:6, not shown",
    ] {
        assert!(printed.lines().any(|printed| printed == line), "{line}\n{printed}");
    }
    // With the secrets restored, the settings are equal.
    let mut read = again(&printed);
    read.database.clone_from(&config.database);
    read.replicas.clone_from(&config.replicas);
    read.integrity.secret.clone_from(&config.integrity.secret);
    read.integrity.previous_secrets.clone_from(&config.integrity.previous_secrets);
    assert_eq!(read, absolute(config));
}
