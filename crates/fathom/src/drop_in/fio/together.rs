//! Runs jobs on several hosts together (mpirun, `FATHOM_HOSTS`), with one report for all.
//!
//! Each host examines its own files; this process knows only their names.

use dialects::fio::{Disk, Jobs, PathFacts, TraceFile};

use super::clients::RemoteFs;
use super::local_env::RealDisk;

pub(super) fn refuse_single_host_options(jobs: &Jobs) -> Result<(), String> {
    let flags = &jobs.flags;
    let has_job = |wanted: fn(&dialects::fio::Job) -> bool| jobs.jobs.iter().any(wanted);
    let used = [
        ("--idle-prof", flags.idle_profile.is_some()),
        ("--status-interval", flags.status_interval_us > 0),
        ("read_iolog", has_job(|job| job.options.replay.read_iolog.is_some())),
        ("opendir", has_job(|job| job.options.files.opendir.is_some())),
        ("file_append", has_job(|job| job.options.files.file_append)),
    ];
    match used.iter().find(|(_, is_used)| *is_used) {
        Some((name, _)) => Err(format!(
            "fio: {name} is not supported on several hosts: omit it, or run on one host \
            (FATHOM_FLEET=off, without FATHOM_HOSTS)"
        )),
        None => Ok(()),
    }
}

/// Files of all hosts, and files of this host that the command line names.
pub(super) struct FleetFs<'a>(pub(super) &'a Jobs);

impl Disk for FleetFs<'_> {
    fn find(&self, path: &str) -> Option<PathFacts> {
        RemoteFs { jobs: self.0 }.find(path)
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        RealDisk.read(path)
    }

    fn list_files_below(&self, folder: &str) -> Result<Vec<String>, String> {
        RealDisk.list_files_below(folder)
    }

    fn trace(&self, path: &str) -> Result<TraceFile, String> {
        RealDisk.trace(path)
    }

    fn device(&self, major: u32, minor: u32) -> Option<String> {
        RealDisk.device(major, minor)
    }
}
