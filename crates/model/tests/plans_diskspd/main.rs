//! What DiskSpd can say, said as plans: the recorded sequences are reproduced exactly, and combinations that were never
//! recorded follow the same rules.

#![allow(clippy::unwrap_used, reason = "all of this is test code, helpers too")]

#[path = "../drive/mod.rs"]
mod drive;
mod hard;
mod parts;
mod recorded;
mod rules;
