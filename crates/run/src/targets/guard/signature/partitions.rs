//! The partition table of the PC, which has no magic of its own: two bytes that every boot sector
//! ends with.

use super::{Signature, SignatureKind, View};

/// Runs last: file systems write the same two bytes, and a protective table is redundant with the
/// GPT.
pub(super) fn find(view: &View, found: &mut Vec<Signature>) {
    let explained = found.iter().any(|known| {
        known.name == "GPT"
            || known.offset < 512 && matches!(known.kind, SignatureKind::FileSystem | SignatureKind::Encrypted)
    });
    if !explained && has_entries(view).unwrap_or(false) {
        found.push(Signature {
            kind: SignatureKind::PartitionTable,
            name: "MBR",
            offset: 510,
            label: None,
        });
    }
}

/// Four entries of 16 bytes, all plausible and at least one of them used. A table without entries
/// protects nothing.
fn has_entries(view: &View) -> Option<bool> {
    if !view.has(510, &[0x55, 0xaa]) {
        return Some(false);
    }
    let mut used = 0;
    for entry in (0..4).map(|number| 446 + number * 16) {
        let (status, kind) = (view.byte(entry)?, view.byte(entry + 4)?);
        let (first, sectors) = (view.little_u32(entry + 8)?, view.little_u32(entry + 12)?);
        if status != 0 && status != 0x80 {
            return Some(false);
        }
        if kind == 0 {
            continue;
        }
        if first == 0 || sectors == 0 {
            return Some(false);
        }
        used += 1;
    }
    Some(used > 0)
}
