//! HTML reports: what results and judgements say, as pages. The report crate knows what a page
//! looks like; here it is said what stands on it, since only here runs, verdicts, curves and
//! comparisons come together.

mod explained;
pub mod fio_logs;
mod rounds;
mod sides;
mod suite;
mod sweep;
mod trend;

use analysis::requirement::{Clause, Metric};
use analysis::verdict::{Cause, ClauseVerdict, Outcome, Verdict};
use model::diagnosis::JobDiagnosis;
use model::observation::Observation;
use model::results::Results;
use model::study::{Question, Study};
use report::html::page::{self, Line, Page, Tone};
use report::html::run::{self, Beside, Change};
use study::diagnosis::KnownLimits;

use crate::judged::Judged;

pub use explained::page as explained;
pub use rounds::page as rounds;
pub use sides::{Sides, ab, changes_table, compared, ranking_table};
pub use sweep::{csv as sweep_csv, page as sweep};
pub use trend::{Test, page as trend};

/// The page of a run. `verdict` is the default where nothing was promised.
pub fn run(results: &Results, verdict: page::Verdict) -> Page {
    let has_verdict = !verdict.word.is_empty();
    let beside = Beside {
        verdict,
        diagnoses: diagnoses(results),
        changes: changes(results),
    };
    let mut page = run::page(results, &beside);
    if !has_verdict {
        page.sections.push(page::Section {
            title: "Is it what you were promised?".into(),
            blocks: vec![page::Block::Code {
                title: "Judge this result by a promise: PASS, FAIL or INCONCLUSIVE".into(),
                text: "fathom report RESULT --require 'iops>=4000,p99<=3ms' -o judged.html".into(),
                notes: vec!["RESULT is the file that --save wrote, or history:NUMBER from `fathom history`.".into()],
            }],
            ..page::Section::default()
        });
    }
    page
}

/// The worst verdict of all jobs of a run, for the first screen of its page.
pub fn worst_verdict(judged: &Judged, clauses: &[Clause]) -> page::Verdict {
    let worst = judged.outcome();
    match judged.verdicts().find(|verdict| verdict.outcome == worst) {
        Some(found) => verdict(&promised(clauses), found),
        None => page::Verdict {
            word: worst.word().into(),
            tone: Tone::Unsure,
            sentence: "Not one operation ended in the measured window, so there is nothing to judge.".into(),
            ..page::Verdict::default()
        },
    }
}

/// What limited each job: as it was found with what the user knew of the storage, else as far as
/// the results tell.
fn diagnoses(results: &Results) -> Vec<JobDiagnosis> {
    match results.diagnoses.is_empty() {
        true => study::diagnosis::diagnoses(results, &KnownLimits::default(), None),
        false => results.diagnoses.clone(),
    }
}

fn changes(results: &Results) -> Vec<Change> {
    let mut found = Vec::new();
    for (step, one) in results.steps.iter().enumerate() {
        for job in 0..one.jobs.len() {
            let seen = Observation::from_results(results, step, job);
            let moments = seen.map(|seen| analysis::level_changes(&seen)).unwrap_or_default();
            found.extend(moments.into_iter().map(|moment| Change {
                step,
                job,
                at_secs: moment.at_secs,
                words: format!("{:.0} to {:.0} IOPS", moment.from, moment.to),
            }));
        }
    }
    found
}

/// The page of a study.
pub fn of_study(study: &Study, margin: f64) -> Option<Page> {
    match &study.question {
        Question::Sweep { .. } => {
            let report = study::sweep::Report::from_study(study, None)?;
            Some(sweep(&report, study))
        }
        Question::Ab { .. } => {
            let report = study::ab::Report::from_study(study, margin)?;
            Some(ab(&report, study))
        }
        Question::Suite { workloads } => Some(suite::page(study, workloads)),
    }
}

/// A verdict for the first screen. `promised` is what it is about, in words.
pub fn verdict(promised: &str, verdict: &Verdict) -> page::Verdict {
    let reasons = verdict
        .reasons
        .iter()
        .map(|reason| report::diagnosis::sentence(&reason.what));
    let notes = verdict.notes.iter().map(|note| report::diagnosis::sentence(note));
    page::Verdict {
        word: verdict.outcome.word().into(),
        tone: tone(verdict.outcome),
        sentence: format!("{} {promised}", meaning(verdict.outcome)),
        clauses: verdict.clauses.iter().map(clause).collect(),
        notes: reasons.chain(notes).chain(brackets(verdict)).collect(),
    }
}

/// What stands in brackets behind figures, where any does.
fn brackets(verdict: &Verdict) -> Option<String> {
    let any = verdict.clauses.iter().any(|clause| clause.interval != (None, None));
    any.then(|| "In parentheses: the 95 % confidence interval.".to_owned())
}

/// What the word means, for those who read it for the first time.
fn meaning(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "The storage keeps",
        Outcome::Fail => "The storage does not keep",
        Outcome::Inconclusive => "This test cannot tell whether the storage keeps",
        Outcome::Consistent => "What was seen does not contradict",
    }
}

fn tone(outcome: Outcome) -> Tone {
    match outcome {
        Outcome::Pass => Tone::Good,
        Outcome::Fail => Tone::Bad,
        Outcome::Inconclusive => Tone::Unsure,
        Outcome::Consistent => Tone::Plain,
    }
}

fn clause(one: &ClauseVerdict) -> page::Clause {
    let cause = one
        .cause
        .map(|cause: Cause| format!(" ({})", cause_words(cause)))
        .unwrap_or_default();
    page::Clause {
        promised: one.clause.to_string(),
        word: one.outcome.word().into(),
        tone: tone(one.outcome),
        sentence: match &one.action {
            Some(action) => format!(
                "{}{cause} What to do: {action}.",
                report::diagnosis::sentence(&one.reason)
            ),
            None => format!("{}{cause}", report::diagnosis::sentence(&one.reason)),
        },
        line: match one.clause.metric {
            Metric::Iops => Some(Line::Iops(one.clause.target)),
            Metric::Throughput => Some(Line::Throughput(one.clause.target)),
            Metric::Mean | Metric::Quantile { .. } => Some(Line::Latency(one.clause.target)),
            Metric::Availability => None,
        },
    }
}

fn cause_words(cause: Cause) -> &'static str {
    match cause {
        Cause::Generator => "the load was not issued as promised",
        Cause::Others => "other programs had a part in it",
        Cause::Stall => "one stall decides it",
        Cause::Uncapped => "more was asked for than is promised",
        Cause::Load => "another load than the promised one",
        Cause::Mix => "another mix of reads and writes",
        Cause::Spread => "the figure varies too much",
        Cause::Samples => "too few operations",
        Cause::Absent => "the source does not have the figure",
        Cause::Burst => "credits may have carried it",
        Cause::Invalid => "something is wrong with the test",
        Cause::Interrupted => "it was stopped early",
    }
}

/// Clauses in a line.
pub fn promised(clauses: &[Clause]) -> String {
    let words: Vec<String> = clauses.iter().map(ToString::to_string).collect();
    format!("what was asked for: {}.", words.join(", "))
}
