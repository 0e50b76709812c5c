//! Reads the text that CrystalDiskMark copies to the clipboard. Its figures cannot decide an SLA.

use model::finding::{Finding, Severity};
use model::observation::{IoStats, Latency, Load, Observation};
use model::{Bytes, Direction};

use super::numbers::{parse_decimal, parse_integer, parse_prefixed};
use super::{Form, Imported};

const NAME: &str = "CrystalDiskMark";

/// True if the text comes from CrystalDiskMark.
pub(super) fn is_report(text: &str) -> bool {
    text.lines()
        .any(|line| line.contains(NAME) && line.contains("hiyohiyo"))
        && text.contains("MB/s")
}

/// Reads the rows.
pub(super) fn read(text: &str) -> Imported {
    let mut imported = Imported::new(Form::CrystalDiskMark);
    let mut section = None;
    let mut version = None;
    let mut tool = NAME;
    for line in text.lines().map(str::trim) {
        match line {
            "[Read]" => section = Some(Direction::Read),
            "[Write]" => section = Some(Direction::Write),
            _ => {}
        }
        if let Some(rest) = line.strip_prefix(NAME) {
            version = rest.split_whitespace().next().map(str::to_owned);
        }
        // `fathom quick --cdm` prints the same rows.
        if let Some((fathom_version, _)) = line.strip_prefix("fathom ").and_then(|rest| rest.split_once(',')) {
            (tool, version) = ("fathom", Some(fathom_version.to_owned()));
        }
        imported.loads.extend(parse_row(line, section).map(|load| Observation {
            tool: tool.into(),
            version: version.clone(),
            ..load
        }));
    }
    let message = "CrystalDiskMark results cannot verify an SLA";
    let finding = Finding::new("NOT-ADMISSIBLE", Severity::Warning, message);
    let why = "CrystalDiskMark cannot issue the load of an SLA: a mix of reads and writes, a fixed \
        rate, five minutes; without a rate limit, latency only reflects its queue depth";
    let help = "measure with `fathom verify`, which uses the profile of the SLA; see `fathom \
        explain anti-patterns crystaldiskmark`";
    imported.findings.push(finding.why(why).help(help));
    imported
}

/// `SEQ    1MiB (Q=  8, T= 1):  3543.109 MB/s [   3379.0 IOPS] <  2365.90 us>`,
/// or, before version 7, `Random Read 4KiB (Q= 32,T= 1)`.
fn parse_row(line: &str, section: Option<Direction>) -> Option<Observation> {
    let is_label = |(label, _): &(&str, &str)| label.ends_with([' ', ')']);
    let (label, rest) = line.rsplit_once(": ").filter(is_label)?;
    let (mb_per_sec, rest) = rest.trim().split_once(" MB/s")?;
    let bytes_per_sec = parse_decimal(mb_per_sec.trim())? * 1e6;
    let random = match label.split_whitespace().next()? {
        "SEQ" | "Sequential" => false,
        "RND" | "Random" => true,
        _ => return None,
    };
    let direction = match (label.contains("Read"), label.contains("Write")) {
        (true, _) => Direction::Read,
        (false, true) => Direction::Write,
        (false, false) => section?,
    };
    let between = |open: char, close: &str| Some(rest.split_once(open)?.1.split_once(close)?.0.trim().to_owned());
    let operand = |key: &str| parse_integer(label.split_once(key)?.1.split([',', ')']).next()?.trim());
    let (queues, threads) = (operand("Q=").or_else(|| operand("QD=")), operand("T="));
    let mean = between('<', " us>").as_deref().and_then(parse_decimal);
    let flow = IoStats {
        iops: between('[', " IOPS]").as_deref().and_then(parse_prefixed),
        bytes_per_sec: Some(bytes_per_sec),
        latency: mean.map(|mean| Latency {
            mean_ns: Some(mean * 1e3),
            ..Latency::default()
        }),
        ..IoStats::default()
    };
    let block = label
        .split_whitespace()
        .find_map(|word| word.parse::<Bytes>().ok().filter(|size| size.0 > 1));
    let mut observation = Observation {
        tool: NAME.into(),
        name: label.split_whitespace().collect::<Vec<_>>().join(" "),
        load: Load {
            workers: threads.map(|threads| threads as u32),
            depth: queues.map(|queues| queues.saturating_mul(threads.unwrap_or(1))),
            block,
            read_percent: Some(if direction == Direction::Read { 100.0 } else { 0.0 }),
            random: Some(random),
            closed_loop: Some(true),
            ..Load::default()
        },
        total: flow.clone(),
        ..Observation::default()
    };
    observation.name += &format!(" {}", direction.word());
    observation.directions[direction] = Some(flow);
    Some(observation)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EIGHT: &str = "CrystalDiskMark 8.0.4 x64 (C) 2007-2021 hiyohiyo\n* MB/s = 1,000,000 bytes/s\n\n[Read]\n  SEQ    1MiB (Q=  8, T= 1):  \
                         3543.109 MB/s [   3379.0 IOPS] <  2365.90 us>\n  RND    4KiB (Q= 32, T=16):  1200.000 MB/s [ 292968.8 IOPS] <  1740.00 us>\n\n\
                         [Write]\n  RND    4KiB (Q=  1, T= 1):   150.250 MB/s [  36682.1 IOPS] <    27.10 us>\n";

    #[test]
    fn rows_are_read_and_marked_inadmissible() {
        assert!(is_report(EIGHT));
        let read = read(EIGHT);
        assert_eq!(read.loads.len(), 3);
        assert_eq!(read.loads[0].name, "SEQ 1MiB (Q= 8, T= 1) read");
        let many = &read.loads[1];
        assert_eq!((many.load.depth, many.load.block), (Some(512), Some(Bytes(4096))));
        assert_eq!(many.total.iops, Some(292_968.8));
        assert!(read.loads[2].directions.write.is_some());
        assert_eq!(read.loads[2].version.as_deref(), Some("8.0.4"));
        assert_eq!(read.findings[0].rule, "NOT-ADMISSIBLE");
    }

    #[test]
    fn rows_of_older_versions_are_read() {
        let old = "CrystalDiskMark 5.2.1 x64 (C) 2007-2017 hiyohiyo\n   Sequential Read (Q= 32,T= 1) :   550.123 MB/s\n  \
                   Random Write 4KiB (Q= 32,T= 1) :   300.100 MB/s [ 73266.6 IOPS]\n";
        let read = read(old);
        assert_eq!(read.loads[0].total.iops, None);
        assert_eq!(read.loads[1].load.depth, Some(32));
    }
}
