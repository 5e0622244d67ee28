//! `cargo xtask bench uploads`: the duration of a large upload compared with `cp` and `sha256sum`, and its memory.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mesh_tests::{Database, Request, Server};

use super::machine::{mebibytes, memory};
use super::report::median;
use super::server;

/// Size of the file in MiB, by default and with `--full`.
const SIZE: u64 = 256;
const FULL_SIZE: u64 = 2048;
const ROUNDS: usize = 3;
/// Maximum growth of memory, for any size.
const MEMORY_GROWTH_MAX: u64 = 32 << 20;

/// Runs the benchmark. `--full` uploads 2 GiB; `--no-build` uses the existing server binary.
pub(crate) fn run(root: &Path, arguments: &[&str]) -> Result<bool, String> {
    let (full, others): (Vec<&str>, Vec<&str>) =
        arguments.iter().copied().partition(|argument| *argument == "--full");
    let size = if full.is_empty() { SIZE } else { FULL_SIZE } << 20;
    let program = server(root, &others)?;
    let fixture = UploadFixture::start(&program, size)?;
    let (mut plain, mut synced, mut sent) = (Vec::new(), Vec::new(), Vec::new());
    let mut grown = 0;
    println!("{} MiB, {ROUNDS} rounds, seconds", size >> 20);
    println!("  {:>18} {:>14} {:>10}", "cp + sha256sum", "and sync", "upload");
    for round in 1..=ROUNDS {
        let (copied, hash) = fixture.copy()?;
        let before = memory(fixture.server.process(), "VmHWM")?;
        // The file differs in each round, so that it is not stored already.
        let upload = fixture.upload(&hash)?;
        grown = memory(fixture.server.process(), "VmHWM")?.saturating_sub(before).max(grown);
        println!(
            "  {:>18.2} {:>14.2} {:>10.2}",
            copied.0.as_secs_f64(),
            copied.1.as_secs_f64(),
            upload.as_secs_f64()
        );
        plain.push(copied.0);
        synced.push(copied.1);
        sent.push(upload);
        fixture.change(round)?;
    }
    let [plain, synced, sent] =
        [plain, synced, sent].map(|times| median(times.iter().map(Duration::as_secs_f64).collect()));
    println!(
        "an upload takes {:.2} times as long as cp and sha256sum, {:.2} times as long with sync; {:.0} MiB/s",
        sent / plain,
        sent / synced,
        (size >> 20) as f64 / sent
    );
    let fine = grown < MEMORY_GROWTH_MAX;
    println!(
        "the memory of the server grew by {:.1} MiB, at most {} MiB",
        mebibytes(grown),
        MEMORY_GROWTH_MAX >> 20
    );
    println!("{}", if fine { "all targets were met" } else { "a target was missed" });
    Ok(fine)
}

/// The server and the file.
struct UploadFixture {
    server: Server,
    database: Database,
    size: u64,
}

impl UploadFixture {
    fn start(program: &Path, size: u64) -> Result<Self, String> {
        let database = Database::new(
            "CREATE TABLE users (id INTEGER PRIMARY KEY, film TEXT); INSERT INTO users VALUES (1, NULL);",
        );
        let folder = &database.dir;
        let schema = r#"{"entities": {"user": {"fields": ["id", "film"], "uploads": {"film": {"maxBytes": 4294967296}}}}}"#;
        let schema = folder.write("schema.json", schema);
        let files = folder.path().join("files");
        let config = format!("[uploads]\nenabled = true\nstore = \"file:{}\"\n", files.display());
        let config = folder.write("mesh.toml", &config);
        let mut command = Command::new(program);
        command.args(["serve", "--listen", "127.0.0.1:0", "--log", "warn", "--database", &database.url()]);
        command.args(["--schema", &schema, "--config", &config]).stdin(Stdio::null());
        let server = Server::try_spawn(&mut command, Some(Arc::clone(&database.dir)))?;
        let fixture = Self { server, database, size };
        fixture.fill().map_err(|error| format!("cannot write the file: {error}"))?;
        Ok(fixture)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.database.dir.path().join(name)
    }

    /// Fills the file with incompressible bytes.
    fn fill(&self) -> io::Result<()> {
        let mut out = File::create(self.file("film"))?;
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        for _ in 0..self.size >> 20 {
            let block: Vec<u8> = (0..1 << 17)
                .flat_map(|_| {
                    state ^= state << 13;
                    state ^= state >> 7;
                    state ^= state << 17;
                    state.to_le_bytes()
                })
                .collect();
            out.write_all(&block)?;
        }
        out.sync_all()
    }

    /// Removes the stored file and changes the file for the next round.
    fn change(&self, round: usize) -> Result<(), String> {
        let cleared = fs::remove_dir_all(self.file("files/sha256"));
        let cleared = cleared.and_then(|()| fs::create_dir(self.file("files/sha256")));
        cleared.map_err(|error| format!("cannot remove the stored file: {error}"))?;
        let open = fs::OpenOptions::new().write(true).open(self.file("film"));
        let written = open.and_then(|mut file| file.write_all(&round.to_le_bytes()));
        written.map_err(|error| format!("cannot change the file: {error}"))
    }

    /// Returns the duration of `cp` and `sha256sum`, without and with `sync`, and the hash.
    fn copy(&self) -> Result<((Duration, Duration), String), String> {
        let (from, to) = (self.file("film"), self.file("copy"));
        let begun = Instant::now();
        output(Command::new("cp").arg(&from).arg(&to))?;
        let text = output(Command::new("sha256sum").arg(&to))?;
        let plain = begun.elapsed();
        output(Command::new("sync").arg(&to))?;
        let synced = begun.elapsed();
        fs::remove_file(&to).map_err(|error| format!("cannot remove the copy: {error}"))?;
        let hash = text.split_whitespace().next().ok_or("sha256sum printed nothing")?;
        Ok(((plain, synced), hash.to_owned()))
    }

    /// Uploads the file; returns the time from the first byte to the reply.
    fn upload(&self, hash: &str) -> Result<Duration, String> {
        let failed = |error: io::Error| format!("the upload failed: {error}");
        let statement = format!(r#"{{"user":{{"film":{{"upload":true}}}},"contentHash":"sha256:{hash}"}}"#);
        let start = "--b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\n";
        let end = "\r\n--b--\r\n";
        let length = start.len() as u64 + self.size + end.len() as u64;
        let head = Request::new("POST", "/mesh/user/1/film")
            .query(&statement)
            .header("Content-Type", "multipart/form-data; boundary=b")
            .header("Content-Length", length.to_string())
            .header("Connection", "close");
        let mut file = File::open(self.file("film")).map_err(failed)?;
        let begun = Instant::now();
        let mut stream = TcpStream::connect(self.server.address).map_err(failed)?;
        stream.write_all(&head.bytes()).map_err(failed)?;
        stream.write_all(start.as_bytes()).map_err(failed)?;
        io::copy(&mut file, &mut stream).map_err(failed)?;
        stream.write_all(end.as_bytes()).map_err(failed)?;
        let mut reply = String::new();
        stream.read_to_string(&mut reply).map_err(failed)?;
        let lasted = begun.elapsed();
        if reply.starts_with("HTTP/1.1 200") { Ok(lasted) } else { Err(format!("unexpected reply: {reply}")) }
    }
}

fn output(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("cannot start `{name}`: {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("`{name}` failed"))
    }
}
