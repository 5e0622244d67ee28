//! Keeps idle cores awake. In a virtual machine, waking a core costs the sending core up to 20 microseconds, so the
//! measured cost of a server would depend on when the load generator sleeps.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::Path;

/// Linux limits the wake-up latency of all cores to the value written here, as long as the file is open.
const LATENCY: &str = "/dev/cpu_dma_latency";
/// The driver that puts cores to sleep. Without a driver, latency requests have no effect.
const DRIVER: &str = "/sys/devices/system/cpu/cpuidle/current_driver";

/// Keeps idle cores awake until it is dropped, if the system supports it.
pub(crate) struct WakeLock(Option<File>);

impl WakeLock {
    /// Keeps cores awake, or prints why that is not possible.
    pub(crate) fn acquire() -> Self {
        let held = check_driver(Path::new(DRIVER)).and_then(|()| request_latency(Path::new(LATENCY)));
        Self(held.inspect_err(|why| eprintln!("note: {why}")).ok())
    }

    pub(crate) fn is_held(&self) -> bool {
        self.0.is_some()
    }
}

fn check_driver(driver: &Path) -> Result<(), String> {
    let driver = fs::read_to_string(driver).unwrap_or_default();
    match driver.trim() {
        "" | "none" => {
            Err("idle cores may sleep, so figures will vary more; this system has no cpuidle driver \
                            that could keep them awake"
                .to_owned())
        }
        _ => Ok(()),
    }
}

/// Requests a latency of zero, which makes idle cores poll for work.
fn request_latency(latency: &Path) -> Result<File, String> {
    let open = || {
        let mut file = OpenOptions::new().write(true).open(latency)?;
        file.write_all(&0i32.to_ne_bytes())?;
        Ok(file)
    };
    open().map_err(|error: std::io::Error| {
        format!(
            "idle cores may sleep, so figures will vary more; to keep them awake, run this as root, which can \
             write {} ({error})",
            latency.display()
        )
    })
}

#[cfg(test)]
mod tests {
    use mesh_tests::TempDir;

    use super::*;

    #[test]
    fn zero_latency_is_requested_in_four_bytes() {
        let folder = TempDir::new();
        let latency = folder.path().join("latency");
        let why = request_latency(&latency).unwrap_err();
        assert!(why.contains("as root") && why.contains("latency (") && !latency.exists(), "{why}");
        fs::write(&latency, "").unwrap();
        let held = WakeLock(request_latency(&latency).ok());
        assert!(held.is_held());
        assert_eq!(fs::read(&latency).unwrap(), [0; 4]);
    }

    #[test]
    fn without_a_driver_the_request_is_refused() {
        let folder = TempDir::new();
        let driver = |text: &str| check_driver(Path::new(&folder.write("driver", text)));
        assert_eq!(driver("haltpoll\n"), Ok(()));
        assert!(driver("none\n").is_err() && check_driver(&folder.path().join("missing")).is_err());
    }
}
