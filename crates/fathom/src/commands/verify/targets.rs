//! Targets of `fathom verify`: paths of this machine, or simulated devices in job files.

use std::path::Path;

use dialects::native::{self, Document, JobSpec};
use engine::probe::{System, memory_total};
use engine::sys::facts::{read_identity, read_space};
use model::Bytes;
use model::caps::LimitLayer;
use model::plan::{SimulatedDevice, StoragePath};

use crate::fault::{Fault, Faults};
use crate::screen;
use crate::user_file;

/// Largest share of the usable space that a new file takes.
const MAX_SPACE_SHARE: f64 = 0.5;
/// Share of a file system that stays free.
const MIN_FREE_SHARE: f64 = 0.2;
/// Prefix of a simulated device in a job file.
const SIMULATED: &str = "simulated:";

pub(super) struct Targets {
    /// Directories, files and block devices, or `simulated:NAME`.
    pub(super) paths: Vec<String>,
    /// The device of each path if they are simulated, else empty.
    pub(super) simulated: Vec<SimulatedDevice>,
    /// Facts about the storage, from job files.
    pub(super) storage: Option<StoragePath>,
    /// Limits from job files.
    pub(super) caps: Vec<LimitLayer>,
}

impl Targets {
    /// Reads the job files among the targets. Refuses duplicates, which would be tested twice.
    pub(super) fn parse(named: &[String]) -> Result<Targets, Faults> {
        let mut targets = Targets {
            paths: Vec::new(),
            simulated: Vec::new(),
            storage: None,
            caps: Vec::new(),
        };
        for (number, name) in named.iter().enumerate() {
            // Links give one file or device several names.
            let identity = read_identity(Path::new(name));
            let is_same =
                |other: &String| other == name || identity.is_some() && read_identity(Path::new(other)) == identity;
            if named[..number].iter().any(is_same) {
                let fault = Fault::new(format!("{name} is named twice"));
                return Err(fault.into_usage("name each target once"));
            }
            if let Some(device) = name.strip_prefix(SIMULATED) {
                return Err(Faults::usage(missing_job_file_fault(device)));
            }
            match load_job_file(Path::new(name))? {
                Some(document) => targets.add_file(name, document)?,
                None => targets.paths.push(name.clone()),
            }
        }
        let is_mixed = !targets.simulated.is_empty() && targets.simulated.len() < targets.paths.len();
        match is_mixed {
            false => Ok(targets),
            true => {
                let fault = Fault::new("cannot test simulated devices and other targets together");
                Err(fault.into_usage("a simulated device has its own clock: test it without other targets"))
            }
        }
    }

    fn add_file(&mut self, name: &str, document: Document) -> Result<(), Faults> {
        if document.simulated.is_empty() {
            let fault = Fault::new(format!("{name} has no simulated device"));
            return Err(fault.into_usage("add a [simulated.NAME] table to it; to test a file of this name, rename it"));
        }
        for job in &document.jobs {
            self.add_job(name, job)?;
        }
        self.caps.extend(document.caps);
        for device in document.simulated {
            let path = format!("{SIMULATED}{}", device.name);
            if self.paths.contains(&path) {
                let fault = Fault::new(format!("{name} defines another device `{}`", device.name));
                return Err(fault.into_usage("use different names for the simulated devices"));
            }
            self.paths.push(path);
            self.simulated.push(device.device);
        }
        Ok(())
    }

    /// Adds a job. One load is issued, so all jobs must agree about the storage below it.
    fn add_job(&mut self, name: &str, job: &JobSpec) -> Result<(), Faults> {
        let common_storage = self.storage.get_or_insert_with(|| job.storage.clone());
        if *common_storage != job.storage {
            let fault = Fault::new(format!("jobs of {name} differ in path, role, replicas or hops"));
            return Err(fault.into_usage("verify tests one load: keep one job in the file, or use `fathom run`"));
        }
        // A limit of the job applies to the load.
        self.caps.extend(job.caps.iter().cloned());
        Ok(())
    }

    /// Refuses a missing path, unless a size for a new file is set. With a size it warns: after a
    /// misspelling, the file may be on the wrong disk.
    pub(super) fn check_missing(&self, file_size: Option<Bytes>) -> Result<(), Faults> {
        let has_folder = |path: &Path| match path.parent() {
            Some(folder) if folder != Path::new("") => folder.is_dir(),
            _ => true,
        };
        let is_missing = |path: &&String| {
            let path = Path::new(path.as_str());
            !engine::sys::facts::names_a_device(path)
                && has_folder(path)
                && std::fs::symlink_metadata(path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
        };
        for path in self
            .paths
            .iter()
            .filter(is_missing)
            .filter(|_| self.simulated.is_empty())
        {
            let Some(size) = file_size else {
                return Err(Fault::new(format!("{path} does not exist"))
                    .into_refusal("check the spelling; --file-size SIZE creates a file of that name for the test"));
            };
            let parent = Path::new(path).parent().filter(|parent| *parent != Path::new(""));
            screen::note(&format!(
                "warning: {path} does not exist: testing a new file of {size} on the file system of {}",
                parent.unwrap_or(Path::new(".")).display()
            ));
        }
        Ok(())
    }

    /// Computes the default size of each file. Together they have twice the memory, so that no
    /// cache of this machine can hold them, but at most half of the usable space, as if all
    /// directories were on one file system. With `quick`, or without space for 1 GiB, the plan's
    /// own default applies.
    pub(super) fn default_size(&self, quick: bool) -> Option<Bytes> {
        let folders = || self.paths.iter().map(Path::new).filter(|path| path.is_dir());
        let count = folders().count() as u64;
        if quick || count == 0 {
            return None;
        }
        let usable = |path: &Path| {
            let (total, available) = read_space(path)?;
            Some((available as f64 - total as f64 * MIN_FREE_SHARE).max(0.0) * MAX_SPACE_SHARE)
        };
        let free_min = folders().filter_map(usable).min_by(f64::total_cmp)?;
        let wanted = (2 * memory_total(&System::live())).min(free_min as u64) / count;
        // Whole MiB. If space is short, preparing the target reports it.
        (wanted >= Bytes::gib(1).0).then_some(Bytes(wanted >> 20 << 20))
    }
}

fn missing_job_file_fault(device: &str) -> Fault {
    Fault::new(format!("`{SIMULATED}{device}` is the name of a device in a job file")).help(format!(
        "pass the file with the [simulated.{device}] table: `fathom verify device.toml`"
    ))
}

fn load_job_file(path: &Path) -> Result<Option<Document>, Faults> {
    if path.extension().is_none_or(|extension| extension != "toml") || !path.is_file() {
        return Ok(None);
    }
    let text = user_file::read_text(path, user_file::MAX_TEXT).map_err(|error| Faults::unreadable(path, &error))?;
    Ok(Some(native::read_job_file(&path.display().to_string(), &text)?))
}
