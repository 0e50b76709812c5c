//! The history: results are recorded and shown again, and an unusable history harms no run.

use crate::prelude::*;

/// A folder with a job on a simulated device, and a history.
pub struct Workspace {
    folder: Directory,
}

impl Workspace {
    pub fn new() -> Workspace {
        let folder = folder();
        let job = "name = \"tried\"\n[[job]]\nname = \"reads\"\ntarget = \"simulated:disk\"\ndepth = 4\ntime = \"50ms\"\n\
                   warm-up = \"0s\"\n[simulated.disk]\nsize = \"1GiB\"\nservers = 4\nservice = \"100us\"\n";
        fs::write(folder.path().join("job.toml"), job).unwrap();
        Workspace { folder }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = command(words);
        command
            .env("FATHOM_HISTORY", self.path("h.sqlite"))
            .current_dir(self.folder.path());
        command
    }

    pub fn fathom(&self, words: &[&str]) -> Ran {
        finish(&mut self.command(words))
    }

    /// Runs the words of a line, and checks the exit code and parts of the output.
    #[track_caller]
    pub fn expect(&self, line: &str, code: i32, parts: &[&str]) -> Ran {
        let ran = self.fathom(&split_words(line));
        ran.expect(code, parts);
        ran
    }

    fn entries(&self) -> Vec<Value> {
        let list = self.fathom(&["history", "--limit", "0", "--out", "json"]);
        list.expect(0, &[]).json()["entries"].as_array().unwrap().clone()
    }
}

/// The operations are too small for the promised throughput.
#[test]
fn a_verdict_is_recorded_as_its_report_names_it() {
    let workspace = Workspace::new();
    let device = "[simulated.disk]\nsize = \"8GiB\"\nservers = 128\nservice = \"1ms\"\n\
                  layer = [\"iops 6000\", \"bandwidth 100MB\"]\n";
    fs::write(workspace.path("device.toml"), device).unwrap();
    let policy = "--policy aws/gp3 --size 500GiB --iops 6000 --mbps 250 --time 30s --warm-up 1s";
    workspace.expect(&format!("verify device.toml -q {policy}"), 0, &["PARTLY PROVEN"]);
    assert_eq!(workspace.entries()[0]["verdict"], "PARTLY PROVEN");
    workspace.expect("history --verdict pass", 0, &["PARTLY PROVEN"]);
}

#[test]
fn measured_results_are_recorded_and_shown_again() {
    let workspace = Workspace::new();
    workspace.expect("history", 0, &["the history is empty"]);
    assert!(!workspace.path("h.sqlite").exists(), "reading creates no file");
    let ran = workspace.fathom(&["run", "job.toml", "--save", "saved", "--out", "json"]);
    ran.expect(0, &["recorded as history:1\n"]);
    let quiet = ["run", "job.toml", "-q", "--seed", "7"];
    workspace.fathom(&quiet).succeeds_silently();
    workspace.expect("run job.toml --no-history", 0, &[]);
    workspace.expect("run job.toml --dry-run", 0, &[]);
    assert_eq!(workspace.entries().len(), 2);
    let first = &workspace.entries()[1];
    assert_eq!((&first["kind"], &first["name"]), (&"run".into(), &"tried".into()));
    assert_eq!(first["file"], text(&fs::canonicalize(workspace.path("saved")).unwrap()));
    assert_eq!(first["jobs"][0]["iops"], ran.json()["jobs"][0]["total"]["iops"]);
    // Every format gives the same report from the file and from the history.
    for format in ["text", "json", "csv", "fio-json", "diskspd"] {
        let show = |line: &str| workspace.expect(&format!("{line} --out {format}"), 0, &[]).out;
        let file = show("show saved");
        assert!(!file.is_empty());
        assert_eq!(show("show history:1"), file);
        assert_eq!(show("history show 1"), file);
    }
    workspace.expect("history export 1 exported", 0, &[]);
    assert!(fs::read(workspace.path("exported")).unwrap() == fs::read(workspace.path("saved")).unwrap());
    for line in ["history show last --out json", "show history:last --out json"] {
        assert_eq!(workspace.expect(line, 0, &[]).json()["seed"], 7, "{line}");
    }
    // Every command that reads a saved result accepts an entry.
    workspace.expect("compare history:1 history:last", 0, &["A: history:1", "seed: 1 / 7"]);
    workspace.expect("explain history:1", 0, &["history:1"]);
    workspace.expect("convert --to native history:1", 0, &["depth = 4"]);
    workspace.expect("show history:3", 4, &["the history has no entry 3"]);
    workspace.expect(
        "show history:first",
        4,
        &["`history:first` is not an entry of the history"],
    );
}

#[test]
fn entries_are_labelled_found_and_pruned() {
    let workspace = Workspace::new();
    for _ in 0..3 {
        workspace.expect("run job.toml -q", 0, &[]);
    }
    workspace
        .fathom(&["history", "label", "2", "before the update"])
        .expect(0, &["2: before the update"]);
    let listed = |line: &str| -> Vec<String> {
        let ran = workspace.expect(&format!("history {line}"), 0, &[]);
        let ids = ran.out.lines().skip(1).map(|line| line.split_whitespace().next());
        ids.map(|id| id.unwrap().to_owned()).collect()
    };
    assert_eq!(listed(""), ["3", "2", "1"]);
    assert_eq!(listed("list --limit 2"), ["3", "2"]);
    assert_eq!(listed("--label Update"), ["2"]);
    assert_eq!(listed("--target simulated:d --kind run --since 1h"), ["3", "2", "1"]);
    workspace.expect("history --until 1h", 0, &["no entry matches"]);
    workspace.expect(
        "history --since soon",
        4,
        &["`soon` is not a date or an age", "--since soon"],
    );
    let csv = workspace.fathom(&["history", "--out", "csv"]).out;
    assert!(csv.starts_with("entry,started,kind,name,label,"), "{csv}");
    csv.assert_contains(&[",before the update,"]);
    let removed = ["before the update", "2 entries would be removed"];
    workspace.expect("history prune --keep 1 --dry-run", 0, &removed);
    assert_eq!(listed("").len(), 3);
    workspace.expect("history prune --older-than 1d", 0, &["nothing to remove"]);
    workspace.expect("history prune --keep 1", 0, &["2 entries removed"]);
    assert_eq!(listed(""), ["3"]);
    workspace.expect("history prune", 4, &["--keep", "--older-than"]);
    workspace.expect("history path", 0, &[text(&workspace.path("h.sqlite"))]);
}

#[test]
fn studies_and_verdicts_are_recorded_with_their_outcomes() {
    let workspace = Workspace::new();
    workspace.expect(
        "sweep job.toml --over depth=1,2,4 --time 50ms --grid-only -q --save saved",
        0,
        &[],
    );
    workspace.expect("ab --pairs 6 --time 20ms -q job.toml job.toml", 0, &[]);
    // The run is too short for another verdict. The entry and the exit code agree.
    let verify = "verify job.toml --require iops>=1000 --time 100ms --warm-up 0s -q --preflight 0";
    workspace.expect(verify, 2, &["INCONCLUSIVE"]);
    let entries = workspace.entries();
    assert_eq!(entries[0]["verdict"], "INCONCLUSIVE");
    let kinds: Vec<&Value> = entries.iter().map(|entry| &entry["kind"]).collect();
    assert_eq!(kinds, ["verify", "ab", "sweep"]);
    assert_eq!((&entries[2]["runs"], &entries[1]["runs"]), (&3.into(), &12.into()));
    assert_eq!(
        entries[2]["jobs"][0]["name"].as_str().unwrap().split('=').next(),
        Some("depth")
    );
    let again = workspace.expect("sweep --from history:1 --out csv", 0, &["depth"]);
    assert_eq!(again.out, workspace.expect("sweep --from saved --out csv", 0, &[]).out);
    assert_eq!(workspace.expect("history show 1 --out csv", 0, &[]).out, again.out);
    workspace.expect("history show 2", 0, &["What this means"]);
    let table = workspace.expect("ab --from history:2 --out csv", 0, &[]);
    let json = workspace.expect("ab --from history:2 --out json", 0, &[]).json();
    let changes = json["found"]["changes"].as_array().unwrap();
    let rows: Vec<Vec<&str>> = table.out.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), changes.len() + 1, "{}", table.out);
    let number = |cell: &str| cell.parse::<f64>().unwrap();
    assert_eq!(rows[0][0], "figure");
    assert_eq!(rows[1][0], "iops");
    assert_eq!(rows[2][0], "latency_mean_us");
    assert_eq!(number(rows[1][1]), changes[0]["from"].as_f64().unwrap());
    assert_eq!(number(rows[2][2]), changes[1]["to"].as_f64().unwrap() / 1e3);
    workspace.expect("ab --from history:1", 4, &["history:1 holds another kind of study"]);
    workspace.expect("compare history:1 history:3", 4, &["history:1 holds a study of 3 runs"]);
}

/// Drop-in modes record nothing unless their user requests it.
#[test]
fn drop_in_modes_record_a_result_only_on_request() {
    let workspace = Workspace::new();
    let fio = ["fio", "--name=x", "--ioengine=null", "--size=64k", "--rw=read"];
    let run = |value: Option<&Path>| {
        let mut command = workspace.command(&fio);
        command.env("FATHOM_DATA", workspace.path("data"));
        match value {
            Some(value) => command.env("FATHOM_HISTORY", value),
            None => command.env_remove("FATHOM_HISTORY"),
        };
        finish(&mut command).succeeds_silently();
    };
    run(None);
    run(Some(Path::new("off")));
    assert!(!workspace.path("data").exists() && !workspace.path("off").exists());
    run(Some(Path::new("on")));
    assert_eq!(names(&workspace.path("data")), ["history.sqlite"]);
    run(Some(&workspace.path("h.sqlite")));
    assert_eq!(workspace.entries()[0]["kind"], "fio");
    // A failed history is reported, and the exit code of the original tool stays.
    fs::write(workspace.path("h.sqlite"), "no database at all, ".repeat(100)).unwrap();
    workspace
        .fathom(&fio)
        .expect(0, &["WARNING: this result is not in the history: ", "is damaged"]);
}

#[test]
fn the_default_location_is_the_data_folder() {
    let workspace = Workspace::new();
    let mut run = workspace.command(&["run", "job.toml", "-q"]);
    run.env_remove("FATHOM_HISTORY")
        .env_remove("FATHOM_DATA")
        .env("XDG_DATA_HOME", workspace.path("xdg"));
    finish(&mut run).expect(0, &[]);
    assert!(workspace.path("xdg/fathom/history.sqlite").is_file());
    let mut run = workspace.command(&["run", "job.toml", "-q"]);
    for name in ["FATHOM_HISTORY", "FATHOM_DATA", "XDG_DATA_HOME", "HOME"] {
        run.env_remove(name);
    }
    let message = "warning: this result is not in the history: cannot find a directory for the history: neither FATHOM_DATA nor \
                XDG_DATA_HOME nor HOME is set\n  help: set FATHOM_HISTORY to the path of a file, or to `off`\n";
    assert_eq!(finish(&mut run).expect(0, &[]).err, message);
}

#[test]
fn concurrent_runs_are_all_recorded() {
    let workspace = Workspace::new();
    let children = [(); 4].map(|()| spawn(&mut workspace.command(&["run", "job.toml"])));
    let mut kept = children.map(|child| {
        let ran = end(child);
        let mut lines = ran.expect(0, &[]).err.lines();
        let line = lines.find(|line| line.starts_with("recorded as "));
        line.unwrap_or_else(|| panic!("{ran:#?}")).to_owned()
    });
    kept.sort();
    assert_eq!(kept, [1, 2, 3, 4].map(|id| format!("recorded as history:{id}")));
    assert_eq!(workspace.entries().len(), 4);
}

/// Runs a test with an unusable history. The report and the exit code must be as usual, with a
/// warning that contains these words.
fn assert_run_warns(workspace: &Workspace, words: &[&str]) {
    let ran = workspace.fathom(&["run", "job.toml", "-q"]);
    ran.exits(0)
        .prints(&["reads: ", "warning: this result is not in the history: ", "\n  help: "]);
    ran.expect(0, words);
    let is_wait = |line: &&str| line.starts_with("waiting for the history ");
    assert_eq!(ran.err.lines().filter(|line| !is_wait(line)).count(), 2, "{ran:#?}");
}

#[test]
fn a_damaged_newer_or_foreign_history_harms_no_run() {
    let workspace = Workspace::new();
    workspace.expect("run job.toml", 0, &["recorded as history:1"]);
    let path = workspace.path("h.sqlite");
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    assert_run_warns(&workspace, &["is damaged: ", "mv ", ".damaged"]);
    workspace.expect("history", 5, &["is damaged: ", "help: move the file"]);
    // The format number is at byte 60 of the file.
    let mut newer = whole.clone();
    newer[60..64].copy_from_slice(&99_u32.to_be_bytes());
    fs::write(&path, &newer).unwrap();
    assert_run_warns(
        &workspace,
        &["has format 99, and this version of fathom knows formats up to"],
    );
    workspace.expect(
        "history",
        3,
        &["has format 99", "help: use the version of fathom that wrote it"],
    );
    assert!(fs::read(&path).unwrap() == newer, "the file is unchanged");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_run_warns(&workspace, &["is not a regular file"]);
}

#[test]
fn a_locked_history_harms_no_run() {
    let workspace = Workspace::new();
    workspace.expect("run job.toml", 0, &["recorded as history:1"]);
    let other = rusqlite::Connection::open(workspace.path("h.sqlite")).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    assert_run_warns(&workspace, &["is in use by another program", "waiting for the history"]);
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(workspace.entries().len(), 1);
}

#[test]
fn a_full_history_harms_no_run_and_stays_intact() {
    let small = need!(TmpFs::with_size(1 << 20));
    let workspace = Workspace::new();
    let history = small.path().join("h.sqlite");
    let run = || {
        let mut command = workspace.command(&["run", "job.toml", "-q"]);
        finish(command.env("FATHOM_HISTORY", &history))
    };
    run().expect(0, &[]);
    // Only one page of the file system is left.
    let mut size = 1 << 20;
    while fs::write(small.path().join("filler"), vec![1; size]).is_err() {
        size -= 4096;
    }
    run().exits(0).prints(&[
        "reads: ",
        "there is no space left for the history",
        "fathom history prune --keep 100",
    ]);
    let mut list = workspace.command(&["history", "--out", "json"]);
    let listed = finish(list.env("FATHOM_HISTORY", &history)).expect(0, &[]).json();
    assert_eq!(listed["entries"].as_array().unwrap().len(), 1);
}

/// Another user's history can be read where permissions allow, and is not written to.
#[test]
fn a_missing_permission_to_write_is_reported() {
    let workspace = Workspace::new();
    workspace.expect("run job.toml", 0, &["recorded as history:1"]);
    let folder = workspace.folder.path();
    let other_user = need!(testbed::as_other_user(PROGRAM, folder, "fathom", "--version"));
    let history = workspace.path("h.sqlite");
    let run_as_other = |words: &[&str]| finish(other_user(words).current_dir(folder).env("FATHOM_HISTORY", &history));
    run_as_other(&["run", "job.toml", "-q"])
        .expect(0, &["reads: ", "cannot write to the history", "check the owner of"]);
    run_as_other(&["history"]).expect(0, &["tried"]);
    run_as_other(&["history", "label", "1", "mine"]).expect(5, &["cannot write to the history", "check the owner of"]);
    fs::set_permissions(workspace.path("h.sqlite"), fs::Permissions::from_mode(0o600)).unwrap();
    run_as_other(&["run", "job.toml", "-q"]).expect(0, &["reads: ", "cannot open the history", "check the owner of"]);
    run_as_other(&["history"]).expect(5, &["cannot open the history"]);
    assert_eq!(workspace.entries().len(), 1);
}

#[test]
fn a_history_that_is_turned_off_is_not_read_either() {
    let workspace = Workspace::new();
    let mut list = workspace.command(&["history"]);
    finish(list.env("FATHOM_HISTORY", "off")).expect(4, &["the history is disabled", "unset the variable"]);
}

/// Changes the recorded kernel of entries.
fn set_kernel(workspace: &Workspace, entries: std::ops::RangeInclusive<u64>, kernel: &str) {
    let history = rusqlite::Connection::open(workspace.path("h.sqlite")).unwrap();
    for entry in entries {
        let facts: String = history
            .query_row("SELECT facts FROM job WHERE entry = ?1", [entry as i64], |row| {
                row.get(0)
            })
            .unwrap();
        let mut facts: Vec<Value> = serde_json::from_str(&facts).unwrap();
        let fact = facts.iter_mut().find(|fact| fact["name"] == "kernel").unwrap();
        fact["value"] = kernel.into();
        let facts = serde_json::to_string(&facts).unwrap();
        history
            .execute(
                "UPDATE job SET facts = ?2 WHERE entry = ?1",
                rusqlite::params![entry as i64, facts],
            )
            .unwrap();
    }
}

/// The table of a trend has every point of its figures, times in microseconds.
fn assert_table_has_points(table: &str, figures: &[Value]) {
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split(',').collect()).collect();
    let points = figures.iter().flat_map(|figure| figure["points"].as_array().unwrap());
    assert_eq!(rows[0][4..], ["entry", "started_unix_ns", "figure", "value"]);
    assert_eq!(rows.len() - 1, points.clone().count());
    for (row, point) in rows[1..].iter().zip(points) {
        let factor = if row[6].ends_with("_us") { 1e3 } else { 1.0 };
        assert_eq!(row[4], point["entry"].to_string());
        assert_eq!(
            row[7].parse::<f64>().unwrap(),
            point["value"].as_f64().unwrap() / factor
        );
    }
}

fn assert_few_runs_have_no_trend(workspace: &Workspace) {
    let few = workspace.expect("trend", 0, &[]).out;
    few.replace("\n  ", " ")
        .assert_contains(&["5 runs are too few to distinguish a change from chance; at least 6 are needed."]);
    assert_eq!(few.matches("too few").count(), 1, "it is reported once: {few}");
    workspace.expect("trend --report trend.html", 0, &[]);
    let page = fs::read_to_string(workspace.path("trend.html")).unwrap();
    page.assert_contains(&["TOO FEW RUNS", "5 runs from <span class=\"option\">20"]);
    // The suggested command is that of the latest run.
    page.assert_contains(&["fathom run job.toml <span class=\"option\">-q</span>"]);
}

fn assert_page_names_the_change(workspace: &Workspace) {
    workspace.expect("trend --force --report trend.html", 0, &[]);
    let page = fs::read_to_string(workspace.path("trend.html")).unwrap();
    page.assert_contains(&[
        ": IOPS -20 % since entry 6 (",
        "By more than chance, since entry 6 (",
        "The two runs at the change also differ in: ",
        "<code>fathom compare history:5 history:6</code>",
        "<h2>How sure is it?</h2>",
        "<dt>Newest run, IOPS</dt>",
        " since entry 6</span>",
    ]);
}

#[test]
fn a_trend_shows_when_a_device_became_slower_and_what_else_changed() {
    let workspace = Workspace::new();
    let run = |seed: u32| {
        let line = format!("run job.toml -q --seed {seed} --time {}ms", 40 + seed);
        workspace.expect(&line, 0, &[]);
    };
    workspace.expect("trend", 0, &["The history has no run"]);
    run(1);
    workspace.expect("trend", 0, &["This test ran once"]);
    (2..=5).for_each(run);
    assert_few_runs_have_no_trend(&workspace);
    // The same test on a device that takes a quarter longer. The job file differs, and the plan
    // differs only in the device.
    let job = fs::read_to_string(workspace.path("job.toml")).unwrap();
    fs::write(workspace.path("slow.toml"), job.replace("100us", "125us")).unwrap();
    for _ in 0..3 {
        workspace.expect("run slow.toml -q", 0, &[]);
    }
    let apart = workspace.expect("trend --target simulated --out json", 0, &[]).json();
    let tests = apart["tests"].as_array().unwrap().iter();
    let runs: Vec<usize> = tests.map(|test| test["runs"].as_array().unwrap().len()).collect();
    assert_eq!(runs, [3, 5], "a device with other properties is another test");
    set_kernel(&workspace, 1..=5, "6.1.0");
    set_kernel(&workspace, 6..=8, "6.8.0");
    let trends = workspace.expect("trend --force --out json", 0, &[]).json();
    let figures = trends["tests"][0]["figures"].as_array().unwrap();
    assert_table_has_points(&workspace.expect("trend --force --out csv", 0, &[]).out, figures);
    let change = &figures[0]["changes"][0];
    assert_eq!(change["before"], 5);
    assert_eq!(change["after"], 6);
    assert_eq!(change["word"], "worse");
    let ratio = change["ratio"].as_f64().unwrap();
    assert!((ratio - 0.8).abs() < 0.01, "{ratio}");
    let mut differences = change["differences"].as_array().unwrap().iter();
    let kernel = differences.find(|fact| fact["name"] == "kernel").unwrap();
    assert_eq!(kernel["values"], serde_json::json!(["6.1.0", "6.8.0"]));
    let fall = "Operations per second fell by 20 % between run 5 (";
    let ran = workspace.expect("trend --force", 0, &[fall, "IOPS, mean latency, p99 changed"]);
    ran.out.replace("\n  ", " ").assert_contains(&["kernel 6.1.0 → 6.8.0"]);
    assert_page_names_the_change(&workspace);
    workspace.expect("trend 1", 0, &["simulated:disk on "]);
    workspace.expect("trend 99", 4, &["the history has no entry 99"]);
    workspace.expect("ab --pairs 6 --time 20ms -q job.toml job.toml", 0, &[]);
    workspace.expect("trend", 4, &["the entry 9 is a study of 12 runs, which has no trend"]);
    workspace.expect("run --target null --time 50ms --warm-up 0 -q", 0, &[]);
    let alone = ["This test ran once", "run on null (", "Tests with enough runs"];
    let enough = ["fathom trend 8      ", ", 3 runs", "fathom trend 5      ", ", 5 runs"];
    workspace.expect("trend", 0, &alone).prints(&enough);
}
