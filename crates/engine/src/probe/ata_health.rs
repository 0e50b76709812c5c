//! Reads the health of ATA disks (SMART).
//!
//! SMART RETURN STATUS (T13 ACS) returns the overall health. Attributes and thresholds are no
//! longer part of that standard: disks still use the layout of ATA-3 (SFF-8035i), and attribute
//! numbers mean what most vendors use them for. CHECK POWER MODE, which changes nothing, comes
//! first. A disk that has spun down receives no further query, because reading its attributes would
//! wake it. All queries need root.

use std::path::Path;

use model::environment::Health;

use super::System;
use super::rotation::is_rotational;
use crate::sys::ata::{BLOCK, Disk, Query, Response};

/// Attributes in a block, and bytes per attribute.
const ATTRIBUTES: usize = 30;
const LENGTH: usize = 12;

/// Numbers of SMART attributes.
const REALLOCATED: u8 = 5;
const TEMPERATURES: [u8; 2] = [194, 190];
const PENDING: u8 = 197;
const UNCORRECTABLE: u8 = 198;
const LINK_ERRORS: u8 = 199;
/// Remaining life of flash memory, by vendor: the first attribute present is used.
const LIFE_LEFT: [u8; 4] = [202, 177, 231, 233];

/// Registers of a disk after a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Registers {
    status: u8,
    count: u8,
    lba_middle: u8,
    lba_high: u8,
}

/// One SMART attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Attribute {
    number: u8,
    /// Pre-failure attribute rather than an age attribute.
    is_prefailure: bool,
    value: u8,
    raw: u64,
}

/// Reads the health of a disk, by its kernel name. `None` if it is not an ATA disk, sleeps, reports
/// nothing or denies access.
pub(super) fn read(system: &System, name: &str) -> Option<Health> {
    if !may_be_opened(system, name) {
        return None;
    }
    let disk = Disk::open(&Path::new("/dev").join(name)).ok()?;
    let spins = is_rotational(system, name, super::blocks::model(system, name).as_deref());
    read_health(&|query| disk.query(query).ok(), spins)
}

/// True for an ATA disk that the kernel has not suspended. Opening a suspended disk would wake it.
fn may_be_opened(system: &System, name: &str) -> bool {
    let word = |file: &str| system.read_trimmed(&format!("/sys/class/block/{name}/device/{file}"));
    word("vendor").as_deref() == Some("ATA") && word("power/runtime_status").as_deref() != Some("suspended")
}

/// Queries a disk, in an order that never wakes it.
fn read_health(disk: &dyn Fn(Query) -> Option<Response>, spins: bool) -> Option<Health> {
    if !is_awake(parse_registers(&disk(Query::PowerMode)?)?) {
        return None;
    }
    let fails = disk(Query::SmartStatus)
        .and_then(|answer| parse_registers(&answer))
        .and_then(predicts_failure);
    let block = |question| disk(question)?.block.filter(|block| has_valid_checksum(block));
    let (data, thresholds) = (block(Query::SmartData), block(Query::SmartThresholds));
    health(fails, data.as_deref(), thresholds.as_deref(), spins)
}

/// Extracts the registers from the sense data of a response, in descriptor or fixed format (T10
/// SAT, ATA status return).
fn parse_registers(answer: &Response) -> Option<Registers> {
    const ERROR: u8 = 0x01;
    const FAULT: u8 = 0x20;
    let sense = &answer.sense[..];
    let registers = match sense.first()? & 0x7f {
        0x72 | 0x73 => {
            let mut rest = sense.get(8..)?;
            // Each descriptor: type, length, bytes.
            while *rest.first()? != 0x09 {
                rest = rest.get(2 + usize::from(*rest.get(1)?)..)?;
            }
            Registers {
                count: *rest.get(5)?,
                lba_middle: *rest.get(9)?,
                lba_high: *rest.get(11)?,
                status: *rest.get(13)?,
            }
        }
        // These fields are registers only with the code ATA PASS THROUGH INFORMATION AVAILABLE.
        0x70 | 0x71 if sense.get(12..14)? == [0x00, 0x1d] => Registers {
            status: sense[4],
            count: sense[6],
            lba_middle: sense[10],
            lba_high: sense[11],
        },
        _ => return None,
    };
    (registers.status & (ERROR | FAULT) == 0).then_some(registers)
}

/// True if the disk spins. False in standby, and if only the flash cache of a hybrid disk is
/// active.
fn is_awake(registers: Registers) -> bool {
    !matches!(registers.count, 0x00 | 0x01 | 0x40)
}

/// A disk that expects to fail returns two swapped bytes. `None` if it returns neither pair.
fn predicts_failure(registers: Registers) -> Option<bool> {
    match (registers.lba_middle, registers.lba_high) {
        (0x4f, 0xc2) => Some(false),
        (0xf4, 0x2c) => Some(true),
        _ => None,
    }
}

/// True if the checksum of a block is valid: the sum of its bytes is 0.
fn has_valid_checksum(block: &[u8; BLOCK]) -> bool {
    block.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte)) == 0 && block.iter().any(|byte| *byte != 0)
}

/// Entries of a block of attributes or of thresholds.
fn entries(block: &[u8; BLOCK]) -> impl Iterator<Item = &[u8]> {
    let entries = block[2..2 + ATTRIBUTES * LENGTH].chunks_exact(LENGTH);
    entries.filter(|entry| entry[0] != 0)
}

fn parse_attributes(block: &[u8; BLOCK]) -> Vec<Attribute> {
    let parse_attribute = |entry: &[u8]| {
        let mut raw = [0; 8];
        raw[..6].copy_from_slice(&entry[5..11]);
        Attribute {
            number: entry[0],
            is_prefailure: entry[1] & 1 == 1,
            value: entry[3],
            raw: u64::from_le_bytes(raw),
        }
    };
    entries(block).map(parse_attribute).collect()
}

fn health(
    fails: Option<bool>,
    data: Option<&[u8; BLOCK]>,
    thresholds: Option<&[u8; BLOCK]>,
    spins: bool,
) -> Option<Health> {
    if fails.is_none() && data.is_none() {
        return None;
    }
    let attributes = data.map(parse_attributes).unwrap_or_default();
    let raw = |number: u8| {
        attributes
            .iter()
            .find(|attribute| attribute.number == number)
            .map(|attribute| attribute.raw)
    };
    let mut problems = Vec::new();
    if fails == Some(true) {
        problems.push("it predicts its own failure".to_owned());
    }
    let limits: Vec<(u8, u8)> = thresholds.map_or(Vec::new(), |block| {
        entries(block).map(|entry| (entry[0], entry[1])).collect()
    });
    problems.extend(
        attributes
            .iter()
            .filter_map(|attribute| threshold_problem(attribute, &limits)),
    );
    // Some vendors store other values in the upper bytes.
    let reallocated = raw(REALLOCATED).map(|raw| raw & 0xffff);
    let (pending, uncorrectable) = (raw(PENDING), raw(UNCORRECTABLE));
    // Flash memory replaces worn blocks without additional seeks.
    if let Some(count) = reallocated.filter(|count| *count > 0 && spins) {
        problems.push(format!(
            "{count} sectors were reallocated, which costs additional seeks"
        ));
    }
    if let Some(count) = pending.filter(|count| *count > 0) {
        problems.push(format!("{count} unreadable sectors await reallocation"));
    }
    if let Some(count) = uncorrectable.filter(|count| *count > 0) {
        problems.push(format!("{count} media errors could not be corrected"));
    }
    Some(Health {
        source: "SMART".into(),
        problems,
        celsius: TEMPERATURES.iter().find_map(|number| parse_celsius(raw(*number)?)),
        used_percent: if spins { None } else { used(&attributes) },
        spare_percent: None,
        media_errors: uncorrectable,
        reallocated_sectors: reallocated,
        pending_sectors: pending,
        link_errors: raw(LINK_ERRORS),
    })
}

/// Reports an attribute at or below its threshold. 0, 254 and 255 are not valid thresholds or
/// values.
fn threshold_problem(attribute: &Attribute, limits: &[(u8, u8)]) -> Option<String> {
    const REAL: std::ops::RangeInclusive<u8> = 1..=253;
    let Attribute { number, value, .. } = *attribute;
    let (_, limit) = *limits.iter().find(|(limit_number, _)| *limit_number == number)?;
    if !REAL.contains(&limit) || !REAL.contains(&value) || value > limit {
        return None;
    }
    let meaning = match attribute.is_prefailure {
        true => "failure is imminent",
        false => "the design life is over",
    };
    let name = name(number);
    Some(format!(
        "{name} (attribute {number}) is down to {value}, and the threshold is {limit}: {meaning}"
    ))
}

fn name(number: u8) -> &'static str {
    match number {
        1 => "read error rate",
        3 => "spin-up time",
        REALLOCATED => "reallocated sectors",
        7 => "seek error rate",
        10 => "spin-up retries",
        184 => "errors between interface and media",
        187 => "uncorrected errors",
        190 | 194 => "the temperature",
        PENDING => "sectors pending reallocation",
        UNCORRECTABLE => "uncorrectable sectors",
        LINK_ERRORS => "cable errors",
        202 | 177 | 231 | 233 => "remaining life",
        _ => "an unnamed attribute",
    }
}

/// Temperature from the lowest byte. The other bytes contain minimum and maximum, or nothing.
fn parse_celsius(raw: u64) -> Option<i32> {
    let degrees = (raw & 0xff) as i32;
    (1..=125).contains(&degrees).then_some(degrees)
}

/// Used life in percent. The normalized value counts down from 100 to 1.
fn used(attributes: &[Attribute]) -> Option<u32> {
    let find_attribute = |number: &u8| attributes.iter().find(|attribute| attribute.number == *number);
    let life_left = LIFE_LEFT.iter().find_map(find_attribute)?.value;
    (1..=100).contains(&life_left).then(|| 100 - u32::from(life_left))
}

#[cfg(test)]
mod tests {
    use super::super::system::tree;
    use super::*;

    /// A register descriptor in SAT's layout: 0x72, recovered error, 00h/1Dh, fourteen bytes of
    /// descriptors.
    fn descriptor(count: u8, middle: u8, high: u8, status: u8) -> Response {
        let mut sense = vec![0x72, 0x01, 0x00, 0x1d, 0, 0, 0, 14, 0x09, 0x0c, 0, 0, 0, count];
        sense.extend([0, 0, 0, middle, 0, high, 0xa0, status]);
        check_condition(sense)
    }

    fn check_condition(sense: Vec<u8>) -> Response {
        Response {
            status: 2,
            sense,
            block: None,
        }
    }

    /// The same in fixed format.
    fn fixed(count: u8, middle: u8, high: u8, status: u8) -> Response {
        check_condition(vec![
            0x70, 0, 0x01, 0, status, 0xa0, count, 10, 0, 0, middle, high, 0x00, 0x1d, 0, 0, 0, 0,
        ])
    }

    /// A block of entries, with the byte that makes its sum zero.
    fn block(list: &[[u8; LENGTH]]) -> Box<[u8; BLOCK]> {
        let mut block = Box::new([0; BLOCK]);
        block[0] = 16;
        for (number, entry) in list.iter().enumerate() {
            block[2 + number * LENGTH..][..LENGTH].copy_from_slice(entry);
        }
        let sum = block.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte));
        block[BLOCK - 1] = sum.wrapping_neg();
        block
    }

    fn attribute(number: u8, flags: u8, value: u8, raw: u64) -> [u8; LENGTH] {
        let raw = raw.to_le_bytes();
        let mut entry = [0; LENGTH];
        (entry[0], entry[1], entry[3], entry[4]) = (number, flags, value, value);
        entry[5..11].copy_from_slice(&raw[..6]);
        entry
    }

    fn threshold(number: u8, limit: u8) -> [u8; LENGTH] {
        let mut entry = [0; LENGTH];
        (entry[0], entry[1]) = (number, limit);
        entry
    }

    /// A mock disk.
    struct Mock {
        power: Response,
        status: Response,
        data: Option<Box<[u8; BLOCK]>>,
        thresholds: Option<Box<[u8; BLOCK]>>,
    }

    impl Mock {
        /// Awake and healthy.
        fn with(data: &[[u8; LENGTH]], thresholds: &[[u8; LENGTH]]) -> Mock {
            Mock {
                power: descriptor(0xff, 0, 0, 0x50),
                status: descriptor(0, 0x4f, 0xc2, 0x50),
                data: Some(block(data)),
                thresholds: Some(block(thresholds)),
            }
        }

        fn asked(&self, spins: bool) -> (Option<Health>, Vec<Query>) {
            let asked = std::cell::RefCell::new(Vec::new());
            let answer = |question| {
                asked.borrow_mut().push(question);
                let block = |block: &Option<Box<[u8; BLOCK]>>| Response {
                    status: 0,
                    sense: Vec::new(),
                    block: block.clone(),
                };
                Some(match question {
                    Query::PowerMode => self.power.clone(),
                    Query::SmartStatus => self.status.clone(),
                    Query::SmartData => block(&self.data),
                    Query::SmartThresholds => block(&self.thresholds),
                })
            };
            let health = read_health(&answer, spins);
            (health, asked.into_inner())
        }

        fn health(&self) -> Health {
            self.asked(true).0.expect("it tells")
        }
    }

    /// A healthy spinning disk.
    fn sound() -> Mock {
        let data = [
            attribute(1, 0x0f, 118, 170_000_000),
            attribute(5, 0x33, 100, 0),
            attribute(194, 0x22, 34, 0x0012_0000_0022),
            attribute(197, 0x12, 100, 0),
            attribute(198, 0x10, 100, 0),
            attribute(199, 0x3e, 200, 3),
        ];
        let thresholds = [threshold(1, 6), threshold(5, 36), threshold(194, 0), threshold(197, 0)];
        Mock::with(&data, &thresholds)
    }

    #[test]
    fn a_healthy_disk_has_no_problems() {
        let health = sound().health();
        assert_eq!(health.problems, Vec::<String>::new());
        assert_eq!((health.source.as_str(), health.celsius), ("SMART", Some(34)));
        assert_eq!((health.reallocated_sectors, health.pending_sectors), (Some(0), Some(0)));
        assert_eq!((health.media_errors, health.link_errors), (Some(0), Some(3)));
        assert_eq!(health.used_percent, None, "writes do not wear out rotating disks");
    }

    #[test]
    fn overall_health_is_read_from_the_registers() {
        for answer in [descriptor, fixed] {
            let mut mock = sound();
            mock.status = answer(0, 0xf4, 0x2c, 0x50);
            assert_eq!(mock.health().problems, ["it predicts its own failure"]);
            // Neither pair of bytes, or an aborted command, reports nothing. The attributes still
            // count.
            mock.status = answer(0, 0, 0, 0x50);
            assert!(mock.health().problems.is_empty());
            mock.status = answer(0, 0xf4, 0x2c, 0x51);
            assert!(mock.health().problems.is_empty());
        }
        let other = [&[0x72, 1, 0, 0x1d, 0, 0, 0, 20, 0x00, 4, 0, 0, 0, 0][..], &[0x09, 0x0c]].concat();
        let mut behind = descriptor(0, 0xf4, 0x2c, 0x50);
        behind.sense = [&other[..], &behind.sense[10..]].concat();
        assert_eq!(
            parse_registers(&behind).and_then(predicts_failure),
            Some(true),
            "another descriptor comes first"
        );
    }

    #[test]
    fn attributes_at_their_threshold_are_reported() {
        let mut mock = sound();
        mock.data = Some(block(&[
            attribute(5, 0x33, 36, 1400),
            attribute(9, 0x32, 1, 70_000),
            attribute(22, 0x01, 37, 0),
        ]));
        mock.thresholds = Some(block(&[threshold(5, 36), threshold(9, 1), threshold(22, 36)]));
        assert_eq!(
            mock.health().problems,
            [
                "reallocated sectors (attribute 5) is down to 36, and the threshold is 36: failure is imminent",
                "an unnamed attribute (attribute 9) is down to 1, and the threshold is 1: the design life is over",
                "1400 sectors were reallocated, which costs additional seeks",
            ]
        );
        // 0, 254 and 255 are not thresholds.
        for limit in [0, 254, 255] {
            mock.thresholds = Some(block(&[threshold(5, limit), threshold(22, limit)]));
            assert_eq!(mock.health().problems.len(), 1, "{limit}");
        }
    }

    #[test]
    fn bad_sectors_are_reported() {
        let mut mock = sound();
        mock.data = Some(block(&[
            attribute(5, 0x33, 99, 0x0007_0000_0008),
            attribute(197, 0x12, 100, 8),
            attribute(198, 0x10, 100, 2),
        ]));
        let health = mock.health();
        assert_eq!(
            health.problems,
            [
                "8 sectors were reallocated, which costs additional seeks",
                "8 unreadable sectors await reallocation",
                "2 media errors could not be corrected",
            ]
        );
        assert_eq!((health.reallocated_sectors, health.media_errors), (Some(8), Some(2)));
        let flash = mock.asked(false).0.unwrap();
        assert_eq!(
            flash.problems.len(),
            2,
            "flash memory needs no additional seeks: {flash:?}"
        );
    }

    #[test]
    fn used_life_is_a_hundred_minus_the_value() {
        for (number, value, expected) in [
            (177, 93, Some(7)),
            (202, 100, Some(0)),
            (231, 1, Some(99)),
            (233, 0, None),
        ] {
            let mock = Mock::with(&[attribute(number, 0x33, value, 1 << 40)], &[]);
            assert_eq!(mock.asked(false).0.unwrap().used_percent, expected, "{number}");
        }
        let two = [attribute(233, 0, 60, 0), attribute(202, 0, 80, 0)];
        let mock = Mock::with(&two, &[]);
        assert_eq!(mock.asked(false).0.unwrap().used_percent, Some(20));
    }

    #[test]
    fn a_sleeping_disk_receives_no_further_query() {
        for asleep in [0x00, 0x01, 0x40] {
            let mut mock = sound();
            mock.power = descriptor(asleep, 0, 0, 0x50);
            assert_eq!(mock.asked(true), (None, vec![Query::PowerMode]), "{asleep:#x}");
        }
        for awake in [0x41, 0x80, 0x81, 0x83, 0xff] {
            let mut mock = sound();
            mock.power = fixed(awake, 0, 0, 0x50);
            assert_eq!(mock.asked(true).1.len(), 4, "{awake:#x}");
        }
        // Only a disk known to rotate may be skipped.
        let mut mock = sound();
        mock.power.sense.clear();
        assert_eq!(mock.asked(true), (None, vec![Query::PowerMode]));
    }

    #[test]
    fn a_disk_that_refuses_has_unknown_health() {
        let mut mock = sound();
        (mock.data, mock.thresholds) = (None, None);
        mock.status = descriptor(0, 0x4f, 0xc2, 0x51);
        assert_eq!(mock.asked(true).0, None);
        // Blocks with a wrong checksum or of zeros are ignored.
        let mut wrong = block(&[attribute(197, 0, 100, 8)]);
        wrong[100] ^= 1;
        mock.data = Some(wrong);
        assert_eq!(mock.asked(true).0, None);
        mock.data = Some(Box::new([0; BLOCK]));
        assert_eq!(mock.asked(true).0, None);
        // A disk that reports only its overall status has that health.
        mock.status = descriptor(0, 0x4f, 0xc2, 0x50);
        let health = mock.asked(true).0.unwrap();
        assert_eq!(
            (health.problems.len(), health.celsius, health.media_errors),
            (0, None, None)
        );
        assert_eq!(read_health(&|_| None, true), None);
    }

    #[test]
    fn only_ata_disks_that_are_awake_are_opened() {
        let may = |vendor: &str, state: &str| {
            let (_root, system) = tree(&[
                ("sys/class/block/sda/device/vendor", vendor),
                ("sys/class/block/sda/device/power/runtime_status", state),
            ]);
            may_be_opened(&system, "sda")
        };
        assert!(may("ATA     \n", "active\n"));
        assert!(may("ATA     \n", "unsupported\n"));
        assert!(!may("ATA     \n", "suspended\n"));
        assert!(!may("QEMU    \n", "active\n"));
        assert!(!may_be_opened(&tree(&[]).1, "sda"));
    }
}
