//! Converts a plan to a DiskSpd command line, or to an XML profile if a line cannot express it.

use model::access::{Access, Advance, Between, Placement, RangeBasis, WritePointers, Zones};
use model::block_size::BlockSizes;
use model::content::Content;
use model::draws::GeneratorChoice;
use model::mix::Mix;
use model::plan::{
    DepthScope, Dialect, EngineKind, Job, MapFlush, Pacing, Plan, Prepare, PriorityClass, RateUnit, Step, Stream,
    TargetId, Worker, WriteThrough,
};
use model::{Direction, Nanos};

use super::worker_groups::{AllowedDifferences, WorkerGroup, worker_groups};
use super::{Conversion, Form, Lost, compare, diskspd_line, shares, words};
use crate::diskspd::newer::{Newer, Ring, Separation};
use crate::diskspd::profile::{
    Cache, Distribution, FlushType, Precreate, Processor, Profile, Range, ResultFormat, Source, Target, ThreadTarget,
    ThroughputUnit, TimeSpan,
};
use crate::diskspd::text::TextVersion;
use crate::diskspd::{LowerEnv, lower, validate, xml};

/// Duration in seconds for a job without a time limit: DiskSpd needs one.
const DEFAULT_DURATION: u32 = 30;

/// Converts a plan to DiskSpd.
pub fn to_diskspd(plan: &Plan) -> Conversion {
    let profile = create_profile(plan);
    let profile = choose_precreation(plan, profile);
    let line = diskspd_line::format_line(&profile);
    let (form, text) = match line {
        Some(line) => (Form::CommandLine, format!("{line}\n")),
        None => (Form::Xml, xml::lines(&profile).join("\n") + "\n"),
    };
    let mut differences = match lower(&profile, NO_MACHINE) {
        Ok(lowered) => compare::compare(plan, &lowered.plan, Dialect::Diskspd),
        Err(problems) => {
            let lost = problems.into_iter().map(|problem| refused_text(&problem.what));
            compare::Differences::from_lost(lost.collect())
        }
    };
    let verdict = validate(&profile, form == Form::CommandLine, None);
    if verdict.refused {
        differences
            .lost
            .extend(verdict.lines.iter().map(|line| refused_text(line)));
    }
    differences
        .differs
        .extend(super::fio::possible_directories(plan, "the target must be a file"));
    Conversion::new(Dialect::Diskspd, form, text, differences)
}

fn refused_text(why: &str) -> Lost {
    Lost::whole_test(format!("DiskSpd refuses it: {}", why.trim_start_matches("ERROR: ")))
}

/// Options that only DiskSpd 2.3 has. They include the buffer alignment, because its default
/// differs in that version.
fn newer_options(workers: &[&Worker]) -> Newer {
    let ring = workers
        .iter()
        .any(|worker| matches!(worker.engine.kind, EngineKind::IoUring | EngineKind::IoRing));
    let alignment = workers.iter().map(|worker| u64::from(worker.memory.alignment)).max();
    let bypass = workers
        .iter()
        .flat_map(|worker| &worker.streams)
        .find_map(|stream| stream.cache.bypass_io);
    Newer {
        bypass,
        ring: ring.then(Ring::default),
        separation: alignment
            .filter(|bytes| ring || bypass.is_some() || *bytes > 0)
            .map(Separation::from_bytes),
        ..Newer::default()
    }
}

/// No machine is needed: bound threads have an explicit list of CPUs.
const NO_MACHINE: LowerEnv<'_> = LowerEnv {
    cpus: &[],
    arguments: &[],
    form: TextVersion::V2_2,
    windows: cfg!(windows),
    memory: None,
    topology: &[],
};

/// Adds the precreation rule that creates the same files as the plan.
fn choose_precreation(plan: &Plan, profile: Profile) -> Profile {
    if plan.prepare_once.is_empty() {
        return profile;
    }
    let rules = [
        Precreate::UseMaxSize,
        Precreate::ConstantSizes,
        Precreate::ConstantOrZeroSizes,
    ];
    let profile_with = |rule| Profile {
        precreate: Some(rule),
        ..profile.clone()
    };
    let reproduces_targets = |profile: &Profile| {
        let lowered = lower(profile, NO_MACHINE);
        lowered
            .is_ok_and(|lowered| lowered.plan.prepare_once == plan.prepare_once && lowered.plan.targets == plan.targets)
    };
    let matching_profile = rules.into_iter().map(profile_with).find(reproduces_targets);
    matching_profile.unwrap_or_else(|| profile_with(Precreate::UseMaxSize))
}

/// The profile that is closest to the plan.
fn create_profile(plan: &Plan) -> Profile {
    let presentation = &plan.origin.presentation;
    let native = plan.origin.dialect == Dialect::Diskspd;
    Profile {
        result_format: ResultFormat::Text,
        verbose_stats: native && presentation.other.iter().any(|(name, _)| name == "wait_statistics"),
        time_spans: plan
            .steps
            .iter()
            .enumerate()
            .map(|(number, step)| time_span(plan, number, step))
            .collect(),
        ..Profile::default()
    }
}

/// A report setting of a time span, if the plan came from DiskSpd.
fn setting<'a>(plan: &'a Plan, name: &str, number: usize) -> Option<&'a str> {
    let wanted = format!("{name}.{}", number + 1);
    let setting = plan.origin.presentation.other.iter().find(|(name, _)| *name == wanted);
    setting.map(|(_, value)| value.as_str())
}

fn time_span(plan: &Plan, number: usize, step: &Step) -> TimeSpan {
    let seconds = |time: Nanos| u32::try_from(time.0.div_ceil(1_000_000_000)).unwrap_or(u32::MAX);
    let longest = |value: &dyn Fn(&Job) -> u32| step.jobs.iter().map(value).max().unwrap_or(0);
    let workers: Vec<&Worker> = step.jobs.iter().flat_map(|job| &job.workers).collect();
    // A random seed becomes DiskSpd's seed for `random`.
    let chosen = match (plan.origin.dialect, plan.seed) {
        (Dialect::Native, 1) | (Dialect::Fio, crate::fio::print::DEFAULT_SEED) => 0,
        (_, seed) => seed as u32,
    };
    let seed = workers.first().map_or(chosen, |worker| match worker.draws {
        GeneratorChoice::DiskSpd { seed } => seed,
        GeneratorChoice::Native { seed: _ } | GeneratorChoice::Fio { .. } => chosen,
    });
    let cpus: Vec<u32> = workers
        .iter()
        .filter_map(|worker| worker.placement.cpus.first().copied())
        .collect();
    let bound = cpus.len() == workers.len();
    let written = |stream: &&Stream| plan.origin.dialect == Dialect::Diskspd || stream.mix.includes(Direction::Write);
    let streams = || workers.iter().flat_map(|worker| &worker.streams);
    let random = |content: &Content| !matches!(content, Content::Zeros | Content::Counting | Content::Source { .. });
    let pattern_only =
        |content: &Content| matches!(content, Content::Pattern { bytes } if bytes.iter().all(|byte| *byte == 0));
    let ours = plan.origin.dialect != Dialect::Diskspd;
    let yes = |name: &str| setting(plan, name, number) == Some("true");
    let mut span = TimeSpan {
        duration: longest(&|job| job.stop.after_ns.map_or(DEFAULT_DURATION, seconds).max(1)),
        warm_up: longest(&|job| seconds(job.phases.warm_up_ns)),
        cool_down: longest(&|job| seconds(job.phases.cool_down_ns)),
        seed,
        threads: 0,
        requests: 0,
        random_write_data: streams()
            .filter(written)
            .any(|stream| random(&stream.content) && !pattern_only(&stream.content)),
        no_affinity: !bound,
        affinity: match bound {
            true => words::period(&cpus).iter().map(|cpu| processor(*cpu)).collect(),
            false => Vec::new(),
        },
        completion_routines: workers.iter().any(|worker| worker.batching.completion_routines),
        newer: newer_options(&workers),
        latency: ours || yes("latency"),
        iops_deviation: yes("deviation"),
        bucket_ms: setting(plan, "bucket_ms", number)
            .and_then(|value| value.parse().ok())
            .unwrap_or(1000),
        targets: Vec::new(),
    };
    match pool_targets(plan, &workers) {
        Some(targets) => {
            span.threads = workers.len() as u32;
            span.requests = match workers[0].depth {
                DepthScope::Shared { operations } if !has_limits(&workers) => operations,
                DepthScope::Shared { .. } | DepthScope::PerStream | DepthScope::PerTarget { .. } => 0,
            };
            span.targets = targets;
        }
        None => span.targets = targets_with_threads(plan, step),
    }
    span
}

fn processor(cpu: u32) -> Processor {
    Processor {
        group: u16::try_from(cpu / 64).unwrap_or(u16::MAX),
        number: (cpu % 64) as u8,
    }
}

/// True if a stream has limits or pauses, which DiskSpd does not allow with a shared depth.
fn has_limits(workers: &[&Worker]) -> bool {
    let mut streams = workers.iter().flat_map(|worker| &worker.streams);
    streams.any(|stream| stream.pacing != Pacing::Unpaced || stream.think.is_some())
}

/// The targets of a thread pool, if threads use several of them; `None` if each thread has its own
/// target.
fn pool_targets(plan: &Plan, workers: &[&Worker]) -> Option<Vec<Target>> {
    let first = workers.first()?;
    let several = workers.iter().any(|worker| expand_targets(worker).len() > 1);
    let shared = matches!(first.depth, DepthScope::Shared { .. });
    if !several && !shared {
        return None;
    }
    if workers.iter().any(|worker| worker.depth != first.depth) {
        return None;
    }
    // Every distinct stream, with the threads that have it.
    let mut all: Vec<(TargetId, Stream, Vec<ThreadTarget>)> = Vec::new();
    for (number, worker) in workers.iter().enumerate() {
        let mut mine: Vec<usize> = Vec::new();
        for (id, stream) in expand_targets(worker) {
            let is_same_target = |(other, pooled, _): &(TargetId, Stream, Vec<ThreadTarget>)| {
                *other == id && is_equal_except_start(pooled, &stream)
            };
            // The expensive comparison comes last: each stream is compared with all others.
            let free = (0..all.len()).find(|at| is_same_target(&all[*at]) && !mine.contains(at));
            let at = free.unwrap_or_else(|| {
                all.push((id, stream.clone(), Vec::new()));
                all.len() - 1
            });
            mine.push(at);
            all[at].2.push(ThreadTarget {
                thread: number as u32,
                weight: stream.weight,
            });
        }
    }
    let everywhere = |threads: &[ThreadTarget]| threads.len() == workers.len();
    let equal = |threads: &[ThreadTarget]| threads.iter().all(|thread| thread.weight == threads[0].weight);
    // Only pools with a shared depth may assign targets to threads.
    let free = shared && !has_limits(workers);
    if !free && !all.iter().all(|(_, _, threads)| everywhere(threads)) {
        return None;
    }
    let count = workers.len() as u32;
    let targets = all.into_iter().map(|(id, stream, threads)| {
        let starts: Vec<&Stream> = workers
            .iter()
            .filter_map(|worker| {
                worker
                    .streams
                    .iter()
                    .find(|other| is_equal_except_start(other, &stream))
            })
            .collect();
        let mut target = create_target(plan, id, &stream, &starts, count);
        target.weight = threads[0].weight;
        target.requests = match first.depth {
            DepthScope::Shared { operations } if !free => (operations / expand_targets(first).len() as u32).max(1),
            // This value has no effect with a shared depth.
            DepthScope::Shared { .. } | DepthScope::PerStream | DepthScope::PerTarget { .. } => stream.depth.max(1),
        };
        if !(everywhere(&threads) && equal(&threads)) {
            target.thread_targets = threads;
        }
        if let Some(burst) = &mut target.burst {
            let sharing = match target.thread_targets.len() as u32 {
                0 => count,
                some => some,
            };
            *burst = burst.saturating_mul(sharing);
        }
        target
    });
    Some(targets.collect())
}

/// The targets of a worker, each with its stream; a file set becomes one target per file.
fn expand_targets(worker: &Worker) -> Vec<(TargetId, Stream)> {
    let streams = worker.streams.iter();
    let target_streams = streams.flat_map(|stream| stream.target.ids().iter().map(move |id| (*id, stream.clone())));
    let mut uses: Vec<(TargetId, Stream)> = target_streams.collect();
    let files = uses.len() as u32;
    if uses.len() > worker.streams.len() {
        for (_, stream) in &mut uses {
            stream.depth = (stream.depth / files).max(1);
        }
    }
    uses
}

/// True if two streams are the same except for start position and weight.
fn is_equal_except_start(a: &Stream, b: &Stream) -> bool {
    let neutral = |stream: &Stream| {
        let mut neutral = stream.clone();
        neutral.weight = 1;
        if let Pacing::Together { rate } = &mut neutral.pacing {
            rate.phase_ns = Nanos(0);
        }
        for access in &mut neutral.pattern.access {
            access.clear_start();
        }
        neutral
    };
    neutral(a) == neutral(b)
}

/// Targets with their own threads, one for each stream of each worker group.
fn targets_with_threads(plan: &Plan, step: &Step) -> Vec<Target> {
    let allowed = AllowedDifferences {
        regions: false,
        depths: false,
        starts: true,
    };
    let mut targets = Vec::new();
    for group in step.jobs.iter().flat_map(|job| worker_groups(job, allowed)) {
        let WorkerGroup { job: _, workers } = &group;
        let count = workers.len() as u32;
        let of_first = expand_targets(workers[0]);
        for (number, (id, stream)) in of_first.iter().enumerate() {
            let starts: Vec<&Stream> = workers
                .iter()
                .filter_map(|worker| worker.streams.get(number.min(worker.streams.len() - 1)))
                .collect();
            let mut target = create_target(plan, *id, stream, &starts, count);
            target.threads = count;
            target.requests = match workers[0].depth {
                DepthScope::Shared { operations } => (operations / of_first.len() as u32).max(1),
                DepthScope::PerStream | DepthScope::PerTarget { .. } => stream.depth.max(1),
            };
            target.burst = target.burst.map(|burst| burst.saturating_mul(count));
            targets.push(target);
        }
    }
    targets
}

/// Converts a stream to a target. `starts` holds the stream of each of its threads, for the start
/// positions.
fn create_target(plan: &Plan, id: TargetId, stream: &Stream, starts: &[&Stream], threads: u32) -> Target {
    let mix = words::resulting_mix(stream);
    let direction = mix.directions().next().unwrap_or(Direction::Read);
    let entry = plan.target(id);
    let made = entry.prepare.size().map(|size| size.0);
    let block = u32::try_from(most_frequent_size(&stream.pattern.sizes[direction])).unwrap_or(u32::MAX - 1);
    let base = made.map_or(stream.region.base.bytes.0, |size| stream.region.base.resolve(size));
    let length = stream.region.length.and_then(|length| match (length.percent, made) {
        (0.0, _) => Some(length.bytes.0),
        (_, Some(size)) => Some(length.resolve(size)),
        (_, None) => None,
    });
    // If the region ends at the end of the file, no option is needed.
    let device = compare::is_device(&entry.path);
    let end = length
        .map(|length| base + length)
        .filter(|end| device || made.is_none_or(|made| *end < made));
    let mut target = Target {
        path: entry.path.clone(),
        block,
        base,
        end: end.unwrap_or(0),
        file_size: match entry.prepare {
            Prepare::Existing => size_from_other_entry(plan, &entry.path),
            // A device exists and has a fixed size.
            Prepare::Filled { .. } | Prepare::LayOut { .. } if device => None,
            Prepare::Filled { .. } | Prepare::Recreate { .. } | Prepare::LayOut { .. } => made,
        },
        alignment: stream.alignment(direction),
        write_percent: write_percent(&mix),
        cache: match (stream.cache.direct, stream.cache.local_only) {
            // Memory maps use the page cache.
            _ if stream.cache.mapping.is_some() && !stream.cache.local_only => Cache::Cached,
            (_, true) => Cache::NoLocal,
            (true, false) => Cache::Unbuffered,
            (false, false) => Cache::Cached,
        },
        write_through: match stream.cache.mapping {
            Some(mapping) => mapping.non_temporal,
            None => stream.cache.write_through != WriteThrough::Off,
        },
        memory_mapped: stream.cache.mapping.is_some(),
        flush: stream.cache.mapping.and_then(|mapping| match mapping.flush {
            MapFlush::None => None,
            MapFlush::View => Some(FlushType::ViewOfFile),
            MapFlush::Lines => Some(FlushType::NonVolatileMemory),
            MapFlush::LinesWithoutDrain => Some(FlushType::NonVolatileMemoryNoDrain),
        }),
        sequential_scan: stream.hint.sequential,
        random_access: stream.hint.random,
        temporary_file: stream.hint.temporary,
        large_pages: plan
            .jobs()
            .any(|(_, job)| job.workers.iter().any(|worker| worker.memory.huge_pages)),
        burst: None,
        think_ms: None,
        priority: match stream.priority {
            None => 3,
            Some(priority) => match priority.class {
                PriorityClass::Idle => 1,
                PriorityClass::BestEffort if priority.level > 4 => 2,
                PriorityClass::BestEffort | PriorityClass::RealTime => 3,
            },
        },
        ..Target::default()
    };
    set_contents(plan, stream, &mut target);
    set_positions(stream, direction, starts, threads, &mut target);
    set_limits(stream, &mut target);
    target
}

/// The size of a path that only one other entry creates.
fn size_from_other_entry(plan: &Plan, path: &str) -> Option<u64> {
    let made = plan
        .prepare_once
        .iter()
        .map(|id| plan.target(*id))
        .find(|target| target.path == path);
    made.and_then(|target| target.prepare.size().map(|size| size.0))
}

/// The block size, or the most frequent one.
fn most_frequent_size(sizes: &BlockSizes) -> u64 {
    match sizes {
        BlockSizes::Fixed { size } => size.0,
        BlockSizes::Range { low, .. } => low.0,
        BlockSizes::Split { entries } => {
            let most_frequent = entries.iter().max_by(|a, b| a.percent.total_cmp(&b.percent));
            most_frequent.map_or(4096, |entry| entry.size.0)
        }
    }
}

fn write_percent(mix: &Mix) -> u8 {
    match mix {
        // Trims become writes.
        Mix::Only {
            direction: Direction::Trim,
        } => 100,
        Mix::Only { .. } | Mix::Drawn { .. } | Mix::Exact { .. } | Mix::TrimThenWrite | Mix::Traced { .. } => {
            mix.write_share().round().clamp(0.0, 100.0) as u8
        }
    }
}

fn set_contents(plan: &Plan, stream: &Stream, target: &mut Target) {
    let laid_out = match &plan.target(stream.target.ids()[0]).prepare {
        Prepare::Recreate { size: _, content } => *content == Content::Zeros,
        Prepare::Existing | Prepare::Filled { .. } | Prepare::LayOut { .. } => false,
    };
    match &stream.content {
        Content::Zeros => target.zero_buffers = true,
        Content::Pattern { bytes } if bytes.iter().all(|byte| *byte == 0) => target.zero_buffers = true,
        Content::Source { size, file } => {
            target.source = Some(Source {
                size: size.0,
                file: file.clone(),
            });
            target.zero_buffers = laid_out;
        }
        Content::Fresh
        | Content::Drawn
        | Content::Stamped
        | Content::Once
        | Content::Counting
        | Content::Pattern { .. }
        | Content::Compressible { .. }
        | Content::Duplicated { .. } => {}
    }
}

fn set_positions(stream: &Stream, direction: Direction, starts: &[&Stream], threads: u32, target: &mut Target) {
    let random = |target: &mut Target, share: u8, placement: &Placement| {
        target.random_percent = share;
        target.distribution = create_distribution(placement, direction);
    };
    match stream.access(direction) {
        Access::Sequential(walk) => {
            target.alignment = match (walk.advance, stream.fixed_length(direction)) {
                (Advance::Length { skip }, Some(length)) if length as i64 + skip > 0 => (length as i64 + skip) as u64,
                (Advance::Length { .. } | Advance::RandomGap { .. }, _) => u64::from(target.block),
                (Advance::Stride, _) => target.alignment,
            };
            target.thread_stride = common_stride(starts, threads);
        }
        Access::Interlocked(_) => target.interlocked = true,
        Access::Parallel(_) => {
            target.parallel = true;
            target.thread_stride = common_stride(starts, threads);
        }
        Access::Random { placement } => random(target, 100, placement),
        Access::Mixed(mixed) => match mixed.random_percent[direction] {
            0 => {}
            share => random(target, share.min(100), &mixed.placement),
        },
        Access::Every(every) => {
            let share = match every.between {
                Between::Continue => 100 / every.operations.max(1),
                Between::Repeat => 100,
            };
            random(target, share.clamp(1, 100) as u8, &every.placement);
        }
        Access::Zones(Zones { within, .. }) | Access::WritePointers(WritePointers { within, .. }) => {
            if let Some(within) = within {
                random(target, 100, within);
            }
        }
    }
}

/// The distance between the start positions of threads, if it is always the same.
fn common_stride(starts: &[&Stream], threads: u32) -> u64 {
    let start = |stream: &&Stream| match &stream.pattern.access[0] {
        Access::Sequential(walk) => walk.start.0,
        Access::Parallel(walk) => walk.start.0,
        Access::Interlocked(_)
        | Access::Random { .. }
        | Access::Mixed(_)
        | Access::Every(_)
        | Access::Zones(_)
        | Access::WritePointers(_) => 0,
    };
    match starts {
        [_, second, ..] if threads > 1 => start(second),
        _ => 0,
    }
}

/// A distribution in whole percent or in bytes.
fn create_distribution(placement: &Placement, direction: Direction) -> Option<Distribution> {
    let Placement::Ranges(ranges) = placement else {
        return None;
    };
    let absolute = ranges.basis == RangeBasis::Bytes;
    let shares = words::direction_ranges(&ranges.shares, direction);
    let is_whole = |value: f64| value.fract() == 0.0 && value >= 0.0;
    let fit = |share: &model::access::RangeShare| is_whole(share.operations_percent) && is_whole(share.span);
    let range = |share: &model::access::RangeShare| Range {
        io_percent: share.operations_percent as u32,
        length: share.span as u64,
    };
    shares.iter().all(fit).then(|| Distribution {
        absolute,
        ranges: shares.iter().map(range).collect(),
    })
}

/// Sets the rate limit and pauses of each thread on the target.
fn set_limits(stream: &Stream, target: &mut Target) {
    let rates = shares::list_rates(stream);
    if let Some(first) = rates.first() {
        let per_second: f64 = rates
            .iter()
            .filter(|rate| rate.unit == first.unit)
            .map(model::plan::Rate::per_second)
            .sum();
        // A file set has one schedule for all its targets.
        let per_second = per_second / stream.target.ids().len().max(1) as f64;
        let to_count = |value: f64| value.round().clamp(1.0, f64::from(u32::MAX)) as u32;
        (target.throughput, target.throughput_unit) = match first.unit {
            RateUnit::Operations => (to_count(per_second), ThroughputUnit::Iops),
            RateUnit::Bytes => (to_count(per_second / 1000.0), ThroughputUnit::BytesPerMs),
        };
    }
    if let Some(think) = stream.think {
        let milliseconds = (think.pause_ns.0 as f64 / 1e6).round().clamp(1.0, f64::from(u32::MAX)) as u32;
        (target.burst, target.think_ms) = (Some(think.operations.max(1)), Some(milliseconds));
    }
}
