//! Resolves the command line of `fathom verify` against the catalogue and the targets.

use std::path::PathBuf;

use analysis::caps::LimitLayer;
use analysis::policies::{self, Burst, Catalogue, Disks, Inputs, Overrides, Policy, ResolvedPolicy, Workload};
use analysis::requirement;
use analysis::verdict::Machine;
use clap::{ValueHint, value_parser};
use model::environment::Device;
use model::plan::CachePath;
use model::results::Results;
use model::{Bytes, Nanos};
use study::diagnosis::KnownLimits;
use study::verify::{FULL_TIME_SECS, Promise, QUICK_TIME, QUICK_WARM_UP, Verification, VerifyError};

use super::file_load::FileLoad;
use super::targets::Targets;
use crate::catalogue::{CatalogueArgs, InputArgs, find_policy, load_catalogue, parse_inputs, policy_file, today};
use crate::fault::{Fault, Faults};
use crate::judged;
use crate::limits::{self, CapArgs, MetadataArgs, Storage, StorageArgs};
use crate::options::{DryRunArgs, parse_read_percent, parse_value, wrong_value};
use crate::outputs::OutputArgs;
use crate::permissions::SafetyArgs;
use crate::session::Session;

/// Help heading of options that replace parts of the policy's load.
const LOAD_HEADING: &str = "Load";
/// Help for a time that cannot be parsed.
const TIME_HELP: &str = "for example 300s";
/// Help heading of options that describe the machine and its disks.
const ENVIRONMENT_HEADING: &str = "Machine and disks";

/// Test whether storage meets an SLA: PASS or FAIL, and why
#[derive(clap::Args)]
#[command(
    long_about = "Tests whether storage meets a policy or a requirement. It issues the promised load at exactly the \
        promised rate and mix for the time that the policy sets (300 s). If only a rate is promised, short probes \
        first raise the queue depth until the rate is met or more depth has no effect. docs/verify.md explains the \
        rules.\n\nTARGET is a directory (fathom creates a file there and removes it), a file, a block device, or a \
        job file (.toml) with [simulated.NAME] devices, to try verify without a disk; only `path`, `role` and `cap` \
        of its jobs apply. It can also be a job file of fio, DiskSpd, Vdbench or Iometer, whose load is then issued \
        on its targets, at its rate or, without one, at that of --rate. Several targets, such as the volumes of an \
        array, share the load evenly, and the promise \
        applies to all of them together.",
    after_help = "Examples:\n  fathom verify --policy provider-sla/ssd-ultra --size 400GB /mnt/data\n  fathom verify \
        --policy aws/gp3 --size 500GiB --iops 6000 --mbps 250 /dev/nvme1n1\n  fathom verify --require \
        'iops>=4000,p99<=3ms' --read 70 --block 8k --quick /mnt/data\n  fathom verify --require 'iops>=100000' \
        /dev/mapper/volume*"
)]
pub struct Args {
    /// Directories, files, block devices, or a .toml (simulated)
    #[arg(value_name = "TARGET", required = true, num_args = 1.., value_hint = ValueHint::AnyPath)]
    pub(super) target: Vec<String>,
    /// Policy from the catalogue (`fathom policies`), or a file
    #[arg(long, value_name = "NAME|FILE", value_hint = ValueHint::FilePath)]
    pub(super) policy: Option<String>,
    /// Require clauses such as iops>=4000,p99<=3ms,read.mean<=1ms
    #[arg(long, value_name = "CLAUSES")]
    require: Option<String>,
    #[command(flatten)]
    inputs: InputArgs,
    #[command(flatten)]
    catalogue: CatalogueArgs,
    /// Test for only 30 s: finds a limit, but not whether the rate lasts
    #[arg(long, help_heading = LOAD_HEADING)]
    pub(super) quick: bool,
    /// Measured window, instead of the policy's
    #[arg(long, value_name = "TIME", help_heading = LOAD_HEADING)]
    time: Option<String>,
    /// Warm-up before it, instead of the policy's
    #[arg(long, value_name = "TIME", help_heading = LOAD_HEADING)]
    warm_up: Option<String>,
    /// Block size, instead of the policy's [without a policy: 4KiB]
    #[arg(long, value_name = "SIZE", help_heading = LOAD_HEADING)]
    pub(super) block: Option<String>,
    /// Percentage of reads, instead of the policy's [without a policy: 100]
    #[arg(long, value_name = "PERCENT", help_heading = LOAD_HEADING)]
    pub(super) read: Option<String>,
    /// Use sequential positions, even if the policy uses random ones
    #[arg(long, help_heading = LOAD_HEADING)]
    pub(super) sequential: bool,
    /// Operations per second to issue, instead of the promised rate
    #[arg(long, value_name = "IOPS", help_heading = LOAD_HEADING)]
    pub(super) rate: Option<String>,
    /// Operations in flight over all workers [default: found by probes]
    #[arg(long, value_name = "NUMBER", help_heading = LOAD_HEADING, value_parser = value_parser!(u32).range(1..=65_536))]
    pub(super) depth: Option<u32>,
    /// Threads [default: auto, as many as needed]
    #[arg(long, value_name = "NUMBER|auto", help_heading = LOAD_HEADING, value_parser = parse_workers)]
    pub(super) workers: Option<Workers>,
    /// Map a target of an Iometer file to a path here: D:=/mnt/data
    #[arg(long, value_name = "NAME=PATH", help_heading = LOAD_HEADING)]
    pub(super) map: Vec<String>,
    /// Size of the created file [default: twice the memory, at most half of the space]
    #[arg(long, value_name = "SIZE", help_heading = LOAD_HEADING)]
    pub(super) file_size: Option<String>,
    /// Size of the virtual machine, such as Standard_B2ms
    #[arg(long, value_name = "NAME", help_heading = ENVIRONMENT_HEADING)]
    vm: Option<String>,
    /// Disk under the target, such as P30 or aws/gp3:size=500GiB,iops=6000
    #[arg(long, value_name = "NAME", help_heading = ENVIRONMENT_HEADING)]
    disk: Vec<String>,
    /// Number of each of these disks
    #[arg(long, value_name = "NUMBER", help_heading = ENVIRONMENT_HEADING, default_value = "1")]
    #[arg(requires = "disk", value_parser = value_parser!(u32).range(1..=1024))]
    disks: u32,
    /// Treat the target as cached by the host
    #[arg(long, help_heading = ENVIRONMENT_HEADING)]
    host_cache: bool,
    #[command(flatten, next_help_heading = ENVIRONMENT_HEADING)]
    metadata: MetadataArgs,
    #[command(flatten)]
    cap: CapArgs,
    #[command(flatten)]
    storage: StorageArgs<false>,
    /// Write JUnit XML for build servers: a case for each clause
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub(super) junit: Option<PathBuf>,
    #[command(flatten)]
    pub(super) dry: DryRunArgs,
    /// Watch for other I/O before the test; 0 turns it off [default: 10s, with --quick 3s]
    #[arg(long, value_name = "TIME", help_heading = "Safety")]
    pub(super) preflight: Option<String>,
    #[command(flatten)]
    pub(super) output: OutputArgs,
    #[command(flatten)]
    pub(super) safety: SafetyArgs,
}

/// Number of threads; `None` lets the load decide.
#[derive(Clone, Copy, Debug)]
pub(super) struct Workers(Option<u32>);

fn parse_workers(text: &str) -> Result<Workers, String> {
    match (text, text.parse::<u32>()) {
        ("auto", _) => Ok(Workers(None)),
        (_, Ok(count @ 1..=4096)) => Ok(Workers(Some(count))),
        _ => Err("the value must be `auto`, or a number from 1 to 4096".into()),
    }
}

pub(super) struct VerifyRequest {
    pub(super) verification: Verification,
    pub(super) policy: Option<ResolvedPolicy>,
    pub(super) requirement: Option<String>,
    pub(super) expired: Option<String>,
    pub(super) machine: Option<Machine>,
    pub(super) known_limits: KnownLimits,
    pub(super) storage: Storage,
    /// Limits from a job file, copied into the plan.
    pub(super) caps: Vec<LimitLayer>,
    /// Source of the machine type, in a sentence.
    pub(super) detected: Option<String>,
    /// The load of a job file of another tool.
    pub(super) file: Option<FileLoad>,
    /// The policy and its inputs, if they name a tier but no size.
    tier_policy: Option<(Policy, Inputs)>,
}

impl VerifyRequest {
    /// Describes the source of the machine type, and a disk whose size is not that of the tier.
    pub(super) fn describe_environment(&self, results: &Results) -> impl Iterator<Item = String> {
        let mismatch = self.find_tier_mismatch(results);
        let mismatch = mismatch.map(|mismatch| mismatch.describe());
        self.detected.iter().cloned().chain(mismatch)
    }

    /// Finds a disk whose size is not that of the tier.
    pub(super) fn find_tier_mismatch(&self, results: &Results) -> Option<TierMismatch> {
        let tier = self.policy.as_ref()?.tier.as_ref()?;
        let (policy, inputs) = self.tier_policy.as_ref()?;
        find_tier_mismatch(policy, inputs, tier, results)
    }
}

/// A disk whose size is that of another tier than the named one.
pub(super) struct TierMismatch {
    disk: String,
    size: Bytes,
    fitting: String,
    named: String,
}

impl TierMismatch {
    /// States the size without advice.
    pub(super) fn state_size(&self) -> String {
        let TierMismatch {
            disk,
            size,
            fitting,
            named,
        } = self;
        format!("the disk {disk} has {size}, the size of {fitting}, not of {named}")
    }

    /// States the size and advises how to test either tier.
    pub(super) fn describe(&self) -> String {
        format!(
            "{}: repeat with --tier {}, or confirm the promise of {} with --size {}",
            self.state_size(),
            self.fitting,
            self.named,
            self.size_text()
        )
    }

    /// Both tiers with the option that tests them.
    pub(super) fn alternatives(&self) -> Vec<(String, (String, String))> {
        let case =
            |tier: &str, option: &str, value: &str| (format!("if it is {tier}"), (option.to_owned(), value.to_owned()));
        vec![
            case(&self.fitting, "--tier", &self.fitting),
            case(&self.named, "--size", &self.size_text()),
        ]
    }

    fn size_text(&self) -> String {
        self.size.to_string().replace(' ', "")
    }
}

fn find_tier_mismatch(policy: &Policy, inputs: &Inputs, named: &str, results: &Results) -> Option<TierMismatch> {
    let targets = results.hosts.iter().flat_map(|host| &host.environment.targets);
    let mut devices: Vec<&Device> = targets.flat_map(|target| &target.devices).collect();
    devices.dedup_by_key(|device| &device.name);
    let [disk] = devices[..] else { return None };
    let fitting = policy.tier_of_size(inputs, disk.size)?;
    (fitting != named).then(|| TierMismatch {
        disk: disk.name.clone(),
        size: disk.size,
        fitting,
        named: named.to_owned(),
    })
}

pub(super) fn resolve_args(session: &Session, args: &Args) -> Result<VerifyRequest, Faults> {
    refuse_unclear_promise(args)?;
    let named = args.policy.as_deref();
    let catalogue = load_catalogue(&args.catalogue, named.and_then(policy_file))?;
    let overrides = parse_overrides(args)?;
    let clauses = match &args.require {
        Some(text) => judged::parse_clauses(text, "--require")?,
        None => Vec::new(),
    };
    let rate = parse_rate(args)?;
    let file = FileLoad::find(session, args)?;
    let mut tier_policy = None;
    let (policy, expired) = match named {
        None => (None, None),
        Some(name) => {
            let policy = find_policy(&catalogue, name, "--policy ")?;
            let inputs = parse_inputs(&args.inputs)?;
            let resolved = policy.resolve_with(&inputs, &overrides);
            let is_tier_alone = inputs.contains_key("tier") && !inputs.contains_key("size");
            tier_policy = is_tier_alone.then(|| (policy.clone(), inputs));
            let resolved = resolved.map_err(|error| {
                let help = format!("`fathom policies {}` lists its inputs", policy.id());
                Fault::new(format!("{}: {error}", policy.id())).into_usage(help)
            })?;
            (Some(resolved), policy.expiry_warning(today()))
        }
    };
    if policy.is_none() {
        refuse_inputs(&args.inputs)?;
    }
    let build_promise = |machine: Option<&Machine>| {
        let promise = match &policy {
            Some(policy) => Promise::from_policy(policy, clauses.clone(), rate, machine),
            None => {
                let workload = file.as_ref().map(|file| file.workload);
                let rate = rate.or(workload.and_then(|workload| workload.rate_iops));
                let workload = workload.unwrap_or_else(|| default_workload(&overrides));
                Promise::from_requirement(clauses.clone(), workload, rate)
            }
        };
        promise.map_err(|VerifyError { what, help }| Fault::new(what).into_usage(help))
    };
    let promise = build_promise(None)?;
    let targets = match &file {
        Some(file) => Targets::parse(&file.paths())?,
        None => Targets::parse(&args.target)?,
    };
    let storage = Storage::for_single_load(
        &args.storage,
        args.host_cache,
        &targets.storage.clone().unwrap_or_default(),
    )?;
    let below = LimitsBelow::find(args, &catalogue, &promise, &targets, &storage)?;
    let promise = build_promise(below.machine.as_ref())?;
    let caps = targets.caps.clone();
    let credits: Vec<Burst> = below.credits.iter().map(|(_, burst)| *burst).collect();
    Ok(VerifyRequest {
        verification: build_verification(session, (args, file.as_ref()), promise.with_credits(&credits), targets)?,
        policy,
        requirement: args.require.clone(),
        expired,
        machine: below.machine,
        known_limits: below.known_limits,
        storage,
        caps,
        detected: below.detected,
        file,
        tier_policy,
    })
}

/// Refuses a command line without a promise, or with two test lengths.
fn refuse_unclear_promise(args: &Args) -> Result<(), Faults> {
    if args.policy.is_none() && args.require.is_none() {
        return Err(Fault::new("no promise to verify").into_usage(
            "name one: --require 'iops>=4000,p99<=3ms', or --policy aws/gp3 --size 500GiB (`fathom policies` lists them)",
        ));
    }
    if args.quick && args.time.is_some() {
        return Err(Fault::new("--quick measures for 30 s, but --time sets another length")
            .into_usage("remove one of them; for a short trial: --time 5s --warm-up 0s --preflight 0s"));
    }
    Ok(())
}

/// Refuses inputs of a policy without a policy.
fn refuse_inputs(args: &InputArgs) -> Result<(), Faults> {
    match parse_inputs(args)?.keys().next() {
        None => Ok(()),
        Some(name) => Err(Fault::new(format!(
            "--{name} describes the disk of a policy, but --policy is missing"
        ))
        .into_usage("add --policy; the size of the test file is --file-size, the rate to issue is --rate")),
    }
}

/// Returns the load of a requirement without a policy: random 4 KiB reads by default.
fn default_workload(overrides: &Overrides) -> Workload {
    Workload {
        block: overrides.block.unwrap_or(Bytes::kib(4)),
        random: overrides.random.unwrap_or(true),
        read_percent: overrides.read_percent.unwrap_or(100.0),
        rate_iops: None,
        concurrency: None,
        duration_secs: FULL_TIME_SECS,
        warm_up_secs: 30.0,
    }
}

fn parse_size(name: &str, text: &Option<String>) -> Result<Option<Bytes>, Faults> {
    let parse = |text: &String| {
        let why = match text.parse::<Bytes>() {
            Ok(Bytes(0)) => format!("--{name} must be above 0"),
            Ok(size) => return Ok(size),
            Err(error) => error.to_string(),
        };
        Err(wrong_value(name, text, why, "for example 32KiB"))
    };
    text.as_ref().map(parse).transpose()
}

fn parse_overrides(args: &Args) -> Result<Overrides, Faults> {
    Ok(Overrides {
        block: parse_size("block", &args.block)?,
        read_percent: parse_read_percent(args.read.as_deref())?,
        random: args.sequential.then_some(false),
    })
}

pub(super) fn parse_rate(args: &Args) -> Result<Option<f64>, Faults> {
    let Some(text) = &args.rate else { return Ok(None) };
    match requirement::parse(&format!("iops>={text}")) {
        Ok(clauses) => Ok(clauses.first().map(|clause| clause.target)),
        Err(_) => Err(wrong_value(
            "rate",
            text,
            format!("`{text}` is not a number of operations per second"),
            "write `--rate 4000` or `--rate 4000iops`; a limit in bytes per second is a clause: `--require 'mbps>=100'`",
        )),
    }
}

/// Limits of the machine and the disks below the targets.
struct LimitsBelow {
    /// The machine with its limits, if any were named.
    machine: Option<Machine>,
    /// The named limits and the policy's limits, for the diagnosis.
    known_limits: KnownLimits,
    /// Burst credits, each with the name of its machine or disk.
    credits: Vec<(String, Burst)>,
    /// Source of the machine type, or the reason why its limits are not used.
    detected: Option<String>,
}

impl LimitsBelow {
    fn find(
        args: &Args,
        catalogue: &Catalogue,
        promise: &Promise,
        targets: &Targets,
        storage: &Storage,
    ) -> Result<LimitsBelow, Faults> {
        // A simulated device uses no disk of this machine.
        let real = match targets.simulated.is_empty() {
            true => targets.paths.iter().map(String::as_str).collect(),
            false => Vec::new(),
        };
        let detected = limits::detect_machine(
            args.vm.as_ref(),
            &args.disk,
            args.metadata.metadata,
            args.output.measure.progress.quiet,
            catalogue,
            &real,
        );
        let wanted = Disks {
            machine: detected.name,
            disks: args.disk.clone(),
            count: args.disks,
            cached: storage.common().cache == Some(CachePath::Cached),
        };
        let unknown = |why: String| Fault::new(why).into_usage(limits::CATALOGUE_HELP);
        let mut named = policies::stack_limits(catalogue, &wanted).map_err(unknown)?;
        let credits = policies::burst_credits(catalogue, &wanted).map_err(unknown)?;
        let caps: Vec<LimitLayer> = targets
            .caps
            .iter()
            .cloned()
            .chain(limits::parse_caps(&args.cap)?)
            .collect();
        limits::refuse_unused(&caps, &[(&promise.name, storage.common())])?;
        named.extend(
            caps.into_iter()
                .filter(|cap| cap.covers(&promise.name, storage.common())),
        );
        let is_named = !named.is_empty();
        let layers: Vec<LimitLayer> = named.into_iter().chain(promise.layers.iter().cloned()).collect();
        let policy_bursts = promise.bursts.iter().map(|burst| (promise.name.clone(), *burst));
        let bursts = credits.iter().cloned().chain(policy_bursts);
        let known_limits = KnownLimits {
            layers: layers.clone(),
            bursts: bursts.map(|(layer, burst)| limits::known_burst(layer, burst)).collect(),
            ..KnownLimits::default()
        };
        let workload = &promise.workload;
        let machine = is_named.then(|| Machine {
            reach: policies::compute_reach(&layers, workload.block, workload.read_percent, storage.replicas()),
            layers,
        });
        Ok(LimitsBelow {
            machine,
            known_limits,
            credits,
            detected: detected.fact,
        })
    }
}

fn build_verification(
    session: &Session,
    (args, file): (&Args, Option<&FileLoad>),
    promise: Promise,
    targets: Targets,
) -> Result<Verification, Faults> {
    let quick = args.quick;
    let seconds = |seconds: f64| Nanos((seconds * 1e9) as u64);
    let (duration, warm_up) = (promise.workload.duration_secs, promise.workload.warm_up_secs);
    let default_times = match quick {
        true => (QUICK_TIME.min(seconds(duration)), QUICK_WARM_UP.min(seconds(warm_up))),
        false => (seconds(duration), seconds(warm_up)),
    };
    let file_size = parse_size("file-size", &args.file_size)?;
    // Targets of other hosts cannot be examined here.
    if session.ranks().is_none() && file.is_none() {
        targets.check_missing(file_size)?;
    }
    Ok(Verification {
        file_size: file_size.or_else(|| targets.default_size(quick)),
        simulated: targets.simulated,
        paths: targets.paths,
        promise,
        cpus: engine::sys::thread::usable_cpus().len() as u32,
        workers: args
            .workers
            .and_then(|workers| workers.0)
            .or(file.map(FileLoad::workers)),
        concurrency: args.depth.or(file.map(FileLoad::depth)),
        measured: parse_value("time", &args.time, TIME_HELP)?.unwrap_or(default_times.0),
        warm_up: parse_value("warm-up", &args.warm_up, TIME_HELP)?.unwrap_or(default_times.1),
        quick,
        seed: args.output.measure.seed.unwrap_or(1),
        arguments: session.process.arguments.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::environment::{Environment, TargetFacts};
    use model::testing;

    /// A disk of 252 GiB once passed as a P20.
    #[test]
    fn the_size_of_the_disk_is_compared_with_the_tier() {
        let note = |gib: u64| {
            let target = TargetFacts {
                devices: vec![Device {
                    name: "vda".into(),
                    size: Bytes::gib(gib),
                    ..Device::default()
                }],
                ..TargetFacts::default()
            };
            let environment = Environment {
                targets: vec![target.clone(), target],
                ..Environment::default()
            };
            let plan = testing::plan("", Vec::new(), Vec::new());
            let results = testing::results(plan, vec![testing::host(environment, (0, 1))], Vec::new());
            let catalogue = Catalogue::built_in();
            let policy = catalogue.find("azure/premium").ok()?;
            let inputs = Inputs::from([("tier".to_owned(), "P20".to_owned())]);
            find_tier_mismatch(policy, &inputs, "P20", &results)
        };
        let found = note(252).expect("252 GiB is a P15");
        let option = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            found.alternatives(),
            [
                ("if it is P15".to_owned(), option("--tier", "P15")),
                ("if it is P20".to_owned(), option("--size", "252GiB"))
            ]
        );
        let found = found.describe();
        assert!(
            found.starts_with("the disk vda has 252 GiB, the size of P15, not of P20: repeat with --tier P15, or")
                && found.ends_with("--size 252GiB"),
            "{found}"
        );
        assert!(note(300).is_none());
    }
}
