//! What fio can say, said as plans: every recorded sequence that is promised is reproduced exactly, and combinations that
//! were never recorded keep what the rules say.

#![allow(clippy::unwrap_used, reason = "all of this is test code, helpers too")]

#[path = "../drive/mod.rs"]
mod drive;
mod jobs;
mod parts;
mod positions;
mod recorded;
