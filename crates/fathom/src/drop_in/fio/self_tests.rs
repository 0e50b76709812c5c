//! `--crctest`, `--memcpytest` and `--cpuclock-test`: measure the speed of checksums and copies,
//! and compare the clocks of the processors. No file is touched.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use engine::Clock;
use engine::sys::thread::{pin_to, usable_cpus};
use model::Nanos;
use model::plan::VerifyMethod;

use super::FAILED;
use super::output::Output;

/// How long each checksum is measured.
const CHECKSUM_TIME: Duration = Duration::from_millis(200);
/// How long each copy is measured.
const COPY_TIME: Duration = Duration::from_millis(20);
/// Bytes that each checksum covers.
const CHECKSUM_BYTES: usize = 128 << 10;

/// The checksums of verification, in fio's order.
#[rustfmt::skip]
const CHECKSUMS: &[(&str, VerifyMethod)] = &[
    ("md5", VerifyMethod::Md5), ("crc64", VerifyMethod::Crc64), ("crc32", VerifyMethod::Crc32),
    ("crc32c", VerifyMethod::Crc32c), ("crc16", VerifyMethod::Crc16), ("crc7", VerifyMethod::Crc7),
    ("sha1", VerifyMethod::Sha1), ("sha256", VerifyMethod::Sha256), ("sha512", VerifyMethod::Sha512),
    ("xxhash", VerifyMethod::Xxhash), ("sha3-224", VerifyMethod::Sha3_224), ("sha3-256", VerifyMethod::Sha3_256),
    ("sha3-384", VerifyMethod::Sha3_384), ("sha3-512", VerifyMethod::Sha3_512),
];

/// Copies bytes from the first half of a buffer to the second: `copy(buffer, position, length)`.
type Copy = fn(&mut [u8], usize, usize);

const COPIES: &[(&str, Copy)] = &[
    ("memcpy", |buffer, at, size| {
        let (from, to) = buffer.split_at_mut(COPY_BYTES);
        to[at..][..size].copy_from_slice(&from[at..][..size]);
    }),
    ("memmove", |buffer, at, size| {
        buffer.copy_within(at..at + size, COPY_BYTES + at)
    }),
    ("simple", |buffer, at, size| {
        let (from, to) = buffer.split_at_mut(COPY_BYTES);
        let bytes = to[at..][..size].iter_mut().zip(&from[at..][..size]);
        // Prevents the compiler from using memcpy.
        bytes.for_each(|(to, from)| *to = black_box(*from));
    }),
    ("hybrid", |buffer, at, size| {
        let (from, to) = buffer.split_at_mut(COPY_BYTES);
        let words = to[at..][..size].as_chunks_mut::<8>().0;
        let words = words.iter_mut().zip(from[at..][..size].as_chunks::<8>().0);
        words.for_each(|(to, from)| *to = black_box(*from));
    }),
];

/// Size of the copied area, larger than the processor's caches.
const COPY_BYTES: usize = 32 << 20;
const COPY_SIZES: [usize; 11] = [8, 16, 96, 128, 256, 512, 2048, 8192, 131_072, 262_144, 524_288];

/// Runs `--crctest`.
pub(super) fn test_checksums(types: &str, output: &mut Output) -> u8 {
    let Some(chosen) = choose(CHECKSUMS, types, output) else {
        return FAILED;
    };
    let data: Vec<u8> = (0..CHECKSUM_BYTES).map(|place| (place * 31 % 251) as u8).collect();
    for (name, method) in chosen {
        let speed = measure_speed(CHECKSUM_BYTES, CHECKSUM_TIME, || {
            run::compute_checksum(*method, black_box(&data))
        });
        let tabs = if name.len() < 7 { "\t\t" } else { "\t" };
        output.print_line(&format!("{name}:{tabs}{speed:8.2} MiB/sec"));
    }
    0
}

/// Runs `--memcpytest`.
pub(super) fn test_copies(types: &str, output: &mut Output) -> u8 {
    let Some(chosen) = choose(COPIES, types, output) else {
        return FAILED;
    };
    let mut buffer = vec![1; 2 * COPY_BYTES];
    for (name, copy) in chosen {
        output.print_line(name);
        for size in COPY_SIZES {
            let mut at = 0;
            let speed = measure_speed(size, COPY_TIME, || {
                copy(black_box(&mut buffer), at, size);
                at = if at + 2 * size <= COPY_BYTES { at + size } else { 0 };
            });
            output.print_line(&format!("\t{size} bytes:\t{speed:8.2} MiB/sec"));
        }
    }
    0
}

/// Chooses the rows of a comma-separated list, or all. An unknown name is an error.
fn choose<'a, T>(rows: &'a [(&str, T)], types: &str, output: &mut Output) -> Option<Vec<&'a (&'a str, T)>> {
    let names = types.split(',').map(str::trim).filter(|name| !name.is_empty());
    let chosen = names.map(|name| rows.iter().find(|(known, _)| *known == name).ok_or(name));
    match chosen.collect::<Result<Vec<_>, _>>() {
        Ok(chosen) if chosen.is_empty() => Some(rows.iter().collect()),
        Ok(chosen) => Some(chosen),
        Err(unknown) => {
            output.print_problem(&format!("fio: unknown hash `{unknown}`. Available:"));
            rows.iter().for_each(|(name, _)| output.print_line(name));
            None
        }
    }
}

/// Measures the MiB per second of a function that processes `bytes` in each call.
fn measure_speed(bytes: usize, length: Duration, mut once: impl FnMut()) -> f64 {
    /// Bytes between two readings of the clock.
    const BATCH: usize = 1 << 20;
    let batch = BATCH.div_ceil(bytes);
    once();
    let begun = Instant::now();
    let mut count = 0;
    while begun.elapsed() < length {
        (0..batch).for_each(|_| once());
        count += batch;
    }
    (count * bytes) as f64 / f64::from(1 << 20) / begun.elapsed().as_secs_f64()
}

/// Runs `--cpuclock-test`: each processor and the first one read the clock alternately. A reading
/// must not be less than the previous one.
pub(super) fn test_clocks(clock: Clock, output: &mut Output) -> u8 {
    let cpus = usable_cpus();
    let is_counter = clock.describe().frequency_hz > 0;
    output.print_line(&format!("cs: reliable_tsc: {}", if is_counter { "yes" } else { "no" }));
    output.print_line(&format!("cs: Testing {} CPUs", cpus.len()));
    let mut failed = 0;
    for cpu in cpus.iter().skip(1) {
        match read_alternately(clock, [cpus[0], *cpu]) {
            Ok((turns, behind)) => {
                output.print_line(&format!("cs: cpu {cpu:2}: {turns} clocks seen"));
                if let Some(max_behind) = behind.iter().max() {
                    let count = behind.len();
                    output.print_line(&format!(
                        "cs: CPU clock mismatch: {count} times, at most {} ns",
                        max_behind.0
                    ));
                }
                failed += behind.len();
            }
            Err(error) => {
                output.print_problem(&format!("fio: cannot bind a thread to CPU {cpu}: {error}"));
                return FAILED;
            }
        }
    }
    match failed {
        0 => output.print_line("cs: Pass!"),
        _ => output.print_line(&format!("cs: Failed: {failed}")),
    }
    u8::from(failed > 0)
}

/// Reads the clock alternately on two processors. Returns the number of readings, and by how much
/// some went back.
fn read_alternately(clock: Clock, cpus: [u32; 2]) -> std::io::Result<(u64, Vec<Nanos>)> {
    const TIME: Nanos = Nanos::millis(100);
    /// The turn number that ends the test.
    const END: u64 = u64::MAX;
    // The first thread has the even turns.
    let turn = AtomicU64::new(0);
    let (last, count) = (AtomicU64::new(0), AtomicU64::new(0));
    let end = clock.now() + TIME;
    let read = |place: u64| {
        let bound = pin_to(&[cpus[place as usize]]);
        let mut behind = Vec::new();
        loop {
            let number = turn.load(Ordering::Acquire);
            if number == END {
                return bound.map(|()| behind);
            }
            if bound.is_err() {
                turn.store(END, Ordering::Release);
            } else if number % 2 != place {
                std::hint::spin_loop();
                if clock.now() > end {
                    // The other thread might not be running.
                    std::thread::yield_now();
                }
            } else {
                let (now, before) = (clock.now_in_order(), Nanos(last.load(Ordering::Relaxed)));
                if now < before {
                    behind.push(before - now);
                }
                last.store(now.0, Ordering::Relaxed);
                count.store(number + 1, Ordering::Relaxed);
                turn.store(if now > end { END } else { number + 1 }, Ordering::Release);
            }
        }
    };
    let (first, second) = std::thread::scope(|scope| {
        let second = scope.spawn(|| read(1));
        let first = scope.spawn(|| read(0)).join().expect("the thread does not panic");
        (first, second.join().expect("it does not panic"))
    });
    let behind = [first?, second?].concat();
    Ok((count.load(Ordering::Relaxed), behind))
}
