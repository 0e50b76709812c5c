//! A time span and its elements.

use roxmltree::Node;

use super::Target;
use super::target::{IN_TARGETS, TARGET, read_target};
use crate::diskspd::newer::{CoreOrder, Newer, Ring, Separation, read_bypass, write_bypass};
use crate::diskspd::xml::elements::{
    ANY_U32, Element, Form, all, flag, is_true, nested, newer, number, rules, set, value,
};
use crate::diskspd::xml::read::{attribute_number, elements};
use crate::diskspd::xml::schema::{Attribute, Content, ElementRule, Occurrence, Value, node_text};
use crate::diskspd::xml::write::write_all;
use crate::diskspd::xml::{XmlError, XmlErrorKind};

with_defaults! {
    /// One test: warm-up, measured time, cool-down.
    #[derive(Clone, Debug, PartialEq)]
    pub struct TimeSpan {
        /// Measured seconds (`-d`).
        pub duration: u32 = 10,
        /// Seconds before that (`-W`).
        pub warm_up: u32 = 5,
        /// Seconds after it (`-C`).
        pub cool_down: u32,
        /// Seed of thread 0; thread i has this plus i (`-z`).
        pub seed: u32,
        /// Threads of the pool; 0: each target has its own (`-F`).
        pub threads: u32,
        /// Requests of each thread over all its targets; 0: each target has its own. Works only
        /// with `threads` (`-O`).
        pub requests: u32,
        /// New random data for each write (`-Zr`).
        pub random_write_data: bool,
        /// Threads are not bound to processors (`-n`).
        pub no_affinity: bool,
        /// Processors to which threads are bound round-robin; empty: all active ones (`-a`).
        pub affinity: Vec<Processor>,
        /// Completion routines instead of a completion port (`-x`).
        pub completion_routines: bool,
        /// Values of DiskSpd 2.3.
        pub newer: Newer,
        /// Latency in the report (`-L`).
        pub latency: bool,
        /// Deviation of IOPS in the report (`-D`).
        pub iops_deviation: bool,
        /// Length of the intervals for that, in milliseconds.
        pub bucket_ms: u32 = 1000,
        /// Files and devices.
        pub targets: Vec<Target>,
    }
}

/// A processor as Windows numbers them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Processor {
    /// Group of up to 64 processors.
    pub group: u16,
    /// Number in the group.
    pub number: u8,
}

pub(super) const TIME_SPAN: ElementRule = all("TimeSpan", Occurrence::AtLeastOnce, || rules(SPAN));

/// The elements of a time span. DiskSpd 2.3 added the elements with a label. Its public notes
/// name only the switches, so fathom defines the elements and report lines, with values in the
/// syntax of the switch.
pub(super) const SPAN: &[Element<TimeSpan>] = &[
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
        ElementRule::new(
            "Affinity",
            Occurrence::AtMostOnce,
            Content::Choice(|| AFFINITY.iter().collect()),
        ),
        |span: &mut TimeSpan, node| {
            span.affinity = read_affinity(node)?;
            Ok(())
        },
        |writer, span| {
            if !span.affinity.is_empty() {
                writer.write_element("Affinity", |writer| {
                    for processor in &span.affinity {
                        writer.write_line(&format!(
                            "<AffinityGroupAssignment Group=\"{}\" Processor=\"{}\"/>",
                            processor.group, processor.number
                        ));
                    }
                });
            }
        },
    ),
    nested(
        all("Targets", Occurrence::Once, || vec![&IN_TARGETS]),
        |span: &mut TimeSpan, node| {
            for target in elements(node, "Target") {
                span.targets.push(read_target(target)?);
            }
            Ok(())
        },
        |writer, span| {
            writer.write_element("Targets", |writer| {
                for target in &span.targets {
                    writer.write_element("Target", |writer| write_all(writer, TARGET, target));
                }
            });
        },
    ),
];

/// The lines of elements of a time span in text reports.
pub(in crate::diskspd) fn added_span_lines(span: &TimeSpan) -> impl Iterator<Item = String> {
    let with_label = SPAN.iter().filter(|element| !element.label.is_empty());
    with_label.filter_map(|element| match element.form {
        Form::Value { write, .. } => Some(format!("{}: {}", element.label, write(span)?)),
        Form::Nested { .. } => None,
    })
}

const AFFINITY: &[ElementRule] = &[
    ElementRule::new("AffinityAssignment", Occurrence::AnyTimes, Content::Value(ANY_U32)),
    ElementRule {
        attributes: &[
            Attribute::new("Group", false, ANY_U32),
            Attribute::new("Processor", false, ANY_U32),
        ],
        ..ElementRule::new("AffinityGroupAssignment", Occurrence::AnyTimes, Content::Empty)
    },
];

/// Reads the processors of an affinity list. The old form has no groups.
fn read_affinity(node: Node) -> Result<Vec<Processor>, XmlError> {
    let old = elements(node, "AffinityAssignment").map(|node| (node, 0, node_text(node).parse().unwrap_or_default()));
    let new = elements(node, "AffinityGroupAssignment").map(|node| {
        (
            node,
            attribute_number(node, "Group"),
            attribute_number(node, "Processor"),
        )
    });
    let processor = |(node, group, number): (Node, u32, u32)| {
        let refuse = |what: String| {
            let reason = format!("profile specifies group assignment {what}, out of range");
            XmlError::at(node, XmlErrorKind::Affinity, reason)
        };
        Ok(Processor {
            group: u16::try_from(group).map_err(|_| refuse(format!("group {group}")))?,
            number: u8::try_from(number).map_err(|_| refuse(format!("to core {number}")))?,
        })
    };
    old.chain(new).map(processor).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_2_3_survive_a_round_trip() {
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
        assert_eq!(added_span_lines(&span).count(), 5);
    }
}
