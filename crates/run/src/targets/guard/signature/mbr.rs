//! The MBR partition table. It has no magic of its own, only the two bytes (55 AA) at the end of
//! every boot sector.

use super::{Signature, SignatureKind, View};

/// Runs after all other detectors. File systems write the same two bytes, and a protective MBR only
/// repeats the GPT.
pub(super) fn find(view: &View, signatures: &mut Vec<Signature>) {
    let explained = signatures.iter().any(|signature| {
        signature.name == "GPT"
            || signature.offset < 512 && matches!(signature.kind, SignatureKind::FileSystem | SignatureKind::Encrypted)
    });
    if !explained && has_entries(view).unwrap_or(false) {
        signatures.push(Signature::new(SignatureKind::PartitionTable, "MBR", 510, None));
    }
}

/// Four entries of 16 bytes, all plausible and at least one of them used. A table without entries
/// holds nothing worth protecting.
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
