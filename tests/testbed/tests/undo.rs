//! Everything that the testbed creates works, and is gone afterwards: after a drop, a panic, a
//! kill.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::io::Write;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use testbed::{Directory, FaultFs, Limit, LoopDevice, LoopFs, LoopOptions, Throttle, TmpFs, Zram, need};

const MIB: u64 = 1 << 20;
/// A size that no other program would choose.
const UNUSUAL: u64 = MIB + 7 * 4096;

fn is_mounted(path: &Path) -> bool {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    mounts.lines().any(|line| line.split(' ').nth(4) == path.to_str())
}

fn backing_file(device: &Path) -> Option<String> {
    let name = device.file_name().unwrap();
    let path = Path::new("/sys/block").join(name).join("loop/backing_file");
    fs::read_to_string(path).ok().map(|path| path.trim().to_owned())
}

/// Checks that a device or file returns, bypassing the cache, what was written to it.
fn holds_data(path: &Path) {
    let pattern = vec![0x5a; 8192];
    let mut file = fs::File::options().read(true).write(true).open(path).unwrap();
    file.write_all(&pattern).unwrap();
    file.sync_all().unwrap();
    let mut back = vec![0; 8192];
    file.read_exact_at(&mut back, 0).unwrap();
    assert_eq!(back, pattern, "{}", path.display());
}

#[test]
fn a_directory_is_empty_and_is_removed() {
    let directory = Directory::new().unwrap();
    let path = directory.path().to_owned();
    assert_eq!(fs::read_dir(&path).unwrap().count(), 0);
    fs::write(path.join("x"), "x").unwrap();
    drop(directory);
    assert!(!path.exists());
}

#[test]
fn a_loop_device_works_and_is_removed() {
    let device = need!(LoopDevice::with_size(4 * MIB, LoopOptions::default()));
    let path = device.path().to_owned();
    let backing = device.backing().to_owned();
    assert_eq!(backing_file(&path).as_deref(), backing.to_str());
    holds_data(&path);
    drop(device);
    // Another test may have the number by now, but not over this file.
    assert_ne!(backing_file(&path).as_deref(), backing.to_str());
    assert!(!backing.exists());
}

#[test]
fn a_loop_device_has_its_options() {
    let options = LoopOptions {
        direct_io: true,
        read_only: true,
        sector_bytes: 4096,
    };
    let device = need!(LoopDevice::with_size(4 * MIB, options));
    let folder = Path::new("/sys/block").join(device.path().file_name().unwrap());
    let setting = |name: &str| fs::read_to_string(folder.join(name)).unwrap().trim().to_owned();
    assert_eq!(setting("loop/dio"), "1");
    assert_eq!(setting("ro"), "1");
    assert_eq!(setting("queue/logical_block_size"), "4096");
    // Root may open it, but not write.
    let written = fs::File::options()
        .write(true)
        .open(device.path())
        .and_then(|file| file.write_at(&[0; 4096], 0));
    assert!(written.is_err());
}

#[test]
fn a_tmpfs_has_its_size_and_is_removed() {
    let tmpfs = need!(TmpFs::with_size(MIB));
    let path = tmpfs.path().to_owned();
    assert!(is_mounted(&path));
    let error = fs::write(path.join("large"), vec![1; 2 * MIB as usize]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
    drop(tmpfs);
    assert!(!is_mounted(&path) && !path.exists());
}

#[test]
fn a_zram_device_works_and_is_removed() {
    let before = fs::read_to_string("/sys/block/zram0/disksize").ok();
    let zram = need!(Zram::with_size(8 * MIB));
    let path = zram.path().to_owned();
    assert_ne!(path, PathBuf::from("/dev/zram0"), "an existing device is never used");
    holds_data(&path);
    zram.limit_memory(MIB).unwrap();
    drop(zram);
    assert!(!path.exists());
    assert_eq!(fs::read_to_string("/sys/block/zram0/disksize").ok(), before);
}

#[test]
fn an_ext4_works_and_is_removed() {
    let ext4 = need!(LoopFs::ext4(16 * MIB));
    let path = ext4.path().to_owned();
    let device = ext4.device().path().to_owned();
    let backing = ext4.device().backing().to_owned();
    assert!(is_mounted(&path));
    fs::File::create(path.join("file")).unwrap();
    holds_data(&path.join("file"));
    drop(ext4);
    assert!(!is_mounted(&path) && !path.exists());
    assert_ne!(backing_file(&device).as_deref(), backing.to_str());
}

#[test]
fn a_file_system_in_use_is_still_removed() {
    let tmpfs = need!(TmpFs::with_size(MIB));
    let path = tmpfs.path().to_owned();
    let file = fs::File::create(path.join("open")).unwrap();
    drop(tmpfs);
    assert!(!is_mounted(&path) && !path.exists());
    drop(file);
}

#[test]
fn a_throttle_slows_its_thread_only() {
    let device = need!(LoopDevice::with_size(4 * MIB, LoopOptions::default()));
    let throttle = need!(Throttle::new());
    throttle.set(device.path(), Limit::ReadOperations(50)).unwrap();
    let read = |count: u64| {
        let file = fs::File::options()
            .read(true)
            .custom_flags(libc::O_DIRECT)
            .open(device.path())
            .unwrap();
        let mut memory = vec![0; 8192];
        let shift = memory.as_ptr().align_offset(4096);
        let start = Instant::now();
        for index in 0..count {
            file.read_exact_at(&mut memory[shift..][..4096], index * 4096).unwrap();
        }
        start.elapsed()
    };
    {
        let _inside = throttle.enter().unwrap();
        assert!(read(20) >= Duration::from_millis(200));
    }
    // Inside the group, two hundred would take four seconds.
    assert!(read(200) < Duration::from_secs(2));
}

#[test]
fn faults_can_be_set_and_cleared() {
    let faulty = need!(FaultFs::with_size(MIB));
    let file = fs::File::options()
        .read(true)
        .write(true)
        .custom_flags(libc::O_DIRECT)
        .open(faulty.file())
        .unwrap();
    let mut memory = vec![7; 16384];
    let shift = memory.as_ptr().align_offset(4096);
    let buffer = &mut memory[shift..][..8192];
    let errno_of = |result: std::io::Result<usize>| result.unwrap_err().raw_os_error().unwrap();

    assert_eq!(file.write_at(buffer, 0).unwrap(), 8192);
    assert_eq!(faulty.contents(0, 8192).unwrap(), buffer);

    faulty.fail_reads(8192..8193, libc::EIO);
    assert_eq!(errno_of(file.read_at(buffer, 8192)), libc::EIO);
    assert_eq!(file.read_at(buffer, 0).unwrap(), 8192);
    assert_eq!(file.read_at(buffer, 16384).unwrap(), 8192);
    assert_eq!(file.write_at(buffer, 8192).unwrap(), 8192);

    faulty.fail_writes(0..u64::MAX, libc::ENOSPC);
    assert_eq!(errno_of(file.write_at(buffer, 0)), libc::ENOSPC);

    faulty.clear();
    assert_eq!(file.read_at(buffer, 8192).unwrap(), 8192);
    faulty.cut_every(2);
    let lengths: Vec<usize> = (0..4).map(|_| file.read_at(buffer, 0).unwrap()).collect();
    assert_eq!(
        lengths.iter().filter(|length| **length == 4096).count(),
        2,
        "{lengths:?}"
    );
    assert_eq!(lengths.iter().filter(|length| **length == 8192).count(), 2);
    assert!(faulty.seen().reads >= 8 && faulty.seen().writes >= 2);
}

#[test]
fn a_hang_lasts_until_it_is_released() {
    let faulty = need!(FaultFs::with_size(MIB));
    faulty.hang();
    let path = faulty.file().to_owned();
    let reader = std::thread::spawn(move || fs::read(path).unwrap().len());
    while faulty.seen().hanging == 0 {
        std::thread::yield_now();
    }
    assert!(!reader.is_finished());
    faulty.release();
    assert_eq!(reader.join().unwrap() as u64, MIB);
}

#[test]
fn a_hang_does_not_outlive_its_file_system() {
    let faulty = need!(FaultFs::with_size(MIB));
    faulty.hang();
    let path = faulty.file().to_owned();
    let mount = path.parent().unwrap().to_owned();
    let reader = std::thread::spawn(move || fs::read(path).is_ok());
    while faulty.seen().hanging == 0 {
        std::thread::yield_now();
    }
    drop(faulty);
    reader.join().unwrap();
    assert!(!is_mounted(&mount));
}

#[test]
fn a_panic_undoes_everything() {
    let probe = need!(TmpFs::with_size(MIB));
    drop(probe);
    let made = std::sync::Mutex::new(Vec::new());
    let result = std::panic::catch_unwind(|| {
        let tmpfs = TmpFs::with_size(MIB).unwrap();
        let faulty = FaultFs::with_size(MIB).unwrap();
        faulty.hang();
        let mounts = vec![tmpfs.path().to_owned(), faulty.file().parent().unwrap().to_owned()];
        assert!(mounts.iter().all(|path| is_mounted(path)));
        *made.lock().unwrap() = mounts;
        panic!("as a failed assertion would");
    });
    assert!(result.is_err());
    let made = made.into_inner().unwrap();
    assert_eq!(made.len(), 2);
    assert!(made.iter().all(|path| !is_mounted(path) && !path.exists()));
}

/// Creates one resource of each kind, prints where they are, and dies.
fn make_things_and_die() -> ! {
    let tmpfs = TmpFs::with_size(MIB).unwrap();
    let device = LoopDevice::with_size(MIB, LoopOptions::default()).unwrap();
    let zram = Zram::with_size(UNUSUAL).unwrap();
    let faulty = FaultFs::with_size(MIB).unwrap();
    println!(
        "made\n{}\n{}\n{}\n{}\n{}",
        tmpfs.path().display(),
        device.path().display(),
        device.backing().display(),
        zram.path().display(),
        faulty.file().parent().unwrap().display(),
    );
    std::process::abort();
}

#[test]
fn resources_of_a_killed_process_are_swept() {
    const DIES: &str = "FATHOM_TESTBED_DIE";
    if std::env::var_os(DIES).is_some() {
        make_things_and_die();
    }
    if need(Zram::with_size(MIB)).is_none() {
        return;
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "resources_of_a_killed_process_are_swept", "--nocapture"])
        .env(DIES, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut lines = text.lines().skip_while(|line| *line != "made").skip(1).map(Path::new);
    let [tmpfs, device, backing, zram, faulty] = [(); 5].map(|()| lines.next().expect(&text));
    // Another process may have swept by now: then there is less to check, but nothing is missed.
    testbed::sweep().unwrap();
    assert!(!is_mounted(tmpfs) && !tmpfs.exists());
    assert!(!is_mounted(faulty));
    assert_ne!(backing_file(device).as_deref(), backing.to_str());
    assert!(!backing.exists());
    // Another test may have the number by now, but not with this size.
    let size = Path::new("/sys/block").join(zram.file_name().unwrap()).join("disksize");
    let size = fs::read_to_string(size).unwrap_or_default();
    assert_ne!(size.trim(), UNUSUAL.to_string());
}

#[test]
fn a_body_in_its_own_process_runs_there() {
    let here = std::process::id();
    testbed::in_own_process("a_body_in_its_own_process_runs_there", || {
        assert!(std::env::var_os("FATHOM_TESTBED_OWN_PROCESS").is_some());
    });
    assert_eq!(std::process::id(), here);
}

#[test]
#[should_panic(expected = "in its own process")]
fn a_body_that_fails_in_its_own_process_fails_here() {
    testbed::in_own_process("a_body_that_fails_in_its_own_process_fails_here", || {
        std::process::exit(3);
    });
}

#[test]
#[should_panic(expected = "in its own process")]
fn a_wrong_name_does_not_pass_as_an_empty_run() {
    testbed::in_own_process("no_such_test", || {});
}
