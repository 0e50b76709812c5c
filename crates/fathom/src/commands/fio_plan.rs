//! The plan of a fio command line or job file, for `fathom convert`.

use super::source::Source;
use crate::drop_in::fio;
use crate::exit::Exit;
use crate::fault::{Fault, Faults};

/// The plan that fio's words come to.
///
/// # Errors
/// What fio would say of them.
pub fn fio_plan(arguments: &[String]) -> Result<Source, Faults> {
    let read = fio::plan_of(arguments).map_err(|lines| {
        let fault = Fault::new(lines.join("\n")).help("docs/fio.md lists the options and what they take");
        Faults::one(fault, Exit::Usage)
    });
    read.map(|(plan, capped_depths)| Source {
        capped_depths,
        ..Source::from(plan)
    })
}
