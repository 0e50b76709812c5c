//! The preflight: watching for I/O of other programs before a test.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use testbed::{LoopDevice, LoopOptions, need};

use crate::calling::{Ran, command, fathom, finish, split_words, text};

/// Another program that reads a device from start to end repeatedly.
struct Neighbour(Child);

impl Neighbour {
    fn start(device: &Path) -> Neighbour {
        let script = "while :; do dd if=$0 of=/dev/null bs=4k iflag=direct 2>/dev/null; done";
        let child = Command::new("sh")
            .args(["-c", script, text(device)])
            .stdout(Stdio::null())
            .spawn();
        Neighbour(child.unwrap())
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn rules(ran: &Ran) -> Vec<String> {
    let json = ran.json();
    let findings = json["findings"].as_array().unwrap_or_else(|| panic!("{json:#}"));
    findings
        .iter()
        .map(|finding| finding["rule"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn io_of_other_programs_is_reported_before_the_test_and_with_its_result() {
    let Some(device) = need(LoopDevice::of_size(16 << 20, LoopOptions::default())) else {
        return;
    };
    let path = text(device.path());
    let run = |more: &[&str]| {
        let line = format!("run --target {path} --time 200ms --warm-up 0 --out json");
        let words = split_words(&line);
        fathom(&[&words[..], more].concat())
    };
    let busy = "BUSY-DISK".to_owned();
    let alone = run(&["--preflight", "700ms"]);
    alone.expect(0, &["watching for 700 ms for I/O of other programs on loop"]);
    assert!(!rules(&alone).contains(&busy), "{alone:#?}");

    let neighbour = Neighbour::start(device.path());
    let disturbed = run(&["--preflight", "700ms"]);
    disturbed.expect(0, &["operations per second of other programs in"]);
    assert!(rules(&disturbed).contains(&busy), "{disturbed:#?}");
    let found_others = disturbed.err.find("of other programs in").unwrap();
    let watched = disturbed.err.find("watching for").unwrap();
    assert!(found_others > watched, "{disturbed:#?}");
    // Without the option, nothing is watched.
    let unasked = run(&[]);
    assert!(
        !unasked.expect(0, &[]).err.contains("watching") && !rules(&unasked).contains(&busy),
        "{unasked:#?}"
    );

    let verify = |more: &[&str]| {
        let words = [
            "verify", path, "--require", "iops>=1", "--time", "1s", "--warm-up", "0", "--out", "json",
        ];
        fathom(&[&words[..], more].concat())
    };
    let judged = verify(&["--preflight", "700ms"]);
    assert!(
        judged.err.contains("watching for 700 ms") && rules(&judged).contains(&busy),
        "{judged:#?}"
    );
    drop(neighbour);
    let hasty = verify(&["--preflight", "0"]);
    assert!(
        !hasty.err.contains("watching for") && !rules(&hasty).contains(&busy),
        "{hasty:#?}"
    );
    fathom(&["run", "--target", path, "--preflight", "soon"]).expect(4, &["--preflight soon", "0 turns it off"]);
}

/// Every run compares its own counters with the kernel's, without an option.
#[test]
fn io_of_other_programs_during_a_run_is_reported_in_every_mode() {
    let Some(device) = need(LoopDevice::of_size(16 << 20, LoopOptions::default())) else {
        return;
    };
    let path = text(device.path());
    let folder = tempfile::tempdir().unwrap();
    let saved = folder.path().join("result.json");
    let native = |path: &str| {
        let line = format!("run --target {path} --time 500ms --warm-up 0 --out json");
        let words = split_words(&line);
        rules(&fathom(&words))
    };
    let filename = format!("--filename={path}");
    let fio = || {
        let words = [
            "fio", "--name=j", &filename, "--rw=randread", "--direct=1", "--time_based", "--runtime=1",
        ];
        let mut called = command(&words);
        let ran = finish(called.env("FATHOM_NOTES", "1").env("FATHOM_RESULT", &saved));
        assert_eq!(ran.code, Some(0), "{ran:#?}");
        ran
    };
    let diskspd = || {
        let words = ["diskspd", "-d1", "-W0", "-Sh", "-r", path];
        let ran = finish(command(&words).env("FATHOM_NOTES", "1"));
        assert_eq!(ran.code, Some(0), "{ran:#?}");
        ran
    };
    let other = "OTHER-LOAD".to_owned();
    assert!(!native(path).contains(&other));
    assert!(!fio().err.contains(&other));
    assert!(!diskspd().err.contains(&other));

    let neighbour = Neighbour::start(device.path());
    assert!(native(path).contains(&other));
    let ran = fio();
    assert!(ran.err.contains(&other), "{ran:#?}");
    let ran = diskspd();
    assert!(ran.err.contains(&other), "{ran:#?}");
    drop(neighbour);
    let kept = std::fs::read_to_string(&saved).unwrap();
    assert!(
        kept.contains("OTHER-LOAD") && kept.contains("boot_id"),
        "it is part of the saved result"
    );
}
