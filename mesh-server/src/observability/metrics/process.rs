//! What does the process take of its machine? Told by Linux; elsewhere nothing is said.

use std::fs;

use super::Exposition;

/// Ticks in a second of the times that the system tells of a process; Linux has told all programs this number for
/// long.
const TICKS: f64 = 100.0;

/// Memory, descriptors, time, under the names that all programs use.
pub(super) fn write(out: &mut Exposition) {
    if let Some(bytes) = resident() {
        out.gauge("process_resident_memory_bytes", "Memory in use.", &[(&[], bytes)]);
    }
    if let Ok(open) = fs::read_dir("/proc/self/fd") {
        out.gauge("process_open_fds", "Descriptors open.", &[(&[], open.count() as f64)]);
    }
    if let Some(most) = most_descriptors() {
        out.gauge("process_max_fds", "Descriptors that may be open.", &[(&[], most)]);
    }
    if let Some(seconds) = cpu() {
        out.counter("process_cpu_seconds_total", "Time on processors.", &[(&[], seconds)]);
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

fn most_descriptors() -> Option<f64> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// User and system time are the 14th and the 15th word, of which the second may have blanks in its parentheses.
fn cpu() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut words = rest.split(' ').skip(11);
    let (user, system): (f64, f64) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    Some((user + system) / TICKS)
}
