//! Settings that Vdbench would ignore or cannot mean: each is a note or an error.

use dialects::vdbench::Run;
use testbed::{AssertContains, With};

use super::{DATA, Fixture, read, run};

const RAW: &str = "sd=sd1,lun=/a,size=64m\nwd=wd1,sd=sd1";
const FILES: &str = "fsd=f,anchor=/t,files=5,sizes=8k\nfwd=w,fsd=f";

/// The notes about a text.
fn notes(args: &str, text: &str) -> Vec<String> {
    let mut env = Fixture::default().with(|fixture| fixture.text = Some(text.to_owned()));
    let read = read(&format!("-f parmfile {args}"), &mut env);
    read.unwrap_or_else(|error| panic!("{text}: {error}")).1.notes
}

/// The first run of a text.
fn first_run(text: String) -> Run {
    let mut env = Fixture::default().with(|fixture| fixture.text = Some(text));
    read("-f parmfile", &mut env).unwrap().2.remove(0)
}

/// The error of a text, with its help.
fn error(text: &str) -> String {
    let mut env = Fixture {
        folder: DATA.to_owned(),
        text: Some(text.to_owned()),
        ..Fixture::default()
    };
    match read("-f parmfile", &mut env) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("{text} is accepted"),
    }
}

#[test]
fn parameters_of_the_other_kind_of_runs_are_noted() {
    let raw = |rd: &str| notes("", &format!("{RAW}\nrd=rd1,wd=wd1,iorate=9,elapsed=4,{rd}"));
    let files = |rd: &str| notes("", &format!("{FILES}\nrd=rd1,fwd=w,fwdrate=9,elapsed=4,{rd}"));
    for (rd, name) in [
        ("format=yes", "format"),
        ("foroperations=(read,write)", "foroperations"),
        ("operation=read", "operation"),
        ("fordepth=(1,2)", "fordepth"),
        ("fwdrate=50", "fwdrate"),
    ] {
        let note = format!("rd=rd1: `{name}=` has no effect: it affects only runs on files (`fwd=`)");
        assert_eq!(raw(rd), [note], "{rd}");
    }
    for (rd, name) in [
        ("forseekpct=(0,100)", "forseekpct"),
        ("forrhpct=50", "forrhpct"),
        ("iorate=50", "iorate"),
        ("hitarea=2m", "hitarea"),
    ] {
        let note = format!("rd=rd1: `{name}=` has no effect: it affects only raw runs (`wd=`)");
        assert_eq!(files(rd), [note], "{rd}");
    }
    let both = "forxfersize=(4k,8k),forthreads=2,forrdpct=50,compratio=2,openflags=o_sync,distribution=uniform";
    assert_eq!((raw(both), files(both)), (Vec::new(), Vec::new()));
    // One note for all runs that inherit it.
    let text = format!("{RAW}\nrd=default,format=yes,iorate=9,elapsed=4\nrd=rd1,wd=wd1\nrd=rd2,wd=wd1");
    assert_eq!(notes("", &text).len(), 1);
}

#[test]
fn each_kind_of_runs_has_its_own_rate() {
    let text = format!("{FILES}\nrd=rd1,fwd=w,fwdrate=50,iorate=900,elapsed=4");
    assert_eq!(
        first_run(text).start_text(false),
        "rd1; elapsed=4; fwdrate=50; For loops: None"
    );
    let missing = error(&format!("{RAW}\nrd=rd1,wd=wd1,fwdrate=50,elapsed=4"));
    missing.assert_contains(&["iorate= parameter is missing."]);
}

#[test]
fn variables_that_no_line_uses_are_noted() {
    let text = format!("{RAW}\n* $comment\nrd=rd1,wd=wd1,iorate=9,elapsed=$elapsed");
    assert_eq!(notes("elapsed=8", &text), Vec::<String>::new());
    let found = notes("elapsed=8 elapsde=60 comment=1", &text);
    assert_eq!(found.len(), 2, "{found:?}");
    found.join("\n").assert_contains(&[
        "the variable `elapsde=60` of the command line has no effect: no line contains $elapsde",
        "`comment=1`",
    ]);
}

#[test]
fn a_parameter_behind_a_blank_is_a_remark() {
    let text = format!("{RAW}\nrd=rd1,wd=wd1, iorate=max\niorate=9,elapsed=4");
    let found = notes("", &text);
    assert_eq!(
        found,
        ["parmfile:3: `iorate=max` is a remark and has no effect: a blank ends a line"]
    );
    let commented = format!("{RAW}\nrd=rd1,wd=wd1, # iorate=max\niorate=9,elapsed=4 seconds");
    assert_eq!(notes("", &commented), Vec::<String>::new());
    error(&format!("{RAW}\nrd=rd1,\twd=wd1,iorate=max,elapsed=4"))
        .assert_contains(&["`wd=wd1,iorate=max,elapsed=4` is a remark: remove the blank"]);
}

#[test]
fn numbers_without_a_meaning_are_refused() {
    let in_wd = |wd: &str| error(&format!("{RAW},{wd}\nrd=rd1,wd=wd1,iorate=9,elapsed=4"));
    let in_rd = |rd: &str| error(&format!("{RAW}\nrd=rd1,wd=wd1,elapsed=4,{rd}"));
    for (wd, expected) in [
        ("rdpct=(10,20)", "Invalid contents for 'rdpct=': 10,20"),
        ("rdpct=-5", "Invalid contents for 'rdpct=': -5"),
        ("seekpct=-5", "Invalid contents for 'seekpct=': -5"),
        (
            "rdpct=70,wrpct=70",
            "wd=wd1: rdpct=70 and wrpct=70 do not add up to 100",
        ),
        ("skew=(10,20)", "Invalid contents for 'skew=': 10,20"),
    ] {
        in_wd(wd).assert_contains(&[expected]);
    }
    for (rd, expected) in [
        ("iorate=9,interval=0", "Invalid contents for 'interval=': 0"),
        ("iorate=9,pause=-5", "Invalid contents for 'pause=': -5"),
        ("iorate=9,pause=5%", "Invalid contents for 'pause=': -5"),
        ("iorate=9,maxdata=-5", "Invalid contents for 'maxdata=': -5"),
        ("iorate=9,forcompratio=0.5", "Invalid contents for 'compratio=': 0.5"),
        (
            "iorate=-100",
            "rd=rd1: a rate of 100% is a percentage of the last observed rate",
        ),
        (
            "iorate=50%",
            "rd=rd1: a rate of 50% is a percentage of the last observed rate",
        ),
    ] {
        in_rd(rd).assert_contains(&[expected]);
    }
    let run = "rd=rd1,wd=wd1,iorate=9,elapsed=4";
    error(&format!("compratio=0.5\n{RAW}\n{run}")).assert_contains(&["Invalid contents for 'compratio=': 0.5"]);
    error(&format!("loop=0\n{RAW}\n{run}")).assert_contains(&["Invalid contents for 'loop=': 0"]);
    error(&format!("{RAW}\nrd=,wd=wd1,iorate=9")).assert_contains(&["Invalid contents for 'rd=': it is empty"]);
    // A percentage of the rate of an earlier run.
    let later = format!("{RAW}\n{run}\nrd=rd2,wd=wd1,iorate=(50%,9),elapsed=4");
    assert_eq!(notes("", &later), Vec::<String>::new());
}

#[test]
fn the_last_percentage_of_reads_or_writes_counts() {
    let reads = |default: &str, wd: &str| {
        let text = format!(
            "sd=sd1,lun=/a,size=64m\nwd=default,{default}\nwd=wd1,sd=sd1,{wd}\nrd=rd1,wd=wd1,iorate=9,elapsed=4"
        );
        first_run(text).workloads[0].0.rdpct
    };
    assert_eq!(reads("wrpct=20", "rdpct=70"), 70);
    assert_eq!(reads("rdpct=70", "wrpct=20"), 80);
    assert_eq!(reads("rdpct=70", "rdpct=60,wrpct=40"), 60);
    assert_eq!(reads("rdpct=50%", "seekpct=-1"), 50);
}

#[test]
fn forms_of_input_are_understood_or_explained() {
    let rd = "rd=rd1,wd=wd1,elapsed=4";
    assert!(run("-f parmfile", &format!("\u{feff}{RAW}\n{rd},iorate=9")).is_ok());
    assert_eq!(
        first_run(format!("{RAW}\n{rd},iorate=1e2")).start_text(false),
        "rd1; I/O rate: 100; elapsed=4; For loops: None"
    );
    error(&format!("{RAW}\n{rd},iorate=99999999999999999999"))
        .assert_contains(&["Invalid contents for 'iorate=': 99999999999999999999 is too large"]);
    error(&format!("sd=sd1,lun=/a,size=99999999999t\n{rd}"))
        .assert_contains(&["Invalid contents for 'size=': 99999999999t is too large"]);
    error(&format!("{RAW}\n{rd},iorate=\"9")).assert_contains(&["Unmatched quotation mark", "add the closing `\"`"]);
    error("include=none").assert_contains(&["include=none file not found"]);
    error("include=parameters").assert_contains(&["cannot read include=parameters: ", "s a directory"]);
}

#[test]
fn runs_on_files_that_would_do_nothing_or_too_much_are_refused() {
    let refused = |fsd: &str, fwd: &str| {
        let text = format!("fsd=f,anchor=/t,{fsd}\nfwd=w,fsd=f,{fwd}\nrd=rd1,fwd=w,fwdrate=50,elapsed=4");
        run("-f parmfile", &text).err().unwrap_or_default()
    };
    let empty = "rd=rd1: not supported: reads or writes of the empty files of fsd=f";
    assert_eq!(refused("files=5,size=0", "operation=read"), empty);
    assert_eq!(refused("files=5,size=0", "rdpct=50"), empty);
    assert_eq!(refused("files=5,size=0", "operation=getattr"), "");
    assert_eq!(refused("files=5,sizes=(0,50,4k,50)", "operation=read"), "");
    let wide = "fsd=f: a tree of depth=32 and width=1000 has more than ";
    let found = refused("depth=32,width=1000,files=5,totalsize=1m", "operation=read");
    assert!(found.starts_with(wide), "{found}");
}
