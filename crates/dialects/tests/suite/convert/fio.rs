//! fio's syntax: fio's own grammar reads the text without a problem, and its values are those of
//! the plan.

use dialects::convert::{Conversion, to_fio};
use dialects::fio::options::pattern::Rw;
use dialects::fio::options::queue::Sync;
use dialects::fio::options::typed::{Distribution, Piece};
use dialects::fio::values::Amount;
use model::plan::Plan;
use testbed::AssertIs;

use crate::convert::support::{diskspd_line, fio_again, flags, job_file, texts};

#[track_caller]
fn check(plan: &Plan, text: &str, lost: &[&str]) -> Conversion {
    let written = to_fio(plan);
    assert_eq!(written.text, text);
    assert_eq!(texts(&written.lost), lost, "{text}");
    fio_again(&written);
    written
}

#[test]
fn a_native_job_converts() {
    let plan = flags(
        "--target /mnt/a.dat --size 4g --read 70 --block 8k --depth 32 --workers 4 --rate 4000iops --time 5m --access zipf:1.2 \
         --flush-every 16 --seed 42",
    );
    let written = check(
        &plan,
        "[job1]\nfilename=/mnt/a.dat\nsize=4g\nioengine=io_uring\niodepth=32\nrw=randrw\nrwmixwrite=30\n\
         random_distribution=zipf:1.2\nbs=8k\nnumjobs=4\nruntime=300s\ntime_based\nramp_time=2s\ndirect=1\nrefill_buffers\n\
         fdatasync=16\nrate_iops=700,300\nrandseed=42\ngroup_reporting\n",
        &[],
    );
    assert_eq!(
        written.one_line.as_deref(),
        Some(
            "fio --name=job1 --filename=/mnt/a.dat --size=4g --ioengine=io_uring --iodepth=32 --rw=randrw --rwmixwrite=30 \
             --random_distribution=zipf:1.2 --bs=8k --numjobs=4 --runtime=300s --time_based --ramp_time=2s --direct=1 \
             --refill_buffers --fdatasync=16 --rate_iops=700,300 --randseed=42 --group_reporting"
        )
    );
    let job = &fio_again(&written)[0].options;
    assert_eq!(job.pattern.rw, Rw::RandReadWrite);
    assert_eq!((job.pattern.rwmixread, job.pattern.bs.read), (70, 8192));
    assert_eq!(job.pattern.size, Some(Amount::Bytes(4 << 30)));
    let zipf = Distribution::Zipf {
        theta: 1.2,
        center: None,
    };
    assert_eq!(job.pattern.distribution, zipf);
    assert_eq!(job.queue.iodepth, 32);
    assert!(job.queue.direct);
    assert_eq!(job.queue.fdatasync, 16);
    assert_eq!(job.job.numjobs, 4);
    assert_eq!(job.job.runtime, 300_000_000);
    assert_eq!(job.job.ramp_time, 2_000_000);
    assert!(job.job.time_based && job.data.refill_buffers && job.report.group_reporting);
    // 4000 over four clones, 70 % of them reads.
    assert_eq!((job.pace.rate_iops.read, job.pace.rate_iops.write), (700, 300));
    assert_eq!(job.pattern.randseed, Some(42));
}

#[test]
fn workers_that_divide_a_target_are_clones_with_an_increment() {
    let known = flags("--target a.dat --size 4g --access sequential --workers 4 --passes 2 --block 1m --read 0");
    let written = check(
        &known,
        "[job1]\nfilename=a.dat\nsize=1g\noffset_increment=1g\noverwrite=1\nrw=write\nbs=1m\nnumjobs=4\nloops=2\n\
         direct=1\nrefill_buffers\ngroup_reporting\n",
        &[],
    );
    let job = &fio_again(&written)[0].options;
    assert_eq!(job.pattern.offset_increment, Some(Amount::Bytes(1 << 30)));
    assert_eq!(job.job.loops, 2);
    let unknown = flags("--target /dev/sdb --access sequential --workers 4");
    check(
        &unknown,
        "[job1]\nfilename=/dev/sdb\nsize=25%\noffset_increment=25%\nrw=read\nnumjobs=4\nruntime=30s\ntime_based\nramp_time=2s\n\
         direct=1\ngroup_reporting\n",
        &[],
    );
    // A third is not a whole percentage: every clone gets a section, and the losses are listed.
    let thirds = to_fio(&flags("--target /dev/sdb --access sequential --workers 3"));
    assert_eq!(fio_again(&thirds).len(), 3);
    assert_eq!(thirds.lost.len(), 3, "{:?}", texts(&thirds.lost));
    assert!(
        thirds
            .lost
            .iter()
            .all(|lost| lost.what.starts_with("native offset, size"))
    );
}

#[test]
fn steps_become_stonewalls_and_common_options_global() {
    let plan = job_file(
        "[defaults]\ntarget = \"a.dat\"\nsize = \"1g\"\ntime = \"10s\"\n[[job]]\nname = \"one\"\ndepth = 4\n[[job]]\nname = \
         \"two\"\nread = 0\nafter = \"one\"\n[[job]]\nname = \"three\"\nstep = 2\ncache = \"buffered-through\"\naccess = \
         \"random-once\"\nread = 0\n",
    );
    let written = check(
        &plan,
        "[global]\nfilename=a.dat\nsize=1g\nruntime=10s\ntime_based\nramp_time=2s\n\n[one]\nioengine=io_uring\niodepth=4\n\
         rw=randread\nnorandommap\ndirect=1\nexit_what=stonewall\nexitall_on_error\n\n[two]\noverwrite=1\nrw=randwrite\n\
         norandommap\ndirect=1\nrefill_buffers\nwait_for=one\nexit_what=stonewall\nexitall_on_error\n\n[three]\nstonewall\n\
         overwrite=1\nrw=randwrite\nsync=dsync\ninvalidate=0\nfadvise_hint=0\nrefill_buffers\n",
        &[],
    );
    let jobs = fio_again(&written);
    assert_eq!(
        jobs.iter().map(|job| job.waits()).collect::<Vec<_>>(),
        [false, false, true]
    );
    assert_eq!(jobs[1].options.job.wait_for.as_deref(), Some("one"));
    assert_eq!(jobs[2].options.queue.sync, Sync::DataSync);
    assert!(jobs[0].options.pattern.norandommap && !jobs[2].options.pattern.norandommap);
    assert_eq!(written.one_line, None);
}

#[test]
fn a_diskspd_line_converts() {
    let plan = diskspd_line("-b8K -c1G -d60 -W5 -C3 -t2 -o8 -r -w30 -Sh -n a.dat");
    let written = check(
        &plan,
        &format!(
            "[timespan 1]\nfilename=a.dat\nsize=1g\nioengine=io_uring\niodepth=8\nrw=randrw\nrwmixwrite=30\nnorandommap\nbs=8k\n\
             numjobs=2\nruntime=60s\ntime_based\nramp_time=5s\ndirect=1\nsync=dsync\nbuffer_pattern=0x{}\ngroup_reporting\n",
            (0..=255u8).map(|byte| format!("{byte:02x}")).collect::<String>()
        ),
        &["DiskSpd -C: 3s; fio has no equivalent"],
    );
    let job = &fio_again(&written)[0].options;
    assert_eq!(job.data.buffer_pattern, [Piece::Bytes((0..=255).collect())]);
}

#[test]
fn a_request_pool_becomes_a_set_of_files() {
    let plan = diskspd_line("-b4K -F2 -O16 -r -n a.dat dir/b:c.dat");
    let written = check(
        &plan,
        "[timespan 1]\nfilename=a.dat:dir/b\\:c.dat\nfile_service_type=random\nioengine=io_uring\niodepth=16\nrw=randread\n\
         norandommap\nnumjobs=2\nruntime=10s\ntime_based\nramp_time=5s\ninvalidate=0\nfadvise_hint=0\ngroup_reporting\n",
        &[],
    );
    assert_eq!(fio_again(&written)[0].options.files.filename, ["a.dat", "dir/b:c.dat"]);
    // A depth for each target is not a depth over all of them.
    let converted = to_fio(&diskspd_line("-b4K -F2 -o16 -r -n a.dat b.dat"));
    texts(&converted.lost).assert_is(&["DiskSpd -o, -O: 16 on each target; fio: 32 over all targets"]);
}

/// fio's grammar knows every option that the conversion writes, also in combinations.
#[test]
fn plans_of_the_other_tests_are_readable() {
    let lines = crate::convert::native::LINES.iter().map(|line| flags(line));
    let files = crate::convert::native::FILES.iter().map(|file| job_file(file));
    for plan in lines.chain(files) {
        let written = to_fio(&plan);
        let jobs = fio_again(&written);
        let sections = written
            .text
            .lines()
            .filter(|line| line.starts_with('[') && *line != "[global]")
            .count();
        assert_eq!(jobs.len(), sections, "{}", written.text);
    }
}

#[test]
fn names_that_a_job_file_cannot_hold_are_reported() {
    let written = to_fio(&flags("--target 'a#b.dat'"));
    assert_eq!(
        texts(&written.lost),
        ["job `job1`: native: filename=a#b.dat; in an fio job file `#` and `;` begin a comment, and `$` a variable"]
    );
}

/// A null target must not become a file.
#[test]
fn a_null_target_stays_null() {
    check(
        &flags("--target null --size 1g --depth 4"),
        "[job1]\nfilename=null\nsize=1g\nioengine=null\niodepth=4\nrw=randread\nnorandommap\nruntime=30s\ntime_based\n\
         ramp_time=2s\ndirect=1\n",
        &[],
    );
}
