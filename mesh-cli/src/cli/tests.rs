//! Parsing of command lines.

use std::io;
use std::path::PathBuf;

use clap::error::ErrorKind;
use mesh_ql::Format;

use super::*;

fn parse(line: &[&str]) -> Result<Command, clap::Error> {
    Cli::try_parse_from(["mesh-server"].iter().chain(line)).map(|cli| cli.command)
}

#[test]
fn definitions_are_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn flags_of_serve_become_settings() {
    let line = [
        "serve",
        "--config=mesh.toml",
        "--database",
        "sqlite:blog.db",
        "--schema",
        "schema.json",
        "--listen",
        "127.0.0.1:0",
        "--base",
        "",
        "--threads",
        "2",
        "--log",
        "debug",
        "--log-format",
        "json",
    ];
    let Command::Serve(args) = parse(&line).unwrap() else { panic!("not serve") };
    assert_eq!(args.source.config, Some(PathBuf::from("mesh.toml")));
    let loaded = crate::config::Config::load(args.flags(), [], None).config.unwrap();
    assert_eq!(loaded.listen.to_string(), "127.0.0.1:0");
    assert_eq!(loaded.base.as_str(), "");
    assert_eq!(loaded.database.as_deref(), Some("sqlite:blog.db"));
    assert_eq!(loaded.schema, Some(PathBuf::from("schema.json")));
    assert_eq!(loaded.threads, 2);
    assert_eq!(loaded.log, "debug");
    assert_eq!(loaded.log_format, crate::config::LogFormat::Json);
}

#[test]
fn absent_flags_are_not_settings() {
    let Command::Serve(args) = parse(&["serve"]).unwrap() else { panic!("not serve") };
    assert_eq!(args.flags(), []);
    let Command::Demo(args) = parse(&["demo", "--database", "sample.db"]).unwrap() else {
        panic!("not demo")
    };
    assert_eq!(args.flags(), []);
    assert_eq!(args.database, Some(PathBuf::from("sample.db")));
    let Command::Check(args) = parse(&["check", "--database", "sqlite:a.db"]).unwrap() else {
        panic!("not check")
    };
    assert_eq!(args.source.flags(), [("database", "sqlite:a.db".to_owned())]);
}

#[test]
fn query_has_url_id_and_format() {
    let Command::Query(args) = parse(&["query", "--id", "-7", "{ post title }"]).unwrap() else {
        panic!("not query")
    };
    assert_eq!(args.server.url, "http://127.0.0.1:4000/mesh");
    assert_eq!(args.id.as_deref(), Some("-7"));
    assert!(!args.all);
    let resolved = args.text.resolve(io::empty()).unwrap();
    assert_eq!(resolved, (Format::Ql, "{ post title }".to_owned()));

    let Command::Explain(args) = parse(&["explain", "--format", "json", "-"]).unwrap() else {
        panic!("not explain")
    };
    let resolved = args.text.resolve(" { post title } ".as_bytes()).unwrap();
    assert_eq!(resolved, (Format::Json, " { post title } ".to_owned()));
    assert!(args.text.resolve([0xff_u8].as_slice()).is_err());
}

#[test]
fn format_is_detected() {
    for text in ["{user id}", " \n{\t_x y }", "{ user { id } }", "{a"] {
        assert_eq!(Format::detect(text), Format::Ql, "{text}");
    }
    for text in ["", "{", "{}", "{\"user\": {}}", "[user]", "user", "{ é }", "{ 1 }", "{ $a }"] {
        assert_eq!(Format::detect(text), Format::Json, "{text}");
    }
}

#[test]
fn wrong_usage_has_status_2_and_a_suggestion() {
    let wrong = |line: &[&str], kind: ErrorKind, hint: &str| {
        let error = parse(line).unwrap_err();
        assert_eq!(error.kind(), kind, "{line:?}");
        assert_eq!(error.exit_code(), 2, "{line:?}");
        let text = error.to_string();
        assert!(text.contains(hint), "{line:?}: {text}");
    };
    wrong(&["serv"], ErrorKind::InvalidSubcommand, "'serve'");
    wrong(&["serve", "--lisen", "x"], ErrorKind::UnknownArgument, "'--listen'");
    wrong(&["serve", "--log-format", "jsn"], ErrorKind::InvalidValue, "'json'");
    wrong(&["query", "--all", "--id", "1", "{}"], ErrorKind::ArgumentConflict, "--id");
    wrong(&["query"], ErrorKind::MissingRequiredArgument, "QUERY");
    wrong(&[], ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand, "Usage");
}

#[test]
fn every_command_has_an_example_that_parses() {
    for command in Cli::command().get_subcommands() {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let examples: Vec<_> = help.lines().filter_map(|line| line.strip_prefix("  mesh-server ")).collect();
        assert!(!examples.is_empty(), "{} has no example", command.get_name());
        for example in examples {
            // Arguments are separated by blanks, except for a query in single quotes at the end.
            let (words, quoted) = example.split_once('\'').unwrap_or((example, ""));
            let quoted = quoted.strip_suffix('\'');
            let line: Vec<_> = words.split_whitespace().chain(quoted).collect();
            assert!(parse(&line).is_ok(), "{example}: {:?}", parse(&line).err());
        }
    }
}

fn usage_error(line: &[&str]) -> String {
    usage_hints::add_hint(parse(line).unwrap_err()).to_string()
}

#[test]
fn database_without_flag_gets_a_hint() {
    for (argument, url) in [
        ("blog.db", "sqlite:blog.db"),
        ("data/Chinook.SQLite", "sqlite:data/Chinook.SQLite"),
        ("sqlite:x", "sqlite:x"),
        ("postgres://me@host/blog", "postgres://me@host/blog"),
    ] {
        for command in ["serve", "check", "types"] {
            let message = usage_error(&[command, argument]);
            assert!(message.contains(&format!("tip: pass the database as '--database {url}'")), "{message}");
        }
    }
}

#[test]
fn settings_without_a_flag_get_a_hint() {
    for flag in ["--limits-page-max", "--page-max"] {
        let message = usage_error(&["serve", flag, "5"]);
        let tip =
            "tip: set 'limits.page_max' in the file of '--config', or the variable MESH_LIMITS__PAGE_MAX";
        assert!(message.contains(tip), "{message}");
    }
    for other in ["--nonsense", "--path"] {
        assert!(!usage_error(&["serve", other, "x"]).contains("tip: set"), "{other}");
    }
}

#[test]
fn other_arguments_get_no_hint() {
    assert!(!usage_error(&["serve", "blog"]).contains("tip"));
    assert!(!usage_error(&["serve", "schema.json"]).contains("tip"));
    assert!(!usage_error(&["health", "--x.db"]).contains("database"));
    let misspelt = usage_error(&["serve", "--databse", "sqlite:blog.db"]);
    assert!(misspelt.contains("'--database'") && !misspelt.contains("pass the database"), "{misspelt}");
}
