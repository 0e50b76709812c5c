//! DiskSpd's data model: time spans of targets, with DiskSpd's terms and defaults.
//!
//! A command line is a profile with one time span whose targets differ only in their paths; an XML
//! profile can express everything. The profile holds what the user wrote; lowering turns it into a
//! plan.
//!
//! Each part comes with its XML elements, in output order.

mod span;
mod target;

use super::xml::elements::{ANY_U32, Element, all, flag, is_true, nested, number, rules, set, value, word};
use super::xml::read::{elements, read_all};
use super::xml::schema::{ElementRule, Occurrence, Value};
use super::xml::write::write_all;
use span::{SPAN, TIME_SPAN};

pub(super) use span::added_span_lines;
pub use span::{Processor, TimeSpan};
pub use target::{Cache, Distribution, FlushType, Range, Source, Target, ThreadTarget, ThroughputUnit};

/// A profile.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// Operations of a thread between two progress dots; 0 for none (`-P`).
    pub progress: u32,
    /// Bit mask (`-:`).
    pub experiment_flags: u32,
    /// Form of the report (`-R`).
    pub result_format: ResultFormat,
    /// Verbose output (`-v`).
    pub verbose: bool,
    /// Wait statistics in the report (`-vs`).
    pub verbose_stats: bool,
    /// Which files are created before the first time span (XML only).
    pub precreate: Option<Precreate>,
    /// Event tracing (`-e`): stored, never performed.
    pub etw: Option<Etw>,
    /// The time spans, in order.
    pub time_spans: Vec<TimeSpan>,
}

/// Form of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResultFormat {
    /// Tables.
    #[default]
    Text,
    /// XML.
    Xml,
}

/// Which files are created before the first time span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precreate {
    /// All files with a size, each with its largest size.
    UseMaxSize,
    /// Files with the same size above zero everywhere.
    ConstantSizes,
    /// Files whose sizes agree, apart from missing sizes.
    ConstantOrZeroSizes,
}

/// Events that DiskSpd traces on Windows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Etw {
    /// `PROCESS`.
    pub process: bool,
    /// `THREAD`.
    pub thread: bool,
    /// `IMAGE_LOAD`.
    pub image_load: bool,
    /// `DISK_IO`.
    pub disk_io: bool,
    /// `MEMORY_PAGE_FAULTS`.
    pub memory_page_faults: bool,
    /// `MEMORY_HARD_FAULTS`.
    pub memory_hard_faults: bool,
    /// `NETWORK`.
    pub network: bool,
    /// `REGISTRY`.
    pub registry: bool,
    /// `-ep`.
    pub use_paged_memory: bool,
    /// `-eq`.
    pub use_perf_timer: bool,
    /// `-es`.
    pub use_system_timer: bool,
    /// `-ec`.
    pub use_cycles_counter: bool,
}

pub(super) const ROOT: ElementRule = all("Profile", Occurrence::Once, || rules(PROFILE));

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
            profile.result_format = match text {
                "xml" => ResultFormat::Xml,
                _ => ResultFormat::Text,
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
        all("ETW", Occurrence::AtMostOnce, || rules(ETW)),
        |profile: &mut Profile, node| {
            // Any child element enables tracing.
            if node.first_element_child().is_some() {
                read_all(ETW, profile.etw.insert(Etw::default()), node)?;
            }
            Ok(())
        },
        |writer, profile| {
            if let Some(etw) = &profile.etw {
                writer.write_element("ETW", |writer| write_all(writer, ETW, etw));
            }
        },
    ),
    nested(
        all("TimeSpans", Occurrence::Once, || vec![&TIME_SPAN]),
        |profile: &mut Profile, node| {
            for span in elements(node, "TimeSpan") {
                profile.time_spans.push(TimeSpan::default());
                let count = profile.time_spans.len();
                read_all(SPAN, &mut profile.time_spans[count - 1], span)?;
            }
            Ok(())
        },
        |writer, profile| {
            writer.write_element("TimeSpans", |writer| {
                for span in &profile.time_spans {
                    writer.write_element("TimeSpan", |writer| write_all(writer, SPAN, span));
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
