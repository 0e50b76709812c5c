//! Diagnoses for people: the answer, the figures behind it, the limits, what else was seen, and what to do.

use std::io::{self, Write};

use model::diagnosis::{Diagnosis, Evidence, JobDiagnosis, LayerUse};

use crate::numbers::{count, rate};

/// What limited each job.
///
/// # Errors
/// Those of `out`.
pub fn write(diagnoses: &[JobDiagnosis], out: &mut dyn Write) -> io::Result<()> {
    for one in diagnoses {
        writeln!(out, "What limits {}", one.name)?;
        write_one(&one.diagnosis, out)?;
    }
    Ok(())
}

fn write_one(diagnosis: &Diagnosis, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "  {}: {}", diagnosis.answer.rule(), diagnosis.sentence)?;
    let confirmed = match diagnosis.confirmed {
        Some(true) => "confirmed",
        Some(false) => "not confirmed: the second run says neither yes nor no",
        None => "not tried",
    };
    writeln!(out, "  twice the depth: {confirmed}")?;
    for evidence in &diagnosis.evidence {
        writeln!(out, "    {}", evidence_words(evidence))?;
    }
    if !diagnosis.layers.is_empty() {
        writeln!(out, "  limits, the least first")?;
        for layer in &diagnosis.layers {
            writeln!(out, "    {}", limit_words(layer))?;
        }
    }
    for remark in &diagnosis.also {
        writeln!(out, "  also {}: {}", remark.rule, remark.what)?;
    }
    for missing in &diagnosis.missing {
        writeln!(out, "  not judged: {missing}")?;
    }
    for advice in &diagnosis.advice {
        writeln!(out, "  help: {advice}")?;
    }
    Ok(())
}

pub(crate) fn evidence_words(evidence: &Evidence) -> String {
    let unit = match evidence.unit.as_str() {
        "" => String::new(),
        unit => format!(" {unit}"),
    };
    let own = format!("{}: {}{unit}", evidence.what, number(evidence.value));
    match evidence.against {
        Some(against) => format!("{own}, against {}{unit} ({})", number(against), evidence.which),
        None => own,
    }
}

/// The same words with a capital letter and a full stop.
pub fn sentence(words: &str) -> String {
    let mut characters = words.chars();
    let capital: String = characters.next().into_iter().flat_map(char::to_uppercase).collect();
    let stop = if words.is_empty() || words.ends_with(['.', '?', '!']) {
        ""
    } else {
        "."
    };
    format!("{capital}{}{stop}", characters.as_str())
}

/// A limit and how much of it is used, in a line.
pub(crate) fn limit_words(layer: &LayerUse) -> String {
    let percent = 100.0 * layer.share;
    let (used, limit) = (in_units(layer.used, &layer.unit), in_units(layer.limit, &layer.unit));
    let mut text = format!("{}: {used} of {limit}, {percent:.1} %", layer.layer);
    if let Some(stranded) = layer.stranded {
        text += &format!(", {} out of reach", in_units(stranded, &layer.unit));
    }
    if !layer.source.is_empty() {
        text += &format!(" [{}]", layer.source);
    }
    text
}

fn in_units(value: f64, unit: &str) -> String {
    match unit {
        "bytes/s" => format!("{} MB/s", number(value / 1e6)),
        unit => format!("{} {unit}", number(value)),
    }
}

/// As many digits as mean something.
fn number(value: f64) -> String {
    match value.abs() {
        size if size.fract() == 0.0 && size < 1e15 && value >= 0.0 => count(value as u64),
        size if size < 1.0 => format!("{value:.3}"),
        size if size < 10.0 => format!("{value:.2}"),
        size if size < 10_000.0 => format!("{value:.1}"),
        _ => rate(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::diagnosis::{Answer, Remark};

    #[test]
    fn every_part_is_shown() {
        let one = JobDiagnosis {
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
                also: vec![Remark {
                    rule: "D-IRQ-SKEW".into(),
                    what: "one processor".into(),
                }],
                missing: vec!["no series".into()],
                advice: vec!["a larger machine".into()],
                confirmed: Some(true),
                ..Diagnosis::default()
            },
            ..JobDiagnosis::default()
        };
        let mut text = Vec::new();
        write(&[one], &mut text).unwrap();
        let expected = "\
What limits job
  D-CAP: VM: 1953 IOPS are 101.7 % of its limit of 1920 IOPS
  twice the depth: confirmed
    operations in flight: 64.0, against 64 (the depth)
  limits, the least first
    disks: 1953.3 IOPS of 20,000 IOPS, 9.8 %, 18,080 IOPS out of reach [catalogue]
  also D-IRQ-SKEW: one processor
  not judged: no series
  help: a larger machine
";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }
}
