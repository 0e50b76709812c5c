//! `fathom selftest`.

use ::run::targets::guard::Permissions;
use clap::ValueHint;
use dialects::native::{self, JobSpec};
use model::Nanos;
use report::numbers::rate;
use serde_json::{Value, json};
use study::selftest::{self, Ceiling, Jitter};

use crate::exit::Exit;
use crate::fault::Faults;
use crate::screen::{self, Screen};
use crate::session::Session;

/// Measure the limits of each engine, the clock and the timer
#[derive(clap::Args)]
pub struct Args {
    /// Directory for the 64 MiB file of the engines [default: the directory for temporary files]
    #[arg(value_name = "DIRECTORY", value_hint = ValueHint::DirPath)]
    folder: Option<String>,
    /// Measured window of each row
    #[arg(long, value_name = "TIME", default_value = "1s")]
    time: String,
    /// One JSON document for programs
    #[arg(long)]
    json: bool,
}

/// Measures the limits of the load generator itself.
pub fn execute(session: &Session, args: &Args) -> Result<Exit, Faults> {
    let length = parse_length(&args.time)?;
    let folder = args
        .folder
        .clone()
        .unwrap_or_else(|| std::env::temp_dir().display().to_string());
    let plans = selftest::plans(&folder, length);
    let (mut ceilings, mut jitter, mut clock) = (Vec::new(), None, None);
    for (number, plan) in plans.into_iter().enumerate() {
        let mut screen = Screen::line(false);
        let outcome = session.execution(plan, &Permissions::default()).run(&mut |event| {
            // Events of creating the small file are not shown.
            if !matches!(event, model::event::Event::Prepared { .. }) {
                screen.handle_event(&event);
            }
        });
        let outcome = outcome.map_err(Faults::from);
        drop(screen);
        if session.process.is_interrupted() {
            return outcome.map(|results| Exit::from_results(&results, false));
        }
        if let Ok(results) = &outcome {
            clock = results.hosts.first().map(|host| host.environment.clock.clone());
        }
        let named = outcome.as_ref().map_err(Faults::first);
        match selftest::ceiling(number, named) {
            Some(row) => ceilings.push(row),
            None => jitter = outcome.as_ref().ok().and_then(selftest::jitter),
        }
    }
    let clock = clock.unwrap_or_default();
    if args.json {
        return screen::put_json(&to_json(&ceilings, jitter.as_ref(), &clock));
    }
    screen::put(&format_table(&ceilings, jitter.as_ref(), &clock))
}

fn parse_length(text: &str) -> Result<Nanos, Faults> {
    let mut job = JobSpec::default();
    let location = || dialects::Location::on_command_line(format!("--time {text}"));
    native::apply(&mut job, "time", text, location)?;
    Ok(job.time.unwrap_or(Nanos::secs(1)))
}

fn format_table(ceilings: &[Ceiling], jitter: Option<&Jitter>, clock: &model::environment::Clock) -> String {
    let mut text = String::from(
        "The most that one worker of this machine can do without storage: 4 KiB random\n\
         reads of a file in memory (null: without any I/O). If a test of a disk\n\
         approaches these figures, this machine limits the test, not the disk.\n\n",
    );
    text += "  engine     depth         IOPS   CPU per operation   median latency\n";
    for row in ceilings {
        text += &format!("  {:<9} {:>6}", row.engine.name(), row.depth);
        match (&row.failure, row.iops, row.cpu_per_operation, row.median) {
            (None, Some(iops), Some(cpu), Some(median)) => {
                text += &format!("{:>13}{:>20}{:>17}\n", rate(iops), cpu.to_string(), median.to_string());
            }
            (why, ..) => text += &format!("   not measured: {}\n", why.as_deref().unwrap_or("unknown")),
        }
    }
    text += &format!(
        "\nClock: {} ({}), one reading takes {:.0} ns",
        clock.source, clock.reason, clock.reading_ns
    );
    if let Some(drift) = clock.drift_ppm {
        text += &format!(", {drift:+.1} ppm from the system's");
    }
    text += "\n";
    match jitter {
        Some(jitter) => {
            text += &format!(
                "Timer: at {} operations per second, half start within {} of their due time, 99 % within {}, the \
                 latest of {} after {}\n",
                jitter.rate, jitter.median, jitter.p99, jitter.operations, jitter.max
            );
        }
        None => text += "Timer: not measured\n",
    }
    text
}

fn to_json(ceilings: &[Ceiling], jitter: Option<&Jitter>, clock: &model::environment::Clock) -> Value {
    let rows: Vec<Value> = ceilings
        .iter()
        .map(|row| {
            json!({
                "engine": row.engine,
                "depth": row.depth,
                "iops": row.iops,
                "cpu_ns_per_operation": row.cpu_per_operation,
                "latency_ns_median": row.median,
                "why_not": row.failure,
            })
        })
        .collect();
    let timer = jitter.map(|jitter| {
        json!({
            "rate_iops": jitter.rate,
            "operations": jitter.operations,
            "schedule_delay_ns_median": jitter.median,
            "schedule_delay_ns_p99": jitter.p99,
            "schedule_delay_ns_max": jitter.max,
        })
    });
    json!({ "engines": rows, "clock": clock, "timer": timer })
}
