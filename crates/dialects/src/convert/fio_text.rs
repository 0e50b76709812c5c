//! The text of a plan that has fio's shape: a section for each job, and only what is not as fio has it anyway.

use std::fmt::Write;

use model::access::{Access, Advance, Between, Placement, RangeBasis, RangeShare};
use model::block_size::BlockSizes;
use model::content::Content;
use model::mix::Mix;
use model::plan::{
    AllocateMode, AtEndOfJob, Control, CpuWork, EngineKind, ErrorPolicy, Extent, FileService, FlushKind, Job, LookCall,
    Pacing, Plan, Prepare, PriorityClass, Process, RateUnit, Stop, Stream, StreamTarget, TargetKind, Tracked, Verify,
    VerifyMethod, Worker, WriteThrough,
};
use model::{Direction, Nanos, PerDirection};

use super::compare;
use super::fio::{SEED, usual_hint};
use super::fio_text_more as more;
use super::native::quoted;
use super::words::{self, size};

/// What was written.
#[derive(Debug)]
pub(super) struct Written {
    /// The job file.
    pub(super) file: String,
    /// The command line, if there is only one job.
    pub(super) line: Option<String>,
    /// What no line of a job file can hold, by section.
    pub(super) unsaid: Vec<(String, String)>,
}

/// Options of a section, in order; a flag has no value.
type Options = Vec<(&'static str, Option<String>)>;

/// Options that are understood only behind the engine that has them.
const OF_ENGINES: [&str; 9] = [
    "ioengine",
    "hipri",
    "sqthread_poll",
    "force_async",
    "cmdprio_percentage",
    "cmdprio_class",
    "cmdprio",
    "cmdprio_hint",
    "cmdprio_bssplit",
];

/// Writes a plan of fio's shape.
pub(super) fn write(plan: &Plan) -> Written {
    let mut sections: Vec<(String, Options)> = Vec::new();
    for (number, step) in plan.steps.iter().enumerate() {
        for (index, job) in step.jobs.iter().enumerate() {
            let mut options = section(plan, number, job);
            if number > 0 && index == 0 {
                options.insert(0, ("stonewall", None));
            }
            sections.push((job.name.clone(), options));
        }
    }
    let line = match &sections[..] {
        [(name, options)] => Some(command(name, options)),
        _ => None,
    };
    let mut unsaid = Vec::new();
    let mut file = String::new();
    let common = common(&sections);
    if !common.is_empty() {
        file += "[global]\n";
        common.iter().for_each(|option| put(&mut file, option));
    }
    for (name, options) in &sections {
        if !file.is_empty() {
            file.push('\n');
        }
        let _ = writeln!(file, "[{name}]");
        for option in options.iter().filter(|option| !common.contains(option)) {
            put(&mut file, option);
        }
        for (option, value) in options {
            if let Some(value) = value.as_ref().filter(|value| value.contains(['#', ';', '$', '\n'])) {
                unsaid.push((name.clone(), format!("{option}={value}")));
            }
        }
    }
    Written { file, line, unsaid }
}

fn put(file: &mut String, (name, value): &(&'static str, Option<String>)) {
    let _ = match value {
        Some(value) => writeln!(file, "{name}={value}"),
        None => writeln!(file, "{name}"),
    };
}

fn command(name: &str, options: &Options) -> String {
    let mut line = format!("fio --name={}", quoted(name));
    for (name, value) in options {
        let _ = match value {
            Some(value) => write!(line, " --{name}={}", quoted(value)),
            None => write!(line, " --{name}"),
        };
    }
    line
}

/// What several sections all say, in the order of the first.
fn common(sections: &[(String, Options)]) -> Options {
    let [(_, first), others @ ..] = sections else {
        return Options::new();
    };
    let everywhere = |option: &&(&'static str, Option<String>)| {
        !OF_ENGINES.contains(&option.0) && others.iter().all(|(_, options)| options.contains(option))
    };
    match others.is_empty() {
        true => Options::new(),
        false => first.iter().filter(everywhere).cloned().collect(),
    }
}

/// How much further each clone's region begins, if clones can be spread that way: `offset_increment`.
pub(super) fn increment(clones: &[Worker]) -> Option<Extent> {
    let regions: Vec<_> = clones.iter().map(|worker| worker.streams[0].region).collect();
    let first = regions[0];
    let step = match regions.get(1) {
        None => Extent::default(),
        Some(second) => Extent {
            bytes: model::Bytes(second.base.bytes.0.checked_sub(first.base.bytes.0)?),
            percent: second.base.percent - first.base.percent,
            align: 0,
            round_up: false,
        },
    };
    let fits = regions.iter().enumerate().all(|(index, region)| {
        region.length == first.length
            && region.base.bytes.0 == first.base.bytes.0 + step.bytes.0 * index as u64
            && (region.base.percent - first.base.percent - step.percent * index as f64).abs() < 1e-9
    });
    let whole = step.percent >= 0.0 && step.percent.fract() == 0.0 && (step.percent == 0.0 || step.bytes.0 == 0);
    (fits && whole).then_some(step)
}

fn section(plan: &Plan, number: usize, job: &Job) -> Options {
    let mut options = Options::new();
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
        workers,
    } = job;
    let worker = &workers[0];
    let stream = &worker.streams[0];
    let mut say = |name: &'static str, value: String| options.push((name, Some(value)));
    if let Some(text) = description {
        say("description", text.clone());
    }
    on(&mut say, "create_only", *prepare_only);
    if let Some(scheduler) = scheduler {
        say("ioscheduler", scheduler.clone());
    }
    if let Some(path) = trace {
        say("write_iolog", path.clone());
    }
    more::replays(workers, &mut say);
    more::shared(stream, &mut say);
    for kept in windows {
        let (log, length) = match kept.histograms {
            true => ("write_hist_log", "log_hist_msec"),
            false => ("write_lat_log", "log_avg_msec"),
        };
        say(log, job.name.clone());
        say(length, (kept.length_ns.0 / 1_000_000).to_string());
    }
    on(&mut say, "bs_is_seq_rand", stream.pattern.sizes_by_place);
    if let Some(cycles) = stream.think.map(|think| think.cycles_each).filter(|cycles| *cycles > 0) {
        say("thinkcycles", cycles.to_string());
    }
    files(plan, workers, &mut say);
    engine(worker, &mut say);
    on(&mut say, "exit_on_io_done", *ends_with_io);
    pattern(stream, &mut say);
    if workers.len() > 1 {
        say("numjobs", workers.len().to_string());
    }
    times(*stop, stream, &mut say);
    let delay = phases.start_delay;
    match (delay.low_ns == delay.high_ns, delay.high_ns.0) {
        (_, 0) => {}
        (true, _) => say("startdelay", time(delay.low_ns)),
        (false, _) => say("startdelay", format!("{}-{}", time(delay.low_ns), time(delay.high_ns))),
    }
    if phases.warm_up_ns.0 > 0 {
        say("ramp_time", time(phases.warm_up_ns));
    }
    if let Some(bytes) = phases.warm_up_bytes {
        say("ramp_size", size(bytes.0));
    }
    caches(stream, &mut say);
    content(stream, &mut say);
    flushes(stream, &mut say);
    pace(stream, &mut say);
    errors(&stream.on_error, &mut say);
    if let Some(verify) = &stream.verify {
        verification(verify, &mut say);
    }
    system(worker, workers, stream, &mut say);
    control.iter().for_each(|rule| steer(rule, &mut say));
    if let Some(other) = after
        .first()
        .and_then(|after| plan.steps[number].jobs.get(after.0 as usize))
    {
        say("wait_for", other.name.clone());
    }
    let others = plan.steps[number].jobs.len() > 1;
    let with_clones = ends_with.workers && workers.len() > 1;
    if !ends_with.jobs.is_empty() && others || with_clones || ends_with.plan_always {
        let what = if ends_with.plan_always { "all" } else { "stonewall" };
        say("exit_what", what.into());
        options.push(("exitall", None));
    } else if !ends_with.on_failure.is_empty() && others {
        say("exit_what", "stonewall".into());
        options.push(("exitall_on_error", None));
    }
    if plan.seed != SEED
        && matches!(worker.draws, model::draws::DrawsForm::PerPurpose { seed, .. } if seed == plan.seed)
    {
        options.push(("randseed", Some(plan.seed.to_string())));
    }
    if workers.len() > 1 {
        options.push(("group_reporting", None));
    }
    // Words that stand alone.
    options
        .into_iter()
        .map(|(name, value)| (name, value.filter(|value| !value.is_empty())))
        .collect()
}

pub(super) type Say<'a> = &'a mut dyn FnMut(&'static str, String);

/// A flag is a name without a value.
fn flag(say: Say<'_>, name: &'static str, is: bool) {
    if is {
        say(name, String::new());
    }
}

pub(super) fn on(say: Say<'_>, name: &'static str, is: bool) {
    if is {
        say(name, "1".into());
    }
}

/// fio reads microseconds, and no fractions.
fn time(time: Nanos) -> String {
    words::time(Nanos(time.0 / 1000 * 1000))
}

fn extent(extent: Extent) -> String {
    match extent.percent {
        0.0 => size(extent.bytes.0),
        percent => format!("{percent}%"),
    }
}

fn files(plan: &Plan, clones: &[Worker], say: Say<'_>) {
    let stream = &clones[0].streams[0];
    let ids = stream.target.ids();
    let escaped = |path: &str| path.replace(':', r"\:");
    let paths: Vec<String> = ids.iter().map(|id| escaped(&plan.target(*id).path)).collect();
    match &paths[..] {
        [folder] if folder.ends_with('/') => say("directory", folder.clone()),
        _ => say("filename", paths.join(":")),
    }
    if let StreamTarget::Files {
        targets,
        open_at_once,
        service,
        operations,
    } = &stream.target
    {
        let word = match service {
            FileService::RoundRobin => "roundrobin".to_owned(),
            FileService::Random => "random".into(),
            FileService::Sequential => "sequential".into(),
            FileService::Zipf { theta } => format!("zipf:{theta}"),
            FileService::Pareto { h } => format!("pareto:{h}"),
            FileService::Normal { deviation_percent } => format!("normal:{deviation_percent}"),
        };
        match (service, operations) {
            (FileService::RoundRobin, 1) => {}
            (FileService::RoundRobin | FileService::Random | FileService::Sequential, 2..) => {
                say("file_service_type", format!("{word}:{operations}"));
            }
            _ => say("file_service_type", word),
        }
        if (*open_at_once as usize) < targets.len() {
            say("openfiles", open_at_once.to_string());
        }
    }
    let target = plan.target(ids[0]);
    let region = stream.region;
    let made = compare::made(&target.prepare).or(match target.kind {
        TargetKind::Nothing { size } | TargetKind::Name { size, .. } => Some(size.0),
        TargetKind::Path | TargetKind::Template { .. } | TargetKind::Simulated { .. } => None,
    });
    // fio's size is that of all files of a clone.
    let count = ids.len() as u64;
    let base = region.base;
    let length = match (region.length, made) {
        (Some(length), _) => Some(length),
        (None, Some(made)) => Some(Extent::bytes(made.saturating_sub(base.resolve(made)))),
        (None, None) => None,
    };
    if let Some(length) = length {
        let all = match length.percent {
            0.0 => size(length.bytes.0 * count),
            _ => extent(length),
        };
        say("size", all);
    }
    if base.bytes.0 > 0 || base.percent != 0.0 {
        say("offset", extent(base));
    }
    if let Some(step) = increment(clones).filter(|step| step.bytes.0 > 0 || step.percent > 0.0) {
        say("offset_increment", extent(step));
    }
    if let (Some(made), Some(length)) = (made, length)
        && base.resolve(made) + length.resolve(made) != made
    {
        say("filesize", size(made));
    }
    if let Prepare::LayOut {
        size: _,
        allocate,
        content: laid_out,
        block: _,
        extend: _,
        flush,
        on_open,
        may_create,
    } = &target.prepare
    {
        let word = match allocate {
            AllocateMode::None => "none",
            AllocateMode::Native => "native",
            AllocateMode::Posix => "posix",
            AllocateMode::KeepSize => "keep",
            AllocateMode::Truncate => "truncate",
        };
        if *allocate != AllocateMode::Native {
            say("fallocate", word.into());
        }
        // A read needs data whatever is said.
        on(
            say,
            "overwrite",
            laid_out.is_some() && !stream.mix.includes(Direction::Read),
        );
        for (name, is) in [("create_fsync", *flush), ("allow_file_create", *may_create)] {
            if !is {
                say(name, "0".into());
            }
        }
        on(say, "create_on_open", *on_open);
    }
    match target.at_end {
        AtEndOfJob::KeepNamed | AtEndOfJob::Keep => {}
        AtEndOfJob::Remove => say("unlink", "1".into()),
        AtEndOfJob::RemoveEachPass => say("unlink_each_loop", "1".into()),
    }
}

fn engine(worker: &Worker, say: Say<'_>) {
    let engine = &worker.engine;
    let of = |kind: EngineKind| kind.info().fio_names.first().copied();
    let name = of(engine.kind).or(of(EngineKind::Psync)).unwrap_or_default();
    // What fio does without a word.
    if name != if cfg!(windows) { "windowsaio" } else { "psync" } {
        say("ioengine", name.into());
    }
    flag(say, "hipri", engine.poll);
    flag(say, "sqthread_poll", engine.submission_thread);
    if engine.force_async_every > 0 {
        say("force_async", engine.force_async_every.to_string());
    }
    on(say, "atomic", engine.atomic);
    if engine.poll_percent != 100 {
        say("hipri_percentage", engine.poll_percent.to_string());
    }
    on(say, "uncached", engine.uncached);
    on(say, "nowait", engine.no_wait);
    if let Some(cpu) = engine.submission_cpu {
        say("sqthread_poll_cpu", cpu.to_string());
    }
    on(say, "thp", engine.huge_maps);
    special_engine(worker, say);
    on(say, "serialize_overlap", worker.batching.serialize_overlap);
    if worker.memory.pinned.0 > 0 {
        say("lockmem", size(worker.memory.pinned.0));
    }
    if engine.offload {
        say("io_submit_mode", "offload".into());
    }
    let depth = worker.streams[0].depth;
    if depth != 1 {
        say("iodepth", depth.to_string());
    }
    let batching = worker.batching;
    for (name, value) in [
        ("iodepth_batch", batching.submit),
        ("iodepth_batch_complete_min", batching.complete_min),
        ("iodepth_batch_complete_max", batching.complete_max),
        ("iodepth_low", batching.refill_below),
    ] {
        // One at a time is what fio does unasked.
        let usual = matches!(name, "iodepth_batch" | "iodepth_batch_complete_min");
        if let Some(value) = value.filter(|value| !usual || *value != 1) {
            say(name, value.to_string());
        }
    }
}

/// What only engines know that move no data.
fn special_engine(worker: &Worker, say: Say<'_>) {
    let engine = &worker.engine;
    match engine.look {
        LookCall::Stat => {}
        LookCall::Lstat => say("stat_type", "lstat".into()),
        LookCall::Statx => say("stat_type", "statx".into()),
    }
    match engine.work {
        None => {}
        Some(CpuWork::Spin { time_ns }) => {
            let pause = worker.streams[0].think.map_or(0, |think| think.pause_ns.0);
            let part = time_ns.0 * 100 / (time_ns.0 + pause).max(1);
            say("cpuload", part.max(1).to_string());
            say("cpuchunks", (time_ns.0 / 1000).to_string());
        }
        Some(CpuWork::Sort { percent, .. }) => {
            say("cpuload", percent.to_string());
            say("cpumode", "qsort".into());
        }
    }
    if let Some(program) = &engine.program {
        say("program", program.path.clone());
        if !program.arguments.is_empty() {
            say("arguments", program.arguments.join(" "));
        }
        say("grace_time", (program.grace_ns.0 / 1_000_000_000).to_string());
        if program.output.is_none() {
            say("std_redirect", "0".into());
        }
    }
}

fn pattern(stream: &Stream, say: Say<'_>) {
    let access = &stream.pattern.access[0];
    let random = !usual_hint(access).sequential;
    let (read, write, trim) = {
        let of = |direction| stream.mix.includes(direction);
        (of(Direction::Read), of(Direction::Write), of(Direction::Trim))
    };
    let direction = match (stream.mix, read, write, trim) {
        (Mix::TrimThenWrite, ..) => "trimwrite",
        (_, true, true, _) => "rw",
        (_, _, true, _) => "write",
        (_, _, _, true) => "trim",
        _ => "read",
    };
    let tail = match access {
        Access::Sequential(walk) => match walk.advance {
            Advance::Length { skip: 0 } | Advance::Stride => String::new(),
            Advance::Length { skip } if skip < 0 => format!(":-{}", size(skip.unsigned_abs())),
            Advance::Length { skip } => format!(":{}", size(skip as u64)),
        },
        Access::Every(every) => format!(":{}", every.operations),
        Access::Interlocked(_) | Access::Parallel(_) | Access::Random { .. } | Access::Mixed(_) | Access::Zones(_) => {
            String::new()
        }
    };
    say("rw", format!("{}{direction}{tail}", if random { "rand" } else { "" }));
    if read && write {
        let share = words::write_share(&stream.mix);
        if share != 50.0 {
            say("rwmixwrite", share.to_string());
        }
    }
    match access {
        Access::Sequential(_) | Access::Interlocked(_) | Access::Parallel(_) => {}
        Access::Random { placement: of } => placement(of, say),
        Access::Mixed(mixed) => {
            let shares = mixed.random_percent;
            say("percentage_random", list(&shares, &|share| share.to_string()));
            placement(&mixed.placement, say);
        }
        Access::Every(every) => {
            if every.between == Between::Repeat {
                say("rw_sequencer", "identical".into());
            }
            placement(&every.placement, say);
        }
        Access::Zones(zones) => {
            say("zonemode", "strided".into());
            say("zonesize", size(zones.work.0));
            say("zonerange", size(zones.range.0));
            say("zoneskip", size(zones.skip.0));
            if let Some(within) = &zones.within {
                placement(within, say);
            }
        }
    }
    lengths(&stream.pattern.sizes, say);
    let align = stream.pattern.alignment;
    if align != PerDirection::default() {
        let least = stream.pattern.shortest(&stream.mix).0;
        let step = |bytes: &model::Bytes| size(if bytes.0 == 0 { least } else { bytes.0 });
        say("blockalign", list(&align, &step));
    }
}

/// One value, or one for each direction.
fn list<T: PartialEq>(of: &PerDirection<T>, word: &dyn Fn(&T) -> String) -> String {
    match of.read == of.write && of.write == of.trim {
        true => word(&of.read),
        false => [&of.read, &of.write, &of.trim].map(word).join(","),
    }
}

fn lengths(sizes: &PerDirection<BlockSizes>, say: Say<'_>) {
    let kinds: Vec<_> = sizes.iter().map(|(_, sizes)| std::mem::discriminant(sizes)).collect();
    // One option has one kind of length for all directions; each length is a range and a share, too.
    let mixed = kinds.iter().any(|kind| *kind != kinds[0]);
    match &sizes.read {
        _ if mixed => say("bssplit", list(sizes, &split)),
        BlockSizes::Fixed { .. } => {
            let word = list(sizes, &|sizes| size(sizes.max().0));
            if word != "4k" {
                say("bs", word);
            }
        }
        BlockSizes::Range { unaligned, .. } => {
            say(
                "bsrange",
                list(sizes, &|sizes| {
                    format!("{}-{}", size(sizes.min().0), size(sizes.max().0))
                }),
            );
            flag(say, "bs_unaligned", *unaligned);
        }
        BlockSizes::Split { .. } => say("bssplit", list(sizes, &split)),
    }
}

fn split(sizes: &BlockSizes) -> String {
    match sizes {
        BlockSizes::Fixed { size: of } => format!("{}/100", size(of.0)),
        BlockSizes::Range { low, high, .. } => format!("{}/50:{}/50", size(low.0), size(high.0)),
        BlockSizes::Split { entries } => {
            let each = entries
                .iter()
                .map(|entry| format!("{}/{}", size(entry.size.0), entry.percent));
            each.collect::<Vec<_>>().join(":")
        }
    }
}

fn placement(placement: &Placement, say: Say<'_>) {
    let center = |center: Option<f64>| center.map(|at| format!(":{at}")).unwrap_or_default();
    let name = "random_distribution";
    match placement {
        Placement::Uniform(_) => flag(say, "norandommap", true),
        Placement::Once(once) => {
            if let model::access::OnceMethod::Map { optional: true, .. } = once.method {
                say("softrandommap", "1".into());
            }
        }
        Placement::Ranges(ranges) => {
            let (kind, unit): (_, fn(f64) -> String) = match ranges.basis {
                RangeBasis::Percent => ("zoned", |span| span.to_string()),
                RangeBasis::Bytes => ("zoned_abs", |span| size(span as u64)),
            };
            let one = |shares: &Vec<RangeShare>| {
                let each = shares
                    .iter()
                    .map(|share| format!("{}/{}", share.operations_percent, unit(share.span)));
                each.collect::<Vec<_>>().join(":")
            };
            say(name, format!("{kind}:{}", list(&ranges.shares, &one)));
        }
        Placement::Zipf(zipf) => say(name, format!("zipf:{}{}", zipf.theta, center(zipf.center))),
        Placement::Pareto(pareto) => say(name, format!("pareto:{}{}", pareto.h, center(pareto.center))),
        Placement::Normal(normal) => {
            let center = if normal.center == 0.5 {
                String::new()
            } else {
                format!(":{}", normal.center)
            };
            say(name, format!("normal:{}{center}", normal.deviation_percent));
        }
        Placement::List(blocks) => {
            let each = blocks.blocks.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
            say(name, format!("sequence:{each}"));
            on(say, "random_sequence_stride", blocks.moving);
        }
    }
}

/// Without a time fio ends with its size; with one, only if it is not to begin anew.
fn times(stop: Stop, stream: &Stream, say: Say<'_>) {
    let Stop {
        after_ns,
        bytes,
        region_percent,
        operations,
        passes,
        repeat_until_time,
        rounds,
    } = stop;
    let counted = bytes.is_some() || region_percent.is_some() || operations.is_some() || passes.is_some();
    if let Some(after) = after_ns {
        say("runtime", time(after));
        flag(say, "time_based", !counted || repeat_until_time);
    }
    if after_ns.is_some() && repeat_until_time {
        return;
    }
    if let Some(operations) = operations {
        say("number_ios", operations.to_string());
    }
    let length = stream
        .region
        .length
        .map(|length| length.bytes.0 * stream.target.ids().len() as u64);
    let whole = match (passes, length) {
        (Some(passes), Some(length)) => bytes.map(|bytes| bytes.0) == Some(length * u64::from(passes)),
        _ => false,
    };
    match (bytes, region_percent, operations, passes) {
        (Some(bytes), ..) if !whole => say("io_size", size(bytes.0)),
        // All of it is what fio does anyway.
        (None, Some(percent), _, _) if percent != 100 => say("io_size", format!("{percent}%")),
        // Its size would end it before so many are done.
        (None, None, Some(operations), None) => {
            let most = stream.pattern.longest(&stream.mix).0;
            say("io_size", size(operations.saturating_mul(most)));
        }
        _ => {}
    }
    let loops = passes.unwrap_or(1).saturating_mul(rounds.unwrap_or(1));
    if loops > 1 {
        say("loops", loops.to_string());
    }
}

fn caches(stream: &Stream, say: Say<'_>) {
    let cache = stream.cache;
    on(say, "direct", cache.direct);
    match cache.write_through {
        WriteThrough::Off => {}
        WriteThrough::Data => say("sync", "dsync".into()),
        WriteThrough::DataAndMetadata => say("sync", "sync".into()),
    }
    if !cache.drop_before {
        say("invalidate", "0".into());
    }
    on(say, "pre_read", cache.fill_before);
    let usual = usual_hint(&stream.pattern.access[0]);
    let hint = stream.hint;
    match (hint.sequential, hint.random) {
        same if same == (usual.sequential, usual.random) => {}
        (true, _) => say("fadvise_hint", "sequential".into()),
        (false, true) => say("fadvise_hint", "random".into()),
        (false, false) => say("fadvise_hint", "0".into()),
    }
    if let Some(life) = hint.write_lifetime {
        // The numbers of the system: 0 and 1 say nothing.
        let words = ["none", "none", "short", "medium", "long", "extreme"];
        say(
            "write_hint",
            words.get(usize::from(life)).unwrap_or(&"none").to_string(),
        );
    }
}

fn content(stream: &Stream, say: Say<'_>) {
    if !stream.mix.includes(Direction::Write) {
        return;
    }
    match &stream.content {
        Content::Stamped => {}
        Content::Fresh | Content::Drawn | Content::Source { .. } => flag(say, "refill_buffers", true),
        Content::Once => say("scramble_buffers", "0".into()),
        Content::Zeros => flag(say, "zero_buffers", true),
        Content::Counting => say(
            "buffer_pattern",
            format!("0x{}", words::hexadecimal(&words::counting())),
        ),
        Content::Pattern { bytes } => say("buffer_pattern", format!("0x{}", words::hexadecimal(bytes))),
        Content::Compressible {
            percent,
            chunk,
            pattern,
        } => {
            flag(say, "refill_buffers", true);
            constant_part(*percent, *chunk, pattern, say);
        }
        Content::Duplicated { percent, constant, .. } => {
            say("dedupe_percentage", percent.to_string());
            if let Some(part) = constant {
                constant_part(part.percent, part.chunk, &part.pattern, say);
            }
        }
    }
}

fn constant_part(percent: u8, chunk: u32, pattern: &[u8], say: Say<'_>) {
    say("buffer_compress_percentage", percent.to_string());
    if chunk != 512 {
        say("buffer_compress_chunk", size(u64::from(chunk)));
    }
    if !pattern.is_empty() {
        say("buffer_pattern", format!("0x{}", words::hexadecimal(pattern)));
    }
}

fn flushes(stream: &Stream, say: Say<'_>) {
    let sync = stream.sync;
    let (full, data) = match sync.kind {
        FlushKind::Full => (sync.every_writes, sync.data_every_writes),
        FlushKind::Data if sync.every_writes > 0 => (0, sync.every_writes),
        FlushKind::Data => (0, sync.data_every_writes),
    };
    for (name, every) in [("fsync", full), ("fdatasync", data)] {
        if every > 0 {
            say(name, every.to_string());
        }
    }
    if let Some((every, flags)) = sync.file_range {
        let words = [
            (flags.wait_before, "wait_before"),
            (flags.write, "write"),
            (flags.wait_after, "wait_after"),
        ];
        let words: Vec<&str> = words.into_iter().filter(|(is, _)| *is).map(|(_, word)| word).collect();
        say("sync_file_range", format!("{}:{every}", words.join(",")));
    }
    on(say, "end_fsync", sync.at_end);
    on(say, "fsync_on_close", sync.on_close);
    on(say, "end_syncfs", sync.file_system_at_end);
}

fn pace(stream: &Stream, say: Say<'_>) {
    if let Pacing::PerDirection { rates } = stream.pacing {
        let any = rates.iter().find_map(|(_, rate)| *rate);
        if let Some(any) = any {
            let (name, unit): (_, fn(u64) -> String) = match any.unit {
                RateUnit::Operations => ("rate_iops", |amount| amount.to_string()),
                RateUnit::Bytes => ("rate", size),
            };
            let used = words::directions(&stream.mix);
            let per_second = |direction: Direction| rates[direction].map(|rate| rate.per_second().round() as u64);
            let value = match used[..] {
                // One number is for whatever there is.
                [only] => unit(per_second(only).unwrap_or(0)),
                _ => Direction::ALL
                    .map(|direction| per_second(direction).map(unit).unwrap_or_default())
                    .join(","),
            };
            say(name, value.trim_end_matches(',').to_owned());
            if any.process == Process::Poisson {
                say("rate_process", "poisson".into());
            }
        }
    }
    if let Some(think) = stream.think {
        say("thinktime", time(think.pause_ns));
        if think.spin_ns.0 > 0 {
            say("thinktime_spin", time(think.spin_ns));
        }
        if think.operations != 1 {
            say("thinktime_blocks", think.operations.to_string());
        }
        if think.count == model::plan::ThinkCount::Issued {
            say("thinktime_blocks_type", "issue".into());
        }
        if let Some(after) = think.after_ns {
            say("thinktime_iotime", time(after));
        }
        on(say, "rate_ignore_thinktime", think.shifts_schedule);
    }
}

fn errors(policy: &ErrorPolicy, say: Say<'_>) {
    let ErrorPolicy {
        tolerate_read,
        tolerate_write,
        tolerate_verify,
        full_is_end,
        latency_ns_max,
        tell_tolerated,
        block_lifetimes,
    } = policy;
    on(say, "block_error_percentiles", *block_lifetimes);
    on(say, "error_dump", *tell_tolerated);
    let word = match (
        tolerate_read.is_empty(),
        tolerate_write.is_empty(),
        tolerate_verify.is_empty(),
    ) {
        (true, true, true) => None,
        (false, true, true) => Some("read"),
        (true, false, true) => Some("write"),
        (false, false, true) => Some("io"),
        (true, true, false) => Some("verify"),
        _ => Some("all"),
    };
    if let Some(word) = word {
        say("continue_on_error", word.into());
        let lists = [tolerate_read, tolerate_write, tolerate_verify];
        let lists = lists.map(|list| list.iter().map(|error| name_of(*error)).collect::<Vec<_>>().join(":"));
        say("ignore_error", lists.join(",").trim_end_matches(',').to_owned());
    }
    on(say, "fill_device", *full_is_end);
    if *latency_ns_max != PerDirection::default() {
        let one = |longest: &Option<Nanos>| longest.map(time).unwrap_or_default();
        say("max_latency", list(latency_ns_max, &one));
    }
}

/// The usual ones by their names.
fn name_of(error: i32) -> String {
    match error {
        5 => "EIO".into(),
        28 => "ENOSPC".into(),
        84 => "EILSEQ".into(),
        other => other.to_string(),
    }
}

fn verification(verify: &Verify, say: Say<'_>) {
    let Verify {
        method,
        interval,
        pattern,
        after_writes,
        backlog,
        backlog_batch,
        any_seed,
        any_order,
        save_state,
        fatal,
        dump,
        only,
        threads,
        // Written into the pattern below.
        pattern_offsets: _,
        pattern_of_interval,
        processors,
        header_at,
        flushed_only,
        work_out_again,
        load_state,
        // They follow from the name of the job and the command line.
        state_file: _,
        directory: _,
        trims,
    } = verify;
    let word = match method {
        VerifyMethod::Md5 => "md5",
        VerifyMethod::Crc64 => "crc64",
        VerifyMethod::Crc32 => "crc32",
        VerifyMethod::Crc32c => "crc32c",
        VerifyMethod::Crc16 => "crc16",
        VerifyMethod::Crc7 => "crc7",
        VerifyMethod::Sha1 => "sha1",
        VerifyMethod::Sha256 => "sha256",
        VerifyMethod::Sha512 => "sha512",
        VerifyMethod::Sha3_224 => "sha3-224",
        VerifyMethod::Sha3_256 => "sha3-256",
        VerifyMethod::Sha3_384 => "sha3-384",
        VerifyMethod::Sha3_512 => "sha3-512",
        VerifyMethod::Xxhash => "xxhash",
        VerifyMethod::Header => "meta",
        VerifyMethod::Pattern => "pattern",
        VerifyMethod::PatternWithHeader => "pattern_hdr",
        VerifyMethod::None => "null",
    };
    say("verify", word.into());
    if *interval > 0 {
        say("verify_interval", size(u64::from(*interval)));
    }
    if !pattern.is_empty() {
        say("verify_pattern", written(pattern, &verify.pattern_offsets));
    }
    on(say, "verify_pattern_interval", *pattern_of_interval);
    if !after_writes && *backlog == 0 && !only {
        say("do_verify", "0".into());
    }
    for (name, value) in [
        ("verify_backlog", *backlog),
        ("verify_backlog_batch", *backlog_batch),
        ("verify_async", u64::from(*threads)),
    ] {
        if value > 0 {
            say(name, value.to_string());
        }
    }
    for (name, is) in [
        ("verify_header_seed", *any_seed),
        ("verify_write_sequence", *any_order),
        ("verify_state_save", !save_state),
    ] {
        if is {
            say(name, "0".into());
        }
    }
    on(say, "verify_fatal", *fatal);
    on(say, "verify_dump", *dump);
    flag(say, "verify_only", *only);
    if !processors.is_empty() {
        let list: Vec<String> = processors.iter().map(u32::to_string).collect();
        say("verify_async_cpus", list.join(","));
    }
    if *header_at > 0 {
        say("verify_offset", header_at.to_string());
    }
    if *flushed_only {
        say("verify_policy", "fsynced".into());
    }
    on(say, "experimental_verify", *work_out_again);
    on(say, "verify_state_load", *load_state);
    if let Some(trims) = trims {
        say("trim_percentage", trims.percent.to_string());
        say("trim_backlog", trims.backlog.to_string());
        if trims.batch > 0 {
            say("trim_backlog_batch", trims.batch.to_string());
        }
        if !trims.read_as_zeros {
            say("trim_verify_zero", "0".into());
        }
    }
}

/// A pattern with `%o` where the offset of the block stands.
fn written(pattern: &[u8], offsets: &[u32]) -> String {
    /// Bytes of an offset.
    const OFFSET: usize = 8;
    let (mut text, mut from) = (String::new(), 0);
    let hexadecimal = |bytes: &[u8]| match bytes.is_empty() {
        true => String::new(),
        false => format!("0x{}", words::hexadecimal(bytes)),
    };
    for offset in offsets {
        let to = (*offset as usize).clamp(from, pattern.len());
        text += &hexadecimal(&pattern[from..to]);
        text += "%o";
        from = (to + OFFSET).min(pattern.len());
    }
    text + &hexadecimal(&pattern[from..])
}

fn system(worker: &Worker, clones: &[Worker], stream: &Stream, say: Say<'_>) {
    let lists: Vec<&Vec<u32>> = clones.iter().map(|clone| &clone.placement.cpus).collect();
    if lists.iter().any(|list| !list.is_empty()) {
        match lists.iter().all(|list| *list == lists[0]) {
            true => say("cpus_allowed", words::cpus(lists[0])),
            false => {
                let mut all: Vec<u32> = lists.iter().flat_map(|list| list.iter().copied()).collect();
                all.truncate(words::period(&all).len());
                say("cpus_allowed", words::cpus(&all));
                say("cpus_allowed_policy", "split".into());
            }
        }
    }
    if let Some(nodes) = &worker.placement.memory_nodes {
        say("numa_mem_policy", words::memory_nodes(nodes));
    }
    if !worker.placement.cpu_nodes.is_empty() {
        say("numa_cpu_nodes", words::cpus(&worker.placement.cpu_nodes));
    }
    if let Some(name) = &worker.placement.name {
        say("comm", name.clone());
    }
    if let Some(nice) = worker.placement.nice {
        say("nice", nice.to_string());
    }
    if let Some(user) = worker.placement.user {
        say("uid", user.to_string());
    }
    if let Some(group) = worker.placement.group {
        say("gid", group.to_string());
    }
    if let Some(group) = &worker.placement.control_group {
        say("cgroup", group.path.clone());
        if let Some(weight) = group.weight {
            say("cgroup_weight", weight.to_string());
        }
        on(say, "cgroup_nodelete", group.keep);
    }
    if worker.memory.huge_pages {
        say("mem", "mmaphuge".into());
    }
    if worker.memory.huge_page.0 > 0 {
        say("hugepage-size", size(worker.memory.huge_page.0));
    }
    if worker.memory.alignment > 0 {
        say("iomem_align", size(u64::from(worker.memory.alignment)));
    }
    if let Some(priority) = stream.priority {
        let class = match priority.class {
            PriorityClass::RealTime => "1",
            PriorityClass::BestEffort => "2",
            PriorityClass::Idle => "3",
        };
        say("prioclass", class.into());
        say("prio", priority.level.to_string());
    }
    more::priorities(stream, say);
}

fn steer(rule: &Control, say: Say<'_>) {
    match rule {
        Control::Precision(_) => {}
        Control::SteadyState(rule) => {
            let of = match rule.of {
                Tracked::Iops => "iops",
                Tracked::Throughput => "bw",
                Tracked::Latency => "lat",
            };
            let slope = if rule.slope { "_slope" } else { "" };
            let unit = if rule.percent { "%" } else { "" };
            say("steadystate", format!("{of}{slope}:{}{unit}", rule.limit));
            say("steadystate_duration", time(rule.window_ns));
            if rule.ramp_ns.0 > 0 {
                say("steadystate_ramp_time", time(rule.ramp_ns));
            }
            if rule.interval_ns != Nanos::secs(1) {
                say("steadystate_check_interval", time(rule.interval_ns));
            }
        }
        Control::LatencyTarget(rule) => {
            say("latency_target", time(rule.target_ns));
            say("latency_window", time(rule.window_ns));
            if rule.percentile != 100.0 {
                say("latency_percentile", rule.percentile.to_string());
            }
            on(say, "latency_run", rule.keep_running);
        }
        Control::MinimumRate(rule) => {
            let name = match rule.of {
                Tracked::Iops => "rate_iops_min",
                Tracked::Throughput => "rate_min",
                Tracked::Latency => return,
            };
            let least = rule.least.round() as u64;
            let value = match rule.direction {
                None | Some(Direction::Read) => least.to_string(),
                Some(Direction::Write) => format!(",{least}"),
                Some(Direction::Trim) => format!(",,{least}"),
            };
            say(name, value);
            if rule.cycle_ns != Nanos::secs(1) {
                say("rate_cycle", (rule.cycle_ns.0 / 1_000_000).to_string());
            }
        }
    }
}
