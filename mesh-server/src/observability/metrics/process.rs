//! Metrics of the process under the usual names, read from `/proc`. They exist on Linux only.

use std::fs;

use super::Exposition;

/// Ticks per second of the CPU times in `/proc`. Linux uses this value on all common platforms.
const TICKS: f64 = 100.0;

/// Writes memory, file descriptors, CPU time and threads.
pub(super) fn write(out: &mut Exposition) {
    if let Some(bytes) = resident() {
        out.gauge("process_resident_memory_bytes", "Resident memory.", &[(&[], bytes)]);
    }
    if let Ok(open) = fs::read_dir("/proc/self/fd") {
        out.gauge("process_open_fds", "Open file descriptors.", &[(&[], open.count() as f64)]);
    }
    if let Some(most) = max_descriptors() {
        out.gauge("process_max_fds", "Limit of open file descriptors.", &[(&[], most)]);
    }
    if let Some(seconds) = cpu() {
        out.counter("process_cpu_seconds_total", "User and system CPU time.", &[(&[], seconds)]);
    }
    if let Ok(threads) = fs::read_dir("/proc/self/task") {
        out.gauge("process_threads", "Threads.", &[(&[], threads.count() as f64)]);
    }
}

fn resident() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1_024.0)
}

fn max_descriptors() -> Option<f64> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Returns user plus system time in seconds, the 14th and 15th field. The second field, in parentheses, may contain
/// spaces.
fn cpu() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ').skip(11);
    let (user, system): (f64, f64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some((user + system) / TICKS)
}
