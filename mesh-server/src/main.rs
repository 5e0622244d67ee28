//! The `mesh-server` command.

mod cli;
mod config;

use std::process::ExitCode;

/// The allocator of musl has one lock for all threads, which would dominate the time of a request.
#[cfg(target_env = "musl")]
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cli::run()
}
