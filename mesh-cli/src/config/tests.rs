//! Loading of settings from every source, and the messages for wrong ones.

use expect_test::{Expect, expect};

mod bearer;
mod conflicts;
mod otlp;
mod purge;
mod reference_page;

use super::*;
use crate::config::reader::LoadedConfig;
use crate::config::sources::ConfigFault;

fn load(flags: &[(&'static str, &str)], environment: &[(&str, &str)], file: &str) -> LoadedConfig {
    let flags = flags.iter().map(|(path, text)| (*path, (*text).to_owned())).collect();
    let environment = environment.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
    let file = SettingsFile { path: "mesh.toml".into(), text: file.to_owned() };
    Config::load(flags, environment, Some(&file))
}

fn config(file: &str) -> Config {
    load(&[], &[], file).config.unwrap()
}

fn lines(faults: &[ConfigFault]) -> String {
    faults.iter().map(|fault| format!("{fault}\n")).collect()
}

fn check(file: &str, expected: Expect) {
    expected.assert_eq(&lines(&load(&[], &[], file).config.unwrap_err()));
}

#[test]
fn empty_sources_give_the_defaults() {
    let loaded = Config::load(Vec::new(), [], None);
    assert_eq!(loaded.config.unwrap(), Config::default());
    assert_eq!(loaded.warnings, []);
    assert_eq!(config(""), Config::default());
}

#[test]
fn defaults_are_within_their_bounds() {
    let default = Config::default();
    let limits = &default.limits;
    let file = format!(
        "listen = '{}'\nbase = '{}'\nthreads = {}\nrequest_timeout = '10s'\nshutdown_timeout = '10s'\n\
         log = '{}'\nlog_format = 'pretty'\n\
         [limits]\npage_default = {}\npage_max = {}\ndepth = {}\nfields = {}\nrows = {}\nresponse_bytes = {}\nquery_bytes = {}\n\
         body_bytes = {}\nheader_bytes = {}\nconnections = {}\nrequests = {}\nlogin_per_minute = {}\n\
         nonces_per_session = {}\ndatabase_connections = {}\n[cache]\nresponses = {}\n",
        default.listen,
        default.base,
        default.threads,
        default.log,
        limits.page_default,
        limits.page_max,
        limits.depth,
        limits.fields,
        limits.rows,
        limits.response_bytes,
        limits.query_bytes,
        limits.body_bytes,
        limits.header_bytes,
        limits.connections,
        limits.requests,
        limits.login_per_minute,
        limits.nonces_per_session,
        limits.database_connections,
        default.cache.responses,
    );
    assert_eq!(config(&file), default);
}

#[test]
fn file_sets_every_value() {
    let config = config(
        r#"
        listen = "[::1]:0"
        base = "/api/v1"
        database = "sqlite:blog.db"
        schema = "schema.json"
        threads = 4
        request_timeout = "500ms"
        shutdown_timeout = "0s"
        log = "mesh_server=debug"
        log_format = "json"
        cache.responses = "1GiB"
        [limits]
        page_default = 10
        page_max = 20
        depth = 32
        fields = 0x10
        rows = 1_000
        query_bytes = "64KiB"
        body_bytes = "1 MiB"
        header_bytes = 8192
        connections = 5
        requests = 9
        login_per_minute = 6
        nonces_per_session = 7
        database_connections = 8
        "#,
    );
    let expected = Config {
        listen: "[::1]:0".parse().unwrap(),
        base: BasePath::parse("/api/v1").unwrap(),
        database: Some("sqlite:blog.db".to_owned().into()),
        schema: Some(PathBuf::from("schema.json")),
        threads: 4,
        request_timeout: Duration::from_millis(500),
        shutdown_timeout: Duration::ZERO,
        log: "mesh_server=debug".to_owned(),
        log_format: LogFormat::Json,
        cache: Cache { responses: 1 << 30 },
        limits: Limits {
            page_default: 10,
            page_max: 20,
            depth: 32,
            fields: 16,
            rows: 1_000,
            query_bytes: 65_536,
            body_bytes: 1_048_576,
            header_bytes: 8_192,
            connections: 5,
            requests: 9,
            login_per_minute: 6,
            nonces_per_session: 7,
            database_connections: 8,
            ..Config::default().limits
        },
        ..Config::default()
    };
    assert_eq!(config, expected);
}

#[test]
fn flag_overrides_variable_overrides_file() {
    let file = "listen = '1.1.1.1:1'\nbase = '/file'\nthreads = 1\n[limits]\npage_max = 60";
    let environment = [
        ("MESH_LISTEN", "2.2.2.2:2"),
        ("MESH_BASE", "/variable"),
        ("MESH_LIMITS__PAGE_MAX", "70"),
        ("MESH_LOG_FORMAT", "json"),
        ("MESH_REQUEST_TIMEOUT", "2m"),
        ("MESH_LOG", "warn"),
        ("PATH", "/bin"),
    ];
    let loaded = load(&[("listen", "localhost:3")], &environment, file);
    assert_eq!(loaded.warnings, []);
    let config = loaded.config.unwrap();
    assert_eq!(config.listen.to_string(), "127.0.0.1:3");
    assert_eq!(config.base.as_str(), "/variable");
    assert_eq!(config.threads, 1);
    assert_eq!(config.limits.page_max, 70);
    assert_eq!(config.log_format, LogFormat::Json);
    assert_eq!(config.request_timeout, Duration::from_secs(120));
    assert_eq!(config.log, "warn");
}

#[test]
fn overridden_wrong_value_is_no_fault() {
    assert!(load(&[("listen", "127.0.0.1:1")], &[("MESH_LISTEN", "?")], "listen = 5").config.is_ok());
}

#[test]
fn unknown_variables_are_warnings() {
    let environment = [
        ("MESH_CONFIG", "mesh.toml"),
        ("MESH_PASSWORD", "for a login"),
        ("MESH_LIMITS__PAGE_MX", "5"),
        ("MESH_LIMITS_PAGE_MAX", "5"),
        ("MESH_PAGE_MAX", "5"),
        ("MESH_REQUIRE_SERVICES", "1"),
        ("MESHES", "1"),
    ];
    let loaded = load(&[], &environment, "");
    assert_eq!(loaded.config.unwrap(), Config::default());
    expect![[r#"
        MESH_LIMITS_PAGE_MAX: ignored, because no setting has this name; did you mean MESH_LIMITS__PAGE_MAX?
        MESH_LIMITS__PAGE_MX: ignored, because no setting has this name; did you mean MESH_LIMITS__PAGE_MAX?
        MESH_PAGE_MAX: ignored, because no setting has this name; did you mean MESH_LIMITS__PAGE_MAX?
        MESH_REQUIRE_SERVICES: ignored, because no setting has this name
    "#]]
    .assert_eq(&lines(&loaded.warnings));
}

#[test]
fn all_faults_are_reported_with_their_origins() {
    let file =
        "lisen = '127.0.0.1:4000'\n\nthreads = -1\n\n[limits]\ndepth = 33\nrowz = 5\n\n[limit]\nrows = 5\n";
    let loaded = load(&[("listen", "4000")], &[("MESH_LIMITS__ROWS", "0")], file);
    expect![[r#"
        --listen: 'listen' must be an address and a port such as '127.0.0.1:4000', '[::]:4000' or 'localhost:4000', not '4000'
        MESH_LIMITS__ROWS: 'limits.rows' must be a whole number from 1 to 100000000, not '0'
        mesh.toml:1: there is no setting 'lisen'; did you mean 'listen'?
        mesh.toml:3: 'threads' must be a whole number from 0 to 1024, not -1
        mesh.toml:6: 'limits.depth' must be a whole number from 0 to 32, not 33
        mesh.toml:7: there is no setting 'limits.rowz'; did you mean 'limits.rows'?
        mesh.toml:9: there is no section [limit]; did you mean [limits]?
    "#]]
    .assert_eq(&lines(&loaded.config.unwrap_err()));
}

#[test]
fn values_of_the_wrong_kind_are_refused() {
    check(
        "listen = 4000\nbase = 'mesh?x'\ndatabase = true\nthreads = 1.5\nrequest_timeout = 10\n\
         shutdown_timeout = '2 days'\nlog = []\nlog_format = 'jsn'\nschema = 1979-05-27\n\
         [limits]\nquery_bytes = '64KB'\nbody_bytes = '99999999999GiB'\nrows = 9223372036854775808\n\
         page_max = 'many'\npage_default = 100000\nheader_bytes = 10\n",
        expect![[r#"
            mesh.toml:1: 'listen' must be a quoted string, not 4000
            mesh.toml:2: 'base' is invalid, 'mesh?x': a base path must begin with '/', such as '/mesh'
            mesh.toml:3: 'database' must be a quoted string, not true
            mesh.toml:4: 'threads' must be a whole number from 0 to 1024, not a number with a fraction
            mesh.toml:5: 'request_timeout' must be a time with its unit, such as '500ms', '10s' or '15m', from 1ms to 24h, not 10
            mesh.toml:6: 'shutdown_timeout' must be a time with its unit, such as '500ms', '10s' or '15m', from 0ms to 1h, not '2 days'
            mesh.toml:7: 'log' must be a quoted string, not a list
            mesh.toml:8: 'log_format' must be 'pretty' or 'json', not 'jsn'; did you mean 'json'?
            mesh.toml:9: 'schema' must be a quoted string, not a date or time
            mesh.toml:11: 'limits.query_bytes' must be a number of bytes from 1 to 1073741824, such as 4096, '64KiB' or '1MiB', not '64KB'
            mesh.toml:12: 'limits.body_bytes' must be a number of bytes from 1 to 1073741824, such as 4096, '64KiB' or '1MiB', not '99999999999GiB'
            mesh.toml:13: 'limits.rows' must be a whole number from 1 to 100000000, not an integer beyond 64 bits
            mesh.toml:14: 'limits.page_max' must be a whole number from 1 to 1000000, not 'many'
            mesh.toml:16: 'limits.header_bytes' must be a number of bytes from 1024 to 16777216, such as 4096, '64KiB' or '1MiB', not 10
        "#]],
    );
}

#[test]
fn unknown_names_suggest_the_nearest() {
    check(
        "page_max = 5\nlimits = 5\n'limits.rows' = 5\nzebra = 1\n[listen]\nport = 1\n[cache.responses]\n[metrics.deep]\nx = 1\n",
        expect![[r#"
            mesh.toml:1: there is no setting 'page_max'; did you mean 'limits.page_max'?
            mesh.toml:2: 'limits' is a section with several settings: write [limits]
            mesh.toml:3: there is no setting '"limits.rows"'; did you mean 'limits.rows'?
            mesh.toml:4: there is no setting 'zebra'
            mesh.toml:5: 'listen' must be a quoted string, not a table
            mesh.toml:7: 'cache.responses' must be a number of bytes from 0 to 68719476736, such as 4096, '64KiB' or '1MiB', not a table
            mesh.toml:8: there is no section [metrics]
        "#]],
    );
}

#[test]
fn former_settings_are_faults_that_say_what_replaced_them() {
    check(
        "server_timing = false\n[audit]\nfile = 'audit.log'\n[mysql]\nwait = '1s'\nwaits = 1\n[sqlite]\nmmap = false\n",
        expect![[r#"
            mesh.toml:1: 'server_timing' is no longer a setting: its value is fixed
            mesh.toml:3: 'audit.file' is no longer a setting: write 'audit.store = "file:PATH"'
            mesh.toml:5: 'mysql.wait' is no longer a setting: it follows from 'request_timeout'
            mesh.toml:6: there is no setting 'mysql.waits'
            mesh.toml:8: 'sqlite.mmap' is no longer a setting: write '?mmap=false' after the path in 'database'
        "#]],
    );
    let loaded = load(&[], &[("MESH_CACHE__PLANS", "5"), ("MESH_POSTGRES__CONNECTIONS", "4")], "");
    expect![[r#"
        MESH_CACHE__PLANS: ignored, because 'cache.plans' is no longer a setting: its value is fixed
        MESH_POSTGRES__CONNECTIONS: ignored, because 'postgres.connections' is no longer a setting: write 'limits.database_connections'
    "#]]
    .assert_eq(&lines(&loaded.warnings));
    let settings = Config::load(Vec::new(), [], None).effective;
    let both: Vec<_> = removed::paths().filter(|path| settings.paths().any(|known| known == *path)).collect();
    assert_eq!(both, [""; 0]);
}

#[test]
fn limits_that_follow_from_others() {
    let derived = |config: Config| (config.exports_at_once(), config.connection_wait());
    assert_eq!(derived(Config::default()), (16, 2 * SECOND));
    assert_eq!(
        derived(config("limits.requests = 1\nrequest_timeout = '1s'")),
        (1, Duration::from_millis(500))
    );
}

#[test]
fn poolers_are_named_by_a_url_or_not() {
    let pooler = |value: &str| config(&format!("postgres.pooler = {value}")).postgres.pooler;
    assert_eq!((pooler("false"), pooler("true")), (Pooler::None, Pooler::Polling));
    let url = Location::from("postgres://db/x".to_owned());
    assert_eq!(pooler("'postgres://db/x'"), Pooler::Listening(url));
    check(
        "postgres.pooler = 'yes'\naudit.store = 'audit.log'\nmcp.enabled = 'write'",
        expect![[r#"
            mesh.toml:1: 'postgres.pooler' must be true, false or the URL of the primary, not 'yes'
            mesh.toml:2: 'audit.store' must be 'file:PATH' or 'table:NAME', not 'audit.log'
            mesh.toml:3: 'mcp.enabled' must be 'false' or 'true' or 'writes', not 'write'; did you mean 'writes'?
        "#]],
    );
}

#[test]
fn syntax_errors_have_a_line_and_do_not_hide_wrong_values() {
    check(
        "threads = 9999\nlisten = \"127.0.0.1:4000\nbase = '/a'\nbase = '/b'\n",
        expect![[r#"
            mesh.toml:1: 'threads' must be a whole number from 0 to 1024, not 9999
            mesh.toml:2: not valid TOML: invalid basic string, expected `"`
            mesh.toml:4: not valid TOML: duplicate key
        "#]],
    );
    check(
        "listen =\nthreads = 9999\n",
        expect![[r#"
        mesh.toml:1: not valid TOML: string values must be quoted, expected literal string
        mesh.toml:2: 'threads' must be a whole number from 0 to 1024, not 9999
    "#]],
    );
    check(
        "[limits\nrows = 0\n",
        expect![[r#"
        mesh.toml:1: not valid TOML: unclosed table, expected `]`
    "#]],
    );
}

#[test]
fn page_default_follows_a_smaller_page_max_unless_written() {
    assert_eq!(config("limits.page_max = 20").limits.page_default, 20);
    assert_eq!(config("limits.page_max = 500").limits.page_default, 50);
    check(
        "[limits]\npage_max = 20\npage_default = 30",
        expect![[r#"
            mesh.toml:3: 'limits.page_default' is 30, above 'limits.page_max', which is 20
        "#]],
    );
    check(
        "limits.page_default = 300",
        expect![[r#"
            mesh.toml:1: 'limits.page_default' is 300, above 'limits.page_max', which is 200
        "#]],
    );
}

#[test]
fn base_may_be_empty() {
    assert_eq!(config("base = ''").base.as_str(), "");
    let loaded = load(&[], &[("MESH_BASE", ""), ("MESH_SCHEMA", "")], "schema = 'x.json'");
    let config = loaded.config.unwrap();
    assert_eq!(config.base.as_str(), "");
    assert_eq!(config.schema, None);
}

#[test]
fn rates_and_proxies_are_parsed() {
    let file = "trusted_proxies = ['127.0.0.1', '10.0.0.0/8']\n[limits]\nper_address = '100/s'\nper_session = '30/m'";
    let limited = config(file);
    assert_eq!(limited.limits.per_address, mesh_server::Rate::parse("100/s").unwrap());
    assert_eq!(limited.limits.per_session, mesh_server::Rate::parse("30/m").unwrap());
    assert_eq!(limited.trusted_proxies, Proxies::parse(["127.0.0.1", "10.0.0.0/8"]).unwrap());
    assert_eq!(config("limits.per_address = '0/s'"), Config::default());
    let environment = [("MESH_TRUSTED_PROXIES", "::1, 10.1.2.3"), ("MESH_LIMITS__PER_SESSION", "1/h")];
    assert!(load(&[], &environment, "").config.is_ok());
    check(
        "trusted_proxies = ['proxy.example']\n[limits]\nper_address = 100\nper_session = '5 per minute'",
        expect![[r#"
            mesh.toml:1: 'trusted_proxies' is invalid: 'proxy.example' is neither an address nor a network such as '10.0.0.0/8'
            mesh.toml:3: 'limits.per_address' must be a quoted rate such as '100/s', or '0/s' for no limit, not 100
            mesh.toml:4: 'limits.per_session' is invalid: '5 per minute' is not a rate such as '100/s', '30/m' or '500/h', of at most 1000000
        "#]],
    );
}

#[test]
fn deeply_nested_tables_are_refused() {
    let path = vec!["a"; 5_000].join(".");
    assert!(load(&[], &[], &format!("{path} = 1")).config.is_err());
}

#[test]
fn caching_is_set_for_all_reads_and_for_entities() {
    let controls = |config: &Config| -> Vec<String> {
        let entities = config.caching.entities.iter().map(|(entity, control)| format!("{entity}: {control}"));
        [config.caching.control.to_string()].into_iter().chain(entities).collect()
    };
    let file = "[caching]\ncontrol = 'max-age=5'\n[caching.entities]\npost = 'Public, max-age=60'\n'a.b' = 'no-store'\n";
    assert_eq!(controls(&config(file)), ["max-age=5", "a.b: no-store", "post: public, max-age=60"]);
    let inline = "caching.entities = { post = 'no-store' }";
    assert_eq!(controls(&config(inline)), ["no-cache", "post: no-store"]);
    let variable = [("MESH_CACHING__ENTITIES", "post = public, max-age=60; user = no-store;")];
    let loaded = load(&[], &variable, file).config.unwrap();
    assert_eq!(controls(&loaded), ["max-age=5", "post: public, max-age=60", "user: no-store"]);
    check(
        "[caching]\ncontrol = 'max-age'\n[caching.entities]\npost = 1\n",
        expect![[r#"
            mesh.toml:2: 'caching.control' is invalid, 'max-age': 'max-age' needs a number of seconds, as in 'max-age=60'
            mesh.toml:3: 'caching.entities' of 'post' must be a quoted string, not 1
        "#]],
    );
    check(
        "[caching.entities.post]\ncontrol = 'no-store'\n[caching.entity]\npost = 'no-store'\n",
        expect![[r#"
            mesh.toml:1: 'caching.entities' of 'post' must be a quoted string, not a table
            mesh.toml:3: there is no section [caching.entity]
        "#]],
    );
}
