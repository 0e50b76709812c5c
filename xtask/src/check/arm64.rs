//! Checks the behaviour of the ARM64 program in an emulator. Measured times mean nothing there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use super::optional_tool;
use crate::arm64::{TARGET, cargo_for_arm64, emulator, folder};
use crate::command::{cargo, output, root, run, target_folder, write};

/// The engines whose system calls the emulator supports, for `FATHOM_ENGINES` of the test suite.
const ENGINES: &str = "psync,mmap,null,simulated";
/// Engine tests that the emulator cannot run (`SG_IO`, io_uring, native AIO, a program that starts
/// itself).
const UNSUPPORTED_TESTS: [&str; 4] = [
    "sys::linux::ata::tests::other_files_are_an_error",
    "sys::linux::ata::tests::a_block_device_without_scsi_refuses_queries",
    "endings::ten_thousand_drops_with_operations_in_flight_leave_nothing",
    "pool::a_file_is_replaced_by_another",
];
/// Cargo's arguments for the tests, and for the program.
const TESTS: [&str; 9] = [
    "test", "--no-fail-fast", "--lib", "--test", "suite", "--package", "fathom-engine", "--package", "fathom-model",
];
const PROGRAM: [&str; 5] = ["zigbuild", "--package", "fathom", "--bin", "fathom"];
/// The kernel's message for an unsupported system call.
const NO_SUCH_CALL: &str = "Function not implemented";

/// A simulated test with every kind of random draw: gaps, lengths, positions, service times,
/// neighbour activity.
const SIMULATED: &str = r#"
name = "simulated"

[[job]]
target = "simulated:disk"
depth = 64
rate = "4000 iops"
arrivals = "poisson"
read = 70
block = "4KiB/60,64KiB/40"
operations = 4000
warm-up = "0s"

[[job]]
step = 2
target = "simulated:other"
depth = 16
access = "zipf:1.1"
operations = 4000
warm-up = "0s"

[[job]]
step = 3
target = "simulated:third"
depth = 8
access = "normal:10"
read = 0
operations = 4000
warm-up = "0s"

[simulated.disk]
size = "1GiB"
servers = 8
service = "exponential 100us"
stall = ["200ms 100ms"]
neighbour = "100ms 20ms 4"

[simulated.other]
size = "1GiB"
servers = 4
service = "lognormal 100us 0.7"

[simulated.third]
size = "1GiB"
servers = 2
service = "uniform 50us 150us"
"#;
/// Reports of the simulated test to compare.
const REPORTS: [&str; 3] = ["csv", "csv-percentiles", "csv-histogram"];

/// Runs unit tests of packages that depend on the processor, the engine suite, and the program.
///
/// Without an emulator nothing is run; only the build server treats this as a failure.
pub(crate) fn check() -> Result<(), String> {
    let Some(emulator) = optional_tool(emulator())? else {
        return Ok(());
    };
    let mut tests = built(&TESTS)?;
    tests
        .arg("--")
        .args(UNSUPPORTED_TESTS.iter().flat_map(|name| ["--skip", name]));
    tests
        .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_RUNNER", &emulator)
        .env("FATHOM_ENGINES", ENGINES);
    run(&mut tests)?;
    run(&mut built(&PROGRAM)?)?;
    // Uses the program that the step `tests` has built.
    run(cargo().args(["test", "--workspace", "--no-run", "--test", "cli"]))?;
    let folder = tempfile::tempdir_in(root().join("target")).map_err(|error| format!("no folder: {error}"))?;
    let both = ProgramPair {
        emulator,
        theirs: crate::arm64::folder().join(TARGET).join("wine/fathom"),
        ours: native(),
        folder: folder.path().to_owned(),
    };
    both.version()?;
    both.engine_that_fits()?;
    both.engines_that_are_not_there()?;
    both.written_there_and_checked_here()?;
    both.simulated()
}

/// Compiles what [`check`] runs.
pub(crate) fn build() -> Result<(), String> {
    if optional_tool(emulator())?.is_none() {
        return Ok(());
    }
    run(built(&TESTS)?.arg("--no-run"))?;
    run(&mut built(&PROGRAM)?)
}

/// A Cargo command with the profile for short runs.
fn built(words: &[&str]) -> Result<Command, String> {
    let words: Vec<&str> = words.iter().copied().chain(["--profile", "wine"]).collect();
    let mut command = cargo_for_arm64(&words, &folder())?;
    command
        // Dependencies have the same features for any selection of packages.
        .args(["-Z", "feature-unification"])
        .env("CARGO_RESOLVER_FEATURE_UNIFICATION", "workspace");
    Ok(command)
}

/// The program for this machine.
fn native() -> PathBuf {
    target_folder().join("debug/fathom")
}

/// The program for ARM64, and the one for this machine.
struct ProgramPair {
    emulator: PathBuf,
    theirs: PathBuf,
    ours: PathBuf,
    folder: PathBuf,
}

impl ProgramPair {
    fn arm64_command(&self) -> Command {
        let mut command = Command::new(&self.emulator);
        command.arg(&self.theirs);
        self.in_folder(command)
    }

    /// The program for this machine.
    fn native_command(&self) -> Command {
        self.in_folder(Command::new(&self.ours))
    }

    fn in_folder(&self, mut command: Command) -> Command {
        command.current_dir(&self.folder).env("FATHOM_HISTORY", "off");
        command
    }

    fn version(&self) -> Result<(), String> {
        let said = output(self.arm64_command().arg("--version"))?;
        expect_equal("--version", &said, &output(self.native_command().arg("--version"))?)
    }

    /// Runs two jobs on a real file: the chosen engine must give the reason for its choice and read
    /// the file.
    fn engine_that_fits(&self) -> Result<(), String> {
        let words = "run --target . --size 8MiB --operations 200 --depth 4 --read 50 --out json=fits.json";
        run_expecting(&mut self.arm64_command(), words, 0)?;
        let job = &self.read("fits.json")?["jobs"][0];
        expect_equal("engine", job["engine"].as_str().unwrap_or_default(), "psync")?;
        let reason = job["engine_reason"].as_str().unwrap_or_default();
        for part in ["io_uring cannot be used", "native AIO cannot be used", NO_SUCH_CALL] {
            expect_contains(reason, part)?;
        }
        expect_equal("operations", &job["total"]["operations"].to_string(), "200")?;
        expect_equal("errors", &job["total"]["errors"].to_string(), "0")?;
        let words = "run --target . --size 8MiB --operations 200 --cache mapped --out json=mapped.json";
        run_expecting(&mut self.arm64_command(), words, 0)?;
        let job = &self.read("mapped.json")?["jobs"][0];
        expect_equal("engine", job["engine"].as_str().unwrap_or_default(), "mmap")?;
        expect_equal("operations", &job["total"]["operations"].to_string(), "200")
    }

    /// An engine that is requested by name and is not available must be refused with the reason.
    fn engines_that_are_not_there(&self) -> Result<(), String> {
        for (engine, why) in [("io_uring", "without io_uring"), ("libaio", "without native AIO")] {
            let words = format!("run --target . --size 1MiB --operations 10 --engine {engine}");
            let end = run_expecting(&mut self.arm64_command(), &words, 3)?;
            let said = String::from_utf8_lossy(&end.stderr).into_owned();
            expect_contains(&said, &format!("the {engine} engine cannot be used"))?;
            expect_contains(&said, why)?;
        }
        Ok(())
    }

    /// Each processor must verify data that the other one wrote, for each checksum, and detect a
    /// changed byte.
    fn written_there_and_checked_here(&self) -> Result<(), String> {
        for method in ["crc32c", "md5", "sha256", "xxhash"] {
            let file = format!("{method}.dat");
            let words = format!(
                "fio --name=v --filename={file} --size=256k --bs=4k --rw=randwrite --ioengine=psync --randseed=5 --verify={method}"
            );
            let (write, check) = (format!("{words} --do_verify=0"), format!("{words} --verify_only"));
            run_expecting(&mut self.arm64_command(), &write, 0)?;
            run_expecting(&mut self.native_command(), &check, 0)?;
            let path = self.folder.join(&file);
            fs::remove_file(&path).map_err(|error| format!("{file}: {error}"))?;
            run_expecting(&mut self.native_command(), &write, 0)?;
            run_expecting(&mut self.arm64_command(), &check, 0)?;
            let mut bytes = fs::read(&path).map_err(|error| format!("{file}: {error}"))?;
            bytes[100_000] ^= 1;
            fs::write(&path, bytes).map_err(|error| format!("{file}: {error}"))?;
            run_expecting(&mut self.arm64_command(), &check, 1)?;
        }
        Ok(())
    }

    /// The same seed and count must give exactly the same figures.
    fn simulated(&self) -> Result<(), String> {
        let job = self.folder.join("simulated.toml");
        write(&job, SIMULATED)?;
        for (mut command, name) in [(self.arm64_command(), "there"), (self.native_command(), "here")] {
            let reports: Vec<String> = REPORTS.iter().map(|form| format!("{form}={name}.{form}")).collect();
            let words = format!(
                "run simulated.toml --seed 7 --out json={name}.json,{}",
                reports.join(",")
            );
            run_expecting(&mut command, &words, 0)?;
        }
        for form in REPORTS {
            let [theirs, ours] =
                ["there", "here"].map(|name| fs::read_to_string(self.folder.join(format!("{name}.{form}"))));
            let (theirs, ours) = (theirs.map_err(|e| e.to_string())?, ours.map_err(|e| e.to_string())?);
            expect_contains(&ours, "read")?;
            expect_equal(form, &theirs, &ours)?;
        }
        let jobs = |name: &str| -> Result<Vec<Value>, String> {
            let mut jobs = self.read(name)?["jobs"].as_array().cloned().unwrap_or_default();
            for job in &mut jobs {
                // Ignores processor time, which depends on the machine.
                job.as_object_mut().and_then(|job| job.remove("cpu"));
            }
            Ok(jobs)
        };
        let (theirs, ours) = (jobs("there.json")?, jobs("here.json")?);
        expect_equal("number of jobs", &theirs.len().to_string(), "3")?;
        for (theirs, ours) in theirs.iter().zip(&ours) {
            expect_equal("operations", &theirs["total"]["operations"].to_string(), "4000")?;
            expect_equal("a job", &theirs.to_string(), &ours.to_string())?;
        }
        Ok(())
    }

    fn read(&self, name: &str) -> Result<Value, String> {
        let text = fs::read(self.folder.join(name)).map_err(|error| format!("{name}: {error}"))?;
        serde_json::from_slice(&text).map_err(|error| format!("{name}: {error}"))
    }
}

/// Runs a command with arguments and checks its exit code.
fn run_expecting(command: &mut Command, words: &str, code: i32) -> Result<Output, String> {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default();
    let line = format!("{} {words}", program.to_string_lossy());
    eprintln!("+ {line}");
    let end = command.args(words.split(' ')).output();
    let end = end.map_err(|error| format!("`{line}` cannot be run: {error}"))?;
    match end.status.code() == Some(code) {
        true => Ok(end),
        false => Err(format!(
            "`{line}`: {}, not {code}\n{}{}",
            end.status,
            String::from_utf8_lossy(&end.stdout),
            String::from_utf8_lossy(&end.stderr)
        )),
    }
}

fn expect_equal(what: &str, there: &str, expected: &str) -> Result<(), String> {
    if there == expected {
        return Ok(());
    }
    let differs = there.lines().zip(expected.lines()).find(|(a, b)| a != b);
    let (one, other) = differs.unwrap_or((there, expected));
    Err(format!("{what} differs on ARM64:\n{one}\nand should be\n{other}"))
}

fn expect_contains(text: &str, part: &str) -> Result<(), String> {
    match text.contains(part) {
        true => Ok(()),
        false => Err(format!("`{part}` is not in:\n{text}")),
    }
}
