//! Linux.

pub(crate) mod aio;
pub(crate) mod ata;
pub(crate) mod mapped;
pub(crate) mod memory;
pub(crate) mod nvme;
pub(crate) mod pipe;
pub(crate) mod program;
pub(crate) mod ring;
pub(crate) mod vectors;

pub mod clock;
pub mod descriptors;
pub mod facts;
pub mod file;
pub mod mpi;
pub mod names;
pub mod native_facts;
pub mod signals;
pub mod terminal;
pub mod thread;
pub mod tree;
