//! Threads: placement, timers and resource usage. Windows numbers processors within groups of at
//! most 64. A CPU number in this program is 64 × group + number, as in DiskSpd.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::io;
use std::ptr::{null, null_mut};
use std::time::Duration;

use model::Nanos;
use model::plan::MemoryNodes;
use model::results::Usage;
use windows_sys::Win32::Foundation::{CloseHandle, FILETIME, HANDLE, WAIT_OBJECT_0};
use windows_sys::Win32::System::SystemInformation::{
    GROUP_AFFINITY, GetLogicalProcessorInformationEx, PROCESSOR_GROUP_INFO, RelationGroup,
    SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX,
};
use windows_sys::Win32::System::Threading::{
    CREATE_WAITABLE_TIMER_HIGH_RESOLUTION, CreateWaitableTimerExW, GetCurrentProcess, GetCurrentThread,
    GetNumaNodeProcessorMaskEx, GetProcessAffinityMask, GetProcessGroupAffinity, GetProcessTimes, GetThreadTimes,
    INFINITE, SetThreadGroupAffinity, SetThreadPriority, SetWaitableTimer, THREAD_PRIORITY,
    THREAD_PRIORITY_ABOVE_NORMAL, THREAD_PRIORITY_BELOW_NORMAL, THREAD_PRIORITY_HIGHEST, THREAD_PRIORITY_IDLE,
    THREAD_PRIORITY_NORMAL, TIMER_ALL_ACCESS, WaitForSingleObject,
};

use super::ioctl::{check, to_wide};
use super::library;

/// Maximum processors in a group.
const PER_GROUP: u32 = usize::BITS;

/// Numbers of the processors in a mask of a group.
fn cpus_in_mask(group: u16, mask: usize) -> impl Iterator<Item = u32> {
    let first = u32::from(group) * PER_GROUP;
    (0..PER_GROUP)
        .filter(move |cpu| mask & 1 << cpu != 0)
        .map(move |cpu| first + cpu)
}

/// CPUs that this process may use, ascending: those of all groups, unless the process is bound to
/// CPUs of one group.
pub fn usable_cpus() -> Vec<u32> {
    let (mut process, mut system) = (0usize, 0usize);
    // SAFETY: the call writes two words behind live pointers.
    let ok = unsafe { GetProcessAffinityMask(GetCurrentProcess(), &mut process, &mut system) } != 0;
    // Both masks are zero if the process has threads in several groups.
    if ok && process != system {
        return cpus_in_mask(first_group(), process).collect();
    }
    let groups = active_masks();
    match groups.is_empty() {
        true => cpus_in_mask(0, process).collect(),
        false => (0..)
            .zip(groups)
            .flat_map(|(group, mask)| cpus_in_mask(group, mask))
            .collect(),
    }
}

/// The group of a process that has only one.
fn first_group() -> u16 {
    let (mut count, mut groups) = (1u16, [0u16; 1]);
    // SAFETY: the call writes at most as many groups as the live count says, and the count.
    let ok = unsafe { GetProcessGroupAffinity(GetCurrentProcess(), &mut count, groups.as_mut_ptr()) };
    if ok == 0 { 0 } else { groups[0] }
}

/// The active processors of each group, in order.
fn active_masks() -> Vec<usize> {
    let mut length = 0u32;
    // SAFETY: with no room the call only writes how much it needs.
    unsafe { GetLogicalProcessorInformationEx(RelationGroup, null_mut(), &mut length) };
    // An array of words, for alignment.
    let mut buffer = vec![0usize; (length as usize).div_ceil(size_of::<usize>())];
    let start = buffer.as_mut_ptr().cast::<SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX>();
    // SAFETY: the room is live, aligned for the structures, and as long as was asked for.
    if length == 0 || unsafe { GetLogicalProcessorInformationEx(RelationGroup, start, &mut length) } == 0 {
        return Vec::new();
    }
    // SAFETY: for this relation the call writes one structure, with that many groups behind its
    // head as it says.
    unsafe {
        let of_groups = &raw const (*start).Anonymous.Group;
        let first = (&raw const (*of_groups).GroupInfo).cast::<PROCESSOR_GROUP_INFO>();
        let count = usize::from((*of_groups).ActiveGroupCount);
        (0..count)
            .map(|group| (*first.add(group)).ActiveProcessorMask)
            .collect()
    }
}

/// A mask for each group that contains some of these CPUs, ordered by group.
fn group_masks(cpus: &[u32]) -> Vec<(u16, usize)> {
    let mut masks = BTreeMap::new();
    for cpu in cpus {
        *masks.entry((cpu / PER_GROUP) as u16).or_insert(0) |= 1usize << (cpu % PER_GROUP);
    }
    masks.into_iter().collect()
}

fn new_group_affinity((group, mask): (u16, usize)) -> GROUP_AFFINITY {
    GROUP_AFFINITY {
        Mask: mask,
        Group: group,
        Reserved: [0; 3],
    }
}

/// Pins the calling thread to these CPUs. CPUs of several groups require Windows 11 or Windows
/// Server 2022.
///
/// # Errors
/// The system's error, and `InvalidInput` for CPUs of several groups on an older Windows.
pub fn pin_to(cpus: &[u32]) -> io::Result<()> {
    /// `SetThreadSelectedCpuSetMasks`.
    type SelectCpus = unsafe extern "system" fn(HANDLE, *const GROUP_AFFINITY, u16) -> i32;
    let affinities: Vec<GROUP_AFFINITY> = group_masks(cpus).into_iter().map(new_group_affinity).collect();
    if let [affinity] = &affinities[..] {
        // SAFETY: the pseudo handle names the calling thread; the structure is live, and what was
        // before is not asked for.
        return check(unsafe { SetThreadGroupAffinity(GetCurrentThread(), affinity, null_mut()) });
    }
    // SAFETY: the function has these arguments (processthreadsapi.h).
    let Some(select) = (unsafe { library::function::<SelectCpus>("kernel32.dll", c"SetThreadSelectedCpuSetMasks") })
    else {
        let why = "this version of Windows can bind a thread only to processors of one group (64 × group + number)";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    };
    // SAFETY: the pseudo handle names the calling thread; the call reads as many live structures as
    // its count says.
    check(unsafe { select(GetCurrentThread(), affinities.as_ptr(), affinities.len() as u16) })
}

/// CPUs of a NUMA node, ascending. For a node that spans several groups: all of them on Windows 11
/// and Windows Server 2022, else the CPUs of the first group.
///
/// # Errors
/// The system's error where there is no such node.
pub fn cpus_of_node(node: u32) -> io::Result<Vec<u32>> {
    let node = u16::try_from(node).map_err(|_| io::ErrorKind::NotFound)?;
    if let Some(masks) = all_masks_of_node(node) {
        return Ok(cpus_of_masks(&masks));
    }
    let mut affinity = new_group_affinity((0, 0));
    // SAFETY: the call writes one live structure.
    check(unsafe { GetNumaNodeProcessorMaskEx(node, &mut affinity) })?;
    Ok(cpus_of_masks(&[(affinity.Group, affinity.Mask)]))
}

/// The processors of a node in each of its groups; `None` if the call or the node does not exist.
fn all_masks_of_node(node: u16) -> Option<Vec<(u16, usize)>> {
    /// `GetNumaNodeProcessorMask2`.
    type MasksOfNode = unsafe extern "system" fn(u16, *mut GROUP_AFFINITY, u16, *mut u16) -> i32;
    // SAFETY: the function has these arguments (systemtopologyapi.h).
    let get_masks = unsafe { library::function::<MasksOfNode>("kernel32.dll", c"GetNumaNodeProcessorMask2") }?;
    let mut count = 0u16;
    // SAFETY: without room the call only writes how many there are.
    unsafe { get_masks(node, null_mut(), 0, &mut count) };
    let mut masks = vec![new_group_affinity((0, 0)); usize::from(count)];
    let capacity = count;
    // SAFETY: the call writes at most as many structures as there is live room for, and how many
    // there are.
    let done = unsafe { get_masks(node, masks.as_mut_ptr(), capacity, &mut count) };
    masks.truncate(usize::from(count));
    let ok = done != 0 && !masks.is_empty();
    ok.then(|| masks.iter().map(|mask| (mask.Group, mask.Mask)).collect())
}

/// Numbers of the processors in masks of several groups, ascending.
fn cpus_of_masks(masks: &[(u16, usize)]) -> Vec<u32> {
    let mut cpus: Vec<u32> = masks
        .iter()
        .flat_map(|(group, mask)| cpus_in_mask(*group, *mask))
        .collect();
    cpus.sort_unstable();
    cpus
}

/// Windows threads cannot choose: memory comes from the node of the processor that first touches
/// it, which is both the default and the local policy.
///
/// # Errors
/// `Unsupported` for every other policy.
pub fn set_memory_nodes(nodes: &MemoryNodes) -> io::Result<()> {
    match nodes {
        MemoryNodes::Default | MemoryNodes::Local => Ok(()),
        MemoryNodes::Prefer { .. } | MemoryNodes::Bind { .. } | MemoryNodes::Interleave { .. } => {
            let why = "Windows cannot restrict a thread's memory to NUMA nodes; bind the thread to processors of the \
                node instead";
            Err(io::Error::new(io::ErrorKind::Unsupported, why))
        }
    }
}

fn set_priority(priority: THREAD_PRIORITY) -> io::Result<()> {
    // SAFETY: the pseudo handle names the calling thread; no memory is involved.
    check(unsafe { SetThreadPriority(GetCurrentThread(), priority) })
}

/// Sets the thread priority closest to a `nice` value: highest from −20 to −16, above normal up to
/// −1, below normal from 1 to 15, and idle beyond.
///
/// # Errors
/// The system's error.
pub fn set_nice(value: i8) -> io::Result<()> {
    set_priority(match value {
        ..-15 => THREAD_PRIORITY_HIGHEST,
        -15..0 => THREAD_PRIORITY_ABOVE_NORMAL,
        0 => THREAD_PRIORITY_NORMAL,
        1..=15 => THREAD_PRIORITY_BELOW_NORMAL,
        16.. => THREAD_PRIORITY_IDLE,
    })
}

/// Makes the calling thread run only while its processor is otherwise idle.
///
/// # Errors
/// The system's error.
pub fn run_only_when_idle() -> io::Result<()> {
    set_priority(THREAD_PRIORITY_IDLE)
}

/// Windows has no numeric users.
///
/// # Errors
/// Always `Unsupported`.
pub fn switch_user(_user: Option<u32>, _group: Option<u32>) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Windows threads have no I/O priority; open files have, see [`crate::File::set_priority`].
pub const SUPPORTS_IO_PRIORITY: bool = false;

/// Not supported.
///
/// # Errors
/// `Unsupported`, except for the default priority.
pub fn set_io_priority(class: u8, _level: u8, _hint: u16) -> io::Result<()> {
    match class {
        0 => Ok(()),
        _ => Err(io::ErrorKind::Unsupported.into()),
    }
}

/// Names the calling thread for debuggers and traces (Windows 10 1607 and later).
pub fn set_name(name: &str) {
    type SetDescription = unsafe extern "system" fn(HANDLE, *const u16) -> i32;
    // SAFETY: this is the documented type of the function.
    if let Some(set) = unsafe { library::function::<SetDescription>("kernelbase.dll", c"SetThreadDescription") } {
        let name = to_wide(name);
        // SAFETY: the pseudo handle names the calling thread; the name is live and ends with a
        // zero.
        unsafe { set(GetCurrentThread(), name.as_ptr()) };
    }
}

/// Requests a system timer tick of one millisecond for the life of the process. Waits with a
/// timeout end at these ticks.
pub fn request_precise_timers() {
    type BeginPeriod = unsafe extern "system" fn(u32) -> u32;
    static REQUESTED: std::sync::Once = std::sync::Once::new();
    REQUESTED.call_once(|| {
        // Minimal installations lack the library. Waits then end later, and engines adapt to that.
        // SAFETY: this is the documented type of the function.
        if let Some(begin) = unsafe { library::function::<BeginPeriod>("winmm.dll", c"timeBeginPeriod") } {
            // SAFETY: the call takes a number.
            unsafe { begin(1) };
        }
    });
}

/// A timer of the calling thread, with the highest available resolution.
struct Timer(HANDLE);

impl Timer {
    /// Windows 10 1803 and later have high-resolution timers; timers of older versions end at a
    /// tick of the system timer.
    fn new() -> Option<Timer> {
        [CREATE_WAITABLE_TIMER_HIGH_RESOLUTION, 0]
            .into_iter()
            .find_map(|flags| {
                // SAFETY: no security and no name are given; the call makes a timer.
                let timer = unsafe { CreateWaitableTimerExW(null(), null(), flags, TIMER_ALL_ACCESS) };
                (!timer.is_null()).then_some(Timer(timer))
            })
    }

    fn sleep(&self, length: Nanos) -> bool {
        // Relative times are negative, in units of 100 ns. Round up, so that the sleep is not too
        // short.
        let due = -(length.0.div_ceil(100) as i64);
        // SAFETY: the timer is open, the time is live, and no routine is given.
        let set = unsafe { SetWaitableTimer(self.0, &due, 0, None, null::<c_void>(), 0) };
        // SAFETY: the timer is open.
        set != 0 && unsafe { WaitForSingleObject(self.0, INFINITE) } == WAIT_OBJECT_0
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: the timer was made by `new` and is closed once.
        unsafe { CloseHandle(self.0) };
    }
}

/// Sleeps for a length of time.
pub fn sleep(length: Nanos) {
    thread_local! {
        static TIMER: Option<Timer> = Timer::new();
    }
    let slept = TIMER.with(|timer| timer.as_ref().is_some_and(|timer| timer.sleep(length)));
    if !slept {
        std::thread::sleep(Duration::from_nanos(length.0));
    }
}

const NO_TIME: FILETIME = FILETIME {
    dwLowDateTime: 0,
    dwHighDateTime: 0,
};

fn nanos(time: FILETIME) -> Nanos {
    Nanos((u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime)) * 100)
}

/// CPU time that all threads of this process have used so far.
pub fn process_cpu() -> Nanos {
    let (mut created, mut exited, mut kernel, mut user) = (NO_TIME, NO_TIME, NO_TIME, NO_TIME);
    // SAFETY: the pseudo handle names this process; the call writes four live structures.
    unsafe { GetProcessTimes(GetCurrentProcess(), &mut created, &mut exited, &mut kernel, &mut user) };
    nanos(user) + nanos(kernel)
}

/// The time that a runnable thread waited for a processor: not available on Windows.
#[derive(Debug)]
pub struct RunDelay;

impl RunDelay {
    /// For the calling thread.
    pub fn open() -> RunDelay {
        RunDelay
    }

    /// Always `None`.
    pub fn read(&self) -> Option<Nanos> {
        None
    }
}

/// Resource usage of the calling thread.
pub fn usage() -> Usage {
    let (mut created, mut exited, mut kernel, mut user) = (NO_TIME, NO_TIME, NO_TIME, NO_TIME);
    // SAFETY: the pseudo handle names the calling thread; the call writes four live structures.
    unsafe { GetThreadTimes(GetCurrentThread(), &mut created, &mut exited, &mut kernel, &mut user) };
    Usage {
        user_ns: nanos(user),
        system_ns: nanos(kernel),
        ..Usage::default()
    }
}

/// Does nothing: Windows launchers do not bind processes.
pub fn unbind_cpus() -> Option<u32> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_numbers_within_groups() {
        assert_eq!(cpus_in_mask(0, 0b1011).collect::<Vec<_>>(), [0, 1, 3]);
        assert_eq!(cpus_in_mask(2, 1 << 63 | 1).collect::<Vec<_>>(), [128, 191]);
    }

    #[test]
    fn a_node_may_have_processors_in_several_groups() {
        assert_eq!(cpus_of_masks(&[(1, 0b11), (0, 1 << 63)]), [63, 64, 65]);
        assert_eq!(cpus_of_masks(&[]), [0; 0]);
        assert_eq!(group_masks(&[65, 63, 64, 191]), [(0, 1 << 63), (1, 0b11), (2, 1 << 63)]);
        // No machine has that many nodes, and the process may use some processors of the first.
        // Wine 8 lacks the call.
        match cpus_of_node(0) {
            Ok(first) => assert!(first.iter().any(|cpu| usable_cpus().contains(cpu)), "{first:?}"),
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::Unsupported),
        }
        assert!(cpus_of_node(60_000).is_err() && cpus_of_node(u32::MAX).is_err());
    }

    #[test]
    fn a_thread_is_bound_to_usable_cpus_of_one_group() {
        let cpus = usable_cpus();
        assert!(!cpus.is_empty());
        std::thread::spawn(move || pin_to(&cpus[..1]).unwrap()).join().unwrap();
        // No machine has that many groups.
        let error = pin_to(&[0, 64 * 999]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn sleeps_last_at_least_the_requested_time() {
        for length in [Nanos(1), Nanos::micros(300), Nanos::millis(3)] {
            let start = super::super::clock::monotonic();
            sleep(length);
            // Timer and counter may use different sources, a tick of 100 ns apart.
            assert!(
                super::super::clock::monotonic().since(start) + Nanos(200) >= length,
                "{length}"
            );
        }
    }
}
