//! The program under the name of another tool, in a folder of its own.

use std::env::consts::EXE_SUFFIX;
use std::fs;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use testbed::{Directory, Unavailable};

pub use crate::calling::split_words;
use crate::calling::{self, PROGRAM, Ran, spawn};

/// Facts about the other tool.
pub trait Tool {
    /// The name that makes the program behave like it.
    const NAME: &'static str;
    /// The name in recorded command lines.
    const CALLED: &'static str;
    /// Variables that are set for it.
    const ENVIRONMENT: &'static [(&'static str, &'static str)];
}

pub struct Diskspd;

impl Tool for Diskspd {
    const NAME: &'static str = "diskspd";
    const CALLED: &'static str = "diskspd.exe";
    const ENVIRONMENT: &'static [(&'static str, &'static str)] = &[];
}

pub struct Fio;

impl Tool for Fio {
    const NAME: &'static str = "fio";
    const CALLED: &'static str = if cfg!(windows) { "fio.exe" } else { "fio" };
    const ENVIRONMENT: &'static [(&'static str, &'static str)] = if cfg!(windows) { &[] } else { &[("TZ", "UTC")] };
}

/// A file system in memory with 16 MiB of space.
#[cfg(target_os = "linux")]
pub fn small_fs() -> Option<testbed::TmpFs> {
    testbed::need(testbed::TmpFs::with_size(16 << 20))
}

/// A folder to run in. The program is in its parent, outside the folder that tests list.
pub struct Sandbox<T> {
    folder: Directory,
    tool: PhantomData<T>,
}

impl<T: Tool> Sandbox<T> {
    /// A sandbox in memory if possible, or else in the folder for temporary files.
    pub fn new() -> Sandbox<T> {
        Sandbox::from_folder(Directory::fast()).expect("the tests may write somewhere")
    }

    /// A sandbox with a file `f`.
    pub fn with_file(bytes: usize) -> Sandbox<T> {
        let sandbox = Sandbox::new();
        sandbox.file("f", bytes);
        sandbox
    }

    /// A sandbox on a disk's file system.
    pub fn on_disk() -> Result<Sandbox<T>, Unavailable> {
        Sandbox::from_folder(Directory::on_disk())
    }

    fn from_folder(folder: Result<Directory, Unavailable>) -> Result<Sandbox<T>, Unavailable> {
        let sandbox = Sandbox {
            folder: folder?,
            tool: PhantomData,
        };
        fs::create_dir(sandbox.path()).unwrap();
        install(&sandbox.program());
        Ok(sandbox)
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("here")
    }

    /// The folder with the program.
    #[cfg(unix)]
    pub fn programs(&self) -> &Path {
        self.folder.path()
    }

    /// The folder with the program. A test program has only one, because Windows cannot remove a
    /// program that has just run.
    #[cfg(windows)]
    pub fn programs(&self) -> &Path {
        Path::new(concat!(env!("CARGO_TARGET_TMPDIR"), "/", env!("CARGO_CRATE_NAME")))
    }

    /// The program under the name of the tool.
    pub fn program(&self) -> PathBuf {
        self.programs().join(format!("{}{EXE_SUFFIX}", T::NAME))
    }

    /// Creates a file with data.
    pub fn file(&self, name: &str, bytes: usize) -> PathBuf {
        let path = self.path().join(name);
        let data: Vec<u8> = (0..bytes).map(|index| (index % 251) as u8).collect();
        fs::write(&path, data).unwrap();
        path
    }

    /// Names of the files in it.
    pub fn names(&self) -> Vec<String> {
        calling::names(&self.path())
    }

    pub fn command<A: AsRef<str>>(&self, arguments: &[A]) -> Command {
        self.command_in(&self.path(), arguments)
    }

    /// As [`Sandbox::command`], in another folder.
    pub fn command_in<A: AsRef<str>>(&self, folder: &Path, arguments: &[A]) -> Command {
        let mut command = called(&self.program(), T::CALLED);
        command
            .args(arguments.iter().map(AsRef::as_ref))
            .current_dir(folder)
            .envs(T::ENVIRONMENT.iter().copied())
            .stdin(Stdio::null());
        for name in [
            "FATHOM_NOTES", "FATHOM_RESULT", "FATHOM_HISTORY", "FATHOM_ALLOW_DESTROY", "FATHOM_ALLOW_EXEC",
            "FATHOM_DISKSPD_TEXT", "FATHOM_DISKSPD_VERSION",
        ] {
            command.env_remove(name);
        }
        command
    }

    pub fn run<A: AsRef<str>>(&self, arguments: &[A]) -> Ran {
        finish(&mut self.command(arguments))
    }

    /// Runs a command line without quotes.
    pub fn line(&self, line: &str) -> Ran {
        self.run(&split_words(line))
    }

    /// The first job in the JSON report of a command line that succeeds.
    pub fn first_job(&self, line: &str) -> serde_json::Value {
        self.line(line).expect(0, &[]).json()["jobs"][0].clone()
    }

    /// As [`Sandbox::line`], with the notes that fathom adds to the messages of the tool.
    pub fn noted(&self, line: &str) -> Ran {
        finish(self.command(&split_words(line)).env("FATHOM_NOTES", "1"))
    }

    /// Starts a command line without quotes, to be ended with [`calling::end`].
    pub fn start(&self, line: &str) -> Child {
        spawn(&mut self.command(&split_words(line)))
    }
}

/// Runs a command to its end. Line ends of the system become plain ones.
pub fn finish(command: &mut Command) -> Ran {
    plain(calling::finish(command))
}

/// The output with plain line ends.
pub fn plain(mut ran: Ran) -> Ran {
    if cfg!(windows) {
        for text in [&mut ran.out, &mut ran.err] {
            let plain = text.replace("\r\n", "\n");
            assert!(!plain.contains('\r'), "a line ends twice: {text:?}");
            assert_eq!(
                text.matches('\n').count(),
                text.len() - plain.len(),
                "a line ends as on Linux: {text:?}"
            );
            *text = plain;
        }
    }
    ran
}

/// The program under another name.
#[cfg(unix)]
fn install(at: &Path) {
    std::os::unix::fs::symlink(PROGRAM, at).unwrap();
}

/// The program under another name, once for a test program. Links to files are for administrators
/// on Windows, and names are not.
#[cfg(windows)]
fn install(at: &Path) {
    static INSTALLED: std::sync::Mutex<Vec<PathBuf>> = std::sync::Mutex::new(Vec::new());
    // One that could not do it says so itself.
    let mut installed = INSTALLED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if installed.iter().any(|path| path == at) {
        return;
    }
    fs::create_dir_all(at.parent().unwrap()).unwrap();
    // A name that is left of an earlier run cannot be removed while another test runs the same file
    // by another name.
    let when = |path: &Path| fs::metadata(path).and_then(|of| Ok((of.len(), of.modified()?))).ok();
    if when(at).is_none() || when(at) != when(Path::new(PROGRAM)) {
        let _ = fs::remove_file(at);
        fs::hard_link(PROGRAM, at)
            .or_else(|_| fs::copy(PROGRAM, at).map(|_| ()))
            .unwrap_or_else(|error| panic!("{}: {error}", at.display()));
    }
    installed.push(at.to_owned());
}

/// A command with this program name, independent of the file name.
#[cfg(unix)]
fn called(program: &Path, name: &str) -> Command {
    use std::os::unix::process::CommandExt;

    let mut command = Command::new(program);
    command.arg0(name);
    command
}

/// A command with this program name, which is also the file name.
#[cfg(windows)]
fn called(program: &Path, name: &str) -> Command {
    let mut command = Command::new(name);
    command.env("PATH", program.parent().expect("it is in a folder"));
    command
}
