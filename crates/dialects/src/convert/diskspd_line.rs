//! Converts a profile to a command line, if a line can express it.

use super::words::format_size;
use crate::diskspd::profile::{Cache, FlushType, Profile, Target, ThroughputUnit, TimeSpan};
use crate::diskspd::{EventRole, ParseEnv, Processors, Reading, Version, read};
use model::plan::BypassIo;
use model::shell_word;

/// The command line; `None` if parsing it does not give the same profile.
pub(super) fn line(profile: &Profile) -> Option<String> {
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
    words.extend(switches(span, first));
    if profile.verbose_stats {
        words.push("-vs".into());
    }
    words.extend(span.targets.iter().map(|target| target.path.clone()));
    let again = match read("diskspd", &words[1..], &mut NullEnv) {
        Reading::Run(request) | Reading::Print(request) => request.profile,
        Reading::End(_) => return None,
    };
    let same = normalize(&again) == normalize(profile);
    same.then(|| words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" "))
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

fn switches(span: &TimeSpan, target: &Target) -> Vec<String> {
    let defaults = (TimeSpan::default(), Target::default());
    let mut words = Vec::new();
    let mut push_switch = |word: String| words.push(word);
    if target.block != defaults.1.block {
        push_switch(format!("-b{}", uppercase_size(u64::from(target.block))));
    }
    if let Some(bytes) = target.file_size.filter(|bytes| *bytes > 0) {
        push_switch(format!("-c{}", uppercase_size(bytes)));
    }
    push_switch(format!("-d{}", span.duration));
    push_switch(format!("-W{}", span.warm_up));
    if span.cool_down > 0 {
        push_switch(format!("-C{}", span.cool_down));
    }
    if target.base > 0 {
        push_switch(format!("-B{}", uppercase_size(target.base)));
    }
    if target.end > 0 {
        push_switch(format!("-f{}", uppercase_size(target.end)));
    }
    pattern(target, &mut push_switch);
    if span.threads > 0 {
        push_switch(format!("-F{}", span.threads));
    } else if target.threads > 1 {
        push_switch(format!("-t{}", target.threads));
    }
    if span.requests > 0 {
        push_switch(format!("-O{}", span.requests));
    }
    if target.requests != defaults.1.requests {
        push_switch(format!("-o{}", target.requests));
    }
    if target.write_percent > 0 {
        push_switch(format!("-w{}", target.write_percent));
    }
    match (target.throughput, target.throughput_unit) {
        (0, _) => {}
        (limit, ThroughputUnit::BytesPerMs) => push_switch(format!("-g{limit}")),
        (limit, ThroughputUnit::Iops) => push_switch(format!("-g{limit}i")),
    }
    if let Some(burst) = target.burst {
        push_switch(format!("-i{burst}"));
    }
    if let Some(pause) = target.think_ms {
        push_switch(format!("-j{pause}"));
    }
    caches(target, &mut push_switch);
    data(span, target, &mut push_switch);
    threads(span, &mut push_switch);
    if span.seed > 0 {
        push_switch(format!("-z{}", span.seed));
    }
    if span.latency {
        push_switch("-L".into());
    }
    if span.iops_deviation {
        match span.bucket_ms {
            1000 => push_switch("-D".into()),
            length => push_switch(format!("-D{length}")),
        }
    }
    words
}

fn pattern(target: &Target, push_switch: &mut dyn FnMut(String)) {
    let step = match target.step() {
        step if step == u64::from(target.block) => String::new(),
        step => uppercase_size(step),
    };
    match (target.random_percent, target.interlocked) {
        (0, true) => push_switch(format!("-si{step}")),
        (0, false) if step.is_empty() => {}
        (0, false) => push_switch(format!("-s{step}")),
        (100, _) => push_switch(format!("-r{step}")),
        (share, _) => {
            push_switch(format!("-rs{share}"));
            if !step.is_empty() {
                push_switch(format!("-r{step}"));
            }
        }
    }
    if let Some(distribution) = &target.distribution {
        let kind = if distribution.absolute { "abs" } else { "pct" };
        let length = |length: u64| {
            if distribution.absolute {
                uppercase_size(length)
            } else {
                length.to_string()
            }
        };
        let ranges = distribution
            .ranges
            .iter()
            .map(|range| format!("{}/{}", range.io_percent, length(range.length)));
        push_switch(format!("-rd{kind}{}", ranges.collect::<Vec<_>>().join(":")));
    }
    if target.thread_stride > 0 {
        push_switch(format!("-T{}", uppercase_size(target.thread_stride)));
    }
    if target.parallel {
        push_switch("-p".into());
    }
    let hints: String = [
        (target.random_access, 'r'),
        (target.sequential_scan, 's'),
        (target.temporary_file, 't'),
    ]
    .into_iter()
    .filter(|(is, _)| *is)
    .map(|(_, letter)| letter)
    .collect();
    if !hints.is_empty() {
        push_switch(format!("-f{hints}"));
    }
}

fn caches(target: &Target, push_switch: &mut dyn FnMut(String)) {
    let mapped = if target.memory_mapped { "m" } else { "" };
    let cache = match (target.cache, target.write_through, target.memory_mapped) {
        (Cache::Unbuffered, true, false) => "h",
        (Cache::Unbuffered, false, false) => "u",
        (Cache::NoLocal, true, _) => "rw",
        (Cache::NoLocal, false, _) => "r",
        (_, true, _) => "w",
        (_, false, _) => "",
    };
    if !(mapped.is_empty() && cache.is_empty()) {
        push_switch(format!("-S{mapped}{cache}"));
    }
    match target.flush {
        None => {}
        Some(FlushType::ViewOfFile) => push_switch("-Nv".into()),
        Some(FlushType::NonVolatileMemory) => push_switch("-Nn".into()),
        Some(FlushType::NonVolatileMemoryNoDrain) => push_switch("-Ni".into()),
    }
    if target.large_pages {
        push_switch("-l".into());
    }
    if target.priority != Target::default().priority {
        push_switch(format!("-I{}", target.priority));
    }
}

fn data(span: &TimeSpan, target: &Target, push_switch: &mut dyn FnMut(String)) {
    if target.zero_buffers {
        push_switch("-Z".into());
    }
    if span.random_write_data {
        push_switch("-Zr".into());
    }
    if let Some(source) = &target.source {
        let file = source.file.as_ref().map(|file| format!(",{file}")).unwrap_or_default();
        push_switch(format!("-Z{}{file}", uppercase_size(source.size)));
    }
}

fn threads(span: &TimeSpan, push_switch: &mut dyn FnMut(String)) {
    if span.no_affinity {
        push_switch("-n".into());
    }
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
        push_switch(list);
    }
    if span.completion_routines {
        push_switch("-x".into());
    }
    if span.newer.ring.is_some() {
        push_switch("-u".into());
    }
    match span.newer.bypass {
        Some(BypassIo::Partial) => push_switch("-Sy".into()),
        Some(BypassIo::Full) => push_switch("-SY".into()),
        None => {}
    }
    if let Some(separation) = span.newer.separation {
        push_switch(format!("-bs{}", separation.to_text()));
    }
}

fn uppercase_size(bytes: u64) -> String {
    format_size(bytes).to_ascii_uppercase()
}

/// An environment that generated lines never use.
struct NullEnv;

impl ParseEnv for NullEnv {
    fn processors(&self) -> Processors {
        // The machine that will run the line is unknown, so it may have every CPU number of Linux.
        Processors {
            online: (0..1 << 13).collect(),
            possible: 1 << 13,
        }
    }

    fn milliseconds_since_start(&self) -> u64 {
        0
    }

    fn read_profile(&mut self, _: &str) -> Result<String, String> {
        Err("a generated line names no profile".into())
    }

    fn open_event(&mut self, _: EventRole, _: &str) -> Result<(), String> {
        Err("a generated line names no event".into())
    }

    fn signal_event(&mut self, _: &str) -> Result<(), String> {
        Err("a generated line names no event".into())
    }

    fn version(&self) -> Version {
        Version::V2_3
    }

    fn slash_is_a_switch(&self) -> bool {
        cfg!(windows)
    }
}
