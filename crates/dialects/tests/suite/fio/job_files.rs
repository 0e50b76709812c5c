//! Job files: lines, sections, inheritance, order, substitution, includes, hints.

use dialects::fio::values::Amount;

use crate::fio::support::{TestEnv, all, file, reading, reading_in};

#[test]
fn comments_blanks_and_names_are_read() {
    let jobs = file("# c\n; c\n\n[j one] ; c\n  rw =write # c\nsize=1m;2m\n[x");
    assert_eq!(jobs.len(), 2);
    assert_eq!((jobs[0].section.as_str(), jobs[1].section.as_str()), ("j one", ""));
    assert_eq!(jobs[0].options.pattern.size, Some(Amount::Bytes(1 << 20)));
    assert_eq!((jobs[0].location.line, jobs[0].location.file.as_str()), (4, "a.fio"));
}

#[test]
fn globals_accumulate_and_apply_to_later_jobs() {
    let jobs = file("[global]\nbs=8k\n[a]\nname=other\n[globalfoo]\niodepth=4\n[b]\nbs=1k\n[b]\n");
    let notices: Vec<_> = jobs
        .iter()
        .map(|job| (job.name(), job.options.pattern.bs.read, job.options.queue.iodepth))
        .collect();
    assert_eq!(notices, [("other", 8192, 1), ("b", 1024, 4), ("b", 8192, 4)]);
    assert_eq!(jobs[0].section, "a");
    assert_eq!(jobs[1].given, [("bs".to_string(), "1k".to_string())]);
}

#[test]
fn some_options_apply_first_and_some_last() {
    let jobs = file("[a]\nfilename=f\nbs=4k\nkb_base=1000\nbs=8k\n");
    assert_eq!(jobs[0].options.pattern.bs.read, 8000);
    let names: Vec<_> = jobs[0].given.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["kb_base", "bs", "bs", "filename"]);
    let mut env = TestEnv::with_file("a.fio", "[a]\nfilename=f\ndirectory=d\n");
    env.folders.push("d".into());
    let (_, read) = all(reading_in(&mut env, "--parse-only a.fio"));
    assert_eq!(read.jobs[0].options.files.filename, ["d/f"]);
}

/// fio's own examples name directories that exist only on their authors' machines.
#[test]
fn directories_are_not_checked_if_a_file_is_only_parsed() {
    let mut env = TestEnv::with_file("a.fio", "[a]\nthreads=1\ndirectory=/nowhere\n");
    for option in ["--parse-only", "--showcmd"] {
        let (code, read) = all(reading_in(&mut env, &format!("{option} a.fio")));
        assert_eq!(code, 0, "{:?}", read.notices);
        assert!(read.jobs[0].options.job.thread);
    }
    let (code, _) = all(reading_in(&mut env, "a.fio"));
    assert_eq!(code, 1);
}

#[test]
fn unsupported_engines_and_options_are_refused_only_for_a_run() {
    let text = "[a]\nioengine=rbd\nrbdname=x\nbusy_poll=1\n[b]\nioengine=rbd\npool=p\n[c]\nfdp=1\n[d]\nfdp=0\n";
    let fdp = "fio: option fdp is not supported by this program: it needs an NVMe drive with data placement (FDP or streams) \
               and passthrough commands (io_uring_cmd)";
    for option in ["--parse-only", "--showcmd"] {
        let (code, read) = all(reading_in(
            &mut TestEnv::with_file("a.fio", text),
            &format!("{option} a.fio"),
        ));
        let notices: Vec<_> = read.stderr().collect();
        assert_eq!((code, notices), (0, vec!["fio: engine rbd not loadable", fdp]));
        let given = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            read.jobs[0].given[1..],
            [given("rbdname", "x"), given("busy_poll", "1")]
        );
    }
    for (text, line) in [(text, "fio: engine rbd not loadable"), ("[c]\nfdp=1\n", fdp)] {
        let (code, read) = all(reading_in(&mut TestEnv::with_file("a.fio", text), "a.fio"));
        assert!(
            code == 1 && read.stderr().any(|notice| notice == line),
            "{:?}",
            read.notices
        );
    }
}

#[test]
fn an_unsupported_engine_accepts_only_its_own_options() {
    let outcome = |line: &str| all(reading(line)).0;
    assert_eq!(
        outcome("--parse-only --ioengine=net --listen --port=1 --name=a --proto=udp"),
        0
    );
    assert_eq!(outcome("--parse-only --ioengine=net --name=a --rbdname=x"), 1);
    assert_eq!(outcome("--parse-only --ioengine=net --name=a --port=x"), 1);
    assert_eq!(outcome("--ioengine=net --parse-only --name=a"), 1);
    for text in [
        "[a]\nioengine=nbd\nport=1\n",
        "[a]\nioengine=net\nport=x\n",
        "[a]\nioengine=net\nport\n",
    ] {
        let (code, _) = all(reading_in(&mut TestEnv::with_file("a.fio", text), "--parse-only a.fio"));
        assert_eq!(code, 1, "{text}");
    }
}

#[test]
fn private_options_may_precede_their_engine() {
    let jobs = file("[a]\nfixedbufs\nioengine=io_uring\nhipri=1\n");
    assert!(jobs[0].options.engine.fixedbufs && jobs[0].options.engine.hipri);
}

#[test]
fn variables_keywords_and_arithmetic() {
    let mut env = TestEnv::with_file(
        "a.fio",
        "[${N}]\nsize=8*$mb_memory\nbs=$pagesize\niodepth=128*4\nruntime=30*${N}\nfilename=${N}-${M}f\n\
         numjobs=($ncpus*2)\n",
    );
    env.variables.insert("N".into(), "2".into());
    let (code, read) = all(reading_in(&mut env, "--parse-only a.fio"));
    assert_eq!(code, 0, "{:?}", read.notices);
    let job = &read.jobs[0];
    assert_eq!(job.section, "${N}");
    assert_eq!(job.options.pattern.size, Some(Amount::Bytes(192_840)));
    assert_eq!((job.options.pattern.bs.read, job.options.queue.iodepth), (4096, 128));
    assert_eq!((job.options.job.runtime, job.options.job.numjobs), (30_000_000, 4));
    assert_eq!(job.options.files.filename, ["2-f"]);
}

#[test]
fn includes_are_relative_to_the_including_file() {
    let mut env = TestEnv::with_file("dir/a.fio", "[a]\nbs=1k\ninclude b.inc\niodepth=3\n");
    env.files.insert("dir/b.inc".into(), "bs=2k\ninclude c.inc".into());
    env.files.insert("c.inc".into(), "thread # here\n".into());
    let (code, read) = all(reading_in(&mut env, "--parse-only dir/a.fio"));
    assert_eq!(code, 0, "{:?}", read.notices);
    let options = &read.jobs[0].options;
    assert_eq!(options.pattern.bs.read, 2048);
    assert_eq!(options.queue.iodepth, 3);
    assert!(options.job.thread);
}

#[test]
fn a_recursive_include_ends() {
    let mut env = TestEnv::with_file("a.fio", "[a]\nbs=1k\ninclude b.inc\n");
    env.files.insert("b.inc".into(), "include b.inc\n".into());
    let (_, read) = all(reading_in(&mut env, "--parse-only a.fio"));
    assert_eq!(read.stderr().last(), Some("Error 1 while parsing include file b.inc"));
}

#[test]
fn unselected_sections_are_skipped() {
    let mut env = TestEnv::with_file("a.fio", "[global]\nbs=1k\n[a]\nbs=0\n[b]\n");
    let (code, read) = all(reading_in(&mut env, "--parse-only --section=b a.fio"));
    assert_eq!(code, 0, "{:?}", read.notices);
    assert_eq!((read.jobs.len(), read.jobs[0].options.pattern.bs.read), (1, 1024));
}

/// Quadratic time would take minutes.
#[test]
fn a_hundred_thousand_sections_are_read_in_seconds() {
    let sections: String = (0..100_000).map(|number| format!("[j{number}]\nrw=read\n")).collect();
    let begun = std::time::Instant::now();
    let jobs = file(&format!("[global]\nsize=1m\n{sections}"));
    assert_eq!((jobs.len(), jobs[99_999].name()), (100_000, "j99999"));
    assert!(begun.elapsed().as_secs() < 30, "{:?}", begun.elapsed());
}

#[test]
fn typos_are_reported_with_file_and_line() {
    for (text, hint) in [
        ("[a]\niodepht=1\n", "a.fio:2: `iodepht`: did you mean `iodepth`?"),
        ("[a]\n\nblcksize=4k\n", "a.fio:3: `blcksize`: did you mean `blocksize`?"),
        (
            "[a]\nioengine=libaio\nfixedbufs=1\n",
            "a.fio:3: `fixedbufs` is an option of io_uring, but the engine is libaio",
        ),
    ] {
        let (code, read) = all(reading_in(&mut TestEnv::with_file("a.fio", text), "a.fio"));
        assert_eq!((code, read.hints), (1, vec![hint.to_string()]), "{text}");
    }
}

#[test]
fn every_mistake_of_a_section_is_reported() {
    let text = "[a]\nsize\nbs=\nqqqqqq\ndescription=${X}\ndirect=2\n[b]\nbs=0\n";
    let (code, read) = all(reading_in(&mut TestEnv::with_file("a.fio", text), "a.fio"));
    assert_eq!(code, 1);
    let expected = [
        "Option size requires an argument",
        "fio: failed parsing size",
        "fio: failed parsing bs=",
        "fio: failed parsing description=${X}",
        "max value out of range: 2 (1 max)",
        "fio: failed parsing direct=2",
        "Bad option <qqqqqq>",
        "fio: job a dropped",
    ];
    assert_eq!(read.stderr().collect::<Vec<_>>(), expected);
}

#[test]
fn contradictions_are_not_syntax_errors() {
    let text = "[a]\nioengine=nosuch\nrate=1\nrate_iops=1\n";
    let (code, read) = all(reading_in(&mut TestEnv::with_file("a.fio", text), "--parse-only a.fio"));
    assert_eq!((code, read.notices.len()), (0, 0));
    let (code, read) = all(reading_in(&mut TestEnv::with_file("a.fio", text), "--showcmd a.fio"));
    assert_eq!((code, read.notices.len()), (0, 1));
    let (code, _) = all(reading_in(&mut TestEnv::with_file("a.fio", text), "a.fio"));
    assert_eq!(code, 1);
}
