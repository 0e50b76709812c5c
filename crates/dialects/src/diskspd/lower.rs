//! Lowers a DiskSpd profile to a plan: time spans become steps, threads workers, targets streams.
//! Threads are expanded here, because DiskSpd assigns them in two ways: to one target each (`-t`),
//! or from a pool to all targets (`-F`). Unsupported features are refused or reported in notes.

use std::collections::{BTreeSet, HashSet};

use model::access::{
    Access, Continuation, Interlocked, Mixed, Parallel, Placement, RangeBasis, RangeShare, Ranges, RangesRule,
    Sequential, Uniform,
};
use model::content::Content;
use model::draws::{GeneratorChoice, Reduction};
use model::environment::LogicalCpu;
use model::mix::{Mix, MixRule};
use model::plan::{
    Batching, CacheMode, Consent, DepthScope, Dialect, EndPropagation, EngineChoice, EngineKind, Extent, Grid,
    GridScope, Job, LatencyPoints, MapFlush, Mapping, Memory, OpenHint, Origin, Pacing, Pattern, Phases, Plan, Prepare,
    PrepareWhen, Presentation, Priority, PriorityClass, Rate, Region, Step, Stop, Stream, StreamTarget,
    Target as PlanTarget, TargetCleanup, TargetId, TargetKind, TargetRules, Think, ThinkCount, ThreadPlacement, Worker,
    WriteThrough,
};
use model::{Bytes, Nanos, PerDirection};

use super::profile::{Cache, Distribution, FlushType, Precreate, Profile, Target, ThroughputUnit, TimeSpan};
use super::refusals::{check_bounds, reject_impossible_values};
use super::text::{self, TextVersion};
use super::{paths, xml};
use crate::Diagnostic;

/// The lowered profile.
#[derive(Clone, Debug, PartialEq)]
pub struct Lowered {
    /// The plan of the profile.
    pub plan: Plan,
    /// Deviations from Windows, in sentences.
    pub notes: Vec<String>,
}

/// The environment in which a profile will run.
#[derive(Clone, Copy, Debug, Default)]
pub struct LowerEnv<'a> {
    /// Numbers of the logical CPUs that may be used, ascending; a Windows group holds 64 of them.
    pub cpus: &'a [u32],
    /// The arguments of the command line, the program first.
    pub arguments: &'a [String],
    /// The format of text reports.
    pub form: TextVersion,
    /// Paths are Windows paths.
    pub windows: bool,
    /// Bytes of memory that buffers may take; absent: unknown.
    pub memory: Option<u64>,
    /// Cores and kinds of cores of these CPUs, in any order; empty: unknown.
    pub topology: &'a [LogicalCpu],
}

/// Lowers a profile to a plan.
///
/// # Errors
/// A [`Diagnostic`] for each unsupported feature.
pub fn lower(profile: &Profile, env: LowerEnv<'_>) -> Result<Lowered, Vec<Diagnostic>> {
    let mut problems = paths::check_paths(profile, env.windows);
    problems.extend(
        profile
            .time_spans
            .iter()
            .flat_map(|span| reject_impossible_values(span, env.windows)),
    );
    problems.extend(profile.time_spans.iter().find_map(|span| check_bounds(span, env)));
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut lowering = Lowering {
        profile,
        env,
        targets: Vec::new(),
        precreated: precreated_paths(profile),
        prepare_once: Vec::new(),
    };
    let steps = profile.time_spans.iter().enumerate();
    let steps: Vec<Step> = steps.map(|(number, span)| lowering.step(number, span)).collect();
    let plan = Plan {
        name: "diskspd".into(),
        seed: profile.time_spans.first().map_or(0, |span| u64::from(span.seed)),
        targets: lowering.targets,
        prepare: PrepareWhen::EachStep,
        prepare_once: lowering.prepare_once,
        steps,
        grids: bucket_grids(profile),
        target_rules: TargetRules {
            consent: Consent::Implied,
            short_device_names: true,
            declare_valid: true,
            ..TargetRules::default()
        },
        origin: origin(profile, env),
        ..Plan::default()
    };
    Ok(Lowered {
        plan,
        notes: notes(profile, env),
    })
}

/// Notes on deviations from Windows.
fn notes(profile: &Profile, env: LowerEnv<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    let spans = &profile.time_spans;
    let any = |predicate: fn(&Target) -> bool| spans.iter().flat_map(|span| &span.targets).any(predicate);
    if profile.etw.is_some() {
        notes.push(
            "-e has no effect: Windows kernel events are not traced, and the report has no \
            ETW section"
                .to_owned(),
        );
    }
    if profile.experiment_flags != 0 {
        notes.push("-: has no effect: throttled operations are always submitted when they are due".to_owned());
    }
    if !env.windows && any(|target| target.temporary_file) {
        notes.push("-ft has no effect: this system has no temporary attribute".to_owned());
    }
    if spans.iter().any(|span| span.threads == 0 && span.requests > 0) {
        notes.push("-O has no effect without -F".to_owned());
    }
    if any(|target| target.throughput > 0 && target.think_ms.is_some()) {
        notes.push("-i and -j have no effect with -g".to_owned());
    }
    notes
}

/// The paths that are created before the first time span, with their sizes.
fn precreated_paths(profile: &Profile) -> Vec<(String, u64)> {
    let Some(rule) = profile.precreate else {
        return Vec::new();
    };
    let targets: Vec<&Target> = profile.time_spans.iter().flat_map(|span| &span.targets).collect();
    let mut created: Vec<(String, u64)> = Vec::new();
    for target in &targets {
        if created.iter().any(|(path, _)| *path == target.path) {
            continue;
        }
        let mentions: Vec<&&Target> = targets.iter().filter(|other| other.path == target.path).collect();
        let sizes: Vec<u64> = mentions.iter().map(|other| other.file_size.unwrap_or(0)).collect();
        let largest = sizes.iter().copied().max().unwrap_or(0);
        let same_content = mentions.iter().all(|other| other.zero_buffers == target.zero_buffers);
        let sizes_match = match rule {
            Precreate::UseMaxSize => true,
            Precreate::ConstantSizes => sizes.iter().all(|size| *size == largest),
            Precreate::ConstantOrZeroSizes => sizes.iter().all(|size| *size == largest || *size == 0),
        };
        if largest > 0 && same_content && sizes_match {
            created.push((target.path.clone(), largest));
        }
    }
    created
}

/// One interval series for each interval length of the time spans.
fn bucket_grids(profile: &Profile) -> Vec<Grid> {
    let spans = profile.time_spans.iter().filter(|span| span.iops_deviation);
    let lengths: BTreeSet<u32> = spans.map(|span| span.bucket_ms).collect();
    let grid = |milliseconds: u32| Grid::new(Nanos::millis(u64::from(milliseconds)), GridScope::Stream);
    lengths.into_iter().map(grid).collect()
}

/// The origin of the plan, for reports.
pub fn origin(profile: &Profile, env: LowerEnv<'_>) -> Origin {
    let mut other: Vec<(String, String)> = Vec::new();
    let mut push = |name: String, value: String| other.push((name, value));
    if env.form == TextVersion::V2_0 {
        push("diskspd_text".into(), "2.0".into());
    }
    if profile.verbose_stats {
        push("wait_statistics".into(), "true".into());
    }
    for (index, span) in profile.time_spans.iter().enumerate() {
        let number = index + 1;
        push(format!("latency.{number}"), span.latency.to_string());
        push(format!("deviation.{number}"), span.iops_deviation.to_string());
        push(format!("bucket_ms.{number}"), span.bucket_ms.to_string());
        push(
            format!("expected_ms.{number}"),
            (u64::from(span.duration) * 1000).to_string(),
        );
        if span.threads > 0 && span.requests > 0 {
            push(format!("requests.{number}"), span.requests.to_string());
        }
    }
    Origin {
        dialect: Dialect::Diskspd,
        arguments: env.arguments.to_vec(),
        presentation: Presentation {
            latency: profile.time_spans.iter().any(|span| span.latency),
            iops_deviation: profile.time_spans.iter().any(|span| span.iops_deviation),
            other,
            ..Presentation::default()
        },
        profile: text::lines(profile, env.form),
        profile_markup: xml::lines(profile),
        ..Origin::default()
    }
}

/// The use of a target by a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TargetUse {
    /// Index of the target in its time span.
    pub target: usize,
    /// The number of the thread, within its target or in the pool.
    pub relative: u32,
    /// Weight of the target for this thread.
    pub weight: u32,
}

/// The threads of a time span in DiskSpd's order: those of the first target, those of the second,
/// …; or those of the pool.
pub fn assign_threads(span: &TimeSpan) -> Vec<Vec<TargetUse>> {
    let targets = || span.targets.iter().enumerate();
    if span.threads == 0 {
        let target_use = |(number, target): (usize, &Target)| {
            let weight = target.weight;
            let create_uses = move |relative| {
                vec![TargetUse {
                    target: number,
                    relative,
                    weight,
                }]
            };
            (0..target.threads).map(create_uses)
        };
        return targets().flat_map(target_use).collect();
    }
    let pool_targets = |thread: u32| {
        let chosen = targets().filter_map(|(number, target)| {
            let weight = weight_for(target, thread)?;
            Some(TargetUse {
                target: number,
                relative: thread,
                weight,
            })
        });
        chosen.collect()
    };
    (0..span.threads).map(pool_targets).collect()
}

/// The state of lowering.
struct Lowering<'a> {
    profile: &'a Profile,
    env: LowerEnv<'a>,
    targets: Vec<PlanTarget>,
    /// Paths created before the first time span.
    precreated: Vec<(String, u64)>,
    prepare_once: Vec<TargetId>,
}

impl Lowering<'_> {
    fn step(&mut self, number: usize, span: &TimeSpan) -> Step {
        let mut used = HashSet::new();
        let ids: Vec<TargetId> = span
            .targets
            .iter()
            .map(|target| self.target(target, &mut used))
            .collect();
        let job = Job {
            name: format!("timespan {}", number + 1),
            phases: Phases {
                warm_up_ns: Nanos::secs(u64::from(span.warm_up)),
                cool_down_ns: Nanos::secs(u64::from(span.cool_down)),
                ..Phases::default()
            },
            stop: Stop::after(Nanos::secs(u64::from(span.duration))),
            ends_with: EndPropagation {
                workers_on_failure: true,
                plan: true,
                ..EndPropagation::default()
            },
            workers: assign_threads(span)
                .iter()
                .enumerate()
                .map(|(number, uses)| self.worker(span, number as u32, uses, &ids))
                .collect(),
            ..Job::default()
        };
        Step {
            jobs: vec![job],
            prepare: None,
        }
    }

    /// The entry of a target in the plan. Two targets of one time span never share one, even with
    /// the same path: each has its own interlocked position.
    fn target(&mut self, target: &Target, used: &mut HashSet<TargetId>) -> TargetId {
        let precreated = self.precreated.iter().find(|(path, _)| *path == target.path);
        let size = match precreated {
            // Drives and volumes are never created: DiskSpd silently skips them.
            _ if self.env.windows && paths::is_device(&target.path) => None,
            Some((_, size)) => Some(*size),
            None => target.file_size.filter(|size| *size > 0),
        };
        let content = match target.zero_buffers {
            true => Content::Zeros,
            false => Content::Counting,
        };
        let entry = PlanTarget {
            path: target.path.clone(),
            kind: target
                .slot()
                .map_or(TargetKind::Path, |number| TargetKind::Template { number }),
            prepare: match size {
                // Only the first entry of a path that is created once creates it.
                Some(_) if precreated.is_some() && self.targets.iter().any(|other| other.path == target.path) => {
                    Prepare::Existing
                }
                Some(size) => Prepare::Recreate {
                    size: Bytes(size),
                    content,
                },
                None => Prepare::Existing,
            },
            at_end: TargetCleanup::Keep,
        };
        let is_created_once = precreated.is_some() && entry.prepare != Prepare::Existing;
        let is_same_target = |target: &PlanTarget| match precreated {
            Some(_) => target.path == entry.path,
            None => *target == entry,
        };
        let target_ids = (0..self.targets.len() as u32).map(TargetId);
        let mut unused = target_ids.filter(|id| !used.contains(id));
        let id = unused
            .find(|id| is_same_target(&self.targets[id.0 as usize]))
            .unwrap_or_else(|| {
                self.targets.push(entry);
                let id = TargetId(self.targets.len() as u32 - 1);
                self.prepare_once.extend(is_created_once.then_some(id));
                id
            });
        used.insert(id);
        id
    }

    fn worker(&self, span: &TimeSpan, number: u32, uses: &[TargetUse], ids: &[TargetId]) -> Worker {
        let common = span.threads > 0 && span.requests > 0;
        let streams = uses.iter().map(|target_use| Stream {
            target: StreamTarget::One {
                target: ids[target_use.target],
            },
            weight: target_use.weight,
            ..stream(
                span,
                &span.targets[target_use.target],
                target_use.relative,
                self.env.windows,
            )
        });
        let streams: Vec<Stream> = streams.collect();
        let requests = match common {
            true => span.requests,
            false => streams.iter().map(|stream| stream.depth).sum(),
        };
        Worker {
            engine: EngineChoice {
                kind: choose_engine(span, uses, requests, self.env.windows),
                registered: span.newer.ring.is_none_or(|ring| !ring.unregistered),
                ..EngineChoice::default()
            },
            depth: match common {
                true => DepthScope::Shared {
                    operations: span.requests,
                },
                false => DepthScope::PerStream,
            },
            batching: Batching {
                completion_routines: span.completion_routines && requests > 1,
                count_waits: self.profile.verbose_stats,
                submit: span.newer.ring.and_then(|ring| ring.batch),
                complete_max: span.newer.dequeue,
                ..Batching::default()
            },
            draws: GeneratorChoice::DiskSpd {
                seed: span.seed.wrapping_add(number),
            },
            placement: ThreadPlacement {
                cpus: self.assign_cpus(span, number),
                ..ThreadPlacement::default()
            },
            memory: Memory {
                huge_pages: uses
                    .iter()
                    .any(|target_use| span.targets[target_use.target].large_pages),
                alignment: span.newer.separation.map_or(0, |separation| separation.bytes() as u32),
                ..Memory::default()
            },
            latency: LatencyPoints::CompletionInSeries,
            streams,
        }
    }

    /// Threads are assigned round-robin to the processors of the list, or to all active ones.
    fn assign_cpus(&self, span: &TimeSpan, number: u32) -> Vec<u32> {
        let in_turn = |cpus: &[u32]| cpus.get(number as usize % cpus.len().max(1)).copied();
        let cpu = match (span.no_affinity, &span.affinity[..]) {
            (true, _) => None,
            (false, []) => in_turn(&span.newer.order.arrange(self.env.cpus, self.env.topology)),
            (false, list) => {
                let cpu = |processor: &super::profile::Processor| {
                    u32::from(processor.group) * 64 + u32::from(processor.number)
                };
                in_turn(&list.iter().map(cpu).collect::<Vec<_>>())
            }
        };
        cpu.into_iter().collect()
    }
}

/// The weight of a target for a thread of the pool; absent if the thread does not use it.
fn weight_for(target: &Target, thread: u32) -> Option<u32> {
    if target.thread_targets.is_empty() {
        return Some(target.weight);
    }
    let thread_target = target
        .thread_targets
        .iter()
        .find(|thread_target| thread_target.thread == thread)?;
    Some(match thread_target.weight {
        0 => target.weight,
        weight => weight,
    })
}

/// A mapped target is copied; a single request uses synchronous calls; everything else is queued.
fn choose_engine(span: &TimeSpan, uses: &[TargetUse], requests: u32, windows: bool) -> EngineKind {
    let mapped = uses
        .iter()
        .all(|target_use| span.targets[target_use.target].memory_mapped);
    match (mapped, requests) {
        (true, _) => EngineKind::Mmap,
        (false, _) if span.newer.ring.is_some() && windows => EngineKind::IoRing,
        (false, _) if span.newer.ring.is_some() => EngineKind::IoUring,
        (false, 0 | 1) => EngineKind::Psync,
        (false, _) => EngineKind::Auto,
    }
}

fn stream(span: &TimeSpan, target: &Target, relative: u32, windows: bool) -> Stream {
    let base = target.base;
    Stream {
        region: Region {
            base: Extent::bytes(base),
            length: (target.end > 0).then(|| Extent::bytes(target.end.saturating_sub(base))),
        },
        mix: Mix::drawn(f64::from(target.write_percent), MixRule::AfterPosition),
        pattern: Pattern {
            alignment: PerDirection::all(Bytes(target.step())),
            ..Pattern::simple(access(target, relative), Bytes(u64::from(target.block)))
        },
        content: content(span, target),
        cache: cache(span, target),
        hint: OpenHint {
            sequential: target.sequential_scan,
            random: target.random_access,
            temporary: target.temporary_file && windows,
            ..OpenHint::default()
        },
        pacing: pacing(target),
        think: think(span, target),
        depth: target.requests,
        weight: target.weight,
        priority: priority(target),
        ..Stream::default()
    }
}

fn access(target: &Target, relative: u32) -> Access {
    let start = Bytes(u64::from(relative).saturating_mul(target.thread_stride));
    match target.random_percent {
        0 if target.parallel => Access::Parallel(Parallel { start }),
        0 if target.interlocked => Access::Interlocked(Interlocked {}),
        0 => Access::Sequential(Sequential {
            start,
            ..Sequential::default()
        }),
        1..100 => {
            let random_percent = PerDirection::all(target.random_percent);
            Access::Mixed(Mixed::new(placement(target), random_percent, Continuation::Stride))
        }
        100.. => Access::random(placement(target)),
    }
}

fn placement(target: &Target) -> Placement {
    let Some(Distribution { absolute, ranges }) = &target.distribution else {
        return Placement::Uniform(Uniform {
            reduction: Reduction::Modulo,
        });
    };
    let share = |range: &super::profile::Range| RangeShare::new(f64::from(range.io_percent), range.length as f64);
    let shares = PerDirection::all(ranges.iter().map(share).collect());
    let basis = match absolute {
        true => RangeBasis::Bytes,
        false => RangeBasis::Percent,
    };
    Placement::Ranges(Ranges::new(basis, RangesRule::Diskspd, shares))
}

fn content(span: &TimeSpan, target: &Target) -> Content {
    match &target.source {
        Some(source) => Content::Source {
            size: Bytes(source.size),
            file: source.file.clone(),
        },
        None if target.zero_buffers => Content::Zeros,
        None if span.random_write_data => Content::Drawn,
        None => Content::Counting,
    }
}

fn cache(span: &TimeSpan, target: &Target) -> CacheMode {
    let flush = match target.flush {
        None => MapFlush::None,
        Some(FlushType::ViewOfFile) => MapFlush::View,
        Some(FlushType::NonVolatileMemory) => MapFlush::Lines,
        Some(FlushType::NonVolatileMemoryNoDrain) => MapFlush::LinesWithoutDrain,
    };
    CacheMode {
        direct: target.cache == Cache::Unbuffered,
        write_through: match target.write_through && !target.memory_mapped {
            true => WriteThrough::Data,
            false => WriteThrough::Off,
        },
        local_only: target.cache == Cache::NoLocal,
        bypass_io: span.newer.bypass,
        mapping: target.memory_mapped.then_some(Mapping {
            // DiskSpd flushes only copies that do not bypass the caches.
            flush: if target.write_through { MapFlush::None } else { flush },
            non_temporal: target.write_through,
        }),
        ..CacheMode::BUFFERED
    }
}

/// An operation is due once the rate has also paid for its own bytes, so the first one waits.
fn pacing(target: &Target) -> Pacing {
    let limit = u64::from(target.throughput);
    if limit == 0 {
        return Pacing::Unpaced;
    }
    let rate = match target.throughput_unit {
        ThroughputUnit::BytesPerMs => Rate {
            per_ns: Nanos::millis(1),
            phase_ns: Nanos(u64::from(target.block) * 1_000_000 / limit),
            ..Rate::bytes(limit)
        },
        ThroughputUnit::Iops => Rate {
            phase_ns: Nanos(1_000_000_000 / limit),
            ..Rate::iops(limit)
        },
    };
    Pacing::Together { rate }
}

/// `-i` is a total of the target, divided among its threads. A throughput limit overrides pauses.
fn think(span: &TimeSpan, target: &Target) -> Option<Think> {
    let (burst, pause) = (target.burst.unwrap_or(0), target.think_ms.unwrap_or(0));
    if target.throughput > 0 || pause == 0 {
        return None;
    }
    let threads = match (span.threads, target.thread_targets.len() as u32) {
        (0, _) => target.threads,
        (pool, 0) => pool,
        (_, chosen) => chosen,
    };
    Some(Think::new(
        Nanos::millis(u64::from(pause)),
        (burst / threads.max(1)).max(1),
        ThinkCount::Issued,
    ))
}

fn priority(target: &Target) -> Option<Priority> {
    let class = match target.priority {
        1 => PriorityClass::Idle,
        2 => PriorityClass::BestEffort,
        _ => return None,
    };
    Some(Priority {
        class,
        level: 7,
        hint: 0,
        percent: 100,
    })
}
