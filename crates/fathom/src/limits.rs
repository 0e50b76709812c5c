//! Options for limits between program and disks, and for the storage below jobs. Limits are
//! `--cap`, `--vm`, `--disk` and `--disks`; storage is `--host-cache`, `--path`, `--role`,
//! `--replicas` and `--hops`.

use std::path::{Path, PathBuf};

use analysis::caps::LimitLayer;
use analysis::diagnosis::{Counts, KnownBurst};
use analysis::policies::{Burst, BurstUnit, Catalogue, Disks, burst_credits, has_machine, stack_of_paths};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, value_parser};
use dialects::native::{options, parse_cap, parse_name, parse_path};
use engine::probe::{self, Cloud, System};
use model::observation::Observation;
use model::plan::{CachePath, Plan, StoragePath, TargetKind};
use study::diagnosis::KnownLimits;

use crate::catalogue::{CatalogueArgs, load_catalogue};
use crate::fault::{Fault, Faults};
use crate::metadata;

/// Source of limits from the command line, for reports.
const CAP: &str = "--cap";
/// Help for a machine or disk that is not in the catalogue.
pub const CATALOGUE_HELP: &str = "`fathom policies` lists disks; `fathom policies aws/vm`, azure/vm \
    and gcp/vm list machines; set limits that are not in the catalogue with --cap \
    'VM:iops=1920,mbps=22.5,kind=vm'";

/// Help heading of the flags.
pub const HEADING: &str = "Diagnosis";

/// Limits for commands that diagnose.
#[derive(clap::Args)]
pub struct LimitArgs {
    #[command(flatten)]
    named: NamedLimitArgs,
    /// Treat every job without --path as cached by the host
    #[arg(long, help_heading = HEADING, requires = "vm")]
    pub host_cache: bool,
}

/// Limits that the user names.
#[derive(clap::Args)]
pub struct NamedLimitArgs {
    #[command(flatten, next_help_heading = HEADING)]
    cap: CapArgs,
    /// Size of the virtual machine, such as Standard_B2ms
    #[arg(long, value_name = "NAME", help_heading = HEADING)]
    vm: Option<String>,
    /// A disk under the target, such as P30; the catalogue has its limits
    #[arg(long, value_name = "NAME", help_heading = HEADING)]
    disk: Vec<String>,
    /// Number of each of these disks [default: 1]
    #[arg(long, value_name = "N", help_heading = HEADING, requires = "disk", value_parser = value_parser!(u32).range(1..=1024))]
    disks: Option<u32>,
}

impl LimitArgs {
    pub fn is_given(&self) -> bool {
        let NamedLimitArgs { cap, vm, disk, .. } = &self.named;
        vm.is_some() || !disk.is_empty() || !cap.cap.is_empty()
    }
}

/// The `--cap` option.
#[derive(clap::Args)]
pub struct CapArgs {
    /// Add a limit between the program and the data
    #[arg(
        long,
        value_name = "[NAME:]iops=N,mbps=N,…",
        long_help = "A limit between the program and the data; may be repeated. The report shows \
            which limit binds, how much of each is used, and which capacity is stranded.\niops=N \
            operations per second; mbps=N millions of bytes, mibps=N 2^20 bytes per second; \
            unit=256KiB longer operations count as several; for=reads or for=writes; kind=vm, disk, \
            cgroup or link.\npath=cached or path=uncached, role=NAME, job=NAME: only these jobs \
            share the limit; rates of jobs that run at the same time are added up.\nExample: --cap \
            'VM:iops=1920,mbps=22.5,kind=vm' --cap '4 disks:iops=20000,mbps=800'"
    )]
    cap: Vec<String>,
}

/// The `--metadata` option.
#[derive(clap::Args)]
pub struct MetadataArgs {
    /// Ask the cloud's metadata service for the machine's size
    #[arg(
        long,
        conflicts_with = "vm",
        long_help = "Ask the cloud's metadata service (EC2, Azure, Google) for the machine's size, \
            for at most 1 s, and use its limits as with --vm. FATHOM_METADATA=ADDRESS:PORT replaces \
            the address 169.254.169.254:80. EC2 instances also have their type in the firmware."
    )]
    pub metadata: bool,
}

/// Finds the limits that apply to a plan: the limits of the flags, and without `--vm` those of the
/// detected machine.
///
/// # Errors
/// As [`from_args`].
pub fn from_args_and_machine(
    args: &LimitArgs,
    metadata: bool,
    quiet: bool,
    plan: &Plan,
) -> Result<KnownLimits, Faults> {
    let is_path = |kind: &TargetKind| matches!(kind, TargetKind::Path);
    let real = plan.targets.iter().filter(|target| is_path(&target.kind));
    let paths: Vec<&str> = real.map(|target| target.path.as_str()).collect();
    let machine = detect_machine(
        args.named.vm.as_ref(),
        &args.named.disk,
        metadata,
        quiet,
        &Catalogue::built_in(),
        &paths,
    );
    from_args_with(&args.named, args.host_cache, machine.name, None)
}

/// Keys of [`StoragePath`]: options of native job files, and flags about loads of any tool.
const STORAGE: [&str; 4] = ["path", "role", "replicas", "hops"];

/// Flags about the storage below loads, each with its value. With `OF_JOBS`, a value can apply to a
/// single job. In `fathom run` they are load options.
pub struct StorageArgs<const OF_JOBS: bool>(pub Vec<(&'static str, String)>);

impl<const OF_JOBS: bool> FromArgMatches for StorageArgs<OF_JOBS> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let values = STORAGE.into_iter().flat_map(|name| {
            let values = matches.get_many::<String>(name).into_iter().flatten();
            values.map(move |value| (name, value.clone()))
        });
        Ok(StorageArgs(values.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = StorageArgs::from_arg_matches(matches)?;
        Ok(())
    }
}

impl<const OF_JOBS: bool> Args for StorageArgs<OF_JOBS> {
    fn augment_args(command: Command) -> Command {
        command.args(STORAGE.map(|name| {
            let option = options().find(|option| option.name == name);
            let option = option.expect("a native option");
            let flag = Arg::new(name).long(name).help(option.help.trim_end_matches('.'));
            match OF_JOBS {
                false => flag.value_name(option.value),
                true => flag
                    .value_name(format!("[JOB=]{}", option.value))
                    .action(ArgAction::Append)
                    .help_heading(HEADING),
            }
        }))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// Facts about the storage below loads, by job name or for all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Storage {
    per_job: Vec<(String, StoragePath)>,
    common: StoragePath,
}

impl Storage {
    /// Reads `--host-cache` and [`StorageArgs`] for a single load. Flags take precedence over its
    /// job file.
    ///
    /// # Errors
    /// [`Faults`] about the invalid value.
    pub fn for_single_load(
        args: &StorageArgs<false>,
        host_cache: bool,
        stated: &StoragePath,
    ) -> Result<Storage, Faults> {
        let mut storage = Storage::default();
        for (name, value) in &args.0 {
            set_fact(&mut storage.common, name, value)
                .map_err(|why| Faults::usage(Fault::new(format!("--{name}: {why}")).at(format!("--{name} {value}"))))?;
        }
        storage.common = storage
            .common
            .or(stated)
            .or(&Storage::from_host_cache(host_cache).common);
        Ok(storage)
    }

    /// Returns the facts that apply to every load.
    pub fn common(&self) -> &StoragePath {
        &self.common
    }

    /// Returns the number of copies of each block, for all jobs.
    pub fn replicas(&self) -> u32 {
        self.common.replicas.unwrap_or(1)
    }

    pub fn from_host_cache(host_cache: bool) -> Storage {
        let cached = host_cache.then_some(CachePath::Cached);
        Storage {
            common: StoragePath {
                cache: cached,
                ..StoragePath::default()
            },
            ..Storage::default()
        }
    }

    /// Reads `--host-cache` and the flags.
    ///
    /// # Errors
    /// [`Faults`] about the invalid value.
    pub fn parse(args: &StorageArgs<true>, host_cache: bool) -> Result<Storage, Faults> {
        let mut storage = Storage::from_host_cache(host_cache);
        for (name, text) in &args.0 {
            storage.set(name, text).map_err(|why| {
                let fault = Fault::new(format!("--{name}: {why}")).at(format!("--{name} {text}"));
                fault.into_usage("specify a value for all jobs, or for one: --path reader1=cached")
            })?;
        }
        Ok(storage)
    }

    fn set(&mut self, name: &str, text: &str) -> Result<(), String> {
        let (job, value) = match text.rsplit_once('=') {
            Some((job, value)) => (Some(job.trim()), value.trim()),
            None => (None, text.trim()),
        };
        let storage = match job {
            None => &mut self.common,
            Some(job) => {
                let index = self.per_job.iter().position(|(job_name, _)| job_name == job);
                let index = index.unwrap_or_else(|| {
                    self.per_job.push((job.to_owned(), StoragePath::default()));
                    self.per_job.len() - 1
                });
                &mut self.per_job[index].1
            }
        };
        set_fact(storage, name, value)
    }

    /// Adds these facts to a plan, whose own facts take precedence.
    pub fn apply_to_plan(&self, plan: &mut Plan) {
        for job in plan.steps.iter_mut().flat_map(|step| &mut step.jobs) {
            job.storage = job.storage.clone().or(&self.common);
        }
    }

    /// Sets these facts on the loads of a result, where they take precedence.
    ///
    /// # Errors
    /// A flag names a job that the result lacks.
    pub fn apply_to_loads(&self, loads: &mut [Observation]) -> Result<(), Faults> {
        self.check_jobs(loads.iter().map(|load| load.name.as_str()))?;
        for load in loads {
            let job_storage = self.for_job(&load.name);
            load.load.storage = job_storage.or(&load.load.storage).or(&self.common);
        }
        Ok(())
    }

    /// Sets these facts in the plan of a saved result.
    ///
    /// # Errors
    /// A flag names a job that the plan lacks.
    pub fn apply_to_results(&self, plan: &mut Plan) -> Result<(), Faults> {
        self.check_jobs(plan.jobs().map(|(_, job)| job.name.as_str()))?;
        for job in plan.steps.iter_mut().flat_map(|step| &mut step.jobs) {
            job.storage = self.for_job(&job.name).or(&job.storage);
        }
        self.apply_to_plan(plan);
        Ok(())
    }

    fn for_job(&self, name: &str) -> StoragePath {
        let job_storage = self.per_job.iter().find(|(job, _)| job == name);
        job_storage.map(|(_, storage)| storage.clone()).unwrap_or_default()
    }

    fn check_jobs<'a>(&self, jobs: impl Iterator<Item = &'a str>) -> Result<(), Faults> {
        let jobs: Vec<&str> = jobs.collect();
        match self.per_job.iter().find(|(job, _)| !jobs.contains(&job.as_str())) {
            None => Ok(()),
            Some((job, _)) => {
                Err(Fault::new(format!("unknown job `{job}`")).into_usage(format!("the jobs are {}", jobs.join(", "))))
            }
        }
    }
}

fn set_fact(storage: &mut StoragePath, name: &str, value: &str) -> Result<(), String> {
    let number = |min: u32| match value.parse::<u32>() {
        Ok(number) if (min..=100).contains(&number) => Ok(number),
        _ => Err(format!("`{value}` is not a number from {min} to 100")),
    };
    match name {
        "path" => storage.cache = Some(parse_path(value)?),
        "role" => storage.role = Some(parse_name(value)?),
        "replicas" => storage.replicas = Some(number(1)?),
        _ => storage.hops = Some(number(0)?),
    }
    Ok(())
}

/// Lists the jobs of a plan, with the storage below them.
pub fn list_jobs(plan: &Plan) -> Vec<(&str, &StoragePath)> {
    plan.jobs().map(|(_, job)| (job.name.as_str(), &job.storage)).collect()
}

/// Refuses limits that name a job, role or path that no job has: they would never apply.
///
/// # Errors
/// [`Faults`] with the first of them.
pub fn refuse_unused(layers: &[LimitLayer], jobs: &[(&str, &StoragePath)]) -> Result<(), Faults> {
    let selects = |layer: &&LimitLayer| layer.job.is_some() || layer.role.is_some();
    let covers = |layer: &LimitLayer| jobs.iter().any(|(name, storage)| layer.covers(name, storage));
    match layers.iter().filter(selects).find(|layer| !covers(layer)) {
        None => Ok(()),
        Some(layer) => {
            let fault = Fault::new(format!("the limit `{}` applies to no job", layer.name));
            Err(fault.into_usage(
                "job=, role= and path= of the limit select jobs; set the role and path of a job in \
                the job file, or with --role and --path",
            ))
        }
    }
}

/// Reads the limits of the flags, also from the user's policy files.
///
/// # Errors
/// [`Faults`] about the invalid value.
pub fn from_args(args: &LimitArgs, policies: &CatalogueArgs) -> Result<KnownLimits, Faults> {
    from_args_with(&args.named, args.host_cache, args.named.vm.clone(), Some(policies))
}

/// Reads the limits that the user names, for loads without a host cache.
///
/// # Errors
/// As [`from_args`].
pub fn from_named(args: &NamedLimitArgs, policies: &CatalogueArgs) -> Result<KnownLimits, Faults> {
    from_args_with(args, false, args.vm.clone(), Some(policies))
}

fn from_args_with(
    args: &NamedLimitArgs,
    cached: bool,
    machine: Option<String>,
    policies: Option<&CatalogueArgs>,
) -> Result<KnownLimits, Faults> {
    let mut known_limits = match (machine, args.disk.clone()) {
        (None, disks) if disks.is_empty() => KnownLimits::default(),
        (machine, disks) => {
            let catalogue = policies.map_or_else(|| Ok(Catalogue::built_in()), |args| load_catalogue(args, None))?;
            let wanted = Disks {
                machine,
                disks,
                count: args.disks.unwrap_or(1),
                cached,
            };
            from_catalogue(&catalogue, &wanted).map_err(Faults::usage)?
        }
    };
    known_limits.layers.extend(parse_caps(&args.cap)?);
    Ok(known_limits)
}

/// Parses the limits of `--cap`.
///
/// # Errors
/// [`Faults`] about the invalid value.
pub fn parse_caps(args: &CapArgs) -> Result<Vec<LimitLayer>, Faults> {
    let layer = |text: &String| {
        let fault = |why: String| {
            let fault = Fault::new(format!("--cap: {why}")).at(format!("--cap {text}"));
            fault.into_usage("for example --cap 'VM:iops=1920,mbps=22.5,kind=vm'")
        };
        Ok(LimitLayer {
            source: CAP.into(),
            ..parse_cap(text).map_err(fault)?
        })
    };
    args.cap.iter().map(layer).collect()
}

/// The machine whose limits are used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DetectedMachine {
    /// Name, if its limits are used.
    pub name: Option<String>,
    /// Source of the name, or with `--metadata` the reason why its limits are not used.
    pub fact: Option<String>,
}

/// Finds the machine: that of `--vm`, or else of the firmware or, with `--metadata` (`requested`),
/// of the cloud. Prints the detected machine on stderr, with `--metadata` even if `--quiet` is set,
/// because it changes the meaning of a result.
pub fn detect_machine(
    vm: Option<&String>,
    disks: &[String],
    requested: bool,
    quiet: bool,
    catalogue: &Catalogue,
    targets: &[&str],
) -> DetectedMachine {
    if vm.is_some() {
        return DetectedMachine {
            name: vm.cloned(),
            fact: None,
        };
    }
    let system = System::live();
    let detected = match requested {
        true => {
            metadata::machine_type(probe::cloud(&system)).map(|(cloud, name)| (cloud, name, "the metadata service"))
        }
        false => {
            let by_firmware = probe::cloud(&system).zip(probe::machine_type(&system));
            by_firmware
                .map(|(cloud, name)| (cloud, name, "DMI"))
                .ok_or_else(String::new)
        }
    };
    let is_on_cloud_disk =
        |cloud: Cloud| !targets.is_empty() && targets.iter().all(|path| is_on_cloud_disk(&system, cloud, path));
    let usable = detected.and_then(|(cloud, name, source)| {
        let described = format!("machine type {name}, from {source}");
        if !has_machine(catalogue, &name, disks) {
            return Err(match disks.is_empty() {
                true => {
                    format!("{described}: the catalogue has its limits only for certain disks; name the disk: --disk")
                }
                false => format!("{described}: the catalogue has no limits for it with the disks of --disk"),
            });
        }
        match disks.is_empty() && !is_on_cloud_disk(cloud) {
            true => Err(format!(
                "{described}: its limits are not used, because a target is not on a disk of {}",
                cloud.name()
            )),
            false => Ok((name, described)),
        }
    });
    let (name, fact) = match usable {
        Ok((name, described)) => {
            let fact = format!("{described}: its limits are used; set --vm to use another machine's");
            (Some(name), Some(fact))
        }
        Err(why) => (None, Some(why).filter(|_| requested)),
    };
    if let Some(fact) = fact.as_ref().filter(|_| requested || !quiet) {
        crate::screen::note(&fact.to_string());
    }
    DetectedMachine { name, fact }
}

/// True if every virtual disk under a path is a network disk of this cloud. Local disks, such as an
/// instance store, have other limits. For a missing path, checks the nearest existing directory.
fn is_on_cloud_disk(system: &System, cloud: Cloud, path: &str) -> bool {
    let path = PathBuf::from(path);
    let existing = path
        .ancestors()
        .find(|ancestor| ancestor.exists())
        .unwrap_or(Path::new("."));
    let devices = probe::devices_under(system, existing).unwrap_or_default();
    let cloud_kinds: &[&str] = match cloud {
        Cloud::Amazon => &["Amazon EBS volume"],
        Cloud::Azure => &["Azure managed disk", "Hyper-V virtual disk"],
        Cloud::Google => &["Google Persistent Disk", "Google Persistent Disk or Hyperdisk"],
    };
    let mut virtual_kinds = devices
        .iter()
        .filter_map(|device| device.virtual_kind.as_deref())
        .peekable();
    virtual_kinds.peek().is_some() && virtual_kinds.all(|kind| cloud_kinds.contains(&kind))
}

/// Looks up the limits of a machine and its disks in the catalogue.
fn from_catalogue(catalogue: &Catalogue, wanted: &Disks) -> Result<KnownLimits, Fault> {
    let unknown = |why: String| Fault::new(why).help(CATALOGUE_HELP);
    Ok(KnownLimits {
        layers: stack_of_paths(catalogue, wanted).map_err(unknown)?,
        bursts: burst_credits(catalogue, wanted)
            .map_err(unknown)?
            .into_iter()
            .map(|(layer, credits)| known_burst(layer, credits))
            .collect(),
        ..KnownLimits::default()
    })
}

/// Converts the catalogue's credits for a diagnosis.
pub fn known_burst(layer: String, burst: Burst) -> KnownBurst {
    KnownBurst {
        layer,
        counts: match burst.unit {
            BurstUnit::Iops => Counts::Operations,
            BurstUnit::Bytes => Counts::Bytes,
        },
        ceiling: burst.ceiling,
        refill: burst.refill,
        bucket: burst.bucket,
    }
}

/// Converts a diagnosis's credits for the catalogue.
pub fn policy_burst(burst: &KnownBurst) -> Burst {
    Burst {
        unit: match burst.counts {
            Counts::Operations => BurstUnit::Iops,
            Counts::Bytes => BurstUnit::Bytes,
        },
        ceiling: burst.ceiling,
        refill: burst.refill,
        bucket: burst.bucket,
        full_after_secs: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::caps::LayerKind;

    /// Checks a small machine with four large disks.
    #[test]
    fn the_catalogue_has_limits_of_machines_and_disks() {
        let look_up = |machine: Option<&str>, disks: &[&str], count: u32| {
            let wanted = Disks {
                machine: machine.map(str::to_owned),
                disks: disks.iter().map(|disk| disk.to_string()).collect(),
                count,
                cached: false,
            };
            from_catalogue(&Catalogue::built_in(), &wanted)
        };
        let known = look_up(Some("Standard_B2ms"), &["P30"], 4).unwrap();
        let iops: Vec<f64> = known.layers.iter().filter_map(|layer| Some(layer.iops?.low)).collect();
        assert_eq!(iops, [2400.0, 1920.0, 20_000.0]);
        let paths: Vec<Option<CachePath>> = known.layers.iter().map(|layer| layer.path).collect();
        assert_eq!(
            paths,
            [CachePath::Cached, CachePath::Uncached, CachePath::Uncached].map(Some)
        );
        assert_eq!(known.layers[1].kind, LayerKind::Machine);
        let credits = look_up(None, &["P10"], 2).unwrap().bursts;
        assert!(
            credits
                .iter()
                .any(|burst| burst.counts == Counts::Operations && burst.ceiling == 7000.0)
        );
        assert!(look_up(Some("no such thing"), &[], 1).is_err());
    }
}
