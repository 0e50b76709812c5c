//! The machine: name, Windows release, memory, hypervisor, power scheme.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::time::Duration;

use model::environment::{Cpu, Host};
use windows_sys::Wdk::System::SystemServices::RtlGetVersion;
use windows_sys::Win32::Foundation::LocalFree;
use windows_sys::Win32::System::Power::{PowerGetActiveScheme, PowerReadFriendlyName};
use windows_sys::Win32::System::Registry::{HKEY_LOCAL_MACHINE, RRF_RT_REG_DWORD, RRF_RT_REG_SZ, RegGetValueW};
use windows_sys::Win32::System::SystemInformation::{
    ComputerNamePhysicalDnsHostname, GetComputerNameExW, GetTickCount64, GlobalMemoryStatusEx, MEMORYSTATUSEX,
    OSVERSIONINFOW,
};
use windows_sys::core::GUID;

use super::ioctl::{from_wide, to_wide};
use super::{processors, thread};

const VERSION: &str = r"SOFTWARE\Microsoft\Windows NT\CurrentVersion";
const PROCESSOR: &str = r"HARDWARE\DESCRIPTION\System\CentralProcessor\0";

/// Reads the name, version and memory of this machine.
pub(crate) fn host() -> Host {
    Host {
        name: name().unwrap_or_else(|| std::env::var("COMPUTERNAME").unwrap_or_default()),
        system: release(),
        kernel: build().unwrap_or_default(),
        architecture: std::env::consts::ARCH.to_owned(),
        // Windows has no reliable boot id.
        boot_id: None,
        hypervisor: crate::sys::hypervisor::hypervisor().map(str::to_owned),
        cloud: None,
        machine_type: None,
    }
}

/// Reads the model, count and topology of the processors.
pub(crate) fn cpu() -> Cpu {
    let topology = processors::topology();
    let mut nodes: Vec<u32> = topology.iter().map(|cpu| cpu.node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    Cpu {
        model: string(PROCESSOR, "ProcessorNameString").unwrap_or_default(),
        logical: processors::count(),
        usable: thread::usable_cpus().len() as u32,
        numa_nodes: nodes.len().max(1) as u32,
        governor: power_scheme(),
        topology,
        deepest_idle: None,
    }
}

/// Total and available memory in bytes.
pub(crate) fn memory() -> Option<[u64; 2]> {
    const TRIES: u32 = 50;
    // Wine returns zeros while another thread runs the first call of the process.
    (0..TRIES).find_map(|attempt| {
        if attempt > 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        reported_memory().filter(|[total, _]| *total > 0)
    })
}

fn reported_memory() -> Option<[u64; 2]> {
    // SAFETY: the structure is plain numbers, for which zero is valid.
    let mut status: MEMORYSTATUSEX = unsafe { std::mem::zeroed() };
    status.dwLength = size_of::<MEMORYSTATUSEX>() as u32;
    // SAFETY: the structure is live and says its own length.
    let done = unsafe { GlobalMemoryStatusEx(&mut status) };
    // The commit limit may be lower than the free memory.
    (done != 0).then(|| [status.ullTotalPhys, status.ullAvailPhys.min(status.ullAvailPageFile)])
}

/// Milliseconds since the system started.
pub(crate) fn since_start() -> u64 {
    // SAFETY: the call takes nothing.
    unsafe { GetTickCount64() }
}

fn name() -> Option<String> {
    let mut name = [0u16; 256];
    let mut length = name.len() as u32;
    // SAFETY: the call writes one live word and at most `length` units.
    let done = unsafe { GetComputerNameExW(ComputerNamePhysicalDnsHostname, name.as_mut_ptr(), &mut length) };
    (done != 0).then(|| from_wide(&name)).filter(|name| !name.is_empty())
}

/// Such as `Windows Server 2022 Datacenter 21H2`.
fn release() -> String {
    let product = string(VERSION, "ProductName").unwrap_or_else(|| "Windows".into());
    match string(VERSION, "DisplayVersion") {
        Some(version) => format!("{product} {version}"),
        None => product,
    }
}

/// The build, such as `10.0.20348.2402`: the real version, even if the system reports another to
/// older programs.
fn build() -> Option<String> {
    // SAFETY: the structure is plain numbers, for which zero is valid.
    let mut version: OSVERSIONINFOW = unsafe { std::mem::zeroed() };
    version.dwOSVersionInfoSize = size_of::<OSVERSIONINFOW>() as u32;
    // SAFETY: the structure is live and says its own length.
    let status = unsafe { RtlGetVersion(&mut version) };
    let number = format!(
        "{}.{}.{}",
        version.dwMajorVersion, version.dwMinorVersion, version.dwBuildNumber
    );
    (status >= 0).then(|| match registry_number(VERSION, "UBR") {
        Some(revision) => format!("{number}.{revision}"),
        None => number,
    })
}

/// Reads a string from `HKEY_LOCAL_MACHINE`.
fn string(key: &str, name: &str) -> Option<String> {
    let mut value = [0u16; 512];
    let mut length = size_of_val(&value) as u32;
    // SAFETY: the array has `length` bytes, and the call ends a text with a zero.
    let is_read = unsafe { read_registry(key, name, RRF_RT_REG_SZ, value.as_mut_ptr().cast(), &mut length) };
    let value = from_wide(&value).trim().to_owned();
    (is_read && !value.is_empty()).then_some(value)
}

/// Reads a number from `HKEY_LOCAL_MACHINE`.
fn registry_number(key: &str, name: &str) -> Option<u32> {
    let (mut value, mut length) = (0u32, 4u32);
    // SAFETY: the number has `length` bytes.
    let is_read = unsafe { read_registry(key, name, RRF_RT_REG_DWORD, (&raw mut value).cast(), &mut length) };
    is_read.then_some(value)
}

/// Reads a value of these types from `HKEY_LOCAL_MACHINE`.
///
/// # Safety
/// `into` leads to `length` writable bytes.
unsafe fn read_registry(key: &str, name: &str, types: u32, into: *mut c_void, length: &mut u32) -> bool {
    let (root, key, name) = (HKEY_LOCAL_MACHINE, to_wide(key), to_wide(name));
    // SAFETY: both names end with a zero; the call writes one live word and at most `length` bytes,
    // which the caller guarantees.
    unsafe { RegGetValueW(root, key.as_ptr(), name.as_ptr(), types, null_mut(), into, length) == 0 }
}

/// The active power scheme, in DiskSpd's form: `High performance
/// (8c5e7fda-e8bf-4a96-9a85-a6e23a8c635c)`.
fn power_scheme() -> Option<String> {
    let mut scheme: *mut GUID = null_mut();
    // SAFETY: the first argument is reserved, and the call writes one live pointer.
    let result = unsafe { PowerGetActiveScheme(null_mut(), &mut scheme) };
    if result != 0 || scheme.is_null() {
        return None;
    }
    // SAFETY: the call succeeded, so it points to a GUID, which is freed below and not before.
    let guid = unsafe { *scheme };
    let mut name = [0u16; 256];
    let mut length = size_of_val(&name) as u32;
    // SAFETY: the GUID is live; the call writes one live word and at most `length` bytes. Without a
    // subgroup and a setting it is the scheme's own name.
    let succeeded = unsafe {
        let into = name.as_mut_ptr().cast();
        PowerReadFriendlyName(
            null_mut(),
            scheme,
            std::ptr::null(),
            std::ptr::null(),
            into,
            &mut length,
        ) == 0
    };
    // SAFETY: the memory comes from the call above, whose documentation says that it is freed so.
    unsafe { LocalFree(scheme.cast()) };
    let [a, b, rest @ ..] = guid.data4;
    let last: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
    let number = format!(
        "{:08x}-{:04x}-{:04x}-{a:02x}{b:02x}-{last}",
        guid.data1, guid.data2, guid.data3
    );
    let name = from_wide(&name);
    Some(match succeeded && !name.is_empty() {
        true => format!("{name} ({number})"),
        false => number,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn facts_about_this_machine() {
        let host = host();
        assert!(!host.name.is_empty());
        assert!(host.kernel.split('.').count() >= 3, "{}", host.kernel);
        let [total, available] = memory().unwrap();
        assert!(total > 0 && available <= total);
        assert!(cpu().logical > 0);
    }

    /// Concurrent first calls in a process: Wine returns zeros to some of them.
    #[test]
    fn reported_memory_is_never_zero() {
        const THREADS: usize = 16;
        let start_barrier = Barrier::new(THREADS);
        let readings: Vec<Option<[u64; 2]>> = std::thread::scope(|scope| {
            let ask = || {
                start_barrier.wait();
                memory()
            };
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(ask)).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().expect("it panicked"))
                .collect()
        });
        for [total, free] in readings
            .into_iter()
            .map(|memory| memory.expect("the system reports it"))
        {
            assert!(total > 0 && free <= total, "{free} of {total}");
        }
    }
}
