//! The effect of options on the plan, one part of it for each, so that an option that is parsed and
//! then lost is noticed here.

use dialects::fio::{Disk, Lowered, PathFacts, PathKind, TraceFile, lower};
use model::access::{Access, Placement};
use model::block_size::BlockSizes;
use model::content::Content;
use model::plan::{Control, EngineKind, MemoryNodes, Plan, Prepare, Stream, ThinkCount, Worker};
use model::{Bytes, Nanos};
use testbed::AssertIs;

use crate::fio::support::{TestEnv, all, lower_env};

/// Files of a megabyte under every name that begins with `there`, and a zoned device.
struct Files;

impl Disk for Files {
    fn find(&self, path: &str) -> Option<PathFacts> {
        let kind = match path {
            "zoned" => PathKind::Device,
            _ if path.starts_with("there") => PathKind::File,
            _ => return None,
        };
        Some(PathFacts { kind, size: 1 << 20 })
    }

    fn is_zoned(&self, path: &str) -> bool {
        path == "zoned"
    }

    fn read(&self, _: &str) -> Result<Vec<u8>, String> {
        Err("No such file or directory".into())
    }

    fn list_files_below(&self, folder: &str) -> Result<Vec<String>, String> {
        match folder {
            "there" => Ok(vec!["there/a".into(), "there/b".into()]),
            _ => Err("No such file or directory".into()),
        }
    }

    fn trace(&self, _: &str) -> Result<TraceFile, String> {
        Err("No such file or directory".into())
    }

    fn device(&self, _: u32, _: u32) -> Option<String> {
        None
    }
}

fn lowered(line: &str) -> Result<Lowered, Vec<String>> {
    let line = format!("--name=x --size=1m {line}");
    let arguments: Vec<&str> = line.split_whitespace().collect();
    let (code, jobs) = all(TestEnv::default().read(&arguments));
    assert_eq!(code, 0, "{line}: {:?}", jobs.notices);
    lower(&jobs, lower_env(&Files)).map_err(|problems| problems.into_iter().map(|problem| problem.what).collect())
}

fn plan(line: &str) -> Plan {
    let plan = lowered(line).unwrap().plan;
    plan.check().unwrap();
    plan
}

fn worker(line: &str) -> Worker {
    plan(line).steps.remove(0).jobs.remove(0).workers.remove(0)
}

fn stream(line: &str) -> Stream {
    worker(line).streams.remove(0)
}

#[test]
fn the_ramp_ends_after_its_bytes() {
    let phases = plan("--ramp_size=64k").steps[0].jobs[0].phases;
    assert_eq!(phases.warm_up_bytes, Some(Bytes::kib(64)));
}

/// Only a job that repeats its amount until a time can warm up for longer than its amount takes.
#[test]
fn the_amount_of_a_job_includes_its_ramp() {
    let includes_ramp = |line: &str| plan(line).steps[0].jobs[0].stop.includes_warm_up();
    assert!(includes_ramp("--ramp_time=1 --runtime=2"));
    assert!(!includes_ramp("--ramp_time=1 --runtime=2 --time_based"));
}

#[test]
fn pauses_have_the_given_length_and_frequency() {
    let think = |line: &str| stream(line).think.unwrap();
    let usual = think("--thinktime=500");
    assert_eq!((usual.pause_ns, usual.operations), (Nanos::micros(500), 1));
    assert_eq!(usual.count, ThinkCount::Completed);
    let spinning = think("--thinktime=500 --thinktime_spin=100");
    assert_eq!(spinning.spin_ns, Nanos::micros(100));
    let issued = think("--thinktime=500 --thinktime_blocks_type=issue");
    assert_eq!(issued.count, ThinkCount::Issued);
    let by_time = think("--thinktime=500 --thinktime_iotime=2");
    assert_eq!((by_time.operations, by_time.after_ns), (0, Some(Nanos::secs(2))));
    assert!(think("--thinktime=500 --rate_ignore_thinktime=1").shifts_schedule);
    assert!(!usual.shifts_schedule);
    assert_eq!(think("--thinkcycles=1000").cycles_each, 1000);
}

#[test]
fn minimum_rates_are_judged_over_a_cycle() {
    let control = plan("--rate_min=1m --rate_cycle=250").steps[0].jobs[0].control.clone();
    let [Control::MinimumRate(rule)] = &control[..] else {
        panic!("{control:?}");
    };
    assert_eq!(rule.cycle_ns, Nanos::millis(250));
}

#[test]
fn files_are_flushed_and_created_as_requested() {
    assert!(stream("--rw=write --end_syncfs=1").sync.file_system_at_end);
    for (line, flushes, opens) in [("", true, false), ("--create_fsync=0 --create_on_open=1", false, true)] {
        let Prepare::LayOut { flush, on_open, .. } = plan(line).targets[0].prepare else {
            panic!("{line}");
        };
        assert_eq!((flush, on_open), (flushes, opens));
    }
    assert!(plan("--create_only=1").steps[0].jobs[0].prepare_only);
    let named = plan("--filename_format=a.$jobname.$filenum");
    assert_eq!(named.targets[0].path, "a.x.0");
}

#[test]
fn offsets_and_lengths_respect_their_options() {
    for (line, expected) in [("--offset_align=64k", 65536), ("", 4096)] {
        let region = stream(&format!("--filename=zoned --offset=30% {line}")).region;
        assert_eq!(region.base.align, expected, "{line}");
    }
    // In a file, the percentage refers to its size before the job: of 1 MiB, and of nothing.
    let base = |name: &str| stream(&format!("--filename={name} --size=2m --offset=50%")).region.base;
    assert_eq!((base("there").bytes, base("there").percent), (Bytes::kib(512), 0.0));
    assert_eq!((base("new").bytes, base("new").percent), (Bytes(0), 0.0));
    let sizes = |line: &str| stream(line).pattern.sizes.read;
    let range = BlockSizes::Range {
        low: Bytes::kib(1),
        high: Bytes::kib(4),
        unaligned: true,
    };
    assert_eq!(sizes("--bsrange=1k-4k --bs_unaligned"), range);
    let by_place = stream("--rw=randread --percentage_random=50 --bs=64k,4k --bs_is_seq_rand=1").pattern;
    assert!(by_place.sizes_by_seq_rand);
    assert_eq!(by_place.sizes.read, BlockSizes::Fixed { size: Bytes::kib(64) });
    assert_eq!(by_place.sizes.write, BlockSizes::Fixed { size: Bytes::kib(4) });
}

#[test]
fn lists_of_blocks_can_advance() {
    for (line, expected) in [("", false), ("--random_sequence_stride=1", true)] {
        let line = format!("--rw=randread --random_distribution=sequence:1,5,3 {line}");
        let access = stream(&line).pattern.access;
        let [Access::Random { placement }] = &access[..] else {
            panic!("{access:?}");
        };
        let Placement::List(list) = placement else {
            panic!("{placement:?}");
        };
        assert_eq!((&list.blocks[..], list.moving), (&[1, 5, 3][..], expected));
    }
}

#[test]
fn contents_have_the_given_compressibility_and_duplicates() {
    let content = |line: &str| stream(&format!("--rw=write {line}")).content;
    let Content::Compressible { chunk, .. } = content("--buffer_compress_percentage=50 --buffer_compress_chunk=4k")
    else {
        panic!("not compressible");
    };
    assert_eq!(chunk, 4096);
    let set = |line: &str| match content(&format!("--dedupe_percentage=30 {line}")) {
        Content::Duplicated { working_set, .. } => working_set,
        other => panic!("{other:?}"),
    };
    assert_eq!(set(""), 0);
    // 256 blocks of 4 KiB.
    assert_eq!(set("--dedupe_mode=working_set"), 12);
    assert_eq!(set("--dedupe_mode=working_set --dedupe_working_set_percentage=50"), 128);
}

#[test]
fn strided_zones_become_windows() {
    let zones = stream("--zonemode=strided --zonesize=64k --zonerange=128k --zoneskip=32k");
    let access = zones.pattern.access;
    let [Access::Zones(zones)] = &access[..] else {
        panic!("{access:?}");
    };
    let sizes = (zones.work, zones.range, zones.skip);
    assert_eq!(sizes, (Bytes::kib(64), Bytes::kib(128), Bytes::kib(32)));
}

#[test]
fn priorities_reach_the_operations() {
    let priority = stream("--prio=3 --prioclass=2 --priohint=5").priority.unwrap();
    assert_eq!((priority.level, priority.hint, priority.percent), (3, 5, 100));
    assert_eq!(stream("--priohint=5").priority.unwrap().hint, 5);
}

#[test]
fn threads_and_memory_are_placed() {
    let placement = |line: &str| worker(line).placement;
    assert_eq!(placement("--numa_cpu_nodes=0-1,3").cpu_nodes, [0, 1, 3]);
    assert_eq!(placement("--comm=walker").name.as_deref(), Some("walker"));
    for (policy, expected) in [
        ("bind:0,2", MemoryNodes::Bind { nodes: vec![0, 2] }),
        ("prefer:1", MemoryNodes::Prefer { node: 1 }),
        ("interleave:0-1", MemoryNodes::Interleave { nodes: vec![0, 1] }),
        ("local", MemoryNodes::Local),
        ("default", MemoryNodes::Default),
    ] {
        let nodes = placement(&format!("--numa_mem_policy={policy}")).memory_nodes;
        assert_eq!(nodes, Some(expected), "{policy}");
    }
    assert_eq!(worker("--lockmem=8m").memory.pinned, Bytes::mib(8));
}

#[test]
fn engines_receive_their_own_options() {
    let engine = |line: &str| worker(line).engine;
    assert_eq!(engine("--ioengine=falloc").kind, EngineKind::Falloc);
    let calls = engine("--ioengine=pvsync2 --hipri --hipri_percentage=30 --nowait=1 --uncached=1");
    assert_eq!((calls.poll, calls.poll_percent), (true, 30));
    assert!(calls.no_wait && calls.uncached);
    assert_eq!(engine("--ioengine=io_uring --hipri").poll_percent, 100);
    let polled = engine("--ioengine=io_uring --sqthread_poll --sqthread_poll_cpu=1");
    assert_eq!((polled.submission_thread, polled.submission_cpu), (true, Some(1)));
    assert!(engine("--ioengine=mmap --thp=1").huge_maps);
    assert!(stream("--error_dump=1").on_error.report_tolerated);
    assert!(stream("--fadvise_hint=noreuse").hint.no_reuse);
}

#[test]
fn unsupported_values_are_refused() {
    for (line, what) in [
        (
            "--ioengine=filecreate --verify=md5",
            "verify with ioengine=filecreate is not supported by this program",
        ),
        ("--mem=cudamalloc", "mem=cudamalloc is not supported by this program"),
        (
            "--zonemode=zbd",
            "zonemode=zbd needs a zonesize: the target is not zoned",
        ),
        ("--zonesize=1m", "zonesize needs zonemode=strided"),
        ("--rw=randread --sprandom=1", "sprandom needs rw=randwrite"),
        (
            "--rw=randwrite --sprandom=1 --random_distribution=zipf:1.2",
            "sprandom needs random_distribution=random",
        ),
        (
            "--rw=randwrite --sprandom=1 --random_generator=tausworthe",
            "sprandom needs random_generator=lfsr",
        ),
        (
            "--rw=randwrite --sprandom=1 --norandommap=0",
            "sprandom needs norandommap=1, which sprandom sets itself",
        ),
        (
            "--rw=randwrite --sprandom=1 --bsrange=4k-8k",
            "sprandom needs one block size",
        ),
        (
            "--rw=randwrite --sprandom=1 --spr_op=1.5",
            "sprandom needs spr_op between 0 and 1",
        ),
        ("--zonemode=strided", "zonemode=strided needs a zonesize"),
        (
            "--zonemode=strided --zonesize=4k --zoneskip=10%",
            "a zoneskip that is not a number of bytes is not supported by this program",
        ),
        (
            "--filename=zoned --rw=write --zonemode=zbd --zonesize=64k",
            "zonemode=zbd on the zoned device zoned is not supported by this program: the job defines the zones, on a \
             file or a regular device",
        ),
        ("--numa_cpu_nodes=x", "numa_cpu_nodes: 'x' is not a list of nodes"),
        (
            "--numa_mem_policy=prefer:0,1",
            "numa_mem_policy: 'prefer:0,1' is not one of default, local, prefer:N, bind:LIST, interleave:LIST",
        ),
    ] {
        assert_eq!(lowered(line).unwrap_err(), [format!("fio: {what}")], "{line}");
    }
}

#[test]
fn a_directory_is_replaced_by_its_files() {
    let targets = plan("--opendir=there").targets.into_iter();
    let paths: Vec<String> = targets.map(|target| target.path).collect();
    assert_eq!(paths, ["there/a", "there/b"]);
    let missing = lowered("--opendir=missing").unwrap_err();
    missing[0].assert_is("fio: opendir: cannot read 'missing': No such file or directory");
}

#[test]
fn files_must_have_the_given_type() {
    plan("--filename=there --filetype=file");
    plan("--filename=new --filetype=file");
    let wrong = lowered("--filename=there --filetype=block").unwrap_err();
    assert_eq!(wrong, ["fio: filetype: there is not a block device"]);
}

/// Line, error number and function of fio 3.33.
#[test]
fn clones_that_fio_cannot_start_are_unusable() {
    let zbd = "--rw=write --zonemode=zbd --zonesize=64k --filename";
    let too_small = "file/device size 0 is smaller than zone size 65536";
    for (line, error) in [
        (
            format!("{zbd}=new"),
            (&*format!("new: {too_small}"), 22, "zbd_create_zone_info() failed"),
        ),
        ("--cpus_allowed=1-0".to_owned(), ("", 22, "cpu_set_affinity")),
    ] {
        let unusable = lowered(&line).unwrap().unusable;
        let [found] = &unusable[..] else {
            panic!("{line}: {unusable:?}")
        };
        assert_eq!((&*found.line, found.errno, &*found.function), error, "{line}");
    }
    for line in [format!("{zbd}=there"), "--cpus_allowed=0-1".to_owned()] {
        assert_eq!(lowered(&line).unwrap().unusable, [], "{line}");
    }
}

/// Without a size, the end of the space ends the job.
#[test]
fn a_job_that_fills_a_device_needs_no_size() {
    for size in ["--size=0", "--size=100%"] {
        let lowered = lowered(&format!("--rw=write --fill_device=1 {size}")).unwrap();
        assert_eq!(lowered.unusable, [], "{size}");
        let size_of_file = lowered.plan.targets[0].prepare.size();
        assert!(size_of_file > Some(Bytes(1 << 42)), "{size}: {size_of_file:?}");
    }
    for files in [1, 2] {
        let lowered = lowered(&format!("--rw=write --size=0 --nrfiles={files}")).unwrap();
        assert_eq!(lowered.unusable.len(), 1, "{files}");
    }
}

#[test]
fn patterns_may_contain_offsets() {
    let verify = |pattern: &str| {
        let line = format!("--rw=write --verify=pattern --verify_pattern={pattern}");
        stream(&line).verify.unwrap()
    };
    let pattern = verify("\"abcd\"-120xdeadface").pattern;
    assert_eq!(pattern, b"abcd\xf4\xff\xff\xff\xde\xad\xfa\xce");
    let verify = verify("0xab%o --verify_pattern_interval=512");
    assert_eq!((verify.pattern.len(), &verify.pattern_offsets[..]), (9, &[1][..]));
    assert_eq!(verify.pattern_interval, 512);
    let refused = lowered("--rw=write --buffer_pattern=%o").unwrap_err();
    assert_eq!(refused, ["fio: buffer_pattern: %o in a pattern needs verify_pattern"]);
}

#[test]
fn overlapping_operations_are_serialized_on_request() {
    let batching = |line: &str| worker(&format!("--ioengine=libaio --iodepth=8 {line}")).batching;
    assert!(batching("--serialize_overlap=1").serialize_overlap);
    assert!(!batching("").serialize_overlap);
}

#[test]
fn parameters_that_are_not_numbers_are_refused() {
    for curve in ["zipf:nan", "zipf:inf", "pareto:nan", "normal:1:nan"] {
        let line = format!("--name=x --size=64k --rw=randread --random_distribution={curve}");
        let arguments: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(all(TestEnv::default().read(&arguments)).0, 1, "{curve}");
    }
}

#[test]
fn a_billion_clones_or_files_are_refused_before_they_are_created() {
    for (option, limit) in [("numjobs=1000000000", "65536"), ("nrfiles=1000000000", "1048576")] {
        let refused = lowered(&format!("--{option}")).unwrap_err();
        assert!(refused[0].contains(option) && refused[0].contains(limit), "{refused:?}");
    }
}

#[test]
fn an_ageing_pass_ends_when_every_block_is_written() {
    let stop = plan("--rw=randwrite --sprandom=1").steps[0].jobs[0].stop;
    assert_eq!((stop.passes, stop.bytes), (Some(1), None), "no size ends it");
}
