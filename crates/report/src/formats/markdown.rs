//! Markdown for an issue, a chat or a wiki on GitHub or GitLab: figures, machine and findings.

use std::collections::BTreeSet;
use std::io::{self, Write};

use model::finding::Severity;
use model::results::Results;
use model::visible;

use crate::numbers::{duration, format_time, rate, signed_time, throughput};
use crate::summary::{JobSummary, LatencyFigures, PercentileSupport, RankSummary, Summary};
use crate::words;

/// Percentiles of the table.
const PERCENTILES: [f64; 3] = [50.0, 99.0, 99.9];
/// Maximum number of listed hosts and of listed ranks.
const MAX_HOSTS: usize = 32;

pub(super) fn write(results: &Results, out: &mut dyn Write) -> io::Result<()> {
    let summary = Summary::from_results(results);
    let tool = &summary.tool;
    writeln!(
        out,
        "**{}**, {} {}, {}",
        escape_markdown(&summary.name),
        tool.name,
        tool.version,
        summary.started
    )?;
    if let Some(objective) = &summary.objective {
        writeln!(out, "\n{}", escape_markdown(objective))?;
    }
    writeln!(out)?;
    // Targets on several hosts may have the same names.
    let mut shown = BTreeSet::new();
    for words in summary.targets.iter().map(words::describe_target) {
        if summary.transport.is_none() || shown.insert(words.clone()) {
            writeln!(out, "- {}", escape_markdown(&words))?;
        }
    }
    let named = || summary.hosts.iter().filter(|host| !host.name.is_empty());
    for host in named().take(MAX_HOSTS) {
        let words = format!(
            "{}: {} {}, {}, {} CPUs",
            host.name, host.system, host.kernel, host.cpu, host.cpus
        );
        writeln!(out, "- {}", escape_markdown(&words))?;
    }
    if named().count() > MAX_HOSTS {
        writeln!(out, "- and {} more hosts", named().count() - MAX_HOSTS)?;
    }
    writeln!(
        out,
        "\n| job | | IOPS | MiB/s | mean | p50 | p99 | p99.9 | max |\n| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    )?;
    for job in &summary.jobs {
        write_rows(job, out)?;
    }
    writeln!(out)?;
    for job in &summary.jobs {
        let words = format!(
            "{}: {}; {}; {} measured",
            job.name,
            job.operations,
            job.load,
            duration(job.measured_ns)
        );
        writeln!(out, "- {}", escape_markdown(&words))?;
    }
    summary.jobs.iter().try_for_each(|job| write_ranks(job, out))?;
    let mut findings: Vec<_> = summary
        .findings
        .iter()
        .filter(|finding| finding.severity >= Severity::Warning)
        .collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    if !findings.is_empty() {
        writeln!(out, "\nCaveats:\n")?;
    }
    for finding in findings {
        let at = finding.at.as_ref().map(|at| format!("{at}: ")).unwrap_or_default();
        writeln!(
            out,
            "- {} ({})",
            escape_markdown(&format!("{at}{}", finding.what)),
            finding.rule
        )?;
    }
    if summary.interrupted {
        writeln!(out, "\nThe run was interrupted; the figures cover the time until then.")?;
    }
    Ok(())
}

/// Writes a table of the ranks of a job. If there are many, only the slowest are listed, because
/// issue comments have a maximum length.
fn write_ranks(job: &JobSummary, out: &mut dyn Write) -> io::Result<()> {
    if job.ranks.is_empty() {
        return Ok(());
    }
    let mut shown: Vec<&RankSummary> = job.ranks.iter().collect();
    let omitted = shown.len().saturating_sub(MAX_HOSTS);
    if omitted > 0 {
        shown.sort_by(|a, b| a.total.iops.total_cmp(&b.total.iops));
        shown.truncate(MAX_HOSTS);
    }
    writeln!(
        out,
        "\n| {}: rank | host | IOPS | MiB/s | p50 | p99 | began after | |\n| ---: | --- | ---: | ---: | ---: | ---: | ---: | --- |",
        escape_markdown(&job.name)
    )?;
    for rank in shown {
        let format_percentile = |percent: f64| {
            let percentile = rank.total.latency.percentile(percent);
            percentile.map_or("-".into(), |value| format_time(value.ns as f64))
        };
        let word = match (&rank.lost, rank.straggles) {
            (Some(why), _) => format!("lost: {}", escape_markdown(why)),
            (None, true) => "straggler".into(),
            (None, false) => String::new(),
        };
        writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} | {word} |",
            rank.rank,
            escape_markdown(&rank.host),
            rate(rank.total.iops),
            throughput(rank.total.mib_per_sec),
            format_percentile(50.0),
            format_percentile(99.0),
            rank.start_ns.map_or("-".into(), signed_time),
        )?;
    }
    if omitted > 0 {
        writeln!(out, "\n{omitted} faster ranks are omitted.")?;
    }
    Ok(())
}

/// Writes a row for each direction or kind of operation, and a total if there are several.
fn write_rows(job: &JobSummary, out: &mut dyn Write) -> io::Result<()> {
    let kinds = job.kinds();
    let total = (kinds.len() != 1).then_some(("total", &job.total));
    for (word, figures) in kinds.iter().copied().chain(total) {
        let latency = (figures.operations > 0).then_some(&figures.latency);
        write_row(job, word, figures.iops, &throughput(figures.mib_per_sec), latency, out)?;
    }
    match &job.flush {
        Some(flush) => {
            let per_second = flush.operations as f64 / job.measured_ns.as_secs().max(1e-9);
            write_row(job, "flush", per_second, "-", Some(&flush.latency), out)
        }
        None => Ok(()),
    }
}

fn write_row(
    job: &JobSummary,
    word: &str,
    per_second: f64,
    moved: &str,
    latency: Option<&LatencyFigures>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let time_or_dash = |value: Option<f64>| value.map_or("-".to_owned(), format_time);
    let format_percentile = |percent: &f64| {
        let percentile = latency.and_then(|latency| {
            latency
                .percentiles
                .iter()
                .find(|candidate| candidate.percent == *percent)
        });
        percentile.map_or("-".to_owned(), |percentile| match percentile.support {
            PercentileSupport::Good => format_time(percentile.ns as f64),
            PercentileSupport::Weak => format!("~{}", format_time(percentile.ns as f64)),
            // With fewer than ten slower operations, a percentile is no better than the maximum.
            PercentileSupport::None => "-".into(),
        })
    };
    let shown: Vec<String> = PERCENTILES.iter().map(format_percentile).collect();
    writeln!(
        out,
        "| {} | {word} | {} | {moved} | {} | {} | {} |",
        escape_markdown(&job.name),
        rate(per_second),
        time_or_dash(latency.map(|latency| latency.mean_ns)),
        shown.join(" | "),
        time_or_dash(latency.map(|latency| latency.max_ns as f64)),
    )
}

/// Escapes user text, so that it creates no cell, link, tag, mention or line.
pub fn escape_markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in visible(&text.replace('\n', " ")).chars() {
        match letter {
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '!' | '$' => out.extend(['\\', letter]),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '@' => out.push_str("&#64;"),
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_text() {
        let check = |text: &str, expected: &str| assert_eq!(escape_markdown(text), expected);
        check("/dev/nvme0n1: 1.5 TiB, 70/30", "/dev/nvme0n1: 1.5 TiB, 70/30");
        check("a|b\nc", "a\\|b c");
        check("</td><script>", "&lt;/td&gt;&lt;script&gt;");
        check("[x](y) *b* `c` @all", "\\[x\\](y) \\*b\\* \\`c\\` &#64;all");
    }
}
