//! Kills before each step of an upload that changes files: strace ends the server when it enters the n-th system call of a
//! kind, for each n until an upload completes.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use mesh_tests::kit::http;
use mesh_tests::skip;

use super::*;

/// The system calls of an upload and of its transaction that change files, or that others depend on. Counts are those of
/// one thread, so each kind is counted alone: no thread can hide the steps of another.
const CALLS: [&str; 8] = ["openat", "flock", "write", "fsync", "rename", "mkdir", "pwrite64", "unlink"];

/// More system calls of one kind than an upload makes.
const ENOUGH: usize = 60;

/// Starts strace, which ends the server when one of its threads enters this system call for the `nth` time.
fn kill_at(server: &Server, call: &str, nth: usize) -> Option<Child> {
    let mut command = Command::new("strace");
    command.args(["-f", "-o", "/dev/null", "-e", &format!("trace={call}")]);
    command.args(["-e", &format!("inject={call}:signal=KILL:when={nth}")]);
    command.args(["-p", &server.process().to_string()]);
    let Ok(mut tracer) = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn() else {
        skip("strace", "install Debian's strace");
        return None;
    };
    let mut lines = BufReader::new(tracer.stderr.take().unwrap()).lines().map_while(Result::ok);
    let attached = lines.find(|line| line.contains("attached") || line.contains("not permitted"));
    assert!(attached.as_ref().is_some_and(|line| line.contains("attached")), "{attached:?}");
    // The rest is read too, since a full pipe would block the tracer.
    std::thread::spawn(move || lines.count());
    Some(tracer)
}

/// Asserts that the record names a stored file or none, and that nothing else of the upload is visible.
#[track_caller]
fn assert_consistent(files: &Files, bytes: &str, acknowledged: bool, step: &str) {
    assert_eq!(files.pending(), Vec::<String>::new(), "{step}");
    let recorded = files.avatar(7);
    let new = key(bytes);
    assert!(!acknowledged || recorded == json!(new), "{step}: an acknowledged upload is lost");
    if let Some(recorded) = recorded.as_str() {
        let reply = files.get(recorded);
        assert_eq!(reply.status, 200, "{step}: the record names {recorded}");
        assert_eq!(key(&reply.body), recorded, "{step}: the bytes are those of the record");
    }
    if recorded != json!(new) {
        assert_eq!(files.get(&new).status, 404, "{step}: a file without a record is visible");
    }
}

/// Kills the server at each system call of this kind; returns how many there are.
fn kill_at_each(call: &str) -> usize {
    let mut files = Files::open();
    for nth in 1..=ENOUGH {
        let step = format!("{call} {nth}");
        let Some(mut tracer) = kill_at(&files.server, call, nth) else { return 0 };
        let reply = http::send(&files.server.address.to_string(), &avatar(7, step.as_bytes()));
        let acknowledged = reply.is_ok_and(|reply| reply.status == 200);
        let killed = !acknowledged
            || http::send(&files.server.address.to_string(), &Request::new("GET", "/healthz")).is_err();
        let _ = tracer.kill().and_then(|()| tracer.wait());
        files = files.crash();
        assert_consistent(&files, &step, acknowledged, &step);
        if !killed {
            return nth - 1;
        }
        assert_eq!(files.send(&avatar(7, format!("{step} again").as_bytes())).status, 200, "{step}");
    }
    panic!("an upload makes more than {ENOUGH} calls of {call}");
}

#[test]
fn killed_before_each_step() {
    let counts = std::thread::scope(|scope| {
        let counts = CALLS.map(|call| scope.spawn(move || kill_at_each(call)));
        counts.map(|count| count.join().unwrap())
    });
    let found: Vec<_> = CALLS.into_iter().zip(counts).collect();
    if found.iter().all(|(_, count)| *count == 0) {
        // Without strace.
        return;
    }
    println!("killed before each of {found:?}");
    for (call, count) in found {
        assert!(count > 0 || ["unlink", "mkdir"].contains(&call), "no {call}");
    }
}
