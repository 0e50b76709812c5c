//! Iometer's configuration files: the plan of each version, what is refused, and the page that
//! describes the dialect.

mod page;

use dialects::iometer::{self, Lowered, Machine, ParseOutcome, PathFacts, command_line};
use model::access::{Access, Continuation};
use model::block_size::BlockSizes;
use model::plan::{DepthScope, Plan, Prepare, Stream};
use model::testing::{assert_contains, assert_starts_with};
use model::{Bytes, Nanos};
use testbed::{AssertContains, AssertIs};

pub(crate) const FILES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/iometer");

/// A machine with two directories and a device.
struct Fake;

impl Machine for Fake {
    fn is_here(&self, name: &str) -> bool {
        ["127.0.0.1", "localhost"].contains(&name)
    }

    fn is_only_read(&self) -> bool {
        false
    }

    fn find(&self, path: &str) -> PathFacts {
        match path {
            "/d" | "/e" | "/mnt/data" => PathFacts::Directory,
            "/dev/sdb" => PathFacts::Device,
            "/d/there" => PathFacts::File(1 << 20),
            _ => PathFacts::Nothing,
        }
    }

    fn is_mount_point(&self, path: &str) -> bool {
        path == "/mnt/data"
    }

    fn free_bytes(&self, _: &str) -> Option<u64> {
        Some(1 << 30)
    }

    fn cpus(&self) -> u32 {
        3
    }
}

fn text(file: &str) -> String {
    std::fs::read_to_string(format!("{FILES}/{file}")).unwrap()
}

/// The plan of a text, or every problem, with mappings for the two directories.
pub(crate) fn lower_text(text: &str, more: &[&str]) -> Result<Lowered, String> {
    let words = ["x.icf", "r.csv", "--map", "D:=/d", "--map=E:=/e"];
    let words: Vec<String> = words.iter().chain(more).map(ToString::to_string).collect();
    let ParseOutcome::Run(arguments) = command_line::read("iometer", &words, false) else {
        panic!("{words:?}");
    };
    let problems =
        |list: Vec<dialects::Diagnostic>| list.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    let parsed = iometer::read("x.icf", text).map_err(problems)?;
    let mut lowered = iometer::lower(&parsed.config, &arguments, &Fake, false, 9).map_err(problems)?;
    lowered.plan.check().expect("the plan is complete");
    lowered.notes.splice(0..0, parsed.warnings);
    Ok(lowered)
}

fn plan(file: &str, more: &[&str]) -> Plan {
    lower_text(&text(file), more)
        .unwrap_or_else(|error| panic!("{file}: {error}"))
        .plan
}

fn refused(text: &str, more: &[&str]) -> String {
    lower_text(text, more).expect_err("the file is refused")
}

/// Checks the problem about a file with one part replaced.
#[track_caller]
fn check_refused(base: &str, (from, to): (&str, &str), expected: &str) {
    assert!(base.contains(from), "{from}");
    assert_contains(&refused(&base.replace(from, to), &[]), expected);
}

/// Replaces the line after a key.
fn with_value(base: &str, key: &str, value: &str) -> String {
    let key = base.find(key).expect("it has that key");
    let start = key + base[key..].find('\n').expect("a value follows") + 1;
    let end = start + base[start..].find('\n').expect("the value ends");
    format!("{}{value}{}", &base[..start], &base[end..])
}

fn streams(plan: &Plan, step: usize) -> Vec<&Stream> {
    let workers = plan.steps[step].jobs[0].workers.iter();
    workers.flat_map(|worker| &worker.streams).collect()
}

#[test]
fn workers_and_targets_cycle_and_specifications_follow() {
    let plan = plan("v1.1.0-cycling.icf", &[]);
    let shape = |step: &model::plan::Step| {
        let workers = step.jobs[0].workers.iter();
        let counts = workers.map(|worker| worker.streams.len().to_string());
        counts.collect::<Vec<_>>().join(" ")
    };
    let steps: Vec<String> = plan.steps.iter().map(shape).collect();
    // Two workers, then four; one target each, then two. Worker 3 idles in the second
    // specification.
    steps.assert_is(&["1 1", "1 2", "1 1 1 1", "1 2 1 2", "1 1", "1 2", "1 1 1", "1 2 2"]);
    let paths: Vec<&str> = plan.targets.iter().map(|target| &*target.path).collect();
    assert_eq!(paths, ["/d/iobw.tst", "/e/iobw.tst"]);
    let filled = Prepare::Filled {
        size: Some(Bytes(8192 * 512)),
    };
    assert_eq!(plan.targets[0].prepare, filled);
    assert_eq!(plan.steps[0].jobs[0].workers[0].depth, DepthScope::PerStream);
    assert_eq!(streams(&plan, 2)[3].depth, 4);
    // Sizes with the same mix are one stream.
    let server = streams(&plan, 4)[0];
    let BlockSizes::Split { entries } = &server.pattern.sizes.read else {
        panic!("{:?}", server.pattern.sizes);
    };
    let shares: Vec<(u64, f64)> = entries.iter().map(|entry| (entry.size.0, entry.percent)).collect();
    assert_eq!(shares, [(512, 10.0), (4096, 60.0), (65_536, 30.0)]);
    assert!((server.mix.write_share() - 20.0).abs() < 1e-9);
}

#[test]
fn queue_depths_cycle() {
    let plan = plan("v2006.icf", &[]);
    let depths = (0..plan.steps.len()).map(|step| streams(&plan, step)[0].depth);
    assert_eq!(depths.collect::<Vec<_>>(), [1, 2, 4]);
    let version = &plan.origin.presentation.other[0];
    assert_eq!((&*version.0, &*version.1), ("version", "2006.07.27"));
}

#[test]
fn versions_until_2008_have_the_same_layout() {
    for (version, layout) in [
        ("2007.09.26", "2006.07.27"),
        ("2008.06.18", "2006.07.27"),
        ("1.1.0", "1.1.0"),
    ] {
        let lowered = lower_text(&text("v2006.icf").replace("2006.07.27", version), &[]).unwrap();
        assert_eq!(lowered.plan.origin.presentation.other[0].1, layout, "{version}");
    }
}

#[test]
fn results_of_an_update_are_reported_as_missing() {
    let file = text("v1.1.0-cycling.icf");
    let updates = |file: &str| {
        let notes = lower_text(file, &[]).unwrap().notes;
        notes.iter().any(|note| note.contains("Record Last Update Results"))
    };
    assert!(!updates(&file));
    let enabled = file.replace("DISABLED,1,LAST_UPDATE", "ENABLED,1,LAST_UPDATE");
    assert!(updates(&enabled));
}

/// Many files begin a specification with a line of zeros.
#[test]
fn a_line_with_a_share_of_0_is_never_used() {
    let spec = |lines: &str| {
        let file = format!(
            "'TEST SETUP\n'Run Time\n0 0 5\n'ACCESS SPECIFICATIONS\n'Access specification name,default \
             assignment\nA,DISK\n'size,x\n{lines}"
        );
        lower_text(&file, &["--target", "/d/there"])
    };
    let real = "4096,100,100,100,0,1,0,0\n";
    let (with, without) = (spec(&format!("0,0,0,0,0,0,0,0\n{real}")), spec(real));
    assert_eq!(with.unwrap().plan.steps, without.unwrap().plan.steps);
    // The message names the line that is wrong.
    let Err(words) = spec("4096,50,100,100,0,1,0,0\n8192,25,100,100,0,0,0,0\n512,25,100,0,0,1,0,0\n") else {
        panic!("a burst of 0 transfers");
    };
    words.assert_contains(&["8192,25,100,100,0,0,0,0"]);
    words.assert_lacks(&["512,25"]);
}

#[test]
fn linux_targets_are_found_if_they_exist() {
    let plan = plan("v2003.icf", &[]);
    let targets = plan.targets.iter();
    let found: Vec<(&str, Option<Bytes>)> = targets.map(|target| (&*target.path, target.prepare.size())).collect();
    // A sector of a file system is its block; a sector of a device has 512 bytes.
    assert_eq!(found, [("/mnt/data/iobw.tst", Some(Bytes::mib(4))), ("/dev/sdb", None)]);
    let job = &plan.steps[0].jobs[0];
    assert_eq!(job.phases.warm_up_ns, Nanos::secs(1));
    assert_eq!(job.stop.after_ns, Some(Nanos::secs(1)));
}

#[test]
fn bursts_and_delays_belong_to_the_worker() {
    let plan = plan("v1998.10.08.icf", &[]);
    let worker = &plan.steps[0].jobs[0].workers[0];
    assert_eq!(worker.depth, DepthScope::PerTarget { alternatives: 2 });
    assert_eq!((worker.streams.len(), worker.slots()), (4, 2));
    let think = worker.streams[0].think.unwrap();
    assert_eq!((think.pause_ns, think.operations), (Nanos::millis(5), 8));
    assert_eq!(worker.streams[3].pattern.alignment.write, Bytes(512));
}

#[test]
fn unnamed_specifications_get_a_name() {
    let text = text("v1998.02.01.icf");
    let words = refused(&text, &["--map", "C:=/d"]);
    words.assert_contains(&["its maximum size is 0, for which Iometer fills the file system (1 GiB are free)"]);
    let plan = lower_text(&text, &["--map", "C:=/d", "--size", "2MiB"]).unwrap().plan;
    assert_eq!(streams(&plan, 0)[0].pattern.alignment.read, Bytes(2048));
    assert!((streams(&plan, 0)[0].mix.write_share() - 33.0).abs() < 1e-9);
    assert_eq!(plan.steps[0].jobs[0].name, "2 KiB random 67% reads");
}

#[test]
fn sequential_and_random_transfers_of_several_sizes_share_a_position() {
    let config_with = |lines: &str| text("v2006.icf").replace("4096,100,67,100,0,1,4096,0", lines);
    let access = |lines: &str| {
        let plan = lower_text(&config_with(lines), &[]).unwrap().plan;
        let worker = &plan.steps[0].jobs[0].workers[0];
        (worker.depth, worker.streams[0].pattern.access[0].clone())
    };
    assert!(matches!(
        access("4096,100,67,0,0,1,0,0"),
        (DepthScope::PerStream, Access::Sequential(_))
    ));
    assert!(matches!(
        access("4096,100,67,100,0,1,0,0"),
        (DepthScope::PerStream, Access::Random { .. })
    ));
    let two_sizes = access("4096,50,67,0,0,1,0,0\r\n8192,50,67,0,0,1,0,0");
    let (DepthScope::PerStream, Access::Mixed(mixed)) = two_sizes else {
        panic!("{two_sizes:?}");
    };
    assert_eq!(mixed.continuation, Continuation::Aligned);
    // Random reads with sequential writes are one stream; random reads with sequential reads are
    // not.
    assert_eq!(
        access("4096,50,100,100,0,1,0,0\r\n4096,50,0,0,0,1,0,0").0,
        DepthScope::PerStream
    );
    let apart = DepthScope::PerTarget { alternatives: 2 };
    assert_eq!(access("4096,50,100,100,0,1,0,0\r\n4096,50,100,0,0,1,0,0").0, apart);
}

#[test]
fn connection_rates_reopen_each_target() {
    let cycling = text("v1.1.0-cycling.icf");
    let tested = cycling.replace("2,DISABLED,1,ENABLED", "2,ENABLED,5,ENABLED");
    assert_ne!(tested, cycling);
    let plan = lower_text(&tested, &[]).unwrap().plan;
    let every: Vec<Option<u32>> = streams(&plan, 3).iter().map(|stream| stream.reopen_every).collect();
    // The last worker does not test connection rates.
    assert_eq!(every, [Some(5), Some(5), Some(5), Some(5), None, None]);
    let echo = &plan.origin.jobs[3].options;
    let is_five = |(name, value): &&(String, String)| name == "transactions" && value == "5";
    assert_eq!(echo.iter().filter(is_five).count(), 3);
    let words = refused(&tested.replace("\tE:", "\tD:"), &[]);
    assert_contains(&words, "of worker \"Worker 2\": two of its targets are /d/iobw.tst");
    assert!(!words.contains("Worker 4"), "{words}");
}

#[test]
fn messages_match_iometer() {
    let base = text("v2006.icf");
    let check = |from: &str, to: &str, expected: &str| check_refused(&base, (from, to), expected);
    check(
        "4096,100,67",
        "4096,90,67",
        "Error loading global access specifications.  Percentages don't add to 100.",
    );
    check(
        "4096,100,67",
        "4096,100,167",
        "Error loading global access specifications.  Invalid value encountered.",
    );
    check(
        "4096,100,67,100,0,1",
        "4096,100,67,100,0,0",
        "Invalid value encountered.",
    );
    let unknown =
        "File is improperly formatted.  TEST SETUP section contained an unrecognized \"'Test Colour\" comment.";
    check("'Test Type", "'Test Colour", unknown);
    check(
        "D: \"Data\"",
        "F:",
        "Error loading the ICF file.  A worker is assigned a target, \"F:\", that isn't available.",
    );
}

#[test]
fn a_part_of_a_disk_beyond_every_disk_is_refused() {
    let base = text("v2006.icf");
    let key = "'Disk maximum size,starting sector";
    for sectors in [
        "18446744073709551615,0",
        "0,18446744073709551615",
        "9223372036854775807,9223372036854775807",
        "2048,1125899906842625",
    ] {
        let words = refused(&with_value(&base, key, &format!("\t{sectors}")), &[]);
        assert_contains(&words, "cannot read the value of `'Disk maximum size,starting sector`");
    }
}

#[test]
fn unsupported_settings_are_refused_with_advice() {
    let base = text("v1.1.0-cycling.icf");
    let check = |from: &str, to: &str, expected: &str| check_refused(&base, (from, to), expected);
    check(
        "0          0          1\r\n'Ramp",
        "0          0          0\r\n'Ramp",
        "its run time is 0",
    );
    check(
        "0          0          1\r\n'Ramp",
        "99999999 0 1\r\n'Ramp",
        "cannot read the value of `'Run Time`",
    );
    check("127.0.0.1", "192.0.2.1", "cannot reach these managers: TESTBED");
    check(
        "'Worker type\r\n\tDISK",
        "'Worker type\r\n\tNETWORK,TCP",
        "network workers (NETWORK,TCP) are not supported",
    );
    check(
        "2,DISABLED,1,ENABLED",
        "2,ENABLED,0,ENABLED",
        "with 0 transactions per connection",
    );
    check(
        "4096,100,100,100,0,1,4096,0",
        "4096,100,100,100,0,1,4096,8",
        "a reply is a second transfer",
    );
    let cycling = text("v2006.icf");
    let depths = "1          4          2          EXPONENTIAL";
    for (changed, expected) in [
        ("1 4294967295 2 EXPONENTIAL", "outstanding I/Os; the limit is 1048576"),
        ("1 9999999 1 LINEAR", "more than 4096 tests"),
    ] {
        check_refused(&cycling, (depths, changed), expected);
    }
    assert!(lower_text(&base.replace("127.0.0.1", ""), &["--map", "TESTBED=localhost"]).is_ok());
}

/// Many generated files leave the manager's name empty.
#[test]
fn a_manager_without_name_and_address_is_this_machine() {
    let unnamed = text("v1.1.0-cycling.icf").replace("1,TESTBED", "1,");
    assert!(lower_text(&unnamed.replace("127.0.0.1", ""), &[]).is_ok());
    let away = unnamed.replace("127.0.0.1", "192.0.2.1");
    let words = refused(&away, &[]);
    words.assert_contains(&["these managers: 192.0.2.1;", "\"192.0.2.1=localhost\""]);
    assert!(lower_text(&away, &["--map", "192.0.2.1=localhost"]).is_ok());
}

#[test]
fn whole_disks_are_mapped_by_their_number() {
    let disks = text("v2006.icf").replace("D: \"Data\"", "10: \"( EXAMPLE NVME 1\"");
    let words = refused(&disks, &["--map", "1:=/e", "--map", "0:=/e"]);
    assert!(words.contains("--map \"10:=DIRECTORY\""), "{words}");
    let plan = lower_text(&disks, &["--map", "1:=/e", "--map", "10:=/d"]).unwrap().plan;
    assert_eq!(plan.targets[0].path, "/d/iobw.tst");
}

#[test]
fn a_problem_of_several_lines_is_one_message() {
    let base = text("v1.1.0-cycling.icf");
    let network = base.replace("'Worker type\r\n\tDISK", "'Worker type\r\n\tNETWORK,TCP");
    let words = refused(&network, &[]);
    let listed = "cannot run worker \"Worker 1\" of manager \"TESTBED\", worker \"Worker 2\" of manager";
    assert!(words.matches("network workers").count() == 1, "{words}");
    words.assert_contains(&[listed]);
    // Two specifications have this line, of which the help names the second.
    let words = refused(&base.replace(",0,1,", ",0,0,"), &[]);
    assert_eq!(words.matches("Invalid value encountered").count(), 1, "{words}");
    let mut also = words.lines().filter_map(|line| line.split_once("; also line "));
    assert!(also.any(|(_, lines)| lines.contains(", ")), "{words}");
}

#[test]
fn unknown_names_and_odd_versions_are_tolerated() {
    let odd = text("v2006.icf").replace("2006.07.27", "1997.01.01").replace(
        "'Assigned access specs\r\n",
        "'Assigned access specs\r\n\tNone such\r\n",
    );
    let Err(words) = lower_text(&odd, &[]) else {
        panic!("a file of that version has no names for specifications");
    };
    assert!(words.contains("Invalid value encountered."), "{words}");
    let odd = odd.replace("1997.01.01", "3.26.97");
    let lowered = lower_text(&odd, &[]).unwrap();
    let note = "Error restoring access specification assignments for worker \"Worker 1\".  Access spec \"None such\" doesn't exist.  Ignoring.";
    assert_eq!(lowered.notes[0], note);
    let bare = lower_text(
        "'TEST SETUP\n'Run Time\n0 0 5\n'ACCESS SPECIFICATIONS\n'Access specification name,default assignment\nA,DISK\n'size,x\n512,100,100,0,0,1,0,0\n",
        &["--target", "/d/there"],
    );
    let bare = bare.unwrap();
    assert_eq!(bare.plan.steps[0].jobs[0].workers.len(), 3);
    assert_eq!(bare.plan.targets[0].prepare, Prepare::Existing);
    assert_starts_with(&bare.notes[0], "Error restoring file.  Version number earlier");
}

#[test]
fn a_delay_precedes_the_burst_of_a_single_line_too() {
    let worker = |line: &str| {
        let file = text("v2006.icf").replace("4096,100,67,100,0,1,4096,0", line);
        let plan = lower_text(&file, &[]).unwrap().plan;
        let worker = plan.steps[0].jobs[0].workers[0].clone();
        (worker.depth, worker.streams.len(), worker.streams[0].think.is_some())
    };
    let burst = DepthScope::PerTarget { alternatives: 1 };
    assert_eq!(worker("4096,100,67,100,500,1,4096,0"), (burst, 1, true));
    assert_eq!(worker("4096,100,67,100,0,8,4096,0"), (DepthScope::PerStream, 1, false));
}

#[test]
fn maps_without_a_target_or_manager_are_noted() {
    let base = text("v1.1.0-cycling.icf");
    let unused = |maps: &[&str]| lower_text(&base, maps).unwrap().unused_maps;
    assert_eq!(unused(&["--map", "TESTBED=localhost"]), Vec::<String>::new());
    let no_effect = "--map \"X:=/d\" has no effect: no target or manager of the file has that name";
    assert_eq!(unused(&["--map", "X:=/d"]), [no_effect]);
}

#[test]
fn a_byte_order_mark_is_skipped_and_large_numbers_are_named() {
    let base = text("v2006.icf");
    let (with, without) = (lower_text(&format!("\u{feff}{base}"), &[]), lower_text(&base, &[]));
    assert_eq!(with, without);
    let refused_value = |key: &str, value: &str| refused(&with_value(&base, key, value), &[]);
    let run_time = refused_value("'Run Time", "99999999999999999999 0 0");
    assert_contains(&run_time, "99999999999999999999 is too large");
    let run_time = refused_value("'Run Time", "0 0 -5");
    assert_contains(&run_time, "it is not of the form `hours minutes seconds`");
    let words = refused_value("'Record Results", "SOME");
    words.assert_contains(&["it is not of the form `ALL`, `NO_TARGETS`"]);
    words.assert_lacks(&["``"]);
}

/// `fathom convert` writes paths as names of targets.
#[test]
fn a_path_is_a_target() {
    let base = text("v2006.icf");
    let target_of = |name: &str| {
        let file = base.replace("D: \"Data\"", name);
        lower_text(&file, &[]).map(|lowered| lowered.plan.targets[0].path.clone())
    };
    for (name, path) in [
        ("/d/there", "/d/there"),
        ("/d", "/d/iobw.tst"),
        ("./x.dat", "./x.dat"),
        ("../x", "../x"),
    ] {
        assert_eq!(target_of(name).as_deref(), Ok(path), "{name}");
    }
    // Names of Iometer are no paths.
    for name in ["/away [ext4]", "sdz", "C:", r"C:\x\y.dat", "x/y.dat"] {
        assert!(
            target_of(name).is_err_and(|error| error.contains("isn't available")),
            "{name}"
        );
    }
}
