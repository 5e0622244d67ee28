//! What time is it, to a few milliseconds? For what is looked at with every request and waits for longer.

use std::sync::OnceLock;
use std::time::Duration;

/// Milliseconds since the first call. On Linux they are those of the system's last tick, for which nothing has to be
/// computed.
pub(crate) fn rough_millis() -> u64 {
    static BEGIN: OnceLock<Duration> = OnceLock::new();

    let now = now();
    let since = now.saturating_sub(*BEGIN.get_or_init(|| now));
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(target_os = "linux")]
fn now() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::MonotonicCoarse);
    Duration::new(now.tv_sec.try_into().unwrap_or(0), now.tv_nsec.try_into().unwrap_or(0))
}

#[cfg(not(target_os = "linux"))]
fn now() -> Duration {
    static BEGIN: OnceLock<std::time::Instant> = OnceLock::new();

    BEGIN.get_or_init(std::time::Instant::now).elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_on() {
        let begin = rough_millis();
        std::thread::sleep(Duration::from_millis(50));
        let took = rough_millis() - begin;
        assert!((30..5_000).contains(&took), "{took} ms");
    }
}
