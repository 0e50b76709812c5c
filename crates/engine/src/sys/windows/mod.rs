//! Windows. So far the synchronous engine only.

pub(crate) mod memory;
pub(crate) mod nvme;
pub(crate) mod program;

pub mod clock;
pub mod facts;
pub mod file;
pub mod names;
pub mod signals;
pub mod thread;
