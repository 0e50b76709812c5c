//! Rules about the load: threads, depth, patterns, caches, contents.

use model::access::Access;
use model::content::Content;
use model::finding::Severity;
use model::mix::Mix;
use model::plan::{Job, Pacing, Stream, Worker};
use model::{Bytes, Direction};

use super::{Intent, Rule, all_streams, is_random, streams};
use crate::figures::count;

/// Blocks of at most this size are small.
const MAX_SMALL_BLOCK: Bytes = Bytes(8 << 10);
/// Blocks from this size on are large.
const MIN_LARGE_BLOCK: Bytes = Bytes(64 << 10);
/// Synchronous threads below this number leave most storage idle.
const MIN_THREADS: usize = 8;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "SEQ-OVERLAP",
        severity: Severity::Warning,
        about: "Several threads access the same part of a target sequentially, starting at the same position.",
        why: "all threads issue the same operations: a cache serves data that another thread has already read, and \
            the device sees a random pattern",
        fix: "use one thread per file, one shared position (DiskSpd -si), or different starts for the threads \
            (DiskSpd -T, fio offset_increment)",
        detect: |rule, test, findings| {
            for job in test.jobs() {
                let mut seen: Vec<(u32, u64)> = Vec::new();
                let overlaps = job.workers.iter().any(|worker| {
                    let starts: Vec<_> = worker.streams.iter().filter_map(sequential_start).flatten().collect();
                    let is_repeated = starts.iter().any(|start| seen.contains(start));
                    seen.extend(starts);
                    is_repeated
                });
                if overlaps {
                    let message = format!("{} threads read or write the same sequence", job.workers.len());
                    findings.push(rule.finding(message, &job.name));
                }
            }
        },
    },
    Rule {
        name: "SYNC-ENGINE",
        severity: Severity::Warning,
        about: "The queue depth is above 1, but the engine issues one operation at a time.",
        why: "the depth has no effect: each thread has one operation in flight",
        fix: "choose an asynchronous engine (io_uring, libaio), or use one thread per operation in flight",
        detect: |rule, test, findings| {
            for job in test.jobs() {
                let deep = |worker: &&Worker| worker.slots() > 1 && is_synchronous(worker);
                let capped = test.purpose.capped_depths.iter().find(|(name, _)| *name == job.name);
                let deep_worker = match (job.workers.iter().find(deep), capped) {
                    (Some(worker), _) => Some((worker, worker.slots())),
                    (None, Some((_, depth))) => job.workers.first().map(|worker| (worker, *depth)),
                    (None, None) => None,
                };
                if let Some((worker, depth)) = deep_worker {
                    let message = format!("depth {depth} with the engine {}", worker.engine.kind.name());
                    findings.push(rule.finding(message, &job.name));
                }
            }
        },
    },
    Rule {
        name: "SYNC-FEW-THREADS",
        severity: Severity::Note,
        about: "A test of maximum performance uses fewer than eight threads, each with one operation in flight.",
        why: "with so few operations in flight, most storage is idle much of the time",
        fix: "use more threads or an asynchronous engine, unless the application works like this",
        detect: |rule, test, findings| {
            for job in test.jobs().filter(|_| test.has_intent(Intent::MaxIops)) {
                let one_each =
                    !job.workers.is_empty() && job.workers.iter().all(|w| w.slots() == 1 || is_synchronous(w));
                if one_each && job.workers.len() < MIN_THREADS {
                    let threads = count(job.workers.len() as u64, "thread");
                    findings.push(rule.finding(format!("{threads} with one operation each"), &job.name));
                }
            }
        },
    },
    Rule {
        name: "BUFFERED",
        severity: Severity::Warning,
        about: "Operations go through the page cache.",
        why: "reads may come from memory, and writes count as complete before they reach the disk",
        fix: "bypass the cache (native cache=direct, fio direct=1, DiskSpd -Sh), unless you want to test the cache",
        detect: |rule, test, findings| {
            for job in test.jobs().filter(|_| !test.has_intent(Intent::Buffered)) {
                if uses_files(test, job) && all_streams(job).any(|stream| !stream.cache.direct) {
                    findings.push(rule.finding("operations go through the page cache", &job.name));
                }
            }
        },
    },
    Rule {
        name: "COMPRESSIBLE-DATA",
        severity: Severity::Warning,
        about: "The written data is compressible or repetitive.",
        why: "storage that compresses or deduplicates writes less than it receives, and looks faster than it is",
        fix: "write fresh random data (native content=random, fio refill_buffers, DiskSpd -Zr)",
        detect: |rule, test, findings| {
            for job in test.jobs() {
                let written = all_streams(job).filter(|stream| stream.mix.includes(Direction::Write));
                let Some(word) = written.filter_map(|stream| describe_repetition(&stream.content)).next() else {
                    continue;
                };
                findings.push(rule.finding(format!("the job writes {word}"), &job.name));
            }
        },
    },
    Rule {
        name: "SIMPLE-TEST",
        severity: Severity::Warning,
        about: "One thread writes with one operation in flight.",
        why: "shared storage is hardly ever used like this: the test shows the latency of a single stream, not what \
            the storage can do",
        fix: "use several threads with a queue, and reads among the writes, unless the application works like this",
        detect: |rule, test, findings| {
            let is_single_stream_intended = test.has_intent(Intent::SequentialStream)
                || test.has_intent(Intent::Latency)
                || test.has_load_of_preset();
            let jobs: Vec<&Job> = test.jobs().collect();
            let [job] = jobs.as_slice() else { return };
            let writes =
                |stream: &Stream| stream.mix.includes(Direction::Write) && !stream.mix.includes(Direction::Read);
            let is_single_write = job.workers.len() == 1 && job.depth() == 1 && all_streams(job).all(writes);
            if is_single_write && !is_single_stream_intended && uses_files(test, job) {
                findings.push(rule.finding("one thread with one write at a time", &job.name));
            }
        },
    },
    Rule {
        name: "WRITE-ONLY-SUITE",
        severity: Severity::Note,
        about: "The test only writes.",
        why: "most applications mainly read, and caches make writes look faster than they are",
        fix: "add a job that reads, or a mix",
        detect: |rule, test, findings| {
            let writes = streams(test.plan).any(|stream| stream.mix.includes(Direction::Write));
            let reads = streams(test.plan).any(|stream| stream.mix.includes(Direction::Read));
            let is_intended = test.has_intent(Intent::SequentialStream) || test.has_load_of_preset();
            if writes && !reads && !is_intended && test.targets().next().is_some() {
                findings.push(rule.finding("the test only writes", &test.plan.name));
            }
        },
    },
    Rule {
        name: "BW-SMALL-BLOCK",
        severity: Severity::Warning,
        about: "The test measures throughput with blocks of less than 64 KiB.",
        why: "the limit on operations per second is reached long before the limit on bytes per second",
        fix: "use blocks of 64 KiB to 1 MiB",
        detect: |rule, test, findings| {
            let has_small_blocks = |job: &&Job| all_streams(job).any(|stream| longest_block(stream) < MIN_LARGE_BLOCK);
            for job in test
                .jobs()
                .filter(|_| test.has_intent(Intent::MaxThroughput))
                .filter(has_small_blocks)
            {
                let longest = all_streams(job).map(longest_block).max().unwrap_or_default();
                findings.push(rule.finding(format!("blocks of {longest}"), &job.name));
            }
        },
    },
    Rule {
        name: "BW-RANDOM",
        severity: Severity::Note,
        about: "The test measures throughput with random positions.",
        why: "maximum throughput needs sequential streams, which random positions interrupt",
        fix: "use sequential access, one thread for each file",
        detect: |rule, test, findings| {
            for job in test.jobs().filter(|_| test.has_intent(Intent::MaxThroughput)) {
                if all_streams(job).any(is_random) {
                    findings.push(rule.finding("positions are random", &job.name));
                }
            }
        },
    },
    Rule {
        name: "SEQ-SMALL",
        severity: Severity::Note,
        about: "Small blocks are accessed sequentially.",
        why: "merging and read-ahead give more operations per second than random access, and real applications rarely \
            access storage like this",
        fix: "use random positions for operations per second, large blocks for throughput",
        detect: |rule, test, findings| {
            for job in test.jobs().filter(|job| uses_files(test, job)) {
                let small =
                    all_streams(job).find(|stream| !is_random(stream) && longest_block(stream) <= MAX_SMALL_BLOCK);
                if let Some(stream) = small {
                    findings.push(rule.finding(format!("sequential blocks of {}", longest_block(stream)), &job.name));
                }
            }
        },
    },
    Rule {
        name: "QD-GT-DEVICE",
        severity: Severity::Note,
        about: "More operations are in flight than the kernel queues for the device.",
        why: "the others wait in the program or in the kernel, which adds latency without raising the rate",
        fix: "use a smaller depth, or raise queue/nr_requests of the device",
        detect: |rule, test, findings| {
            for job in test.jobs() {
                let (depth, mut queue_requests_total, mut names) = (job.depth(), 0, Vec::new());
                let ids = || all_streams(job).flat_map(|stream| stream.target.ids());
                let facts = ids().filter_map(|id| test.environment.targets.get(id.0 as usize));
                for device in facts.filter_map(|facts| facts.devices.first()) {
                    let Some(requests) = device.queue_requests.filter(|_| !names.contains(&&device.name)) else {
                        continue;
                    };
                    names.push(&device.name);
                    queue_requests_total += u64::from(requests);
                }
                if queue_requests_total > 0 && depth > queue_requests_total {
                    let message = format!(
                        "{depth} operations for a queue of {queue_requests_total} ({})",
                        join(&names)
                    );
                    findings.push(rule.finding(message, &job.name));
                }
            }
        },
    },
    Rule {
        name: "MIX-NOT-PINNED",
        severity: Severity::Warning,
        about: "Reads and writes have separate rates, which alone determine their shares.",
        why: "if one direction falls behind, the mix changes, and the load differs from the intended one",
        fix: "set the share of reads (fio rwmixread) and one rate for both",
        detect: |rule, test, findings| {
            for job in test.jobs() {
                let has_separate_rates = |stream: &&Stream| {
                    let is_mixed = stream.mix.includes(Direction::Read) && stream.mix.includes(Direction::Write);
                    is_mixed && matches!(stream.pacing, Pacing::PerDirection { .. })
                };
                if let Some(stream) = all_streams(job).find(has_separate_rates) {
                    let word = if changes_mix(stream) {
                        "shares that differ from the mix"
                    } else {
                        "no fixed shares"
                    };
                    findings.push(rule.finding(
                        format!("reads and writes have separate rates, and therefore {word}"),
                        &job.name,
                    ));
                }
            }
        },
    },
];

/// The targets of a sequential stream, with its start offset in each.
fn sequential_start(stream: &Stream) -> Option<Vec<(u32, u64)>> {
    let Some(Access::Sequential(sequence)) = stream.pattern.access.first() else {
        return None;
    };
    let base = stream.region.base;
    let start = |id: &model::plan::TargetId| (id.0, base.resolve(u64::MAX >> 1) + sequence.start.0);
    Some(stream.target.ids().iter().map(start).collect())
}

fn is_synchronous(worker: &Worker) -> bool {
    worker.engine.kind.is_synchronous()
}

fn uses_files(test: &super::Test<'_>, job: &Job) -> bool {
    let ids = || all_streams(job).flat_map(|stream| stream.target.ids());
    let is_path = |id: &model::plan::TargetId| {
        test.plan
            .targets
            .get(id.0 as usize)
            .is_some_and(|target| target.kind == model::plan::TargetKind::Path)
    };
    ids().any(is_path)
}

fn describe_repetition(content: &Content) -> Option<&'static str> {
    match content {
        Content::Fresh | Content::Drawn | Content::Stamped | Content::Source { .. } => None,
        Content::Once => Some("the same random data each time"),
        Content::Zeros => Some("zeros"),
        Content::Counting => Some("the repeated bytes 0 to 255"),
        Content::Pattern { .. } => Some("a pattern"),
        Content::Compressible { percent: 0, .. } | Content::Duplicated { percent: 0, .. } => None,
        Content::Compressible { .. } => Some("compressible data"),
        Content::Duplicated { .. } => Some("repetitive data"),
    }
}

fn longest_block(stream: &Stream) -> Bytes {
    stream.pattern.longest(&stream.mix)
}

fn join(names: &[&String]) -> String {
    names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ")
}

/// True if the rates imply another share of writes than the mix. A difference of one percentage
/// point is tolerated.
fn changes_mix(stream: &Stream) -> bool {
    let Pacing::PerDirection { rates } = &stream.pacing else {
        return false;
    };
    let (Some(reads), Some(writes)) = (&rates.read, &rates.write) else {
        return true;
    };
    let share = 100.0 * writes.per_second() / (reads.per_second() + writes.per_second());
    match stream.mix {
        Mix::Drawn { write_percent, .. } | Mix::Exact { write_percent } => (share - write_percent).abs() > 1.0,
        _ => false,
    }
}
