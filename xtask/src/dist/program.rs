//! Inspection of static programs.

use std::path::Path;
use std::process::Command;

/// The type of the entry of an ELF file that names the loader of shared libraries.
const PT_INTERP: u32 = 3;

/// Returns the faults of a program, which must be static and, if it `runs_here`, must start.
pub(super) fn inspect(program: &Path, runs_here: bool) -> Result<Vec<String>, String> {
    let shown = program.display();
    let bytes = std::fs::read(program).map_err(|error| format!("cannot read {shown}: {error}"))?;
    let mut faults = Vec::new();
    match has_loader(&bytes) {
        Some(false) => {}
        Some(true) => faults.push(format!("{shown} needs shared libraries")),
        None => faults.push(format!("{shown} is not a 64-bit ELF program")),
    }
    if !runs_here {
        return Ok(faults);
    }
    let program = std::path::absolute(program).map_err(|error| format!("{shown}: {error}"))?;
    let output = Command::new(&program).arg("--help").env_clear().current_dir("/").output();
    match output {
        Ok(output) if output.status.success() => {}
        Ok(output) => {
            faults.push(format!("{shown} --help: {}", String::from_utf8_lossy(&output.stderr)));
        }
        Err(error) => faults.push(format!("cannot start {shown}: {error}")),
    }
    Ok(faults)
}

/// Returns whether a program names a loader of shared libraries; `None` if it is not a little-endian 64-bit ELF file.
fn has_loader(program: &[u8]) -> Option<bool> {
    if !program.starts_with(&[0x7f, b'E', b'L', b'F', 2, 1]) {
        return None;
    }
    let two = |at: usize| program.get(at..at + 2)?.try_into().ok().map(u16::from_le_bytes).map(usize::from);
    let table = u64::from_le_bytes(program.get(32..40)?.try_into().ok()?);
    let table = program.get(usize::try_from(table).ok()?..)?;
    let (size, count) = (two(54)?, two(56)?);
    let kind = |entry: &[u8]| entry.first_chunk().copied().map(u32::from_le_bytes);
    Some(table.chunks(size.max(1)).take(count).any(|entry| kind(entry) == Some(PT_INTERP)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an ELF file with entries of these types.
    fn program(kinds: &[u32]) -> Vec<u8> {
        let mut bytes = vec![0; 64];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        bytes[32] = 64;
        bytes[54] = 56;
        bytes[56] = u8::try_from(kinds.len()).unwrap();
        for kind in kinds {
            bytes.extend(kind.to_le_bytes());
            bytes.extend([0; 52]);
        }
        bytes
    }

    #[test]
    fn a_program_is_started_wherever_it_is() {
        // Tests run in the folder of their crate.
        let faults = inspect(Path::new("src/main.rs"), true).unwrap();
        assert!(faults.iter().any(|fault| fault.contains("is not a 64-bit ELF program")), "{faults:?}");
        assert!(faults.iter().all(|fault| !fault.contains("No such file")), "{faults:?}");
    }

    #[test]
    fn programs_that_need_shared_libraries_are_recognized() {
        assert_eq!(has_loader(&program(&[6, 3, 1])), Some(true));
        assert_eq!(has_loader(&program(&[6, 1, 2])), Some(false));
        assert_eq!(has_loader(&program(&[])), Some(false));
        assert_eq!(has_loader(b"#!/bin/sh\n"), None);
        assert_eq!(has_loader(&program(&[1])[..40]), None);
    }
}
