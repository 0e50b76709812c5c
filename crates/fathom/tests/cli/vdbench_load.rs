//! `fathom vdbench`: issued operations, written data, and behaviour when system calls fail.

use std::fs;
use std::path::Path;

use testbed::{Unavailable, need};

use crate::support::{PROGRAM, finish, text};
use crate::vdbench::{flat_column, page, run_vdbench};

/// Runs Vdbench with a failing system call. `None` if strace cannot run here.
fn run_with_failing_call(folder: &Path, parameters: &str, inject: &[&str]) -> Option<crate::support::Ran> {
    run_command_with_failing_call(folder, &["vdbench", "-f", "parmfile"], parameters, inject)
}

fn run_command_with_failing_call(
    folder: &Path,
    command: &[&str],
    parameters: &str,
    inject: &[&str],
) -> Option<crate::support::Ran> {
    fs::write(folder.join("parmfile"), parameters).unwrap();
    let mut strace = std::process::Command::new("strace");
    strace.args(["-f", "-qq", "-o", "/dev/null"]).args(inject);
    strace.arg(PROGRAM).args(command).current_dir(folder);
    strace.env("FATHOM_NOTES", "1").env("FATHOM_HISTORY", "off");
    let works = std::process::Command::new("strace")
        .args(["-o", "/dev/null", "true"])
        .status();
    let works = works.is_ok_and(|status| status.success());
    need(
        works
            .then_some(())
            .ok_or(Unavailable::because("strace cannot trace a program")),
    )?;
    Some(finish(&mut strace))
}

#[test]
fn written_data_repeats_the_pattern() {
    let folder = tempfile::tempdir().unwrap();
    let (data, pattern) = (folder.path().join("data"), folder.path().join("pattern"));
    fs::write(&pattern, [1, 2, 3]).unwrap();
    let parameters = "pattern=DIR/pattern\nsd=sd1,lun=DIR/data,size=1m\nwd=wd1,sd=sd1,xfersize=4k,rdpct=50\n\
                      rd=rd1,wd=wd1,iorate=200,elapsed=2,interval=1\n";
    run_vdbench(folder.path(), parameters, &[]).expect(0, &["execution completed successfully"]);
    // Each transfer of the lay-out and of the run begins with the first byte of the pattern.
    let written = fs::read(&data).unwrap();
    let has_pattern = |block: &[u8], skip: usize| {
        block
            .iter()
            .enumerate()
            .all(|(at, byte)| *byte == [1, 2, 3][(skip + at) % 3])
    };
    for (number, block) in written.chunks(4096).enumerate() {
        let in_lay_out = number % 32 * 4096;
        assert!(
            has_pattern(block, 0) || has_pattern(block, in_lay_out),
            "block {number}"
        );
    }
    assert_eq!(written.len(), 1 << 20);
}

/// The expected counts are those of a recorded run of Vdbench.
#[test]
fn a_spike_issues_all_operations_of_its_second() {
    let folder = tempfile::tempdir().unwrap();
    let parameters = "sd=sd1,lun=DIR/data,size=4m\nwd=wd1,sd=sd1,xfersize=4k\n\
                      rd=rd1,wd=wd1,iorate=(100,1,300,1,0,1),distribution=spike,elapsed=6,interval=1\n";
    let ran = run_vdbench(folder.path(), parameters, &[]);
    ran.expect(0, &["Starting RD=rd1; I/O rate: Variable; elapsed=6; For loops: None"]);
    let rates = flat_column(folder.path(), "rd1", "rate");
    let rates: Vec<f64> = rates.iter().map(|rate| rate.parse().unwrap()).collect();
    // Intervals do not end exactly on the second, but operations are exact.
    for (rate, expected) in rates.iter().zip([100.0, 300.0, 0.0, 100.0, 300.0, 0.0]) {
        assert!((rate - expected).abs() <= expected * 0.05, "{rates:?}");
    }
    assert_eq!(rates.len(), 7, "{rates:?}");
}

/// Some sandboxes refuse to set up io_uring, others refuse to use it.
#[test]
fn without_io_uring_each_operation_has_a_thread() {
    let folder = tempfile::tempdir().unwrap();
    let parameters = "sd=sd1,lun=$PWD/data,size=1m,threads=4
wd=wd1,sd=sd1,xfersize=4k,rdpct=50
                      rd=rd1,wd=wd1,iorate=max,elapsed=2,interval=1
";
    let parameters = parameters.replace("$PWD", text(folder.path()));
    for call in ["io_uring_setup", "io_uring_enter"] {
        let inject = [format!("--trace={call}"), format!("--inject={call}:error=EPERM")];
        let Some(ran) = run_with_failing_call(folder.path(), &parameters, &[&inject[0], &inject[1]]) else {
            return;
        };
        let note = "note: the engine is psync: io_uring cannot be used: Operation not permitted";
        ran.expect(0, &[note, "Vdbench execution completed successfully."]);
        assert!(
            !ran.err.contains("SYNC-ENGINE"),
            "four operations are in flight: {}",
            ran.err
        );
    }
}

/// A file that cannot be examined must not be treated as missing and laid out.
#[test]
fn paths_that_cannot_be_examined_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    fs::create_dir(&path).unwrap();
    let inject = ["-P", text(&path), "--trace=statx", "--inject=statx:error=EIO:when=1"];
    for parameters in [
        "sd=sd1,lun=PATH,size=1m
wd=wd1,sd=sd1
rd=rd1,wd=wd1,iorate=9,elapsed=2",
        "fsd=f,anchor=PATH,files=1
fwd=w,fsd=f
rd=r,fwd=w,fwdrate=9,format=yes,elapsed=2",
    ] {
        let parameters = parameters.replace("PATH", text(&path));
        let Some(ran) = run_with_failing_call(folder.path(), &parameters, &inject) else {
            return;
        };
        let what = format!("cannot examine {}: Input/output error", text(&path));
        ran.expect(157, &[&what, "help: make the path accessible"]);
        assert!(!ran.out.contains("does not exist"), "{}", ran.out);
        let lint = ["lint", "vdbench", "-f", "parmfile"];
        if let Some(linted) = run_command_with_failing_call(folder.path(), &lint, &parameters, &inject) {
            linted.expect(4, &[&what]);
        }
    }
}

/// `copy` and `move` take the files of the first tree, and `move` leaves it empty.
#[test]
fn trees_are_copied_moved_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let anchors = ["one", "two"].map(|name| folder.path().join(name));
    let files = |number: usize| {
        let tree = anchors[number].join("fathom-kept.tree");
        let directories = fs::read_dir(tree).map(|entries| entries.flatten().collect::<Vec<_>>());
        let in_directories = directories.unwrap_or_default().into_iter().filter_map(|entry| {
            let files = fs::read_dir(entry.path()).ok()?.flatten();
            Some(
                files
                    .filter_map(|file| Some(file.metadata().ok()?.len()))
                    .collect::<Vec<_>>(),
            )
        });
        in_directories.flatten().collect::<Vec<_>>()
    };
    let parameters = |rds: &str| {
        format!(
            "fsd=default,depth=1,width=2,files=3,size=40k\nfsd=one,anchor=DIR/one\nfsd=two,anchor=DIR/two\n\
             fwd=copy1,fsd=one,target=two,operation=copy,xfersize=16k\n\
             fwd=move1,fsd=one,target=two,operation=move,threads=2\n\
             rd=default,elapsed=2,interval=1,fwdrate=30\n{rds}\n"
        )
    };
    let rds = "rd=rd1,fwd=copy1,format=yes\nrd=rd2,fwd=move1";
    let ran = run_vdbench(folder.path(), &parameters(rds), &[]);
    ran.expect(
        0,
        &["...copy....", "...move....", "trying to move a file, but no files"],
    );
    assert_eq!((files(0), files(1)), (vec![], vec![40 << 10; 6]));
    // An interval may complete operations that were due in the previous interval.
    let mean = |name: &str| -> f64 {
        let rates = flat_column(folder.path(), "rd1", name);
        let labels = flat_column(folder.path(), "rd1", "Interval");
        let intervals = rates
            .iter()
            .zip(labels)
            .filter(|(_, label)| label.parse::<u32>().is_ok());
        let rates: Vec<f64> = intervals.map(|(rate, _)| rate.parse().unwrap()).collect();
        rates.iter().sum::<f64>() / rates.len() as f64
    };
    let rate = mean("Copy_rate");
    // Arrivals are random, 30 per second; counting transfers would give 90.
    assert!(0.0 < rate && rate < 60.0 && mean("rate") == rate, "{rate}");
    assert_eq!(mean("Write_rate"), 0.0);
    let cleaned = run_vdbench(
        folder.path(),
        &parameters("rd=rd1,fwd=copy1,format=directories"),
        &["-c"],
    );
    cleaned.expect(
        0,
        &["Starting RD=clean", "cleanup complete", "but no files are available"],
    );
    assert_eq!((files(0), files(1)), (vec![], vec![]));
}

/// A run ends with the interval after the one in which it has transferred `maxdata=`.
#[test]
fn maxdata_ends_the_run_an_interval_later() {
    let folder = tempfile::tempdir().unwrap();
    let parameters = "sd=sd1,lun=DIR/data,size=4m\nwd=wd1,sd=sd1,xfersize=4k\n\
                      rd=rd1,wd=wd1,iorate=100,elapsed=20,interval=1,maxdata=1k\n";
    let ran = run_vdbench(folder.path(), parameters, &[]);
    ran.expect(
        0,
        &[
            "Reached maxdata=1k. rd=rd1 shutting down after next interval. ",
            " avg_2-2 ",
        ],
    );
    let rd = &ran.out[ran.out.find("Starting RD=rd1").unwrap()..];
    let label = |line: &str| line.split_whitespace().nth(1).unwrap_or_default().to_owned();
    let rows: Vec<String> = rd.lines().skip(4).map(label).collect();
    assert_eq!(rows[..4], ["1", "Reached", "2", "avg_2-2"], "{rd}");
    let summary = text(&folder.path().join("output/summary.html")).to_owned();
    crate::support::fathom(&["explain", &summary]).expect(0, &["rd1"]);
}

/// Runs that have nothing to do print their first interval, and averages of it.
#[test]
fn runs_without_operations_have_one_interval() {
    let folder = tempfile::tempdir().unwrap();
    let parameters = "fsd=fsd1,anchor=DIR/tree,depth=1,width=1,files=3,size=4k\nfwd=fwd1,fsd=fsd1,operation=create\n\
                      fwd=fwd2,fsd=fsd1,operation=rmdir\nrd=rd0,fwd=fwd1,fwdrate=max,format=(clean,only)\n\
                      rd=rd1,fwd=fwd2,fwdrate=max,format=no,elapsed=4,interval=1\neof\nnot a parameter\n";
    let ran = run_vdbench(folder.path(), parameters, &[]);
    ran.expect(0, &["completed successfully"]);
    assert_eq!(ran.out.matches(" avg_2-1 ").count(), 2, "{}", ran.out);
    assert_eq!(ran.out.matches(".Interval.").count(), 2, "{}", ran.out);
    for file in ["summary", "flatfile"] {
        let page = page(folder.path(), file);
        let rows = page.lines().filter(|line| line.contains(" 1 ") && line.contains(':'));
        assert_eq!((rows.count(), page.matches(" avg_2-1 ").count()), (2, 2), "{page}");
    }
    let copy = page(folder.path(), "parmfile");
    assert!(copy.ends_with("\neof\n"), "{copy}");
}

/// The columns of a recorded flat file: as requested, and no header in a simulation.
#[test]
fn the_flat_file_has_requested_values() {
    let folder = tempfile::tempdir().unwrap();
    let parameters = "compratio=2\nsd=sd1,lun=DIR/data,size=1m\nwd=wd1,sd=sd1,xfersize=(4k,50,8k,50)\n\
                      rd=rd1,wd=wd1,iorate=(10,1,30,1),distribution=spike,elapsed=2,interval=1\n";
    let flat = || {
        let page = page(folder.path(), "flatfile");
        let lines = page.lines().filter(|line| !line.starts_with(['*', '<']));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    run_vdbench(folder.path(), parameters, &["-s"]).expect(0, &["Simulating RD=rd1"]);
    assert_eq!(flat(), Vec::<String>::new());
    run_vdbench(folder.path(), parameters, &[]).expect(0, &["completed successfully"]);
    let lines = flat();
    assert_eq!(
        lines[0].find("timestamp"),
        Some("21:54:31.060 11/23/2026-21:54:31-UTC".len() - "timestamp".len())
    );
    let names: Vec<&str> = lines[0].split_whitespace().collect();
    let values = |run: &str| {
        let row = lines.iter().find(|line| line.contains(run)).unwrap();
        let cells: Vec<&str> = row.split_whitespace().collect();
        let cell = |name: &str| cells[names.iter().position(|known| *known == name).unwrap()].to_owned();
        ["reqrate", "xfersize", "compratio"].map(cell)
    };
    assert_eq!(values(" SD_format "), ["9999988.0000", "131072", "2.0000"]);
    assert_eq!(values(" rd1 "), ["30.0000", "4096", "2.0000"]);
}
