//! File names that are long, or have non-Latin letters or spaces.

use crate::calling::{fathom, run_briefly, text};
use crate::environment::{diskspd, fio};

const NAMES: [&str; 4] = ["тестовый файл.dat", "試験 データ.dat", "größe €.dat", "disk 💾.dat"];

#[test]
fn native_commands_accept_and_print_unicode_names() {
    let sandbox = diskspd();
    for name in NAMES {
        let path = sandbox.path().join(name);
        let target = text(&path);
        let saved = sandbox.path().join(format!("{name}.fathom"));
        let ran = run_briefly(target, &["--size", "1M", "--save", text(&saved), "--out", "json"]);
        let json = ran.expect(0, &[]).json();
        assert!(
            json["jobs"][0]["total"]["operations"].as_u64().unwrap() > 10,
            "{ran:#?}"
        );
        fathom(&["show", text(&saved)]).expect(0, &[name]);
        assert_eq!(archive::load(&saved).unwrap().plan.targets[0].path, target);
    }
}

#[test]
fn diskspd_reports_contain_unicode_names() {
    for name in NAMES {
        let sandbox = diskspd();
        for format in ["-Rtext", "-Rxml"] {
            let ran = sandbox.run(&[format, "-c1M", "-d1", "-W0", name]);
            ran.succeeds_silently().prints(&[name]);
        }
        assert_eq!(sandbox.names(), [name]);
    }
}

#[test]
fn fio_jobs_accept_unicode_names() {
    let sandbox = fio();
    for name in NAMES {
        let target = format!("--filename={name}");
        let ran = sandbox.run(&["--name=job", &target, "--size=1m", "--rw=randwrite"]);
        ran.succeeds_silently();
        assert!(sandbox.names().iter().any(|found| found == name), "{ran:#?}");
    }
}

/// The path exceeds Windows' limit without a prefix, and some letters have two UTF-16 units.
#[test]
fn files_with_long_paths_can_be_tested() {
    let sandbox = diskspd();
    let deep = (0..8).fold(sandbox.path(), |path, _| {
        path.join("папка с именем длиной в сорок букв 💾 📀 xx")
    });
    let verbatim = std::path::PathBuf::from(format!(r"\\?\{}", text(&deep)));
    std::fs::create_dir_all(&verbatim).unwrap();
    let path = verbatim.join("файл 💾.dat");
    assert!(text(&path).encode_utf16().count() > 300);
    run_briefly(text(&path), &["--size", "1M"]).expect(0, &["IOPS", text(&path)]);
    let ran = sandbox.run(&["-d1", "-W0", "-b4K", text(&path)]);
    ran.succeeds_silently().prints(&[text(&path), "Total IO"]);
    let made = verbatim.join("сделан.dat");
    let creating = ["-c1M", "-d1", "-W0", "-b4K", "-w100", text(&made)];
    sandbox.run(&creating).succeeds_silently();
    assert_eq!(std::fs::metadata(&made).unwrap().len(), 1 << 20);
}

/// A lossy conversion would lead to another file.
#[test]
fn names_that_are_not_valid_unicode_are_refused() {
    use std::ffi::{OsStr, OsString};
    use std::os::windows::ffi::OsStringExt;
    let half = OsString::from_wide(&[0x66, 0xd800, 0x66]);
    let words = ["run", "--target"].map(OsStr::new);
    let expected = [r#"argument 3 is not valid Unicode: "f\u{d800}f""#, "help:"];
    fathom(&[&words[..], &[&half]].concat()).expect(4, &expected);
    for tool in ["diskspd", "fio"] {
        fathom(&[OsStr::new(tool), &half]).expect(1, &["argument 2 is not valid Unicode"]);
    }
}
