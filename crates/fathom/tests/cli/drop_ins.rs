//! What the drop-in modes of all tools have in common: detection of their files, and pages.

use crate::prelude::*;

/// A test of each tool that reads `DIR/data`, with the extension of its files, the name in
/// messages, and the command that runs it. The result file of Iometer is `DIR/r.csv`.
const TESTS: [(&str, &str, &str, &str); 4] = [
    (
        "fio",
        "an fio job file",
        "fathom fio FILE",
        "[a]\nfilename=DIR/data\nrw=randread\nsize=1m\nruntime=1\ntime_based\n",
    ),
    (
        "xml",
        "a DiskSpd profile",
        "fathom diskspd -XFILE",
        "<Profile><TimeSpans><TimeSpan><Duration>1</Duration><Warmup>0</Warmup><Targets><Target><Path>DIR/data</Path>\
         <BlockSize>4096</BlockSize><ThreadsPerFile>1</ThreadsPerFile></Target></Targets></TimeSpan></TimeSpans></Profile>",
    ),
    (
        "parm",
        "a Vdbench parameter file",
        "fathom vdbench -f FILE",
        "sd=sd1,lun=DIR/data\nwd=wd1,sd=sd1,rdpct=100\nrd=rd1,wd=wd1,iorate=50,elapsed=2,interval=1\n",
    ),
    (
        "icf",
        "an Iometer configuration",
        "fathom iometer FILE RESULTS.csv",
        "Version 1.1.0\n'TEST SETUP ====\n'Run Time\n'\thours      minutes    seconds\n\t0          0          1\n\
         'END test setup\n'ACCESS SPECIFICATIONS ====\n'Access specification name,default assignment\n\ta,NONE\n\
         'size,% of size,% reads,% random,delay,burst,align,reply\n\t4096,100,100,100,0,1,0,0\n'END access \
         specifications\n\
         'MANAGER LIST ====\n'Manager ID, manager name\n\t1,localhost\n'Manager network address\n\t127.0.0.1\n'Worker\n\
         \tw\n'Worker type\n\tDISK\n'Assigned access specs\n\ta\n'End assigned access specs\n'Target assignments\n\
         'Target\n\tDIR/data\n'Target type\n\tDISK\n'End target\n'End target assignments\n'End worker\n'End manager\n\
         'END manager list\nVersion 1.1.0\n",
    ),
];

fn write_tests(folder: &Path) {
    fs::write(folder.join("data"), vec![5; 1 << 20]).unwrap();
    for (extension, _, _, content) in TESTS {
        fs::write(folder.join(extension), content.replace("DIR", text(folder))).unwrap();
    }
}

/// Files of Vdbench usually have no extension.
#[test]
fn files_of_other_tools_are_detected_by_their_content() {
    let folder = tempfile::tempdir().unwrap();
    write_tests(folder.path());
    for (extension, what, run_it, _) in TESTS {
        let path = folder.path().join(extension);
        let file = text(&path);
        let run_it = run_it.replace("FILE", file);
        fathom(&["run", file]).expect(4, &[&format!("`{file}` is {what}"), &format!("`{run_it}`")]);
        fathom(&["lint", file]).expect(0, &["SHORT-RUN"]);
        let converted = fathom(&["convert", "--to", "native", file]);
        let data = folder.path().join("data");
        converted.out.assert_contains(&[text(&data)]);
        let lint_it = format!("`fathom lint {file}` examines it");
        let targets = format!("targets: {}", data.display());
        fathom(&["explain", file]).expect(0, &[&format!("{file}: {what}"), "reads", &targets, &lint_it]);
        let judged = format!("{file} is {what}, which has no results to judge");
        for option in [["--require", "iops>=1"], ["--cap", "VM:iops=100"]] {
            let words = [&["explain"], &option[..], &[file]].concat();
            fathom(&words).expect(4, &[&judged, "fathom verify --require"]);
        }
        let unused = ["lint", "--cap", "VM:iops=100,job=nosuch", file];
        fathom(&unused).expect(4, &["the limit `VM` applies to no job"]);
        let swept = ["sweep", file, "--over", "depth=1", "--time", "1s"];
        fathom(&swept).expect(0, &["depth 1: "]);
    }
}

/// Reports of other tools may have the extensions of their job files. Their pages can be replaced.
#[test]
fn a_report_with_the_extension_of_a_job_file_is_a_report() {
    let folder = tempfile::tempdir().unwrap();
    let recorded = data("diskspd/runs/01-plain-sequential-read/result.xml");
    fs::copy(recorded, folder.path().join("r.xml")).unwrap();
    let run = |words: &[&str]| fathom_in(folder.path(), words);
    run(&["explain", "r.xml"]).expect(0, &["DiskSpd 2.2.0 issued"]);
    for _ in 0..2 {
        run(&["report", "r.xml"]).expect(0, &["r.html"]);
    }
}

#[test]
fn lint_prints_the_hints_and_warnings_of_diskspd() {
    let folder = tempfile::tempdir().unwrap();
    write_tests(folder.path());
    let data = folder.path().join("data");
    for (line, exit, parts) in [
        ("-L -D120 DATA", 0, &["note OPTION-TYPO: `-D120` means"][..]),
        (
            "-r DATA",
            0,
            &["note NO-LATENCY: DiskSpd reports no latency without `-L`"],
        ),
        (
            "-r -L -O32 DATA",
            0,
            &["note OPTION-EFFECT: -O has no effect without -F"],
        ),
        (
            "-L -t2 DATA",
            0,
            &["warning OPTION-EFFECT: target access pattern will not be sequential, consider -si"],
        ),
        (
            "-r -L DATA-missing",
            3,
            &["error TARGET", "create the file with -c<size>"],
        ),
        (
            "\u{2013}r -08 DATA",
            4,
            &[
                "error: invalid option: '-08'",
                "typographic dash",
                "the letter makes it `-o8`",
            ],
        ),
        ("-L:\\IO.dat", 4, &["did you mean `-L L:\\IO.dat`"]),
        ("-t2 -w200 DATA", 4, &["error: "]),
    ] {
        let ran = fathom_line(&format!("lint diskspd {}", line.replace("DATA", text(&data))));
        ran.expect(exit, parts);
        let repeats = ran.err.contains("error: WARNING") || ran.out.contains("WARNING:");
        assert!(!repeats, "{line}: {}", ran.err);
    }
}

/// verify issues the load of a file, if that has a rate.
#[test]
fn verify_issues_the_load_of_a_file() {
    let folder = tempfile::tempdir().unwrap();
    write_tests(folder.path());
    let path = |name: &str| text(&folder.path().join(name)).to_owned();
    let verify = |file: &str, more: &[&str]| {
        let words = ["verify", "--require", "iops>=40", "--preflight", "0", &path(file)];
        fathom(&[&words[..], more].concat())
    };
    for file in ["fio", "icf"] {
        let refused = format!("cannot verify the load of {}", path(file));
        verify(file, &[]).expect(4, &[&refused, "part of it has no rate"]);
    }
    let data = path("data");
    let fio = format!("[a]\nfilename={data}\nrw=randread\nsize=1m\nruntime=1\ntime_based\nrate_iops=30\nnumjobs=2\n");
    fs::write(folder.path().join("paced"), fio).unwrap();
    let ran = verify("paced", &["--out", "json"]);
    assert!(ran.out.contains("\"rate_iops\": 60"), "{}", ran.out);
    let two = format!(
        "sd=sd1,lun={data},threads=3\nsd=sd2,lun={data}2,size=1m\nwd=wd1,sd=sd*,rdpct=100,xfersize=8k\n\
         rd=rd1,wd=wd1,iorate=max,elapsed=2\nrd=rd2,wd=wd1,iorate=80,elapsed=2,warmup=1,interval=1\n"
    );
    fs::write(folder.path().join("two"), two).unwrap();
    let ran = verify("two", &["--time", "2s"]);
    let load = "80 operations per second of 8 KiB, up to 11 in flight: 1 s of warm-up, 2 s measured";
    ran.err.assert_contains(&["has 2 runs: verify issues run 2", load]);
    split_words(&ran.out).join(" ").assert_contains(&[
        "(2 targets): 8 KiB random reads, buffered; 80 per second by 2 workers",
        "only run 2 was tested",
    ]);
    assert!(
        !folder.path().join("data2").exists(),
        "verify removes the files that it created"
    );
    verify("two", &["--block", "4k"]).expect(4, &["cannot use --block", "change the file"]);
    verify("two", &["--rate", "50"]).expect(4, &["cannot use --rate", "has a rate of its own"]);
    verify("two", &[&data]).expect(4, &["cannot use another TARGET"]);
}

/// Configurations of Iometer have no rate, and often name drives of Windows.
#[test]
fn targets_of_iometer_are_mapped_for_verify_and_sweep() {
    let folder = tempfile::tempdir().unwrap();
    write_tests(folder.path());
    let config = folder.path().join("windows.icf");
    let text_of_config = fs::read_to_string(folder.path().join("icf")).unwrap();
    let data = folder.path().join("data");
    fs::write(&config, text_of_config.replace(text(&data), "D:")).unwrap();
    let map = format!("D:={}", text(&data));
    let verify = |more: &[&str]| {
        let line = format!("verify {} --require iops>=40 --preflight 0 --out json", text(&config));
        fathom(&[&split_words(&line)[..], more].concat())
    };
    verify(&[]).expect(4, &["cannot test D:", "map it to a path here: `--map"]);
    verify(&["--map", &map]).expect(4, &["part of it has no rate", "name one with --rate IOPS"]);
    let ran = verify(&["--map", &map, "--rate", "60", "--time", "1s"]);
    assert!(ran.out.contains("\"rate_iops\": 60"), "{ran:?}");
    let sweep = |file: &Path, more: &[&str]| {
        let words = ["sweep", text(file), "--dry-run", "--over", "depth=1,2"];
        fathom(&[&words[..], more].concat())
    };
    sweep(&config, &[]).expect(4, &["cannot sweep D:", "or map it: `--map"]);
    sweep(&config, &["--map", &map]).expect(0, &["4 KiB random reads"]);
    let parm = folder.path().join("parm");
    let refused = "cannot use --map: no Iometer configuration is named";
    sweep(&parm, &["--map", &map]).expect(4, &[refused]);
    fathom(&["verify", text(&data), "--require", "iops>=1", "--map", &map]).expect(4, &[refused]);
}

#[test]
fn every_tool_writes_a_page() {
    let folder = tempfile::tempdir().unwrap();
    write_tests(folder.path());
    let parameters = fs::read_to_string(folder.path().join("parm")).unwrap();
    let two_runs = format!("{parameters}rd=rd2,wd=wd1,iorate=50,elapsed=2,interval=1\n");
    fs::write(folder.path().join("two"), two_runs).unwrap();
    for (line, page) in [
        ("fio --report fio.html fio", "fio.html"),
        ("diskspd -Xxml --report=xml.html", "xml.html"),
        ("vdbench -f two --report parm.html", "parm.2.html"),
        ("iometer icf r.csv --report icf.html", "icf.html"),
    ] {
        fathom_in(folder.path(), &split_words(line)).expect(0, &[]);
        let page = fs::read_to_string(folder.path().join(page)).unwrap();
        for part in ["<main>", "IOPS", "How to repeat", "Equivalent commands"] {
            assert!(page.contains(part), "{line}: {part}");
        }
    }
    // A copy with the name of the tool takes only the arguments of the tool.
    let variable = |path: &str| {
        let mut command = command(&["vdbench", "-f", "parm"]);
        finish(command.current_dir(folder.path()).env("FATHOM_REPORT", path))
    };
    variable("data").expect(157, &["cannot write FATHOM_REPORT to data: it is a target of the test"]);
    assert_eq!(fs::read(folder.path().join("data")).unwrap(), vec![5; 1 << 20]);
    variable("variable.html").expect(0, &[]);
    assert!(folder.path().join("variable.html").exists());
    fathom(&["vdbench", "-f", "parm", "--report"]).expect(1, &["missing file name"]);
}

/// The tools overwrite their own outputs. The native result and the page are files of fathom.
#[test]
fn a_native_result_replaces_no_file_of_the_user() {
    let folder = tempfile::tempdir().unwrap();
    write_tests(folder.path());
    let at = |name: &str| folder.path().join(name);
    fs::write(at("mine"), "mine").unwrap();
    let foreign = "cannot write mine: it exists and is not a file that fathom wrote";
    for (line, code) in [
        ("fio fio --output=o", 1),
        ("diskspd -d1 -W0 data", 1),
        ("vdbench -f parm", 157),
    ] {
        let run = |name: &str, value: &str| {
            let mut command = command(&split_words(line));
            finish(command.current_dir(folder.path()).env(name, value))
        };
        for name in ["FATHOM_RESULT", "FATHOM_REPORT"] {
            run(name, "mine").expect(code, &[foreign]);
        }
        assert_eq!(fs::read_to_string(at("mine")).unwrap(), "mine");
        (0..2).for_each(|_| {
            run("FATHOM_RESULT", "result").exits(0);
        });
    }
}

/// The real tools have no such option. Under their names, fathom prints their errors.
#[test]
fn help_is_printed_for_the_modes_of_fathom() {
    let folder = tempfile::tempdir().unwrap();
    for (tool, page, code, error) in [
        ("diskspd", "docs/diskspd.md", 3, "need to provide at least one filename"),
        ("vdbench", "docs/vdbench.md", 157, "Invalid execution parameter: '-h'"),
        ("iometer", "docs/iometer.md", 1, "there is no switch -h"),
    ] {
        for option in ["-h", "--help"] {
            let help = fathom(&[tool, option]);
            assert_eq!(help.expect(0, &["Usage:", page, "--report FILE"]).err, "");
        }
        let link = folder.path().join(tool);
        std::os::unix::fs::symlink(PROGRAM, &link).unwrap();
        let mut by_name = Command::new(&link);
        finish(by_name.arg("-h").current_dir(folder.path())).expect(code, &[error]);
        fathom_in(folder.path(), &[tool, "-h", "-h"]).exits(code);
    }
}
