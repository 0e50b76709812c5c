//! Refusals of the guard on real devices. Tests of the guard itself use recorded trees of other
//! machines.

use std::os::linux::fs::MetadataExt;
use std::os::unix::fs::FileExt;

use testbed::LoopFs;

use crate::prelude::*;
use crate::support::run_briefly;

const MIB: u64 = 1 << 20;

fn write_arguments<'a>(target: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    write_for("300ms", target, more)
}

fn write_for<'a>(time: &'a str, target: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let words = split_words("run --write 100 --warm-up 0 -q");
    [&words[..], &["--time", time, "--target", target], more].concat()
}

/// The device that holds the root file system.
fn system_disk() -> Option<String> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let line = mounts.lines().find(|line| line.split(' ').nth(4) == Some("/"))?;
    let number = line.split(' ').nth(2)?;
    let name = fs::read_link(format!("/sys/dev/block/{number}")).ok()?;
    Some(format!("/dev/{}", name.file_name()?.to_str()?))
}

/// A name without a folder means the current folder. A file that fathom created can be extended by
/// its bare name.
#[test]
fn a_file_given_by_bare_name_is_extended() {
    let folder = need!(Directory::fast());
    let run = |name: &str, size: &str| {
        let line = format!("run --target {name} --size {size} --time 200ms --warm-up 0");
        fathom_in(folder.path(), &split_words(&line))
    };
    run("k.dat", "4M").expect(0, &["IOPS"]);
    run("k.dat", "8M").expect(0, &["extended from 4 MiB to 8 MiB"]);
    fs::write(folder.path().join("empty.dat"), "").unwrap();
    run("empty.dat", "4M").expect(0, &["4 MiB of random data"]);
}

#[test]
fn the_system_disk_is_refused_with_every_permission() {
    let Some(disk) = system_disk().filter(|disk| fs::metadata(disk).is_ok()) else {
        testbed::skip("the root file system is not on a block device");
        return;
    };
    for more in [&["--dry-run"][..], &["--dry-run", "--allow-destroy", &disk]] {
        let arguments = write_arguments(&disk, more);
        fathom(&arguments).expect(3, &["refused", "is mounted at /", "this system runs from it"]);
    }
}

#[test]
fn a_mounted_device_is_refused_despite_allow_destroy() {
    let mounted = need!(LoopFs::ext4(32 * MIB));
    let device = text(mounted.device().path());
    let ran = fathom(&write_arguments(device, &["--allow-destroy", device]));
    ran.expect(3, &["is mounted at", text(mounted.path()), "ext4", "umount"]);
    let backing = text(mounted.device().backing());
    fathom(&write_arguments(backing, &["--allow-destroy", backing])).expect(3, &["the loop device", "losetup -d"]);
}

#[test]
fn an_empty_device_needs_allow_destroy() {
    let device = need!(loop_device(16));
    let path = text(device.path());
    fathom(&write_arguments(path, &[])).expect(3, &["the loss of its contents was not permitted", "--allow-destroy"]);
    fathom(&write_arguments(path, &["--dry-run"])).expect(3, &["refused", "nothing was opened for writing"]);
    fathom(&write_arguments(path, &["--allow-destroy", path])).expect(0, &["IOPS"]);
    finish(command(&write_arguments(path, &[])).env("FATHOM_ALLOW_DESTROY", path)).expect(0, &["IOPS"]);
    run_briefly(path, &[]).expect(0, &["IOPS"]);
}

#[test]
fn a_device_with_known_content_needs_allow_destroy() {
    let device = need!(loop_device(16));
    let path = text(device.path());
    let made = Command::new("mkswap").arg(path).output();
    if !made.is_ok_and(|made| made.status.success()) {
        testbed::skip("mkswap is not installed");
        return;
    }
    fathom(&write_arguments(path, &[])).expect(3, &["it contains", "swap", "--allow-destroy"]);
    let before = fs::read(device.backing()).unwrap();
    fathom(&write_arguments(path, &["--dry-run"])).expect(3, &["refused"]);
    assert!(
        before == fs::read(device.backing()).unwrap(),
        "no byte may have changed"
    );
    fathom(&write_arguments(path, &["--allow-destroy", path])).expect(0, &["will be lost"]);
}

#[test]
fn a_foreign_file_is_read_but_not_written() {
    let folder = need!(Directory::fast());
    let path = folder.path().join("letters");
    fs::write(&path, vec![7; 4 * MIB as usize]).unwrap();
    let file = text(&path);
    run_briefly(file, &[]).expect(0, &["used unchanged"]);
    fathom(&write_arguments(file, &[])).expect(3, &["that fathom did not create", "--allow-overwrite"]);
    assert!(
        fs::read(&path).unwrap().iter().all(|byte| *byte == 7),
        "not a byte has changed"
    );
    fathom(&write_arguments(file, &["--allow-overwrite", file]))
        .expect(0, &["without a mark of fathom's will be changed"]);
}

/// A file that is killed while it is filled once counted as a file of the user.
#[test]
fn the_file_of_a_killed_preparation_is_named_as_one() {
    let folder = need!(Directory::fast());
    let path = folder.path().join("f");
    let file = text(&path);
    let arguments = write_arguments(file, &["--size", "256m"]);
    let child = spawn(&mut command(&arguments));
    // The size is set after the mark.
    wait_until(20, || fs::metadata(&path).is_ok_and(|meta| meta.len() > 0), "no file");
    kill(child);
    let left = "or that a killed run left unfinished";
    fathom(&arguments)
        .exits(3)
        .prints(&[left, "help: if no other run uses it, remove it", "--allow-overwrite"]);
    fs::remove_file(&path).unwrap();
    fathom(&write_arguments(file, &["--size", "8m"])).expect(0, &["IOPS"]);
}

#[test]
fn a_link_to_a_missing_file_is_named_as_one() {
    let folder = need!(Directory::fast());
    let link = folder.path().join("link");
    std::os::unix::fs::symlink("nowhere", &link).unwrap();
    fathom(&["run", "--target", text(&link), "--size", "1m"]).expect(3, &["is a link to a missing file; remove it"]);
}

#[test]
fn allow_overwrite_accepts_a_relative_name() {
    let folder = need!(Directory::fast());
    fs::write(folder.path().join("mine"), vec![7; 4 * MIB as usize]).unwrap();
    for name in ["mine", "./mine"] {
        let arguments = write_arguments("mine", &["--allow-overwrite", name]);
        fathom_in(folder.path(), &arguments).expect(0, &["IOPS"]);
    }
}

#[test]
fn a_file_of_fathom_needs_no_permission() {
    let folder = need!(Directory::fast());
    let path = folder.path().join("ours");
    let file = text(&path);
    fathom(&write_arguments(file, &["--size", "16m"])).expect(0, &["16 MiB of random data"]);
    fathom(&write_arguments(file, &[])).expect(0, &["prepared earlier with 16 MiB of random data"]);
}

/// A run that writes only a part of a file proves that the rest stays unchanged, or leaves no mark.
#[test]
fn a_file_that_changed_outside_the_tested_part_is_refused() {
    const OWN_START: u64 = 5 * MIB + 12_288;
    let folder = need!(Directory::fast());
    let file = folder.path().join("f");
    let own = [7; 4096];
    let run = "run --target FILE --size 1m --write 100 --time 3s --warm-up 0 -q";
    let sweep = "sweep FILE --size 1m --write 100 --over depth=1,2,4 --grid-only --time 1s --warm-up 0 -q";
    for line in [run, sweep] {
        let _ = fs::remove_file(&file);
        fathom(&write_arguments(text(&file), &["--size", "16m"])).expect(0, &["IOPS"]);
        let line = line.replace("FILE", text(&file));
        let child = spawn(&mut command(&split_words(&line)));
        wait_until(15, || is_locked_by(child.id(), &file), "the file is not locked");
        std::thread::sleep(Duration::from_millis(1500));
        let opened = fs::OpenOptions::new().write(true).open(&file).unwrap();
        opened.write_all_at(&own, OWN_START).unwrap();
        end(child);
        let refused = fathom(&write_arguments(text(&file), &[]));
        refused.expect(3, &["must not be written", "--allow-overwrite"]);
        assert!(!refused.err.contains("killed run"), "{refused:#?}");
        let mut left = [0; 4096];
        File::open(&file).unwrap().read_exact_at(&mut left, OWN_START).unwrap();
        assert_eq!(left, own, "{line}");
    }
}

/// The rest of a large file is not read, so the mark names the written part.
#[test]
fn a_large_file_of_which_a_part_was_tested_is_written_only_there() {
    let folder = need!(Directory::fast());
    let path = folder.path().join("f");
    let file = text(&path);
    fathom(&write_arguments(file, &["--size", "80m"])).expect(0, &["IOPS"]);
    let part = ["--size", "1m"];
    fathom(&write_arguments(file, &part)).expect(0, &["IOPS"]);
    let sweep = format!("sweep {file} --size 1m --write 100 --over depth=1,2 --grid-only --time 300ms --warm-up 0 -q");
    fathom_line(&sweep).exits(0);
    fathom(&write_arguments(file, &[])).expect(
        3,
        &[
            "that may have changed outside the part that the last test wrote",
            "test only the same part again (`--size`)",
            "--allow-overwrite",
        ],
    );
    fathom(&write_arguments(file, &part)).expect(0, &["IOPS"]);
    run_briefly(file, &[]).expect(0, &["IOPS"]);
}

#[test]
fn quick_only_reads_a_device_without_permission() {
    let device = need!(loop_device(32));
    let ran = fathom(&["quick", text(device.path()), "-q"]);
    ran.exits(0).prints(&[
        "random read, depth 1", "Writes were not tested", "--allow-destroy", "screening",
    ]);
    assert!(!ran.out.contains("random write"), "{ran:#?}");
    assert_eq!(ran.out.matches("SHORT-RUN").count(), 1, "{ran:#?}");
    assert_eq!(ran.out.matches("each row measures only 4 s").count(), 1, "{ran:#?}");
}

#[test]
fn targets_are_listed_with_the_reasons() {
    let mounted = need!(LoopFs::ext4(32 * MIB));
    let list = fathom(&["targets", "--json"]).expect(0, &[]).json();
    let find = |path: &str| {
        let list = list.as_array().unwrap();
        list.iter()
            .find(|listing| listing["path"] == path)
            .cloned()
            .unwrap_or_else(|| panic!("{path} in {list:#?}"))
    };
    let device = find(text(mounted.device().path()));
    assert_eq!(device["write"], "no");
    assert!(
        device["why_not"][0].as_str().unwrap().contains("is mounted at"),
        "{device:#}"
    );
    let file_system = find(text(mounted.path()));
    assert_eq!(file_system["write"], "yes");
    let listed = fathom(&["targets"]);
    listed.expect(0, &["Disks and partitions", "writing is refused", "File systems"]);
    // The size that `run` refuses to exceed.
    let largest = file_system["max_file_size"].as_u64().unwrap();
    assert!(largest > MIB && largest < 32 * MIB * 8 / 10, "{file_system:#}");
    let on_it = |size: u64| {
        let size = size.to_string();
        fathom(&["run", "--target", text(mounted.path()), "--size", &size, "--dry-run"])
    };
    on_it(largest).expect(0, &["dry run"]);
    let refused = on_it(largest + 2 * MIB);
    let words = format!("a size of up to {} is possible", model::Bytes(largest));
    refused.expect(3, &[&words]);
    listed.prints(&[&format!("test files of up to {}", model::Bytes(largest))]);
}

#[test]
fn no_file_is_suggested_in_place_of_a_missing_device() {
    let missing = fathom(&["run", "--target", "/dev/no-such-disk", "--time", "1s"]);
    missing.exits(3).prints(&[
        "/dev/no-such-disk does not exist",
        "help: check the spelling, and that the device",
    ]);
    assert!(!missing.err.contains("set a size"), "{missing:#?}");
}

/// True if a process holds a lock of a file. Does not request the lock.
fn is_locked_by(process: u32, file: &Path) -> bool {
    let Ok(meta) = fs::metadata(file) else { return false };
    let (holder, inode) = (format!(" {process} "), format!(":{} 0 EOF", meta.st_ino()));
    let locks = fs::read_to_string("/proc/locks").unwrap();
    locks
        .lines()
        .any(|line| line.contains(&holder) && line.ends_with(&inode))
}

/// Two runs that write to one file measure each other. Native commands refuse the second run, and
/// the drop-in modes warn. Reading disturbs no data.
#[test]
fn a_file_that_another_run_writes_to_is_refused() {
    let folder = need!(Directory::fast());
    let file = folder.path().join("f");
    let other_run = "another run is writing to it";
    // A file that the first run creates is locked as well.
    for more in [&["--size", "8m"][..], &["--allow-overwrite", text(&file)]] {
        let child = spawn(&mut command(&write_for("20s", text(&file), more)));
        wait_until(15, || is_locked_by(child.id(), &file), "the file is not locked");
        let permitted = ["--allow-overwrite", text(&file)];
        fathom(&write_arguments(text(&file), &permitted)).expect(3, &[other_run, "help: wait until it ends"]);
        fathom(&["run", "--target", text(&file), "--time", "100ms", "--warm-up", "0"]).expect(0, &["IOPS"]);
        let fio = format!("--filename={}", text(&file));
        let warned = fathom(&["fio", "--name=a", &fio, "--rw=randwrite", "--size=1m", "--io_size=64k"]);
        warned.expect(0, &["warning: ", other_run]);
        kill(child);
    }
    fathom(&write_arguments(text(&file), &["--allow-overwrite", text(&file)])).expect(0, &["IOPS"]);
}

/// The kernel knows a loop device's file even without a path and without `/sys`.
#[test]
fn the_file_of_a_loop_device_is_refused_without_its_path() {
    let device = need!(loop_device(8));
    let number = text(device.path()).trim_start_matches("/dev/");
    let backing = fs::read_to_string(format!("/sys/block/{number}/loop/backing_file")).unwrap();
    let (path, moved) = (backing.trim_end(), format!("{}.moved", backing.trim_end()));
    fs::rename(path, &moved).unwrap();
    let arguments = write_arguments(&moved, &["--allow-overwrite", &moved, "--allow-destroy", &moved]);
    let by_number = fathom(&arguments);
    let script = "mount -t tmpfs none /sys && exec \"$@\"";
    let mut hidden = Command::new("unshare");
    hidden.args(["-m", "sh", "-c", script, "sh", PROGRAM]);
    let without_sys = finish(hidden.args(&arguments));
    fs::rename(&moved, path).unwrap();
    let user = format!("the loop device /dev/{number} uses it");
    for refused in [by_number, without_sys] {
        refused.expect(3, &["must not be written", &user]);
    }
}
