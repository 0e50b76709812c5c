//! Exit codes.

use std::process::ExitCode;

use analysis::verdict::Outcome;
use model::finding::Severity;
use model::results::Results;

/// The outcome of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Success.
    Done,
    /// Operations failed, a requirement is not met, or there are warnings with `--strict`.
    Failed,
    /// The verdict is INCONCLUSIVE, or the test cannot decide.
    Inconclusive,
    /// The guard refused the test, or the target does not allow it.
    Refused,
    /// The command line is wrong.
    Usage,
    /// An internal error, or a result that could not be written.
    Internal,
    /// Only part was done: a worker or host was lost, a conversion is incomplete, or a warm-up ran
    /// out of time.
    Partial,
    /// A signal ended the run; the report covers the time until then.
    Interrupted(i32),
}

/// The text of `fathom help exit-codes`.
pub const EXIT_CODES: &str = "\
Exit codes:
  0        success; or PASS: every requirement is met
  1        I/O errors, warnings with --strict, contradictory figures; or FAIL:
           a requirement is not met
  2        INCONCLUSIVE: the evidence is not sufficient for PASS or FAIL
  3        refused or impossible: the guard, the target, the plan, a limit of the
           system, a file that cannot be read or created
  4        wrong command line, or a mistake in a job file
  5        internal error, or a result could not be written
  6        partial: a worker or a host was lost, or a conversion lost something
  130/143  interrupted; what was measured is reported";

impl Exit {
    /// Converts to the exit code of the process.
    pub fn code(self) -> ExitCode {
        ExitCode::from(self.number())
    }

    /// The code of a command that a stop request ended.
    pub fn interrupted() -> Exit {
        Exit::Interrupted(engine::sys::signals::stop_signal().unwrap_or(2))
    }

    fn number(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Inconclusive => 2,
            Exit::Refused => 3,
            Exit::Usage => 4,
            Exit::Internal => 5,
            Exit::Partial => 6,
            Exit::Interrupted(signal) => 128u8.saturating_add(signal as u8),
        }
    }

    /// Chooses the code of a verdict: 1 is FAIL, and findings that only weaken a test make it
    /// INCONCLUSIVE. A run that was cut short or not written keeps its own code.
    pub fn from_verdict(results: &Results, outcome: Outcome, strict: bool) -> Exit {
        match (Exit::from_results(results, strict), outcome) {
            (Exit::Done | Exit::Failed, Outcome::Fail) => Exit::Failed,
            (Exit::Done | Exit::Failed, Outcome::Inconclusive | Outcome::Consistent) => Exit::Inconclusive,
            (other, _) => other,
        }
    }

    /// True if a run ended early: it was interrupted, or a worker or host was lost.
    pub fn is_cut_short(results: &Results) -> bool {
        matches!(Exit::from_results(results, false), Exit::Interrupted(_) | Exit::Partial)
    }

    /// Chooses the code of finished results. With `strict`, warnings count as failures.
    pub fn from_results(results: &Results, strict: bool) -> Exit {
        if results.interrupted {
            return Exit::interrupted();
        }
        let has = |rule: &str| results.findings.iter().any(|finding| finding.rule == rule);
        let failures = || results.workers().filter_map(|worker| worker.failure.as_ref());
        // A worker with a system error failed; one without an error is lost.
        let bad = if strict { Severity::Warning } else { Severity::Error };
        if failures().any(|failure| failure.errno.is_none()) || has("HOST-LOST") {
            Exit::Partial
        } else if has("TOTALS-MISMATCH") {
            Exit::Internal
        } else if results.findings.iter().any(|finding| finding.severity >= bad) {
            Exit::Failed
        } else {
            Exit::Done
        }
    }
}
