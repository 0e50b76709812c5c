//! Values of a time span that DiskSpd 2.3 added. Their XML elements and their lines in text reports
//! are in `xml/elements.rs`.

use model::environment::LogicalCpu;
use model::plan::BypassIo;

use super::numbers;

/// The DiskSpd version whose switches are accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// 2.2.
    #[default]
    V2_2,
    /// 2.3.
    V2_3,
}

/// The values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Newer {
    /// Operations use a submission ring (`-u`).
    pub ring: Option<Ring>,
    /// The maximum number of completions dequeued in one call (`-oc`).
    pub dequeue: Option<u32>,
    /// The distance between buffers (`-bs`); absent: the version's default.
    pub separation: Option<Separation>,
    /// The order of processors without a list (`-ac`, `-ap` …).
    pub order: CoreOrder,
    /// Reads bypass the filters of the file system (`-Sy`, `-SY`).
    pub bypass: Option<BypassIo>,
}

/// Options of the ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ring {
    /// Buffers are not registered with it (`n`).
    pub unregistered: bool,
    /// Operations submitted together; absent: automatic.
    pub batch: Option<u32>,
    /// The letter `p` follows the number.
    pub trailing_p: bool,
}

/// The distance between buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Separation {
    /// As the allocator places them (`-bsn`).
    System,
    /// The entries of the page directory that map them are in different cache lines (`-bsp`).
    PageDirectory,
    /// At least this many bytes (`-bs<size>`).
    Bytes(u64),
}

/// The order of processors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoreOrder {
    /// First one hardware thread of every core, then the second ones (`-ac`).
    pub cores: bool,
    /// Groups round-robin, rather than one after the other (`-as`).
    pub groups: bool,
    /// The kind of core that is first; absent: the version's default.
    pub kind: Option<KindOrder>,
}

/// The kind of core that is first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KindOrder {
    /// By number (`-aup`).
    Unordered,
    /// Fast cores first, within each group (`-ap`).
    FastInGroup,
    /// Fast cores first, over all groups (`-aP`).
    Fast,
    /// Frugal cores first, within each group (`-ae`).
    FrugalInGroup,
    /// Frugal cores first, over all groups (`-aE`).
    Frugal,
}

const KINDS: &[(KindOrder, &str)] = &[
    (KindOrder::Unordered, "up"),
    (KindOrder::FastInGroup, "p"),
    (KindOrder::Fast, "P"),
    (KindOrder::FrugalInGroup, "e"),
    (KindOrder::Frugal, "E"),
];

impl Newer {
    /// Fills in the defaults of 2.3.
    pub fn fill_defaults(&mut self) {
        self.separation.get_or_insert(Separation::PageDirectory);
        self.order.kind.get_or_insert(KindOrder::FastInGroup);
    }
}

impl Ring {
    /// Parses the value of `-u`.
    pub(super) fn read(text: &str) -> Option<Ring> {
        let (unregistered, rest) = text.strip_prefix('n').map_or((false, text), |rest| (true, rest));
        let (trailing_p, rest) = rest.strip_suffix('p').map_or((false, rest), |rest| (true, rest));
        let digits = rest.bytes().all(|byte| byte.is_ascii_digit());
        let batch = rest.parse().ok().filter(|batch| digits && *batch > 0);
        (batch.is_some() || text.is_empty()).then_some(Ring {
            unregistered,
            batch,
            trailing_p,
        })
    }

    /// Parses an XML element, which may turn the ring off as well.
    pub(super) fn read_element(text: &str) -> Option<Option<Ring>> {
        match text {
            "true" => Some(Some(Ring::default())),
            // Only this boolean of the schema turns the ring on.
            "false" | "1" | "0" => Some(None),
            _ => text.strip_prefix('u').and_then(Ring::read).map(Some),
        }
    }

    /// The text of the XML element.
    pub(super) fn to_text(self) -> String {
        let Some(batch) = self.batch else { return "true".into() };
        let letter = |set: bool, letter| if set { letter } else { "" };
        format!(
            "u{}{batch}{}",
            letter(self.unregistered, "n"),
            letter(self.trailing_p, "p")
        )
    }
}

/// Parses the XML element of BypassIO.
pub(super) fn read_bypass(text: &str) -> Option<BypassIo> {
    match text {
        "partial" => Some(BypassIo::Partial),
        "full" => Some(BypassIo::Full),
        _ => None,
    }
}

/// The text of the XML element of BypassIO.
pub(super) fn write_bypass(bypass: BypassIo) -> String {
    match bypass {
        BypassIo::Partial => "partial".into(),
        BypassIo::Full => "full".into(),
    }
}

impl Separation {
    /// Entries of a page directory map 2 MiB each, and a cache line holds eight of them.
    const PAGE_DIRECTORY_LINE: u64 = 16 << 20;
    /// The largest distance: an address space still holds many buffers this far apart.
    pub(super) const MAX: u64 = 1 << 30;

    /// Parses the value of `-bs`.
    pub(super) fn read(text: &str, block: u32) -> Result<Separation, String> {
        Ok(match text {
            "n" => Separation::System,
            "p" => Separation::PageDirectory,
            size => match numbers::parse_size(size, block)? {
                0 => return Err("Invalid integer".into()),
                bytes => Separation::Bytes(bytes),
            },
        })
    }

    /// The value of the switch.
    pub fn to_text(self) -> String {
        match self {
            Separation::System => "n".into(),
            Separation::PageDirectory => "p".into(),
            Separation::Bytes(bytes) => bytes.to_string(),
        }
    }

    /// The separation with this distance.
    pub fn from_bytes(bytes: u64) -> Separation {
        match bytes {
            0 => Separation::System,
            Separation::PAGE_DIRECTORY_LINE => Separation::PageDirectory,
            bytes => Separation::Bytes(bytes),
        }
    }

    /// The distance in bytes; 0 where the allocator decides.
    pub(super) fn bytes(self) -> u64 {
        match self {
            Separation::System => 0,
            Separation::PageDirectory => Separation::PAGE_DIRECTORY_LINE,
            Separation::Bytes(bytes) => bytes,
        }
    }
}

impl CoreOrder {
    /// Applies the letters after `-a`. Returns false and changes nothing if they are not an order.
    pub(super) fn read(&mut self, text: &str) -> bool {
        let (mut order, mut rest) = (*self, text);
        while !rest.is_empty() {
            let kind = KINDS
                .iter()
                .find_map(|(kind, letters)| Some((*kind, rest.strip_prefix(letters)?)));
            rest = match (kind, rest.as_bytes()[0]) {
                (Some((kind, after)), _) => {
                    order.kind = Some(kind);
                    after
                }
                (None, b'c') => {
                    order.cores = true;
                    &rest[1..]
                }
                (None, b's') => {
                    order.groups = true;
                    &rest[1..]
                }
                _ => return false,
            };
        }
        *self = order;
        true
    }

    /// Parses an XML element.
    pub(super) fn read_element(text: &str) -> Option<CoreOrder> {
        let mut order = CoreOrder::default();
        order.read(text).then_some(order)
    }

    /// The value of the switch.
    pub(super) fn to_text(self) -> String {
        let kind = KINDS.iter().find(|(kind, _)| Some(*kind) == self.kind);
        let mut text = String::new();
        text.extend(self.cores.then_some('c'));
        text.extend(self.groups.then_some('s'));
        text + kind.map_or("", |(_, letters)| letters)
    }

    /// Sorts processors in the order in which threads use them. A processor that is missing from
    /// the topology counts as a core.
    pub(super) fn arrange(self, cpus: &[u32], topology: &[LogicalCpu]) -> Vec<u32> {
        let entry = |cpu: u32| topology.iter().find(|entry| entry.cpu == cpu);
        let class = |cpu: u32| entry(cpu).map_or(0, |entry| i16::from(entry.efficiency_class));
        let rank = |cpu: u32, fast: bool| if fast { -class(cpu) } else { class(cpu) };
        let (class_in_group, class_overall) = match self.kind.unwrap_or(KindOrder::Unordered) {
            KindOrder::Unordered => (None, None),
            KindOrder::FastInGroup => (Some(true), None),
            KindOrder::FrugalInGroup => (Some(false), None),
            KindOrder::Fast => (None, Some(true)),
            KindOrder::Frugal => (None, Some(false)),
        };
        // The number of lower-numbered processors of the same core.
        let sibling = |cpu: u32| {
            let core = entry(cpu).map(|entry| entry.core);
            let before = cpus.iter().filter(|other| **other < cpu);
            before
                .filter(|other| core.is_some() && entry(**other).map(|entry| entry.core) == core)
                .count()
        };
        let mut keyed: Vec<_> = cpus
            .iter()
            .map(|&cpu| {
                let class_overall = class_overall.map(|fast| rank(cpu, fast));
                let sibling = if self.cores { sibling(cpu) } else { 0 };
                (
                    (class_overall, sibling),
                    cpu / 64,
                    class_in_group.map(|fast| rank(cpu, fast)),
                    cpu,
                )
            })
            .collect();
        keyed.sort_unstable();
        if self.groups {
            // The position in the group is the major key.
            let position_in_group = |index: usize| {
                let (major, group, ..) = keyed[index];
                keyed[..index]
                    .iter()
                    .filter(|other| (other.0, other.1) == (major, group))
                    .count()
            };
            let mut keyed_by_position: Vec<_> = (0..keyed.len())
                .map(|index| (keyed[index].0, position_in_group(index), keyed[index].1, keyed[index].3))
                .collect();
            keyed_by_position.sort_unstable();
            return keyed_by_position.into_iter().map(|(.., cpu)| cpu).collect();
        }
        keyed.into_iter().map(|(.., cpu)| cpu).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two fast cores of two threads each and two efficiency cores in each of two groups.
    fn machine() -> (Vec<u32>, Vec<LogicalCpu>) {
        let entry = |(number, &(core, efficiency_class)): (u32, &(u32, u8)), group: u32| LogicalCpu {
            cpu: 64 * group + number,
            core: 4 * group + core,
            efficiency_class,
            ..LogicalCpu::default()
        };
        let cores = [(0, 0), (1, 1), (1, 1), (2, 1), (2, 1), (3, 0)];
        let topology: Vec<LogicalCpu> = (0..2)
            .flat_map(|group| (0..).zip(&cores).map(move |numbered| entry(numbered, group)))
            .collect();
        (topology.iter().map(|entry| entry.cpu).collect(), topology)
    }

    #[track_caller]
    fn check(letters: &str, expected: &[u32]) {
        let (cpus, topology) = machine();
        let mut order = CoreOrder::default();
        assert!(order.read(letters), "{letters}");
        assert_eq!(order.arrange(&cpus, &topology), expected, "-a{letters}");
        // Without a topology all processors are equal.
        let arranged = order.arrange(&cpus[..6], &[]);
        assert_eq!(arranged, [0, 1, 2, 3, 4, 5], "-a{letters}");
    }

    #[test]
    fn processors_are_arranged_by_core_group_and_kind() {
        check("up", &[0, 1, 2, 3, 4, 5, 64, 65, 66, 67, 68, 69]);
        check("p", &[1, 2, 3, 4, 0, 5, 65, 66, 67, 68, 64, 69]);
        check("P", &[1, 2, 3, 4, 65, 66, 67, 68, 0, 5, 64, 69]);
        check("e", &[0, 5, 1, 2, 3, 4, 64, 69, 65, 66, 67, 68]);
        check("E", &[0, 5, 64, 69, 1, 2, 3, 4, 65, 66, 67, 68]);
        check("c", &[0, 1, 3, 5, 64, 65, 67, 69, 2, 4, 66, 68]);
        check("s", &[0, 64, 1, 65, 2, 66, 3, 67, 4, 68, 5, 69]);
        check("csP", &[1, 65, 3, 67, 2, 66, 4, 68, 0, 64, 5, 69]);
        assert!(!CoreOrder::default().read("cx") && !CoreOrder::default().read("u"));
    }
}
