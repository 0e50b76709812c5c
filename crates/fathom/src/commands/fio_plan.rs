//! The plan of a fio command line or job file, for `fathom convert`.

use model::plan::Plan;

use crate::exit::Exit;
use crate::fault::{Fault, Faults};

/// The plan that fio's words come to. Its jobs are read and not given a meaning yet.
pub fn fio_plan(arguments: &[String]) -> Result<Plan, Faults> {
    let what = format!("`fio {}` cannot be converted yet", arguments.join(" "));
    let fault = Fault::new(what).help("fio is written, and not yet read: convert from diskspd or native");
    Err(Faults::one(fault, Exit::Refused))
}
