//! The plan that comes nearest among those that a job file of fio can stand for: sections of clones with one stream each.
//!
//! The text is written from that plan and not from the one that was given, so what was lost is what differs between the two.

use model::access::{
    Access, Advance, AtEnd, Continuation, Every, Mixed, Once, OnceMethod, Placement, Positions, Ranges, RangesRule,
    Sequential, Uniform, Zones,
};
use model::block_size::{BlockSizes, SizeShare};
use model::content::Content;
use model::draws::{DrawsForm, Reduction};
use model::mix::{Mix, MixRule};
use model::plan::{
    AllocateMode, AtEndOfJob, Batching, CacheMode, CatchUp, Control, Dependency, Depth, Dialect, Divide, EndsWith,
    EngineChoice, EngineKind, Extent, FileService, Job, LatencyPoints, Mapping, OpenHint, Origin, Pacing, Pattern,
    Phases, Plan, Prepare, PrepareWhen, Priority, Rate, Region, Span, Step, Stop, StoragePath, Stream, StreamTarget,
    Target, TargetKind, TargetRules, Think, Worker,
};
use model::{Bytes, Direction, Nanos, PerDirection};

use super::crews::{Apart, Crew, Names, crews};
use super::fields::dialect_name;
use super::{Conversion, Form, Lost, compare, fio_text, words};

/// fio's seed where none is given.
pub(super) const SEED: u64 = 0x89;

/// The plan in the words of fio.
pub fn to_fio(plan: &Plan) -> Conversion {
    let nearest = nearest(plan);
    let found = compare::compare(plan, &nearest, Dialect::Fio);
    let written = fio_text::write(&nearest);
    let unsaid = written.unsaid.into_iter().map(|(job, what)| Lost {
        job: Some(job),
        what: format!("{}: {what}", dialect_name(plan.origin.dialect)),
        why: "a line of a fio job file ends at `#` and `;`, and `$` begins a variable".into(),
    });
    let mut lost = found.lost;
    lost.extend(unsaid);
    let mut differs = found.differs;
    differs.extend(directories(plan, "directory= takes the place of filename="));
    Conversion {
        dialect: Dialect::Fio,
        text: written.file,
        form: Form::JobFile,
        one_line: written.line,
        lost,
        differs,
    }
}

/// Targets that may be directories, in which ours makes a file. Only who looks at them knows.
pub(super) fn directories(plan: &Plan, instead: &str) -> Vec<Lost> {
    let may_be = |target: &&Target| {
        let name = target.path.rsplit(['/', '\\']).next().unwrap_or_default();
        target.kind == TargetKind::Path && !name.contains('.') && !target.path.starts_with("/dev/")
    };
    let native = plan.origin.dialect == Dialect::Native;
    let targets = plan.targets.iter().filter(|_| native).filter(may_be);
    let lost = |target: &Target| Lost {
        job: None,
        what: format!(
            "native target: {}, if it is a directory: a file of our own in it",
            target.path
        ),
        why: format!("there {instead}"),
    };
    targets.map(lost).collect()
}

/// The plan that a job file can stand for.
fn nearest(plan: &Plan) -> Plan {
    let Plan {
        name,
        seed,
        targets,
        prepare: _,
        prepare_once: _,
        steps,
        groups,
        grids,
        // fio has no word for them.
        limits: _,
        target_rules: _,
        origin: _,
    } = plan;
    let mut sections = Sections {
        plan,
        clones: 0,
        names: Names::default(),
    };
    let steps = steps.iter().map(|step| sections.step(step)).collect();
    Plan {
        name: name.clone(),
        seed: seed_of(plan, *seed),
        targets: targets.iter().map(target).collect(),
        prepare: PrepareWhen::BeforeAll,
        prepare_once: Vec::new(),
        steps,
        groups: groups.clone(),
        grids: grids.clone(),
        limits: Vec::new(),
        target_rules: TargetRules::default(),
        origin: Origin {
            dialect: Dialect::Fio,
            ..Origin::default()
        },
    }
}

/// A seed that nobody chose becomes the one that nobody chooses.
fn seed_of(plan: &Plan, seed: u64) -> u64 {
    match (plan.origin.dialect, seed) {
        (Dialect::Native, 1) | (Dialect::Diskspd, 0) => SEED,
        (_, seed) => seed,
    }
}

fn target(target: &Target) -> Target {
    let Target {
        path,
        kind,
        prepare,
        at_end,
    } = target;
    Target {
        path: path.clone(),
        kind: match kind {
            TargetKind::Path | TargetKind::Template { .. } => TargetKind::Path,
            TargetKind::Name { size, directory } => TargetKind::Name {
                size: *size,
                directory: *directory,
            },
            TargetKind::Nothing { size } => TargetKind::Nothing { size: *size },
            TargetKind::Simulated { device } => TargetKind::Nothing { size: device.size },
        },
        prepare: match (prepare, compare::made(prepare)) {
            (Prepare::LayOut { .. }, _) => prepare.clone(),
            (Prepare::Existing | Prepare::Filled { .. } | Prepare::Recreate { .. }, None) => Prepare::Existing,
            (Prepare::Existing | Prepare::Filled { .. } | Prepare::Recreate { .. }, Some(size)) => Prepare::LayOut {
                size: Bytes(size),
                allocate: AllocateMode::Native,
                content: Some(Content::Once),
                block: 4096,
                extend: false,
                flush: true,
                on_open: false,
                may_create: true,
            },
        },
        at_end: match at_end {
            AtEndOfJob::KeepNamed | AtEndOfJob::Keep => AtEndOfJob::Keep,
            AtEndOfJob::Remove => AtEndOfJob::Remove,
            AtEndOfJob::RemoveEachPass => AtEndOfJob::RemoveEachPass,
        },
    }
}

struct Sections<'a> {
    plan: &'a Plan,
    clones: u32,
    names: Names,
}

impl Sections<'_> {
    fn step(&mut self, step: &Step) -> Step {
        let Step { jobs, prepare: _ } = step;
        // The last section of each job, for those that wait for it, and all sections of the step.
        let mut last_of: Vec<u32> = Vec::new();
        let mut sections: Vec<Job> = Vec::new();
        for job in jobs {
            let of_job = self.sections(job, &last_of);
            sections.extend(of_job);
            last_of.push(sections.len() as u32 - 1);
        }
        let known = sections.len() as u32;
        for section in &mut sections {
            for list in [&mut section.ends_with.jobs, &mut section.ends_with.on_failure] {
                if !list.is_empty() {
                    *list = (0..known).collect();
                }
            }
        }
        Step {
            jobs: sections,
            prepare: None,
        }
    }

    fn sections(&mut self, job: &Job, last_of: &[u32]) -> Vec<Job> {
        let apart = Apart {
            regions: true,
            depths: false,
            starts: true,
        };
        let mut all: Vec<Vec<Worker>> = Vec::new();
        for crew in crews(job, apart) {
            all.extend(self.clones(&crew));
        }
        let several = all.len() > 1;
        let named = all.into_iter().enumerate().map(|(index, workers)| {
            let name = section_name(&job.name);
            let name = match several {
                true => format!("{name} {}", index + 1),
                false => name,
            };
            section(job, self.names.take(&name), workers, last_of)
        });
        named.collect()
    }

    /// The clones that a crew comes to: those of one section if clones can be spread as its workers are, else one each.
    fn clones(&mut self, crew: &Crew<'_>) -> Vec<Vec<Worker>> {
        let mut groups: Vec<Vec<Worker>> = Vec::new();
        for worker in &crew.workers {
            let streams = streams(crew, worker);
            groups.resize_with(groups.len().max(streams.len()), Vec::new);
            for (group, stream) in groups.iter_mut().zip(streams) {
                self.clones += 1;
                group.push(clone(self.plan, worker, stream, self.clones));
            }
        }
        let spread = groups
            .into_iter()
            .flat_map(|group| match fio_text::increment(&group).is_some() {
                true => vec![group],
                false => group.into_iter().map(|worker| vec![worker]).collect(),
            });
        spread.collect()
    }
}

/// The streams of a worker, as clones can have them: targets that share a depth are one set of files.
fn streams(crew: &Crew<'_>, worker: &Worker) -> Vec<Stream> {
    let targets = crew.targets();
    let product = crew.is_a_product() && worker.streams.len() == targets.len() && targets.len() > 1;
    let even = worker
        .streams
        .iter()
        .all(|stream| stream.weight == worker.streams[0].weight);
    let one_stream = worker.streams.len() == 1;
    if !product || one_stream || !even {
        let weights: u32 = worker.streams.iter().map(|stream| stream.weight).sum();
        let depth = |stream: &Stream| match worker.depth {
            Depth::PerStream => stream.depth,
            Depth::Shared { operations } if one_stream => operations,
            Depth::Shared { operations } => {
                let share = u64::from(operations) * u64::from(stream.weight) / u64::from(weights.max(1));
                u32::try_from(share).unwrap_or(u32::MAX).max(1)
            }
        };
        let each = worker.streams.iter().map(|stream| Stream {
            depth: depth(stream),
            ..stream.clone()
        });
        return each.collect();
    }
    let (service, depth) = match worker.depth {
        Depth::Shared { operations } => (FileService::Random, operations),
        Depth::PerStream => (FileService::RoundRobin, worker.slots()),
    };
    vec![Stream {
        target: StreamTarget::Files {
            open_at_once: targets.len() as u32,
            targets,
            service,
            operations: 1,
        },
        depth,
        ..worker.streams[0].clone()
    }]
}

/// `[` and `]` bound a name, and comments end it.
fn section_name(name: &str) -> String {
    let kept: String = name
        .chars()
        .map(|letter| {
            if "[];#$".contains(letter) || letter.is_control() {
                '_'
            } else {
                letter
            }
        })
        .collect();
    match kept.trim() {
        "" => "job".into(),
        name if name.starts_with("global") => format!("job {name}"),
        name => name.to_owned(),
    }
}

fn section(job: &Job, name: String, workers: Vec<Worker>, last_of: &[u32]) -> Job {
    let Job {
        name: _,
        description,
        phases,
        stop,
        after,
        ends_with,
        control,
        operation_log: _,
        trace,
        windows,
        prepare_only,
        scheduler,
        ends_with_io,
        // fio has no word for them.
        hosts: _,
        divide: _,
        storage: _,
        workers: _,
    } = job;
    let Phases {
        start_delay: Span { low_ns, high_ns },
        warm_up_ns,
        warm_up_bytes,
        cool_down_ns: _,
    } = *phases;
    let EndsWith {
        jobs,
        on_failure,
        workers_on_failure: _,
        workers: ends_workers,
        plan: _,
        plan_always,
    } = ends_with;
    let mut kept: Vec<Control> = Vec::new();
    for rule in control {
        let there = kept
            .iter()
            .any(|other| std::mem::discriminant(other) == std::mem::discriminant(rule));
        match rule {
            Control::Precision(_) => {}
            Control::SteadyState(_) | Control::LatencyTarget(_) if there => {}
            Control::SteadyState(_) | Control::LatencyTarget(_) | Control::MinimumRate(_) => kept.push(*rule),
        }
    }
    let Stop {
        after_ns,
        bytes,
        region_percent,
        operations,
        passes,
        repeat_until_time,
        rounds,
    } = *stop;
    // A pass has an end only where each block has its turn.
    let ends = |access: &Access| matches!(access, Access::Sequential(_)) || access.ends();
    let all_end = workers
        .iter()
        .flat_map(|worker| &worker.streams)
        .all(|stream| stream.pattern.access.iter().all(ends));
    Job {
        name,
        description: description.as_ref().map(|text| text.replace(['\n', '\r'], " ")),
        phases: Phases {
            start_delay: Span {
                low_ns: whole(low_ns),
                high_ns: whole(high_ns),
            },
            warm_up_ns: whole(warm_up_ns),
            warm_up_bytes,
            cool_down_ns: Nanos(0),
        },
        stop: Stop {
            after_ns: after_ns.map(whole),
            bytes,
            region_percent,
            operations,
            passes: passes.filter(|_| all_end),
            repeat_until_time,
            rounds,
        },
        after: after
            .last()
            .and_then(|after| last_of.get(after.0 as usize))
            .map(|last| Dependency(*last))
            .into_iter()
            .collect(),
        ends_with: EndsWith {
            jobs: jobs.clone(),
            on_failure: on_failure.clone(),
            workers_on_failure: false,
            workers: *ends_workers,
            plan: false,
            plan_always: *plan_always,
        },
        control: kept,
        operation_log: None,
        trace: trace.clone(),
        windows: windows.clone(),
        prepare_only: *prepare_only,
        scheduler: scheduler.clone(),
        ends_with_io: *ends_with_io,
        hosts: Vec::new(),
        divide: Divide::default(),
        storage: StoragePath::default(),
        workers,
    }
}

/// fio counts in microseconds.
fn whole(time: Nanos) -> Nanos {
    Nanos(time.0 / 1000 * 1000)
}

fn clone(plan: &Plan, worker: &Worker, stream: Stream, number: u32) -> Worker {
    let Worker {
        engine,
        depth: _,
        batching,
        draws,
        placement,
        memory,
        latency: _,
        streams: _,
    } = worker;
    let stream = of_clone(plan, stream);
    let engine = engine_of(plan, engine, &stream);
    let latency = match engine.kind {
        kind if kind.is_synchronous() => LatencyPoints::BeforeCall,
        // Null with one operation at a time is synchronous too.
        EngineKind::Null if stream.depth <= 1 => LatencyPoints::BeforeCall,
        EngineKind::Vsync => LatencyPoints::BeforeCall,
        _ => LatencyPoints::AfterCall,
    };
    let Batching {
        submit,
        complete_min,
        complete_max,
        refill_below,
        completion_routines: _,
        count_waits: _,
        serialize_overlap,
    } = *batching;
    Worker {
        engine,
        depth: Depth::PerStream,
        batching: Batching {
            submit,
            complete_min,
            complete_max,
            refill_below,
            completion_routines: false,
            count_waits: false,
            serialize_overlap,
        },
        draws: match draws {
            DrawsForm::PerPurpose { .. } => *draws,
            DrawsForm::Native { seed: _ } | DrawsForm::Single { seed: _ } => DrawsForm::PerPurpose {
                seed: seed_of(plan, plan.seed),
                number,
            },
        },
        placement: placement.clone(),
        memory: *memory,
        latency,
        streams: vec![stream],
    }
}

fn engine_of(plan: &Plan, choice: &EngineChoice, stream: &Stream) -> EngineChoice {
    let EngineChoice {
        kind,
        poll,
        submission_thread,
        force_async_every,
        registered,
        atomic,
        offload,
        poll_percent,
        uncached,
        no_wait,
        submission_cpu,
        huge_maps,
        look,
        work,
        ref program,
    } = *choice;
    let is_file = |kind: &TargetKind| match kind {
        TargetKind::Path | TargetKind::Name { .. } | TargetKind::Template { .. } => true,
        TargetKind::Nothing { .. } | TargetKind::Simulated { .. } => false,
    };
    let files = stream.target.ids().iter().all(|id| is_file(&plan.target(*id).kind));
    let kind = match (kind, stream.depth) {
        (kind, _) if kind.moves_nothing() => kind,
        // Where there is no file, fio would make one.
        _ if !files => EngineKind::Null,
        _ if stream.cache.mapping.is_some() => EngineKind::Mmap,
        (EngineKind::Auto, _) if poll || submission_thread => EngineKind::IoUring,
        (EngineKind::Auto, 0 | 1) => EngineKind::Psync,
        (EngineKind::Auto, _) if cfg!(windows) => EngineKind::Iocp,
        (EngineKind::Auto, _) => EngineKind::IoUring,
        (EngineKind::Simulated, _) => EngineKind::Null,
        (kind, _) => kind,
    };
    let ring = kind == EngineKind::IoUring;
    EngineChoice {
        kind,
        poll: poll && (ring || kind == EngineKind::Pvsync2),
        submission_thread: submission_thread && ring,
        force_async_every: if ring { force_async_every } else { 0 },
        registered,
        atomic,
        offload,
        poll_percent,
        uncached,
        no_wait,
        submission_cpu,
        huge_maps,
        look,
        work,
        program: program.clone(),
    }
}

fn of_clone(plan: &Plan, stream: Stream) -> Stream {
    let Stream {
        target,
        region,
        mix,
        pattern,
        content,
        cache,
        hint,
        sync,
        pacing,
        think,
        depth,
        weight: _,
        priority,
        on_error,
        verify,
        priorities,
        lock,
        flow,
        replay,
    } = stream.clone();
    let size = target
        .ids()
        .first()
        .and_then(|id| compare::made(&plan.target(*id).prepare));
    let cache = cache_of(cache);
    let mix = mix_of(mix);
    let pattern = pattern_of(pattern, &stream);
    Stream {
        region: Region {
            base: extent(region.base, size),
            length: region.length.map(|length| extent(length, size)),
        },
        hint: hint_of(hint, cache, &pattern.access[0]),
        pacing: pacing_of(pacing, &mix),
        content: match content {
            Content::Drawn | Content::Source { .. } => Content::Fresh,
            Content::Counting => Content::Pattern {
                bytes: words::counting(),
            },
            Content::Duplicated {
                percent,
                working_set: _,
                shared: _,
                constant,
            } => Content::Duplicated {
                percent,
                working_set: 0,
                shared: false,
                constant,
            },
            Content::Fresh
            | Content::Stamped
            | Content::Once
            | Content::Zeros
            | Content::Pattern { .. }
            | Content::Compressible { .. } => content,
        },
        think: think.map(|think| Think {
            pause_ns: whole(think.pause_ns),
            spin_ns: whole(think.spin_ns),
            after_ns: think.after_ns.map(whole),
            ..think
        }),
        priority: priority.map(|priority| Priority {
            percent: 100,
            ..priority
        }),
        target,
        mix,
        pattern,
        cache,
        sync,
        depth,
        weight: 1,
        on_error,
        verify,
        priorities,
        lock,
        flow,
        replay,
    }
}

/// Bytes, or whole percents of the file.
fn extent(extent: Extent, size: Option<u64>) -> Extent {
    match (extent.percent, size) {
        (0.0, _) => extent,
        (percent, _) if percent.fract() == 0.0 && extent.bytes.0 == 0 => extent,
        (_, Some(size)) => Extent::bytes(extent.resolve(size)),
        (percent, None) => Extent {
            bytes: Bytes(0),
            percent: percent.round(),
            ..extent
        },
    }
}

fn cache_of(cache: CacheMode) -> CacheMode {
    let CacheMode {
        direct,
        write_through,
        local_only: _,
        mapping,
        drop_before,
        fill_before,
    } = cache;
    CacheMode {
        direct,
        write_through,
        local_only: false,
        mapping: mapping.map(|_| Mapping::default()),
        // Past the cache it does nothing, so fio's own habit may stay.
        drop_before: drop_before || direct,
        fill_before,
    }
}

/// What fio tells the system unasked.
pub(super) fn usual_hint(access: &Access) -> OpenHint {
    let sequential = match access {
        Access::Sequential(_) => true,
        Access::Zones(zones) => zones.within.is_none(),
        Access::Interlocked(_) | Access::Parallel(_) | Access::Random { .. } | Access::Mixed(_) | Access::Every(_) => {
            false
        }
    };
    OpenHint {
        sequential,
        random: !sequential,
        ..OpenHint::default()
    }
}

fn hint_of(hint: OpenHint, cache: CacheMode, access: &Access) -> OpenHint {
    let OpenHint {
        sequential,
        random,
        temporary: _,
        write_lifetime,
        no_reuse,
    } = hint;
    let usual = usual_hint(access);
    match (sequential, random) {
        (false, false) if cache.direct => OpenHint {
            write_lifetime,
            ..usual
        },
        _ => OpenHint {
            sequential,
            random: random && !sequential,
            temporary: false,
            write_lifetime,
            no_reuse,
        },
    }
}

/// Whole percents, chosen anew when as many operations have gone in one direction as were due.
fn mix_of(mix: Mix) -> Mix {
    match mix {
        Mix::Only { direction } => Mix::Only { direction },
        Mix::Traced { reads, writes, trims } => Mix::Traced { reads, writes, trims },
        Mix::TrimThenWrite => Mix::TrimThenWrite,
        Mix::Drawn { write_percent, rule: _ } | Mix::Exact { write_percent } => match write_percent.round() {
            0.0 => Mix::READS,
            100.0 => Mix::WRITES,
            write_percent => Mix::Drawn {
                write_percent,
                rule: MixRule::Redrawn,
            },
        },
    }
}

fn pattern_of(pattern: Pattern, stream: &Stream) -> Pattern {
    let Pattern {
        access,
        access_of: _,
        sizes,
        alignment,
        whole_blocks: _,
        sizes_by_place,
    } = pattern;
    let direction = words::directions(&stream.mix)
        .first()
        .copied()
        .unwrap_or(Direction::Read);
    let index = usize::from(stream.pattern.access_of[direction]).min(access.len() - 1);
    let (access, walks) = access_of(&access[index], stream, direction);
    let least = stream.pattern.shortest(&stream.mix);
    Pattern {
        access: vec![access],
        access_of: PerDirection::default(),
        sizes: sizes.map(sizes_of),
        alignment: alignment.map(|align| match walks || *align == least {
            true => Bytes(0),
            false => *align,
        }),
        whole_blocks: false,
        sizes_by_place,
    }
}

/// Shares in whole percents that add up to 100.
fn sizes_of(sizes: &BlockSizes) -> BlockSizes {
    let BlockSizes::Split { entries } = sizes else {
        return sizes.clone();
    };
    let total: f64 = entries.iter().map(|entry| entry.percent).sum();
    let mut rounded: Vec<SizeShare> = entries
        .iter()
        .map(|entry| SizeShare {
            percent: (entry.percent / total * 100.0).round(),
            ..*entry
        })
        .collect();
    let sum: f64 = rounded.iter().map(|entry| entry.percent).sum();
    if let Some(largest) = rounded
        .iter_mut()
        .max_by(|one, other| one.percent.total_cmp(&other.percent))
    {
        largest.percent += 100.0 - sum;
    }
    BlockSizes::Split { entries: rounded }
}

/// The pattern, and whether it is a walk whose stride stands in it.
fn access_of(access: &Access, stream: &Stream, direction: Direction) -> (Access, bool) {
    let walk = |skip: i64| Sequential {
        start: Bytes(0),
        advance: Advance::Length { skip },
        at_end: if skip == 0 { AtEnd::Finish } else { AtEnd::Wrap },
        positions: Positions::PerDirection,
    };
    let stride = || match words::fixed(stream, direction) {
        Some(length) => words::step(stream, direction) as i64 - length as i64,
        None => 0,
    };
    match access {
        Access::Sequential(Sequential {
            start: _,
            advance,
            at_end: _,
            positions: _,
        }) => match advance {
            Advance::Stride => (Access::Sequential(walk(stride())), true),
            Advance::Length { skip } => (Access::Sequential(walk(*skip)), true),
        },
        Access::Interlocked(_) | Access::Parallel(_) => (Access::Sequential(walk(stride())), true),
        Access::Random { placement } => {
            let placement = placement_of(placement);
            (Access::Random { placement }, false)
        }
        Access::Mixed(Mixed {
            placement,
            random_percent,
            continuation: _,
        }) => {
            let mixed = Mixed {
                placement: placement_of(placement),
                random_percent: *random_percent,
                continuation: Continuation::Length,
            };
            (Access::Mixed(mixed), false)
        }
        Access::Every(Every {
            placement,
            operations,
            between,
        }) => {
            let every = Every {
                placement: placement_of(placement),
                operations: *operations,
                between: *between,
            };
            (Access::Every(every), false)
        }
        Access::Zones(Zones {
            work,
            range,
            skip,
            within,
            positions: _,
        }) => {
            let zones = Zones {
                work: *work,
                range: *range,
                skip: *skip,
                within: within.as_ref().map(placement_of),
                positions: Positions::PerDirection,
            };
            (Access::Zones(zones), false)
        }
    }
}

fn placement_of(placement: &Placement) -> Placement {
    let uniform = || {
        Placement::Uniform(Uniform {
            reduction: Reduction::MultiplyHigh32,
        })
    };
    match placement {
        Placement::Uniform(Uniform { reduction: _ }) => uniform(),
        Placement::Once(Once { method }) => Placement::Once(Once {
            method: match method {
                OnceMethod::Bijection => OnceMethod::Map {
                    reduction: Reduction::MultiplyHigh32,
                    optional: false,
                },
                other => *other,
            },
        }),
        Placement::Ranges(Ranges { basis, rule: _, shares }) => {
            let whole = |value: f64| value.fract() == 0.0 && value >= 0.0;
            let fit = shares.iter().all(|(_, list)| {
                let sums = |of: fn(&model::access::RangeShare) -> f64| list.iter().map(of).sum::<f64>();
                let percent = *basis == model::access::RangeBasis::Percent;
                list.iter()
                    .all(|share| whole(share.operations_percent) && whole(share.span))
                    && (list.is_empty()
                        || (sums(|share| share.operations_percent) == 100.0
                            && (!percent || sums(|share| share.span) == 100.0)))
            });
            match fit {
                true => Placement::Ranges(Ranges {
                    basis: *basis,
                    rule: RangesRule::Native,
                    shares: shares.clone(),
                }),
                false => uniform(),
            }
        }
        Placement::Zipf(_) | Placement::Pareto(_) | Placement::Normal(_) | Placement::List(_) => placement.clone(),
    }
}

/// A schedule for each direction, in whole operations or bytes per second.
fn pacing_of(pacing: Pacing, mix: &Mix) -> Pacing {
    let whole = |rate: Rate, share: f64| {
        let Rate {
            amount: _,
            per_ns: _,
            unit,
            process,
            catch_up: _,
            phase_ns: _,
        } = rate;
        Rate {
            amount: (rate.per_second() * share).round().max(1.0) as u64,
            per_ns: Nanos::secs(1),
            unit,
            process,
            catch_up: CatchUp::Unlimited,
            phase_ns: Nanos(0),
        }
    };
    match pacing {
        Pacing::Unpaced => Pacing::Unpaced,
        Pacing::PerDirection { rates } => Pacing::PerDirection {
            rates: rates.map(|rate| rate.map(|rate| whole(rate, 1.0))),
        },
        Pacing::Together { rate } => {
            let writes = words::write_share(mix) / 100.0;
            let mut rates = PerDirection::default();
            for direction in words::directions(mix) {
                let share = match (mix, direction) {
                    (Mix::Only { .. }, _) => 1.0,
                    (Mix::TrimThenWrite, _) => 0.5,
                    (_, Direction::Write) => writes,
                    _ => 1.0 - writes,
                };
                rates[direction] = Some(whole(rate, share));
            }
            Pacing::PerDirection { rates }
        }
    }
}
