//! The first screen of the page of a run: title, scope of the verdict, bottleneck, and the most
//! important figures.

use std::collections::BTreeSet;

use model::environment::TargetFacts;
use model::finding::{Finding, OTHER_PROGRAMS, Severity};
use model::plan::{FileOperationKind, Phases, lasting_path, temporary_file_directory};
use model::results::Results;
use model::{Nanos, shell_word};

use super::commands::{complete_commands, job_file, load, load_options, permit_overwrite};
use super::repetition::{name_of_repetition, repeat_command};
use super::{PageContext, fleet, format_percentile, jobs, quality};
use crate::html::page::{Clause, Lead, Line, Tile, Tone, Verdict, sort_by_severity};
use crate::numbers::{duration_with_unit, format_rough, format_time, local_time};
use crate::summary::{FileFigures, JobSummary, LatencyFigures, PercentileSupport, Summary};
use crate::words;

/// Begins the note on what a verdict applies to, which is never folded.
pub(crate) const SCOPE: &str = "Scope of this verdict";
/// Begins the line with the user's name for a test.
pub const NAME_LABEL: &str = "Test ";
/// Number of different loads in the title of several jobs.
const MAX_TITLE_LOADS: usize = 3;
/// A rate with a wider confidence interval does not predict the next run.
pub(super) const UNSTEADY_PERCENT: f64 = 10.0;

/// Adds the measured time and region to the notes of a verdict, which applies to nothing else.
pub(super) fn add_scope(verdict: &Verdict, summary: &Summary) -> Verdict {
    let mut verdict = verdict.clone();
    if summary.jobs.is_empty() || verdict.word.is_empty() {
        return verdict;
    }
    // A PASS must not hide a stall.
    let stalls = quality::describe_stalls(&summary.findings).filter(|_| verdict.tone.is_pass());
    verdict
        .word
        .extend(stalls.iter().flat_map(|stalls| [", ", stalls.as_str()]));
    verdict.notes.push(describe_scope(SCOPE, summary, &summary.jobs));
    let warnings = describe_warnings(&quality::without_explained(&summary.findings), &verdict);
    verdict.notes.extend(warnings);
    verdict
}

/// States the measured time and region, and what was not tested.
pub(super) fn describe_scope(topic: &str, summary: &Summary, jobs: &[JobSummary]) -> String {
    let region = describe_region(summary);
    let times = || jobs.iter().map(|job| job.measured_ns);
    let [shortest, longest] = [times().min(), times().max()].map(|time| duration_with_unit(time.unwrap_or(Nanos(0))));
    let measured = match shortest == longest {
        true => longest,
        false => format!("{shortest} to {longest}"),
    };
    let has = |part: &dyn Fn(&JobSummary) -> bool| jobs.iter().any(part);
    let is_fsync = |file: &FileFigures| file.operation == FileOperationKind::Fsync;
    let commits = has(&|job| job.flush.is_some() || job.files.iter().any(is_fsync));
    let untested = match (has(&|job| job.read.is_some()), has(&|job| job.write.is_some()), commits) {
        (true, false, _) => " Only reads were tested: it says nothing about writes or commits (fsync).",
        (false, true, false) => " Only writes were tested: it says nothing about reads or commits (fsync).",
        (_, true, false) => " Commits (fsync) were not tested.",
        _ => "",
    };
    format!("{topic}: {measured}{region}.{untested}")
}

/// Describes the measured part of the only target: ` on 1 GiB of /mnt/data, 2 % of sda (50 GiB)`.
/// Of several targets their number and size, if they have the same size on one host.
pub fn describe_region(summary: &Summary) -> String {
    match &summary.targets[..] {
        [target] => format!(
            " on {} of {}{}",
            target.size,
            match lasting_path(&target.path) {
                "." => "the working directory",
                path => path,
            },
            share_of_disk(target)
        ),
        [first, rest @ ..] if summary.hosts.len() < 2 && rest.iter().all(|target| target.size == first.size) => {
            format!(" on {} targets of {} each", rest.len() + 1, first.size)
        }
        _ => String::new(),
    }
}

/// Why figures with a warning of these rules are unreliable. The first two are harmless for a PASS:
/// such load slows a test.
pub(super) const MEANINGS: [(&str, &str); 5] = [
    ("OTHER-LOAD", "other programs used the disk"),
    ("D-CPU", "other programs kept the processors busy"),
    ("BUSY-DISK", "other programs used the disk before the test"),
    ("PROGRAM-STOPPED", "this program or its machine was stopped"),
    ("NOT-STEADY", "the storage had not settled"),
];

/// Why the figures are unreliable: `other programs used the disk and kept the processors busy`;
/// `None` without such a warning.
pub(super) fn unreliable_because(findings: &[Finding]) -> Option<String> {
    let find_finding = |rule: &str| {
        let is_grave = |finding: &&Finding| finding.rule == rule && finding.severity == Severity::Warning;
        findings.iter().find(is_grave)
    };
    let meanings: Vec<&str> = MEANINGS
        .iter()
        .filter(|(rule, _)| {
            find_finding(rule).is_some()
                && match *rule {
                    "BUSY-DISK" => find_finding("OTHER-LOAD").is_none(),
                    // Processors that come and go change the rate too.
                    "NOT-STEADY" => find_finding("D-CPU").is_none(),
                    _ => true,
                }
        })
        .map(|(_, meaning)| *meaning)
        .collect();
    let (first, others) = meanings.split_first()?;
    let others = others
        .iter()
        .map(|meaning| meaning.trim_start_matches("other programs "));
    Some(std::iter::once(*first).chain(others).collect::<Vec<_>>().join(" and "))
}

/// States what the warnings of checks mean for a verdict. Other programs do not weaken a PASS, and
/// a FAIL states a missed rate itself.
pub(super) fn describe_warnings(findings: &[Finding], verdict: &Verdict) -> Option<String> {
    let is_stated = |finding: &Finding| match verdict.tone {
        Tone::Good | Tone::Partly => OTHER_PROGRAMS.contains(&&*finding.rule),
        Tone::Bad => finding.rule == "RATE-NOT-KEPT" || quality::is_fall(finding),
        Tone::Unsure | Tone::Plain => false,
    };
    let mut grave = sort_by_severity(findings);
    grave.retain(|finding| finding.severity != Severity::Note && finding.rule != "SHORT-RUN" && !is_stated(finding));
    if !verdict.tone.is_pass()
        && let Some(why) = unreliable_because(findings)
        && grave.first()?.severity < Severity::Error
    {
        return Some(match verdict.tone {
            Tone::Bad => {
                format!("Not only the storage determined the distance from the limit: {why} (see Findings).")
            }
            _ => format!("Do not rely on these figures: {why} (see Findings)."),
        });
    }
    // Details follow a semicolon, unless it is part of the names of jobs in brackets.
    let what = &grave.first()?.what;
    let is_whole = |start: &str| start.matches('(').count() == start.matches(')').count();
    let first = what.split(';').next().filter(|start| is_whole(start)).unwrap_or(what);
    // Without its place, a reader does not know which host.
    let host = grave[0].at.as_deref().zip(first.strip_prefix("this host"));
    let first = host.map_or_else(|| first.to_owned(), |(host, rest)| format!("{host}{rest}"));
    Some(match grave.len() {
        1 => format!("Warning: {first}."),
        count => format!("{count} warnings under Findings; the first: {first}."),
    })
}

/// What to do after a result without requirements: repeat it if it is not reliable, and judge it.
pub(super) fn advise_judgement(
    quality: &Verdict,
    context: &PageContext,
    results: &Results,
    summary: &Summary,
) -> Option<Lead> {
    let arguments = &results.plan.origin.arguments;
    let saved = saved_file(arguments);
    let has_stalls = summary.findings.iter().any(|finding| finding.rule == "STALLS");
    let is_repeated = (has_stalls || quality.tone == Tone::Unsure) && !arguments.is_empty();
    let mut advice = Vec::new();
    let mut how = String::new();
    let mut file = saved.map(str::to_owned);
    if is_repeated {
        let is_run = arguments.get(1).is_some_and(|word| word == "run");
        let phases = &results.plan.steps.first()?.jobs.first()?.phases;
        let mut options = match &summary.jobs[..] {
            [job] if is_run => options_against(context, &summary.findings, job, phases),
            // Each of several jobs has a time of its own.
            _ => Vec::new(),
        };
        let lengthens = |name: &str| options.iter().any(|(option, _)| option == name);
        how = match (lengthens("--time"), lengthens("--warm-up")) {
            (true, true) => " for longer, with a longer warm-up".into(),
            (true, false) => " for longer".into(),
            (false, true) => " with a longer warm-up".into(),
            (false, false) => String::new(),
        };
        if saved.is_none() && is_run {
            options.push(("--save".to_owned(), REPETITION.to_owned()));
            file = Some(REPETITION.to_owned());
        }
        file = saved.map(name_of_repetition).or(file);
        advice.push(format!("`{}`", repeat_command(arguments, &options)));
    }
    let judge = judge_command(results, summary, sustained_iops(context), file.as_deref());
    let then = if advice.is_empty() { "" } else { "then " };
    let judge = judge.map(|command| format!("{then}{}", advise_judging(&command)));
    advice.extend(judge.map(|judging| match (&summary.targets[..], &summary.jobs[..]) {
        // Without a saved result, the load is repeated.
        ([target], [job]) if file.is_none() && writes_existing_file(job, target) => {
            permit_overwrite(&judging, &target.path)
        }
        _ => judging,
    }));
    if advice.is_empty() {
        return None;
    }
    let sentence = match (quality.tone, &context.other_programs) {
        _ if quality.word == quality::STALLED => format!("Repeat the test{how}, to see whether stalls recur."),
        (Tone::Unsure, Some(others)) => format!("Stop {others}, and repeat the test{how}."),
        (Tone::Unsure, None) if !how.is_empty() => format!("Repeat the test{how}."),
        (Tone::Unsure, None) => "Repeat the test; measure for longer if the rate still varies.".into(),
        _ => String::new(),
    };
    Some(Lead::new("What next", sentence, advice))
}

/// True if a load writes to a file or a device that the user named.
fn writes_existing_file(job: &JobSummary, target: &TargetFacts) -> bool {
    (job.write.is_some() || job.trim.is_some())
        && target.kind != "simulated"
        && temporary_file_directory(&target.path).is_none()
}

/// The saved result of a repetition, if the test itself saved none.
const REPETITION: &str = "again.fathom";

/// Options of `fathom run` without which these warnings would appear again.
const OPTIONS_AGAINST: [(&str, &str, u64); 4] = [
    ("STALLS", "--time", 300),
    ("SHORT-RUN", "--time", 60),
    ("NOT-STEADY", "--warm-up", 30),
    ("NOT-STEADY", "--time", 60),
];

/// The warm-up after which a rate that fell stays at its lower level.
fn warm_up_beyond_fall(context: &PageContext) -> Option<Nanos> {
    let diagnoses = context.diagnoses.iter();
    let mut advice = diagnoses.flat_map(|job| &job.diagnosis.advice);
    let seconds = advice.find_map(|advice| advice.split_once(" s of warm-up")?.0.rsplit(' ').next())?;
    seconds.parse().ok().map(Nanos::secs)
}

/// Options that lengthen a test against its warnings.
fn options_against(
    context: &PageContext,
    findings: &[Finding],
    job: &JobSummary,
    phases: &Phases,
) -> Vec<(String, String)> {
    let mut options: Vec<(String, String)> = Vec::new();
    if let Some(warm_up) = warm_up_beyond_fall(context).filter(|warm_up| phases.warm_up_ns < *warm_up) {
        options.push(("--warm-up".to_owned(), format!("{:.0}s", warm_up.as_secs())));
    }
    for (rule, name, seconds) in OPTIONS_AGAINST {
        let is_found = findings.iter().any(|finding| finding.rule == rule);
        let current = match name {
            "--warm-up" => phases.warm_up_ns,
            _ => job.measured_ns,
        };
        if is_found && current < Nanos::secs(seconds) && !options.iter().any(|(option_name, _)| option_name == name) {
            options.push((name.to_owned(), format!("{seconds}s")));
        }
    }
    options
}

/// Advises a command whose limits come from a result itself, so they are only examples.
pub fn advise_judging(command: &str) -> String {
    format!("judge it by your own limits, for example: `{command}`")
}

/// The part of its rate that a result must reach again, and how much longer its operations may
/// take: limits within its own confidence interval would be neither met nor missed.
const SUGGESTED_RATE_SHARE: f64 = 0.9;
const SUGGESTED_TIME_FACTOR: f64 = 1.2;

/// Creates a requirement that a result meets with some room, as a command-line argument. `times`
/// are names and nanoseconds.
pub fn requirement_from_result(iops: f64, times: impl IntoIterator<Item = (String, f64)>) -> String {
    // Rounded to two digits towards the side that still passes.
    let two_digits = |value: f64, round: fn(f64) -> f64| {
        let unit = 10f64.powf(value.max(1.0).log10().floor() - 1.0);
        round(value / unit) * unit
    };
    let mut clauses = vec![format!(
        "iops>={:.0}",
        two_digits(SUGGESTED_RATE_SHARE * iops, f64::floor)
    )];
    let time = |us: f64| match us {
        us if us < 1000.0 => format!("{us:.0}us"),
        us => format!("{}ms", us / 1000.0),
    };
    let times = times.into_iter();
    clauses.extend(times.map(|(name, ns)| {
        format!(
            "{name}<={}",
            time(two_digits(SUGGESTED_TIME_FACTOR * ns / 1e3, f64::ceil))
        )
    }));
    shell_word(&clauses.join(",")).into_owned()
}

/// The file to which a command saved its result.
fn saved_file(arguments: &[String]) -> Option<&str> {
    arguments.iter().enumerate().find_map(|(at, word)| match word.as_str() {
        "--save" => arguments.get(at + 1).map(String::as_str),
        word => word.strip_prefix("--save="),
    })
}

/// The rate of each job that remained after a fall, in operations per second. The mean of both
/// levels cannot be reached again.
fn sustained_iops(context: &PageContext) -> impl Iterator<Item = f64> {
    let evidence = context.diagnoses.iter().flat_map(|job| &job.diagnosis.evidence);
    let levels = evidence.filter(|figure| figure.what == "level after");
    levels.map(|figure| figure.value)
}

/// A command that judges the saved result, or else repeats the load, against limits that this
/// result meets, and that the sustained rates meet if they are known.
fn judge_command(
    results: &Results,
    summary: &Summary,
    sustained_iops: impl Iterator<Item = f64>,
    saved: Option<&str>,
) -> Option<String> {
    // Limits apply to every job.
    let rates = summary.jobs.iter().map(|job| job.total.iops).chain(sustained_iops);
    let p99 = summary.jobs.iter().filter_map(|job| job.total.latency.percentile(99.0));
    let p99 = p99.filter(|p99| p99.support != PercentileSupport::None);
    // A stall sets the p99, and no storage should be allowed one.
    let has_stalls = summary.findings.iter().any(|finding| finding.rule == "STALLS");
    let p99 = p99
        .filter(|_| !has_stalls)
        .max_by_key(|p99| p99.ns)
        .map(|p99| ("p99".to_owned(), p99.ns as f64));
    let require = requirement_from_result(rates.min_by(f64::total_cmp)?, p99);
    Some(match saved {
        Some(file) => format!("fathom report {} --require {require} -o page.html", shell_word(file)),
        // `verify` has another name for the size of a file.
        None => {
            let [job] = &summary.jobs[..] else { return None };
            let load = match is_simulated(summary) {
                // A simulated device exists only in a job file.
                true => format!("{}{}", job_file(results)?, load_options(results, job)?),
                false => load(results, summary)?.replacen(" --size ", " --file-size ", 1),
            };
            format!("fathom verify {load} --require {require} --report page.html")
        }
    })
}

/// The targets of a run: a path, or their number.
pub(super) fn list_targets(summary: &Summary) -> String {
    match &summary.targets[..] {
        [] => String::new(),
        [target] => lasting_path(&target.path).to_owned(),
        several => format!("{} targets", several.len()),
    }
}

/// The share of its disk that a target covers; empty if it is the whole disk, or unknown.
fn share_of_disk(target: &TargetFacts) -> String {
    let Some(device) = target.devices.first().filter(|device| device.size.0 > 0) else {
        return String::new();
    };
    match 100.0 * target.size.0 as f64 / device.size.0 as f64 {
        whole if whole > 99.0 => String::new(),
        share if share < 0.005 => format!(", less than 0.01 % of {} ({})", device.name, device.size),
        share => format!(
            ", {share:.*} % of {} ({})",
            if share < 1.0 { 2 } else { 0 },
            device.name,
            device.size
        ),
    }
}

/// Findings of the checks, with commands ready to paste.
pub(super) fn complete_findings(results: &Results, summary: &Summary, verdict: &Verdict) -> Vec<Finding> {
    let mut findings = jobs::merge_findings(&quality::without_explained(&summary.findings), &summary.jobs);
    // The clause about the rate states it.
    let is_rate = |clause: &Clause| matches!(clause.line, Some(Line::Iops(_) | Line::Throughput(_)));
    if verdict
        .clauses
        .iter()
        .any(|clause| clause.tone == Tone::Bad && is_rate(clause))
    {
        findings.retain(|finding| finding.rule != "RATE-NOT-KEPT");
    }
    for help in findings.iter_mut().filter_map(|finding| finding.help.as_mut()) {
        *help = complete_commands(help, results, summary);
    }
    findings
}

/// Loads and target of a test; the name of a test without jobs.
pub(super) fn run_title(summary: &Summary) -> String {
    let target = match &summary.targets[..] {
        [] => String::new(),
        [target] => format!(
            " — {}{}",
            lasting_path(&target.path),
            target
                .devices
                .first()
                .map_or(String::new(), |device| format!(" on {}", device.name))
        ),
        several => format!(" — {} targets", several.len()),
    };
    let load = |job: &JobSummary| format!("{}, QD {}", job.operations.trim_end_matches(", direct"), job.depth);
    match &summary.jobs[..] {
        [] => summary.name.clone(),
        [job] => format!("{}{target}", load(job)),
        jobs => format!("{}{target}", title_of_loads(jobs.iter().map(load))),
    }
}

/// The title of several loads: `2 jobs: 4 KiB random reads, QD 32; 64 KiB sequential writes, QD 4`.
pub fn title_of_loads(loads: impl IntoIterator<Item = String>) -> String {
    let loads: Vec<String> = loads.into_iter().collect();
    let mut shown: Vec<&str> = Vec::new();
    for load in &loads {
        if !shown.contains(&load.as_str()) {
            shown.push(load);
        }
    }
    let more = match shown.len().saturating_sub(MAX_TITLE_LOADS) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    shown.truncate(MAX_TITLE_LOADS);
    format!("{} jobs: {}{more}", loads.len(), shown.join("; "))
}

pub(super) fn describe_run(results: &Results, summary: &Summary) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(
        summary
            .objective
            .iter()
            .map(|objective| format!("Objective: {objective}")),
    );
    let mut targets: Vec<String> = summary.targets.iter().map(words::describe_target).collect();
    // Targets on several hosts may have the same names.
    if results.fleet.is_some() {
        let mut shown = BTreeSet::new();
        targets.retain(|words| shown.insert(words.clone()));
    }
    // The name of a temporary file is meaningless.
    for target in &summary.targets {
        let location = lasting_path(&target.path);
        let file = format!("{}: {} of {}", target.path, target.kind, target.size);
        let shown = format!("test file of {} in {location}", target.size);
        if location != target.path {
            targets
                .iter_mut()
                .for_each(|words| *words = words.replacen(&file, &shown, 1));
        }
    }
    lines.extend(targets.iter().take(4).cloned());
    if let [job] = &summary.jobs[..] {
        let measured = duration_with_unit(job.measured_ns);
        lines.push(format!("{}; {}; measured for {measured}", job.operations, job.load));
    }
    if summary.jobs.len() > 1 {
        lines.extend(jobs::describe_loads(&summary.jobs));
    }
    if targets.len() > 4 {
        lines.push(format!("and {} more targets", targets.len() - 4));
    }
    // The title of a test without jobs is its name.
    let is_named = !summary.jobs.is_empty() && !words::DEFAULT_NAMES.contains(&summary.name.as_str());
    lines.extend(is_named.then(|| format!("{NAME_LABEL}“{}”", summary.name)));
    let machine = summary.hosts.first().filter(|host| !host.name.is_empty());
    let machine = machine.map(|host| format!(" on {} ({}, {} CPUs)", host.name, host.system, host.cpus));
    lines.push(format!(
        "{}{}",
        local_time(&summary.started),
        machine.unwrap_or_default()
    ));
    lines.extend(fleet::describe_fleet(results, summary));
    if summary.interrupted {
        lines.push("It was interrupted; the figures cover the time until then.".into());
    }
    lines
}

pub(super) fn lead_entries(context: &PageContext, results: &Results, summary: &Summary) -> Vec<Lead> {
    let mut lead = jobs::limits_lead(&context.diagnoses, &summary.findings);
    for advice in lead.iter_mut().map(|limit| &mut limit.advice) {
        // "What next" names the programs to stop.
        advice.retain(|advice| context.other_programs.is_none() || !advice.starts_with("stop the programs"));
        advice
            .iter_mut()
            .for_each(|advice| *advice = complete_commands(advice, results, summary));
    }
    if summary.jobs.iter().all(|job| job.total.operations == 0) {
        lead.push(Lead {
            topic: "Nothing was measured".into(),
            sentence: "No operation completed in the measured window.".into(),
            advice: Vec::new(),
        });
    }
    lead
}

pub(super) fn is_simulated(summary: &Summary) -> bool {
    summary.targets.iter().any(|target| target.kind == "simulated")
}

pub(super) fn summary_tiles(summary: &Summary, verdict: &Verdict) -> Vec<Tile> {
    let measured: Vec<&JobSummary> = summary.jobs.iter().filter(|job| job.total.operations > 0).collect();
    let [job] = measured[..] else {
        return jobs::tiles(&measured);
    };
    let total = &job.total;
    // The figure of a queue that grows depends on the length of the test.
    let is_queued = summary.findings.iter().any(|finding| finding.rule == "RATE-NOT-KEPT");
    // The clause about the rate gives a narrower interval: pacing makes up for slow times.
    let is_kept = total.service.is_some() && !is_queued && !verdict.word.is_empty();
    let is_unsteady = job
        .iops_confidence_percent
        .is_some_and(|percent| percent > UNSTEADY_PERCENT);
    let mut tiles = vec![
        Tile {
            name: "Operations per second".into(),
            value: format!(
                "{}{} IOPS",
                if is_unsteady && !is_kept { "≈ " } else { "" },
                format_rough(total.iops)
            ),
            note: match job.iops_confidence_percent {
                Some(_) if is_unsteady && is_kept => "as requested, but uneven over time".into(),
                Some(percent) if is_unsteady => format!("not steady: ± {percent:.0} % (95 %)"),
                // A paced rate varies too little to print.
                Some(percent) if percent >= 0.05 => {
                    format!("± {percent:.1} % (95 %){}", append_note(&format_iops_by_direction(job)))
                }
                _ => format_iops_by_direction(job),
            },
        },
        Tile {
            name: "Throughput".into(),
            value: format!("{} MB/s", format_rough(total.mb_per_sec)),
            note: format!("{} MiB/s", format_rough(total.mib_per_sec)),
        },
        latency_tile(job, is_queued),
    ];
    let percent = judged_percent(verdict).filter(|percent| total.latency.percentile(*percent).is_some());
    let percent = percent.unwrap_or(99.0);
    if let Some(judged) = total.latency.percentile(percent) {
        tiles.push(Tile {
            name: format!("{percent} % took no longer than"),
            value: match judged.support {
                PercentileSupport::None => "not known".into(),
                _ => format_percentile(&judged),
            },
            note: match judged.support {
                PercentileSupport::None => format!("too few operations; maximum {}", Nanos(total.latency.max_ns)),
                _ if is_queued => format!("including the wait; maximum {}", Nanos(total.latency.max_ns)),
                _ => format!("maximum {}", Nanos(total.latency.max_ns)),
            },
        });
    }
    tiles
}

/// The percentile of the clause that decides the verdict, or else of the first clause with one.
fn judged_percent(verdict: &Verdict) -> Option<f64> {
    let clauses = || verdict.clauses.iter();
    let deciding = clauses().filter(|clause| clause.tone == verdict.tone);
    deciding.chain(clauses()).find_map(|clause| match clause.line? {
        Line::Percentile(share, _) => Some((share * 1e8).round() / 1e6),
        Line::Iops(_) | Line::Throughput(_) | Line::Latency(_) => None,
    })
}

/// The mean latency. If operations had to queue, that of an operation itself. A flush counts in no
/// latency of a write.
fn latency_tile(job: &JobSummary, is_queued: bool) -> Tile {
    let total = &job.total;
    let (name, value, note) = match &total.service {
        Some(service) if is_queued => (
            "Time per operation",
            service.mean_ns,
            format!(
                "mean; with the wait in the queue {}",
                format_time(total.latency.mean_ns)
            ),
        ),
        Some(_) => (
            "Response time",
            total.latency.mean_ns,
            format!("mean, including the wait; {}", format_median(&total.latency)),
        ),
        None => ("Mean latency", total.latency.mean_ns, format_median(&total.latency)),
    };
    let commit = job
        .commit_ns()
        .map(|ns| format!("; commit (write and flush) {}", format_time(ns)));
    Tile::new(name, format_time(value), note + &commit.unwrap_or_default())
}

fn format_median(latency: &LatencyFigures) -> String {
    latency
        .percentile(50.0)
        .map_or_else(String::new, |median| format!("median {}", Nanos(median.ns)))
}

fn format_iops_by_direction(job: &JobSummary) -> String {
    let directions = [("reads", &job.read), ("writes", &job.write), ("trims", &job.trim)];
    let present: Vec<String> = directions
        .into_iter()
        .filter_map(|(name, figures)| {
            figures
                .as_ref()
                .map(|figures| format!("{} {name}", format_rough(figures.iops)))
        })
        .collect();
    if present.len() > 1 {
        present.join(", ")
    } else {
        String::new()
    }
}

fn append_note(text: &str) -> String {
    if text.is_empty() {
        String::new()
    } else {
        format!("; {text}")
    }
}
