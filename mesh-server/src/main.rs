//! The `mesh-server` command.

mod cli;
mod config;
mod demo;

use std::process::ExitCode;

/// The allocator of musl has one lock for all threads, which is most of what a request would wait for.
#[cfg(target_env = "musl")]
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cli::run()
}
