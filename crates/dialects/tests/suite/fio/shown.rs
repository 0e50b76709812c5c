//! Descriptions of options and engines.

use dialects::fio::table::{Kind, rows};

use crate::fio::support::{all, job, reading};

#[track_caller]
fn check(line: &str, code: u8, stdout: &[&str], stderr: &[&str]) {
    let (ended, read) = all(reading(line));
    assert_eq!(read.stdout().collect::<Vec<_>>(), stdout, "{line}");
    assert_eq!(read.stderr().collect::<Vec<_>>(), stderr, "{line}");
    assert_eq!(ended, code, "{line}");
}

#[test]
fn engines() {
    check("--enghelp=psync", 1, &["IO engine psync has no options"], &[]);
    check(
        "--enghelp=pvsync2,nowait",
        0,
        &[
            "              nowait: Fail operations that would block (RWF_NOWAIT).",
            "                type: boolean value (opt=1)",
            "             default: 0",
            "               range: min=0, max=1",
            "",
        ],
        &[],
    );
    check("--enghelp=pvsync2,nosuch", 1, &[""], &["No such command: nosuch"]);
    let (_, read) = all(reading("--enghelp"));
    let list: Vec<_> = read.stdout().collect();
    assert_eq!(list[0], "Available IO engines:");
    assert!(list.contains(&"\tpsync") && !list.contains(&"\trbd"));
}

#[test]
fn the_closest_option_is_explained() {
    let (_, read) = all(reading("--cmdhelp=dirct"));
    let lines: Vec<_> = read.stdout().collect();
    assert_eq!(lines[0], " - showing closest match");
    assert!(lines[1].trim_start().starts_with("direct:"));
    assert_eq!(read.stderr().collect::<Vec<_>>(), ["No such command: dirct"]);
}

#[test]
fn every_option_is_listed_and_explained() {
    let (_, read) = all(reading("--cmdhelp=all"));
    let list: Vec<_> = read.stdout().collect();
    for row in rows().filter(|row| row.engines.is_empty()) {
        if matches!(row.kind, Kind::Removed | Kind::Ignored) {
            continue;
        }
        let listed = list
            .iter()
            .any(|line| line.split(':').next().unwrap().trim() == row.name);
        assert!(listed, "{}", row.name);
        let (code, explained) = all(reading(&format!("--cmdhelp={}", row.name)));
        assert_eq!(code, 0, "{}", row.name);
        assert!(explained.stdout().count() >= 3, "{}", row.name);
    }
}

#[test]
fn every_example_works() {
    for row in rows().filter(|row| !matches!(row.kind, Kind::Removed | Kind::Unread(_))) {
        let engine = row.engines.iter().find(|engine| **engine != "windowsaio");
        let line = match (row.kind, row.engines, engine) {
            (_, ["windowsaio"], _) | (_, _, None) if !row.engines.is_empty() => continue,
            (Kind::Flag(_), ..) => format!("--{}", row.name),
            _ if ["name", "directory", "profile"].contains(&row.name) => continue,
            _ => format!("--{}={}", row.name, row.example),
        };
        let engine = engine.map(|engine| format!("--ioengine={engine}")).unwrap_or_default();
        job(&format!("{engine} {line}"));
    }
}
