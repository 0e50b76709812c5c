//! Files and devices that virtual machines have open.
//!
//! A hypervisor claims nothing: its guest's disk looks unused to the kernel. What it has open can
//! be seen in `/proc`, by its owner and by root only.

use super::System;
use crate::identity::Identity;

/// A process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub id: u32,
    /// Its name.
    pub name: String,
}

/// Something that a process has open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldFile {
    /// Who.
    pub process: Process,
    /// What.
    pub identity: Identity,
}

/// Beginnings of the names of programs that run virtual machines or serve their disks. The kernel
/// keeps 15 characters.
const PROGRAMS: [&str; 14] = [
    "qemu", "kvm", "lkvm", "cloud-hyperviso", "firecracker", "crosvm", "VBoxHeadless", "VirtualBoxVM", "VBoxSVC",
    "vmware-vmx", "stratovirt", "tapdisk", "xen-qdisk", "dragonball",
];

/// What virtual machines have open, and those whose open files may not be looked at.
pub(super) fn held_by_machines(system: &System) -> (Vec<HeldFile>, Vec<Process>) {
    let (mut held, mut hidden) = (Vec::new(), Vec::new());
    for folder in system.names("/proc") {
        let Ok(id) = folder.parse() else { continue };
        // An emulator that runs this very program has its name, and opens what this program opens.
        if system.is_live() && id == std::process::id() {
            continue;
        }
        let Some(name) = system.words(&format!("/proc/{folder}/comm")) else {
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
        for number in system.names(&files) {
            let Some(identity) = system.identity_behind(&format!("{files}/{number}")) else {
                continue;
            };
            let known = held
                .iter()
                .any(|file: &HeldFile| file.identity == identity && file.process == process);
            if !known {
                held.push(HeldFile {
                    process: process.clone(),
                    identity,
                });
            }
        }
    }
    (held, hidden)
}
