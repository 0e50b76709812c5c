//! `fathom vdbench`: console, output files and exit codes.

use std::fs;
use std::path::Path;

use crate::support::{command, fathom, finish, names, text};

fn vdbench(folder: &Path, parameters: &str, arguments: &[&str]) -> crate::support::Ran {
    fs::write(folder.join("parmfile"), parameters).unwrap();
    let words = [&["vdbench", "-f", "parmfile"], arguments].concat();
    finish(command(&words).current_dir(folder))
}

#[test]
fn a_run_writes_the_files_of_vdbench() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("data");
    let parameters = format!(
        "sd=sd1,lun={},size=4m,threads=2\nwd=wd1,sd=sd1,xfersize=4k,rdpct=50\nrd=rd1,wd=wd1,iorate=200,elapsed=3,interval=1\n",
        text(&file)
    );
    let ran = vdbench(folder.path(), &parameters, &[]);
    let starts = [
        "Starting RD=SD_format; I/O rate: Uncontrolled MAX; elapsed=(none); For loops: threads=2 iorate=max",
        "Starting RD=rd1; I/O rate: 200; elapsed=3; For loops: None",
        "Vdbench execution completed successfully. Output directory: ",
        "\nVdbench distribution: vdbench50407 ",
    ];
    ran.expect(0, &starts);
    assert_eq!(fs::metadata(&file).unwrap().len(), 4 << 20);
    let output = folder.path().join("output");
    for name in [
        "summary", "totals", "flatfile", "histogram", "logfile", "errorlog", "parmfile", "status", "skew", "sd1", "wd1",
    ] {
        let page = fs::read_to_string(output.join(format!("{name}.html"))).unwrap();
        assert!(
            page.starts_with(&format!("<title>Vdbench output/{name}.html</title><pre>\n")),
            "{name}"
        );
    }
    // The lay-out is 4 MiB in blocks of 128 KiB; rows of the run are three intervals and their average.
    let flat = fs::read_to_string(output.join("flatfile.html")).unwrap();
    let rows: Vec<Vec<&str>> = flat
        .lines()
        .filter(|line| !line.starts_with(['*', '<']))
        .map(|line| line.split_whitespace().collect())
        .collect();
    let column = |name: &str| rows[0].iter().position(|column| *column == name).unwrap();
    let of = |run: &str, name: &str| -> Vec<&str> {
        rows.iter()
            .filter(|row| row[column("Run")] == run)
            .map(|row| row[column(name)])
            .collect()
    };
    assert_eq!(of("SD_format", "rate"), ["32.0000", "32.0000"]);
    assert_eq!(of("rd1", "Interval"), ["1", "2", "3", "avg_2-3"]);
    assert_eq!(of("rd1", "reqrate")[0], "200.0000");
    assert_eq!(of("rd1", "threads")[0], "2");
    // Two runs take the same directory; a page that is not Vdbench's stays.
    fs::write(output.join("mine.html"), "<html>").unwrap();
    vdbench(folder.path(), &parameters, &["-s"])
        .expect(0, &["Simulating RD=rd1; I/O rate: 200; elapsed=3; For loops: None"]);
    assert!(names(&output).contains(&"mine.html".to_owned()));
    assert!(
        !names(&output).contains(&"sd1.html".to_owned()),
        "a simulation has no report of an SD"
    );
}

#[test]
fn wrong_input_ends_with_157_and_the_text() {
    let folder = tempfile::tempdir().unwrap();
    vdbench(folder.path(), "sd=sd1,lun=/x,size=1m\nwd=wd1,sd=sd1,xfresize=4k\n", &[]).expect(
        157,
        &[
            "Unknown keyword: xfresize",
            "help: did you mean `xfersize`?",
            "parmfile:2",
        ],
    );
    vdbench(folder.path(), "", &["-z"]).expect(157, &["Invalid execution parameter: '-z'"]);
    fathom(&["vdbench"]).expect(157, &["No input parameters specified"]);
    let idle = "sd=sd1,lun=/x,size=1m\nwd=wd1,sd=sd1\nrd=rd1,wd=wd1,iorate=0\n";
    vdbench(folder.path(), idle, &["-s"]).expect(157, &["iorate= parameter is missing."]);
    // A comment in Latin-1 is no reason to refuse a file.
    let mut latin = b"* Gr\xf6\xdfe\n".to_vec();
    latin.extend(idle.replace("iorate=0", "iorate=max").bytes());
    fs::write(folder.path().join("latin"), latin).unwrap();
    finish(command(&["vdbench", "-f", "latin", "-s"]).current_dir(folder.path())).expect(0, &["Simulating RD=rd1"]);
    let script = "\"$0\" vdbench -f <(cat latin) -s";
    let mut piped = std::process::Command::new("bash");
    let piped = piped
        .args(["-c", script, crate::support::PROGRAM])
        .current_dir(folder.path());
    finish(piped).expect(0, &["Simulating RD=rd1"]);
    vdbench(folder.path(), "", &["-f", "/dev/null"]).expect(157, &["cannot read parameter file /dev/null"]);
    let traversal = "sd=../x,lun=/tmp/x,size=1m\nwd=wd1,sd=*\nrd=rd1,wd=wd1,iorate=max";
    vdbench(folder.path(), traversal, &[]).expect(157, &["cannot name a report file after `../x`"]);
}

#[test]
fn other_commands_take_parameter_files() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("test.parm");
    fs::write(
        &file,
        "sd=sd1,lun=/tmp/nowhere,size=64m\nwd=wd1,sd=sd1,rdpct=70\nrd=rd1,wd=wd1,iorate=curve,elapsed=60\n",
    )
    .unwrap();
    fathom(&["convert", "--to", "fio", text(&file)]).expect(
        6,
        &["filename=/tmp/nowhere", "rwmixwrite=30", "points of `iorate=curve`"],
    );
    fathom(&["lint", "vdbench", "-f", text(&file)]).expect(0, &["BUFFERED (sd1)"]);
}
