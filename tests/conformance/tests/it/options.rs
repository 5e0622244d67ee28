//! Options of a run.

use std::time::Duration;

use clap::Parser;
use mesh_conformance::case::Level;
use mesh_conformance::cli::Options;
use mesh_conformance::report::Format;

#[derive(Debug, Parser)]
struct Program {
    #[command(flatten)]
    options: Options,
}

fn read(arguments: &[&str]) -> Result<Options, clap::Error> {
    Program::try_parse_from([&["conformance"], arguments].concat()).map(|program| program.options)
}

#[test]
fn a_level_alone_selects_no_profiles() {
    let profiles = |arguments: &[&str]| {
        let arguments = [&["--target", "http://127.0.0.1:8080"], arguments].concat();
        read(&arguments).unwrap().profile().unwrap().profiles.join(" ")
    };
    assert_eq!(profiles(&["--level", "L1"]), "");
    assert_eq!(profiles(&["--level", "L2", "--profile", "docs"]), "docs");
    assert!(profiles(&[]).contains("cors"));
}

#[test]
fn options_take_both_forms_and_unknown_options_are_refused() {
    let options = read(&["--level", "L2", "--profile=docs", "--profile", "cors", "--format=tap"]).unwrap();
    assert_eq!((options.level, options.format), (Some(Level::L2), Some(Format::Tap)));
    assert_eq!(options.profiles, ["docs", "cors"]);
    assert_eq!(options.timeout, Some(Duration::from_secs(30)));
    for wrong in [
        &["--level", "L9"][..],
        &["--level"],
        &["--colour"],
        &["--format", "pdf"],
        &["L1"],
        &["--timeout", "0"],
        &["--timeout", "soon"],
    ] {
        assert!(read(wrong).is_err(), "{wrong:?}");
    }
}
