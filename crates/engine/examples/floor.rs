//! The cheapest loop that can issue random reads of 4 KiB, without any statistics: the floor of CPU
//! time per operation.
//!
//! `floor FILE BYTES psync|io_uring buffered|direct DEPTH BATCH END`, where END is `4s` or a number
//! of operations. `psync` is a bare `pread`; `io_uring` has a registered file, submits at most
//! BATCH reads in a call, and waits for one completion when no slot is free. It prints the
//! operations and the seconds they took as JSON. It uses the `io-uring` crate, so it shares no code
//! with the engine that is compared with it.

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, bytes, engine, cache, depth, batch, end] = arguments.as_slice() else {
        return Err("floor FILE BYTES psync|io_uring buffered|direct DEPTH BATCH END".into());
    };
    let mut reads = linux::Reads::open(file, bytes.parse()?, cache == "direct", end)?;
    let started = std::time::Instant::now();
    let operations = match engine.as_str() {
        "psync" => reads.one_by_one()?,
        "io_uring" => reads.through_ring(depth.parse()?, batch.parse()?)?,
        other => return Err(format!("`{other}` is neither psync nor io_uring").into()),
    };
    let seconds = started.elapsed().as_secs_f64();
    println!("{{\"operations\": {operations}, \"seconds\": {seconds}}}");
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::File;
    use std::io;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::{FileExt, OpenOptionsExt};
    use std::time::{Duration, Instant};

    use io_uring::{IoUring, opcode, types};

    const BLOCK: usize = 4096;
    /// Operations between two looks at the clock.
    const CLOCK_INTERVAL: u64 = 256;

    /// A buffer that direct I/O accepts.
    #[repr(C, align(4096))]
    #[derive(Clone)]
    struct Buffer([u8; BLOCK]);

    enum End {
        At(Instant),
        After(u64),
    }

    pub(super) struct Reads {
        file: File,
        blocks: u64,
        state: u64,
        end: End,
    }

    impl Reads {
        pub(super) fn open(
            path: &str,
            bytes: u64,
            direct: bool,
            end: &str,
        ) -> Result<Reads, Box<dyn std::error::Error>> {
            let flags = if direct { libc::O_DIRECT } else { 0 };
            let end = match end.strip_suffix('s') {
                Some(seconds) => End::At(Instant::now() + Duration::from_secs_f64(seconds.parse()?)),
                None => End::After(end.parse()?),
            };
            Ok(Reads {
                file: File::options().read(true).custom_flags(flags).open(path)?,
                blocks: (bytes / BLOCK as u64).max(1),
                state: 0x9E37_79B9_7F4A_7C15,
                end,
            })
        }

        /// Draws the next position: xorshift64, scaled to the blocks of the file.
        fn next_offset(&mut self) -> u64 {
            self.state ^= self.state << 13;
            self.state ^= self.state >> 7;
            self.state ^= self.state << 17;
            let block = (u128::from(self.state) * u128::from(self.blocks)) >> 64;
            block as u64 * BLOCK as u64
        }

        fn is_over(&self, operations: u64) -> bool {
            match self.end {
                End::After(last) => operations >= last,
                End::At(time) => operations.is_multiple_of(CLOCK_INTERVAL) && Instant::now() >= time,
            }
        }

        pub(super) fn one_by_one(&mut self) -> io::Result<u64> {
            let mut buffer = Buffer([0; BLOCK]);
            let mut operations = 0;
            while !self.is_over(operations) {
                let offset = self.next_offset();
                self.file.read_exact_at(&mut buffer.0, offset)?;
                operations += 1;
            }
            Ok(operations)
        }

        pub(super) fn through_ring(&mut self, depth: usize, batch: u64) -> io::Result<u64> {
            let mut buffers = vec![Buffer([0; BLOCK]); depth];
            let mut ring = IoUring::new(depth.next_power_of_two() as u32)?;
            ring.submitter().register_files(&[self.file.as_raw_fd()])?;
            let mut free: Vec<usize> = (0..depth).collect();
            let (mut begun, mut done, mut over) = (0, 0, false);
            while !over || begun > done {
                let room = begun + batch;
                while !over
                    && begun < room
                    && let Some(slot) = free.pop()
                {
                    let buffer = buffers[slot].0.as_mut_ptr();
                    let read = opcode::Read::new(types::Fixed(0), buffer, BLOCK as u32)
                        .offset(self.next_offset())
                        .build()
                        .user_data(slot as u64);
                    // SAFETY: the buffer outlives the operation: the loop ends only when none is in
                    // flight, and only a slot that is free is used.
                    unsafe { ring.submission().push(&read) }.map_err(io::Error::other)?;
                    begun += 1;
                    over = self.is_over(begun);
                }
                ring.submit_and_wait(usize::from(free.is_empty() || over))?;
                for completion in ring.completion() {
                    if completion.result() != BLOCK as i32 {
                        return Err(io::Error::other(format!("a read gave {}", completion.result())));
                    }
                    free.push(completion.user_data() as usize);
                    done += 1;
                }
            }
            Ok(done)
        }
    }
}
