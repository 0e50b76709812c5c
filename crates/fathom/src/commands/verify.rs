//! `fathom verify`.

use std::path::{Path, PathBuf};

use ::run::targets::SharedFiles;
use analysis::caps::Layer;
use analysis::diagnosis::Question;
use analysis::policies::{self, Catalogue, Disks, Overrides, Policy, Resolved, Workload};
use analysis::requirement::{self, Clause, Metric};
use analysis::verdict::{self, ClauseVerdict, FORMAT_VERSION, Machine, Outcome, Verdict, Verified, VerifiedKind};
use archive::history::{EntryKind, Subject};
use clap::{Arg, ArgAction, ArgMatches, Command, ValueHint, value_parser};
use dialects::native;
use engine::probe::{System, memory_total};
use engine::sys::facts::space_of;
use jiff::Zoned;
use model::access::Access;
use model::environment::Before;
use model::fleet::{Fleet, Rank, own_name};
use model::observation::Observation;
use model::plan::{Divide, Plan, SimulatedDevice};
use model::results::Results;
use model::{Bytes, Nanos};
use report::html;
use report::junit::{self, Case, CaseOutcome, Suite};
use study::diagnosis::Known;
use study::verify::{self, Attempt, Paragraph, Promise, QUICK, QUICK_WARM_UP, Search, Unverifiable, Verification};

use super::run;
use crate::catalogue::{catalogue, catalogue_option, input_options, inputs, today};
use crate::command_line::{output_options, safety_options};
use crate::exit::{EXPLAINED, Exit};
use crate::fault::{Fault, Faults};
use crate::history;
use crate::limits::{self, Storage};
use crate::outputs::{self, Outputs, PAGE};
use crate::pages;
use crate::permissions;
use crate::preflight;
use crate::screen::{self, Screen};
use crate::session::Session;

/// Share of the space that may be used which a file takes at most.
const OF_SPACE: f64 = 0.5;
/// Share of a file system that stays free.
const KEPT_FREE: f64 = 0.2;
/// How long is watched what others do, before the test.
const PREFLIGHT: Nanos = Nanos::secs(10);
/// The same with `--quick`.
const QUICK_PREFLIGHT: Nanos = Nanos::secs(3);

/// Its command line.
pub fn command() -> Command {
    let load = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name)
            .long(name)
            .value_name(value)
            .help(help)
            .help_heading("Load")
    };
    let flag = |name: &'static str, help: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue).help(help);
    let around = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name)
            .long(name)
            .value_name(value)
            .help(help)
            .help_heading("Machine and disks around it")
    };
    Command::new("verify")
        .about("Tests whether storage keeps a promise: PASS, FAIL or INCONCLUSIVE for each clause, with the reason")
        .long_about(
            "Tests whether storage keeps what a policy or a requirement promises. The promised load is issued at exactly the \
             promised rate and mix for as long as the policy says (300 s). Where only a rate is promised, short probes first \
             raise the queue depth until the rate is met or more depth brings nothing. docs/verify.md explains the rules.\n\n\
             TARGET is a directory (fathom makes a file there and removes it), a file, a block device, or a job file (.toml) \
             with one [simulated.NAME] device, to try things without a disk. Several targets, such as the volumes of an array, \
             share the load evenly, and the promise is about all of them together.",
        )
        .after_help(format!(
            "Examples:\n  fathom verify --policy s4/ssd-ultra --size 400GB /mnt/data\n  \
             fathom verify --policy aws/gp3 --size 500GiB --iops 6000 --mbps 250 /dev/nvme1n1\n  \
             fathom verify --require 'iops>=4000,p99<=3ms' --read 70 --block 8k --quick /mnt/data\n  \
             fathom verify --require 'iops>=100000' /dev/mapper/volume*\n\n{EXPLAINED}"
        ))
        .arg(
            Arg::new("target")
                .value_name("TARGET")
                .required(true)
                .num_args(1..)
                .value_hint(ValueHint::AnyPath)
                .help("Directories, files or block devices; or a .toml with a simulated device"),
        )
        .arg(
            Arg::new("policy")
                .long("policy")
                .value_name("NAME|FILE")
                .required_unless_present("require")
                .value_hint(ValueHint::FilePath)
                .help("Entry of the catalogue (`fathom policies` lists them), or a policy file"),
        )
        .arg(
            Arg::new("require")
                .long("require")
                .value_name("CLAUSES")
                .help("Clauses such as iops>=4000,p99<=3ms,read.mean<=1ms,mbps>=200; beside a policy or alone"),
        )
        .args(input_options())
        .arg(catalogue_option())
        .args([
            flag("quick", "30 s instead of the policy's time: shows a limit, not whether it lasts").help_heading("Load")
                .conflicts_with("time"),
            load("time", "TIME", "Measured window, if not the policy's"),
            load("warm-up", "TIME", "I/O before it, if not the policy's"),
            load("block", "SIZE", "Block size, if not the policy's [alone: 4KiB]"),
            load("read", "PERCENT", "Percent of reads, if not the policy's [alone: 100]"),
            flag("sequential", "Sequential positions, whatever the policy says").help_heading("Load"),
            load("rate", "IOPS", "Operations per second to issue, if not what is promised"),
            load("depth", "NUMBER", "Operations in flight over all workers, if not what it takes")
                .value_parser(value_parser!(u32).range(1..=65_536)),
            load("workers", "NUMBER|auto", "Threads [default: auto, as many as it takes]").value_parser(parse_workers),
            load("file-size", "SIZE", "Size of the file that is made [default: twice the memory, at most half of the space]"),
        ])
        .args([
            around("vm", "NAME", "Size of the virtual machine, such as Standard_B2ms: its limits may bind first"),
            around("disk", "NAME", "Disk below, such as P30 or aws/gp3:size=500GiB,iops=6000").action(ArgAction::Append),
            around("disks", "NUMBER", "How many of each share the load")
                .default_value("1")
                .value_parser(value_parser!(u32).range(1..=1024)),
            flag("host-cache", "The host's cache serves the operations").help_heading("Machine and disks around it"),
            limits::metadata_argument().help_heading("Machine and disks around it"),
        ])
        .args(limits::replication_arguments().map(|arg| arg.help_heading("Machine and disks around it")))
        .arg(
            Arg::new("junit")
                .long("junit")
                .value_name("FILE")
                .value_hint(ValueHint::FilePath)
                .help("Write JUnit XML for build servers: a case for each clause")
                .help_heading("Output"),
        )
        .arg(
            Arg::new("dry-run")
                .long("dry-run")
                .action(ArgAction::SetTrue)
                .help("Show what would be done and whether it may be; nothing is opened for writing")
                .help_heading("Safety"),
        )
        .arg(preflight::argument("10s, with --quick 3s").help_heading("Safety"))
        .args(output_options())
        .args(safety_options())
}

/// Threads to issue with; `None`: as many as it takes.
#[derive(Clone, Copy, Debug)]
struct Workers(Option<u32>);

fn parse_workers(text: &str) -> Result<Workers, String> {
    match (text, text.parse::<u32>()) {
        ("auto", _) => Ok(Workers(None)),
        (_, Ok(count @ 1..=4096)) => Ok(Workers(Some(count))),
        _ => Err("it must be `auto`, or a number from 1 to 4096".into()),
    }
}

/// Everything that was understood of the command line.
struct Asked {
    verification: Verification,
    policy: Option<Resolved>,
    requirement: Option<String>,
    expired: Option<String>,
    machine: Option<Machine>,
    known: Known,
    storage: Storage,
}

/// Tests a promise.
pub fn carry_out(session: &Session, given: &ArgMatches) -> Result<Exit, Faults> {
    let asked = understand(session, given)?;
    let permissions = permissions::from_args(given);
    let preflight = preflight::time(
        given,
        if given.get_flag("quick") {
            QUICK_PREFLIGHT
        } else {
            PREFLIGHT
        },
    )?;
    let first = asked
        .verification
        .next(&Search::default())
        .expect("nothing was issued yet");
    let plan = plan_of(session, &asked, &first);
    if given.get_flag("dry-run") {
        Outputs::parse(given)?;
        ::run::check(&plan).map_err(|error| Faults::from(::run::RunError::Plan(error)))?;
        let (text, exit) = run::dry_run(session.ranks(), &plan, &plan, &permissions)?;
        screen::put(&text)?;
        return Ok(exit);
    }
    let junit = given.get_one::<String>("junit").map(PathBuf::from);
    let mut outputs = Outputs::of(given, &plan)?;
    if let Some(path) = &junit {
        outputs.also(path, &plan)?;
    }
    let started = Zoned::now();
    let before = preflight::look(session, &plan, preflight, given.get_flag("quiet"));
    let (mut results, shallower, verdict, issued) = attempts(session, given, &asked, &before, &mut outputs)?;
    results
        .findings
        .extend(study::diagnosis::beyond_limits(&results, &asked.known));
    // A run that was cut short is no sign of what would have limited it.
    let cut_short = matches!(Exit::of(&results, false), Exit::Interrupted(_) | Exit::Partial);
    if verdict.outcome != Outcome::Pass && !cut_short {
        let known = Known {
            question: question(&verdict),
            ..asked.known.clone()
        };
        // What the user named, what the policy knows, and what the system itself limits: one of them may be why.
        results.diagnoses = match &shallower {
            // The probes are what --confirm does elsewhere.
            Some(shallower) => study::diagnosis::diagnoses_repeated(&results, shallower, &known),
            None => study::diagnosis::diagnoses(&results, &known, None),
        };
    }
    let verified = document(&asked, &results, verdict, &issued);
    let text = text(&verified);
    let json = serde_json::to_string_pretty(&verified).expect("plain values are valid JSON") + "\n";
    let page = match outputs.want_page() {
        true => page(&asked, &results, &verified),
        false => String::new(),
    };
    let told = outputs.finish_with(&results, &[("text", &text), ("json", &json), (PAGE, &page)]);
    let word = Some(verified.verdict.outcome.word());
    history::keep(given, EntryKind::Verify, Subject::Run(&results), word);
    told?;
    if let Some(path) = &junit {
        let document = junit::document(&suite(&verified, &started, &text));
        outputs::write_file(path, document.as_bytes())
            .map_err(|error| Faults::one(Fault::of_file("write", path, &error), Exit::Internal))?;
    }
    Ok(Exit::of_verdict(
        &results,
        verified.verdict.outcome,
        given.get_flag("strict"),
    ))
}

/// What the diagnosis is to explain: a rate that was kept says nothing about a latency that was not.
fn question(verdict: &Verdict) -> Question {
    let is_missed = |judged: &&ClauseVerdict| judged.outcome != Outcome::Pass;
    let of_rate = |judged: &ClauseVerdict| matches!(judged.clause.metric, Metric::Iops | Metric::Throughput);
    match verdict.clauses.iter().filter(is_missed).any(of_rate) {
        true => Question::MissedRate,
        false => Question::MissedLatency,
    }
}

/// What was issued in the end, after which probes.
struct IssuedLast {
    attempt: Attempt,
    search: Search,
}

/// Runs probes and windows until the promise is judged. Where the probes found saturation, the results
/// of the one before the last are there too: half the depth of the window.
fn attempts(
    session: &Session,
    given: &ArgMatches,
    asked: &Asked,
    before: &Option<Before>,
    outputs: &mut Outputs,
) -> Result<(Results, Option<Results>, Verdict, IssuedLast), Faults> {
    let permissions = permissions::from_args(given);
    let verification = &asked.verification;
    let mut screen = Screen::of(session, given, outputs.streams_to_stdout())?;
    let (mut shared_files, mut search) = (SharedFiles::default(), Search::default());
    let (mut probed, mut shallower) = (None, None);
    loop {
        let attempt = verification.next(&search).expect("a judged promise ends the loop");
        screen.say(&introduction(verification, &attempt));
        let mut plan = plan_of(session, asked, &attempt);
        session.prepare_shared_files(&mut shared_files, &mut plan)?;
        let label = match attempt {
            Attempt {
                is_probe: true, slots, ..
            } => Some(format!("probe, depth {slots}")),
            Attempt { number: 1, .. } => None,
            Attempt { slots, .. } => Some(format!("again, depth {slots}")),
        };
        screen.begin(&plan, label);
        let results = session
            .execution(plan, &permissions)
            .after(before.clone())
            .run(&mut |event| {
                shared_files.adopt_created(&event);
                screen.take(&event);
                if !attempt.is_probe {
                    outputs.take(&event).iter().for_each(|told| screen.say(told));
                }
            })?;
        let Some(observed) = Observation::of(&results, 0, 0) else {
            return Err(nothing_measured(&results));
        };
        // A run that was cut short is judged as it is.
        if attempt.is_probe && !results.interrupted && observed.errors.unwrap_or(0) == 0 {
            verification.record_probe(&mut search, &attempt, observed.total.iops.unwrap_or(0.0));
            shallower = probed.replace(results);
            continue;
        }
        let Some(verdict) = verification.judge(&results, &search) else {
            return Err(nothing_measured(&results));
        };
        verification.record_window(&mut search, &attempt, &verdict, &observed);
        if results.interrupted || attempt.is_probe || verification.next(&search).is_none() {
            let shallower = shallower.filter(|_| search.climb().is_some_and(|climb| climb.saturated));
            return Ok((results, shallower, verdict, IssuedLast { attempt, search }));
        }
    }
}

fn nothing_measured(results: &Results) -> Faults {
    let fault = Fault::new("not one operation ended in the measured window, so there is nothing to judge");
    let exit = Exit::of(results, false);
    Faults::one(
        fault.help("measure for longer, or find out with `fathom run` what the target waits for"),
        if exit == Exit::Done { Exit::Inconclusive } else { exit },
    )
}

/// Builds an attempt's plan and adds what is known of the storage below.
fn plan_of(session: &Session, asked: &Asked, attempt: &Attempt) -> Plan {
    let mut plan = shared_among(session.ranks(), asked.verification.plan(attempt));
    asked.storage.apply_to_plan(&mut plan);
    plan
}

/// A promise is about all hosts together: they divide the rate, what is in flight where each has at least one of it, and a
/// shared target where it is gone through in order.
pub(super) fn shared_among(ranks: Option<u32>, mut plan: Plan) -> Plan {
    let Some(ranks) = ranks else { return plan };
    let has_own = plan
        .targets
        .iter()
        .all(|target| own_name(&target.path, &Rank::default()) != target.path);
    for job in plan.steps.iter_mut().flat_map(|step| &mut step.jobs) {
        let streams = || job.workers.iter().flat_map(|worker| &worker.streams);
        let in_order = |access: &Access| matches!(access, Access::Sequential(_));
        job.divide = Divide {
            rate: true,
            depth: streams().all(|stream| stream.depth >= ranks),
            region: !has_own && streams().any(|stream| stream.pattern.access.iter().any(in_order)),
        };
    }
    plan
}

fn introduction(verification: &Verification, attempt: &Attempt) -> String {
    let issued = verification.issued(attempt);
    let what = match attempt {
        Attempt { is_probe: true, .. } => "looking for the depth: ",
        Attempt { number: 1, .. } => "",
        Attempt { .. } => "again, with more slots: ",
    };
    format!(
        "{what}{:.0} operations per second of {}, up to {} in flight: {} of warm-up, {} measured",
        issued.rate_iops, issued.block, issued.concurrency, issued.warm_up_ns, issued.measured_ns
    )
}

fn understand(session: &Session, given: &ArgMatches) -> Result<Asked, Faults> {
    let named = given.get_one::<String>("policy");
    let file = named.map(Path::new).filter(|path| path.is_file());
    let catalogue = catalogue(given, file)?;
    let (overrides, beside) = (overrides(given)?, clauses(given)?);
    let rate = rate(given)?;
    let (policy, expired) = match named {
        None => (None, None),
        Some(name) => {
            let policy = find(&catalogue, name, file)?;
            let resolved = policy.resolve_with(&inputs(given)?, &overrides);
            let resolved = resolved.map_err(|error| {
                let help = format!("`fathom policies {}` tells what it asks for", policy.id());
                Faults::usage(Fault::new(format!("{}: {error}", policy.id())).help(help))
            })?;
            (Some(resolved), policy.expired(today()))
        }
    };
    let promise = match &policy {
        Some(policy) => Promise::of_policy(policy, beside, rate),
        None => {
            refuse_inputs(given)?;
            Promise::of_requirement(beside, alone(&overrides), rate)
        }
    };
    let promise = promise.map_err(|Unverifiable { what, help }| Faults::usage(Fault::new(what).help(help)))?;
    let (machine, known) = around(given, &catalogue, &promise)?;
    Ok(Asked {
        verification: verification(session, given, promise)?,
        policy,
        requirement: given.get_one::<String>("require").cloned(),
        expired,
        machine,
        known,
        storage: Storage::of_one_load(given),
    })
}

/// The entry of a name, or the one that a file holds.
fn find<'a>(catalogue: &'a Catalogue, name: &str, file: Option<&Path>) -> Result<&'a Policy, Faults> {
    let of_file = |path: &Path| {
        let origin = policies::Origin::User(path.display().to_string());
        catalogue.entries().find(|policy| *policy.origin() == origin)
    };
    match file.and_then(of_file) {
        Some(policy) => Ok(policy),
        None => catalogue.find(name).map_err(|why| {
            Faults::usage(
                Fault::new(why)
                    .at(format!("--policy {name}"))
                    .help("`fathom policies` lists them"),
            )
        }),
    }
}

/// What is known of a disk means nothing without a policy that asks for it.
fn refuse_inputs(given: &ArgMatches) -> Result<(), Faults> {
    match inputs(given)?.keys().next() {
        None => Ok(()),
        Some(name) => Err(Faults::usage(
            Fault::new(format!(
                "--{name} says something about a policy's disk, and no --policy is named"
            ))
            .help("name the policy; the size of the test file is --file-size, the rate to issue is --rate"),
        )),
    }
}

/// The load of a requirement alone: random reads of 4 KiB, unless it is said otherwise.
fn alone(overrides: &Overrides) -> Workload {
    Workload {
        block: overrides.block.unwrap_or(Bytes::kib(4)),
        random: overrides.random.unwrap_or(true),
        read_percent: overrides.read_percent.unwrap_or(100.0),
        rate_iops: None,
        concurrency: None,
        duration_secs: 300.0,
        warm_up_secs: 30.0,
    }
}

fn wrong(name: &str, text: &str, why: impl Into<String>, help: &str) -> Faults {
    Faults::usage(Fault::new(why).at(format!("--{name} {text}")).help(help))
}

fn size(given: &ArgMatches, name: &str) -> Result<Option<Bytes>, Faults> {
    let read = |text: &String| match text.parse::<Bytes>() {
        Ok(Bytes(0)) => Err(wrong(name, text, "it must be above 0", "for example 32KiB")),
        Ok(size) => Ok(size),
        Err(error) => Err(wrong(name, text, error.to_string(), "for example 32KiB")),
    };
    given.get_one::<String>(name).map(read).transpose()
}

fn time(given: &ArgMatches, name: &str) -> Result<Option<Nanos>, Faults> {
    let read = |text: &String| {
        let parsed = text.parse::<Nanos>();
        parsed.map_err(|error| wrong(name, text, error.to_string(), "for example 300s"))
    };
    given.get_one::<String>(name).map(read).transpose()
}

fn overrides(given: &ArgMatches) -> Result<Overrides, Faults> {
    let read = |text: &String| {
        let value = text.trim_end_matches('%').parse::<f64>().ok();
        let value = value.filter(|value| (0.0..=100.0).contains(value));
        value.ok_or_else(|| wrong("read", text, "it is no percentage", "for example --read 70"))
    };
    Ok(Overrides {
        block: size(given, "block")?,
        read_percent: given.get_one::<String>("read").map(read).transpose()?,
        random: given.get_flag("sequential").then_some(false),
    })
}

fn clauses(given: &ArgMatches) -> Result<Vec<Clause>, Faults> {
    let Some(text) = given.get_one::<String>("require") else {
        return Ok(Vec::new());
    };
    requirement::parse(text).map_err(|errors| {
        let fault =
            |error: requirement::RequirementError| Fault::new(error.to_string()).at("--require").help(error.help);
        Faults::many(errors.into_iter().map(fault).collect(), Exit::Usage)
    })
}

fn rate(given: &ArgMatches) -> Result<Option<f64>, Faults> {
    let Some(text) = given.get_one::<String>("rate") else {
        return Ok(None);
    };
    match requirement::parse(&format!("iops>={text}")) {
        Ok(clauses) => Ok(clauses.first().map(|clause| clause.target)),
        Err(_) => Err(wrong(
            "rate",
            text,
            "it is no number of operations per second",
            "write `--rate 4000` or `--rate 4000iops`; a limit in bytes per second is a clause: `--require 'mbps>=100'`",
        )),
    }
}

/// The limits of machine and disks that are named; with those of the policy, what a diagnosis may find.
fn around(given: &ArgMatches, catalogue: &Catalogue, promise: &Promise) -> Result<(Option<Machine>, Known), Faults> {
    let disks: Vec<String> = given
        .get_many::<String>("disk")
        .into_iter()
        .flatten()
        .cloned()
        .collect();
    let targets: Vec<&str> = given
        .get_many::<String>("target")
        .into_iter()
        .flatten()
        .map(String::as_str)
        .collect();
    let wanted = Disks {
        machine: limits::machine(given, catalogue, &targets),
        disks,
        count: given.get_one::<u32>("disks").copied().unwrap_or(1),
        cached: given.get_flag("host-cache"),
    };
    let unknown = |why: String| Faults::usage(Fault::new(why).help("`fathom policies` lists what is known"));
    let named = policies::stack(catalogue, &wanted).map_err(unknown)?;
    let credits = policies::credits(catalogue, &wanted).map_err(unknown)?;
    let layers: Vec<Layer> = named.into_iter().chain(promise.layers.iter().cloned()).collect();
    let of_policy = promise.bursts.iter().map(|burst| (promise.name.clone(), *burst));
    let known = Known {
        layers: layers.clone(),
        bursts: credits
            .into_iter()
            .chain(of_policy)
            .map(|(layer, burst)| limits::burst(layer, burst))
            .collect(),
        ..Known::default()
    };
    if wanted.machine.is_none() && wanted.disks.is_empty() {
        return Ok((None, known));
    }
    let workload = &promise.workload;
    let reach = policies::reach(
        &layers,
        workload.block,
        workload.read_percent,
        Storage::of_one_load(given).replicas(),
    );
    Ok((Some(Machine { layers, reach }), known))
}

fn verification(session: &Session, given: &ArgMatches, promise: Promise) -> Result<Verification, Faults> {
    let paths: Vec<String> = given.get_many("target").expect("clap requires it").cloned().collect();
    let simulated = the_simulated(&paths)?;
    let quick = given.get_flag("quick");
    let seconds = |seconds: f64| Nanos((seconds * 1e9) as u64);
    let (duration, warm_up) = (promise.workload.duration_secs, promise.workload.warm_up_secs);
    let usual = match quick {
        true => (QUICK.min(seconds(duration)), QUICK_WARM_UP.min(seconds(warm_up))),
        false => (seconds(duration), seconds(warm_up)),
    };
    let paths = match &simulated {
        Some((name, _)) => vec![format!("simulated:{name}")],
        None => paths,
    };
    Ok(Verification {
        file_size: size(given, "file-size")?.or_else(|| usual_size(&paths, quick)),
        simulated: simulated.map(|(_, device)| device),
        paths,
        promise,
        cpus: engine::sys::thread::usable_cpus().len() as u32,
        workers: given.get_one::<Workers>("workers").and_then(|workers| workers.0),
        concurrency: given.get_one::<u32>("depth").copied(),
        measured: time(given, "time")?.unwrap_or(usual.0),
        warm_up: time(given, "warm-up")?.unwrap_or(usual.1),
        quick,
        seed: given.get_one::<u64>("seed").copied().unwrap_or(1),
        arguments: session.process.arguments.clone(),
    })
}

/// The simulated device, if that is the target. What is named twice would be tested twice.
fn the_simulated(paths: &[String]) -> Result<Option<(String, SimulatedDevice)>, Faults> {
    for (number, path) in paths.iter().enumerate() {
        if paths[..number].contains(path) {
            let fault = Fault::new(format!("{path} is named twice"));
            return Err(Faults::usage(fault.help("name each target once")));
        }
        if let Some(found) = simulated(Path::new(path))? {
            if paths.len() == 1 {
                return Ok(Some(found));
            }
            let fault = Fault::new(format!(
                "{path} is a simulated device, and other targets are named beside it"
            ));
            return Err(Faults::usage(fault.help("a simulated device is tested alone")));
        }
    }
    Ok(None)
}

/// The only simulated device of a job file.
fn simulated(path: &Path) -> Result<Option<(String, SimulatedDevice)>, Faults> {
    if path.extension().is_none_or(|extension| extension != "toml") || !path.is_file() {
        return Ok(None);
    }
    let text = std::fs::read_to_string(path).map_err(|error| Faults::usage(Fault::of_file("read", path, &error)))?;
    let document = native::read_job_file(&path.display().to_string(), &text)?;
    let mut devices = document.simulated.into_iter();
    match (devices.next(), devices.next()) {
        (Some(one), None) => Ok(Some((one.name, one.device))),
        (found, _) => {
            let many = if found.is_some() {
                "several simulated devices"
            } else {
                "no simulated device"
            };
            let fault = Fault::new(format!("{} has {many}", path.display()));
            Err(Faults::usage(fault.help(
                "leave one [simulated.NAME] in it; to test a file of this name, rename it",
            )))
        }
    }
}

/// Twice the memory over all files, so that no cache of this machine can hold them, but at most half of the space that may be
/// used, as if all directories lay on one file system. The short form takes the usual size of a small file.
fn usual_size(paths: &[String], quick: bool) -> Option<Bytes> {
    let folders = || paths.iter().map(Path::new).filter(|path| path.is_dir());
    let count = folders().count() as u64;
    if quick || count == 0 {
        return None;
    }
    let usable = |path: &Path| {
        let (total, available) = space_of(path)?;
        Some((available as f64 - total as f64 * KEPT_FREE).max(0.0) * OF_SPACE)
    };
    let least = folders().filter_map(usable).min_by(f64::total_cmp)?;
    let wanted = (2 * memory_total(&System::live())).min(least as u64) / count;
    // Whole MiB; where there is hardly any space, the usual size of a run is found out and explained there.
    (wanted >= Bytes::gib(1).0).then_some(Bytes(wanted >> 20 << 20))
}

fn document(asked: &Asked, results: &Results, verdict: Verdict, last: &IssuedLast) -> Verified {
    Verified {
        format_version: FORMAT_VERSION,
        kind: VerifiedKind::Verdict,
        tool: results.tool.clone(),
        target: asked.verification.paths.join(", "),
        promise: verdict::Promise {
            policy: asked.policy.clone(),
            requirement: asked.requirement.clone(),
            expired: asked.expired.clone(),
        },
        issued: asked.verification.issued(&last.attempt),
        climb: last.search.climb().cloned(),
        issued_by: results.fleet.as_ref().map(Fleet::words),
        machine: asked.machine.clone(),
        verdict,
        diagnoses: results.diagnoses.clone(),
        findings: results.findings.clone(),
    }
}

/// The page of a promise: the verdict first, then all that was measured.
fn page(asked: &Asked, results: &Results, verified: &Verified) -> String {
    let clauses = pages::promised(&asked.verification.promise.clauses);
    let promised = match (&asked.policy, &asked.requirement) {
        (Some(policy), None) => format!(
            "what {} promises: {}",
            policy.id,
            clauses.trim_start_matches("what was asked for: ")
        ),
        _ => clauses,
    };
    let mut page = pages::run(results, pages::verdict(&promised, &verified.verdict));
    let what = asked.policy.as_ref().map_or("Requirement", |policy| &policy.id);
    page.title = format!("{what} on {}", verified.target);
    html::file(&page)
}

fn text(verified: &Verified) -> String {
    let mut text = String::new();
    for paragraph in verify::text(verified) {
        text += &match paragraph {
            Paragraph::Line(line) => format!("{line}\n"),
            Paragraph::Sentences(sentences) => screen::wrapped(&sentences),
        };
    }
    if !verified.diagnoses.is_empty() {
        let mut bytes = b"\n".to_vec();
        report::diagnosis::write(&verified.diagnoses, &mut bytes).expect("writing to memory does not fail");
        text += &String::from_utf8_lossy(&bytes);
    }
    text
}

fn suite(verified: &Verified, started: &Zoned, text: &str) -> Suite {
    let case = |judged: &ClauseVerdict| Case {
        name: judged.clause.to_string(),
        outcome: match judged.outcome {
            Outcome::Pass => CaseOutcome::Passed,
            Outcome::Fail => CaseOutcome::Failed,
            Outcome::Inconclusive => CaseOutcome::Undecided,
            Outcome::Consistent => CaseOutcome::Skipped,
        },
        message: judged.reason.clone(),
    };
    let policy = verified.promise.policy.as_ref().map(|policy| policy.id.clone());
    let failed = verified.verdict.reasons.iter().map(|reason| Case {
        name: "the test as a whole".into(),
        outcome: match reason.cause {
            None => CaseOutcome::Failed,
            Some(_) => CaseOutcome::Undecided,
        },
        message: reason.what.clone(),
    });
    let issued = &verified.issued;
    let hosts = verified
        .issued_by
        .iter()
        .map(|words| ("issued_by".into(), words.clone()));
    Suite {
        name: format!("{} on {}", policy.as_deref().unwrap_or("requirement"), verified.target),
        started: started.strftime("%Y-%m-%dT%H:%M:%S").to_string(),
        seconds: (issued.warm_up_ns + issued.measured_ns).as_secs(),
        cases: verified.verdict.clauses.iter().map(case).chain(failed).collect(),
        properties: [
            ("verdict".into(), verified.verdict.outcome.word().into()),
            ("rate_iops".into(), format!("{}", issued.rate_iops)),
            ("block_bytes".into(), issued.block.0.to_string()),
            ("read_percent".into(), format!("{}", issued.read_percent)),
            ("concurrency".into(), issued.concurrency.to_string()),
            ("fathom".into(), verified.tool.version.clone()),
        ]
        .into_iter()
        .chain(hosts)
        .collect(),
        output: text.to_owned(),
    }
}
