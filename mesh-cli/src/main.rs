//! The `mesh-server` command.

mod cli;
mod config;

use std::process::ExitCode;

/// musl's allocator has one lock for all threads, which would dominate the time of a request. glibc's allocator keeps the memory
/// that each thread has freed: after large replies, which are built on separate threads, it can hold hundreds of megabytes.
#[cfg(target_os = "linux")]
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cli::run()
}
