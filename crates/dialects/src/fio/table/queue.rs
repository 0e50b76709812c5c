//! Engine, queue depth, caches and buffers.

use super::row::*;
use super::special;
use crate::assign;
use crate::fio::lower::{queue as lower, report};
use crate::fio::options::queue;
use crate::fio::print;

/// The rows of these options.
pub const ROWS: &[Row] = rows! {
    special(tier1(230), "ioengine", |reader, text| assign(&mut reader.job.queue.ioengine, Ok(text.to_string())))
        .default("psync").example("libaio").help("I/O engine.")
        .lowers_with(|draft| draft.parts.worker.engine.kind = lower::kind(draft.options))
        .prints(print::engine::ioengine)
        .effects(&[
            ("--ioengine=libaio --iodepth=8", "worker.engine.kind=libaio; worker.latency=after_call; stream.depth=8"),
            ("--ioengine=mmap", "worker.engine.kind=mmap"),
            ("--ioengine=null --iodepth=8", "worker.engine.kind=null; worker.latency=after_call"),
            ("--ioengine=null --size=1m", "target.kind={kind:nothing,size:1048576}"),
            ("--read_iolog=trace --ioengine=null", "target.kind.kind=nothing"),
            ("--ioengine=ftruncate --size=1m --rw=write", "worker.engine.kind=truncate"),
            ("--ioengine=splice --size=1m", "worker.engine.kind=splice"),
            ("--ioengine=vsync --size=1m --iodepth=8", "worker.engine.kind=vsync; stream.depth=8"),
            (
                "--ioengine=filecreate --filesize=8k",
                "worker.engine.kind=file_create; target.kind={directory:false,kind:name,size:8192}; \
                 target.prepare={prepare:existing}",
            ),
            (
                "--ioengine=filestat --filesize=8k",
                "worker.engine.kind=file_stat; target.kind={kind:path}; target.prepare.size=8192",
            ),
            ("--ioengine=filedelete --filesize=8k", "worker.engine.kind=file_delete; target.prepare.prepare=lay_out"),
            ("--ioengine=dircreate", "worker.engine.kind=directory_create; target.kind.directory=false"),
            ("--ioengine=dirstat", "worker.engine.kind=directory_stat; target.kind.directory=true"),
            ("--ioengine=dirdelete", "worker.engine.kind=directory_delete; target.kind.directory=true"),
        ]),
    int(tier1(240), field!(queue.iodepth)).min(1).default("1").example("32")
        .help("Operations in flight per clone.").shows("iodepth", report::depth)
        .prints(|section| print::non_default(section.stream().depth, 1))
        .effects(&[
            ("--ioengine=io_uring --iodepth=32", "stream.depth=32"),
            ("--ioengine=null --iodepth=4", "worker.latency=after_call"),
            ("--ioengine=psync --iodepth=16", "stream.depth=1; shown.iodepth.0=16"),
            ("--read_iolog=records --ioengine=libaio --iodepth=7", "stream.depth=7"),
        ]),
    int(tier1(250), field!(queue.iodepth_batch)).aliases(&["iodepth_batch_submit"]).default("1").example("8")
        .help("Operations per submission; 0 for iodepth.").lowers_with(lower::lower_submit)
        .prints(|section| print::non_default(section.worker().batching.submit?, 1))
        .effects(&[
            ("--ioengine=libaio --iodepth=32 --iodepth_batch=8", "worker.batching.submit=8"),
            ("--ioengine=libaio --iodepth=32 --iodepth_batch=0", "worker.batching.submit=32"),
        ]),
    int(tier1(260), field!(queue.iodepth_batch_complete_min)).aliases(&["iodepth_batch_complete"]).min(0)
        .default("1").example("4").help("Minimum completions to wait for; 0 polls without waiting.")
        .lowers_with(lower::lower_complete_min)
        .prints(|section| print::non_default(section.worker().batching.complete_min?, 1))
        .effects(&[
            ("--ioengine=libaio --iodepth=32 --iodepth_batch_complete_min=4", "worker.batching.complete_min=4"),
        ]),
    int(tier1(270), field!(queue.iodepth_batch_complete_max)).min(0).default("0").example("16")
        .help("Maximum completions to reap in one call.").lowers_with(lower::lower_complete_max)
        .prints(|section| section.worker().batching.complete_max.map(|most| most.to_string()))
        .effects(&[
            ("--ioengine=libaio --iodepth=32 --iodepth_batch_complete_max=16", "worker.batching.complete_max=16"),
        ]),
    int(tier1(280), field!(queue.iodepth_low)).default("0").example("16")
        .help("Depth at which the queue is refilled.").lowers_with(lower::lower_refill_below)
        .prints(|section| section.worker().batching.refill_below.map(|low| low.to_string()))
        .effects(&[("--ioengine=libaio --iodepth=32 --iodepth_low=16", "worker.batching.refill_below=16")]),
    boolean(tier2(290), field!(queue.serialize_overlap)).default("0").example("1")
        .help("Delay an operation that overlaps one in flight.")
        .plan_field(field_of_plan!(Flag: worker.batching.serialize_overlap))
        .effects(&[
            ("--ioengine=libaio --iodepth=8 --serialize_overlap=1", "worker.batching.serialize_overlap=true"),
        ]),
    keyword(tier1(300), "io_submit_mode", queue::SubmitMode::WORDS).default("inline").example("offload")
        .help("The thread that submits operations.")
        .lowers_with(|draft| {
            draft.parts.worker.engine.offload = draft.options.queue.io_submit_mode == queue::SubmitMode::Offload;
        })
        .prints(|section| section.worker().engine.offload.then(|| "offload".into()))
        .effects(&[("--iodepth=4 --io_submit_mode=offload", "worker.engine.offload=true; stream.depth=4")]),
    boolean(tier1(550), field!(queue.direct)).default("0").example("1").help("Bypass the page cache (O_DIRECT).")
        .then(|job| job.queue.buffered = !job.queue.direct).plan_field(field_of_plan!(Flag: stream.cache.direct))
        .effects(&[
            ("--direct=1", "stream.cache.direct=true"),
            ("--read_iolog=records --direct=0", "stream.cache.direct=false; stream.replay.trace=records"),
            ("--read_iolog=trace --direct=1", "stream.cache.direct=true; stream.replay.trace=trace"),
        ]),
    boolean(tier1(570), field!(queue.buffered)).default("1").example("0")
        .help("Use the page cache; the opposite of direct.").then(|job| job.queue.direct = !job.queue.buffered)
        .effects(&[("--buffered=0", "stream.cache.direct=true")]),
    boolean(tier1(560), field!(queue.atomic)).default("0").example("1")
        .help("Write atomically (RWF_ATOMIC); needs direct.").plan_field(field_of_plan!(Flag: worker.engine.atomic))
        .effects(&[("--rw=write --direct=1 --atomic=1", "worker.engine.atomic=true")]),
    keyword(tier1(1590), "sync", queue::Sync::WORDS).default("none").example("dsync")
        .help("Make each write durable (O_SYNC, O_DSYNC).").lowers_with(lower::lower_write_through).prints(print::stream::sync)
        .effects(&[
            ("--rw=write --sync=dsync", "stream.cache.write_through=data"),
            ("--rw=write --sync=1", "stream.cache.write_through=data_and_metadata"),
        ]),
    int(tier1(510), field!(queue.fsync)).default("0").example("32")
        .help("fsync after this many writes; 0 for never.").plan_field(field_of_plan!(Count: stream.sync.every_writes))
        .prints(print::stream::fsync)
        .effects(&[("--rw=write --fsync=32", "stream.sync.every_writes=32")]),
    int(tier1(520), field!(queue.fdatasync)).default("0").example("1")
        .help("fdatasync after this many writes; 0 for never.")
        .plan_field(field_of_plan!(Count: stream.sync.data_every_writes)).prints(print::stream::fdatasync)
        .effects(&[("--rw=randrw --fdatasync=1", "stream.sync.data_every_writes=1")]),
    special(tier1(540), "sync_file_range", special::sync_file_range).example("write:8")
        .help("sync_file_range with these flags after a number of writes.").lowers_with(lower::lower_file_range)
        .prints(print::stream::sync_file_range)
        .effects(&[
            (
                "--rw=write --sync_file_range=wait_before,write:8",
                "stream.sync.file_range=[8,{wait_after:false,wait_before:true,write:true}]",
            ),
        ]),
    int(tier2(530), field!(queue.write_barrier)).default("0").example("8")
        .help("Make every n-th write a barrier.")
        .without_effect("no engine supports barriers"),
    boolean(tier1(1730), field!(queue.end_fsync)).default("0").example("1")
        .help("Flush all files after the last write.").plan_field(field_of_plan!(Flag: stream.sync.at_end))
        .effects(&[
            ("--rw=write --end_fsync=1", "stream.sync.at_end=true"),
            ("--read_iolog=trace --end_fsync=1", "stream.sync.at_end=true"),
        ]),
    boolean(tier2(1740), field!(queue.end_syncfs)).default("0").example("1")
        .help("Flush the whole file system after the last write.")
        .plan_field(field_of_plan!(Flag: stream.sync.file_system_at_end))
        .effects(&[
            ("--rw=write --end_syncfs=1", "stream.sync.file_system_at_end=true"),
            ("--read_iolog=trace --end_syncfs=1", "stream.sync.file_system_at_end=true"),
        ]),
    boolean(tier1(1750), field!(queue.fsync_on_close)).default("0").example("1")
        .help("Flush a file whenever it is closed.").plan_field(field_of_plan!(Flag: stream.sync.on_close))
        .effects(&[
            ("--rw=write --fsync_on_close=1", "stream.sync.on_close=true"),
            ("--read_iolog=trace --fsync_on_close=1", "stream.sync.on_close=true"),
        ]),
    keyword(tier1(1600), "write_hint", queue::WriteHint::WORDS).default("none").example("short")
        .help("The expected lifetime of written data, passed to the kernel.").lowers_with(lower::lower_write_lifetime)
        .prints(print::stream::write_hint)
        .effects(&[("--rw=write --write_hint=short", "stream.hint.write_lifetime=2")]),
    keyword(tier1(710), "mem", queue::Memory::WORDS).aliases(&["iomem"]).default("malloc").example("mmap")
        .tail(|reader, tail| assign(&mut reader.job.queue.mem_path, Ok(tail.strip_prefix(':').map(str::to_string))))
        .help("Memory type of the buffers.").lowers_with(lower::lower_buffers)
        .prints(|section| section.worker().memory.huge_pages.then(|| "mmaphuge".into()))
        .effects(&[
            ("--mem=mmaphuge", "worker.memory.huge_pages=true"),
            ("--mem=shmhuge --hugepage-size=1g", "worker.memory.huge_page=1073741824"),
        ]),
    int(tier1(720), field!(queue.iomem_align)).aliases(&["mem_align"]).min(0).default("0").example("4k")
        .help("Alignment of buffers, if larger than a page.").plan_field(field_of_plan!(Size: worker.memory.alignment))
        .effects(&[("--iomem_align=8k", "worker.memory.alignment=8192")]),
    int(tier2(2430), ("hugepage-size", |job| &mut job.queue.hugepage_size)).default("2m").example("2m")
        .help("Huge page memory is a multiple of this; the pages have the system's default size.")
        .prints(print::system::hugepage_size)
        .effects(&[("--mem=mmaphuge --hugepage-size=4m", "worker.memory.huge_page=4194304")]),
    size(tier1(1320), field!(queue.lockmem)).default("0").example("1g")
        .help("Memory to lock, which leaves less for caches.").plan_field(field_of_plan!(Bytes: worker.memory.pinned))
        .effects(&[("--lockmem=8m", "worker.memory.pinned=8388608")]),
    text(tier2(1090), field!(queue.ioscheduler)).example("none")
        .help("I/O scheduler of the files' device during the run.")
        .plan_field(field_of_plan!(Text: job.scheduler))
        .effects(&[("--ioscheduler=none", "job.scheduler=none")]),
};
