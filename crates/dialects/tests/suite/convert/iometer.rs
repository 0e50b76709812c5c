//! Conversions to Iometer configurations.

use dialects::convert::{Conversion, to_iometer};
use model::plan::{Plan, Step};
use model::testing::{assert_contains, assert_starts_with};
use testbed::{AssertContains, AssertIs};

use crate::convert::support::{diskspd_line, flags, job_file, texts};
use crate::iometer::{FILES, lower_text};

/// The plan that the text of a conversion means.
#[track_caller]
fn again(conversion: &Conversion, more: &[&str]) -> Plan {
    let read = lower_text(&conversion.text, more);
    read.unwrap_or_else(|error| panic!("{error}\n{}", conversion.text)).plan
}

/// The tests without names.
fn tests(plan: &Plan) -> Vec<Step> {
    let mut steps = plan.steps.clone();
    let jobs = steps.iter_mut().flat_map(|step| &mut step.jobs);
    jobs.for_each(|job| job.name = String::new());
    steps
}

/// Lines of a text from the one that begins with `from` to the one that begins with `to`.
fn part<'t>(text: &'t str, from: &str, to: &str) -> Vec<&'t str> {
    let lines = text.lines().skip_while(|line| !line.starts_with(from));
    let mut part: Vec<&str> = lines.take_while(|line| !line.starts_with(to)).collect();
    part.iter_mut().for_each(|line| *line = line.trim());
    part
}

/// Every version, with cycles of workers, targets and depths, idle workers, bursts, fixed seeds and
/// Linux sectors.
#[test]
fn recorded_files_survive_a_round_trip() {
    for (file, more) in [
        ("v1.1.0-cycling.icf", &[][..]),
        ("v1998.02.01.icf", &["--map", "C:=/d", "--size", "2MiB"]),
        ("v1998.10.08.icf", &[]),
        ("v2003.icf", &[]),
        ("v2006.icf", &[]),
    ] {
        let text = std::fs::read_to_string(format!("{FILES}/{file}")).unwrap();
        let plan = lower_text(&text, more).unwrap().plan;
        let found = to_iometer(&plan);
        assert_eq!(
            (texts(&found.lost), texts(&found.differs)),
            (Vec::new(), Vec::new()),
            "{file}\n{}",
            found.text
        );
        let got = again(&found, more);
        assert_eq!(got.targets, plan.targets, "{file}");
        // Only the sizes of a file that `--size` makes become its maximum size.
        if file != "v1998.02.01.icf" {
            assert_eq!(tests(&got), tests(&plan), "{file}\n{}", found.text);
        }
        // The text of the text is the text.
        assert_eq!(to_iometer(&got).text, found.text, "{file}");
        assert_starts_with(&found.text, "Version 1.1.0 \n'TEST SETUP ===");
    }
}

/// Iometer 1.1.0 saves files in this form.
#[test]
fn a_job_becomes_a_file() {
    let words =
        "--target /d/one --size 1g --read 70 --block 8k --workers 2 --depth 8 --time 3725s --warm-up 5s --seed 7";
    let found = to_iometer(&flags(words));
    let worker = |number: u32| {
        format!(
            "'Worker\n\tWorker {number}\n'Worker type\n\tDISK\n'Default target settings for worker\n\
             'Number of outstanding IOs,test connection rate,transactions per connection,use fixed seed,fixed seed value\n\
             \t8,DISABLED,1,ENABLED,{}\n'Disk maximum size,starting sector,Data pattern\n\t2097152,0,2\n\
             'End default target settings for worker\n'Assigned access specs\n\t8 KiB; 70% Read; 100% random\n\
             'End assigned access specs\n'Target assignments\n'Target\n\t/d/one\n'Target type\n\tDISK\n'End target\n\
             'End target assignments\n'End worker\n",
            number + 6
        )
    };
    let (first, second) = (worker(1), worker(2));
    let expected = format!(
        "Version 1.1.0 \n\
         'TEST SETUP ====================================================================\n\
         'Test Description\n\trun\n\
         'Run Time\n'\thours      minutes    seconds\n\t1          2          5\n\
         'Ramp Up Time (s)\n\t5\n\
         'Default Disk Workers to Spawn\n\tNUMBER_OF_CPUS\n\
         'Default Network Workers to Spawn\n\t0\n\
         'Record Results\n\tALL\n\
         'Worker Cycling\n'\tstart      step       step type\n\t1          1          LINEAR\n\
         'Disk Cycling\n'\tstart      step       step type\n\t1          1          LINEAR\n\
         'Queue Depth Cycling\n'\tstart      end        step       step type\n\t1          32         2          EXPONENTIAL\n\
         'Test Type\n\tNORMAL\n\
         'END test setup\n\
         'ACCESS SPECIFICATIONS =========================================================\n\
         'Access specification name,default assignment\n\t8 KiB; 70% Read; 100% random,NONE\n\
         'size,% of size,% reads,% random,delay,burst,align,reply\n\t8192,100,70,100,0,1,8192,0\n\
         'END access specifications\n\
         'MANAGER LIST ==================================================================\n\
         'Manager ID, manager name\n\t1,localhost\n'Manager network address\n\t127.0.0.1\n\
         {first}{second}'End manager\n'END manager list\nVersion 1.1.0 \n"
    );
    assert_eq!(found.text, expected);
    // Only what Iometer does in every test, and the path.
    let lost = texts(&found.lost);
    lost.assert_is(&[
        "native target: /d/one; Iometer tests disks, and the file iobw.tst of a file system (`/data [ext4]`, `D:`); \
             only `fathom iometer` takes paths",
    ]);
    let got = again(&found, &[]);
    assert_eq!(got.targets[0].path.as_str(), "/d/one");
    assert_eq!(got.steps[0].jobs[0].workers.len(), 2);
}

/// Sizes, directions, shares of random transfers, pauses and several targets are lines.
#[test]
fn lines_hold_sizes_directions_and_pauses() {
    let lines = |words: &str| {
        let found = to_iometer(&flags(words));
        let lines = part(&found.text, "'size,", "'END access")[1..].join(" ");
        let lost: Vec<String> = texts(&found.lost)
            .into_iter()
            .filter(|line| !line.contains("iobw.tst"))
            .collect();
        assert_eq!(lost, Vec::<String>::new(), "{words}");
        lines
    };
    let base = "--target /dev/sdb --time 30s --warm-up 0s";
    for (more, expected) in [
        ("--read 100 --block 4k", "4096,100,100,100,0,1,4096,0"),
        ("--write 100 --block 64k --access sequential", "65536,100,0,0,0,1,0,0"),
        ("--read 100 --block 512", "512,100,100,100,0,1,0,0"),
        (
            "--read 80 --block 4k/60,64k/40 --align 4k",
            "4096,60,80,100,0,1,4096,0 65536,40,80,100,0,1,4096,0",
        ),
        (
            "--read 100 --block 4k --pause 5ms --pause-after 8",
            "4096,100,100,100,5,8,4096,0",
        ),
    ] {
        assert_eq!(lines(&format!("{base} {more}")), expected, "{more}");
    }
}

#[test]
fn steps_are_specifications_or_a_cycle_of_depths() {
    let step = |number: u32, more: &str| {
        format!(
            "[[job]]\nname = \"job, {number}\"\nstep = {number}\ntarget = \"/dev/sdb\"\ntime = \"9s\"\nwarm-up = \"0s\"\n{more}\n"
        )
    };
    let steps = |jobs: &[&str]| {
        let jobs = jobs.iter().zip(1..).map(|(more, number)| step(number, more));
        to_iometer(&job_file(&jobs.collect::<String>()))
    };
    // Equal tests at other depths.
    let cycle = steps(&["depth = 1", "depth = 4", "depth = 16", "depth = 64"]);
    assert_eq!(texts(&cycle.lost), Vec::<String>::new());
    part(&cycle.text, "'Queue Depth", "'END").assert_is(&[
        "'Queue Depth Cycling",
        "'\tstart      end        step       step type",
        "1          64         4          EXPONENTIAL",
        "'Test Type",
        "CYCLE_OUTSTANDING_IOS",
    ]);
    assert_eq!(cycle.text.matches("'Worker\n").count(), 1);
    // Each mix at each depth.
    let both = steps(&["depth = 2", "depth = 4", "depth = 2\nread = 50", "depth = 4\nread = 50"]);
    assert_contains(&both.text, "\n\t2          4          2          LINEAR\n");
    part(&both.text, "'Assigned access specs", "'End assigned")[1..]
        .assert_is(&["4 KiB; 100% Read; 100% random", "4 KiB; 50% Read; 100% random"]);
    assert_eq!(texts(&both.lost), Vec::<String>::new());
    // Depths that no rule gives: a worker for each, idle in the other tests.
    let other = steps(&["depth = 1", "depth = 2\nblock = \"4k/50,8k/50\"", "depth = 1"]);
    assert!(other.text.contains("'Test Type\n\tNORMAL\n"), "{}", other.text);
    let assigned: Vec<String> = other
        .text
        .split("'Assigned access specs\n")
        .skip(1)
        .map(|rest| {
            rest.split("'End")
                .next()
                .unwrap()
                .replace("\n\t", "|")
                .trim()
                .to_owned()
        })
        .collect();
    assigned.assert_is(&[
        "4 KiB; 100% Read; 100% random|Idle|4 KiB; 100% Read; 100% random",
        "Idle|job  2|Idle",
    ]);
    assert_eq!(texts(&other.lost), Vec::<String>::new());
}

#[test]
fn names_are_those_that_iometer_has_for_disks() {
    for (target, name, lost) in [
        ("/dev/nvme0n1", "nvme0n1", false),
        (r"\\.\PhysicalDrive3", "PHYSICALDRIVE:3", false),
        ("/mnt/x/f.dat", "/mnt/x/f.dat", true),
        ("f.dat", "./f.dat", true),
        (".f", "./.f", true),
        (".", "./", true),
        ("/dev/disk/by-id/x", "/dev/disk/by-id/x", true),
    ] {
        let mut plan = diskspd_line("-Sh -b4K -r -d5 -W0 a.dat");
        plan.targets[0].path = target.into();
        let found = to_iometer(&plan);
        assert!(found.text.contains(&format!("'Target\n\t{name}\n")), "{}", found.text);
        let paths = texts(&found.lost)
            .iter()
            .filter(|line| line.contains("iobw.tst"))
            .count();
        assert_eq!(paths == 1, lost, "{target}: {:?}", found.lost);
        assert!(
            !texts(&found.lost)
                .iter()
                .any(|line| line.contains("target: /") && line.contains("Iometer: /"))
        );
    }
}

#[test]
fn what_iometer_lacks_is_listed() {
    let words = "--target /dev/sdb --read 33 --block 4k-64k --access zipf:1.2 --rate 500iops --cache buffered \
                 --content zeros --cool-down 2s --time 1500ms";
    let found = to_iometer(&flags(words));
    let lost = texts(&found.lost).join("\n");
    lost.assert_contains(&[
        "native block: 4k-64k; Iometer: 4k",
        "native access: zipf 1.2; Iometer: random",
        "native cool-down: 2s; Iometer: 0s",
        "native time: 1500ms; Iometer: 2s",
        "native cache: through the page cache; Iometer: bypassing the page cache",
        "native rate: ",
        "native content: zeros; Iometer: the repeated bytes 0x",
    ]);
    // A share that is no whole percent, and a file whose size no region reaches.
    let found = to_iometer(&diskspd_line("-Sh -b4K -r -d5 -W0 -c1G -f512M -t2 /d/f"));
    let lost = texts(&found.lost).join("\n");
    assert!(lost.contains("a file of 1g; Iometer: a file of 512m"), "{lost}");
}

/// A line end in a name cannot begin a key.
#[test]
fn names_stay_on_their_line() {
    let mut plan = flags("--target /dev/sdb --block 4k/50,8k/50 --time 9s");
    plan.targets[0].path = "/d/a\n'Target\n\t/dev/sda".into();
    plan.name = "'End manager".into();
    plan.steps[0].jobs[0].name = "\n'x,y".into();
    let text = to_iometer(&plan).text;
    text.assert_contains(&["\n\t/d/a 'Target  /dev/sda\n", "\n\tEnd manager\n", "\n\tx y,NONE\n"]);
}
