//! Signatures of fixed bytes at a fixed position.

use super::SignatureKind::{Database, DiskImage, Encrypted, FileSystem, PartitionTable, Raid, Swap, VolumeManager};
use super::{Signature, SignatureKind, View};

/// The position of a signature.
enum Offset {
    /// At this byte.
    Byte(u64),
    /// This many bytes before the end.
    BeforeEnd(u64),
}

struct Magic {
    kind: SignatureKind,
    name: &'static str,
    at: Offset,
    bytes: &'static [u8],
    /// The position of the label from the beginning, and its length.
    label: Option<(u64, usize)>,
}

const fn row(kind: SignatureKind, name: &'static str, at: u64, bytes: &'static [u8]) -> Magic {
    Magic {
        kind,
        name,
        at: Offset::Byte(at),
        bytes,
        label: None,
    }
}

const fn labelled(
    kind: SignatureKind,
    name: &'static str,
    at: u64,
    bytes: &'static [u8],
    label: (u64, usize),
) -> Magic {
    Magic {
        label: Some(label),
        ..row(kind, name, at, bytes)
    }
}

const fn at_end(kind: SignatureKind, name: &'static str, before_end: u64, bytes: &'static [u8]) -> Magic {
    Magic {
        at: Offset::BeforeEnd(before_end),
        ..row(kind, name, 0, bytes)
    }
}

const BTRFS_SUPERBLOCK: u64 = 64 << 10;
const MIB: u64 = 1 << 20;

/// Offsets and values are from the formats' documents or kernel headers.
const MAGICS: &[Magic] = &[
    labelled(FileSystem, "XFS", 0, b"XFSB", (108, 12)),
    labelled(
        FileSystem,
        "btrfs",
        BTRFS_SUPERBLOCK + 0x40,
        b"_BHRfS_M",
        (BTRFS_SUPERBLOCK + 0x12b, 256),
    ),
    row(FileSystem, "F2FS", 1024, &[0x10, 0x20, 0xf5, 0xf2]),
    row(FileSystem, "NTFS", 3, b"NTFS    "),
    row(FileSystem, "exFAT", 3, b"EXFAT   "),
    row(FileSystem, "ReFS", 3, b"ReFS\0\0\0\0"),
    row(FileSystem, "bcachefs", 4096 + 24, &BCACHEFS_UUID),
    labelled(FileSystem, "ISO 9660", 32769, b"CD001", (32808, 32)),
    row(FileSystem, "UDF", 32769, b"BEA01"),
    row(FileSystem, "HFS+", 1024, b"H+\0\x04"),
    row(FileSystem, "HFS+", 1024, b"HX\0\x05"),
    row(FileSystem, "APFS", 32, b"NXSB"),
    labelled(FileSystem, "ReiserFS", 65536 + 52, b"ReIsErFs", (65536 + 100, 16)),
    labelled(FileSystem, "ReiserFS", 65536 + 52, b"ReIsEr2Fs", (65536 + 100, 16)),
    labelled(FileSystem, "ReiserFS", 65536 + 52, b"ReIsEr3Fs", (65536 + 100, 16)),
    row(FileSystem, "ReiserFS", 8192 + 52, b"ReIsErFs"),
    row(FileSystem, "Reiser4", 65536, b"ReIsEr4"),
    labelled(FileSystem, "JFS", 32768, b"JFS1", (32768 + 152, 16)),
    row(FileSystem, "SquashFS", 0, b"hsqs"),
    row(FileSystem, "SquashFS", 0, b"sqsh"),
    row(FileSystem, "EROFS", 1024, &[0xe2, 0xe1, 0xf5, 0xe0]),
    // Revision 2, minor revision 0, magic 0x3434.
    row(FileSystem, "NILFS2", 1024, &[2, 0, 0, 0, 0, 0, 0x34, 0x34]),
    row(FileSystem, "GFS2", 65536, &[0x01, 0x16, 0x19, 0x70, 0, 0, 0, 1]),
    row(FileSystem, "OCFS2", 1024, b"OCFSV2"),
    row(FileSystem, "OCFS2", 2048, b"OCFSV2"),
    row(FileSystem, "OCFS2", 4096, b"OCFSV2"),
    row(FileSystem, "OCFS2", 8192, b"OCFSV2"),
    row(FileSystem, "UFS", 8192 + 1372, &[0x54, 0x19, 0x01, 0x00]),
    row(FileSystem, "UFS", 65536 + 1372, &[0x19, 0x01, 0x54, 0x19]),
    row(FileSystem, "zonefs", 0, b"SFOZ"),
    row(FileSystem, "VMFS", 2 * MIB, &[0x5e, 0xf1, 0xab, 0x2f]),
    row(VolumeManager, "VMFS", MIB, &[0x0d, 0xd0, 0x01, 0xc0]),
    row(VolumeManager, "bcache", 4096 + 24, &BCACHE_UUID),
    row(VolumeManager, "Windows dynamic disk", 6 * 512, b"PRIVHEAD"),
    row(VolumeManager, "Stratis", 512 + 4, STRATIS),
    row(VolumeManager, "Stratis", 9 * 512 + 4, STRATIS),
    row(VolumeManager, "Ceph BlueStore", 0, b"bluestore block device"),
    at_end(VolumeManager, "DRBD", 4096 - 60, &[0x83, 0x74, 0x02, 0x67]),
    at_end(VolumeManager, "DRBD", 4096 - 60, &[0x83, 0x74, 0x02, 0x6b]),
    at_end(VolumeManager, "DRBD", 4096 - 60, &[0x83, 0x74, 0x02, 0x6d]),
    at_end(Raid, "Intel RAID", 1024, b"Intel Raid ISM Cfg Sig. "),
    at_end(Raid, "DDF RAID", 512, &[0xde, 0x11, 0xde, 0x11]),
    row(Encrypted, "LUKS1", 0, &[b'L', b'U', b'K', b'S', 0xba, 0xbe, 0, 1]),
    labelled(
        Encrypted,
        "LUKS2",
        0,
        &[b'L', b'U', b'K', b'S', 0xba, 0xbe, 0, 2],
        (24, 48),
    ),
    row(Encrypted, "BitLocker", 3, b"-FVE-FS-"),
    row(PartitionTable, "GPT", 512, b"EFI PART"),
    row(PartitionTable, "GPT", 4096, b"EFI PART"),
    at_end(PartitionTable, "GPT", 512, b"EFI PART"),
    at_end(PartitionTable, "GPT", 4096, b"EFI PART"),
    row(PartitionTable, "Apple", 512, b"PM\0\0"),
    row(PartitionTable, "BSD", 512, &[0x57, 0x45, 0x56, 0x82]),
    row(PartitionTable, "BSD", 64, &[0x57, 0x45, 0x56, 0x82]),
    row(PartitionTable, "SGI", 0, &[0x0b, 0xe5, 0xa9, 0x41]),
    row(PartitionTable, "AIX", 0, &[0xc9, 0xc2, 0xd4, 0xc1]),
    row(DiskImage, "qcow2", 0, b"QFI\xfb"),
    row(DiskImage, "QED", 0, b"QED\0"),
    row(DiskImage, "VMDK", 0, b"KDMV"),
    row(DiskImage, "VMDK", 0, b"COWD"),
    row(DiskImage, "VMDK", 0, b"# Disk DescriptorFile"),
    row(DiskImage, "VHDX", 0, b"vhdxfile"),
    row(DiskImage, "VHD", 0, b"conectix"),
    at_end(DiskImage, "VHD", 512, b"conectix"),
    row(DiskImage, "VDI", 64, &[0x7f, 0x10, 0xda, 0xbe]),
    row(DiskImage, "Parallels", 0, b"WithoutFreeSpace"),
    row(DiskImage, "Parallels", 0, b"WithouFreSpacExt"),
    row(Database, "SQLite", 0, b"SQLite format 3\0"),
    row(Database, "Oracle ASM", 32, b"ORCLDISK"),
    // After a page header of 16 bytes.
    row(Database, "LMDB", 16, &[0xde, 0xc0, 0xef, 0xbe]),
];

const BCACHE_UUID: [u8; 16] = [
    0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca, 0x82, 0x65, 0xf5, 0x7f, 0x48, 0xba, 0x6d, 0x81,
];
const BCACHEFS_UUID: [u8; 16] = [
    0xc6, 0x85, 0x73, 0xf6, 0x66, 0xce, 0x90, 0xa9, 0xd9, 0x6a, 0x60, 0xcf, 0x80, 0x3d, 0xf7, 0xef,
];
const STRATIS: &[u8] = b"!Stra0tis\x86\xff\x02^\x41rh";

/// The last ten bytes of the first page, whose size depends on the processor.
const SWAP: [(&str, &[u8]); 6] = [
    ("swap space", b"SWAPSPACE2"),
    ("swap space", b"SWAP-SPACE"),
    ("a hibernated system", b"S1SUSPEND"),
    ("a hibernated system", b"S2SUSPEND"),
    ("a hibernated system", b"ULSUSPEND"),
    ("a hibernated system", b"LINHIB0001"),
];

pub(super) fn find(view: &View, signatures: &mut Vec<Signature>) {
    for magic in MAGICS {
        let offset = match magic.at {
            Offset::Byte(offset) => Some(offset),
            Offset::BeforeEnd(distance) => view.before_end(distance),
        };
        let Some(offset) = offset.filter(|offset| view.has(*offset, magic.bytes)) else {
            continue;
        };
        let label = magic.label.and_then(|(offset, length)| view.label(offset, length));
        signatures.push(Signature::new(magic.kind, magic.name, offset, label));
    }
    for page in [4096, 8192, 16384, 32768, 65536] {
        for (name, bytes) in SWAP {
            if view.has(page - 10, bytes) {
                signatures.push(Signature::new(Swap, name, page - 10, view.label(1024 + 28, 16)));
            }
        }
    }
}
