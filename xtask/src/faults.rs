//! Each system call of a short command fails once, and from then on: whatever fails, the program
//! ends in time with a documented exit code and a message, foreign files stay as they are, and no
//! output is there in part.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::command::run;

/// A command that is short enough to be run thousands of times.
struct Scenario {
    name: &'static str,
    /// Words of the command line.
    line: &'static str,
    /// What it writes. A file of that name is there before, and is replaced as a whole or not at
    /// all.
    output: Option<&'static str>,
    /// Codes that its documentation names.
    codes: std::ops::RangeInclusive<i32>,
}

const NATIVE: std::ops::RangeInclusive<i32> = 0..=6;

#[rustfmt::skip]
const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "run", output: Some("r.fathom"), codes: NATIVE,
        line: "run --target t.dat --size 256k --passes 1 --access random-once --write 50 --warm-up 0 --quiet --save r.fathom",
    },
    Scenario {
        name: "folder", output: Some("r.json"), codes: NATIVE,
        line: "run --target . --size 256k --passes 1 --access sequential --engine psync --warm-up 0 --quiet --out json=r.json",
    },
    Scenario {
        name: "hosts", output: Some("r.json"), codes: NATIVE,
        line: "run --target null --size 1m --passes 1 --access sequential --warm-up 0 --quiet --hosts local,local,local --out json=r.json",
    },
    Scenario {
        name: "fio", output: Some("o.json"), codes: 0..=128,
        line: "fio --name=a --filename=t.dat --rw=randwrite --size=128k --verify=crc32c --write_bw_log=bw --output=o.json --output-format=json",
    },
    Scenario {
        name: "fio-libaio", output: None, codes: 0..=128,
        line: "fio --name=a --ioengine=libaio --direct=1 --iodepth=4 --filename=t.dat --rw=randrw --size=128k",
    },
    Scenario { name: "diskspd", output: None, codes: 0..=1, line: "diskspd -c128k -d1 -W0 -w50 -Rxml t.dat" },
    Scenario { name: "report", output: Some("p.html"), codes: NATIVE, line: "report kept.fathom --report p.html" },
    Scenario { name: "history", output: Some("s.json"), codes: NATIVE, line: "show kept.fathom --out json=s.json" },
];

/// System calls, and the errors that each fails with.
#[rustfmt::skip]
const CALLS: &[(&str, &[&str])] = &[
    ("openat", &["EIO", "EMFILE", "EACCES"]), ("read", &["EIO"]), ("write", &["ENOSPC", "EIO"]),
    ("pread64", &["EIO"]), ("pwrite64", &["EIO", "ENOSPC"]), ("ftruncate", &["ENOSPC"]), ("fallocate", &["ENOSPC", "EIO"]),
    ("fsync", &["EIO"]), ("fdatasync", &["EIO"]), ("rename", &["EIO", "ENOSPC"]), ("renameat2", &["EIO"]), ("linkat", &["EIO"]),
    ("unlink", &["EIO"]), ("mkdir", &["EACCES"]), ("clone3", &["EAGAIN"]), ("io_uring_setup", &["ENOSYS", "EPERM", "ENOMEM"]),
    ("io_uring_enter", &["EIO"]), ("io_uring_register", &["ENOMEM"]), ("io_setup", &["EAGAIN"]), ("io_submit", &["EIO", "EAGAIN"]),
    ("io_getevents", &["EINVAL"]), ("statx", &["EIO"]), ("fstat", &["EIO"]), ("fstatfs", &["EIO"]), ("lseek", &["EINVAL"]),
    ("flock", &["EAGAIN", "ENOLCK"]), ("fsetxattr", &["ENOSPC", "ENOTSUP"]), ("fgetxattr", &["EIO"]), ("fcntl", &["EINVAL"]),
    ("getdents64", &["EIO"]), ("readlink", &["EIO"]), ("ioctl", &["ENOTTY"]), ("sched_setaffinity", &["EINVAL"]), ("pipe2", &["EMFILE"]),
];

/// The most failures of one call: beyond that they repeat.
const MAX_PLACES: u32 = 400;
/// A command that takes longer hangs.
const MAX_SECONDS: &str = "60";
/// Content of a file of the user's beside the targets, and of an output of an earlier run.
const FOREIGN: &[u8] = b"precious";

struct Campaign {
    program: PathBuf,
    folder: PathBuf,
    faults: u64,
    violations: BTreeSet<String>,
}

pub(crate) fn faults(arguments: &[String]) -> Result<(), String> {
    let (mut program, mut seconds, mut wanted) = (None, u64::MAX, Vec::new());
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let value = words.next().ok_or(format!("`{word}` needs a value"))?;
        match word.as_str() {
            "--program" => program = Some(PathBuf::from(value)),
            "--seconds" => {
                seconds = value
                    .parse()
                    .map_err(|_| format!("{value} is not a number of seconds"))?
            }
            "--scenario" => wanted.push(value.clone()),
            _ => return Err(format!("there is no option `{word}`")),
        }
    }
    if program.is_none() {
        run(Command::new("cargo").args(["build", "--package", "fathom"]))?;
    }
    let program = program.unwrap_or_else(|| "target/debug/fathom".into());
    let failed = |error: std::io::Error| error.to_string();
    let mut campaign = Campaign {
        program: std::path::absolute(program).map_err(failed)?,
        folder: std::path::absolute("target/faults").map_err(failed)?,
        faults: 0,
        violations: BTreeSet::new(),
    };
    campaign.keep_a_result()?;
    let begun = Instant::now();
    let scenarios = SCENARIOS
        .iter()
        .filter(|scenario| wanted.is_empty() || wanted.iter().any(|name| name == scenario.name));
    for scenario in scenarios {
        let before = campaign.faults;
        for (call, error) in CALLS
            .iter()
            .flat_map(|(call, errors)| errors.iter().map(move |error| (call, error)))
        {
            for forever in [false, true] {
                let mut place = 1;
                while place < MAX_PLACES && begun.elapsed() < Duration::from_secs(seconds) {
                    if !campaign.fail(scenario, call, error, place, forever)? {
                        break;
                    }
                    place += if place < 30 { 1 } else { 7 };
                }
            }
        }
        println!("{}: {} faults", scenario.name, campaign.faults - before);
    }
    println!(
        "{} faults, {} kinds of violation",
        campaign.faults,
        campaign.violations.len()
    );
    campaign.violations.iter().for_each(|line| println!("{line}"));
    match campaign.violations.is_empty() {
        true => Ok(()),
        false => Err("faults had effects that they must not have".into()),
    }
}

impl Campaign {
    /// A saved result, for commands that read one.
    fn keep_a_result(&self) -> Result<(), String> {
        fs::create_dir_all(&self.folder).map_err(|error| error.to_string())?;
        let mut command = Command::new(&self.program);
        command.args("run --target null --time 1s --quiet --save kept.fathom".split(' '));
        command
            .current_dir(&self.folder)
            .env("FATHOM_HISTORY", "off")
            .stdout(Stdio::null());
        run(&mut command)
    }

    /// Runs a command whose call fails at one place. False if it does not get that far.
    fn fail(
        &mut self,
        scenario: &Scenario,
        call: &str,
        error: &str,
        place: u32,
        forever: bool,
    ) -> Result<bool, String> {
        let folder = self.folder.join(scenario.name);
        let io = |error: std::io::Error| format!("{}: {error}", folder.display());
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).map_err(io)?;
        fs::write(folder.join("foreign.dat"), FOREIGN).map_err(io)?;
        if let Some(output) = scenario.output {
            fs::write(folder.join(output), FOREIGN).map_err(io)?;
        }
        fs::copy(self.folder.join("kept.fathom"), folder.join("kept.fathom")).map_err(io)?;
        let trace = self.folder.join("trace");
        let on = if forever { "+" } else { "" };
        let mut command = Command::new("timeout");
        command
            .args(["-s", "KILL", MAX_SECONDS, "strace", "-f", "-q", "-o"])
            .arg(&trace);
        command
            .arg(format!("-etrace={call}"))
            .arg(format!("-einject={call}:error={error}:when={place}{on}"));
        command
            .arg(&self.program)
            .args(scenario.line.split(' '))
            .current_dir(&folder);
        command
            .env("FATHOM_HISTORY", folder.join("history"))
            .env("FATHOM_NOTES", "1");
        let output = command
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("strace cannot be run: {error}"))?;
        if !fs::read_to_string(&trace).is_ok_and(|text| text.contains("(INJECTED)")) {
            return Ok(false);
        }
        self.faults += 1;
        for what in self.violations_of(scenario, call, &folder, &output) {
            let often = if forever { "from then on" } else { "once" };
            if self
                .violations
                .insert(format!("{}: {call} {error} {often}: {what}", scenario.name))
            {
                println!("{} {call} {error} at call {place}, {often}: {what}", scenario.name);
            }
        }
        Ok(true)
    }

    fn violations_of(&self, scenario: &Scenario, call: &str, folder: &Path, output: &Output) -> Vec<String> {
        let mut found = Vec::new();
        let text = String::from_utf8_lossy(&output.stderr);
        // The loader of the system reports its own failures.
        if text.contains("error while loading shared libraries") {
            return found;
        }
        match output.status.code() {
            Some(code) if scenario.codes.contains(&code) => {}
            code => found.push(format!("exit code {code:?}")),
        }
        if text.contains("panicked") || text.contains("a fault of this program") {
            found.push("a panic".into());
        }
        let is_silent = output.stderr.is_empty() && !String::from_utf8_lossy(&output.stdout).contains("rror");
        if !output.status.success() && is_silent && call != "write" {
            found.push("no message".into());
        }
        if fs::read(folder.join("foreign.dat")).ok().as_deref() != Some(FOREIGN) {
            found.push("a foreign file has changed".into());
        }
        if let Some(name) = scenario.output {
            found.extend(self.violation_of_output(&folder.join(name), output.status.success()));
        }
        found
    }

    /// The output is the earlier one, or a whole one.
    fn violation_of_output(&self, path: &Path, succeeded: bool) -> Option<String> {
        let name = path.file_name()?.to_string_lossy().into_owned();
        let Ok(bytes) = fs::read(path) else {
            return Some(format!("{name} is gone"));
        };
        if bytes == FOREIGN {
            return succeeded.then(|| format!("success without {name}"));
        }
        let text = String::from_utf8_lossy(&bytes);
        let is_whole = match path.extension()?.to_str()? {
            // fio writes into this file why there is no report.
            "json" => text.trim_end().ends_with('}') || !succeeded && text.starts_with("fio: "),
            "html" => text.contains("</html>"),
            _ => {
                let mut command = Command::new(&self.program);
                let read = command
                    .arg("show")
                    .arg(path)
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .status();
                // A result with failed operations is shown with the exit code of its run.
                read.is_ok_and(|status| matches!(status.code(), Some(0 | 1 | 5)))
            }
        };
        (!is_whole).then(|| format!("{name} is there in part"))
    }
}
