//! The elements of a profile, in output order: the schema, the reader and the writer use these
//! tables. As in DiskSpd, the reader applies the elements of a parent in the order of its table,
//! not of the document: of elements that set the same field, the later row wins.

use roxmltree::Node;

use super::XmlError;
use super::read::{self, child, elements, number};
use super::schema::{Attribute, Content, Occurs, Rule, Value, is_named, text_of};
use super::write::{Writer, write_all};
use crate::diskspd::distribution::complete;
use crate::diskspd::newer::{CoreOrder, Ring, Separation, read_bypass, write_bypass};
use crate::diskspd::profile::{
    Cache, Distribution, Etw, FlushType, Precreate, Profile, Range, ResultFormat, Source, Target, ThreadTarget,
    ThroughputUnit, TimeSpan,
};

/// An element, and how a part of a profile is read from and written to it.
pub(super) struct Element<T> {
    pub(super) rule: Rule,
    pub(super) form: Form<T>,
    /// The label of its line in text reports; empty if it has none.
    pub(super) label: &'static str,
}

/// The content of an element.
pub(super) enum Form<T> {
    /// A value. The schema has validated the text before it is read; without a text nothing is
    /// written.
    Value {
        read: fn(&mut T, &str),
        write: fn(&T) -> Option<String>,
    },
    /// Child elements, or a value with attributes.
    Nested {
        read: fn(&mut T, Node) -> Result<(), XmlError>,
        write: fn(&mut Writer, &T),
    },
}

const fn value<T>(
    name: &'static str,
    value: Value,
    read: fn(&mut T, &str),
    write: fn(&T) -> Option<String>,
) -> Element<T> {
    Element {
        rule: Rule::value(name, value),
        form: Form::Value { read, write },
        label: "",
    }
}

const fn nested<T>(
    rule: Rule,
    read: fn(&mut T, Node) -> Result<(), XmlError>,
    write: fn(&mut Writer, &T),
) -> Element<T> {
    Element {
        rule,
        form: Form::Nested { read, write },
        label: "",
    }
}

/// Only the word counts: the schema accepts 1 too, which DiskSpd takes for false.
fn is_true(text: &str) -> bool {
    text == "true"
}

fn set<T: std::str::FromStr>(field: &mut T, text: &str) {
    if let Ok(value) = text.parse() {
        *field = value;
    }
}

/// A boolean that is always written, or only if it is `true`.
macro_rules! flag {
    ($name:literal, $of:ident.$field:ident) => {
        value(
            $name,
            Value::Boolean,
            |of: &mut $of, text| of.$field = is_true(text),
            |of| Some(of.$field.to_string()),
        )
    };
    ($name:literal, $of:ident.$field:ident if true) => {
        value(
            $name,
            Value::Boolean,
            |of: &mut $of, text| of.$field = is_true(text),
            |of| of.$field.then(|| "true".to_string()),
        )
    };
}

/// A number that is always written.
macro_rules! number {
    ($name:literal, $value:expr, $of:ident.$field:ident) => {
        value(
            $name,
            $value,
            |of: &mut $of, text| set(&mut of.$field, text),
            |of| Some(of.$field.to_string()),
        )
    };
}

/// A number that may be absent.
macro_rules! optional {
    ($name:literal, $value:expr, $of:ident.$field:ident) => {
        value(
            $name,
            $value,
            |of: &mut $of, text| of.$field = text.parse().ok(),
            |of| of.$field.map(|value| value.to_string()),
        )
    };
}

/// One of several words that may be absent.
macro_rules! word {
    ($name:literal, $of:ident.$field:ident, $($word:literal => $value:path),+) => {
        value(
            $name,
            Value::Word(&[$($word),+]),
            |of: &mut $of, text| of.$field = [$(($word, $value)),+].into_iter().find(|(word, _)| *word == text).map(|(_, value)| value),
            |of| of.$field.map(|value| match value { $($value => $word),+ }.to_string()),
        )
    };
}

/// A value of DiskSpd 2.3, with its label in text reports.
macro_rules! newer {
    ($name:literal, $label:literal, $parse:expr, $set:expr, $write:expr) => {
        Element {
            label: $label,
            ..value(
                $name,
                Value::Checked(|text| $parse(text).is_some()),
                |span: &mut TimeSpan, text| {
                    if let Some(value) = $parse(text) {
                        $set(span, value);
                    }
                },
                $write,
            )
        }
    };
}

const ANY_U32: Value = Value::Number(0, u32::MAX as u64);
const ANY_U64: Value = Value::Number(0, u64::MAX);

/// A rule for child elements in any order.
const fn all(name: &'static str, occurs: Occurs, elements: fn() -> Vec<&'static Rule>) -> Rule {
    Rule::new(name, occurs, Content::All(elements))
}

fn rules<T>(elements: &'static [Element<T>]) -> Vec<&'static Rule> {
    elements.iter().map(|element| &element.rule).collect()
}

pub(super) const ROOT: Rule = all("Profile", Occurs::Once, || rules(PROFILE));

pub(super) const PROFILE: &[Element<Profile>] = &[
    number!("Progress", ANY_U32, Profile.progress),
    value(
        "ExperimentFlags",
        ANY_U32,
        |profile: &mut Profile, text| set(&mut profile.experiment_flags, text),
        |profile| Some(profile.experiment_flags.to_string()).filter(|_| profile.experiment_flags != 0),
    ),
    value(
        "ResultFormat",
        Value::Word(&["text", "xml"]),
        |profile: &mut Profile, text| {
            profile.result_format = if text == "xml" {
                ResultFormat::Xml
            } else {
                ResultFormat::Text
            };
        },
        |profile| {
            Some(match profile.result_format {
                ResultFormat::Text => "text".into(),
                ResultFormat::Xml => "xml".into(),
            })
        },
    ),
    flag!("Verbose", Profile.verbose),
    flag!("VerboseStats", Profile.verbose_stats if true),
    word!("PrecreateFiles", Profile.precreate,
        "UseMaxSize" => Precreate::UseMaxSize,
        "CreateOnlyFilesWithConstantSizes" => Precreate::ConstantSizes,
        "CreateOnlyFilesWithConstantOrZeroSizes" => Precreate::ConstantOrZeroSizes),
    nested(
        all("ETW", Occurs::AtMostOnce, || rules(ETW)),
        |profile: &mut Profile, node| {
            // Any child element enables tracing.
            if node.first_element_child().is_some() {
                read::read_all(ETW, profile.etw.insert(Etw::default()), node)?;
            }
            Ok(())
        },
        |writer, profile| {
            if let Some(etw) = &profile.etw {
                writer.element("ETW", |writer| write_all(writer, ETW, etw));
            }
        },
    ),
    nested(
        all("TimeSpans", Occurs::Once, || const { &[TIME_SPAN] }.iter().collect()),
        |profile: &mut Profile, node| {
            for span in elements(node, "TimeSpan") {
                profile.time_spans.push(TimeSpan::default());
                let count = profile.time_spans.len();
                read::read_all(SPAN, &mut profile.time_spans[count - 1], span)?;
            }
            Ok(())
        },
        |writer, profile| {
            writer.element("TimeSpans", |writer| {
                for span in &profile.time_spans {
                    writer.element("TimeSpan", |writer| write_all(writer, SPAN, span));
                }
            });
        },
    ),
];

const ETW: &[Element<Etw>] = &[
    flag!("Process", Etw.process),
    flag!("Thread", Etw.thread),
    flag!("ImageLoad", Etw.image_load),
    flag!("DiskIO", Etw.disk_io),
    flag!("MemoryPageFaults", Etw.memory_page_faults),
    flag!("MemoryHardFaults", Etw.memory_hard_faults),
    flag!("Network", Etw.network),
    flag!("Registry", Etw.registry),
    flag!("UsePagedMemory", Etw.use_paged_memory),
    flag!("UsePerfTimer", Etw.use_perf_timer),
    flag!("UseSystemTimer", Etw.use_system_timer),
    flag!("UseCyclesCounter", Etw.use_cycles_counter),
];

const TIME_SPAN: Rule = all("TimeSpan", Occurs::AtLeastOnce, || rules(SPAN));

/// The elements of a time span. Those with a label are of DiskSpd 2.3. Its public notes name the
/// switches, not elements and lines; so these are ours, with values in the syntax of the switch.
const SPAN: &[Element<TimeSpan>] = &[
    flag!("CompletionRoutines", TimeSpan.completion_routines),
    newer!(
        "IORing",
        "using I/O Ring",
        Ring::read_element,
        |span: &mut TimeSpan, ring| span.newer.ring = ring,
        |span| span.newer.ring.map(Ring::to_text)
    ),
    newer!(
        "CompletionDequeueDepth",
        "completion dequeue depth",
        |text: &str| text.parse::<u32>().ok().filter(|depth| *depth > 0),
        |span: &mut TimeSpan, depth| span.newer.dequeue = Some(depth),
        |span| span.newer.dequeue.map(|depth| depth.to_string())
    ),
    newer!(
        "BufferSeparation",
        "buffer separation",
        |text: &str| Separation::read(text, 0).ok(),
        |span: &mut TimeSpan, separation| span.newer.separation = Some(separation),
        |span| span.newer.separation.map(Separation::to_text)
    ),
    newer!(
        "AffinityOrder",
        "affinity order",
        CoreOrder::read_element,
        |span: &mut TimeSpan, order| span.newer.order = order,
        |span| Some(span.newer.order.to_text()).filter(|text| !text.is_empty())
    ),
    newer!(
        "BypassIO",
        "BypassIO",
        read_bypass,
        |span: &mut TimeSpan, bypass| span.newer.bypass = Some(bypass),
        |span| span.newer.bypass.map(write_bypass)
    ),
    flag!("MeasureLatency", TimeSpan.latency),
    flag!("CalculateIopsStdDev", TimeSpan.iops_deviation),
    flag!("DisableAffinity", TimeSpan.no_affinity),
    // An element of old profiles, now ignored.
    value("GroupAffinity", Value::Boolean, |_, _| (), |_| None),
    number!("Duration", ANY_U32, TimeSpan.duration),
    number!("Warmup", ANY_U32, TimeSpan.warm_up),
    number!("Cooldown", ANY_U32, TimeSpan.cool_down),
    flag!("RandomWriteData", TimeSpan.random_write_data if true),
    number!("ThreadCount", ANY_U32, TimeSpan.threads),
    number!("RequestCount", ANY_U32, TimeSpan.requests),
    number!("IoBucketDuration", ANY_U32, TimeSpan.bucket_ms),
    number!("RandSeed", ANY_U32, TimeSpan.seed),
    nested(
        Rule::new(
            "Affinity",
            Occurs::AtMostOnce,
            Content::Choice(|| AFFINITY.iter().collect()),
        ),
        |span: &mut TimeSpan, node| {
            span.affinity = read::affinity(node)?;
            Ok(())
        },
        |writer, span| {
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
        },
    ),
    nested(
        all("Targets", Occurs::Once, || const { &[IN_TARGETS] }.iter().collect()),
        |span: &mut TimeSpan, node| {
            for target in elements(node, "Target") {
                span.targets.push(read::target(target)?);
            }
            Ok(())
        },
        |writer, span| {
            writer.element("Targets", |writer| {
                for target in &span.targets {
                    writer.element("Target", |writer| write_all(writer, TARGET, target));
                }
            });
        },
    ),
];

/// The lines of elements of a time span in text reports.
pub(in crate::diskspd) fn lines_of_span(span: &TimeSpan) -> impl Iterator<Item = String> {
    let with_label = SPAN.iter().filter(|element| !element.label.is_empty());
    with_label.filter_map(|element| match element.form {
        Form::Value { write, .. } => Some(format!("{}: {}", element.label, write(span)?)),
        Form::Nested { .. } => None,
    })
}

const AFFINITY: &[Rule] = &[
    Rule::new("AffinityAssignment", Occurs::AnyTimes, Content::Value(ANY_U32)),
    Rule {
        attributes: &[
            Attribute::new("Group", false, ANY_U32),
            Attribute::new("Processor", false, ANY_U32),
        ],
        ..Rule::new("AffinityGroupAssignment", Occurs::AnyTimes, Content::Nothing)
    },
];

const IN_TARGETS: Rule = all("Target", Occurs::AtLeastOnce, || rules(TARGET));

pub(super) const TARGET: &[Element<Target>] = &[
    Element {
        rule: Rule::new("Path", Occurs::Once, Content::Value(Value::Text)),
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
    // The hint with that name, not the pattern.
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
        all("WriteBufferContent", Occurs::AtMostOnce, || {
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
        Rule::new(
            "Distribution",
            Occurs::AtMostOnce,
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
        Rule {
            attributes: &[Attribute::new("unit", false, Value::Word(&["IOPS", "BPMS"]))],
            ..Rule::value("Throughput", ANY_U32)
        },
        |target: &mut Target, node| {
            set(&mut target.throughput, &text_of(node));
            if node.attribute("unit").map(str::trim) == Some("IOPS") {
                target.throughput_unit = ThroughputUnit::Iops;
            }
            Ok(())
        },
        |writer, target| match target.throughput_unit {
            ThroughputUnit::BytesPerMs => writer.value("Throughput", target.throughput),
            ThroughputUnit::Iops => {
                writer.line(&format!("<Throughput unit=\"IOPS\">{}</Throughput>", target.throughput));
            }
        },
    ),
    number!("ThreadsPerFile", ANY_U32, Target.threads),
    // DiskSpd accepts any number and does not define others than these.
    number!("IOPriority", Value::Number(1, 3), Target.priority),
    number!("Weight", ANY_U32, Target.weight),
    nested(
        all("ThreadTargets", Occurs::AtMostOnce, || {
            const { &[IN_THREAD_TARGETS] }.iter().collect()
        }),
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

const WRITE_BUFFER_CONTENT: &[Rule] = &[
    Rule::value("Pattern", Value::Word(&["sequential", "zero", "random"])),
    all("RandomDataSource", Occurs::AtMostOnce, || {
        RANDOM_DATA_SOURCE.iter().collect()
    }),
];

const RANDOM_DATA_SOURCE: &[Rule] = &[
    Rule::new("SizeInBytes", Occurs::Once, Content::Value(ANY_U64)),
    Rule::value("FilePath", Value::Text),
];

// Exactly one of the two: each is required, but only the chosen one of a choice.
const DISTRIBUTION: &[Rule] = &[
    all("Percent", Occurs::Once, || {
        const { &[RANGE_IN_PERCENT] }.iter().collect()
    }),
    all("Absolute", Occurs::Once, || {
        const { &[RANGE_IN_BYTES] }.iter().collect()
    }),
];

const IO_SHARE: &[Attribute] = &[Attribute::new("IO", true, Value::Number(0, 100))];

const RANGE_IN_PERCENT: Rule = Rule {
    attributes: IO_SHARE,
    ..Rule::new("Range", Occurs::AtLeastOnce, Content::Value(Value::Number(1, 100)))
};

const RANGE_IN_BYTES: Rule = Rule {
    attributes: IO_SHARE,
    ..Rule::new("Range", Occurs::AtLeastOnce, Content::Value(ANY_U64))
};

const IN_THREAD_TARGETS: Rule = all("ThreadTarget", Occurs::AnyTimes, || THREAD_TARGET.iter().collect());

const THREAD_TARGET: &[Rule] = &[
    Rule::new("Thread", Occurs::Once, Content::Value(ANY_U32)),
    Rule::value("Weight", ANY_U32),
];

/// A source counts only if the pattern is random, and random needs a source.
fn read_write_buffer(target: &mut Target, node: Node) -> Result<(), XmlError> {
    match child(node, "Pattern").map(text_of).as_deref() {
        Some("zero") => target.zero_buffers = true,
        Some("random") => {
            target.source = child(node, "RandomDataSource").map(|source| Source {
                size: number(source, "SizeInBytes").unwrap_or_default(),
                file: child(source, "FilePath").map(text_of).filter(|path| !path.is_empty()),
            });
        }
        _ => {}
    }
    Ok(())
}

/// Zeros hide a source, although writes use it: XML cannot express `-Z -Z1M`.
fn write_write_buffer(writer: &mut Writer, target: &Target) {
    writer.element("WriteBufferContent", |writer| match &target.source {
        _ if target.zero_buffers => writer.value("Pattern", "zero"),
        None => writer.value("Pattern", "sequential"),
        Some(source) => {
            writer.value("Pattern", "random");
            writer.element("RandomDataSource", |writer| {
                writer.value("SizeInBytes", source.size);
                if let Some(file) = &source.file {
                    writer.value("FilePath", file);
                }
            });
        }
    });
}

fn read_distribution(target: &mut Target, node: Node) -> Result<(), XmlError> {
    target.distribution = node.first_element_child().map(|kind| {
        let ranges = elements(kind, "Range").map(|range| Range {
            io_percent: read::attribute_number(range, "IO"),
            length: text_of(range).parse().unwrap_or_default(),
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
    writer.element("Distribution", |writer| {
        writer.element(kind, |writer| {
            for range in &distribution.ranges {
                writer.line(&format!("<Range IO=\"{}\">{}</Range>", range.io_percent, range.length));
            }
        });
    });
}

fn write_thread_targets(writer: &mut Writer, target: &Target) {
    if target.thread_targets.is_empty() {
        return;
    }
    writer.element("ThreadTargets", |writer| {
        for thread_target in &target.thread_targets {
            writer.element("ThreadTarget", |writer| {
                writer.value("Thread", thread_target.thread);
                if thread_target.weight != 0 {
                    writer.value("Weight", thread_target.weight);
                }
            });
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_2_3_come_back_as_they_were() {
        let mut span = TimeSpan::default();
        for (name, text) in [
            ("IORing", "true"),
            ("IORing", "un8p"),
            ("CompletionDequeueDepth", "4"),
            ("BufferSeparation", "p"),
            ("BufferSeparation", "65536"),
            ("AffinityOrder", "csup"),
            ("BypassIO", "full"),
        ] {
            let element = SPAN.iter().find(|element| element.rule.name == name).unwrap();
            let Form::Value { read, write } = element.form else {
                panic!("{name}")
            };
            read(&mut span, text);
            assert_eq!(write(&span).as_deref(), Some(text), "{name}");
            let content = &element.rule.content;
            assert!(
                matches!(content, Content::Value(Value::Checked(is_good)) if is_good(text) && !is_good("?")),
                "{name}"
            );
        }
        assert_eq!(lines_of_span(&span).count(), 5);
    }
}
