//! `fathom vdbench`: issued operations, written data, and behaviour when system calls fail.

use testbed::Unavailable;

use crate::prelude::*;
use crate::vdbench::{flat_column, flat_numbers, prepare_vdbench, read_page};

/// Runs Vdbench with a failing system call. `None` if strace cannot run here.
fn run_with_failing_call(folder: &Path, parameters: &str, inject: &[&str]) -> Option<Ran> {
    run_command_with_failing_call(folder, &["vdbench", "-f", "parmfile"], parameters, inject)
}

fn run_command_with_failing_call(folder: &Path, command: &[&str], parameters: &str, inject: &[&str]) -> Option<Ran> {
    fs::write(folder.join("parmfile"), parameters).unwrap();
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-o", "/dev/null"]).args(inject);
    strace.arg(PROGRAM).args(command).current_dir(folder);
    strace.env("FATHOM_NOTES", "1").env("FATHOM_HISTORY", "off");
    let works = Command::new("strace").args(["-o", "/dev/null", "true"]).status();
    let works = works.is_ok_and(|status| status.success());
    need(
        works
            .then_some(())
            .ok_or(Unavailable::because("strace cannot trace a program")),
    )?;
    Some(finish(&mut strace))
}

/// The opens and closes around transfers are not operations of the run.
#[test]
fn the_native_result_of_a_run_on_files_adds_up() {
    let folder = tempfile::tempdir().unwrap();
    let parameters = "fsd=fsd1,anchor=DIR/tree,depth=1,width=2,files=10,size=16k\n\
         fwd=fwd1,fsd=fsd1,operation=read,xfersize=4k\n\
         rd=rd1,fwd=fwd1,fwdrate=100,format=yes,elapsed=2,interval=1\n";
    let mut run = prepare_vdbench(folder.path(), parameters, &[]);
    finish(run.env("FATHOM_RESULT", "r.json").env("FATHOM_REPORT", "r.html")).expect(0, &[]);
    // The page is that of the run, not of its lay-out.
    let page = fs::read_to_string(folder.path().join("r.html")).unwrap();
    page.assert_contains(&["Test “rd1”"]);
    assert!(!folder.path().join("r.2.html").exists());
    for (file, load) in [("r.json", "format"), ("r.2.json", "fwd1")] {
        let ran = fathom_in(folder.path(), &["explain", file]);
        ran.out.assert_contains(&[load]);
        ran.out.assert_lacks(&["TOTALS-MISMATCH"]);
    }
}

/// A row must not contain the operations of the intervals in which the console was blocked.
#[test]
fn a_blocked_console_merges_no_intervals() {
    use std::io::{Read, Write};
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::OpenOptionsExt;
    const O_NONBLOCK: i32 = 0o4000;
    let folder = tempfile::tempdir().unwrap();
    let parameters = "sd=sd1,lun=DIR/data,size=4m\nwd=wd1,sd=sd1,xfersize=4k,rdpct=100\n\
         rd=rd1,wd=wd1,iorate=200,elapsed=8,interval=1,distribution=deterministic\n";
    let (mut reader, writer) = std::io::pipe().unwrap();
    let child = prepare_vdbench(folder.path(), parameters, &[]).stdout(writer).spawn();
    let mut child = child.unwrap();
    let mut printed = Vec::new();
    while !String::from_utf8_lossy(&printed).contains("Starting RD=rd1") {
        let mut part = [0; 4096];
        let length = reader.read(&mut part).unwrap();
        assert!(length > 0, "{}", String::from_utf8_lossy(&printed));
        printed.extend(&part[..length]);
    }
    // Fill the pipe through a descriptor of its own, because the program's one must block.
    let path = format!("/proc/self/fd/{}", reader.as_raw_fd());
    let mut filler = fs::OpenOptions::new()
        .write(true)
        .custom_flags(O_NONBLOCK)
        .open(path)
        .unwrap();
    while filler.write(b"\n").is_ok() {}
    std::thread::sleep(Duration::from_millis(4300));
    drop(filler);
    reader.read_to_end(&mut printed).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let rates = flat_numbers(folder.path(), "rd1", "rate");
    assert!(rates.iter().all(|rate| (150.0..250.0).contains(rate)), "{rates:?}");
}

#[test]
fn written_data_repeats_the_pattern() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("pattern"), [1, 2, 3]).unwrap();
    let parameters = "pattern=DIR/pattern\nsd=sd1,lun=DIR/data,size=1m\nwd=wd1,sd=sd1,xfersize=4k,rdpct=50\n\
         rd=rd1,wd=wd1,iorate=200,elapsed=2,interval=1\n";
    run_vdbench(folder.path(), parameters, &[]).expect(0, &["execution completed successfully"]);
    // Each transfer of the lay-out and of the run begins with the first byte of the pattern.
    let written = fs::read(folder.path().join("data")).unwrap();
    for (number, block) in written.chunks(4096).enumerate() {
        let has_pattern = |skip: usize| {
            let mut bytes = block.iter().enumerate();
            bytes.all(|(at, byte)| *byte == [1, 2, 3][(skip + at) % 3])
        };
        assert!(has_pattern(0) || has_pattern(number % 32 * 4096), "block {number}");
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
    let rates = flat_numbers(folder.path(), "rd1", "rate");
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
    let parameters = "sd=sd1,lun=DIR/data,size=1m,threads=4\nwd=wd1,sd=sd1,xfersize=4k,rdpct=50\n\
         rd=rd1,wd=wd1,iorate=max,elapsed=2,interval=1\n";
    let parameters = parameters.replace("DIR", text(folder.path()));
    for call in ["io_uring_setup", "io_uring_enter"] {
        let inject = [&*format!("--trace={call}"), &format!("--inject={call}:error=EPERM")];
        let ran = need!(run_with_failing_call(folder.path(), &parameters, &inject));
        let note = "note: the engine is psync: io_uring cannot be used: Operation not permitted";
        ran.expect(0, &[note, "Vdbench execution completed successfully."]);
        // Four operations are in flight.
        ran.err.assert_lacks(&["SYNC-ENGINE"]);
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
        "sd=sd1,lun=PATH,size=1m\nwd=wd1,sd=sd1\nrd=rd1,wd=wd1,iorate=9,elapsed=2",
        "fsd=f,anchor=PATH,files=1\nfwd=w,fsd=f\nrd=r,fwd=w,fwdrate=9,format=yes,elapsed=2",
    ] {
        let parameters = parameters.replace("PATH", text(&path));
        let ran = need!(run_with_failing_call(folder.path(), &parameters, &inject));
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
        let tree = fs::read_dir(anchors[number].join("fathom-kept.tree"));
        let directories = tree.into_iter().flatten().flatten();
        let files = directories.filter_map(|entry| fs::read_dir(entry.path()).ok());
        let sizes = files.flatten().flatten().map(|file| file.metadata().unwrap().len());
        sizes.collect::<Vec<_>>()
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
    ran.exits(0)
        .prints(&["...copy....", "...move....", "trying to move a file, but no files"]);
    assert_eq!((files(0), files(1)), (vec![], vec![40 << 10; 6]));
    // An interval may complete operations that were due in the previous interval.
    let mean = |name: &str| {
        let rates = flat_numbers(folder.path(), "rd1", name);
        // The last row is the average.
        let (_, intervals) = rates.split_last().unwrap();
        intervals.iter().sum::<f64>() / intervals.len() as f64
    };
    let rate = mean("Copy_rate");
    // Arrivals are random, 30 per second; counting transfers would give 90.
    assert!(0.0 < rate && rate < 60.0 && mean("rate") == rate, "{rate}");
    assert_eq!(mean("Write_rate"), 0.0);
    let clean = parameters("rd=rd1,fwd=copy1,format=directories");
    let parts = ["Starting RD=clean", "cleanup complete", "but no files are available"];
    run_vdbench(folder.path(), &clean, &["-c"]).expect(0, &parts);
    assert_eq!((files(0), files(1)), (vec![], vec![]));
}

/// A run ends with the interval after the one in which it has transferred `maxdata=`.
#[test]
fn maxdata_ends_the_run_an_interval_later() {
    let folder = tempfile::tempdir().unwrap();
    let parameters = "sd=sd1,lun=DIR/data,size=4m\nwd=wd1,sd=sd1,xfersize=4k\n\
         rd=rd1,wd=wd1,iorate=100,elapsed=20,interval=1,maxdata=1k\n";
    let ran = run_vdbench(folder.path(), parameters, &[]);
    ran.exits(0).prints(&[
        "Reached maxdata=1k. rd=rd1 shutting down after next interval. ",
        " avg_2-2 ",
    ]);
    let rd = &ran.out[ran.out.find("Starting RD=rd1").unwrap()..];
    let label = |line: &str| line.split_whitespace().nth(1).unwrap_or_default().to_owned();
    let rows: Vec<String> = rd.lines().skip(4).map(label).collect();
    assert_eq!(rows[..4], ["1", "Reached", "2", "avg_2-2"], "{rd}");
    let summary = text(&folder.path().join("output/summary.html")).to_owned();
    fathom(&["explain", &summary]).expect(0, &["rd1"]);
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
        let page = read_page(folder.path(), file);
        let rows = page.lines().filter(|line| line.contains(" 1 ") && line.contains(':'));
        assert_eq!((rows.count(), page.matches(" avg_2-1 ").count()), (2, 2), "{page}");
    }
    let copy = read_page(folder.path(), "parmfile");
    assert!(copy.ends_with("\neof\n"), "{copy}");
}

/// As in Vdbench, this is no failure.
#[test]
fn files_without_directories_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    let run = |operations: &str| {
        let parameters = format!(
            "fsd=fsd1,anchor=DIR/tree,depth=1,width=2,files=5,size=8k\nfwd=fwd1,fsd=fsd1,threads=2\n\
             rd=rd1,fwd=fwd1,fwdrate=max,format=no,elapsed=3,interval=1,operations={operations}\n"
        );
        finish(prepare_vdbench(folder.path(), &parameters, &[]).env("FATHOM_NOTES", "1"))
    };
    let hint = "note: create makes files only in directories that exist, and this tree has none: add `mkdir`";
    run("create").expect(0, &["trying to create a new file, but no files are available", hint]);
    let both = run("(mkdir,create)");
    both.expect(0, &["completed successfully"]);
    assert!(!both.err.contains(hint), "{}", both.err);
    assert!(folder.path().join("tree/fathom-kept.tree/d1/f9").exists());
}

/// The columns of a recorded flat file: as requested, and no header in a simulation.
#[test]
fn the_flat_file_has_requested_values() {
    let folder = tempfile::tempdir().unwrap();
    let parameters = "compratio=2\nsd=sd1,lun=DIR/data,size=1m\nwd=wd1,sd=sd1,xfersize=(4k,50,8k,50)\n\
         rd=rd1,wd=wd1,iorate=(10,1,30,1),distribution=spike,elapsed=2,interval=1\n";
    let flat = || {
        let page = read_page(folder.path(), "flatfile");
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
    let values = |run: &str| {
        let first = |column: &str| flat_column(folder.path(), run, column).swap_remove(0);
        ["reqrate", "xfersize", "compratio"].map(first)
    };
    assert_eq!(values("SD_format"), ["9999988.0000", "131072", "2.0000"]);
    assert_eq!(values("rd1"), ["30.0000", "4096", "2.0000"]);
}

#[test]
fn the_monitor_file_ends_a_run_and_the_test() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("data"), vec![1; 1 << 20]).unwrap();
    let parameters = "monitor=control\nsd=sd1,lun=DIR/data\nwd=wd1,sd=sd1\n\
        rd=rd1,wd=wd1,iorate=50,elapsed=60,interval=1\nrd=rd2,wd=wd1,iorate=50,elapsed=60,interval=1\n\
        rd=rd3,wd=wd1,iorate=50,elapsed=60,interval=1\n";
    let control = folder.path().join("control");
    // Only a monitor file is emptied.
    fs::write(&control, "notes\n").unwrap();
    run_vdbench(folder.path(), parameters, &[]).expect(157, &["monitor=control: the file exists and is not a monitor"]);
    assert_eq!(fs::read_to_string(&control).unwrap(), "notes\n");
    fs::write(&control, "end_vdbench\n").unwrap();
    let child = spawn(&mut prepare_vdbench(folder.path(), parameters, &[]));
    let summary = folder.path().join("output/summary.html");
    let wait_for = |text: &str| {
        let has_text = || fs::read_to_string(&summary).is_ok_and(|found| found.contains(text));
        wait_until(30, has_text, text);
    };
    wait_for("Starting RD=rd1");
    fs::write(&control, "end_rd\n").unwrap();
    wait_for("Starting RD=rd2");
    assert_eq!(fs::read_to_string(&control).unwrap(), "");
    fs::write(&control, "terminate\n").unwrap();
    let ran = end(child);
    ran.exits(0).prints(&[
        "monitor=control: rd=rd1 shutting down",
        "monitor=control: rd=rd2 shutting down",
        "completed successfully",
    ]);
    assert!(!ran.out.contains("Starting RD=rd3"), "{}", ran.out);
}

/// Two files of 1 MiB are one of 2 MiB. A sequential pass reads each block once.
#[test]
fn concatenated_sds_are_read_as_one() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["one", "two"] {
        fs::write(folder.path().join(name), vec![1; 1 << 20]).unwrap();
    }
    let parameters = "concatenatesds=yes\nsd=sd1,lun=DIR/one\nsd=sd2,lun=DIR/two\n\
        wd=wd1,sd=sd*,xfersize=64k,seekpct=eof,threads=2\nwd=wd2,sd=sd*,xfersize=4k,threads=3\n\
        wd=wd3,sd=sd*,xfersize=64k,seekpct=0,threads=2\n\
        rd=rd1,wd=wd1,iorate=max,elapsed=10,interval=1\nrd=rd2,wd=wd2,iorate=200,elapsed=3,interval=1\n\
        rd=rd3,wd=wd3,iorate=100,elapsed=3,interval=1\n";
    run_vdbench(folder.path(), parameters, &[]).expect(0, &["All sequential workloads on all slaves are done."]);
    // 32 blocks in the first interval.
    assert_eq!(flat_column(folder.path(), "rd1", "rate")[0], "32.0000");
    assert_eq!(flat_column(folder.path(), "rd2", "threads")[0], "3");
    // More than one pass of 32 blocks.
    let rates = flat_numbers(folder.path(), "rd3", "rate");
    assert!((70.0..140.0).contains(rates.last().unwrap()), "{rates:?}");
    let short = parameters.replace("sd=sd2,lun=DIR/two", "sd=sd2,lun=DIR/two,size=2m");
    run_vdbench(folder.path(), &short, &[])
        .expect(157, &["File creation or expansion not supported for SD concatenation"]);
    let threads = parameters.replace("seekpct=eof,threads=2", "seekpct=eof");
    run_vdbench(folder.path(), &threads, &[])
        .exits(157)
        .prints(&["wd=wd1: for SD concatenation each WD must request a threads= value"]);
    let limited = parameters.replace("iorate=100,elapsed=3", "iorate=100,elapsed=3,maxdata=1m");
    run_vdbench(folder.path(), &limited, &[]).expect(157, &["`maxdata=` with sequential work"]);
    let flags = parameters.replace("lun=DIR/two", "lun=DIR/two,openflags=o_direct");
    run_vdbench(folder.path(), &flags, &[]).expect(157, &["different `openflags=`"]);
    // Files are never created.
    let missing = parameters.replace("lun=DIR/two", "lun=DIR/three,size=1m");
    run_vdbench(folder.path(), &missing, &[]).expect(157, &["three"]);
    assert!(!folder.path().join("three").exists());
}

/// Every link of the summary leads to a file. The size of the tree is as recorded from Vdbench.
#[test]
fn labels_of_this_machine_and_anchors_have_pages() {
    let folder = tempfile::tempdir().unwrap();
    let parameters = "hd=one,system=localhost\nhd=two,system=localhost\n\
        fsd=fsd1,anchor=DIR/tree,depth=1,width=2,files=20,size=128k,workingsetsize=1m\n\
        fwd=fwd1,fsd=fsd1,operation=read,host=one\n\
        rd=rd1,fwd=fwd1,fwdrate=50,format=yes,elapsed=2,interval=1\n";
    run_vdbench(folder.path(), parameters, &[]).expect(0, &["completed successfully"]);
    let page = |name: &str| read_page(folder.path(), name);
    let summary = page("summary");
    let links: Vec<&str> = summary
        .split("HREF=\"")
        .skip(1)
        .filter_map(|link| link.split(".html").next())
        .collect();
    for name in ["one", "two", "localhost", "anchors"] {
        assert!(links.contains(&name), "{links:?}");
    }
    for link in links.iter().filter(|link| !link.starts_with('#')) {
        page(link);
    }
    assert!(page("one-0").contains("<A HREF=\"localhost.html\">localhost</A>"));
    let anchors = page("anchors");
    let rows: Vec<&str> = anchors.lines().filter(|line| line.starts_with('/')).collect();
    // One before the runs, one for the format, and one for the run with its working set.
    let figures = "       40        2   5.0m        0        0      0 ";
    assert!(
        rows.len() == 3 && rows.iter().all(|row| row.contains(figures)),
        "{anchors}"
    );
    assert!(rows[2].contains("        0   1.0m      n/a"), "{anchors}");
    let clash = parameters.replace("fsd=fsd1", "fsd=two");
    run_vdbench(folder.path(), &clash, &[]).expect(157, &["cannot create a report file named `two`"]);
}
