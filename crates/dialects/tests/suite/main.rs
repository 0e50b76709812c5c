//! Every dialect by its public interface: read, lowered, written, converted; and the results of
//! other tools.

#![allow(clippy::unwrap_used, reason = "all of this is test code, helpers too")]

mod convert;
mod diskspd;
mod diskspd_profiles;
#[path = "../../../model/tests/suite/drive.rs"]
mod drive;
mod fio;
mod import;
mod iometer;
mod vdbench;
