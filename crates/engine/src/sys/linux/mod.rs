//! Linux.

pub(crate) mod aio;
pub(crate) mod mapped;
pub(crate) mod memory;
pub(crate) mod nvme;
pub(crate) mod ring;

pub mod clock;
pub mod facts;
pub mod file;
pub mod signals;
pub mod thread;
