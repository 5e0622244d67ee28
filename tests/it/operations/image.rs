//! The Dockerfiles, read and run without a container engine: the build commands are resolved, and the last stage runs as
//! a script with the debug build in place of the program that it copies.

use std::collections::BTreeMap;
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use mesh_tests::{Database, Server, TempDir, program, wait_until};

const SERVER: &str = include_str!("../../../docs/deploy/Dockerfile");
const KIT: &str = include_str!("../../../tests/conformance/Dockerfile");

/// Returns the folder of the workspace, which is the context of both builds.
fn context() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// A stage of a Dockerfile: the image that it begins with, and its instructions.
struct Stage {
    image: String,
    instructions: Vec<(String, String)>,
}

impl Stage {
    /// Reads the stages of a file. Continued lines are joined, comments are left out.
    fn all_of(dockerfile: &str) -> Vec<Self> {
        let lines: Vec<&str> = dockerfile.lines().filter(|line| !line.starts_with('#')).collect();
        let text = lines.join("\n").replace("\\\n", " ");
        let mut stages: Vec<Self> = Vec::new();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let (name, rest) = line.split_once(' ').unwrap();
            match name {
                "FROM" => stages.push(Self { image: rest.to_owned(), instructions: Vec::new() }),
                _ => {
                    let stage = stages.last_mut().expect("a file begins with FROM");
                    stage.instructions.push((name.to_owned(), rest.trim().to_owned()));
                }
            }
        }
        stages
    }

    fn every<'s>(&'s self, name: &str) -> impl Iterator<Item = &'s str> + use<'s> {
        let name = name.to_owned();
        self.instructions.iter().filter(move |(found, _)| *found == name).map(|(_, rest)| rest.as_str())
    }

    fn only(&self, name: &str) -> &str {
        let found: Vec<&str> = self.every(name).collect();
        assert_eq!(found.len(), 1, "{name}");
        found[0]
    }

    /// Returns the variables that are set.
    fn variables(&self) -> BTreeMap<&str, &str> {
        self.every("ENV").flat_map(str::split_whitespace).map(|set| set.split_once('=').unwrap()).collect()
    }

    /// Returns the words of an instruction in the form of a JSON list.
    fn words(&self, name: &str) -> Vec<String> {
        let text = self.only(name);
        serde_json::from_str(&text[text.find('[').unwrap()..]).unwrap()
    }
}

/// Checks what the last stage copies: the program of a build command that the workspace can run, and files of packages.
#[track_caller]
fn check_build(dockerfile: &str, package: &str, program: &str) {
    let stages = Stage::all_of(dockerfile);
    let [build, last] = stages.as_slice() else { panic!("{} stages", stages.len()) };
    assert!(build.image.starts_with("rust:") && build.image.ends_with("-alpine AS build"), "{}", build.image);
    assert_eq!((last.image.as_str(), build.only("COPY")), ("scratch", ". ."));
    assert_eq!(last.every("RUN").count(), 0, "there is no shell");
    let script: Vec<&str> = build.every("RUN").flat_map(|run| run.split("&&")).map(str::trim).collect();
    let source = Path::new(build.only("WORKDIR"));
    assert_eq!(source, Path::new("/source"));

    // Each file that is copied was built before.
    for copied in last.every("COPY") {
        let (from, rest) = copied.split_once(' ').unwrap();
        let (file, to) = rest.split_once(' ').unwrap();
        assert_eq!((from, file), ("--from=build", to));
        let installed = [("/etc/ssl/", "ca-certificates"), ("/usr/share/zoneinfo", "tzdata")];
        let is_installed =
            installed.iter().any(|(path, package)| file.starts_with(path) && script[0].contains(package));
        let is_made = script.iter().any(|command| {
            command.strip_prefix("cp ").is_some_and(|names| names.ends_with(&format!(" {file}")))
        });
        assert!(is_installed || is_made, "{file} is made by none of {script:?}");
    }

    // The build command makes the program that is copied, and the lock file is complete for its features.
    let cargo = script.iter().find(|command| command.starts_with("cargo ")).unwrap();
    let arguments: BTreeMap<&str, &str> =
        cargo.split(" --").skip(1).map(|word| word.split_once(' ').unwrap_or((word, ""))).collect();
    assert_eq!(arguments["package"], package);
    assert!(arguments.contains_key("locked"), "{cargo}");
    let profile = arguments.get("profile").copied().unwrap_or("release");
    let manifest = fs::read_to_string(context().join("Cargo.toml")).unwrap();
    assert!(manifest.contains(&format!("[profile.{profile}]")), "{profile}");
    assert!(
        script.contains(&format!("cp target/{profile}/{program} /{program}").as_str()),
        "{script:?} copies another program"
    );
    let mut resolve = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    resolve.current_dir(context()).args(["tree", "--quiet", "--locked", "--offline", "--package", package]);
    if let Some(features) = arguments.get("features") {
        assert_eq!(*features, "\"$FEATURES\"");
        resolve.args(["--features", build.only("ARG").strip_prefix("FEATURES=").unwrap()]);
    }
    let resolved = resolve.output().unwrap();
    assert!(resolved.status.success(), "{}", String::from_utf8_lossy(&resolved.stderr));
    assert_eq!(last.words("ENTRYPOINT"), [format!("/{program}")]);
}

#[test]
fn build_commands_make_what_the_last_stages_copy() {
    check_build(SERVER, "mesh-cli", "mesh-server");
    check_build(KIT, "mesh-conformance", "mesh-conformance");
    // The folders that the builds leave out contain no sources.
    for ignored in ["docs/deploy", "tests/conformance"] {
        let list = fs::read_to_string(context().join(ignored).join("Dockerfile.dockerignore")).unwrap();
        let ignored: Vec<&str> = list.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(ignored, [".git", "target", "fuzz/target", "**/node_modules", "*.db"]);
    }
}

/// A container's file system and account, as far as a process can have them without a container engine.
struct Container {
    stage: Stage,
    /// The folder that replaces `/data`, the only one that the server may write to.
    data: TempDir,
    program: PathBuf,
    /// The user and the group if the test may change them.
    account: Option<(u32, u32)>,
    admin: SocketAddr,
}

impl Container {
    fn create() -> Self {
        let stage = Stage::all_of(SERVER).pop().unwrap();
        assert_eq!((stage.only("WORKDIR"), stage.only("VOLUME")), ("/data", "/data"));
        let (user, group) = stage.only("USER").split_once(':').unwrap();
        let (user, group): (u32, u32) = (user.parse().unwrap(), group.parse().unwrap());
        assert!(user != 0 && group != 0);
        let data = TempDir::new();
        // A copy, because the account may be unable to read the folder of the build.
        let copy = data.path().join("program");
        fs::copy(program(), &copy).unwrap();
        fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).unwrap();
        let is_root = chown(data.path(), Some(user), Some(group)).is_ok();
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let admin = free.local_addr().unwrap();
        Self { stage, data, program: copy, account: is_root.then_some((user, group)), admin }
    }

    /// Returns a command with the variables of the image only, on free ports.
    fn command(&self, words: &[String]) -> Command {
        assert_eq!(words[0], "/mesh-server");
        let mut command = Command::new(&self.program);
        command.args(&words[1..]).env_clear().current_dir(self.data.path());
        for (name, value) in self.stage.variables() {
            let value = match name {
                "MESH_LISTEN" => {
                    assert_eq!(value, format!("0.0.0.0:{}", self.stage.only("EXPOSE")));
                    "127.0.0.1:0".to_owned()
                }
                "MESH_ADMIN__LISTEN" => self.admin.to_string(),
                _ => value.replace("/data/", &format!("{}/", self.data.path().display())),
            };
            command.env(name, value);
        }
        if let Some((user, group)) = self.account {
            command.uid(user).gid(group);
        }
        command
    }
}

#[test]
fn the_last_stage_serves_and_is_healthy() {
    let container = Container::create();
    // The database that the image expects.
    let database = Database::blog();
    database
        .connect()
        .execute_batch("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE;")
        .unwrap();
    let served = container.data.path().join("mesh.db");
    fs::copy(database.file(), &served).unwrap();
    if let Some((user, group)) = container.account {
        chown(&served, Some(user), Some(group)).unwrap();
    }

    let start = [container.stage.words("ENTRYPOINT"), container.stage.words("CMD")].concat();
    assert_eq!(start, ["/mesh-server", "serve"]);
    let mut server = Server::spawn(&mut container.command(&start));
    let reply = server.get("/post/1", r#"{"post":{"$select":{"title":true}}}"#);
    assert_eq!((reply.status, reply.text().as_str()), (200, r#"{"title":"Rust at dawn"}"#));
    let owner = fs::read_to_string(format!("/proc/{}/status", server.process())).unwrap();
    if let Some((user, _)) = container.account {
        assert!(owner.lines().any(|line| line.starts_with(&format!("Uid:\t{user}\t"))), "{owner}");
    }

    let check = container.stage.words("HEALTHCHECK");
    let health = || container.command(&check).output().unwrap();
    let healthy = health();
    assert_eq!(healthy.status.code(), Some(0), "{healthy:?}");
    fs::rename(&served, served.with_extension("aside")).unwrap();
    wait_until("the server is not healthy", || health().status.code() == Some(1));
    assert_eq!(container.stage.only("STOPSIGNAL"), "SIGTERM");
    server.signal("TERM");
    assert_eq!(server.wait().code(), Some(0));
    assert_eq!(health().status.code(), Some(1), "no server is healthy");

    let printed =
        container.command(&["/mesh-server".to_owned(), "serve".to_owned(), "--print-config".to_owned()]);
    let printed = { printed }.output().unwrap();
    assert_eq!(String::from_utf8_lossy(&printed.stderr), "", "no warning of an unknown variable");
}
