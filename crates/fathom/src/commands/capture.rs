//! `fathom capture`.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::ValueHint;
use dialects::Location;
use dialects::convert;
use dialects::native::{self, Document, JobSpec, PartSpec};
use engine::probe::{BlockTrace, DeviceTimes, System, devices_under, host};
use jiff::Zoned;
use model::plan::RateUnit;
use model::{Bytes, Nanos};
use report::numbers::{count, rate};
use study::capture::{CapturedLoad, DirectionLoad, LoadRecorder};

use crate::exit::Exit;
use crate::fault::{Fault, Faults};
use crate::options;
use crate::outputs;
use crate::own_files;
use crate::screen;
use crate::session::Session;

/// Default length of the capture.
const DEFAULT_TIME: Nanos = Nanos::secs(30);
/// Run time that the job file sets.
const JOB_TIME: Nanos = Nanos::secs(60);
/// How often the kernel's ring buffer is drained.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How often progress is reported.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(5);
/// A load with less than this share of sequential operations is random; with less than this share
/// of random ones it is sequential.
const MAX_STRAY_SHARE: f64 = 0.05;
/// Flushes rarer than one in this number of writes are omitted.
const MAX_WRITES_PER_FLUSH: u64 = 10_000;

/// Record a device's I/O and write an equivalent job file
#[derive(clap::Args)]
#[command(
    long_about = "Watches the block device of a live system for a while and writes a job file for `fathom run`: \
        share of reads, sizes, operations in flight, rate, and the sequential share. It neither reads nor writes the \
        device.\n\nIt counts the kernel's block trace events, which needs root and a mounted tracefs \
        (/sys/kernel/tracing); it creates a trace instance there and removes it at the end. Without root or tracefs \
        it reads the kernel's counters (/proc/diskstats) and reports this: they have only sums, so sizes are means \
        and the order of operations is unknown.\n\nIt sees only the I/O that reaches the device: reads that the page \
        cache answers are missing, and the kernel may have merged neighbouring requests.",
    after_help = "Examples:\n  fathom capture /var/lib/postgresql --time 5m --out database.toml\n  fathom capture \
        /dev/nvme0n1 --out host.toml && fathom run host.toml --target /mnt/new --size 100g"
)]
pub struct Args {
    /// Block device; or a file or directory, whose device is watched
    #[arg(value_name = "DEVICE|PATH", value_hint = ValueHint::AnyPath)]
    what: String,
    /// How long to watch; ^C ends it early [default: 30s]
    #[arg(long, value_name = "TIME")]
    time: Option<String>,
    /// Job file to write [default: standard output]
    #[arg(long, value_name = "FILE.toml", value_hint = ValueHint::FilePath)]
    out: Option<PathBuf>,
    /// Read only the kernel's counters: no overhead, less detail
    #[arg(long)]
    counters: bool,
    /// No progress on stderr
    #[arg(short, long)]
    quiet: bool,
}

/// Source of the captured figures.
enum Source {
    /// Trace events: of merged requests, or of I/O as it enters the device.
    Events { merged: bool },
    /// Counters, and why there were no trace events.
    Counters(String),
}

pub fn execute(session: &Session, args: &Args) -> Result<Exit, Faults> {
    let Args { what, out, quiet, .. } = args;
    let time = options::parse_time("time", args.time.as_deref(), "30s")?.unwrap_or(DEFAULT_TIME);
    if let Some(path) = out {
        outputs::check_file(path, &[])?;
    }
    let device = find_device(what)?;
    let started = Zoned::now();
    engine::sys::signals::set_examining(false);
    let (load, source) = record_load(session, &device, time, args.counters, *quiet)?;
    let unless_interrupted = |exit: Exit| match session.process.is_interrupted() {
        true => Exit::interrupted(),
        false => exit,
    };
    if load.operations() == 0 {
        let fault = Fault::new(format!(
            "{device} received no I/O in {}: there is no load to write",
            load.duration
        ));
        let help = "capture while the application runs, or for longer (--time 5m); reads served by the page cache do \
            not reach the device";
        return Err(Faults::one(
            fault.at(&**what).help(help),
            unless_interrupted(Exit::Inconclusive),
        ));
    }
    let text = format_comments(&device, &load, &source, &started) + "\n" + &build_job_file(&device, &load)?;
    match out {
        None => screen::put_document(&text).map(drop)?,
        Some(path) => {
            let failed = |error| Faults::one(Fault::for_file("write", path, &error), Exit::Internal);
            own_files::write(path, text.as_bytes()).map_err(failed)?;
            if !quiet {
                screen::note(&format!(
                    "written to {}; `fathom run {} --target TARGET` issues it",
                    path.display(),
                    path.display()
                ));
            }
        }
    }
    Ok(unless_interrupted(Exit::Done))
}

/// Finds the kernel's name of the device under a path.
fn find_device(what: &str) -> Result<String, Faults> {
    // Accepts `vda` for `/dev/vda`.
    let by_name = Path::new("/dev").join(what);
    let path = if !Path::new(what).exists() && by_name.exists() {
        by_name
    } else {
        PathBuf::from(what)
    };
    let path = path.as_path();
    match devices_under(&System::live(), path) {
        None => {
            let error = std::fs::metadata(path).err();
            let error = error.unwrap_or_else(|| std::io::Error::from(std::io::ErrorKind::Unsupported));
            Err(Faults::refused(Fault::for_file("look at", path, &error)))
        }
        Some(devices) => match devices.first() {
            Some(device) => Ok(device.name.clone()),
            None => {
                let fault = Fault::new(format!("cannot find a block device under {what}"));
                Err(fault.into_refusal(
                    "name the device itself (`fathom targets` lists devices); targets in memory or on another \
                     machine have no block device here",
                ))
            }
        },
    }
}

fn record_load(
    session: &Session,
    device: &str,
    time: Nanos,
    counters: bool,
    quiet: bool,
) -> Result<(CapturedLoad, Source), Faults> {
    let system = System::live();
    let trace = match counters {
        true => Err("--counters selects it".to_owned()),
        false => BlockTrace::start(&system, device).map_err(|error| error.to_string()),
    };
    if !quiet {
        let from = if trace.is_ok() { "trace events" } else { "counters" };
        screen::note(&format!("recording the I/O of {device}, from {from}, for {time}"));
        if let Err(why) = &trace {
            screen::note(&format!(
                "note: the more detailed trace events are not available: {why}"
            ));
        }
    }
    let (then, start) = read_counters();
    let length = Duration::from_nanos(time.0);
    let mut shown = start;
    let mut print_progress = |operations: u64| {
        if !quiet && shown.elapsed() >= PROGRESS_INTERVAL {
            shown = Instant::now();
            screen::note(&format!(
                "  {} s of {time}: {} operations",
                start.elapsed().as_secs(),
                count(operations)
            ));
        }
    };
    let passed = || Nanos(start.elapsed().as_nanos() as u64);
    let used = || {
        let (now, at) = read_counters();
        now.since(&then, device)
            .map(|used| (used, Nanos(at.saturating_duration_since(start).as_nanos() as u64)))
    };
    let counted = || used().map(|(used, time)| CapturedLoad::from_counters(&used, time));
    let time_left = || length.saturating_sub(start.elapsed());
    let load = match trace {
        Err(why) => {
            while time_left() > Duration::ZERO && !session.process.is_interrupted() {
                std::thread::sleep(POLL_INTERVAL.min(time_left()));
                print_progress(used().map_or(0, |(used, _)| used.operations[0] + used.operations[1]));
            }
            return Ok((counted().unwrap_or_default(), Source::Counters(why)));
        }
        Ok(mut trace) => {
            let mut recorder = LoadRecorder::default();
            let failed = |error: std::io::Error| {
                let fault = Fault::new(format!("cannot read the trace events of {device}: {error}"));
                Faults::one(fault.help("--counters works without them"), Exit::Internal)
            };
            while time_left() > Duration::ZERO && !session.process.is_interrupted() {
                std::thread::sleep(POLL_INTERVAL.min(time_left()));
                trace.read(&mut |event| recorder.record(event)).map_err(failed)?;
                print_progress(recorder.operations());
            }
            let watched = passed();
            trace.stop().map_err(failed)?;
            trace.read(&mut |event| recorder.record(event)).map_err(failed)?;
            let merged = trace.sees_merged_requests();
            (recorder.finish(watched), Source::Events { merged })
        }
    };
    // A driver without trace events still has counters.
    let counted = counted().filter(|counted| counted.operations() > 0);
    Ok(match counted {
        Some(counted) if load.0.operations() == 0 => (
            counted,
            Source::Counters("the driver of this device emits no trace events".into()),
        ),
        counted if load.0.lost > 0 => (load.0.with_counter_totals(counted.as_ref()), load.1),
        _ => load,
    })
}

/// The counters and the moment that they describe: the middle of the reading, which a busy machine
/// may interrupt.
fn read_counters() -> (DeviceTimes, Instant) {
    let before = Instant::now();
    let counters = DeviceTimes::read();
    (counters, before + before.elapsed() / 2)
}

/// Formats the comment block of the job file: the captured figures.
fn format_comments(device: &str, load: &CapturedLoad, source: &Source, started: &Zoned) -> String {
    let machine = host(&System::live()).name;
    let mut lines = vec![
        format!(
            "I/O of {device} of {machine} in {} from {}, recorded by `fathom capture`.",
            load.duration,
            started.strftime("%Y-%m-%d %H:%M:%S %Z")
        ),
        String::new(),
    ];
    lines.extend(
        [("reads", &load.reads), ("writes", &load.writes)]
            .map(|(name, direction)| describe_direction(name, direction, load)),
    );
    lines.push(format!("rate       {} operations per second", rate(load.iops())));
    if let Some(mean) = load.in_flight {
        let more = load.in_flight_p99.zip(load.in_flight_max);
        let more = more.map_or(String::new(), |(p99, max)| {
            format!(", up to {p99} for 99 % of the operations, {max} at most")
        });
        lines.push(format!(
            "in flight  {mean:.1} on average while busy{more}; busy {:.0} % of the time",
            100.0 * load.busy
        ));
    }
    if let Some((first, last)) = load.span {
        lines.push(format!(
            "places     from {} to {} of the device",
            Bytes(first),
            Bytes(last)
        ));
    }
    if load.flushes + load.discards > 0 {
        lines.push(format!(
            "also       {} flushes, {} discards",
            count(load.flushes),
            count(load.discards)
        ));
    }
    lines.push(String::new());
    lines.extend(match source {
        Source::Events { merged: true } => {
            vec!["From trace events: requests as the device receives them, after the kernel merged neighbours.".into()]
        }
        Source::Events { merged: false } => {
            vec!["From trace events: I/O as it enters a device that has no queue.".into()]
        }
        Source::Counters(why) => vec![
            "From the kernel's counters only: sizes are means, and operations are assumed to be random because their"
                .to_owned(),
            format!("order is unknown ({why})."),
        ],
    });
    if load.lost > 0 {
        lines.push(format!(
            "{} events came too fast and were lost: {}.",
            count(load.lost),
            match load.in_flight {
                Some(_) => "rate and depth come from the kernel's counters, the rest from the remaining events",
                None => "the rate is a lower bound, and the depth is unknown",
            }
        ));
    }
    lines.push("Depth is only an upper bound: the rate sets the load. If you remove the rate, set the depth".into());
    lines.push("to the average; the load then runs as fast as the target allows.".into());
    lines.push("The target is NOT the watched device: use another target as large as the area used there.".into());
    lines
        .iter()
        .map(|line| format!("# {line}").trim_end().to_owned() + "\n")
        .collect()
}

fn describe_direction(name: &str, direction: &DirectionLoad, load: &CapturedLoad) -> String {
    let share = 100.0 * direction.operations as f64 / load.operations().max(1) as f64;
    let mut text = format!("{name:<10} {share:.1} %, {} of them", count(direction.operations));
    if direction.operations == 0 {
        return text;
    }
    let sizes: Vec<String> = direction
        .common_sizes()
        .iter()
        .map(|(size, share)| format!("{size} {:.1} %", f64::from(*share) / 10.0))
        .collect();
    text += &format!(
        ", {} on average ({})",
        Bytes(direction.mean_size().round() as u64),
        sizes.join(", ")
    );
    if direction.rare_share() > 0.0005 {
        text += &format!(", {:.1} % of rarer sizes omitted", 100.0 * direction.rare_share());
    }
    if let Some(sequential) = direction.sequential_share() {
        text += &format!("; {:.1} % sequential", 100.0 * sequential);
    }
    text
}

fn build_job_file(device: &str, load: &CapturedLoad) -> Result<String, Faults> {
    let mut job = JobSpec {
        name: Some(device.to_owned()),
        targets: vec![".".into()],
        depth: Some(load.depth()),
        rate: Some(((load.iops().round() as u64).max(1), RateUnit::Operations)),
        time: Some(JOB_TIME),
        ..JobSpec::default()
    };
    if let Some(writes_per_flush) = load
        .writes
        .operations
        .checked_div(load.flushes)
        .filter(|count| *count < MAX_WRITES_PER_FLUSH)
    {
        job.flush_every = writes_per_flush.max(1) as u32;
    }
    let reads = build_part(&load.reads)?;
    let writes = build_part(&load.writes)?;
    let alike = reads.access == writes.access && reads.sizes == writes.sizes;
    match (load.reads.operations, load.writes.operations) {
        (_, 0) => job.part = reads,
        (0, _) => {
            job.part = writes;
            job.part.read_percent = 0.0;
        }
        _ if alike => {
            job.part = reads;
            job.part.read_percent = (10.0 * load.read_percent()).round() / 10.0;
        }
        _ => {
            let share = |percent: f64| ((10.0 * percent).round() as u32).max(1);
            job.parts = vec![
                PartSpec {
                    share: share(load.read_percent()),
                    ..reads
                },
                PartSpec {
                    share: share(100.0 - load.read_percent()),
                    read_percent: 0.0,
                    ..writes
                },
            ];
        }
    }
    let document = Document {
        name: Some("captured".into()),
        jobs: vec![job],
        ..Document::default()
    };
    let conversion = convert::to_native(&native::lower(&document)?);
    debug_assert!(
        conversion.lost.is_empty(),
        "a captured load is a native one: {:?}",
        conversion.lost
    );
    Ok(conversion.text)
}

/// Builds the part of a job that issues one direction.
fn build_part(direction: &DirectionLoad) -> Result<PartSpec, Faults> {
    let access = match direction.sequential_share() {
        None => "random".to_owned(),
        Some(share) if share < MAX_STRAY_SHARE => "random".into(),
        Some(share) if share > 1.0 - MAX_STRAY_SHARE => "sequential".into(),
        Some(share) => format!("mixed:{:.0}", 100.0 * (1.0 - share)),
    };
    let sizes = direction.common_sizes();
    let block = match &sizes[..] {
        [] => "4KiB".to_owned(),
        [(only, _)] => only.0.to_string(),
        many => {
            let entry = |(size, share): &(Bytes, u32)| format!("{}/{}.{}", size.0, share / 10, share % 10);
            many.iter().map(entry).collect::<Vec<_>>().join(",")
        }
    };
    let mut scratch = JobSpec::default();
    for (name, value) in [("access", &access), ("block", &block)] {
        let location = || Location {
            file: "captured load".into(),
            line: 0,
            text: format!("{name} = {value}"),
        };
        native::apply(&mut scratch, name, value, location)?;
    }
    Ok(scratch.part)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use testbed::AssertContains;

    use super::*;

    fn direction(sizes: &[(u64, u64)], sequential: Option<u64>) -> DirectionLoad {
        DirectionLoad {
            operations: sizes.iter().map(|(_, count)| count).sum(),
            bytes: sizes.iter().map(|(size, count)| size * count).sum(),
            sizes: BTreeMap::from_iter(sizes.iter().copied()),
            sequential,
        }
    }

    #[test]
    fn a_captured_load_becomes_a_job_file_that_parses() {
        let load = CapturedLoad {
            duration: Nanos::secs(10),
            reads: direction(&[(4096, 4200), (65_536, 2800)], Some(2800)),
            writes: direction(&[(8192, 3000)], Some(2990)),
            flushes: 300,
            in_flight: Some(3.4),
            in_flight_p99: Some(6),
            in_flight_max: Some(9),
            ..CapturedLoad::default()
        };
        let text = build_job_file("vda", &load).unwrap();
        let document = native::read_job_file("captured.toml", &text).unwrap();
        let job = &document.jobs[0];
        assert_eq!(
            (job.depth, job.rate, job.flush_every),
            (Some(6), Some((1000, RateUnit::Operations)), 10)
        );
        let [reads, writes] = &job.parts[..] else {
            panic!("{text}")
        };
        assert_eq!(
            (reads.share, reads.read_percent, writes.share, writes.read_percent),
            (700, 100.0, 300, 0.0)
        );
        text.assert_contains(&["mixed:60", "4k/60,64k/40", "sequential", "8k"]);
        let text = format_comments("vda", &load, &Source::Events { merged: true }, &Zoned::now());
        assert!(text.lines().all(|line| line.starts_with('#')), "{text}");
        text.assert_contains(&[
            "70.0 %, 7,000 of them, 28 KiB on average (4 KiB 60.0 %, 64 KiB 40.0 %); 40.0 % sequential",
            "3.4 on average",
            "up to 6 for 99 % of the operations, 9 at most",
        ]);
    }

    #[test]
    fn similar_reads_and_writes_become_one_part() {
        let load = CapturedLoad {
            duration: Nanos::secs(10),
            reads: direction(&[(4096, 700)], None),
            writes: direction(&[(4096, 301)], None),
            ..CapturedLoad::default()
        };
        let text = build_job_file("vda", &load).unwrap();
        let document = native::read_job_file("captured.toml", &text).unwrap();
        assert!(document.jobs[0].parts.is_empty());
        assert_eq!(document.jobs[0].part.read_percent, 69.9);
        assert_eq!((document.jobs[0].depth, document.jobs[0].flush_every), (None, 0));
        let weak = format_comments("vda", &load, &Source::Counters("why".into()), &Zoned::now());
        weak.assert_contains(&["are assumed to be random because their", "order is unknown (why)"]);
    }
}
