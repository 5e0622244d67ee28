//! Stages that every request passes through.

pub(crate) mod admission;
#[cfg(feature = "compression")]
pub(crate) mod compress;
