//! Parses the command line that a report echoes, and compares it with the rest of the report.

use model::finding::{Finding, Severity};
use model::observation::Load;

use super::{Settings, TargetSettings, Throttle};
use crate::diskspd::profile::{Cache, Profile, Target, ThroughputUnit, TimeSpan};
use crate::diskspd::{ExitOutput, OfflineEnv, ParseOutcome, read};

/// Splits a line into arguments, without the program and redirections. Quotes enclose blanks.
fn split_line(line: &str) -> Vec<String> {
    let line = line.split('>').next().unwrap_or_default();
    let mut is_quoted = false;
    let words = line.split(|letter: char| {
        is_quoted ^= letter == '"';
        letter.is_whitespace() && !is_quoted
    });
    let words = words.map(|word| word.replace('"', "")).filter(|word| !word.is_empty());
    words.skip(1).collect()
}

/// The profile of a line; an error if DiskSpd would refuse it, or if the profile is in a file
/// (`-X`).
fn parse_profile(line: &str) -> Result<Profile, ExitOutput> {
    match read("diskspd", &split_line(line), &mut OfflineEnv) {
        ParseOutcome::Run(request) | ParseOutcome::Print(request) => Ok(request.profile),
        ParseOutcome::End(end) => Err(end),
    }
}

/// The load of a line.
///
/// # Errors
/// The finding that DiskSpd would refuse the line.
pub(in crate::import) fn parse_load(line: &str) -> Result<Load, Box<Finding>> {
    let profile = parse_profile(line).map_err(|end| {
        let message = format!(
            "cannot read `{line}` as a DiskSpd command line: {}",
            end.stderr.join("; ")
        );
        let finding =
            Finding::new("REPORT-UNREAD", Severity::Warning, message).why("the load that it describes is unknown");
        Box::new(match end.hints.is_empty() {
            true => finding,
            false => finding.help(end.hints.join("; ")),
        })
    })?;
    let Some(span) = profile.time_spans.first() else {
        return Ok(Load::default());
    };
    let settings = Settings {
        warm_up_s: Some(u64::from(span.warm_up)),
        pool_threads: (span.threads > 0).then_some(span.threads),
        pool_requests: Some(span.requests),
        targets: span
            .targets
            .iter()
            .map(|target| target_settings(span, target))
            .collect(),
        complete: true,
        ..Settings::default()
    };
    Ok(settings.load(None))
}

fn target_settings(span: &TimeSpan, target: &Target) -> TargetSettings {
    let limit = f64::from(target.throughput);
    TargetSettings {
        path: target.path.clone(),
        read_percent: Some(100.0 - f64::from(target.write_percent)),
        block: Some(u64::from(target.block)),
        random: Some(target.random_percent > 0),
        requests: Some(target.requests),
        threads: (span.threads == 0).then_some(target.threads),
        bypasses_cache: Some(target.cache == Cache::Unbuffered),
        writes_through: Some(target.write_through),
        limit: (target.throughput > 0).then_some(match target.throughput_unit {
            ThroughputUnit::Iops => Throttle::Iops(limit),
            ThroughputUnit::BytesPerMs => Throttle::BytesPerMs(limit),
        }),
        pauses: target.think_ms.is_some_and(|pause| pause > 0),
        size: target.file_size.filter(|size| *size > 0),
    }
}

/// Reports parameters that differ from the command line.
pub(super) fn find_mismatch(line: &str, span: &Settings, of_results: &[String]) -> Option<Finding> {
    let profile = parse_profile(line).ok()?;
    let [asked] = &*profile.time_spans else { return None };
    let first = asked.targets.first()?;
    let mut differences = Vec::new();
    let mut compare = |what: &str, on_line: Option<String>, in_report: Option<String>| {
        if let (Some(line), Some(report)) = (on_line, in_report)
            && line != report
        {
            differences.push(format!(
                "{what} is {line} on the command line but {report} in the report"
            ));
        }
    };
    let text = |number: u64| Some(number.to_string());
    compare(
        "the duration in seconds",
        text(asked.duration.into()),
        span.duration_s.and_then(text),
    );
    compare(
        "the block size in bytes",
        text(first.block.into()),
        span.same(|target| target.block).and_then(text),
    );
    let percent = |read: f64| Some(format!("{read} %"));
    let reads = 100.0 - f64::from(first.write_percent);
    compare(
        "the share of reads",
        percent(reads),
        span.same(|target| target.read_percent).and_then(percent),
    );
    compare(
        "-o",
        text(first.requests.into()),
        span.same(|target| target.requests).map(u64::from).and_then(text),
    );
    if asked.threads == 0 {
        compare(
            "-t",
            text(first.threads.into()),
            span.same(|target| target.threads).map(u64::from).and_then(text),
        );
    }
    let of_line = asked.targets.iter().map(|target| target.path.as_str());
    let of_span = span.targets.iter().map(|target| target.path.as_str());
    let (of_line, of_span) = (sorted_paths(of_line), sorted_paths(of_span));
    // The echoed line has lost its quotes: a path with blanks looks like several paths.
    if asked.targets.len() == span.targets.len() {
        compare("the target", of_line, of_span.clone());
    }
    let of_results = sorted_paths(of_results.iter().map(String::as_str));
    if let (Some(named), Some(measured)) = (of_span, of_results)
        && named != measured
    {
        differences.push(format!("the parameters name {named} but the results name {measured}"));
    }
    (!differences.is_empty()).then(|| {
        let finding = Finding::new("REPORT-EDITED", Severity::Warning, differences.join("; "));
        let finding = finding.why("DiskSpd writes consistent reports: this one was edited, or combined from several");
        finding.help("run the test again, and keep the report unchanged")
    })
}

/// Paths in sorted order, for comparison.
fn sorted_paths<'a>(list: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut list: Vec<&str> = list.collect();
    list.sort_unstable();
    list.dedup();
    (!list.is_empty()).then(|| list.join(", "))
}
