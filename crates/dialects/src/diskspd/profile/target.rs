//! A target and its elements.

use roxmltree::Node;

use crate::diskspd::distribution::complete;
use crate::diskspd::xml::elements::{
    ANY_U32, ANY_U64, Element, all, flag, is_true, nested, number, optional, rules, set, value, word,
};
use crate::diskspd::xml::read::{attribute_number, child, elements, number, read_all};
use crate::diskspd::xml::schema::{Attribute, Content, ElementRule, Occurrence, Value, is_named, node_text};
use crate::diskspd::xml::write::Writer;
use crate::diskspd::xml::{XmlError, XmlErrorKind};

with_defaults! {
    /// A path and its load.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Target {
        /// A file, `#<n>` for a drive, `<letter>:` for a volume, `*<n>` for a slot of a template,
        /// or on Linux a device.
        pub path: String,
        /// Bytes per operation (`-b`).
        pub block: u32 = 64 << 10,
        /// First byte that is used (`-B`).
        pub base: u64,
        /// The end of the used area, exclusive; 0: the end of the target (`-f`, `-B…:len`).
        pub end: u64,
        /// The file is recreated with this size; 0 creates nothing (`-c`).
        pub file_size: Option<u64>,
        /// Alignment of random and stride of sequential operations; 0 means the block size
        /// (`-r<size>`, `-s<size>`).
        pub alignment: u64,
        /// The percentage of random operations: 0 sequential, 100 random, otherwise mixed (`-r`,
        /// `-rs`).
        pub random_percent: u8,
        /// Threads share one sequential position (`-si`).
        pub interlocked: bool,
        /// Requests walk on their own (`-p`).
        pub parallel: bool,
        /// Distance between the starts of threads (`-T`).
        pub thread_stride: u64,
        /// The distribution of random operations (`-rd`).
        pub distribution: Option<Distribution>,
        /// Requests of each thread (`-o`).
        pub requests: u32 = 2,
        /// Threads; used where the time span has no pool (`-t`).
        pub threads: u32 = 1,
        /// Writes in percent (`-w`).
        pub write_percent: u8,
        /// Software caches (`-S`).
        pub cache: Cache = Cache::Cached,
        /// Writes go through to the medium (`-Sw`).
        pub write_through: bool,
        /// Memory-mapped (`-Sm`).
        pub memory_mapped: bool,
        /// The flush after a write to the map (`-N`).
        pub flush: Option<FlushType>,
        /// Sequential-scan hint (`-fs`).
        pub sequential_scan: bool,
        /// Random-access hint (`-fr`).
        pub random_access: bool,
        /// Temporary-file hint (`-ft`).
        pub temporary_file: bool,
        /// Large pages for buffers (`-l`).
        pub large_pages: bool,
        /// Write buffers of zeros (`-Z`).
        pub zero_buffers: bool,
        /// Buffer that writes are taken from (`-Z<size>[,<file>]`).
        pub source: Option<Source>,
        /// Operations of a burst, over all threads (`-i`).
        pub burst: Option<u32>,
        /// Pause between bursts in milliseconds (`-j`).
        pub think_ms: Option<u32>,
        /// Limit of each thread; 0 for none (`-g`).
        pub throughput: u32,
        /// The unit of that limit.
        pub throughput_unit: ThroughputUnit = ThroughputUnit::BytesPerMs,
        /// 1 very low, 2 low, 3 normal (`-I`).
        pub priority: u8 = 3,
        /// Share of the operations of a pool with common requests (XML only).
        pub weight: u32 = 1,
        /// Threads of the pool that use it; empty: all (XML only).
        pub thread_targets: Vec<ThreadTarget>,
    }
}

/// A distribution of random operations: consecutive ranges from the start of the addressed area.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distribution {
    /// Lengths are bytes instead of percent.
    pub absolute: bool,
    /// The ranges, with the tail that makes the shares add up to 100.
    pub ranges: Vec<Range>,
}

/// A range of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Share of the operations in percent; 0 leaves a gap.
    pub io_percent: u32,
    /// Percent of the area, or bytes; 0 bytes reach to the end.
    pub length: u64,
}

/// Software caches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cache {
    /// In use.
    #[default]
    Cached,
    /// The local cache of a remote file system is bypassed (`-Sr`).
    NoLocal,
    /// Bypassed (`-Su`).
    Unbuffered,
}

/// The flush after a write to a memory map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushType {
    /// `v`: the pages are written back.
    ViewOfFile,
    /// `n`: cache lines are written back and drained.
    NonVolatileMemory,
    /// `i`: cache lines are written back.
    NonVolatileMemoryNoDrain,
}

/// A buffer that writes are taken from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its size in bytes.
    pub size: u64,
    /// The file it is read from; random data if absent.
    pub file: Option<String>,
}

/// The unit of a throughput limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThroughputUnit {
    /// Bytes per millisecond.
    #[default]
    BytesPerMs,
    /// Operations per second.
    Iops,
}

/// A thread of the pool that uses a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadTarget {
    /// Number of the thread.
    pub thread: u32,
    /// Weight of the target for this thread; 0: the target's weight.
    pub weight: u32,
}

impl Target {
    /// The alignment or stride in effect.
    pub fn step(&self) -> u64 {
        match self.alignment {
            0 => u64::from(self.block),
            step => step,
        }
    }

    /// The throughput limit as DiskSpd computes it, in 32 bits: a few small operations per second
    /// round to 0.
    pub fn bytes_per_ms(&self) -> u32 {
        match self.throughput_unit {
            ThroughputUnit::BytesPerMs => self.throughput,
            ThroughputUnit::Iops => self.throughput.wrapping_mul(self.block) / 1000,
        }
    }

    /// The number of the slot, if the path is one (`*<n>`, n ≥ 1, digits only).
    pub fn slot(&self) -> Option<u32> {
        let digits = self.path.strip_prefix('*')?;
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse().ok().filter(|number| is_number && *number > 0)
    }
}

pub(super) const IN_TARGETS: ElementRule = all("Target", Occurrence::AtLeastOnce, || rules(TARGET));

pub(super) const TARGET: &[Element<Target>] = &[
    Element {
        rule: ElementRule::new("Path", Occurrence::Once, Content::Value(Value::Text)),
        ..value(
            "Path",
            Value::Text,
            |target: &mut Target, text| target.path = text.to_string(),
            |target| Some(target.path.clone()),
        )
    },
    number!("BlockSize", ANY_U32, Target.block),
    number!("BaseFileOffset", ANY_U64, Target.base),
    flag!("SequentialScan", Target.sequential_scan),
    // This `SequentialScan` is the hint, not the pattern.
    flag!("RandomAccess", Target.random_access),
    flag!("TemporaryFile", Target.temporary_file),
    flag!("UseLargePages", Target.large_pages),
    value(
        "DisableOSCache",
        Value::Boolean,
        |target: &mut Target, text| {
            if is_true(text) {
                target.cache = Cache::Unbuffered;
            }
        },
        |target| (target.cache == Cache::Unbuffered).then(|| "true".into()),
    ),
    value(
        "DisableAllCache",
        Value::Boolean,
        |target: &mut Target, text| {
            if is_true(text) {
                target.cache = Cache::Unbuffered;
                target.write_through = true;
            }
        },
        |_| None,
    ),
    value(
        "DisableLocalCache",
        Value::Boolean,
        |target: &mut Target, text| {
            if is_true(text) {
                target.cache = Cache::NoLocal;
            }
        },
        |target| (target.cache == Cache::NoLocal).then(|| "true".into()),
    ),
    value(
        "WriteThrough",
        Value::Boolean,
        |target: &mut Target, text| target.write_through |= is_true(text),
        |target| target.write_through.then(|| "true".into()),
    ),
    flag!("MemoryMappedIo", Target.memory_mapped if true),
    word!("FlushType", Target.flush,
        "ViewOfFile" => FlushType::ViewOfFile,
        "NonVolatileMemory" => FlushType::NonVolatileMemory,
        "NonVolatileMemoryNoDrain" => FlushType::NonVolatileMemoryNoDrain),
    nested(
        all("WriteBufferContent", Occurrence::AtMostOnce, || {
            WRITE_BUFFER_CONTENT.iter().collect()
        }),
        read_write_buffer,
        write_write_buffer,
    ),
    flag!("ParallelAsyncIO", Target.parallel),
    optional!("BurstSize", ANY_U32, Target.burst),
    optional!("ThinkTime", ANY_U32, Target.think_ms),
    optional!("FileSize", ANY_U64, Target.file_size),
    value(
        "StrideSize",
        ANY_U64,
        |target: &mut Target, text| set(&mut target.alignment, text),
        |target| (target.random_percent == 0).then(|| target.step().to_string()),
    ),
    value(
        "InterlockedSequential",
        Value::Boolean,
        |target: &mut Target, text| target.interlocked = is_true(text),
        |target| (target.random_percent == 0).then(|| target.interlocked.to_string()),
    ),
    value(
        "Random",
        ANY_U64,
        |target: &mut Target, text| {
            set(&mut target.alignment, text);
            target.random_percent = 100;
        },
        |target| (target.random_percent > 0).then(|| target.step().to_string()),
    ),
    value(
        "RandomRatio",
        Value::Number(1, 99),
        |target: &mut Target, text| set(&mut target.random_percent, text),
        |target| Some(target.random_percent.to_string()).filter(|_| (1..100).contains(&target.random_percent)),
    ),
    nested(
        ElementRule::new(
            "Distribution",
            Occurrence::AtMostOnce,
            Content::Choice(|| DISTRIBUTION.iter().collect()),
        ),
        read_distribution,
        write_distribution,
    ),
    number!("ThreadStride", ANY_U64, Target.thread_stride),
    number!("MaxFileSize", ANY_U64, Target.end),
    number!("RequestCount", ANY_U32, Target.requests),
    number!("WriteRatio", Value::Number(0, 100), Target.write_percent),
    nested(
        ElementRule {
            attributes: &[Attribute::new("unit", false, Value::Word(&["IOPS", "BPMS"]))],
            ..ElementRule::value("Throughput", ANY_U32)
        },
        |target: &mut Target, node| {
            set(&mut target.throughput, &node_text(node));
            if node.attribute("unit").map(str::trim) == Some("IOPS") {
                target.throughput_unit = ThroughputUnit::Iops;
            }
            Ok(())
        },
        |writer, target| match target.throughput_unit {
            ThroughputUnit::BytesPerMs => writer.write_value("Throughput", target.throughput),
            ThroughputUnit::Iops => {
                writer.write_line(&format!("<Throughput unit=\"IOPS\">{}</Throughput>", target.throughput));
            }
        },
    ),
    number!("ThreadsPerFile", ANY_U32, Target.threads),
    // DiskSpd accepts any number, but defines only these.
    number!("IOPriority", Value::Number(1, 3), Target.priority),
    number!("Weight", ANY_U32, Target.weight),
    nested(
        all("ThreadTargets", Occurrence::AtMostOnce, || vec![&IN_THREAD_TARGETS]),
        |target: &mut Target, node| {
            target.thread_targets = elements(node, "ThreadTarget")
                .map(|node| ThreadTarget {
                    thread: number(node, "Thread").unwrap_or_default(),
                    weight: number(node, "Weight").unwrap_or_default(),
                })
                .collect();
            Ok(())
        },
        write_thread_targets,
    ),
];

const WRITE_BUFFER_CONTENT: &[ElementRule] = &[
    ElementRule::value("Pattern", Value::Word(&["sequential", "zero", "random"])),
    all("RandomDataSource", Occurrence::AtMostOnce, || {
        RANDOM_DATA_SOURCE.iter().collect()
    }),
];

const RANDOM_DATA_SOURCE: &[ElementRule] = &[
    ElementRule::new("SizeInBytes", Occurrence::Once, Content::Value(ANY_U64)),
    ElementRule::value("FilePath", Value::Text),
];

// Exactly one of the two: `Once` requires only the chosen alternative.
const DISTRIBUTION: &[ElementRule] = &[
    all("Percent", Occurrence::Once, || vec![&RANGE_IN_PERCENT]),
    all("Absolute", Occurrence::Once, || vec![&RANGE_IN_BYTES]),
];

const IO_SHARE: &[Attribute] = &[Attribute::new("IO", true, Value::Number(0, 100))];

const RANGE_IN_PERCENT: ElementRule = ElementRule {
    attributes: IO_SHARE,
    ..ElementRule::new("Range", Occurrence::AtLeastOnce, Content::Value(Value::Number(1, 100)))
};

const RANGE_IN_BYTES: ElementRule = ElementRule {
    attributes: IO_SHARE,
    ..ElementRule::new("Range", Occurrence::AtLeastOnce, Content::Value(ANY_U64))
};

const IN_THREAD_TARGETS: ElementRule = all("ThreadTarget", Occurrence::AnyTimes, || THREAD_TARGET.iter().collect());

const THREAD_TARGET: &[ElementRule] = &[
    ElementRule::new("Thread", Occurrence::Once, Content::Value(ANY_U32)),
    ElementRule::value("Weight", ANY_U32),
];

/// A source counts only if the pattern is random, and random needs a source.
fn read_write_buffer(target: &mut Target, node: Node) -> Result<(), XmlError> {
    match child(node, "Pattern").map(node_text).as_deref() {
        Some("zero") => target.zero_buffers = true,
        Some("random") => {
            target.source = child(node, "RandomDataSource").map(|source| Source {
                size: number(source, "SizeInBytes").unwrap_or_default(),
                file: child(source, "FilePath").map(node_text).filter(|path| !path.is_empty()),
            });
        }
        _ => {}
    }
    Ok(())
}

/// Zeros take the place of a source, although writes use the source: XML cannot express `-Z -Z1M`.
fn write_write_buffer(writer: &mut Writer, target: &Target) {
    writer.write_element("WriteBufferContent", |writer| match &target.source {
        _ if target.zero_buffers => writer.write_value("Pattern", "zero"),
        None => writer.write_value("Pattern", "sequential"),
        Some(source) => {
            writer.write_value("Pattern", "random");
            writer.write_element("RandomDataSource", |writer| {
                writer.write_value("SizeInBytes", source.size);
                if let Some(file) = &source.file {
                    writer.write_value("FilePath", file);
                }
            });
        }
    });
}

fn read_distribution(target: &mut Target, node: Node) -> Result<(), XmlError> {
    target.distribution = node.first_element_child().map(|kind| {
        let ranges = elements(kind, "Range").map(|range| Range {
            io_percent: attribute_number(range, "IO"),
            length: node_text(range).parse().unwrap_or_default(),
        });
        let mut distribution = Distribution {
            absolute: is_named(kind, "Absolute"),
            ranges: ranges.collect(),
        };
        complete(&mut distribution);
        distribution
    });
    Ok(())
}

fn write_distribution(writer: &mut Writer, target: &Target) {
    let Some(distribution) = target.distribution.as_ref().filter(|_| target.random_percent > 0) else {
        return;
    };
    let kind = if distribution.absolute { "Absolute" } else { "Percent" };
    writer.write_element("Distribution", |writer| {
        writer.write_element(kind, |writer| {
            for range in &distribution.ranges {
                writer.write_line(&format!("<Range IO=\"{}\">{}</Range>", range.io_percent, range.length));
            }
        });
    });
}

fn write_thread_targets(writer: &mut Writer, target: &Target) {
    if target.thread_targets.is_empty() {
        return;
    }
    writer.write_element("ThreadTargets", |writer| {
        for thread_target in &target.thread_targets {
            writer.write_element("ThreadTarget", |writer| {
                writer.write_value("Thread", thread_target.thread);
                if thread_target.weight != 0 {
                    writer.write_value("Weight", thread_target.weight);
                }
            });
        }
    });
}

pub(super) fn read_target(node: Node) -> Result<Target, XmlError> {
    for other in ["Random", "RandomRatio"] {
        if let Some(stride) = child(node, "StrideSize")
            && child(node, other).is_some()
        {
            let reason = format!("sequential <StrideSize> conflicts with <{other}>");
            return Err(XmlError::at(stride, XmlErrorKind::Conflict, reason));
        }
    }
    let mut target = Target::default();
    read_all(TARGET, &mut target, node)?;
    Ok(target)
}
