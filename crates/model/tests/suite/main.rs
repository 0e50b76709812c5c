//! Plans, their sequences of operations, and results, through the crate's public interface alone.

#![allow(clippy::unwrap_used, reason = "all of this is test code, including helpers")]

mod diskspd;
mod drive;
mod fio;
mod observation;
mod plan_check;
mod results;
mod sequences;
