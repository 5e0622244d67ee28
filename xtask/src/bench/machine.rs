//! The machine: its cores, its disk, and figures of the processes on it.

pub(super) mod cores;
pub(super) mod disk;
pub(super) mod wake_lock;

use std::collections::HashMap;
use std::ffi::OsString;
use std::time::Duration;

/// Returns a figure of `/proc/PID/status` in bytes, such as `VmRSS`.
pub(super) fn memory(process: u32, figure: &str) -> Result<u64, String> {
    let path = format!("/proc/{process}/status");
    let status = std::fs::read_to_string(&path).map_err(|error| format!("cannot read {path}: {error}"))?;
    let mut lines = status.lines().filter_map(|line| line.split_once(':'));
    let value = lines.find(|(name, _)| *name == figure).map(|(_, value)| value);
    let kibibytes = value.and_then(|value| value.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kibibytes.map(|kibibytes| kibibytes << 10).ok_or_else(|| format!("{path} has no {figure}"))
}

/// The processor time of a process.
pub(super) struct CpuTime {
    process: u32,
    /// Nanoseconds of each thread, also of those that have ended since they were last read.
    threads: HashMap<OsString, u64>,
}

impl CpuTime {
    pub(super) fn new(process: u32) -> Self {
        Self { process, threads: HashMap::new() }
    }

    /// Returns the processor time that the process has used, from the scheduler statistics of each thread. Threads that ended
    /// before they were read only count in the statistics of the process, which have a resolution of 10 ms.
    pub(super) fn seconds(&mut self) -> Result<f64, String> {
        let folder = format!("/proc/{}/task", self.process);
        let threads = std::fs::read_dir(&folder).map_err(|error| format!("cannot read {folder}: {error}"))?;
        self.threads.extend(threads.flatten().filter_map(|thread| {
            let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
            Some((thread.file_name(), text.split_whitespace().next()?.parse().ok()?))
        }));
        let nanos: u64 = self.threads.values().sum();
        Ok(cpu_ticks(self.process)?.max(nanos as f64 / 1e9))
    }
}

fn cpu_ticks(process: u32) -> Result<f64, String> {
    let path = format!("/proc/{process}/stat");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("cannot read {path}: {error}"))?;
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |place: usize| fields.get(place).and_then(|text| text.parse::<f64>().ok());
    Ok((ticks(11).unwrap_or_default() + ticks(12).unwrap_or_default()) / 100.0)
}

pub(super) fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// Returns a percentile of sorted durations.
pub(super) fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    sorted.get(sorted.len().saturating_sub(1) * percent / 100).copied().unwrap_or_default()
}
