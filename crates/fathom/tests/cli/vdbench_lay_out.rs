//! `fathom vdbench`: lay-outs and output directories on full file systems.

use crate::prelude::*;
use crate::vdbench::prepare_vdbench;

#[test]
fn a_lay_out_that_would_fill_the_file_system_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (total, available) = engine::sys::file::space(folder.path()).unwrap();
    let fillable = available
        .saturating_sub(total / 5)
        .max((total / 100).min(available / 2));
    let run = "wd=wd1,sd=*,xfersize=4k,rdpct=100\nrd=rd1,wd=wd1,iorate=10,elapsed=2,interval=1\n";
    // Each of two files fits, but both together do not.
    let size = ((fillable / 5 * 3) >> 20) << 20;
    let [a, b] = ["a", "b"].map(|name| folder.path().join(name).display().to_string());
    let cases = [
        (format!("sd=sd1,lun={a},size=100t\n"), a.clone()),
        (
            format!("sd=sd1,lun={a},size={size}\nsd=sd2,lun={b},size={size}\n"),
            format!("{a}, {b}"),
        ),
    ];
    for (sds, files) in cases {
        let ran = run_vdbench(folder.path(), &format!("{sds}{run}"), &[]);
        ran.exits(157).prints(&[
            "cannot create ",
            &format!(" at {files}: this would "),
            " of its file system",
        ]);
        assert_eq!(names(folder.path()), ["output", "parmfile"]);
    }
}

/// A second run would remove the reports of the first.
#[test]
#[cfg(target_os = "linux")]
fn an_output_directory_that_another_run_writes_to_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let parameters = "sd=sd1,lun=DIR/a,size=1m\nwd=wd1,sd=sd1,rdpct=100\nrd=rd1,wd=wd1,iorate=9,elapsed=4,interval=1\n";
    let first = spawn(&mut prepare_vdbench(folder.path(), parameters, &[]));
    let flat = folder.path().join("output/flatfile.html");
    wait_until(20, || flat.exists(), "the first run has begun");
    run_vdbench(folder.path(), parameters, &[]).expect(157, &["cannot use the output directory", "another run writes"]);
    end(first).expect(0, &["avg_2-4"]);
    assert!(fs::read_to_string(&flat).unwrap().contains("avg_2-4"));
}

#[test]
fn an_output_directory_is_used_again_after_a_full_disk() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("output");
    fs::create_dir(&output).unwrap();
    fs::write(output.join("sd1.html"), "").unwrap();
    let parameters = "sd=sd1,lun=DIR/data,size=1m\nwd=wd1,sd=sd1,xfersize=4k,rdpct=100\n\
         rd=rd1,wd=wd1,iorate=50,elapsed=2,interval=1\n";
    run_vdbench(folder.path(), parameters, &[]).expect(0, &["completed successfully"]);
    fs::write(output.join("sd1.html"), "mine").unwrap();
    run_vdbench(folder.path(), parameters, &[])
        .expect(157, &["sd1.html: Vdbench did not write the file that is there"]);
    assert_eq!(fs::read_to_string(output.join("sd1.html")).unwrap(), "mine");
}

#[test]
fn an_interrupted_lay_out_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("data");
    let parameters =
        "sd=sd1,lun=DIR/data,size=1g,openflags=o_sync\nwd=wd1,sd=sd1\nrd=rd1,wd=wd1,iorate=max,elapsed=2\n";
    let child = spawn(&mut prepare_vdbench(folder.path(), parameters, &[]));
    let has_begun = || fs::metadata(&file).is_ok_and(|metadata| metadata.len() >= 1 << 20);
    wait_until(60, has_begun, "the lay-out does not begin");
    signal(&child, "INT");
    end(child).exits(157);
    assert!(!file.exists());
}

/// As recorded from Vdbench: each loop lays out the files again.
#[test]
fn loops_are_numbered_and_begin_with_the_lay_out() {
    let folder = tempfile::tempdir().unwrap();
    let parameters = "loop=2\nsd=sd1,lun=DIR/data,size=1m\nwd=wd1,sd=sd1,xfersize=4k,rdpct=100\n\
         rd=rd1,wd=wd1,iorate=50,elapsed=2,interval=1\n";
    let ran = run_vdbench(folder.path(), parameters, &[]);
    ran.expect(0, &["completed successfully"]);
    let stamped = ran.out.lines().filter_map(|line| line.get(13..));
    let is_wanted = |line: &&str| line.starts_with('*') || line.starts_with("Starting ") || line.starts_with("lun=");
    let lines = stamped.filter(is_wanted).map(|line| line.split(';').next().unwrap());
    let stars = "*".repeat(38);
    let expected = [
        &*format!(
            "lun={} does not exist or is too small. host=localhost",
            text(&folder.path().join("data"))
        ),
        "Starting loop 1",
        "Starting RD=SD_format",
        "Starting RD=rd1",
        "Starting loop 2",
        "Starting RD=SD_format",
        "Starting RD=rd1",
        "*",
        &stars,
        "* Terminating loop run after 2 loops *",
        &stars,
        "*",
    ];
    assert_eq!(lines.collect::<Vec<_>>(), expected);
}
