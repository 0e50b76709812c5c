//! Comparison of fathom's counts with the kernel's.

use std::fs;

use testbed::{Directory, LoopDevice, LoopOptions, Zram, need};

use crate::calling::{command, fathom_line, signal, spawn, split_words, text, wait_until};

/// Does 20,000 reads and writes with O_DIRECT, and expects the same count from the kernel.
fn assert_counts_agree(device: &str, engine: &str, depth: &str) {
    let ran = fathom_line(&format!(
        "run --target {device} --allow-destroy {device} --read 50 --operations 20000 --warm-up 0 \
         --engine {engine} --depth {depth} --out json"
    ));
    let json = ran.expect(0, &[]).json();
    let (kernel, ours) = (&json["devices"][0]["kernel"], &json["devices"][0]["ours"]);
    let [reads, writes] = ["reads", "writes"].map(|count| ours[count].as_u64().unwrap());
    assert_eq!(reads + writes, 20_000);
    // The kernel merges adjacent operations in its queue into one request.
    let merged = &json["devices"][0]["merged"];
    for (number, count) in ["reads", "writes"].into_iter().enumerate() {
        let counted = kernel[count].as_u64().unwrap() + merged[number].as_u64().unwrap();
        assert_eq!(ours[count], counted, "{count} of {engine} at depth {depth}");
    }
    for bytes in ["read_bytes", "written_bytes"] {
        assert_eq!(kernel[bytes], ours[bytes], "{engine} at depth {depth}");
    }
}

#[test]
fn the_kernel_counts_the_same_operations() {
    if let Some(device) = need(LoopDevice::filled(64 << 20, LoopOptions::DIRECT)) {
        for (engine, depth) in [("io_uring", "32"), ("libaio", "8"), ("psync", "1"), ("pvsync2", "1")] {
            assert_counts_agree(text(device.path()), engine, depth);
        }
    }
    if let Some(device) = need(Zram::with_size(64 << 20)) {
        for (engine, depth) in [("auto", "1"), ("libaio", "32"), ("io_uring", "32")] {
            assert_counts_agree(text(device.path()), engine, depth);
        }
    }
}

#[test]
fn hits_of_the_page_cache_are_reported() {
    let folder = need!(Directory::on_disk());
    let file = folder.path().join("f");
    let run = |rest: &str| {
        let target = text(&file);
        fathom_line(&format!(
            "run --target {target} --size 32m --warm-up 0 --cache buffered {rest}"
        ))
    };
    // The first run creates the file and reads it into the page cache, which serves the second run.
    run("--time 1s").expect(0, &[]);
    run("--time 1s").expect(0, &["CACHE-HITS", "page cache"]);
    // Meanwhile another program reads the same disk.
    let other = format!("run --target {} --size 64m --time 20s -q", text(folder.path()));
    let mut reader = spawn(&mut command(&split_words(&other)));
    let is_prepared = || fs::read_dir(folder.path()).is_ok_and(|names| names.count() > 1);
    wait_until(20, is_prepared, "the other program has not begun");
    let ran = run("--time 3s --rate 4000iops --require iops>=1000");
    signal(&reader, "INT");
    let _ = reader.wait();
    ran.expect(2, &["CACHE-HITS", "OTHER-LOAD", "INCONCLUSIVE"]);
    assert!(!ran.out.contains("READ-AHEAD"), "{}", ran.out);
}

#[test]
fn a_rate_is_kept() {
    let ran = fathom_line("run --target null --rate 1000iops --time 2s --warm-up 0 --out json");
    let json = ran.expect(0, &[]).json();
    // Operations are due at 0, 1, …, 1999 ms, so their number is exact even on a slow machine.
    assert_eq!(json["jobs"][0]["total"]["operations"], 2000);
}
