//! Engines that are dropped with operations in flight, and operations that fail one by one.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use engine::Access;
use model::Nanos;
use model::plan::EngineKind;
use testbed::{FaultFs, Footprint, in_own_process, need};

use crate::driver::{BLOCK, Job, Rig, real_engines};
use crate::test_targets::{Target, TargetKind, open};

/// Drops of each of the two engines that keep operations in flight: 10,000 in all with `FATHOM_CI`,
/// otherwise only enough to notice a leak, because the kernel takes milliseconds to destroy a ring.
fn drops() -> u64 {
    match std::env::var_os("FATHOM_CI") {
        Some(_) => 5000,
        None => 500,
    }
}

const SLOTS: u32 = 32;
const SIZE: u64 = 8 << 20;

#[test]
fn ten_thousand_drops_with_operations_in_flight_leave_nothing() {
    // What other tests hold at the same time would be counted too.
    in_own_process(
        "endings::ten_thousand_drops_with_operations_in_flight_leave_nothing",
        || {
            let target = need!(TargetKind::DiskDirect.make(SIZE));
            target.write(0, &vec![1; SIZE as usize]);
            for kind in [EngineKind::IoUring, EngineKind::Libaio] {
                // The first rounds warm up the allocator and the kernel's caches.
                drop_with_operations_in_flight(kind, &target, 100);
                let before = settled();
                let caught = drop_with_operations_in_flight(kind, &target, drops());
                let after = settled();
                let name = kind.name();
                // On a busy machine many operations have completed before they are dropped.
                assert!(caught > drops() / 2, "{name}: in flight in {caught} of {}", drops());
                assert_eq!(after.descriptors, before.descriptors, "{name}");
                assert!(after.mappings <= before.mappings + 4, "{name}: {before:?} {after:?}");
                assert!(
                    after.resident_bytes <= before.resident_bytes + (2 << 20),
                    "{name}: {before:?} {after:?}"
                );
            }
        },
    );
}

/// Drops an engine in each round; returns in how many rounds operations were in flight. Threads
/// share the rounds because each mostly waits for the kernel to close a ring.
fn drop_with_operations_in_flight(kind: EngineKind, target: &Target, rounds: u64) -> u64 {
    let caught = AtomicU64::new(0);
    let next = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                loop {
                    let round = next.fetch_add(1, Ordering::Relaxed);
                    if round >= rounds {
                        break;
                    }
                    let mut rig = Rig::new(kind, vec![target.open(kind)], SLOTS);
                    let request = |slot: u32| {
                        let block = (round * 7 + u64::from(slot) * 13) % (SIZE / u64::from(BLOCK));
                        let offset = block * u64::from(BLOCK);
                        // With reads, the device would write into buffers that are already freed.
                        let job = if slot % 4 == 3 {
                            Job::write(offset)
                        } else {
                            Job::read(offset)
                        };
                        job.in_slot(slot)
                    };
                    let requests: Vec<_> = (0..8).map(request).collect();
                    rig.turn(&requests, 0, Nanos::NEVER);
                    caught.fetch_add(u64::from(rig.in_flight() > 0), Ordering::Relaxed);
                    drop(rig);
                    if round.is_multiple_of(50) {
                        a_dropped_engine_writes_no_longer_into_memory();
                    }
                }
            });
        }
    });
    caught.into_inner()
}

/// Memory allocated right after a drop most likely belonged to the buffers, and must not change.
fn a_dropped_engine_writes_no_longer_into_memory() {
    let memory = vec![0xa5u8; SLOTS as usize * BLOCK as usize + 4096];
    std::thread::sleep(Duration::from_micros(500));
    assert!(
        memory.iter().all(|byte| *byte == 0xa5),
        "a dropped engine still wrote into memory"
    );
}

/// The kernel destroys rings shortly after their descriptor is closed.
fn settled() -> Footprint {
    std::thread::sleep(Duration::from_millis(200));
    Footprint::now()
}

#[test]
fn any_failed_operation_is_reported_and_the_others_complete() {
    const OPERATIONS: u64 = 24;
    let faulty = need!(FaultFs::with_size(OPERATIONS * u64::from(BLOCK)));
    let jobs: Vec<Job> = (0..OPERATIONS)
        .map(|block| Job::read(block * u64::from(BLOCK)))
        .collect();
    for kind in real_engines().filter(|kind| *kind != EngineKind::Mmap) {
        for direct in [false, true] {
            // The last round has no fault.
            for nth in 0..=OPERATIONS {
                let offset = nth * u64::from(BLOCK);
                faulty.clear();
                if nth < OPERATIONS {
                    faulty.fail_reads(offset..offset + u64::from(BLOCK), libc::EIO);
                }
                let file = open(faulty.file(), kind, direct, Access::Read);
                // Pages read in an earlier round would hide the fault.
                engine::sys::file::drop_cache(file.handle().unwrap());
                let mut rig = Rig::new(kind, vec![file], 6);
                let done = rig.run(&jobs, |_, _| {});
                assert_eq!(done.len(), jobs.len());
                let failed: Vec<u64> = done
                    .iter()
                    .filter(|done| done.result < 0)
                    .map(|done| done.job.offset)
                    .collect();
                let name = format!("{}, direct {direct}, operation {nth}", kind.name());
                if direct {
                    let expected: Vec<u64> = (nth < OPERATIONS).then_some(offset).into_iter().collect();
                    assert_eq!(failed, expected, "{name}");
                } else {
                    // After a failed request, read-ahead makes the kernel request one of its pages
                    // again, alone.
                    assert_eq!(failed.contains(&offset), nth < OPERATIONS, "{name}: {failed:?}");
                    assert!(failed.len() <= 1, "{name}: {failed:?}");
                }
                assert!(
                    done.iter()
                        .all(|done| [-i64::from(libc::EIO), i64::from(BLOCK)].contains(&done.result)),
                    "{name}"
                );
            }
        }
    }
}
