//! Diagnoses as text: the answer, its evidence, the limits, remarks and advice.

use std::io::{self, Write};

use model::diagnosis::{Diagnosis, Evidence, JobDiagnosis, JobPath, LayerUse, LimitTable};

use crate::numbers::{count, format_rough};

/// Writes the diagnosis of each job.
///
/// # Errors
/// `out` cannot be written to.
pub fn write(diagnoses: &[JobDiagnosis], out: &mut dyn Write) -> io::Result<()> {
    for diagnosis in diagnoses {
        writeln!(out, "What limits {}", diagnosis.name)?;
        write_diagnosis(&diagnosis.diagnosis, out)?;
    }
    Ok(())
}

/// Writes one diagnosis, without a heading.
///
/// # Errors
/// `out` cannot be written to.
pub fn write_diagnosis(diagnosis: &Diagnosis, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "  {}: {}", diagnosis.answer.rule(), diagnosis.sentence)?;
    let confirmed = match diagnosis.confirmed {
        Some(true) => "confirmed",
        Some(false) => "not confirmed: the second run was inconclusive",
        None => "not tried",
    };
    writeln!(out, "  twice the depth: {confirmed}")?;
    for evidence in &diagnosis.evidence {
        writeln!(out, "    {}", format_evidence(evidence))?;
    }
    if !diagnosis.layers.is_empty() {
        writeln!(out, "  limits, lowest first")?;
        for layer in &diagnosis.layers {
            writeln!(out, "    {}", format_limit(layer))?;
        }
    }
    for note in &diagnosis.also {
        writeln!(out, "  also {}: {}", note.rule, note.what)?;
    }
    for missing in &diagnosis.missing {
        writeln!(out, "  not judged: {missing}")?;
    }
    for advice in &diagnosis.advice {
        writeln!(out, "  help: {advice}")?;
    }
    Ok(())
}

/// Writes the tables of limits that concurrent jobs share: the storage below each job, every limit
/// with its jobs, and conclusions.
///
/// # Errors
/// `out` cannot be written to.
pub fn write_tables(tables: &[LimitTable], out: &mut dyn Write) -> io::Result<()> {
    for (number, table) in tables.iter().enumerate() {
        if number > 0 {
            writeln!(out)?;
        }
        writeln!(out, "{}", table_title(table))?;
        write_rows(&format_job_rows(table), out)?;
        writeln!(out)?;
        write_rows(&limit_rows(table), out)?;
        if !table.sentences.is_empty() {
            writeln!(out)?;
        }
        for sentence in &table.sentences {
            writeln!(out, "  {sentence}")?;
        }
    }
    Ok(())
}

/// The title of a table of limits.
pub fn table_title(table: &LimitTable) -> &'static str {
    match table.jobs.len() {
        1 => "Limits by path",
        _ => "Limits of jobs that ran at the same time",
    }
}

/// Rows with the storage below each job, titles first.
pub fn format_job_rows(table: &LimitTable) -> Vec<Vec<String>> {
    let titles = ["job", "path", "role", "copies", "hops", "measured"].map(str::to_owned);
    let row = |job: &JobPath| {
        let format_number = |number: Option<u32>| number.map_or_else(|| "-".into(), |number| number.to_string());
        vec![
            job.job.clone(),
            job.storage.cache.unwrap_or_default().word().to_owned(),
            job.storage.role.clone().unwrap_or_else(|| "-".into()),
            format_number(job.storage.replicas),
            format_number(job.storage.hops),
            format_amount(job.iops, "IOPS"),
        ]
    };
    std::iter::once(titles.to_vec())
        .chain(table.jobs.iter().map(row))
        .collect()
}

/// Rows with every limit and the jobs that count against it, titles first.
pub fn limit_rows(table: &LimitTable) -> Vec<Vec<String>> {
    let titles = ["limit", "jobs", "used", "allowed", "share", ""].map(str::to_owned);
    let row = |limit: &LayerUse| {
        vec![
            limit.layer.clone(),
            limit.jobs.join(" + "),
            format_amount(limit.used, &limit.unit),
            format_amount(limit.limit, &limit.unit),
            format!("{:.1} %", 100.0 * limit.share),
            if limit.met { "reached" } else { "" }.to_owned(),
        ]
    };
    std::iter::once(titles.to_vec())
        .chain(table.limits.iter().map(row))
        .collect()
}

/// Writes rows in columns as wide as their widest cell. The first two columns are aligned left, the
/// others right.
///
/// # Errors
/// `out` cannot be written to.
pub fn write_rows(rows: &[Vec<String>], out: &mut dyn Write) -> io::Result<()> {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for row in rows {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
            let width = *width;
            match column < 2 {
                true => format!("{cell:<width$}"),
                false => format!("{cell:>width$}"),
            }
        });
        let line = cells.collect::<Vec<_>>().join("  ");
        writeln!(out, "  {}", line.trim_end())?;
    }
    Ok(())
}

pub(crate) fn format_evidence(evidence: &Evidence) -> String {
    let unit = match evidence.unit.as_str() {
        "" => String::new(),
        unit => format!(" {unit}"),
    };
    let measured = format!("{}: {}{unit}", evidence.what, format_number(evidence.value));
    match evidence.against {
        Some(against) => format!(
            "{measured}, against {}{unit} ({})",
            format_number(against),
            evidence.which
        ),
        None => measured,
    }
}

/// Capitalizes the first character and adds a full stop.
pub fn format_sentence(words: &str) -> String {
    let stop = if words.is_empty() || words.ends_with(['.', '?', '!']) {
        ""
    } else {
        "."
    };
    capitalize(words) + stop
}

/// Capitalizes the first character, unless it begins a name.
pub(crate) fn capitalize(words: &str) -> String {
    let mut characters = words.chars();
    let first = characters.next().into_iter();
    // Names stay as they are: `fio`, `db2`, `p99`, `io_uring`.
    let first_word = words.split(' ').next().unwrap_or_default();
    let is_name = first_word.contains(|letter: char| letter.is_ascii_digit() || letter == '_');
    let capital: String = match is_name || first_word == "fio" {
        true => first.collect(),
        false => first.flat_map(char::to_uppercase).collect(),
    };
    capital + characters.as_str()
}

/// Formats a limit with its name and source, and how much of it is used.
pub(crate) fn format_limit(layer: &LayerUse) -> String {
    let source = match layer.source.as_str() {
        "" => String::new(),
        source => format!(" [{source}]"),
    };
    format!("{}: {}{source}", layer.layer, format_use(layer))
}

/// Formats how much of a limit is used.
pub(crate) fn format_use(layer: &LayerUse) -> String {
    let share = match layer.share {
        share if share < 10.0 => format!("{:.1} %", 100.0 * share),
        share => format!("{} times as much", format_rough(share)),
    };
    let (used, limit) = (
        format_amount(layer.used, &layer.unit),
        format_amount(layer.limit, &layer.unit),
    );
    let jobs = match &layer.jobs[..] {
        [] => String::new(),
        jobs => format!(" ({} together)", jobs.join(" + ")),
    };
    let mut text = format!("{used}{jobs} of {limit}, {share}");
    if let Some(stranded) = layer.stranded {
        text += &format!(", {} out of reach", format_amount(stranded, &layer.unit));
    }
    text
}

/// Formats the use of a limit for a drawing: a limit that is met in few words.
pub(crate) fn format_short_use(layer: &LayerUse) -> String {
    match layer.met && layer.unit == "IOPS" && layer.jobs.is_empty() {
        true => format!(
            "{} of {}: reached",
            format_rough(layer.used),
            format_amount(layer.limit, &layer.unit)
        ),
        false => format_use(layer),
    }
}

/// Lists the sources of limits, each once; empty without any.
pub(crate) fn list_sources(layers: &[LayerUse]) -> String {
    let mut sources: Vec<String> = Vec::new();
    for layer in layers.iter().filter(|layer| !layer.source.is_empty()) {
        let source = format!("{}: {}", layer.layer, layer.source);
        if !sources.contains(&source) {
            sources.push(source);
        }
    }
    match sources.is_empty() {
        true => String::new(),
        false => format!("Sources of the limits: {}.", sources.join("; ")),
    }
}

fn format_amount(value: f64, unit: &str) -> String {
    match unit {
        "bytes/s" => format!("{} MB/s", format_number(value / 1e6)),
        unit => format!("{} {unit}", format_number(value)),
    }
}

/// Formats a count, a limit or thousands exactly, and another number with three significant digits.
fn format_number(value: f64) -> String {
    match value.abs() {
        size if size.fract() == 0.0 && size < 1e15 && value >= 0.0 => count(value as u64),
        size if (1e3..1e15).contains(&size) && value >= 0.0 => count(value.round() as u64),
        size if size < 1.0 => format!("{value:.3}"),
        size if size < 10.0 => format!("{value:.2}"),
        _ => format_rough(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::diagnosis::{Answer, DiagnosisNote};

    #[test]
    fn text_contains_every_part() {
        let job_diagnosis = JobDiagnosis {
            name: "job".into(),
            diagnosis: Diagnosis {
                answer: Answer::Cap,
                sentence: "VM: 1953 IOPS are 101.7 % of its limit of 1920 IOPS".into(),
                evidence: vec![Evidence {
                    what: "operations in flight".into(),
                    value: 63.98,
                    against: Some(64.0),
                    which: "the depth".into(),
                    ..Evidence::default()
                }],
                layers: vec![LayerUse {
                    layer: "disks".into(),
                    unit: "IOPS".into(),
                    limit: 20_000.0,
                    used: 1953.31,
                    share: 0.0977,
                    stranded: Some(18_080.0),
                    source: "catalogue".into(),
                    ..LayerUse::default()
                }],
                also: vec![DiagnosisNote {
                    rule: "D-ABOVE-LIMIT".into(),
                    what: "a cache or credits".into(),
                }],
                missing: vec!["no series".into()],
                advice: vec!["a larger machine".into()],
                confirmed: Some(true),
                ..Diagnosis::default()
            },
            ..JobDiagnosis::default()
        };
        let mut text = Vec::new();
        write(&[job_diagnosis], &mut text).unwrap();
        let expected = "\
What limits job
  D-CAP: VM: 1953 IOPS are 101.7 % of its limit of 1920 IOPS
  twice the depth: confirmed
    operations in flight: 64.0, against 64 (the depth)
  limits, lowest first
    disks: 1,953 IOPS of 20,000 IOPS, 9.8 %, 18,080 IOPS out of reach [catalogue]
  also D-ABOVE-LIMIT: a cache or credits
  not judged: no series
  help: a larger machine
";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }
}
