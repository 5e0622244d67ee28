//! Tests that the queue is bounded and that missing entries are reported.

use std::sync::mpsc::{Receiver, Sender, channel};

use std::path::Path;

use super::*;

/// A sink that writes each entry to a channel after it has received a permission.
struct Slow {
    permits: Receiver<bool>,
    written: Sender<AuditEntry>,
}

impl AuditSink for Slow {
    fn write(&mut self, entries: &mut VecDeque<AuditEntry>) -> Result<(), Box<dyn Error + Send + Sync>> {
        while !entries.is_empty() {
            if !self.permits.recv().unwrap_or(false) {
                return Err("the disk is full".into());
            }
            let _ = self.written.send(entries.pop_front().unwrap());
        }
        Ok(())
    }
}

fn slow() -> (AuditLog, Sender<bool>, Receiver<AuditEntry>) {
    let (permit, permits) = channel();
    let (written, entries) = channel();
    (AuditLog::start(Slow { permits, written }).unwrap(), permit, entries)
}

fn entry(bytes: usize) -> AuditEntry {
    AuditEntry { time: String::new(), event: "write", json: "x".repeat(bytes) }
}

#[test]
fn a_sink_that_is_slow_delays_nothing_and_what_is_dropped_is_reported() {
    let (log, permit, entries) = slow();
    for _ in 0..100 {
        log.queue.push(entry(100 << 10));
    }
    let [written, dropped, _] = log.queue.counts();
    assert_eq!(written, 0);
    assert!((10..100).contains(&dropped), "{dropped} do not fit into the queue");
    assert_ne!(log.flush(Duration::from_millis(1)), 0);
    (0..200).for_each(|_| permit.send(true).unwrap());
    let (mut kept, mut reported) = (0, 0);
    // Entries that were dropped while a batch was written are reported after it.
    while kept + reported < 100 {
        let entry = entries.recv().unwrap();
        match entry.event {
            "dropped" => {
                let report: serde_json::Value = serde_json::from_str(&entry.json).unwrap();
                reported += report["count"].as_u64().unwrap();
            }
            _ => kept += 1,
        }
    }
    assert_eq!((kept, reported), (100 - dropped, dropped));
    assert_eq!(log.flush(Duration::from_secs(60)), 0);
    log.queue.push(entry(4 << 10));
    permit.send(true).unwrap();
    assert_eq!(entries.recv().unwrap().json.len(), 4 << 10, "the space is free again");
}

#[test]
fn a_failed_write_is_repeated() {
    let (log, permit, entries) = slow();
    log.queue.push(entry(1));
    log.queue.push(entry(2));
    permit.send(false).unwrap();
    permit.send(true).unwrap();
    permit.send(true).unwrap();
    let lengths: Vec<usize> = (0..2).map(|_| entries.recv().unwrap().json.len()).collect();
    assert_eq!(lengths, [1, 2]);
    assert_eq!(log.flush(Duration::from_secs(60)), 0);
    assert_eq!(log.queue.counts(), [2, 0, 1]);
}

#[test]
fn suppressed_refusals_are_counted() {
    let (log, permit, entries) = slow();
    log.queue.suppress();
    log.queue.suppress();
    permit.send(true).unwrap();
    assert_eq!(log.flush(Duration::from_secs(60)), 0, "they need no other entry");
    assert!(entries.recv().unwrap().json.ends_with(r#""event":"suppressed","count":2}"#));
}

#[test]
fn a_file_is_appended_to_and_replaced_when_it_is_renamed() {
    let folder = mesh_tests::TempDir::new();
    let path = folder.path().join("audit.log");
    let lines = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let write = |file: &mut AuditFile, bytes| {
        let mut entries = VecDeque::from([entry(bytes)]);
        file.write(&mut entries).unwrap();
        assert!(entries.is_empty());
    };
    let mut file = AuditFile::open(&path).unwrap();
    write(&mut file, 1);
    write(&mut file, 2);
    std::fs::rename(&path, folder.path().join("audit.1")).unwrap();
    write(&mut file, 3);
    write(&mut AuditFile::open(&path).unwrap(), 4);
    assert_eq!((lines("audit.1"), lines("audit.log")), ("x\nxx\n".to_owned(), "xxx\nxxxx\n".to_owned()));
    assert!(AuditFile::open(folder.path()).is_err(), "a folder");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let mut file = AuditFile::open(Path::new("/dev/full")).unwrap();
    let mut entries = VecDeque::from([entry(1)]);
    let error = file.write(&mut entries).unwrap_err().to_string();
    assert!(error.starts_with("/dev/full: "), "{error}");
    assert_eq!(entries.len(), 1);
}
