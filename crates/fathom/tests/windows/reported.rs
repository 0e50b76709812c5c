//! What the environment says of the machine.

use std::path::PathBuf;

use testbed::{Unavailable, need};

use crate::place::{Place, Tool};

/// DiskSpd.
pub struct Diskspd;

impl Tool for Diskspd {
    const NAME: &'static str = "diskspd";
    const CALLED: &'static str = "diskspd.exe";
    const ENVIRONMENT: &'static [(&'static str, &'static str)] = &[];
}

/// fio.
pub struct Fio;

impl Tool for Fio {
    const NAME: &'static str = "fio";
    const CALLED: &'static str = "fio.exe";
    const ENVIRONMENT: &'static [(&'static str, &'static str)] = &[];
}

/// The path in a variable; without it the test is skipped.
fn path_from_env(variable: &str) -> Option<PathBuf> {
    let path = std::env::var_os(variable).map(PathBuf::from);
    need(path.ok_or_else(|| Unavailable::because(format!("{variable} is not set"))))
}

/// A drive that may be written to, as `F:\`.
pub fn drive() -> Option<PathBuf> {
    path_from_env("FATHOM_TEST_DRIVE")
}

/// One that has room for at most 64 MiB.
pub fn small_drive() -> Option<PathBuf> {
    path_from_env("FATHOM_TEST_SMALL_DRIVE")
}

/// A file that may be read and not written.
pub fn denied() -> Option<PathBuf> {
    path_from_env("FATHOM_TEST_DENIED")
}

/// The program that presses keys.
pub fn press() -> Option<PathBuf> {
    path_from_env("FATHOM_TEST_PRESS")
}

/// A folder on the drive, for one test alone, gone with it.
pub struct OnDrive(PathBuf);

impl OnDrive {
    pub fn new(name: &str) -> Option<OnDrive> {
        let path = drive()?.join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Some(OnDrive(path))
    }

    /// A path in it.
    pub fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    pub fn names(&self) -> Vec<String> {
        crate::calling::names(&self.0)
    }
}

impl Drop for OnDrive {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A place for DiskSpd.
pub fn diskspd() -> Place<Diskspd> {
    Place::new()
}

/// A place for fio.
pub fn fio() -> Place<Fio> {
    Place::new()
}
