//! Every dialect through its public interface: parsed, lowered, written, converted; and the results
//! of other tools.

#![allow(clippy::unwrap_used, reason = "all of this is test code, including helpers")]

mod convert;
mod diskspd;
mod diskspd_profiles;
#[path = "../../../model/tests/suite/drive.rs"]
mod drive;
mod fio;
mod import;
mod iometer;
mod pages;
mod vdbench;
