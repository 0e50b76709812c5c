//! Flags that apply to the whole run: bandwidth log, processor idleness, triggers, debug output.

use crate::fio::support::Sandbox;
use crate::prelude::*;

/// Time and rate of each line of a log.
fn rates(sandbox: &Sandbox, name: &str) -> Vec<(u64, u64)> {
    let text = fs::read_to_string(sandbox.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let line = |line: &str| {
        let fields: Vec<u64> = line.split(", ").map(|field| field.parse().unwrap()).collect();
        assert_eq!(fields[3..], [0, 0], "{name}: {line}");
        (fields[0], fields[1])
    };
    text.lines().map(line).collect()
}

#[test]
fn the_bandwidth_log_covers_all_jobs() {
    let sandbox = Sandbox::new();
    let jobs = "--ioengine=null --size=1g --bs=4k --rate=400k --time_based --runtime=2 --bwavgtime=250 --name=r --rw=read \
                --numjobs=2 --name=w --rw=write --startdelay=1";
    let ran = sandbox.line(&format!("--bandwidth-log=total --output-format=json {jobs}"));
    ran.expect(0, &[]);
    let [reads, writes, trims] = ["read", "write", "trim"].map(|what| rates(&sandbox, &format!("total-{what}_bw.log")));
    assert!(reads.len() >= 12, "{reads:?}");
    assert_eq!(reads.len(), writes.len(), "{reads:?}\n{writes:?}");
    assert!(reads.is_sorted_by(|a, b| a.0 < b.0), "{reads:?}");
    // The logged rates add up to the bytes of the jobs.
    let report = ran.json();
    for (log, direction, job) in [(&reads, "read", 0..2), (&writes, "write", 2..3)] {
        let done: u64 = job
            .map(|job| report["jobs"][job][direction]["io_kbytes"].as_u64().unwrap())
            .sum();
        let logged: u64 = log.iter().map(|(_, rate)| rate / 4).sum();
        assert!(logged.abs_diff(done) * 10 <= done, "{direction}: {logged} of {done}");
    }
    // The writer starts after a second.
    assert!(
        writes.iter().take(3).chain(&trims).all(|(_, rate)| *rate == 0),
        "{writes:?}\n{trims:?}"
    );
    let ran = sandbox.line("--bandwidth-log --name=x --ioengine=null --size=4k");
    ran.expect(0, &[]);
    assert_eq!(rates(&sandbox, "agg-read_bw.log").len(), 1);
}

const PACED: &str = "--name=x --size=1m --rw=randread --rate_iops=100 --time_based";

#[test]
fn idle_processors_are_measured() {
    let sandbox = Sandbox::new();
    let ran = sandbox.line(&format!(
        "--idle-prof=percpu --output-format=json,normal {PACED} --runtime=1"
    ));
    ran.succeeds_silently();
    let (json, normal) = ran.out.split_once("\n}\n").unwrap();
    let start = json.find("{\n").unwrap();
    let report: Value = serde_json::from_str(&format!("{}\n}}", &json[start..])).unwrap();
    let idleness = report["cpu_idleness"].as_object().unwrap();
    let percent = |name: &str| idleness[name].as_f64().unwrap();
    let each: Vec<&String> = idleness.keys().filter(|name| name.starts_with("cpu-")).collect();
    assert!(!each.is_empty(), "{idleness:?}");
    let mean = each.iter().map(|name| percent(name)).sum::<f64>() / each.len() as f64;
    assert!(
        (0.0..=100.0).contains(&mean) && (percent("system") - mean).abs() < 1e-3,
        "{idleness:?}"
    );
    // A paced job leaves idle time, even on a busy machine.
    assert!(mean > 0.0 && percent("unit_mean") > 0.0, "{idleness:?}");
    let (_, section) = normal.split_once("\n\nCPU idleness:\n").unwrap();
    let lines: Vec<&str> = section.lines().collect();
    let [system, processors, unit] = lines[..] else {
        panic!("{section}")
    };
    assert!(system.starts_with("  system: ") && system.ends_with('%'), "{section}");
    assert_eq!(processors.matches('%').count(), each.len(), "{section}");
    assert!(unit.starts_with("  unit work: mean="), "{section}");
    let ran = sandbox.line(&format!("--idle-prof=system --output-format=json {PACED} --runtime=1"));
    let report = ran.json();
    let names = report["cpu_idleness"].as_object().unwrap().keys();
    assert!(names.eq(["system", "unit_mean", "unit_stddev"]), "{report:#}");
}

#[test]
fn idle_prof_calibrate_measures_only_the_unit_of_work() {
    let sandbox = Sandbox::new();
    let ran = sandbox.line("--idle-prof=calibrate --name=x --size=4k --rw=write");
    ran.expect(0, &["CPU idleness:\n  unit work: mean="]);
    assert_eq!((ran.out.lines().count(), ran.err.as_str()), (2, ""), "{ran:#?}");
    assert!(!sandbox.path().join("x.0.0").exists(), "no job is run");
    let ran = sandbox.line("--idle-prof=some --name=x");
    assert_eq!(ran.err, "fio: incorrect idle-prof option: some\n");
    assert_eq!(ran.code, Some(1));
}

/// The report is that of a run that ended by itself.
#[test]
fn trigger_timeout_ends_the_run_and_starts_the_command() {
    let sandbox = Sandbox::new();
    let line = format!("--trigger-timeout=1 {PACED} --runtime=60 --output-format=json");
    let mut arguments = split_words(&line);
    arguments.push("--trigger=echo ended > said; exit 3");
    sandbox.run(&arguments).expect(1, &["--trigger", "FATHOM_ALLOW_EXEC=1"]);
    assert!(!sandbox.path().join("x.0.0").exists(), "no file was created");
    let start = Instant::now();
    let ran = finish(sandbox.command(&arguments).env("FATHOM_ALLOW_EXEC", "1"));
    assert!(start.elapsed() < Duration::from_secs(30), "the trigger ended the run");
    ran.succeeds_silently();
    assert!(!ran.out.contains("terminating"), "{}", ran.out);
    assert_eq!(fs::read_to_string(sandbox.path().join("said")).unwrap(), "ended\n");
    let job = &ran.json()["jobs"][0];
    assert!(
        job["read"]["total_ios"].as_u64().unwrap() > 0 && job["error"] == 0,
        "{job}"
    );
}

#[test]
fn trigger_file_ends_the_run() {
    let sandbox = Sandbox::new();
    let line = format!("--trigger-file=now {PACED} --runtime=60");
    let child = sandbox.start(&line);
    std::thread::sleep(Duration::from_millis(1000));
    let start = Instant::now();
    fs::write(sandbox.path().join("now"), "").unwrap();
    let ran = end(child);
    assert!(start.elapsed() < Duration::from_secs(30), "the trigger ended the run");
    ran.expect(0, &["x: (groupid=0, jobs=1): err= 0"]);
    assert!(!sandbox.path().join("now").exists(), "the trigger file is removed");
}

/// The first two seeds were computed by hand. They follow from `M⁴` and `M⁵ + 1`, with
/// `M = 0x9e370001`.
#[test]
fn debug_random_prints_the_seeds_of_a_job() {
    let sandbox = Sandbox::new();
    let seeds = |options: &str| {
        let line = format!("--debug=random --name=a --ioengine=null --filesize=32k --rw=randread {options}");
        let ran = sandbox.line(&line);
        ran.expect(0, &["fio: set debug option random", "FIO_RAND_NR_OFFS=24"]);
        let lines = ran.out.lines().filter(|line| line.contains(" rand_seeds["));
        lines
            .map(|line| line.rsplit('=').next().unwrap().parse().unwrap())
            .collect::<Vec<u64>>()
    };
    let known = seeds("--randseed=1");
    assert_eq!(known.len(), 24);
    assert_eq!(&known[..2], &[6506468807964098561, 17930341039199158274][..]);
    assert_eq!(seeds("--randseed=1 --randrepeat=0"), known);
    assert_eq!(seeds(""), seeds("--allrandrepeat=1"));
    assert_ne!(seeds("--randrepeat=0"), seeds("--randrepeat=0"));
}
