//! Parses lines of fio's normal report, of 2.x and 3.x.

use model::Nanos;

use crate::import::numbers::{parse_decimal, parse_integer, parse_prefixed, parse_u32, percent_to_share};

/// `NAME: (groupid=0, jobs=4): err= 0: pid=6755: Sat Nov 21 19:36:40 2026`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct JobHeader {
    pub name: String,
    pub group: u64,
    pub jobs: u32,
    pub error: u64,
}

pub(super) fn parse_header(line: &str) -> Option<JobHeader> {
    let (name, rest) = line.split_once(": (groupid=")?;
    let (group, rest) = rest.split_once(',')?;
    let (jobs, rest) = rest.trim().strip_prefix("jobs=")?.split_once(')')?;
    let error = rest.split_once("err=")?.1.trim_start();
    let digits = error
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(error.len());
    Some(JobHeader {
        name: name.trim().to_owned(),
        group: parse_integer(group.trim())?,
        jobs: parse_u32(jobs.trim())?,
        error: parse_integer(&error[..digits]).unwrap_or(0),
    })
}

/// `NAME: (g=0): rw=randrw, bs=(R) 4096B-4096B, …, ioengine=libaio, iodepth=8`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Banner {
    pub name: String,
    pub group: Option<u64>,
    pub rw: String,
    pub engine: String,
    pub depth: Option<u64>,
    pub block: Option<u64>,
}

pub(super) fn parse_banner(line: &str) -> Option<Banner> {
    let (name, rest) = line.split_once(": (g=")?;
    let (group, rest) = rest.split_once("):")?;
    let value = |key: &str| Some(rest.split_once(key)?.1.split(',').next()?.trim().to_owned());
    Some(Banner {
        name: name.trim().to_owned(),
        group: parse_integer(group),
        rw: value(" rw=")?,
        engine: value("ioengine=").unwrap_or_default(),
        depth: value("iodepth=").as_deref().and_then(parse_integer),
        block: rest
            .split_once("bs=")
            .and_then(|(_, sizes)| parse_block(sizes.split("ioengine=").next()?)),
    })
}

/// The block size of `(R) 4096B-4096B, (W) 4096B-4096B, …` or `4K-4K/4K-4K/4K-4K`; `None` if there
/// are several.
fn parse_block(text: &str) -> Option<u64> {
    let sizes = text.split([',', '/', '-', ' ']).map(str::trim);
    let mut sizes = sizes.filter(|size| size.starts_with(|first: char| first.is_ascii_digit()));
    let first = sizes.next()?;
    if sizes.any(|size| size != first) {
        return None;
    }
    parse_bytes(first, true).map(|bytes| bytes as u64)
}

/// Parses bytes or bytes per second with a unit: `87.5MiB/s`, `91.7MB/s`, `64.0kB`, `4K`. In 2.x a
/// unit without `i` is binary too.
pub(super) fn parse_bytes(text: &str, is_fio_2: bool) -> Option<f64> {
    let text = text.trim().trim_end_matches("/s");
    let (text, divisor) = match text.strip_suffix("bit") {
        Some(text) => (text, 8.0),
        None => (text.trim_end_matches('B'), 1.0),
    };
    let end = text
        .find(|letter: char| !(letter.is_ascii_digit() || letter == '.'))
        .unwrap_or(text.len());
    let (digits, prefix) = text.split_at(end);
    let base: f64 = if prefix.ends_with('i') || is_fio_2 && prefix != "k" {
        1024.0
    } else {
        1000.0
    };
    let power = match prefix.trim_end_matches('i') {
        "" => 0,
        "k" | "K" => 1,
        "M" => 2,
        "G" => 3,
        "T" => 4,
        _ => return None,
    };
    Some(parse_decimal(digits)? * base.powi(power) / divisor)
}

/// The first line of a direction.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Rates {
    pub iops: Option<f64>,
    pub bytes_per_sec: Option<f64>,
    pub runtime: Option<Nanos>,
}

/// `IOPS=2799, BW=87.5MiB/s (91.7MB/s)(263MiB/3001msec)`, or
/// `io=10240MB, bw=63317KB/s, iops=15829, runt=165607msec`.
pub(super) fn parse_rates(rest: &str) -> Rates {
    let value = |key: &str| {
        Some(
            rest.split_once(key)?
                .1
                .split([',', ' ', '(', ')'])
                .next()?
                .trim()
                .to_owned(),
        )
    };
    let is_fio_2 = rest.contains("runt=");
    let runtime = match is_fio_2 {
        true => value("runt="),
        false => rest
            .rsplit_once('/')
            .map(|(_, time)| time.trim_end_matches(')').to_owned()),
    };
    Rates {
        iops: value("IOPS=")
            .or_else(|| value("iops="))
            .and_then(|text| parse_prefixed(&text)),
        bytes_per_sec: value("BW=")
            .or_else(|| value("bw="))
            .and_then(|text| parse_bytes(&text, is_fio_2)),
        runtime: runtime.and_then(|text| parse_milliseconds(&text)),
    }
}

/// The deviation and the number of samples of `iops : min= 2680, …, stdev=18.38, samples=24`.
pub(super) fn parse_rate_samples(line: &str) -> Option<(f64, u64)> {
    let rest = line.strip_prefix("iops ")?.split_once("stdev=")?.1;
    let (deviation, samples) = rest.split_once(", samples=")?;
    Some((parse_prefixed(deviation.trim())?, parse_integer(samples)?))
}

fn parse_milliseconds(text: &str) -> Option<Nanos> {
    let number = parse_integer(text.trim().strip_suffix("msec")?)?;
    Some(Nanos(number.saturating_mul(1_000_000)))
}

/// The latency that a line reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Submission,
    Completion,
    Total,
}

/// `clat (usec): min=293, max=42127, avg=5496.20, stdev=3045.59`, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LatencyLine {
    pub stage: Stage,
    pub min_ns: f64,
    pub max_ns: f64,
    pub mean_ns: f64,
    pub deviation_ns: Option<f64>,
}

/// Parses a latency line; `None` for other lines. The error describes the expected form.
pub(super) fn parse_latency(line: &str) -> Option<Result<LatencyLine, &'static str>> {
    let (stage, rest) = [
        ("slat (", Stage::Submission),
        ("clat (", Stage::Completion),
        ("lat (", Stage::Total),
    ]
    .into_iter()
    .find_map(|(start, stage)| Some((stage, line.strip_prefix(start)?)))?;
    let (unit, rest) = rest.split_once(')')?;
    // Lines of the latency distribution begin the same way.
    if !rest.contains("min=") {
        return None;
    }
    let factor = time_unit_ns(unit)?;
    let value = |key: &str| parse_prefixed(rest.split_once(key)?.1.trim_start().split(',').next()?.trim());
    let scaled_value = |key: &str| value(key).map(|number| number * factor);
    let read = || {
        Some(LatencyLine {
            stage,
            min_ns: scaled_value("min=")?,
            max_ns: scaled_value("max=")?,
            mean_ns: scaled_value("avg=")?,
            deviation_ns: scaled_value("stdev="),
        })
    };
    Some(read().ok_or("min=…, max=…, avg=…, stdev=… with decimal points"))
}

/// Nanoseconds per unit, as fio writes it.
pub(super) fn time_unit_ns(unit: &str) -> Option<f64> {
    match unit {
        "nsec" => Some(1.0),
        "usec" => Some(1e3),
        "msec" => Some(1e6),
        "sec" => Some(1e9),
        _ => None,
    }
}

/// Parses the percentiles of a line `| 1.00th=[   23],  5.00th=[   28],`, in nanoseconds.
pub(super) fn parse_percentiles(line: &str, factor: f64) -> Option<Vec<(f64, f64)>> {
    let rest = line.strip_prefix('|')?;
    let mut percentiles = Vec::new();
    for item in rest.split(']') {
        let item = item.trim().trim_start_matches(',').trim();
        if item.is_empty() {
            continue;
        }
        let (label, value) = item.split_once("th=[")?;
        let share = percent_to_share(parse_decimal(label.trim())?);
        let value = parse_prefixed(value)? * factor;
        if share > 0.0 && share < 1.0 {
            percentiles.push((share, value));
        }
    }
    Some(percentiles)
}

/// Parses the counts of reads, writes and trims: `issued rwts: total=8400,3600,0,0 …`, or
/// `issued    : total=r=8400/w=3600/d=0, …`.
pub(super) fn parse_issued(line: &str) -> Option<[u64; 3]> {
    parse_counts(line.strip_prefix("issued")?, "total=")
}

/// Parses the numbers of short operations on the same line: `… short=0,0,0,0 …`.
pub(super) fn parse_short(line: &str) -> Option<[u64; 3]> {
    parse_counts(line.strip_prefix("issued")?, "short=")
}

fn parse_counts(line: &str, key: &str) -> Option<[u64; 3]> {
    let rest = line.split_once(key)?.1;
    let list = rest.split_whitespace().next()?;
    let numbers = match list.starts_with("r=") {
        true => list
            .split(',')
            .next()?
            .split('/')
            .map(|pair| parse_integer(pair.split_once('=')?.1))
            .collect::<Option<Vec<_>>>()?,
        false => list.split(',').map(parse_integer).collect::<Option<Vec<_>>>()?,
    };
    Some([*numbers.first()?, *numbers.get(1)?, *numbers.get(2)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_fio_3_are_read() {
        let found =
            parse_header("sla: (groupid=0, jobs=4): err= 0: pid=6755: Sat Nov 21 19:36:40 2026").expect("a head");
        assert_eq!((found.name.as_str(), found.jobs, found.error), ("sla", 4, 0));
        let found = parse_banner(
            "sla: (g=0): rw=randrw, bs=(R) 32.0KiB-32.0KiB, (W) 32.0KiB-32.0KiB, (T) 32.0KiB-32.0KiB, ioengine=libaio, iodepth=8",
        );
        let found = found.expect("a banner");
        assert_eq!(
            (found.block, found.depth, found.rw.as_str()),
            (Some(32 << 10), Some(8), "randrw")
        );
        let found = parse_rates(" IOPS=83.1k, BW=325MiB/s (340MB/s)(651MiB/2004msec)");
        assert_eq!(
            (found.iops, found.bytes_per_sec),
            (Some(83_100.0), Some(325.0 * 1_048_576.0))
        );
        assert_eq!(found.runtime, Some(Nanos::millis(2004)));
        let found = parse_latency("clat (usec): min=293, max=85717k, avg= 96.20, stdev= 5.59").expect("a latency");
        assert_eq!(
            found.map(|found| (found.max_ns, found.mean_ns)),
            Ok((85_717_000_000.0, 96_200.0))
        );
        assert_eq!(parse_latency("lat (usec)   : 2=0.18%, 4=0.21%"), None);
        assert_eq!(
            parse_issued("issued rwts: total=8400,3600,0,0 short=0,0,0,0"),
            Some([8400, 3600, 0])
        );
    }

    #[test]
    fn lines_of_fio_2_are_read() {
        let found = parse_rates(" io=10240MB, bw=63317KB/s, iops=15829, runt=165607msec");
        assert_eq!(
            (found.iops, found.bytes_per_sec),
            (Some(15_829.0), Some(63_317.0 * 1024.0))
        );
        assert_eq!(found.runtime, Some(Nanos::millis(165_607)));
        let found =
            parse_banner("a: (g=0): rw=randread, bs=4K-4K/4K-4K/4K-4K, ioengine=libaio, iodepth=32").expect("a banner");
        assert_eq!(found.block, Some(4096));
        assert_eq!(
            parse_short("issued rwts: total=8400,3600,0,0 short=5,2,0,0 dropped=0,0,0,0"),
            Some([5, 2, 0])
        );
        assert_eq!(
            parse_short("issued    : total=r=262144/w=0/d=0, short=r=3/w=0/d=0, drop=r=0/w=0/d=0"),
            Some([3, 0, 0])
        );
        assert_eq!(
            parse_issued("issued    : total=r=262144/w=0/d=0, short=r=0/w=0/d=0"),
            Some([262_144, 0, 0])
        );
        let found = parse_percentiles("|  1.00th=[   23], 99.99th=[85459]", 1e3).expect("two");
        assert_eq!(found, [(0.01, 23_000.0), (0.9999, 85_459_000.0)]);
    }
}
