//! Enables privileges that the account holds.

use std::io;
use std::ptr::null_mut;

use windows_sys::Win32::Foundation::{CloseHandle, ERROR_NOT_ALL_ASSIGNED, GetLastError, HANDLE, LUID};
use windows_sys::Win32::Security::{
    AdjustTokenPrivileges, LUID_AND_ATTRIBUTES, LookupPrivilegeValueW, SE_PRIVILEGE_ENABLED, TOKEN_ADJUST_PRIVILEGES,
    TOKEN_PRIVILEGES, TOKEN_QUERY,
};
use windows_sys::Win32::System::Threading::{GetCurrentProcess, OpenProcessToken};

use super::ioctl::{check, to_wide};

/// The privilege to lock pages, which large pages need.
pub(crate) const LOCK_MEMORY: &str = "SeLockMemoryPrivilege";

/// Enables a privilege for the rest of the process.
///
/// # Errors
/// The system's error; `ERROR_NOT_ALL_ASSIGNED` (1300) where the account does not hold it.
pub(crate) fn enable(name: &str) -> io::Result<()> {
    let mut token: HANDLE = null_mut();
    // SAFETY: the pseudo handle names this process, and the call writes one live handle.
    check(unsafe { OpenProcessToken(GetCurrentProcess(), TOKEN_ADJUST_PRIVILEGES | TOKEN_QUERY, &mut token) })?;
    let result = enable_in(token, name);
    // SAFETY: the handle was opened above and is closed once.
    unsafe { CloseHandle(token) };
    result
}

fn enable_in(token: HANDLE, name: &str) -> io::Result<()> {
    let name = to_wide(name);
    let mut luid = LUID {
        LowPart: 0,
        HighPart: 0,
    };
    // SAFETY: the name is live and ends with a zero, a missing machine name means this one, and the
    // call writes one live number.
    check(unsafe { LookupPrivilegeValueW(std::ptr::null(), name.as_ptr(), &mut luid) })?;
    let wanted = TOKEN_PRIVILEGES {
        PrivilegeCount: 1,
        Privileges: [LUID_AND_ATTRIBUTES {
            Luid: luid,
            Attributes: SE_PRIVILEGE_ENABLED,
        }],
    };
    // SAFETY: the structure is live and holds the one privilege that it counts; what was set before
    // is not asked for.
    let result = unsafe { AdjustTokenPrivileges(token, 0, &wanted, 0, null_mut(), null_mut()) };
    // SAFETY: no memory is involved.
    let error = unsafe { GetLastError() };
    // The call also succeeds if it did not enable the privilege.
    match result {
        0 => Err(io::Error::last_os_error()),
        _ if error == ERROR_NOT_ALL_ASSIGNED => Err(io::Error::from_raw_os_error(error as i32)),
        _ => Ok(()),
    }
}
