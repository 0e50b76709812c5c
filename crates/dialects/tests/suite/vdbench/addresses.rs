//! Addresses of plans, compared with those that Vdbench logged: which sets and steps they may have.

use std::fs;

use crate::drive::{execute, whole};
use crate::vdbench::{DATA, plan_of, run};

const SIZE: u64 = 64 << 20;

/// Whether the operation reads, its address and its length.
type Issued = (bool, u64, u64);
/// Whether the operation reads, and its address.
type Logged = (bool, u64);

/// The operations of a recorded case's plan, and the recorded ones.
fn both(case: &str) -> (Vec<Issued>, Vec<Logged>) {
    let log = fs::read_to_string(format!("{DATA}/addresses/{case}.txt")).unwrap();
    let parameters = log.lines().filter_map(|line| line.strip_prefix("* "));
    let text: String = parameters.map(|line| format!("{line}\n")).collect();
    let recorded = log.lines().filter(|line| !line.starts_with('*')).map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        (words[2] == "1", words[3].parse().unwrap())
    });
    let recorded: Vec<(bool, u64)> = recorded.collect();
    assert!(recorded.len() > 100, "{case}");
    // With a rate, the schedules decide which stream is next; without one, their weights do.
    let text = text.replace("iorate=400", "iorate=max");
    let plan = whole(plan_of(&text));
    let issued = execute(&plan, 0, 0, &[SIZE], 2000).remove(0);
    let ours = issued.iter().map(|issued| {
        let operation = issued.operation;
        let reads = operation.direction == model::Direction::Read;
        (reads, operation.offset, u64::from(operation.length))
    });
    let ours: Vec<(bool, u64, u64)> = ours.collect();
    assert!(ours.len() > 500, "{case}: {}", ours.len());
    (ours, recorded)
}

/// Checks that the plan and the recording both satisfy a rule about addresses.
fn check(case: &str, rule: impl Fn(bool, u64) -> bool) {
    let (ours, recorded) = both(case);
    assert!(
        recorded.iter().all(|(reads, at)| rule(*reads, *at)),
        "{case}: the rule is not Vdbench's"
    );
    let wrong = ours.iter().find(|(reads, at, _)| !rule(*reads, *at));
    assert_eq!(wrong, None, "{case}");
}

#[test]
fn regions_and_alignments_match_vdbench() {
    check("range", |_, at| {
        at % 65_536 == 0 && (16_777_216..50_331_648).contains(&at)
    });
    // Vdbench never uses the last place.
    check("align", |_, at| at % (1 << 20) == 0 && at < SIZE - (1 << 20));
    check("offset", |_, at| at % 4096 == 512);
    check("wrap", |_, at| !(SIZE / 10..SIZE / 10 * 8 - 65_536).contains(&at));
}

#[test]
fn hits_stay_in_their_area() {
    check("hits", |reads, at| reads || at >= 8 << 20);
    let (ours, _) = both("hits");
    let reads = ours.iter().filter(|(reads, ..)| *reads).count();
    let hits = ours.iter().filter(|(reads, at, _)| *reads && *at < 8 << 20).count();
    let share = hits as f64 / reads as f64;
    assert!((0.53..0.67).contains(&share), "{share}: expected 0.6");
}

#[test]
fn sizes_of_a_list_have_their_own_alignment() {
    let (ours, _) = both("mixed");
    assert!(ours.iter().all(|(_, at, length)| at % length == 0));
    let large = ours.iter().filter(|(_, _, length)| *length == 65_536).count();
    let share = large as f64 / ours.len() as f64;
    assert!((0.4..0.6).contains(&share), "{share}");
}

#[test]
fn the_given_share_of_steps_jumps() {
    let (ours, recorded) = both("seek20");
    let jumps = ours
        .windows(2)
        .filter(|pair| pair[0].1 + pair[0].2 != pair[1].1)
        .count();
    let share = jumps as f64 / (ours.len() - 1) as f64;
    assert!((0.16..0.24).contains(&share), "{share}: expected 0.2");
    // The first block is at the start.
    assert_eq!(recorded[0], (true, 0));
}

#[test]
fn a_sequential_workload_reads_every_block_in_order() {
    let text = "sd=sd1,lun=/d/f,size=64m,threads=4\nwd=wd1,sd=sd1,xfersize=1m,seekpct=eof\nrd=rd1,wd=wd1,iorate=max";
    let plan = whole(plan_of(text));
    let issued = execute(&plan, 0, 0, &[SIZE], 2000).remove(0);
    let places = issued.iter().map(|issued| issued.operation.offset);
    assert!(places.eq((0..64u64).map(|block| block << 20)), "{issued:?}");
}

#[test]
fn a_device_needs_direct_io_and_flags_may_be_numbers() {
    use model::plan::WriteThrough::{Data, DataAndMetadata, Off};
    let cache = |sd: &str| {
        let text = format!("sd=sd1,size=1g,{sd}\nwd=wd1,sd=sd1\nrd=rd1,wd=wd1,iorate=max,elapsed=2\n");
        let runs = run("-f parmfile", &text)?;
        let cache = runs[0].plan.steps[0].jobs[0].workers[0].streams[0].cache;
        Ok::<_, String>((cache.direct, cache.write_through))
    };
    let refusal = "On Linux 'openflags=o_direct' is required for any lun starting with '/dev/': /dev/sdx";
    assert_eq!(cache("lun=/dev/sdx"), Err(refusal.to_owned()));
    assert_eq!(cache("lun=/dev/sdx,openflags=o_sync"), Err(refusal.to_owned()));
    for (flags, expected) in [
        ("directio", (true, Off)),
        ("0x4000", (true, Off)),
        ("0x105000", (true, DataAndMetadata)),
        ("(o_direct,0x1000)", (true, Data)),
    ] {
        let found = cache(&format!("lun=/dev/sdx,openflags={flags}"));
        assert_eq!(found, Ok(expected), "{flags}");
    }
    let unknown = "Invalid 'openflags=' parameter for Linux: 0x8000";
    assert_eq!(cache("lun=/d/f,openflags=0x8000"), Err(unknown.to_owned()));
}
