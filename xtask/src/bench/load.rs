//! Who asks, and how was it answered? `wrk` where it is installed, else the generator of `xtask/bench`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::workload::Placing;
use super::{Ground, ran, request};

/// What one run of load showed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Load {
    pub(crate) requests: u64,
    pub(crate) errors: u64,
    pub(crate) per_second: f64,
    /// Microseconds.
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    /// Processor time of the server for one request, in microseconds.
    pub(crate) cpu_micros: f64,
    /// Memory of the server, in bytes.
    pub(crate) resident: u64,
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { per_second, p50, p99, cpu_micros, .. } = self;
        write!(f, "{per_second:>9.0} req/s  {cpu_micros:>8.2} us CPU  p50 {p50:.0} us  p99 {p99:.0} us")
    }
}

/// Goes through the file's requests, a NUL byte after each, and prints the result as a line of JSON.
const SCRIPT: &str = r#"
local list, at = {}, 0
function init(args)
  local file = io.open(args[1], "rb")
  for text in file:read("*a"):gmatch("(%Z+)%z") do list[#list + 1] = text end
  file:close()
end
function request()
  at = at % #list + 1
  return list[at]
end
function done(summary, latency)
  local e = summary.errors
  local errors = e.connect + e.read + e.write + e.status + e.timeout
  io.write(string.format(
    '{"requests":%d,"errors":%d,"seconds":%f,"p50":%f,"p99":%f}\n',
    summary.requests, errors, summary.duration / 1e6, latency:percentile(50), latency:percentile(99)))
end
"#;

/// A way to put load on an address.
pub(crate) struct Loader<'g> {
    ground: &'g Ground,
    file: PathBuf,
    address: String,
    connections: usize,
    placing: Placing,
}

impl<'g> Loader<'g> {
    pub(crate) fn new(ground: &'g Ground, file: &Path, address: &str, connections: usize) -> Self {
        let (file, address) = (file.to_owned(), address.to_owned());
        Self { ground, file, address, connections, placing: Placing::Apart }
    }

    /// The same on the cores that are given.
    pub(crate) fn placed(self, placing: Placing) -> Self {
        Self { placing, ..self }
    }

    /// Loads the address for so long.
    pub(crate) fn run(&self, seconds: f64) -> Result<Load, String> {
        let there = ran(Command::new("wrk").arg("-v")) || wrk_is_there();
        Self::seen(if there { self.wrk(seconds)? } else { self.own(&["--seconds", &seconds.to_string()]) })
    }

    /// Sends each request once.
    pub(crate) fn once(&self) -> Result<Load, String> {
        Self::seen(self.own(&["--once"]))
    }

    /// What a generator reports.
    fn seen(mut command: Command) -> Result<Load, String> {
        let output = command.output().map_err(|error| format!("cannot start the load: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let line = text.lines().rev().find(|line| line.starts_with('{'));
        let seen: Value = line.and_then(|line| serde_json::from_str(line).ok()).ok_or_else(|| {
            format!("the load failed: {}{}", text.trim(), String::from_utf8_lossy(&output.stderr).trim())
        })?;
        let number = |name: &str| seen.get(name).and_then(Value::as_f64).unwrap_or_default();
        let (requests, lasted) = (number("requests"), number("seconds").max(1e-3));
        Ok(Load {
            requests: requests as u64,
            errors: number("errors") as u64,
            per_second: requests / lasted,
            p50: number("p50"),
            p99: number("p99"),
            ..Load::default()
        })
    }

    fn wrk(&self, seconds: f64) -> Result<Command, String> {
        let script = self.ground.folder.join("requests.lua");
        std::fs::write(&script, SCRIPT)
            .map_err(|error| format!("cannot write {}: {error}", script.display()))?;
        let mut command = self.ground.command(Path::new("wrk"), self.ground.placed(self.placing).1);
        command.args([format!("-t{}", self.threads()), format!("-c{}", self.connections)]);
        command.arg(format!("-d{}", seconds.ceil() as u64));
        command.arg("-s").arg(script).arg(format!("http://{}", self.address)).arg("--").arg(&self.file);
        Ok(command)
    }

    fn own(&self, how: &[&str]) -> Command {
        let cores = self.ground.placed(self.placing).1;
        let mut command = self.ground.command(&self.ground.peers.join("load"), cores);
        command.args(["--address", &self.address, "--connections", &self.connections.to_string()]);
        command.args(["--threads", &self.threads().to_string()]).args(how);
        command.arg("--requests").arg(&self.file);
        command
    }

    fn threads(&self) -> usize {
        if let Placing::Together(threads) = self.placing { threads } else { 1 }
    }
}

/// `wrk -v` prints its version and ends with a failure.
fn wrk_is_there() -> bool {
    Command::new("wrk").arg("-v").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

/// What else a server has to do while it is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Background {
    /// Four clients that read a whole table again and again.
    Scans,
}

impl Background {
    pub(crate) fn start(self, ground: &Ground, address: &str) -> Result<Running, String> {
        let Self::Scans = self;
        let file = ground.folder.join("scans.requests");
        let text: String = (0..4).map(|number| request::scan(number).text() + "\0").collect();
        std::fs::write(&file, text).map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        let mut command = ground.command(&ground.peers.join("load"), ground.placed(Placing::Free).1);
        command
            .args(["--address", address, "--connections", "4", "--seconds", "600", "--requests"])
            .arg(file);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let child = child.map_err(|error| format!("cannot start `load`: {error}"))?;
        // Until every plan has shown once how heavy it is.
        std::thread::sleep(std::time::Duration::from_secs(2));
        Ok(Running(child))
    }
}

/// Load that ends when this is dropped.
pub(crate) struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
