//! Counters of Amazon's virtual disks: log page 0xD0 of their NVMe devices.
//!
//! The page reports how long demand exceeded the limits of the volume and those of the instance, so
//! it shows which limit was reached. Nitro instances have it for EBS volumes and instance stores;
//! reading needs root. Layout: facts from the driver of aws-ebs-csi (`pkg/metrics/nvme.go`) and
//! from the CloudWatch documentation ("EBS volumes and instance store metrics"): twelve
//! little-endian words of eight bytes, 416 reserved bytes, then two histograms, each a count and 64
//! classes, for reads and for writes; times in microseconds.

use std::path::Path;

use model::Nanos;
use model::environment::{VolumeLatency, VolumeUse};

use super::System;
use crate::sys::nvme;

/// Log page number.
const PAGE: u8 = 0xd0;
/// Bytes read from the page.
const LENGTH: usize = 4096;
/// The first word of an EBS volume's page.
const EBS: u32 = 0x3c23_b510;
/// The first word of an instance store's page.
const INSTANCE_STORE: u32 = 0xec2c_0d7e;
/// Vendor of the PCI devices.
const AMAZON: &str = "0x1d0f";
const WORDS: usize = 12;
const FIRST_HISTOGRAM: usize = 512;
const MAX_CLASSES: usize = 64;
const HISTOGRAM: usize = 8 + MAX_CLASSES * 24;

/// The counters of one virtual disk at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeCounters {
    provider: &'static str,
    words: [u64; WORDS],
    read_latency: Vec<VolumeLatency>,
    write_latency: Vec<VolumeLatency>,
}

impl VolumeCounters {
    /// Reads the counters of a device (`nvme1n1`); `None` if it is not Amazon's or reports none.
    pub fn read(system: &System, name: &str) -> Option<VolumeCounters> {
        let at = format!("/sys/block/{name}/device");
        let model = system.read_trimmed(&format!("{at}/model"))?;
        let vendor = system.read_trimmed(&format!("{at}/device/vendor"))?;
        if !model.starts_with("Amazon ") || vendor != AMAZON {
            return None;
        }
        let page = nvme::log_page(&Path::new("/dev").join(name), PAGE, nvme::FIRST_NAMESPACE, LENGTH).ok()?;
        VolumeCounters::parse(&page[..])
    }

    /// Parses the page; `None` if it is invalid.
    pub fn parse(page: &[u8]) -> Option<VolumeCounters> {
        if page.len() < FIRST_HISTOGRAM + 2 * HISTOGRAM {
            return None;
        }
        let mut words = [0; WORDS];
        for (index, word) in words.iter_mut().enumerate() {
            *word = word_at(page, index * 8)?;
        }
        // The upper half of the first word is reserved.
        let provider = match words[0] as u32 {
            EBS => "Amazon EBS",
            INSTANCE_STORE => "Amazon instance store",
            _ => return None,
        };
        Some(VolumeCounters {
            provider,
            words,
            read_latency: parse_histogram(page, FIRST_HISTOGRAM)?,
            write_latency: parse_histogram(page, FIRST_HISTOGRAM + HISTOGRAM)?,
        })
    }

    /// Use since an earlier reading of the same volume; `None` if the counters were reset in
    /// between.
    pub fn since(&self, earlier: &VolumeCounters, name: &str) -> Option<VolumeUse> {
        if self.provider != earlier.provider {
            return None;
        }
        let word = |index: usize| self.words[index].checked_sub(earlier.words[index]);
        let time = |index: usize| Some(Nanos(word(index)?.saturating_mul(1000)));
        Some(VolumeUse {
            name: name.to_owned(),
            targets: Vec::new(),
            provider: self.provider.to_owned(),
            operations: [word(1)?, word(2)?],
            bytes: [word(3)?, word(4)?],
            time_ns: [time(5)?, time(6)?],
            volume_iops_exceeded_ns: time(7)?,
            volume_throughput_exceeded_ns: time(8)?,
            instance_iops_exceeded_ns: time(9)?,
            instance_throughput_exceeded_ns: time(10)?,
            queue_length: self.words[11],
            read_latency: classes_since(&self.read_latency, &earlier.read_latency)?,
            write_latency: classes_since(&self.write_latency, &earlier.write_latency)?,
        })
    }
}

fn word_at(page: &[u8], at: usize) -> Option<u64> {
    let bytes = page.get(at..at + 8)?;
    bytes.try_into().ok().map(u64::from_le_bytes)
}

fn parse_histogram(page: &[u8], at: usize) -> Option<Vec<VolumeLatency>> {
    let classes = usize::try_from(word_at(page, at)?)
        .ok()
        .filter(|count| *count <= MAX_CLASSES)?;
    let class = |number: usize| {
        let at = at + 8 + number * 24;
        let micros = |value: u64| Nanos(value.saturating_mul(1000));
        Some(VolumeLatency {
            low_ns: micros(word_at(page, at)?),
            high_ns: micros(word_at(page, at + 8)?),
            count: word_at(page, at + 16)?,
        })
    };
    (0..classes).map(class).collect()
}

fn classes_since(now: &[VolumeLatency], then: &[VolumeLatency]) -> Option<Vec<VolumeLatency>> {
    let class = |(number, class): (usize, &VolumeLatency)| {
        let before = then.get(number).filter(|before| before.low_ns == class.low_ns);
        let count = class.count.checked_sub(before.map_or(0, |before| before.count))?;
        Some(VolumeLatency { count, ..*class })
    };
    let classes: Option<Vec<VolumeLatency>> = now.iter().enumerate().map(class).collect();
    classes.map(|classes| classes.into_iter().filter(|class| class.count > 0).collect())
}

#[cfg(test)]
mod tests {
    use super::super::system::tree;
    use super::*;

    /// A page with these words at its start and one class in each histogram.
    fn page(words: [u64; WORDS], reads: u64, writes: u64) -> Vec<u8> {
        let mut page = vec![0u8; 4096];
        let mut put = |at: usize, value: u64| page[at..at + 8].copy_from_slice(&value.to_le_bytes());
        for (index, word) in words.iter().enumerate() {
            put(index * 8, *word);
        }
        for (at, count) in [(512, reads), (2056, writes)] {
            put(at, 2);
            put(at + 8, 0);
            put(at + 16, 128);
            put(at + 24, 0);
            put(at + 32, 128);
            put(at + 40, 256);
            put(at + 48, count);
        }
        page
    }

    const BEFORE: [u64; WORDS] = [0x3c23_b510, 10, 20, 4096, 8192, 1000, 2000, 50, 60, 70, 80, 3];
    const AFTER: [u64; WORDS] = [
        0x3c23_b510, 110, 220, 413_696, 827_392, 2000, 4000, 1050, 60, 2_000_070, 80, 7,
    ];

    #[test]
    fn two_readings_of_a_volume_are_subtracted() {
        let (before, after) = (page(BEFORE, 5, 6), page(AFTER, 105, 206));
        let before = VolumeCounters::parse(&before).unwrap();
        let used = VolumeCounters::parse(&after)
            .unwrap()
            .since(&before, "nvme1n1")
            .unwrap();
        assert_eq!(used.provider, "Amazon EBS");
        assert_eq!((used.operations, used.bytes), ([100, 200], [409_600, 819_200]));
        assert_eq!(used.time_ns, [Nanos::millis(1), Nanos::millis(2)]);
        assert_eq!(used.volume_iops_exceeded_ns, Nanos::millis(1));
        assert_eq!(used.volume_throughput_exceeded_ns, Nanos(0));
        assert_eq!(used.instance_iops_exceeded_ns, Nanos::secs(2));
        assert_eq!(used.queue_length, 7);
        let class = VolumeLatency {
            low_ns: Nanos::micros(128),
            high_ns: Nanos::micros(256),
            count: 100,
        };
        assert_eq!(used.read_latency, [class]);
        assert_eq!(used.write_latency, [VolumeLatency { count: 200, ..class }]);
    }

    #[test]
    fn other_pages_are_rejected() {
        let foreign = page([7; WORDS], 0, 0);
        assert_eq!(VolumeCounters::parse(&foreign), None);
        assert_eq!(VolumeCounters::parse(&page(BEFORE, 1, 1)[..3599]), None);
        assert_eq!(VolumeCounters::parse(&[]), None);
        let mut too_many = page(BEFORE, 1, 1);
        too_many[512] = 65;
        assert_eq!(VolumeCounters::parse(&too_many), None);
    }

    #[test]
    fn reset_counters_give_no_difference() {
        let (before, after) = (page(AFTER, 5, 6), page(BEFORE, 5, 6));
        let before = VolumeCounters::parse(&before).unwrap();
        assert_eq!(VolumeCounters::parse(&after).unwrap().since(&before, "nvme1n1"), None);
    }

    #[test]
    fn an_instance_store_is_recognised() {
        let mut words = BEFORE;
        words[0] = 0xec2c_0d7e;
        let store = VolumeCounters::parse(&page(words, 0, 0)).unwrap();
        assert_eq!(
            store.since(&store, "nvme2n1").unwrap().provider,
            "Amazon instance store"
        );
        let volume = VolumeCounters::parse(&page(BEFORE, 0, 0)).unwrap();
        assert_eq!(store.since(&volume, "nvme2n1"), None);
    }

    #[test]
    fn disks_of_other_vendors_are_not_queried() {
        let (_root, system) = tree(&[
            ("sys/block/nvme0n1/device/model", "Samsung SSD 990 PRO\n"),
            ("sys/block/nvme0n1/device/device/vendor", "0x144d\n"),
        ]);
        assert_eq!(VolumeCounters::read(&system, "nvme0n1"), None);
        assert_eq!(VolumeCounters::read(&system, "vda"), None);
    }
}
