//! Targets that cannot be tested are refused with a reason: missing, inaccessible or full. Error
//! codes are those of Windows.

use std::fs;
use std::time::{Duration, Instant};

use model::plan::EngineKind;
use testbed::{AssertContains, need};

use crate::calling::{self, Ran, fathom, text};
use crate::environment::{diskspd, fio, read_only_file, small_drive};
use crate::sandbox::{self, Diskspd, Sandbox, split_words};

const FILE_NOT_FOUND: i32 = 2;
const PATH_NOT_FOUND: i32 = 3;
const ACCESS_DENIED: i32 = 5;
const DISK_FULL: i32 = 112;

/// Returns the root of a drive that does not exist.
fn missing_drive() -> String {
    let letters = ('D'..='Y').rev().map(|letter| format!(r"{letter}:\"));
    let missing = letters.into_iter().find(|root| fs::metadata(root).is_err());
    missing.expect("some drive letter is free")
}

/// Runs a command line of DiskSpd with both report formats. It must fail with these lines and
/// without results.
#[track_caller]
fn check_diskspd_error(line: &str, lines: &[&str]) -> Ran {
    let mut last = None;
    for (format, end) in [("", &[][..]), ("-Rxml ", &[""])] {
        let ran = diskspd().noted(&format!("{format}{line}"));
        let errors: Vec<&str> = ran
            .err
            .lines()
            .filter(|line| !line.starts_with("hint: ") && !line.starts_with("note: "))
            .collect();
        let expected = [lines, end, &["Error generating I/O requests"]].concat();
        assert_eq!((ran.code, errors), (Some(1), expected), "{line}: {ran:#?}");
        assert!(ran.err.contains("hint: "), "{line}: {ran:#?}");
        ran.out.assert_lacks(&["Total IO", "<IOCount>"]);
        last = Some(ran);
    }
    last.unwrap()
}

const THREADS: &str = "There has been an error during threads execution";

#[test]
fn a_missing_drive_is_reported() {
    let path = format!("{}f.dat", missing_drive());
    fathom(&["run", "--target", &path, "--time", "1s"]).expect(3, &[&format!("{path} does not exist"), "help:"]);
    check_diskspd_error(
        &format!("-d60 {path}"),
        &[&format!("Error opening file: {path} [{PATH_NOT_FOUND}]"), THREADS],
    );
    check_diskspd_error(
        &format!("-d60 -c1M {path}"),
        &[&format!("Could not create the file (error code: {PATH_NOT_FOUND})")],
    );
    let colon = path.replace(':', r"\:");
    let ran = fio().run(&["--name=job", "--rw=read", "--size=1m", &format!("--filename={colon}")]);
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    let opening = format!("func=open({path}), error=No such file or directory\n");
    ran.out.assert_contains(&[&opening]);
}

#[test]
fn missing_disks_and_volumes_are_reported() {
    let root = missing_drive();
    let letter = root.trim_end_matches('\\');
    for path in [r"\\.\PhysicalDrive99", &format!(r"\\.\{letter}")] {
        for more in [&[][..], &["--read", "0"]] {
            let words = ["run", "--target", path, "--time", "1s"];
            let message = [&format!("{path} does not exist"), "`fathom targets` lists them"];
            fathom(&[&words[..], more].concat()).expect(3, &message);
        }
    }
    for name in ["#99", letter] {
        let opening = format!("Error opening file: {name} [{FILE_NOT_FOUND}]");
        check_diskspd_error(&format!("-d60 {name}"), &[&opening, THREADS]);
        check_diskspd_error(&format!("-d60 -w100 -c1M {name}"), &[&opening, THREADS]);
    }
}

#[test]
fn the_system_volume_is_never_written() {
    let drive = std::env::var("SystemDrive").unwrap_or("C:".into());
    let volume = format!(r"\\.\{drive}");
    let refused = format!("{volume} must not be written");
    for (more, message) in [
        (&[][..], &*refused),
        (&["--allow-destroy", &volume], &refused),
        (&["--dry-run"], "refused"),
    ] {
        let words = ["run", "--target", &volume, "--read", "0", "--time", "1s"];
        fathom(&[&words[..], more].concat()).expect(3, &[message, "no option overrides this"]);
    }
    let ran = diskspd().line(&format!("-d60 -w100 {drive}"));
    ran.expect(1, &[&format!("ERROR: {refused}"), "Error generating I/O requests\n"]);
    assert!(!ran.out.contains("Total IO"), "{ran:#?}");
}

/// The system searches the network for a while before it returns the error.
#[test]
fn a_share_of_a_missing_server_is_reported() {
    const PATH: &str = r"\\fathom-no-such-server.invalid\share\f.dat";
    let began = Instant::now();
    fathom(&["run", "--target", PATH, "--time", "1s"]).expect(3, &[PATH, "error: "]);
    fathom(&["run", "--target", PATH, "--size", "1M", "--time", "1s"]).expect(3, &[PATH, "error: "]);
    let ran = diskspd().line(&format!("-d60 {PATH}"));
    ran.expect(1, &[&format!("Error opening file: {PATH} ["), THREADS]);
    assert!(!ran.out.contains("Total IO"), "{ran:#?}");
    assert!(began.elapsed() < Duration::from_secs(240));
}

#[test]
fn diskspd_reports_missing_files_and_directories() {
    let sandbox = diskspd();
    let ran = sandbox.noted("-d60 missing.dat");
    let opening = format!("Error opening file: missing.dat [{FILE_NOT_FOUND}]");
    ran.expect(1, &[&opening, "-c1G"]);
    fs::create_dir(sandbox.path().join("folder")).unwrap();
    sandbox.noted("-d60 folder").exits(1).prints(&[
        &format!("Error opening file: folder [{ACCESS_DENIED}]"),
        "hint: name a file in it",
    ]);
    assert_eq!(sandbox.names(), ["folder"]);
}

fn run_as_2_3(sandbox: &Sandbox<Diskspd>, line: &str) -> Ran {
    let mut command = sandbox.command(&split_words(line));
    sandbox::finish(command.env("FATHOM_DISKSPD_VERSION", "2.3").env("FATHOM_NOTES", "1"))
}

/// Without a suitable I/O ring, the run is refused and changes no file.
#[test]
fn the_io_ring_is_used_or_refused() {
    let sandbox = diskspd();
    let profile = run_as_2_3(&sandbox, "-Rpxml -u -c1M -d1 -W0 -b4K -o4 -w50 f.dat");
    profile.expect(0, &["<IORing>true</IORing>"]);
    fs::write(sandbox.path().join("p.xml"), &profile.out).unwrap();
    let existing = sandbox.path().join("existing.dat");
    let lines = [
        "-u -c1M -d1 -W0 -b4K -o4 -w50 f.dat",
        "-u -d1 -W0 -b4K -o1 -w100 existing.dat",
        "-Xp.xml",
    ];
    let refusal = engine::unsupported_reason(EngineKind::IoRing, true);
    for line in lines {
        fs::write(&existing, [7; 65536]).unwrap();
        let ran = run_as_2_3(&sandbox, line);
        match &refusal {
            Some(refusal) => {
                let message = [&format!("ERROR: {refusal}"), "hint: omit -u to use a completion port"];
                assert!(
                    message
                        .iter()
                        .all(|line| ran.err.lines().any(|err_line| err_line == *line)),
                    "{line}: {ran:#?}"
                );
                assert!(ran.err.contains("IoRing") && ran.code == Some(1), "{line}: {ran:#?}");
                assert_eq!(sandbox.names(), ["existing.dat", "p.xml"], "{line}");
                assert!(fs::read(&existing).unwrap() == [7; 65536], "{line}");
            }
            None => assert!(ran.code == Some(0) && ran.out.contains("Total IO"), "{line}: {ran:#?}"),
        }
    }
    let target = text(&existing);
    for more in [&[][..], &["--dry-run"]] {
        let words = [
            "run", "--target", target, "--engine", "ioring", "--depth", "4", "--time", "1s", "--warm-up", "0",
        ];
        let ran = fathom(&[&words[..], more].concat());
        match engine::unsupported_reason(EngineKind::IoRing, false) {
            Some(refusal) => {
                let help = "help: use a completion port: `--engine auto`";
                ran.expect(3, &[&refusal.to_string(), help]);
            }
            None => assert_eq!(ran.code, Some(0), "{ran:#?}"),
        }
    }
}

#[test]
fn a_file_without_write_permission_is_refused() {
    let path = need!(read_only_file());
    let file = text(&path);
    check_diskspd_error(
        &format!("-d60 -w100 {file}"),
        &[&format!("Error opening file: {file} [{ACCESS_DENIED}]"), THREADS],
    );
    let words = [
        "run", "--target", file, "--read", "0", "--allow-overwrite", file, "--time", "1s",
    ];
    fathom(&words).expect(3, &[file, "denied", "help:"]);
}

#[test]
fn a_full_disk_is_reported() {
    let drive = need!(small_drive());
    let path = drive.join("f.dat");
    let file = text(&path);
    let ran = check_diskspd_error(
        &format!("-d60 -c200M {file}"),
        &[&format!("Error setting end of file (error code: {DISK_FULL})")],
    );
    assert!(ran.err.contains("MiB"), "{ran:#?}");
    assert!(!path.exists());
    fathom(&["run", "--target", file, "--size", "200M", "--time", "1s"]).expect(3, &[file, "help:"]);
    assert!(!path.exists());
    let named = drive.join("job.0.0");
    let folder = text(&drive).replace(':', r"\:");
    let ran = fio().run(&[
        "--name=job",
        "--rw=write",
        "--size=200m",
        &format!("--directory={folder}"),
    ]);
    let _ = fs::remove_file(named);
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    assert!(ran.err.to_lowercase().contains("space"), "{ran:#?}");
    // The results are reported even if they cannot be saved.
    let ballast = drive.join("ballast");
    let filled = vec![1; 1 << 20];
    let mut out = fs::File::create(&ballast).unwrap();
    while std::io::Write::write_all(&mut out, &filled).is_ok() {}
    while std::io::Write::write_all(&mut out, &filled[..512]).is_ok() {}
    drop(out);
    let saved = drive.join("r.fathom");
    let ran = calling::run_briefly("null", &["--save", text(&saved)]);
    let was_saved = saved.exists();
    fs::remove_file(&ballast).unwrap();
    let _ = fs::remove_file(&saved);
    assert!(ran.code == Some(3) || ran.code == Some(5), "{ran:#?}");
    assert!(ran.err.contains("cannot write") && !was_saved, "{ran:#?}");
    assert_eq!(calling::names(&drive), Vec::<String>::new());
}

/// Without BypassIO, as under Wine, such a command line fails. It reports file and cause.
#[test]
fn bypass_io_is_used_or_refused() {
    let sandbox = diskspd();
    for switch in ["-Sy", "-SY"] {
        let ran = run_as_2_3(&sandbox, &format!("{switch} -Su -c1M -d1 -W0 -b4K f.dat"));
        match ran.code {
            Some(0) => ran.expect(0, &["Total IO"]),
            _ => ran.expect(1, &["cannot use BypassIO for reads of f.dat", THREADS]),
        };
    }
}
