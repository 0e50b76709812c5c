//! Scatter/gather I/O: one call for several buffers and one range of a file.

use std::fs;
use std::io;
use std::os::fd::AsRawFd;

/// The I/O vector, allocated once.
#[derive(Debug)]
pub(crate) struct Vectors(Vec<libc::iovec>);

/// The buffers of one call.
#[derive(Debug)]
pub(crate) struct VectoredCall<'a>(&'a mut Vec<libc::iovec>);

impl Vectors {
    /// The kernel's limit of buffers in a call (`IOV_MAX`).
    pub(crate) const MAX_BUFFERS: usize = 1024;

    /// Room for `capacity` buffers.
    pub(crate) fn new(capacity: usize) -> Vectors {
        Vectors(Vec::with_capacity(capacity.min(Self::MAX_BUFFERS)))
    }

    /// Clears the vector for the next call.
    pub(crate) fn start_call(&mut self) -> VectoredCall<'_> {
        self.0.clear();
        VectoredCall(&mut self.0)
    }
}

impl VectoredCall<'_> {
    /// Appends a buffer.
    ///
    /// # Safety
    /// The buffer must not move or be accessed until the call returns or `self` is dropped.
    pub(crate) unsafe fn add(&mut self, buffer: &mut [u8]) {
        self.0.push(libc::iovec {
            iov_base: buffer.as_mut_ptr().cast(),
            iov_len: buffer.len(),
        });
    }

    /// Reads into all buffers. Returns bytes, or a negative error number.
    pub(crate) fn read_at(self, file: &fs::File, offset: u64) -> i64 {
        let (fd, count) = (file.as_raw_fd(), self.0.len() as libc::c_int);
        // SAFETY: the caller of `add` promises that the buffers are valid and untouched until this
        // returns.
        to_raw_result(unsafe { libc::preadv(fd, self.0.as_ptr(), count, offset as i64) })
    }

    /// Writes all buffers. Returns bytes, or a negative error number.
    pub(crate) fn write_at(self, file: &fs::File, offset: u64) -> i64 {
        let (fd, count) = (file.as_raw_fd(), self.0.len() as libc::c_int);
        // SAFETY: as above; the call only reads the buffers.
        to_raw_result(unsafe { libc::pwritev(fd, self.0.as_ptr(), count, offset as i64) })
    }
}

fn to_raw_result(result: isize) -> i64 {
    match result {
        ..0 => -i64::from(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)),
        bytes => bytes as i64,
    }
}
