//! File systems whose mark alone is too short to be believed: the ext family and FAT.

use super::{Signature, SignatureKind, View};

pub(super) fn find(view: &View, found: &mut Vec<Signature>) {
    found.extend(ext(view));
    found.extend(fat(view));
}

/// Start of the superblock of ext2, ext3 and ext4 (linux/fs/ext4/ext4.h).
const EXT: u64 = 1024;

fn ext(view: &View) -> Option<Signature> {
    if !view.has(EXT + 56, &[0x53, 0xef]) {
        return None;
    }
    // Two bytes of magic prove little; the fields around it must make sense too.
    let plausible = view.little_u32(EXT)? > 0
        && view.little_u32(EXT + 4)? > 0
        && view.little_u32(EXT + 24)? <= 6
        && view.little_u32(EXT + 76)? <= 1
        && view.little_u16(EXT + 58)? <= 0x3f
        && (1..=3).contains(&view.little_u16(EXT + 60)?);
    if !plausible {
        return None;
    }
    const HAS_JOURNAL: u32 = 0x4;
    const JOURNAL_DEVICE: u32 = 0x8;
    /// Extents, 64-bit, flexible groups, inline data, encryption and other features that came with
    /// ext4.
    const NEWER_INCOMPATIBLE: u32 = 0x3_f7c0;
    /// Huge files, checksums, many subdirectories, large inodes, quotas.
    const NEWER_READ_ONLY: u32 = 0x778;
    let (compatible, incompatible, read_only) = (
        view.little_u32(EXT + 92)?,
        view.little_u32(EXT + 96)?,
        view.little_u32(EXT + 100)?,
    );
    let name = if incompatible & JOURNAL_DEVICE != 0 {
        "ext journal"
    } else if incompatible & NEWER_INCOMPATIBLE != 0 || read_only & NEWER_READ_ONLY != 0 {
        "ext4"
    } else if compatible & HAS_JOURNAL != 0 {
        "ext3"
    } else {
        "ext2"
    };
    Some(Signature {
        kind: SignatureKind::FileSystem,
        name,
        offset: EXT + 56,
        label: view.label(EXT + 120, 16),
    })
}

/// The fields of a BIOS parameter block, which is all there is: many tools write no name
/// (Microsoft's FAT specification).
fn fat(view: &View) -> Option<Signature> {
    let jump = view.at(0, 3)?;
    let (sector, cluster, reserved, tables, media) = (
        view.little_u16(11)?,
        view.byte(13)?,
        view.little_u16(14)?,
        view.byte(16)?,
        view.byte(21)?,
    );
    let plausible = (jump[0] == 0xeb && jump[2] == 0x90 || jump[0] == 0xe9)
        && matches!(sector, 512 | 1024 | 2048 | 4096)
        && cluster.is_power_of_two()
        && reserved > 0
        && (1..=2).contains(&tables)
        && (media == 0xf0 || media >= 0xf8)
        && view.has(510, &[0x55, 0xaa]);
    if !plausible {
        return None;
    }
    // FAT32 has no root directory of fixed size and no 16-bit table length.
    let is_32 = view.little_u16(17)? == 0 && view.little_u16(22)? == 0;
    let label = view.label(if is_32 { 71 } else { 43 }, 11);
    Some(Signature {
        kind: SignatureKind::FileSystem,
        name: "FAT",
        offset: 0,
        label: label.filter(|label| label != "NO NAME"),
    })
}
