//! Prints a profile as text: the output of `-Rptext`, and the head of every text report. A profile
//! does not hold its command line: callers print it first. The lines follow DiskSpd 2.2; `V2_0` is
//! for scripts written for 2.0.17 to 2.0.20.

use super::profile::added_span_lines;
use super::profile::{Cache, Distribution, FlushType, Processor, Profile, Range, Target, ThroughputUnit, TimeSpan};

/// The version whose text is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextVersion {
    /// DiskSpd 2.2: sizes have units.
    #[default]
    V2_2,
    /// DiskSpd 2.0.17 to 2.0.20: sizes in bytes, no pools, weights, limits or distributions.
    V2_0,
}

/// The lines between `Command Line` and `System information`: from `Experiment Flags` or
/// `Input parameters:` to the empty line after the last time span.
pub fn lines(profile: &Profile, form: TextVersion) -> Vec<String> {
    let mut lines = Vec::new();
    let flags = profile.experiment_flags;
    if form == TextVersion::V2_2 && flags != 0 {
        lines.push(format!("Experiment Flags: {flags:#x} ({flags})"));
        lines.push(String::new());
    }
    lines.push("Input parameters:".to_string());
    lines.push(String::new());
    if profile.verbose {
        lines.push("\tusing verbose mode".to_string());
    }
    for (index, span) in profile.time_spans.iter().enumerate() {
        lines.push(format!("\ttimespan: {:>3}", index + 1));
        lines.push("\t-------------".to_string());
        lines.extend(time_span_lines(span, form).into_iter().map(|line| format!("\t{line}")));
        for target in &span.targets {
            lines.push(format!("\t{}", path_line(target)));
            let nested_lines = target_lines(target, span, form);
            lines.extend(nested_lines.into_iter().map(|line| format!("\t\t{line}")));
        }
        lines.push(String::new());
    }
    lines
}

/// The lines of the ranges of a distribution, without indent: those below `IO Distribution:`, and
/// for the effective distribution of a target those below `Effective IO Distributions`.
pub fn range_lines(distribution: &Distribution) -> Vec<String> {
    let total_share: u64 = distribution
        .ranges
        .iter()
        .map(|range| u64::from(range.io_percent))
        .sum();
    let mut start = 0u64;
    let mut lines = Vec::new();
    for range in &distribution.ranges {
        let end = start.saturating_add(range.length);
        let share = format_share(range, distribution.absolute, total_share);
        let range_text = if distribution.absolute {
            let end = match range.length {
                0 => "      end".to_string(),
                _ => aligned_size(end),
            };
            format!("[{} - {end})", aligned_size(start))
        } else {
            format!("[{start:>2}% - {end:>3}%) of target")
        };
        lines.push(format!("{share}% of IO => {range_text}"));
        start = end;
    }
    lines
}

/// A size with the largest unit that fits into it, with two decimals unless it is a multiple of
/// that unit.
pub fn format_size(bytes: u64) -> String {
    let (figure, unit) = figure_and_unit(bytes);
    format!("{figure}{unit}")
}

/// Formats the share of a range. Absolute distributions drop ranges beyond the end of a target, so
/// the remaining shares are scaled to 100 %.
fn format_share(range: &Range, absolute: bool, total_share: u64) -> String {
    if absolute && (1..100).contains(&total_share) {
        format!("    {:.1}", f64::from(range.io_percent) * 100.0 / total_share as f64)
    } else {
        format!("   {:>3}", range.io_percent)
    }
}

/// A size with its unit aligned; a zero has no unit.
fn aligned_size(bytes: u64) -> String {
    match figure_and_unit(bytes) {
        _ if bytes == 0 => "     0   ".to_string(),
        (figure, unit) => format!("{figure:>6}{unit}"),
    }
}

fn figure_and_unit(bytes: u64) -> (String, &'static str) {
    let units = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
    match units.into_iter().find(|(shift, _)| bytes >> shift > 0) {
        None => (bytes.to_string(), ""),
        Some((shift, unit)) if bytes.trailing_zeros() >= shift => ((bytes >> shift).to_string(), unit),
        Some((shift, unit)) => (format!("{:.2}", bytes as f64 / (1u64 << shift) as f64), unit),
    }
}

fn time_span_lines(span: &TimeSpan, form: TextVersion) -> Vec<String> {
    let mut lines = vec![
        format!("duration: {}s", span.duration),
        format!("warm up time: {}s", span.warm_up),
        format!("cool down time: {}s", span.cool_down),
    ];
    if span.no_affinity {
        lines.push("affinity disabled".to_string());
    }
    if span.latency {
        lines.push("measuring latency".to_string());
    }
    if span.iops_deviation {
        lines.push(format!("gathering IOPS at intervals of {}ms", span.bucket_ms));
    }
    lines.push(format!("random seed: {}", span.seed));
    if span.threads != 0 && form == TextVersion::V2_2 {
        lines.push(format!("thread pool with {} threads", span.threads));
        lines.push(format!(
            "number of outstanding I/O operations per thread: {}",
            span.requests
        ));
    }
    if !span.affinity.is_empty() {
        let group_and_number = |processor: &Processor| format!("{}/{}", processor.group, processor.number);
        let list: Vec<String> = span.affinity.iter().map(group_and_number).collect();
        lines.push(format!(
            "advanced affinity round robin (group/core): {}",
            list.join(", ")
        ));
    }
    lines.extend(added_span_lines(span));
    if span.random_write_data {
        lines.extend([
            "generating random data for each write IO".to_string(),
            "  WARNING: this increases the CPU cost of issuing writes and should only".to_string(),
            "           be compared to other results using the -Zr flag".to_string(),
        ]);
    }
    lines
}

fn path_line(target: &Target) -> String {
    match target.slot() {
        Some(slot) => format!("path: template target '{slot}'"),
        None => format!("path: '{}'", target.path),
    }
}

fn target_lines(target: &Target, span: &TimeSpan, form: TextVersion) -> Vec<String> {
    let mut lines = vec![
        // Absent limits print as 0.
        format!("think time: {}ms", target.think_ms.unwrap_or(0)),
        format!("burst size: {}", target.burst.unwrap_or(0)),
    ];
    lines.extend(cache_lines(target));
    lines.extend(write_buffer_lines(target, form));
    if target.parallel {
        lines.push("using parallel async I/O".to_string());
    }
    lines.push(match target.write_percent {
        0 => "performing read test".to_string(),
        100 => "performing write test".to_string(),
        // Values above 100 are refused earlier.
        writes => format!(
            "performing mix test (read/write ratio: {}/{writes})",
            100u8.saturating_sub(writes)
        ),
    });
    lines.push(format!(
        "block size: {}",
        format_size_for(form, u64::from(target.block))
    ));
    lines.push(pattern_line(target, form));
    lines.push(depth_line(target, span, form));
    lines.extend(offset_and_hint_lines(target, form));
    lines.extend(thread_lines(target, span));
    if form == TextVersion::V2_2 {
        lines.extend(limit_lines(target));
    }
    lines
}

fn cache_lines(target: &Target) -> Vec<String> {
    let software = match target.cache {
        Cache::Cached => "using software cache",
        Cache::NoLocal => "local software cache disabled, remote cache enabled",
        Cache::Unbuffered => "software cache disabled",
    };
    let hardware = match (target.write_through, target.cache) {
        (false, _) => "using hardware write cache, writethrough off",
        (true, Cache::Cached | Cache::NoLocal) => "hardware and software write caches disabled, writethrough on",
        (true, Cache::Unbuffered) => "hardware write cache disabled, writethrough on",
    };
    let mut lines = vec![software.to_string(), hardware.to_string()];
    if target.memory_mapped {
        let flush = match target.flush {
            None => "",
            Some(FlushType::ViewOfFile) => ", flush mode: FlushViewOfFile",
            Some(FlushType::NonVolatileMemory) => ", flush mode: FlushNonVolatileMemory",
            Some(FlushType::NonVolatileMemoryNoDrain) => ", flush mode: FlushNonVolatileMemory with no drain",
        };
        lines.push(format!("memory mapped I/O enabled{flush}"));
    }
    lines
}

fn write_buffer_lines(target: &Target, form: TextVersion) -> Vec<String> {
    let mut lines = Vec::new();
    if target.zero_buffers {
        lines.push("zeroing write buffers".to_string());
    }
    if let Some(source) = &target.source {
        lines.push(format!("write buffer size: {}", format_size_for(form, source.size)));
        match &source.file {
            Some(file) => lines.push(format!("write buffer source: '{file}'")),
            None if form == TextVersion::V2_0 => {}
            None => lines.push("write buffer source: random fill".to_string()),
        }
    }
    lines
}

fn pattern_line(target: &Target, form: TextVersion) -> String {
    let step = format_size_for(form, target.step());
    match target.random_percent {
        0 if target.interlocked => format!("using interlocked sequential I/O (stride: {step})"),
        0 => format!("using sequential I/O (stride: {step})"),
        percent @ 1..100 => {
            format!("using mixed random/sequential I/O ({percent}% random) (alignment/stride: {step})")
        }
        _ => format!("using random I/O (alignment: {step})"),
    }
}

/// The depth of a target, or its weight if the pool shares its requests.
fn depth_line(target: &Target, span: &TimeSpan, form: TextVersion) -> String {
    let has_shared_pool = span.threads != 0 && span.requests != 0;
    match form {
        TextVersion::V2_0 => format!("number of outstanding I/O operations: {}", target.requests),
        TextVersion::V2_2 if has_shared_pool => format!("relative IO weight in thread pool: {}", target.weight),
        TextVersion::V2_2 => format!("number of outstanding I/O operations per thread: {}", target.requests),
    }
}

fn offset_and_hint_lines(target: &Target, form: TextVersion) -> Vec<String> {
    let mut lines = Vec::new();
    if target.base != 0 {
        lines.push(format!("base file offset: {}", format_size_for(form, target.base)));
    }
    if target.end != 0 {
        lines.push(format!("max file size: {}", format_size_for(form, target.end)));
    }
    if target.thread_stride != 0 || form == TextVersion::V2_0 {
        lines.push(format!(
            "thread stride size: {}",
            format_size_for(form, target.thread_stride)
        ));
    }
    let hints = [
        (target.sequential_scan, "using FILE_FLAG_SEQUENTIAL_SCAN hint"),
        (target.random_access, "using FILE_FLAG_RANDOM_ACCESS hint"),
        (target.temporary_file, "using FILE_ATTRIBUTE_TEMPORARY hint"),
    ];
    let set_hints = hints.into_iter().filter(|(is_set, _)| *is_set);
    lines.extend(set_hints.map(|(_, line)| line.to_string()));
    lines
}

fn thread_lines(target: &Target, span: &TimeSpan) -> Vec<String> {
    let mut lines = Vec::new();
    if span.threads == 0 {
        lines.push(format!("threads per file: {}", target.threads));
        if target.requests > 1 {
            let completion = match (span.newer.ring.is_some(), span.completion_routines) {
                // On Linux the ring replaces the completion port.
                (true, _) if cfg!(windows) => "using I/O Ring",
                (_, true) => "using completion routines (ReadFileEx/WriteFileEx)",
                (_, false) => "using I/O Completion Ports",
            };
            lines.push(completion.to_string());
        }
    }
    let priority = match target.priority {
        1 => "very low",
        2 => "low",
        _ => "normal",
    };
    lines.push(format!("IO priority: {priority}"));
    lines
}

fn limit_lines(target: &Target) -> Vec<String> {
    let mut lines = Vec::new();
    if target.throughput != 0 {
        let unit = match target.throughput_unit {
            ThroughputUnit::BytesPerMs => "B/ms",
            ThroughputUnit::Iops => "IOPS",
        };
        lines.push(format!("throughput rate-limited to {} {unit}", target.throughput));
    }
    if let Some(distribution) = &target.distribution {
        lines.push("IO Distribution:".to_string());
        lines.extend(range_lines(distribution));
    }
    lines
}

fn format_size_for(form: TextVersion, bytes: u64) -> String {
    match form {
        TextVersion::V2_2 => format_size(bytes),
        TextVersion::V2_0 => bytes.to_string(),
    }
}
