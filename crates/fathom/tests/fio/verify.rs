//! Verification options of fio: state files, dumps, discarded blocks of a device, block lifetimes.

use testbed::{LoopDevice, LoopOptions, Unavailable};

use crate::fio::support::Sandbox;
use crate::prelude::*;

const WRITE: &str = "--name=a/b --filename=file --size=64k --bs=4k --rw=write --verify=crc32c --number_ios=9";
const READ: &str = "--name=a/b --filename=file --size=64k --bs=4k --rw=read --verify=crc32c --output-format=json";
const STATE: &str = "local-a.b-0-verify.state";

#[test]
fn a_saved_state_limits_a_later_check() {
    let sandbox = Sandbox::new();
    sandbox.line(WRITE).expect(0, &[]);
    assert!(sandbox.path().join(STATE).exists());
    let job = sandbox.first_job(&format!("{READ} --verify_state_load=1"));
    assert_eq!(job["read"]["total_ios"], 9);
    assert_eq!(sandbox.line(READ).code, Some(1), "the rest was never written");
    fs::remove_file(sandbox.path().join(STATE)).unwrap();
    let ran = sandbox.line(&format!("{READ} --verify_state_load=1"));
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    let missing = "fio: open state file: No such file or directory\nfio: state file: ";
    assert!(ran.err.starts_with(missing), "{ran:#?}");
    sandbox.line(&format!("{WRITE} --verify_state_save=0")).expect(0, &[]);
    assert!(!sandbox.path().join(STATE).exists());
}

/// One process verifies what another wrote, even if the two traverse the file differently.
#[test]
fn a_second_process_finds_the_seeds_of_the_first() {
    let sandbox = Sandbox::new();
    let job = "--name=a --filename=file --size=256k --verify=crc32c --rw=randwrite --do_verify=0";
    let check = "--name=a --filename=file --size=256k --verify=crc32c --rw=randread --output-format=json";
    for (write, read) in [
        ("--bs=4k", "--bs=4k --verify_async=2"),
        ("--bs=4k --loops=2", "--bs=4k --loops=2"),
        ("--bssplit=4k/50:8k/50", "--bssplit=4k/50:8k/50"),
        ("--bsrange=4k-16k --bs_unaligned=0", "--bsrange=4k-16k"),
        ("--bs=8k --verify_interval=512", "--bs=8k --verify_interval=512"),
    ] {
        sandbox.line(&format!("{job} {write}")).expect(0, &[]);
        sandbox.line(&format!("{check} {read}")).expect(0, &[]);
    }
    let ran = sandbox.line(&format!(
        "{} --bs=4k --verify_backlog=16 --verify_async=2",
        job.replace("=0", "=1")
    ));
    ran.expect(0, &[]);
    let path = sandbox.path().join("file");
    let good = fs::read(&path).unwrap();
    let mut bytes = good.clone();
    bytes[100_000] ^= 1;
    fs::write(&path, bytes).unwrap();
    let ran = sandbox.line(&format!("{check} --bs=4k --verify_async=2 --verify_dump=1"));
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    ran.err
        .assert_contains(&["       expected data dumped as file.98304.expected"]);
    let expected = fs::read(sandbox.path().join("file.98304.expected")).unwrap();
    // In the header, only the time and the write number differ.
    assert_eq!(expected[64..], good[98_304 + 64..98_304 + 4096]);
}

#[test]
fn states_and_dumps_go_to_aux_path() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path().join("aux")).unwrap();
    let exists_in_aux = |name: &str| sandbox.path().join("aux").join(name).exists();
    sandbox.line(&format!("{WRITE} --aux-path=aux")).expect(0, &[]);
    assert!(exists_in_aux(STATE) && !sandbox.path().join(STATE).exists());
    let ran = sandbox.line(&format!("{READ} --aux-path=aux --verify_state_load=1"));
    ran.expect(0, &[]);
    sandbox.line(&format!("{READ} --aux-path=aux --verify_dump=1 --verify_header_seed=1"));
    assert!(exists_in_aux("file.36864.received") && exists_in_aux("file.36864.expected"));
    let ran = sandbox.line(&format!("{WRITE} --aux-path=missing"));
    let unsaved = format!("cannot save the progress of the writes in missing/{STATE}");
    ran.err.assert_contains(&[&unsaved]);
}

/// `verify_only` counts the writes that it skips, but not their bytes. So do fio 3.33 and 3.42.
#[test]
fn verify_only_reports_the_skipped_writes() {
    let sandbox = Sandbox::new();
    sandbox.line(WRITE).expect(0, &[]);
    // The process that wrote the blocks also flushed them.
    for policy in ["completed", "fsynced"] {
        let line = format!("{WRITE} --verify_only --verify_policy={policy} --fsync=4 --output-format=json");
        let job = sandbox.first_job(&line);
        let counts = |direction: &str| ["total_ios", "io_bytes"].map(|key| job[direction][key].as_u64().unwrap());
        assert_eq!((counts("write"), counts("read")), ([9, 0], [9, 9 * 4096]), "{policy}");
    }
}

/// fio 3.33 and fathom can read each other's state files.
#[test]
fn state_files_are_interchangeable_with_fio() {
    let fio = |sandbox: &Sandbox, line: &str| {
        let mut command = Command::new("fio");
        command.args(line.split_whitespace()).current_dir(sandbox.path());
        let ran = command.output();
        need(ran.map_err(|error| Unavailable::because(format!("`fio` cannot be run: {error}"))))
    };
    let sandbox = Sandbox::new();
    let ran = need!(fio(&sandbox, WRITE));
    assert!(ran.status.success());
    let job = sandbox.first_job(&format!("{READ} --verify_state_load=1"));
    assert_eq!(job["read"]["total_ios"], 9);
    // fio 3.33 knows only older headers, so this pattern is written without headers.
    let pattern = |line: &str| line.replace("crc32c", "pattern --verify_pattern=0xab");
    let sandbox = Sandbox::new();
    sandbox.line(&pattern(WRITE)).expect(0, &[]);
    let load = format!("{} --verify_state_load=1", pattern(READ));
    let ran = need!(fio(&sandbox, &load));
    let text = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{text}");
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["jobs"][0]["read"]["total_ios"], 9);
}

#[test]
fn blocks_of_a_device_are_discarded_and_their_lifetimes_reported() {
    let device = need!(LoopDevice::with_size(1 << 20, LoopOptions::default()));
    let sandbox = Sandbox::new();
    let path = device.path().display();
    let job = format!("--name=j --filename={path} --size=256k --bs=4k --rw=randtrimwrite");
    let first_job = |options: &str| sandbox.first_job(&format!("{job} {options} --output-format=json"));
    let counts = |job: &Value| ["read", "write", "trim"].map(|direction| job[direction]["total_ios"].as_u64().unwrap());
    let trimmed = first_job("--verify=crc32c --trim_percentage=50 --trim_backlog=16");
    // Same counts as fio 3.33: 64 trims before the writes, and 30 of written blocks.
    assert_eq!(counts(&trimmed), [64, 64, 94]);
    // A write is as long as the trim before it, regardless of its own block size. The block map has
    // entries of 4 KiB, so, as in fio, the pass ends before all 32 blocks are used.
    let longer = first_job("--bs=4k,4k,8k");
    let [reads, writes, trims] = counts(&longer);
    assert_eq!((reads, writes), (0, trims));
    assert!((1..=32).contains(&trims), "{trims}");
    assert_eq!(longer["write"]["io_bytes"], trims * 8192);
    let ran = sandbox.line(&format!(
        "{job} --loops=3 --block_error_percentiles=1 --percentile_list=50:99"
    ));
    ran.expect(0, &[]);
    let expected = "  block lifetime percentiles :\n   | 50.00th=3, 99.00th=3\n        states               : unwritten=0, \
                    trimmed=0, written=64, trim failure=0, write failure=0\n";
    assert!(ran.out.contains(expected), "{}", ran.out);
    let block = &first_job("--number_ios=20 --block_error_percentiles=1 --percentile_list=50")["block"];
    assert_eq!(block["percentiles"]["50.000000"], 1);
    assert_eq!(block["states"]["unwritten"], 54);
    assert_eq!(block["states"]["written"], 10);
}

/// The pass writes some blocks twice; the later data must be found.
#[test]
fn a_sprandom_pass_can_be_verified() {
    let sandbox = Sandbox::new();
    let line = "--name=x --filename=f --size=8m --bs=4k --rw=randwrite --sprandom=1 --spr_op=0.25 --verify=crc32c";
    let job = sandbox.first_job(&format!("{line} --output-format=json"));
    assert_eq!(job["write"]["total_ios"], 2560);
    assert_eq!(job["read"]["total_ios"], 2048, "each block is read back once");
}

/// With `verify`, reads and writes draw their lengths from the same seed. As in fio 3.33, a job
/// that only reads then finds the blocks of the job that wrote.
#[test]
fn a_reader_draws_the_writers_block_lengths() {
    for (write, read, lengths) in [
        ("write", "read", "--bssplit=4k/50:64k/50"),
        ("write", "read", "--bsrange=512:1M"),
        ("randwrite", "randread", "--bssplit=512/50:64k/50"),
        ("rw", "rw", "--bssplit=4k/50:64k/50"),
    ] {
        let sandbox = Sandbox::new();
        let line = |rw: &str| format!("--name=a --filename=file --size=8m --rw={rw} --verify=md5 {lengths}");
        sandbox.line(&format!("{} --do_verify=0", line(write))).expect(0, &[]);
        sandbox.line(&line(read)).expect(0, &[]);
    }
    // Recorded with fio 3.33 and the options below. Lengths are in units of 4 KiB.
    let recorded = [
        ("--rw=write", "1 1 1 16 16 1 16 1 16 16 16 1 16 1"),
        ("--rw=read", "1 16 16 1 16 1 16 1 1 1 1 1 1 1"),
        ("--rw=write --verify=md5", "1 16 16 1 16 1 16 1 1 1 1 1 1 1"),
        (
            "--rw=rw --verify=md5 --do_verify=0",
            "1 16 16 1 1 16 16 16 1 1 16 16 1 1",
        ),
    ];
    for (options, lengths) in recorded {
        let sandbox = Sandbox::new();
        let shape = "--name=a --filename=vf --size=2m --bssplit=4k/50:64k/50 --write_iolog=io.log";
        sandbox.line(&format!("{shape} {options}")).expect(0, &[]);
        let log = fs::read_to_string(sandbox.path().join("io.log")).unwrap();
        let operations = log
            .lines()
            .filter(|line| line.contains(" read ") || line.contains(" write "));
        let length = |line: &str| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap() / 4096;
        let found: Vec<String> = operations.take(14).map(|line| length(line).to_string()).collect();
        assert_eq!(found.join(" "), lengths, "{options}");
    }
}
