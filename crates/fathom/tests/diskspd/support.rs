//! The program under the name `diskspd`, in a folder of its own.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use testbed::{Directory, Unavailable};

use crate::calling::{self, PROGRAM, Ran};

/// What was recorded from DiskSpd 2.2.
pub const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/diskspd");

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
        std::os::unix::fs::symlink(PROGRAM, place.folder.path().join("diskspd")).unwrap();
        Ok(place)
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("here")
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
        let mut command = Command::new(self.folder.path().join("diskspd"));
        command
            .args(arguments.iter().map(AsRef::as_ref))
            .current_dir(folder)
            // The name that the recorded command lines have.
            .arg0("diskspd.exe")
            .stdin(Stdio::null());
        for name in [
            "FATHOM_NOTES",
            "FATHOM_RESULT",
            "FATHOM_ALLOW_DESTROY",
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

/// Lines of stderr, without what is ours.
pub fn theirs(stderr: &str) -> Vec<&str> {
    stderr.lines().filter(|line| !line.starts_with("hint: ")).collect()
}

/// The arguments of a recorded case.
pub fn arguments(case: &Path) -> Vec<String> {
    let text = fs::read_to_string(case.join("argv.txt")).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// The folders of recorded cases of a kind, in order.
pub fn cases(kind: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(format!("{DATA}/{kind}")).unwrap();
    let mut cases: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    cases.sort();
    cases
}

pub fn name(case: &Path) -> &str {
    case.file_name().unwrap().to_str().unwrap()
}

/// What is needed of the text of a file, which is there.
pub fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Fails at the first line that differs, with some lines around it.
#[track_caller]
pub fn same_lines<A: AsRef<str>, B: AsRef<str>>(what: &str, expected: &[A], found: &[B]) {
    let expected: Vec<&str> = expected.iter().map(AsRef::as_ref).collect();
    let found: Vec<&str> = found.iter().map(AsRef::as_ref).collect();
    let differ = |number: &usize| expected.get(*number) != found.get(*number);
    let Some(first) = (0..expected.len().max(found.len())).find(differ) else {
        return;
    };
    let around = |lines: &[&str]| {
        let from = first.saturating_sub(3).min(lines.len());
        lines[from..lines.len().min(first + 4)].join("\n")
    };
    panic!(
        "{what}, line {}\n--- expected\n{}\n--- found\n{}",
        first + 1,
        around(&expected),
        around(&found)
    );
}
