//! The meaning of each switch, and the values that it refuses.

use dialects::diskspd::ParseOutcome;
use dialects::diskspd::profile::{
    Cache, Distribution, Etw, FlushType, Processor, Range, ResultFormat, Source, Target, ThroughputUnit, TimeSpan,
};
use testbed::With;

use crate::diskspd::support::{AssertMessages, end, profile, reading, span, target};

/// Compares one value of the target that these switches describe.
#[track_caller]
fn check<T: PartialEq + std::fmt::Debug>(switches: &str, value: impl Fn(&Target) -> T, expected: T) {
    assert_eq!(value(&target(switches)), expected, "{switches}");
}

/// Compares one value of the time span that these switches describe.
#[track_caller]
fn check_span<T: PartialEq + std::fmt::Debug>(switches: &str, value: impl Fn(&TimeSpan) -> T, expected: T) {
    assert_eq!(value(&span(switches)), expected, "{switches}");
}

#[test]
fn a_line_without_switches_has_the_defaults() {
    let profile = profile("t.dat");
    assert_eq!(profile.progress, 0);
    assert_eq!(profile.result_format, ResultFormat::Text);
    assert!(!profile.verbose && !profile.verbose_stats && profile.etw.is_none() && profile.precreate.is_none());
    let expected = Target::default().with(|target| target.path = "t.dat".into());
    assert_eq!(
        profile.time_spans,
        [TimeSpan::default().with(|span| span.targets = vec![expected])]
    );
}

#[test]
fn integers_are_read_leniently() {
    check("-t4x", |target| target.threads, 4);
    check("-o007", |target| target.requests, 7);
    check("-wabc", |target| target.write_percent, 0);
    check_span("-dabc", |span| span.duration, 0);
    check_span("-d10s", |span| span.duration, 10);
    check_span("-W99999999999", |span| span.warm_up, i32::MAX as u32);
    check_span("-C3", |span| span.cool_down, 3);
    check("-o1 -o2 -o3", |target| target.requests, 3);
}

#[test]
fn impossible_values_of_numbers_are_refused() {
    for switch in [
        "-t0", "-t", "-t-1", "-o0", "-o", "-F0", "-F", "-O0", "-O", "-i0", "-i", "-j0", "-j", "-I0", "-I4", "-I", "-g",
        "-g0", "-g0i", "-gi", "-g-5", "-g5k", "-c", "-B", "-f", "-fx", "-frx", "-N", "-Nx", "-Nvv", "-y", "-yx", "-e",
        "-eFOO", "-edisk_io", "-Nvn",
    ] {
        switch.assert_refused_by_name(&[]);
    }
}

#[test]
fn a_block_size_applies_to_the_whole_line() {
    check("-r2b -b16k", |target| target.alignment, 32768);
    check("-b16k -r2b", |target| target.alignment, 32768);
    check("-b2b", |target| target.block, 131072);
    check("-b4k -b2b", |target| target.block, 8192);
    check("-b4294967294", |target| target.block, 4294967294);
    check("-b0", |target| target.block, 0);
    "-b".assert_refused(&["Invalid integer", "ERROR: invalid block size passed to -b"]);
    "-b4G".assert_refused(&["ERROR: invalid block size passed to -b"]);
    "-b4KB".assert_refused(&[
        "Unrecognized characters after size specification",
        "ERROR: invalid block size passed to -b",
    ]);
}

#[test]
fn random_and_sequential_share_an_alignment() {
    let pattern = |target: &Target| (target.random_percent, target.alignment);
    check("-r", pattern, (100, 65536));
    check("-r8k", pattern, (100, 8192));
    check("-rs30", pattern, (30, 0));
    check("-rs100", pattern, (100, 0));
    check("-r8k -rs50", pattern, (50, 8192));
    check("-rs50 -r8k", pattern, (50, 8192));
    check("-rs100 -rs50", pattern, (50, 0));
    check("-rs100 -r8k", pattern, (100, 8192));
    check("-s", pattern, (0, 65536));
    check("-s128k", pattern, (0, 131072));
    check("-s0 -s0", pattern, (0, 0));
    check("-s0 -r", pattern, (100, 65536));
    check("-s0", Target::step, 65536);
    check("-si", |target| (target.interlocked, target.alignment), (true, 65536));
    check("-si64k", |target| (target.interlocked, target.alignment), (true, 65536));
    assert_eq!(span("-p"), span("-pfoo"));
}

#[test]
fn random_and_sequential_exclude_each_other() {
    let conflict = "ERROR: sequential IO (-s) conflicts with random IO (-r/-rs)";
    let twice = "ERROR: mixed random/sequential IO (-rs) specified multiple times";
    "-rs50 -rs60".assert_refused_by_name(&[twice]);
    "-rs50 -rs100".assert_refused_by_name(&[twice]);
    "-r -r".assert_refused_by_name(&["ERROR: random IO (-r) specified multiple times"]);
    "-r8k -rs50 -r4k".assert_refused_by_name(&["ERROR: random IO (-r) specified multiple times"]);
    "-s -rs50"
        .assert_refused_by_name(&["ERROR: use -r to specify IO alignment when using mixed random/sequential IO (-rs)"]);
    "-s -r".assert_refused_by_name(&[conflict]);
    "-r -s".assert_refused_by_name(&[conflict]);
    "-rs100 -s".assert_refused_by_name(&[conflict]);
    "-rs50 -s".assert_refused_by_name(&["ERROR: use -r to specify IO alignment for -rs"]);
    "-s -s".assert_refused_by_name(&["ERROR: sequential IO (-s) specified multiple times"]);
    "-si -s".assert_refused_by_name(&["ERROR: sequential IO (-s) specified multiple times"]);
    "-r0".assert_refused_by_name(&["ERROR: invalid alignment passed to -r"]);
    "-r-1".assert_refused_by_name(&["Invalid integer", "ERROR: invalid alignment passed to -r"]);
    "-si-1".assert_refused_by_name(&["Invalid integer", "ERROR: invalid stride size passed to -s"]);
    "-rs".assert_refused_by_name(&["ERROR: no random percentage passed to -rs"]);
    "-rs101".assert_refused_by_name(&["ERROR: random percentage passed to -rs should be between 1 and 100"]);
}

#[test]
fn a_missing_target_is_the_only_error_reported() {
    for line in ["-r -s", "-rs50 -rs60", "-s -s", "-d5"] {
        let end = end(reading(line));
        assert_eq!(end.stderr, ["ERROR: need to provide at least one filename"], "{line}");
    }
}

#[test]
fn bounds_may_be_given_only_once() {
    let bounds = |target: &Target| (target.base, target.end);
    check("-B1M", bounds, (1 << 20, 0));
    check("-B1M:2M", bounds, (1 << 20, 3 << 20));
    check("-B512:512", bounds, (512, 1024));
    check("-b4k -B10b:1b", bounds, (40960, 45056));
    check("-f1G", bounds, (0, 1 << 30));
    check("-f0 -B0", bounds, (0, 0));
    check("-B0:0", bounds, (0, 0));
    let end_twice = "ERROR: maximum target offset (-Bbase:length or -fsize) can only be specified once";
    "-f1G -f1G".assert_refused_by_name(&[end_twice]);
    "-f1G -B0:1G".assert_refused_by_name(&[end_twice]);
    "-B0:1G -f1G".assert_refused_by_name(&[end_twice]);
    "-B1 -B1".assert_refused_by_name(&["ERROR: base target offset (-Bbase[:length]) can only be specified once"]);
    "-Bx".assert_refused_by_name(&["Invalid integer", "ERROR: invalid base target offset passed to -B"]);
    "-B:1".assert_refused_by_name(&["Invalid integer", "ERROR: invalid base target offset passed to -B"]);
    let unexpected = "ERROR: unexpected characters after -Bbase; use ':' to separate -Bbase:length";
    "-B1Mx".assert_refused_by_name(&[unexpected]);
    "-B1M,2M".assert_refused_by_name(&[unexpected]);
    "-B1M:".assert_refused_by_name(&["ERROR: -Bbase:length - no length provided"]);
    "-B1M:x".assert_refused_by_name(&["Invalid integer", "ERROR: invalid target length passed to -B"]);
    "-B1:18446744073709551615".assert_refused_by_name(&["ERROR: invalid target length passed to -B"]);
    "-f1x".assert_refused_by_name(&[
        "Invalid size 'x'. Valid: K - KiB, M - MiB, G - GiB, T - TiB, B - block",
        "ERROR: invalid max target size passed to -f",
    ]);
    "-B1M:0".assert_refused(&["ERROR: maximum (-f) target offset must be greater than base (-B)"]);
}

#[test]
fn open_hints_combine() {
    let hints = |target: &Target| (target.random_access, target.sequential_scan, target.temporary_file);
    check("-fr", hints, (true, false, false));
    check("-fs -ft", hints, (false, true, true));
    check("-frst", hints, (true, true, true));
    check(
        "-frs -f1M",
        |target| (hints(target), target.end),
        ((true, true, false), 1 << 20),
    );
}

#[test]
fn incomplete_distributions_are_completed_and_later_ones_replace_them() {
    let ranges = |list: &[(u32, u64)], absolute| {
        let ranges = list
            .iter()
            .map(|&(io_percent, length)| Range { io_percent, length })
            .collect();
        Some(Distribution { absolute, ranges })
    };
    let distribution = |target: &Target| target.distribution.clone();
    check("-r -rdpct90/10", distribution, ranges(&[(90, 10), (10, 90)], false));
    check(
        "-r -rdpct90/10 -rdabs80/1M",
        distribution,
        ranges(&[(80, 1 << 20), (20, 0)], true),
    );
    check("-b4k -r -rdabs100/2b", distribution, ranges(&[(100, 8192)], true));
    "-rdfoo".assert_refused_by_name(&["Unrecognized random distribution type"]);
    "-rdpct50/".assert_refused_by_name(&["Invalid integer Target%: must be > 0 and <= 100"]);
}

#[test]
fn cache_modes_are_three_independent_choices() {
    let mode = |target: &Target| (target.cache, target.write_through, target.memory_mapped);
    check("-Sb", mode, (Cache::Cached, false, false));
    check("-S", mode, (Cache::Unbuffered, false, false));
    check("-Su", mode, (Cache::Unbuffered, false, false));
    check("-Sw", mode, (Cache::Cached, true, false));
    check("-Sbw", mode, (Cache::Cached, true, false));
    check("-Sh", mode, (Cache::Unbuffered, true, false));
    check("-h", mode, (Cache::Unbuffered, true, false));
    check("-hfoo", mode, (Cache::Unbuffered, true, false));
    check("-Suw", mode, (Cache::Unbuffered, true, false));
    check("-S -Sw", mode, (Cache::Unbuffered, true, false));
    check("-Sr", mode, (Cache::NoLocal, false, false));
    check("-Srw", mode, (Cache::NoLocal, true, false));
    check("-Sm", mode, (Cache::Cached, false, true));
    check("-Smw", mode, (Cache::Cached, true, true));
    check("-Smr", mode, (Cache::NoLocal, false, true));
    check("-Smb", mode, (Cache::Cached, false, true));
}

#[test]
fn each_cache_choice_may_be_made_only_once() {
    let b = "ERROR: -Sb conflicts with earlier specification of cache mode";
    let h = "ERROR: -Sh conflicts with earlier specification of cache/writethrough/memory mapped";
    let m = "ERROR: -Sm conflicts with earlier specification of memory mapped IO/unbuffered IO";
    let r = "ERROR: -Sr conflicts with earlier specification of cache mode";
    let u = "ERROR: -Su conflicts with earlier specification of cache mode/memory mapped IO";
    let w = "ERROR -Sw conflicts with earlier specification of write through";
    let bare = "ERROR: -S conflicts with earlier specification of cache mode";
    let old = "ERROR: -h conflicts with earlier specification of cache/writethrough";
    for (switches, expected) in [
        ("-Sbb", b),
        ("-Sub", b),
        ("-Sb -Sh", h),
        ("-Swh", h),
        ("-Sm -Sh", h),
        ("-h -Sh", h),
        ("-Smm", m),
        ("-Sum", m),
        ("-Sh -Sm", m),
        ("-Sbr", r),
        ("-Sbu", u),
        ("-Smu", u),
        ("-Sww", w),
        ("-Sh -Sw", w),
        ("-Sb -S", bare),
        ("-Sm -S", bare),
        ("-S -S", bare),
        ("-Sw -h", old),
        ("-Sb -h", old),
        ("-Sx", "ERROR: unrecognized option provided to -S"),
        ("-SB", "ERROR: unrecognized option provided to -S"),
    ] {
        switches.assert_refused_by_name(&[expected]);
    }
    // The old form ignores memory mapping; the validation checks it.
    "-Sm -h".assert_refused(&["ERROR: unbuffered IO (-Su or -Sh) can't be used with memory mapped IO (-Sm)"]);
}

#[test]
fn throughput_is_in_the_unit_of_its_suffix() {
    let limit = |target: &Target| (target.throughput, target.throughput_unit);
    check("-g80000", limit, (80000, ThroughputUnit::BytesPerMs));
    check("-g2000i", limit, (2000, ThroughputUnit::Iops));
    check("-g1x0", limit, (1, ThroughputUnit::BytesPerMs));
    check("-g5 -g7i", limit, (7, ThroughputUnit::Iops));
    check("-g7i -g5", limit, (5, ThroughputUnit::BytesPerMs));
    // 32 bits would overflow in the first case, and whole bytes per millisecond would mean no limit
    // in the second.
    check("-b1M -g5000i", limit, (5000, ThroughputUnit::Iops));
    check("-b512 -g1i", limit, (1, ThroughputUnit::Iops));
    check(
        "-i100 -j20",
        |target| (target.burst, target.think_ms),
        (Some(100), Some(20)),
    );
}

#[test]
fn write_contents_may_be_combined() {
    let contents = |target: &Target| (target.zero_buffers, target.source.clone());
    let source = |size, file: Option<&str>| {
        Some(Source {
            size,
            file: file.map(str::to_string),
        })
    };
    check("-Z", contents, (true, None));
    check("-Z1M", contents, (false, source(1 << 20, None)));
    check("-Z -Z1M", contents, (true, source(1 << 20, None)));
    check("-Z1M,a.bin", contents, (false, source(1 << 20, Some("a.bin"))));
    check("-Z1M,a,b", contents, (false, source(1 << 20, Some("a,b"))));
    check("-Z1M,", contents, (false, source(1 << 20, None)));
    check("-b4k -Z2b", contents, (false, source(8192, None)));
    check_span("-Zr", |span| span.random_write_data, true);
    for switch in ["-Zr5", "-Zx"] {
        switch.assert_refused_by_name(&["Invalid integer", "ERROR: invalid size passed to -Z"]);
    }
    "-Z0".assert_refused_by_name(&["ERROR: invalid size passed to -Z"]);
}

#[test]
fn file_sizes_and_thread_strides() {
    check("-c1G", |target| target.file_size, Some(1 << 30));
    check("-c0", |target| target.file_size, Some(0));
    check("-t2 -T256M", |target| target.thread_stride, 256 << 20);
    "-cx".assert_refused_by_name(&["Invalid integer", "ERROR: invalid target size passed to -c"]);
    "-T0".assert_refused_by_name(&["ERROR: invalid offset passed to -T"]);
    "-T".assert_refused_by_name(&["Invalid integer", "ERROR: invalid offset passed to -T"]);
}

#[test]
fn write_shares_need_a_value() {
    check("-w100", |target| target.write_percent, 100);
    "-w".assert_refused_by_name(&["ERROR: no write ratio passed to -w"]);
    let range = "ERROR: write ratio passed to -w must be between 0 and 100 (percent)";
    "-w101".assert_refused_by_name(&[range]);
    "-w-1".assert_refused_by_name(&[range]);
}

#[test]
fn flush_modes_are_single_letters() {
    check("-Sm -Nv", |target| target.flush, Some(FlushType::ViewOfFile));
    check("-Sm -NN", |target| target.flush, Some(FlushType::NonVolatileMemory));
    check(
        "-Sm -Ni",
        |target| target.flush,
        Some(FlushType::NonVolatileMemoryNoDrain),
    );
}

#[test]
fn switches_of_the_time_span() {
    let cpu = |group, number| Processor { group, number };
    check_span(
        "-a0,1 -ag1,2",
        |span| span.affinity.clone(),
        vec![cpu(0, 0), cpu(0, 1), cpu(1, 2)],
    );
    check_span("-a0 -a -ag", |span| span.affinity.clone(), vec![cpu(0, 0)]);
    check_span("-n5", |span| span.no_affinity, true);
    check_span("-xfoo", |span| span.completion_routines, true);
    check_span("-L5", |span| span.latency, true);
    check_span("-D", |span| (span.iops_deviation, span.bucket_ms), (true, 1000));
    check_span("-D250", |span| (span.iops_deviation, span.bucket_ms), (true, 250));
    check_span("-D-5", |span| (span.iops_deviation, span.bucket_ms), (true, 1000));
    check_span("-F8 -O16", |span| (span.threads, span.requests), (8, 16));
    check_span("-z42", |span| span.seed, 42);
    check_span("-z-1", |span| span.seed, u32::MAX);
    // Without a value, `-z` takes the low 32 bits of the milliseconds since the start.
    check_span("-z", |span| span.seed, 77);
    check("-lfoo", |target| target.large_pages, true);
    check("-I1", |target| target.priority, 1);
    "-ag0".assert_refused_by_name(&["ERROR: incomplete affinity specification"]);
}

#[test]
fn switches_of_the_profile() {
    let parse_profile = |line: &str| profile(&format!("-Rp {line} t.dat"));
    assert_eq!(parse_profile("-P").progress, 65536);
    assert_eq!(parse_profile("-P0").progress, 65536);
    assert_eq!(parse_profile("-P5000").progress, 5000);
    assert_eq!(parse_profile("-:1").experiment_flags, 1);
    assert!(parse_profile("-v").verbose && !parse_profile("-v").verbose_stats);
    assert!(parse_profile("-vs").verbose_stats && !parse_profile("-vs").verbose);
    assert!(parse_profile("-vs -v").verbose_stats && parse_profile("-vs -v").verbose);
    let etw = Etw::default().with(|etw| (etw.disk_io, etw.use_perf_timer, etw.use_paged_memory) = (true, true, true));
    assert_eq!(parse_profile("-eDISK_IO -eq -epfoo").etw, Some(etw));
    "-vx".assert_refused(&["ERROR: invalid verbose mode (-v): 'x'"]);
    "-W-1".assert_refused(&["ERROR: invalid warmup time (-W): '-1'"]);
    "-C-2s".assert_refused(&["ERROR: invalid cooldown time (-C): '-2s'"]);
    "-z1x".assert_refused(&["ERROR: invalid random seed value '1x' specified - must be a valid 32 bit integer"]);
}

#[test]
fn result_formats_accumulate() {
    let printed = |line: &str| match reading(&format!("{line} t.dat")) {
        ParseOutcome::Print(request) => request.profile.result_format,
        other => panic!("{line}: {other:?}"),
    };
    assert_eq!(printed("-Rp"), ResultFormat::Text);
    assert_eq!(printed("-Rpxml"), ResultFormat::Xml);
    assert_eq!(printed("-Rp -Rxml"), ResultFormat::Xml);
    assert_eq!(printed("-Rxml -Rp"), ResultFormat::Xml);
    assert_eq!(printed("-Rpxml -Rtext"), ResultFormat::Text);
    assert_eq!(profile("-Rxml t.dat").result_format, ResultFormat::Xml);
    "-R".assert_refused(&["ERROR: unspecified results format -R: use [p]<text|xml>"]);
    "-Rpfoo".assert_refused(&["ERROR: invalid results format (-R): 'foo'"]);
}
