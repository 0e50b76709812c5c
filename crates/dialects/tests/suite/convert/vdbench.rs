//! Conversions to Vdbench parameter files.

use dialects::convert::{self, Conversion, to_iometer, to_native, to_vdbench};
use dialects::vdbench::lower_all;
use model::plan::{DepthScope, Dialect, FileService, Plan, StreamTarget, TargetId};
use testbed::AssertContains;

use crate::convert::support::{DIALECTS, flags, job_file, texts};
use crate::vdbench::{Fixture, read};

pub fn parse_plan(text: &str) -> Plan {
    parse_plan_on(text, None)
}

/// The plan on LUNs of this size.
pub fn parse_plan_on(text: &str, size: Option<u64>) -> Plan {
    let mut env = Fixture {
        text: Some(text.to_owned()),
        size,
        ..Fixture::default()
    };
    let (_, parameters, runs) = read("-f parmfile", &mut env).unwrap();
    lower_all(&runs, &parameters, &env, 1).unwrap().0
}

/// Two SDs of different size and depth, several sizes, a mix, a part of an SD, shares and rates.
#[test]
fn a_parameter_file_survives_a_round_trip() {
    let text = "data_errors=1\n\
                sd=sd1,lun=/d/one,size=64m,threads=4,openflags=(o_direct,o_dsync)\n\
                sd=sd2,lun=\"/d/t-w o\",size=32m,threads=2\n\
                sd=sd3,lun=/d/one,size=64m,threads=4,openflags=o_direct,range=(16777216,33554432)\n\
                wd=wd1,sd=sd1,xfersize=4k,rdpct=70,seekpct=100,skew=75\n\
                wd=wd2,sd=sd1,xfersize=64k,rdpct=0,seekpct=0,skew=25\n\
                wd=wd3,sd=sd2,xfersize=(4k,50,16k,50),rdpct=100,seekpct=20\n\
                wd=wd4,sd=sd3,xfersize=8k,rdpct=100,seekpct=100\n\
                rd=run1,wd=(wd1,wd2),iorate=400,elapsed=4,interval=1\n\
                rd=run2,wd=wd3,iorate=max,elapsed=3,interval=1,warmup=2\n\
                rd=run3,wd=wd4,iorate=100,distribution=deterministic,elapsed=3,interval=1\n";
    let found = to_vdbench(&parse_plan(text));
    assert_eq!((found.text.as_str(), texts(&found.lost)), (text, Vec::new()));
    assert!(found.differs.is_empty(), "{:?}", found.differs);
}

#[test]
fn differences_to_vdbench_are_listed() {
    let words = "--target /d/one --size 1g --read 70 --block 8k --workers 4 --depth 8 --time 60s --warm-up 0s";
    let found = to_vdbench(&flags(words));
    assert_eq!(
        found.text,
        "data_errors=1\nsd=sd1,lun=/d/one,size=1g,threads=32,openflags=o_direct\n\
         wd=wd1,sd=sd1,xfersize=8k,rdpct=70,seekpct=100\nrd=run1,wd=wd1,iorate=max,elapsed=61,interval=1\n"
    );
    let lost = texts(&found.lost).join("\n");
    lost.assert_contains(&[
        "warm-up: 0s; Vdbench: 1s",
        "workers: 4 with one target each; Vdbench: workers: 1",
        "depth: 8; Vdbench: 32",
    ]);
    // A target that is used whole has no size, so its size is not listed either.
    let device = to_vdbench(&flags("--target /dev/nvme1n1 --depth 4 --time 60s --warm-up 5s"));
    let lost = texts(&device.lost).join("\n");
    assert!(
        !device.text.contains("size=1") && lost.contains("Vdbench: everything from 4k"),
        "{lost}"
    );
}

/// A run with one SD: its workloads and its rate.
fn plan_with_run(wds: &str, rate: &str) -> Plan {
    let names: Vec<&str> = wds.lines().filter_map(|line| line[3..].split(',').next()).collect();
    parse_plan(&format!(
        "sd=sd1,lun=/data/f,size=32m,threads=4,openflags=o_direct\n{wds}\nrd=rd1,wd=({}),iorate={rate},elapsed=3\n",
        names.join(",")
    ))
}

/// Regression: all streams got the rate of the first one, at equal shares.
#[test]
fn streams_keep_their_rates_and_shares() {
    let sizes = |shares: &str, rate: &str| plan_with_run(&format!("wd=w1,sd=sd1,rdpct=70,xfersize=({shares})"), rate);
    let native = |plan: &Plan, lines: &[&str]| {
        let found = to_native(plan);
        let is_missing = |line: &&&str| !found.text.lines().any(|written| written == **line);
        let missing: Vec<_> = lines.iter().filter(is_missing).collect();
        assert!(missing.is_empty(), "{missing:?}\n{}", found.text);
        texts(&found.lost)
    };
    let policy = "Vdbench data_errors: it ends after 50 errors";
    let only_policy = |lost: Vec<String>| assert!(lost.iter().all(|loss| loss.contains(policy)), "{lost:?}");
    let shares = ["rate = \"500iops\"", "share = 60", "share = 40"];
    only_policy(native(&sizes("4k,60,16k,40", "500"), &shares));
    let shares = ["rate = \"1000iops\"", "share = 90", "share = 10"];
    only_policy(native(&sizes("4k,90,16k,10", "1000"), &shares));
    let skewed = plan_with_run("wd=w1,sd=sd1,skew=80\nwd=w2,sd=sd1,xfersize=8k,skew=20", "1000");
    only_policy(native(
        &skewed,
        &["rate = \"1000iops\"", "share = 80", "share = 20", "block = \"8k\""],
    ));
    let hits = plan_with_run("wd=w1,sd=sd1,rdpct=70,rhpct=30,whpct=20", "500");
    let lost = native(
        &hits,
        &["rate = \"500iops\"", "size = \"32m\"", "share = 27", "share = 73"],
    );
    for region in ["1m from 0", "31m from 1m"] {
        assert!(lost.iter().any(|loss| loss.contains(region)), "{lost:?}");
    }
    let iometer = to_iometer(&sizes("4k,60,16k,40", "500"));
    let lost = texts(&iometer.lost).join("\n");
    iometer.text.assert_contains(&["4096,60,70,", "16384,40,70,"]);
    lost.assert_contains(&["210 iops", "no limit"]);
    lost.assert_lacks(&["shares"]);
}

/// A loss that names no setting ("2s; 1s") cannot be understood.
#[test]
fn losses_name_the_setting() {
    let two = plan_with_run(
        "wd=w1,sd=sd1,skew=70\nwd=w2,sd=sd1,xfersize=8k,seekpct=0,skew=30",
        "1000",
    );
    let lost = texts(&to_iometer(&two).lost);
    assert!(!lost.iter().any(|loss| loss.starts_with("Vdbench:")), "{lost:?}");
    let all = lost.join("\n");
    all.assert_contains(&["Vdbench threads: 4 ", "Vdbench iorate: 700 iops"]);
    // Both workloads are on one target.
    let fio = convert::convert_to(Dialect::Fio, &two);
    texts(&fio.lost).join("\n").assert_lacks(&["2 targets"]);
    let found = to_vdbench(&to_plan_of_iometer());
    let lost = texts(&found.lost);
    assert!(!lost.iter().any(|loss| loss.starts_with("Iometer:")), "{lost:?}");
    lost.join("\n").assert_contains(&["Iometer depth: 1; Vdbench: 4"]);
}

/// Four workers of Iometer with one target.
fn to_plan_of_iometer() -> Plan {
    let text = to_iometer(&flags(
        "--target /d/one --size 1g --read 70 --block 8k --workers 4 --time 60s",
    ))
    .text;
    crate::iometer::lower_text(&text, &[]).unwrap().plan
}

/// In every dialect, other shares and another rate are other text, or they are listed.
#[test]
fn shares_and_rates_are_never_dropped_silently() {
    let listed = |of: &Conversion| [texts(&of.lost), texts(&of.differs)].concat().join("\n");
    let vdbench = |shares: &str, rate: &str| plan_with_run(&format!("wd=w1,sd=sd1,xfersize=({shares})"), rate);
    let native = |shares: [u32; 2], rate: &str| {
        let part = |(share, block): (u32, &str)| format!("[[job.part]]\nshare = {share}\nblock = \"{block}\"\n");
        let parts = shares.into_iter().zip(["4k", "16k"]).map(part);
        let head = format!("[[job]]\ntarget = \"/d/f\"\nsize = \"1g\"\ndepth = 8\n{rate}\n");
        job_file(&(head + &parts.collect::<String>()))
    };
    let pairs = [
        (vdbench("4k,60,16k,40", "500"), vdbench("4k,80,16k,20", "500")),
        (vdbench("4k,60,16k,40", "500"), vdbench("4k,60,16k,40", "900")),
        (vdbench("4k,60,16k,40", "max"), vdbench("4k,80,16k,20", "max")),
        (native([60, 40], "rate = 500"), native([80, 20], "rate = 500")),
        (native([60, 40], "rate = 500"), native([60, 40], "rate = 900")),
        (native([60, 40], ""), native([80, 20], "")),
    ];
    for (number, (first, second)) in pairs.iter().enumerate() {
        for dialect in DIALECTS {
            let (first, second) = (
                convert::convert_to(dialect, first),
                convert::convert_to(dialect, second),
            );
            let is_silent = first.text == second.text && listed(&first) == listed(&second);
            assert!(
                !is_silent,
                "{number} to {dialect:?}:\n{}\n{}",
                first.text,
                listed(&first)
            );
        }
    }
}

/// Regression: a file set of fio got the rate of one of its targets.
#[test]
fn targets_that_share_a_rate_keep_it() {
    let plan = flags("--target /d/a --target /d/b --size 1g --depth 4 --rate 1000iops");
    let fio = convert::to_fio(&plan);
    assert!(fio.text.contains("rate_iops=1000\n"), "{}", fio.text);
    let lost = texts(&fio.lost).join("\n");
    assert!(!lost.contains("iops"), "{lost}");
    let mut file_set = plan;
    let worker = &mut file_set.steps[0].jobs[0].workers[0];
    worker.streams.truncate(1);
    worker.depth = DepthScope::PerStream;
    worker.streams[0].target = StreamTarget::files(vec![TargetId(0), TargetId(1)], 2, FileService::Random, 1);
    let native = to_native(&file_set);
    assert!(native.text.contains("--rate 500iops"), "{}", native.text);
    let diskspd = convert::to_diskspd(&file_set);
    assert!(diskspd.text.contains(" -g250i "), "{}", diskspd.text);
    for found in [native, diskspd] {
        let lost = texts(&found.lost).join("\n");
        assert!(!lost.contains("iops"), "{lost}");
    }
}

#[test]
fn trees_of_files_are_refused() {
    let tree = job_file("[[job]]\ntarget = \"/d\"\nkind = \"files\"\nmix = \"read\"\ntree = \"files=8,sizes=4k\"\n");
    for (dialect, why) in [
        (
            Dialect::Vdbench,
            "fathom reads Vdbench file systems (FSD, FWD) but does not write them",
        ),
        (Dialect::Fio, "fio has no trees of files"),
        (Dialect::Diskspd, "DiskSpd has no trees of files"),
        (Dialect::Iometer, "Iometer has no trees of files"),
    ] {
        let found = convert::convert_to(dialect, &tree);
        assert_eq!(texts(&found.lost), [format!("the whole test; {why}")]);
        assert_eq!(found.text, "");
    }
}
