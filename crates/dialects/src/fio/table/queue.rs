//! How operations are handed to the system.

use super::row::*;
use super::special;
use crate::fio::lower::{queue as lower, report};
use crate::fio::options::queue;

/// The rows of these options.
pub const ROWS: &[Row] = rows! {
    special(first(230), "ioengine", special::engine).default("psync").example("libaio")
        .help("How operations are carried out.").means(lower::engine),
    int(first(240), field!(queue.iodepth)).least(1).default("1").example("32")
        .help("Operations that each clone keeps in flight.").shows("iodepth", report::depth),
    int(first(250), field!(queue.iodepth_batch)).aliases(&["iodepth_batch_submit"]).default("1").example("8")
        .help("Operations handed over at once; 0 for all of iodepth.").means(lower::submit),
    int(first(260), field!(queue.iodepth_batch_complete_min)).aliases(&["iodepth_batch_complete"]).least(0)
        .default("1").example("4").help("Completions to wait for at least; 0 asks without waiting.")
        .means(lower::complete_min),
    int(first(270), field!(queue.iodepth_batch_complete_max)).least(0).default("0").example("16")
        .help("Completions to take at most.").means(lower::complete_max),
    int(first(280), field!(queue.iodepth_low)).default("0").example("16")
        .help("Depth to fall to before the queue is filled again.").means(lower::refill_below),
    boolean(second(290), field!(queue.serialize_overlap)).default("0").example("1")
        .help("Hold back an operation that overlaps one in flight.")
        .is(field_of_plan!(Flag: worker.batching.serialize_overlap)),
    word(first(300), "io_submit_mode", queue::SubmitMode::WORDS).default("inline").example("offload")
        .help("Which thread hands operations over.").means(lower::offload),
    boolean(first(550), field!(queue.direct)).default("0").example("1").help("Pass the page cache by (O_DIRECT).")
        .then(|job| job.queue.buffered = !job.queue.direct).is(field_of_plan!(Flag: stream.cache.direct)),
    boolean(first(570), field!(queue.buffered)).default("1").example("0")
        .help("Use the page cache; the opposite of direct.").then(|job| job.queue.direct = !job.queue.buffered),
    boolean(first(560), field!(queue.atomic)).default("0").example("1")
        .help("Write without tearing (RWF_ATOMIC); needs direct.").is(field_of_plan!(Flag: worker.engine.atomic)),
    word(first(1590), "sync", queue::Sync::WORDS).default("none").example("dsync")
        .help("Each write waits until it is durable.").means(lower::write_through),
    int(first(510), field!(queue.fsync)).default("0").example("32")
        .help("fsync after this many writes; 0 for never.").is(field_of_plan!(Count: stream.sync.every_writes)),
    int(first(520), field!(queue.fdatasync)).default("0").example("1")
        .help("fdatasync after this many writes; 0 for never.")
        .is(field_of_plan!(Count: stream.sync.data_every_writes)),
    special(first(540), "sync_file_range", special::sync_file_range).example("write:8")
        .help("sync_file_range with these flags after a number of writes.").means(lower::file_range),
    int(second(530), field!(queue.write_barrier)).default("0").example("8")
        .help("Mark every n-th write as a barrier.")
        .without_effect("no engine here knows barriers"),
    boolean(first(1730), field!(queue.end_fsync)).default("0").example("1")
        .help("Flush all files at the end of the writes.").is(field_of_plan!(Flag: stream.sync.at_end)),
    boolean(second(1740), field!(queue.end_syncfs)).default("0").example("1")
        .help("Flush the whole file system at the end of the writes.")
        .is(field_of_plan!(Flag: stream.sync.file_system_at_end)),
    boolean(first(1750), field!(queue.fsync_on_close)).default("0").example("1")
        .help("Flush a file whenever it is closed.").is(field_of_plan!(Flag: stream.sync.on_close)),
    word(first(1600), "write_hint", queue::WriteHint::WORDS).default("none").example("short")
        .help("What the system is told about the life of written data.").means(lower::write_lifetime),
    word(first(710), "mem", queue::Memory::WORDS).tail(special::memory).aliases(&["iomem"]).default("malloc").example("mmap")
        .help("Where buffers come from.").means(lower::buffers),
    int(first(720), field!(queue.iomem_align)).aliases(&["mem_align"]).least(0).default("0").example("4k")
        .help("Alignment of buffers beyond that of a page.").is(field_of_plan!(Size: worker.memory.alignment)),
    int(second(2430), ("hugepage-size", |job| &mut job.queue.hugepage_size)).default("2m").example("2m")
        .help("Memory of huge pages is taken in multiples of this; the pages are of the system's usual size."),
    size(first(1320), field!(queue.lockmem)).default("0").example("1g")
        .help("Memory to pin, so that less is left for caches.").is(field_of_plan!(Bytes: worker.memory.pinned)),
    text(second(1090), field!(queue.ioscheduler)).example("none")
        .help("I/O scheduler for the device under the files, as long as the run lasts.")
        .is(field_of_plan!(Text: job.scheduler)),
};
