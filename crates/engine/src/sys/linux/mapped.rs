//! Memory maps of files, with copies that survive an I/O error. The kernel raises SIGBUS for a
//! failed page-in, which would end the process. During a copy, our handler maps a zero page over
//! the faulting one and records the fault. So the copy finishes, and the operation is reported as
//! failed. Only pages within our own maps are replaced; any other SIGBUS ends the process as usual.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::fs;
use std::io;
use std::ptr::null_mut;
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering, compiler_fence};

use rustix::mm::{MapFlags, MsyncFlags, ProtFlags, mmap, msync, munmap};

/// A shared map of a whole file.
#[derive(Debug)]
pub(crate) struct FileMap {
    file: fs::File,
    start: *mut u8,
    length: usize,
    writable: bool,
}

thread_local! {
    /// Start and end of the map that this thread is copying, and whether a page has faulted.
    static GUARDED: Cell<(usize, usize, bool)> = const { Cell::new((0, 0, false)) };
}

/// Page size, set before the first map is made. A signal handler must not query it.
static PAGE_SIZE: AtomicUsize = AtomicUsize::new(0);

fn page_size() -> usize {
    PAGE_SIZE.load(Ordering::Relaxed)
}

fn protection(writable: bool) -> ProtFlags {
    match writable {
        true => ProtFlags::READ | ProtFlags::WRITE,
        false => ProtFlags::READ,
    }
}

impl FileMap {
    /// The current size of the file.
    pub(crate) fn file_size(&self) -> Option<u64> {
        Some(self.file.metadata().ok()?.len())
    }

    /// Maps the first `length` bytes of a file.
    ///
    /// # Errors
    /// The system's error, such as `ENODEV` where the file cannot be mapped.
    pub(crate) fn new(file: &fs::File, length: usize, writable: bool) -> io::Result<FileMap> {
        static HANDLER: Once = Once::new();
        HANDLER.call_once(install_handler);
        let protection = protection(writable);
        // SAFETY: a new mapping at an address of the kernel's choice touches no existing memory.
        let start = unsafe { mmap(null_mut(), length.max(1), protection, MapFlags::SHARED, file, 0)? };
        Ok(FileMap {
            file: file.try_clone()?,
            start: start.cast(),
            length: length.max(1),
            writable,
        })
    }

    /// Advises the kernel to use huge pages.
    ///
    /// # Errors
    /// The system's error, such as `EINVAL` where it supports none.
    pub(crate) fn advise_huge_pages(&self) -> io::Result<()> {
        // SAFETY: the range is the mapping of this value; the advice changes none of its contents.
        unsafe { rustix::mm::madvise(self.start.cast(), self.length.max(1), rustix::mm::Advice::LinuxHugepage)? };
        Ok(())
    }

    /// Cache-line flushes are not supported: Linux offers them only through `MAP_SYNC`.
    ///
    /// # Errors
    /// Always.
    pub(crate) fn prepare_line_flush(&mut self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Not supported. Returns a negative error number.
    pub(crate) fn flush_lines(&self, _offset: usize, _length: usize, _drain: bool) -> i64 {
        -i64::from(super::file::NOT_SUPPORTED)
    }

    /// Copies from the map. False if a page could not be read in.
    pub(crate) fn read(&self, offset: usize, buffer: &mut [u8]) -> bool {
        self.check(offset, buffer.len());
        self.run_guarded(offset, buffer.len(), || {
            // SAFETY: the range is within the map (checked above), which lives as long as `self`.
            // Other processes may change it during the copy; the bytes are only ever treated as
            // bytes. The SIGBUS handler deals with a failed page-in.
            unsafe { std::ptr::copy_nonoverlapping(self.start.add(offset), buffer.as_mut_ptr(), buffer.len()) }
        })
    }

    /// Copies into the map. False if a page could not be read in or allocated.
    pub(crate) fn write(&mut self, offset: usize, buffer: &[u8], non_temporal: bool) -> bool {
        assert!(self.writable, "the map is read-only");
        self.check(offset, buffer.len());
        self.run_guarded(offset, buffer.len(), || {
            // SAFETY: the range is within the map (checked above), which is writable and lives as
            // long as `self`.
            let target = unsafe { self.start.add(offset) };
            if non_temporal {
                copy_non_temporal(target, buffer);
            } else {
                // SAFETY: as above; `buffer` is memory of the program's own and cannot overlap a
                // map of a file.
                unsafe { std::ptr::copy_nonoverlapping(buffer.as_ptr(), target, buffer.len()) }
            }
        })
    }

    fn check(&self, offset: usize, length: usize) {
        let end = offset.checked_add(length);
        assert!(end.is_some_and(|end| end <= self.length), "a copy beyond the map");
    }

    fn run_guarded(&self, offset: usize, length: usize, copy: impl FnOnce()) -> bool {
        GUARDED.set((self.start as usize, self.start as usize + self.length, false));
        // The fences prevent the compiler from moving the copy out of the guarded section.
        compiler_fence(Ordering::SeqCst);
        copy();
        compiler_fence(Ordering::SeqCst);
        let (_, _, faulted) = GUARDED.get();
        GUARDED.set((0, 0, false));
        if faulted {
            self.restore(offset, length);
        }
        !faulted
    }

    /// Maps the pages of a range from the file again, so that no process reads the handler's zeros
    /// as data.
    fn restore(&self, offset: usize, length: usize) {
        let first = offset - offset % page_size();
        let bytes = offset + length - first;
        let protection = protection(self.writable);
        // SAFETY: the range is within the map of this file that `self` owns; the same bytes of the
        // same file take its place. On failure the zeros stay; the caller reports the failed
        // operation.
        let _ = unsafe {
            let flags = MapFlags::SHARED | MapFlags::FIXED;
            mmap(
                self.start.add(first).cast(),
                bytes,
                protection,
                flags,
                &self.file,
                first as u64,
            )
        };
    }

    /// Same as [`FileMap::flush`] on Linux.
    pub(crate) fn flush_view(&self, offset: usize, length: usize) -> i64 {
        self.flush(offset, length)
    }

    /// Writes changed pages of a range back. Returns 0 or a negative error number.
    pub(crate) fn flush(&self, offset: usize, length: usize) -> i64 {
        let first = offset - offset % page_size();
        let end = (offset + length).min(self.length);
        if first >= end {
            return 0;
        }
        // SAFETY: the range is within the map, which lives as long as `self`; the call changes no
        // memory.
        match unsafe { msync(self.start.add(first).cast(), end - first, MsyncFlags::SYNC) } {
            Ok(()) => 0,
            Err(error) => -i64::from(error.raw_os_error()),
        }
    }
}

/// Copies with stores that bypass the cache, and fences them.
fn copy_non_temporal(target: *mut u8, buffer: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_mm_sfence, _mm_stream_si64};
        let (words, rest) = buffer.as_chunks::<8>();
        // SAFETY: the caller has checked that the target holds `buffer.len()` bytes; it is 8-byte
        // aligned because blocks are aligned to their size. SSE2 is part of every x86-64 processor.
        unsafe {
            for (index, word) in words.iter().enumerate() {
                _mm_stream_si64(target.cast::<i64>().add(index), i64::from_le_bytes(*word));
            }
            std::ptr::copy_nonoverlapping(rest.as_ptr(), target.add(words.len() * 8), rest.len());
            _mm_sfence();
        }
    }
    #[cfg(target_arch = "aarch64")]
    {
        let (pairs, rest) = buffer.as_chunks::<16>();
        // SAFETY: the caller has checked that the target holds `buffer.len()` bytes. The
        // instruction stores sixteen of them, at any alignment, and is part of every processor of
        // this kind; the barrier touches no memory.
        unsafe {
            for (index, pair) in pairs.iter().enumerate() {
                let pair = u128::from_le_bytes(*pair);
                std::arch::asm!(
                    "stnp {low}, {high}, [{at}]",
                    low = in(reg) pair as u64,
                    high = in(reg) (pair >> 64) as u64,
                    at = in(reg) target.add(index * 16),
                    options(nostack, preserves_flags),
                );
            }
            std::ptr::copy_nonoverlapping(rest.as_ptr(), target.add(pairs.len() * 16), rest.len());
            std::arch::asm!("dmb ishst", options(nostack, preserves_flags));
        }
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        // SAFETY: the caller has checked that the target holds `buffer.len()` bytes.
        unsafe { std::ptr::copy_nonoverlapping(buffer.as_ptr(), target, buffer.len()) }
    }
}

impl Drop for FileMap {
    fn drop(&mut self) {
        // SAFETY: the range was mapped by `new`, and no borrow of it can outlive `self`.
        let _ = unsafe { munmap(self.start.cast(), self.length) };
    }
}

fn install_handler() {
    PAGE_SIZE.store(super::memory::page_size() as usize, Ordering::Relaxed);
    // SAFETY: all fields of the structure are plain numbers or a handler address, for which zero is
    // valid; the handler has the signature that SA_SIGINFO asks for and calls only functions that
    // are safe in signal handlers.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_bus_error as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER;
        libc::sigemptyset(&mut action.sa_mask);
        libc::sigaction(libc::SIGBUS, &action, null_mut());
    }
}

extern "C" fn on_bus_error(signal: c_int, info: *mut libc::siginfo_t, _context: *mut c_void) {
    // SAFETY: the kernel passes a valid structure for this signal.
    let address = unsafe { (*info).si_addr() } as usize;
    let (start, end, _) = GUARDED.get();
    if address >= start && address < end {
        let length = page_size();
        let page = address - address % length;
        // SAFETY: the page is within a file map of this thread that a copy is touching; replacing
        // it by zeros lets that copy end. mmap is a plain system call.
        let replaced = unsafe {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
            libc::mmap(page as *mut c_void, length, protection, flags, -1, 0)
        };
        if replaced != libc::MAP_FAILED {
            GUARDED.set((start, end, true));
            return;
        }
    }
    // SAFETY: restores the default and lets the instruction fault again, which ends the process as
    // usual.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn non_temporal_copies_are_complete_and_in_bounds() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let bytes: Vec<u8> = (0..5001u32).map(|at| (at % 251) as u8 + 1).collect();
        for length in [1, 7, 8, 15, 16, 17, 4096, 5001] {
            let file = fs::File::options()
                .read(true)
                .write(true)
                .create(true)
                .truncate(true)
                .open(&path)
                .unwrap();
            file.set_len(8192).unwrap();
            let mut map = FileMap::new(&file, 8192, true).unwrap();
            assert!(map.write(512, &bytes[..length], true));
            assert_eq!(map.flush(512, length), 0);
            let mut expected = vec![0u8; 8192];
            expected[512..512 + length].copy_from_slice(&bytes[..length]);
            assert_eq!(fs::read(&path).unwrap(), expected, "{length} bytes");
        }
    }
}
