//! Reads that take long: a bounded queue, and threads of low priority to run them on.

mod queue;
mod thread;

pub(crate) use queue::SlowReadQueue;
pub(crate) use thread::{record_processors, run};
