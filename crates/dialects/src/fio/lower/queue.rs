//! Lowers engine, depth, batches, buffers, caches and flushes.

use model::plan::{EngineKind, FileLock, FileRangeFlags, SyncRule, WriteThrough};
use model::{Bytes, Direction};

use super::pattern;
use crate::fio::draft::Draft;
use crate::fio::engines;
use crate::fio::options::JobOptions;
use crate::fio::options::files::{Fadvise, LockFile};
use crate::fio::options::queue::{Memory, SubmitMode, Sync, WriteHint};

/// Whether several operations can be in flight.
pub(in crate::fio) fn is_asynchronous(options: &JobOptions) -> bool {
    let queue = &options.queue;
    match queue.ioengine.as_str() {
        "null" => queue.iodepth > 1,
        name => engines::find(name).is_some_and(|engine| engine.asynchronous),
    }
}

/// Whether the engine merges adjacent operations into one call. It queues several operations,
/// although fio reports depth 1.
fn merges_adjacent(options: &JobOptions) -> bool {
    options.queue.ioengine == "vsync"
}

/// The queue depth.
pub(in crate::fio) fn depth(options: &JobOptions) -> u32 {
    let several = is_asynchronous(options) || merges_adjacent(options);
    match several || options.queue.io_submit_mode == SubmitMode::Offload {
        true => options.queue.iodepth.clamp(1, i64::from(u32::MAX)) as u32,
        false => 1,
    }
}

/// The kind of the engine. The fallback is for an unloadable engine, whose job never runs.
pub(in crate::fio) fn kind(options: &JobOptions) -> EngineKind {
    EngineKind::from_fio_name(&options.queue.ioengine).unwrap_or(EngineKind::Psync)
}

/// A number of operations, capped to the queue depth.
fn cap_to_depth(options: &JobOptions, number: i64) -> u32 {
    number.clamp(0, i64::from(depth(options))) as u32
}

pub(in crate::fio) fn lower_submit(draft: &mut Draft<'_>) {
    let options = &*draft.options;
    draft.parts.worker.batching.submit = match options.queue.iodepth_batch {
        // The queue holds one operation.
        _ if depth(options) == 1 => None,
        0 => Some(depth(options)),
        batch => Some(cap_to_depth(options, batch).max(1)),
    };
}

/// 1 is the default.
pub(in crate::fio) fn lower_complete_min(draft: &mut Draft<'_>) {
    let complete_min = cap_to_depth(draft.options, draft.options.queue.iodepth_batch_complete_min);
    draft.parts.worker.batching.complete_min = Some(complete_min).filter(|min| *min != 1);
}

/// Without a limit, all available completions are reaped together. This is cheaper than one at a
/// time, as in fio.
pub(in crate::fio) fn lower_complete_max(draft: &mut Draft<'_>) {
    let options = &*draft.options;
    let complete_min = cap_to_depth(options, options.queue.iodepth_batch_complete_min);
    draft.parts.worker.batching.complete_max = match options.queue.iodepth_batch_complete_max {
        0 => None,
        complete_max => Some(cap_to_depth(options, complete_max).max(complete_min).max(1)),
    };
}

pub(in crate::fio) fn lower_refill_below(draft: &mut Draft<'_>) {
    let options = &*draft.options;
    let refill_below = Some(cap_to_depth(options, options.queue.iodepth_low));
    draft.parts.worker.batching.refill_below =
        refill_below.filter(|refill_below| *refill_below > 0 && *refill_below < depth(options));
}

/// fio's default of `hugepage-size`.
const DEFAULT_HUGE_PAGE: i64 = 2 << 20;

/// Lowers the memory of buffers.
pub(in crate::fio) fn lower_buffers(draft: &mut Draft<'_>) {
    let queue = &draft.options.queue;
    let (mem, size, has_file) = (queue.mem, queue.hugepage_size, queue.mem_path.is_some());
    let huge = matches!(mem, Memory::MmapHuge | Memory::ShmHuge);
    let memory = &mut draft.parts.worker.memory;
    memory.huge_pages = huge;
    if huge && size != DEFAULT_HUGE_PAGE {
        memory.huge_page_size = Bytes(size.unsigned_abs());
    }
    if mem == Memory::CudaMalloc {
        draft.refuse("mem=cudamalloc");
    }
    if huge && !(size > 0 && size.unsigned_abs().is_power_of_two()) {
        draft.refuse(format!("hugepage-size={size}, which is not a power of two,"));
    }
    if has_file {
        draft.refuse("mem with a file");
    }
}

pub(in crate::fio) fn lower_write_through(draft: &mut Draft<'_>) {
    draft.parts.stream.cache.write_through = match draft.options.queue.sync {
        Sync::None => WriteThrough::Off,
        Sync::Sync => WriteThrough::DataAndMetadata,
        Sync::DataSync => WriteThrough::Data,
    };
}

pub(in crate::fio) fn lower_hint(draft: &mut Draft<'_>) {
    let random = draft.options.pattern.rw.is_random();
    let advice = draft.options.files.fadvise_hint;
    let hint = &mut draft.parts.stream.hint;
    (hint.sequential, hint.random) = match advice {
        Fadvise::ByPattern => (!random, random),
        Fadvise::Sequential => (true, false),
        Fadvise::Random => (false, true),
        Fadvise::None | Fadvise::NoReuse => (false, false),
    };
    hint.no_reuse = advice == Fadvise::NoReuse;
}

pub(in crate::fio) fn lower_write_lifetime(draft: &mut Draft<'_>) {
    draft.parts.stream.hint.write_lifetime = match draft.options.queue.write_hint {
        WriteHint::None => None,
        WriteHint::Short => Some(2),
        WriteHint::Medium => Some(3),
        WriteHint::Long => Some(4),
        WriteHint::Extreme => Some(5),
    };
}

pub(in crate::fio) fn lower_file_range(draft: &mut Draft<'_>) {
    let range = &draft.options.queue.sync_file_range;
    let flags = FileRangeFlags {
        wait_before: range.wait_before,
        write: range.write,
        wait_after: range.wait_after,
    };
    draft.parts.stream.sync.file_range = (range.every > 0).then_some((range.every as u32, flags));
}

/// Drops flushes of jobs that do not write, and of metadata engines, whose flush has no effect in
/// fio.
pub(in crate::fio) fn lower_drop_flushes(draft: &mut Draft<'_>) {
    let writes = pattern::mix(draft.options).includes(Direction::Write);
    if !writes || kind(draft.options).is_metadata_engine() {
        draft.parts.stream.sync = SyncRule::default();
    }
}

/// Lowers `lockfile`: which jobs wait while another uses a file.
pub(in crate::fio) fn lower_lock(draft: &mut Draft<'_>) {
    draft.parts.stream.lock = match draft.options.files.lockfile {
        LockFile::None => FileLock::None,
        LockFile::Exclusive => FileLock::Exclusive,
        LockFile::ReadWrite => FileLock::ReadersTogether,
    };
}
