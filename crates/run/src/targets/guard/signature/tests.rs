//! Signatures written by hand from the documentation of each format.

use std::io::Cursor;

use proptest::prelude::*;

use super::*;

const MIB: u64 = 1 << 20;

/// Bytes at offsets; a negative offset is relative to the end.
type Parts<'a> = &'a [(i64, &'a [u8])];

fn image(size: u64, parts: Parts<'_>) -> Vec<u8> {
    let mut bytes = vec![0; size as usize];
    for (place, part) in parts {
        let start = if *place < 0 { size as i64 + place } else { *place } as usize;
        bytes[start..start + part.len()].copy_from_slice(part);
    }
    bytes
}

fn names(bytes: &[u8]) -> Vec<String> {
    let signatures = find(&mut Cursor::new(bytes), bytes.len() as u64).unwrap();
    signatures.iter().map(ToString::to_string).collect()
}

/// Checks what is found in an image of a size: one name, or none.
fn check(size: u64, parts: Parts<'_>, expected: &str) {
    let found = names(&image(size, parts)).join(", ");
    assert_eq!(found, expected, "{parts:?} in {size} bytes");
}

#[test]
fn fixed_signatures_are_found() {
    for (place, mark, expected) in [
        (0, &b"XFSB"[..], "an XFS file system"),
        (0x10040, b"_BHRfS_M", "a btrfs file system"),
        (1024, &[0x10, 0x20, 0xf5, 0xf2], "an F2FS file system"),
        (3, b"NTFS    ", "an NTFS file system"),
        (3, b"EXFAT   ", "an exFAT file system"),
        (3, b"-FVE-FS-", "a BitLocker volume"),
        (32769, b"CD001", "an ISO 9660 file system"),
        (32769, b"BEA01", "a UDF file system"),
        (1024, b"H+\0\x04", "an HFS+ file system"),
        (32, b"NXSB", "an APFS file system"),
        (65536 + 52, b"ReIsEr2Fs", "a ReiserFS file system"),
        (32768, b"JFS1", "a JFS file system"),
        (0, b"hsqs", "a SquashFS file system"),
        (1024, &[0xe2, 0xe1, 0xf5, 0xe0], "an EROFS file system"),
        (1024, &[2, 0, 0, 0, 0, 0, 0x34, 0x34], "a NILFS2 file system"),
        (65536, &[1, 0x16, 0x19, 0x70, 0, 0, 0, 1], "a GFS2 file system"),
        (2048, b"OCFSV2", "an OCFS2 file system"),
        (MIB as i64, &[0x0d, 0xd0, 0x01, 0xc0], "a VMFS volume"),
        (2 * MIB as i64, &[0x5e, 0xf1, 0xab, 0x2f], "a VMFS file system"),
        (3072, b"PRIVHEAD", "a Windows dynamic disk volume"),
        (516, b"!Stra0tis\x86\xff\x02^\x41rh", "a Stratis volume"),
        (0, b"bluestore block device\n", "a Ceph BlueStore volume"),
        (-4096 + 60, &[0x83, 0x74, 0x02, 0x6d], "a DRBD volume"),
        (-1024, b"Intel Raid ISM Cfg Sig. 1.0.00", "an Intel RAID array member"),
        (-512, &[0xde, 0x11, 0xde, 0x11], "a DDF RAID array member"),
        (0, b"LUKS\xba\xbe\0\x01", "a LUKS1 volume"),
        (512, b"EFI PART", "a GPT partition table"),
        (4096, b"EFI PART", "a GPT partition table"),
        (-512, b"EFI PART", "a GPT partition table"),
        (512, &[0x57, 0x45, 0x56, 0x82], "a BSD partition table"),
        (0, b"QFI\xfb\0\0\0\x03", "a qcow2 disk image"),
        (0, b"KDMV\x01\0\0\0", "a VMDK disk image"),
        (0, b"vhdxfile", "a VHDX disk image"),
        (-512, b"conectix", "a VHD disk image"),
        (64, &[0x7f, 0x10, 0xda, 0xbe], "a VDI disk image"),
        (0, b"SQLite format 3\0", "a SQLite data file"),
        (32, b"ORCLDISKDATA01", "an Oracle ASM data file"),
        (16, &[0xde, 0xc0, 0xef, 0xbe], "an LMDB data file"),
        (4086, b"SWAPSPACE2", "swap space"),
        (65526, b"SWAPSPACE2", "swap space"),
        (4086, b"S1SUSPEND\0", "a hibernated system"),
    ] {
        // The first size is read completely. Of the second, the middle is skipped.
        check(4 * MIB, &[(place, mark)], expected);
        check(64 * MIB + 512, &[(place, mark)], expected);
    }
}

#[test]
fn labels_are_reported() {
    check(
        MIB,
        &[(0, b"XFSB"), (108, b"scratch\0")],
        "an XFS file system \"scratch\"",
    );
    check(
        MIB,
        &[(0, b"LUKS\xba\xbe\0\x02"), (24, b"backup")],
        "a LUKS2 volume \"backup\"",
    );
    check(MIB, &[(4086, b"SWAPSPACE2"), (1052, b"swap0")], "swap space \"swap0\"");
    check(MIB, &[(0, b"XFSB"), (108, b"\x01\x02")], "an XFS file system");
}

/// An ext superblock with the fields that the rule checks.
fn ext(compatible: u32, incompatible: u32, read_only: u32) -> Vec<u8> {
    let mut block = vec![0u8; 1024];
    let mut put = |at: usize, value: u32| block[at..at + 4].copy_from_slice(&value.to_le_bytes());
    put(0, 128);
    put(4, 1024);
    put(24, 2);
    put(76, 1);
    put(92, compatible);
    put(96, incompatible);
    put(100, read_only);
    block[56..62].copy_from_slice(&[0x53, 0xef, 1, 0, 1, 0]);
    block[120..124].copy_from_slice(b"root");
    block
}

#[test]
fn the_ext_family_is_distinguished_by_features() {
    check(MIB, &[(1024, &ext(0, 2, 1))], "an ext2 file system \"root\"");
    check(MIB, &[(1024, &ext(4, 2, 1))], "an ext3 file system \"root\"");
    check(MIB, &[(1024, &ext(0x3c, 0x2c2, 0x46b))], "an ext4 file system \"root\"");
    check(MIB, &[(1024, &ext(0, 8, 0))], "an ext journal file system \"root\"");
    // The magic has only two bytes, so it proves nothing by itself.
    check(MIB, &[(1080, &[0x53, 0xef])], "");
}

fn fat_sector() -> Vec<u8> {
    let mut sector = vec![0u8; 512];
    sector[..11].copy_from_slice(b"\xeb\x3c\x90mkfs.fat");
    sector[11..26].copy_from_slice(&[0, 2, 4, 1, 0, 2, 0, 2, 0, 0, 0xf8, 0x10, 0, 0x20, 0]);
    sector[43..54].copy_from_slice(b"STICK      ");
    sector[510..].copy_from_slice(&[0x55, 0xaa]);
    sector
}

#[test]
fn fat_is_recognised_by_its_parameters() {
    let sector = fat_sector();
    check(MIB, &[(0, &sector)], "a FAT file system \"STICK\"");
    let mut broken = sector.clone();
    broken[13] = 3;
    check(MIB, &[(0, &broken)], "");
}

fn mbr(entries: &[[u8; 16]]) -> Vec<u8> {
    let mut sector = vec![0u8; 512];
    for (number, entry) in entries.iter().enumerate() {
        sector[446 + 16 * number..462 + 16 * number].copy_from_slice(entry);
    }
    sector[510..].copy_from_slice(&[0x55, 0xaa]);
    sector
}

#[test]
fn a_partition_table_needs_plausible_entries() {
    const LINUX: [u8; 16] = [0x80, 0, 2, 0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 0, 8, 0];
    const PROTECTIVE: [u8; 16] = [0, 0, 2, 0, 0xee, 0, 0, 0, 1, 0, 0, 0, 255, 255, 255, 255];
    let mut odd = LINUX;
    odd[0] = 0x17;
    let mut without_length = LINUX;
    without_length[12..].fill(0);
    check(MIB, &[(0, &mbr(&[LINUX]))], "an MBR partition table");
    check(MIB, &[(0, &mbr(&[]))], "");
    check(MIB, &[(0, &mbr(&[odd]))], "");
    check(MIB, &[(0, &mbr(&[without_length]))], "");
    // The protective MBR of a GPT is not reported as a second table.
    let protective = mbr(&[PROTECTIVE]);
    check(MIB, &[(0, &protective), (512, b"EFI PART")], "a GPT partition table");
}

#[test]
fn an_lvm_label_must_contain_its_own_sector_number() {
    let label = |sector: u8| {
        [
            b"LABELONE".to_vec(),
            vec![sector, 0, 0, 0, 0, 0, 0, 0],
            vec![0; 8],
            b"LVM2 001".to_vec(),
        ]
        .concat()
    };
    check(MIB, &[(512, &label(1))], "an LVM physical volume");
    check(MIB, &[(1536, &label(3))], "an LVM physical volume");
    check(MIB, &[(1024, &label(1))], "");
}

#[test]
fn raid_superblocks_of_every_version_are_found() {
    const MAGIC: [u8; 4] = [0xfc, 0x4e, 0x2b, 0xa9];
    let version_1 = [&MAGIC[..], &[1, 0, 0, 0], &[0; 24], b"host:data\0"].concat();
    let expected = "a Linux RAID array member \"host:data\"";
    check(8 * MIB, &[(0, &version_1)], expected);
    check(8 * MIB, &[(4096, &version_1)], expected);
    check(8 * MIB, &[(-8192, &version_1)], expected);
    // Version 1.0 is aligned to 4 KiB for every size of the device.
    let end = 8 * MIB as i64;
    check(8 * MIB + 3584, &[(end - 8192, &version_1)], expected);
    let version_0 = [&MAGIC[..], &[0, 0, 0, 0], &[90, 0, 0, 0]].concat();
    let expected = "a Linux RAID array member";
    check(8 * MIB, &[(-65536, &version_0)], expected);
    check(8 * MIB + 512, &[(end - 65536, &version_0)], expected);
    let big_endian = [&[0xa9, 0x2b, 0x4e, 0xfc][..], &[0, 0, 0, 0], &[0, 0, 0, 90]].concat();
    check(8 * MIB, &[(-65536, &big_endian)], expected);
}

#[test]
fn zfs_labels_name_their_pool() {
    let list = [
        &b"\x01\x01\0\0\0\0\0\0\0\0\0\x01"[..],
        &b"\0\0\0\x20\0\0\0\x20\0\0\0\x04name\0\0\0\x09\0\0\0\x01\0\0\0\x04tank"[..],
    ]
    .concat();
    let uberblock = [0x0c, 0xb1, 0xba, 0, 0, 0, 0, 0];
    let expected = "a ZFS volume \"tank\"";
    let label = 256 << 10;
    for start in [0, label, 16 * MIB as i64 - 2 * label, 16 * MIB as i64 - label] {
        let parts: Parts<'_> = &[(start + 16384, &list), (start + 131_072 + 5 * 1024, &uberblock)];
        check(16 * MIB, parts, expected);
    }
    // The last labels are aligned downward.
    let start = 16 * MIB as i64 - label;
    let parts: Parts<'_> = &[(start + 16384, &list), (start + 131_072, &uberblock)];
    check(16 * MIB + 99 * 1024, parts, expected);
    let big_endian = [0, 0, 0, 0, 0, 0xba, 0xb1, 0x0c];
    check(16 * MIB, &[(131_072, &big_endian)], "a ZFS volume");
}

#[test]
fn bcache_and_bcachefs_are_distinguished() {
    let bcache = [
        0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca, 0x82, 0x65, 0xf5, 0x7f, 0x48, 0xba, 0x6d, 0x81,
    ];
    check(MIB, &[(4120, &bcache)], "a bcache volume");
    let bcachefs = [
        0xc6, 0x85, 0x73, 0xf6, 0x66, 0xce, 0x90, 0xa9, 0xd9, 0x6a, 0x60, 0xcf, 0x80, 0x3d, 0xf7, 0xef,
    ];
    check(MIB, &[(4120, &bcachefs)], "a bcachefs file system");
}

#[test]
fn databases_are_recognised_by_their_pages() {
    // InnoDB: type 8 and the low half of the log position at both ends of a page of 16 KiB.
    let innodb: Parts<'_> = &[
        (16, &[0, 0, 0, 1, 1, 2, 3, 4]),
        (24, &[0, 8]),
        (34, &[0, 0, 0, 9, 0, 0, 0, 9]),
        (16380, &[1, 2, 3, 4]),
    ];
    check(MIB, innodb, "an InnoDB data file");
    check(MIB, &innodb[..3], "");
    // PostgreSQL: two pages, the second one empty.
    let page = [0, 0, 0, 0, 9, 9, 9, 9, 0, 0, 0, 0, 28, 0, 0x80, 0x1f, 0, 0x20, 4, 0x20];
    check(16384, &[(0, &page)], "a PostgreSQL data file");
    check(16385, &[(0, &page)], "");
    check(16384, &[(0, &page), (8192, &[1])], "");
    let log: Parts<'_> = &[(0, &[0x16, 0xd1, 2, 0]), (32, &[0, 0, 0, 1, 0, 0x20, 0, 0])];
    check(16 * MIB, log, "a PostgreSQL log data file");
    check(15 * MIB, log, "");
    let sql_server: Parts<'_> = &[(0, &[1, 15]), (30, &[0, 2]), (36, &[1, 0])];
    check(MIB, sql_server, "a SQL Server data file");
    check(MIB + 512, sql_server, "");
    let oracle: Parts<'_> = &[(1, &[0xa2]), (20, &[0, 0x20, 0, 0]), (28, b"}|{z")];
    check(MIB, oracle, "an Oracle data file");
}

#[test]
fn test_data_contains_no_signature() {
    // Zeros, the pattern that DiskSpd writes, patterns of fio, text.
    check(4 * MIB, &[], "");
    let counting: Vec<u8> = (0..4 * MIB).map(|n| n as u8).collect();
    assert!(names(&counting).is_empty());
    for pattern in [
        &[0xffu8][..],
        &[0x55, 0xaa],
        &[0xaa, 0x55],
        b"deadbeef",
        b"A line of text.\n",
    ] {
        let bytes: Vec<u8> = pattern.iter().copied().cycle().take(4 * MIB as usize).collect();
        assert!(names(&bytes).is_empty(), "{pattern:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Native runs fill their files with random data.
    #[test]
    fn random_data_contains_no_signature(seed: u64, size in 0u64..3 * MIB) {
        let mut state = seed | 1;
        let words = std::iter::repeat_with(|| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        });
        let bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).take(size as usize).collect();
        prop_assert!(names(&bytes).is_empty());
    }

    /// A file that ends within a structure has no signature and causes no panic. The rule for ext
    /// reads the first 104 bytes of the superblock.
    #[test]
    fn truncated_files_have_only_complete_signatures(size in 0usize..70_000) {
        let image_with_three = image(MIB, &[(0, &fat_sector()), (1024, &ext(0, 0, 0)), (0x10040, b"_BHRfS_M")]);
        let found_names = names(&image_with_three[..size]);
        prop_assert_eq!(found_names.len(), usize::from(size >= 512) + usize::from(size >= 1128) + usize::from(size >= 0x10048));
    }
}

#[test]
fn a_failed_read_is_an_error() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("broken"))
        }
    }
    impl Seek for Broken {
        fn seek(&mut self, _: SeekFrom) -> io::Result<u64> {
            Ok(0)
        }
    }
    assert!(find(&mut Broken, MIB).is_err());
}
