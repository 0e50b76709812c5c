//! Detects the launcher of this process and the matching MPI library.

use std::time::Duration;

/// A launcher that has started several processes of one test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Name of the launcher.
    pub by: &'static str,
    /// Number of processes, if known.
    pub size: Option<u32>,
    /// Libraries to try, the most likely first.
    pub libraries: Vec<String>,
    /// The package to install if no library is found.
    pub install: &'static str,
    /// Time from its stop request until it kills the process; `None` if it waits forever.
    pub grace: Option<Duration>,
    /// The other processes survive if one of them dies (User Level Failure Mitigation).
    pub tolerates_lost_processes: bool,
}

/// mpirun of Open MPI kills processes one second after its stop request.
const OPEN_MPI_GRACE: Duration = Duration::from_millis(600);
const OPEN_MPI: [&str; 2] = ["libmpi.so.40", "libmpi.so.80"];
const MPICH: [&str; 2] = ["libmpi.so.12", "libmpich.so.12"];
const STANDARD: [&str; 1] = ["libmpi_abi.so.1"];

/// Launchers without a known library. A row has the variables with the process number and the
/// number of processes, and the name.
const OTHER_LAUNCHERS: [(&str, Option<&str>, &str); 5] = [
    ("FLUX_TASK_RANK", Some("FLUX_JOB_SIZE"), "Flux"),
    ("JSM_NAMESPACE_RANK", Some("JSM_NAMESPACE_SIZE"), "jsrun"),
    ("PALS_RANKID", None, "mpiexec of Cray PALS"),
    ("ALPS_APP_PE", None, "aprun"),
    ("PMIX_RANK", None, "a launcher that speaks PMIx"),
];

impl Launch {
    /// True if it has started only this process.
    pub fn is_alone(&self) -> bool {
        self.size == Some(1)
    }

    /// Describes this process as one of the launcher's.
    pub fn describe(&self) -> String {
        let launcher = self.by;
        match self.size {
            Some(size) => format!("this is one of {size} processes that {launcher} has started"),
            None => format!("this is one of the processes that {launcher} has started"),
        }
    }

    /// What to do if no library is found.
    pub fn install_advice(&self) -> String {
        match self.libraries.is_empty() {
            true => self.install.to_owned(),
            false => format!("install the library of {}", self.install),
        }
    }

    /// Describes the fault of the library if fewer processes joined than were started. `None` if
    /// all did. A library of another launcher starts without an error but sees only this process,
    /// so each process would execute the whole test.
    pub fn library_mismatch(&self, joined: u32) -> Option<String> {
        let unseen = self.size.unwrap_or(2).saturating_sub(joined);
        (unseen > 0).then(|| {
            let how_many = self.size.map_or("the others".into(), |_| format!("{unseen} of them"));
            format!("does not see {how_many}: it is not the library of this launcher")
        })
    }
}

/// Detects the launcher from the environment; `None` if there is none. A launcher of a single
/// process matters only because it may have bound it to CPUs. `FATHOM_MPI_LIBRARY` names the
/// library, and `FATHOM_FLEET=off` makes every process run alone.
pub fn detect_launcher(variable: impl Fn(&str) -> Option<String>) -> Option<Launch> {
    if variable("FATHOM_FLEET").is_some_and(|value| value == "off") {
        return None;
    }
    let is_set = |name: &str| variable(name).is_some();
    // Launchers can be nested; one that has started several processes has priority.
    let launcher = known_launcher(&variable, |size| size > 1).or_else(|| known_launcher(&variable, |size| size == 1));
    let (launcher, size, order, install) = launcher.or_else(|| other_launcher(&variable))?;
    let libraries = match variable("FATHOM_MPI_LIBRARY").filter(|name| !name.is_empty()) {
        Some(name) => vec![name],
        None => order.concat().into_iter().map(str::to_owned).collect(),
    };
    Some(Launch {
        by: launcher,
        size,
        libraries,
        install,
        grace: is_set("OMPI_COMM_WORLD_SIZE").then_some(OPEN_MPI_GRACE),
        tolerates_lost_processes: variable("OMPI_MCA_mpi_ft_enable").is_some_and(|value| value != "0"),
    })
}

/// Name, number of processes, libraries in order, and what to install.
type LauncherFacts = (&'static str, Option<u32>, [&'static [&'static str]; 3], &'static str);

/// A known launcher whose number of processes satisfies `fits`.
fn known_launcher(variable: &impl Fn(&str) -> Option<String>, fits: impl Fn(u32) -> bool) -> Option<LauncherFacts> {
    let number = |name: &str| variable(name)?.parse::<u32>().ok().filter(|number| fits(*number));
    Some(if let Some(size) = number("OMPI_COMM_WORLD_SIZE") {
        (
            "mpirun of Open MPI",
            Some(size),
            [&OPEN_MPI, &STANDARD, &MPICH],
            "Open MPI (Debian: libopenmpi3)",
        )
    } else if let Some(size) = number("MV2_COMM_WORLD_SIZE") {
        (
            "mpirun of MVAPICH",
            Some(size),
            [&MPICH, &STANDARD, &OPEN_MPI],
            "MVAPICH",
        )
    } else if let (Some(_), Some(size)) = (variable("PMIX_RANK"), number("SLURM_STEP_NUM_TASKS")) {
        (
            "Slurm (PMIx)",
            Some(size),
            [&OPEN_MPI, &STANDARD, &MPICH],
            "Open MPI (Debian: libopenmpi3)",
        )
    } else if let Some(size) = number("PMI_SIZE") {
        (
            "mpirun of MPICH or its family, or Slurm (PMI)",
            Some(size),
            [&STANDARD, &MPICH, &OPEN_MPI],
            "MPICH (Debian: libmpich12)",
        )
    } else if let Some(size) = number("SLURM_STEP_NUM_TASKS") {
        (
            "Slurm without MPI",
            Some(size),
            [&[], &[], &[]],
            "use `srun --mpi=pmix` (Open MPI) or `srun --mpi=pmi2` (MPICH)",
        )
    } else {
        return None;
    })
}

/// Another launcher: its library is unknown, so all are tried.
fn other_launcher(variable: &impl Fn(&str) -> Option<String>) -> Option<LauncherFacts> {
    let (_, size, launcher) = OTHER_LAUNCHERS.iter().find(|(rank, ..)| variable(rank).is_some())?;
    let size = size.and_then(|name| variable(name)?.parse().ok());
    let install = "the MPI that this launcher is made for (Open MPI, MPICH or one of its family)";
    Some((launcher, size, [&OPEN_MPI, &MPICH, &STANDARD], install))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_launcher_has_its_libraries() {
        let check = |set: &[(&str, &str)], expected: Option<(u32, &str)>| {
            let launch = detect_with(set);
            let size_and_library =
                launch.map(|launch| (launch.size, launch.libraries.first().cloned().unwrap_or_default()));
            assert_eq!(
                size_and_library,
                expected.map(|(size, library)| (Some(size), library.to_owned())),
                "{set:?}"
            );
        };
        check(&[], None);
        check(&[("OMPI_COMM_WORLD_SIZE", "1")], Some((1, "libmpi.so.40")));
        check(&[("OMPI_COMM_WORLD_SIZE", "4")], Some((4, "libmpi.so.40")));
        check(&[("PMI_SIZE", "3")], Some((3, "libmpi_abi.so.1")));
        check(
            &[("PMI_SIZE", "3"), ("FATHOM_MPI_LIBRARY", "/x.so")],
            Some((3, "/x.so")),
        );
        check(&[("PMI_SIZE", "3"), ("FATHOM_FLEET", "off")], None);
        check(
            &[("PMIX_RANK", "0"), ("SLURM_STEP_NUM_TASKS", "2")],
            Some((2, "libmpi.so.40")),
        );
        // A batch script is a single process, even if its job has several.
        check(&[("SLURM_NTASKS", "8"), ("SLURM_PROCID", "0")], None);
        check(&[("SLURM_STEP_NUM_TASKS", "8")], Some((8, "")));
    }

    #[test]
    fn other_launchers_are_detected() {
        let check = |set: &[(&str, &str)], expected: Option<(&str, Option<u32>)>| {
            let launcher_and_size = detect_with(set).map(|launch| (launch.by, launch.size));
            assert_eq!(launcher_and_size, expected, "{set:?}");
        };
        check(&[("PMIX_RANK", "0")], Some(("a launcher that speaks PMIx", None)));
        check(
            &[("FLUX_TASK_RANK", "1"), ("FLUX_JOB_SIZE", "4")],
            Some(("Flux", Some(4))),
        );
        // A shell started by Slurm is alone, and so are its child processes.
        check(
            &[("PMIX_RANK", "0"), ("SLURM_STEP_NUM_TASKS", "1")],
            Some(("Slurm (PMIx)", Some(1))),
        );
        check(
            &[("OMPI_COMM_WORLD_SIZE", "1"), ("PMIX_RANK", "0")],
            Some(("mpirun of Open MPI", Some(1))),
        );
        // One launcher started the other.
        check(
            &[("OMPI_COMM_WORLD_SIZE", "1"), ("PMI_SIZE", "4")],
            Some(("mpirun of MPICH or its family, or Slurm (PMI)", Some(4))),
        );
        check(&[("PMIX_RANK", "0"), ("FATHOM_FLEET", "off")], None);
    }

    #[test]
    fn a_library_of_another_launcher_is_detected() {
        let four = detect_with(&[("PMI_SIZE", "4")]).expect("it is known");
        assert_eq!(
            (four.library_mismatch(4), four.library_mismatch(1).is_some()),
            (None, true)
        );
        let some = detect_with(&[("PMIX_RANK", "0")]).expect("it is known");
        assert_eq!(
            (some.library_mismatch(2), some.library_mismatch(1).is_some()),
            (None, true)
        );
    }

    fn detect_with(set: &[(&str, &str)]) -> Option<Launch> {
        detect_launcher(|name| {
            let pair = set.iter().find(|(variable, _)| *variable == name);
            pair.map(|(_, value)| (*value).to_owned())
        })
    }
}
