//! Running fathom and fio, and counting their instructions.

use std::path::{Path, PathBuf};

use super::BenchError;
use super::child::{self, FinishedProgram};
use super::work::{Until, Work};
use crate::command::{cargo, run, target_folder};

/// The program that runs a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    Fathom,
    /// fathom in place of fio, with fio's arguments.
    InPlace,
    /// fathom in place of DiskSpd, with DiskSpd's arguments.
    DiskSpd,
    Fio,
    /// The bare loop of `crates/engine/examples/floor.rs`.
    Floor,
}

/// Path of the bare loop in the folder of a profile.
const FLOOR: &str = "examples/floor";

#[derive(Clone, Debug)]
pub(crate) struct Tools {
    fathom: PathBuf,
    profile: &'static str,
    pub(crate) has_fio: bool,
    pub(crate) has_valgrind: bool,
}

impl Tools {
    /// Builds fathom, unless a program is given, and looks for the other tools.
    pub(crate) fn find(fathom: Option<&Path>, profile: &'static str) -> Result<Tools, BenchError> {
        let fathom = crate::command::fathom(fathom, profile).map_err(BenchError)?;
        let answers = |program: &str| {
            let asked = std::process::Command::new(program).arg("--version").output();
            asked.is_ok_and(|output| output.status.success())
        };
        Ok(Tools {
            fathom,
            profile,
            has_fio: answers("fio"),
            has_valgrind: answers("valgrind"),
        })
    }

    /// Builds an example of a crate with fathom's profile and returns its path.
    pub(crate) fn build_example(&self, package: &str, name: &str) -> Result<PathBuf, BenchError> {
        let profile = self.profile;
        run(cargo().args(["build", "--profile", profile, "--package", package, "--example", name]))
            .map_err(BenchError)?;
        Ok(target_folder().join(profile).join("examples").join(name))
    }

    /// A native fathom command line.
    pub(crate) fn own(&self, arguments: &[&str]) -> Vec<String> {
        let program = self.fathom.display().to_string();
        std::iter::once(program)
            .chain(arguments.iter().map(|argument| (*argument).to_owned()))
            .collect()
    }

    /// The command line of a workload.
    pub(crate) fn line(&self, tool: Tool, work: &Work) -> Vec<String> {
        let fathom = self.fathom.display().to_string();
        let (program, arguments) = match tool {
            Tool::Fathom => (vec![fathom], work.fathom()),
            Tool::DiskSpd => (vec![fathom, "diskspd".into()], work.diskspd()),
            Tool::Floor => (
                vec![target_folder().join(self.profile).join(FLOOR).display().to_string()],
                work.floor(),
            ),
            Tool::InPlace | Tool::Fio => return self.fio(tool, &work.fio()),
        };
        program.into_iter().chain(arguments).collect()
    }

    /// An fio command line, for fio or for fathom in its place.
    pub(crate) fn fio(&self, tool: Tool, arguments: &[String]) -> Vec<String> {
        let program = match tool {
            Tool::Fio => vec!["fio".to_owned()],
            _ => vec![self.fathom.display().to_string(), "fio".to_owned()],
        };
        program.into_iter().chain(arguments.iter().cloned()).collect()
    }

    pub(crate) fn run(&self, tool: Tool, work: &Work) -> Result<FinishedProgram, BenchError> {
        child::run(&self.line(tool, work))
    }

    /// User-space instructions per operation: the difference of two runs, without start and end.
    pub(crate) fn instructions(&self, tool: Tool, work: &Work, operations: [u64; 2]) -> Result<f64, BenchError> {
        let count = |operations| -> Result<f64, BenchError> {
            let mut work = work.clone().until(Until::Operations(operations));
            // Callgrind follows fio's threads, but not its processes, as one program.
            if tool == Tool::Fio {
                work = work.theirs(&["--thread=1"]);
            }
            let mut line: Vec<String> = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
                .map(str::to_owned)
                .into();
            line.extend(self.line(tool, &work));
            // The run ends after a number of operations, so time does not matter. The default clock
            // is part of the cost.
            let finished = child::run(&line)?;
            collected(&finished.stderr).ok_or_else(|| BenchError("callgrind printed no count".into()))
        };
        let [few, many] = operations;
        Ok((count(many)? - count(few)?) / (many - few) as f64)
    }
}

/// Parses the count in callgrind's output.
fn collected(text: &str) -> Option<f64> {
    let line = text.lines().rev().find(|line| line.contains("Collected :"))?;
    line.rsplit(':').next()?.trim().split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_of_callgrind_is_read() {
        let text = "==7== \n==7== Events    : Ir\n==7== Collected : 1234567\n==7== \n==7== I   refs:      1,234,567\n";
        assert_eq!(collected(text), Some(1_234_567.0));
        assert_eq!(collected("nothing"), None);
    }
}
