//! `fathom calc`.

use analysis::calc;
use analysis::knee::{self, Axis, Point};
use analysis::requirement;
use model::{Bytes, Nanos};
use report::numbers::{self, duration, rate};
use serde::Serialize;
use serde_json::{Value, json};

use super::sweep::describe_analyses;
use crate::exit::Exit;
use crate::fault::{Fault, Faults};
use crate::screen::{self, wrap_paragraph};
use crate::session::Session;

/// Calculate: Little's law, percentiles, burst credits, knees
#[derive(clap::Args)]
#[command(
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "Examples:\n  fathom calc little --iops 4000 --latency 3ms\n  fathom calc bandwidth --iops 125 --block 8KB\n  \
        fathom calc percentile --p99.99 --iops 4000\n  fathom calc burst --capacity 5.4M --refill 300 --ceiling \
        3000\n  fathom calc crossover --iops 5000 --throughput 200MB/s\n  fathom calc knee 1=30000 64=107000 \
        512=146000"
)]
pub struct Args {
    #[command(subcommand)]
    calculation: Calculation,
    /// One JSON document for programs
    #[arg(long, global = true)]
    json: bool,
}

#[derive(clap::Subcommand)]
enum Calculation {
    /// Apply Little's law: any two of rate, latency, depth
    Little {
        /// Operations per second
        #[arg(long, value_name = "RATE", value_parser = parse_number)]
        iops: Option<f64>,
        /// Mean latency, such as 3ms
        #[arg(long, value_name = "TIME", value_parser = parse_seconds)]
        latency: Option<f64>,
        /// Operations in flight
        #[arg(long, value_name = "N", value_parser = parse_number)]
        depth: Option<f64>,
    },
    /// Convert between rate, block size and throughput
    #[command(visible_alias = "bw")]
    Bandwidth {
        /// Operations per second
        #[arg(long, value_name = "RATE", value_parser = parse_number)]
        iops: Option<f64>,
        /// Bytes of an operation: 8KiB is 8192, 8KB is 8000
        #[arg(long, value_name = "SIZE", value_parser = parse_block)]
        block: Option<Block>,
        /// Bytes per second: 100MiB/s or 100MB/s
        #[arg(long, value_name = "SIZE/s", value_parser = parse_size)]
        throughput: Option<f64>,
    },
    /// Compute the operations and time that a percentile needs
    Percentile(PercentileArgs),
    /// Compute how long burst credits last and take to refill
    Burst {
        /// Size of the full bucket: operations (5.4M) or bytes (1TiB)
        #[arg(long, value_name = "CREDITS", value_parser = parse_credits)]
        capacity: Credits,
        /// Credits that flow in each second: 300, or 40MiB/s
        #[arg(long, value_name = "RATE", value_parser = parse_credits)]
        refill: Credits,
        /// Credits used each second during a burst: 3000, or 250MiB/s
        #[arg(long, value_name = "RATE", value_parser = parse_credits)]
        ceiling: Credits,
    },
    /// Find the block size at which IOPS and throughput limits meet
    Crossover {
        /// Operations per second
        #[arg(long, value_name = "RATE", value_parser = parse_number)]
        iops: f64,
        /// Limit of bytes per second
        #[arg(long, value_name = "SIZE/s", value_parser = parse_size)]
        throughput: f64,
    },
    /// Analyse a curve of depth and IOPS: bounds, knee, scalability
    Knee {
        /// Points, such as 1=30000 64=107000 512=146000
        #[arg(value_name = "DEPTH=IOPS", required = true, num_args = 2.., value_parser = parse_point)]
        points: Vec<Point>,
    },
}

#[derive(clap::Args)]
struct PercentileArgs {
    /// Operations per second
    #[arg(long, value_name = "RATE", value_parser = parse_number)]
    iops: f64,
    /// Show only the percentiles chosen
    #[arg(long)]
    p50: bool,
    /// Show only the percentiles chosen
    #[arg(long)]
    p90: bool,
    /// Show only the percentiles chosen
    #[arg(long)]
    p95: bool,
    /// Show only the percentiles chosen
    #[arg(long)]
    p99: bool,
    /// Show only the percentiles chosen
    #[arg(long = "p99.9")]
    p99_9: bool,
    /// Show only the percentiles chosen
    #[arg(long = "p99.99")]
    p99_99: bool,
    /// Show only the percentiles chosen
    #[arg(long = "p99.999")]
    p99_999: bool,
    /// Show only the percentiles chosen
    #[arg(long = "p99.9999")]
    p99_9999: bool,
}

/// A block size in bytes.
#[derive(Clone, Copy)]
struct Block {
    bytes: f64,
    /// The size with a binary unit, if the unit is decimal: 8KB often means 8192.
    binary: Option<f64>,
}

/// A capacity or rate of burst credits.
#[derive(Clone, Copy)]
struct Credits {
    value: f64,
    is_bytes: bool,
}

pub fn execute(_: &Session, args: &Args) -> Result<Exit, Faults> {
    let answer = match &args.calculation {
        Calculation::Little { iops, latency, depth } => calculate_little(*iops, *latency, *depth)?,
        Calculation::Bandwidth {
            iops,
            block,
            throughput,
        } => calculate_bandwidth(*iops, *block, *throughput)?,
        Calculation::Percentile(args) => calculate_percentiles(args)?,
        Calculation::Burst {
            capacity,
            refill,
            ceiling,
        } => calculate_burst(*capacity, *refill, *ceiling)?,
        Calculation::Crossover { iops, throughput } => calculate_crossover(*iops, *throughput)?,
        Calculation::Knee { points } => analyse_curve(points),
    };
    if args.json {
        return screen::put_json(&answer.json);
    }
    screen::put(&answer.text)
}

struct Answer {
    text: String,
    json: Value,
}

fn new_answer<T: Serialize>(text: String, value: &T) -> Answer {
    Answer {
        text,
        json: serde_json::to_value(value).expect("plain values are valid JSON"),
    }
}

/// Parses a number such as `4000`, `4k`, `5.4M` or `4000iops`.
fn parse_number(text: &str) -> Result<f64, String> {
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

/// Parses a time with its unit, in seconds.
fn parse_seconds(text: &str) -> Result<f64, String> {
    let read = requirement::parse_time(text).map(|ns| ns / 1e9);
    read.map_err(|(why, _)| format!("{why}: write 3ms or 500us"))
}

fn parse_size(text: &str) -> Result<f64, String> {
    let plain = text.trim().trim_end_matches("/s");
    plain
        .parse::<Bytes>()
        .map(|bytes| bytes.0 as f64)
        .map_err(|error| error.to_string())
}

fn parse_block(text: &str) -> Result<Block, String> {
    let bytes = parse_size(text)?;
    let lower = text.trim().to_ascii_lowercase();
    let decimal = lower.strip_suffix('b').filter(|text| !text.ends_with('i'));
    let binary = decimal.and_then(|text| parse_size(&format!("{text}iB")).ok());
    Ok(Block {
        bytes,
        binary: binary.filter(|binary| *binary != bytes),
    })
}

/// Parses credits: bytes if the unit ends in B, else operations.
fn parse_credits(text: &str) -> Result<Credits, String> {
    let is_bytes = text.trim().trim_end_matches("/s").to_ascii_lowercase().ends_with('b');
    let parse = if is_bytes { parse_size } else { parse_number };
    parse(text).map(|value| Credits { value, is_bytes })
}

fn parse_point(text: &str) -> Result<Point, String> {
    let point = text
        .split_once('=')
        .and_then(|(depth, iops)| Some((parse_number(depth).ok()?, parse_number(iops).ok()?)));
    let point = point.filter(|(depth, iops)| *depth > 0.0 && *iops > 0.0);
    let (depth, iops) = point.ok_or("write DEPTH=IOPS, such as 64=107000")?;
    Ok(Point::from_closed_loop(depth, iops))
}

fn two_values_fault(names: &str) -> Faults {
    Faults::usage(Fault::new(format!("specify exactly two of {names}, each above 0")))
}

fn calculate_little(iops: Option<f64>, latency: Option<f64>, depth: Option<f64>) -> Result<Answer, Faults> {
    let solution = calc::solve_littles_law(iops, latency, depth);
    let solution = solution.ok_or_else(|| two_values_fault("--iops, --latency and --depth"))?;
    let latency = Nanos((solution.latency_sec * 1e9).round() as u64);
    let text = format!(
        "{} operations per second x {latency} = {:.2} in flight on average\n{}",
        rate(solution.iops),
        solution.in_flight,
        wrap_paragraph(&format!(
            "To guarantee both, allow a queue depth of {} (a quarter more), because the number in flight varies.",
            solution.depth_with_headroom
        )),
    );
    Ok(new_answer(text, &solution))
}

/// Formats a throughput in both kinds of units: `1 MB/s (10^6) = 0.95 MiB/s (2^20)`.
fn format_both_units(bytes: f64) -> String {
    format!(
        "{} MB/s (10^6) = {} MiB/s (2^20)",
        numbers::throughput(bytes / 1e6),
        numbers::throughput(bytes / f64::from(1 << 20))
    )
}

fn calculate_bandwidth(iops: Option<f64>, block: Option<Block>, throughput: Option<f64>) -> Result<Answer, Faults> {
    let solution = calc::bandwidth(iops, block.map(|block| block.bytes), throughput);
    let solution = solution.ok_or_else(|| two_values_fault("--iops, --block and --throughput"))?;
    let mut text = format!(
        "{} operations per second x {} bytes ({}) = {}\n",
        rate(solution.iops),
        solution.block_bytes.round(),
        Bytes(solution.block_bytes.round() as u64),
        format_both_units(solution.bytes_per_sec)
    );
    if let Some(binary) = block.and_then(|block| block.binary)
        && let Some(binary_solution) = calc::bandwidth(iops, Some(binary), throughput)
    {
        text += &wrap_paragraph(&format!(
            "If blocks of {} were meant ({} bytes): {} operations per second, {}.",
            Bytes(binary as u64),
            binary,
            rate(binary_solution.iops),
            format_both_units(binary_solution.bytes_per_sec)
        ));
    }
    Ok(new_answer(text, &solution))
}

fn calculate_percentiles(args: &PercentileArgs) -> Result<Answer, Faults> {
    let all = [
        ("p50", 0.5, args.p50),
        ("p90", 0.9, args.p90),
        ("p95", 0.95, args.p95),
        ("p99", 0.99, args.p99),
        ("p99.9", 0.999, args.p99_9),
        ("p99.99", 0.9999, args.p99_99),
        ("p99.999", 0.99999, args.p99_999),
        ("p99.9999", 0.999999, args.p99_9999),
    ];
    let shown = if all.iter().any(|(.., chosen)| *chosen) {
        all.into_iter().filter(|(.., chosen)| *chosen).collect()
    } else {
        all[3..].to_vec()
    };
    let mut text = format!(
        "At {} operations per second\n\n  {:<10}{:>18}{:>16}{:>16}{:>16}\n",
        rate(args.iops),
        "",
        "interval exists",
        "10 beyond it",
        "100 beyond it",
        "time for that"
    );
    let mut rows = Vec::new();
    for (name, share, _) in shown {
        let sample_count = calc::samples(share, args.iops)
            .ok_or_else(|| Faults::usage(Fault::new("a rate must be above 0").at("--iops")))?;
        text += &format!(
            "  {name:<10}{:>18}{:>16}{:>16}{:>16}\n",
            rate(sample_count.interval_exists as f64),
            rate(sample_count.weak as f64),
            rate(sample_count.good as f64),
            format_clock(sample_count.good_after_sec)
        );
        rows.push(sample_count);
    }
    text += &wrap_paragraph(
        "With 100 operations beyond it a percentile is reliable; with 10 it is uncertain, so read it with its \
         interval. With fewer it is little better than the maximum.",
    );
    Ok(new_answer(text, &rows))
}

fn format_clock(seconds: f64) -> String {
    duration(Nanos((seconds * 1e9).min(9e18).round() as u64))
}

fn calculate_burst(capacity: Credits, refill: Credits, ceiling: Credits) -> Result<Answer, Faults> {
    // A zero is both operations and bytes.
    let mut kinds = [capacity, refill, ceiling]
        .into_iter()
        .filter(|limit| limit.value > 0.0);
    let first = kinds.next();
    if kinds.any(|limit| first.is_some_and(|first| first.is_bytes != limit.is_bytes)) {
        let fault = Fault::new("capacity, refill and ceiling must all be operations or all be bytes");
        return Err(fault.into_usage("write bytes with their unit, such as 1TiB, 40MiB/s, 250MiB/s"));
    }
    let solution = calc::burst_times(capacity.value, refill.value, ceiling.value);
    let solution = solution.ok_or_else(|| Faults::usage(Fault::new("capacity and ceiling must be above 0")))?;
    let clock = |sec: f64| format!("{} ({sec:.0} s)", format_clock(sec));
    let text = match solution.lasts_sec {
        None => wrap_paragraph(
            "The burst never ends: the refill is as fast as the ceiling, so any test measures the sustained rate.",
        ),
        Some(sec) => {
            let refills = solution.refills_sec.map(|sec| format!("after {}", clock(sec)));
            format!(
                "A full bucket lasts {} at the ceiling.\nAn empty one is full again {} without load.\n{}",
                clock(sec),
                refills.unwrap_or_else(|| "never: the refill is 0,".into()),
                wrap_paragraph(
                    "A test that is shorter than the burst, on a full bucket, measures the burst, not the sustained \
                     rate."
                )
            )
        }
    };
    Ok(new_answer(text, &solution))
}

fn calculate_crossover(iops: f64, throughput: f64) -> Result<Answer, Faults> {
    let solution =
        calc::crossover_block_size(throughput, iops).ok_or_else(|| two_values_fault("--iops and --throughput"))?;
    let text = format!(
        "The limits meet at {:.1} KiB ({:.0} bytes): smaller operations reach the IOPS limit first, larger ones the \
         throughput limit.\n",
        solution / 1024.0,
        solution
    );
    Ok(Answer {
        text,
        json: json!({ "block_bytes": solution }),
    })
}

fn analyse_curve(points: &[Point]) -> Answer {
    let curve = knee::analyse(points, Axis::InFlight, None);
    let mut text = format!(
        "  {:>9}{:>12}{:>12}{:>16}\n",
        "in flight", "IOPS", "latency", "times alone"
    );
    for point in &curve.points {
        let times = curve
            .bounds
            .map_or("-".to_owned(), |bounds| format!("{:.1}", bounds.times_alone(point)));
        let latency = numbers::format_time(point.mean_ns);
        text += &format!(
            "  {:>9}{:>12}{:>12}{times:>16}\n",
            point.load,
            rate(point.iops),
            latency
        );
    }
    text += "\n";
    text += &wrap_paragraph(&curve.advice.sentence);
    text += &describe_analyses(&curve, Axis::InFlight, false);
    new_answer(text, &curve)
}
