//! Warming a cache, and the record of it, which is valid until the machine restarts.

use crate::prelude::*;

/// Runs the program with its own state folder.
fn call(state: &Path, words: &[&str]) -> Ran {
    finish(command(words).env("FATHOM_STATE_DIR", state))
}

fn lint(state: &Path, target: &Path, more: &[&str]) -> Ran {
    let size: &[&str] = if more.contains(&"--size") {
        &[]
    } else {
        &["--size", "4m"]
    };
    let words = ["lint", "--intent", "cached-reads", "native", "--target", text(target)];
    call(state, &[&words[..], size, more].concat())
}

const COLD: &str = "CACHE-COLD";

#[test]
fn a_warmed_file_is_warm_until_the_machine_restarts() {
    let folder = need!(Directory::on_disk());
    let (state, file) = (folder.path().join("state"), folder.path().join("data"));
    fs::write(&file, vec![7; 4 << 20]).unwrap();
    let before = fs::metadata(&file).unwrap().modified().unwrap();
    lint(&state, &file, &[])
        .exits(0)
        .prints(&[COLD, "no warm-up of the cache is recorded", "fathom warm-up TARGET"]);
    let ran = call(&state, &["warm-up", text(&file), "--quiet"]);
    ran.exits(0).prints(&[
        "4 MiB read bypassing the page cache",
        "recorded until the machine restarts",
    ]);
    let rate = ran
        .out
        .split(" MiB/s")
        .next()
        .and_then(|before| before.rsplit(' ').next());
    let rate: f64 = rate.unwrap().replace(',', "").parse().unwrap();
    assert!((0.1..1e6).contains(&rate), "{rate} MiB/s: {ran:#?}");
    assert_eq!(
        fs::metadata(&file).unwrap().modified().unwrap(),
        before,
        "nothing is written"
    );
    let ran = lint(&state, &file, &[]);
    assert!(!ran.out.contains(COLD), "{}", ran.out);
    // A link leads to the same file.
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&file, &link).unwrap();
    assert!(!lint(&state, &link, &[]).out.contains(COLD));
    // Nothing was read through the page cache yet.
    lint(&state, &file, &["--cache", "buffered"])
        .expect(0, &[COLD, "bypassed the page cache, but the test reads through it"]);
    call(&state, &["warm-up", text(&file), "--quiet", "--buffered"]).expect(0, &["through the page cache"]);
    assert!(!lint(&state, &file, &["--cache", "buffered"]).out.contains(COLD));
    // Simulate a restart of the machine.
    let kept = names(&state.join("warmed"));
    assert_eq!(kept.len(), 1);
    let kept = state.join("warmed").join(&kept[0]);
    let mut marker: Value = serde_json::from_slice(&fs::read(&kept).unwrap()).unwrap();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    assert_eq!(marker["boot_id"], boot.trim());
    assert_eq!(marker["ranges"][0]["from"].as_u64(), Some(0));
    assert_eq!(marker["ranges"][0]["to"].as_u64(), Some(4 << 20));
    marker["boot_id"] = "0d6b3ee2-0000-0000-0000-000000000000".into();
    fs::write(&kept, marker.to_string()).unwrap();
    lint(&state, &file, &[]).expect(0, &[COLD, "before the last start of the machine"]);
    // Another file at the same path is not warm.
    call(&state, &["warm-up", text(&file), "--quiet"]).expect(0, &[]);
    assert!(!lint(&state, &file, &[]).out.contains(COLD));
    fs::rename(&file, folder.path().join("old")).unwrap();
    fs::write(&file, vec![7; 4 << 20]).unwrap();
    lint(&state, &file, &[]).expect(0, &[COLD, "no warm-up of the cache is recorded"]);
}

#[test]
fn only_the_warmed_part_is_warm() {
    let folder = need!(Directory::on_disk());
    let (state, file) = (folder.path().join("state"), folder.path().join("data"));
    fs::write(&file, vec![7; 4 << 20]).unwrap();
    let warm = |more: &[&str]| {
        call(
            &state,
            &[&["warm-up", text(&file), "--quiet", "--json"][..], more].concat(),
        )
    };
    let json = warm(&["--size", "1m"]).expect(0, &[]).json();
    assert_eq!(json["read_bytes"].as_u64(), Some(1 << 20));
    assert_eq!(json["complete"].as_bool(), Some(true));
    assert_eq!(json["remembered"]["ranges"][0]["to"], 1 << 20);
    lint(&state, &file, &[]).expect(0, &[COLD, "at byte 1048576"]);
    warm(&["--offset", "1m", "--block", "64k"]).expect(0, &[]);
    assert!(!lint(&state, &file, &[]).out.contains(COLD));
    // No disk reads 128 MiB in 30 ms.
    let large = folder.path().join("large");
    fs::write(&large, vec![7; 128 << 20]).unwrap();
    let ran = call(
        &state,
        &["warm-up", text(&large), "--quiet", "--time", "30ms", "--block", "16k"],
    );
    ran.expect(6, &["not all: from byte 0 to", "continue with --offset"]);
    lint(&state, &large, &["--size", "128m"]).expect(0, &[COLD, "at byte"]);
}

#[test]
fn targets_that_cannot_be_warmed_are_explained() {
    let folder = need!(Directory::on_disk());
    let (state, file) = (folder.path().join("state"), folder.path().join("data"));
    fs::write(&file, vec![7; 1 << 20]).unwrap();
    let on = |target: &Path, more: &[&str]| call(&state, &[&["warm-up", text(target)][..], more].concat());
    on(&folder.path().join("none"), &[]).expect(3, &["cannot read", "none"]);
    on(folder.path(), &[]).expect(3, &["it is a directory", "name the file or block device"]);
    on(Path::new("/dev/null"), &[]).expect(3, &["cannot warm /dev/null"]);
    on(&file, &["--size", "2m"]).expect(3, &["the range to read is bytes 0 to 2097152", "remove --size"]);
    on(&file, &["--offset", "1m"]).expect(3, &["bytes 1048576 to 1048576"]);
    on(&file, &["--block", "4KB"]).expect(4, &["--block 4KB", "4KiB"]);
    assert!(!state.exists(), "nothing was read, and nothing is recorded");
    let nowhere = finish(
        command(&["warm-up", text(&file)])
            .env_remove("FATHOM_STATE_DIR")
            .env_remove("XDG_STATE_HOME")
            .env_remove("HOME")
            .env_remove("LOCALAPPDATA"),
    );
    nowhere.expect(4, &["cannot record the warmed range", "set FATHOM_STATE_DIR"]);
    assert_eq!(fs::metadata(&file).unwrap().len(), 1 << 20);
}

/// Reads beyond the first eight MiB of the device fail.
#[test]
fn a_range_that_could_not_be_read_is_not_recorded() {
    let (folder, device) = need!(crate::support::device_that_ends());
    let state = folder.path().join("state");
    call(&state, &["warm-up", text(device.path()), "--quiet"]).expect(1, &["was not warmed", "nothing was recorded"]);
    assert!(!state.exists());
    call(&state, &["warm-up", text(device.path()), "--quiet", "--size", "4m"]).expect(0, &["4 MiB read"]);
    assert_eq!(names(&state.join("warmed")).len(), 1);
}
