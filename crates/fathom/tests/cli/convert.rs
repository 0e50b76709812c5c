//! `fathom convert` prints text on stdout and lost settings on stderr. Its exit code shows whether
//! any were lost.

use crate::prelude::*;

const PROFILE: &str = "<Profile><TimeSpans><TimeSpan><Duration>7</Duration><DisableAffinity>true</DisableAffinity><Targets><Target>\
                       <Path>a.dat</Path><BlockSize>8192</BlockSize><Random>8192</Random></Target></Targets></TimeSpan></TimeSpans>\
                       </Profile>";

#[test]
fn a_converted_line_of_diskspd_is_a_valid_command() {
    let ran = fathom_line("convert --to native diskspd -b8K -d60 -W2 -t4 -o32 -r -w30 -Sh -n -Zr a.dat");
    ran.expect(0, &["differs: DiskSpd: random numbers"]);
    let native = "--target a.dat --read 70 --block 8k --depth 32 --workers 4 --time 60s --cache direct-through";
    assert_eq!(ran.out, format!("fathom run {native}\n"));
    ran.err.assert_lacks(&["lost:"]);
    // The result is a valid command of this program; only the file is missing.
    fathom_line(&format!("run {native} --dry-run")).expect(3, &["a.dat"]);
}

#[test]
fn lost_settings_are_listed_and_shown_by_the_exit_code() {
    let ran = fathom_line("convert --to fio diskspd -d5 -C3 -r -n -ysgo a.dat");
    ran.exits(6).prints(&[
        "runtime=5s",
        "lost: DiskSpd -C: 3s; fio has no equivalent\n",
        "lost: DiskSpd -ys: the event `go`",
    ]);
    let start = "# fio --name='timespan 1' --filename=a.dat";
    assert!(ran.out.starts_with(start), "{}", ran.out);
    ran.out.assert_lacks(&["lost"]);
}

#[test]
fn rates_of_reads_and_writes_determine_the_mix() {
    let job = "--name=a --filename=a.dat --size=1m --rw=randrw --rate_iops=700,300";
    fathom_line(&format!("convert --to diskspd fio {job}")).expect(6, &[" -w30 -g1000i "]);
}

/// fio caps a synchronous engine's depth, so the plan does not show the requested depth.
#[test]
fn lint_examines_the_requests_of_a_line_in_another_dialect() {
    let lint = |line: &str| fathom_line(&format!("lint {line}"));
    lint("fio --name=a --filename=a.dat --size=1m --ioengine=psync --iodepth=32")
        .expect(0, &["warning SYNC-ENGINE (a): depth 32 with the engine psync"]);
    let silenced = lint("--silence sync-engine fio --name=a --filename=a.dat --size=1m --ioengine=psync --iodepth=32");
    assert!(!silenced.out.contains("SYNC-ENGINE"), "{silenced:#?}");
    lint("diskspd -t1 -o1 -w100 -c1M -d60 a.dat").expect(0, &["warning SIMPLE-TEST"]);
    lint("diskspd -b8K -08 -d1 a.dat").expect(4, &["invalid option: '-08'", "the letter makes it `-o8`"]);
    fathom_line("convert --to fio diskspd -b8K -L:\\x.dat").expect(4, &["did you mean `-L L:\\x.dat`"]);
    lint("diskspd -b 8K -c1M -d60 a.dat").expect(4, &["`-b8K`"]);
    let minute = lint("--target a.dat --size 1m --time 60s");
    assert!(!minute.out.contains("SHORT-RUN"), "{minute:#?}");
    lint("--target a.dat --size 1m --time 29s").expect(0, &["warning SHORT-RUN"]);
}

#[test]
fn flags_without_a_dialect_are_native() {
    let flags = ["--target", "a.dat", "--depth", "8"];
    let named = fathom(&[&["convert", "native"], &flags[..]].concat());
    let alone = fathom(&[&["convert"], &flags[..]].concat());
    assert_eq!(alone.expect(0, &["iodepth=8"]).out, named.out);
    fathom(&["convert", "--tarhget", "a.dat"]).expect(4, &["--tarhget"]);
    fathom(&["lint", "--target", "null", "--depth", "8"]).expect(0, &[]);
}

#[test]
fn without_a_target_dialect_both_others_are_printed() {
    let ran = fathom_line("convert native --target a.dat --depth 8 --time 20s");
    ran.exits(0).prints(&[
        "# fio\n",
        "iodepth=8\n",
        "# DiskSpd\ndiskspd -b4K -d20 -W2 -r -o8 -Su -n -L a.dat\n",
    ]);
}

#[test]
fn the_dialect_of_a_file_follows_from_its_name() {
    let folder = need!(Directory::fast());
    let path = |name: &str| text(&folder.path().join(name)).to_owned();
    fs::write(path("p.xml"), PROFILE).unwrap();
    fs::write(path("j.toml"), "[[job]]\ntarget = \"a.dat\"\ntime = \"9s\"\n").unwrap();
    let profile = fathom(&["convert", "--to", "native", &path("p.xml")]);
    let flags = "--target a.dat --block 8k --depth 2 --time 7s --warm-up 5s --cache buffered";
    profile.expect(0, &[flags]);
    let job = fathom(&["convert", "--to", "diskspd", &path("j.toml")]);
    job.expect(0, &["diskspd -b4K -d9 -W2 -r -o1 -Su -n -L a.dat\n"]);
    let saved = path("r.fathom");
    fathom_line(&format!("run --target null --time 100ms --warm-up 0 -q --save {saved}")).expect(0, &[]);
    fathom(&["convert", "--to", "fio", &saved]).expect(0, &["ioengine=null", "runtime=100ms"]);
    let job = "[j]\nfilename=a.dat\nsize=1m\nrw=randread\nnorandommap\nbs=8k\ndirect=1\nruntime=7\ntime_based\n";
    fs::write(path("job.fio"), job).unwrap();
    let job = fathom(&["convert", "--to", "diskspd", &path("job.fio")]);
    job.expect(0, &["diskspd -b8K -c1M -d7", " -r ", "a.dat", "differs: fio filename"]);
    fathom(&["convert", "--to", "native", &path("none.fio")]).expect(3, &["cannot read", "none.fio"]);
    fathom(&["convert", "--to", "native", &path("none.toml")]).expect(3, &["cannot read", "none.toml"]);
    fathom(&["convert", &path("none")]).expect(3, &["cannot read"]);
}

#[test]
fn wrong_values_are_reported_in_the_words_of_their_dialect() {
    let check = |words: &[&str], parts: &[&str]| {
        let ran = fathom(&[&["convert", "--to", "fio"], words].concat());
        assert_eq!(ran.expect(4, parts).out, "");
    };
    check(&["diskspd", "-b8K"], &["need to provide at least one filename"]);
    check(&["diskspd", "-q", "a.dat"], &["invalid option: '-q'"]);
    check(&["native", "--blok", "4k"], &["--blok", "fathom run --help"]);
    check(&["native", "--block", "4KB"], &["did you mean 4KiB?"]);
    check(&["a.xml", "b.xml"], &["name one file"]);
}

#[test]
fn every_result_contains_its_equivalents_in_both_other_dialects() {
    let ran = fathom_line("run --target null --time 100ms --warm-up 0 --cool-down 1ms --out json -q");
    let json = ran.expect(0, &[]).json();
    let equivalents = json["equivalents"].as_array().unwrap();
    let [fio, diskspd] = &equivalents[..] else {
        panic!("{json:#}")
    };
    assert_eq!(
        (&fio["dialect"], &diskspd["dialect"]),
        (&"fio".into(), &"diskspd".into())
    );
    assert_eq!(fio["form"], "job_file");
    fio["text"].as_str().unwrap().assert_contains(&["ioengine=null\n"]);
    let one_line = fio["one_line"].as_str().unwrap();
    assert!(one_line.starts_with("fio --name=job1 "), "{one_line}");
    let lost = serde_json::json!(["native cool-down: 1ms; fio has no equivalent"]);
    assert_eq!(fio["lost"], lost);
    assert_eq!(diskspd["form"], "command_line");
    assert!(!diskspd["lost"].as_array().unwrap().is_empty());
}

/// Other tools take no directory as a target, and create a file only with its size.
#[test]
fn equivalents_of_a_directory_name_a_file_and_its_size() {
    let folder = need!(Directory::fast());
    let path = text(folder.path());
    let options = "--size 16M --time 100ms --warm-up 0 --out json -q";
    let json = fathom_line(&format!("run --target {path} {options}"))
        .expect(0, &[])
        .json();
    let line = |number: usize| json["equivalents"][number]["text"].as_str().unwrap();
    line(0).assert_contains(&[format!("filename={path}/test.dat\n").as_str(), "size=16m\n"]);
    line(1).assert_contains(&[" -c16M ", format!(" {path}/test.dat").as_str()]);
}

/// Job files of fio are converted to fio. The output has the same meaning, and converting it again
/// does not change it.
#[test]
fn fio_job_files_keep_their_meaning() {
    let folder = need!(Directory::fast());
    let jobs = data("fio/jobs");
    let mut files = names(Path::new(&jobs));
    files.retain(|name| name.ends_with(".fio"));
    assert!(files.len() > 15);
    for name in ["d06", "d07", "d17"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    fs::copy(format!("{jobs}/18-common.inc"), folder.path().join("18-common.inc")).unwrap();
    for name in files {
        fs::copy(format!("{jobs}/{name}"), folder.path().join(&name)).unwrap();
        let convert = |file: &str| {
            let mut command = command(&["convert", "--to", "fio", file]);
            finish(command.current_dir(folder.path()).env("SZ", "64").env("RW", "write"))
        };
        let first = convert(&name);
        assert!(!first.err.contains("lost: "), "{name}\n{}{}", first.out, first.err);
        fs::write(folder.path().join("again.fio"), &first.out).unwrap();
        let second = convert("again.fio");
        assert_eq!(second.out, first.out, "{name}\n{}", second.err);
    }
}

#[test]
fn the_dialect_may_follow_the_source() {
    let folder = need!(Directory::fast());
    let job = folder.path().join("job.toml");
    let content = "[[job]]\ntarget = \"a.dat\"\nsize = \"1m\"\ndepth = 4\ntime = \"5s\"\n";
    fs::write(&job, content).unwrap();
    let before = fathom(&["convert", "--to", "fio", text(&job)]);
    for behind in [&["--to", "fio"][..], &["--to=fio"][..]] {
        let ran = fathom(&[&["convert", text(&job)], behind].concat());
        assert_eq!((ran.code, &ran.out, &ran.err), (before.code, &before.out, &before.err));
    }
    // The native dialect has two names.
    let native = fathom(&["convert", "--to", "native", text(&job)]);
    let named = fathom(&["convert", text(&job), "--to", "fathom"]);
    assert_eq!((named.code, &named.out), (native.code, &native.out));
    let known = "fio, diskspd, native, vdbench or iometer";
    fathom(&["convert", text(&job), "--to", "bonnie"]).expect(4, &["unknown dialect `bonnie`", known]);
}

#[test]
fn the_loss_of_a_simulated_device_is_reported_in_plain_words() {
    let folder = need!(Directory::fast());
    let job = folder.path().join("job.toml");
    let content = "[[job]]\ntarget = \"simulated:d\"\ntime = \"5s\"\n[simulated.d]\nservers = 64\niops-cap = 4000\n";
    fs::write(&job, content).unwrap();
    let device = "a simulated device (size 1g, servers 64, iops-cap 4000)";
    let ran = fathom(&["convert", "--to", "fio", text(&job)]);
    ran.exits(6)
        .prints(&[&format!("lost: native target: {device}; fio: the null engine, 1 TiB")]);
    ran.err.assert_lacks(&["SimulatedDevice"]);
}

#[test]
fn parameter_files_of_vdbench_are_written() {
    let ran = fathom_line("convert --to vdbench --target /d/f --size 1g --read 70 --depth 4 --time 9s --warm-up 3s");
    let sd = "sd=sd1,lun=/d/f,size=1g,threads=4,openflags=o_direct";
    ran.expect(6, &["lost: native content", sd]);
    let end = "rd=run1,wd=wd1,iorate=max,elapsed=9,interval=1,warmup=3\n";
    assert!(ran.out.ends_with(end), "{}", ran.out);
    let tree = "convert --to vdbench --target /d --kind files --mix read";
    fathom_line(tree).expect(6, &["lost: the whole test"]);
}

/// What is written runs: the file is created with the size that it has in the job.
#[test]
fn configurations_of_iometer_are_written_and_run() {
    let folder = need!(Directory::fast());
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (target, config, results) = (at("f.dat"), at("a.icf"), at("r.csv"));
    let words = format!("convert --to iometer --target {target} --size 2m --read 50 --depth 3 --time 1s --warm-up 0s");
    let written = fathom_line(&words);
    written.exits(6).prints(&[
        "lost: native target: /",
        "only `fathom iometer` takes paths",
        "1,localhost",
    ]);
    assert_eq!(written.err.matches("lost: ").count(), 1, "{}", written.err);
    fs::write(&config, &written.out).unwrap();
    fathom(&["iometer", &config, &results]).expect(0, &[]);
    assert_eq!(fs::metadata(&target).unwrap().len(), 2 << 20);
    let rows = fs::read_to_string(&results).unwrap();
    assert!(rows.contains("4096,100,50,100,0,1,4096,0"), "{rows}");
    let disk = rows.lines().find(|line| line.starts_with("DISK,")).unwrap();
    assert_eq!(disk.split(',').nth(1), Some(target.as_str()));
    // It is a source too, and nothing is lost on the way to the present version.
    fathom(&["convert", "--to", "iometer", &config]).expect(0, &["Version 1.1.0"]);
    let tree = "convert --to iometer --target /d --kind files --mix read";
    fathom_line(tree).expect(6, &["lost: the whole test; Iometer has no trees of files"]);
}

/// The findings of one test have the same rules in every format.
#[test]
fn reports_of_lint_agree() {
    let words = ["--target", "a.dat", "--size", "1m", "--time", "1s"];
    let lint = |more: &[&str]| fathom(&[&["lint"], more, &words[..]].concat());
    let json = lint(&["--json"]);
    let found = json.expect(0, &[]).json();
    let findings = found.as_array().unwrap().iter();
    let rules: Vec<&Value> = findings.map(|finding| &finding["rule"]).collect();
    assert!(rules.contains(&&"SHORT-RUN".into()), "{rules:?}");
    let sarif = lint(&["--out", "sarif"]).expect(0, &[]).json();
    let results = sarif["runs"][0]["results"].as_array().unwrap().iter();
    assert_eq!(results.map(|result| &result["ruleId"]).collect::<Vec<_>>(), rules);
    // Warnings fail a build only if they fail the command.
    for (strict, code) in [(&["--out", "junit"][..], 0), (&["--out", "junit", "--strict"], 1)] {
        let junit = lint(strict);
        let junit = &junit.expect(code, &["SHORT-RUN"]).out;
        assert_eq!(junit.matches("<testcase").count(), rules.len());
        assert_eq!(junit.contains("<failure"), code == 1, "{junit}");
    }
    lint(&["--out", "html"]).expect(4, &["formats: text, json, sarif, junit"]);
}
