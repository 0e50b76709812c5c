//! Plan to text: the same test in another dialect.
//!
//! A writer says what its dialect can say. The text is read again, and both plans are compared path
//! by path. So nothing is dropped in silence, whatever a writer forgets. Nothing here opens a file
//! or looks at one.

mod compare;
mod diskspd;
mod diskspd_line;
mod fio;
mod native;
mod words;
mod worker_groups;

use std::fmt;

use model::plan::{Dialect, Plan};
use model::results::Equivalent;

pub use diskspd::to_diskspd;
pub use fio::to_fio;
/// What a text is.
pub use model::results::EquivalentForm as Form;
pub use native::to_native;

/// A plan in a dialect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversion {
    /// Whose words these are.
    pub dialect: Dialect,
    /// The text, with a line end at its end.
    pub text: String,
    /// What the text is.
    pub form: Form,
    /// The same in one line, where a job file has only one job.
    pub one_line: Option<String>,
    /// What the dialect cannot say, or says only nearly: the test is another one there.
    pub lost: Vec<Lost>,
    /// What the dialect does in its own way whatever is said: the test is the same, its details are
    /// not.
    pub differs: Vec<Lost>,
}

/// One thing that did not come across.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The job it belongs to; absent if it is the whole test.
    pub job: Option<String>,
    /// What, in the dialect that it was written in.
    pub what: String,
    /// What the other dialect has instead, or that it has nothing.
    pub why: String,
}

impl fmt::Display for Lost {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.job {
            Some(job) => write!(out, "job `{job}`: {}; {}", self.what, self.why),
            None => write!(out, "{}; {}", self.what, self.why),
        }
    }
}

/// What a dialect is called in sentences.
fn dialect_name(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Native => "native",
        Dialect::Fio => "fio",
        Dialect::Diskspd => "DiskSpd",
        Dialect::Iometer => "Iometer",
        Dialect::Vdbench => "Vdbench",
    }
}

/// The plan in a dialect.
pub fn to(dialect: Dialect, plan: &Plan) -> Conversion {
    match dialect {
        // Nothing is written as Vdbench.
        Dialect::Native | Dialect::Vdbench => to_native(plan),
        Dialect::Fio => to_fio(plan),
        Dialect::Diskspd => to_diskspd(plan),
        Dialect::Iometer => not_written(dialect),
    }
}

/// A dialect that is read only.
fn not_written(dialect: Dialect) -> Conversion {
    Conversion {
        dialect,
        text: String::new(),
        form: Form::JobFile,
        one_line: None,
        lost: vec![Lost {
            job: None,
            what: "the whole test".into(),
            why: format!("files of {} are read and not written", dialect_name(dialect)),
        }],
        differs: Vec::new(),
    }
}

/// The plan in the other dialects.
pub fn equivalents(plan: &Plan) -> Vec<Conversion> {
    let all = [Dialect::Native, Dialect::Fio, Dialect::Diskspd];
    let others = all.into_iter().filter(|dialect| *dialect != plan.origin.dialect);
    others.map(|dialect| to(dialect, plan)).collect()
}

impl From<Conversion> for Equivalent {
    /// The conversion as results keep it.
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
