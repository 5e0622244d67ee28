//! The machine: its cores, its disk, and figures of the processes on it.

pub(super) mod awake;
pub(super) mod cores;
pub(super) mod disk;

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

pub(super) fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// Returns a percentile of sorted durations.
pub(super) fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    sorted.get(sorted.len().saturating_sub(1) * percent / 100).copied().unwrap_or_default()
}
