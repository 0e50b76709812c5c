//! Converts parts of a plan to options of a job file.

use model::access::{Access, Placement, RangeBasis};
use model::block_size::BlockSizes;
use model::content::Content;
use model::mix::Mix;
use model::plan::{
    CatchUp, Control, DepthScope, Dialect, DividedSettings, EngineKind, Extent, FileTree, FileWork, FlushKind, Plan,
    Process, Rate, RateUnit, SimulatedDevice, SimulatedService, Stop, Stream, Target, TargetCleanup, TargetKind,
    WriteThrough,
};
use model::{Bytes, Direction, Nanos};

use super::{JobText, Options, target_name};
use crate::convert::compare;
use crate::convert::shares;
use crate::convert::words::{self, format_size, format_time};
use crate::convert::worker_groups::WorkerGroup;
use crate::native::simulated::disturbance_options;
use crate::native::visits_each_block_once;
use crate::passes::operations_per_pass;

pub(super) fn job_text(plan: &Plan, group: &WorkerGroup<'_>, name: String) -> JobText {
    let worker = group.worker();
    let mut options: Options = Vec::new();
    let targets = group.targets();
    options.extend(targets.iter().map(|id| ("target", target_name(plan.target(*id)))));
    let product = group.has_same_streams_per_target();
    let streams_per_target = match product {
        true => worker.streams.len() / targets.len().max(1),
        false => 1,
    };
    let alternatives = &worker.streams[..streams_per_target.max(1)];
    let stream = &alternatives[0];
    if let Some(work) = &stream.files {
        file_options(plan, stream, work, &mut options);
        common_options(group, stream, &mut options);
        return JobText {
            name,
            options,
            parts: Vec::new(),
        };
    }
    region_options(plan, group, &mut options);
    let is_kept = |target: &Target| target.at_end == TargetCleanup::Keep;
    let native = plan.origin.dialect == Dialect::Native;
    if native && targets.iter().any(|id| is_kept(plan.target(*id))) {
        options.push(("keep", "true".into()));
    }
    let mut parts = Vec::new();
    match alternatives {
        [part] if part.weight == 1 || !native => {
            options.extend(stream_options(part, native));
        }
        several => parts.extend(
            shares::integer_weights(several)
                .into_iter()
                .zip(several.iter().map(|stream| stream_options(stream, native))),
        ),
    }
    flush_options(stream, native, &mut options);
    depth_options(group, &mut options);
    common_options(group, stream, &mut options);
    JobText { name, options, parts }
}

/// Options that jobs on blocks and jobs on files share.
fn common_options(group: &WorkerGroup<'_>, stream: &Stream, options: &mut Options) {
    let count = group.workers.len();
    options.extend((count > 1).then(|| ("workers", count.to_string())));
    pacing_options(group, stream, options);
    stop_options(group, options);
    system_options(group, stream, options);
}

/// Options of a tree and its operations.
fn file_options(plan: &Plan, stream: &Stream, work: &FileWork, options: &mut Options) {
    options.push(("kind", "files".into()));
    let trees = stream.target.ids().iter().map(|id| &plan.target(*id).kind);
    for tree in trees {
        if let TargetKind::Tree { tree } = tree {
            options.push(("tree", format_tree(tree)));
        }
    }
    options.push((if work.in_sequence { "sequence" } else { "mix" }, work.to_string()));
    options.extend(work.in_order.then(|| ("order", "sequential".into())));
    options.extend((work.block != BlockSizes::default().max()).then(|| ("block", format_size(work.block.0))));
    options.extend(format_content(&stream.content).map(|content| ("content", content)));
}

/// A tree in the syntax of `tree`.
pub(in crate::convert) fn format_tree(tree: &FileTree) -> String {
    let sizes = match tree.sizes.max() {
        Bytes(0) => "0".to_owned(),
        _ => format_block(&tree.sizes),
    };
    let FileTree {
        depth,
        width,
        files_per_directory,
        prefill,
        shared,
        ..
    } = tree;
    let shared = if shared.is_some() { ",shared=true" } else { "" };
    format!("depth={depth},width={width},files={files_per_directory},sizes={sizes},prefill={prefill}{shared}")
}

/// Options of size and offset.
fn region_options(plan: &Plan, group: &WorkerGroup<'_>, options: &mut Options) {
    let stream = &group.worker().streams[0];
    let target = stream.target.ids().first().map(|id| plan.target(*id));
    let prepared_size = target.and_then(|target| target.prepare.size().map(|size| size.0));
    let region = stream.region;
    let is_one = group.worker().streams.iter().all(|stream| stream.region == region);
    let fixed = |extent: Extent| match (extent.percent, prepared_size) {
        (0.0, _) => Some(extent.bytes.0),
        (_, Some(size)) => Some(extent.resolve(size)),
        (_, None) => None,
    };
    // Workers that divide a target start at the edges of their shares. Parts have one region: that
    // of all together.
    let regions = group.workers.iter().flat_map(|worker| {
        let count = if is_one { 1 } else { worker.streams.len() };
        worker.streams[..count].iter().map(|stream| stream.region)
    });
    let starts = regions
        .clone()
        .map(|region| fixed(region.base).unwrap_or(region.base.bytes.0));
    let offset = starts.min().unwrap_or_default();
    let ends = regions.map(|region| {
        let length = region.length.and_then(fixed)?;
        fixed(region.base).map(|base| base.saturating_add(length))
    });
    let end: Option<u64> = ends
        .collect::<Option<Vec<u64>>>()
        .and_then(|ends| ends.into_iter().max());
    let align = stream
        .pattern
        .longest(&stream.mix)
        .0
        .max(stream.pattern.alignment.read.0)
        .max(1);
    let divided = group.workers.len() > 1 && group.workers.iter().any(|worker| worker.streams[0].region != region);
    let size = match (end, prepared_size) {
        // The file size also includes a partial block at the end, which belongs to no share.
        (Some(end), Some(prepared_size)) if divided && prepared_size >= end && prepared_size - end < align => {
            Some(prepared_size - offset)
        }
        (Some(end), _) => Some(end - offset),
        // A native job without a size uses the size of another job.
        (None, Some(prepared_size)) if region.length.is_none() && plan.origin.dialect != Dialect::Native => {
            prepared_size.checked_sub(offset)
        }
        (None, _) => None,
    };
    // A job that has its own size keeps it.
    options.extend(
        size.filter(|bytes| *bytes > 0)
            .map(|bytes| ("size", format_size(bytes))),
    );
    options.extend((offset > 0).then(|| ("offset", format_size(offset))));
}

/// Options of the operations of a stream.
fn stream_options(stream: &Stream, native: bool) -> Options {
    let mut options: Options = Vec::new();
    let mix = words::resulting_mix(stream);
    let direction = mix.directions().next().unwrap_or(Direction::Read);
    options.extend(format_access(stream.access(direction), direction).map(|access| ("access", access)));
    match mix {
        Mix::Only {
            direction: Direction::Trim,
        } => options.push(("trim", "true".into())),
        _ => {
            let writes = mix.write_share();
            let reads = 100.0 - writes;
            options.extend((reads != 100.0).then(|| ("read", reads.to_string())));
        }
    }
    if let Mix::Exact { .. } = mix {
        options.push(("exact-mix", "true".into()));
    }
    let sizes = &stream.pattern.sizes[direction];
    options.extend((*sizes != BlockSizes::default()).then(|| ("block", format_block(sizes))));
    let align = stream.pattern.alignment[direction].0;
    let walk = match stream.access(direction) {
        Access::Sequential(walk) => walk.advance,
        _ => model::access::Advance::Stride,
    };
    let step = match (walk, stream.fixed_length(direction)) {
        // A walk with gaps equals a walk with a stride.
        (model::access::Advance::Length { skip }, Some(length)) if length as i64 + skip > 0 => {
            (length as i64 + skip) as u64
        }
        (model::access::Advance::RandomGap { min, .. }, Some(length)) => min.saturating_add(length),
        _ => align,
    };
    let is_default = step == 0 || (!native && step == sizes.min().0);
    options.extend((!is_default).then(|| ("align", format_size(step))));
    let content = format_content(&stream.content).filter(|_| native || mix.includes(Direction::Write));
    options.extend(content.map(|content| ("content", content)));
    options
}

/// The content of writes, unless it is the default.
fn format_content(content: &Content) -> Option<String> {
    match content {
        Content::Fresh | Content::Drawn | Content::Stamped => None,
        Content::Once | Content::Source { .. } => Some("once".to_owned()),
        Content::Zeros => Some("zeros".into()),
        Content::Counting => Some("counting".into()),
        Content::Pattern { bytes } if bytes.iter().all(|byte| *byte == 0) => Some("zeros".into()),
        Content::Pattern { .. } => Some("counting".into()),
        Content::Compressible { percent, .. } => Some(format!("compressible:{percent}")),
        Content::Duplicated { percent, .. } => Some(format!("duplicated:{percent}")),
    }
}

/// The native access pattern, or the closest one; `None` for the default.
fn format_access(access: &Access, direction: Direction) -> Option<String> {
    Some(match access {
        Access::Sequential(_)
        | Access::Interlocked(_)
        | Access::Parallel(_)
        | Access::Zones(_)
        | Access::WritePointers(_) => "sequential".into(),
        Access::Random { placement: of } => return format_placement(of, direction),
        Access::Mixed(mixed) => match mixed.random_percent[direction] {
            0 => "sequential".into(),
            100 => return format_placement(&mixed.placement, direction),
            percent => format!("mixed:{percent}"),
        },
        Access::Every(every) => match 100 / every.operations.max(1) {
            100 => return format_placement(&every.placement, direction),
            percent => format!("mixed:{}", percent.max(1)),
        },
    })
}

fn format_placement(placement: &Placement, direction: Direction) -> Option<String> {
    Some(match placement {
        Placement::Uniform(_) | Placement::List(_) | Placement::Aged(_) => return None,
        Placement::Once(_) => "random-once".into(),
        Placement::Zipf(zipf) => format!("zipf:{}", zipf.theta),
        Placement::Pareto(pareto) => format!("pareto:{}", pareto.h),
        Placement::Normal(normal) => format!("normal:{}", normal.deviation_percent),
        Placement::Ranges(ranges) => match words::direction_ranges(&ranges.shares, direction) {
            [first, _] if ranges.basis == RangeBasis::Percent && first.operations_percent > 0.0 => {
                format!("hot:{}/{}", first.operations_percent, first.span)
            }
            _ => return None,
        },
    })
}

fn format_block(sizes: &BlockSizes) -> String {
    match sizes {
        BlockSizes::Fixed { size: fixed } => format_size(fixed.0),
        BlockSizes::Range { low, high, .. } => format!("{}-{}", format_size(low.0), format_size(high.0)),
        BlockSizes::Split { entries } => {
            let total: f64 = entries.iter().map(|entry| entry.percent).sum();
            let is_complete = (total - 100.0).abs() < 1e-6;
            let share = |percent: f64| if is_complete { percent } else { percent / total * 100.0 };
            let shares = entries
                .iter()
                .map(|entry| format!("{}/{}", format_size(entry.size.0), share(entry.percent)));
            shares.collect::<Vec<_>>().join(",")
        }
    }
}

fn flush_options(stream: &Stream, native: bool, options: &mut Options) {
    let sync = stream.sync;
    let (every, kind) = match (sync.every_writes, sync.data_every_writes) {
        (0, 1..) => (sync.data_every_writes, FlushKind::Data),
        _ => (sync.every_writes, sync.kind),
    };
    options.extend((every > 0).then(|| ("flush-every", every.to_string())));
    options.extend((kind == FlushKind::Full && (native || every > 0)).then(|| ("flush", "full".into())));
    options.extend(sync.at_end.then(|| ("flush-at-end", "true".into())));
}

fn depth_options(group: &WorkerGroup<'_>, options: &mut Options) {
    let worker = group.worker();
    let slots: Vec<u32> = group.workers.iter().map(|worker| worker.slots()).collect();
    let uneven = slots.iter().any(|of_one| *of_one != slots[0]);
    let (depth, depth_per) = match worker.depth {
        // The first workers get the remainder, as with `depth-per = "job"`.
        _ if uneven => (slots.iter().sum(), Some("job")),
        DepthScope::Shared { operations } => (operations, None),
        // Alternatives become weighted parts, which share the total depth of all targets.
        DepthScope::PerTarget { .. } => (worker.slots(), None),
        DepthScope::PerStream if worker.streams.len() > 1 => {
            let deepest = worker.streams.iter().map(|stream| stream.depth).max();
            (deepest.unwrap_or(1), Some("target"))
        }
        DepthScope::PerStream => (worker.streams[0].depth, None),
    };
    options.extend((depth != 1).then(|| ("depth", depth.to_string())));
    options.extend(depth_per.map(|depth_per| ("depth-per", depth_per.into())));
}

/// Native rates are per job: the sum of all streams of its workers.
fn pacing_options(group: &WorkerGroup<'_>, stream: &Stream, options: &mut Options) {
    let rates: Vec<Rate> = group.worker().streams.iter().flat_map(shares::list_rates).collect();
    if let Some(first) = rates.first() {
        let rates_of_unit = rates.iter().filter(|rate| rate.unit == first.unit);
        let total = rates_of_unit.map(Rate::per_second).sum::<f64>() * group.workers.len() as f64;
        let total = (total.round() as u64).max(1);
        let rate = match first.unit {
            RateUnit::Operations => format!("{total}iops"),
            // A plain number would mean operations.
            RateUnit::Bytes if !total.is_multiple_of(1024) => format!("{total}B/s"),
            RateUnit::Bytes => format!("{}/s", format_size(total)),
        };
        options.push(("rate", rate));
        options.extend((first.process == Process::Poisson).then(|| ("arrivals", "poisson".into())));
        if let CatchUp::Within(limit) = first.catch_up {
            options.push(("catch-up", format_time(limit)));
        }
    }
    if let Some(think) = stream.think {
        options.push(("pause", format_time(think.pause_ns)));
        options.extend((think.operations > 1).then(|| ("pause-after", think.operations.to_string())));
    }
}

fn stop_options(group: &WorkerGroup<'_>, options: &mut Options) {
    let job = group.job;
    let streams = || group.worker().streams.iter();
    // A walk with gaps can wrap, and then has no end.
    let has_end = |stream: &Stream| {
        let length = stream.region.length.filter(|length| length.percent == 0.0);
        let is_counted = length.is_some_and(|length| operations_per_pass(stream, length.bytes.0).is_some());
        is_counted || stream.pattern.access.iter().all(Access::is_finite)
    };
    let ends = streams().all(|stream| stream.pattern.access.iter().all(visits_each_block_once) && has_end(stream));
    let mut stop = compare::multiply_rounds(job.stop);
    if stop.repeat_until_time && stop.after_ns.is_some() {
        stop = Stop {
            after_ns: stop.after_ns,
            ..Stop::default()
        };
    }
    stop.passes = stop.passes.filter(|_| ends);
    if streams()
        .next()
        .is_some_and(|stream| compare::repeats_passes(stream, &stop))
    {
        stop.bytes = None;
    }
    let workers = group.workers.len() as u64;
    let counted = stop.operations.is_some() || stop.bytes.is_some() || stop.passes.is_some();
    match stop.after_ns {
        Some(after) if counted || after != Nanos::secs(30) => options.push(("time", format_time(after))),
        _ => {}
    }
    let default_warm_up = if counted { Nanos(0) } else { Nanos::secs(2) };
    options.extend((job.phases.warm_up_ns != default_warm_up).then(|| ("warm-up", format_time(job.phases.warm_up_ns))));
    options.extend((job.phases.cool_down_ns.0 > 0).then(|| ("cool-down", format_time(job.phases.cool_down_ns))));
    let delay = job.phases.start_delay.low_ns;
    options.extend((delay.0 > 0).then(|| ("start-delay", format_time(delay))));
    let of_job = |amount: u64| amount.saturating_mul(workers);
    options.extend(
        stop.operations
            .map(|operations| ("operations", of_job(operations).to_string())),
    );
    options.extend(stop.bytes.map(|bytes| ("bytes", format_size(of_job(bytes.0)))));
    options.extend(stop.passes.map(|passes| ("passes", passes.to_string())));
    for control in &job.control {
        match control {
            Control::Precision(rule) => options.push(("until-precision", format!("{}%", rule.percent))),
            Control::SteadyState(rule) if rule.percent => options.push(("until-steady", format!("{}%", rule.limit))),
            Control::LatencyTarget(rule) => options.push(("latency-target", format_time(rule.target_ns))),
            // There is no similar option.
            Control::SteadyState(_) | Control::MinimumRate(_) => {}
        }
    }
}

fn system_options(group: &WorkerGroup<'_>, stream: &Stream, options: &mut Options) {
    let worker = group.worker();
    let cache = match (stream.cache.mapping, stream.cache.direct, stream.cache.write_through) {
        (Some(_), _, _) => "mapped",
        (None, true, WriteThrough::Off) => "direct",
        (None, true, WriteThrough::Data | WriteThrough::DataAndMetadata) => "direct-through",
        (None, false, WriteThrough::Off) => "buffered",
        (None, false, WriteThrough::Data | WriteThrough::DataAndMetadata) => "buffered-through",
    };
    options.extend((cache != "direct" && stream.files.is_none()).then(|| ("cache", cache.into())));
    match worker.engine.kind {
        EngineKind::Auto => {}
        kind if kind.info().native => options.push(("engine", kind.name().into())),
        // The comparison reports this mismatch.
        _ => {}
    }
    options.extend(worker.batching.submit.map(|batch| ("batch", batch.to_string())));
    options.extend(worker.engine.poll.then(|| ("poll", "true".into())));
    if worker.engine.submission_thread {
        options.push(("submission-thread", "true".into()));
    }
    let cpus = group.cpus();
    options.extend((!cpus.is_empty()).then(|| ("cpus", words::format_cpus(words::period(&cpus)))));
    let policy = &stream.on_error;
    if !policy.tolerate_read.is_empty() || !policy.tolerate_write.is_empty() {
        options.push(("tolerate-errors", "true".into()));
    }
    options.extend(group.job.operation_log.clone().map(|log| ("log", log)));
    options.extend((!group.job.hosts.is_empty()).then(|| ("for-hosts", group.job.hosts.join(","))));
    if group.job.divide != DividedSettings::default() {
        options.push(("divide", words::divided_resources(group.job.divide)));
    }
    let storage = &group.job.storage;
    options.extend(storage.cache.map(|path| ("path", path.word().into())));
    options.extend(storage.role.clone().map(|role| ("role", role)));
    options.extend(storage.replicas.map(|replicas| ("replicas", replicas.to_string())));
    options.extend(storage.hops.map(|hops| ("hops", hops.to_string())));
}

/// Describes a simulated device by what differs from the default: `a simulated device (size 1g,
/// servers 64)`.
pub(in crate::convert) fn describe_simulated_device(device: &SimulatedDevice) -> String {
    let defaults = simulated_device_options(&SimulatedDevice::default());
    let changed = simulated_device_options(device)
        .into_iter()
        .filter(|option| !defaults.contains(option));
    let changed: Vec<String> = changed.map(|(name, value)| format!("{name} {value}")).collect();
    match changed.is_empty() {
        true => "a simulated device".into(),
        false => format!("a simulated device ({})", changed.join(", ")),
    }
}

pub(super) fn simulated_device_options(device: &SimulatedDevice) -> Options {
    let SimulatedDevice {
        size,
        servers,
        service,
        iops_cap,
        bytes_per_second_cap,
        stalls,
        host_pauses: _,
        faults: _,
        submit_cost_ns,
        inline,
        layers: _,
        cache: _,
        write_buffer: _,
        garbage_collection: _,
        drift_per_second: _,
        neighbour: _,
    } = device;
    let service = match service {
        SimulatedService::Constant { time_ns } => format_time(*time_ns),
        SimulatedService::Exponential { mean_ns } => format!("exponential {}", format_time(*mean_ns)),
        SimulatedService::Uniform { low_ns, high_ns } => {
            format!("uniform {} {}", format_time(*low_ns), format_time(*high_ns))
        }
        SimulatedService::Lognormal { median_ns, sigma } => format!("lognormal {} {sigma}", format_time(*median_ns)),
        SimulatedService::Bimodal {
            fast_ns,
            slow_ns,
            slow_share,
        } => format!(
            "bimodal {} {} {slow_share}",
            format_time(*fast_ns),
            format_time(*slow_ns)
        ),
    };
    let mut options = vec![
        ("size", format_size(size.0)),
        ("servers", servers.to_string()),
        ("service", service),
        ("iops-cap", iops_cap.to_string()),
        ("bandwidth-cap", format!("{}/s", format_size(*bytes_per_second_cap))),
    ];
    options.extend(stalls.iter().map(|stall| {
        (
            "stall",
            format!("{} {}", format_time(stall.at_ns), format_time(stall.length_ns)),
        )
    }));
    options.push(("submit-cost", format_time(*submit_cost_ns)));
    options.push(("inline", inline.to_string()));
    options.extend(disturbance_options(device));
    options
}
