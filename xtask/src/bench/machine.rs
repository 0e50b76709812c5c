//! The machine and the programs of a comparison.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde::Serialize;

use crate::command::{output, root};

/// Facts about the machine for readers of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Machine {
    pub(crate) cpu: String,
    pub(crate) cores: usize,
    pub(crate) memory_gib: u64,
    pub(crate) is_virtual: bool,
    pub(crate) kernel: String,
    pub(crate) fio: Option<String>,
    pub(crate) valgrind: Option<String>,
    /// Commit of this repository; with a plus if files were changed since.
    pub(crate) commit: String,
    /// Runnable threads, on average over the minute before the start: above 0.5 the figures are
    /// disturbed.
    pub(crate) load: f64,
}

impl Machine {
    pub(crate) fn detect() -> Machine {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let cpu = read("/proc/cpuinfo");
        let line = |name: &str| field(&cpu, name).unwrap_or_default();
        let memory: u64 = field(&read("/proc/meminfo"), "MemTotal")
            .and_then(|text| text.split(' ').next()?.parse().ok())
            .unwrap_or_default();
        Machine {
            cpu: line("model name"),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory_gib: memory >> 20,
            is_virtual: line("flags").split(' ').any(|flag| flag == "hypervisor"),
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            fio: fio(),
            valgrind: output(Command::new("valgrind").arg("--version")).ok(),
            commit: commit(),
            load: read("/proc/loadavg")
                .split(' ')
                .next()
                .and_then(|text| text.parse().ok())
                .unwrap_or_default(),
        }
    }

    /// A short name of the machine, for file names.
    pub(crate) fn kind(&self) -> String {
        let what = if self.is_virtual { "virtual" } else { "metal" };
        format!("{what}-{}cpu", self.cores)
    }
}

/// The value of the first line `NAME: VALUE`.
fn field(text: &str, name: &str) -> Option<String> {
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(known, _)| known.trim() == name)
        .map(|(_, value)| value.trim().to_owned())
}

/// Version and package of fio: builds differ in speed.
fn fio() -> Option<String> {
    let version = output(Command::new("fio").arg("--version")).ok()?;
    let package = output(Command::new("dpkg-query").args(["--show", "--showformat=${Version}", "fio"]));
    Some(match package {
        Ok(package) if Path::new("/usr/bin/fio").exists() => format!("{version} (Debian package {package})"),
        _ => version,
    })
}

fn commit() -> String {
    let git = |arguments: &[&str]| output(Command::new("git").current_dir(root()).args(arguments));
    let id = git(&["rev-parse", "--short=12", "HEAD"]).unwrap_or_else(|_| "unknown".into());
    let changed = git(&["status", "--porcelain", "--untracked-files=no"]).is_ok_and(|text| !text.is_empty());
    if changed { format!("{id}+") } else { id }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let text = "model\t\t: 143\nmodel name\t: Fast Processor\n";
        assert_eq!(field(text, "model name").as_deref(), Some("Fast Processor"));
        assert_eq!(field(text, "name"), None);
    }
}
