//! Members of something larger: LVM, Linux software RAID, ZFS.

use super::{Signature, SignatureKind, View};

pub(super) fn find(view: &View, signatures: &mut Vec<Signature>) {
    signatures.extend(find_lvm(view));
    signatures.extend(find_raid(view));
    signatures.extend(find_zfs(view));
}

/// Finds a label in one of the first four sectors (lvm2, `label.h`). It has `LABELONE`, its sector
/// number, and the type at byte 24.
fn find_lvm(view: &View) -> Option<Signature> {
    let offset = (0..4).map(|sector| sector * 512).find(|offset| {
        view.has(*offset, b"LABELONE")
            && view.has(offset + 24, b"LVM2 001")
            && view.has(offset + 8, &(offset / 512).to_le_bytes())
    })?;
    let kind = SignatureKind::VolumeManager;
    Some(Signature::new(kind, "LVM physical", offset, None))
}

/// Finds superblocks of md (linux/include/uapi/linux/raid/md_p.h). Version 1.1 is at the beginning,
/// 1.2 at 4 KiB, 1.0 and 0.90 near the end.
fn find_raid(view: &View) -> Option<Signature> {
    const MAGIC: u32 = 0xa92b_4efc;
    let found = |offset, label| Signature::new(SignatureKind::Raid, "Linux RAID", offset, label);
    let sectors = view.size / 512;
    let version_1 = [
        Some(0),
        Some(4096),
        sectors.checked_sub(16).map(|sector| (sector & !7) * 512),
    ];
    for offset in version_1.into_iter().flatten() {
        if view.little_u32(offset) == Some(MAGIC) && view.little_u32(offset + 4) == Some(1) {
            return Some(found(offset, view.label(offset + 32, 32)));
        }
    }
    let offset = (view.size & !0xffff).checked_sub(0x1_0000)?;
    // Written in the byte order of the machine.
    let magic = [view.little_u32(offset), view.big_u32(offset)];
    let version = [view.little_u32(offset + 4), view.big_u32(offset + 4)];
    let minor = [view.little_u32(offset + 8), view.big_u32(offset + 8)];
    let matches =
        (0..2).any(|order| (magic[order], version[order]) == (Some(MAGIC), Some(0)) && minor[order] == Some(90));
    matches.then(|| found(offset, None))
}

/// Finds one of four labels of 256 KiB, two at each end. See ZFS On-Disk Specification, chapter 1.
/// Each has a list of names and values at 16 KiB and, from 128 KiB on, an array of uberblocks.
fn find_zfs(view: &View) -> Option<Signature> {
    const LABEL: u64 = 256 << 10;
    let end = view.size / LABEL * LABEL;
    let labels = [Some(0), Some(LABEL), end.checked_sub(2 * LABEL), end.checked_sub(LABEL)];
    labels.into_iter().flatten().find_map(|label| {
        let slots = (0..128u64).map(|slot| label + (128 << 10) + slot * 1024);
        let is_uberblock = |offset: &u64| {
            // The magic is a 64-bit number in the byte order of the machine that wrote it.
            view.has(*offset, &[0x0c, 0xb1, 0xba, 0, 0, 0, 0, 0])
                || view.has(*offset, &[0, 0, 0, 0, 0, 0xba, 0xb1, 0x0c])
        };
        let offset = slots.into_iter().find(is_uberblock)?;
        let pool = pool_name(view.at(label + (16 << 10), 112 << 10)?);
        Some(Signature::new(SignatureKind::VolumeManager, "ZFS", offset, pool))
    })
}

/// The value of `name` in a packed list. A pair is written in XDR (RFC 4506): two lengths, the key
/// with its length, the type (9: a string), how many, and the value with its length.
fn pool_name(list: &[u8]) -> Option<String> {
    const KEY: &[u8] = b"\0\0\0\x04name\0\0\0\x09\0\0\0\x01";
    let start = list.windows(KEY.len()).position(|window| window == KEY)? + KEY.len();
    let length = u32::from_be_bytes(list.get(start..start + 4)?.try_into().ok()?) as usize;
    let name = list.get(start + 4..(start + 4).checked_add(length)?)?;
    (length <= 256).then(|| String::from_utf8_lossy(name).into_owned())
}
