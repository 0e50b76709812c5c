//! Inputs of a verdict: clauses, credits, targets, paths and machines; and its exit codes.

use std::net::TcpListener;

use crate::prelude::*;

fn file(folder: &Path, name: &str, content: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, content).unwrap();
    path
}

/// Verifies without a preflight and without a warm-up.
fn verify(targets: &[&str], more: &[&str]) -> Ran {
    let usual = ["--preflight", "0", "--warm-up", "0s", "--quiet"];
    fathom(&[&["verify"], targets, &usual, more].concat())
}

/// gp2 of 100 GiB: 300 IOPS, and 3,000 for 5,400,000 / 2,700 = 2,000 s.
const GP2: &str = "[simulated.disk]\nsize = \"100GiB\"\nservers = 64\nservice = \"1ms\"\n\
                   layer = \"iops 300 burst 3000 bucket 5400000\"\n";

#[test]
fn credits_of_a_named_disk_make_a_full_test_inconclusive() {
    let folder = folder();
    let device = file(folder.path(), "gp2.toml", GP2);
    let required = ["--require", "iops>=3000", "--disk", "aws/gp2:size=100GiB"];
    let quick = verify(&[text(&device)], &[&required[..], &["--quick"]].concat());
    let why = "credits were not exhausted: a full bucket sustains 3000 for 2000 s, and the test took 30 s";
    quick.expect(0, &[why]);
    let full = verify(&[text(&device)], &[&required[..], &["--out", "json"]].concat());
    let json = full.expect(2, &[]).json();
    let clause = &json["verdict"]["clauses"][0];
    assert_eq!(clause["outcome"], "inconclusive");
    assert_eq!(clause["cause"], "burst");
    // 300 operations per second take no credits.
    let low = ["--require", "iops>=300", "--disk", "aws/gp2:size=100GiB"];
    verify(&[text(&device)], &low).expect(0, &["PASS"]);
    // A machine has credits too: t3.large sustains 4,000 IOPS, and 15,700 for 30 minutes.
    let machine = split_words("--require iops>=3000 --vm t3.micro --out json");
    let json = verify(&[text(&device)], &machine).expect(2, &[]).json();
    assert_eq!(json["verdict"]["clauses"][0]["cause"], "burst", "{json:#}");
}

#[test]
fn credits_count_in_results_that_are_explained() {
    let folder = folder();
    let figures = "tool = \"DiskSpd\"\nblock = \"4k\"\nrandom = true\ndirect = true\nread = 100\ndepth = 32\n\
                   time = \"300s\"\niops = 3000.0\nmean = \"10.6ms\"\n";
    let figures = file(folder.path(), "figures.toml", figures);
    let explain = |more: &[&str]| {
        let required = ["explain", text(&figures), "--require", "iops>=2500"];
        fathom(&[&required[..], more].concat())
    };
    explain(&[]).expect(0, &["PASS iops >= 2500"]);
    explain(&["--disk", "aws/gp2:size=100GiB"]).expect(2, &["full burst credits sustain 3000 IOPS for"]);
}

#[test]
fn a_mistake_in_a_policy_file_is_located_as_in_a_job_file() {
    let folder = folder();
    let policy = file(folder.path(), "mine.toml", "schema = 1\n[policy]\nid = \"my\n");
    let ran = fathom(&["verify", "/nowhere", "--policy", text(&policy)]);
    let at = format!("\n  --> {}:3:9  id = \"my\n", text(&policy));
    let help = "\n  help: `fathom policies NAME --toml`";
    ran.expect(4, &["error: invalid basic string", &at, help]);
    ran.err.assert_lacks(&["TOML parse error", "\\n"]);
}

#[test]
fn the_rate_is_the_largest_that_a_clause_needs() {
    let folder = folder();
    let device = file(folder.path(), "gp2.toml", GP2);
    let policy = split_words("--policy aws/gp2 --size 100GiB --require iops>=3000 --quick");
    let both = verify(&[text(&device)], &[&policy[..], &["--out", "json"]].concat());
    let json = both.expect(0, &[]).json();
    assert_eq!(json["issued"]["rate_iops"], 3000.0, "{json:#}");
    // A rate that the user gave is kept, with advice on what it cannot show.
    let less = verify(&[text(&device)], &[&policy[..], &["--rate", "300"]].concat());
    less.exits(2).prints(&[
        "PASS          iops >= 300",
        "only 300 operations per second were requested",
        "repeat with --rate 3000",
    ]);
}

#[test]
fn a_short_test_is_marked_next_to_its_pass() {
    let folder = folder();
    let device = file(folder.path(), "gp2.toml", GP2);
    let line = |more: &[&str]| {
        let ran = verify(&[text(&device)], &[&["--require", "iops>=1000"], more].concat());
        let passes = ran.expect(0, &[]).out.lines().filter(|line| line.starts_with("PASS"));
        passes.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(line(&["--quick"]), ["PASS (in 30 s instead of 300 s)"]);
    assert_eq!(line(&["--time", "5s"]), ["PASS (in 5 s instead of 300 s)"]);
    assert_eq!(line(&["--time", "300s"]), ["PASS"]);
}

#[test]
fn clauses_are_shown_as_they_were_understood() {
    let folder = folder();
    let device = file(folder.path(), "gp2.toml", GP2);
    let short = ["--time", "5s"];
    let required = ["--require", "iops>=1000,latency<=500ms"];
    verify(&[text(&device)], &[required, short].concat()).expect(0, &["required: iops >= 1000, mean <= 500 ms"]);
    let fails = |required: &str, parts: &[&str]| {
        verify(&[text(&device)], &["--require", required]).expect(4, parts);
    };
    fails("iops>=6,000", &["must not contain a comma", "write iops>=6000"]);
    fails("iops>=1e300", &["exceeds the supported maximum", "iops>=1000000000"]);
    // 10^14 bytes per second are a valid limit, but the load cannot have 2.4 × 10^10 operations of
    // 4 KiB.
    fails("mbps>=1e8", &["exceed the supported maximum", "larger blocks"]);
}

#[test]
fn missing_arguments_are_requested() {
    let folder = folder();
    let device = file(folder.path(), "gp2.toml", GP2);
    let promise = ["no promise to verify", "--require 'iops>=4000,p99<=3ms'", "--policy"];
    verify(&[text(&device)], &[]).expect(4, &promise);
    let times = [
        "--quick measures for 30 s, but --time sets another length",
        "--time 5s --warm-up 0s --preflight 0s",
    ];
    verify(&[text(&device)], &["--require", "iops>=1", "--quick", "--time", "9s"]).expect(4, &times);
    verify(&["simulated:disk"], &["--require", "iops>=1"]).expect(4, &["[simulated.disk]", "verify device.toml"]);
    let missing = folder.path().join("nosuch.dat");
    let short = ["--require", "iops>=10", "--time", "1s"];
    verify(&[text(&missing)], &short).expect(3, &["does not exist", "--file-size SIZE"]);
    // A file that `verify` creates is removed afterwards, even if the user has named it.
    let new = [&short[..], &["--file-size", "4m", "--read", "0"]].concat();
    let made = verify(&[text(&missing)], &new);
    assert!(matches!(made.code, Some(0 | 2)), "{made:#?}");
    made.err
        .assert_contains(&["nosuch.dat does not exist: testing a new file of 4 MiB"]);
    assert_eq!(names(folder.path()), ["gp2.toml"]);
    for command in ["run", "sweep", "lint"] {
        fathom(&[command, text(&device)]).expect(4, &["[[job]]", "target = \"simulated:disk\""]);
    }
}

/// Only FAIL has the exit code that a build server treats as a broken promise.
#[test]
fn an_inaccessible_target_fails_no_promise() {
    let folder = folder();
    let locked = folder.path().join("locked");
    fs::create_dir(&locked).unwrap();
    let closed = folder.path().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o555)).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    let other_user = need!(testbed::as_other_user(PROGRAM, folder.path(), "fathom", "--version"));
    let run_as_other = |target: &Path| {
        let required = ["--require", "iops>=10", "--quick", "--preflight", "0"];
        let words = [&["verify", text(target)], &required[..]].concat();
        finish(other_user(&words).env("FATHOM_HISTORY", "off"))
    };
    run_as_other(&locked).expect(3, &["cannot create", "Permission denied", "may write to"]);
    let closed = run_as_other(&closed);
    closed.expect(3, &["Permission denied", "may enter its directory"]);
    assert!(!closed.err.contains("device"), "{closed:#?}");
}

/// Two devices of one file, with the path, role and limits of its job.
#[test]
fn statements_of_a_job_file_about_its_storage_count() {
    let folder = folder();
    let job = "cap = \"array:iops=9000,role=log\"\n\
               [[job]]\ntarget = \"simulated:a\"\npath = \"cached\"\nrole = \"log\"\ncap = \"log disks:iops=5000\"\n";
    let device = |name: &str| format!("[simulated.{name}]\nservers = 64\nservice = \"1ms\"\niops-cap = 4000\n");
    let both = format!("{job}{}{}", device("a"), device("b"));
    let two = file(folder.path(), "two.toml", &both);
    let short = ["--require", "iops>=6000", "--time", "5s", "--out", "json"];
    let ran = verify(&[text(&two)], &[&short[..], &["--vm", "Standard_D8ds_v4"]].concat());
    let json = ran.expect(0, &[]).json();
    assert_eq!(json["issued"]["targets"], 2, "{json:#}");
    let layers = json["machine"]["layers"].as_array().unwrap().iter();
    let layers: Vec<&str> = layers.map(|layer| layer["name"].as_str().unwrap()).collect();
    let expected = ["VM Standard_D8ds_v4, cached", "log disks", "array"];
    assert_eq!(layers, expected, "{json:#}");
    assert_eq!(json["machine"]["reach"]["iops"]["low"], 5000.0, "{json:#}");

    // The same from the command line, on a file with devices alone.
    let bare = file(folder.path(), "bare.toml", &device("a"));
    let flags = "--path cached --role log --cap log:iops=4500,role=log --cap data:iops=9000";
    let line = format!("--require iops>=1000 --time 5s --out json {flags}");
    let json = verify(&[text(&bare)], &split_words(&line)).expect(0, &[]).json();
    assert_eq!(json["machine"]["reach"]["layer"], "log", "{json:#}");
    // A limit of another role would apply to no job.
    let other = ["--require", "iops>=1", "--cap", "log:iops=4500,role=log"];
    verify(&[text(&bare)], &other).expect(4, &["the limit `log` applies to no job"]);

    let plain = file(folder.path(), "plain.dat", "");
    let mixed = [text(&bare), text(&plain)];
    verify(&mixed, &["--require", "iops>=1"]).expect(4, &["simulated devices and other targets"]);
    verify(&[text(&two), text(&bare)], &["--require", "iops>=1"]).expect(4, &["defines another device `a`"]);
    let differ = format!("{job}[[job]]\ntarget = \"simulated:a\"\n{}", device("a"));
    let differ = file(folder.path(), "differ.toml", &differ);
    verify(&[text(&differ)], &["--require", "iops>=1"]).expect(4, &["differ in path"]);
}

/// The service accepts connections but sends nothing.
#[test]
fn a_metadata_service_that_is_silent_is_named_in_the_report() {
    let folder = folder();
    let device = file(folder.path(), "gp2.toml", GP2);
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let line = format!("verify {} --metadata --require iops>=100 --time 5s -q", text(&device));
    let ran = finish(command(&split_words(&line)).env("FATHOM_METADATA", &address));
    let why = format!("the metadata service at {address} does not report the machine's type");
    let flat = ran.exits(0).out.replace("\n  ", " ");
    flat.assert_contains(&[&format!("Note: {why}")]);
    ran.err.assert_contains(&[&why]);
}

/// Serves 4 operations in parallel, each in 1 ms.
const DISK: &str = "[[job]]\ntarget = \"simulated:disk\"\nwarm-up = \"0s\"\ntime = \"1s\"\ndepth = 4\n\
                    [simulated.disk]\nsize = \"1GiB\"\nservers = 4\nservice = \"1ms\"\n";

/// The load stays as described; the exit codes are those of `verify`.
#[test]
fn a_run_judges_by_requirements() {
    let folder = folder();
    let job = file(folder.path(), "job.toml", DISK);
    let run = |clauses: &str| fathom(&["run", text(&job), "-q", "--require", clauses]);
    run("iops>=1000,mean<=2ms").expect(0, &["Judged by iops >= 1000, mean <= 2 ms", "PASS"]);
    let paced = |clauses: &str| fathom(&["run", text(&job), "-q", "--rate", "1000iops", "--require", clauses]);
    paced("p50<=500us").expect(1, &["FAIL", "1 ms: 2 times the limit"]);
    run("iops>=1000,p50<=500us").expect(2, &["INCONCLUSIVE", "repeat with the promised rate"]);
    run("p99<=5").expect(4, &["--require", "has no unit"]);
    // The failure of one job does not concern the other.
    let faulty = DISK.replace("disk", "faulty") + "fault = \"operation 600 errno 5\"\n";
    let (faulty_job, faulty_device) = faulty.split_at(faulty.find("[simulated").unwrap());
    let both = file(
        folder.path(),
        "both.toml",
        &format!("{faulty_job}{DISK}{faulty_device}"),
    );
    let ran = fathom(&["run", text(&both), "-q", "--require", "iops>=1000"]);
    let judged = ran.expect(1, &["Judged by"]).out.split("Judged by").nth(1).unwrap();
    let (failed, good) = judged.split_once("job2\n").unwrap();
    failed.assert_contains(&["read failed"]);
    good.assert_lacks(&["read failed"]);
}

#[test]
fn limits_and_policies_are_known_before_a_run() {
    let folder = folder();
    let target = folder.path().join("file");
    let line = format!(
        "--target {} --size 16m --block 1m --time 60s --warm-up 1s",
        text(&target)
    );
    let words = split_words(&line);
    let lint = |more: &[&str]| fathom(&[&["lint"], more, &["native"], &words[..]].concat());
    lint(&[]).expect(0, &[]).out.assert_lacks(&["BURST-WINDOW"]);
    lint(&["--disk", "aws/gp2:size=100GiB"]).expect(0, &["warning BURST-WINDOW", "lasts 2000 s"]);
    let narrow = ["--promised-iops", "3000", "--cap", "VM:mbps=100,kind=vm"];
    lint(&narrow).expect(0, &["BW-BINDS-FIRST", "VM is limited to 95 IOPS by 100 MB/s, not 3000"]);
    lint(&["--policy", "aws/gp2", "--set", "size=100GiB"]).expect(3, &["BURST-WINDOW", "UNCAPPED-SLA"]);
    lint(&["--set", "size=100GiB"]).expect(4, &["--policy"]);
    // `run` states them itself, also after `native`.
    let stated = ["--disk", "aws/gp2:size=100GiB"];
    fathom(&[&["lint", "native"], &words[..], &stated].concat()).expect(0, &["BURST-WINDOW"]);
    let dry = ["--dry-run", "--require", "iops>=3000", "--cap", "VM:mbps=100,kind=vm"];
    fathom(&[&["run"], &words[..], &dry].concat()).expect(0, &["BW-BINDS-FIRST"]);
}

/// The preflight takes 10 s.
#[test]
fn a_refused_target_is_named_before_the_preflight() {
    let folder = need!(Directory::new());
    let file = folder.path().join("own");
    fs::write(&file, vec![7; 1 << 20]).unwrap();
    let line = format!("verify {} --require iops>=10 --read 0 --time 2s", text(&file));
    let refused = fathom_line(&line);
    refused.expect(3, &["that fathom did not create", "--allow-overwrite"]);
    assert!(!refused.err.contains("watching for"), "{refused:#?}");
    fathom_line("run --target /dev/no-such-disk --time 1s --preflight 10s").expect(3, &["does not exist"]);
}

/// Regression: the file that `fathom vdbench` had created was called foreign.
#[test]
fn verify_writes_to_a_file_that_vdbench_created() {
    let folder = need!(Directory::fast());
    let parameters = "sd=sd1,lun=DIR/data,size=4m,threads=2\nwd=wd1,sd=sd1,xfersize=4k,rdpct=50,seekpct=100\n\
         rd=rd1,wd=wd1,iorate=50,elapsed=2,interval=1\n";
    let verify = || {
        let line = "verify parmfile --require iops>=1 --preflight 0 --time 2s";
        fathom_in(folder.path(), &split_words(line))
    };
    run_vdbench(folder.path(), parameters, &[]).exits(0);
    let verified = verify();
    assert_ne!(verified.code, Some(3), "{verified:#?}");
    verified.out.assert_contains(&["iops >= 1"]);
    // A file of the user stays one, also if Vdbench extends it.
    fs::write(folder.path().join("data"), vec![7; 1 << 20]).unwrap();
    run_vdbench(folder.path(), parameters, &[]).exits(0);
    verify().expect(3, &["must not be", "--allow-overwrite"]);
}
