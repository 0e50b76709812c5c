//! A pipe for moving data with `splice` and `vmsplice`.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::error::EngineError;

/// Both ends of a pipe, which is empty between calls unless a call failed.
#[derive(Debug)]
pub(crate) struct Pipe {
    read_end: OwnedFd,
    write_end: OwnedFd,
}

/// Bytes moved, or a negative error number.
type TransferResult = Result<usize, i64>;

fn into_moved(result: isize) -> TransferResult {
    usize::try_from(result).map_err(|_| -i64::from(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)))
}

impl Pipe {
    pub(crate) fn new() -> Result<Pipe, EngineError> {
        let mut ends = [0; 2];
        // SAFETY: the call writes two descriptors behind the pointer, which is live.
        if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
            return Err(EngineError::last_os_error("pipe2"));
        }
        // SAFETY: the call has succeeded, so both are open descriptors, and not shared yet.
        let [read_end, write_end] = ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) });
        Ok(Pipe { read_end, write_end })
    }

    /// Moves data from a position of a file into the buffer, through the pipe. Returns bytes, or a
    /// negative error number.
    pub(crate) fn read_from(&self, file: &fs::File, buffer: &mut [u8], offset: u64) -> i64 {
        let mut done = 0;
        while done < buffer.len() {
            let wanted = buffer.len() - done;
            let mut at = (offset + done as u64) as i64;
            // SAFETY: the descriptors are open, and the position is a live number that the call may
            // change.
            let entered = into_moved(unsafe {
                libc::splice(
                    file.as_raw_fd(),
                    &mut at,
                    self.write_end.as_raw_fd(),
                    std::ptr::null_mut(),
                    wanted,
                    libc::SPLICE_F_MOVE,
                )
            });
            let end = match entered {
                // The end of the file.
                Ok(0) => return done as i64,
                Ok(entered) => done + entered,
                Err(error) => return error,
            };
            while done < end {
                match rustix::io::read(&self.read_end, &mut buffer[done..end]) {
                    Ok(bytes) => done += bytes,
                    Err(error) => return -i64::from(error.raw_os_error()),
                }
            }
        }
        done as i64
    }

    /// Moves the buffer to a position of a file, through the pipe. Returns bytes, or a negative
    /// error number. The pipe refers to the buffer's memory until the file has consumed it, before
    /// this function returns. After an error it may refer to it until the pipe is closed.
    pub(crate) fn write_to(&self, file: &fs::File, buffer: &[u8], offset: u64) -> i64 {
        let mut done = 0;
        while done < buffer.len() {
            let rest = &buffer[done..];
            let iovec = libc::iovec {
                iov_base: rest.as_ptr().cast_mut().cast(),
                iov_len: rest.len(),
            };
            // SAFETY: the one part is in `rest`, which is only read through it.
            let entered =
                into_moved(unsafe { libc::vmsplice(self.write_end.as_raw_fd(), &iovec, 1, libc::SPLICE_F_NONBLOCK) });
            let end = match entered {
                Ok(entered) => done + entered,
                Err(error) => return error,
            };
            while done < end {
                let mut at = (offset + done as u64) as i64;
                // SAFETY: the descriptors are open, and the position is a live number that the call
                // may change.
                let remaining = into_moved(unsafe {
                    libc::splice(
                        self.read_end.as_raw_fd(),
                        std::ptr::null_mut(),
                        file.as_raw_fd(),
                        &mut at,
                        end - done,
                        0,
                    )
                });
                match remaining {
                    Ok(0) => return -i64::from(libc::EIO),
                    Ok(bytes) => done += bytes,
                    Err(error) => return error,
                }
            }
        }
        done as i64
    }
}
