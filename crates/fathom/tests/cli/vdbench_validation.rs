//! `fathom vdbench` with data validation: errors that it finds, recovery after a kill, and refused
//! parameters.

use std::os::unix::fs::FileExt;
use std::process::Child;
use std::thread::sleep;

use crate::prelude::*;
use crate::vdbench::{prepare_vdbench, read_page};

pub(crate) const WRONG: &str = "Vdbench terminating due to Data Validation or I/O errors.";

/// Starts a run and waits until its log has a line.
pub(crate) fn start(folder: &Path, parameters: &str, arguments: &[&str], line: &str) -> Child {
    let log = folder.join("output/logfile.html");
    // The log of an earlier run may have the line.
    let _ = fs::remove_file(&log);
    let child = spawn(&mut prepare_vdbench(folder, parameters, arguments));
    let appears = || fs::read_to_string(&log).is_ok_and(|log| log.contains(line));
    wait_until(60, appears, &format!("`{line}` does not appear"));
    child
}

/// Kills a run some time after it has begun.
pub(crate) fn kill_after(folder: &Path, parameters: &str, argument: &str, millis: u64) {
    let child = start(folder, parameters, &[argument], "Starting RD=rd1;");
    sleep(Duration::from_millis(millis));
    kill(child);
}

/// Returns the numbers of compared and of corrupted key blocks of each run.
pub(crate) fn parse_totals(ran: &Ran) -> Vec<(u64, u64)> {
    let lines = ran.out.lines();
    let lines = lines.filter(|line| line.contains("Total amount of key blocks"));
    let numbers = lines.map(|line| {
        let (compared, wrong) = line.split_once("validated:").unwrap().1.split_once(';').unwrap();
        let number = |text: &str| text.trim().replace(',', "").parse().unwrap();
        (number(compared), number(wrong.split_once(':').unwrap().1))
    });
    numbers.collect()
}

/// Runs a file that succeeds. Returns its [`parse_totals`].
pub(crate) fn validate(folder: &Path, parameters: &str, options: &[&str]) -> Vec<(u64, u64)> {
    let ran = run_vdbench(folder, parameters, options);
    parse_totals(ran.expect(0, &["completed successfully"]))
}

/// Kills three runs with a journal, each a little later. None may report a corrupted block.
pub(crate) fn kill_and_restart(folder: &Path, parameters: &str) {
    for (argument, millis) in [("-jn", 400), ("-jrn", 477), ("-jr", 554)] {
        kill_after(folder, parameters, argument, millis);
        read_page(folder, "logfile").assert_lacks(&["Corrupted"]);
    }
}

pub(crate) fn overwrite(path: &Path, offset: u64, bytes: &[u8]) {
    let file = File::options().write(true).open(path).unwrap();
    file.write_all_at(bytes, offset).unwrap();
}

pub(crate) fn truncate(path: &Path, length: u64) {
    File::options().write(true).open(path).unwrap().set_len(length).unwrap();
}

/// Blocks of earlier executions of the program are unknown.
#[test]
fn a_run_validates_all_blocks_that_the_previous_run_wrote() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a"), vec![1; 1 << 20]).unwrap();
    fs::write(folder.path().join("b"), vec![2; 1 << 20]).unwrap();
    let parameters = "sd=sd1,lun=DIR/a,size=1m\nsd=sd2,lun=DIR/b,size=1m\n\
                      wd=fill,sd=sd*,xfersize=8k,rdpct=0,seekpct=eof\nwd=read,sd=sd*,xfersize=4k,seekpct=eof\n\
                      rd=rd1,wd=fill,iorate=max,elapsed=10\nrd=rd2,wd=read,iorate=max,elapsed=10\n";
    // Two files of 256 blocks. The first write of a block needs no read before it.
    assert_eq!(validate(folder.path(), parameters, &["-v"]), [(0, 0), (512, 0)]);
    assert!(!names(&folder.path().join("output")).contains(&"sd1.map".to_owned()));
    // With `-vw`, blocks are not read before a write; with `-vr`, they are read after it.
    let twice = parameters.replace("rd=rd2,wd=read", "rd=rd2,wd=fill");
    let totals_with = |option: &str| parse_totals(&run_vdbench(folder.path(), &twice, &[option]));
    assert_eq!(totals_with("-v"), [(0, 0), (512, 0)]);
    assert_eq!(totals_with("-vr"), [(512, 0), (1024, 0)]);
    assert_eq!(totals_with("-vrw"), [(512, 0), (512, 0)]);
    let nothing = run_vdbench(folder.path(), &twice, &["-vw"]);
    nothing.expect(157, &["No read validations done during a Data Validation run."]);
}

#[test]
fn transfers_of_several_sizes_and_threads_raise_no_false_alarm() {
    let folder = tempfile::tempdir().unwrap();
    let parameters = "validate=read_after_write\ncompratio=2\n\
                      sd=sd1,lun=DIR/a,size=2m,threads=16\nsd=sd2,lun=DIR/b,size=2m,threads=4,hitarea=64k\n\
                      wd=wd1,sd=sd*,xfersize=(4k,50,6k,20,64k,30),rdpct=40\n\
                      wd=wd2,sd=sd1,xfersize=16k,rdpct=0,seekpct=50\nwd=wd3,sd=sd2,xfersize=8k,rhpct=50\n\
                      rd=rd1,wd=wd*,iorate=max,elapsed=3\n";
    let (compared, wrong) = validate(folder.path(), parameters, &[])[1];
    assert!(compared > 1000 && wrong == 0, "{compared} {wrong}");
}

#[test]
fn writes_of_another_program_between_two_runs_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let parameters = "sd=sd1,lun=DIR/a,size=1m,threads=2\n\
                      wd=fill,sd=sd1,xfersize=8k,rdpct=0,seekpct=eof\nwd=read,sd=sd1,xfersize=64k,seekpct=eof\n\
                      rd=rd1,wd=fill,iorate=max,elapsed=10,pause=3\nrd=rd2,wd=read,iorate=max,elapsed=10\n";
    let child = start(folder.path(), parameters, &["-v"], "Waiting 3 seconds");
    // The last byte of one block, and the first of two others.
    let file = folder.path().join("a");
    let written = fs::read(&file).unwrap();
    for (start, length) in [(4 * 8192 - 1, 1), (65536 + 8191, 2)] {
        let other: Vec<u8> = written[start..start + length].iter().map(|byte| !byte).collect();
        overwrite(&file, start as u64, &other);
    }
    let ran = end(child);
    ran.exits(157).prints(&[
        "Corrupted data block for sd=sd1,lun=",
        "lba: 65,536 (0x00010000) xfersize=65536",
        "2 of 8 key blocks are corrupted.",
        "Key block lba: 0x00006000: its checksum is ",
        "lba:        65536 0x00010000 xfer:    65536 errno: 60003: '60003 ",
        WRONG,
    ]);
    // The lay-out wrote the blocks before the first run.
    assert_eq!(parse_totals(&ran), [(0, 0), (128, 0), (128, 3)]);
    read_page(folder.path(), "errorlog").assert_contains(&["Key block lba: 0x00012000"]);
    let few = format!("data_errors=2\n{parameters}");
    let child = start(folder.path(), &few, &["-v"], "Waiting 3 seconds");
    overwrite(&folder.path().join("a"), 0, &[0; 65536]);
    end(child).expect(157, &["'data_errors=2' requested. Abort rd=rd2 after last error."]);
}

const JOURNALED: &str = "sd=sd1,lun=DIR/a,size=2m,threads=8\nsd=sd2,lun=DIR/b,size=4m,threads=3,journal=DIR\n\
                         wd=wd1,sd=sd1,xfersize=(4k,60,16k,40),rdpct=20\nwd=wd2,sd=sd2,xfersize=512k,rdpct=0\n\
                         rd=rd1,wd=wd*,iorate=max,elapsed=60\n";

/// A lost write leaves the old contents of a block in place of the new.
#[test]
fn a_restart_finds_lost_writes_without_false_alarms() {
    let folder = tempfile::tempdir().unwrap();
    let short = JOURNALED.replace("elapsed=60", "elapsed=2");
    let file = folder.path().join("a");
    run_vdbench(folder.path(), &short, &["-jn"]).expect(0, &["completed successfully"]);
    let old = fs::read(&file).unwrap();
    let ran = run_vdbench(folder.path(), &short, &["-jrn"]);
    ran.exits(0)
        .prints(&["Starting journal recovery for sd2", "Starting RD=journal_recovery; "]);
    // All blocks of both SDs, because the lay-out wrote them.
    assert_eq!(parse_totals(&ran)[0], (512 + 8, 0));
    assert!(folder.path().join("sd2.jnl").exists() && folder.path().join("output/sd1.jnl").exists());
    overwrite(&file, 40960, &old[40960..45056]);
    let lost = run_vdbench(folder.path(), &short, &["-jr"]);
    lost.exits(157)
        .prints(&["Key block lba: 0x0000a000: the write number in its header is ", WRONG]);
    assert_eq!(parse_totals(&lost), [(520, 1)]);
    // After the report, the contents of the block are unknown.
    assert_eq!(validate(folder.path(), &short, &["-jo"]), [(519, 0)]);
    // A truncated file lacks blocks of its journal.
    truncate(&file, 1 << 20);
    run_vdbench(folder.path(), &short, &["-jr"]).expect(157, &["has 1048576 bytes, but its journal contains blocks"]);
    let other = short.replace("xfersize=(4k,60,16k,40)", "xfersize=8k");
    run_vdbench(folder.path(), &other, &["-jr"]).expect(157, &["have 4096 bytes, those of these runs 8192"]);
}

#[test]
fn a_killed_run_leaves_old_or_new_contents() {
    let folder = tempfile::tempdir().unwrap();
    kill_and_restart(folder.path(), JOURNALED);
    let totals = validate(folder.path(), JOURNALED, &["-jo"]);
    assert!(totals[0].0 > 400, "{totals:?}");
    // A journal that is written only at the end is unusable after a kill.
    kill_after(folder.path(), JOURNALED, "-jm", 400);
    run_vdbench(folder.path(), JOURNALED, &["-jr"])
        .expect(157, &["did not end, and `-jm` writes the journal only at the end"]);
}

#[test]
fn parameters_that_cannot_be_validated_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let sd = "sd=sd1,lun=DIR/a,size=1m\nwd=wd1,sd=sd1\nrd=rd1,wd=wd1,iorate=max,elapsed=2\n";
    let two = |lun: &str| sd.replace("wd=wd1,sd=sd1", &format!("sd=sd2,lun={lun},size=1m\nwd=wd1,sd=sd*"));
    for (parameters, argument, named) in [
        (sd, "-vt", "`-vt` is not supported"),
        (sd, "-jr", "its journal"),
        (&sd.replace("size=1m", "size=1m,offset=512"), "-v", "`offset=`"),
        (&sd.replace("sd1", "../x"), "-v", "an SD called `../x`"),
        (&two("DIR/a"), "-v", "one lun in two SDs, sd=sd1 and sd=sd2"),
    ] {
        run_vdbench(folder.path(), parameters, &[argument]).expect(157, &[named]);
    }
    let commands = "`data_errors=abc` is not supported: commands of parameter files are not run";
    for (value, named) in [
        ("abc", commands),
        ("-1", "Invalid contents for 'data_errors=': -1"),
        ("0", "Invalid contents for 'data_errors=': 0"),
        ("(5,60)", "Invalid contents for 'data_errors=': 5,60"),
    ] {
        let ran = run_vdbench(folder.path(), &format!("data_errors={value}\n{sd}"), &[]);
        let help = "help: set the number of errors that ends a run";
        ran.expect(157, &[named, "--> parmfile:1", help]);
    }
    for (letters, named) in [("-js", "`-js` or `journal=skip_read_all`"), ("-ji", "`-ji` or")] {
        let help = "help: add `r` to recover the journal of an earlier run";
        run_vdbench(folder.path(), sd, &[letters]).expect(157, &[named, help]);
    }
    // One file with two paths, existing or not.
    std::os::unix::fs::symlink("new", folder.path().join("dangling")).unwrap();
    fs::write(folder.path().join("old"), vec![1; 1 << 20]).unwrap();
    fs::hard_link(folder.path().join("old"), folder.path().join("hard")).unwrap();
    for (a, b) in [
        ("DIR/new", "./new"),
        ("DIR/new", "DIR/dangling"),
        ("DIR/old", "DIR/hard"),
    ] {
        let ran = run_vdbench(folder.path(), &two(b).replacen("DIR/a", a, 1), &["-v"]);
        ran.expect(157, &["one lun in two SDs, sd=sd1 and sd=sd2", "are the same file"]);
    }
    assert!(!folder.path().join("new").exists());
    // A foreign file with the name of the journal stays.
    fs::write(folder.path().join("output/sd1.jnl"), "mine").unwrap();
    let foreign = ["it is not a map of key blocks of fathom", "help: move that file"];
    run_vdbench(folder.path(), sd, &["-j"]).expect(157, &foreign);
    assert_eq!(fs::read(folder.path().join("output/sd1.jnl")).unwrap(), b"mine");
}

/// A journal that did not fit once ended the run in a panic.
#[test]
fn a_full_file_system_of_a_journal_ends_the_run_before_any_write() {
    let small = testbed::need!(TmpFs::with_size(100 << 10));
    fs::write(small.path().join("fill"), vec![1; 40 << 10]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    fs::write(&data, vec![7; 64 << 20]).unwrap();
    let parameters = format!(
        "sd=sd1,lun=DIR/data,size=64m,threads=8,journal={}\nwd=wd1,sd=sd1,xfersize=4k,rdpct=0\n\
         rd=rd1,wd=wd1,iorate=max,elapsed=3,interval=1\n",
        text(small.path())
    );
    let ran = run_vdbench(folder.path(), &parameters, &["-j"]);
    ran.expect(157, &["sd1.jnl", "No space left on device"]);
    assert!(!ran.err.contains("panicked"), "{ran:?}");
    assert!(
        fs::read(&data).unwrap().iter().all(|byte| *byte == 7),
        "the run wrote to its SD"
    );
}

/// Damage must not look like unknown blocks.
#[test]
fn a_damaged_journal_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let parameters = "sd=sd1,lun=DIR/a,size=1m,journal=DIR\nwd=wd1,sd=sd1,xfersize=4k,rdpct=0\n\
                      rd=rd1,wd=wd1,iorate=max,elapsed=2\n";
    run_vdbench(folder.path(), parameters, &["-jn"]).expect(0, &["completed successfully"]);
    let journal = folder.path().join("sd1.jnl");
    let whole = fs::read(&journal).unwrap();
    assert_eq!(whole.len(), 4096 + 8 * 256);
    let changed = |at: usize, bytes: &[u8]| {
        let mut changed = whole.clone();
        changed[at..at + bytes.len()].copy_from_slice(bytes);
        changed
    };
    let truncated = "it is truncated: it has 5000 bytes instead of 6144";
    let first_entry = "the entry of key block 0 does not match";
    let later_entry = "the entry of key block 100 does not match";
    for (damaged, named) in [
        (whole[..5000].to_vec(), truncated),
        (whole[..20].to_vec(), "it is truncated: it has 20 bytes"),
        (Vec::new(), "it is empty"),
        (changed(24, &[0; 8]), "its header is damaged"),
        (changed(4096 + 8 * 100, &[0; 8]), later_entry),
        (changed(4096, &whole[4104..4112]), first_entry),
        (changed(4096, &[0; 2048]), first_entry),
        (changed(15, b"1"), "it was written by another version of fathom"),
    ] {
        fs::write(&journal, damaged).unwrap();
        for letters in ["-jr", "-jo", "-jri"] {
            let ran = run_vdbench(folder.path(), parameters, &[letters]);
            let refused = "cannot recover sd=sd1: its journal ";
            ran.expect(157, &[refused, named, "help: restore a complete copy"]);
            ran.out.assert_lacks(&["Corrupted"]);
        }
    }
    // The help is true: `-j` does not overwrite a file of another program.
    fs::write(&journal, "notes").unwrap();
    run_vdbench(folder.path(), parameters, &["-jr"]).expect(157, &["or remove it and start again with `-j`"]);
    run_vdbench(folder.path(), parameters, &["-jn"]).expect(157, &["it is not a map of key blocks of fathom"]);
    fs::write(&journal, &whole).unwrap();
    // A new journal replaces a damaged one. If the SD has another size, its common part is
    // recovered.
    run_vdbench(folder.path(), parameters, &["-jn"]).expect(0, &["completed successfully"]);
    let larger = parameters.replace("size=1m", "size=2m");
    assert_eq!(validate(folder.path(), &larger, &["-jrn"])[0], (256, 0));
    fs::remove_file(&journal).unwrap();
    run_vdbench(folder.path(), parameters, &["-jr"]).expect(157, &["help: run with `-j` first"]);
}

/// A block torn by a kill has sectors of two writes. Their contents depend on `compratio=`.
#[test]
fn a_recovery_may_use_another_compratio() {
    let folder = tempfile::tempdir().unwrap();
    let ratio = |ratio: u32| format!("compratio={ratio}\n{JOURNALED}");
    kill_after(folder.path(), &ratio(4), "-jn", 600);
    run_vdbench(folder.path(), &ratio(1), &["-jrs"]).expect(157, &["`-js` uses compratio=1", "compratio=4"]);
    let ran = run_vdbench(folder.path(), &ratio(1).replace("elapsed=60", "elapsed=2"), &["-jrn"]);
    ran.expect(0, &["completed successfully"]);
    run_vdbench(folder.path(), &ratio(1), &["-jo"]).expect(0, &["completed successfully"]);
}

/// The files of an interrupted lay-out are removed, and the journal forgets their blocks.
#[test]
fn an_interrupted_lay_out_is_not_reported_as_loss() {
    let folder = tempfile::tempdir().unwrap();
    let parameters = JOURNALED
        .replace("size=4m", "size=1g")
        .replace("elapsed=60", "elapsed=2");
    let child = start(folder.path(), &parameters, &["-j"], "Starting RD=SD_format");
    sleep(Duration::from_millis(100));
    signal(&child, "INT");
    end(child).expect(157, &["interrupted"]);
    assert!(!folder.path().join("b").exists());
    let small = parameters.replace("size=1g", "size=4m");
    run_vdbench(folder.path(), &small, &["-jrn"]).expect(0, &["completed successfully"]);
}

#[test]
fn a_journal_can_be_used_by_one_process_only() {
    let folder = tempfile::tempdir().unwrap();
    let child = start(folder.path(), JOURNALED, &["-jn"], "Starting RD=rd1;");
    for letters in ["-j", "-jr"] {
        let ran = run_vdbench(folder.path(), JOURNALED, &[letters, "-o", "other"]);
        ran.expect(157, &["another process is using it", "help: wait for the other run"]);
    }
    kill(child);
    run_vdbench(folder.path(), JOURNALED, &["-jo"]).expect(0, &["completed successfully"]);
}

/// The limit is for the sum of all SDs, and ends all of them immediately.
#[test]
fn errors_of_two_sds_end_a_run_together() {
    let folder = tempfile::tempdir().unwrap();
    let parameters = "data_errors=4\nsd=sd1,lun=DIR/a,size=1m,threads=1\nsd=sd2,lun=DIR/b,size=1m,threads=1\n\
                      wd=fill,sd=sd*,xfersize=4k,rdpct=0,seekpct=eof\nwd=read,sd=sd*,xfersize=4k,seekpct=seq\n\
                      rd=rd1,wd=fill,iorate=max,elapsed=10,pause=3\nrd=rd2,wd=read,iorate=20,elapsed=30\n";
    let child = start(folder.path(), parameters, &["-v"], "Waiting 3 seconds");
    for file in ["a", "b"] {
        overwrite(&folder.path().join(file), 0, &[0; 8192]);
    }
    let ran = end(child);
    ran.expect(157, &["'data_errors=4' requested. Abort rd=rd2 after last error."]);
    assert!(ran.took < Duration::from_secs(15), "the run continued");
    assert_eq!(parse_totals(&ran).last().unwrap().1, 4);
    for sd in ["sd1", "sd2"] {
        let lines = ran.out.matches(&format!("Corrupted data block for sd={sd},")).count();
        assert_eq!(lines, 2, "{sd}: {}", ran.out);
    }
}

/// Writes into holes of a full file system fail.
#[test]
fn io_errors_count_as_data_errors() {
    let small = testbed::need!(TmpFs::with_size(256 << 10));
    let folder = tempfile::tempdir().unwrap();
    for name in ["a", "b"] {
        File::create(small.path().join(name)).unwrap().set_len(4 << 20).unwrap();
    }
    fs::write(small.path().join("a"), vec![1; 64 << 10]).unwrap();
    let sds = format!(
        "sd=sd1,lun={0}/a,size=64k\nsd=sd2,lun={0}/b,size=4m\n\
         wd=wd1,sd=sd1,xfersize=4k\nwd=wd2,sd=sd2,xfersize=4k,rdpct=0\n",
        text(small.path())
    );
    let run = |errors: &str, rate: u32, elapsed: u32| {
        let parameters = format!("{errors}{sds}rd=rd1,wd=wd*,iorate={rate},elapsed={elapsed},interval=1\n");
        run_vdbench(folder.path(), &parameters, &[])
    };
    let ran = run("data_errors=3\n", 200, 30);
    let abort = "'data_errors=3' requested. Abort rd=rd1 after last error.";
    ran.expect(157, &[abort, "op: write  lun: "]);
    let lines = ran.out.lines().filter(|line| line.contains("op: write")).count();
    // Eight operations are in flight.
    assert!((3..=11).contains(&lines), "{}", ran.out);
    assert!(ran.took < Duration::from_secs(20), "sd1 continued for {:?}", ran.took);
    // Fewer errors make the command fail at the end of the run.
    run("data_errors=100000\n", 100, 6).expect(157, &[WRONG, "avg_2-6"]);
    // The default is 50.
    run("", 400, 30).expect(157, &["'data_errors=50' requested."]);
}
