//! Targets that other programs remove, replace, truncate or break during a test.

use std::os::unix::fs::FileExt;

use crate::prelude::*;
use crate::support::{faulty_fs, filled_loop_device, loop_device_over};

const MIB: u64 = 1 << 20;
const EIO: i32 = 5;

/// I/O on an open file succeeds even if nothing is left of it.
#[test]
fn a_file_that_is_lost_during_the_test_is_an_error() {
    let folder = need!(Directory::fast());
    let (file, other) = (folder.path().join("f"), folder.path().join("other"));
    let run = "run --target FILE --rate 20iops --time 4s --warm-up 0 -q --allow-overwrite FILE --read";
    // Before its load, verify watches a disk for 10 s.
    let verify = "verify FILE --require iops>=300 --depth 1 --time 13s --warm-up 0 -q --read";
    // Without a depth, it begins with probes of 5 s.
    let probe = "verify FILE --require iops>=300 --preflight 0 --time 13s --warm-up 0 -q --read";
    let replace = || fs::rename(&other, &file).unwrap();
    let remove = || fs::remove_file(&file).unwrap();
    // The writes restore the length later.
    let truncate = || fs::write(&file, "").unwrap();
    let replaced = "was replaced by another file during the test";
    let removed = "was removed or renamed during the test";
    for (line, read, seconds, change, how) in [
        (run, "100", 2, &replace as &dyn Fn(), replaced),
        (run, "0", 2, &truncate, "became shorter ("),
        (verify, "100", 12, &remove, removed),
        (probe, "100", 2, &remove, removed),
    ] {
        for path in [&file, &other] {
            fs::write(path, vec![7; 256 << 10]).unwrap();
        }
        let line = format!("{line} {read}").replace("FILE", text(&file));
        let child = spawn(&mut command(&split_words(&line)));
        std::thread::sleep(Duration::from_secs(seconds));
        change();
        let code = if line.starts_with("verify") { 2 } else { 1 };
        let ran = end(child);
        ran.expect(code, &["TARGET-LOST", how]);
        assert_eq!(code == 2, ran.out.contains("INCONCLUSIVE"), "{ran:#?}");
        assert!(!ran.err.contains("check the spelling"), "{ran:#?}");
    }
}

/// Reads beyond the new end fail, which says nothing about the health of the device.
#[test]
fn a_device_that_becomes_smaller_is_no_verdict_on_its_health() {
    let device = need!(filled_loop_device(64));
    let shrink = || {
        let file = fs::OpenOptions::new().write(true).open(device.backing()).unwrap();
        file.set_len(32 << 20).unwrap();
    };
    let line = format!(
        "verify {} --require iops>=300 --preflight 0 --time 10s --warm-up 0 -q --read 100",
        text(device.path())
    );
    for more in ["", " --depth 4"] {
        let child = spawn(&mut command(&split_words(&format!("{line}{more}"))));
        std::thread::sleep(Duration::from_secs(2));
        shrink();
        let ran = end(child);
        ran.exits(2).prints(&[
            "INCONCLUSIVE",
            "TARGET-LOST",
            "became smaller (33554432 of 67108864 bytes)",
        ]);
        assert!(!ran.out.contains("dmesg"), "{ran:#?}");
        let file = fs::OpenOptions::new().write(true).open(device.backing()).unwrap();
        file.write_all_at(&vec![7; 32 << 20], 32 << 20).unwrap();
    }
}

/// The storage served the first half of a probe, and then only errors.
#[test]
fn a_device_that_fails_during_a_probe_fails_its_promise() {
    let faulty = need!(faulty_fs());
    let device = need!(loop_device_over(faulty.file()));
    let line = format!(
        "verify {} --require iops>=100 --preflight 0 --time 10s --warm-up 0 -q --read 100",
        text(device.path())
    );
    let child = spawn(&mut command(&split_words(&line)));
    std::thread::sleep(Duration::from_secs(2));
    faulty.fail_reads(0..16 * MIB, EIO);
    let ran = end(child);
    faulty.clear();
    ran.expect(1, &["FAIL", "iops >= 100", "read failed: Input/output error"]);
    assert!(!ran.err.contains("nothing to judge"), "{ran:#?}");
}

/// What takes the name of a new file while fathom fills it is not written.
#[test]
fn a_file_that_is_replaced_during_its_preparation_is_not_written() {
    let folder = need!(Directory::fast());
    let [target, user, link] = ["g", "user", "link"].map(|name| folder.path().join(name));
    let rename = || fs::rename(&link, &target).unwrap();
    let symbolic = || {
        fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink(&user, &link).unwrap();
        rename();
    };
    for replace in [&rename as &dyn Fn(), &symbolic] {
        for share in ["0", "100"] {
            let _ = fs::remove_file(&target);
            let _ = fs::remove_file(&link);
            fs::write(&user, vec![7; 8 << 20]).unwrap();
            fs::hard_link(&user, &link).unwrap();
            let line = "--size 512m --time 1s --warm-up 0 -q --write";
            let line = format!("run --target {} {line} {share}", text(&target));
            let child = spawn(&mut command(&split_words(&line)));
            let deadline = Instant::now() + Duration::from_secs(30);
            while !target.exists() && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(1));
            }
            replace();
            // On a busy machine the file may be replaced only after it was filled.
            let ran = end(child);
            assert!([Some(1), Some(3)].contains(&ran.code), "{ran:#?}");
            assert!(ran.err.contains("replaced") || ran.out.contains("replaced"), "{ran:#?}");
            assert!(fs::read(&user).unwrap().iter().all(|byte| *byte == 7), "{share}");
            // Nor does it get the mark that permits a later run to write it.
            let again = format!("run --target {} --write 100 --operations 1 -q", text(&target));
            fathom_line(&again).expect(3, &["--allow-overwrite"]);
        }
    }
}

/// A run renews the mark of its file only if nothing else changed.
#[test]
fn changes_outside_the_written_part_leave_the_file_foreign() {
    let folder = need!(Directory::fast());
    let file = folder.path().join("f");
    let line = |rest: &str| format!("run --target {} --write 100 --warm-up 0 -q {rest}", text(&file));
    fathom_line(&line("--size 64m --operations 50")).expect(0, &[]);
    fathom_line(&line("--size 4m --operations 50")).expect(0, &[]);
    let child = spawn(&mut command(&split_words(&line("--size 4m --time 3s"))));
    std::thread::sleep(Duration::from_secs(1));
    let opened = fs::OpenOptions::new().write(true).open(&file).unwrap();
    opened.write_all_at(&vec![7; 16 << 20], 24 << 20).unwrap();
    end(child).expect(0, &[]);
    fathom_line(&line("--operations 1")).expect(3, &["--allow-overwrite"]);
}

/// The kernel ends an access to a map beyond the end of its file with a signal.
#[test]
fn a_mapped_file_that_becomes_shorter_is_named_as_such() {
    let folder = need!(Directory::fast());
    let file = folder.path().join("f");
    for engine in ["psync", "mmap"] {
        fs::write(&file, vec![7; 8 << 20]).unwrap();
        let line = "run --target FILE --engine ENGINE --cache buffered --time 20s --warm-up 0 -q";
        let line = line.replace("FILE", text(&file)).replace("ENGINE", engine);
        let child = spawn(&mut command(&split_words(&line)));
        std::thread::sleep(Duration::from_secs(2));
        fs::write(&file, "").unwrap();
        let shorter = "the target became shorter during the test";
        end(child).expect(6, &["WORKER-FAILED", "TARGET-LOST", shorter]);
    }
}
