//! Log files: their names and contents.

use crate::fio::support::Sandbox;
use crate::prelude::*;

/// The fields of each line.
fn lines(sandbox: &Sandbox, name: &str) -> Vec<Vec<u64>> {
    let text = fs::read_to_string(sandbox.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let number = |field: &str| match field.trim().strip_prefix("0x") {
        Some(hexadecimal) => u64::from_str_radix(hexadecimal, 16).unwrap(),
        None => field.trim().parse().unwrap_or_else(|_| panic!("{name}: {field}")),
    };
    text.lines()
        .map(|line| line.trim_end_matches([',', ' ']).split(',').map(number).collect())
        .collect()
}

fn log_names(sandbox: &Sandbox) -> Vec<String> {
    let names = sandbox.names().into_iter();
    names.filter(|name| name.ends_with(".log")).collect()
}

fn run(line: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let ran = sandbox.line(&format!("--name=j --size=256k --bs=4k --rw=randread {line}"));
    assert_eq!(ran.code, Some(0), "{line}\n{}{}", ran.out, ran.err);
    sandbox
}

/// On request, its line has the offset, the priority and the time of issue.
#[test]
fn each_operation_has_a_log_line() {
    let sandbox = run("--write_lat_log=l --write_iops_log=i --write_bw_log=b");
    let names = [
        "b_bw.1.log", "i_iops.1.log", "l_clat.1.log", "l_lat.1.log", "l_slat.1.log",
    ];
    assert_eq!(log_names(&sandbox), names);
    assert_eq!(lines(&sandbox, "l_slat.1.log").len(), 0);
    for name in ["l_clat.1.log", "l_lat.1.log", "i_iops.1.log", "b_bw.1.log"] {
        let found = lines(&sandbox, name);
        assert_eq!(found.len(), 64, "{name}");
        assert!(
            found.iter().all(|line| line[2..] == [0, 4096, 0]),
            "{name}: {:?}",
            found[0]
        );
        assert!(found.is_sorted_by_key(|line| line[0]), "{name}");
    }
    let sandbox = run("--write_lat_log=l --log_offset=1 --log_issue_time=1 --log_prio=1 --prioclass=2 --prio=3");
    let found = lines(&sandbox, "l_clat.1.log");
    let mut offsets: Vec<u64> = found.iter().map(|line| line[4]).collect();
    offsets.sort_unstable();
    assert!(offsets.into_iter().eq((0..64).map(|block| block * 4096)));
    assert!(
        found.iter().all(|line| line.len() == 7 && line[5] == 2 << 13 | 3),
        "{:?}",
        found[0]
    );
    assert!(found.iter().any(|line| line[6] > 0), "{:?}", found[0]);
    let total = lines(&sandbox, "l_lat.1.log");
    assert!(total.iter().all(|line| line[6] == 0), "{:?}", total[0]);
}

/// Lines have the mean, the maximum or both. Histograms can be coarser, and times can be wall-clock
/// times.
#[test]
fn each_window_has_a_log_line() {
    let paced = "--time_based --runtime=1 --rate_iops=400 --write_lat_log=l --log_avg_msec=250";
    let sandbox = run(paced);
    let mean = lines(&sandbox, "l_clat.1.log");
    assert!((3..=5).contains(&mean.len()), "{mean:?}");
    assert!(mean.iter().all(|line| line.len() == 5 && line[0] < 2000), "{mean:?}");
    let both = lines(&run(&format!("{paced} --log_window_value=both")), "l_clat.1.log");
    assert!(
        both.iter().all(|line| line.len() == 6 && line[1] <= line[2]),
        "{both:?}"
    );
    let wall = lines(&run(&format!("{paced} --log_alternate_epoch=1")), "l_clat.1.log");
    assert!(wall.iter().all(|line| line[0] > 1_700_000_000_000), "{wall:?}");
    let histograms = "--time_based --runtime=1 --rate_iops=400 --write_hist_log=h --log_hist_msec=500";
    let bins = |more: &str| lines(&run(&format!("{histograms} {more}")), "h_clat_hist.1.log");
    for (found, width) in [(bins(""), 1856), (bins("--log_hist_coarseness=3"), 232)] {
        assert!(found.iter().all(|line| line.len() == 3 + width), "{}", found[0].len());
        let counted: u64 = found.iter().flat_map(|line| &line[3..]).sum();
        assert!((300..=400).contains(&counted), "{counted}");
    }
}

/// Clones write separate files or a common one. Disabled measurements have no log. An option
/// without a value uses the name of the job.
#[test]
fn options_choose_the_log_files() {
    log_names(&run("--numjobs=2 --write_iops_log=i")).assert_is(&["i_iops.1.log", "i_iops.2.log"]);
    let sandbox = run("--numjobs=2 --write_iops_log=i --per_job_logs=0");
    assert_eq!(log_names(&sandbox), ["i_iops.log"]);
    assert_eq!(lines(&sandbox, "i_iops.log").len(), 128);
    assert!(log_names(&run("--write_iops_log=i --write_bw_log=b --disable_bw_measurement=1")).is_empty());
    let sandbox = run("--write_lat_log=l --disable_clat=1");
    assert_eq!(log_names(&sandbox), ["l_lat.1.log", "l_slat.1.log"]);
    let sandbox = Sandbox::new();
    fs::write(
        sandbox.path().join("j.fio"),
        "[reader]\nsize=64k\nrw=read\nwrite_iops_log\n",
    )
    .unwrap();
    assert_eq!(sandbox.line("j.fio").code, Some(0));
    assert_eq!(log_names(&sandbox), ["reader_iops.1.log"]);
}

/// Once inflated, a compressed log has the lines of a plain one.
#[test]
fn compressed_logs_can_be_inflated() {
    let sandbox = run("--write_lat_log=l --write_hist_log=h --log_hist_msec=100 --log_store_compressed=1");
    assert_eq!(log_names(&sandbox), [""; 0]);
    let stored = fs::read(sandbox.path().join("l_clat.1.log.fz")).unwrap();
    assert_eq!(stored[0], 0x78, "it is a zlib stream");
    let ran = sandbox.line("--inflate-log=l_clat.1.log.fz");
    assert_eq!((ran.code, ran.err.as_str(), ran.out.lines().count()), (Some(0), "", 64));
    assert!(ran.out.lines().all(|line| line.ends_with(", 0, 4096, 0")), "{ran:#?}");
    let empty = sandbox.line("--inflate-log=l_slat.1.log.fz");
    assert_eq!((empty.code, empty.out.as_str()), (Some(0), ""));
    assert!(sandbox.path().join("h_clat_hist.1.log.fz").exists());
    for (name, why) in [("nothing", "No such file"), ("j.0.0", "not a zlib stream")] {
        let ran = sandbox.line(&format!("--inflate-log={name}"));
        ran.expect(1, &["fio: cannot inflate", why]);
    }
    // Two runs append two zlib streams to one file.
    let append = "--name=j --size=64k --rw=read --write_iops_log=i --per_job_logs=0 --log_store_compressed=1";
    sandbox.line(append).expect(0, &[]);
    sandbox.line(append).expect(0, &[]);
    assert_eq!(sandbox.line("--inflate-log=i_iops.log.fz").out.lines().count(), 32);
}

/// Seconds since boot and since 1970.
fn read_clocks() -> (f64, f64) {
    let uptime = fs::read_to_string("/proc/uptime").unwrap();
    let since = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    (uptime.split(' ').next().unwrap().parse().unwrap(), since.as_secs_f64())
}

#[test]
fn log_and_job_times_use_the_requested_clock() {
    const SINCE_BOOT: &str = "7";
    let (before, _) = read_clocks();
    let sandbox = Sandbox::new();
    let line = "--name=j --size=64k --rw=read --write_iops_log=i --log_alternate_epoch=1 --output-format=json";
    let ran = sandbox.line(&format!(
        "{line} --log_alternate_epoch_clock_id={SINCE_BOOT} --job_start_clock_id={SINCE_BOOT}"
    ));
    let (after, since_1970) = read_clocks();
    let within = |milliseconds: u64| (before * 1e3 - 20.0..=after * 1e3 + 20.0).contains(&(milliseconds as f64));
    let first = lines(&sandbox, "i_iops.1.log")[0][0];
    assert!(within(first), "{before} {first} {after}");
    let start = ran.json()["jobs"][0]["job_start"].as_u64().unwrap();
    assert!(within(start), "{before} {start} {after}");
    let ran = sandbox.line(line);
    let default_start = ran.json()["jobs"][0]["job_start"].as_u64().unwrap() as f64 / 1e3;
    assert!(
        (default_start - since_1970).abs() < 60.0,
        "{default_start} {since_1970}"
    );
    for option in ["--log_alternate_epoch_clock_id=99", "--job_start_clock_id=2"] {
        let ran = sandbox.line(&format!("{line} {option}"));
        ran.expect(1, &["the system has no such clock"]);
    }
}
