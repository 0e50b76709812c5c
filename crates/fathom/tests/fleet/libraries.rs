//! MPI libraries: the one in use, its interface, and whether it matches the launcher.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use engine::sys::mpi::{Abi, Mpi};
use testbed::{in_own_process, need};

use super::{PROGRAM, Ran, Workspace, end, measured, run, simulated};

/// MPICH from a Python wheel, with both its own interface and the standard's.
fn mpich() -> Option<&'static Path> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mpich-5");
        need(testbed::python_packages(&folder, &["mpich==5.0.2"])).map(|()| folder)
    });
    folder.as_deref()
}

impl Workspace {
    /// Runs three ranks on this machine with a launcher and these environment variables.
    fn with_launcher(&self, launcher: &Path, environment: &[(&str, &Path)], saved: &str) -> Ran {
        run(self
            .command(launcher)
            .args(["-n", "3", PROGRAM])
            .args(self.run_args(saved))
            .envs(environment.iter().copied()))
    }
}

#[test]
fn the_standard_interface_gives_the_same_results() {
    let mpich = need!(mpich());
    let workspace = need!(simulated());
    end(workspace.with_hosts(None, "local,local,local", "pipes")).expect(0, &[]);
    let (launcher, libraries) = (mpich.join("bin/mpiexec"), mpich.join("lib"));
    let folders = PathBuf::from(format!("{0}:{0}/mpich", libraries.display()));
    // Both interfaces are found, and the standard one is used.
    let found = ("LD_LIBRARY_PATH", folders.as_path());
    let standard = ["by MPI (MPICH Version: 5.0.2, interface of MPI 5)"];
    workspace
        .with_launcher(&launcher, &[found], "standard")
        .expect(0, &standard);
    // The file name of a library does not decide its interface.
    let disguised = workspace.path("libmpi.so.12");
    symlink(libraries.join("libmpi_abi.so.1"), &disguised).unwrap();
    let named = ("FATHOM_MPI_LIBRARY", disguised.as_path());
    workspace
        .with_launcher(&launcher, &[found, named], "disguised")
        .expect(0, &standard);
    let folder = workspace.path("libmpi_abi");
    fs::create_dir(&folder).unwrap();
    let disguised = folder.join("libmpi.so.12");
    symlink(libraries.join("libmpi.so.12"), &disguised).unwrap();
    let named = ("FATHOM_MPI_LIBRARY", disguised.as_path());
    workspace
        .with_launcher(&launcher, &[found, named], "own")
        .expect(0, &["by MPI (MPICH Version: 5.0.2)"]);
    let expected = measured(&workspace.saved("pipes"));
    for saved in ["standard", "disguised", "own"] {
        let results = workspace.saved(saved);
        assert_eq!(results.steps[0].jobs[0].total().operations, 15_000, "{saved}");
        assert_eq!(measured(&results), expected, "{saved}");
    }
}

#[test]
fn a_library_of_another_launcher_is_refused() {
    let workspace = need!(simulated());
    let words = [
        "one of 3 processes",
        "does not see 2 of them",
        "not the library of this launcher",
    ];
    let other = ("FATHOM_MPI_LIBRARY", Path::new("libmpi.so.40"));
    let ran = workspace.with_launcher(Path::new("mpirun.mpich"), &[other], "saved");
    ran.expect(3, &words).expect(3, &["Open MPI v4"]);
    // This one was not started by a launcher.
    run(workspace
        .command(PROGRAM)
        .args(workspace.run_args("saved"))
        .env("PMI_SIZE", "3")
        .env("FATHOM_MPI_LIBRARY", "libmpich.so.12"))
    .expect(3, &words)
    .expect(3, &["MPICH Version: 4"]);
    assert!(!workspace.path("saved").exists());
}

/// Sends a message from a process to itself. Checks that MPI returns an error for a missing rank;
/// by default, MPI would end this process.
fn assert_returns_errors(library: &str, abi: Abi) {
    let mpi = Mpi::open(library).unwrap().start().unwrap();
    assert_eq!((mpi.abi, mpi.rank(), mpi.size()), (abi, 0, 1));
    let bytes: Vec<u8> = (0..100_000_u32).map(|number| number as u8).collect();
    let mut received = mpi.receive(0, 5, bytes.len()).unwrap();
    assert!(!mpi.has_message(0, 6).unwrap());
    let mut sent = mpi.send(0, 5, bytes.clone()).unwrap();
    while !mpi.has_ended(&mut received).unwrap() || !mpi.has_ended(&mut sent).unwrap() {}
    assert_eq!(received.into_bytes(), bytes);
    let why = mpi.has_message(7, 5).unwrap_err();
    assert!(why.to_lowercase().contains("invalid rank"), "{why}");
    mpi.finish();
}

#[test]
fn the_standard_interface_returns_errors() {
    let mpich = need!(mpich());
    let library = mpich.join("lib/libmpi_abi.so.1");
    in_own_process("libraries::the_standard_interface_returns_errors", || {
        assert_returns_errors(library.to_str().unwrap(), Abi::Standard);
    });
}

#[test]
fn mpich_returns_errors() {
    in_own_process("libraries::mpich_returns_errors", || {
        assert_returns_errors("libmpich.so.12", Abi::Mpich)
    });
}

#[test]
fn open_mpi_returns_errors() {
    in_own_process("libraries::open_mpi_returns_errors", || {
        assert_returns_errors("libmpi.so.40", Abi::OpenMpi)
    });
}
