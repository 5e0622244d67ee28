//! Release files: static programs, archives, a Debian package, checksums, a bill of materials and a formula.

mod archive;
mod binstall;
mod deb;
mod formula;
mod program;
mod sbom;
mod target;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use mesh_conformance::encoding::sha256;
use serde_json::Value;

use crate::steps::Steps;
use crate::tidy::dependencies::{list, metadata, name};
use binstall::Binstall;
use program::inspect;
use target::Target;

/// The name of the step that inspects a program.
const STATIC: &str = "static program";
/// The program that is packaged. The other one is `mesh-conformance`.
const SERVER: &str = "mesh-server";
/// The package of the server.
const SERVER_PACKAGE: &str = "mesh-cli";
const CONFORMANCE: &str = "mesh-conformance";
/// Features of the server beyond the default ones.
const FEATURES: &str = "s3";

/// Command-line options.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Options {
    /// The targets that must be built. If empty, the target of this machine, and other targets that can be built.
    targets: Vec<String>,
    /// The URL at which the files will be available; by default, a release of `repository`.
    url: Option<String>,
    /// The public address of the project; by default, `repository` of the manifest.
    repository: Option<String>,
}

/// Parses the options.
pub(crate) fn parse_options(arguments: &[&str]) -> Result<Options, String> {
    let mut options = Options::default();
    let mut arguments = crate::arguments::split(arguments);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("`{argument}` takes a value"));
        match argument {
            "--target" => {
                let target = Target::parse(value?)?;
                options.targets.push(target.triple);
            }
            "--url" => options.url = Some(value?.trim_end_matches('/').to_owned()),
            "--repository" => options.repository = Some(value?.trim_end_matches('/').to_owned()),
            _ => return Err(format!("dist has no option '{argument}'")),
        }
    }
    Ok(options)
}

/// Makes all files below `target/release-files`.
pub(crate) fn run(root: &Path, options: &Options) -> ExitCode {
    if !cfg!(target_os = "linux") {
        return Steps::new(root.to_owned()).fail(STATIC, "static programs are built on Linux").finish();
    }
    let (targets, missing) = match chosen(root, options) {
        Ok(chosen) => chosen,
        Err(why) => return Steps::new(root.to_owned()).fail(STATIC, &why).finish(),
    };
    let mut steps = Steps::new(root.to_owned());
    let mut made = Vec::new();
    for target in &targets {
        steps = build(steps, root, target, "dist", &[SERVER, CONFORMANCE]);
        if !steps.failed() {
            made.push(target);
        }
    }
    if !steps.failed() {
        match package(root, &made, options) {
            Ok(files) => files.iter().for_each(|file| eprintln!("{}", file.display())),
            Err(why) => steps = steps.fail("packages", &why),
        }
    }
    missing.iter().for_each(|why| eprintln!("left out: {why}"));
    steps.finish()
}

/// Adds a build of the conformance kit with the test profile, and the inspection of the program.
pub(crate) fn steps(root: &Path, steps: Steps) -> Steps {
    if !cfg!(target_os = "linux") {
        return steps;
    }
    match Target::of_this_machine(root) {
        Ok(target) => build(steps, root, &target, "dev", &[CONFORMANCE]),
        Err(why) => steps.fail(STATIC, &why),
    }
}

/// Returns the targets to build, and why others are left out.
///
/// # Errors
/// A target of the options cannot be built.
fn chosen(root: &Path, options: &Options) -> Result<(Vec<Target>, Vec<String>), String> {
    if options.targets.is_empty() {
        let own = Target::of_this_machine(root)?;
        let (mut targets, mut missing) = (vec![own], Vec::new());
        for other in Target::of_other_machines(root) {
            match other {
                Ok(target) => targets.push(target),
                Err(why) => missing.push(why),
            }
        }
        return Ok((targets, missing));
    }
    let targets = options.targets.iter().map(|target| Target::parse(target)?.checked(root));
    targets.collect::<Result<_, _>>().map(|targets| (targets, Vec::new()))
}

/// Adds a build of programs for a target, and the inspection of the programs.
fn build(steps: Steps, root: &Path, target: &Target, profile: &str, programs: &[&str]) -> Steps {
    let flags = std::env::var("RUSTFLAGS").unwrap_or_default();
    let flags = format!("{flags} -C target-feature=+crt-static");
    let package = |program| if program == SERVER { SERVER_PACKAGE } else { program };
    let packages: String =
        programs.iter().map(|program| format!(" --package {} --bin {program}", package(*program))).collect();
    let features = if programs.contains(&SERVER) {
        format!(" --features {SERVER_PACKAGE}/{FEATURES}")
    } else {
        String::new()
    };
    let triple = &target.triple;
    let arguments =
        format!("build --quiet --locked --profile {profile} --target {triple}{packages}{features}");
    let mut variables = vec![("RUSTFLAGS".to_owned(), flags.trim().to_owned())];
    variables.push(("CARGO_PROFILE_DIST_STRIP".to_owned(), "symbols".to_owned()));
    if profile == "dist" {
        // Incremental builds are for development: they optimize less.
        variables.push(("CARGO_INCREMENTAL".to_owned(), "0".to_owned()));
    }
    variables.extend(target.variables());
    let variables: Vec<_> = variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let mut steps = steps.cargo_with(&format!("{profile}, {triple}"), &arguments, &variables);
    for program in programs {
        if steps.failed() {
            break;
        }
        let folder = if profile == "dev" { "debug" } else { profile };
        let path = built(root, target, folder, program);
        let found = inspect(&path, target.is_of_this_machine());
        steps = steps.record_faults(&format!("{STATIC}, {program}"), found);
    }
    steps
}

/// Returns the path of a program.
fn built(root: &Path, target: &Target, folder: &str, program: &str) -> PathBuf {
    let all = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    all.join(&target.triple).join(folder).join(program)
}

/// Packages programs that are built already. Returns all files.
fn package(root: &Path, targets: &[&Target], options: &Options) -> Result<Vec<PathBuf>, String> {
    let metadata = metadata(root)?;
    let server = server(&metadata)?;
    let text = |key: &str| server.get(key).and_then(Value::as_str);
    let version = text("version").ok_or("cargo metadata has no version of the server")?;
    let repository = options.repository.as_deref().or_else(|| text("repository"));
    let binstall = Binstall::new(server, version)?;
    let url = match (&options.url, repository) {
        (Some(url), _) => Some(url.clone()),
        (None, Some(repository)) => Some(binstall.folder(repository)?),
        (None, None) => None,
    };
    let folder = root.join("target/release-files");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
    let mut files = Vec::new();
    for target in targets {
        let program = |name| built(root, target, "dist", name);
        for name in [SERVER, CONFORMANCE] {
            let extra = if name == SERVER { archive::documents(root) } else { Vec::new() };
            files.push(archive::make(&folder, &archive_name(name, &target.triple), &program(name), &extra)?);
        }
        files.push(deb::make(root, &folder, &program(SERVER), version, target.debian())?);
    }
    files.push(sbom::make(
        root,
        &folder,
        &targets.iter().map(|target| target.triple.as_str()).collect::<Vec<_>>(),
    )?);
    match &url {
        Some(url) => files.push(binstall.make(&folder, url)?),
        None => eprintln!("left out: a manifest for cargo binstall, which needs --repository or --url"),
    }
    let url = url.unwrap_or_else(|| format!("file://{}", folder.display()));
    files.push(formula::make(&folder, &url, repository, version, targets)?);
    files.push(checksums(&folder, &files)?);
    Ok(files)
}

/// Returns the name of the archive of a program, without its ending.
fn archive_name(program: &str, triple: &str) -> String {
    format!("{program}-{triple}")
}

/// Returns the package of the server.
fn server(metadata: &Value) -> Result<&Value, String> {
    let server = list(metadata, "packages").iter().find(|package| name(package) == SERVER_PACKAGE);
    server.ok_or_else(|| "cargo metadata has no server".to_owned())
}

/// Writes the checksums of files, in the form that `sha256sum --check` reads.
fn checksums(folder: &Path, files: &[PathBuf]) -> Result<PathBuf, String> {
    let mut text = String::new();
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        text.push_str(&format!("{}  {name}\n", digest(file)?));
    }
    write(&folder.join("SHA256SUMS"), text.as_bytes())
}

/// Returns the SHA-256 of a file.
fn digest(file: &Path) -> Result<String, String> {
    fs::read(file).map(sha256).map_err(|error| format!("cannot read {}: {error}", file.display()))
}

/// Runs a program. The error is what the program prints on standard error.
fn run_tool(mut command: std::process::Command) -> Result<(), String> {
    let program = command.get_program().display().to_string();
    let output = command.output().map_err(|error| format!("cannot start {program}: {error}"))?;
    let said = || format!("{program}: {}", String::from_utf8_lossy(&output.stderr).trim());
    if output.status.success() { Ok(()) } else { Err(said()) }
}

/// Writes a file and returns its path.
fn write(path: &Path, bytes: &[u8]) -> Result<PathBuf, String> {
    fs::write(path, bytes).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    Ok(path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_name_targets_and_addresses() {
        let options = parse_options(&[
            "--target=aarch64-unknown-linux-musl",
            "--url",
            "https://example.org/files/",
            "--repository=https://example.org/mesh",
        ]);
        let expected = Options {
            targets: vec!["aarch64-unknown-linux-musl".to_owned()],
            url: Some("https://example.org/files".to_owned()),
            repository: Some("https://example.org/mesh".to_owned()),
        };
        assert_eq!(options, Ok(expected));
        assert!(parse_options(&["--target", "wasm32-unknown-unknown"]).unwrap_err().contains("x86_64"));
        assert!(parse_options(&["--target"]).is_err());
        assert!(parse_options(&["--fast", "1"]).is_err());
    }

    #[test]
    fn checksums_are_those_that_sha256sum_checks() {
        let folder = mesh_tests::TempDir::new();
        let file = PathBuf::from(folder.write("a.txt", "abc"));
        let sums = fs::read_to_string(checksums(folder.path(), &[file]).unwrap()).unwrap();
        assert_eq!(sums, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a.txt\n");
        let mut check = std::process::Command::new("sha256sum");
        assert!(check.args(["--check", "SHA256SUMS"]).current_dir(folder.path()).status().unwrap().success());
    }
}
