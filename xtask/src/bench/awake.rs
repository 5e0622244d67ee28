//! Do cores that have nothing to do stay awake? Waking one takes the core that sends to it up to 20 microseconds in a
//! virtual machine, so what a server is seen to cost would depend on when the load sleeps.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::Path;

/// Linux holds all cores to the time for waking up that is written here, for as long as the file is open.
const LATENCY: &str = "/dev/cpu_dma_latency";
/// What puts cores to sleep. Without one they do so by themselves, and no wish for a latency is heard.
const DRIVER: &str = "/sys/devices/system/cpu/cpuidle/current_driver";

/// Keeps idle cores awake until this is dropped, where that can be.
pub(crate) struct Awake(Option<File>);

impl Awake {
    /// Keeps them awake, or says why not and what would help.
    pub(crate) fn hold() -> Self {
        let held = heard(Path::new(DRIVER)).and_then(|()| asked(Path::new(LATENCY)));
        Self(held.inspect_err(|why| eprintln!("note: {why}")).ok())
    }

    pub(crate) fn is_held(&self) -> bool {
        self.0.is_some()
    }
}

fn heard(driver: &Path) -> Result<(), String> {
    let driver = fs::read_to_string(driver).unwrap_or_default();
    match driver.trim() {
        "" | "none" => Err("idle cores may sleep, so figures will vary more; nothing here could keep them \
                            awake, as this system has no driver for idle cores"
            .to_owned()),
        _ => Ok(()),
    }
}

/// Asks for no time at all, which is kept by polling for work.
fn asked(latency: &Path) -> Result<File, String> {
    let open = || {
        let mut file = OpenOptions::new().write(true).open(latency)?;
        file.write_all(&0i32.to_ne_bytes())?;
        Ok(file)
    };
    open().map_err(|error: std::io::Error| {
        format!(
            "idle cores may sleep, so figures will vary more; to keep them awake run this as root, who can \
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
    fn no_latency_is_asked_for_in_four_bytes() {
        let folder = TempDir::new();
        let latency = folder.path().join("latency");
        let why = asked(&latency).unwrap_err();
        assert!(why.contains("as root") && why.contains("latency (") && !latency.exists(), "{why}");
        fs::write(&latency, "").unwrap();
        let held = Awake(asked(&latency).ok());
        assert!(held.is_held());
        assert_eq!(fs::read(&latency).unwrap(), [0; 4]);
    }

    #[test]
    fn without_a_driver_nobody_hears_the_wish() {
        let folder = TempDir::new();
        let driver = |text: &str| heard(Path::new(&folder.write("driver", text)));
        assert_eq!(driver("haltpoll\n"), Ok(()));
        assert!(driver("none\n").is_err() && heard(&folder.path().join("missing")).is_err());
    }
}
