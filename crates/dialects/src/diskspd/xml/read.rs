//! A document that the schema accepts, as a profile. Defaults are those of the profile; what an absent element leaves as it is.

use roxmltree::{Document, Node};

use super::schema::{check, is_named, text_of};
use super::{XmlError, XmlErrorKind};
use crate::diskspd::distribution::complete;
use crate::diskspd::newer;
use crate::diskspd::profile::{
    Cache, Distribution, Etw, FlushType, Precreate, Processor, Profile, Range, ResultFormat, Source, Target,
    ThreadTarget, ThroughputUnit, TimeSpan,
};

/// Reads an XML profile.
pub fn read(text: &str) -> Result<Profile, XmlError> {
    let document = Document::parse(text)?;
    let root = document.root_element();
    check(root)?;
    let mut profile = Profile {
        result_format: match word(root, "ResultFormat").as_deref() {
            Some("xml") => ResultFormat::Xml,
            _ => ResultFormat::Text,
        },
        verbose: is_true(root, "Verbose"),
        verbose_stats: is_true(root, "VerboseStats"),
        precreate: match word(root, "PrecreateFiles").as_deref() {
            Some("UseMaxSize") => Some(Precreate::UseMaxSize),
            Some("CreateOnlyFilesWithConstantSizes") => Some(Precreate::ConstantSizes),
            Some("CreateOnlyFilesWithConstantOrZeroSizes") => Some(Precreate::ConstantOrZeroSizes),
            _ => None,
        },
        etw: child(root, "ETW").and_then(read_etw),
        ..Profile::default()
    };
    set(&mut profile.progress, number(root, "Progress"));
    set(&mut profile.experiment_flags, number(root, "ExperimentFlags"));
    for span in elements(root, "TimeSpans", "TimeSpan") {
        profile.time_spans.push(read_time_span(span)?);
    }
    Ok(profile)
}

/// Any child at all switches tracing on, whatever it says.
fn read_etw(node: Node) -> Option<Etw> {
    node.first_element_child()?;
    Some(Etw {
        process: is_true(node, "Process"),
        thread: is_true(node, "Thread"),
        image_load: is_true(node, "ImageLoad"),
        disk_io: is_true(node, "DiskIO"),
        memory_page_faults: is_true(node, "MemoryPageFaults"),
        memory_hard_faults: is_true(node, "MemoryHardFaults"),
        network: is_true(node, "Network"),
        registry: is_true(node, "Registry"),
        use_paged_memory: is_true(node, "UsePagedMemory"),
        use_perf_timer: is_true(node, "UsePerfTimer"),
        use_system_timer: is_true(node, "UseSystemTimer"),
        use_cycles_counter: is_true(node, "UseCyclesCounter"),
    })
}

fn read_time_span(node: Node) -> Result<TimeSpan, XmlError> {
    let mut span = TimeSpan {
        random_write_data: is_true(node, "RandomWriteData"),
        no_affinity: is_true(node, "DisableAffinity"),
        completion_routines: is_true(node, "CompletionRoutines"),
        latency: is_true(node, "MeasureLatency"),
        iops_deviation: is_true(node, "CalculateIopsStdDev"),
        ..TimeSpan::default()
    };
    for element in newer::ELEMENTS {
        // The schema has found the value good.
        child(node, element.name).map(|value| (element.read)(&mut span.newer, &text_of(value)));
    }
    set(&mut span.duration, number(node, "Duration"));
    set(&mut span.warm_up, number(node, "Warmup"));
    set(&mut span.cool_down, number(node, "Cooldown"));
    set(&mut span.seed, number(node, "RandSeed"));
    set(&mut span.threads, number(node, "ThreadCount"));
    set(&mut span.requests, number(node, "RequestCount"));
    set(&mut span.bucket_ms, number(node, "IoBucketDuration"));
    // The old form knows no groups.
    for assignment in elements(node, "Affinity", "AffinityAssignment") {
        let processor = text_of(assignment).parse().unwrap_or_default();
        span.affinity.push(processor_of(assignment, 0, processor)?);
    }
    for assignment in elements(node, "Affinity", "AffinityGroupAssignment") {
        let group = attribute_number(assignment, "Group");
        let processor = attribute_number(assignment, "Processor");
        span.affinity.push(processor_of(assignment, group, processor)?);
    }
    for target in elements(node, "Targets", "Target") {
        span.targets.push(read_target(target)?);
    }
    Ok(span)
}

fn processor_of(node: Node, group: u32, number: u32) -> Result<Processor, XmlError> {
    let refuse = |what: String| {
        let reason = format!("profile specifies group assignment {what}, out of range");
        XmlError::at(node, XmlErrorKind::Affinity, reason)
    };
    Ok(Processor {
        group: u16::try_from(group).map_err(|_| refuse(format!("group {group}")))?,
        number: u8::try_from(number).map_err(|_| refuse(format!("to core {number}")))?,
    })
}

fn read_target(node: Node) -> Result<Target, XmlError> {
    let mut target = Target {
        path: word(node, "Path").unwrap_or_default(),
        file_size: number(node, "FileSize"),
        interlocked: is_true(node, "InterlockedSequential"),
        parallel: is_true(node, "ParallelAsyncIO"),
        distribution: child(node, "Distribution").and_then(read_distribution),
        memory_mapped: is_true(node, "MemoryMappedIo"),
        flush: match word(node, "FlushType").as_deref() {
            Some("ViewOfFile") => Some(FlushType::ViewOfFile),
            Some("NonVolatileMemory") => Some(FlushType::NonVolatileMemory),
            Some("NonVolatileMemoryNoDrain") => Some(FlushType::NonVolatileMemoryNoDrain),
            _ => None,
        },
        sequential_scan: is_true(node, "SequentialScan"),
        random_access: is_true(node, "RandomAccess"),
        temporary_file: is_true(node, "TemporaryFile"),
        large_pages: is_true(node, "UseLargePages"),
        burst: number(node, "BurstSize"),
        think_ms: number(node, "ThinkTime"),
        thread_targets: elements(node, "ThreadTargets", "ThreadTarget")
            .map(read_thread_target)
            .collect(),
        ..Target::default()
    };
    set(&mut target.block, number(node, "BlockSize"));
    set(&mut target.base, number(node, "BaseFileOffset"));
    set(&mut target.end, number(node, "MaxFileSize"));
    set(&mut target.thread_stride, number(node, "ThreadStride"));
    set(&mut target.requests, number(node, "RequestCount"));
    set(&mut target.threads, number(node, "ThreadsPerFile"));
    set(&mut target.write_percent, number(node, "WriteRatio"));
    set(&mut target.priority, number(node, "IOPriority"));
    set(&mut target.weight, number(node, "Weight"));
    set(&mut target.throughput, number(node, "Throughput"));
    if child(node, "Throughput")
        .and_then(|limit| limit.attribute("unit"))
        .map(str::trim)
        == Some("IOPS")
    {
        target.throughput_unit = ThroughputUnit::Iops;
    }
    read_caches(node, &mut target);
    read_write_buffer(node, &mut target);
    read_pattern(node, &mut target)?;
    Ok(target)
}

/// DiskSpd asks for the elements in this order and the later overrides the earlier, wherever they stand.
fn read_caches(node: Node, target: &mut Target) {
    if is_true(node, "DisableOSCache") {
        target.cache = Cache::Unbuffered;
    }
    if is_true(node, "DisableAllCache") {
        target.cache = Cache::Unbuffered;
        target.write_through = true;
    }
    if is_true(node, "DisableLocalCache") {
        target.cache = Cache::NoLocal;
    }
    if is_true(node, "WriteThrough") {
        target.write_through = true;
    }
}

/// A source counts only where the pattern is random; without it random means nothing.
fn read_write_buffer(node: Node, target: &mut Target) {
    let Some(content) = child(node, "WriteBufferContent") else {
        return;
    };
    match word(content, "Pattern").as_deref() {
        Some("zero") => target.zero_buffers = true,
        Some("random") => {
            target.source = child(content, "RandomDataSource").map(|source| Source {
                size: number(source, "SizeInBytes").unwrap_or_default(),
                file: word(source, "FilePath").filter(|path| !path.is_empty()),
            });
        }
        _ => {}
    }
}

/// Sequential, random or mixed, and the size of its steps.
fn read_pattern(node: Node, target: &mut Target) -> Result<(), XmlError> {
    let stride = child(node, "StrideSize");
    for other in ["Random", "RandomRatio"] {
        if let Some(stride) = stride
            && child(node, other).is_some()
        {
            let reason = format!("sequential <StrideSize> conflicts with <{other}>");
            return Err(XmlError::at(stride, XmlErrorKind::Conflict, reason));
        }
    }
    set(&mut target.alignment, number(node, "StrideSize"));
    if let Some(alignment) = number(node, "Random") {
        target.alignment = alignment;
        target.random_percent = 100;
    }
    set(&mut target.random_percent, number(node, "RandomRatio"));
    Ok(())
}

fn read_distribution(node: Node) -> Option<Distribution> {
    let kind = node.first_element_child()?;
    let ranges = kind.children().filter(|range| is_named(*range, "Range"));
    let mut distribution = Distribution {
        absolute: is_named(kind, "Absolute"),
        ranges: ranges
            .map(|range| Range {
                io_percent: attribute_number(range, "IO"),
                length: text_of(range).parse().unwrap_or_default(),
            })
            .collect(),
    };
    complete(&mut distribution);
    Some(distribution)
}

fn read_thread_target(node: Node) -> ThreadTarget {
    ThreadTarget {
        thread: number(node, "Thread").unwrap_or_default(),
        weight: number(node, "Weight").unwrap_or_default(),
    }
}

fn set<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}

fn child<'a, 'input>(node: Node<'a, 'input>, name: &str) -> Option<Node<'a, 'input>> {
    node.children().find(|child| is_named(*child, name))
}

/// The elements of a list; none if there is no list.
fn elements<'a, 'input>(
    node: Node<'a, 'input>,
    list: &str,
    name: &'static str,
) -> impl Iterator<Item = Node<'a, 'input>> {
    let list = child(node, list);
    list.into_iter()
        .flat_map(|list| list.children())
        .filter(move |element| is_named(*element, name))
}

fn word(node: Node, name: &str) -> Option<String> {
    child(node, name).map(text_of)
}

/// A number that the schema has found in range: it is absent only where the element is.
fn number<T: std::str::FromStr>(node: Node, name: &str) -> Option<T> {
    child(node, name).and_then(|value| text_of(value).parse().ok())
}

/// A number that the schema has found in range, or 0 without the attribute.
fn attribute_number(node: Node, name: &str) -> u32 {
    node.attribute(name)
        .and_then(|value| value.trim().parse().ok())
        .unwrap_or_default()
}

/// Only the word counts: the schema lets 1 pass too, and DiskSpd takes it for false.
fn is_true(node: Node, name: &str) -> bool {
    word(node, name).as_deref() == Some("true")
}
