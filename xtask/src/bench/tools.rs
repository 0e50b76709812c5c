//! Running fathom and fio, and counting their instructions.

use std::path::{Path, PathBuf};

use super::Trouble;
use super::child::{self, Ended};
use super::work::{Until, Work};
use crate::command::{cargo, root, run};

/// Which program a workload is given to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    Fathom,
    /// fathom in the place of fio, with fio's arguments.
    InPlace,
    /// fathom in the place of DiskSpd, with DiskSpd's arguments.
    DiskSpd,
    Fio,
    /// The bare loop of `crates/engine/examples/floor.rs`.
    Floor,
}

/// Where the bare loop is built, below the folder of a profile.
const FLOOR: &str = "examples/floor";

/// The programs.
#[derive(Clone, Debug)]
pub(crate) struct Tools {
    fathom: PathBuf,
    profile: &'static str,
    pub(crate) has_fio: bool,
    pub(crate) has_valgrind: bool,
}

impl Tools {
    /// Builds fathom, unless one is given, and looks for the others.
    pub(crate) fn find(fathom: Option<&Path>, profile: &'static str) -> Result<Tools, Trouble> {
        let fathom = match fathom {
            Some(path) => path.canonicalize()?,
            None => {
                run(cargo().args(["build", "--profile", profile, "--package", "fathom"])).map_err(Trouble)?;
                target_folder().join(profile).join("fathom")
            }
        };
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

    /// Builds an example of a crate with the profile of fathom and returns its path.
    pub(crate) fn build_example(&self, package: &str, name: &str) -> Result<PathBuf, Trouble> {
        let profile = self.profile;
        run(cargo().args(["build", "--profile", profile, "--package", package, "--example", name])).map_err(Trouble)?;
        Ok(target_folder().join(profile).join("examples").join(name))
    }

    /// fathom with arguments of its own.
    pub(crate) fn own(&self, arguments: &[&str]) -> Vec<String> {
        let program = self.fathom.display().to_string();
        std::iter::once(program)
            .chain(arguments.iter().map(|one| (*one).to_owned()))
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

    /// A command line of fio, for it or for what stands in its place.
    pub(crate) fn fio(&self, tool: Tool, arguments: &[String]) -> Vec<String> {
        let program = match tool {
            Tool::Fio => vec!["fio".to_owned()],
            _ => vec![self.fathom.display().to_string(), "fio".to_owned()],
        };
        program.into_iter().chain(arguments.iter().cloned()).collect()
    }

    /// Runs it.
    pub(crate) fn run(&self, tool: Tool, work: &Work) -> Result<Ended, Trouble> {
        child::run(&self.line(tool, work))
    }

    /// Instructions in user space for each operation: the difference of two runs, so that start and
    /// end do not count.
    pub(crate) fn instructions(&self, tool: Tool, work: &Work, operations: [u64; 2]) -> Result<f64, Trouble> {
        let count = |operations| -> Result<f64, Trouble> {
            let mut work = work.clone().until(Until::Operations(operations));
            // Callgrind does not follow fio's processes as one program, but its threads.
            if tool == Tool::Fio {
                work = work.theirs(&["--thread=1"]);
            }
            let mut line: Vec<String> = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
                .map(str::to_owned)
                .into();
            line.extend(self.line(tool, &work));
            // It ends by operations, so that no clock matters; reading the usual one is a part of
            // the cost.
            let ended = child::run(&line)?;
            collected(&ended.stderr).ok_or_else(|| Trouble("callgrind printed no count".into()))
        };
        let [few, many] = operations;
        Ok((count(many)? - count(few)?) / (many - few) as f64)
    }
}

fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// The count in what callgrind prints at its end.
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
