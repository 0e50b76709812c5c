//! Options with an effect on the machine. Each test observes the effect, so that an option that is
//! parsed but not applied is noticed.

use std::os::unix::fs::MetadataExt;

use testbed::{LoopDevice, LoopFs, LoopOptions};

use crate::fio::support::Sandbox;
use crate::prelude::*;

const MIB: u64 = 1 << 20;

/// Creates a file of 1 MiB with data.
fn create_file(sandbox: &Sandbox) -> PathBuf {
    let path = sandbox.path().join("file");
    fs::write(&path, vec![7; MIB as usize]).unwrap();
    path
}

/// fio 3.33 shows these entries, each under the name of its first job.
#[test]
fn group_reporting_adds_a_job_to_the_entry_before_it() {
    let sandbox = Sandbox::new();
    let grouped = "--group_reporting";
    for (jobs, expected) in [
        ([("a", ""), ("b", ""), ("c", grouped)], vec![("a", 16), ("b", 32)]),
        ([("a", ""), ("b", grouped), ("c", "")], vec![("a", 32), ("c", 16)]),
        (
            [("a", grouped), ("b", ""), ("c", "--stonewall --group_reporting")],
            vec![("a", 16), ("b", 16), ("c", 16)],
        ),
    ] {
        let sections = jobs.map(|(name, options)| format!("--name={name} --ioengine=null --size=64k {options}"));
        let ran = sandbox.line(&format!("--output-format=json {}", sections.join(" ")));
        let report = ran.expect(0, &[]).json();
        let entries = report["jobs"].as_array().unwrap().iter();
        let found = entries.map(|entry| {
            let operations = entry["read"]["total_ios"].as_u64().unwrap();
            (entry["jobname"].as_str().unwrap(), operations)
        });
        assert_eq!(found.collect::<Vec<_>>(), expected, "{jobs:?}");
    }
}

#[test]
fn falloc_allocates_and_frees_space() {
    let sandbox = Sandbox::new();
    let path = create_file(&sandbox);
    let job = "--name=x --filename=file --size=1m --bs=64k --ioengine=falloc --output-format=json";
    let trimmed = sandbox.first_job(&format!("{job} --rw=trim"));
    assert_eq!(trimmed["trim"]["total_ios"], 16);
    assert_eq!(fs::metadata(&path).unwrap().blocks(), 0, "holes take no space");
    sandbox.line(&format!("{job} --rw=read")).expect(0, &[]);
    let meta = fs::metadata(&path).unwrap();
    assert!(meta.blocks() * 512 >= MIB, "{}", meta.blocks());
    assert_eq!(meta.len(), MIB);
    fs::remove_file(&path).unwrap();
    sandbox
        .line(&format!("{job} --rw=write --create_on_open=1"))
        .expect(0, &[]);
    let meta = fs::metadata(&path).unwrap();
    assert!(meta.len() == MIB && meta.blocks() * 512 >= MIB, "{meta:?}");
    assert_eq!(fs::read(&path).unwrap(), vec![0; MIB as usize], "no data is written");
}

/// A pass ends once the transferred bytes equal the size of the file. Their position does not
/// matter.
#[test]
fn skipped_bytes_do_not_count_towards_a_pass() {
    let sandbox = Sandbox::new();
    create_file(&sandbox);
    let job = "--name=x --filename=file --size=1m --bs=4k --rw=read:60k --output-format=json";
    for (more, reads) in [("", 256), ("--loops=3", 768)] {
        let found = sandbox.first_job(&format!("{job} {more}"));
        assert_eq!(found["read"]["total_ios"], reads, "{more}");
    }
}

#[test]
fn every_engine_works_with_every_type_of_buffer() {
    let sandbox = Sandbox::new();
    create_file(&sandbox);
    let jobs = ["malloc", "mmap", "shm"].into_iter().flat_map(|memory| {
        ["psync", "libaio", "io_uring", "mmap"].map(move |engine| format!("--iomem={memory} --ioengine={engine}"))
    });
    for job in jobs.chain(["--ioengine=null --io_submit_mode=offload --iodepth=8".to_owned()]) {
        let line = "--name=x --filename=file --size=1m --bs=4k --rw=randread --output-format=json";
        let found = sandbox.first_job(&format!("{line} {job}"));
        assert_eq!(found["read"]["io_bytes"], MIB, "{job}");
        assert_eq!(found["error"], 0, "{job}");
    }
}

/// Users consider these options harmless, so that no byte may change.
#[test]
fn files_are_not_changed_by_reads_or_trims() {
    let sandbox = Sandbox::new();
    let path = create_file(&sandbox);
    let job = "--name=x --filename=file --bs=4k --size=";
    let ran = sandbox.line(&format!("{job}4m --rw=read --readonly"));
    ran.expect(1, &["fio: refusing extend of file due to read-only"]);
    let ran = sandbox.line("--name=x --filename=other --bs=4k --size=4k --rw=read --readonly");
    ran.expect(1, &["due to read-only"]);
    assert!(!sandbox.path().join("other").exists());
    for trim in ["trim", "randtrim", "trimwrite", "randtrimwrite"] {
        let ran = sandbox.line(&format!("{job}1m --rw={trim}"));
        ran.expect(1, &["func=td_io_queue, error=Inappropriate ioctl for device"]);
        let ran = sandbox.line(&format!("--name=x --filename=new --bs=4k --size=64k --rw={trim}"));
        ran.expect(1, &["func=td_io_queue, error=Inappropriate ioctl for device"]);
        assert!(!sandbox.path().join("new").exists());
    }
    assert_eq!(fs::read(&path).unwrap(), vec![7; MIB as usize]);
    sandbox.line(&format!("{job}512k --rw=read --readonly")).expect(0, &[]);
}

/// No file is laid out for a job that cannot run.
#[test]
fn missing_cpus_and_nodes_are_refused_first() {
    let sandbox = Sandbox::new();
    for (option, line) in [
        ("cpus_allowed=65000", "fio: CPU 65000 too large (max="),
        ("cpus_allowed=0,9000-9001", "fio: CPU 9000 too large (max="),
        ("numa_cpu_nodes=999", "fio: numa_parse_nodestring failed"),
        ("numa_mem_policy=bind:999", "fio: numa_parse_nodestring failed"),
    ] {
        let job = format!("--name=x --filename=file --size=4k --rw=read --{option}");
        sandbox
            .line(&job)
            .expect(1, &[line, &format!("fio: failed parsing {option}")]);
        assert!(!sandbox.path().join("file").exists());
        sandbox.line(&format!("--parse-only {job}")).expect(0, &[]);
    }
}

/// As in fio, `loops` and `io_size` repeat the first pass, and `time_based` draws new offsets.
#[test]
fn only_time_based_jobs_draw_new_offsets_in_each_pass() {
    let sandbox = Sandbox::new();
    create_file(&sandbox);
    let job = "--name=x --filename=file --size=64k --bs=4k --rw=randread --write_iolog=trace";
    for (options, repeats) in [
        ("--loops=2", true),
        ("--io_size=128k", true),
        ("--time_based --runtime=1 --rate_iops=64", false),
        ("--time_based --runtime=1 --rate_iops=64 --norandommap", false),
    ] {
        sandbox.line(&format!("{job} {options}")).expect(0, &[]);
        let trace = fs::read_to_string(sandbox.path().join("trace")).unwrap();
        let reads = trace.lines().filter(|line| line.contains(" read "));
        let reads: Vec<&str> = reads.filter_map(|line| Some(line.split_once("file ")?.1)).collect();
        assert!(reads.len() >= 32, "{options}: {trace}");
        assert_eq!(reads[..16] == reads[16..32], repeats, "{options}: {reads:?}");
        fs::remove_file(sandbox.path().join("trace")).unwrap();
    }
}

/// Otherwise, repeated reads of a file would measure the page cache. The kernel counts the bytes
/// that the device reads.
#[test]
fn every_pass_over_a_file_reads_the_device() {
    let mounted = testbed::need!(LoopFs::ext4(64 * MIB));
    let sandbox = Sandbox::new();
    let path = mounted.path().join("file");
    fs::write(&path, vec![7; MIB as usize]).unwrap();
    let name = text(mounted.device().path()).trim_start_matches("/dev/");
    let bytes_read = || -> u64 {
        let counters = fs::read_to_string(format!("/sys/block/{name}/stat")).unwrap();
        512 * counters.split_whitespace().nth(2).unwrap().parse::<u64>().unwrap()
    };
    let job = format!(
        "--name=x --filename={} --size=1m --bs=4k --output-format=json",
        text(&path)
    );
    for (passes, options) in [
        (4, "--rw=read --loops=4"),
        (4, "--rw=randread --io_size=4m"),
        (1, "--rw=read --loops=4 --invalidate=0"),
    ] {
        let before = bytes_read();
        let found = sandbox.first_job(&format!("{job} {options}"));
        assert_eq!(found["read"]["total_ios"], 1024, "{options}");
        let read = bytes_read() - before;
        // The file system itself reads a few blocks.
        assert!(read <= passes * MIB + MIB / 4, "{options}: {read} bytes");
        assert!(passes == 1 || read >= passes * MIB, "{options}: {read} bytes");
    }
}

/// The kernel thread takes entries from the ring at its own pace.
#[test]
fn a_polling_kernel_thread_gets_every_operation_once() {
    let sandbox = Sandbox::new();
    create_file(&sandbox);
    for batch in ["", "--iodepth_batch=4"] {
        let line = "--name=x --filename=file --size=1m --bs=4k --rw=randread --ioengine=io_uring --sqthread_poll=1 \
                    --iodepth=8 --output-format=json";
        let found = sandbox.first_job(&format!("{line} {batch}"));
        assert_eq!(found["read"]["total_ios"], 256, "{batch}");
    }
}

#[test]
fn create_only_lays_out_files_and_does_no_io() {
    let sandbox = Sandbox::new();
    let job =
        sandbox.first_job("--name=x --filename=file --size=1m --rw=randread --create_only=1 --output-format=json");
    assert_eq!(fs::metadata(sandbox.path().join("file")).unwrap().len(), MIB);
    assert_eq!(job["error"], 0);
    assert_eq!(job["read"]["total_ios"], 0);
}

#[test]
fn create_on_open_leaves_only_the_written_length() {
    let sandbox = Sandbox::new();
    let job = "--name=x --filename=file --size=1m --io_size=64k --rw=write";
    sandbox.line(&format!("{job} --create_on_open=1")).expect(0, &[]);
    assert_eq!(fs::metadata(sandbox.path().join("file")).unwrap().len(), 65536);
    fs::remove_file(sandbox.path().join("file")).unwrap();
    sandbox.line(job).expect(0, &[]);
    assert_eq!(fs::metadata(sandbox.path().join("file")).unwrap().len(), MIB);
}

/// Starts a paced run that lasts some seconds.
fn start_paced(sandbox: &Sandbox, more: &str) -> Child {
    let line = format!("--name=x --size=1m --time_based --runtime=20 --rate_iops=100 {more}");
    let mut command = sandbox.command(&split_words(&line));
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

/// Waits until a condition holds. Returns false after 15 s.
fn wait_until(mut holds: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(15) {
        if holds() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

/// Reads a file in `/proc` for each thread of a process.
fn read_for_threads(child: &Child, file: &str) -> Vec<String> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{}/task", child.id())) else {
        return Vec::new();
    };
    let read = |task: std::io::Result<fs::DirEntry>| fs::read_to_string(task.ok()?.path().join(file)).ok();
    tasks.filter_map(read).collect()
}

#[test]
fn memory_is_pinned_while_the_job_runs() {
    let sandbox = Sandbox::new();
    let child = start_paced(&sandbox, "--ioengine=null --lockmem=8m");
    let locked = || {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmLck:"))?.trim();
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    let found = wait_until(|| locked().is_some_and(|kib| kib >= 8192));
    kill(child);
    assert!(found, "nothing was pinned");
}

#[test]
fn comm_names_the_threads() {
    let sandbox = Sandbox::new();
    let child = start_paced(&sandbox, "--ioengine=null --comm=walker");
    let found = wait_until(|| read_for_threads(&child, "comm").contains(&"walker\n".to_owned()));
    kill(child);
    assert!(found, "no thread has the name");
}

#[test]
fn sqthread_poll_cpu_binds_the_kernel_thread() {
    let sandbox = Sandbox::new();
    create_file(&sandbox);
    let polling = "--filename=file --ioengine=io_uring --sqthread_poll --sqthread_poll_cpu=0";
    let child = start_paced(&sandbox, polling);
    let found = wait_until(|| {
        read_for_threads(&child, "status").iter().any(|status| {
            status.lines().next().is_some_and(|name| name.contains("iou-sqp"))
                && status.lines().any(|line| line == "Cpus_allowed_list:\t0")
        })
    });
    kill(child);
    assert!(found, "no such thread");
}

#[test]
fn jobs_can_be_bound_to_a_numa_node() {
    let sandbox = Sandbox::new();
    let job = "--name=x --ioengine=null --size=1m";
    if fs::metadata("/sys/devices/system/node/node0").is_ok() {
        let options = "--numa_cpu_nodes=0 --numa_mem_policy=bind:0";
        sandbox.line(&format!("{job} {options}")).expect(0, &[]);
    }
}

#[test]
fn thinkcycles_are_spent_between_operations() {
    let sandbox = Sandbox::new();
    let job = "--name=x --ioengine=null --size=1m --number_ios=20 --output-format=json";
    let read = &sandbox.first_job(&format!("{job} --thinkcycles=20000000"))["read"];
    // No processor counts faster than 10 GHz.
    assert!(read["runtime"].as_u64().unwrap() >= 38, "{read}");
    assert!(read["clat_ns"]["max"].as_u64().unwrap() < 2_000_000, "{read}");
}

#[test]
fn error_dump_reports_tolerated_errors() {
    let sandbox = Sandbox::new();
    for (error_dump, is_dumped) in [("0", false), ("1", true)] {
        let line = format!(
            "--name=x --filename=file --size=1m --bs=64k --rw=write --create_on_open=1 --ignore_error=0,EFBIG \
             --error_dump={error_dump}"
        );
        let fio = sandbox.command(&split_words(&line));
        let mut command = Command::new("sh");
        command
            .args(["-c", "ulimit -f 256; exec \"$0\" \"$@\""])
            .arg(fio.get_program())
            .args(fio.get_args())
            .current_dir(sandbox.path());
        let ran = finish(&mut command);
        assert_eq!(ran.code, Some(0), "{ran:#?}");
        assert_eq!(ran.err.contains("io_u error on file"), is_dumped, "{ran:#?}");
        fs::remove_file(sandbox.path().join("file")).unwrap();
    }
}

/// The flag must reach the system call, which then fails or does not support it. The kernel may
/// start to read uncached data and check whether it arrived in time. Of many reads, one is late.
#[test]
fn nowait_reads_fail_instead_of_waiting() {
    let Ok(sandbox) = Sandbox::on_disk() else { return };
    let path = sandbox.path().join("file");
    fs::write(&path, vec![7; 64 * MIB as usize]).unwrap();
    // Dirty pages would stay in the cache.
    fs::File::open(&path).and_then(|file| file.sync_all()).unwrap();
    let job = "--name=x --filename=file --size=64m --bs=4k --rw=randread --invalidate=1 --ioengine=pvsync2";
    sandbox.line(&format!("{job} --number_ios=16")).expect(0, &[]);
    let ran = sandbox.line(&format!("{job} --nowait=1"));
    let messages = ["Resource temporarily unavailable", "not supported"];
    assert!(messages.iter().any(|message| ran.err.contains(message)), "{ran:#?}");
}

#[test]
fn bs_is_seq_rand_chooses_lengths_by_position() {
    let sandbox = Sandbox::new();
    let line = "--name=x --ioengine=null --size=64m --rw=randread --norandommap --percentage_random=50 --bs=64k,4k \
                --bs_is_seq_rand=1 --number_ios=1000 --output-format=json";
    let job = sandbox.first_job(line);
    let read = &job["read"];
    let (bytes, operations) = (read["io_bytes"].as_u64().unwrap(), read["total_ios"].as_u64().unwrap());
    assert_eq!(operations, 1000);
    let long = (bytes - operations * 4096) / (65536 - 4096);
    assert!((400..600).contains(&long), "{long} of {operations} were long");
}

/// True if `groups`, from `/proc/PID/cgroup`, names this group for block I/O.
fn is_in_group(groups: &str, group: &str) -> bool {
    groups.lines().any(|line| {
        let mut parts = line.splitn(3, ':');
        let (controllers, path) = (parts.nth(1).unwrap_or_default(), parts.next().unwrap_or_default());
        (controllers.is_empty() || controllers.split(',').any(|name| name == "blkio")) && path == group
    })
}

/// Mount point of the control groups for block I/O.
fn control_group_root() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/mounts").ok()?;
    let find = |wanted: fn(&str, &str) -> bool| {
        let mut lines = mounts.lines().map(split_words);
        Some(lines.find(|words| wanted(words[2], words[3]))?[1].into())
    };
    find(|kind, options| kind == "cgroup" && options.split(',').any(|option| option == "blkio"))
        .or_else(|| find(|kind, _| kind == "cgroup2"))
}

#[test]
fn jobs_run_in_the_named_control_group() {
    let sandbox = Sandbox::new();
    let name = format!("fathom-test-{}", std::process::id());
    let Some(folder) = control_group_root().map(|root| root.join(&name)) else {
        return testbed::skip("control groups are not mounted");
    };
    if fs::create_dir(&folder).and_then(|()| fs::remove_dir(&folder)).is_err() {
        return testbed::skip("only root can create control groups");
    }
    let mut child = start_paced(&sandbox, &format!("--cgroup={name}"));
    let inside = || {
        let groups = read_for_threads(&child, "cgroup");
        groups.iter().any(|groups| is_in_group(groups, &format!("/{name}")))
    };
    let entered = wait_until(inside);
    // A signal ends the run as usual, and the group that it created is removed.
    let _ = Command::new("kill").arg(child.id().to_string()).status();
    let _ = child.wait();
    let left = folder.exists();
    let _ = fs::remove_dir(&folder);
    assert!(entered && !left, "entered: {entered}, left behind: {left}");
    let job = "--name=x --ioengine=null --size=4k";
    sandbox
        .line(&format!("{job} --cgroup={name} --cgroup_nodelete=1"))
        .expect(0, &[]);
    let kept = folder.exists();
    // A group that existed before is never removed.
    sandbox.line(&format!("{job} --cgroup={name}")).expect(0, &[]);
    let stayed = folder.exists();
    let _ = fs::remove_dir(&folder);
    assert!(kept && stayed, "kept: {kept}, stayed: {stayed}");
    let ran = sandbox.line(&format!("{job} --cgroup={name}/deeper/still"));
    ran.expect(1, &["func=cgroup", "error=No such file or directory"]);
}

/// The I/O schedulers that a device may have; the current one is in brackets.
fn offered_schedulers(device: &Path) -> String {
    let name = device.file_name().unwrap().to_str().unwrap();
    fs::read_to_string(format!("/sys/block/{name}/queue/scheduler")).unwrap()
}

fn current_scheduler(device: &Path) -> String {
    let offered = offered_schedulers(device);
    offered.split(['[', ']']).nth(1).unwrap_or("none").to_owned()
}

#[test]
fn devices_have_the_named_scheduler_during_the_run() {
    let sandbox = Sandbox::new();
    let device = testbed::need!(LoopDevice::with_size(16 * MIB, LoopOptions::default()));
    let offered = offered_schedulers(device.path());
    let before = current_scheduler(device.path());
    let others = offered.split_whitespace().filter(|word| !word.starts_with('['));
    let Some(other) = others.map(str::to_owned).next() else {
        return testbed::skip("this kernel has one I/O scheduler only");
    };
    let target = format!("--filename={}", device.path().display());
    let mut child = start_paced(&sandbox, &format!("{target} --ioscheduler={other}"));
    let switched = wait_until(|| current_scheduler(device.path()) == other);
    let _ = Command::new("kill").arg(child.id().to_string()).status();
    let _ = child.wait();
    assert!(switched, "the scheduler never became {other}");
    assert_eq!(current_scheduler(device.path()), before);
    let ran = sandbox.line(&format!("--name=x --size=4k {target} --ioscheduler=unheard-of"));
    let unable = "fio: unable to set io scheduler to unheard-of";
    ran.expect(1, &[unable, "func=iosched_switch, error=Invalid argument"]);
    assert_eq!(current_scheduler(device.path()), before);
}

#[test]
fn a_device_that_others_use_keeps_its_scheduler() {
    let sandbox = Sandbox::new();
    let mounted = testbed::need!(LoopFs::ext4(64 * MIB));
    let device = mounted.device().path().to_owned();
    let before = current_scheduler(&device);
    let wanted = if before == "none" { "bfq" } else { "none" };
    let job = "--name=x --size=4k --rw=read";
    let ran = sandbox.line(&format!("{job} --filename={} --ioscheduler={wanted}", text(&device)));
    ran.expect(1, &["must not be changed", "is mounted at", "err=22"]);
    assert_eq!(current_scheduler(&device), before);
    // The file system of the job's own file does not count as another user.
    let file = format!("--filename={}/file --ioscheduler={before}", text(mounted.path()));
    sandbox.line(&format!("{job} {file}")).expect(0, &[]);
}
