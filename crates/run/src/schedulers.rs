//! Sets I/O schedulers for the devices under targets, and restores them after the run. In contrast,
//! fio leaves its choice in place. A device that has another user (system files, swap space, a
//! volume mounted elsewhere, the disk of a virtual machine) is refused, because the run would
//! change that user's speed for no apparent reason.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Mutex;

use engine::Identity;
use engine::probe::{BlockDevice, Inventory, System, active_scheduler};
use model::environment::TargetFacts;
use model::plan::Job;

use crate::setup_error::{SetupError, SystemSetting};

/// The original schedulers, by their sysfs file. Dropping it restores them.
#[derive(Debug, Default)]
pub(crate) struct Schedulers {
    before: Mutex<Vec<(PathBuf, String)>>,
}

impl Schedulers {
    /// Sets the scheduler of a job for the devices under its targets. Targets without a device,
    /// such as files in memory or on a network, are ignored.
    ///
    /// # Errors
    /// [`SetupError`] if a device has other users, or does not offer that scheduler.
    pub(crate) fn set_for_job(&self, job: &Job, facts: &[TargetFacts]) -> Result<(), SetupError> {
        let Some(scheduler) = &job.scheduler else { return Ok(()) };
        let inventory = Inventory::take(&System::live());
        let streams = job.workers.iter().flat_map(|worker| &worker.streams);
        let targets = streams.flat_map(|stream| stream.target.ids());
        let mut under: Vec<(&str, &str)> = targets
            .filter_map(|id| facts.get(id.0 as usize))
            .filter_map(|target| Some((target.devices.first()?.name.as_str(), target.kind.as_str())))
            .collect();
        under.sort_unstable();
        under.dedup();
        let devices_of_files = under.iter().filter(|(_, kind)| *kind == "file");
        let devices_of_files: Vec<&str> = devices_of_files.map(|(name, _)| *name).collect();
        for (name, _) in &under {
            let Some(device) = inventory.device_by_name(name) else {
                continue;
            };
            let disk = device
                .partition_of
                .as_deref()
                .and_then(|disk| inventory.device_by_name(disk));
            let disk = disk.unwrap_or(device);
            if is_active(disk, scheduler) {
                continue;
            }
            if let Some(other) = describe_other_use(&inventory, disk, &devices_of_files) {
                return Err(SetupError::unsupported(
                    format!("the I/O scheduler of {} must not be changed: {other}", disk.path()),
                    format!(
                        "use a device that serves only the test, or change the scheduler yourself: \
                         echo {scheduler} > /sys/block/{}/queue/scheduler",
                        disk.name
                    ),
                ));
            }
            self.switch(disk, scheduler)?;
        }
        Ok(())
    }

    fn switch(&self, disk: &BlockDevice, scheduler: &str) -> Result<(), SetupError> {
        let failed = |source| SetupError::SystemSetting {
            setting: SystemSetting::Scheduler,
            what: format!("cannot set the I/O scheduler of {} to {scheduler}", disk.path()),
            source,
        };
        let file = PathBuf::from(format!("/sys/block/{}/queue/scheduler", disk.name));
        let offered = fs::read_to_string(&file).map_err(failed)?;
        let before = active_scheduler(&offered);
        if before == Some(scheduler) {
            return Ok(());
        }
        fs::write(&file, scheduler).map_err(failed)?;
        let Ok(mut schedulers) = self.before.lock() else {
            return Ok(());
        };
        if let Some(before) = before.filter(|_| schedulers.iter().all(|(known_file, _)| *known_file != file)) {
            schedulers.push((file.clone(), before.to_owned()));
        }
        // Some kernels accept any name but ignore an unknown one.
        let now = fs::read_to_string(&file).map_err(failed)?;
        match active_scheduler(&now) == Some(scheduler) {
            true => Ok(()),
            false => Err(failed(io::ErrorKind::InvalidInput.into())),
        }
    }
}

impl Drop for Schedulers {
    fn drop(&mut self) {
        let Ok(before) = self.before.get_mut() else { return };
        for (file, name) in before.drain(..) {
            // A device that was removed needs no restoration.
            let _ = fs::write(file, name);
        }
    }
}

/// True if the device already has this scheduler.
fn is_active(disk: &BlockDevice, scheduler: &str) -> bool {
    let offered = fs::read_to_string(format!("/sys/block/{}/queue/scheduler", disk.name));
    offered.is_ok_and(|offered| active_scheduler(&offered) == Some(scheduler))
}

/// Describes what uses a disk besides the test. The test's files are on file systems of
/// `devices_of_files`.
fn describe_other_use(inventory: &Inventory, disk: &BlockDevice, devices_of_files: &[&str]) -> Option<String> {
    let mut devices = vec![disk];
    let mut next = 0;
    while let Some(device) = devices.get(next) {
        for upper in inventory.directly_above(device) {
            if !devices.iter().any(|listed| listed.name == upper.name) {
                devices.push(upper);
            }
        }
        next += 1;
    }
    devices.into_iter().find_map(|device| {
        let path = device.path();
        let identity = Identity::BlockDevice(device.number);
        let mut mounts = inventory.mounts_on(device);
        let elsewhere = mounts.find(|mount| mount.mount_point == "/" || !devices_of_files.contains(&&*device.name));
        if let Some(mount) = elsewhere {
            return Some(format!("{path} is mounted at {}", mount.mount_point));
        }
        if inventory.swaps_on(identity).next().is_some() {
            return Some(format!("{path} is swap space"));
        }
        let guest = inventory.guests_using(identity).next();
        guest.map(|_| format!("a virtual machine uses {path}"))
    })
}
