//! File systems whose magic number alone is too short: the ext family and FAT.

use super::{Signature, SignatureKind, View};

pub(super) fn find(view: &View, signatures: &mut Vec<Signature>) {
    signatures.extend(find_ext(view));
    signatures.extend(find_fat(view));
}

/// Offset of the superblock of ext2, ext3 and ext4 (linux/fs/ext4/ext4.h).
const EXT_SUPERBLOCK: u64 = 1024;

fn find_ext(view: &View) -> Option<Signature> {
    if !view.has(EXT_SUPERBLOCK + 56, &[0x53, 0xef]) {
        return None;
    }
    // Two bytes of magic prove little, so the fields around it must be plausible too.
    let plausible = view.little_u32(EXT_SUPERBLOCK)? > 0
        && view.little_u32(EXT_SUPERBLOCK + 4)? > 0
        && view.little_u32(EXT_SUPERBLOCK + 24)? <= 6
        && view.little_u32(EXT_SUPERBLOCK + 76)? <= 1
        && view.little_u16(EXT_SUPERBLOCK + 58)? <= 0x3f
        && (1..=3).contains(&view.little_u16(EXT_SUPERBLOCK + 60)?);
    if !plausible {
        return None;
    }
    const COMPAT_HAS_JOURNAL: u32 = 0x4;
    const INCOMPAT_JOURNAL_DEV: u32 = 0x8;
    /// Extents, 64-bit, flexible groups, inline data, encryption and other features that came with
    /// ext4.
    const EXT4_INCOMPAT: u32 = 0x3_f7c0;
    /// Huge files, checksums, many subdirectories, large inodes, quotas.
    const EXT4_RO_COMPAT: u32 = 0x778;
    let (compatible, incompatible, read_only) = (
        view.little_u32(EXT_SUPERBLOCK + 92)?,
        view.little_u32(EXT_SUPERBLOCK + 96)?,
        view.little_u32(EXT_SUPERBLOCK + 100)?,
    );
    let name = if incompatible & INCOMPAT_JOURNAL_DEV != 0 {
        "ext journal"
    } else if incompatible & EXT4_INCOMPAT != 0 || read_only & EXT4_RO_COMPAT != 0 {
        "ext4"
    } else if compatible & COMPAT_HAS_JOURNAL != 0 {
        "ext3"
    } else {
        "ext2"
    };
    let label = view.label(EXT_SUPERBLOCK + 120, 16);
    Some(Signature::new(
        SignatureKind::FileSystem,
        name,
        EXT_SUPERBLOCK + 56,
        label,
    ))
}

/// Checks the fields of the BIOS parameter block (Microsoft's FAT specification). Many tools write
/// no file system name next to it.
fn find_fat(view: &View) -> Option<Signature> {
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
    let label = label.filter(|label| label != "NO NAME");
    Some(Signature::new(SignatureKind::FileSystem, "FAT", 0, label))
}
