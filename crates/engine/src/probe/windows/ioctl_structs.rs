//! Parses the output of Windows storage drivers. The structures are those of `winioctl.h` and
//! `ntddvol.h`, read at their offsets on 64-bit systems. A field beyond the end of the output is
//! `None`.

use model::Bytes;
use model::environment::{Allocation, Device};

use super::storage::{Extent, Layout, PartitionEntry, PartitionId, PartitionType};

/// The bytes of a structure, read by offset.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl Fields<'_> {
    fn u8(&self, at: usize) -> Option<u8> {
        self.0.get(at).copied()
    }

    pub(super) fn u16(&self, at: usize) -> Option<u16> {
        let bytes = self.0.get(at..at.checked_add(2)?)?;
        bytes.try_into().ok().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&self, at: usize) -> Option<u32> {
        let bytes = self.0.get(at..at.checked_add(4)?)?;
        bytes.try_into().ok().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&self, at: usize) -> Option<u64> {
        let bytes = self.0.get(at..at.checked_add(8)?)?;
        bytes.try_into().ok().map(u64::from_le_bytes)
    }

    fn guid(&self, at: usize) -> Option<[u8; 16]> {
        self.0.get(at..at.checked_add(16)?)?.try_into().ok()
    }

    /// Reads a zero-terminated text of single bytes. `None` if the offset is 0 or the text is
    /// empty.
    fn text(&self, at: usize) -> Option<String> {
        let bytes = self.0.get(at..).filter(|_| at > 0)?;
        let text = bytes.split(|byte| *byte == 0).next()?;
        let text = String::from_utf8_lossy(text).trim().to_owned();
        (!text.is_empty()).then_some(text)
    }
}

/// Parses `STORAGE_DEVICE_NUMBER`: disk and partition; `None` for other devices.
pub fn partition_id(bytes: &[u8]) -> Option<PartitionId> {
    /// `FILE_DEVICE_DISK`.
    const DISK: u32 = 7;
    /// Drivers without partitions return −1.
    const NONE: u32 = u32::MAX;
    let output = Fields(bytes);
    (output.u32(0)? == DISK).then_some(())?;
    Some(PartitionId {
        disk: output.u32(4)?,
        partition: output.u32(8).filter(|number| *number != NONE)?,
    })
}

/// Parses `GET_LENGTH_INFORMATION`.
pub fn length(bytes: &[u8]) -> Option<u64> {
    Fields(bytes).u64(0)
}

/// Parses `VOLUME_DISK_EXTENTS`.
pub fn extents(bytes: &[u8]) -> Option<Vec<Extent>> {
    let output = Fields(bytes);
    let count = output.u32(0)? as usize;
    let extent = |index: usize| {
        let at = 8 + index * 24;
        Some(Extent {
            disk: output.u32(at)?,
            start: output.u64(at + 8)?,
            length: output.u64(at + 16)?,
        })
    };
    (0..count).map(extent).collect()
}

/// Parses `DRIVE_LAYOUT_INFORMATION_EX`. Entries without a length are unused.
pub fn layout(bytes: &[u8]) -> Option<Layout> {
    const FIRST: usize = 48;
    const ENTRY: usize = 144;
    let output = Fields(bytes);
    let (style, count) = (output.u32(0)?, output.u32(4)? as usize);
    let entry = |index: usize| {
        let at = FIRST + index * ENTRY;
        let kind = match output.u32(at)? {
            0 => PartitionType::Mbr(output.u8(at + 32)?),
            1 => PartitionType::Gpt(output.guid(at + 32)?),
            _ => PartitionType::Unknown,
        };
        Some(PartitionEntry {
            number: output.u32(at + 24)?,
            start: output.u64(at + 8)?,
            length: output.u64(at + 16)?,
            is_bootable: matches!(kind, PartitionType::Mbr(_)) && output.u8(at + 33)? != 0,
            kind,
        })
    };
    let entries: Option<Vec<PartitionEntry>> = match style {
        0 | 1 => (0..count).map(entry).collect(),
        // PARTITION_STYLE_RAW: no table.
        _ => Some(Vec::new()),
    };
    let mut partitions = entries?;
    partitions.retain(|entry| entry.length > 0 && entry.kind != PartitionType::Mbr(0));
    Some(Layout {
        table: match style {
            0 => Some("MBR"),
            1 => Some("GPT"),
            _ => None,
        }
        .map(str::to_owned),
        partitions,
    })
}

/// Parses `GET_DISK_ATTRIBUTES`: whether a disk is offline, and whether it is read-only.
pub fn attributes(bytes: &[u8]) -> Option<(bool, bool)> {
    let bits = Fields(bytes).u64(8)?;
    Some((bits & 1 != 0, bits & 2 != 0))
}

/// Driver outputs about one disk. Each may be missing.
#[derive(Clone, Debug, Default)]
pub struct DiskProperties {
    /// `STORAGE_DEVICE_DESCRIPTOR`.
    pub descriptor: Option<Vec<u8>>,
    /// `STORAGE_ADAPTER_DESCRIPTOR`.
    pub adapter: Option<Vec<u8>>,
    /// `STORAGE_ACCESS_ALIGNMENT_DESCRIPTOR`.
    pub alignment: Option<Vec<u8>>,
    /// `DEVICE_SEEK_PENALTY_DESCRIPTOR`.
    pub seek_penalty: Option<Vec<u8>>,
    /// `STORAGE_WRITE_CACHE_PROPERTY`.
    pub write_cache: Option<Vec<u8>>,
    /// `DISK_GEOMETRY`.
    pub geometry: Option<Vec<u8>>,
    /// `GET_LENGTH_INFORMATION`.
    pub length: Option<Vec<u8>>,
}

/// Facts about a disk that may explain results.
pub fn device_facts(properties: &DiskProperties) -> Device {
    let read_u32 = |bytes: &Option<Vec<u8>>, at: usize| Fields(bytes.as_deref()?).u32(at);
    let descriptor = properties.descriptor.as_deref().map(Fields);
    let text = |at: usize| {
        let descriptor = descriptor?;
        descriptor.text(descriptor.u32(at)? as usize)
    };
    let (maker, product) = (text(12), text(16));
    let model = match (maker, product) {
        // A translation layer from ATA or NVMe to SCSI reports itself as the vendor.
        (Some(maker), Some(product)) if !["ATA", "NVMe"].contains(&maker.as_str()) => {
            Some(format!("{maker} {product}"))
        }
        (_, Some(product)) => Some(product),
        (maker, None) => maker,
    };
    let logical = sector(properties.alignment.as_deref(), properties.geometry.as_deref());
    let bus = descriptor.and_then(|output| output.u32(28)).and_then(bus);
    let details = [
        bus.map(str::to_owned),
        text(24).map(|serial| format!("serial {serial}")),
        text(20).map(|firmware| format!("firmware {firmware}")),
    ];
    let details: Vec<String> = details.into_iter().flatten().collect();
    // Virtual disks report a seek penalty by default.
    let virtual_kind = crate::probe::rotation::virtual_kind("", model.as_deref());
    let seeks = properties.seek_penalty.as_deref().and_then(|bytes| Fields(bytes).u8(8)) == Some(1);
    Device {
        size: Bytes(properties.length.as_deref().and_then(length).unwrap_or(0)),
        logical_sector: Bytes(u64::from(logical.unwrap_or(0))),
        physical_sector: Bytes(u64::from(read_u32(&properties.alignment, 20).or(logical).unwrap_or(0))),
        rotational: seeks && virtual_kind.is_none(),
        virtual_kind: virtual_kind.map(str::to_owned),
        model,
        largest_request: read_u32(&properties.adapter, 8)
            .filter(|size| *size > 0)
            .map(|size| Bytes(u64::from(size))),
        write_cache: write_cache(properties.write_cache.as_deref()).map(str::to_owned),
        kind: "disk".into(),
        detail: (!details.is_empty()).then(|| details.join(", ")),
        ..Device::default()
    }
}

/// The sector size for unbuffered I/O (`STORAGE_ACCESS_ALIGNMENT_DESCRIPTOR`, else
/// `DISK_GEOMETRY`).
pub fn sector(alignment: Option<&[u8]>, geometry: Option<&[u8]>) -> Option<u32> {
    let size_at = |bytes: Option<&[u8]>, at: usize| Fields(bytes?).u32(at).filter(|size| *size > 0);
    size_at(alignment, 16).or_else(|| size_at(geometry, 20))
}

/// Parses `STORAGE_WRITE_CACHE_PROPERTY`. Returns Linux's name of the cache mode.
fn write_cache(bytes: Option<&[u8]>) -> Option<&'static str> {
    let output = Fields(bytes?);
    match (output.u32(8)?, output.u32(12)?) {
        // WriteCacheDisabled, or WriteCacheTypeNone, or WriteCacheTypeWriteThrough.
        (_, 1) | (1, _) | (3, _) => Some("write through"),
        (2, 2) => Some("write back"),
        _ => None,
    }
}

/// `STORAGE_BUS_TYPE`, which begins with 1.
fn bus(number: u32) -> Option<&'static str> {
    const NAMES: [&str; 19] = [
        "SCSI", "ATAPI", "ATA", "IEEE 1394", "SSA", "Fibre Channel", "USB", "RAID", "iSCSI", "SAS", "SATA", "SD",
        "MMC", "virtual", "virtual disk file", "Storage Spaces", "NVMe", "persistent memory", "UFS",
    ];
    NAMES.get(number.checked_sub(1)? as usize).copied()
}

/// The counters of `DISK_PERFORMANCE`. Times are in 100 ns, numbers of requests wrap at 32 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskCounters {
    /// Bytes: read, written.
    pub bytes: [u64; 2],
    /// Time of requests: read, written.
    pub time: [u64; 2],
    /// Time without a request.
    pub idle: u64,
    /// Requests: read, written.
    pub count: [u32; 2],
    /// Number of split requests.
    pub splits: u32,
    /// Time of the reading.
    pub at: u64,
}

/// Parses `DISK_PERFORMANCE`.
pub fn counters(bytes: &[u8]) -> Option<DiskCounters> {
    let output = Fields(bytes);
    Some(DiskCounters {
        bytes: [output.u64(0)?, output.u64(8)?],
        time: [output.u64(16)?, output.u64(24)?],
        idle: output.u64(32)?,
        count: [output.u32(40)?, output.u32(44)?],
        splits: output.u32(52)?,
        at: output.u64(56)?,
    })
}

/// Parses `FILE_ALLOCATED_RANGE_BUFFER`s: start and length of allocated ranges.
pub fn ranges(bytes: &[u8]) -> Vec<(u64, u64)> {
    let range = |at: usize| Some((Fields(bytes).u64(at)?, Fields(bytes).u64(at + 8)?));
    (0..bytes.len() / 16).filter_map(|index| range(index * 16)).collect()
}

/// Parses `RETRIEVAL_POINTERS_BUFFER`. Returns the first cluster, and for each extent the cluster
/// after its end in the file and its first cluster on the volume (−1 for a hole).
pub fn retrieval_pointers(bytes: &[u8]) -> Option<(u64, Vec<(u64, i64)>)> {
    let output = Fields(bytes);
    let (count, start) = (output.u32(0)? as usize, output.u64(8)?);
    let extent = |index: usize| {
        let at = 16 + index * 16;
        Some((output.u64(at)?, output.u64(at + 8)? as i64))
    };
    let extents: Option<Vec<(u64, i64)>> = (0..count).map(extent).collect();
    Some((start, extents?))
}

/// Parses `FILE_REGION_OUTPUT`: the end of the valid data, which starts at offset 0.
pub fn valid_length(bytes: &[u8]) -> Option<u64> {
    let output = Fields(bytes);
    let count = output.u32(8)? as usize;
    let region = |index: usize| {
        let at = 16 + index * 24;
        Some(output.u64(at)?.saturating_add(output.u64(at + 8)?))
    };
    let ends: Option<Vec<u64>> = (0..count).map(region).collect();
    Some(ends?.into_iter().max().unwrap_or(0))
}

/// Computes the allocation of a file of this size from its allocated ranges (start, length) and, if
/// known, the length of its valid data. Reads beyond the valid data return zeros without I/O.
pub fn allocation(size: u64, allocated: &[(u64, u64)], valid: Option<u64>, extents: u64) -> Allocation {
    let used: u64 = allocated.iter().map(|(_, length)| length).sum();
    let beyond = |valid: u64| -> u64 {
        let valid = valid.min(size);
        let parts = allocated.iter();
        parts
            .map(|(start, length)| (start + length).saturating_sub(valid.max(*start)))
            .sum()
    };
    Allocation {
        holes: Bytes(size.saturating_sub(used)),
        unwritten: Bytes(valid.map_or(0, beyond)),
        unwritten_unknown: valid.is_none(),
        extents,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds a structure of `length` bytes with words of 4 and 8 bytes at some offsets.
    fn bytes(length: usize, small: &[(usize, u32)], large: &[(usize, u64)]) -> Vec<u8> {
        let mut bytes = vec![0u8; length];
        for (at, value) in small {
            bytes[*at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
        for (at, value) in large {
            bytes[*at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn only_disks_have_a_device_number() {
        let check = |words: [u32; 3], expected: Option<(u32, u32)>| {
            let bytes = bytes(12, &[(0, words[0]), (4, words[1]), (8, words[2])], &[]);
            let actual = partition_id(&bytes).map(|id| (id.disk, id.partition));
            assert_eq!(actual, expected, "{words:?}");
        };
        check([7, 2, 3], Some((2, 3)));
        check([7, 0, 0], Some((0, 0)));
        check([2, 0, u32::MAX], None);
        check([7, 0, u32::MAX], None);
        assert_eq!(partition_id(&[7, 0, 0, 0]), None);
    }

    #[test]
    fn extents_of_a_volume_over_two_disks() {
        let mut output = bytes(
            56,
            &[(0, 2), (8, 1), (32, 4)],
            &[(16, 1 << 20), (24, 1 << 30), (40, 0), (48, 5)],
        );
        let parsed = extents(&output).unwrap();
        assert_eq!(parsed.iter().map(|extent| extent.disk).collect::<Vec<_>>(), [1, 4]);
        assert_eq!((parsed[0].start, parsed[0].length), (1 << 20, 1 << 30));
        output.truncate(40);
        assert_eq!(extents(&output), None, "a truncated output is rejected");
    }

    #[test]
    fn mbr_and_gpt_partitions_are_parsed() {
        let mut output = bytes(
            48 + 3 * 144,
            &[(0, 1), (4, 3), (48, 1), (48 + 24, 1), (192, 1), (192 + 24, 2)],
            &[
                (48 + 8, 1 << 20),
                (48 + 16, 100 << 20),
                (192 + 8, 101 << 20),
                (192 + 16, 1 << 30),
            ],
        );
        output[48 + 32..48 + 48].copy_from_slice(&super::super::storage::EFI_SYSTEM);
        let gpt = layout(&output).unwrap();
        assert_eq!(gpt.table.as_deref(), Some("GPT"));
        let numbers: Vec<(u32, u64)> = gpt
            .partitions
            .iter()
            .map(|entry| (entry.number, entry.length))
            .collect();
        assert_eq!(
            numbers,
            [(1, 100 << 20), (2, 1 << 30)],
            "the third entry of the table is unused"
        );
        assert_eq!(
            gpt.partitions[0].kind,
            PartitionType::Gpt(super::super::storage::EFI_SYSTEM)
        );
        let mut output = bytes(
            48 + 144,
            &[(0, 0), (4, 1), (48 + 24, 1)],
            &[(48 + 8, 1 << 20), (48 + 16, 1 << 30)],
        );
        (output[48 + 32], output[48 + 33]) = (7, 1);
        let mbr = layout(&output).unwrap();
        assert_eq!(mbr.partitions[0].kind, PartitionType::Mbr(7));
        assert!(mbr.partitions[0].is_bootable);
        let raw = layout(&bytes(48, &[(0, 2)], &[])).unwrap();
        assert_eq!((raw.table, raw.partitions.len()), (None, 0));
        assert_eq!(layout(&bytes(60, &[(0, 1), (4, 1)], &[])), None);
    }

    #[test]
    fn facts_of_a_disk() {
        let mut descriptor = bytes(128, &[(12, 40), (16, 50), (20, 70), (24, 80), (28, 17)], &[]);
        for (at, text) in [(40, "NVMe    "), (50, "SAMSUNG 990 PRO "), (70, "4B2Q"), (80, " S6Z1 ")] {
            descriptor[at..at + text.len()].copy_from_slice(text.as_bytes());
        }
        let device = device_facts(&DiskProperties {
            descriptor: Some(descriptor),
            adapter: Some(bytes(32, &[(8, 1 << 20)], &[])),
            alignment: Some(bytes(28, &[(16, 512), (20, 4096)], &[])),
            seek_penalty: Some(vec![0; 12]),
            write_cache: Some(bytes(32, &[(8, 2), (12, 2)], &[])),
            geometry: None,
            length: Some((1u64 << 40).to_le_bytes().to_vec()),
        });
        assert_eq!(device.model.as_deref(), Some("SAMSUNG 990 PRO"));
        assert_eq!(device.detail.as_deref(), Some("NVMe, serial S6Z1, firmware 4B2Q"));
        assert_eq!(
            (device.logical_sector, device.physical_sector),
            (Bytes(512), Bytes(4096))
        );
        assert_eq!(device.size, Bytes(1 << 40));
        assert_eq!(device.write_cache.as_deref(), Some("write back"));
        assert!(!device.rotational);
        let silent = device_facts(&DiskProperties::default());
        assert_eq!(
            (silent.model, silent.detail, silent.logical_sector),
            (None, None, Bytes(0))
        );
    }

    #[test]
    fn the_sector_size_comes_from_either_structure() {
        let geometry = bytes(24, &[(20, 512)], &[]);
        let alignment = bytes(28, &[(16, 4096)], &[]);
        assert_eq!(sector(Some(&alignment), Some(&geometry)), Some(4096));
        assert_eq!(sector(Some(&[0; 28]), Some(&geometry)), Some(512));
        assert_eq!(sector(None, Some(&[0; 24])), None);
    }

    #[test]
    fn counters_of_a_disk() {
        let output = bytes(
            88,
            &[(40, 7), (44, 8), (48, 3), (52, 1)],
            &[(0, 4096), (8, 8192), (16, 10), (24, 20), (32, 30), (56, 99)],
        );
        let parsed = counters(&output).unwrap();
        assert_eq!(
            (parsed.bytes, parsed.time, parsed.count),
            ([4096, 8192], [10, 20], [7, 8])
        );
        assert_eq!((parsed.idle, parsed.splits, parsed.at), (30, 1, 99));
        assert_eq!(counters(&output[..40]), None);
    }

    #[test]
    fn the_end_of_valid_data_is_parsed() {
        let output = bytes(40, &[(4, 1), (8, 1), (32, 1)], &[(16, 0), (24, 4096)]);
        assert_eq!(valid_length(&output), Some(4096));
        assert_eq!(valid_length(&bytes(16, &[], &[])), Some(0), "no region is valid");
        assert_eq!(valid_length(&output[..30]), None);
    }

    #[test]
    fn holes_are_found_without_the_valid_length() {
        let held = [(0, 65_536), (1 << 20, 4096)];
        let check = |valid: Option<u64>, unwritten: u64| {
            let actual = allocation(2 << 20, &held, valid, 2);
            let expected = Allocation {
                holes: Bytes((2 << 20) - 65_536 - 4096),
                unwritten: Bytes(unwritten),
                unwritten_unknown: valid.is_none(),
                extents: 2,
            };
            assert_eq!(actual, expected);
        };
        check(None, 0);
        check(Some(2 << 20), 0);
        check(Some(u64::MAX), 0);
        check(Some(1 << 20), 4096);
        check(Some(60_000), 65_536 - 60_000 + 4096);
        check(Some(0), 65_536 + 4096);
    }

    #[test]
    fn allocation_of_a_file() {
        let output = bytes(40, &[], &[(0, 0), (8, 65_536), (16, 1 << 20), (24, 4096)]);
        assert_eq!(ranges(&output), [(0, 65_536), (1 << 20, 4096)]);
        let output = bytes(48, &[(0, 2)], &[(8, 0), (16, 16), (24, 1000), (32, 32), (40, u64::MAX)]);
        assert_eq!(retrieval_pointers(&output), Some((0, vec![(16, 1000), (32, -1)])));
    }
}
