//! `zonemode=zbd` on a file: zones are written from their start to their end.

use crate::fio::support::Sandbox;
use crate::prelude::*;

/// Options, the blocks that Debian's fio 3.33 reads and writes, and its zone resets.
const RECORDED: [(&str, &str, &str); 16] = [
    (
        "--rw=write",
        "w0 w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11 w12 w13 w14 w15",
        "0 zone resets",
    ),
    (
        "--rw=write --io_size=160k",
        "w0 w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11 w12 w13 w14 w15 w0 w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11 w12 w13 w14 w15 w0 w1 w2 \
         w3 w4 w5 w6 w7",
        "6 zone resets",
    ),
    (
        "--rw=write --zonecapacity=8k",
        "w0 w1 w4 w5 w8 w9 w12 w13",
        "0 zone resets",
    ),
    ("--rw=rw", "w0 r0", "0 zone resets"),
    ("--rw=read", "", ""),
    (
        "--rw=read --read_beyond_wp=1",
        "r0 r1 r2 r3 r4 r5 r6 r7 r8 r9 r10 r11 r12 r13 r14 r15",
        "",
    ),
    (
        "--rw=randwrite",
        "w12 w13 w0 w1 w2 w4 w14 w5 w15 w3 w6 w8 w7 w9 w10 w11",
        "0 zone resets",
    ),
    (
        "--rw=randwrite --io_size=128k --norandommap",
        "w12 w13 w0 w1 w2 w4 w14 w3 w15 w12 w0 w8 w5 w6 w13 w9 w10 w11 w8 w14 w15 w1 w2 w7 w3 w0 w4 w5 w1 w6 w9 w7",
        "5 zone resets",
    ),
    (
        "--rw=randwrite --max_open_zones=2",
        "w12 w13 w0 w1 w2 w14 w15 w4 w5 w3 w6 w8 w7 w9 w10 w11",
        "0 zone resets",
    ),
    (
        "--rw=randwrite --zonecapacity=8k",
        "w12 w13 w0 w1 w0 w4 w12 w5 w13 w1 w4 w8 w5 w9 w8 w9",
        "4 zone resets",
    ),
    (
        "--rw=randwrite --zone_reset_threshold=0.5 --zone_reset_frequency=0.5",
        "w12 w13 w0 w1 w2 w4 w14 w5 w15 w0 w6 w8 w4 w9 w10 w8",
        "3 zone resets",
    ),
    (
        "--rw=randrw",
        "w12 r12 r12 w0 w1 w4 r12 r4 r12 w2 w5 w8 r4 r8 w9 w10",
        "0 zone resets",
    ),
    (
        "--rw=randrw --io_size=160k --norandommap",
        "w12 r12 r12 w0 w1 w4 r12 r0 r12 w13 w2 w8 r4 r4 w14 w9 r8 w10 w11 r12 w15 r0 r0 w5 w3 w0 w6 w7 r0 w4 r8 w5 w1 w2 w12 w8 \
         r4 r0 w9 w13",
        "4 zone resets",
    ),
    ("--rw=randread", "", ""),
    (
        "--rw=randread --read_beyond_wp=1",
        "r14 r15 r1 r2 r3 r5 r12 r4 r13 r0 r6 r11 r7 r8 r9 r10",
        "",
    ),
    (
        "--rw=write --size=100k --offset=20k",
        "w8 w9 w10 w11 w12 w13 w14 w15 w16 w17 w18 w19 w20 w21 w22 w23 w24 w25 w26 w27",
        "0 zone resets",
    ),
];

const ZONES: &str =
    "--name=z --filename=f --size=64k --zonemode=zbd --zonesize=16k --bs=4k --randrepeat=0 --randseed=42";

#[test]
fn zone_operations_match_fio() {
    let sandbox = Sandbox::with_file(256 << 10);
    for (line, blocks, resets) in RECORDED {
        let ran = sandbox.line(&format!("{ZONES} --write_iolog=log {line}"));
        ran.expect(0, &[resets]);
        assert_eq!(ran.out.contains("zone resets"), !resets.is_empty(), "{line}");
        let log = fs::read_to_string(sandbox.path().join("log")).unwrap();
        let operations = log.lines().filter_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [.., action @ ("read" | "write"), offset, _] = fields[..] else {
                return None;
            };
            Some(format!("{}{}", &action[..1], offset.parse::<u64>().unwrap() / 4096))
        });
        assert_eq!(operations.collect::<Vec<_>>().join(" "), blocks, "{line}");
        fs::remove_file(sandbox.path().join("log")).unwrap();
    }
}

#[test]
fn invalid_zone_options_are_refused() {
    let sandbox = Sandbox::with_file(256 << 10);
    for (line, why) in [
        ("--rw=write --zonesize=0", "zonemode=zbd needs a zonesize"),
        ("--rw=write --zonesize=100", "zone size must be at least 512 bytes"),
        (
            "--rw=write --zonecapacity=32k",
            "job parameter zonecapacity 32768 is larger than zone size 16384",
        ),
        (
            "--rw=write --zoneskip=16k",
            "zoneskip with zonemode=zbd is not supported",
        ),
        ("--rw=randtrim", "trims with zonemode=zbd are not supported"),
        (
            "--rw=randwrite --verify=crc32c",
            "verify with zonemode=zbd is not supported",
        ),
        ("--rw=randread:8", "cannot be combined with zonemode=zbd"),
        (
            "--rw=randwrite --zone_reset_threshold=0.5",
            "zone_reset_threshold and zone_reset_frequency need each other",
        ),
        ("--rw=write --size=8k", "do not hold a block of 16384 bytes"),
        ("--rw=write --bs=32k", "the capacity of a zone"),
    ] {
        let ran = sandbox.line(&format!("{ZONES} {line}"));
        assert!(ran.code == Some(1), "{line}: {ran:#?}");
        assert!(ran.err.contains(why) || ran.out.contains(why), "{line}: {ran:#?}");
    }
}

#[test]
fn jobs_share_the_write_pointers_of_zones() {
    let sandbox = Sandbox::with_file(256 << 10);
    let line = "--filename=f --size=64k --zonemode=zbd --zonesize=16k --bs=4k --thread --name=w --rw=write --io_size=24k --name=r \
                --stonewall --rw=read";
    let ran = sandbox.line(line);
    ran.expect(0, &["  write: IOPS=", "(24.0KiB/", "  read: IOPS="]);
    assert_eq!(
        ran.out.matches("(24.0KiB (").count() + ran.out.matches("(24.0KiB/").count(),
        2,
        "{}",
        ran.out
    );
}
