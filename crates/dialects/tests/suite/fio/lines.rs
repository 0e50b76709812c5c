//! Command lines: form, abbreviations, sections, flags.

use dialects::fio::flags::{Eta, Formats, StandaloneAction};
use dialects::fio::options::files::ServiceType;
use dialects::fio::options::pattern::Rw;
use dialects::fio::options::typed::{CpuRange, Distribution, LogName, Piece, Split};
use dialects::fio::{Jobs, ParseOutcome};
use testbed::With;

use crate::fio::support::{TestEnv, all, check_refused, job, reading, reading_in};

#[track_caller]
fn jobs(line: &str) -> Jobs {
    let (code, read) = all(reading(&format!("--parse-only {line}")));
    assert_eq!(code, 0, "{line}: {:?}", read.notices);
    read
}

#[test]
fn the_threshold_of_steady_state_is_printed_with_debug_parse() {
    let notices = |line: &str| jobs(line).stdout().map(str::to_owned).collect::<Vec<_>>();
    for (threshold, words) in [
        ("iops:10", "IOPS threshold to 10.000000"),
        ("iops:.1%", "threshold to 0.100000%"),
        ("bw:12", "BW threshold to 12"),
        ("bw:10%", "threshold to 10.000000%"),
    ] {
        let line = format!("parse    set steady state {words}");
        assert_eq!(notices(&format!("--debug=parse --ss_dur=10s --ss={threshold}")), [line]);
        assert!(notices(&format!("--ss_dur=10s --ss={threshold}")).is_empty());
    }
}

#[test]
fn dashes_and_values_may_be_written_in_several_ways() {
    for line in [
        "--name=x --iodepth=4 --direct=1 --time_based",
        "-name x -iodepth 4 -direct 1 -time_based",
        "--nam x --iodepth 4 --direct=1 --time_b",
        "-name=x -iodepth=4 -direct=1 -time_based=1",
    ] {
        let options = &jobs(line).jobs[0].options;
        assert_eq!(options.queue.iodepth, 4, "{line}");
        assert!(
            options.queue.direct && !options.queue.buffered && options.job.time_based,
            "{line}"
        );
    }
    assert_eq!(job("--runt=7").options.job.runtime, 7_000_000);
}

#[test]
fn an_exact_name_wins_over_longer_ones() {
    assert_eq!(job("--rate=1m").options.pace.rate.write, 1 << 20);
    assert!(job("--verify=md5 --size=4k").options.pattern.size.is_some());
}

#[test]
fn names_begin_sections() {
    let read = jobs("--bs=8k --name=a --rw=write --name=global --bs=16k --name=b --name=c --bs=1k");
    let sizes = read.jobs.iter().map(|job| (job.name(), job.options.pattern.bs.read));
    assert_eq!(sizes.collect::<Vec<_>>(), [("a", 8192), ("b", 16384), ("c", 1024)]);
    let globals = read.globals.iter().map(|(name, value)| format!("{name}={value}"));
    assert_eq!(globals.collect::<Vec<_>>(), ["bs=8k", "name=global", "bs=16k"]);
    let given = read.jobs[0].given.iter().map(|(name, value)| format!("{name}={value}"));
    assert_eq!(given.collect::<Vec<_>>(), ["name=a", "rw=write"]);
}

#[test]
fn aliases_are_listed_under_their_main_names() {
    let given = job("--blocksize=4k --readwrite=read --ss=iops:1%").given;
    let names: Vec<_> = given.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["name", "bs", "rw", "steadystate"]);
}

#[test]
fn options_apply_before_files_regardless_of_their_order() {
    let mut env = TestEnv::with_file("a.fio", "[f]\nrw=write\n");
    env.files.insert("b.fio".into(), "[g]\n[h]\n".into());
    let (code, read) = all(reading_in(&mut env, "a.fio b.fio --bs=8k --name=x --parse-only"));
    assert_eq!(code, 0);
    let jobs = read.jobs.iter();
    let jobs = jobs.map(|job| (job.section.as_str(), job.options.pattern.bs.read, job.waits()));
    // Options before the first `--name` apply to the first file, and later files wait.
    let expected = [
        ("x", 8192, false),
        ("f", 8192, false),
        ("g", 4096, true),
        ("h", 4096, false),
    ];
    assert_eq!(jobs.collect::<Vec<_>>(), expected);
}

#[test]
fn private_options_need_their_engine_first() {
    let options = job("--ioengine=io_uring --fixedbufs --sqthread_poll_cpu=3").options;
    assert!(options.engine.fixedbufs);
    assert_eq!(options.engine.sqthread_poll_cpu, Some(3));
    let (code, _) = all(reading("--parse-only --name=x --fixedbufs --ioengine=io_uring"));
    assert_eq!(code, 1);
    let options = job("--ioengine=io_uring --fixedbufs --ioengine=libaio").options;
    assert!(!options.engine.fixedbufs);
}

#[test]
fn a_question_mark_lists_the_debug_classes() {
    let (code, read) = all(reading("--debug=? --name=x --size=64k"));
    let lines: Vec<_> = read.stdout().collect();
    assert!(
        code == 0 && lines.len() == 1 && lines[0].starts_with("fio: dumping debug options:process,file,io,"),
        "{code} {lines:?}"
    );
}

#[test]
fn an_unknown_debug_class_is_reported_and_the_job_runs() {
    let (code, read) = all(reading("--debug=parse,nosuch --name=x --size=64k --ioengine=null"));
    let lines: Vec<_> = read.stderr().collect();
    assert_eq!(code, 0);
    assert_eq!(read.jobs.len(), 1);
    assert_eq!(lines, vec!["fio: debug mask nosuch not found"]);
    assert_eq!(read.flags.debug, ["parse"]);
}

#[test]
fn flags_are_typed() {
    let flags = jobs(
        "--output=o --output-format=json+,normal --append-terse --terse-version=5 --eta=never --eta-newline=2 \
         --status-interval=500ms --section=x --section y --readonly --warnings-fatal --aux-path=/tmp --debug=parse,io \
         --max-jobs=3 --alloc-size=4 --bandwidth-log --name=x",
    )
    .flags;
    let all = Formats {
        normal: true,
        terse: true,
        json: true,
        json_plus: true,
    };
    assert_eq!((flags.formats, flags.terse_version, flags.eta), (all, 5, Eta::Never));
    assert_eq!((flags.eta_newline_us, flags.status_interval_us), (2_000_000, 500_000));
    assert_eq!(flags.sections, ["x", "y"]);
    assert_eq!(flags.debug, ["parse", "io"]);
    assert!(flags.readonly && flags.warnings_fatal);
    assert_eq!(flags.bandwidth_log.as_deref(), Some("agg"));
    assert_eq!(flags.output.as_deref(), Some("o"));
    let minimal = jobs("--output-format=json --minimal --name=x").flags.formats;
    assert!(minimal.terse && !minimal.json && !minimal.normal);
}

#[test]
fn shares_of_zones_above_100_percent_are_refused() {
    for zones in ["200/300", "50/50:60/50"] {
        check_refused(
            &format!("--name=x --size=1m --rw=randread --random_distribution=zoned:{zones}"),
            &[
                "fio: zone_split percentages add to more than 100%",
                &format!("fio: failed parsing random_distribution=zoned:{zones}"),
            ],
        );
    }
}

#[test]
fn unsupported_options_are_reported() {
    check_refused(
        "--name=x --fdp=1",
        &[
            "fio: option fdp is not supported by this program: it needs an NVMe drive with data placement (FDP or streams) and passthrough commands (io_uring_cmd)",
        ],
    );
    check_refused(
        "--remote-config=x",
        &["fio: option remote-config is not supported by this program"],
    );
}

#[test]
fn a_server_has_no_jobs() {
    let check = |line: &str, address: &str, file: Option<&str>| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ParseOutcome::End(end) = TestEnv::default().read(&words) else {
            panic!("{line} has jobs");
        };
        assert_eq!((end.code, &end.action), (0, &Some(StandaloneAction::Serve)), "{line}");
        assert_eq!(end.read.flags.server.as_deref(), Some(address), "{line}");
        assert_eq!(end.read.flags.daemonize.as_deref(), file, "{line}");
    };
    check("--server", "", None);
    check("--server=ip6:::1,4444 --daemonize=pid", "ip6:::1,4444", Some("pid"));
    check("--daemonize pid --server=sock:/tmp/s", "sock:/tmp/s", Some("pid"));
    check_refused(
        "--client=h --name=x",
        &["fio: --client is not supported here: it runs jobs on other hosts"],
    );
}

#[test]
fn missing_and_empty_values_are_reported() {
    check_refused("--name=x --filename=", &["fio: option filename requires an argument"]);
    check_refused(
        "--parse-only=1",
        &[
            "fio: option '--parse-only' doesn't allow an argument",
            "fio: unrecognized option '--parse-only=1'",
            "Did you mean parse-only?",
        ],
    );
    // `write_bw_log` without a value takes the next argument.
    let options = job("--write_bw_log --rw=read").options;
    assert_eq!(options.logs.write_bw_log, Some(LogName::Named("--rw=read".into())));
}

#[test]
fn parsing_ends_at_the_first_mistake() {
    check_refused(
        "--name=x --bs=0 --iodepth=0",
        &["bs: min value out of range: 0 (1 min)", "fio: failed parsing bs=0"],
    );
}

#[test]
fn values_with_their_own_syntax_are_read() {
    let pattern = |options: &str| job(options).options.pattern;
    assert_eq!(pattern("--rw=write:4k").rw, Rw::Write);
    assert_eq!(pattern("--rw=write:4k").rw_step, 4096);
    assert_eq!(pattern("--rw=read:-8k").rw_step, -8192);
    assert_eq!(pattern("--rw=randread:8").rw_step, 8);
    assert_eq!(pattern("--rwmixwrite=30").rwmixread, 70);
    let split = pattern("--bssplit=4k/60:8k/:16k/,8k/100").bssplit.clone();
    let part = |bytes, percent| Split { bytes, percent };
    assert_eq!(split.read, [part(4096, 60), part(8192, 20), part(16384, 20)]);
    assert_eq!(split.write, vec![part(8192, 100)]);
    assert_eq!(split.trim, vec![part(8192, 100)]);
    // A list ends at an empty entry.
    assert_eq!(pattern("--bssplit=:").bssplit.read, []);
    let split = pattern("--bssplit=4k/50::8k/50").bssplit.clone();
    assert_eq!(split.read, [part(4096, 50)]);
    let zipf = Distribution::Zipf {
        theta: 1.2,
        center: Some(0.5),
    };
    assert_eq!(pattern("--random_distribution=zipf:1.2:0.5").distribution, zipf);
    assert!(matches!(
        pattern("--random_distribution=zoned:60/10:40/90").distribution,
        Distribution::Zoned(_)
    ));
    let files = job("--file_service_type=random:8 --filename=a:b\\:c:d").options.files;
    assert_eq!(files.file_service_type, ServiceType::Random);
    assert_eq!(files.file_service_count, Some(8.0));
    assert_eq!(files.filename, ["a", "b:c", "d"]);
    let cpus = job("--cpus_allowed=0,2-5").options.system.cpus_allowed.clone();
    assert_eq!(cpus, [CpuRange { first: 0, last: 0 }, CpuRange { first: 2, last: 5 }]);
    let data = job("--buffer_pattern=0xdead%o'f'-5").options.data;
    let expected = [
        Piece::Bytes(vec![0xde, 0xad]),
        Piece::Offset,
        Piece::File("f".into()),
        Piece::Bytes(vec![0xfb, 0xff, 0xff, 0xff]),
    ];
    assert_eq!(data.buffer_pattern, expected);
    let jobs = crate::fio::support::file("[a]\nverify_pattern=\"a\\\"b\"258\n");
    let expected = [Piece::Bytes(b"a\"b".to_vec()), Piece::Bytes(vec![2, 1])];
    assert_eq!(jobs[0].options.verify.verify_pattern, expected);
}

/// As in fio 3.33; version 3.42 has the same rules.
#[test]
fn every_number_may_be_a_list() {
    assert!(job("--direct=1m").options.queue.direct);
    assert!(!job("--unlink=abc:1").options.files.unlink);
    assert_eq!(job("--loops=abc:1").options.job.loops, 1);
    let (code, read) = all(reading("--parse-only --name=x --randrepeat=1:2"));
    assert_eq!(code, 0);
    assert_eq!(read.stderr().collect::<Vec<_>>(), ["max value out of range: 2 (1 max)"]);
    let messages = [
        "max value out of range: 8 (1 max)",
        "fio: failed parsing unlink=write:8",
    ];
    check_refused("--parse-only --name=x --unlink=write:8", &messages);
    check_refused("--name=x --verify_only=", &["fio: failed parsing verify_only="]);
}

#[test]
fn extreme_numbers_do_not_panic() {
    for option in [
        "rwmixread=-9223372036854775806",
        "rwmixwrite=-9223372036854775806",
        "size=9223372036854775806p",
        "runtime=-9223372036854775806",
        "iodepth=(9^9999)",
        "size=(1/0)",
        "random_distribution=zoned_abs:50/9223372036854775806:50/9223372036854775806:/9223372036854775806",
        "size=((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((1",
        "steadystate=iops:99999999999999999999999999%",
        "percentile_list=.:-",
        "buffer_pattern=-9223372036854775808",
    ] {
        let _ = reading(&format!("--name=x --{option}"));
    }
}

#[test]
fn gtod_reduce_disables_clock_calls() {
    let report = job("--gtod_reduce=1 --disable_lat=0").options.report;
    assert!(report.disable_clat && report.disable_slat && !report.disable_lat && !report.clat_percentiles);
    assert!(job("--gtod_reduce=0").options.report.clat_percentiles);
}

#[test]
fn a_directory_applies_to_names_that_follow_it() {
    let env = || TestEnv::default().with(|test_env| test_env.folders = vec!["d".into()]);
    let files_option = |line: &str| all(reading_in(&mut env(), line)).1.jobs.remove(0).options.files;
    let after = files_option("--parse-only --name=x --filename=a --directory=d");
    assert_eq!(&after.filename[..], &["a".to_owned()][..]);
    assert_eq!(&after.directory[..], &["d".to_owned()][..]);
    let before = files_option("--parse-only --name=x --directory=d --filename=a");
    assert_eq!(before.filename, ["d/a"]);
}

/// It also adds to those of `[global]`, as in fio 3.33 and 3.42.
#[test]
fn every_filename_adds_to_those_before_it() {
    let names = |line: &str| {
        let mut env = TestEnv::with_file("a.fio", "[global]\nfilename=x\n[a]\nfilename=y:z\n[b]\n");
        let read = all(reading_in(&mut env, line)).1;
        let names = read.jobs.iter().map(|job| job.options.files.filename.join(" "));
        names.collect::<Vec<_>>()
    };
    assert_eq!(names("--parse-only --name=x --filename=a:b --filename=c"), ["a b c"]);
    assert_eq!(names("--parse-only a.fio"), ["x y z", "x"]);
}

/// The suggestions that fio 3.33 prints for typos. Aliases are not suggested in files, and on the
/// command line the value counts as part of the option.
#[test]
fn suggestions_match_fio() {
    let of_file = "blcksize>lockfile iodept>iodepth siz>size randreed>randseed numjob>numjobs runtim>runtime \
        direkt>direct filenam>filename thred>thread verfy>verify rwmix>rw ioengin>ioengine \
        group_report>group_reporting stonwall>stonewall randrepat>randrepeat \
        time_basd>time_based bss>bs bsrang>bsrange rat>rate thinktim>thinktime offse>offset loop>loops \
        sise>size hipri>prio nrfile>nrfiles latency>rate clatpercentiles>clat_percentiles readwrit>";
    for pair in of_file.split_whitespace() {
        let (slip, expected) = pair.split_once('>').unwrap();
        let mut env = TestEnv::with_file("a.fio", &format!("[a]\n{slip}=1\n"));
        let (_, read) = all(reading_in(&mut env, "--parse-only a.fio"));
        assert_eq!(suggestion(&read), expected, "{slip}");
    }
    for pair in "direkt=1>direct iodep=3>iodepth sectoin=1>section parse-onl=1>parse-only readonl=x>readonly \
        outputt=1>output nam2=1>name"
        .split_whitespace()
    {
        let (slip, expected) = pair.split_once('>').unwrap();
        let (_, read) = all(reading(&format!("--parse-only --name=x --{slip}")));
        assert_eq!(suggestion(&read), expected, "{slip}");
    }
}

fn suggestion(read: &Jobs) -> String {
    let line = read.stderr().find_map(|line| line.strip_prefix("Did you mean "));
    line.unwrap_or_default().trim_end_matches('?').to_string()
}
