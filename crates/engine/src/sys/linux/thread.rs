//! Threads: placement, timers and resource usage.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use model::Nanos;
use model::plan::MemoryNodes;
use model::results::Usage;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, Timespec};

/// CPUs that this process may use, ascending.
pub fn usable_cpus() -> Vec<u32> {
    match sched_getaffinity(None) {
        Ok(set) => (0..CpuSet::MAX_CPU)
            .filter(|cpu| set.is_set(*cpu))
            .map(|cpu| cpu as u32)
            .collect(),
        Err(_) => Vec::new(),
    }
}

/// Lets the calling thread run on these CPUs only.
///
/// # Errors
/// The system's error, such as `EINVAL` where none of the CPUs exists or is allowed.
pub fn pin_to(cpus: &[u32]) -> io::Result<()> {
    let mut set = CpuSet::new();
    for cpu in cpus {
        if (*cpu as usize) < CpuSet::MAX_CPU {
            set.set(*cpu as usize);
        }
    }
    Ok(sched_setaffinity(None, &set)?)
}

/// Removes a CPU binding set by the launcher, which often binds each process to one CPU. Call it
/// before starting other threads. Returns the previous number of CPUs; `None` if nothing changed.
pub fn unbind_cpus() -> Option<u32> {
    let before = usable_cpus().len();
    let mut all_cpus = CpuSet::new();
    (0..CpuSet::MAX_CPU).for_each(|cpu| all_cpus.set(cpu));
    // The kernel limits it to the CPUs of the control group.
    sched_setaffinity(None, &all_cpus).ok()?;
    (usable_cpus().len() > before).then_some(before as u32)
}

/// CPUs of a NUMA node, ascending.
///
/// # Errors
/// The system's error where there is no such node.
pub fn cpus_of_node(node: u32) -> io::Result<Vec<u32>> {
    let list = std::fs::read_to_string(format!("/sys/devices/system/node/node{node}/cpulist"))?;
    Ok(crate::probe::parse_cpu_list(&list))
}

/// Restricts memory of the calling thread to these NUMA nodes.
///
/// # Errors
/// The system's error, such as `EINVAL` for a node that does not exist.
pub fn set_memory_nodes(nodes: &MemoryNodes) -> io::Result<()> {
    let (mode, nodes): (libc::c_long, &[u32]) = match nodes {
        MemoryNodes::Default => (0, &[]),
        MemoryNodes::Prefer { node } => (1, std::slice::from_ref(node)),
        MemoryNodes::Bind { nodes } => (2, nodes),
        MemoryNodes::Interleave { nodes } => (3, nodes),
        MemoryNodes::Local => (4, &[]),
    };
    let mut mask = [0u64; 16];
    for node in nodes {
        let word = mask.get_mut(*node as usize / 64);
        *word.ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))? |= 1 << (node % 64);
    }
    let (start, bits) = match nodes.is_empty() {
        true => (std::ptr::null(), 0usize),
        false => (mask.as_ptr(), 1024),
    };
    // SAFETY: the mask is a live array of 1024 bits or none at all, and the call only reads it.
    check(unsafe { libc::syscall(libc::SYS_set_mempolicy, mode, start, bits) })
}

/// Converts the result of a call that returns zero on success.
fn check(result: libc::c_long) -> io::Result<()> {
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Names the calling thread for tools such as `top`; the system keeps 15 bytes.
pub fn set_name(name: &str) {
    let short: Vec<u8> = name.bytes().take(15).take_while(|byte| *byte != 0).chain([0]).collect();
    // SAFETY: the text is live and ends with a zero byte; the call copies it.
    unsafe { libc::prctl(libc::PR_SET_NAME, short.as_ptr()) };
}

/// Sets the `nice` value of the calling thread.
///
/// # Errors
/// The system's error, such as `EACCES` for raising priority without the privilege.
pub fn set_nice(value: i8) -> io::Result<()> {
    // SAFETY: no memory is involved; on Linux a zero id means the calling thread.
    let result = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, libc::c_int::from(value)) };
    check(result.into())
}

/// Makes the calling thread run only while its processor is otherwise idle.
///
/// # Errors
/// The system's error.
pub fn run_only_when_idle() -> io::Result<()> {
    // SAFETY: zero is valid for a structure of plain numbers, and is the priority that this
    // scheduling class requires.
    let parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    // SAFETY: the structure is live and only read; a zero id means the calling thread.
    let result = unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &parameters) };
    check(result.into())
}

/// Switches the calling thread to another user and group; its supplementary groups stay. The C
/// library would switch all threads, so this makes the system call itself.
///
/// # Errors
/// The system's error, such as `EPERM` without root.
pub fn switch_user(user: Option<u32>, group: Option<u32>) -> io::Result<()> {
    const UNCHANGED: libc::c_long = -1;
    // Group first: a process that has given up root cannot change it.
    if let Some(group) = group {
        let group = libc::c_long::from(group);
        // SAFETY: the call takes three numbers, no memory.
        check(unsafe { libc::syscall(libc::SYS_setresgid, UNCHANGED, group, UNCHANGED) })?;
    }
    if let Some(user) = user {
        let user = libc::c_long::from(user);
        // SAFETY: the call takes three numbers, no memory.
        check(unsafe { libc::syscall(libc::SYS_setresuid, UNCHANGED, user, UNCHANGED) })?;
    }
    Ok(())
}

/// Linux threads have an I/O priority.
pub const SUPPORTS_IO_PRIORITY: bool = true;

/// Sets the I/O priority of the calling thread: class 1 real-time, 2 best effort, 3 idle; level 0
/// to 7; a hint for the device, 0 for none.
///
/// # Errors
/// The system's error, such as `EPERM`.
pub fn set_io_priority(class: u8, level: u8, hint: u16) -> io::Result<()> {
    const WHO_PROCESS: libc::c_long = 1;
    let value = libc::c_long::from(class) << 13 | libc::c_long::from(hint) << 3 | libc::c_long::from(level);
    // SAFETY: no memory is involved; a zero id means the calling thread.
    check(unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, 0, value) })
}

/// Requests timers without the usual slack of 50 µs.
pub fn request_precise_timers() {
    // SAFETY: the option takes a number, no memory. Failure leaves the usual slack.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0) };
}

/// Sleeps for a length of time; returns early if a signal arrives.
pub fn sleep(length: Nanos) {
    // Use an absolute time, so that a preemption before the call does not lengthen the sleep.
    let end = super::clock::monotonic() + length;
    let request = Timespec {
        tv_sec: (end.0 / 1_000_000_000) as i64,
        tv_nsec: (end.0 % 1_000_000_000) as _,
    };
    let _ = rustix::thread::clock_nanosleep_absolute(ClockId::Monotonic, &request);
}

/// CPU time that all threads of this process have used so far.
pub fn process_cpu() -> Nanos {
    let time = rustix::time::clock_gettime(ClockId::ProcessCPUTime);
    Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// The time that a runnable thread waited for a processor.
#[derive(Debug)]
pub struct RunDelay(Option<File>);

impl RunDelay {
    /// For the calling thread.
    pub fn open() -> RunDelay {
        RunDelay(File::open("/proc/thread-self/schedstat").ok())
    }

    /// The total since the thread started; `None` if the kernel does not record it.
    pub fn read(&self) -> Option<Nanos> {
        let mut bytes = [0; 80];
        let length = self.0.as_ref()?.read_at(&mut bytes, 0).ok()?;
        let text = std::str::from_utf8(&bytes[..length]).ok()?;
        text.split_ascii_whitespace().nth(1)?.parse().ok().map(Nanos)
    }
}

/// Resource usage of the calling thread.
pub fn usage() -> Usage {
    // SAFETY: all fields of the structure are plain numbers, for which zero is valid.
    let mut raw: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the structure is live and of the type the call fills.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut raw) };
    let time = |value: libc::timeval| Nanos(value.tv_sec as u64 * 1_000_000_000 + value.tv_usec as u64 * 1_000);
    Usage {
        user_ns: time(raw.ru_utime),
        system_ns: time(raw.ru_stime),
        voluntary_switches: raw.ru_nvcsw as u64,
        involuntary_switches: raw.ru_nivcsw as u64,
        minor_faults: raw.ru_minflt as u64,
        major_faults: raw.ru_majflt as u64,
    }
}
