//! Workload definitions: `wd=`.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::blocks::Block;
use super::definitions::{Parameters, Sd, Transfer, Wd, parse_flags, parse_range};
use super::files::check_threads;
use super::hosts::parse_selected_labels;
use super::values::MAX_RATE;
use crate::Diagnostic;

/// Midpoint of `poisson` and of `hotband=`.
pub(super) const DEFAULT_MIDPOINT: f64 = 3.0;
/// The maximum error of percentages that must add up to 100.
const MAX_SUM_ERROR: f64 = 0.05;

/// A workload definition, or the defaults of those that follow.
pub(super) fn parse_wd(block: &Block, parameters: &Parameters) -> Result<Wd, Diagnostic> {
    if parameters.wds.iter().any(|other| other.name == block.name) {
        return Err(block.error(format!("duplicate WD names not allowed: {}", block.name)));
    }
    let hosts = parse_selected_labels(block, parameters)?;
    let has_host = |sd: &&Sd| sd.hosts.iter().any(|host| hosts.contains(host));
    let mut sds = BTreeSet::new();
    for wanted in block.expanded_values("sd") {
        let matching_sds = parameters.sds.iter().filter(|sd| matches_name(&wanted, &sd.name));
        let matching_sds: Vec<String> = matching_sds.filter(has_host).map(|sd| sd.name.clone()).collect();
        if matching_sds.is_empty() {
            return Err(block.error(format!(
                "Could not find sd={wanted} for wd={},host={}",
                block.name,
                hosts.join(",")
            )));
        }
        if let Some(twice) = matching_sds.iter().find(|name| sds.contains(*name)) {
            return Err(block.error(format!("SD={twice} is requested more than once in wd={}", block.name)));
        }
        sds.extend(matching_sds);
    }
    let rdpct = parse_read_percent(block)?;
    let stride = match block.numbers("stride")?[..] {
        [] => None,
        [min, max] => Some((min as u64, max as u64)),
        _ => return Err(block.error("stride= requires two parameters: 'stride=(min,max)'")),
    };
    let streams = block.number("streams")?.map(|streams| streams as u32);
    if streams.is_some_and(|streams| streams < 2) {
        return Err(block.error("'streams=' parameter must specific a minimum of two streams"));
    }
    let threads = block.number("threads")?;
    let threads = threads.map(|threads| check_threads(block, threads)).transpose()?;
    if threads.is_some() && !parameters.general.concatenates {
        let message =
            "Workload Definition (WD) level thread= parameter may only be used together with 'concatenatesds=yes'";
        return Err(block.error(message));
    }
    let (seekpct, poisson) = seek(block)?;
    let hotband = parse_range(block, "hotband")?;
    let (rate, priority) = parse_rate(block)?;
    Ok(Wd {
        name: block.name.clone(),
        sds: Arc::new(sds),
        xfersize: transfer(block, "xfersize")?,
        rdpct: rdpct as u32,
        seekpct,
        // A hot band is a range whose beginning is used most.
        poisson: poisson.or(hotband.map(|_| DEFAULT_MIDPOINT)),
        stride,
        skew: block.number("skew")?.filter(|skew| *skew > 0.0),
        hits: (parse_percent(block, "rhpct", 0.0)?, parse_percent(block, "whpct", 0.0)?),
        has_hotband: hotband.is_some(),
        range: hotband.or(parse_range(block, "range")?),
        flags: parse_flags(block)?,
        streams,
        threads,
        rate,
        priority,
        hosts,
    })
}

/// The percentage of reads: of `rdpct=` and `wrpct=`, the last one takes effect.
fn parse_read_percent(block: &Block) -> Result<f64, Diagnostic> {
    let (reads, writes) = (block.position("rdpct"), block.position("wrpct"));
    let (read_percent, write_percent) = (
        parse_percent(block, "rdpct", 100.0)?,
        parse_percent(block, "wrpct", 0.0)?,
    );
    if let (Some(reads), Some(writes)) = (reads, writes)
        && (reads < block.default_count) == (writes < block.default_count)
        && read_percent + write_percent != 100.0
    {
        let message = format!(
            "wd={}: rdpct={read_percent} and wrpct={write_percent} do not add up to 100",
            block.name
        );
        return Err(block.error(message).help("remove one of them"));
    }
    Ok(if writes > reads {
        100.0 - write_percent
    } else {
        read_percent
    })
}

/// The rate of a workload, and its priority.
fn parse_rate(block: &Block) -> Result<(Option<f64>, Option<u32>), Diagnostic> {
    let (rate, priority) = (block.number("iorate")?, block.number("priority")?);
    let is_count = |number: f64| (1.0..=1e6).contains(&number) && number.fract() == 0.0;
    match (rate, priority) {
        (Some(_), None) => {
            return Err(block.error("A workload with iorate= also must have  priority= specified."));
        }
        (Some(rate), _) if !(rate > 0.0 && rate < MAX_RATE) => {
            return Err(block.invalid("iorate", rate).help("specify operations per second"));
        }
        (_, Some(priority)) if !is_count(priority) => {
            return Err(block
                .invalid("priority", priority)
                .help("use 1 for the highest priority, or a larger number"));
        }
        (Some(_), _) if block.item("skew").is_some() => {
            return Err(block.error(format!(
                "wd={}: iorate= and skew= may not be specified together",
                block.name
            )));
        }
        _ => {}
    }
    Ok((rate, priority.map(|priority| priority as u32)))
}

/// Percentage of random addresses, or −1 for `eof`, and the midpoint of `poisson`.
fn seek(block: &Block) -> Result<(i32, Option<f64>), Diagnostic> {
    let Some(item) = block.item("seekpct") else {
        return Ok((100, None));
    };
    if let Some(midpoint) = parse_poisson(block, "seekpct")? {
        return Ok((100, Some(midpoint)));
    }
    let word = item.single_value().to_ascii_lowercase();
    let percent = match item.numbers("seekpct")? {
        Some(numbers) if numbers == [-1.0] && word == "-1" => -1,
        Some(_) if word.starts_with('-') => return Err(block.invalid("seekpct", word)),
        Some(_) => parse_percent(block, "seekpct", 100.0)? as i32,
        None if word == "eof" => -1,
        None if word.starts_with("seq") => 0,
        None if word.starts_with("rand") => 100,
        None => return Err(block.invalid("seekpct", word)),
    };
    Ok((percent, None))
}

/// The midpoint of `poisson`, if a parameter has that word.
pub(super) fn parse_poisson(block: &Block, field: &str) -> Result<Option<f64>, Diagnostic> {
    let words = block.expanded_values(field);
    if !words.first().is_some_and(|word| word.eq_ignore_ascii_case("poisson")) {
        return Ok(None);
    }
    let midpoint = words.get(1).map_or(Some(DEFAULT_MIDPOINT), |word| word.parse().ok());
    match midpoint.filter(|midpoint| (0.01..=100.0).contains(midpoint) && words.len() <= 2) {
        Some(midpoint) => Ok(Some(midpoint)),
        None => Err(block
            .invalid(field, words.join(","))
            .help("use `poisson`, or `(poisson,3)` with a midpoint up to 100")),
    }
}

pub(super) fn parse_percent(block: &Block, field: &str, default: f64) -> Result<f64, Diagnostic> {
    let value = block.number(field)?.unwrap_or(default).abs();
    match (0.0..=100.0).contains(&value) {
        true => Ok(value),
        false => Err(block.invalid(field, value).help("use 0 to 100")),
    }
}

pub(super) fn transfer(block: &Block, field: &str) -> Result<Transfer, Diagnostic> {
    let numbers = block.numbers(field)?;
    let parse_transfer_size = |bytes: f64| match bytes > 0.0 && bytes % 512.0 == 0.0 && bytes < 2_147_483_648.0 {
        true => Ok(bytes as u64),
        false => Err(block.error(format!("data transfer size not multiple of 512 bytes: {bytes}"))),
    };
    match numbers[..] {
        [] => Ok(Transfer::One(4096)),
        [size] if (1.0..2_147_483_648.0).contains(&size) => Ok(Transfer::One(size as u64)),
        [size] => Err(block.invalid("xfersize", size)),
        [min, max, align] => {
            let (min, max, align) = (
                parse_transfer_size(min)?,
                parse_transfer_size(max)?,
                parse_transfer_size(align)?,
            );
            match min <= max {
                true => Ok(Transfer::Steps(min, max, align)),
                false => Err(block.invalid("xfersize", format!("{min} is above {max}"))),
            }
        }
        _ if numbers.len() % 2 == 1 => {
            Err(block.error("Xfersize distribution list must be in pairs, e.g. xfersize=(1k,25,2k,25,4k,50)"))
        }
        _ => {
            let pairs = numbers
                .chunks(2)
                .map(|pair| Ok((parse_transfer_size(pair[0])?, pair[1].abs())));
            let pairs = pairs.collect::<Result<Vec<(u64, f64)>, Diagnostic>>()?;
            let sum: f64 = pairs.iter().map(|(_, share)| share).sum();
            // Published files have sums such as 100.01, and shares are weights.
            match (sum - 100.0).abs() < MAX_SUM_ERROR {
                true => Ok(Transfer::Shares(pairs)),
                false => Err(block.error(format!("Xfersize distribution does not add up to 100: {}", sum as u64))),
            }
        }
    }
}

/// A name, with a star at its end or not.
pub(super) fn matches_name(wanted: &str, name: &str) -> bool {
    match wanted.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => wanted == name,
    }
}

/// Gives each workload its share of the operations in percent: its skew, or an equal part of what
/// the skews leave. The second value is the sum of the shares, which must be 100.
pub(super) fn divide_skew<T>(workloads: Vec<T>, skew: fn(&T) -> Option<f64>) -> (Vec<(T, f64)>, f64) {
    let fixed: f64 = workloads.iter().filter_map(skew).sum();
    let open = workloads.iter().filter(|workload| skew(workload).is_none()).count();
    let share_of_open = (100.0 - fixed).max(0.0) / open.max(1) as f64;
    let with_share = |workload: T| {
        let share = skew(&workload).unwrap_or(share_of_open);
        (workload, share)
    };
    let divided = workloads.into_iter().map(with_share).collect();
    (divided, fixed + share_of_open * open as f64)
}

/// Definitions by name, in the order of the requested names; the error is the first name without a
/// definition.
pub(super) fn find_named<'a, T: Clone>(
    wanted: &'a [String],
    definitions: &[T],
    name: impl Fn(&T) -> &str,
) -> Result<Vec<T>, &'a str> {
    let mut matches = Vec::new();
    for wanted in wanted {
        let before = matches.len();
        let named = definitions
            .iter()
            .filter(|definition| matches_name(wanted, name(definition)));
        matches.extend(named.cloned());
        if matches.len() == before {
            return Err(wanted);
        }
    }
    Ok(matches)
}
