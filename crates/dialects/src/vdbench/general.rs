//! General parameters: those before any definition.

use super::blocks::{Block, invalid};
use super::commands::Commands;
use super::data::parse_dedup;
use super::definitions::General;
use super::scan::Item;
use crate::Diagnostic;

pub(super) fn parse_general(block: &Block) -> Result<General, Diagnostic> {
    let repeat = block.item("loop").map(Item::single_value);
    let (digits, unit) = repeat.as_ref().map_or(("", ""), |text| {
        text.split_at(text.trim_end_matches(|c: char| c.is_ascii_alphabetic()).len())
    });
    let factor = match unit {
        "s" => 1,
        "m" => 60,
        _ => 3600,
    };
    let count: Option<u64> = digits.parse().ok();
    if repeat.is_some() && count.is_none_or(|count| count == 0) {
        return Err(block.invalid("loop", repeat.unwrap_or_default()));
    }
    Ok(General {
        format: block.item("formatsds").map(|item| item.single_value().starts_with('y')),
        format_block: block.number("formatxfersize")?.map(|bytes| bytes as u64),
        histogram: parse_histogram(block)?,
        compratio: parse_compratio(block)?,
        dedup: parse_dedup(block)?,
        pattern: None,
        data_errors: parse_data_errors(block)?,
        concatenates: block.is_yes("concatenatesds"),
        monitor: block.item("monitor").map(Item::single_value),
        commands: Commands::read(block)?,
        create_anchors: block.is_yes("create_anchors"),
        repeats: count.filter(|_| unit.is_empty()),
        repeat_seconds: count.filter(|_| !unit.is_empty()).map(|count| count * factor),
    })
}

fn parse_compratio(block: &Block) -> Result<f64, Diagnostic> {
    match block.number("compratio")?.unwrap_or(1.0) {
        ratio if ratio >= 1.0 => Ok(ratio),
        ratio => Err(block.invalid("compratio", ratio).help("use 1 or more")),
    }
}

/// The number of `data_errors=`. The refusals already list words, which are commands.
fn parse_data_errors(block: &Block) -> Result<Option<u64>, Diagnostic> {
    let Some(item) = block.item("data_errors") else {
        return Ok(None);
    };
    match item.numbers("data_errors")?.as_deref() {
        None => Ok(None),
        Some([count]) if *count >= 1.0 && count.fract() == 0.0 => Ok(Some(*count as u64)),
        Some(_) => Err(item
            .error(invalid("data_errors", item.expanded_values().join(",")))
            .help("set the number of errors that ends a run, 1 or more, without seconds")),
    }
}

/// The limits of `histogram=`: a number that does not exceed the one before is a step.
fn parse_histogram(block: &Block) -> Result<Vec<u64>, Diagnostic> {
    const MAX_LIMITS: usize = 64;
    let words = block.expanded_values("histogram");
    let mut limits: Vec<u64> = Vec::new();
    let mut step = None;
    for word in words.iter().skip(1).filter(|word| *word != "suppress") {
        let digits = word.trim_end_matches(['u', 'm', 's']);
        let factor = match &word[digits.len()..] {
            "" | "u" => Some(1),
            "m" => Some(1000),
            "s" => Some(1_000_000),
            _ => None,
        };
        let Some(limit) = factor
            .and_then(|factor| digits.parse::<u64>().ok()?.checked_mul(factor))
            .filter(|limit| *limit > 0)
        else {
            return Err(block.invalid("histogram", word));
        };
        match limits.last().copied() {
            Some(last) if limit <= last => step = Some(limit),
            Some(last) => {
                if let Some(step) = step.take() {
                    let between = (1..).map(|turn| last + turn * step).take_while(|value| *value < limit);
                    limits.extend(between.take(MAX_LIMITS));
                }
                limits.push(limit);
            }
            None => limits.push(limit),
        }
    }
    match limits.len() > MAX_LIMITS {
        true => Err(block.error(format!("'histogram=' takes at most {MAX_LIMITS} limits"))),
        false => Ok(limits),
    }
}
