//! Suites: judges several workloads by their requirements and formats the sign-off page.

use analysis::policies::Workload;
use analysis::requirement::{self, Clause, Metric};
use analysis::verdict::{ClauseVerdict, JudgedWorkload, Outcome, SuiteReport, Verdict};
use model::finding::Severity;
use model::plan::SimulatedDevice;
use model::results::Results;
use model::{Bytes, Nanos};

use crate::numbers::format_time;
use crate::verify::{FULL_TIME_SECS, Promise, Verification, VerifyError};

/// The worst of several outcomes: FAIL, then INCONCLUSIVE.
pub fn worst(all: impl IntoIterator<Item = Outcome>) -> Outcome {
    let all: Vec<Outcome> = all.into_iter().collect();
    if all.contains(&Outcome::Fail) {
        Outcome::Fail
    } else if all.is_empty() || all.contains(&Outcome::Inconclusive) {
        Outcome::Inconclusive
    } else if all.contains(&Outcome::Pass) {
        Outcome::Pass
    } else {
        Outcome::Consistent
    }
}

/// The measured time of the first job of a run.
pub fn measured_time(results: &Results) -> Option<Nanos> {
    Some(results.steps.first()?.jobs.first()?.measured())
}

/// True if a workload was measured for less than the time of a full test.
pub fn is_short(measured: Nanos) -> bool {
    measured.as_secs() < 0.999 * FULL_TIME_SECS
}

/// Describes for how long the workloads were measured, and where, such as ` on /data`; `None`
/// without any. A workload that an interrupt ended before its measurement does not count.
pub fn describe_times(measured: &[Nanos], region: &str) -> Option<String> {
    let measured = || measured.iter().filter(|time| time.0 > 0);
    let (shortest, longest) = (measured().min()?, measured().max()?);
    let round = |time: &Nanos| format_time((time.as_secs() * 10.0).round() * 1e8);
    let times = match (round(shortest), round(longest)) {
        (shortest, longest) if shortest == longest => shortest,
        (shortest, longest) => format!("{shortest} to {longest}"),
    };
    let comma = if region.is_empty() { "" } else { "," };
    let full = match is_short(*shortest) {
        true => format!("{comma} instead of the {FULL_TIME_SECS:.0} s of a full test"),
        false => String::new(),
    };
    Some(format!("each workload was measured for {times}{comma}{region}{full}"))
}

/// True if the clauses require both a rate and a latency. Such a load must be paced, because beyond
/// its limit any storage makes operations wait.
pub fn is_paced(clauses: &[Clause]) -> bool {
    let rate = |clause: &Clause| matches!(clause.metric, Metric::Iops | Metric::Throughput);
    let latency = |clause: &Clause| matches!(clause.metric, Metric::Mean | Metric::Quantile { .. });
    clauses.iter().any(rate) && clauses.iter().any(latency)
}

/// Properties of a workload that determine its rate and its queue.
#[derive(Clone, Debug)]
pub struct Load {
    /// Mean bytes per operation.
    pub block: Bytes,
    /// Percent of the operations that read.
    pub read_percent: f64,
    /// Operations in flight, if set by the user.
    pub depth: Option<u32>,
    /// Threads, if set by the user.
    pub workers: Option<u32>,
    /// CPUs that workers may use.
    pub cpus: u32,
    /// The device, if it is simulated.
    pub simulated: Option<SimulatedDevice>,
}

/// Paces a workload at the required rate, like `fathom verify`.
///
/// # Errors
/// [`VerifyError`] if the requirement has no rate.
pub fn pacing(clauses: &[Clause], load: Load) -> Result<Verification, VerifyError> {
    let workload = Workload {
        block: load.block,
        random: true,
        read_percent: load.read_percent,
        rate_iops: None,
        concurrency: None,
        duration_secs: 0.0,
        warm_up_secs: 0.0,
    };
    Ok(Verification {
        promise: Promise::from_requirement(clauses.to_vec(), workload, None)?,
        paths: vec![String::new()],
        simulated: load.simulated.into_iter().collect(),
        file_size: None,
        cpus: load.cpus,
        workers: load.workers,
        concurrency: load.depth,
        measured: Nanos(0),
        warm_up: Nanos(0),
        quick: false,
        seed: 1,
        arguments: Vec::new(),
    })
}

/// Formats the table, with a row for each clause of each workload, and the notes below it.
pub fn table(report: &SuiteReport) -> (Vec<String>, Vec<String>) {
    let width = |texts: &mut dyn Iterator<Item = usize>, width_min: usize| texts.max().unwrap_or(0).max(width_min);
    let clauses = || {
        report
            .workloads
            .iter()
            .flat_map(|workload| &workload.verdict)
            .flat_map(|verdict| &verdict.clauses)
    };
    let name = width(
        &mut report.workloads.iter().map(|workload| workload.name.chars().count()),
        8,
    );
    let clause = width(
        &mut clauses().map(|judged| judged.clause.to_string().chars().count()),
        8,
    );
    let mut lines = vec![format!(
        "  {:<name$}  {:<12}  {:<clause$}  measured",
        "workload", "verdict", "required"
    )];
    let mut notes = Vec::new();
    for workload in &report.workloads {
        let words = workload.verdict.as_ref().map(Verdict::describe).unwrap_or_default();
        let judged = workload.verdict.iter().flat_map(|verdict| &verdict.clauses);
        for (number, (judged_clause, (reason, _))) in judged.zip(&words.clauses).enumerate() {
            let called = if number == 0 { &*workload.name } else { "" };
            let row = format!(
                "  {called:<name$}  {:<12}  {:<clause$}  {reason}",
                judged_clause.outcome.word(),
                judged_clause.clause.to_string(),
            );
            lines.push(row);
        }
        if workload.verdict.is_none() {
            let row = format!(
                "  {:<name$}  {:<12}  {}",
                workload.name,
                workload.outcome().word(),
                format_required(&workload.required)
            );
            lines.push(row);
        }
        let below = words.shared.into_iter().chain(workload.reasons());
        notes.extend(below.map(|reason| format!("{}: {reason}.", workload.name)));
    }
    (lines, notes)
}

/// Formats a requirement as the clauses of a verdict are written.
fn format_required(required: &str) -> String {
    let Ok(clauses) = requirement::parse(required) else {
        return required.to_owned();
    };
    let clauses: Vec<String> = clauses.iter().map(Clause::to_string).collect();
    clauses.join(", ")
}

/// The sign-off page in Markdown.
pub fn sign_off(report: &SuiteReport) -> String {
    let mut page = format!("# Sign-off: {}\n\n| | |\n| --- | --- |\n", escape_cell(&report.name));
    let mut fact = |name: &str, value: &str| page += &format!("| {} | {} |\n", escape_cell(name), escape_cell(value));
    fact("Result", report.outcome.word());
    if let Some(objective) = &report.objective {
        fact("To show", objective);
    }
    for (name, value) in &report.environment {
        fact(name, value);
    }
    fact("Began", &report.started);
    fact("Ended", &report.ended);
    let tool = &report.tool;
    fact(
        "Measured by",
        &format!(
            "{} {}, revision {} of its engine",
            tool.name, tool.version, tool.engine_revision
        ),
    );
    page += "\n## Requirements and measurements\n\n| workload | required | measured | 95 % interval | verdict |\n\
             | --- | --- | --- | --- | --- |\n";
    for workload in &report.workloads {
        for clause in workload.verdict.iter().flat_map(|verdict| &verdict.clauses) {
            page += &clause_row(&workload.name, clause);
        }
        if workload.verdict.is_none() {
            page += &format!(
                "| {} | {} | nothing | – | {} |\n",
                escape_cell(&workload.name),
                escape_cell(&workload.required),
                workload.outcome().word()
            );
        }
    }
    page += "\nPASS and FAIL require a sufficiently narrow confidence interval; INCONCLUSIVE is neither.\n";
    for workload in &report.workloads {
        page += &describe_workload(workload);
    }
    page + "\n## Agreed\n\n| for | name | date | signature |\n| --- | --- | --- | --- |\n| the supplier | | | |\n| the customer | | | |\n"
}

fn clause_row(name: &str, judged: &ClauseVerdict) -> String {
    let clause = &judged.clause;
    let show = |value: Option<f64>| value.map_or_else(|| "?".to_owned(), |value| clause.show(value));
    let interval = match judged.interval {
        (None, None) => "–".to_owned(),
        (low, high) => format!("{} to {}", show(low), show(high)),
    };
    format!(
        "| {} | {} | {} | {interval} | {} |\n",
        escape_cell(name),
        escape_cell(&clause.to_string()),
        judged
            .value
            .map_or_else(|| "nothing".to_owned(), |value| clause.show(value)),
        judged.outcome.word()
    )
}

fn describe_workload(workload: &JudgedWorkload) -> String {
    let mut text = format!("\n## {}\n\n", escape_cell(&workload.name));
    let line = |name: &str, value: &str| format!("- {name}: {}\n", escape_cell(value));
    if let Some(objective) = &workload.objective {
        text += &line("to show", objective);
    }
    if let Some(preset) = &workload.preset {
        text += &line("preset", preset);
    }
    text += &line("load", &workload.load);
    let words = workload.verdict.as_ref().map(Verdict::describe).unwrap_or_default();
    let judged = workload.verdict.iter().flat_map(|verdict| &verdict.clauses);
    for (judged, (reason, _)) in judged.zip(&words.clauses) {
        text += &line(judged.outcome.word(), reason);
    }
    for reason in words.shared.into_iter().chain(workload.reasons()) {
        text += &line("as a whole", &reason);
    }
    for finding in workload
        .findings
        .iter()
        .filter(|finding| finding.severity >= Severity::Warning)
    {
        text += &line(&finding.rule, &finding.what);
    }
    text + &format!(
        "\nSettings:\n\n```text\n{}\n```\n",
        workload.settings.trim_end().replace("```", "'''")
    )
}

/// Escapes a text for a table cell or a line of Markdown.
fn escape_cell(text: &str) -> String {
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    // `<` before a letter would start an HTML element.
    let mut safe = String::new();
    let mut letters = one_line.chars().peekable();
    while let Some(letter) = letters.next() {
        let begins_element = letters
            .peek()
            .is_some_and(|next| next.is_alphabetic() || "/!?".contains(*next));
        match letter {
            '|' => safe.push_str("\\|"),
            '<' if begins_element => safe.push_str("&lt;"),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::Search;
    use analysis::requirement;

    #[test]
    fn the_worst_outcome_is_fail_then_inconclusive() {
        use Outcome::{Consistent, Fail, Inconclusive, Pass};
        for (outcomes, expected) in [
            (vec![Pass, Fail, Inconclusive], Fail),
            (vec![Pass, Inconclusive], Inconclusive),
            (vec![Pass, Consistent], Pass),
            (vec![Consistent], Consistent),
            (vec![], Inconclusive),
        ] {
            assert_eq!(worst(outcomes.clone()), expected, "{outcomes:?}");
        }
    }

    #[test]
    fn the_scope_names_the_measured_and_the_full_time() {
        let secs = |seconds: &[u64]| describe_times(&seconds.iter().copied().map(Nanos::secs).collect::<Vec<_>>(), "");
        assert_eq!(
            secs(&[30, 30]).as_deref(),
            Some("each workload was measured for 30 s instead of the 300 s of a full test")
        );
        assert_eq!(
            secs(&[300, 600]).as_deref(),
            Some("each workload was measured for 5 min to 10 min")
        );
        assert_eq!(
            secs(&[0, 2]).as_deref(),
            Some("each workload was measured for 2 s instead of the 300 s of a full test")
        );
        assert_eq!(secs(&[]), None);
        assert_eq!(secs(&[0]), None, "interrupted before any measurement");
    }

    #[test]
    fn requirements_are_written_alike_in_all_rows() {
        assert_eq!(format_required("iops>=2000,p99<=20ms"), "iops >= 2000, p99 <= 20 ms");
        assert_eq!(format_required("unknown"), "unknown");
    }

    fn clauses(text: &str) -> Vec<Clause> {
        requirement::parse(text).unwrap()
    }

    #[test]
    fn a_rate_with_a_latency_is_issued_at_that_rate() {
        assert!(is_paced(&clauses("iops>=4000,p99<=3ms")));
        assert!(is_paced(&clauses("mbps>=200,mean<=3ms")));
        assert!(!is_paced(&clauses("iops>=4000")));
        assert!(!is_paced(&clauses("mean<=20ms")));
    }

    fn load() -> Load {
        Load {
            block: Bytes::kib(64),
            read_percent: 100.0,
            depth: None,
            workers: None,
            cpus: 8,
            simulated: None,
        }
    }

    #[test]
    fn concurrency_matches_verify() {
        let first = |required: &str, load: Load| {
            let verification = pacing(&clauses(required), load).unwrap();
            let attempt = verification.next(&Search::default()).unwrap();
            let issued = verification.issued(&attempt);
            (issued.rate_iops, issued.concurrency)
        };
        assert_eq!(first("iops>=4000,mean<=3ms", load()), (4000.0, 32));
        // 64 MiB per second in blocks of 64 KiB are 1024 operations: 102.4 in flight at 100 ms,
        // plus 4 √102.4.
        assert_eq!(first("mibps>=64,mean<=100ms", load()), (1024.0, 2 * 80));
        let fixed = Load {
            depth: Some(3),
            ..load()
        };
        assert_eq!(first("iops>=4000,mean<=3ms", fixed).1, 3);
        assert!(pacing(&clauses("mean<=3ms"), load()).is_err());
    }

    #[test]
    fn names_are_escaped_in_cells() {
        assert_eq!(escape_cell("a|b\n| c <script> <= 3"), "a\\|b \\| c &lt;script> <= 3");
    }
}
