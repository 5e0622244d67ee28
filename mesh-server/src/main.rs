//! The `mesh-server` command.

mod cli;
mod config;

use std::process::ExitCode;

/// The allocator of musl has one lock for all threads, which would dominate the time of a request. That of glibc keeps what
/// each thread has freed: large answers, which are built on threads of their own, can leave it with hundreds of megabytes.
#[cfg(target_os = "linux")]
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cli::run()
}
