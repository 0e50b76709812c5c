//! A profile as DiskSpd prints it with `-Rpxml` and inside its results: same elements, same order, same indent.
//!
//! Two things differ: text is escaped, and `RandomWriteData` stands there when it is set, since without it a profile that is
//! read again would be another one.

use crate::diskspd::newer;
use crate::diskspd::profile::{
    Cache, Distribution, Etw, FlushType, Precreate, Profile, ResultFormat, Target, ThroughputUnit, TimeSpan,
};

/// The profile, one element or tag per line, two blanks of indent per level, the root at the left edge.
pub fn lines(profile: &Profile) -> Vec<String> {
    let mut writer = Writer::default();
    writer.element("Profile", |writer| write_profile(writer, profile));
    writer.lines
}

#[derive(Default)]
struct Writer {
    lines: Vec<String>,
    depth: usize,
}

impl Writer {
    fn line(&mut self, text: &str) {
        self.lines
            .push(format!("{:indent$}{text}", "", indent = 2 * self.depth));
    }

    fn element(&mut self, name: &str, inside: impl FnOnce(&mut Writer)) {
        self.line(&format!("<{name}>"));
        self.depth += 1;
        inside(self);
        self.depth -= 1;
        self.line(&format!("</{name}>"));
    }

    fn value(&mut self, name: &str, value: impl ToString) {
        let text = escape(&value.to_string());
        self.line(&format!("<{name}>{text}</{name}>"));
    }

    fn value_if_some(&mut self, name: &str, value: Option<impl ToString>) {
        if let Some(value) = value {
            self.value(name, value);
        }
    }

    fn value_if_true(&mut self, name: &str, value: bool) {
        if value {
            self.value(name, true);
        }
    }
}

fn write_profile(writer: &mut Writer, profile: &Profile) {
    writer.value("Progress", profile.progress);
    if profile.experiment_flags != 0 {
        writer.value("ExperimentFlags", profile.experiment_flags);
    }
    let format = match profile.result_format {
        ResultFormat::Text => "text",
        ResultFormat::Xml => "xml",
    };
    writer.value("ResultFormat", format);
    writer.value("Verbose", profile.verbose);
    writer.value_if_true("VerboseStats", profile.verbose_stats);
    let precreate = profile.precreate.map(|precreate| match precreate {
        Precreate::UseMaxSize => "UseMaxSize",
        Precreate::ConstantSizes => "CreateOnlyFilesWithConstantSizes",
        Precreate::ConstantOrZeroSizes => "CreateOnlyFilesWithConstantOrZeroSizes",
    });
    writer.value_if_some("PrecreateFiles", precreate);
    if let Some(etw) = &profile.etw {
        writer.element("ETW", |writer| write_etw(writer, etw));
    }
    writer.element("TimeSpans", |writer| {
        for span in &profile.time_spans {
            writer.element("TimeSpan", |writer| write_time_span(writer, span));
        }
    });
}

fn write_etw(writer: &mut Writer, etw: &Etw) {
    writer.value("Process", etw.process);
    writer.value("Thread", etw.thread);
    writer.value("ImageLoad", etw.image_load);
    writer.value("DiskIO", etw.disk_io);
    writer.value("MemoryPageFaults", etw.memory_page_faults);
    writer.value("MemoryHardFaults", etw.memory_hard_faults);
    writer.value("Network", etw.network);
    writer.value("Registry", etw.registry);
    writer.value("UsePagedMemory", etw.use_paged_memory);
    writer.value("UsePerfTimer", etw.use_perf_timer);
    writer.value("UseSystemTimer", etw.use_system_timer);
    writer.value("UseCyclesCounter", etw.use_cycles_counter);
}

fn write_time_span(writer: &mut Writer, span: &TimeSpan) {
    writer.value("CompletionRoutines", span.completion_routines);
    for element in newer::ELEMENTS {
        writer.value_if_some(element.name, (element.write)(&span.newer));
    }
    writer.value("MeasureLatency", span.latency);
    writer.value("CalculateIopsStdDev", span.iops_deviation);
    writer.value("DisableAffinity", span.no_affinity);
    writer.value("Duration", span.duration);
    writer.value("Warmup", span.warm_up);
    writer.value("Cooldown", span.cool_down);
    writer.value_if_true("RandomWriteData", span.random_write_data);
    writer.value("ThreadCount", span.threads);
    writer.value("RequestCount", span.requests);
    writer.value("IoBucketDuration", span.bucket_ms);
    writer.value("RandSeed", span.seed);
    if !span.affinity.is_empty() {
        writer.element("Affinity", |writer| {
            for processor in &span.affinity {
                writer.line(&format!(
                    "<AffinityGroupAssignment Group=\"{}\" Processor=\"{}\"/>",
                    processor.group, processor.number
                ));
            }
        });
    }
    writer.element("Targets", |writer| {
        for target in &span.targets {
            writer.element("Target", |writer| write_target(writer, target));
        }
    });
}

fn write_target(writer: &mut Writer, target: &Target) {
    writer.value("Path", &target.path);
    writer.value("BlockSize", target.block);
    writer.value("BaseFileOffset", target.base);
    writer.value("SequentialScan", target.sequential_scan);
    // The hint of that name, not the pattern.
    writer.value("RandomAccess", target.random_access);
    writer.value("TemporaryFile", target.temporary_file);
    writer.value("UseLargePages", target.large_pages);
    match target.cache {
        Cache::Cached => {}
        Cache::NoLocal => writer.value("DisableLocalCache", true),
        Cache::Unbuffered => writer.value("DisableOSCache", true),
    }
    writer.value_if_true("WriteThrough", target.write_through);
    writer.value_if_true("MemoryMappedIo", target.memory_mapped);
    let flush = target.flush.map(|flush| match flush {
        FlushType::ViewOfFile => "ViewOfFile",
        FlushType::NonVolatileMemory => "NonVolatileMemory",
        FlushType::NonVolatileMemoryNoDrain => "NonVolatileMemoryNoDrain",
    });
    writer.value_if_some("FlushType", flush);
    writer.element("WriteBufferContent", |writer| write_buffer(writer, target));
    writer.value("ParallelAsyncIO", target.parallel);
    writer.value_if_some("BurstSize", target.burst);
    writer.value_if_some("ThinkTime", target.think_ms);
    writer.value_if_some("FileSize", target.file_size);
    write_pattern(writer, target);
    writer.value("ThreadStride", target.thread_stride);
    writer.value("MaxFileSize", target.end);
    writer.value("RequestCount", target.requests);
    writer.value("WriteRatio", target.write_percent);
    match target.throughput_unit {
        ThroughputUnit::BytesPerMs => writer.value("Throughput", target.throughput),
        ThroughputUnit::Iops => writer.line(&format!("<Throughput unit=\"IOPS\">{}</Throughput>", target.throughput)),
    }
    writer.value("ThreadsPerFile", target.threads);
    writer.value("IOPriority", target.priority);
    writer.value("Weight", target.weight);
    if !target.thread_targets.is_empty() {
        writer.element("ThreadTargets", |writer| write_thread_targets(writer, target));
    }
}

/// Zeros hide a source, although writes are taken from it: `-Z -Z1M` has no XML of its own.
fn write_buffer(writer: &mut Writer, target: &Target) {
    match &target.source {
        _ if target.zero_buffers => writer.value("Pattern", "zero"),
        None => writer.value("Pattern", "sequential"),
        Some(source) => {
            writer.value("Pattern", "random");
            writer.element("RandomDataSource", |writer| {
                writer.value("SizeInBytes", source.size);
                writer.value_if_some("FilePath", source.file.as_ref());
            });
        }
    }
}

fn write_pattern(writer: &mut Writer, target: &Target) {
    if target.random_percent == 0 {
        writer.value("StrideSize", target.step());
        writer.value("InterlockedSequential", target.interlocked);
        return;
    }
    writer.value("Random", target.step());
    if target.random_percent < 100 {
        writer.value("RandomRatio", target.random_percent);
    }
    if let Some(distribution) = &target.distribution {
        writer.element("Distribution", |writer| write_distribution(writer, distribution));
    }
}

fn write_distribution(writer: &mut Writer, distribution: &Distribution) {
    let kind = if distribution.absolute { "Absolute" } else { "Percent" };
    writer.element(kind, |writer| {
        for range in &distribution.ranges {
            writer.line(&format!("<Range IO=\"{}\">{}</Range>", range.io_percent, range.length));
        }
    });
}

fn write_thread_targets(writer: &mut Writer, target: &Target) {
    for thread_target in &target.thread_targets {
        writer.element("ThreadTarget", |writer| {
            writer.value("Thread", thread_target.thread);
            let weight = Some(thread_target.weight).filter(|weight| *weight != 0);
            writer.value_if_some("Weight", weight);
        });
    }
}

/// Text as it may stand between tags.
///
/// Line ends inside a path become references, so that an element stays on its line. Characters that XML cannot express at all
/// become the replacement character: the document stays one that can be read.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\t' => escaped.push_str("&#9;"),
            '\n' => escaped.push_str("&#10;"),
            '\r' => escaped.push_str("&#13;"),
            '\0'..' ' | '\u{fffe}' | '\u{ffff}' => escaped.push(char::REPLACEMENT_CHARACTER),
            _ => escaped.push(character),
        }
    }
    escaped
}
