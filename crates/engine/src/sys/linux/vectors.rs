//! Several buffers that are filled from, or written to, one stretch of a file by one call.

use std::fs;
use std::io;
use std::os::fd::AsRawFd;

/// Room for the buffers of a call, allocated once.
#[derive(Debug)]
pub(crate) struct Vectors(Vec<libc::iovec>);

/// The buffers of one call.
#[derive(Debug)]
pub(crate) struct Parts<'a>(&'a mut Vec<libc::iovec>);

impl Vectors {
    /// The kernel takes no more than this many buffers in a call (`IOV_MAX`).
    pub(crate) const MAX_BUFFERS: usize = 1024;

    /// Room for that many.
    pub(crate) fn new(most: usize) -> Vectors {
        Vectors(Vec::with_capacity(most.min(Self::MAX_BUFFERS)))
    }

    /// Begins another call.
    pub(crate) fn fill(&mut self) -> Parts<'_> {
        self.0.clear();
        Parts(&mut self.0)
    }
}

impl Parts<'_> {
    /// Adds a buffer behind the others.
    ///
    /// # Safety
    /// The buffer stays where it is, and nothing else touches it, until the call was made or `self`
    /// is gone.
    pub(crate) unsafe fn add(&mut self, buffer: &mut [u8]) {
        self.0.push(libc::iovec {
            iov_base: buffer.as_mut_ptr().cast(),
            iov_len: buffer.len(),
        });
    }

    /// Reads into all of them. Returns bytes, or a negative error number.
    pub(crate) fn read_at(self, file: &fs::File, offset: u64) -> i64 {
        let (fd, count) = (file.as_raw_fd(), self.0.len() as libc::c_int);
        // SAFETY: the caller that added the buffers has promised that they are there and untouched
        // until this has returned.
        result_of(unsafe { libc::preadv(fd, self.0.as_ptr(), count, offset as i64) })
    }

    /// Writes all of them. Returns bytes, or a negative error number.
    pub(crate) fn write_at(self, file: &fs::File, offset: u64) -> i64 {
        let (fd, count) = (file.as_raw_fd(), self.0.len() as libc::c_int);
        // SAFETY: as above; the call only reads the buffers.
        result_of(unsafe { libc::pwritev(fd, self.0.as_ptr(), count, offset as i64) })
    }
}

fn result_of(result: isize) -> i64 {
    match result {
        ..0 => -i64::from(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)),
        bytes => bytes as i64,
    }
}
