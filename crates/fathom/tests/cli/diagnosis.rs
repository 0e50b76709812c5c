//! What limits a load, on the real kernel.

use testbed::{Directory, Ext4, Limit, LoopDevice, LoopOptions, Throttle, need};

use crate::support::{fathom, text};

/// A control group lets 1000 reads a second through. It is read from the system and named, with nothing said about it.
#[test]
fn a_control_group_is_found_and_named() {
    let options = LoopOptions {
        direct_io: true,
        ..LoopOptions::default()
    };
    let (Some(device), Some(throttle)) = (need(LoopDevice::of_size(64 << 20, options)), need(Throttle::new())) else {
        return;
    };
    if need(throttle.set(device.path(), Limit::ReadOperations(1000))).is_none() {
        return;
    }
    let ran = {
        let Some(_inside) = need(throttle.enter()) else { return };
        let arguments = [
            "run",
            "--target",
            text(device.path()),
            "--depth",
            "16",
            "--time",
            "5s",
            "--out",
            "json",
        ];
        fathom(&[&arguments[..], &["--confirm"]].concat())
    };
    let found = &ran.expect(0, &[]).json()["diagnoses"][0]["diagnosis"];
    assert_eq!(found["answer"], "cap", "{found:#}");
    assert_eq!(found["confirmed"], true, "{found:#}");
    assert!(
        found["layer"].as_str().unwrap().starts_with("control group, reads"),
        "{found:#}"
    );
    assert!((found["share"].as_f64().unwrap() - 1.0).abs() < 0.02, "{found:#}");
}

/// The same on a file.
#[test]
fn a_control_group_over_a_file_is_found_and_named() {
    let (Some(ext4), Some(throttle)) = (need(Ext4::of_size(256 << 20)), need(Throttle::new())) else {
        return;
    };
    let file = ext4.path().join("f");
    let size = ["run", "--target", text(&file), "--size", "64m"];
    // Laid out before anything is limited.
    fathom(&[&size[..], &["--operations", "10"]].concat()).expect(0, &[]);
    if need(throttle.set(ext4.device().path(), Limit::ReadOperations(1000))).is_none() {
        return;
    }
    let load = ["--depth", "16", "--time", "5s", "--cap", "disk:iops=500000"];
    let ran = {
        let Some(_inside) = need(throttle.enter()) else { return };
        fathom(&[&size[..], &load].concat())
    };
    ran.expect(
        0,
        &["D-CAP", "control group, reads of device", "out of reach", "--confirm"],
    );
}

#[test]
fn limits_are_named_and_mistakes_told() {
    let Some(folder) = need(Directory::new()) else { return };
    let file = folder.path().join("f");
    let arguments = [
        "run",
        "--target",
        text(&file),
        "--size",
        "8m",
        "--time",
        "1s",
        "--rate",
        "200iops",
    ];
    let with = |more: &[&str]| fathom(&[&arguments[..], more].concat());
    with(&["--cap", "disk:iops=5000"]).expect(0, &["What limits", "the rate that the test asks for"]);
    with(&["--confirm"]).expect(0, &["NOT-CONFIRMED"]);
    with(&["--cap", "disk:iosp=5000"]).expect(4, &["did you mean `iops`"]);
    with(&["--vm", "no-such-machine"]).expect(4, &[]);
}
