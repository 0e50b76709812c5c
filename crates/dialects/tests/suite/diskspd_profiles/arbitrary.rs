//! Generates profiles that no user would write, within what XML can express: alignments are
//! explicit, since DiskSpd prints those in effect; zeros have no source; and random patterns alone
//! have what applies only to them.

use dialects::diskspd::Profile;
use dialects::diskspd::distribution::complete;
use dialects::diskspd::profile::*;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use testbed::With;

/// Any profile that a document can express.
pub fn profiles() -> impl Strategy<Value = Profile> {
    let precreate = select(vec![
        Precreate::UseMaxSize,
        Precreate::ConstantSizes,
        Precreate::ConstantOrZeroSizes,
    ]);
    (
        (numbers(), numbers()),
        select(vec![ResultFormat::Text, ResultFormat::Xml]),
        any::<(bool, bool)>(),
        option::of(precreate),
        option::of(any::<[bool; 12]>()),
        prop::collection::vec(time_spans(), 1..4),
    )
        .prop_map(
            |((progress, flags), format, (verbose, stats), precreate, etw, spans)| Profile {
                progress,
                experiment_flags: flags,
                result_format: format,
                verbose,
                verbose_stats: stats,
                precreate,
                etw: etw.map(build_etw),
                time_spans: spans,
            },
        )
}

fn build_etw(flags: [bool; 12]) -> Etw {
    Etw {
        process: flags[0],
        thread: flags[1],
        image_load: flags[2],
        disk_io: flags[3],
        memory_page_faults: flags[4],
        memory_hard_faults: flags[5],
        network: flags[6],
        registry: flags[7],
        use_paged_memory: flags[8],
        use_perf_timer: flags[9],
        use_system_timer: flags[10],
        use_cycles_counter: flags[11],
    }
}

fn time_spans() -> impl Strategy<Value = TimeSpan> {
    let processors = any::<(u16, u8)>().prop_map(|(group, number)| Processor { group, number });
    (
        [
            numbers(),
            numbers(),
            numbers(),
            numbers(),
            numbers(),
            numbers(),
            numbers(),
        ],
        any::<[bool; 6]>(),
        prop::collection::vec(processors, 0..4),
        prop::collection::vec(targets(), 1..4),
    )
        .prop_map(|(numbers, flags, affinity, targets)| TimeSpan {
            duration: numbers[0],
            warm_up: numbers[1],
            cool_down: numbers[2],
            seed: numbers[3],
            threads: numbers[4],
            requests: numbers[5],
            bucket_ms: numbers[6],
            random_write_data: flags[0],
            no_affinity: flags[1],
            completion_routines: flags[2],
            newer: dialects::diskspd::newer::Newer::default()
                .with(|newer| newer.ring = flags[3].then(Default::default)),
            latency: flags[4],
            iops_deviation: flags[5],
            affinity,
            targets,
        })
}

fn targets() -> impl Strategy<Value = Target> {
    let flush = select(vec![
        FlushType::ViewOfFile,
        FlushType::NonVolatileMemory,
        FlushType::NonVolatileMemoryNoDrain,
    ]);
    let cache = select(vec![Cache::Cached, Cache::NoLocal, Cache::Unbuffered]);
    let unit = select(vec![ThroughputUnit::BytesPerMs, ThroughputUnit::Iops]);
    let thread_targets = (numbers(), numbers()).prop_map(|(thread, weight)| ThreadTarget { thread, weight });
    (
        (
            paths(),
            [numbers(), numbers(), numbers(), numbers(), numbers()],
            [sizes(), sizes(), sizes()],
        ),
        (option::of(sizes()), option::of(numbers()), option::of(numbers())),
        patterns(),
        write_buffers(),
        (cache, option::of(flush), any::<[bool; 7]>()),
        (0u8..=100, 1u8..=3, unit),
        prop::collection::vec(thread_targets, 0..3),
    )
        .prop_map(
            |(basics, options, pattern, buffer, (cache, flush, flags), small, thread_targets)| {
                let (path, numbers, sizes) = basics;
                Target {
                    path,
                    block: numbers[0],
                    requests: numbers[1],
                    threads: numbers[2],
                    throughput: numbers[3],
                    weight: numbers[4],
                    base: sizes[0],
                    end: sizes[1],
                    thread_stride: sizes[2],
                    file_size: options.0,
                    burst: options.1,
                    think_ms: options.2,
                    cache,
                    flush,
                    write_through: flags[0],
                    memory_mapped: flags[1],
                    parallel: flags[2],
                    sequential_scan: flags[3],
                    random_access: flags[4],
                    temporary_file: flags[5],
                    large_pages: flags[6],
                    write_percent: small.0,
                    priority: small.1,
                    throughput_unit: small.2,
                    thread_targets,
                    zero_buffers: buffer.0,
                    source: buffer.1,
                    ..pattern
                }
            },
        )
}

/// A target with only its pattern: sequential, mixed or random.
fn patterns() -> impl Strategy<Value = Target> {
    let alignments = sizes().prop_map(|size| size.max(1));
    let sequential = (alignments.clone(), any::<bool>()).prop_map(|(alignment, interlocked)| {
        Target::default().with(|target| (target.alignment, target.interlocked) = (alignment, interlocked))
    });
    let random =
        (alignments, 1u8..=100, option::of(distributions())).prop_map(|(alignment, percent, distribution)| Target {
            alignment,
            random_percent: percent,
            distribution,
            ..Target::default()
        });
    prop_oneof![sequential, random]
}

fn distributions() -> impl Strategy<Value = Distribution> {
    let absolute = prop::collection::vec((0u32..=100, sizes()), 1..5).prop_map(|ranges| (true, ranges));
    let percent = prop::collection::vec((0u32..=100, 1u64..=20), 1..5).prop_map(|ranges| (false, ranges));
    prop_oneof![absolute, percent].prop_map(|(absolute, ranges)| {
        let range = |(io_percent, length)| Range { io_percent, length };
        let mut distribution = Distribution {
            absolute,
            ranges: ranges.into_iter().map(range).collect(),
        };
        complete(&mut distribution);
        distribution
    })
}

fn write_buffers() -> impl Strategy<Value = (bool, Option<Source>)> {
    let source = (sizes(), option::of(paths())).prop_map(|(size, file)| Source { size, file });
    prop_oneof![
        Just((false, None)),
        Just((true, None)),
        source.prop_map(|source| (false, Some(source))),
    ]
}

/// Paths with all characters that XML treats specially, and a line end in the middle; leading and
/// trailing blanks do not survive.
fn paths() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("C:\\Tests & <more>\\it's \"this\".dat".to_string()),
        Just("/mnt/größe/テスト 🜚.dat".to_string()),
        Just("*1".to_string()),
        Just("#0".to_string()),
        "[&<>'\"a]([ &<>'\"\t\r\n;#x\\]\\[-z\u{e9}]|\\PC){0,300}[&<>'\"a]",
    ]
}

fn numbers() -> impl Strategy<Value = u32> + Clone {
    prop_oneof![0u32..100, any::<u32>(), Just(u32::MAX), Just(1 << 31)]
}

fn sizes() -> impl Strategy<Value = u64> + Clone {
    prop_oneof![0u64..100_000, any::<u64>(), Just(u64::MAX), Just(1 << 40)]
}
