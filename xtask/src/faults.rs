//! Injects a failure into each system call of short commands, once or permanently. The program must
//! then end in time with a documented exit code and a message, leave other files unchanged, and
//! write no partial output.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::command::{fathom, root, run};

/// A command that is short enough to be run thousands of times.
struct Scenario {
    name: &'static str,
    line: &'static str,
    /// Its output file. The file exists before and must be replaced completely or not at all; a
    /// table (`.csv`) grows.
    output: Option<&'static str>,
    /// Documented exit codes.
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
    Scenario { name: "vdbench", output: None, codes: 0..=157, line: "vdbench -f kept.parm -o tables" },
    Scenario { name: "iometer", output: Some("r.csv"), codes: 0..=1, line: "iometer /c kept.icf /r r.csv --map D:=t.dat" },
    Scenario {
        name: "verify", output: Some("v.json"), codes: NATIVE,
        line: "verify t.dat --file-size 256k --require iops>=1 --read 0 --time 1s --warm-up 0 --preflight 0 --quiet --out json=v.json",
    },
    Scenario { name: "report", output: Some("p.html"), codes: NATIVE, line: "report kept.fathom --report p.html" },
    Scenario { name: "show", output: Some("s.json"), codes: NATIVE, line: "show kept.fathom --out json=s.json" },
    Scenario { name: "history", output: Some("s.json"), codes: NATIVE, line: "show history:last --out json=s.json" },
    Scenario { name: "prune", output: None, codes: NATIVE, line: "history prune --keep 1" },
    Scenario { name: "label", output: None, codes: NATIVE, line: "history label last fresh" },
];

/// A workload that ends at the end of its file, in less than a second.
const PARAMETERS: &str = "sd=s,lun=t.dat,size=256k\nwd=w,sd=s,xfersize=4k,rdpct=0,seekpct=eof\n\
     rd=r,wd=w,iorate=max,elapsed=2,interval=1\n";

/// System calls, with the errors to inject.
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

/// At most this many failures of one call: more would repeat.
const MAX_CALLS: u32 = 400;
/// A command that takes longer hangs.
const MAX_SECONDS: &str = "60";
/// Content of another file in the folder, and of the output of an earlier run.
const OTHER_CONTENT: &[u8] = b"precious";

/// Several run in parallel, because commands mostly wait.
const PARALLEL_RUNS: usize = 6;

struct Campaign {
    program: PathBuf,
    folder: PathBuf,
    ends: Instant,
    /// Number of faults of each scenario.
    faults: Vec<AtomicUsize>,
    violations: Mutex<BTreeSet<String>>,
}

/// A failing call of a scenario: once, or from then on.
#[derive(Clone, Copy)]
struct Fault {
    scenario: usize,
    call: &'static str,
    error: &'static str,
    forever: bool,
}

pub(crate) fn faults(arguments: &[String]) -> Result<(), String> {
    let (mut program, mut seconds, mut wanted) = (None, 86_400, Vec::new());
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
    let campaign = Campaign {
        program: fathom(program.as_deref(), "dev")?,
        folder: root().join("target/faults"),
        ends: Instant::now() + Duration::from_secs(seconds),
        faults: SCENARIOS.iter().map(|_| AtomicUsize::new(0)).collect(),
        violations: Mutex::default(),
    };
    campaign.create_inputs()?;
    campaign.run_all(&wanted)?;
    campaign.report()
}

impl Campaign {
    /// Creates the input files: a saved result, a history of two entries, and files of other
    /// dialects.
    fn create_inputs(&self) -> Result<(), String> {
        let io = |error: std::io::Error| format!("{}: {error}", self.folder.display());
        let kept = self.folder.join("kept");
        let _ = fs::remove_dir_all(&kept);
        fs::create_dir_all(&kept).map_err(io)?;
        for _ in 0..2 {
            let mut command = Command::new(&self.program);
            command.args("run --target null --time 1s --quiet --save kept.fathom".split(' '));
            command
                .current_dir(&kept)
                .env("FATHOM_HISTORY", kept.join("history"))
                .stdout(Stdio::null());
            run(&mut command)?;
        }
        fs::write(kept.join("kept.parm"), PARAMETERS).map_err(io)?;
        let config = root().join("tests/data/iometer/v2006.icf");
        let text = fs::read_to_string(config).map_err(io)?;
        fs::write(kept.join("kept.icf"), text.replace("CYCLE_OUTSTANDING_IOS", "NORMAL")).map_err(io)
    }

    /// Runs all faults of the scenarios, several in parallel, so that every scenario has a turn
    /// before the time is over.
    fn run_all(&self, wanted: &[String]) -> Result<(), String> {
        let mut queue = Vec::new();
        for (call, errors) in CALLS {
            for (error, forever) in errors.iter().flat_map(|error| [(error, false), (error, true)]) {
                let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|word| word == name);
                queue.extend(
                    (0..SCENARIOS.len())
                        .filter(|at| is_wanted(SCENARIOS[*at].name))
                        .map(|scenario| Fault {
                            scenario,
                            call,
                            error,
                            forever,
                        }),
                );
            }
        }
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            let run_queue = |number: usize| {
                while let Some(fault) = queue.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let mut place = 1;
                    while place < MAX_CALLS && Instant::now() < self.ends && self.inject(*fault, place, number)? {
                        place += if place < 30 { 1 } else { 7 };
                    }
                }
                Ok(())
            };
            let threads: Vec<_> = (0..PARALLEL_RUNS)
                .map(|number| scope.spawn(move || run_queue(number)))
                .collect();
            threads
                .into_iter()
                .try_for_each(|thread| thread.join().expect("a thread of the campaign"))
        })
    }

    fn report(&self) -> Result<(), String> {
        let counts: Vec<usize> = self.faults.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        for (scenario, count) in SCENARIOS.iter().zip(&counts) {
            println!("{}: {count} faults", scenario.name);
        }
        let violations = self.violations.lock().expect("the violations");
        let sum = counts.iter().sum::<usize>();
        println!("{sum} faults, {} kinds of violation", violations.len());
        violations.iter().for_each(|line| println!("{line}"));
        match violations.is_empty() {
            true => Ok(()),
            false => Err("faults had effects that they must not have".into()),
        }
    }

    /// Runs a command with a failure at the `place`-th call. Returns false if it makes fewer calls.
    fn inject(&self, fault: Fault, place: u32, number: usize) -> Result<bool, String> {
        let Fault { call, error, .. } = fault;
        let scenario = &SCENARIOS[fault.scenario];
        let folder = self.folder.join(number.to_string());
        let io = |error: std::io::Error| format!("{}: {error}", folder.display());
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).map_err(io)?;
        fs::write(folder.join("foreign.dat"), OTHER_CONTENT).map_err(io)?;
        for entry in fs::read_dir(self.folder.join("kept")).map_err(io)? {
            let entry = entry.map_err(io)?;
            fs::copy(entry.path(), folder.join(entry.file_name())).map_err(io)?;
        }
        if let Some(output) = scenario.output {
            fs::write(folder.join(output), OTHER_CONTENT).map_err(io)?;
        }
        let trace = self.folder.join(format!("trace{number}"));
        let on = if fault.forever { "+" } else { "" };
        let mut command = Command::new("timeout");
        command
            .args(["-s", "KILL", MAX_SECONDS, "strace", "-f", "--seccomp-bpf", "-q", "-o"])
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
        self.faults[fault.scenario].fetch_add(1, Ordering::Relaxed);
        let often = if fault.forever { "from then on" } else { "once" };
        for what in self.list_violations(scenario, call, &folder, &output) {
            let line = format!("{}: {call} {error} {often}: {what}", scenario.name);
            if self.violations.lock().expect("the violations").insert(line.clone()) {
                println!("{line}, at call {place}");
            }
        }
        Ok(true)
    }

    fn list_violations(&self, scenario: &Scenario, call: &str, folder: &Path, output: &Output) -> Vec<String> {
        let mut found = Vec::new();
        let text = String::from_utf8_lossy(&output.stderr);
        // The dynamic loader reports its own failures.
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
        let printed = String::from_utf8_lossy(&output.stdout);
        let names_it = ["rror", "cannot", "does not exist"]
            .iter()
            .any(|word| printed.contains(word));
        let is_silent = output.stderr.is_empty() && !names_it;
        if !output.status.success() && is_silent && call != "write" {
            found.push("no message".into());
        }
        if fs::read(folder.join("foreign.dat")).ok().as_deref() != Some(OTHER_CONTENT) {
            found.push("a foreign file has changed".into());
        }
        if let Some(name) = scenario.output {
            found.extend(self.violation_of_output(&folder.join(name), output.status.success()));
        }
        found
    }

    /// Checks that the output is the old or a complete new one.
    fn violation_of_output(&self, path: &Path, succeeded: bool) -> Option<String> {
        let name = path.file_name()?.to_string_lossy().into_owned();
        let Ok(bytes) = fs::read(path) else {
            return Some(format!("{name} is gone"));
        };
        if name.ends_with(".csv") {
            let rows = bytes.strip_prefix(OTHER_CONTENT);
            let is_whole = rows.is_some_and(|rows| rows.is_empty() && !succeeded || rows.ends_with(b"'End Test\n"));
            return (!is_whole).then(|| format!("{name} is there in part"));
        }
        if bytes == OTHER_CONTENT {
            return succeeded.then(|| format!("success without {name}"));
        }
        let text = String::from_utf8_lossy(&bytes);
        let is_whole = match path.extension()?.to_str()? {
            // fio writes the reason for a missing report to this file.
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
