//! The test environment: drives and files from variables, and directories for the tools.

use std::path::PathBuf;

use testbed::{Unavailable, need};

use crate::sandbox::{Diskspd, Fio, Sandbox};

/// Returns the path in a variable. Without it, the test is skipped.
fn path_from_env(variable: &str) -> Option<PathBuf> {
    let path = std::env::var_os(variable).map(PathBuf::from);
    need(path.ok_or_else(|| Unavailable::because(format!("{variable} is not set"))))
}

/// Returns the root of a drive to write to, such as `F:\`.
pub fn drive() -> Option<PathBuf> {
    path_from_env("FATHOM_TEST_DRIVE")
}

/// Returns the root of a drive with space for at most 64 MiB.
pub fn small_drive() -> Option<PathBuf> {
    path_from_env("FATHOM_TEST_SMALL_DRIVE")
}

/// Returns a file that may be read but not written.
pub fn read_only_file() -> Option<PathBuf> {
    path_from_env("FATHOM_TEST_DENIED")
}

/// Returns the program that presses keys.
pub fn press_program() -> Option<PathBuf> {
    path_from_env("FATHOM_TEST_PRESS")
}

/// A directory of one test on the drive. Dropping it removes it.
pub struct DriveFolder(PathBuf);

impl DriveFolder {
    pub fn new(name: &str) -> Option<DriveFolder> {
        let path = drive()?.join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Some(DriveFolder(path))
    }

    /// Returns the path of a file in the directory.
    pub fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    pub fn names(&self) -> Vec<String> {
        crate::calling::names(&self.0)
    }
}

impl Drop for DriveFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Creates a directory with the program, named as DiskSpd.
pub fn diskspd() -> Sandbox<Diskspd> {
    Sandbox::new()
}

/// Creates a directory with the program, named as fio.
pub fn fio() -> Sandbox<Fio> {
    Sandbox::new()
}
