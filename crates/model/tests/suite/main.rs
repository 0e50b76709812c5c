//! Plans, their sequences of operations, and results, by the public interface of the crate alone.

#![allow(clippy::unwrap_used, reason = "all of this is test code, helpers too")]

mod diskspd;
mod drive;
mod fio;
mod observation;
mod plan_check;
mod results;
mod sequences;
