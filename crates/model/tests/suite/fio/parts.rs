//! The parts of a plan as lowering an fio job would make them.

use model::access::{Advance, Between, Continuation, Every, OnceMethod};
pub use model::testing::job;

use model::plan::{
    AllocateMode, CacheMode, Dialect, LatencyPoints, OpenHint, Origin, Pattern, Prepare, Target, TargetCleanup,
};

use crate::drive::{Issued, whole};
use crate::prelude::*;

pub const K: u64 = 1024;
pub const M: u64 = 1 << 20;
/// fio's default seed.
pub const SEED: u64 = 0x89;

/// Random positions, each block once.
pub const MAP: Placement = Placement::Once(Once {
    method: OnceMethod::map(Reduction::MultiplyHigh32),
});

/// Random positions with repetition (`norandommap`).
pub const NO_MAP: Placement = Placement::Uniform(Uniform {
    reduction: Reduction::MultiplyHigh32,
});

pub fn random(placement: Placement) -> Access {
    Access::Random { placement }
}

/// `rw=read` and the like; `skip` is the number after the colon. A pass with holes starts again
/// where a hole reaches the end.
pub fn sequential(skip: i64) -> Access {
    Access::Sequential(Sequential {
        advance: Advance::Length { skip },
        at_end: AtEnd::Finish,
        positions: PositionSharing::PerDirection,
        ..Sequential::default()
    })
}

/// `percentage_random`.
pub fn partly_random(percent: PerDirection<u8>) -> Access {
    Access::Mixed(Mixed::new(MAP, percent, Continuation::Length))
}

/// `rw=randread:N`.
pub fn every(operations: u32, between: Between) -> Access {
    Access::Every(Every {
        placement: MAP,
        operations,
        between,
    })
}

/// `rwmixread`.
pub fn reads(percent: f64) -> Mix {
    Mix::drawn(100.0 - percent, MixRule::Redrawn)
}

pub fn fixed(size: u64) -> BlockSizes {
    BlockSizes::Fixed { size: Bytes(size) }
}

pub fn pattern(access: Access, sizes: BlockSizes) -> Pattern {
    Pattern::simple(access, Bytes(0))
        .with(|pattern| (pattern.sizes, pattern.whole_blocks) = (PerDirection::all(sizes), false))
}

/// `offset` and `size`.
pub fn region(offset: u64, size: u64) -> Region {
    Region::new(Extent::bytes(offset), Some(Extent::bytes(size)))
}

/// A job's stream on its own target.
pub fn stream(target: u32, mix: Mix, pattern: Pattern, region: Region) -> Stream {
    Stream {
        target: StreamTarget::one(target),
        region,
        mix,
        pattern,
        content: Content::Stamped,
        cache: CacheMode {
            drop_before: true,
            ..CacheMode::BUFFERED
        },
        hint: OpenHint::default().with(|open_hint| open_hint.random = true),
        ..Stream::default()
    }
}

/// Clone `number` of the run, counting from 1 over all jobs.
pub fn clone(number: u32, stream: Stream) -> Worker {
    testing::worker(vec![stream])
        .with(|worker| (worker.draws, worker.latency) = (GeneratorChoice::fio(SEED, number), LatencyPoints::AfterCall))
}

/// What ends a job without `runtime`: a number of bytes, or the end of the pass.
pub fn amount(bytes: u64, passes: Option<u32>) -> Stop {
    Stop::default().with(|stop| (stop.bytes, stop.passes) = (Some(Bytes(bytes)), passes))
}

/// A file that is laid out before the first step if it is too small.
pub fn file(path: &str, size: u64) -> Target {
    Target {
        prepare: Prepare::LayOut {
            size: Bytes(size),
            allocate: AllocateMode::Native,
            content: Some(Content::Once),
            block: 4096,
            extend: false,
            flush: true,
            on_open: false,
            may_create: true,
        },
        at_end: TargetCleanup::Keep,
        ..testing::file(path)
    }
}

/// `stonewall` separates the steps.
pub fn plan(name: &str, targets: Vec<Target>, steps: Vec<Vec<Job>>) -> Plan {
    testing::plan(name, targets, steps.into_iter().map(testing::step).collect())
        .with(|plan| (plan.seed, plan.origin) = (SEED, Origin::default().with(|origin| origin.dialect = Dialect::Fio)))
}

pub fn files(count: u32, size: u64) -> Vec<Target> {
    (0..count)
        .map(|number| file(&format!("job.0.{number}"), size))
        .collect()
}

/// One clone with one stream on a file of the given size.
pub fn single(name: &str, stop: Stop, stream: Stream, size: u64) -> Plan {
    whole(plan(
        name,
        files(1, size),
        vec![vec![job(name, stop, vec![clone(1, stream)])]],
    ))
}

pub fn offsets(issued: &[Issued]) -> Vec<u64> {
    issued.iter().map(|issued| issued.operation.offset).collect()
}

/// Checks that each block of `from … to` was touched by exactly one operation.
pub fn assert_tiles(issued: &[Issued], from: u64, to: u64, what: &str) {
    let mut spans: Vec<(u64, u64)> = issued
        .iter()
        .map(|issued| (issued.operation.offset, u64::from(issued.operation.length)))
        .collect();
    spans.sort_unstable();
    let mut at = from;
    for (offset, length) in spans {
        assert_eq!(offset, at, "{what}: a gap or an overlap at {at}");
        at += length;
    }
    assert_eq!(at, to, "{what}");
}

/// Checks that the count is a share of n within five standard deviations.
pub fn assert_share(count: usize, of: usize, share: f64, what: &str) {
    let (expected, deviation) = (of as f64 * share, (of as f64 * share * (1.0 - share)).sqrt());
    assert!(
        (count as f64 - expected).abs() <= 5.0 * deviation,
        "{what}: {count} of {of} for {share}"
    );
}
