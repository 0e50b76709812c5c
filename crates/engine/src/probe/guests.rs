//! Files and devices that virtual machines have open. A hypervisor does not claim the disks of its
//! guests, so the kernel shows them as unused. Its open files appear in `/proc`, but only its owner
//! and root can read them.

use super::System;
use crate::identity::Identity;

/// A process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Process ID.
    pub id: u32,
    /// Program name, from `/proc/PID/comm`.
    pub name: String,
}

/// A file or device that a process has open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenFile {
    /// The process that holds it open.
    pub process: Process,
    /// Identity of the file or device.
    pub identity: Identity,
}

/// Name prefixes of programs that run virtual machines or serve their disks. The kernel keeps 15
/// characters.
const PROGRAMS: [&str; 14] = [
    "qemu", "kvm", "lkvm", "cloud-hyperviso", "firecracker", "crosvm", "VBoxHeadless", "VirtualBoxVM", "VBoxSVC",
    "vmware-vmx", "stratovirt", "tapdisk", "xen-qdisk", "dragonball",
];

/// Files that virtual machines have open, and machines whose open files are not accessible.
pub(super) fn guest_files(system: &System) -> (Vec<OpenFile>, Vec<Process>) {
    let (mut open_files, mut hidden) = (Vec::new(), Vec::new());
    for folder in system.list_names("/proc") {
        let Ok(id) = folder.parse() else { continue };
        // Skip this process: a user-mode emulator gives it the emulator's name.
        if system.is_live() && id == std::process::id() {
            continue;
        }
        let Some(name) = system.read_trimmed(&format!("/proc/{folder}/comm")) else {
            continue;
        };
        // Kernel threads such as `kvm-pit` and `kvm-nx-lpage-re` have nothing open.
        if !PROGRAMS.iter().any(|program| name.starts_with(program)) || name.starts_with("kvm-") {
            continue;
        }
        let process = Process { id, name };
        let files = format!("/proc/{folder}/fd");
        if std::fs::read_dir(system.path(&files)).is_err() {
            hidden.push(process);
            continue;
        }
        for number in system.list_names(&files) {
            let Some(identity) = system.identity_behind(&format!("{files}/{number}")) else {
                continue;
            };
            let is_listed = open_files
                .iter()
                .any(|file: &OpenFile| file.identity == identity && file.process == process);
            if !is_listed {
                open_files.push(OpenFile {
                    process: process.clone(),
                    identity,
                });
            }
        }
    }
    (open_files, hidden)
}
