//! Windows paths on other systems: they are refused, with the path to use instead. On Linux
//! `C:\data\f.dat` is a valid file name: a test would silently create it in the current directory
//! and measure the wrong disk.

use super::profile::{Profile, Target};
use crate::Diagnostic;

/// The diagnostics for the paths of a profile, one for each path.
pub(super) fn check_paths(profile: &Profile, windows: bool) -> Vec<Diagnostic> {
    let mut problems: Vec<Diagnostic> = Vec::new();
    if windows {
        return problems;
    }
    for target in profile.time_spans.iter().flat_map(|span| &span.targets) {
        let diagnostic = check_path(target);
        problems.extend(diagnostic.filter(|diagnostic| !problems.contains(diagnostic)));
    }
    let targets = profile.time_spans.iter().flat_map(|span| &span.targets);
    let sources = targets.filter_map(|target| target.source.as_ref()?.file.as_deref());
    for path in sources.filter(|path| equivalent_path(path).is_some()) {
        let diagnostic = refuse_windows_path(path, &equivalent_path(path).unwrap_or_default());
        if !problems.contains(&diagnostic) {
            problems.push(diagnostic);
        }
    }
    problems
}

/// True for a physical drive (`#1`), a volume (`F:`) or another Windows device (`\\.\…`).
pub(super) fn is_device(path: &str) -> bool {
    let number = path.strip_prefix('#').unwrap_or_default();
    let drive_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    drive_number || path.starts_with(r"\\.\") || (drive_letter(path).is_some() && path.len() == 2)
}

fn check_path(target: &Target) -> Option<Diagnostic> {
    let path = target.path.as_str();
    if let Some(number) = path.strip_prefix('#') {
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        let help = "`#n` is a Windows physical drive; name a device of this system, such as /dev/sdb or /dev/nvme1n1 \
                    (`fathom targets` lists them)";
        return is_number.then(|| refuse(path, help));
    }
    if path.starts_with(r"\\.\") {
        let help = "this is a Windows device; name a device of this system, such as /dev/sdb or /dev/nvme1n1 \
                    (`fathom targets` lists them)";
        return Some(refuse(path, help));
    }
    if ["/?", "/h", "/help"].contains(&path) {
        let help = "on this system `/` begins a path, not a switch; `-?` shows the help";
        return Some(refuse(path, help));
    }
    if let Some(letter) = drive_letter(path).filter(|_| path.len() == 2) {
        let help = format!(
            "`{letter}:` is a Windows volume; name a device of this system, such as /dev/sdb1 (`fathom targets` lists \
             them), or a file on it"
        );
        return Some(refuse(path, help));
    }
    equivalent_path(path).map(|equivalent| refuse_windows_path(path, &equivalent))
}

fn refuse(path: &str, help: impl Into<String>) -> Diagnostic {
    Diagnostic::new(format!("Error opening file: {path} [2]")).help(help)
}

fn refuse_windows_path(path: &str, instead: &str) -> Diagnostic {
    let help = format!(
        "this is a Windows path; on this system use {instead}, or a path where the disk to be tested is mounted"
    );
    refuse(path, help)
}

/// The drive letter of a path.
fn drive_letter(path: &str) -> Option<char> {
    let mut characters = path.chars();
    let letter = characters.next().filter(char::is_ascii_alphabetic)?;
    (characters.next() == Some(':')).then_some(letter)
}

/// The equivalent of a Windows path; `None` for other paths.
pub(super) fn equivalent_path(path: &str) -> Option<String> {
    let with_slashes = |rest: &str| rest.replace('\\', "/");
    if drive_letter(path).is_some() {
        let rest = with_slashes(&path[2..]);
        return Some(match rest.starts_with('/') {
            true => rest,
            false => format!("./{rest}"),
        });
    }
    if let Some(share) = path.strip_prefix(r"\\") {
        let rest = share.split_once('\\').map_or("", |(_, rest)| rest);
        return Some(format!("/mnt/{}", with_slashes(rest)));
    }
    path.contains('\\')
        .then(|| with_slashes(path.strip_prefix(r".\").unwrap_or(path)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diskspd::profile::TimeSpan;

    #[test]
    fn windows_paths_are_reported_with_the_path_to_type() {
        let check =
            |path: &str, expected: Option<&str>| assert_eq!(equivalent_path(path).as_deref(), expected, "{path}");
        check(r"C:\ClusterStorage\CSV01\IO.dat", Some("/ClusterStorage/CSV01/IO.dat"));
        check(r"F:\diskspd0.tmp", Some("/diskspd0.tmp"));
        check("d:f.dat", Some("./f.dat"));
        check(r"\\server\share\f.dat", Some("/mnt/share/f.dat"));
        check(r"dir with space\file.dat", Some("dir with space/file.dat"));
        check(r".\test.dat", Some("test.dat"));
        check("/data/f.dat", None);
        check("test_001.dat", None);
        check("a:b:c", Some("./b:c"));
    }

    #[test]
    fn drives_and_volumes_are_devices() {
        for path in ["#0", "#12", "F:", r"\\.\PhysicalDrive1"] {
            assert!(is_device(path), "{path}");
        }
        for path in ["#", "#x", "F:f", r"F:\", "/dev/sdb", r"\\server\share\f"] {
            assert!(!is_device(path), "{path}");
        }
    }

    #[test]
    fn each_path_is_reported_once_and_only_off_windows() {
        let target = |path: &str| Target {
            path: path.into(),
            ..Target::default()
        };
        let span = TimeSpan {
            targets: vec![
                target("#1"),
                target("d:"),
                target(r"C:\a"),
                target(r"C:\a"),
                target("/dev/sdb"),
                target("#x"),
            ],
            ..TimeSpan::default()
        };
        let profile = Profile {
            time_spans: vec![span],
            ..Profile::default()
        };
        let diagnostic = check_paths(&profile, false);
        let lines: Vec<&str> = diagnostic.iter().map(|problem| problem.what.as_str()).collect();
        assert_eq!(
            lines,
            [
                "Error opening file: #1 [2]",
                "Error opening file: d: [2]",
                r"Error opening file: C:\a [2]"
            ]
        );
        assert!(
            diagnostic
                .iter()
                .all(|problem| problem.help.as_deref().is_some_and(|help| help.contains('/')))
        );
        assert!(check_paths(&profile, true).is_empty());
    }
}
