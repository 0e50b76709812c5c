//! Access specifications: `'Access specification name` and its lines, and the form of 1998 without
//! names.

use super::config::{AccessSpec, Assignment, SpecLine};
use super::read::{Reader, Value};

/// The specification of an idle worker.
pub(crate) const IDLE: &str = "Idle";
/// Maximum number of lines of a specification.
const MAX_LINES: usize = 100;
/// The alignment of the old form, which does not name one.
const OLD_ALIGN: u32 = 2048;

const INVALID: &str = "Error loading global access specifications.  Invalid value encountered.";
const SHARES: &str = "Error loading global access specifications.  Percentages don't add to 100.";
const COLUMNS: &str = "a line is `size,% of size,% reads,% random,delay,burst,align,reply`: the size and the burst at least 1, \
                       unless % of size is 0; the shares 0 to 100";

/// The value of `'Access specification name,default assignment`.
pub(super) fn read_name(reader: &mut Reader<'_>) {
    let mut value = Value(reader.next_line().unwrap_or_default());
    let name = value.name().to_owned();
    let assignment = value.choice(&Assignment::WORDS).unwrap_or_default();
    let spec = AccessSpec {
        name,
        assignment,
        lines: Vec::new(),
    };
    let specs = &mut reader.parsed.config.specs;
    // An earlier one with the same name is replaced.
    specs.retain(|listed| listed.name != spec.name);
    specs.push(spec);
}

/// The lines of the specification that was named last.
pub(super) fn read_lines(reader: &mut Reader<'_>) {
    let texts = reader.list();
    let mut lines = Vec::new();
    for text in texts {
        match parse_line(text, false).filter(|_| lines.len() < MAX_LINES) {
            Some(line) => lines.push(line),
            None => return reader.refuse_line(text, INVALID, COLUMNS),
        }
    }
    if shares(&lines) != 100 {
        return reader.refuse(SHARES, "make the `%ofsize` column add up to 100");
    }
    if let Some(spec) = reader.parsed.config.specs.last_mut() {
        spec.lines = lines;
    }
}

/// The form before 1998.05.21: six numbers in a line, and a specification ends where its shares
/// reach 100.
pub(super) fn read_old(reader: &mut Reader<'_>) {
    let mut lines: Vec<SpecLine> = Vec::new();
    while let Some(text) = reader.next_line() {
        if text.is_empty() || text.starts_with('\'') {
            continue;
        }
        let Some(line) = parse_line(text, true) else {
            return reader.refuse(INVALID, "a line is `size %ofsize %reads %random delay burst`");
        };
        lines.push(line);
        match shares(&lines) {
            ..100 => continue,
            100 => {}
            101.. => return reader.refuse(SHARES, "make the `%ofsize` column add up to 100"),
        }
        reader.parsed.config.specs.push(AccessSpec {
            name: old_name(&lines),
            assignment: Assignment::All,
            lines: std::mem::take(&mut lines),
        });
    }
    if !lines.is_empty() {
        reader.refuse(SHARES, "make the `%ofsize` column add up to 100");
    }
}

fn shares(lines: &[SpecLine]) -> u32 {
    lines.iter().map(|line| line.percent).sum()
}

/// A line of numbers. The old form has neither alignment nor reply.
fn parse_line(text: &str, is_old: bool) -> Option<SpecLine> {
    let mut value = Value(text);
    let mut next = || value.count();
    let line = SpecLine {
        size: next()?,
        percent: next()?,
        reads: next()?,
        random: next()?,
        delay: next()?,
        burst: next()?,
        align: if is_old { OLD_ALIGN } else { next()? },
        reply: if is_old { 0 } else { next().unwrap_or_default() },
    };
    let shares = [line.percent, line.reads, line.random];
    let is_used = line.percent > 0;
    let is_valid = !is_used || line.size > 0 && line.burst > 0;
    let is_valid = is_valid && shares.iter().all(|share| *share <= 100);
    is_valid.then_some(line)
}

/// The name that Iometer itself gives to a specification of one line.
pub(crate) fn usual_name(line: &SpecLine) -> String {
    let SpecLine { reads, random, .. } = line;
    format!("{}; {reads}% Read; {random}% random", format_size(line.size))
}

/// A name made from the values, because the old form has no names.
fn old_name(lines: &[SpecLine]) -> String {
    let [line] = lines else {
        let first = lines.first().map_or(0, |line| line.size);
        return format!("{} sizes from {}", lines.len(), format_size(first));
    };
    let order = match line.random {
        0 => "sequential".to_owned(),
        100 => "random".to_owned(),
        share => format!("{share}% random"),
    };
    format!("{} {order} {}% reads", format_size(line.size), line.reads)
}

fn format_size(bytes: u32) -> String {
    match bytes {
        bytes if bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        bytes if bytes.is_multiple_of(1024) => format!("{} KiB", bytes / 1024),
        bytes => format!("{bytes} B"),
    }
}
