//! Captures of a known load on a device of the test.

use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};
use std::thread;

use dialects::native::{Document, read_job_file};
use model::access::Access;
use model::block_size::BlockSizes;
use testbed::{TmpFs, Zram};

use crate::calling::{between, spawn, wait_until};
use crate::prelude::*;
use crate::throttle::start_in_background;

/// Provides trace events of the kernel to one test at a time. A capture uses the first mounted
/// tracefs, which must stay mounted until the capture ends.
fn lock_tracefs() -> Option<(MutexGuard<'static, ()>, TmpFs)> {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    Some((turn, need(TmpFs::trace_events())?))
}

/// Starts a load that continues until it is dropped. `DEVICE` in its options is the device.
fn begin_load(device: &Path, options: &str) -> KilledOnDrop {
    let line = format!("run --time 60s --warm-up 0 -q {options}").replace("DEVICE", text(device));
    let load = start_in_background(&mut command(&split_words(&line)));
    wait_until_busy(device);
    load
}

/// Reads and writes that the kernel has counted for a device.
fn operations(device: &Path) -> u64 {
    let name = device.file_name().unwrap().to_str().unwrap();
    let stat = fs::read_to_string(format!("/sys/class/block/{name}/stat")).unwrap();
    let fields: Vec<u64> = stat
        .split_ascii_whitespace()
        .map(|field| field.parse().unwrap())
        .collect();
    fields[0] + fields[4]
}

fn wait_until_busy(device: &Path) {
    let before = operations(device);
    wait_until(30, || operations(device) >= before + 300, "the load has not begun");
}

/// Measures the kernel's lowest and highest rate in any two seconds of `run`. A busy machine does
/// less than a load asks for, and then catches up. It may also interrupt a reading of the counter,
/// which then describes any moment between `from` and `to`.
fn rates_of_two_seconds<T>(device: &Path, run: impl FnOnce() -> T) -> (T, [f64; 2]) {
    struct Reading {
        from: Instant,
        count: u64,
        to: Instant,
    }
    let is_over = AtomicBool::new(false);
    let (ran, readings) = thread::scope(|scope| {
        let sampler = scope.spawn(|| {
            let mut readings = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                readings.push(Reading {
                    from: Instant::now(),
                    count: operations(device),
                    to: Instant::now(),
                });
                thread::sleep(Duration::from_millis(10));
            }
            readings
        });
        let ran = run();
        is_over.store(true, Ordering::Relaxed);
        (ran, sampler.join().unwrap())
    });
    let rates = readings.iter().filter_map(|first| {
        let last = readings
            .iter()
            .find(|last| last.from - first.from >= Duration::from_secs(2))?;
        let count = (last.count - first.count) as f64;
        let shortest = last.from.saturating_duration_since(first.to);
        Some([
            count / (last.to - first.from).as_secs_f64(),
            count / shortest.as_secs_f64(),
        ])
    });
    let range = rates.fold([f64::INFINITY, 0.0], |[low, high], [least, most]| {
        [least.min(low), most.max(high)]
    });
    (ran, range)
}

/// Captures for two seconds. Checks that the kernel has counted the captured rate meanwhile.
fn capture(device: &Path, more: &[&str]) -> (String, Document) {
    let words = [&["capture", text(device), "--time", "2s"][..], more].concat();
    let (ran, [low, high]) = rates_of_two_seconds(device, || fathom(&words));
    ran.expect(0, &["recording the I/O of"]);
    let document = read_job_file("captured.toml", &ran.out).unwrap_or_else(|why| panic!("{why:?} of {}", ran.out));
    let (rate, _) = document.jobs[0].rate.unwrap();
    assert!(
        (0.8 * low..=1.2 * high).contains(&(rate as f64)),
        "{low} to {high} counted: {}",
        ran.out
    );
    (ran.out, document)
}

fn capture_load(device: &Path, load: &str, more: &[&str]) -> (String, Document) {
    let _load = begin_load(device, load);
    capture(device, more)
}

/// The ring of a capture.
fn ring(trace: &TmpFs, process: u32) -> PathBuf {
    trace.path().join(format!("instances/fathom-{process}"))
}

/// The load is 70 % random reads of 4 KiB with 8 in flight.
#[test]
fn a_mix_on_a_device_with_a_queue_is_captured() {
    let (_turn, _trace) = need!(lock_tracefs());
    let device = need!(loop_device(64));
    let load = "--target DEVICE --allow-destroy DEVICE --read 70 --depth 8 --rate 2000";
    let (output, document) = capture_load(device.path(), load, &[]);
    let job = &document.jobs[0];
    output.assert_contains(&["From trace events: requests as the device receives them"]);
    assert!((job.part.read_percent - 70.0).abs() < 4.0, "{output}");
    let size = Bytes::kib(4);
    assert_eq!(job.part.sizes, BlockSizes::Fixed { size }, "{output}");
    assert!(matches!(job.part.access, Access::Random { .. }), "{output}");
    assert!((1..=16).contains(&job.depth.unwrap_or(1)), "{output}");
}

/// Reads of two sizes, one at a time, on a device without a queue.
#[test]
fn depth_and_sizes_on_a_device_without_a_queue_are_captured() {
    let (_turn, _trace) = need!(lock_tracefs());
    let device = need!(Zram::with_size(64 << 20));
    let path = text(device.path());
    // Reads of blocks that were never written cost the device nothing.
    let written = fathom_line(&format!(
        "run --target {path} --allow-destroy {path} --access sequential --write 100 --block 64k --passes 1 -q"
    ));
    written.expect(0, &[]);
    let load = "--target DEVICE --block 4k/75,32k/25 --rate 3000";
    let (output, document) = capture_load(device.path(), load, &[]);
    let job = &document.jobs[0];
    assert!(output.contains("that has no queue"), "{output}");
    assert_eq!(job.part.read_percent, 100.0, "{output}");
    let BlockSizes::Split { entries } = &job.part.sizes else {
        panic!("{output}")
    };
    let of = |kib: u64| {
        let entry = entries.iter().find(|entry| entry.size == Bytes::kib(kib));
        entry.map_or(0.0, |entry| entry.percent)
    };
    assert!((of(4) - 75.0).abs() < 4.0 && (of(32) - 25.0).abs() < 4.0, "{output}");
    // The load has one operation in flight, so the device executes one after the other.
    assert_eq!(job.depth.unwrap_or(1), 1, "{output}");
}

/// The load fills the queue. The captured depth is the queue's depth, and the average is close to
/// it.
#[test]
fn the_depth_of_a_full_queue_is_captured() {
    let (_turn, _trace) = need!(lock_tracefs());
    let device = need!(loop_device(64));
    let load = "--target DEVICE --depth 16 --block 16k --engine libaio";
    let (output, document) = capture_load(device.path(), load, &[]);
    // On a busy machine events are lost: then the depth is the counters' average.
    let depth_min = if output.contains("came too fast") { 6 } else { 12 };
    let depth = document.jobs[0].depth.unwrap_or(1);
    assert!((depth_min..=16).contains(&depth), "{output}");
    let average: f64 = between(&output, "# in flight  ", " ").parse().unwrap();
    assert!((6.0..=16.0).contains(&average), "{output}");
}

/// Large sequential writes with flushes are recognised.
#[test]
fn a_stream_of_writes_with_flushes_is_captured() {
    let (_turn, _trace) = need!(lock_tracefs());
    let device = need!(loop_device(64));
    let load = "--target DEVICE --allow-destroy DEVICE --write 100 --access sequential --block 64k --rate 500 \
                --flush-every 5";
    let (output, document) = capture_load(device.path(), load, &[]);
    let job = &document.jobs[0];
    assert_eq!(job.part.read_percent, 0.0, "{output}");
    assert!(matches!(job.part.access, Access::Sequential(_)), "{output}");
    let size = Bytes::kib(64);
    assert_eq!(job.part.sizes, BlockSizes::Fixed { size }, "{output}");
    assert!((4..=6).contains(&job.flush_every), "{output}");
}

#[test]
fn counters_give_means_with_a_caveat() {
    let device = need!(loop_device(64));
    let load = "--target DEVICE --allow-destroy DEVICE --read 50 --block 8k --rate 1000 --depth 4";
    let (output, document) = capture_load(device.path(), load, &["--counters"]);
    let job = &document.jobs[0];
    output.assert_contains(&["are assumed to be random because their", "order is unknown (--counters"]);
    assert!((job.part.read_percent - 50.0).abs() < 6.0, "{output}");
    let size = Bytes::kib(8);
    assert_eq!(job.part.sizes, BlockSizes::Fixed { size }, "{output}");
}

/// ^C ends the capture: the file is written and the ring is gone.
#[test]
fn an_interrupt_leaves_a_file_and_no_ring() {
    let (_turn, trace) = need!(lock_tracefs());
    let device = need!(loop_device(64));
    let folder = folder();
    let out = folder.path().join("job.toml");
    let path = text(device.path());
    let load = begin_load(device.path(), "--target DEVICE --rate 1000");
    let words = ["capture", path, "--time", "10m", "--out", text(&out)];
    let capture = spawn(&mut command(&words));
    let ring = ring(&trace, capture.id());
    wait_until(30, || ring.exists(), "the capture has no ring");
    thread::sleep(Duration::from_millis(500));
    signal(&capture, "INT");
    end(capture).expect(130, &["written to", "--target TARGET"]);
    drop(load);
    assert!(!ring.exists());
    let written = read_job_file("job.toml", &fs::read_to_string(&out).unwrap()).unwrap();
    assert_eq!(written.jobs[0].part.read_percent, 100.0);
    fathom(&["run", text(&out), "--target", path, "--dry-run"]).expect(0, &["nothing was opened for writing"]);
}

#[test]
fn targets_that_cannot_be_captured_are_reported() {
    fathom(&["capture", "/nowhere"]).expect(3, &["cannot look at /nowhere", "check the spelling"]);
    fathom(&["capture", "/dev/null"]).expect(3, &["cannot find a block device under /dev/null", "fathom targets"]);
    fathom(&["capture", "/", "--time", "0s"]).expect(4, &["the time must be above 0"]);
    let device = need!(loop_device(1));
    let path = text(device.path());
    let idle = fathom(&["capture", path, "--time", "200ms", "-q"]);
    idle.expect(2, &["received no I/O", "capture while the application runs"]);
    let onto = fathom_line(&format!("capture {path} --time 200ms --out {path}"));
    onto.expect(3, &["cannot write a report to", "a block device"]);
}
