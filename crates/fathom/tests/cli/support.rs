//! Runs the program.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;
#[cfg(target_os = "linux")]
use testbed::{Directory, FaultFs, LoopDevice, LoopOptions, need};

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_fathom");

/// The outcome of a call.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
    /// Time from the start of the wait for its end.
    pub took: Duration,
}

impl Ran {
    pub fn new(output: &Output, took: Duration) -> Ran {
        Ran {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
            took,
        }
    }

    /// Parses stdout, which must be one document.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }

    /// Checks the exit code, and that the output contains these parts.
    #[track_caller]
    pub fn expect(&self, code: i32, parts: &[&str]) -> &Ran {
        self.exits(code).prints(parts)
    }

    #[track_caller]
    pub fn exits(&self, code: i32) -> &Ran {
        assert_eq!(self.code, Some(code), "{self:#?}");
        assert!(!self.err.contains("panicked"), "{self:#?}");
        self
    }

    /// Checks that it succeeded, with nothing on stderr.
    #[track_caller]
    pub fn succeeds_silently(&self) -> &Ran {
        assert_eq!((self.code, self.err.as_str()), (Some(0), ""), "{self:#?}");
        self
    }

    /// Checks that the output contains these parts.
    #[track_caller]
    pub fn prints(&self, parts: &[&str]) -> &Ran {
        for part in parts {
            assert!(
                self.out.contains(part) || self.err.contains(part),
                "`{part}` is missing: {self:#?}"
            );
        }
        self
    }
}

/// A folder for files of a test.
#[cfg(target_os = "linux")]
pub fn folder() -> Directory {
    need(Directory::fast()).expect("a temporary directory can always be created")
}

/// A device of 64 MiB that fails after its first 8 MiB. The folder of its backing file has room for
/// other files.
#[cfg(target_os = "linux")]
pub fn device_that_ends() -> Option<(Directory, LoopDevice)> {
    let folder = need(Directory::fast())?;
    let below = fs::File::create(folder.path().join("disk")).unwrap();
    below.set_len(64 << 20).unwrap();
    let device = need(LoopDevice::over(&folder.path().join("disk"), LoopOptions::default()))?;
    below.set_len(8 << 20).unwrap();
    Some((folder, device))
}

/// A blank device of this size.
#[cfg(target_os = "linux")]
pub fn loop_device(mib: u64) -> Option<LoopDevice> {
    need(LoopDevice::with_size(mib << 20, LoopOptions::default()))
}

/// A device of this size without holes.
#[cfg(target_os = "linux")]
pub fn filled_loop_device(mib: u64) -> Option<LoopDevice> {
    need(LoopDevice::filled(mib << 20, LoopOptions::default()))
}

/// A device over an existing file, which reads the file itself for each of its own reads.
#[cfg(target_os = "linux")]
pub fn loop_device_over(file: &Path) -> Option<LoopDevice> {
    need(LoopDevice::over(file, LoopOptions::DIRECT))
}

/// A file system with a file of 16 MiB, whose operations can fail.
#[cfg(target_os = "linux")]
pub fn faulty_fs() -> Option<FaultFs> {
    need(FaultFs::with_size(16 << 20))
}

/// Path of a file of the test data.
pub fn data(path: &str) -> String {
    format!("{}/../../tests/data/{path}", env!("CARGO_MANIFEST_DIR"))
}

/// Creates a file that only its owner may read.
#[cfg(unix)]
pub fn secret_file(folder: &Path) -> std::path::PathBuf {
    use std::os::unix::fs::PermissionsExt;

    let secret = folder.join("secret");
    fs::write(&secret, vec![1; 65536]).unwrap();
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
    secret
}

#[cfg(unix)]
pub fn make_pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// A command that runs the program with these arguments, without the history of the user.
pub fn command<A: AsRef<OsStr>>(arguments: &[A]) -> Command {
    let mut command = Command::new(PROGRAM);
    command
        .args(arguments)
        .env_remove("FATHOM_ALLOW_DESTROY")
        .env_remove("NO_COLOR")
        // Results of tests do not belong in the history of the developer.
        .env("FATHOM_HISTORY", "off")
        .stdin(Stdio::null());
    command
}

pub fn fathom<A: AsRef<OsStr>>(arguments: &[A]) -> Ran {
    finish(&mut command(arguments))
}

/// Runs the program in a folder.
pub fn fathom_in<A: AsRef<OsStr>>(folder: &Path, arguments: &[A]) -> Ran {
    finish(command(arguments).current_dir(folder))
}

/// Runs the program with the words of a line. No path of a test contains a space.
pub fn fathom_line(line: &str) -> Ran {
    fathom(&split_words(line))
}

/// Arguments of `fathom run` for 300 ms.
pub fn brief_run<'a>(target: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let run = ["run", "--time", "300ms", "--warm-up", "0", "--target", target];
    [&run[..], more].concat()
}

pub fn run_briefly(target: &str, more: &[&str]) -> Ran {
    fathom(&brief_run(target, more))
}

pub fn finish(command: &mut Command) -> Ran {
    let begun = Instant::now();
    let output = command.output().expect("the program was built with this test");
    Ran::new(&output, begun.elapsed())
}

/// Starts a command with pipes.
pub fn spawn(command: &mut Command) -> Child {
    let piped = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    piped.spawn().expect("the program was built with this test")
}

/// A child that runs during a test. Dropping it ends the child.
#[derive(Debug)]
pub struct KilledOnDrop(pub Child);

impl Drop for KilledOnDrop {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill")
        .args(["-s", name, &child.id().to_string()])
        .status();
    assert!(sent.expect("`kill` exists").success());
}

pub fn kill(mut child: Child) {
    child.kill().expect("it was started here");
    child.wait().expect("it was started here");
}

/// Waits until a condition is met, and fails after some seconds.
#[track_caller]
pub fn wait_until(seconds: u64, condition: impl Fn() -> bool, failure: &str) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < Duration::from_secs(seconds), "{failure}");
        sleep(Duration::from_millis(5));
    }
}

/// Waits for a child that was started with pipes.
pub fn end(child: Child) -> Ran {
    let begun = Instant::now();
    let output = child.wait_with_output().expect("it was started here");
    Ran::new(&output, begun.elapsed())
}

pub fn split_words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// The text after the first `start`, up to the next `end`.
#[track_caller]
pub fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    let (_, rest) = text.split_once(start).expect(start);
    rest.split(end).next().unwrap_or(rest)
}

pub fn text(path: &Path) -> &str {
    path.to_str().expect("paths of tests are Unicode")
}

pub fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the test has created the folder");
    let mut names: Vec<String> = entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}
