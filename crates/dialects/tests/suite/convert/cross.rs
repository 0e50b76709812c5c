//! Conversions from one dialect to another keep the parts of the plan that make the test, and list
//! the rest.

use dialects::convert::{Form, equivalents, to_diskspd, to_fio, to_native};
use model::access::{Access, Placement};
use model::block_size::BlockSizes;
use model::plan::{DepthScope, Dialect, Pacing, Plan, Rate, Worker};
use model::{Bytes, Nanos, PerDirection};
use testbed::{AssertContains, AssertIs};

use crate::convert::support::{diskspd_again, diskspd_line, flags, job_file, native_again, texts};
use crate::fio::effects::{lowered, split_words};

/// The parts that make a test: one line per stream and worker, in their order.
fn essence(plan: &Plan) -> Vec<String> {
    let mut lines = Vec::new();
    for (number, step) in plan.steps.iter().enumerate() {
        for job in &step.jobs {
            for worker in &job.workers {
                for stream in &worker.streams {
                    let target = plan.target(stream.target.ids()[0]);
                    let access = match &stream.pattern.access[0] {
                        Access::Random {
                            placement: Placement::Uniform(_),
                        } => "random".to_owned(),
                        Access::Random {
                            placement: Placement::Ranges(ranges),
                        } => format!("{:?}", ranges.shares.read),
                        Access::Mixed(mixed) => format!("mixed {}", mixed.random_percent.read),
                        Access::Sequential(walk) => format!("sequential from {}", walk.start),
                        other => format!("{other:?}"),
                    };
                    let BlockSizes::Fixed { size } = stream.pattern.sizes.read else {
                        panic!("lengths differ");
                    };
                    let step_size = match stream.pattern.alignment.read {
                        Bytes(0) => size,
                        align => align,
                    };
                    let writes = match stream.mix {
                        model::mix::Mix::Only { direction } => f64::from(u8::from(direction.changes_data())) * 100.0,
                        model::mix::Mix::Drawn { write_percent, .. } => write_percent,
                        other => panic!("{other:?}"),
                    };
                    let rate = match stream.pacing {
                        Pacing::Together { rate } => format!("{} {:?}", rate.per_second(), rate.unit),
                        Pacing::Unpaced => String::new(),
                        Pacing::PerDirection { .. } => panic!("rates"),
                    };
                    lines.push(format!(
                        "{number}: {} {access} {size}/{step_size} {writes}% depth {} shared {} {rate} {:?} {:?} direct {} through {:?} cpus {:?} \
                         {:?} {:?} {:?}",
                        target.path,
                        worker.slots(),
                        is_shared(worker),
                        stream.think.map(|think| (think.pause_ns, think.operations)),
                        stream.region.resolve(1 << 50),
                        stream.cache.direct,
                        stream.cache.write_through,
                        worker.placement.cpus,
                        job.phases.warm_up_ns,
                        job.stop.after_ns,
                        job.phases.cool_down_ns,
                    ));
                }
            }
        }
    }
    lines
}

fn is_shared(worker: &Worker) -> bool {
    matches!(worker.depth, DepthScope::Shared { .. }) && worker.streams.len() > 1
}

#[test]
fn diskspd_lines_convert_to_native() {
    let check = |line: &str, text: &str| {
        let plan = diskspd_line(line);
        let written = to_native(&plan);
        assert_eq!(texts(&written.lost), [""; 0], "{line}\n{}", written.text);
        assert_eq!(written.text.trim_end(), text, "{line}");
        assert_eq!(
            essence(&native_again(&written)),
            essence(&plan),
            "{line}\n{}",
            written.text
        );
    };
    check(
        "-b8K -d60 -W5 -C2 -t4 -o32 -r -w30 -Sh -n -Zr a.dat",
        "fathom run --target a.dat --read 70 --block 8k --depth 32 --workers 4 --time 60s --warm-up 5s --cool-down 2s --cache \
         direct-through",
    );
    check(
        "-b4K -d30 -W2 -r -o8 -Su -g2000i -t3 -a0,2 -w100 a.dat",
        "fathom run --target a.dat --read 0 --content counting --depth 8 --workers 3 --rate 6000iops --cpus 0,2",
    );
    check(
        "-F2 -O16 -rs40 -n a.dat b.dat",
        "fathom run --target a.dat --target b.dat --access mixed:40 --block 64k --depth 16 --workers 2 --time 10s --warm-up 5s \
         --cache buffered",
    );
    check(
        "-F2 -o16 -r64K -b4K -Sw -w5 -Z -B1M -f1G -n a.dat b.dat",
        "fathom run --target a.dat --target b.dat --size 1023m --offset 1m --read 95 --align 64k --content zeros --depth 16 \
         --depth-per target --workers 2 --time 10s --warm-up 5s --cache buffered-through",
    );
    check(
        "-o1 -s128K -g1000 -n a.dat",
        "fathom run --target a.dat --access sequential --block 64k --align 128k --rate 1000000B/s --time 10s --warm-up 5s --cache \
         buffered --engine psync",
    );
    check(
        "-r -rdpct90/10:10/90 -o1 -i10 -j5 -n a.dat",
        "fathom run --target a.dat --access hot:90/10 --block 64k --pause 5ms --pause-after 10 --time 10s --warm-up 5s \
         --cache buffered --engine psync",
    );
}

/// Blocks of several lengths move more than the region in a pass.
#[test]
fn bytes_that_end_a_job_before_its_passes_are_kept() {
    let to_native = |line: &str| {
        let words = split_words(&format!("--name=a --filename=x --size=4m {line}"));
        to_native(&lowered(&words).unwrap().plan).text
    };
    for sizes in [
        "--rw=randread --bssplit=4k/10:64k/90",
        "--rw=randwrite --bsrange=4k-64k",
    ] {
        to_native(sizes).assert_contains(&[" --bytes 4m --passes 1"]);
    }
    let once = to_native("--rw=randread --bs=8k");
    assert!(once.contains(" --passes 1") && !once.contains("--bytes"), "{once}");
}

/// fio counts bytes and a native job counts passes, so gaps and overlaps need another number.
#[test]
fn amounts_of_uneven_passes_are_converted() {
    let native_text = |line: &str| {
        let words = split_words(&format!("--name=a --filename=x {line}"));
        let found = to_native(&lowered(&words).unwrap().plan);
        assert_eq!(texts(&found.lost), [""; 0], "{line}");
        found.text
    };
    // A gap at the end wraps, so a pass has no end.
    let gaps = native_text("--rw=read:4k --size=512k");
    assert!(gaps.contains("--align 8k") && gaps.contains("--bytes 512k"), "{gaps}");
    assert!(!gaps.contains("--passes"), "{gaps}");
    // The last operation reaches the end.
    let ends = native_text("--rw=read:4k --size=516k");
    assert!(ends.contains("--passes 1"), "{ends}");
    for (line, expected) in [
        ("--align 8k --passes 1", "io_size=512k"),
        ("--align 8k --passes 3", "io_size=512k"),
        ("--align 8k --passes 3", "loops=3"),
        ("--align 2k --passes 2", "io_size=4088k"),
    ] {
        let plan = flags(&format!("--target /d/a.dat --size 1m --access sequential {line}"));
        let found = to_fio(&plan);
        assert!(found.text.lines().any(|one| one == expected), "{line}\n{}", found.text);
        assert_eq!(texts(&found.lost), [""; 0], "{line}\n{}", found.text);
    }
    let overlaps = flags("--target /d/a.dat --size 1m --access random-once --block 4k-16k --passes 1");
    texts(&to_fio(&overlaps).lost).assert_is(&[
        "native operations, bytes, passes: about 253 operations, 2530k, by each worker; fio: about 102 operations, \
             1m, by each worker",
        "native access: random, each position once, so that operations overlap; fio: random, each block once",
    ]);
}

#[test]
fn a_pause_with_operations_in_flight_is_lost_in_native() {
    let lost = |line: &str| texts(&to_native(&diskspd_line(line)).lost);
    assert_eq!(lost("-r -o1 -i10 -j5 -n a.dat"), [""; 0]);
    lost("-r -o4 -i10 -j5 -n a.dat").assert_is(&[
        "DiskSpd -i, -j: a pause follows a number of submitted operations, while others are in flight; native: a \
             pause begins when all operations are complete, so that the queue runs empty",
    ]);
}

/// Threads that each traverse the whole file become jobs, because workers of one job would divide
/// it.
#[test]
fn threads_that_traverse_the_whole_file_become_jobs() {
    let plan = diskspd_line("-t3 -a0,1,2 a.dat");
    let written = to_native(&plan);
    assert_eq!((written.form, texts(&written.lost)), (Form::JobFile, Vec::new()));
    assert_eq!(written.text.matches("[[job]]").count(), 3, "{}", written.text);
    assert_eq!(essence(&native_again(&written)), essence(&plan));
    // Too many of them are reported instead.
    let many = to_native(&diskspd_line("-t20 -n a.dat"));
    assert!(
        many.lost
            .iter()
            .any(|lost| lost.what == "DiskSpd -B, -f: everything from 0"),
        "{:?}",
        texts(&many.lost)
    );
}

#[test]
fn losses_from_diskspd_to_native_are_listed() {
    let check = |line: &str, lost: &[&str]| {
        let written = to_native(&diskspd_line(line));
        assert_eq!(texts(&written.lost), lost, "{line}\n{}", written.text);
    };
    check(
        "-t2 -T1M -n a.dat",
        &["DiskSpd -r, -s, -T, -p: sequential, starting at 1m; native: sequential"],
    );
    check(
        "-si -n a.dat",
        &["DiskSpd -r, -s, -T, -p: one sequence for all workers; native: sequential"],
    );
    check(
        "-p -o4 -n a.dat",
        &["DiskSpd -r, -s, -T, -p: a sequence per slot, starting at 0; native: sequential"],
    );
    check(
        "-r -I1 -l -fr -n a.dat",
        &[
            "DiskSpd -l: huge pages; native has no equivalent",
            "DiskSpd -fr, -fs, -ft: a hint of random access; native has no equivalent",
            "DiskSpd -I: idle 7; native has no equivalent",
        ],
    );
    check(
        "-r -Sm -Nv -n a.dat",
        &["DiskSpd -Sm, -N: a memory map, written back after each write; native: a memory map"],
    );
    check(
        "-r -w100 -Z1M -Sr -n a.dat",
        &[
            "DiskSpd -Z: pieces of 1m of random data; native: the same random data each time",
            "DiskSpd -S: the server caches, the client does not; native cannot express this",
        ],
    );
    check(
        "-r -rdpct50/10:30/20:20/70 -n a.dat",
        &["DiskSpd -r, -s, -T, -p: random: 50 % to 10 %, 30 % to 20 %, 20 % to 70 %; native: random"],
    );
}

#[test]
fn behaviour_specific_to_each_dialect_is_reported_once() {
    let written = to_native(&diskspd_line("-c1G -r -t2 -n a.dat b.dat"));
    assert_eq!(texts(&written.lost), [""; 0]);
    texts(&written.differs).assert_is(&[
            "DiskSpd: a failure also stops other workers and later steps; native: a failure also stops other jobs and later steps",
            "DiskSpd: random numbers: a single one; native: fathom's own, one per purpose: the \
             distributions are the same, the positions and data are not",
            "DiskSpd: completion latency is measured from the start of the submitting call; series show completion \
             latency; native: completion latency is measured from the start of the submitting call; series show total \
             latency",
            "DiskSpd -c: a file that is recreated; native: a file that is filled with random data once, then reused",
        ]);
}

#[test]
fn native_flags_convert_to_diskspd() {
    let check = |plan: &Plan, text: &str, lost: &[&str]| {
        let written = to_diskspd(plan);
        assert_eq!(written.text.trim_end(), text);
        assert_eq!(texts(&written.lost), lost, "{text}");
        if lost.is_empty() {
            assert_eq!(essence(&diskspd_again(&written)), essence(plan), "{text}");
        }
    };
    check(
        &flags("--target a.dat --depth 32 --workers 4 --read 70 --time 1m --block 8k --rate 4000iops --seed 9"),
        "diskspd -b8K -d60 -W2 -r -t4 -o32 -w30 -g1000i -Su -Zr -n -z9 -L a.dat",
        &[],
    );
    check(
        &flags(
            "--target /dev/sdb --size 10g --offset 1g --access sequential --block 1m --align 2m --cache buffered --cpus 1",
        ),
        "diskspd -b1M -d30 -W2 -B1G -f11G -s2M -o1 -a1 -L /dev/sdb",
        &[],
    );
    check(
        &flags("--target a.dat --target b.dat --depth 16 --workers 2"),
        "diskspd -b4K -d30 -W2 -r -F2 -O16 -o16 -Su -n -L a.dat b.dat",
        &[],
    );
    check(
        &flags(
            "--target a.dat --access zipf:1.1 --read 33.3 --block 4k-64k --start-delay 1s --time 1500ms --exact-mix",
        ),
        "diskspd -b4K -d2 -W2 -r -o1 -w67 -Su -Zr -n -L a.dat",
        &[
            "native start-delay: 1s; DiskSpd has no equivalent",
            "native time: 1500ms; DiskSpd: 2s",
            "native read, write, trim: exactly 66.7 % writes; DiskSpd: 67 % writes on average",
            "native access: zipf 1.1; DiskSpd: random",
            "native block: 4k-64k; DiskSpd: 4k",
        ],
    );
    check(
        &flags("--target a.dat --operations 1000 --rate 7iops --workers 2 --flush-every 4 --read 0 --content zeros"),
        "diskspd -b4K -d30 -W0 -r -t2 -o1 -w100 -g4i -Su -Z -n -L a.dat",
        &[
            "native operations: 500 by each worker; DiskSpd has no equivalent",
            "native time: no time limit; DiskSpd: 30s",
            "native flush-every, flush, flush-at-end: fdatasync after 4; DiskSpd has no equivalent",
            "native rate: 3.5 iops for each worker; DiskSpd: 4 iops for each worker",
        ],
    );
}

#[test]
fn several_steps_become_a_profile() {
    let plan = job_file(
        "[[job]]\ntarget = \"a.dat\"\ntime = \"5s\"\n[[job]]\nname = \"b\"\nstep = 2\ntarget = \"b.dat\"\nblock = \"64k\"\nworkers = 2\n\
         [[job]]\nname = \"c\"\nstep = 2\ntarget = \"c.dat\"\ndepth = 9\nread = 50\n",
    );
    let written = to_diskspd(&plan);
    assert_eq!((written.form, texts(&written.lost)), (Form::Xml, Vec::new()));
    let again = diskspd_again(&written);
    assert_eq!(essence(&again), essence(&plan));
    assert_eq!((again.steps.len(), again.steps[1].jobs[0].workers.len()), (2, 3));
    assert_eq!(again.steps[0].jobs[0].stop.after_ns, Some(Nanos::secs(5)));
}

#[test]
fn equivalents_match_the_other_two_dialects() {
    let dialects = |plan: &Plan| {
        equivalents(plan)
            .iter()
            .map(|equivalent| equivalent.dialect)
            .collect::<Vec<_>>()
    };
    assert_eq!(dialects(&diskspd_line("a.dat")), [Dialect::Native, Dialect::Fio]);
    assert_eq!(dialects(&flags("--target a.dat")), [Dialect::Fio, Dialect::Diskspd]);
}

/// Rates for reads and for writes determine the mix: 700 and 300 are 30 % writes, regardless of the
/// mix before.
#[test]
fn separate_rates_determine_the_mix() {
    let mut plan = flags("--target a.dat --size 1m --read 50 --rate 1000iops --engine psync");
    let stream = &mut plan.steps[0].jobs[0].workers[0].streams[0];
    stream.pacing = Pacing::PerDirection {
        rates: PerDirection::new(Some(Rate::iops(700)), Some(Rate::iops(300)), None),
    };
    let way = "rate: separate schedules for reads and writes";
    for (written, expected) in [
        (to_diskspd(&plan), " -w30 -g1000i "),
        (to_native(&plan), " --read 70 --rate 1000iops"),
    ] {
        assert!(written.text.contains(expected), "{}", written.text);
        let lost = texts(&written.lost);
        assert!(
            !lost.iter().any(|loss| loss.contains("read") || loss.contains("rate")),
            "{lost:?}"
        );
        let differs = texts(&written.differs);
        assert!(differs.iter().any(|difference| difference.contains(way)), "{differs:?}");
    }
}
