//! Formats an explanation as text.

use analysis::diagnosis::Answer;
use analysis::identities::{PercentileValue, Trust};
use analysis::limit_use::{LimitUse, LimitedQuantity};
use analysis::verdict::Verdict;
use model::diagnosis::LimitTable;
use model::finding::Finding;
use report::{diagnosis, formats, numbers};
use study::explain::{ExplainedLoad, Explanation};
use study::verify::headline;

use crate::{pages, screen};

pub(super) fn render(explanation: &Explanation) -> String {
    let source = &explanation.source;
    let mut text = format!("{}: {}\n", source.file, source.form);
    let facts = [
        source.host.as_ref().map(|host| format!("on {host}")),
        source.started.as_ref().map(|started| format!("at {started}")),
        source
            .processors
            .map(|count| numbers::pluralize(u64::from(count), "processor")),
        source.origin.as_ref().map(|origin| format!("from {origin}")),
    ];
    let facts: Vec<String> = facts.into_iter().flatten().collect();
    if !facts.is_empty() {
        text += &screen::wrap_paragraph(&facts.join(", "));
    }
    for command in source.commands.iter().filter(|command| !command.is_empty()) {
        text += &format!("  $ {command}\n");
    }
    for load in &explanation.loads {
        text += &format!("\n{}\n", load.observation.name);
        text += &format_load(load);
    }
    for table in &explanation.shared_limits {
        text += &format!("\n{}\n", diagnosis::table_title(table));
        text += &format_shared_limits(table);
    }
    let findings: Vec<Finding> = explanation.findings().cloned().collect();
    if !findings.is_empty() {
        text += "\nCaveats\n";
        text += &screen::write_to_string(|out| formats::write_findings(&findings, out));
    }
    text += "\n";
    text += &screen::wrap_paragraph(study::explain::DISCLAIMER);
    text
}

fn format_load(load: &ExplainedLoad) -> String {
    let mut text = String::new();
    for sentence in &load.sentences {
        text += &screen::wrap_paragraph(sentence);
    }
    text += &format_percentiles(load);
    text += &format_limits(&load.limits);
    text += &format_diagnosis(load);
    if let Some(verdict) = &load.verdict {
        text += &format!(
            "\n  {}\n",
            headline(verdict.outcome, &verdict.clauses, (load.length, None))
        );
        text += &format_verdict(verdict);
    }
    text
}

/// Formats the percentiles, with a column for each direction.
fn format_percentiles(load: &ExplainedLoad) -> String {
    let observation = &load.observation;
    let mixed = observation.directions.read.is_some() && observation.directions.write.is_some();
    let titles: &[&str] = if mixed { &["read", "write", "all"] } else { &["all"] };
    let mut rows: Vec<(String, Vec<String>)> = Vec::new();
    let flows = [
        observation.directions.read.as_ref(),
        observation.directions.write.as_ref(),
        Some(&observation.total),
    ];
    let flows = if mixed { &flows[..] } else { &flows[2..] };
    let edge = |select: fn(&model::observation::Latency) -> Option<f64>| -> Vec<Option<f64>> {
        flows
            .iter()
            .map(|flow| flow.and_then(|flow| flow.user_latency()).and_then(select))
            .collect()
    };
    let plain = |name: &str, values: Vec<Option<f64>>| {
        let some = values.iter().any(Option::is_some);
        let cells = values
            .into_iter()
            .map(|value| value.map_or_else(|| "-".into(), numbers::format_time));
        some.then(|| (name.to_owned(), cells.collect::<Vec<String>>()))
    };
    rows.extend(plain(
        "min",
        edge(|latency| latency.completion.map_or(latency.min_ns, |part| Some(part.min_ns))),
    ));
    rows.extend(plain("mean", edge(|latency| Some(latency.completion?.mean_ns))));
    for row in &load.percentiles {
        let values = [row.read, row.write, row.total];
        let values = if mixed { &values[..] } else { &values[2..] };
        rows.push((
            row.name.clone(),
            values.iter().map(|value| format_cell(*value)).collect(),
        ));
    }
    if load.percentiles.is_empty() {
        return String::new();
    }
    rows.extend(plain(
        "max",
        edge(|latency| latency.completion.map_or(latency.max_ns, |part| Some(part.max_ns))),
    ));
    // The percentiles of fio are usually of the completion latency, so the other rows are as well.
    let is_completion = rows.iter().any(|(name, _)| name == "mean");
    let mut text = format!("\n  {:<12}", if is_completion { "clat" } else { "latency" });
    for title in titles {
        text += &format!("{title:>12}");
    }
    text.push('\n');
    for (name, cells) in rows {
        text += &format!("  {name:<12}");
        for cell in cells {
            text += &format!("{cell:>12}");
        }
        text.push('\n');
    }
    let has = |mark: Trust| {
        let of_rows = load.percentiles.iter().flat_map(|row| [row.read, row.write, row.total]);
        of_rows.flatten().any(|value| value.mark == mark)
    };
    let notes = [
        (Trust::Weak, "~ fewer than 100 operations were slower"),
        (
            Trust::Unsupported,
            "? fewer than 10 operations were slower: little better than the maximum",
        ),
    ];
    for (mark, note) in notes {
        if has(mark) {
            text += &format!("  {note}\n");
        }
    }
    text
}

fn format_cell(value: Option<PercentileValue>) -> String {
    let Some(value) = value else { return "-".into() };
    let sign = match value.mark {
        Trust::Good | Trust::Unknown => "",
        Trust::Weak => "~",
        Trust::Unsupported => "?",
    };
    format!("{sign}{}", numbers::format_time(value.ns))
}

fn format_limits(limits: &[LimitUse]) -> String {
    if limits.is_empty() {
        return String::new();
    }
    let mut text = format!("\n  {:<40}{:>14}{:>16}{:>9}\n", "limit", "measured", "allowed", "share");
    for standing in limits {
        let amount = |value: f64| match standing.quantity {
            LimitedQuantity::Iops => format!("{} IOPS", numbers::rate(value)),
            LimitedQuantity::BytesPerSec => format!("{} MB/s", numbers::throughput(value / 1e6)),
        };
        let sign = if standing.met { " <- at it" } else { "" };
        text += &format!(
            "  {:<40}{:>14}{:>16}{:>8.1} %{sign}\n",
            standing.layer,
            amount(standing.measured),
            amount(standing.limit.compared_with(standing.measured)),
            100.0 * standing.share
        );
    }
    text
}

/// Formats shared limits in columns, and the conclusions.
fn format_shared_limits(table: &LimitTable) -> String {
    let mut text = String::new();
    for rows in [diagnosis::format_job_rows(table), diagnosis::limit_rows(table)] {
        text += &screen::write_to_string(|out| diagnosis::write_rows(&rows, out));
        text.push('\n');
    }
    for sentence in &table.sentences {
        text += &screen::wrap_paragraph(sentence);
    }
    text
}

/// Formats the diagnosis, unless the sentences above contain it.
fn format_diagnosis(load: &ExplainedLoad) -> String {
    let diagnosis = &load.diagnosis;
    let is_covered = diagnosis.answer == Answer::Cap && load.limits.iter().any(|standing| standing.met);
    if is_covered || diagnosis.answer == Answer::Undetermined && load.limits.is_empty() {
        return String::new();
    }
    let mut text = String::from("\n  What limited it\n");
    text += &screen::wrap_paragraph(&diagnosis.sentence);
    for advice in pages::complete_advice(load) {
        text += &screen::wrap_paragraph(&advice);
    }
    text
}

fn format_verdict(verdict: &Verdict) -> String {
    let mut text = String::new();
    let words = verdict.describe();
    for (clause, (reason, _)) in verdict.clauses.iter().zip(&words.clauses) {
        text += &screen::wrap_paragraph(&format!("{} {}: {reason}", clause.outcome.word(), clause.clause));
    }
    for reason in verdict.reasons.iter().map(|reason| &reason.what).chain(&words.shared) {
        text += &screen::wrap_paragraph(reason);
    }
    for note in &verdict.notes {
        text += &screen::wrap_paragraph(note);
    }
    text
}
