//! Plan to text: the same test in the words of another dialect.
//!
//! A writer says what its dialect can say. The text is read again (for fio, the plan that the text
//! stands for is made first and written from), and both plans are compared path by path. So nothing
//! is dropped in silence, whatever a writer forgets. Nothing here opens a file or looks at one.

mod compare;
mod crews;
mod diskspd;
mod diskspd_line;
mod fio;
mod fio_text;
mod fio_text_more;
mod native;
mod words;

use std::fmt;

use model::mix::Mix;
use model::plan::{Dialect, Pacing, Plan, Rate};
use model::results::Equivalent;
use model::{Direction, Nanos, PerDirection};

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
    /// What the dialect does in its own way whatever is said: the test is the same, its details are not.
    pub differs: Vec<Lost>,
}

/// One thing that did not come across.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The job it belongs to; absent if it is the whole test.
    pub job: Option<String>,
    /// What, in the words of the dialect that it was written in.
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
    }
}

/// The schedule of each direction. One for all is divided by the mix.
fn rates_by_direction(pacing: Pacing, mix: &Mix) -> PerDirection<Option<Rate>> {
    match pacing {
        Pacing::Unpaced => PerDirection::default(),
        Pacing::PerDirection { rates } => rates,
        Pacing::Together { rate } => {
            let mut all = PerDirection::default();
            let writes = words::write_share(mix) / 100.0;
            for direction in words::directions(mix) {
                let share = match (mix, direction) {
                    (Mix::Only { .. }, _) => 1.0,
                    (Mix::TrimThenWrite, _) => 0.5,
                    (_, Direction::Write) => writes,
                    _ => 1.0 - writes,
                };
                // Fine enough for any rate, and small enough not to overflow.
                let per_ns = Nanos((rate.per_ns.0 as f64 / share) as u64);
                all[direction] = Some(Rate { per_ns, ..rate });
            }
            all
        }
    }
}

/// The plan in the words of a dialect.
pub fn to(dialect: Dialect, plan: &Plan) -> Conversion {
    match dialect {
        Dialect::Native => to_native(plan),
        Dialect::Fio => to_fio(plan),
        Dialect::Diskspd => to_diskspd(plan),
    }
}

/// The plan in the words of the dialects that it was not written in.
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
