//! `fathom calc`.

use analysis::calc;
use analysis::knee::{self, Axis, Point};
use analysis::requirement;
use clap::{Arg, ArgAction, ArgMatches, Command};
use model::{Bytes, Nanos};
use report::numbers::{duration, rate, throughput};
use serde::Serialize;
use serde_json::{Value, json};

use super::sweep::how;
use crate::exit::Exit;
use crate::fault::{Fault, Faults};
use crate::screen::{self, wrapped};

/// Percentiles that have a flag of their own.
const PERCENTILES: [(&str, f64); 8] = [
    ("p50", 0.5),
    ("p90", 0.9),
    ("p95", 0.95),
    ("p99", 0.99),
    ("p99.9", 0.999),
    ("p99.99", 0.9999),
    ("p99.999", 0.99999),
    ("p99.9999", 0.999999),
];

/// `fathom calc knee`.
fn knee() -> Command {
    Command::new("knee")
        .about("Reads a curve of queue depth and IOPS: bounds, knee, scalability")
        .arg(
            Arg::new("points")
                .value_name("DEPTH=IOPS")
                .required(true)
                .num_args(2..)
                .help("Points, such as 1=30000 64=107000 512=146000"),
        )
}

/// The words of the command line.
pub fn command() -> Command {
    let figure = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).help(help)
    };
    let json = || {
        Arg::new("json")
            .long("json")
            .action(ArgAction::SetTrue)
            .help("One JSON document for programs")
    };
    let iops = || figure("iops", "RATE", "Operations per second");
    let little = Command::new("little")
        .about("Little's law: any two of rate, latency and operations in flight give the third")
        .args([
            iops(),
            figure("latency", "TIME", "Mean latency, such as 3ms"),
            figure("depth", "N", "Operations in flight"),
        ]);
    let bandwidth = Command::new("bandwidth")
        .visible_alias("bw")
        .about("Any two of rate, block size and throughput give the third")
        .args([
            iops(),
            figure("block", "SIZE", "Bytes of an operation: 8KiB is 8192, 8KB is 8000"),
            figure("throughput", "SIZE/s", "Bytes per second: 100MiB/s or 100MB/s"),
        ]);
    let flags = PERCENTILES.map(|(name, _)| {
        Arg::new(name)
            .long(name)
            .action(ArgAction::SetTrue)
            .help("This one alone")
    });
    let percentile = Command::new("percentile")
        .about("How many operations a percentile takes, and how long that is at a rate")
        .arg(iops().required(true))
        .args(flags);
    let burst = Command::new("burst")
        .about("How long burst credits last, and how long they take to come back")
        .args([
            figure(
                "capacity",
                "CREDITS",
                "Of the full bucket: operations (5.4M) or bytes (1TiB)",
            )
            .required(true),
            figure("refill", "RATE", "What flows in each second: 300, or 40MiB/s").required(true),
            figure(
                "ceiling",
                "RATE",
                "What is used each second during a burst: 3000, or 250MiB/s",
            )
            .required(true),
        ]);
    let crossover = Command::new("crossover")
        .about("The block size up to which a limit of IOPS binds, and beyond which one of throughput does")
        .args([
            iops().required(true),
            figure("throughput", "SIZE/s", "Limit of bytes per second").required(true),
        ]);
    let all = [little, bandwidth, percentile, burst, crossover, knee()];
    Command::new("calc")
        .about("Calculate: Little's law, percentiles, burst credits, knees")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .after_help(
            "Examples:\n  fathom calc little --iops 4000 --latency 3ms\n  fathom calc bandwidth --iops 125 --block 8KB\n  \
             fathom calc percentile --p99.99 --iops 4000\n  \
             fathom calc burst --capacity 5.4M --refill 300 --ceiling 3000\n  \
             fathom calc crossover --iops 5000 --throughput 200MB/s\n  \
             fathom calc knee 1=30000 64=107000 512=146000",
        )
        .subcommands(all.map(|command| command.arg(json())))
}

/// Does sums.
pub fn execute(args: &ArgMatches) -> Result<Exit, Faults> {
    let (name, args) = args.subcommand().expect("clap asks for one");
    let answer = match name {
        "little" => little(args)?,
        "bandwidth" => bandwidth(args)?,
        "percentile" => percentile(args)?,
        "burst" => burst(args)?,
        "crossover" => crossover(args)?,
        _ => curve(args)?,
    };
    match args.get_flag("json") {
        true => {
            let text = serde_json::to_string_pretty(&answer.json).expect("plain values are valid JSON");
            screen::put(&(text + "\n"))
        }
        false => screen::put(&answer.text),
    }
}

struct Answer {
    text: String,
    json: Value,
}

fn answer<T: Serialize>(text: String, of: &T) -> Answer {
    Answer {
        text,
        json: serde_json::to_value(of).expect("plain values are valid JSON"),
    }
}

/// A flag's value through a reader that says what is wrong.
fn read<T>(args: &ArgMatches, name: &str, reader: impl Fn(&str) -> Result<T, String>) -> Result<Option<T>, Faults> {
    let text = args.get_one::<String>(name);
    let read =
        |text: &String| reader(text).map_err(|why| Faults::usage(Fault::new(why).at(format!("--{name} {text}"))));
    text.map(read).transpose()
}

/// `4000`, `4k`, `5.4M`, `4000iops`.
fn number(text: &str) -> Result<f64, String> {
    let lower = text.trim().to_ascii_lowercase().replace(['_', ','], "");
    let plain = lower.strip_suffix("iops").unwrap_or(&lower).trim();
    let (digits, factor) = match plain.char_indices().last() {
        Some((at, 'k')) => (&plain[..at], 1e3),
        Some((at, 'm')) => (&plain[..at], 1e6),
        Some((at, 'g')) => (&plain[..at], 1e9),
        _ => (plain, 1.0),
    };
    match digits.trim().parse::<f64>() {
        Ok(value) if value.is_finite() && value >= 0.0 => Ok(value * factor),
        _ => Err(format!("`{text}` is not a number; write 4000, 4k or 5.4M")),
    }
}

/// Time of one operation, which needs its unit.
fn latency(text: &str) -> Result<f64, String> {
    let read = requirement::parse_time(text).map(|ns| ns / 1e9);
    read.map_err(|(why, _)| format!("{why}: write 3ms or 500us"))
}

fn size(text: &str) -> Result<f64, String> {
    let plain = text.trim().trim_end_matches("/s");
    plain
        .parse::<Bytes>()
        .map(|bytes| bytes.0 as f64)
        .map_err(|error| error.to_string())
}

fn two_of(names: &str) -> Faults {
    Faults::usage(Fault::new(format!("exactly two of {names} are needed, each above 0")))
}

fn little(args: &ArgMatches) -> Result<Answer, Faults> {
    let (iops, latency) = (read(args, "iops", number)?, read(args, "latency", latency)?);
    let found = calc::little(iops, latency, read(args, "depth", number)?);
    let found = found.ok_or_else(|| two_of("--iops, --latency and --depth"))?;
    let latency = Nanos((found.latency_sec * 1e9).round() as u64);
    let text = format!(
        "{} operations per second x {latency} = {:.2} in flight on average\n{}",
        rate(found.iops),
        found.in_flight,
        wrapped(&format!(
            "To hold both as a promise, plan for a queue depth of {} (with a quarter to spare): what is in flight varies.",
            found.depth_with_headroom
        )),
    );
    Ok(answer(text, &found))
}

/// Bytes in both families of units: `1 MB (10^6) = 0.95 MiB (2^20)`.
fn both(bytes: f64, per: &str) -> String {
    format!(
        "{} MB{per} (10^6) = {} MiB{per} (2^20)",
        throughput(bytes / 1e6),
        throughput(bytes / f64::from(1 << 20))
    )
}

fn bandwidth(args: &ArgMatches) -> Result<Answer, Faults> {
    let (iops, block) = (read(args, "iops", number)?, read(args, "block", size)?);
    let found = calc::bandwidth(iops, block, read(args, "throughput", size)?);
    let found = found.ok_or_else(|| two_of("--iops, --block and --throughput"))?;
    let mut text = format!(
        "{} operations per second x {} bytes ({}) = {}\n",
        rate(found.iops),
        found.block_bytes.round(),
        Bytes(found.block_bytes.round() as u64),
        both(found.bytes_per_sec, "/s")
    );
    // Who writes 8KB often means 8192.
    let written = args
        .get_one::<String>("block")
        .map(|text| text.trim().to_ascii_lowercase());
    let decimal = written
        .as_deref()
        .and_then(|text| text.strip_suffix('b'))
        .filter(|text| !text.ends_with('i'));
    if let Some(binary) = decimal
        .and_then(|text| size(&format!("{text}iB")).ok())
        .filter(|other| *other != found.block_bytes)
    {
        let other = calc::bandwidth(
            read(args, "iops", number)?,
            Some(binary),
            read(args, "throughput", size)?,
        );
        if let Some(other) = other {
            text += &wrapped(&format!(
                "If blocks of {} were meant ({} bytes): {} operations per second, {}.",
                Bytes(binary as u64),
                binary,
                rate(other.iops),
                both(other.bytes_per_sec, "/s")
            ));
        }
    }
    Ok(answer(text, &found))
}

fn percentile(args: &ArgMatches) -> Result<Answer, Faults> {
    let iops = read(args, "iops", number)?.unwrap_or(0.0);
    let named = |(name, _): &&(&str, f64)| args.get_flag(name);
    let chosen: Vec<(&str, f64)> = PERCENTILES.iter().filter(named).copied().collect();
    let chosen = if chosen.is_empty() {
        PERCENTILES[3..].to_vec()
    } else {
        chosen
    };
    let mut text = format!(
        "At {} operations per second\n\n  {:<10}{:>18}{:>16}{:>16}{:>16}\n",
        rate(iops),
        "",
        "interval exists",
        "10 beyond it",
        "100 beyond it",
        "time for that"
    );
    let mut rows = Vec::new();
    for (name, share) in chosen {
        let found = calc::samples(share, iops)
            .ok_or_else(|| Faults::usage(Fault::new("a rate must be above 0").at("--iops")))?;
        text += &format!(
            "  {name:<10}{:>18}{:>16}{:>16}{:>16}\n",
            rate(found.interval_exists as f64),
            rate(found.weak as f64),
            rate(found.good as f64),
            in_time(found.good_after_sec)
        );
        rows.push(found);
    }
    text += &wrapped(
        "A hundred operations beyond a percentile make it good, ten make it weak: read it with its interval. With fewer it \
         says hardly more than the maximum.",
    );
    Ok(answer(text, &rows))
}

/// Seconds as a clock would show them.
fn in_time(seconds: f64) -> String {
    duration(Nanos((seconds * 1e9).min(9e18).round() as u64))
}

fn burst(args: &ArgMatches) -> Result<Answer, Faults> {
    // Letters that end in B are bytes; all three are the same kind of thing.
    let names = ["capacity", "refill", "ceiling"];
    let text = |name: &str| args.get_one::<String>(name).cloned().unwrap_or_default();
    let is_size = |name: &str| {
        text(name)
            .trim()
            .trim_end_matches("/s")
            .to_ascii_lowercase()
            .ends_with('b')
    };
    let sizes = names.iter().filter(|name| is_size(name) && text(name) != "0").count();
    let numbers = names.iter().filter(|name| !is_size(name) && text(name) != "0").count();
    if sizes > 0 && numbers > 0 {
        let fault = Fault::new("capacity, refill and ceiling are not of one kind: operations or bytes");
        return Err(Faults::usage(
            fault.help("write bytes with their unit, such as 1TiB, 40MiB/s, 250MiB/s"),
        ));
    }
    let reader = if sizes > 0 { size } else { number };
    let figure = |name: &str| read(args, name, reader).map(|value| value.unwrap_or(0.0));
    let found = calc::burst(figure("capacity")?, figure("refill")?, figure("ceiling")?);
    let found = found.ok_or_else(|| Faults::usage(Fault::new("capacity and ceiling must be above 0")))?;
    let clock = |sec: f64| format!("{} ({sec:.0} s)", in_time(sec));
    let text = match found.lasts_sec {
        None => wrapped(
            "The burst never ends: the refill is as fast as the ceiling, so any test measures what can be had for long.",
        ),
        Some(sec) => {
            let refills = found.refills_sec.map(|sec| format!("after {}", clock(sec)));
            format!(
                "A full bucket lasts {} at the ceiling.\nAn empty one is full again {} without load.\n{}",
                clock(sec),
                refills.unwrap_or_else(|| "never: the refill is 0,".into()),
                wrapped(
                    "A test that is shorter than the burst, on a full bucket, measures the burst and not what can be had for long."
                )
            )
        }
    };
    Ok(answer(text, &found))
}

fn crossover(args: &ArgMatches) -> Result<Answer, Faults> {
    let (iops, bytes) = (read(args, "iops", number)?, read(args, "throughput", size)?);
    let found = calc::crossover(bytes.unwrap_or(0.0), iops.unwrap_or(0.0));
    let found = found.ok_or_else(|| two_of("--iops and --throughput"))?;
    let text = format!(
        "The limits meet at {:.1} KiB ({:.0} bytes): smaller operations meet the limit of IOPS, larger ones that of throughput.\n",
        found / 1024.0,
        found
    );
    Ok(Answer {
        text,
        json: json!({ "block_bytes": found }),
    })
}

fn curve(args: &ArgMatches) -> Result<Answer, Faults> {
    let mut points = Vec::new();
    for text in args.get_many::<String>("points").into_iter().flatten() {
        let read = text
            .split_once('=')
            .and_then(|(depth, iops)| Some((number(depth).ok()?, number(iops).ok()?)));
        let read = read.filter(|(depth, iops)| *depth > 0.0 && *iops > 0.0);
        let (depth, iops) = read.ok_or_else(|| {
            let fault = Fault::new(format!("`{text}` is not a point"));
            Faults::usage(fault.help("write DEPTH=IOPS, such as 64=107000"))
        })?;
        points.push(Point::of_closed_loop(depth, iops));
    }
    let found = knee::analyse(&points, Axis::InFlight, None);
    let mut text = format!(
        "  {:>9}{:>12}{:>12}{:>16}\n",
        "in flight", "IOPS", "latency", "times alone"
    );
    for point in &found.points {
        let times = found
            .bounds
            .map_or("-".to_owned(), |bounds| format!("{:.1}", bounds.times_alone(point)));
        let latency = report::numbers::time(point.mean_ns);
        text += &format!(
            "  {:>9}{:>12}{:>12}{times:>16}\n",
            point.load,
            rate(point.iops),
            latency
        );
    }
    text += "\n";
    text += &wrapped(&found.advice.sentence);
    text += &how(&found, Axis::InFlight, false);
    Ok(answer(text, &found))
}
