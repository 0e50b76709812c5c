//! Reports: several from one run, each at its destination, complete or not at all.

use std::io::Read;
use std::process::Command;

use model::event::Phase;

use crate::prelude::*;
use crate::support::{brief_run, run_briefly};

fn run(more: &[&str]) -> Ran {
    run_briefly("null", more)
}

#[test]
fn machine_readable_output_is_alone_on_stdout() {
    let json = run(&["--out", "json"]).expect(0, &[]).json();
    assert!(json["jobs"][0]["read"]["operations"].as_u64().unwrap() > 1000);
    let ran = run(&["--out", "csv"]);
    let mut lines = ran.expect(0, &[]).out.lines();
    let columns = lines.next().unwrap().split(',').count();
    assert!(columns > 5);
    assert!(lines.all(|line| line.split(',').count() == columns));
}

/// A report that went nowhere is not a success.
#[test]
fn an_output_that_cannot_be_written_is_an_error() {
    let run = brief_run("null", &[]).join(" ");
    for line in [&*run, "policies", "help exit-codes", "run --help", "--version"] {
        for (redirection, why) in [(">&-", "it is closed"), (">/dev/full", "No space left on device")] {
            let script = format!("exec {PROGRAM} {line} {redirection}");
            let ran = finish(Command::new("sh").args(["-c", &script]).env("FATHOM_HISTORY", "off"));
            ran.expect(5, &["cannot write standard output", why]);
        }
    }
}

#[test]
fn charts_are_added_to_the_text_report_and_require_it() {
    let folder = need!(Directory::fast());
    let saved = folder.path().join("r.fathom");
    let charts = ["IOPS over time", "latency up to"];
    let line = format!("run --target null --time 1s --warm-up 0 --save {}", text(&saved));
    fathom_line(&line).expect(0, &[]).out.assert_lacks(&charts[..1]);
    let drawn = fathom(&["show", text(&saved), "--charts"]);
    let drawn = drawn.expect(0, &charts);
    let own = drawn.out.split(charts[0]).nth(1).unwrap();
    assert!(own.lines().all(|line| line.chars().count() <= 80), "{own}");
    run(&["--charts"]).expect(0, &charts[1..]);
    let help = "help: add it: --out text,json=result.json";
    run(&["--charts", "--out", "json"]).expect(4, &["--charts", "--out does not include", help]);
}

#[test]
fn a_sweep_has_no_text_charts_and_its_page_shows_each_warning_once() {
    let folder = need!(Directory::fast());
    let (study, page) = (folder.path().join("s.fathom"), folder.path().join("s.html"));
    let load = "--size 16MiB --over depth=1,2 --grid-only --time 300ms --warm-up 0s -q --save";
    fathom(&[&["sweep", text(folder.path())], &split_words(load)[..], &[text(&study)]].concat()).expect(0, &[]);
    fathom(&["show", text(&study), "--charts"]).expect(4, &["this is a study", "--report FILE.html"]);
    fathom(&["show", text(&study), "--report", text(&page)]).expect(0, &[]);
    let page = fs::read_to_string(&page).unwrap();
    assert_eq!(page.matches("<code>SHORT-RUN</code>").count(), 1);
    page.assert_contains(&["(depth 1; also at all other points)", "What to do:"]);
    let (job, study) = (folder.path().join("job.toml"), folder.path().join("simulated.fathom"));
    let simulated = "[[job]]\ntarget = \"simulated:disk\"\ntime = \"300ms\"\nwarm-up = \"0s\"\n\
                     [simulated.disk]\nservers = 4\nservice = \"100us\"\n";
    fs::write(&job, simulated).unwrap();
    let load = split_words("--over depth=1,2 --grid-only -q --save");
    fathom(&[&["sweep", text(&job)], &load[..], &[text(&study)]].concat()).expect(0, &[]);
    let page = folder.path().join("simulated.html");
    fathom(&["show", text(&study), "--report", text(&page)]).expect(0, &[]);
    let page = fs::read_to_string(&page).unwrap();
    page.assert_contains(&["--from</span>", "--slo</span>"]);
}

#[test]
fn several_outputs_are_written_by_one_run() {
    let folder = need!(Directory::fast());
    let path = |name: &str| text(&folder.path().join(name)).to_owned();
    let spec = format!("text,json={},csv={}", path("r.json"), path("r.csv"));
    let stream = format!("ndjson={}", path("r.ndjson"));
    run(&["--out", &spec, "--out", &stream, "--save", &path("r.fathom")]).expect(0, &["IOPS", "MiB/s", "MB/s"]);
    assert_eq!(
        names(folder.path()),
        ["r.csv", "r.fathom", "r.json", "r.ndjson"],
        "there are no temporary files"
    );
    let json: Value = serde_json::from_str(&fs::read_to_string(path("r.json")).unwrap()).unwrap();
    let results = archive::load(folder.path().join("r.fathom").as_path()).unwrap();
    let operations = results.steps[0].jobs[0].total().operations;
    assert_eq!(json["jobs"][0]["total"]["operations"], operations);
    let lines = fs::read_to_string(path("r.ndjson")).unwrap();
    let events: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(events.last().unwrap()["event"], "summary");
    let summary = &events.last().unwrap()["summary"];
    assert_eq!(summary["jobs"][0]["total"]["operations"], operations);
    assert!(events.iter().any(|event| event["event"] == "phase"));
}

#[test]
fn a_summary_is_distinguished_from_a_saved_result() {
    let folder = need!(Directory::fast());
    let path = |name: &str| text(&folder.path().join(name)).to_owned();
    let (summary, saved) = (path("r.json"), path("r.fathom"));
    run(&["--out", &format!("json={summary}"), "--save", &saved]).expect(0, &[]);
    let parts = ["it is a summary (`--out json`)", "help: name a file of `--save FILE`"];
    let readers: [&[&str]; 6] = [
        &["show", &summary],
        &["explain", &summary],
        &["report", &summary],
        &["compare", &summary, &saved],
        &["baseline", "import", "--name", "mine", &summary],
        &["sweep", "--from", &summary],
    ];
    for reader in readers {
        fathom(reader).expect(3, &parts);
    }
}

#[test]
fn an_output_that_cannot_be_written_is_reported_before_the_run() {
    run(&["--save", "/no/such/folder/r"]).expect(3, &["cannot write /no/such/folder/r", "help:"]);
    run(&["--out", "json=/proc"]).expect(3, &["cannot write /proc", "directory"]);
}

#[test]
fn a_result_that_can_no_longer_be_written_is_shown_instead() {
    let full = need!(TmpFs::with_size(64 << 10));
    let target = full.path().join("result");
    let ballast = full.path().join("ballast");
    let fill = format!(
        "{} {} --time 1s --save {} -q & sleep 0.5; head -c 1m /dev/zero > {} 2>/dev/null; wait $!",
        PROGRAM,
        "run --target null --warm-up 0",
        text(&target),
        text(&ballast)
    );
    finish(Command::new("sh").args(["-c", &fill])).expect(5, &["cannot write", "No space left on device", "IOPS"]);
    assert!(!target.exists(), "the result is complete or absent");
}

#[test]
fn a_report_overwrites_no_target_and_no_disk() {
    let folder = need!(Directory::fast());
    let path = folder.path().join("f");
    fs::write(&path, vec![7; 1 << 20]).unwrap();
    let (file, alias) = (text(&path), folder.path().join(".").join("f"));
    let out = format!("json={}", text(&alias));
    for more in [["--out", &out], ["--save", file]] {
        run_briefly(file, &more).expect(3, &["cannot write a report to", "a target of the test", "help:"]);
    }
    assert!(fs::read(&path).unwrap() == vec![7; 1 << 20], "not a byte has changed");
    if let Some(device) = loop_device(1) {
        let saved = folder.path().join("r.fathom");
        run(&["--save", text(&saved)]).expect(0, &[]);
        let page = text(device.path());
        run(&["--save", page]).expect(3, &["a block device"]);
        fathom(&["report", text(&saved), "-o", page]).expect(3, &["a block device"]);
        let list = ["history", "list", "--out", &format!("json={page}")];
        let history = folder.path().join("history.db");
        finish(command(&brief_run("null", &["-q"])).env("FATHOM_HISTORY", &history)).expect(0, &[]);
        finish(command(&list).env("FATHOM_HISTORY", &history)).expect(3, &["a block device"]);
        let output = format!("--output={page}");
        let fio = ["fio", "--name=a", "--ioengine=null", "--size=1m", &output];
        fathom(&fio).expect(1, &["fio: cannot write --output to ", "it is a block device"]);
        assert!(
            fs::read(device.path()).unwrap() == vec![0; 1 << 20],
            "the device is unchanged"
        );
    }
}

#[test]
fn an_older_result_stays_until_the_new_one_is_complete() {
    let folder = need!(Directory::fast());
    let path = folder.path().join("r");
    run(&["--save", text(&path), "--seed", "1"]).expect(0, &[]);
    run(&["--save", text(&path), "--seed", "2"]).expect(0, &["seed 2"]);
    assert_eq!(archive::load(&path).unwrap().plan.seed, 2);
}

#[test]
fn a_reader_that_closes_the_pipe_is_not_an_error() {
    let mut child = spawn(&mut command(&brief_run("null", &["--out", "ndjson"])));
    let mut pipe = child.stdout.take().unwrap();
    let mut byte = [0];
    pipe.read_exact(&mut byte).unwrap();
    drop(pipe);
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0));
    assert!(!String::from_utf8_lossy(&ended.stderr).contains("panicked"));
}

#[test]
fn strict_turns_warnings_into_a_failure() {
    let folder = need!(Directory::fast());
    let path = folder.path().join("f");
    fs::write(&path, vec![1; 4 << 20]).unwrap();
    // A synchronous engine cannot keep eight operations in flight, which causes a warning.
    let line = format!(
        "run --target {} --time 300ms --warm-up 0 --engine psync --depth 8",
        text(&path)
    );
    let arguments = split_words(&line);
    fathom(&arguments).expect(0, &["SYNC-ENGINE"]);
    fathom(&[&arguments[..], &["--strict"]].concat()).expect(1, &["SYNC-ENGINE"]);
}

#[test]
fn the_same_seed_issues_the_same_operations() {
    let bytes = |seed: &str| {
        // A count instead of a time: on a busy machine the run takes longer but issues the same
        // operations.
        let line = format!("run --target null --read 50 --operations 10000 --seed {seed} --out json");
        let json = fathom_line(&line).expect(0, &[]).json();
        json["jobs"][0]["read"]["operations"].as_u64().unwrap()
    };
    assert_eq!(bytes("7"), bytes("7"));
    // A share of reads that is drawn differs between seeds.
    assert_ne!(bytes("7"), bytes("8"));
}

/// Operations before the measured window do not count in its figures. They are saved separately.
#[test]
fn a_warm_up_is_saved_separately_from_the_measured_window() {
    let folder = folder();
    let (job, saved) = (folder.path().join("job.toml"), folder.path().join("saved.fathom"));
    let words = "[[job]]\ntarget = \"simulated:disk\"\ndepth = 4\ntime = \"2s\"\nwarm-up = \"3s\"\n\
                 [simulated.disk]\nsize = \"1GiB\"\nservers = 4\nservice = \"100us\"\n";
    fs::write(&job, words).unwrap();
    fathom(&["run", text(&job), "--quiet", "--save", text(&saved)]).expect(0, &[]);
    let results = archive::load(&saved).unwrap();
    let around = &results.steps[0].jobs[0].around;
    let is_warm_up = around.iter().all(|interval| interval.phase == Phase::WarmUp);
    assert!(is_warm_up, "{around:?}");
    let length: u64 = around.iter().map(|interval| interval.length_ns.0).sum();
    assert_eq!(length, 3_000_000_000, "{around:?}");
    let operations: u64 = around.iter().map(|interval| interval.counts.read.operations).sum();
    // 4 at a time, 100 us each.
    assert!((118_000..=122_000).contains(&operations), "{operations}");
}

/// The readings are from a client of Linux 6.1. They were taken before and after 200 direct writes
/// of 64 KiB; `mountstats` and `nfsiostat` of nfs-utils show the same counts and means for them.
#[test]
fn two_copies_of_mountstats_are_compared() {
    let (before, after) = (data("nfs/before.txt"), data("nfs/after.txt"));
    let ran = fathom(&["nfs", &before, &after]);
    ran.exits(0).prints(&[
        "nfs4 127.0.0.1:/ on /media/a",
        "12.50 MiB went to it",
        "the busiest connection carried 50 % of the requests",
    ]);
    let row = |name: &str| -> Vec<String> {
        let line = ran.out.lines().find(|line| line.trim().starts_with(name)).unwrap();
        line.split_whitespace().map(str::to_owned).collect()
    };
    row("WRITE").assert_is(&[
        "WRITE", "200", "-", "65.7", "0.1", "0.000", "0.045", "0.050", "0", "0", "0",
    ]);
    let mounts = fathom(&["nfs", &before, &after, "--json"]).json();
    assert_eq!(mounts[1]["bytes"]["to_server"], 6_553_600);
    fathom(&["nfs", &after, &before]).expect(0, &["the counters in"]);
    let folder = tempfile::tempdir().unwrap();
    let damaged = folder.path().join("damaged.txt");
    fs::write(
        &damaged,
        fs::read_to_string(&before).unwrap().replace("WRITE: ", "WRITE: x "),
    )
    .unwrap();
    let ran = fathom(&["nfs", text(&damaged), &after]);
    ran.exits(0)
        .prints(&["damaged.txt, line 28: the counters of WRITE (/media/a) cannot be read"]);
    assert!(!ran.out.contains("WRITE"), "{}", ran.out);
    fathom(&["nfs", &before, "/dev/null"]).expect(4, &["/dev/null"]);
    fathom(&["nfs", "/"]).expect(4, &["/ is not on an NFS mount"]);
}

/// Command lines whose output would replace one of their files, and the reason.
const REFUSED_OUTPUTS: &[(&str, &str)] = &[
    (
        "run job.toml --out json=job.toml",
        "--out json to job.toml: it is also an input",
    ),
    (
        "run job.toml --log ./job.toml",
        "--log to ./job.toml: it is also an input",
    ),
    (
        "run job.toml --out json=o,csv=o",
        "--out json to o: it is also --out csv",
    ),
    (
        "run job.toml --out json=o --save ./o",
        "--save to ./o: it is also --out json",
    ),
    ("show kept.fathom --out csv=kept.fathom", "it is also an input"),
    (
        "compare kept.fathom kept.fathom --out json=kept.fathom",
        "it is also an input",
    ),
    ("lint --out sarif=job.toml job.toml", "it is also an input"),
    ("report kept.fathom -o kept.fathom", "kept.fathom"),
    ("history list --out csv=history.db", "it is also the history"),
    ("run job.toml --save history.db", "it is also the history"),
    (
        "run --target null --hosts @kept.fathom --save kept.fathom",
        "it is also an input",
    ),
    ("suite suite.toml --save job.toml", "it is also an input"),
    ("suite suite.toml --sign-off ./job.toml", "it is also an input"),
    ("suite suite.toml --report job.toml --dry-run", "it is also an input"),
    (
        "verify --catalogue cat --policy our/disk --junit cat/p.toml .",
        "it is also a policy file",
    ),
    (
        "run job.toml --out json=cat/p.toml",
        "--out json to cat/p.toml: it is also a policy file",
    ),
];

/// An output replaces no file that the same command line names, and no block device.
#[test]
fn an_output_replaces_no_other_file_of_the_command() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("cat")).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = command(arguments);
        command.env("FATHOM_HISTORY", at("history.db"));
        command.env("FATHOM_POLICIES", at("cat"));
        finish(command.current_dir(folder.path()))
    };
    let job = "[[job]]\ntarget = \"null\"\ntime = \"100ms\"\nwarm-up = \"0\"\n";
    fs::write(at("job.toml"), job).unwrap();
    run(&["run", "job.toml", "-q", "--save", "kept.fathom"]).expect(0, &[]);
    let policy = include_str!("../../../../examples/policies/our-disk.toml");
    fs::write(at("cat/p.toml"), policy).unwrap();
    let suite = "[[workload]]\njob = \"job.toml\"\nrequire = \"iops>=1\"\n";
    fs::write(at("suite.toml"), suite).unwrap();
    let read = |name: &str| fs::read(at(name)).unwrap();
    let (job, kept, history) = (read("job.toml"), read("kept.fathom"), read("history.db"));
    for (line, part) in REFUSED_OUTPUTS {
        run(&split_words(line)).expect(4, &["error: cannot write", part]);
    }
    std::os::unix::fs::symlink("history.db", at("link")).unwrap();
    for name in ["history.db", "link"] {
        run(&["history", "export", "last", name]).expect(3, &["it is the history"]);
    }
    std::os::unix::fs::symlink(".", at("here")).unwrap();
    for output in ["--save", "--report"] {
        let new_target = ["run", "--target", "new", "--size", "1m", output, "here/new"];
        run(&new_target).expect(3, &["it is a target of the test"]);
    }
    assert!(!at("o").exists() && !at("new").exists());
    assert_eq!(read("cat/p.toml"), policy.as_bytes());
    assert!(read("job.toml") == job && read("kept.fathom") == kept && read("history.db") == history);
    // The same input twice and an existing output file are allowed.
    run(&["compare", "kept.fathom", "kept.fathom"]).expect(0, &[]);
    run(&["run", "job.toml", "-q", "--save", "kept.fathom"]).expect(0, &[]);
}

/// The original tools overwrite these files.
#[test]
fn an_output_of_a_drop_in_replaces_no_input_and_no_target() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    let jobs = "[a]\nfilename=data\nsize=1m\nrw=read\n";
    let vdbench = "sd=sd1,lun=data,size=1m\nwd=wd1,sd=sd1\nrd=rd1,wd=wd1,elapsed=2,interval=1,iorate=10\n";
    let kept = [
        ("a.fio", jobs),
        ("j_bw.1.log", jobs),
        ("x.xml", "<Profile/>"),
        ("v.txt", vdbench),
        ("h.db", "past results"),
    ];
    for (name, text) in kept {
        fs::write(at(name), text).unwrap();
    }
    fs::write(at("data"), vec![7; 1 << 20]).unwrap();
    fs::hard_link(at("a.fio"), at("hard.fio")).unwrap();
    std::os::unix::fs::symlink("data", at("link")).unwrap();
    for log in ["null_bw.1.log", "null-write_bw.log"] {
        std::os::unix::fs::symlink("/dev/null", at(log)).unwrap();
    }
    let check = |line: &str, result: &str, code, part: &str| {
        let mut command = command(&split_words(line));
        command.env("FATHOM_HISTORY", "h.db");
        if !result.is_empty() {
            command.env("FATHOM_RESULT", result);
        }
        finish(command.current_dir(folder.path())).expect(code, &["cannot write ", part]);
        for (name, text) in kept {
            assert_eq!(fs::read_to_string(at(name)).unwrap(), text, "{line}: {name}");
        }
        assert!(fs::read(at("data")).unwrap() == vec![7; 1 << 20], "{line}");
    };
    let (input, target, history) = ("it is also an input", "it is a target of the test", "it is the history");
    for (line, part) in [
        ("fio --output=a.fio a.fio", input),
        ("fio a.fio --output=./a.fio", input),
        ("fio --output=hard.fio a.fio", input),
        ("fio --status-interval=1 --output=a.fio a.fio", input),
        ("fio --output=a.fio --client=127.0.0.1,9 a.fio", input),
        ("fio --output=h.db a.fio", history),
        ("fio --output=data a.fio", target),
        ("fio --output=link a.fio", target),
        ("fio --status-interval=1 --output=link a.fio", target),
        ("fio a.fio --write_iolog=data", target),
        ("fio a.fio --trigger-file=a.fio", input),
        // Logs have their names from the job.
        ("fio j_bw.1.log --write_bw_log=j", input),
        (
            "fio --name=j --filename=t_bw.1.log --size=8k --rw=write --write_bw_log=t",
            target,
        ),
    ] {
        check(line, "", 1, part);
    }
    for (options, part) in [
        ("--write_bw_log=b --output=b_bw.1.log", "also the file of --output"),
        ("--write_bw_log=null", "it is not a regular file"),
        ("--bandwidth-log=null", "it is not a regular file"),
    ] {
        let line = format!("fio --name=j --filename=t --size=8k --rw=write {options}");
        check(&line, "", 1, part);
    }
    check("fio a.fio", "a.fio", 1, input);
    check("fio a.fio", "data", 1, target);
    check("fio a.fio", "h.db", 1, history);
    check("diskspd -d1 -W0 data", "data", 1, target);
    check("diskspd -d1 -W0 data", "h.db", 1, history);
    check("vdbench -f v.txt", "v.txt", 157, input);
    check("vdbench -f v.txt", "data", 157, target);
}

/// The other tools write their logs into the device.
#[test]
fn an_output_of_a_drop_in_is_no_link_to_a_block_device() {
    let device = need!(loop_device(1));
    let folder = folder();
    let links = [
        "trace", "local-v-0-verify.state", "e.prerun.txt", "e.postrun.txt", "result",
    ];
    for link in links {
        std::os::unix::fs::symlink(device.path(), folder.path().join(link)).unwrap();
    }
    let job = "--filename=t --size=8k --rw=write";
    let output = "the output of a command to";
    for (options, part) in [
        ("--name=j --write_iolog=trace", "the log of operations to trace"),
        ("--name=v --verify=crc32c", "the verify state to local-v-0-verify.state"),
        ("--name=e --exec_prerun=true", &format!("{output} e.prerun.txt")),
        ("--name=e --exec_postrun=true", &format!("{output} e.postrun.txt")),
        ("--name=j --output=trace", "--output to trace"),
        ("--name=j", "FATHOM_RESULT to result"),
    ] {
        let line = format!("fio {options} {job}");
        let mut command = command(&split_words(&line));
        command.env("FATHOM_ALLOW_EXEC", "1");
        if part.starts_with("FATHOM_RESULT") {
            command.env("FATHOM_RESULT", "result");
        }
        finish(command.current_dir(folder.path())).expect(1, &[&format!("cannot write {part}: it is a block device")]);
        let is_laid_out = folder.path().join("t").exists();
        assert!(!is_laid_out, "{line}: it was refused only after the layout");
    }
    assert!(fs::read(device.path()).unwrap() == vec![0; 1 << 20]);
}

/// The user named the result of the first run only.
#[test]
fn the_result_of_a_later_run_replaces_only_results() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    let parameters = "sd=sd1,lun=data,size=1m\nwd=wd1,sd=sd1\nrd=default,wd=wd1,elapsed=2,interval=1,iorate=10\n\
        rd=rd1\nrd=rd2\n";
    fs::write(at("v.txt"), parameters).unwrap();
    fs::write(at("r.2.json"), "mine").unwrap();
    let run = |result: &str| {
        let mut command = command(&split_words("vdbench -f v.txt -o out"));
        command.env("FATHOM_RESULT", result);
        finish(command.current_dir(folder.path()))
    };
    // No result is measured that could not be saved.
    for (result, why) in [
        (
            "r.json",
            "cannot write r.2.json: it exists and is not a file that fathom wrote",
        ),
        ("missing/r.json", "cannot write missing/r.json: No such file"),
    ] {
        let refused = run(result);
        refused.expect(157, &[why]);
        assert!(!refused.out.contains("Starting RD="), "{}", refused.out);
    }
    assert_eq!(fs::read_to_string(at("r.2.json")).unwrap(), "mine");
    fs::remove_file(at("r.2.json")).unwrap();
    run("r.json").expect(0, &[]);
    fs::copy(at("r.json"), at("r.2.json")).unwrap();
    run("r.json").expect(0, &[]);
    assert_ne!(fs::read(at("r.json")).unwrap(), fs::read(at("r.2.json")).unwrap());
}

/// Every way to write a file, `{}`, from the saved result r.fathom.
const WRITERS: [&str; 19] = [
    "run --target null --time 100ms --warm-up 0 -q --save {}",
    "run --target null --time 100ms --warm-up 0 -q --out ndjson={}",
    "show r.fathom --report {}",
    "show r.fathom --out text={}",
    "show r.fathom --out json={}",
    "show r.fathom --out csv={}",
    "show r.fathom --out csv-percentiles={}",
    "show r.fathom --out csv-histogram={}",
    "show r.fathom --out markdown={}",
    "show r.fathom --out openmetrics={}",
    "show r.fathom --out diskspd-xml={}",
    "show r.fathom --out fio={}",
    "show r.fathom --out fio-json={}",
    "show r.fathom --out iometer={}",
    "report r.fathom -o {}",
    "history export last {}",
    "lint --out sarif={} --target null",
    "compare r.fathom r.fathom --out csv={}",
    "lint --out junit={} --target null",
];

#[test]
fn a_file_that_fathom_did_not_write_is_never_replaced() {
    let folder = need!(Directory::fast());
    let at = |name: &str| folder.path().join(name);
    let run = |line: &str| {
        let mut command = command(&split_words(line));
        finish(
            command
                .current_dir(folder.path())
                .env("FATHOM_HISTORY", at("history.db")),
        )
    };
    let simulated = "[[job]]\ntarget = \"simulated:disk\"\n[simulated.disk]\nservers = 4\nservice = \"100us\"\n";
    fs::write(at("job.toml"), simulated).unwrap();
    run("run --target null --time 100ms --warm-up 0 -q --save r.fathom").expect(0, &[]);
    let refusal = "out: it exists and is not a file that fathom wrote";
    for writer in WRITERS {
        let line = writer.replace("{}", "out");
        let foreign: [&[u8]; 4] = [
            b"letter\n", b"{\"mine\": 1}\n", b"<!DOCTYPE html>\n", b"\x1f\x8b\x08\x00mine",
        ];
        for mine in foreign {
            fs::write(at("out"), mine).unwrap();
            run(&line).expect(3, &[refusal, "help: choose another name, or remove it"]);
            assert_eq!(fs::read(at("out")).unwrap(), mine, "{line}");
        }
        // An empty file, and the report of the run before.
        fs::write(at("out"), "").unwrap();
        for _ in 0..2 {
            let ran = run(&line);
            assert!(
                ran.code != Some(3) && fs::metadata(at("out")).unwrap().len() > 0,
                "{line}: {ran:#?}"
            );
        }
        let to_null = run(&writer.replace("{}", "/dev/null"));
        assert_ne!(to_null.code, Some(3), "{to_null:#?}");
    }
    fs::write(at("r.html"), "mine").unwrap();
    run("verify job.toml --require iops>=1 --junit r.html").expect(3, &["cannot write r.html"]);
    run("report r.fathom").expect(3, &["cannot write r.html", "help: choose another name, or remove it"]);
    std::os::unix::fs::symlink("job.toml", at("link")).unwrap();
    run("show r.fathom --out json=link").expect(3, &["cannot write link"]);
    assert_eq!(fs::read_to_string(at("job.toml")).unwrap(), simulated);
}
