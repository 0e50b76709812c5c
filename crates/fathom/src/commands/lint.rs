//! `fathom lint`.

use std::path::Path;

use ::run::targets::TargetError;
use ::run::targets::guard::Decision;
use analysis::lint::{self, Intent, Purpose, Test};
use analysis::policies::Burst;
use analysis::requirement::{self, Clause, Metric};
use engine::probe::{self, System};
use model::Nanos;
use model::environment::Environment;
use model::finding::{Finding, Severity};
use model::plan::{Dialect, Plan, Target, TargetKind};
use report::junit::{self, Case, CaseOutcome, Suite};
use report::{formats, sarif};
use study::diagnosis::KnownLimits;

use super::source::{self, SourceArgs};
use super::study_outputs::{Contents, Form, StudyOutputs};
use super::warm_up;
use crate::catalogue::{self, CatalogueArgs};
use crate::drop_in::diskspd::failures::CREATE_HELP;
use crate::exit::Exit;
use crate::fault::{Fault, Faults};
use crate::limits::{self, NamedLimitArgs};
use crate::options::parse_value;
use crate::outputs::OutputSpec;
use crate::permissions;
use crate::preflight;
use crate::screen;
use crate::session::Session;
use crate::silenced::{self, SilenceArgs};

/// Check a test for mistakes before it runs
#[derive(clap::Args)]
#[command(
    long_about = "Checks a test before it runs: reports what would make its figures misleading, \
        and what to do. It runs nothing and writes only the reports of --out; it opens files for \
        reading to find holes. docs/lint.md lists the rules.\n\nSOURCE is flags of `fathom run`, the \
        name of a dialect and its arguments (`diskspd -b8K …`, `fio job.fio`), a job \
        file (.toml, .fio), a DiskSpd profile (.xml), a parameter file of Vdbench (.parm), a \
        configuration of Iometer (.icf), or a saved result, which contains its plan.",
    after_help = "Examples:\n  fathom lint nightly.toml\n  fathom lint --target /data --size 10g --depth 32\n  fathom lint --intent most-throughput diskspd -b8K -d10 -t4 -o32 -c10G test.dat\n  \
        fathom lint --watch 10s --strict fio job.fio\n  fathom lint --policy aws/gp3 --set size=500GiB --vm m5.large diskspd -b64K -c1G test.dat\n  fathom lint --out text,sarif=lint.sarif,junit=lint.xml nightly.toml"
)]
pub struct Args {
    /// Purpose of the test, which some rules depend on
    #[arg(long, value_name = "PURPOSE", value_parser = Intent::NAMED.map(|(name, _)| name))]
    intent: Option<String>,
    /// Operations per second promised for the storage
    #[arg(long, value_name = "NUMBER")]
    promised_iops: Option<f64>,
    /// Latency promised for the storage, such as 3ms
    #[arg(long, value_name = "TIME")]
    promised_latency: Option<String>,
    /// Policy that promises rate and latency; its limits count too
    #[arg(long, value_name = "NAME|FILE")]
    policy: Option<String>,
    /// An input of the policy, such as size=500GiB
    #[arg(long, value_name = "NAME=VALUE", requires = "policy")]
    set: Vec<String>,
    #[command(flatten)]
    catalogue: CatalogueArgs,
    /// Cache size in front of the disks, for --intent cached-reads
    #[arg(long, value_name = "SIZE")]
    host_cache: Option<String>,
    /// Accept filling a file system to more than 80 %
    #[arg(long)]
    allow_full: bool,
    /// Watch the devices for other I/O first, such as 10s
    #[arg(long, value_name = "TIME")]
    watch: Option<String>,
    /// One JSON document for programs
    #[arg(long, conflicts_with = "out")]
    json: bool,
    /// Reports to write, each to stdout or a file: text, json, sarif, junit [default: text]
    #[arg(long, value_name = "FORMAT[=FILE],…")]
    out: Vec<String>,
    #[command(flatten)]
    silence: SilenceArgs,
    /// Exit with 1 if there are warnings
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    source: SourceArgs,
    // The last, because its heading would apply to others.
    #[command(flatten)]
    limits: NamedLimitArgs,
}

/// Formats of the report.
const FORMS: &[Form] = &[Form::Text, Form::Json, Form::Sarif, Form::Junit];

/// Checks the test and prints findings; the exit code follows the severity.
pub fn execute(session: &Session, args: &Args) -> Result<Exit, Faults> {
    let spec = OutputSpec {
        out: args.out.clone(),
        report: None,
    };
    let outputs = StudyOutputs::new(&spec, None, FORMS)?;
    let silenced = silenced::from_args(&args.silence)?;
    let watch = parse_value::<Nanos>("watch", &args.watch, "for example --watch 10s")?;
    let source = source::read(session, &args.source.source)?;
    let plan = source.plan;
    outputs.check_files(&plan.targets)?;
    let purpose = Purpose {
        warmed: warm_up::load_warmed(&plan),
        capped_depths: source.capped_depths,
        ..read_purpose(args, source.known, &plan)?
    };
    let environment = Environment {
        before: watch.and_then(|time| preflight::watch(session, &plan, time, false)),
        ..survey_environment(&plan)
    };
    let mut findings = source.findings;
    let unmapped: Vec<String> = findings.iter().filter_map(|finding| finding.at.clone()).collect();
    findings.extend(list_refusals(&plan, &unmapped));
    findings.extend(lint::filter_silenced(
        lint::lint(&Test {
            plan: &plan,
            environment: &environment,
            purpose: &purpose,
        }),
        &silenced,
    ));
    if args.json {
        screen::put_json(&findings)?;
    } else {
        outputs.finish(&Contents {
            text: format_findings(&findings),
            json: &findings,
            other_forms: &[
                (Form::Sarif, &|| {
                    sarif::document(&findings, find_checked_file(&args.source.source))
                }),
                (Form::Junit, &|| junit::document(&junit_suite(&findings, args.strict))),
            ],
            page: None,
            study: None,
        })?;
    }
    let gravest = findings.iter().map(|finding| finding.severity).max();
    Ok(match gravest {
        Some(Severity::Error) => Exit::Refused,
        Some(Severity::Warning) if args.strict => Exit::Failed,
        _ => Exit::Done,
    })
}

/// Finds the file that was checked; `None` if flags describe the test.
fn find_checked_file(words: &[String]) -> Option<&str> {
    let is_file = |word: &&String| Path::new(word).is_file();
    words.iter().rev().find(is_file).map(String::as_str)
}

/// Builds a JUnit suite with a case for each finding. Findings that do not fail the command are
/// skipped cases.
fn junit_suite(findings: &[Finding], is_strict: bool) -> Suite {
    let case = |finding: &Finding| Case {
        name: std::iter::once(&*finding.rule)
            .chain(finding.at.as_deref())
            .collect::<Vec<_>>()
            .join(" "),
        outcome: match finding.severity {
            Severity::Error => CaseOutcome::Failed,
            Severity::Warning if is_strict => CaseOutcome::Failed,
            Severity::Warning | Severity::Note => CaseOutcome::Skipped,
        },
        message: [Some(&finding.what), finding.why.as_ref(), finding.help.as_ref()]
            .into_iter()
            .flatten()
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join("; "),
    };
    let none = findings.is_empty().then(|| Case {
        name: "lint".into(),
        outcome: CaseOutcome::Passed,
        message: "No findings.".into(),
    });
    Suite {
        name: "fathom lint".into(),
        started: jiff::Zoned::now().strftime("%Y-%m-%dT%H:%M:%S").to_string(),
        cases: findings.iter().map(case).chain(none).collect(),
        output: format_findings(findings),
        ..Suite::default()
    }
}

/// Formats the findings and the number of each severity.
pub(super) fn format_findings(findings: &[Finding]) -> String {
    if findings.is_empty() {
        return "No findings.\n".into();
    }
    let count = |severity: Severity| findings.iter().filter(|finding| finding.severity == severity).count();
    let [errors, warnings, notes] = [Severity::Error, Severity::Warning, Severity::Note].map(count);
    let some = |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    let sums = format!(
        "\n{}, {}, {}\n",
        some(errors, "error"),
        some(warnings, "warning"),
        some(notes, "note")
    );
    screen::write_to_string(|out| formats::write_findings(findings, out)) + &sums
}

/// Reads the purpose from the flags, and from the limits that the source itself names.
fn read_purpose(args: &Args, mut known: KnownLimits, plan: &Plan) -> Result<Purpose, Faults> {
    let named = args.intent.as_deref();
    let intent = named.and_then(|name| Intent::NAMED.iter().find(|(intent_name, _)| *intent_name == name));
    let stated = limits::from_named(&args.limits, &args.catalogue)?;
    known.layers.extend(stated.layers);
    known.bursts.extend(stated.bursts);
    let mut clauses = Vec::new();
    if let Some(name) = &args.policy {
        let inputs = catalogue::parse_pairs(&args.set)?;
        let resolved = catalogue::resolve_policy(&args.catalogue, name, &inputs)?;
        let burst = |burst: &Burst| limits::known_burst(resolved.title.clone(), *burst);
        known.bursts.extend(resolved.bursts.iter().map(burst));
        known.layers.extend(resolved.layers);
        clauses = resolved.clauses;
    }
    let promised = build_purpose(&known, plan, &clauses);
    limits::refuse_unused(&promised.layers, &limits::list_jobs(plan))?;
    Ok(Purpose {
        intent: intent.map(|(_, intent)| *intent),
        promised_iops: args.promised_iops.or(promised.promised_iops),
        promised_latency_ns: parse_promised_latency(args)?.or(promised.promised_latency_ns),
        host_cache: parse_value("host-cache", &args.host_cache, "for example --host-cache 200GiB")?,
        allow_full: args.allow_full,
        ..promised
    })
}

/// Builds the purpose of a test from known limits, the limits of its plan, and promised clauses.
pub(super) fn build_purpose(known: &KnownLimits, plan: &Plan, clauses: &[Clause]) -> Purpose {
    let target = |is_wanted: fn(Metric) -> bool| {
        let mut total = clauses.iter().filter(|clause| clause.direction.is_none());
        Some(total.find(|clause| is_wanted(clause.metric))?.target)
    };
    let bursts = known
        .bursts
        .iter()
        .map(|burst| limits::policy_burst(burst).lasts_secs());
    Purpose {
        promised_iops: target(|metric| metric == Metric::Iops),
        promised_latency_ns: target(|metric| matches!(metric, Metric::Mean | Metric::Quantile { .. })),
        layers: known.layers.iter().chain(&plan.limits).cloned().collect(),
        burst_ns: bursts.max_by(f64::total_cmp).map(|secs| Nanos((secs * 1e9) as u64)),
        ..Purpose::default()
    }
}

fn parse_promised_latency(args: &Args) -> Result<Option<f64>, Faults> {
    let Some(text) = &args.promised_latency else {
        return Ok(None);
    };
    let fault = |(why, _)| {
        Fault::new(why)
            .at(format!("--promised-latency {text}"))
            .help("write 3ms or 500us")
    };
    requirement::parse_time(text)
        .map(Some)
        .map_err(|wrong| Faults::usage(fault(wrong)))
}

/// Rules that do not apply to runs of a study, which are short by design.
pub(super) const SHORT_BY_DESIGN: [&str; 1] = ["SHORT-RUN"];

/// Lints a plan before a dry run.
pub(super) fn lint_plan(plan: &Plan, silenced: &[String], purpose: &Purpose) -> Vec<Finding> {
    let test = Test {
        plan,
        environment: &survey_environment(plan),
        purpose: &Purpose {
            warmed: warm_up::load_warmed(plan),
            ..purpose.clone()
        },
    };
    lint::filter_silenced(lint::lint(&test), silenced)
}

/// Collects the current facts about machine and targets.
fn survey_environment(plan: &Plan) -> Environment {
    Environment {
        targets: ::run::targets::survey(plan),
        ..probe::environment(&System::live(), model::environment::Clock::default())
    }
}

/// Converts refusals of the guard or of the targets to findings, except those of the targets in
/// `known_paths`.
fn list_refusals(plan: &Plan, known_paths: &[String]) -> Vec<Finding> {
    let permissions = permissions::from_env();
    let judged = match ::run::targets::judge(plan, &permissions) {
        Ok(judged) => judged,
        Err(errors) => {
            // Another rule covers directories.
            let is_covered = |error: &&TargetError| {
                matches!(error, TargetError::Directory(_))
                    || is_created_anchor(plan, error)
                    || is_about(known_paths, error)
            };
            let others = errors.iter().filter(|error| !is_covered(error));
            let finding = |error: &TargetError| {
                let finding = Finding::new("TARGET", Severity::Error, error.to_string());
                let is_missing = matches!(error, TargetError::NoSize(_) | TargetError::NoParent(_));
                Finding {
                    help: match plan.origin.dialect {
                        Dialect::Iometer if is_missing => Some(source::MAP_HELP.into()),
                        Dialect::Diskspd if is_missing => Some(CREATE_HELP.into()),
                        _ => error.help(),
                    },
                    ..finding
                }
            };
            return others.map(finding).collect();
        }
    };
    let refusals = judged.iter().filter_map(|target| match &target.decision {
        Decision::Refused(refusal) => Some((target.examined.path.display().to_string(), refusal)),
        Decision::Allowed { .. } => None,
    });
    let findings = refusals.flat_map(|(path, refusal)| {
        let finding = move |reason: &::run::targets::guard::Reason| {
            let finding = Finding::new(reason.rule(), Severity::Error, reason.to_string()).at(&*path);
            finding.why("the test would be refused").help(&*refusal.help)
        };
        refusal.reasons.iter().map(finding).collect::<Vec<_>>()
    });
    findings.collect()
}

/// True if a missing target, or one without room, is among `known_paths`.
fn is_about(known_paths: &[String], error: &TargetError) -> bool {
    match error {
        TargetError::NoParent(path)
        | TargetError::NoSize(path)
        | TargetError::Missing { path, .. }
        | TargetError::WouldFillFileSystem { path, .. } => known_paths.contains(path),
        _ => false,
    }
}

/// True if Vdbench itself creates the missing path: an anchor, but not its parents.
fn is_created_anchor(plan: &Plan, error: &TargetError) -> bool {
    let TargetError::Missing { path, .. } = error else {
        return false;
    };
    let is_tree = |target: &Target| target.path == *path && matches!(target.kind, TargetKind::Tree { .. });
    plan.origin.dialect == Dialect::Vdbench
        && plan.targets.iter().any(is_tree)
        && Path::new(path).parent().is_some_and(Path::is_dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_of_one_is_singular() {
        let note = || Finding::new("CLOCK", Severity::Note, "the clock is coarse");
        assert!(format_findings(&[note()]).ends_with("\n0 errors, 0 warnings, 1 note\n"));
        assert!(format_findings(&[note(), note()]).ends_with("\n0 errors, 0 warnings, 2 notes\n"));
    }
}
