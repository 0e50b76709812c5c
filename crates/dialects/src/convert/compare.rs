//! Two plans, part by part: what the second does not do as the first.
//!
//! Every structure is taken apart without `..`, so that a field that is added to the model does not compile here until
//! somebody has decided what becomes of it.

use model::access::Access;
use model::draws::DrawsForm;
use model::mix::Mix;
use model::plan::{
    AtEndOfJob, Batching, CacheMode, CatchUp, Control, CpuWork, Depth, Dialect, EndsWith, EngineChoice, EngineKind,
    ErrorPolicy, Job, LatencyPoints, LookCall, Memory, OpenHint, Pacing, Pattern, Phases, Plan, Prepare, PriorityRule,
    Process, Rate, RateUnit, Region, Span, Step, Stop, Stream, StreamTarget, Target, TargetKind, Think, ThinkCount,
    ThreadPlacement, Verify, Worker, WriteThrough,
};
use model::{Bytes, Direction, PerDirection};

use super::Lost;
use super::crews::{self, Apart};
use super::fields::{self as of, Field, dialect_name};
use super::words;

/// What is not the same.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) lost: Vec<Lost>,
    pub(super) differs: Vec<Lost>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The test is another one.
    Lost,
    /// The same test, done in the way of the other dialect.
    Differs,
}

use Kind::{Differs, Lost as Gone};

/// A worker with the job that it belongs to.
#[derive(Clone, Copy)]
struct Place<'a> {
    plan: &'a Plan,
    job: &'a Job,
    worker: &'a Worker,
    stream: &'a Stream,
}

/// Compares what is wanted with what the words of `to` come to.
pub(super) fn compare(wanted: &Plan, got: &Plan, to: Dialect) -> Found {
    let mut comparing = Comparing {
        from: wanted.origin.dialect,
        to,
        job: None,
        found: Found::default(),
    };
    comparing.plans(wanted, got);
    comparing.found
}

struct Comparing {
    from: Dialect,
    to: Dialect,
    job: Option<String>,
    found: Found,
}

impl Comparing {
    /// Notes a difference once for each job.
    fn note(&mut self, kind: Kind, field: &Field, wanted: impl AsRef<str>, got: impl AsRef<str>) {
        let (from, to) = (dialect_name(self.from), dialect_name(self.to));
        let what = match (field.name(self.from), wanted.as_ref()) {
            ("", wanted) => format!("{from}: {wanted}"),
            (name, wanted) => format!("{from} {name}: {wanted}"),
        };
        let why = match (field.name(self.to), got.as_ref()) {
            ("", "") => format!("{to} has no such thing"),
            ("", _) if kind == Gone && !field.name(self.from).is_empty() => format!("{to} has no such thing"),
            (_, "") => format!("{to} cannot say that"),
            (_, got) => format!("{to}: {got}"),
        };
        let lost = Lost {
            job: self.job.clone(),
            what,
            why,
        };
        let list = match kind {
            Gone => &mut self.found.lost,
            Differs => &mut self.found.differs,
        };
        if !list.contains(&lost) {
            list.push(lost);
        }
    }

    /// Compares two things by what they are in words.
    fn same(&mut self, kind: Kind, field: &Field, wanted: String, got: String) {
        if wanted != got {
            self.note(kind, field, wanted, got);
        }
    }

    /// What a dialect does of its own accord, in every job.
    fn habit(&mut self, field: &Field, wanted: String, got: String) {
        let job = self.job.take();
        self.same(Differs, field, wanted, got);
        self.job = job;
    }

    /// Something that is either there or not.
    fn kept(&mut self, field: &Field, word: &str, wanted: bool, got: bool) {
        if wanted && !got {
            self.note(Gone, field, word, "");
        }
    }

    /// Something that may be given.
    fn given<T: PartialEq>(&mut self, field: &Field, wanted: Option<T>, got: Option<T>, word: impl Fn(&T) -> String) {
        if let Some(value) = &wanted
            && wanted != got
        {
            self.note(Gone, field, word(value), got.as_ref().map(&word).unwrap_or_default());
        }
    }

    fn plans(&mut self, wanted: &Plan, got: &Plan) {
        // Names, groups and interval series are how results are shown; what was written, and how, is no part of a test.
        let Plan {
            name: _,
            seed,
            targets: _,
            prepare: _,
            prepare_once: _,
            steps,
            groups: _,
            grids: _,
            limits,
            // Permissions are the user's to give, in the way of each tool.
            target_rules: _,
            origin: _,
        } = wanted;
        self.same(Gone, &of::LIMITS, words::limits(limits), words::limits(&got.limits));
        if self.from == self.to || *seed > u64::from(u32::MAX) {
            self.same(Gone, &of::SEED, seed.to_string(), got.seed.to_string());
        }
        if steps.len() != got.steps.len() {
            let (wanted, got) = (steps.len(), got.steps.len());
            self.note(
                Gone,
                &of::STEPS,
                format!("{wanted} one after the other"),
                got.to_string(),
            );
        }
        for (wanted_step, got_step) in steps.iter().zip(&got.steps) {
            self.steps((wanted, wanted_step), (got, got_step));
        }
    }

    fn steps(&mut self, (plan, wanted): (&Plan, &Step), (got_plan, got): (&Plan, &Step)) {
        // When targets are prepared is seen at the targets themselves.
        let Step { jobs, prepare: _ } = wanted;
        let many = jobs.len() > 1 || plan.steps.len() > 1;
        let threads = |step: &Step| -> Vec<usize> {
            let workers = step.jobs.iter().flat_map(|job| &job.workers);
            workers.map(|worker| worker.streams.len()).collect()
        };
        let all: Vec<Place<'_>> = places(got_plan, got);
        let alike = threads(wanted) == threads(got);
        self.job = None;
        self.same(Gone, &of::STRUCTURE, shape(wanted), shape(got));
        let mut before: Option<(&Job, Stream, Worker, Worker)> = None;
        for (index, place) in places(plan, wanted).into_iter().enumerate() {
            self.job = many.then(|| place.job.name.clone());
            let paths = |place: &Place<'_>| -> Vec<String> {
                let ids = place.stream.target.ids().iter();
                ids.map(|id| place.plan.target(*id).path.clone()).collect()
            };
            let ours = paths(&place);
            let counterpart = match alike {
                true => all.get(index),
                // Where threads are spread in another way, what is most like it on the same target stands for it.
                false => all
                    .iter()
                    .filter(|other| paths(other).iter().any(|path| ours.contains(path)))
                    .max_by_key(|other| likeness(place.stream, other.stream))
                    .or(all.first()),
            };
            let Some(counterpart) = counterpart else {
                self.note(Gone, &of::STRUCTURE, "the whole of it", "");
                continue;
            };
            // Of thousands of threads most are like the one before, and would only say again what it said.
            let pair = (
                place.job,
                place.stream.clone(),
                crews::likeness(place.worker, Apart::default()),
                crews::likeness(counterpart.worker, Apart::default()),
            );
            let cpus = (&place.worker.placement, &counterpart.worker.placement);
            if self.from != self.to && cpus.0 == cpus.1 && before.as_ref() == Some(&pair) {
                continue;
            }
            before = Some(pair);
            self.jobs(place.job, counterpart.job, (place, *counterpart));
            self.workers(place.worker, counterpart.worker, place.stream);
            self.streams(place, *counterpart);
        }
        self.job = None;
    }

    fn jobs(&mut self, wanted: &Job, got: &Job, (place, other): (Place<'_>, Place<'_>)) {
        let Job {
            name: _,
            description,
            phases,
            stop,
            after,
            ends_with,
            control,
            operation_log,
            trace,
            windows,
            prepare_only,
            scheduler,
            ends_with_io,
            hosts,
            divide,
            storage,
            workers: _,
        } = wanted;
        self.same(
            Gone,
            &of::STORAGE,
            words::storage(storage),
            words::storage(&got.storage),
        );
        self.kept(
            &of::PREPARE_ONLY,
            "its files are made and nothing else is done",
            *prepare_only,
            got.prepare_only,
        );
        self.kept(
            &of::ENDS_WITH_IO,
            "it ends when all other I/O is done",
            *ends_with_io,
            got.ends_with_io,
        );
        self.same(Gone, &of::HOSTS, hosts.join(", "), got.hosts.join(", "));
        self.same(Gone, &of::DIVIDE, words::divided(*divide), words::divided(got.divide));
        if let Some(text) = description.as_ref().filter(|_| got.description != *description) {
            self.note(Differs, &of::DESCRIPTION, text, "");
        }
        let Phases {
            start_delay: Span { low_ns, high_ns },
            warm_up_ns,
            warm_up_bytes,
            cool_down_ns,
        } = *phases;
        let delay = |low, high| match low == high {
            true => words::time(low),
            false => format!("{} to {}", words::time(low), words::time(high)),
        };
        let theirs = got.phases.start_delay;
        self.same(
            Gone,
            &of::START_DELAY,
            delay(low_ns, high_ns),
            delay(theirs.low_ns, theirs.high_ns),
        );
        self.same(
            Gone,
            &of::WARM_UP,
            words::time(warm_up_ns),
            words::time(got.phases.warm_up_ns),
        );
        let bytes = |bytes: &Bytes| words::size(bytes.0);
        self.given(&of::WARM_UP_BYTES, warm_up_bytes, got.phases.warm_up_bytes, bytes);
        self.same(
            Gone,
            &of::COOL_DOWN,
            words::time(cool_down_ns),
            words::time(got.phases.cool_down_ns),
        );
        self.stops(stop, &got.stop, place, other);
        if after.len() > got.after.len() {
            self.note(
                Gone,
                &of::AFTER,
                format!("{} jobs that end first", after.len()),
                got.after.len().to_string(),
            );
        }
        let EndsWith {
            jobs,
            on_failure,
            workers_on_failure,
            workers,
            plan,
            plan_always,
        } = ends_with;
        self.kept(
            &of::ENDS_OTHERS,
            "other jobs end with it",
            !jobs.is_empty() || *plan_always,
            !got.ends_with.jobs.is_empty() || got.ends_with.plan_always,
        );
        let several = wanted.workers.len() > 1;
        self.kept(
            &of::ENDS_OTHERS,
            "its other workers end with one",
            *workers && several,
            got.ends_with.workers,
        );
        let failure = |jobs: bool, workers: bool, plan: bool| {
            let ends = [(jobs, "other jobs"), (workers, "other workers"), (plan, "later steps")];
            let ends: Vec<&str> = ends.into_iter().filter(|(is, _)| *is).map(|(_, word)| word).collect();
            match ends.is_empty() {
                true => "a failure ends nothing else".to_owned(),
                false => format!("a failure ends {} too", ends.join(" and ")),
            }
        };
        let theirs = &got.ends_with;
        self.habit(
            &of::ON_FAILURE,
            failure(on_failure.len() > 1, *workers_on_failure, *plan),
            failure(theirs.on_failure.len() > 1, theirs.workers_on_failure, theirs.plan),
        );
        for rule in control {
            let field = match rule {
                Control::Precision(_) => &of::UNTIL_PRECISION,
                Control::SteadyState(_) => &of::UNTIL_STEADY,
                Control::LatencyTarget(_) => &of::LATENCY_TARGET,
                Control::MinimumRate(_) => &of::MINIMUM_RATE,
            };
            let like = got
                .control
                .iter()
                .find(|other| std::mem::discriminant(*other) == std::mem::discriminant(rule));
            if like != Some(rule) && !got.control.contains(rule) {
                self.note(
                    Gone,
                    field,
                    words::control(rule),
                    like.map(words::control).unwrap_or_default(),
                );
            }
        }
        self.given(
            &of::OPERATION_LOG,
            operation_log.as_ref(),
            got.operation_log.as_ref(),
            |file| file.to_string(),
        );
        self.given(&of::SCHEDULER, scheduler.as_ref(), got.scheduler.as_ref(), |name| {
            name.to_string()
        });
        self.given(&of::TRACE, trace.as_ref(), got.trace.as_ref(), |file| file.to_string());
        self.kept(
            &of::OPERATION_LOG,
            "a log of latencies, window by window",
            !windows.is_empty(),
            !got.windows.is_empty(),
        );
    }

    fn stops(&mut self, wanted: &Stop, got: &Stop, place: Place<'_>, other: Place<'_>) {
        let wanted = said(wanted, place);
        let Stop {
            after_ns,
            bytes,
            region_percent,
            operations,
            passes,
            repeat_until_time: _,
            rounds: _,
        } = wanted;
        let got = said(got, other);
        let seconds = |time: &model::Nanos| words::time(*time);
        self.given(&of::TIME, after_ns, got.after_ns, seconds);
        let each = |bytes: &Bytes| format!("{} by each worker", words::size(bytes.0));
        self.given(&of::BYTES, bytes, got.bytes, each);
        self.given(&of::BYTES, region_percent, got.region_percent, |percent| {
            format!("{percent} % of the region")
        });
        self.given(&of::OPERATIONS, operations, got.operations, |count| {
            format!("{count} by each worker")
        });
        self.given(&of::PASSES, passes, got.passes, u32::to_string);
        if after_ns.is_none()
            && let Some(time) = got.after_ns
        {
            self.note(Gone, &of::TIME, "no limit of time", words::time(time));
        }
    }

    fn workers(&mut self, wanted: &Worker, got: &Worker, stream: &Stream) {
        let Worker {
            engine,
            depth,
            batching,
            draws,
            placement,
            memory,
            latency,
            streams,
        } = wanted;
        self.engines(engine, &got.engine, stream);
        let depths = |worker: &Worker, depth: &Depth| match (depth, worker.streams.len()) {
            (Depth::Shared { operations }, 2..) => format!("{operations} over all targets"),
            (Depth::Shared { operations }, _) => operations.to_string(),
            (Depth::PerStream, _) => {
                let each: Vec<u32> = worker.streams.iter().map(|stream| stream.depth).collect();
                match each.iter().all(|depth| *depth == each[0]) {
                    true if each.len() > 1 => format!("{} on each target", each[0]),
                    true => each[0].to_string(),
                    false => format!("{each:?} on its targets"),
                }
            }
        };
        let depth = depths(wanted, depth);
        // A file set has one depth over all of it, as targets that share one have.
        let shared = |worker: &Worker, words: String| match &worker.streams[0].target {
            StreamTarget::Files { targets, .. } if targets.len() > 1 && worker.streams.len() == 1 => {
                format!("{words} over all targets")
            }
            StreamTarget::Files { .. } | StreamTarget::One { .. } => words,
        };
        self.same(
            Gone,
            &of::DEPTH,
            shared(wanted, depth),
            shared(got, depths(got, &got.depth)),
        );
        if let (Depth::Shared { .. }, true) = (wanted.depth, streams.len() > 1) {
            let weights = |streams: &[Stream]| -> Vec<f64> {
                let all: f64 = streams.iter().map(|stream| f64::from(stream.weight)).sum();
                streams
                    .iter()
                    .map(|stream| f64::from(stream.weight) / all * 100.0)
                    .collect()
            };
            let even = vec![100.0 / streams.len() as f64; streams.len()];
            let theirs = match got.streams.len() == streams.len() {
                true => weights(&got.streams),
                false => even,
            };
            let shares = |weights: Vec<f64>| {
                weights
                    .iter()
                    .map(|share| format!("{share:.1}"))
                    .collect::<Vec<_>>()
                    .join("/")
            };
            self.same(Gone, &of::WEIGHT, shares(weights(streams)), shares(theirs));
        }
        let Batching {
            submit,
            complete_min,
            complete_max,
            refill_below,
            completion_routines,
            // A figure for the report.
            count_waits: _,
            serialize_overlap,
        } = *batching;
        let theirs = got.batching;
        self.kept(
            &of::OVERLAP,
            "operations that overlap wait for each other",
            serialize_overlap,
            theirs.serialize_overlap,
        );
        self.given(&of::BATCH, submit, theirs.submit, u32::to_string);
        self.given(&of::BATCH_COMPLETE, complete_min, theirs.complete_min, u32::to_string);
        self.given(&of::BATCH_COMPLETE, complete_max, theirs.complete_max, u32::to_string);
        self.given(&of::REFILL, refill_below, theirs.refill_below, u32::to_string);
        if completion_routines && !theirs.completion_routines {
            self.note(Differs, &of::ROUTINES, "completion routines", "");
        }
        let kind = |draws: &DrawsForm| match draws {
            DrawsForm::Native { seed: _ } => "one for each purpose, of its own kind",
            DrawsForm::Single { seed: _ } => "one for everything",
            DrawsForm::PerPurpose { seed: _, number: _ } => "one for each purpose",
        };
        if kind(draws) != kind(&got.draws) {
            let what = format!("random numbers: {}", kind(draws));
            let why = format!(
                "{}: positions and data are drawn alike, and are not the same ones",
                kind(&got.draws)
            );
            self.habit(&of::DRAWS, what, why);
        } else if draws != &got.draws && self.from == self.to {
            self.note(Gone, &of::SEED, format!("{draws:?}"), format!("{:?}", got.draws));
        }
        let ThreadPlacement {
            cpus,
            // Words of no dialect: it is given where several hosts carry a plan out.
            turn: _,
            cpu_nodes,
            memory_nodes,
            name,
            nice,
            user,
            group,
            control_group,
        } = placement;
        let bound = |cpus: &[u32]| match cpus {
            [] => "no binding".to_owned(),
            list => format!("bound to {}", words::cpus(list)),
        };
        let theirs = &got.placement;
        self.same(
            if cpus.is_empty() { Differs } else { Gone },
            &of::CPUS,
            bound(cpus),
            bound(&theirs.cpus),
        );
        let nodes = |nodes: &[u32]| (!nodes.is_empty()).then(|| words::cpus(nodes));
        self.given(
            &of::CPU_NODES,
            nodes(cpu_nodes),
            nodes(&theirs.cpu_nodes),
            String::clone,
        );
        self.given(
            &of::MEMORY_NODE,
            memory_nodes.as_ref(),
            theirs.memory_nodes.as_ref(),
            |nodes| words::memory_nodes(nodes),
        );
        self.given(&of::THREAD_NAME, name.as_ref(), theirs.name.as_ref(), |name| {
            name.to_string()
        });
        self.given(&of::NICE, *nice, theirs.nice, i8::to_string);
        self.given(&of::USER, *user, theirs.user, u32::to_string);
        self.given(&of::GROUP, *group, theirs.group, u32::to_string);
        self.given(
            &of::CONTROL_GROUP,
            control_group.as_ref(),
            theirs.control_group.as_ref(),
            |group| words::control_group(group),
        );
        let Memory {
            huge_pages,
            huge_page,
            alignment,
            pinned,
        } = *memory;
        let some = |bytes: Bytes| (bytes.0 > 0).then_some(bytes);
        self.given(&of::PINNED, some(pinned), some(got.memory.pinned), |bytes| {
            words::size(bytes.0)
        });
        self.kept(&of::HUGE_PAGES, "huge pages", huge_pages, got.memory.huge_pages);
        self.given(&of::HUGE_PAGE, some(huge_page), some(got.memory.huge_page), |bytes| {
            words::size(bytes.0)
        });
        let align = |alignment: u32| (alignment > 0).then_some(alignment);
        self.given(
            &of::BUFFER_ALIGNMENT,
            align(alignment),
            align(got.memory.alignment),
            u32::to_string,
        );
        let points = |points: LatencyPoints| match points {
            LatencyPoints::BeforeCall => "from the beginning of the call, with the total beside it",
            LatencyPoints::CompletionInSeries => "from the beginning of the call",
            LatencyPoints::AfterCall => "from the end of the call, with the total beside it",
        };
        let in_words = |of: LatencyPoints| format!("completion latency {}", points(of));
        self.habit(&of::LATENCY, in_words(*latency), in_words(got.latency));
    }

    fn engines(&mut self, wanted: &EngineChoice, got: &EngineChoice, stream: &Stream) {
        let EngineChoice {
            kind,
            poll,
            submission_thread,
            force_async_every,
            // How a buffer is named in a call; every dialect leaves it to its engine.
            registered: _,
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
        } = *wanted;
        let part = |percent: u8| (percent != 100).then_some(percent);
        self.given(&of::POLL, part(poll_percent), part(got.poll_percent), |percent| {
            format!("busy waiting for {percent} %")
        });
        self.kept(&of::UNCACHED, "pages leave the cache at once", uncached, got.uncached);
        self.kept(&of::NO_WAIT, "an operation that would wait fails", no_wait, got.no_wait);
        self.given(&of::SUBMISSION_THREAD, submission_cpu, got.submission_cpu, |cpu| {
            format!("a kernel thread on CPU {cpu}")
        });
        self.kept(&of::HUGE_MAPS, "maps of huge pages", huge_maps, got.huge_maps);
        let call = |call: LookCall| match call {
            LookCall::Stat => "stat",
            LookCall::Lstat => "lstat",
            LookCall::Statx => "statx",
        };
        self.same(Gone, &of::LOOK, call(look).into(), call(got.look).into());
        self.given(&of::WORK, work, got.work, |work| match work {
            CpuWork::Spin { time_ns } => format!("a processor that spins for {}", words::time(*time_ns)),
            CpuWork::Sort { numbers, percent } => {
                format!("a processor that sorts {numbers} numbers, {percent} % of the time")
            }
        });
        self.given(&of::PROGRAM, program.clone(), got.program.clone(), |program| {
            format!("running {}", program.path)
        });
        let special = |kind: EngineKind| matches!(kind, EngineKind::Null | EngineKind::Simulated);
        let mapped = stream.cache.mapping.is_some();
        match kind == got.kind || mapped || kind == EngineKind::Auto {
            true => {}
            false if special(kind) || special(got.kind) => self.note(Gone, &of::ENGINE, kind.name(), got.kind.name()),
            // Without a choice it is found by the depth.
            false if self.from == Dialect::Diskspd && kind == EngineKind::Psync => {
                self.note(
                    Differs,
                    &of::ENGINE,
                    "one synchronous call after the other",
                    got.kind.name(),
                );
            }
            false if kind == EngineKind::Psync && got.kind == EngineKind::Auto => {
                self.note(Differs, &of::ENGINE, kind.name(), got.kind.name());
            }
            false => self.note(Gone, &of::ENGINE, kind.name(), got.kind.name()),
        }
        self.kept(&of::POLL, "busy waiting in the driver", poll, got.poll);
        self.kept(
            &of::SUBMISSION_THREAD,
            "a kernel thread that submits",
            submission_thread,
            got.submission_thread,
        );
        let every = |every: u32| (every > 0).then_some(every);
        self.given(
            &of::FORCE_ASYNC,
            every(force_async_every),
            every(got.force_async_every),
            u32::to_string,
        );
        self.kept(&of::ATOMIC, "writes that are not torn", atomic, got.atomic);
        self.kept(
            &of::OFFLOAD,
            "a pool of threads that makes the calls",
            offload,
            got.offload,
        );
    }

    fn streams(&mut self, wanted: Place<'_>, got: Place<'_>) {
        let theirs = got.stream;
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
            // Compared for the worker as a whole.
            depth: _,
            weight: _,
            priority,
            on_error,
            verify,
            priorities,
            lock,
            flow,
            replay,
        } = wanted.stream;
        self.targets(target, wanted, got);
        self.regions(region, wanted, got);
        self.mixes(*mix, wanted.stream, theirs);
        self.patterns(pattern, wanted.stream, theirs);
        let writes = mix.includes(Direction::Write);
        let verified = verify.is_some();
        if writes && !verified && words::content(content) != words::content(&theirs.content) {
            use model::content::Content;
            let fresh = |content: &Content| matches!(content, Content::Fresh | Content::Drawn | Content::Stamped);
            let kind = if fresh(content) && fresh(&theirs.content) {
                Differs
            } else {
                Gone
            };
            self.note(
                kind,
                &of::CONTENT,
                words::content(content),
                words::content(&theirs.content),
            );
        }
        self.caches(*cache, theirs.cache, writes);
        let OpenHint {
            sequential,
            random,
            temporary,
            write_lifetime,
            no_reuse,
        } = *hint;
        // fio gives its hints unasked, and none of them matters past the cache.
        let kind = if self.from == Dialect::Fio || cache.direct {
            Differs
        } else {
            Gone
        };
        for (hint, there, word) in [
            (sequential, theirs.hint.sequential, "a hint of sequential access"),
            (random, theirs.hint.random, "a hint of random access"),
            (temporary, theirs.hint.temporary, "a hint of a temporary file"),
            (no_reuse, theirs.hint.no_reuse, "a hint of data that is used once"),
        ] {
            if hint && !there {
                self.note(kind, &of::HINT, word, "");
            }
        }
        self.given(&of::LIFETIME, write_lifetime, theirs.hint.write_lifetime, u8::to_string);
        if writes {
            self.same(Gone, &of::FLUSH, words::flushes(sync), words::flushes(&theirs.sync));
        }
        self.pacing(*pacing, wanted.stream, theirs);
        self.pauses(*think, theirs.think);
        self.same(
            Gone,
            &of::PRIORITY,
            words::priority(*priority),
            words::priority(theirs.priority),
        );
        let rules = |rules: &[PriorityRule]| {
            let words: Vec<String> = rules.iter().map(words::priority_rule).collect();
            match words.is_empty() {
                true => "no part has one of its own".to_owned(),
                false => words.join("; "),
            }
        };
        self.same(Gone, &of::PRIORITIES, rules(priorities), rules(&theirs.priorities));
        self.same(
            Gone,
            &of::FILE_LOCK,
            words::file_lock(*lock),
            words::file_lock(theirs.lock),
        );
        self.given(&of::FLOW, flow.as_ref(), theirs.flow.as_ref(), |flow| words::flow(flow));
        self.given(&of::REPLAY, replay.as_ref(), theirs.replay.as_ref(), |replay| {
            words::replay(replay)
        });
        self.same(
            Gone,
            &of::ERRORS,
            words::errors(on_error),
            words::errors(&theirs.on_error),
        );
        let ErrorPolicy {
            tolerate_read: _,
            tolerate_write: _,
            tolerate_verify: _,
            full_is_end,
            latency_ns_max,
            // What is told of errors.
            tell_tolerated: _,
            block_lifetimes: _,
        } = on_error;
        self.kept(
            &of::FULL,
            "a full file system ends it without error",
            *full_is_end,
            theirs.on_error.full_is_end,
        );
        let longest = |of: &PerDirection<Option<model::Nanos>>| {
            words::by_direction(mix, |direction| of[direction].map_or("any".into(), words::time))
        };
        self.same(
            Gone,
            &of::MAX_LATENCY,
            longest(latency_ns_max),
            longest(&theirs.on_error.latency_ns_max),
        );
        // Where it is kept follows from the names of the jobs.
        let kept_anywhere = |verify: &Verify| Verify {
            state_file: String::new(),
            directory: String::new(),
            ..verify.clone()
        };
        let same = |verify: &Verify| theirs.verify.as_ref().map(kept_anywhere) == Some(kept_anywhere(verify));
        if let Some(verify) = verify.as_ref().filter(|verify| !same(verify)) {
            self.note(Gone, &of::VERIFY, format!("{:?}", verify.method).to_lowercase(), "");
        }
    }

    fn targets(&mut self, wanted: &StreamTarget, place: Place<'_>, other: Place<'_>) {
        let names = |place: Place<'_>| -> Vec<String> {
            let of = place
                .stream
                .target
                .ids()
                .iter()
                .map(|id| place.plan.target(*id).path.clone());
            of.collect()
        };
        let (ours, theirs) = (names(place), names(other));
        // Targets of several streams, or a set of files: either way each has to be there.
        let all: Vec<String> = other
            .worker
            .streams
            .iter()
            .flat_map(|stream| stream.target.ids())
            .map(|id| other.plan.target(*id).path.clone())
            .collect();
        match ours.iter().all(|path| all.contains(path)) {
            true => {}
            false => self.note(Gone, &of::TARGET, ours.join(", "), theirs.join(", ")),
        }
        if let StreamTarget::Files {
            targets,
            open_at_once,
            service,
            operations,
        } = wanted
            && targets.len() > 1
            && *wanted != other.stream.target
        {
            // The numbers of the targets are those of each plan.
            let same = match &other.stream.target {
                StreamTarget::Files {
                    targets: _,
                    open_at_once: open,
                    service: choice,
                    operations: each,
                } => (open, choice, each) == (open_at_once, service, operations),
                StreamTarget::One { .. } => false,
            };
            if !same {
                let what = format!(
                    "{} files, {service:?}, {operations} operations each, {open_at_once} open",
                    targets.len()
                );
                self.note(Gone, &of::FILES, what, "targets of which each operation picks any");
            }
        }
        for (id, theirs) in place.stream.target.ids().iter().zip(other.stream.target.ids()) {
            self.target(place.plan.target(*id), other.plan.target(*theirs), place, other);
        }
    }

    fn target(&mut self, wanted: &Target, got: &Target, place: Place<'_>, other: Place<'_>) {
        let Target {
            path: _,
            kind,
            prepare,
            at_end,
        } = wanted;
        let behaviour = |kind: &TargetKind| match kind {
            TargetKind::Path | TargetKind::Template { number: _ } => "a file or device".to_owned(),
            TargetKind::Name {
                size: _,
                directory: false,
            } => "a name".to_owned(),
            TargetKind::Name {
                size: _,
                directory: true,
            } => "a directory".to_owned(),
            TargetKind::Nothing { size } => format!("nothing of {}", words::size(size.0)),
            TargetKind::Simulated { device } => format!("a simulated device: {device:?}"),
        };
        self.same(Gone, &of::TARGET, behaviour(kind), behaviour(&got.kind));
        if matches!(kind, TargetKind::Nothing { .. } | TargetKind::Simulated { .. }) {
            return;
        }
        let (ours, theirs) = (made(prepare), made(&got.prepare));
        if let Some(size) = ours {
            let in_words = |size: u64| format!("a file of {}", words::size(size));
            // Nobody makes a device.
            if theirs != Some(size) && !is_device(&wanted.path) {
                self.note(
                    Gone,
                    &of::FILE_SIZE,
                    in_words(size),
                    theirs.map(in_words).unwrap_or_default(),
                );
            }
        }
        let way = |prepare: &Prepare| match prepare {
            Prepare::Existing => "used as it is",
            Prepare::Filled { size: _ } => "made once, full of random data, and used again",
            Prepare::Recreate { size: _, content: _ } => "made anew",
            Prepare::LayOut { .. } => "laid out if it is too small",
        };
        if ours.is_some() && !is_device(&wanted.path) {
            let in_words = |prepare: &Prepare| format!("a file that is {}", way(prepare));
            self.habit(&of::PREPARE, in_words(prepare), in_words(&got.prepare));
        }
        let anew =
            |place: Place<'_>| place.plan.prepare == model::plan::PrepareWhen::EachStep && place.plan.steps.len() > 1;
        if matches!(
            (prepare, &got.prepare),
            (Prepare::Recreate { .. }, Prepare::Recreate { .. })
        ) && anew(place) != anew(other)
        {
            self.note(
                Gone,
                &of::PREPARE,
                "the file is made anew for each step",
                "it made once",
            );
        }
        let stays = |at_end: &AtEndOfJob| match at_end {
            AtEndOfJob::KeepNamed | AtEndOfJob::Keep => "it stays",
            AtEndOfJob::Remove => "it is removed at the end",
            AtEndOfJob::RemoveEachPass => "it is removed after every pass",
        };
        self.same(Gone, &of::AT_END, stays(at_end).into(), stays(&got.at_end).into());
        if *at_end == AtEndOfJob::Keep && got.at_end == AtEndOfJob::KeepNamed && self.from == Dialect::Native {
            self.note(Gone, &of::AT_END, "a file of our own making stays", "it removed");
        }
    }

    fn regions(&mut self, wanted: &Region, place: Place<'_>, other: Place<'_>) {
        let Region { base: _, length: _ } = wanted;
        let size = |place: Place<'_>| {
            let target = place.stream.target.ids().first().map(|id| place.plan.target(*id));
            target.and_then(|target| match &target.kind {
                TargetKind::Nothing { size } | TargetKind::Name { size, .. } => Some(size.0),
                TargetKind::Simulated { device } => Some(device.size.0),
                TargetKind::Path | TargetKind::Template { .. } => made(&target.prepare),
            })
        };
        // Where the size is not known, two sizes that no region covers tell the same from the similar.
        let known = size(place).map(|size| vec![size]);
        let sizes = known.unwrap_or_else(|| vec![(1 << 55) + 12_345, (3 << 50) + 4096 * 7]);
        let areas = |region: &Region| sizes.iter().map(|size| region.resolve(*size)).collect::<Vec<_>>();
        let in_words = |region: &Region| match region {
            Region { base, length: None } => format!("everything from {}", extent(base)),
            Region {
                base,
                length: Some(length),
            } => format!("{} from {}", extent(length), extent(base)),
        };
        if areas(wanted) != areas(&other.stream.region) {
            self.note(Gone, &of::REGION, in_words(wanted), in_words(&other.stream.region));
        }
    }

    fn mixes(&mut self, wanted: Mix, stream: &Stream, other: &Stream) {
        // One schedule for both directions keeps the shares that a schedule for each brings about.
        let wanted = match other.pacing {
            Pacing::PerDirection { .. } => wanted,
            Pacing::Unpaced | Pacing::Together { .. } => words::resulting_mix(stream),
        };
        self.same(Gone, &of::MIX, words::mix(&wanted), words::mix(&other.mix));
        let runs = |stream: &Stream| {
            let mixed = matches!(stream.pattern.access[0], Access::Mixed(_));
            let mix = match stream.mix {
                Mix::Drawn {
                    rule: model::mix::MixRule::AfterPlace,
                    write_percent,
                } => write_percent > 0.0 && write_percent < 100.0,
                Mix::Drawn { .. } | Mix::Only { .. } | Mix::Exact { .. } | Mix::TrimThenWrite | Mix::Traced { .. } => {
                    false
                }
            };
            mixed && mix
        };
        if runs(stream) != runs(other) && words::directions(&wanted).len() > 1 {
            let way = |runs: bool| match runs {
                true => "a sequential run keeps the type of its first operation",
                false => "each operation draws its type",
            };
            self.note(Differs, &of::MIX, way(runs(stream)), way(runs(other)));
        }
    }

    fn patterns(&mut self, wanted: &Pattern, stream: &Stream, other: &Stream) {
        let Pattern {
            access,
            access_of: _,
            sizes,
            alignment: _,
            whole_blocks,
            sizes_by_place,
        } = wanted;
        self.kept(
            &of::SIZES_BY_PLACE,
            "lengths go by whether a position is random",
            *sizes_by_place,
            other.pattern.sizes_by_place,
        );
        let common: Vec<Direction> = words::directions(&stream.mix)
            .into_iter()
            .filter(|direction| other.mix.includes(*direction))
            .collect();
        // Where not one direction is left, the mix has been told already; the patterns are those of any.
        let mix = match common.is_empty() {
            true => return,
            false => &stream.mix,
        };
        let each = |word: &dyn Fn(&Stream, Direction) -> String, of: &Stream| {
            words::by_direction(mix, |direction| match common.contains(&direction) {
                true => word(of, direction),
                false => word(of, common[0]),
            })
        };
        self.same(
            Gone,
            &of::ACCESS,
            each(&words::access, stream),
            each(&words::access, other),
        );
        let separate = |stream: &Stream| stream.pattern.access.iter().any(words::separate_positions);
        if common.len() > 1 && separate(stream) != separate(other) {
            let way = |separate: bool| match separate {
                true => "reads and writes have a position each",
                false => "reads and writes share a position",
            };
            self.note(Differs, &of::ACCESS, way(separate(stream)), way(separate(other)));
        }
        let length = |stream: &Stream, direction: Direction| words::sizes(&stream.pattern.sizes[direction]);
        self.same(Gone, &of::SIZES, each(&length, stream), each(&length, other));
        let walks = |access: &Access| {
            matches!(
                access,
                Access::Sequential(_) | Access::Interlocked(_) | Access::Parallel(_)
            )
        };
        if !access.iter().all(walks) && !other.pattern.access.iter().all(walks) {
            let multiples = |stream: &Stream, direction: Direction| {
                format!("multiples of {}", words::size(words::step(stream, direction)))
            };
            self.same(Gone, &of::ALIGNMENT, each(&multiples, stream), each(&multiples, other));
        }
        let varies = common
            .iter()
            .any(|direction| !matches!(sizes[*direction], model::block_size::BlockSizes::Fixed { .. }));
        if varies && *whole_blocks != other.pattern.whole_blocks {
            let way = |whole: bool| match whole {
                true => "every position has room for the longest operation",
                false => "operations near the end are drawn short enough",
            };
            self.note(Differs, &of::SIZES, way(*whole_blocks), way(other.pattern.whole_blocks));
        }
    }

    fn caches(&mut self, wanted: CacheMode, got: CacheMode, writes: bool) {
        let CacheMode {
            direct,
            write_through,
            local_only,
            mapping,
            drop_before,
            fill_before,
        } = wanted;
        let cached = |direct: bool| {
            if direct {
                "past the page cache"
            } else {
                "through the page cache"
            }
            .to_owned()
        };
        self.same(Gone, &of::CACHE, cached(direct), cached(got.direct));
        if writes && write_through != got.write_through {
            let way = |through: WriteThrough| match through {
                WriteThrough::Off => "writes that are done when they are taken",
                WriteThrough::Data => "writes that are done when the data is stable",
                WriteThrough::DataAndMetadata => "writes that are done when data and metadata are stable",
            };
            let off = write_through == WriteThrough::Off || got.write_through == WriteThrough::Off;
            let kind = if off { Gone } else { Differs };
            self.note(kind, &of::CACHE, way(write_through), way(got.write_through));
        }
        self.kept(
            &of::CACHE,
            "the cache of the server is used, the local one is not",
            local_only,
            got.local_only,
        );
        self.same(Gone, &of::MAPPED, words::mapping(mapping), words::mapping(got.mapping));
        // There is nothing to drop where the cache is not used.
        if !direct && drop_before != got.drop_before {
            let way = |drop: bool| match drop {
                true => "cached pages are dropped before the job",
                false => "cached pages stay",
            };
            self.note(Differs, &of::DROP_BEFORE, way(drop_before), way(got.drop_before));
        }
        self.kept(
            &of::FILL_BEFORE,
            "files are read into the cache before",
            fill_before,
            got.fill_before,
        );
    }

    fn pacing(&mut self, wanted: Pacing, stream: &Stream, other: &Stream) {
        let ours = rates(wanted, &stream.mix);
        let theirs = rates(other.pacing, &other.mix);
        let word = |rates: &PerDirection<Option<Rate>>| {
            let each = words::by_direction(&stream.mix, |direction| {
                rates[direction].as_ref().map_or("no limit".into(), rate)
            });
            match each.as_str() {
                "no limit" => each,
                _ => format!("{each} for each worker"),
            }
        };
        let near = |one: &Option<Rate>, other: &Option<Rate>| match (one, other) {
            (None, None) => true,
            (Some(one), Some(other)) => {
                let (a, b) = (one.per_second(), other.per_second());
                one.unit == other.unit && (a - b).abs() <= 1e-6 * a.max(b)
            }
            _ => false,
        };
        if !Direction::ALL
            .iter()
            .all(|direction| near(&ours[*direction], &theirs[*direction]))
        {
            self.note(Gone, &of::RATE, word(&ours), word(&theirs));
        } else if matches!(
            (wanted, other.pacing),
            (Pacing::Together { .. }, Pacing::PerDirection { .. })
                | (Pacing::PerDirection { .. }, Pacing::Together { .. })
        ) && words::directions(&stream.mix).len() > 1
        {
            let way = |pacing: Pacing| match pacing {
                Pacing::PerDirection { .. } => "a schedule for reads and one for writes",
                Pacing::Unpaced | Pacing::Together { .. } => "one schedule, of which each operation draws its type",
            };
            self.note(Differs, &of::RATE, way(wanted), way(other.pacing));
        }
        let any = |rates: &PerDirection<Option<Rate>>| rates.iter().find_map(|(_, rate)| *rate);
        let (Some(ours), Some(theirs)) = (any(&ours), any(&theirs)) else {
            return;
        };
        let Rate {
            amount: _,
            per_ns: _,
            unit: _,
            process,
            catch_up,
            // Where in the first interval a schedule begins.
            phase_ns: _,
        } = ours;
        let spaced = |process: Process| match process {
            Process::Linear => "even gaps",
            Process::Poisson => "exponential gaps",
        };
        self.same(
            Gone,
            &of::ARRIVALS,
            spaced(process).into(),
            spaced(theirs.process).into(),
        );
        let made_up = |catch_up: CatchUp| match catch_up {
            CatchUp::Unlimited => "every delay is made up for".to_owned(),
            CatchUp::Within(time) => format!("delays up to {} are made up for", words::time(time)),
        };
        self.same(Gone, &of::CATCH_UP, made_up(catch_up), made_up(theirs.catch_up));
    }

    fn pauses(&mut self, wanted: Option<Think>, got: Option<Think>) {
        let word = |think: Option<Think>| {
            let Some(Think {
                pause_ns,
                spin_ns,
                operations,
                after_ns,
                count: _,
                shifts_schedule,
                cycles_each,
            }) = think
            else {
                return "no pauses".to_owned();
            };
            let mut word = format!("{} after {operations} operations", words::time(pause_ns));
            if spin_ns.0 > 0 {
                word += &format!(", {} of it spinning", words::time(spin_ns));
            }
            if let Some(time) = after_ns {
                word += &format!(", or after {}", words::time(time));
            }
            if cycles_each > 0 {
                word += &format!(", {cycles_each} cycles of computing after each");
            }
            if shifts_schedule {
                word += ", which the schedule does not make up for";
            }
            word
        };
        self.same(Gone, &of::PAUSE, word(wanted), word(got));
        if let (Some(ours), Some(theirs)) = (wanted, got)
            && ours.count != theirs.count
        {
            let way = |count: ThinkCount| match count {
                ThinkCount::Issued => "operations count when they are issued",
                ThinkCount::Completed => "operations count when they are done, and none is in flight during a pause",
            };
            self.note(Differs, &of::PAUSE, way(ours.count), way(theirs.count));
        }
    }
}

/// Every stream of a step, in the order of its jobs and workers.
fn places<'a>(plan: &'a Plan, step: &'a Step) -> Vec<Place<'a>> {
    let workers = step
        .jobs
        .iter()
        .flat_map(|job| job.workers.iter().map(move |worker| (job, worker)));
    let streams = workers.flat_map(|(job, worker)| worker.streams.iter().map(move |stream| (job, worker, stream)));
    streams
        .map(|(job, worker, stream)| Place {
            plan,
            job,
            worker,
            stream,
        })
        .collect()
}

/// In how many ways two streams are alike.
fn likeness(one: &Stream, other: &Stream) -> usize {
    let mut directions = words::directions(&one.mix).into_iter();
    let length = |stream: &Stream, direction| words::sizes(&stream.pattern.sizes[direction]);
    let same = directions.next().map(|direction| {
        [
            words::access(one, direction) == words::access(other, direction),
            length(one, direction) == length(other, direction),
            words::mix(&one.mix) == words::mix(&other.mix),
            one.region == other.region,
        ]
    });
    same.into_iter().flatten().filter(|same| *same).count()
}

/// How threads and targets go together in a step.
fn shape(step: &Step) -> String {
    let mut crews: Vec<(usize, usize)> = Vec::new();
    for worker in step.jobs.iter().flat_map(|job| &job.workers) {
        // A set of files is as many targets as streams with one target each are.
        let streams = worker.streams.iter().map(|stream| stream.target.ids().len()).sum();
        match crews.last_mut() {
            Some((count, same)) if *same == streams => *count += 1,
            _ => crews.push((1, streams)),
        }
    }
    let crews = crews.iter().map(|(count, streams)| match streams {
        1 => format!("{count} on one target each"),
        _ => format!("{count} on {streams} targets each"),
    });
    format!("workers: {}", crews.collect::<Vec<_>>().join(", "))
}

/// Rounds as amounts: so many times as much.
pub(super) fn folded(stop: Stop) -> Stop {
    let rounds = stop.rounds.unwrap_or(1);
    let times = u64::from(rounds);
    Stop {
        bytes: stop.bytes.map(|bytes| Bytes(bytes.0.saturating_mul(times))),
        region_percent: stop.region_percent.map(|percent| percent.saturating_mul(rounds)),
        operations: stop.operations.map(|operations| operations.saturating_mul(times)),
        passes: stop.passes.map(|passes| passes.saturating_mul(rounds)),
        rounds: None,
        ..stop
    }
}

/// What really ends a job: counts that begin anew until the time is over end nothing, and neither do bytes that are the
/// passes in other words.
fn said(stop: &Stop, place: Place<'_>) -> Stop {
    let mut said = folded(*stop);
    if stop.repeat_until_time && stop.after_ns.is_some() {
        (said.bytes, said.region_percent, said.operations, said.passes) = (None, None, None, None);
    }
    said.repeat_until_time = false;
    let region = place.stream.region;
    let length = region
        .length
        .filter(|length| length.percent == 0.0)
        .map(|length| length.bytes.0);
    let files = place.stream.target.ids().len() as u64;
    if let (Some(bytes), Some(passes), Some(length)) = (said.bytes, said.passes, length)
        && bytes.0 == length * files * u64::from(passes)
    {
        said.bytes = None;
    }
    said
}

/// The schedule of each direction. One for all is divided by the mix.
fn rates(pacing: Pacing, mix: &Mix) -> PerDirection<Option<Rate>> {
    match pacing {
        Pacing::Unpaced => PerDirection::default(),
        Pacing::PerDirection { rates } => rates,
        Pacing::Together { rate } => {
            let mut all = PerDirection::default();
            let writes = words::write_share(mix) / 100.0;
            for direction in words::directions(mix) {
                let share = match (mix, direction) {
                    (Mix::Only { .. }, _) => 1.0,
                    (Mix::TrimThenWrite, _) => 0.5,
                    (_, Direction::Write) => writes,
                    _ => 1.0 - writes,
                };
                // Fine enough for any rate, and small enough not to overflow.
                let per_ns = model::Nanos((rate.per_ns.0 as f64 / share) as u64);
                all[direction] = Some(Rate { per_ns, ..rate });
            }
            all
        }
    }
}

fn rate(rate: &Rate) -> String {
    let per_second = rate.per_second();
    let rounded = (per_second * 1000.0).round() / 1000.0;
    match rate.unit {
        RateUnit::Operations => format!("{rounded} iops"),
        RateUnit::Bytes if rounded.fract() == 0.0 => format!("{}/s", words::size(rounded as u64)),
        RateUnit::Bytes => format!("{rounded} bytes/s"),
    }
}

/// The path is that of a device, as far as a path tells.
pub(super) fn is_device(path: &str) -> bool {
    path.starts_with("/dev/") || path.starts_with('#') || path.starts_with(r"\\.\")
}

/// The size that a file is given.
pub(super) fn made(prepare: &Prepare) -> Option<u64> {
    match prepare {
        Prepare::Existing => None,
        Prepare::Filled { size } => size.map(|size| size.0),
        Prepare::Recreate { size, content: _ } => Some(size.0),
        Prepare::LayOut {
            size,
            allocate: _,
            content: _,
            block: _,
            extend: _,
            flush: _,
            on_open: _,
            may_create: _,
        } => Some(size.0),
    }
}

fn extent(extent: &model::plan::Extent) -> String {
    match (extent.bytes.0, extent.percent) {
        (bytes, 0.0) => words::size(bytes),
        (0, percent) => format!("{percent} %"),
        (bytes, percent) => format!("{} and {percent} %", words::size(bytes)),
    }
}
