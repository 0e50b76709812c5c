//! Memory maps of files, with copies that survive an I/O error. The system raises an exception for
//! a failed page-in, which would end the process. Our handler aborts the copy instead, and the
//! operation is reported as failed. It handles only exceptions of our copy code, which it
//! recognises by instruction address.

use std::ffi::c_void;
use std::fs;
use std::io;
use std::os::windows::io::AsRawHandle;
use std::ptr::null;

use windows_sys::Win32::Foundation::{CloseHandle, HANDLE, RtlNtStatusToDosError};
use windows_sys::Win32::Storage::FileSystem::FlushFileBuffers;
use windows_sys::Win32::System::Memory::{
    CreateFileMappingW, FILE_MAP_READ, FILE_MAP_WRITE, FlushViewOfFile, MEMORY_MAPPED_VIEW_ADDRESS, MapViewOfFile,
    PAGE_READONLY, PAGE_READWRITE, UnmapViewOfFile,
};

use super::library;
use super::overlapped::last_error;

/// A map of a whole file.
#[derive(Debug)]
pub(crate) struct FileMap {
    file: fs::File,
    /// The section object of the view.
    section: HANDLE,
    start: *mut u8,
    length: usize,
    writable: bool,
    line_flush: Option<CacheLineFlush>,
}

/// ntdll functions that flush cache lines of persistent memory, with their token.
#[derive(Clone, Copy, Debug)]
struct CacheLineFlush {
    token: *mut c_void,
    flush: unsafe extern "system" fn(*mut c_void, *const c_void, usize, u32) -> i32,
    free: unsafe extern "system" fn(*mut c_void) -> i32,
}

impl FileMap {
    /// The current size of the file.
    pub(crate) fn file_size(&self) -> Option<u64> {
        Some(self.file.metadata().ok()?.len())
    }

    /// Maps the first `length` bytes of a file.
    ///
    /// # Errors
    /// The system's error.
    pub(crate) fn new(file: &fs::File, length: usize, writable: bool) -> io::Result<FileMap> {
        fault_safe_copy::install_handler();
        let (protection, access) = match writable {
            true => (PAGE_READWRITE, FILE_MAP_READ | FILE_MAP_WRITE),
            false => (PAGE_READONLY, FILE_MAP_READ),
        };
        let file = file.try_clone()?;
        let length = length.max(1);
        let (high, low) = ((length as u64 >> 32) as u32, length as u32);
        // SAFETY: the handle belongs to a live file; neither security nor a name is given.
        let section = unsafe { CreateFileMappingW(file.as_raw_handle(), null(), protection, high, low, null()) };
        if section.is_null() {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a new view at an address of the system's choice touches no existing memory.
        let view = unsafe { MapViewOfFile(section, access, 0, 0, length) };
        if view.Value.is_null() {
            let error = io::Error::last_os_error();
            // SAFETY: the section was made above and is closed once.
            unsafe { CloseHandle(section) };
            return Err(error);
        }
        Ok(FileMap {
            file,
            section,
            start: view.Value.cast(),
            length,
            writable,
            line_flush: None,
        })
    }

    /// Windows has no huge pages for file maps.
    ///
    /// # Errors
    /// Always.
    pub(crate) fn advise_huge_pages(&self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Prepares cache-line flushes, if the file is in persistent memory.
    ///
    /// # Errors
    /// The system's error if it is not; `Unsupported` if the system has no support for it.
    pub(crate) fn prepare_line_flush(&mut self) -> io::Result<()> {
        type Get = unsafe extern "system" fn(*const c_void, usize, *mut *mut c_void) -> i32;
        let missing = io::ErrorKind::Unsupported;
        // SAFETY: these are the documented types of the functions.
        let (get, free, flush) = unsafe {
            (
                library::function::<Get>("ntdll.dll", c"RtlGetNonVolatileToken").ok_or(missing)?,
                library::function("ntdll.dll", c"RtlFreeNonVolatileToken").ok_or(missing)?,
                library::function("ntdll.dll", c"RtlFlushNonVolatileMemory").ok_or(missing)?,
            )
        };
        let mut token = std::ptr::null_mut();
        // SAFETY: the range is the view, which is live, and the call writes one live pointer.
        match unsafe { get(self.start.cast(), self.length, &mut token) } {
            0.. => {
                self.line_flush = Some(CacheLineFlush { token, flush, free });
                Ok(())
            }
            status => Err(io::Error::from_raw_os_error(status_to_error(status) as i32)),
        }
    }

    /// Copies from the map. False if a page could not be read in.
    pub(crate) fn read(&self, offset: usize, buffer: &mut [u8]) -> bool {
        self.check(offset, buffer.len());
        // SAFETY: the range is within the map (checked above), which lives as long as `self`.
        // Other processes may change it during the copy; the bytes are only ever treated as bytes.
        // A failed page-in ends the copy.
        unsafe { fault_safe_copy::copy(buffer.as_mut_ptr(), self.start.add(offset), buffer.len(), false) }
    }

    /// Copies into the map. False if a page could not be read in or allocated.
    pub(crate) fn write(&mut self, offset: usize, buffer: &[u8], non_temporal: bool) -> bool {
        assert!(self.writable, "the map is read-only");
        self.check(offset, buffer.len());
        // SAFETY: the range is within the map (checked above), which is writable and lives as
        // long as `self`; `buffer` is memory of the program's own and cannot overlap it. A failed
        // page-in ends the copy.
        unsafe { fault_safe_copy::copy(self.start.add(offset), buffer.as_ptr(), buffer.len(), non_temporal) }
    }

    fn check(&self, offset: usize, length: usize) {
        let end = offset.checked_add(length);
        assert!(end.is_some_and(|end| end <= self.length), "a copy beyond the map");
    }

    /// Writes changed pages of a range to the device, possibly only to its cache. Returns 0 or a
    /// negative error number.
    pub(crate) fn flush_view(&self, offset: usize, length: usize) -> i64 {
        let length = length.min(self.length.saturating_sub(offset));
        // A length of zero would mean everything.
        if length == 0 {
            return 0;
        }
        // SAFETY: the range is within the map, which lives as long as `self`; the call changes no
        // memory.
        match unsafe { FlushViewOfFile(self.start.add(offset).cast(), length) } {
            0 => -i64::from(last_error()),
            _ => 0,
        }
    }

    /// Writes changed pages of a range back, and flushes the device's cache. Returns 0 or a
    /// negative error number.
    pub(crate) fn flush(&self, offset: usize, length: usize) -> i64 {
        let flushed = self.flush_view(offset, length);
        if flushed < 0 || !self.writable {
            return flushed;
        }
        // SAFETY: the handle belongs to a live file.
        match unsafe { FlushFileBuffers(self.file.as_raw_handle()) } {
            0 => -i64::from(last_error()),
            _ => 0,
        }
    }

    /// Flushes cache lines of a range to persistent memory; with `drain`, waits for them. Returns 0
    /// or a negative error number.
    pub(crate) fn flush_lines(&self, offset: usize, length: usize, drain: bool) -> i64 {
        const NO_DRAIN: u32 = 1;
        self.check(offset, length);
        let Some(line_flush) = self.line_flush else {
            return -i64::from(super::file::NOT_SUPPORTED);
        };
        // SAFETY: the token belongs to this view, and the range is within it (checked above).
        let status = unsafe {
            let flags = if drain { 0 } else { NO_DRAIN };
            (line_flush.flush)(line_flush.token, self.start.add(offset).cast(), length, flags)
        };
        match status {
            0.. => 0,
            status => -i64::from(status_to_error(status)),
        }
    }
}

/// The error number for a status of the kernel.
fn status_to_error(status: i32) -> u32 {
    // SAFETY: the call takes and returns numbers.
    unsafe { RtlNtStatusToDosError(status) }
}

impl Drop for FileMap {
    fn drop(&mut self) {
        // SAFETY: this value owns token, view and section, and frees each once, in this order; no
        // borrow of the view can outlive `self`.
        unsafe {
            if let Some(line_flush) = self.line_flush {
                (line_flush.free)(line_flush.token);
            }
            UnmapViewOfFile(MEMORY_MAPPED_VIEW_ADDRESS {
                Value: self.start.cast(),
            });
            CloseHandle(self.section);
        }
    }
}

/// Copy routines that the handler recognises by instruction address.
#[cfg(target_arch = "x86_64")]
mod fault_safe_copy {
    use std::arch::global_asm;
    use std::sync::Once;

    use windows_sys::Win32::System::Diagnostics::Debug::{
        AddVectoredExceptionHandler, EXCEPTION_CONTINUE_EXECUTION, EXCEPTION_CONTINUE_SEARCH, EXCEPTION_POINTERS,
    };

    // Both take target, source and length in rcx, rdx and r8, and return 1 in rax. Faulting
    // instructions are between `begin` and `end`; the handler continues at `failed`, which returns
    // 0. They access only the two ranges and have nothing to unwind.
    global_asm!(
        ".globl fathom_copy_plain",
        "fathom_copy_plain:",
        "mov r10, rdi",
        "mov r11, rsi",
        "mov rdi, rcx",
        "mov rsi, rdx",
        "mov rcx, r8",
        "cld",
        ".globl fathom_copy_plain_begin",
        "fathom_copy_plain_begin:",
        "rep movsb",
        ".globl fathom_copy_plain_end",
        "fathom_copy_plain_end:",
        "mov rdi, r10",
        "mov rsi, r11",
        "mov eax, 1",
        "ret",
        ".globl fathom_copy_plain_failed",
        "fathom_copy_plain_failed:",
        "mov rdi, r10",
        "mov rsi, r11",
        "xor eax, eax",
        "ret",
        // Non-temporal stores of eight bytes, plain stores for the rest, and a fence.
        ".globl fathom_copy_non_temporal",
        "fathom_copy_non_temporal:",
        ".globl fathom_copy_non_temporal_begin",
        "fathom_copy_non_temporal_begin:",
        "2:",
        "cmp r8, 8",
        "jb 3f",
        "mov r9, [rdx]",
        "movnti [rcx], r9",
        "add rdx, 8",
        "add rcx, 8",
        "sub r8, 8",
        "jmp 2b",
        "3:",
        "test r8, r8",
        "jz 4f",
        "mov r9b, [rdx]",
        "mov [rcx], r9b",
        "inc rdx",
        "inc rcx",
        "dec r8",
        "jmp 3b",
        ".globl fathom_copy_non_temporal_end",
        "fathom_copy_non_temporal_end:",
        "4:",
        "sfence",
        "mov eax, 1",
        "ret",
        ".globl fathom_copy_non_temporal_failed",
        "fathom_copy_non_temporal_failed:",
        "sfence",
        "xor eax, eax",
        "ret",
    );

    unsafe extern "win64" {
        fn fathom_copy_plain(target: *mut u8, source: *const u8, length: usize) -> u32;
        fn fathom_copy_non_temporal(target: *mut u8, source: *const u8, length: usize) -> u32;
        // Labels in the code, of which only the addresses matter.
        static fathom_copy_plain_begin: u8;
        static fathom_copy_plain_end: u8;
        static fathom_copy_plain_failed: u8;
        static fathom_copy_non_temporal_begin: u8;
        static fathom_copy_non_temporal_end: u8;
        static fathom_copy_non_temporal_failed: u8;
    }

    /// Copies bytes, optionally bypassing the processor's caches. False if a page of one of the
    /// ranges was not accessible; the bytes copied before stay.
    ///
    /// # Safety
    /// Both ranges are mapped memory of that length and do not overlap; the target is not borrowed
    /// by anyone else.
    pub(super) unsafe fn copy(target: *mut u8, source: *const u8, length: usize, non_temporal: bool) -> bool {
        // SAFETY: the functions touch nothing but the two ranges, whose validity the caller
        // guarantees.
        let done = unsafe {
            match non_temporal {
                false => fathom_copy_plain(target, source, length),
                true => fathom_copy_non_temporal(target, source, length),
            }
        };
        done != 0
    }

    pub(super) fn install_handler() {
        static HANDLER: Once = Once::new();
        HANDLER.call_once(|| {
            // SAFETY: the handler is a function of this program, which lives as long as the
            // process.
            unsafe { AddVectoredExceptionHandler(1, Some(on_exception)) };
        });
    }

    unsafe extern "system" fn on_exception(exception: *mut EXCEPTION_POINTERS) -> i32 {
        let ranges = [
            [
                &raw const fathom_copy_plain_begin,
                &raw const fathom_copy_plain_end,
                &raw const fathom_copy_plain_failed,
            ],
            [
                &raw const fathom_copy_non_temporal_begin,
                &raw const fathom_copy_non_temporal_end,
                &raw const fathom_copy_non_temporal_failed,
            ],
        ];
        let ranges = ranges.map(|range| range.map(|address| address as usize));
        // SAFETY: the system passes valid structures, whose registers it restores when the handler
        // asks it to.
        unsafe {
            let registers = (*exception).ContextRecord;
            let at = (*registers).Rip as usize;
            let Some([_, _, failed]) = ranges.into_iter().find(|[begin, end, _]| (*begin..*end).contains(&at)) else {
                return EXCEPTION_CONTINUE_SEARCH;
            };
            (*registers).Rip = failed as u64;
        }
        EXCEPTION_CONTINUE_EXECUTION
    }
}

/// On other processors a failed page-in ends the process.
#[cfg(not(target_arch = "x86_64"))]
mod fault_safe_copy {
    /// Copies bytes.
    ///
    /// # Safety
    /// Both ranges are mapped memory of that length and do not overlap; the target is not borrowed
    /// by anyone else.
    pub(super) unsafe fn copy(target: *mut u8, source: *const u8, length: usize, _non_temporal: bool) -> bool {
        // SAFETY: the caller guarantees both ranges.
        unsafe { std::ptr::copy_nonoverlapping(source, target, length) };
        true
    }

    pub(super) fn install_handler() {}
}

#[cfg(test)]
mod tests {
    use windows_sys::Win32::System::Memory::{MEM_COMMIT, MEM_RESERVE, PAGE_NOACCESS, VirtualAlloc};

    use super::*;

    #[test]
    fn copies_are_complete_or_fail() {
        fault_safe_copy::install_handler();
        // SAFETY: a new allocation; nothing else touches it, and it stays until the process ends.
        let nowhere = unsafe { VirtualAlloc(null(), 8192, MEM_RESERVE | MEM_COMMIT, PAGE_NOACCESS) }.cast::<u8>();
        assert!(!nowhere.is_null());
        for non_temporal in [false, true] {
            for length in [1, 7, 8, 4096, 5001] {
                let source: Vec<u8> = (0..length).map(|index| index as u8 ^ 0x5a).collect();
                let mut target = vec![0; length + 1];
                // SAFETY: both are live, have `length` bytes and do not overlap.
                assert!(unsafe { fault_safe_copy::copy(target.as_mut_ptr(), source.as_ptr(), length, non_temporal) });
                assert!(target[..length] == source && target[length] == 0, "{length}");
                // SAFETY: the target is inaccessible on purpose: the copy must fail.
                assert!(!unsafe { fault_safe_copy::copy(nowhere, source.as_ptr(), length, non_temporal) });
                // SAFETY: as above, with an inaccessible source.
                assert!(!unsafe { fault_safe_copy::copy(target.as_mut_ptr(), nowhere, length, non_temporal) });
            }
        }
    }
}
