//! `fathom warm-up`, and its record of warmed ranges.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use ::run::targets::guard::Permissions;
use analysis::lint::Warmed;
use archive::{DocumentStore, WarmMarker, WarmRange};
use clap::ValueHint;
use dialects::Location;
use dialects::native::{self, Document, JobSpec};
use engine::Identity;
use engine::probe::{self, System};
use engine::sys::facts::read_identity;
use model::environment::TargetFacts;
use model::event::EndReason;
use model::plan::{Plan, Prepare, TargetKind};
use model::results::Results;
use model::{Bytes, Nanos};
use report::numbers::{duration, throughput};
use serde_json::json;

use crate::exit::Exit;
use crate::fault::{Fault, Faults};
use crate::screen::{self, ProgressArgs, Screen};
use crate::session::Session;

/// Operations in flight: enough to keep the storage behind a cache busy.
const DEPTH: u32 = 8;

/// Read a target once to warm the caches in front of it
#[derive(clap::Args)]
#[command(
    long_about = "Reads a file or device once in sequence, so that a cache in front of it (in the host of a virtual \
        machine, in an array) holds the data of the coming test. It records the range and the boot: `fathom lint \
        --intent cached-reads` then checks that everything a test reads was warmed since the machine started. It \
        writes nothing to the target. If --time ends it early, it records the part that was read and exits with code \
        6.\n\nThe records are in $FATHOM_STATE_DIR, or else in fathom in $XDG_STATE_HOME or ~/.local/state.",
    after_help = "Examples:\n  fathom warm-up /data/test.dat\n  fathom warm-up /dev/nvme1n1 --size 200GiB --time 2h\n  \
        fathom warm-up /data/test.dat --buffered"
)]
pub struct Args {
    /// Existing file or block device
    #[arg(value_name = "TARGET", value_hint = ValueHint::AnyPath)]
    target: String,
    /// Bytes to read [default: all]
    #[arg(long, value_name = "SIZE")]
    size: Option<String>,
    /// Bytes to skip at the start [default: 0]
    #[arg(long, value_name = "SIZE")]
    offset: Option<String>,
    /// Bytes of an operation [default: 1MiB]
    #[arg(long, value_name = "SIZE")]
    block: Option<String>,
    /// Maximum time [default: no limit]
    #[arg(long, value_name = "TIME")]
    time: Option<String>,
    /// Read through this machine's page cache, and warm it too
    #[arg(long)]
    buffered: bool,
    /// One JSON document for programs
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    progress: ProgressArgs,
}

struct WantedRange {
    path: String,
    identity: String,
    from: u64,
    to: u64,
    plan: Plan,
    /// Bytes before the end that may be unread if reading ends early: those in flight.
    in_flight: u64,
    buffered: bool,
}

/// Reads the target and records the range.
pub fn execute(session: &Session, args: &Args) -> Result<Exit, Faults> {
    let store = open_store().ok_or_else(|| {
        let fault =
            Fault::new("cannot record the warmed range: neither FATHOM_STATE_DIR nor XDG_STATE_HOME nor HOME is set");
        fault.into_usage("set FATHOM_STATE_DIR to a directory")
    })?;
    let wanted = read_wanted(session, args)?;
    let mut screen = Screen::from_args(session, &args.progress, false)?;
    screen.begin(&wanted.plan, None);
    let results = session
        .execution(wanted.plan.clone(), &Permissions::default())
        .run(&mut |event| screen.handle_event(&event));
    drop(screen);
    let results = results?;
    let (read, to) = measure_progress(&wanted, &results);
    let job = &results.steps[0].jobs[0];
    let exit = Exit::from_results(&results, false);
    let sound = matches!(exit, Exit::Done | Exit::Interrupted(_)) && to > wanted.from;
    let boot = probe::host(&System::live()).boot_id;
    let marker = match sound {
        true => Some(WarmMarker::add(
            &store,
            &wanted.path,
            &wanted.identity,
            boot.as_deref(),
            WarmRange {
                from: Bytes(wanted.from),
                to: Bytes(to),
                buffered: wanted.buffered,
                ended_unix_s: SystemTime::now()
                    .duration_since(UNIX_EPOCH)
                    .map_or(0, |time| time.as_secs()),
            },
        )?),
        false => None,
    };
    if args.json {
        let value = json!({
            "target": wanted.path,
            "asked": { "from": wanted.from, "to": wanted.to },
            "read_bytes": read,
            "took_ns": job.measured(),
            "complete": to == wanted.to,
            "remembered": marker,
        });
        screen::put_json(&value)?;
    } else {
        screen::put(&format_text(&wanted, read, to, job.measured(), marker.as_ref()))?;
    }
    if marker.is_none() {
        let why = results
            .findings
            .iter()
            .find(|finding| finding.severity == model::finding::Severity::Error);
        let short = "the time ended before its first blocks were read";
        let why = why.map_or_else(|| short.to_owned(), |finding| finding.what.clone());
        let fault = Fault::new(format!("{} was not warmed: {why}", wanted.path));
        let exit = if exit == Exit::Done { Exit::Failed } else { exit };
        return Err(Faults::one(
            fault.help("nothing was recorded; check the target and try again"),
            exit,
        ));
    }
    Ok(match exit {
        // The time ran out, which the report mentions.
        Exit::Done if to < wanted.to => Exit::Partial,
        other => other,
    })
}

/// Computes the bytes read, and the end of the range without a gap.
fn measure_progress(wanted: &WantedRange, results: &Results) -> (u64, u64) {
    let job = &results.steps[0].jobs[0];
    let read = job.total().bytes.0;
    let to = match job.ended {
        Some(EndReason::Done) => wanted.to,
        _ => wanted
            .to
            .min((wanted.from + read).saturating_sub(wanted.in_flight))
            .max(wanted.from),
    };
    (read, to)
}

fn format_text(wanted: &WantedRange, read: u64, to: u64, took: Nanos, marker: Option<&WarmMarker>) -> String {
    let path = if wanted.buffered {
        "through the page cache"
    } else {
        "bypassing the page cache"
    };
    let rate = throughput(read as f64 / f64::from(1 << 20) / took.as_secs().max(1e-9));
    let mut text = format!(
        "{}: {} read {path} in {}, {rate} MiB/s\n",
        wanted.path,
        Bytes(read),
        duration(took)
    );
    if to < wanted.to {
        text += &format!(
            "  not all: from byte {} to {to}, of {}; continue with --offset {to}, or allow more --time\n",
            wanted.from, wanted.to
        );
    }
    if let Some(marker) = marker {
        text += match &marker.boot_id {
            Some(_) => "  recorded until the machine restarts, for fathom lint --intent cached-reads\n",
            None => "  this system does not report its boot time, so lint cannot detect a restart\n",
        };
    }
    text
}

fn read_wanted(session: &Session, args: &Args) -> Result<WantedRange, Faults> {
    let path = args.target.clone();
    let facts = examine_target(&path)?;
    let identity =
        identify(Path::new(&path)).ok_or_else(|| cannot_warm(&path, "it is neither a file nor a block device"))?;
    let mut job = JobSpec::default();
    let buffered = args.buffered;
    let settings = [
        ("target", Some(&*path)),
        ("access", Some("sequential")),
        ("block", args.block.as_deref().or(Some("1MiB"))),
        ("cache", Some(if buffered { "buffered" } else { "direct" })),
        ("passes", Some("1")),
        ("size", args.size.as_deref()),
        ("offset", args.offset.as_deref()),
        ("time", args.time.as_deref()),
    ];
    let mut problems = Vec::new();
    for (name, value) in settings {
        let Some(value) = value else { continue };
        let location = || Location::on_command_line(format!("--{name} {value}"));
        problems.extend(native::apply(&mut job, name, value, location).err());
    }
    if !problems.is_empty() {
        return Err(problems.into());
    }
    job.depth = Some(DEPTH);
    let from = job.offset.0;
    let to = job.size.map_or(facts.size.0, |size| from.saturating_add(size.0));
    if from >= to || to > facts.size.0 {
        let message = format!(
            "{path} has {} ({} bytes), but the range to read is bytes {from} to {to}",
            facts.size, facts.size.0
        );
        return Err(Fault::new(message).into_refusal("remove --size and --offset to read all of it"));
    }
    job.size = Some(Bytes(to - from));
    let block = job.part.sizes.max().0;
    let document = Document {
        name: Some("warm-up".into()),
        jobs: vec![job],
        arguments: session.process.arguments.clone(),
        ..Document::default()
    };
    let mut plan = native::lower(&document)?;
    // The target is read unchanged: nothing is created, extended or filled.
    plan.targets
        .iter_mut()
        .for_each(|target| target.prepare = Prepare::Existing);
    Ok(WantedRange {
        path,
        identity,
        from,
        to,
        plan,
        in_flight: block * u64::from(DEPTH),
        buffered,
    })
}

fn examine_target(path: &str) -> Result<TargetFacts, Faults> {
    let file = Path::new(path);
    let meta = std::fs::metadata(file).map_err(|error| Faults::unreadable(file, &error))?;
    if meta.is_dir() {
        return Err(cannot_warm(
            path,
            "it is a directory, and a file created in it would be removed before the test",
        ));
    }
    let document = Document {
        jobs: vec![JobSpec {
            targets: vec![path.to_owned()],
            ..JobSpec::default()
        }],
        ..Document::default()
    };
    let facts = ::run::targets::survey(&native::lower(&document)?).into_iter().next();
    let facts = facts.ok_or_else(|| cannot_warm(path, "its properties are unknown"))?;
    match facts.size {
        Bytes(0) => Err(cannot_warm(path, "it is empty, or its size is unknown")),
        _ => Ok(facts),
    }
}

fn cannot_warm(path: &str, why: &str) -> Faults {
    let fault = Fault::new(format!("cannot warm {path}: {why}"));
    fault.into_refusal("name the file or block device that the test will read")
}

/// Opens the store for state that is valid until the machine restarts.
fn open_store() -> Option<DocumentStore> {
    let set = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let state = set("FATHOM_STATE_DIR").or_else(|| {
        let base = set("XDG_STATE_HOME").filter(|path| path.is_absolute());
        base.or_else(|| set("HOME").map(|home| home.join(".local/state")))
            .or_else(|| set("LOCALAPPDATA"))
            .map(|base| base.join("fathom"))
    })?;
    Some(DocumentStore::new(state.join("warmed")))
}

/// Identifies a file or device independently of its path. A device is identified by its serial
/// number, or else by its major and minor numbers.
fn identify(path: &Path) -> Option<String> {
    match read_identity(path)? {
        Identity::BlockDevice(number) => {
            let system = System::live();
            let numbers = || match probe::sequence(&system, number) {
                Some(sequence) => format!("{}:{} {sequence}", number.major, number.minor),
                None => format!("{}:{}", number.major, number.minor),
            };
            let device_id = probe::serial(&system, number).unwrap_or_else(numbers);
            Some(format!("device {device_id}"))
        }
        Identity::File { .. } => {
            let file = engine::sys::file::open_without_waiting(path).ok()?;
            engine::sys::file::identity(&file).map(|text| format!("file {text}"))
        }
        Identity::CharacterDevice(_) => None,
    }
}

/// Loads the warmed ranges of each target of a plan, in plan order.
pub fn load_warmed(plan: &Plan) -> Vec<Option<Warmed>> {
    let Some(store) = open_store() else { return Vec::new() };
    let find_warmed = |path: &str| WarmMarker::load(&store, &identify(Path::new(path))?).map(|marker| marker.warmed());
    plan.targets
        .iter()
        .map(|target| match target.kind {
            TargetKind::Path => find_warmed(&target.path),
            TargetKind::Nothing { .. }
            | TargetKind::Simulated { .. }
            | TargetKind::Name { .. }
            | TargetKind::Tree { .. }
            | TargetKind::Template { .. } => None,
        })
        .collect()
}
