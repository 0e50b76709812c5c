//! The program in the place of DiskSpd: command lines in, reports, words and exit codes out, as
//! that tool's users know them.

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
