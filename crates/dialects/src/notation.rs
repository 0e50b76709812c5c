//! Sizes, times, lists and names in the form that several dialects read.

use model::Nanos;
use model::plan::{MemoryNodes, TrackedMetric};

/// `64k`, `1g`, `513`: powers of 1024.
pub(crate) fn format_size(bytes: u64) -> String {
    let units = [("t", 40u32), ("g", 30), ("m", 20), ("k", 10)];
    let fits = |shift: u32| bytes > 0 && bytes.trailing_zeros() >= shift;
    match units.into_iter().find(|(_, shift)| fits(*shift)) {
        Some((unit, shift)) => format!("{}{unit}", bytes >> shift),
        None => bytes.to_string(),
    }
}

/// `60s`, `250ms`, `80us`, `7ns`.
pub(crate) fn format_time(time: Nanos) -> String {
    let units = [("s", 1_000_000_000u64), ("ms", 1_000_000), ("us", 1_000)];
    match units.into_iter().find(|(_, unit)| time.0.is_multiple_of(*unit)) {
        Some((unit, length)) => format!("{}{unit}", time.0 / length),
        None => format!("{}ns", time.0),
    }
}

/// `0,2-5`.
pub(crate) fn format_cpus(list: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for cpu in list {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == *cpu => *last = *cpu,
            _ => runs.push((*cpu, *cpu)),
        }
    }
    let runs = runs.iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    runs.collect::<Vec<_>>().join(",")
}

/// The shortest period of a list that is used cyclically.
pub(crate) fn period(list: &[u32]) -> &[u32] {
    let length = (1..=list.len()).find(|length| (0..list.len()).all(|index| list[index] == list[index % length]));
    &list[..length.unwrap_or(0)]
}

pub(crate) fn format_hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The name of a measure in fio's `steadystate`.
pub(crate) fn metric_name(metric: TrackedMetric) -> &'static str {
    match metric {
        TrackedMetric::Iops => "iops",
        TrackedMetric::Throughput => "bw",
        TrackedMetric::Latency => "lat",
    }
}

/// NUMA nodes in the form of fio's `numa_mem_policy`.
pub(crate) fn format_memory_nodes(nodes: &MemoryNodes) -> String {
    match nodes {
        MemoryNodes::Default => "default".into(),
        MemoryNodes::Local => "local".into(),
        MemoryNodes::Prefer { node } => format!("prefer:{node}"),
        MemoryNodes::Bind { nodes } => format!("bind:{}", format_cpus(nodes)),
        MemoryNodes::Interleave { nodes } => format!("interleave:{}", format_cpus(nodes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_the_largest_that_divide() {
        for (bytes, expected) in [
            (0, "0"),
            (513, "513"),
            (4096, "4k"),
            (1536 << 20, "1536m"),
            (1 << 40, "1t"),
        ] {
            assert_eq!(format_size(bytes), expected);
        }
        for (nanos, expected) in [
            (60_000_000_000, "60s"),
            (1_500_000_000, "1500ms"),
            (0, "0s"),
            (7, "7ns"),
            (80_000, "80us"),
        ] {
            assert_eq!(format_time(Nanos(nanos)), expected);
        }
        assert_eq!(format_cpus(&[0, 2, 3, 4, 1]), "0,2-4,1");
        assert_eq!(period(&[0, 1, 0, 1, 0]), [0, 1]);
        assert_eq!(period(&[3, 3, 3]), [3]);
        assert_eq!(period(&[1, 2, 3]), [1, 2, 3]);
        assert!(period(&[]).is_empty());
    }
}
