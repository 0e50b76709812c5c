//! Parses values of options. Every error lists the valid values.

use model::access::{
    Access, Continuation, Mixed, Normal, Once, Pareto, Placement, RangeBasis, RangeShare, Ranges, RangesRule,
    Sequential, Zipf,
};
use model::block_size::{BlockSizes, SizeShare};
use model::content::Content;
use model::plan::RateUnit;
use model::{Bytes, Nanos, PerDirection};

use crate::nearest::nearest;

pub(super) fn parse_size(text: &str) -> Result<Bytes, String> {
    let bytes: Bytes = text
        .parse()
        .map_err(|error: model::units::UnitError| error.to_string())?;
    Ok(bytes)
}

/// Parses a block size, with a hint for `4KB`, which often means 4096.
pub(super) fn parse_block(text: &str) -> Result<Bytes, String> {
    let bytes = parse_size(text)?;
    let lower = text.to_ascii_lowercase();
    if lower.ends_with('b') && !lower.ends_with("ib") && !bytes.0.is_multiple_of(512) {
        let unit = &text.trim()[..text.trim().len() - 1];
        return Err(format!("{text} is {} bytes; did you mean {unit}iB?", bytes.0));
    }
    if bytes.0 == 0 {
        Err("must be above 0".into())
    } else {
        Ok(bytes)
    }
}

pub(super) fn parse_time(text: &str) -> Result<Nanos, String> {
    text.parse().map_err(|error: model::units::UnitError| error.to_string())
}

pub(super) fn parse_count(text: &str, min: u64, max: u64) -> Result<u64, String> {
    let compact = text.trim().replace('_', "");
    let (digits, factor) = match compact.to_ascii_lowercase().strip_suffix('k') {
        Some(digits) => (digits.to_owned(), 1000),
        None => (compact, 1),
    };
    let value: u64 = digits.parse().map_err(|_| format!("`{text}` is not a whole number"))?;
    let value = value
        .checked_mul(factor)
        .ok_or_else(|| format!("`{text}` is too large"))?;
    if (min..=max).contains(&value) {
        Ok(value)
    } else {
        Err(format!("must be {min} to {max}, not {value}"))
    }
}

pub(super) fn parse_count_u32(text: &str, min: u32, max: u32) -> Result<u32, String> {
    parse_count(text, min.into(), max.into()).map(|number| number as u32)
}

pub(super) fn parse_percent(text: &str) -> Result<f64, String> {
    let value: f64 = text
        .trim()
        .trim_end_matches('%')
        .trim()
        .parse()
        .map_err(|_| format!("`{text}` is not a percentage"))?;
    if (0.0..=100.0).contains(&value) {
        Ok(value)
    } else {
        Err(format!("must be 0 to 100 percent, not {value}"))
    }
}

pub(super) fn parse_flag(text: &str) -> Result<bool, String> {
    match text.trim() {
        "" | "true" | "yes" | "on" | "1" => Ok(true),
        "false" | "no" | "off" | "0" => Ok(false),
        other => Err(format!("must be true or false, not `{other}`")),
    }
}

/// One of a few words.
pub(super) fn parse_keyword<T: Copy>(text: &str, words: &[(&str, T)]) -> Result<T, String> {
    let entry = words.iter().find(|(word, _)| *word == text.trim());
    let known_words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    entry
        .map(|(_, value)| *value)
        .ok_or_else(|| unknown_word_error(text, &known_words))
}

/// The error for a word that is not one of `known`.
pub(super) fn unknown_word_error(text: &str, known_words: &[&str]) -> String {
    let list = known_words.join(", ");
    match nearest(text, known_words.iter().copied()) {
        Some(near) => format!("`{text}` is not one of {list}; did you mean `{near}`?"),
        None => format!("`{text}` is not one of {list}"),
    }
}

/// `4000`, `4000 iops`, `100MiB/s`.
pub(super) fn parse_rate(text: &str) -> Result<(u64, RateUnit), String> {
    let trimmed = text.trim();
    if let Some(size_text) = trimmed.strip_suffix("/s") {
        let number = size_text.trim();
        if !number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || c == '_' || c == '.') {
            return Err(format!(
                "`{trimmed}` has no unit: write `{number}` for operations, or `{number}B/s` for bytes, per second"
            ));
        }
        let bytes = parse_size(size_text)?;
        return if bytes.0 > 0 {
            Ok((bytes.0, RateUnit::Bytes))
        } else {
            Err("must be above 0".into())
        };
    }
    let lower = trimmed.to_ascii_lowercase();
    let number = lower.strip_suffix("iops").unwrap_or(&lower);
    if lower.ends_with('b') && parse_size(trimmed).is_ok() {
        return Err(format!(
            "`{trimmed}` is a size; write `{trimmed}/s` for bytes per second"
        ));
    }
    parse_count(number, 1, 1_000_000_000_000)
        .map(|value| (value, RateUnit::Operations))
        .map_err(|why| format!("{why}; a rate is a number of operations (`4000`) or bytes (`100MiB/s`) per second"))
}

/// `random`, `sequential`, `random-once`, `zipf:1.2`, `pareto:0.2`, `normal:10`, `hot:90/10`,
/// `mixed:60`.
pub(super) fn parse_access(text: &str) -> Result<Access, String> {
    let (kind, parameter) = match text.trim().split_once(':') {
        Some((kind, parameter)) => (kind.trim(), Some(parameter.trim())),
        None => (text.trim(), None),
    };
    let number = |default: f64| match parameter {
        None => Ok(default),
        Some(text) => match text.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(value),
            _ => Err(format!("`{text}` is not a number")),
        },
    };
    let in_range = |value: f64, ok: bool, range: &str| {
        if ok {
            Ok(value)
        } else {
            Err(format!("the parameter of {kind} must be {range}, not {value}"))
        }
    };
    let placement = match kind {
        "sequential" | "random" | "random-once" if parameter.is_some() => {
            return Err(format!("`{kind}` takes no parameter"));
        }
        "sequential" => return Ok(Access::Sequential(Sequential::default())),
        "random" => Placement::Uniform(Default::default()),
        "random-once" => Placement::Once(Once::default()),
        "zipf" => {
            let theta = number(1.1)?;
            Placement::Zipf(Zipf {
                theta: in_range(theta, theta > 0.0, "above 0")?,
                center: None,
            })
        }
        "pareto" => {
            let h = number(0.2)?;
            Placement::Pareto(Pareto {
                h: in_range(h, h > 0.0 && h < 1.0, "between 0 and 1")?,
                center: None,
            })
        }
        "normal" => {
            let width = number(10.0)?;
            let deviation_percent = in_range(width, width > 0.0 && width <= 100.0, "above 0 and at most 100")?;
            Placement::Normal(Normal {
                deviation_percent,
                center: 0.5,
            })
        }
        "hot" => parse_hot_area(parameter.unwrap_or("90/10"))?,
        "mixed" => {
            let jumps = number(50.0)?;
            let jumps = in_range(jumps, (1.0..=99.0).contains(&jumps), "1 to 99")?;
            return Ok(Access::Mixed(Mixed {
                placement: Placement::Uniform(Default::default()),
                random_percent: PerDirection::all(jumps as u8),
                continuation: Continuation::Stride,
            }));
        }
        other => {
            let known_words = [
                "random", "sequential", "random-once", "zipf", "pareto", "normal", "hot", "mixed",
            ];
            return Err(unknown_word_error(other, &known_words));
        }
    };
    Ok(Access::Random { placement })
}

/// `90/10`: 90 % of the operations to the first 10 % of the target.
fn parse_hot_area(text: &str) -> Result<Placement, String> {
    let parts = text
        .split_once('/')
        .ok_or("a hot area is written as share of operations / share of target: 90/10")?;
    let (operations, space) = (parse_percent(parts.0)?, parse_percent(parts.1)?);
    if !(0.0..100.0).contains(&space) || space == 0.0 || operations == 0.0 || operations >= 100.0 {
        return Err("both shares of a hot area must be above 0 and below 100 percent".into());
    }
    let shares = vec![
        RangeShare::new(operations, space),
        RangeShare::new(100.0 - operations, 100.0 - space),
    ];
    let shares = PerDirection::all(shares);
    Ok(Placement::Ranges(Ranges::new(
        RangeBasis::Percent,
        RangesRule::Native,
        shares,
    )))
}

/// `4KiB`, `4KiB-64KiB`, `4KiB/60,64KiB/40`.
pub(super) fn parse_block_sizes(text: &str) -> Result<BlockSizes, String> {
    if text.contains('/') {
        let mut entries = Vec::new();
        for size_share in text.split(',') {
            let (length, share) = size_share
                .split_once('/')
                .ok_or_else(|| format!("`{size_share}` has no share"))?;
            entries.push(SizeShare::new(parse_block(length)?, parse_percent(share)?));
        }
        let sum: f64 = entries.iter().map(|entry| entry.percent).sum();
        if (sum - 100.0).abs() > 1e-6 {
            return Err(format!("the shares add up to {sum} percent, not 100"));
        }
        return Ok(BlockSizes::Split { entries });
    }
    match text.split_once('-') {
        None => Ok(BlockSizes::Fixed {
            size: parse_block(text)?,
        }),
        Some((low, high)) => {
            let (low, high) = (parse_block(low)?, parse_block(high)?);
            if low > high {
                return Err(format!("{low} is larger than {high}: write the smaller one first"));
            }
            Ok(BlockSizes::range(low, high))
        }
    }
}

/// `random`, `once`, `zeros`, `counting`, `compressible:50`, `duplicated:30`.
pub(super) fn parse_content(text: &str) -> Result<Content, String> {
    let (kind, parameter) = match text.trim().split_once(':') {
        Some((kind, parameter)) => (kind.trim(), Some(parameter)),
        None => (text.trim(), None),
    };
    let share = || parse_percent(parameter.unwrap_or("50")).map(|value| value as u8);
    match kind {
        "random" => Ok(Content::Fresh),
        "once" => Ok(Content::Once),
        "zeros" => Ok(Content::Zeros),
        "counting" => Ok(Content::Counting),
        "compressible" => Ok(Content::Compressible {
            percent: share()?,
            chunk: 512,
            pattern: Vec::new(),
        }),
        "duplicated" => Ok(Content::Duplicated {
            percent: share()?,
            working_set: 0,
            shared_working_set: false,
            constant: None,
        }),
        other => Err(format!(
            "`{other}` is not one of random, once, zeros, counting, compressible:PERCENT, duplicated:PERCENT"
        )),
    }
}

/// `0,2-5`.
pub(super) fn parse_cpus(text: &str) -> Result<Vec<u32>, String> {
    let mut list = Vec::new();
    for range in text.split(',').map(str::trim).filter(|range| !range.is_empty()) {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (parse_count(first, 0, 4095)?, parse_count(last, 0, 4095)?);
        if first > last {
            return Err(format!("{first} is larger than {last}: write the smaller one first"));
        }
        list.extend(first as u32..=last as u32);
    }
    if list.is_empty() {
        Err("the CPU list is empty".into())
    } else {
        Ok(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_understood() {
        assert_eq!(parse_rate("4000"), Ok((4000, RateUnit::Operations)));
        assert_eq!(parse_rate("4k iops"), Ok((4000, RateUnit::Operations)));
        assert_eq!(parse_rate("100MiB/s"), Ok((100 << 20, RateUnit::Bytes)));
        assert_eq!(parse_rate("4000B/s"), Ok((4000, RateUnit::Bytes)));
        assert_eq!(
            parse_rate("4000/s").unwrap_err(),
            "`4000/s` has no unit: write `4000` for operations, or `4000B/s` for bytes, per second"
        );
        assert_eq!(parse_cpus("0,2-4"), Ok(vec![0, 2, 3, 4]));
        assert_eq!(parse_percent("70 %"), Ok(70.0));
        assert!(matches!(parse_block_sizes("4k-64k"), Ok(BlockSizes::Range { .. })));
        assert!(matches!(
            parse_block_sizes("4k/60,64k/40"),
            Ok(BlockSizes::Split { .. })
        ));
        assert!(matches!(
            parse_access("hot:80/20"),
            Ok(Access::Random {
                placement: Placement::Ranges(_)
            })
        ));
        assert!(matches!(
            parse_content("compressible:75"),
            Ok(Content::Compressible { percent: 75, .. })
        ));
    }

    #[test]
    fn mistakes_are_explained() {
        let check = |result: Result<(), String>, part: &str| {
            let error = result.unwrap_err();
            assert!(error.contains(part), "`{error}` should mention `{part}`");
        };
        check(parse_block("4KB").map(drop), "did you mean 4KiB?");
        check(parse_block("0").map(drop), "above 0");
        check(parse_access("randm").map(drop), "did you mean `random`?");
        check(parse_access("zipf:-1").map(drop), "above 0");
        check(parse_access("sequential:4").map(drop), "no parameter");
        check(parse_rate("fast").map(drop), "operations");
        check(parse_percent("120").map(drop), "0 to 100");
        check(parse_block_sizes("4k/60,8k/60").map(drop), "120");
        check(parse_block_sizes("64k-4k").map(drop), "write the smaller one first");
        check(parse_cpus("3-1").map(drop), "write the smaller one first");
        check(parse_count("x", 0, 9).map(drop), "whole number");
        check(parse_count("10", 0, 9).map(drop), "0 to 9");
    }
}
