//! Parses `GetLogicalProcessorInformationEx`, and processor times. The number of a processor is 64
//! × its group + its index in the group, as everywhere in this program.

use model::Nanos;
use model::environment::{CoreUse, LogicalCpu};

use super::ioctl_structs::Fields;

/// Processors per group.
const GROUP: u32 = 64;

/// Splits the output into records: relationship and bytes after the header of eight.
fn parse_records(bytes: &[u8]) -> Vec<(u32, &[u8])> {
    let mut records = Vec::new();
    let mut rest = bytes;
    while let (Some(kind), Some(size)) = (Fields(rest).u32(0), Fields(rest).u32(4)) {
        let size = size as usize;
        let Some(record) = rest.get(8..size) else { break };
        records.push((kind, record));
        rest = &rest[size..];
    }
    records
}

/// Processors in a list of `GROUP_AFFINITY`.
fn parse_cpus(bytes: &[u8], at: usize, count: u16) -> Vec<u32> {
    let mut cpus = Vec::new();
    for entry in 0..usize::from(count) {
        let at = at + entry * 16;
        let (Some(mask), Some(group)) = (Fields(bytes).u64(at), Fields(bytes).u16(at + 8)) else {
            break;
        };
        let indexes = (0..GROUP).filter(|index| mask & 1 << index != 0);
        cpus.extend(indexes.map(|index| u32::from(group) * GROUP + index));
    }
    cpus
}

/// Topology of the logical processors in ascending order, from the records of `RelationAll`. Empty
/// if there are none.
pub fn parse_topology(bytes: &[u8]) -> Vec<LogicalCpu> {
    const CORE: u32 = 0;
    const NODE: u32 = 1;
    const PACKAGE: u32 = 3;
    let records = parse_records(bytes);
    let records_of_kind = |kind: u32| {
        records
            .iter()
            .filter(move |(entry_kind, _)| *entry_kind == kind)
            .map(|(_, record)| *record)
    };
    let mut cpus: Vec<LogicalCpu> = Vec::new();
    for (core, record) in records_of_kind(CORE).enumerate() {
        let count = Fields(record).u16(22).unwrap_or(0);
        cpus.extend(parse_cpus(record, 24, count).into_iter().map(|cpu| LogicalCpu {
            cpu,
            core: core as u32,
            efficiency_class: record.get(1).copied().unwrap_or(0),
            ..LogicalCpu::default()
        }));
    }
    for (socket, record) in records_of_kind(PACKAGE).enumerate() {
        let members = parse_cpus(record, 24, Fields(record).u16(22).unwrap_or(0));
        let member_cpus = cpus.iter_mut().filter(|cpu| members.contains(&cpu.cpu));
        member_cpus.for_each(|cpu| cpu.socket = socket as u32);
    }
    for record in records_of_kind(NODE) {
        // Before Windows Server 2022 a node has one group and no group count.
        let count = Fields(record).u16(22).unwrap_or(0).max(1);
        let members = parse_cpus(record, 24, count);
        let node = Fields(record).u32(0).unwrap_or(0);
        let member_cpus = cpus.iter_mut().filter(|cpu| members.contains(&cpu.cpu));
        member_cpus.for_each(|cpu| cpu.node = node);
    }
    cpus.sort_by_key(|cpu| cpu.cpu);
    cpus
}

/// Times of the processors of one group: records of `SYSTEM_PROCESSOR_PERFORMANCE_INFORMATION`, in
/// 100 ns. Kernel time includes idle time and the times of deferred procedure calls and interrupts.
pub fn parse_times(bytes: &[u8], group: u32) -> Vec<CoreUse> {
    const RECORD: usize = 48;
    let record = |(index, bytes): (usize, &[u8])| {
        let time = |at: usize| Some(Fields(bytes).u64(at)?.saturating_mul(100));
        let (idle, kernel, user) = (time(0)?, time(8)?, time(16)?);
        let interrupt = time(24)?.saturating_add(time(32)?);
        Some(CoreUse {
            cpu: group * GROUP + index as u32,
            user_ns: Nanos(user),
            system_ns: Nanos(kernel.saturating_sub(idle).saturating_sub(interrupt)),
            interrupt_ns: Nanos(interrupt),
            stolen_ns: Nanos(0),
            idle_ns: Nanos(idle),
        })
    };
    bytes.chunks_exact(RECORD).enumerate().filter_map(record).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record of a processor core (0) or package (3): flags, class, and masks with their groups.
    fn cores_record(kind: u32, class: u8, masks: &[(u64, u16)]) -> Vec<u8> {
        let mut body = vec![0u8; 24];
        body[1] = class;
        body[22..24].copy_from_slice(&(masks.len() as u16).to_le_bytes());
        with_masks(kind, body, masks)
    }

    fn node_record(number: u32, masks: &[(u64, u16)], counted: bool) -> Vec<u8> {
        let mut body = vec![0u8; 24];
        body[..4].copy_from_slice(&number.to_le_bytes());
        let count = if counted { masks.len() as u16 } else { 0 };
        body[22..24].copy_from_slice(&count.to_le_bytes());
        with_masks(1, body, masks)
    }

    fn with_masks(kind: u32, mut body: Vec<u8>, masks: &[(u64, u16)]) -> Vec<u8> {
        for (mask, group) in masks {
            body.extend(mask.to_le_bytes());
            body.extend(group.to_le_bytes());
            body.extend([0; 6]);
        }
        let size = body.len() as u32 + 8;
        [&kind.to_le_bytes()[..], &size.to_le_bytes()[..], &body].concat()
    }

    #[test]
    fn two_groups_with_threads_and_two_classes() {
        let records = [
            cores_record(0, 1, &[(0b11, 0)]),
            cores_record(0, 0, &[(0b100, 0)]),
            cores_record(0, 0, &[(0b1, 1)]),
            cores_record(3, 0, &[(0b111, 0)]),
            cores_record(3, 0, &[(0b1, 1)]),
            node_record(0, &[(0b111, 0)], true),
            node_record(7, &[(0b1, 1)], false),
            // Records that are not needed, such as caches, are skipped.
            with_masks(2, vec![0; 40], &[]),
        ]
        .concat();
        let cpu = |cpu, core, socket, node, efficiency_class| LogicalCpu {
            cpu,
            core,
            socket,
            node,
            efficiency_class,
        };
        assert_eq!(
            parse_topology(&records),
            [
                cpu(0, 0, 0, 0, 1),
                cpu(1, 0, 0, 0, 1),
                cpu(2, 1, 0, 0, 0),
                cpu(64, 2, 1, 7, 0)
            ]
        );
    }

    #[test]
    fn a_truncated_record_is_ignored() {
        let record = cores_record(0, 0, &[(0b1, 0)]);
        assert_eq!(parse_topology(&record[..30]), []);
        assert_eq!(parse_topology(&[]), []);
        assert_eq!(
            parse_topology(&[0; 64]),
            [],
            "a record of length 0 must not loop for ever"
        );
    }

    #[test]
    fn kernel_time_excludes_idle_time() {
        let mut bytes = Vec::new();
        for value in [600u64, 1000, 200, 30, 20, 0] {
            bytes.extend(value.to_le_bytes());
        }
        let parsed = parse_times(&bytes, 1);
        assert_eq!(parsed[0].cpu, 64);
        assert_eq!((parsed[0].idle_ns, parsed[0].user_ns), (Nanos(60_000), Nanos(20_000)));
        assert_eq!(
            (parsed[0].system_ns, parsed[0].interrupt_ns),
            (Nanos(35_000), Nanos(5_000))
        );
    }
}
