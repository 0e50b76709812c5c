//! The parts of a plan as lowering DiskSpd's command line or profile would make them.

use model::access::{Continuation, RangeShare, Ranges, RangesRule};
use model::plan::{Dialect, Origin, PrepareWhen, Target, TargetCleanup};

use crate::drive::build_pattern;
use crate::prelude::*;

pub const MODULO: Placement = Placement::Uniform(Uniform {
    reduction: Reduction::Modulo,
});

pub fn random() -> Access {
    Access::Random { placement: MODULO }
}

pub fn sequential(start: u64) -> Access {
    Access::Sequential(Sequential::default().with(|sequential| sequential.start = Bytes(start)))
}

pub fn mixed(percent: u8, placement: Placement) -> Access {
    Access::Mixed(Mixed::new(placement, PerDirection::all(percent), Continuation::Stride))
}

pub fn ranges(basis: RangeBasis, shares: &[(u32, u64)]) -> Placement {
    let shares: Vec<RangeShare> = shares
        .iter()
        .map(|(operations, span)| RangeShare::new(f64::from(*operations), *span as f64))
        .collect();
    Placement::Ranges(Ranges::new(basis, RangesRule::Diskspd, PerDirection::all(shares)))
}

pub fn writes(percent: u32) -> Mix {
    Mix::drawn(f64::from(percent), MixRule::AfterPosition)
}

pub fn region(base: u64, length: u64) -> Region {
    Region::new(Extent::bytes(base), Some(Extent::bytes(length)))
}

/// A stream with DiskSpd's defaults. An alignment of 0 is the block size.
pub fn stream(target: u32, access: Access, block: u64, alignment: u64, write: u32) -> Stream {
    Stream {
        target: StreamTarget::one(target),
        mix: writes(write),
        pattern: build_pattern(access, block, alignment),
        content: Content::Counting,
        ..Stream::default()
    }
}

pub fn worker(seed: u32, depth: DepthScope, streams: Vec<Stream>) -> Worker {
    testing::worker(streams).with(|worker| (worker.depth, worker.draws) = (depth, GeneratorChoice::DiskSpd { seed }))
}

pub fn job(workers: Vec<Worker>) -> Job {
    testing::job("time span", Stop::after(Nanos::secs(10)), workers)
        .with(|job| job.phases = Phases::with_warm_up(Nanos::secs(5)))
}

pub fn file(path: &str) -> Target {
    testing::file(path).with(|target| target.at_end = TargetCleanup::Keep)
}

pub fn plan(name: &str, targets: &[&str], jobs: Vec<Job>) -> Plan {
    let targets = targets.iter().map(|path| file(path)).collect();
    let steps = jobs.into_iter().map(|job| testing::step(vec![job])).collect();
    Plan {
        prepare: PrepareWhen::EachStep,
        origin: Origin::default().with(|origin| origin.dialect = Dialect::Diskspd),
        ..testing::plan(name, targets, steps)
    }
}

/// One thread with one target.
pub fn one(seed: u32, stream: Stream) -> Vec<Worker> {
    vec![worker(seed, DepthScope::PerStream, vec![stream])]
}
