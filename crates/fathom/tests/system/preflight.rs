//! The preflight: fathom watches for I/O of other programs before a test.

use testbed::{LoopDevice, LoopOptions};

use crate::prelude::*;
use crate::throttle::start_in_background;

/// Starts another program, which reads a device from start to end repeatedly.
fn start_neighbour(device: &Path) -> KilledOnDrop {
    let script = "while :; do dd if=$0 of=/dev/null bs=4k iflag=direct 2>/dev/null; done";
    start_in_background(Command::new("sh").args(["-c", script, text(device)]))
}

fn finding_rules(ran: &Ran) -> Vec<String> {
    let json = ran.json();
    let findings = json["findings"].as_array().unwrap_or_else(|| panic!("{json:#}"));
    let rules = findings
        .iter()
        .map(|finding| finding["rule"].as_str().unwrap().to_owned());
    rules.collect()
}

#[test]
fn io_of_other_programs_is_reported_before_the_test_and_with_its_result() {
    let device = need!(LoopDevice::filled(16 << 20, LoopOptions::default()));
    let path = text(device.path());
    let run = |options: &str| {
        let line = format!("run --target {path} --time 200ms --warm-up 0 --out json {options}");
        fathom_line(&line)
    };
    let busy_disk = "BUSY-DISK".to_owned();
    let alone = run("--preflight 700ms");
    alone.expect(0, &["watching for 700 ms for I/O of other programs on loop"]);
    assert!(!finding_rules(&alone).contains(&busy_disk), "{alone:#?}");

    let neighbour = start_neighbour(device.path());
    let disturbed = run("--preflight 700ms");
    disturbed.expect(0, &["before the test, for 700 ms, other programs did"]);
    assert!(finding_rules(&disturbed).contains(&busy_disk), "{disturbed:#?}");
    let found_others = disturbed.err.find("other programs did").unwrap();
    let watched = disturbed.err.find("watching for").unwrap();
    assert!(found_others > watched, "{disturbed:#?}");
    // `fathom run` has no preflight without the option.
    let without_option = run("");
    assert!(
        !without_option.expect(0, &[]).err.contains("watching") && !finding_rules(&without_option).contains(&busy_disk),
        "{without_option:#?}"
    );

    let verify = |preflight: &str| {
        let line = format!("verify {path} --require iops>=1 --time 1s --warm-up 0 --out json");
        fathom_line(&format!("{line} --preflight {preflight}"))
    };
    let verified = verify("700ms");
    assert!(
        verified.err.contains("watching for 700 ms") && finding_rules(&verified).contains(&busy_disk),
        "{verified:#?}"
    );
    drop(neighbour);
    let switched_off = verify("0");
    assert!(
        !switched_off.err.contains("watching for") && !finding_rules(&switched_off).contains(&busy_disk),
        "{switched_off:#?}"
    );
    fathom(&["run", "--target", path, "--preflight", "soon"]).expect(4, &["--preflight soon", "0 turns it off"]);
}

/// Every run compares its own counters with the kernel's, without an option.
#[test]
fn io_of_other_programs_during_a_run_is_reported_in_every_mode() {
    let device = need!(LoopDevice::filled(16 << 20, LoopOptions::default()));
    let path = text(device.path());
    let folder = tempfile::tempdir().unwrap();
    let saved = folder.path().join("result.json");
    let native = |path: &str| {
        let line = format!("run --target {path} --time 500ms --warm-up 0 --out json");
        finding_rules(&fathom_line(&line))
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
    let other_load = "OTHER-LOAD".to_owned();
    assert!(!native(path).contains(&other_load));
    assert!(!fio().err.contains(&other_load));
    assert!(!diskspd().err.contains(&other_load));

    let neighbour = start_neighbour(device.path());
    assert!(native(path).contains(&other_load));
    let ran = fio();
    assert!(ran.err.contains(&other_load), "{ran:#?}");
    let ran = diskspd();
    assert!(ran.err.contains(&other_load), "{ran:#?}");
    drop(neighbour);
    let kept = fs::read_to_string(&saved).unwrap();
    assert!(
        kept.contains("OTHER-LOAD") && kept.contains("boot_id"),
        "the saved result has no OTHER-LOAD finding"
    );
}
