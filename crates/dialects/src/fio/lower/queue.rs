//! How the system is asked: engine, depth, batches, caches, flushes, placement, priorities, errors.

use model::plan::{
    Batching, CacheMode, ControlGroup, Effect, EngineChoice, EngineKind, ErrorPolicy, FileLock, FileRangeFlags, Flow,
    FlushKind, Memory, MemoryNodes, OpenHint, Priority, SyncRule, ThreadPlacement, WriteThrough,
};
use model::{Bytes, Direction, Nanos};

use super::job::us;
use super::{complain, pattern, priorities, special};
use crate::Diagnostic;
use crate::fio::engines;
use crate::fio::options::JobOptions;
use crate::fio::options::files::{Fadvise, LockFile};
use crate::fio::options::job::ContinueOnError;
use crate::fio::options::queue::{Memory as Mem, SubmitMode, Sync, WriteHint};
use crate::fio::options::system::CpuPolicy;
use crate::fio::options::verify::Checksum;

/// EIO.
const INPUT_OUTPUT: i32 = 5;
/// EILSEQ: what was read back is not what was written.
const MISMATCH: i32 = 84;

/// Several operations can be in flight.
pub(super) fn is_asynchronous(options: &JobOptions) -> bool {
    let queue = &options.queue;
    match queue.ioengine.as_str() {
        "null" => queue.iodepth > 1,
        name => engines::find(name).is_some_and(|engine| engine.asynchronous),
    }
}

/// Operations that follow one another in a file can be one call. fio says that such a queue is one deep, and keeps it deeper.
pub(super) fn joins(options: &JobOptions) -> bool {
    options.queue.ioengine == "vsync"
}

/// Operations to keep in flight.
pub(super) fn depth(options: &JobOptions) -> u32 {
    let several = is_asynchronous(options) || joins(options);
    match several || options.queue.io_submit_mode == SubmitMode::Offload {
        true => options.queue.iodepth.clamp(1, i64::from(u32::MAX)) as u32,
        false => 1,
    }
}

pub(super) fn engine(options: &JobOptions) -> EngineChoice {
    let (queue, own) = (&options.queue, &options.engine);
    EngineChoice {
        // What is not known cannot be loaded, and nothing comes of the job.
        kind: EngineKind::from_fio_name(&queue.ioengine).unwrap_or(EngineKind::Psync),
        poll: own.hipri,
        submission_thread: own.sqthread_poll,
        force_async_every: own.force_async.max(0) as u32,
        atomic: queue.atomic,
        offload: queue.io_submit_mode == SubmitMode::Offload,
        poll_percent: own.hipri_percentage.clamp(0, 100) as u8,
        uncached: own.uncached != 0,
        no_wait: own.nowait,
        huge_maps: own.thp != 0,
        look: own.stat_type,
        work: special::work(options),
        program: special::program(options),
        submission_cpu: own.sqthread_poll_cpu.and_then(|cpu| u32::try_from(cpu).ok()),
        ..EngineChoice::default()
    }
}

/// Says which of the wishes of a job nothing here fulfils.
pub(super) fn refuse(options: &JobOptions, complaints: &mut Vec<Diagnostic>) {
    let queue = &options.queue;
    let mut refuse = |what: String| complain(complaints, format!("fio: {what} is not supported by this program"));
    if queue.mem == Mem::CudaMalloc {
        refuse("mem=cudamalloc".into());
    }
    let huge_page = queue.hugepage_size;
    if has_huge_pages(options) && !(huge_page > 0 && huge_page.unsigned_abs().is_power_of_two()) {
        refuse(format!("hugepage-size={huge_page}, which is no power of two,"));
    }
    if queue.mem_path.is_some() {
        refuse("mem with a file behind a colon".into());
    }
    let kind = engine(options).kind;
    let readable = matches!(
        kind.info().effect,
        Effect::Transfer | Effect::Allocate | Effect::Pretend
    );
    if !readable && options.verify.verify != Checksum::Off {
        refuse(format!("verify with ioengine={}", queue.ioengine));
    }
}

/// How operations are handed over and taken back. Unless more completions are asked for, as many are taken as there are:
/// that costs less than fio's one at a time and changes no latency.
pub(super) fn batching(options: &JobOptions) -> Batching {
    let queue = &options.queue;
    let depth = depth(options);
    let within = |number: i64| number.clamp(0, i64::from(depth)) as u32;
    let least = within(queue.iodepth_batch_complete_min);
    Batching {
        submit: match queue.iodepth_batch {
            // There is no more than one to hand over.
            _ if depth == 1 => None,
            0 => Some(depth),
            batch => Some(within(batch).max(1)),
        },
        // One is what is waited for in any case.
        complete_min: Some(least).filter(|least| *least != 1),
        complete_max: match queue.iodepth_batch_complete_max {
            0 => None,
            most => Some(within(most).max(least).max(1)),
        },
        refill_below: match queue.iodepth_low {
            0 => None,
            low => Some(within(low)).filter(|low| *low < depth),
        },
        serialize_overlap: queue.serialize_overlap,
        ..Batching::default()
    }
}

/// Number of a user or a group.
fn id(given: Option<i64>) -> Option<u32> {
    u32::try_from(given?).ok()
}

pub(super) fn placement(options: &JobOptions, number: u32, complaints: &mut Vec<Diagnostic>) -> ThreadPlacement {
    let system = &options.system;
    let ranges = system.cpus_allowed.iter().flat_map(|range| range.first..=range.last);
    let bits = |mask: i64| (0..64).filter(move |cpu| mask >> cpu & 1 == 1);
    let mut cpus: Vec<u32> = ranges.chain(system.cpumask.into_iter().flat_map(bits)).collect();
    cpus.dedup();
    if system.cpus_allowed_policy == CpuPolicy::Split && !cpus.is_empty() {
        cpus = vec![cpus[(number as usize - 1) % cpus.len()]];
    }
    ThreadPlacement {
        cpus,
        turn: None,
        cpu_nodes: match &system.numa_cpu_nodes {
            None => Vec::new(),
            Some(text) => nodes(text).unwrap_or_else(|| {
                complain(complaints, format!("fio: numa_cpu_nodes: '{text}' is no list of nodes"));
                Vec::new()
            }),
        },
        memory_nodes: system.numa_mem_policy.as_ref().and_then(|text| {
            let policy = memory_nodes(text);
            if policy.is_none() {
                complain(
                    complaints,
                    format!(
                        "fio: numa_mem_policy: '{text}' is none of default, local, prefer:N, bind:LIST, interleave:LIST"
                    ),
                );
            }
            policy
        }),
        name: options.job.comm.clone(),
        nice: i8::try_from(system.nice).ok().filter(|nice| *nice != 0),
        user: id(system.uid),
        group: id(system.gid),
        control_group: system.cgroup.as_ref().map(|path| ControlGroup {
            path: path.clone(),
            weight: system.cgroup_weight.and_then(|weight| u32::try_from(weight).ok()),
            keep: system.cgroup_nodelete,
        }),
    }
}

/// Numbers and ranges of them, between commas.
fn nodes(text: &str) -> Option<Vec<u32>> {
    let mut nodes = Vec::new();
    for piece in text.split(',') {
        let (first, last) = piece.split_once('-').unwrap_or((piece, piece));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if first > last || last >= 1024 {
            return None;
        }
        nodes.extend(first..=last);
    }
    Some(nodes)
}

fn memory_nodes(text: &str) -> Option<MemoryNodes> {
    let (policy, list) = match text.split_once(':') {
        None => (text, None),
        Some((policy, list)) => (policy, Some(nodes(list)?)),
    };
    match (policy, list) {
        ("default", None) => Some(MemoryNodes::Default),
        ("local", None) => Some(MemoryNodes::Local),
        ("prefer", Some(nodes)) => match nodes[..] {
            [node] => Some(MemoryNodes::Prefer { node }),
            _ => None,
        },
        ("bind", Some(nodes)) => Some(MemoryNodes::Bind { nodes }),
        ("interleave", Some(nodes)) => Some(MemoryNodes::Interleave { nodes }),
        _ => None,
    }
}

/// fio's `hugepage-size` where none is given.
const USUAL_HUGE_PAGE: i64 = 2 << 20;

fn has_huge_pages(options: &JobOptions) -> bool {
    matches!(options.queue.mem, Mem::MmapHuge | Mem::ShmHuge)
}

pub(super) fn memory(options: &JobOptions) -> Memory {
    Memory {
        huge_pages: has_huge_pages(options),
        huge_page: match (has_huge_pages(options), options.queue.hugepage_size) {
            (false, _) | (true, USUAL_HUGE_PAGE) => Bytes(0),
            (true, bytes) => Bytes(bytes.unsigned_abs()),
        },
        alignment: options.queue.iomem_align.max(0) as u32,
        pinned: Bytes(options.queue.lockmem),
    }
}

pub(super) fn cache(options: &JobOptions) -> CacheMode {
    let (queue, files) = (&options.queue, &options.files);
    CacheMode {
        direct: queue.direct,
        write_through: match queue.sync {
            Sync::None => WriteThrough::Off,
            Sync::Sync => WriteThrough::DataAndMetadata,
            Sync::DataSync => WriteThrough::Data,
        },
        drop_before: files.invalidate && !files.pre_read,
        fill_before: files.pre_read,
        ..CacheMode::BUFFERED
    }
}

pub(super) fn hint(options: &JobOptions) -> OpenHint {
    let random = options.pattern.rw.is_random();
    let (sequential, random) = match options.files.fadvise_hint {
        Fadvise::ByPattern => (!random, random),
        Fadvise::Sequential => (true, false),
        Fadvise::Random => (false, true),
        Fadvise::None | Fadvise::NoReuse => (false, false),
    };
    OpenHint {
        sequential,
        random,
        no_reuse: options.files.fadvise_hint == Fadvise::NoReuse,
        temporary: false,
        write_lifetime: match options.queue.write_hint {
            WriteHint::None => None,
            WriteHint::Short => Some(2),
            WriteHint::Medium => Some(3),
            WriteHint::Long => Some(4),
            WriteHint::Extreme => Some(5),
        },
    }
}

pub(super) fn sync(options: &JobOptions) -> SyncRule {
    let queue = &options.queue;
    // What works on names has nothing to flush; fio asks such an engine all the same, which does nothing.
    if !pattern::mix(options).includes(Direction::Write) || engine(options).kind.works_on_names() {
        return SyncRule::default();
    }
    let range = &queue.sync_file_range;
    let flags = FileRangeFlags {
        wait_before: range.wait_before,
        write: range.write,
        wait_after: range.wait_after,
    };
    SyncRule {
        every_writes: queue.fsync.max(0) as u32,
        kind: FlushKind::Full,
        data_every_writes: queue.fdatasync.max(0) as u32,
        file_range: (range.every > 0).then_some((range.every as u32, flags)),
        at_end: queue.end_fsync,
        on_close: queue.fsync_on_close,
        file_system_at_end: queue.end_syncfs,
    }
}

/// The priority of every operation.
pub(super) fn priority(options: &JobOptions) -> Option<Priority> {
    let system = &options.system;
    if system.prio.is_none() && system.prioclass.is_none() && system.priohint.is_none() {
        return None;
    }
    Some(Priority {
        class: priorities::class(system.prioclass.unwrap_or(2)),
        level: system.prio.unwrap_or(0).clamp(0, 7) as u8,
        hint: system.priohint.unwrap_or(0).clamp(0, 1023) as u16,
        percent: 100,
    })
}

/// Who waits while a job uses a file.
pub(super) fn lock(options: &JobOptions) -> FileLock {
    match options.files.lockfile {
        LockFile::None => FileLock::None,
        LockFile::Exclusive => FileLock::Exclusive,
        LockFile::ReadWrite => FileLock::ReadersTogether,
    }
}

/// How jobs divide operations.
pub(super) fn flow(options: &JobOptions) -> Option<Flow> {
    let job = &options.job;
    let weight = u32::try_from(job.flow).ok().filter(|weight| *weight > 0)?;
    Some(Flow {
        id: job.flow_id,
        weight,
        pause_ns: us(job.flow_sleep.max(0) as u64),
    })
}

pub(super) fn on_error(options: &JobOptions, complaints: &mut Vec<Diagnostic>) -> ErrorPolicy {
    let job = &options.job;
    let mut list = |index: usize, kinds: &[ContinueOnError]| {
        let given = job.ignore_error.get(index).map(Vec::as_slice).unwrap_or_default();
        if !given.is_empty() {
            return given.iter().filter_map(|name| number(name, complaints)).collect();
        }
        match kinds.contains(&job.continue_on_error) {
            true => vec![INPUT_OUTPUT, MISMATCH],
            false => Vec::new(),
        }
    };
    use ContinueOnError::{All, Io, Read, Verify, Write};
    ErrorPolicy {
        tolerate_read: list(0, &[Read, Io, All]),
        tolerate_write: list(1, &[Write, Io, All]),
        tolerate_verify: list(2, &[Verify, All]),
        tell_tolerated: job.error_dump,
        block_lifetimes: options.report.block_error_percentiles && pattern::mix(options).includes(Direction::Trim),
        full_is_end: options.files.fill_device,
        latency_ns_max: options
            .pace
            .max_latency
            .map(|most| Some(us(*most)).filter(|most| *most > Nanos(0))),
    }
}

/// The number of an error that is given by name or number.
fn number(name: &str, complaints: &mut Vec<Diagnostic>) -> Option<i32> {
    /// Those that storage can answer with.
    const NAMES: [(&str, i32); 34] = [
        ("EPERM", 1),
        ("ENOENT", 2),
        ("ESRCH", 3),
        ("EINTR", 4),
        ("EIO", 5),
        ("ENXIO", 6),
        ("E2BIG", 7),
        ("ENOEXEC", 8),
        ("EBADF", 9),
        ("ECHILD", 10),
        ("EAGAIN", 11),
        ("ENOMEM", 12),
        ("EACCES", 13),
        ("EFAULT", 14),
        ("ENOTBLK", 15),
        ("EBUSY", 16),
        ("EEXIST", 17),
        ("EXDEV", 18),
        ("ENODEV", 19),
        ("ENOTDIR", 20),
        ("EISDIR", 21),
        ("EINVAL", 22),
        ("ENFILE", 23),
        ("EMFILE", 24),
        ("ENOTTY", 25),
        ("ETXTBSY", 26),
        ("EFBIG", 27),
        ("ENOSPC", 28),
        ("ESPIPE", 29),
        ("EROFS", 30),
        ("EMLINK", 31),
        ("EPIPE", 32),
        ("EILSEQ", 84),
        ("ETIMEDOUT", 110),
    ];
    let known = NAMES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, number)| *number);
    let number = known.or_else(|| name.parse().ok());
    if number.is_none() {
        complain(
            complaints,
            format!("fio: ignore_error: `{name}` is no error this program knows; give its number"),
        );
    }
    number
}
