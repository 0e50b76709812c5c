//! Converts a profile to a command line, if a line can express it.

use super::words::format_size;
use crate::diskspd::profile::{Cache, FlushType, Profile, Target, ThroughputUnit, TimeSpan};
use crate::diskspd::{OfflineEnv, ParseOutcome, read};
use model::plan::BypassIo;
use model::shell_word;

/// The command line; `None` if parsing it does not give the same profile.
pub(super) fn format_line(profile: &Profile) -> Option<String> {
    let [span] = &profile.time_spans[..] else {
        return None;
    };
    let first = span.targets.first()?;
    let alike = |target: &Target| {
        let of_first = Target {
            path: target.path.clone(),
            ..first.clone()
        };
        *target == of_first
    };
    if !span.targets.iter().all(alike) {
        return None;
    }
    let mut words = vec!["diskspd".to_owned()];
    words.extend(format_switches(span, first));
    if profile.verbose_stats {
        words.push("-vs".into());
    }
    words.extend(span.targets.iter().map(|target| target.path.clone()));
    let reread = match read("diskspd", &words[1..], &mut OfflineEnv) {
        ParseOutcome::Run(request) | ParseOutcome::Print(request) => request.profile,
        ParseOutcome::End(_) => return None,
    };
    let is_same_profile = normalize(&reread) == normalize(profile);
    is_same_profile.then(|| words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" "))
}

/// The profile with effective alignments and without redundant settings, for comparison.
fn normalize(profile: &Profile) -> Profile {
    let mut profile = profile.clone();
    profile.verbose = false;
    for span in &mut profile.time_spans {
        span.newer.fill_defaults();
        for target in &mut span.targets {
            target.alignment = target.step();
            target.file_size = target.file_size.filter(|size| *size > 0);
        }
    }
    profile
}

fn format_switches(span: &TimeSpan, target: &Target) -> Vec<String> {
    let defaults = Target::default();
    let mut words = Vec::new();
    if target.block != defaults.block {
        words.push(format!("-b{}", uppercase_size(u64::from(target.block))));
    }
    let file_size = target.file_size.filter(|bytes| *bytes > 0);
    words.extend(file_size.map(|bytes| format!("-c{}", uppercase_size(bytes))));
    words.push(format!("-d{}", span.duration));
    words.push(format!("-W{}", span.warm_up));
    words.extend((span.cool_down > 0).then(|| format!("-C{}", span.cool_down)));
    words.extend((target.base > 0).then(|| format!("-B{}", uppercase_size(target.base))));
    words.extend((target.end > 0).then(|| format!("-f{}", uppercase_size(target.end))));
    add_pattern_switches(target, &mut words);
    if span.threads > 0 {
        words.push(format!("-F{}", span.threads));
    } else if target.threads > 1 {
        words.push(format!("-t{}", target.threads));
    }
    words.extend((span.requests > 0).then(|| format!("-O{}", span.requests)));
    words.extend((target.requests != defaults.requests).then(|| format!("-o{}", target.requests)));
    words.extend((target.write_percent > 0).then(|| format!("-w{}", target.write_percent)));
    match (target.throughput, target.throughput_unit) {
        (0, _) => {}
        (limit, ThroughputUnit::BytesPerMs) => words.push(format!("-g{limit}")),
        (limit, ThroughputUnit::Iops) => words.push(format!("-g{limit}i")),
    }
    words.extend(target.burst.map(|burst| format!("-i{burst}")));
    words.extend(target.think_ms.map(|pause| format!("-j{pause}")));
    add_cache_switches(target, &mut words);
    add_data_switches(span, target, &mut words);
    add_thread_switches(span, &mut words);
    words.extend((span.seed > 0).then(|| format!("-z{}", span.seed)));
    words.extend(span.latency.then(|| "-L".into()));
    if span.iops_deviation {
        match span.bucket_ms {
            1000 => words.push("-D".into()),
            length => words.push(format!("-D{length}")),
        }
    }
    words
}

fn add_pattern_switches(target: &Target, words: &mut Vec<String>) {
    let step = match target.step() {
        step if step == u64::from(target.block) => String::new(),
        step => uppercase_size(step),
    };
    match (target.random_percent, target.interlocked) {
        (0, true) => words.push(format!("-si{step}")),
        (0, false) if step.is_empty() => {}
        (0, false) => words.push(format!("-s{step}")),
        (100, _) => words.push(format!("-r{step}")),
        (share, _) => {
            words.push(format!("-rs{share}"));
            words.extend((!step.is_empty()).then(|| format!("-r{step}")));
        }
    }
    if let Some(distribution) = &target.distribution {
        let kind = if distribution.absolute { "abs" } else { "pct" };
        let length = |length: u64| match distribution.absolute {
            true => uppercase_size(length),
            false => length.to_string(),
        };
        let ranges = distribution
            .ranges
            .iter()
            .map(|range| format!("{}/{}", range.io_percent, length(range.length)));
        words.push(format!("-rd{kind}{}", ranges.collect::<Vec<_>>().join(":")));
    }
    words.extend((target.thread_stride > 0).then(|| format!("-T{}", uppercase_size(target.thread_stride))));
    words.extend(target.parallel.then(|| "-p".into()));
    let hints: String = [
        (target.random_access, 'r'),
        (target.sequential_scan, 's'),
        (target.temporary_file, 't'),
    ]
    .into_iter()
    .filter(|(is, _)| *is)
    .map(|(_, letter)| letter)
    .collect();
    words.extend((!hints.is_empty()).then(|| format!("-f{hints}")));
}

fn add_cache_switches(target: &Target, words: &mut Vec<String>) {
    let mapped = if target.memory_mapped { "m" } else { "" };
    let cache = match (target.cache, target.write_through, target.memory_mapped) {
        (Cache::Unbuffered, true, false) => "h",
        (Cache::Unbuffered, false, false) => "u",
        (Cache::NoLocal, true, _) => "rw",
        (Cache::NoLocal, false, _) => "r",
        (_, true, _) => "w",
        (_, false, _) => "",
    };
    words.extend((!(mapped.is_empty() && cache.is_empty())).then(|| format!("-S{mapped}{cache}")));
    match target.flush {
        None => {}
        Some(FlushType::ViewOfFile) => words.push("-Nv".into()),
        Some(FlushType::NonVolatileMemory) => words.push("-Nn".into()),
        Some(FlushType::NonVolatileMemoryNoDrain) => words.push("-Ni".into()),
    }
    words.extend(target.large_pages.then(|| "-l".into()));
    words.extend((target.priority != Target::default().priority).then(|| format!("-I{}", target.priority)));
}

fn add_data_switches(span: &TimeSpan, target: &Target, words: &mut Vec<String>) {
    words.extend(target.zero_buffers.then(|| "-Z".into()));
    words.extend(span.random_write_data.then(|| "-Zr".into()));
    if let Some(source) = &target.source {
        let file = source.file.as_ref().map(|file| format!(",{file}")).unwrap_or_default();
        words.push(format!("-Z{}{file}", uppercase_size(source.size)));
    }
}

fn add_thread_switches(span: &TimeSpan, words: &mut Vec<String>) {
    words.extend(span.no_affinity.then(|| "-n".into()));
    if !span.affinity.is_empty() {
        let mut group = 0;
        let mut list = String::from("-a");
        for (number, processor) in span.affinity.iter().enumerate() {
            if number > 0 {
                list.push(',');
            }
            if processor.group != group {
                group = processor.group;
                list += &format!("g{group},");
            }
            list += &processor.number.to_string();
        }
        words.push(list);
    }
    words.extend(span.completion_routines.then(|| "-x".into()));
    words.extend(span.newer.ring.is_some().then(|| "-u".into()));
    match span.newer.bypass {
        Some(BypassIo::Partial) => words.push("-Sy".into()),
        Some(BypassIo::Full) => words.push("-SY".into()),
        None => {}
    }
    let separation = span.newer.separation;
    words.extend(separation.map(|separation| format!("-bs{}", separation.to_text())));
}

fn uppercase_size(bytes: u64) -> String {
    format_size(bytes).to_ascii_uppercase()
}
