//! Reports of a verdict: the document for programs, the text, the page, and JUnit.

use ::report::html::page::mark_title;
use ::report::junit::{Case, CaseOutcome, Suite};
use ::report::{formats, html, words};
use analysis::requirement::Metric;
use analysis::verdict::{self, ClauseVerdict, FORMAT_VERSION, Outcome, Verdict, VerificationKind, VerificationReport};
use jiff::Zoned;
use model::finding::{Finding, Severity};
use model::fleet::Fleet;
use model::results::Results;
use study::verify::{self, Paragraph, TestLength};

use super::args::VerifyRequest;
use super::attempts::LastAttempt;
use crate::judged::case_outcome;
use crate::pages;
use crate::screen;

/// Builds the document of a verdict, for programs.
pub(super) fn build_document(
    request: &VerifyRequest,
    results: &Results,
    verdict: Verdict,
    last: &LastAttempt,
) -> VerificationReport {
    let mut issued = request.verification.issued(&last.attempt);
    if let Some(file) = &request.file {
        issued.workers = file.workers();
    }
    VerificationReport {
        format_version: FORMAT_VERSION,
        kind: VerificationKind::Verdict,
        tool: results.tool.clone(),
        target: request.verification.paths.join(", "),
        promise: verdict::Promise {
            policy: request.policy.clone(),
            requirement: request.requirement.clone(),
            expired: request.expired.clone(),
        },
        issued,
        file_load: request.file.as_ref().map(|file| file.jobs.clone()),
        depth_search: last.search.depth_search().cloned(),
        issued_by: results.fleet.as_ref().map(Fleet::describe),
        machine: request.machine.clone(),
        verdict,
        diagnoses: results.diagnoses.clone(),
        findings: results.findings.clone(),
    }
}

/// Builds the page: the verdict first, then all measurements.
pub(super) fn build_page(request: &VerifyRequest, results: &Results, verified: &VerificationReport) -> String {
    let clauses = pages::describe_promise(&request.verification.promise.clauses);
    let promised = match (&request.policy, &request.requirement) {
        (Some(policy), None) => format!(
            "what {} promises: {}",
            policy.title,
            clauses.trim_start_matches("the requirement: ")
        ),
        _ => clauses,
    };
    let length = TestLength::from_verified(verified);
    let mut shown = pages::verdict(&promised, &verified.verdict, Some(length));
    let expired = verified.promise.expired.iter();
    shown
        .notes
        .extend(expired.map(|note| ::report::diagnosis::format_sentence(note)));
    // The wrong tier questions the verdict, so it is the first thing to settle.
    if let Some(mismatch) = request.find_tier_mismatch(results) {
        let note = ::report::diagnosis::format_sentence(&mismatch.describe());
        shown.notes.retain(|shown| *shown != note);
        shown.actions.insert(0, mismatch.state_size());
        shown.alternatives = mismatch.alternatives();
    }
    let mut page = pages::run(results, shown);
    // A relative path such as `.` means nothing to other readers.
    let path = std::path::absolute(&verified.target).ok().filter(|path| path.exists());
    let target = path.map_or_else(|| verified.target.clone(), |path| path.display().to_string());
    // A reader wonders about an odd number.
    let is_chosen = !results
        .plan
        .origin
        .arguments
        .iter()
        .any(|word| word.starts_with("--depth"))
        && request
            .policy
            .as_ref()
            .is_none_or(|policy| policy.workload.concurrency.is_none());
    if is_chosen {
        let depth = format!("(QD {})", verified.issued.concurrency);
        let explained = format!("(QD {}, chosen for the required rate)", verified.issued.concurrency);
        page.about
            .iter_mut()
            .for_each(|line| *line = line.replacen(&depth, &explained, 1));
    }
    let title = match &request.policy {
        Some(policy) => {
            let tier = policy.tier.as_ref().map_or(String::new(), |tier| format!(" {tier}"));
            format!("{}{tier} on {target}", policy.title)
        }
        None => target,
    };
    page.title = mark_title(words::describe_simulation(&results.plan), &title);
    html::render_file(&page)
}

/// Formats the verdict, its caveats and the diagnosis. With `strict` it mentions that warnings
/// decide the exit code.
pub(super) fn format_text(verified: &VerificationReport, strict: bool) -> String {
    let mut text = String::new();
    for paragraph in verify::format_report(verified) {
        text += &match paragraph {
            Paragraph::Line(line) => format!("{line}\n"),
            Paragraph::Sentences(sentences) => screen::wrap_paragraph(&sentences),
        };
    }
    text += &format_caveats(verified, strict);
    for diagnosis in &verified.diagnoses {
        text += "\nWhat limits the load\n";
        text += &screen::write_to_string(|out| ::report::diagnosis::write_diagnosis(&diagnosis.diagnosis, out));
    }
    text
}

/// Formats warnings and errors of the self-checks, and their effect on the exit code.
fn format_caveats(verified: &VerificationReport, strict: bool) -> String {
    // The diagnosis below covers these findings in more detail.
    let is_diagnosed = |finding: &Finding| !verified.diagnoses.is_empty() && finding.rule.starts_with("D-");
    let is_rate_missed = |judged: &ClauseVerdict| {
        judged.outcome == Outcome::Fail && matches!(judged.clause.metric, Metric::Iops | Metric::Throughput)
    };
    let is_stated = verified.verdict.clauses.iter().any(is_rate_missed);
    let findings = verified.findings.iter();
    let shown: Vec<Finding> = findings
        .filter(|finding| finding.severity >= Severity::Warning && !is_diagnosed(finding))
        .filter(|finding| !(is_stated && finding.rule == "RATE-NOT-KEPT"))
        .cloned()
        .collect();
    if shown.is_empty() {
        return String::new();
    }
    let mut text = "\nCaveats\n".to_owned() + &screen::write_to_string(|out| formats::write_findings(&shown, out));
    if strict && verified.verdict.outcome == Outcome::Pass {
        text += "With --strict these findings cause exit code 1.\n";
    }
    text
}

pub(super) fn junit_suite(verified: &VerificationReport, started: &Zoned, text: &str) -> Suite {
    let case = |judged: &ClauseVerdict| Case {
        name: judged.clause.to_string(),
        outcome: case_outcome(judged.outcome),
        message: judged.reason.clone(),
    };
    let policy = verified.promise.policy.as_ref().map(|policy| policy.id.clone());
    let failed = verified.verdict.reasons.iter().map(|reason| Case {
        name: "the test as a whole".into(),
        outcome: match reason.cause {
            None => CaseOutcome::Failed,
            Some(_) => CaseOutcome::Undecided,
        },
        message: reason.what.clone(),
    });
    let issued = &verified.issued;
    let hosts = verified
        .issued_by
        .iter()
        .map(|words| ("issued_by".into(), words.clone()));
    Suite {
        name: format!("{} on {}", policy.as_deref().unwrap_or("requirement"), verified.target),
        started: started.strftime("%Y-%m-%dT%H:%M:%S").to_string(),
        seconds: (issued.warm_up_ns + issued.measured_ns).as_secs(),
        cases: verified.verdict.clauses.iter().map(case).chain(failed).collect(),
        properties: [
            ("verdict".into(), verified.verdict.outcome.word().into()),
            ("rate_iops".into(), format!("{}", issued.rate_iops)),
            ("block_bytes".into(), issued.block.0.to_string()),
            ("read_percent".into(), format!("{}", issued.read_percent)),
            ("concurrency".into(), issued.concurrency.to_string()),
            ("fathom".into(), verified.tool.version.clone()),
        ]
        .into_iter()
        .chain(hosts)
        .collect(),
        output: text.to_owned(),
    }
}
