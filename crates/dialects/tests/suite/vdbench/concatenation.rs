//! `concatenatesds=yes`, and strides of varying length.

use model::access::{Access, Advance};
use model::plan::{DepthScope, Plan};

use super::run;

const SDS: &str = "concatenatesds=yes\nsd=sd1,lun=/d/f,size=16m\nsd=sd2,lun=/d/g,size=48m\n";

fn plan(text: &str) -> Result<Plan, String> {
    let plan = run("-f parmfile", text)?.remove(0).plan;
    plan.check().expect("a valid plan");
    Ok(plan)
}

/// The first block of the whole is never used, as in Vdbench.
#[test]
fn random_work_on_concatenated_sds_is_uniform_over_their_bytes() {
    let text = format!("{SDS}wd=wd1,sd=sd*,xfersize=64k,threads=6\nrd=rd1,wd=wd1,iorate=max,elapsed=4");
    let plan = plan(&text).unwrap();
    let [job] = &plan.steps[0].jobs[..] else {
        panic!("one job")
    };
    let worker = &job.workers[0];
    assert_eq!(worker.depth, DepthScope::Shared { operations: 6 });
    let parts: Vec<(u64, u64, u32)> = { worker.streams.iter() }
        .map(|stream| {
            let region = &stream.region;
            (region.base.bytes.0, region.length.unwrap().bytes.0, stream.weight)
        })
        .collect();
    let (first, second) = ((16 << 20) - 65536, 48 << 20);
    let weight = |bytes: u64| (1e6 * bytes as f64 / (first + second) as f64).round() as u32;
    assert_eq!(parts, [(65536, first, weight(first)), (0, second, weight(second))]);
}

#[test]
fn what_concatenated_sds_do_not_support_is_refused() {
    for (sd, wd, what) in [
        ("", "threads=2,seekpct=20", "a `seekpct=` between 0 and 100"),
        ("", "threads=2,rhpct=20", "`rhpct=` or `whpct=`"),
        (
            "",
            "seekpct=100",
            "for SD concatenation each WD must request a threads= value",
        ),
        (",align=8k", "threads=2", "`offset=`, `align=` or `range=` of sd=sd3"),
    ] {
        let text = format!("{SDS}sd=sd3,lun=/d/h,size=1m{sd}\nwd=wd1,sd=sd*,{wd}\nrd=rd1,wd=wd1,iorate=9,elapsed=4");
        let found = plan(&text).unwrap_err();
        assert!(found.contains(what), "{wd}: {found}");
        let alone = text.replace("concatenatesds=yes", "concatenatesds=no");
        let alone = plan(&alone).err().unwrap_or_default();
        let needs_concatenation = alone.contains("may only be used together with 'concatenatesds=yes'");
        assert_eq!(needs_concatenation, wd.contains("threads="), "{wd}: {alone}");
    }
}

#[test]
fn strides_of_varying_length_are_random_gaps() {
    let text = "sd=sd1,lun=/d/f,size=16m\nwd=wd1,sd=sd1,stride=(8k,64k)\nrd=rd1,wd=wd1,iorate=max,elapsed=4";
    let plan = plan(text).unwrap();
    let Access::Sequential(walk) = &plan.steps[0].jobs[0].workers[0].streams[0].pattern.access[0] else {
        panic!("sequential");
    };
    let (min, max) = (8 << 10, 64 << 10);
    assert_eq!(walk.advance, Advance::RandomGap { min, max });
}
