//! The hand-written servers that mesh-server is measured against. Each process serves one workload in one variant, so that
//! a server has only the statements that it needs.

#![allow(clippy::missing_errors_doc)]

pub mod http;
pub mod json;
pub mod postgres;
pub mod sqlite;
mod written;

/// The memory allocator of mesh-server, so that the comparison does not depend on it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// A request to a hand-written server: `/ID`, with a JSON body if it writes.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    pub id: i64,
    pub body: &'a [u8],
}

/// Returns the argument after a flag.
pub fn argument(name: &str) -> Option<String> {
    let mut all = std::env::args();
    all.find(|argument| argument == name)?;
    all.next()
}

/// Returns the arguments `--database`, `--workload` and `--variant`.
pub fn arguments() -> Result<[String; 3], Error> {
    let required = |name| argument(name).ok_or_else(|| format!("the argument {name} is missing"));
    Ok([required("--database")?, required("--workload")?, required("--variant")?])
}
