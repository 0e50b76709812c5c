//! Functions that only some versions of Windows have, loaded by name from system libraries.

use std::ffi::{CStr, c_void};
use std::ptr::null_mut;

use windows_sys::Win32::System::LibraryLoader::{GetProcAddress, LOAD_LIBRARY_SEARCH_SYSTEM32, LoadLibraryExW};

use super::ioctl::to_wide;

/// A function of a library; `None` if it does not exist. Loads the library from the system
/// directory if necessary and keeps it loaded.
///
/// # Safety
/// `F` must be a pointer to a function with the arguments and the result that this one has.
pub(crate) unsafe fn function<F: Copy>(library: &str, name: &CStr) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<*const c_void>()) };
    let address = address(library, name)?;
    // SAFETY: both are pointers of the same size, and this one leads to a function; the caller
    // guarantees its type.
    Some(unsafe { std::mem::transmute_copy::<*const c_void, F>(&address) })
}

fn address(library: &str, function: &CStr) -> Option<*const c_void> {
    let name = to_wide(library);
    // SAFETY: the name is live and ends with a zero; the flag prevents other libraries from being
    // loaded instead of the system's.
    let module = unsafe { LoadLibraryExW(name.as_ptr(), null_mut(), LOAD_LIBRARY_SEARCH_SYSTEM32) };
    if module.is_null() {
        return None;
    }
    // SAFETY: the module is loaded and is not unloaded again; the name is live and ends with a
    // zero.
    let address = unsafe { GetProcAddress(module, function.as_ptr().cast()) };
    address.map(|function| function as *const c_void)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_existing_functions_are_found() {
        assert!(address("kernel32.dll", c"GetTickCount64").is_some());
        assert!(address("kernel32.dll", c"NoSuchFunction").is_none());
        assert!(address("nosuch.dll", c"GetTickCount64").is_none());
    }
}
