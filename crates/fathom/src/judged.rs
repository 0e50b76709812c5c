//! Judges results by the requirement of a preset or of a suite's workload.

use analysis::compare;
use analysis::requirement::{self, Clause};
use analysis::verdict::{self, ClauseVerdict, Context, JudgedJob, Outcome, Verdict, judge as judge_one};
use dialects::native::Document;
use model::finding::{Finding, Severity};
use model::observation::Observation;
use model::results::Results;
use report::junit::CaseOutcome;
use report::{FORMATS, Summary};
use study::suite::worst;
use study::verify::{self, PARTLY_PROVEN, Paragraph, TestLength, verdict_word};

use crate::exit::Exit;
use crate::fault::{Fault, Faults};
use crate::screen;

/// The verdicts of all jobs.
pub struct JudgedJobs {
    jobs: Vec<JobVerdict>,
}

struct JobVerdict {
    name: String,
    /// Absent if nothing was measured.
    verdict: Option<Verdict>,
    length: TestLength,
}

/// Reads the clauses of the `[preset]` table of a document; empty if there are none.
///
/// # Errors
/// [`Faults`] about every invalid clause.
pub fn read_clauses(document: &Document) -> Result<Vec<Clause>, Faults> {
    match document.preset_info.as_ref().and_then(|info| info.judged_by.as_ref()) {
        Some(text) => parse_clauses(text, "judged-by"),
        None => Ok(Vec::new()),
    }
}

/// Parses clauses; `at` is the place of the text, for faults.
///
/// # Errors
/// [`Faults`] about every invalid clause.
pub fn parse_clauses(text: &str, at: &str) -> Result<Vec<Clause>, Faults> {
    requirement::parse(text).map_err(|errors| {
        let fault = |error: requirement::RequirementError| Fault::new(error.to_string()).at(at).help(error.help);
        Faults::many(errors.into_iter().map(fault).collect(), Exit::Usage)
    })
}

/// Explains why there is nothing to judge.
pub fn nothing_to_judge(results: &Results) -> Fault {
    let is_failure = |finding: &&Finding| finding.severity == Severity::Error && finding.rule != "NOTHING-MEASURED";
    match results.findings.iter().find(is_failure) {
        Some(Finding { what, at, help, .. }) => Fault {
            what: format!("no operation succeeded, so there is nothing to judge: {what}"),
            at: at.clone(),
            help: help.clone(),
            ..Fault::default()
        },
        None => Fault::new("no operation completed in the measured window, so there is nothing to judge")
            .help("measure for longer, or use `fathom run` to find out what the target waits for"),
    }
}

pub fn judge(results: &Results, clauses: &[Clause]) -> JudgedJobs {
    let mut jobs = Vec::new();
    for (step, step_results) in results.steps.iter().enumerate() {
        for (number, job) in step_results.jobs.iter().enumerate() {
            let findings = results.findings.iter();
            let findings: Vec<Finding> = findings
                .filter(|finding| compare::concerns_job(results, &job.name, finding))
                .cloned()
                .collect();
            let context = Context {
                intervals: &job.histograms,
                findings: &findings,
                interrupted: results.interrupted,
                enforced: &verdict::enforced_limits(results, step, number),
                ..Context::default()
            };
            let observation = Observation::from_results(results, step, number);
            let verdict = observation.map(|observation| judge_one(clauses, &observation, &context));
            let length = TestLength {
                measured_ns: job.measured(),
                full_secs: verify::FULL_TIME_SECS,
            };
            jobs.push(JobVerdict {
                name: job.name.clone(),
                verdict,
                length,
            });
        }
    }
    JudgedJobs { jobs }
}

impl JudgedJobs {
    /// Returns the worst verdict of all jobs; a job without measurements is INCONCLUSIVE.
    pub fn outcome(&self) -> Outcome {
        let outcome_or_inconclusive = |job: &JobVerdict| {
            job.verdict
                .as_ref()
                .map_or(Outcome::Inconclusive, |verdict| verdict.outcome)
        };
        worst(self.jobs.iter().map(outcome_or_inconclusive))
    }

    /// Returns the word of the worst verdict.
    pub fn word(&self) -> &'static str {
        let mut verdicts = self.jobs.iter().filter_map(|job| job.verdict.as_ref());
        match self.outcome() {
            Outcome::Pass if verdicts.any(|verdict| verdict_word(verdict) == PARTLY_PROVEN) => PARTLY_PROVEN,
            outcome => outcome.word(),
        }
    }

    /// Formats the summary and the verdict as JSON.
    pub fn json(&self, results: &Results, clauses: &[Clause]) -> String {
        let job = |job: &JobVerdict| JudgedJob {
            name: job.name.clone(),
            verdict: job.verdict.clone(),
        };
        let judged = verdict::JudgedResults {
            required: clauses.iter().map(ToString::to_string).collect(),
            outcome: self.outcome(),
            jobs: self.jobs.iter().map(job).collect(),
        };
        let document = archive::JudgedSummary {
            summary: Summary::from_results(results),
            judged: Some(judged),
        };
        screen::json_text(&document)
    }

    /// Returns the verdict on the only job; `None` if nothing was measured.
    pub fn into_only_verdict(self) -> Option<Verdict> {
        self.jobs.into_iter().next().and_then(|job| job.verdict)
    }

    /// Lists the jobs with measurements: name, verdict and length of the test.
    pub fn verdicts(&self) -> impl Iterator<Item = (&str, &Verdict, TestLength)> {
        self.jobs
            .iter()
            .filter_map(|job| Some((&*job.name, job.verdict.as_ref()?, job.length)))
    }

    /// Formats the verdict as text, to follow the report.
    pub fn text(&self, clauses: &[Clause]) -> String {
        let wanted: Vec<String> = clauses.iter().map(ToString::to_string).collect();
        let mut text = format!("\nJudged by {}\n", wanted.join(", "));
        for JobVerdict { name, verdict, .. } in &self.jobs {
            if self.jobs.len() > 1 {
                text += &format!("{name}\n");
            }
            let Some(verdict) = verdict else {
                text += "  no operation succeeded in the measured window, so there is nothing to judge\n";
                continue;
            };
            for paragraph in verify::format_clauses(verdict) {
                text += &match paragraph {
                    Paragraph::Line(line) => line + "\n",
                    Paragraph::Sentences(sentences) => screen::wrap_paragraph(&sentences),
                };
            }
            for reason in &verdict.reasons {
                text += &screen::wrap_paragraph(&format!("{}.", reason.what));
            }
            for note in &verdict.notes {
                text += &screen::wrap_paragraph(&format!("Note: {note}."));
            }
        }
        let clauses = self.verdicts().flat_map(|(_, verdict, _)| verdict.clauses.clone());
        let clauses: Vec<ClauseVerdict> = clauses.collect();
        let shortest = self.verdicts().map(|(_, _, length)| length);
        let shortest = shortest.min_by_key(|length| length.measured_ns);
        text + &format!("{}\n", verify::headline(self.outcome(), &clauses, (shortest, None)))
    }
}

pub fn render_report(results: &Results) -> String {
    screen::write_to_string(|out| (FORMATS[0].write)(results, out))
}

/// Converts an outcome to that of a JUnit case.
pub fn case_outcome(outcome: Outcome) -> CaseOutcome {
    match outcome {
        Outcome::Pass => CaseOutcome::Passed,
        Outcome::Fail => CaseOutcome::Failed,
        Outcome::Inconclusive => CaseOutcome::Undecided,
        Outcome::Consistent => CaseOutcome::Skipped,
    }
}
