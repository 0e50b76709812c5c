//! The live view in a terminal of tmux. Tests check its contents, its sizes, and the state of the
//! terminal afterwards.

use testbed::{LoopDevice, LoopOptions, Unavailable};

use crate::prelude::*;

/// Maximum duration of every step.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A terminal with a shell in it.
struct Pane {
    server: String,
    folder: Directory,
}

impl Pane {
    fn open(width: u32, height: u32) -> Result<Pane, Unavailable> {
        let folder = Directory::fast()?;
        let server = folder.path().file_name().unwrap_or_default();
        let server = server.to_string_lossy().into_owned();
        let pane = Pane { server, folder };
        let size = [width.to_string(), height.to_string()];
        let shell = "env PS1='$ ' LC_ALL=C.UTF-8 ENV= sh";
        let session = ["new-session", "-d", "-x", &size[0], "-y", &size[1], "-s", "view", shell];
        pane.try_tmux(&session)?;
        // Text that is typed before the shell reads would be shown twice.
        pane.wait_for("the shell", |shown| shown.contains('$'));
        Ok(pane)
    }

    fn try_tmux(&self, words: &[&str]) -> Result<String, Unavailable> {
        let output = self.command(words).output();
        let output = output.map_err(|error| Unavailable::because(format!("`tmux` cannot be run: {error}")))?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "tmux {words:?}: {stderr}");
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("tmux");
        command.args(["-L", &self.server, "-f", "/dev/null"]).args(words);
        command
            .env_remove("TMUX")
            .env("LC_ALL", "C.UTF-8")
            .env("FATHOM_JOURNAL", "off");
        command
    }

    fn tmux(&self, words: &[&str]) -> String {
        self.try_tmux(words).unwrap()
    }

    fn shown(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-t", "view"])
    }

    /// The screen, including lines that have scrolled away.
    fn all(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-J", "-S", "-", "-t", "view"])
    }

    fn keys(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys", "-t", "view"], keys].concat());
    }

    #[track_caller]
    fn wait_for(&self, what: &str, seen: impl Fn(&str) -> bool) -> String {
        let began = Instant::now();
        loop {
            let shown = self.shown();
            if seen(&shown) {
                return shown;
            }
            assert!(began.elapsed() < TIMEOUT, "{what} did not appear:\n{shown}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// True if the alternate screen is in use; true if the cursor is hidden.
    fn is_taken(&self) -> (bool, bool) {
        let flags = self.tmux(&["display-message", "-p", "-t", "view", "#{alternate_on} #{cursor_flag}"]);
        let flags: Vec<&str> = flags.split_whitespace().collect();
        (flags[0] == "1", flags[1] == "0")
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs the program in a script. The script records the attributes of the terminal before and
    /// after, and the exit code.
    fn start(&self, arguments: &str) {
        let script = format!(
            "stty -g > before\nsh -c 'echo $$ > pid; exec {PROGRAM} {arguments}'\necho code $? > code.new\nstty -g > after\nmv code.new code\n"
        );
        fs::write(self.file("script"), script).unwrap();
        let line = format!("cd {} && sh ./script", text(self.folder.path()));
        self.keys(&[&line, "Enter"]);
    }

    /// Waits for the end of the program, and checks that the terminal is restored. Returns the exit
    /// code and everything that was printed.
    #[track_caller]
    fn wait_for_end(&self) -> (String, String) {
        let began = Instant::now();
        while !self.file("code").exists() {
            assert!(began.elapsed() < TIMEOUT, "it has not ended:\n{}", self.shown());
            std::thread::sleep(Duration::from_millis(50));
        }
        let read = |name: &str| fs::read_to_string(self.file(name)).unwrap();
        assert_eq!(read("before"), read("after"), "attributes of the terminal");
        assert_eq!(self.is_taken(), (false, false), "alternate screen, hidden cursor");
        // The terminal echoes input again.
        self.keys(&["echo still here", "Enter"]);
        self.wait_for("what is typed", |shown| shown.contains("$ echo still here\nstill here"));
        (read("code").trim().to_owned(), self.all())
    }

    #[track_caller]
    fn wait_for_view(&self) -> String {
        let shown = self.wait_for("the view", |shown| {
            shown.contains("so far") && shown.contains("q: stop and report")
        });
        assert_eq!(self.is_taken(), (true, true), "alternate screen, hidden cursor");
        shown
    }

    fn signal(&self, name: &str) {
        let pid = fs::read_to_string(self.file("pid")).unwrap();
        let sent = Command::new("kill").args(["-s", name, pid.trim()]).status();
        assert!(sent.unwrap().success());
    }
}

impl Drop for Pane {
    fn drop(&mut self) {
        // The server may have ended already.
        let _ = self.command(&["kill-server"]).output();
    }
}

const NULL: &str = "run --target null --read 70 --depth 4 --warm-up 0 --time 5m";

#[test]
fn figures_fill_the_terminal_at_any_size_until_q() {
    let pane = need!(Pane::open(80, 24));
    pane.start(NULL);
    let shown = pane.wait_for_view();
    let parts = [
        "measuring", " left", "IOPS", "MiB/s", "MB/s", "read last 1 s", "write all", "in flight", " of 4", "CPU",
    ];
    shown.assert_contains(&parts);
    // The null target does no work, so there are at least a few thousand operations in both
    // directions.
    let iops = |name: &str| {
        let line = shown.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        let figure = line.split_whitespace().nth(1).unwrap_or_default().replace(',', "");
        let rate = figure.parse::<f64>();
        rate.unwrap_or_else(|_| panic!("`{line}` has no rate:\n{shown}"))
    };
    let (all, read, write) = (iops("all "), iops("read "), iops("write "));
    assert!(write > 1_000.0 && read > 2.0 * write, "{shown}");
    assert!((all - read - write).abs() <= 2.0, "{shown}");
    let keys_at = |height: usize| {
        move |shown: &str| {
            let mut lines = shown.lines();
            lines.nth(height - 1).is_some_and(|line| line.starts_with("q: stop"))
        }
    };
    assert!(keys_at(24)(&shown), "{shown}");
    pane.tmux(&["resize-window", "-t", "view", "-x", "120", "-y", "40"]);
    pane.wait_for("the view in 40 lines", keys_at(40));
    pane.tmux(&["resize-window", "-t", "view", "-x", "60", "-y", "15"]);
    let whole = |shown: &str| keys_at(15)(shown) && shown.contains("measuring");
    let small = pane.wait_for("the view in 15 lines", whole);
    assert!(small.lines().all(|line| line.chars().count() <= 60), "{small}");
    small.assert_contains(&["IOPS", "p99"]);
    pane.keys(&["q"]);
    let (code, all) = pane.wait_for_end();
    assert_eq!(code, "code 130");
    all.assert_contains(&["INTERRUPTED", "total", "p99.9", "operations in flight on average"]);
    // No part of the view remains.
    all.assert_lacks(&["q: stop"]);
}

/// The child processes of a process.
fn children(process: &str) -> Vec<String> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let is_child = |number: &String| {
        let stat = fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
        let parent = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1));
        parent == Some(process)
    };
    let mut found: Vec<String> = numbers.filter(is_child).collect();
    found.sort();
    found
}

#[test]
fn several_hosts_have_a_row_each_and_a_lost_one_is_reported() {
    let pane = need!(Pane::open(80, 24));
    pane.start("run --target null --size 1GiB --rate 500iops --depth 2 --warm-up 0s --time 40s --hosts local,local");
    let shown = pane.wait_for("a row for each host", |shown| {
        shown.matches(" running ").count() == 2 && shown.contains("rank and host") && shown.contains("so far")
    });
    shown.assert_contains(&["1 host", "measuring", "p99"]);
    // The view shows the sum of both hosts, which have 500 each.
    let sum = |shown: &str| -> Option<f64> {
        let line = shown.lines().find(|line| line.starts_with("read "))?;
        line.split_whitespace().nth(1)?.replace(',', "").parse().ok()
    };
    pane.wait_for("the sum of both", |shown| {
        sum(shown).is_some_and(|iops| (900.0..1100.0).contains(&iops))
    });
    let pid = fs::read_to_string(pane.file("pid")).unwrap();
    let workers = children(pid.trim());
    assert_eq!(workers.len(), 2, "{workers:?}");
    let killed = Command::new("kill").args(["-KILL", &workers[0]]).status();
    assert!(killed.unwrap().success());
    let (code, all) = pane.wait_for_end();
    assert_eq!(code, "code 6", "{all}");
    all.assert_contains(&["was lost: its process has ended", "HOST-LOST", ", lost"]);
}

#[test]
fn ctrl_c_and_signals_stop_a_run_with_a_view() {
    let ctrl_c = |pane: &Pane| pane.keys(&["C-c"]);
    let terminate = |pane: &Pane| pane.signal("TERM");
    for (stop, expected) in [(&ctrl_c as &dyn Fn(&Pane), "code 130"), (&terminate, "code 143")] {
        let pane = need!(Pane::open(80, 24));
        pane.start(NULL);
        pane.wait_for_view();
        stop(&pane);
        let (code, all) = pane.wait_for_end();
        assert_eq!(code, expected);
        all.assert_contains(&["INTERRUPTED", "p99.9"]);
    }
}

#[test]
fn a_second_signal_ends_the_run_immediately_and_restores_the_terminal() {
    let pane = need!(Pane::open(80, 24));
    pane.start(NULL);
    pane.wait_for_view();
    // While the program is stopped, both signals become pending, so the second one arrives before a
    // report is possible.
    pane.signal("STOP");
    pane.signal("TERM");
    pane.signal("INT");
    pane.signal("CONT");
    let (code, all) = pane.wait_for_end();
    assert!(["code 130", "code 143"].contains(&code.as_str()), "{code}");
    assert!(!all.contains("p99.9"), "there was no time for a report:\n{all}");
}

#[test]
fn a_closed_terminal_ends_the_run() {
    let pane = need!(Pane::open(80, 24));
    pane.start(NULL);
    pane.wait_for_view();
    let pid = fs::read_to_string(pane.file("pid")).unwrap();
    pane.tmux(&["kill-server"]);
    let (process, began) = (PathBuf::from("/proc").join(pid.trim()), Instant::now());
    while process.exists() {
        assert!(began.elapsed() < TIMEOUT, "the run continues without its terminal");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_run_can_be_suspended_and_resumed() {
    let pane = need!(Pane::open(80, 24));
    let line = format!("{PROGRAM} {NULL}");
    pane.keys(&[&line, "Enter"]);
    pane.wait_for_view();
    pane.keys(&["C-z"]);
    pane.wait_for("the shell", |shown| shown.contains("Stopped"));
    assert_eq!(pane.is_taken(), (false, false), "alternate screen, hidden cursor");
    pane.keys(&["fg", "Enter"]);
    pane.wait_for_view();
    pane.keys(&["q"]);
    pane.wait_for("the report", |shown| shown.contains("INTERRUPTED"));
    assert_eq!(pane.is_taken(), (false, false), "alternate screen, hidden cursor");
}

#[test]
fn notices_are_printed_before_the_report() {
    let pane = need!(Pane::open(100, 30));
    let folder = need!(Directory::fast());
    let place = text(folder.path());
    let line = "--size 16m --warm-up 0 --time 4s";
    pane.start(&format!("run --target {place}/a --target {place}/b {line}"));
    let shown = pane.wait_for("figures of both files", |shown| {
        shown.contains("mean latency") && shown.contains("so far")
    });
    shown.assert_contains(&[&format!("{place}/a"), "of random data written"]);
    let (code, all) = pane.wait_for_end();
    assert_eq!(code, "code 0", "{all}");
    let place_of = |part: &str| all.find(part).unwrap_or_else(|| panic!("`{part}` is missing:\n{all}"));
    let notice = place_of("of random data written for this run in ");
    assert!(notice < place_of("p99.9"), "{all}");
}

/// A device of 64 MiB and its backing file.
fn backed_device(folder: &Directory) -> Option<(File, LoopDevice)> {
    let path = folder.path().join("disk");
    let below = File::create(&path).unwrap();
    below.set_len(64 << 20).unwrap();
    Some((below, need(LoopDevice::over(&path, LoopOptions::default()))?))
}

#[test]
fn a_failing_target_ends_the_run_with_the_reason() {
    let pane = need!(Pane::open(80, 24));
    let folder = need!(Directory::fast());
    let (below, device) = need!(backed_device(&folder));
    pane.start(&format!("run --target {} --warm-up 0 --time 5m", text(device.path())));
    pane.wait_for_view();
    // From here on, most of the device is beyond the end of its backing file.
    below.set_len(4096).unwrap();
    let (code, all) = pane.wait_for_end();
    assert_eq!(code, "code 1", "{all}");
    all.assert_contains(&["job1: failed", "WORKER-FAILED", "Input/output error", "p99.9"]);
}

#[test]
fn a_failure_is_on_stderr_if_no_report_is_on_stdout() {
    let folder = need!(Directory::fast());
    let (below, device) = need!(backed_device(&folder));
    below.set_len(4096).unwrap();
    let report = folder.path().join("report.json");
    for quiet in ["--quiet", "--live=auto"] {
        let line = format!("run {quiet} --target {} --warm-up 0 --time 1s", text(device.path()));
        let ran = fathom_line(&format!("{line} --out json={}", text(&report)));
        assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{ran:?}");
        let is_error = |line: &str| line.starts_with("error: ") && line.contains("Input/output error");
        assert_eq!(ran.err.lines().filter(|line| is_error(line)).count(), 1, "{ran:?}");
        assert!(ran.err.contains("[WORKER-FAILED]") && report.exists(), "{ran:?}");
    }
}

#[test]
fn a_study_keeps_one_view_over_its_runs() {
    let pane = need!(Pane::open(80, 24));
    pane.start("sweep null --over depth=1,2 --grid-only --time 3s --warm-up 0");
    pane.wait_for("the first point", |shown| {
        shown.contains("point 1 of about 2") && shown.contains("so far")
    });
    let second = pane.wait_for("the second point", |shown| {
        shown.contains("point 2 of about 2") && shown.contains("so far")
    });
    // The notices about earlier points.
    second.assert_contains(&[" IOPS, ", "[2/2] depth "]);
    assert_eq!(pane.is_taken(), (true, true), "alternate screen, hidden cursor");
    let (code, all) = pane.wait_for_end();
    assert_eq!(code, "code 0", "{all}");
    all.assert_contains(&["[1/2] depth ", "[2/2] depth ", "depth 1: ", "depth 2: "]);
}

#[test]
fn a_status_line_replaces_a_view_that_is_unwanted_or_impossible() {
    for (before, arguments) in [("TERM=dumb ", ""), ("", " --live line"), ("", " --out ndjson")] {
        let pane = need!(Pane::open(80, 24));
        let line = format!("{before}{PROGRAM} run --target null --warm-up 0 --time 6s{arguments}");
        pane.keys(&[&line, "Enter"]);
        pane.wait_for("figures", |shown| {
            shown.matches("IOPS").count() > 0 || shown.contains("read_iops")
        });
        assert_eq!(pane.is_taken(), (false, false), "{before}{arguments}");
    }
    // A job in the background would be stopped if it changed the terminal.
    let pane = need!(Pane::open(80, 24));
    pane.keys(&[&format!("{PROGRAM} run --target null --warm-up 0 --time 5s &"), "Enter"]);
    pane.wait_for("its line", |shown| shown.contains("MiB/s"));
    assert_eq!(pane.is_taken(), (false, false));
}

#[test]
fn a_requested_view_needs_a_terminal() {
    let ran = fathom(&["run", "--target", "null", "--time", "1s", "--live", "view"]);
    let why = "cannot show the live view: standard error is not a terminal";
    ran.expect(4, &[why, "--> --live view"]);
}

/// Outputs of commands that do not run tests were once wider than the terminal.
#[test]
fn texts_fit_into_the_terminal() {
    let pane = need!(Pane::open(80, 24));
    let report = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/fio.json");
    for arguments in [
        "presets",
        "advise --iops 6000 --latency 10ms --size 500GiB",
        &format!("explain {report}"),
        "policies",
        "policies aws/gp3 --size 500GiB --iops 6000",
        "calc crossover --iops 3000 --throughput 125MB/s",
        "help exit-codes",
    ] {
        pane.start(arguments);
        pane.wait_for_end();
        let shown = pane.all();
        // A word such as an address is never divided.
        let is_wide = |line: &&str| line.chars().count() > 80 && line.trim_start().contains(' ');
        let wide: Vec<&str> = shown
            .lines()
            .filter(is_wide)
            .filter(|line| !line.starts_with('$'))
            .collect();
        assert!(wide.is_empty() && shown.len() > 300, "{arguments}: {wide:#?}");
        fs::remove_file(pane.file("code")).unwrap();
        pane.tmux(&["clear-history", "-t", "view"]);
    }
}
