//! The program under the name `fio`, in a folder of its own.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use testbed::{Directory, Unavailable};

use crate::calling::{self, PROGRAM, Ran};

/// What was recorded from fio 3.42.
pub const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/fio");

/// A folder to run in. The program lies beside it, so that it is not in the way.
pub struct Place {
    folder: Directory,
}

impl Place {
    /// Wherever the tests may write.
    pub fn new() -> Place {
        Place::of(Directory::new()).expect("the tests may write somewhere")
    }

    /// On a file system that lies on a disk.
    pub fn on_disk() -> Result<Place, Unavailable> {
        Place::of(Directory::on_disk())
    }

    fn of(folder: Result<Directory, Unavailable>) -> Result<Place, Unavailable> {
        let place = Place { folder: folder? };
        fs::create_dir(place.path()).unwrap();
        std::os::unix::fs::symlink(PROGRAM, place.folder.path().join("fio")).unwrap();
        Ok(place)
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("here")
    }

    /// The folder with the program.
    pub fn programs(&self) -> &Path {
        self.folder.path()
    }

    pub fn command<A: AsRef<str>>(&self, arguments: &[A]) -> Command {
        let mut command = Command::new(self.folder.path().join("fio"));
        command
            .args(arguments.iter().map(AsRef::as_ref))
            .current_dir(self.path())
            // The name that the recorded command lines have.
            .arg0("fio")
            .env("TZ", "UTC")
            .stdin(Stdio::null());
        for name in [
            "FATHOM_NOTES",
            "FATHOM_RESULT",
            "FATHOM_ALLOW_DESTROY",
            "FATHOM_ALLOW_EXEC",
        ] {
            command.env_remove(name);
        }
        command
    }

    pub fn run<A: AsRef<str>>(&self, arguments: &[A]) -> Ran {
        calling::finish(&mut self.command(arguments))
    }

    /// Runs a command line without quotes.
    pub fn line(&self, line: &str) -> Ran {
        self.run(&line.split_whitespace().collect::<Vec<_>>())
    }
}

/// A recorded file.
pub fn recorded(name: &str) -> String {
    let path = format!("{DATA}/{name}");
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}
