//! Load generation, with `wrk` if it is installed, else with the generator of `xtask/bench`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;

use mesh_tests::Request;
use serde_json::Value;

use super::Setup;
use super::machine::cores::{self, CorePlacement};
use super::request::file_of;

/// The result of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Load {
    pub(crate) requests: u64,
    pub(crate) errors: u64,
    pub(crate) per_second: f64,
    /// Microseconds.
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    /// Processor time of the server per request, in microseconds.
    pub(crate) cpu_micros: f64,
    /// Resident memory of the server in bytes.
    pub(crate) resident: u64,
}

impl Load {
    /// Combines the results of concurrent generators. Their latencies cannot be merged, so the largest counts.
    fn combine(loads: Vec<Self>) -> Self {
        let both = |one: Self, other: Self| Self {
            requests: one.requests + other.requests,
            errors: one.errors + other.errors,
            per_second: one.per_second + other.per_second,
            p50: one.p50.max(other.p50),
            p99: one.p99.max(other.p99),
            cpu_micros: one.cpu_micros.max(other.cpu_micros),
            resident: one.resident.max(other.resident),
        };
        loads.into_iter().reduce(both).unwrap_or_default()
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { per_second, p50, p99, cpu_micros, .. } = self;
        write!(f, "{per_second:>9.0} req/s  {cpu_micros:>8.2} us CPU  p50 {p50:.0} us  p99 {p99:.0} us")
    }
}

/// Sends the requests of a file, each terminated by a NUL byte, and prints the result as a line of JSON.
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

/// A load generator for an address.
pub(crate) struct Loader<'g> {
    setup: &'g Setup,
    file: PathBuf,
    address: String,
    connections: usize,
    placement: CorePlacement,
}

impl<'g> Loader<'g> {
    pub(crate) fn new(setup: &'g Setup, file: &Path, address: &str, connections: usize) -> Self {
        let (file, address) = (file.to_owned(), address.to_owned());
        Self { setup, file, address, connections, placement: CorePlacement::OneCoreEach }
    }

    /// Sets the cores of the generator.
    pub(crate) fn with_placement(self, placement: CorePlacement) -> Self {
        Self { placement, ..self }
    }

    /// Puts load on the address, from all cores of the load at the same time.
    pub(crate) fn run(&self, seconds: f64) -> Result<Load, String> {
        let script = if has_wrk() { Some(self.script()?) } else { None };
        let cores = self.setup.cores.for_load(self.placement);
        let connections = self.connections.div_ceil(cores.len().max(1));
        let generators = cores.iter().map(|core| match &script {
            Some(script) => self.wrk(script, core.as_deref(), connections, seconds),
            None => self.generator(core.as_deref(), connections, &["--seconds", &seconds.to_string()]),
        });
        let generators: Vec<Command> = generators.collect();
        std::thread::scope(|scope| {
            let running =
                generators.into_iter().map(|generator| scope.spawn(|| Self::run_generator(generator)));
            let running: Vec<_> = running.collect();
            let seen = running
                .into_iter()
                .map(|it| it.join().unwrap_or_else(|_| Err("the load generator panicked".to_owned())));
            Ok(Load::combine(seen.collect::<Result<Vec<_>, _>>()?))
        })
    }

    /// Sends each request once.
    pub(crate) fn send_each_once(&self) -> Result<Load, String> {
        let core = self.setup.cores.for_load(self.placement).into_iter().next().flatten();
        Self::run_generator(self.generator(core.as_deref(), self.connections, &["--once"]))
    }

    /// Runs a generator and parses its result.
    fn run_generator(mut command: Command) -> Result<Load, String> {
        let output = command.output().map_err(|error| format!("cannot start the load generator: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let line = text.lines().rev().find(|line| line.starts_with('{'));
        let result: Value = line.and_then(|line| serde_json::from_str(line).ok()).ok_or_else(|| {
            format!(
                "the load generator failed: {}{}",
                text.trim(),
                String::from_utf8_lossy(&output.stderr).trim()
            )
        })?;
        let number = |name: &str| result.get(name).and_then(Value::as_f64).unwrap_or_default();
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

    /// Writes the script for `wrk`, unless it is there: another generator may be reading it.
    fn script(&self) -> Result<PathBuf, String> {
        static WRITING: Mutex<()> = Mutex::new(());
        let script = self.setup.folder.join("requests.lua");
        let _writing = WRITING.lock();
        if !std::fs::read(&script).is_ok_and(|text| text == SCRIPT.as_bytes()) {
            std::fs::write(&script, SCRIPT)
                .map_err(|error| format!("cannot write {}: {error}", script.display()))?;
        }
        Ok(script)
    }

    fn wrk(&self, script: &Path, core: Option<&str>, connections: usize, seconds: f64) -> Command {
        let mut command = cores::command(Path::new("wrk"), core);
        command.args(["-t1", &format!("-c{connections}"), &format!("-d{}", seconds.ceil() as u64)]);
        command.arg("-s").arg(script).arg(format!("http://{}", self.address)).arg("--").arg(&self.file);
        command
    }

    fn generator(&self, core: Option<&str>, connections: usize, how: &[&str]) -> Command {
        let mut command = cores::command(&self.setup.peers.join("load"), core);
        command.args(["--address", &self.address, "--connections", &connections.to_string()]);
        command.args(how).arg("--requests").arg(&self.file);
        command
    }
}

/// Whether `wrk` is installed. `wrk -v` prints its version and exits with a failure.
fn has_wrk() -> bool {
    Command::new("wrk").arg("-v").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

/// Starts four clients that repeatedly scan a table, because no index serves their filter.
pub(crate) fn start_scans(setup: &Setup, address: &str) -> Result<BackgroundLoad, String> {
    let scan = |number: u32| {
        let query = format!(
            r#"{{"comment":{{"$select":{{"id":true}},"$where":{{"field":"body","op":"ilike","value":"%nothing like that {number}%"}}}}}}"#
        );
        Request::get("/mesh/comment", &query)
    };
    let file = setup.folder.join("scans.requests");
    let written = std::fs::write(&file, file_of((0..4).map(scan)));
    written.map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    let core = setup.cores.for_load(CorePlacement::ServerUnpinned).into_iter().next().flatten();
    let mut command = cores::command(&setup.peers.join("load"), core.as_deref());
    command.args(["--address", address, "--connections", "4", "--seconds", "600", "--requests"]).arg(file);
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let child = child.map_err(|error| format!("cannot start `load`: {error}"))?;
    // Wait until the server has run every query.
    std::thread::sleep(std::time::Duration::from_secs(2));
    Ok(BackgroundLoad(child))
}

/// Background load, which ends on drop.
pub(crate) struct BackgroundLoad(Child);

impl Drop for BackgroundLoad {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combined_latencies_are_those_of_the_slowest_generator() {
        let load = |requests, errors, per_second, p50, p99| Load {
            requests,
            errors,
            per_second,
            p50,
            p99,
            ..Load::default()
        };
        let figures = |loads| {
            let Load { requests, errors, per_second, p50, p99, .. } = Load::combine(loads);
            (requests, errors, per_second, p50, p99)
        };
        let (one, other) = (load(100, 1, 50.0, 7.0, 20.0), load(300, 2, 150.0, 5.0, 90.0));
        assert_eq!(figures(vec![one, other]), (400, 3, 200.0, 7.0, 90.0));
        assert_eq!(figures(vec![one]), (100, 1, 50.0, 7.0, 20.0));
        assert_eq!(figures(Vec::new()), (0, 0, 0.0, 0.0, 0.0));
    }
}
