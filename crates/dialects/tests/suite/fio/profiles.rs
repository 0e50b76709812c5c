//! Built-in workloads.

use dialects::fio::ParseOutcome;
use testbed::With;

use crate::fio::support::{TestEnv, all, reading_in};

fn reading(line: &str) -> ParseOutcome {
    let folders = ["./", "/tmp"].map(str::to_owned).to_vec();
    reading_in(
        &mut TestEnv::default().with(|test_env| test_env.folders = folders),
        line,
    )
}

/// The job sections, with the options that each was given.
fn jobs(line: &str) -> Vec<(String, Vec<String>)> {
    let (code, read) = all(reading(line));
    assert_eq!(code, 0, "{line}: {:?}", read.notices);
    let jobs = read.jobs.into_iter();
    jobs.map(|job| {
        let given = job.given.into_iter().map(|(name, value)| match value.as_str() {
            "" => name,
            _ => format!("{name}={value}"),
        });
        (job.section, given.collect())
    })
    .collect()
}

#[test]
fn tiobench_has_the_same_jobs_as_in_fio() {
    let jobs = jobs("--name=before --size=1m --profile=tiobench");
    let expected: [(&str, &[&str]); 5] = [
        ("before", &["name=before", "size=1m"]),
        ("seqwrite", &["rw=write", "end_fsync=1"]),
        ("randwrite", &["stonewall", "rw=randwrite", "end_fsync=1"]),
        ("seqread", &["stonewall", "rw=read"]),
        ("randread", &["stonewall", "rw=randread"]),
    ];
    assert_eq!(jobs.len(), expected.len());
    for ((section, given), (name, options)) in jobs.iter().zip(expected) {
        assert_eq!(section, name);
        assert_eq!(given, options, "{name}");
    }
}

#[test]
fn tiobench_has_the_defaults_of_a_recorded_run() {
    let (_, read) = all(reading("--profile=tiobench"));
    let globals: Vec<_> = read
        .globals
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    assert_eq!(
        globals,
        [
            ("buffered", "0"),
            ("size", globals[1].1),
            ("bs", "4096"),
            ("loops", "1"),
            ("directory", "./"),
            ("numjobs", "1"),
            ("runtime", "600"),
            ("group_reporting", ""),
            ("thread", ""),
            ("overwrite", "1"),
            ("ioengine", "sync"),
            ("filename", ".fio.tio.1:.fio.tio.2:.fio.tio.3:.fio.tio.4"),
        ]
    );
}

#[test]
fn options_of_tiobench_follow_it() {
    let line = "--profile=tiobench --size=16 --block=8192 --numruns=2 --threads=3 --dir=/tmp";
    let (code, read) = all(reading(line));
    let given = |name: &str| read.globals.iter().find(|(known, _)| known == name).unwrap().1.clone();
    let found = ["size", "bs", "loops", "numjobs", "directory"].map(given);
    assert_eq!(code, 0);
    assert_eq!(found.each_ref().map(String::as_str), ["16m", "8192", "2", "3", "/tmp"]);
    let (code, read) = all(reading("--profile=tiobench --size=64k"));
    assert!(code == 0 && read.globals.contains(&("size".into(), "64k".into())));
    for (line, notice) in [
        ("--profile=tiobench --size=1mm", "fio: failed parsing size=1mm"),
        ("--profile=tiobench --threads=1k", "fio: failed parsing threads=1k"),
        ("--profile=nosuch", "fio: profile 'nosuch' not found"),
        (
            "--profile=act",
            "fio: profile 'act' is not supported by this program: write a job of reads with rate_iops, and one of large \
             reads and writes at the same load",
        ),
        ("--profile=tiobench --threads=0", "fio: failed parsing threads=0"),
        ("--profile=tiobench --block=x", "fio: failed parsing block=x"),
        (
            "--numruns=2 --profile=tiobench",
            "fio: unrecognized option '--numruns=2'",
        ),
    ] {
        let (code, read) = all(reading(line));
        assert!(
            code == 1 && read.stderr().any(|known| known == notice),
            "{line}: {:?}",
            read.notices
        );
    }
    let (code, read) = all(reading("--profile=tiobench --cmdhelp"));
    let names = read.stdout().map(|line| line.split(' ').next().unwrap());
    assert_eq!(
        (code, names.collect::<Vec<_>>()),
        (0, vec!["size", "block", "numruns", "dir", "threads"])
    );
    let (code, read) = all(reading("--profile=tiobench --cmdhelp=threads"));
    let lines: Vec<_> = read.stdout().map(str::trim).collect();
    let expected = vec!["threads: Number of Threads", "valid: only for profile 'tiobench'", ""];
    assert_eq!((code, lines), (0, expected));
    let (_, read) = all(reading("--profile=tiobench --cmdhelp=bs"));
    assert_eq!(read.stderr().collect::<Vec<_>>(), ["No such command: bs"]);
}
