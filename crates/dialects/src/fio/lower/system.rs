//! Lowers CPU and memory placement, priorities and error handling.

use model::plan::{ControlGroup, MemoryNodes, Priority};
use model::{Direction, Nanos};

use super::{pattern, priorities};
use crate::fio::draft::{Draft, from_micros};
use crate::fio::options::job::ContinueOnError;
use crate::fio::options::system::CpuPolicy;

/// EIO.
const INPUT_OUTPUT: i32 = 5;
/// EILSEQ: the data read differs from the data written.
const MISMATCH: i32 = 84;

pub(in crate::fio) fn lower_cpus(draft: &mut Draft<'_>) {
    let system = &draft.options.system;
    let ranges = system.cpus_allowed.iter().flat_map(|range| range.first..=range.last);
    let bits = |mask: i64| (0..64).filter(move |cpu| mask >> cpu & 1 == 1);
    let mut cpus: Vec<u32> = ranges.chain(system.cpumask.into_iter().flat_map(bits)).collect();
    cpus.dedup();
    if system.cpus_allowed_policy == CpuPolicy::Split && !cpus.is_empty() {
        cpus = vec![cpus[(draft.clone.number as usize - 1) % cpus.len()]];
    }
    draft.parts.worker.placement.cpus = cpus;
}

pub(in crate::fio) fn lower_cpu_nodes(draft: &mut Draft<'_>) {
    let Some(text) = draft.options.system.numa_cpu_nodes.clone() else {
        return;
    };
    match nodes(&text) {
        Some(nodes) => draft.parts.worker.placement.cpu_nodes = nodes,
        None => draft.push_error(format!("fio: numa_cpu_nodes: '{text}' is not a list of nodes")),
    }
}

pub(in crate::fio) fn lower_memory(draft: &mut Draft<'_>) {
    let Some(text) = draft.options.system.numa_mem_policy.clone() else {
        return;
    };
    match memory_nodes(&text) {
        Some(nodes) => draft.parts.worker.placement.memory_nodes = Some(nodes),
        None => draft.push_error(format!(
            "fio: numa_mem_policy: '{text}' is not one of default, local, prefer:N, bind:LIST, interleave:LIST"
        )),
    }
}

/// Parses a comma-separated list of numbers and ranges.
pub(in crate::fio) fn nodes(text: &str) -> Option<Vec<u32>> {
    let mut nodes = Vec::new();
    for piece in text.split(',') {
        let (first, last) = piece.split_once('-').unwrap_or((piece, piece));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if first > last || last >= 1024 {
            return None;
        }
        nodes.extend(first..=last);
    }
    Some(nodes)
}

fn memory_nodes(text: &str) -> Option<MemoryNodes> {
    let (policy, list) = match text.split_once(':') {
        None => (text, None),
        Some((policy, list)) => (policy, Some(nodes(list)?)),
    };
    match (policy, list) {
        ("default", None) => Some(MemoryNodes::Default),
        ("local", None) => Some(MemoryNodes::Local),
        ("prefer", Some(nodes)) => match nodes[..] {
            [node] => Some(MemoryNodes::Prefer { node }),
            _ => None,
        },
        ("bind", Some(nodes)) => Some(MemoryNodes::Bind { nodes }),
        ("interleave", Some(nodes)) => Some(MemoryNodes::Interleave { nodes }),
        _ => None,
    }
}

pub(in crate::fio) fn lower_control_group(draft: &mut Draft<'_>) {
    let system = &draft.options.system;
    draft.parts.worker.placement.control_group = system.cgroup.as_ref().map(|path| ControlGroup {
        path: path.clone(),
        weight: system.cgroup_weight.and_then(|weight| u32::try_from(weight).ok()),
        keep: system.cgroup_nodelete,
    });
}

/// The priority of every operation.
pub(in crate::fio) fn lower_priority(draft: &mut Draft<'_>) {
    let system = &draft.options.system;
    if system.prio.is_none() && system.prioclass.is_none() && system.priohint.is_none() {
        return;
    }
    draft.parts.stream.priority = Some(Priority {
        class: priorities::class_from_number(system.prioclass.unwrap_or(2)),
        level: system.prio.unwrap_or(0).clamp(0, 7) as u8,
        hint: system.priohint.unwrap_or(0).clamp(0, 1023) as u16,
        percent: 100,
    });
}

pub(in crate::fio) fn lower_tolerance(draft: &mut Draft<'_>) {
    use ContinueOnError::{All, Io, Read, Verify, Write};
    let kinds: [&[ContinueOnError]; 3] = [&[Read, Io, All], &[Write, Io, All], &[Verify, All]];
    let mut lists = kinds.map(|kinds| match kinds.contains(&draft.options.job.continue_on_error) {
        true => vec![INPUT_OUTPUT, MISMATCH],
        false => Vec::new(),
    });
    let ignored_errors = draft.options.job.ignore_error.clone();
    for (list, names) in lists
        .iter_mut()
        .zip(&ignored_errors)
        .filter(|(_, names)| !names.is_empty())
    {
        *list = names.iter().filter_map(|name| number(name, draft.errors)).collect();
    }
    let policy = &mut draft.parts.stream.on_error;
    [policy.tolerate_read, policy.tolerate_write, policy.tolerate_verify] = lists;
}

pub(in crate::fio) fn lower_latency_max(draft: &mut Draft<'_>) {
    let limits = &draft.options.pace.max_latency;
    draft.parts.stream.on_error.latency_ns_max =
        limits.map(|limits| Some(from_micros(*limits)).filter(|limits| *limits > Nanos(0)));
}

pub(in crate::fio) fn lower_block_lifetimes(draft: &mut Draft<'_>) {
    let trims = pattern::mix(draft.options).includes(Direction::Trim);
    draft.parts.stream.on_error.block_lifetimes = draft.options.report.block_error_percentiles && trims;
}

/// The names of the errors 1 to 32, in order.
const ERRORS: [&str; 32] = [
    "EPERM", "ENOENT", "ESRCH", "EINTR", "EIO", "ENXIO", "E2BIG", "ENOEXEC", "EBADF", "ECHILD", "EAGAIN", "ENOMEM",
    "EACCES", "EFAULT", "ENOTBLK", "EBUSY", "EEXIST", "EXDEV", "ENODEV", "ENOTDIR", "EISDIR", "EINVAL", "ENFILE",
    "EMFILE", "ENOTTY", "ETXTBSY", "EFBIG", "ENOSPC", "ESPIPE", "EROFS", "EMLINK", "EPIPE",
];

/// Parses an error name or number.
fn number(name: &str, errors: &mut Vec<crate::Diagnostic>) -> Option<i32> {
    let listed = || ERRORS.iter().position(|listed| *listed == name);
    let number = match name {
        "EILSEQ" => Some(MISMATCH),
        "ETIMEDOUT" => Some(110),
        _ => listed().map(|index| index as i32 + 1).or_else(|| name.parse().ok()),
    };
    if number.is_none() {
        crate::fio::draft::push_error(
            errors,
            format!("fio: ignore_error: unknown error `{name}`; use its number"),
        );
    }
    number
}
