//! Fathom as a drop-in replacement for DiskSpd. The same command lines must give the same reports,
//! messages and exit codes.

#[cfg(target_os = "linux")]
mod endings;
mod legacy;
mod masks;
mod offsets;
mod profiles;
mod readers;
mod runs;
mod seeds;
pub mod support;
