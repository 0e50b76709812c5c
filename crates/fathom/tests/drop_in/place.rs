//! The program under the name of another tool, in a folder of its own.

use std::fs;
use std::marker::PhantomData;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use testbed::{Directory, Unavailable};

use crate::calling::{self, PROGRAM, Ran};

/// What is known of the other tool.
pub trait Tool {
    /// The name that makes the program behave like it.
    const NAME: &'static str;
    /// The name in recorded command lines.
    const CALLED: &'static str;
    /// Variables that are set for it.
    const ENVIRONMENT: &'static [(&'static str, &'static str)];
}

/// A folder to run in. The program lies beside it, so that it is not in the way.
pub struct Place<T> {
    folder: Directory,
    tool: PhantomData<T>,
}

impl<T: Tool> Place<T> {
    /// Wherever the tests may write.
    pub fn new() -> Place<T> {
        Place::of(Directory::new()).expect("the tests may write somewhere")
    }

    /// On a file system that lies on a disk.
    pub fn on_disk() -> Result<Place<T>, Unavailable> {
        Place::of(Directory::on_disk())
    }

    fn of(folder: Result<Directory, Unavailable>) -> Result<Place<T>, Unavailable> {
        let place = Place {
            folder: folder?,
            tool: PhantomData,
        };
        fs::create_dir(place.path()).unwrap();
        std::os::unix::fs::symlink(PROGRAM, place.program()).unwrap();
        Ok(place)
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("here")
    }

    /// The folder with the program.
    pub fn programs(&self) -> &Path {
        self.folder.path()
    }

    /// The program under the name of the tool.
    pub fn program(&self) -> PathBuf {
        self.programs().join(T::NAME)
    }

    /// Makes a file in it, with data in it.
    pub fn file(&self, name: &str, bytes: usize) -> PathBuf {
        let path = self.path().join(name);
        let data: Vec<u8> = (0..bytes).map(|index| (index % 251) as u8).collect();
        fs::write(&path, data).unwrap();
        path
    }

    /// Names of what is in it.
    pub fn names(&self) -> Vec<String> {
        calling::names(&self.path())
    }

    pub fn command<A: AsRef<str>>(&self, arguments: &[A]) -> Command {
        self.command_in(&self.path(), arguments)
    }

    /// The same in another folder.
    pub fn command_in<A: AsRef<str>>(&self, folder: &Path, arguments: &[A]) -> Command {
        let mut command = Command::new(self.program());
        command
            .args(arguments.iter().map(AsRef::as_ref))
            .current_dir(folder)
            .arg0(T::CALLED)
            .envs(T::ENVIRONMENT.iter().copied())
            .stdin(Stdio::null());
        for name in [
            "FATHOM_NOTES",
            "FATHOM_RESULT",
            "FATHOM_ALLOW_DESTROY",
            "FATHOM_ALLOW_EXEC",
            "FATHOM_DISKSPD_TEXT",
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
        self.run(&words(line))
    }

    /// Starts a command line without quotes, to be ended with [`calling::end`].
    pub fn start(&self, line: &str) -> Child {
        let mut command = self.command(&words(line));
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }
}

pub fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}
