//! A profile as a command line, where one line says all of it.

use super::words::size;
use crate::diskspd::profile::{Cache, FlushType, Profile, Target, ThroughputUnit, TimeSpan};
use crate::diskspd::{EventRole, ParseEnv, Processors, Reading, Version, read};
use model::plan::BypassIo;
use model::shell_word;

/// The line. Nothing if reading it would not give the profile again, whatever the reason.
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
    let same = explicit(&again) == explicit(profile);
    same.then(|| words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" "))
}

/// The profile with alignments as they are in effect, and without what is only said.
fn explicit(profile: &Profile) -> Profile {
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
    let usual = (TimeSpan::default(), Target::default());
    let mut words = Vec::new();
    let mut say = |word: String| words.push(word);
    if target.block != usual.1.block {
        say(format!("-b{}", upper(u64::from(target.block))));
    }
    if let Some(bytes) = target.file_size.filter(|bytes| *bytes > 0) {
        say(format!("-c{}", upper(bytes)));
    }
    say(format!("-d{}", span.duration));
    say(format!("-W{}", span.warm_up));
    if span.cool_down > 0 {
        say(format!("-C{}", span.cool_down));
    }
    if target.base > 0 {
        say(format!("-B{}", upper(target.base)));
    }
    if target.end > 0 {
        say(format!("-f{}", upper(target.end)));
    }
    pattern(target, &mut say);
    if span.threads > 0 {
        say(format!("-F{}", span.threads));
    } else if target.threads > 1 {
        say(format!("-t{}", target.threads));
    }
    if span.requests > 0 {
        say(format!("-O{}", span.requests));
    }
    if target.requests != usual.1.requests {
        say(format!("-o{}", target.requests));
    }
    if target.write_percent > 0 {
        say(format!("-w{}", target.write_percent));
    }
    match (target.throughput, target.throughput_unit) {
        (0, _) => {}
        (limit, ThroughputUnit::BytesPerMs) => say(format!("-g{limit}")),
        (limit, ThroughputUnit::Iops) => say(format!("-g{limit}i")),
    }
    if let Some(burst) = target.burst {
        say(format!("-i{burst}"));
    }
    if let Some(pause) = target.think_ms {
        say(format!("-j{pause}"));
    }
    caches(target, &mut say);
    data(span, target, &mut say);
    threads(span, &mut say);
    if span.seed > 0 {
        say(format!("-z{}", span.seed));
    }
    if span.latency {
        say("-L".into());
    }
    if span.iops_deviation {
        match span.bucket_ms {
            1000 => say("-D".into()),
            length => say(format!("-D{length}")),
        }
    }
    words
}

fn pattern(target: &Target, say: &mut dyn FnMut(String)) {
    let step = match target.step() {
        step if step == u64::from(target.block) => String::new(),
        step => upper(step),
    };
    match (target.random_percent, target.interlocked) {
        (0, true) => say(format!("-si{step}")),
        (0, false) if step.is_empty() => {}
        (0, false) => say(format!("-s{step}")),
        (100, _) => say(format!("-r{step}")),
        (share, _) => {
            say(format!("-rs{share}"));
            if !step.is_empty() {
                say(format!("-r{step}"));
            }
        }
    }
    if let Some(distribution) = &target.distribution {
        let kind = if distribution.absolute { "abs" } else { "pct" };
        let length = |length: u64| {
            if distribution.absolute {
                upper(length)
            } else {
                length.to_string()
            }
        };
        let ranges = distribution
            .ranges
            .iter()
            .map(|range| format!("{}/{}", range.io_percent, length(range.length)));
        say(format!("-rd{kind}{}", ranges.collect::<Vec<_>>().join(":")));
    }
    if target.thread_stride > 0 {
        say(format!("-T{}", upper(target.thread_stride)));
    }
    if target.parallel {
        say("-p".into());
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
        say(format!("-f{hints}"));
    }
}

fn caches(target: &Target, say: &mut dyn FnMut(String)) {
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
        say(format!("-S{mapped}{cache}"));
    }
    match target.flush {
        None => {}
        Some(FlushType::ViewOfFile) => say("-Nv".into()),
        Some(FlushType::NonVolatileMemory) => say("-Nn".into()),
        Some(FlushType::NonVolatileMemoryNoDrain) => say("-Ni".into()),
    }
    if target.large_pages {
        say("-l".into());
    }
    if target.priority != Target::default().priority {
        say(format!("-I{}", target.priority));
    }
}

fn data(span: &TimeSpan, target: &Target, say: &mut dyn FnMut(String)) {
    if target.zero_buffers {
        say("-Z".into());
    }
    if span.random_write_data {
        say("-Zr".into());
    }
    if let Some(source) = &target.source {
        let file = source.file.as_ref().map(|file| format!(",{file}")).unwrap_or_default();
        say(format!("-Z{}{file}", upper(source.size)));
    }
}

fn threads(span: &TimeSpan, say: &mut dyn FnMut(String)) {
    if span.no_affinity {
        say("-n".into());
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
        say(list);
    }
    if span.completion_routines {
        say("-x".into());
    }
    if span.newer.ring.is_some() {
        say("-u".into());
    }
    match span.newer.bypass {
        Some(BypassIo::Partial) => say("-Sy".into()),
        Some(BypassIo::Full) => say("-SY".into()),
        None => {}
    }
    if let Some(separation) = span.newer.separation {
        say(format!("-bs{}", separation.to_text()));
    }
}

fn upper(bytes: u64) -> String {
    size(bytes).to_ascii_uppercase()
}

/// An environment that a line of ours never asks anything of.
struct NullEnv;

impl ParseEnv for NullEnv {
    fn processors(&self) -> Processors {
        // Where a line will be run is not known, so every processor that Linux can number may be
        // there.
        Processors {
            online: (0..1 << 13).collect(),
            possible: 1 << 13,
        }
    }

    fn milliseconds_since_start(&self) -> u64 {
        0
    }

    fn read_profile(&mut self, _: &str) -> Result<String, String> {
        Err("there are no files here".into())
    }

    fn open_event(&mut self, _: EventRole, _: &str) -> Result<(), String> {
        Err("there are no events here".into())
    }

    fn signal_event(&mut self, _: &str) -> Result<(), String> {
        Err("there are no events here".into())
    }

    fn version(&self) -> Version {
        Version::V2_3
    }

    fn slash_is_a_switch(&self) -> bool {
        cfg!(windows)
    }
}
