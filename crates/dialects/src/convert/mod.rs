//! Plan to text: the same test in another dialect. A writer produces what its dialect can express.
//! The text is then parsed again, and both plans are compared path by path, so that nothing is lost
//! silently. Nothing here opens or examines a file.

mod compare;
mod diskspd;
mod diskspd_line;
mod fio;
mod iometer;
mod native;
mod shares;
mod vdbench;
mod words;
mod worker_groups;

use std::fmt;

use model::plan::{Dialect, Plan, Target, TargetKind};
use model::results::Equivalent;

pub use diskspd::to_diskspd;
pub use fio::to_fio;
pub use iometer::to_iometer;
/// The form of a text.
pub use model::results::EquivalentForm as Form;
pub use native::{NativeJobs, to_native, to_native_jobs};
pub use vdbench::to_vdbench;

/// A plan in a dialect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversion {
    /// The dialect of the text.
    pub dialect: Dialect,
    /// The text, with a line end at its end.
    pub text: String,
    /// The form of the text.
    pub form: Form,
    /// The same in one line, if a job file has only one job.
    pub one_line: Option<String>,
    /// Settings that the dialect cannot express, or only approximates: the test changes.
    pub lost: Vec<Lost>,
    /// Details that the dialect handles differently: the test stays the same.
    pub differs: Vec<Lost>,
}

/// One setting that was not converted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lost {
    /// The job it belongs to; absent if it is the whole test.
    pub job: Option<String>,
    /// The setting, in the original dialect.
    pub what: String,
    /// The other dialect's behaviour.
    pub why: String,
}

impl Conversion {
    fn new(dialect: Dialect, form: Form, text: String, differences: compare::Differences) -> Conversion {
        Conversion {
            dialect,
            text,
            form,
            one_line: None,
            lost: differences.lost,
            differs: differences.differs,
        }
    }
}

impl Lost {
    /// The whole test is lost.
    fn whole_test(why: impl Into<String>) -> Lost {
        Lost {
            job: None,
            what: "the whole test".into(),
            why: why.into(),
        }
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.job {
            Some(job) => write!(out, "job `{job}`: {}; {}", self.what, self.why),
            None => write!(out, "{}; {}", self.what, self.why),
        }
    }
}

/// Name of a dialect in messages.
fn dialect_name(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Native => "native",
        Dialect::Fio => "fio",
        Dialect::Diskspd => "DiskSpd",
        Dialect::Iometer => "Iometer",
        Dialect::Vdbench => "Vdbench",
    }
}

/// Converts a plan to a dialect.
pub fn convert_to(dialect: Dialect, plan: &Plan) -> Conversion {
    let is_tree = |target: &Target| matches!(target.kind, TargetKind::Tree { .. });
    let has_trees = plan.targets.iter().any(is_tree);
    match dialect {
        Dialect::Fio | Dialect::Diskspd | Dialect::Iometer if has_trees => {
            without_writer(dialect, &format!("{} has no trees of files", dialect_name(dialect)))
        }
        Dialect::Vdbench if has_trees => without_writer(
            dialect,
            "fathom reads Vdbench file systems (FSD, FWD) but does not write them",
        ),
        Dialect::Native => to_native(plan),
        Dialect::Fio => to_fio(plan),
        Dialect::Diskspd => to_diskspd(plan),
        Dialect::Vdbench => to_vdbench(plan),
        Dialect::Iometer => to_iometer(plan),
    }
}

/// The result if a dialect has no writer for such a test.
fn without_writer(dialect: Dialect, why: &str) -> Conversion {
    let differences = compare::Differences::whole_test(why);
    Conversion::new(dialect, Form::JobFile, String::new(), differences)
}

/// Converts a plan to the other dialects.
pub fn equivalents(plan: &Plan) -> Vec<Conversion> {
    let dialects = [Dialect::Native, Dialect::Fio, Dialect::Diskspd];
    let others = dialects.into_iter().filter(|dialect| *dialect != plan.origin.dialect);
    let conversions = others.map(|dialect| convert_to(dialect, plan));
    conversions.filter(|conversion| !conversion.text.is_empty()).collect()
}

impl From<Conversion> for Equivalent {
    /// The conversion as stored in results.
    fn from(conversion: Conversion) -> Equivalent {
        let Conversion {
            dialect,
            text,
            form,
            one_line,
            lost,
            differs,
        } = conversion;
        let sentences = |list: Vec<Lost>| list.iter().map(Lost::to_string).collect();
        Equivalent {
            dialect,
            form,
            text,
            one_line,
            lost: sentences(lost),
            differs: sentences(differs),
        }
    }
}
