//! What a profile document may contain, as a table, and the one function that holds a document against it.
//!
//! Children stand in any order, each at most once unless the table says otherwise. What the values mean is not known here.

use roxmltree::Node;

use super::{XmlError, XmlErrorKind};
use crate::diskspd::newer;

/// Attributes of this namespace say where a schema is; every document may have them.
const SCHEMA_INSTANCE: &str = "http://www.w3.org/2001/XMLSchema-instance";

/// An element: its name, how often it stands in its parent, and what is in it.
struct Rule {
    name: &'static str,
    occurs: Occurs,
    content: Content,
    attributes: &'static [Attribute],
}

struct Attribute {
    name: &'static str,
    required: bool,
    value: Value,
}

#[derive(Clone, Copy, PartialEq)]
enum Occurs {
    AtMostOnce,
    Once,
    AtLeastOnce,
    AnyTimes,
}

enum Content {
    Value(Value),
    /// Elements in any order.
    All(&'static [Rule]),
    /// Elements of one of these names.
    Choice(&'static [Rule]),
    Nothing,
}

#[derive(Clone, Copy)]
enum Value {
    Text,
    Boolean,
    Number(u64, u64),
    Word(&'static [&'static str]),
}

const ANY_U32: Value = Value::Number(0, u32::MAX as u64);
const ANY_U64: Value = Value::Number(0, u64::MAX);

const PROFILE: Rule = Rule::new("Profile", Occurs::Once, Content::All(IN_PROFILE));

const IN_PROFILE: &[Rule] = &[
    Rule::value("Progress", ANY_U32),
    Rule::value("ExperimentFlags", ANY_U32),
    Rule::value("ResultFormat", Value::Word(&["text", "xml"])),
    Rule::value("Verbose", Value::Boolean),
    Rule::value("VerboseStats", Value::Boolean),
    Rule::value(
        "PrecreateFiles",
        Value::Word(&[
            "UseMaxSize",
            "CreateOnlyFilesWithConstantSizes",
            "CreateOnlyFilesWithConstantOrZeroSizes",
        ]),
    ),
    Rule::new("ETW", Occurs::AtMostOnce, Content::All(IN_ETW)),
    Rule::new("TimeSpans", Occurs::Once, Content::All(IN_TIME_SPANS)),
];

const IN_ETW: &[Rule] = &[
    Rule::value("Process", Value::Boolean),
    Rule::value("Thread", Value::Boolean),
    Rule::value("ImageLoad", Value::Boolean),
    Rule::value("DiskIO", Value::Boolean),
    Rule::value("MemoryPageFaults", Value::Boolean),
    Rule::value("MemoryHardFaults", Value::Boolean),
    Rule::value("Network", Value::Boolean),
    Rule::value("Registry", Value::Boolean),
    Rule::value("UsePagedMemory", Value::Boolean),
    Rule::value("UsePerfTimer", Value::Boolean),
    Rule::value("UseSystemTimer", Value::Boolean),
    Rule::value("UseCyclesCounter", Value::Boolean),
];

const IN_TIME_SPANS: &[Rule] = &[Rule::new("TimeSpan", Occurs::AtLeastOnce, Content::All(IN_TIME_SPAN))];

const IN_TIME_SPAN: &[Rule] = &[
    Rule::value("CompletionRoutines", Value::Boolean),
    Rule::value("MeasureLatency", Value::Boolean),
    Rule::value("CalculateIopsStdDev", Value::Boolean),
    Rule::value("DisableAffinity", Value::Boolean),
    // Of old profiles; all affinity knows groups now.
    Rule::value("GroupAffinity", Value::Boolean),
    Rule::value("RandomWriteData", Value::Boolean),
    Rule::value("Duration", ANY_U32),
    Rule::value("Warmup", ANY_U32),
    Rule::value("Cooldown", ANY_U32),
    Rule::value("ThreadCount", ANY_U32),
    Rule::value("RequestCount", ANY_U32),
    Rule::value("IoBucketDuration", ANY_U32),
    Rule::value("RandSeed", ANY_U32),
    Rule::new("Affinity", Occurs::AtMostOnce, Content::Choice(IN_AFFINITY)),
    Rule::new("Targets", Occurs::Once, Content::All(IN_TARGETS)),
];

const IN_AFFINITY: &[Rule] = &[
    Rule::new("AffinityAssignment", Occurs::AnyTimes, Content::Value(ANY_U32)),
    Rule {
        attributes: &[
            Attribute::new("Group", false, ANY_U32),
            Attribute::new("Processor", false, ANY_U32),
        ],
        ..Rule::new("AffinityGroupAssignment", Occurs::AnyTimes, Content::Nothing)
    },
];

const IN_TARGETS: &[Rule] = &[Rule::new("Target", Occurs::AtLeastOnce, Content::All(IN_TARGET))];

const IN_TARGET: &[Rule] = &[
    Rule::new("Path", Occurs::Once, Content::Value(Value::Text)),
    Rule::value("BlockSize", ANY_U32),
    Rule::value("BaseFileOffset", ANY_U64),
    Rule::value("SequentialScan", Value::Boolean),
    Rule::value("RandomAccess", Value::Boolean),
    Rule::value("TemporaryFile", Value::Boolean),
    Rule::value("UseLargePages", Value::Boolean),
    Rule::value("DisableAllCache", Value::Boolean),
    Rule::value("DisableLocalCache", Value::Boolean),
    Rule::value("DisableOSCache", Value::Boolean),
    Rule::value("WriteThrough", Value::Boolean),
    Rule::value("MemoryMappedIo", Value::Boolean),
    Rule::value(
        "FlushType",
        Value::Word(&["ViewOfFile", "NonVolatileMemory", "NonVolatileMemoryNoDrain"]),
    ),
    Rule::new(
        "WriteBufferContent",
        Occurs::AtMostOnce,
        Content::All(IN_WRITE_BUFFER_CONTENT),
    ),
    Rule::value("ParallelAsyncIO", Value::Boolean),
    Rule::value("BurstSize", ANY_U32),
    Rule::value("ThinkTime", ANY_U32),
    Rule::value("FileSize", ANY_U64),
    Rule::value("StrideSize", ANY_U64),
    Rule::value("InterlockedSequential", Value::Boolean),
    Rule::value("Random", ANY_U64),
    Rule::value("RandomRatio", Value::Number(1, 99)),
    Rule::new("Distribution", Occurs::AtMostOnce, Content::Choice(IN_DISTRIBUTION)),
    Rule::value("ThreadStride", ANY_U64),
    Rule::value("MaxFileSize", ANY_U64),
    Rule::value("RequestCount", ANY_U32),
    Rule::value("WriteRatio", Value::Number(0, 100)),
    Rule {
        attributes: &[Attribute::new("unit", false, Value::Word(&["IOPS", "BPMS"]))],
        ..Rule::value("Throughput", ANY_U32)
    },
    Rule::value("ThreadsPerFile", ANY_U32),
    // DiskSpd takes any number and leaves open what others than these do.
    Rule::value("IOPriority", Value::Number(1, 3)),
    Rule::value("Weight", ANY_U32),
    Rule::new("ThreadTargets", Occurs::AtMostOnce, Content::All(IN_THREAD_TARGETS)),
];

const IN_WRITE_BUFFER_CONTENT: &[Rule] = &[
    Rule::value("Pattern", Value::Word(&["sequential", "zero", "random"])),
    Rule::new(
        "RandomDataSource",
        Occurs::AtMostOnce,
        Content::All(IN_RANDOM_DATA_SOURCE),
    ),
];

const IN_RANDOM_DATA_SOURCE: &[Rule] = &[
    Rule::new("SizeInBytes", Occurs::Once, Content::Value(ANY_U64)),
    Rule::value("FilePath", Value::Text),
];

// Exactly one of the two: each is required, and a choice asks only the chosen one.
const IN_DISTRIBUTION: &[Rule] = &[
    Rule::new("Percent", Occurs::Once, Content::All(IN_PERCENT)),
    Rule::new("Absolute", Occurs::Once, Content::All(IN_ABSOLUTE)),
];

const IO_SHARE: &[Attribute] = &[Attribute::new("IO", true, Value::Number(0, 100))];

const IN_PERCENT: &[Rule] = &[Rule {
    attributes: IO_SHARE,
    ..Rule::new("Range", Occurs::AtLeastOnce, Content::Value(Value::Number(1, 100)))
}];

const IN_ABSOLUTE: &[Rule] = &[Rule {
    attributes: IO_SHARE,
    ..Rule::new("Range", Occurs::AtLeastOnce, Content::Value(ANY_U64))
}];

const IN_THREAD_TARGETS: &[Rule] = &[Rule::new(
    "ThreadTarget",
    Occurs::AnyTimes,
    Content::All(IN_THREAD_TARGET),
)];

const IN_THREAD_TARGET: &[Rule] = &[
    Rule::new("Thread", Occurs::Once, Content::Value(ANY_U32)),
    Rule::value("Weight", ANY_U32),
];

impl Rule {
    const fn new(name: &'static str, occurs: Occurs, content: Content) -> Rule {
        Rule {
            name,
            occurs,
            content,
            attributes: &[],
        }
    }

    /// An element with a value, as most are.
    const fn value(name: &'static str, value: Value) -> Rule {
        Rule::new(name, Occurs::AtMostOnce, Content::Value(value))
    }
}

impl Attribute {
    const fn new(name: &'static str, required: bool, value: Value) -> Attribute {
        Attribute { name, required, value }
    }
}

/// Says the first thing about the document below `root` that the schema refuses.
pub(super) fn check(root: Node) -> Result<(), XmlError> {
    if !is_named(root, PROFILE.name) {
        return refuse(
            root,
            format!("the root is <{}> instead of <Profile>", root.tag_name().name()),
        );
    }
    check_element(root, &PROFILE)
}

/// The value of an element without blanks around it, or of a text all of it.
///
/// DiskSpd's XML library trims text, so that a path may stand on a line of its own. Comments in between do not count.
pub(super) fn text_of(node: Node) -> String {
    let parts = node.children().filter(Node::is_text).filter_map(|part| part.text());
    trim(&parts.collect::<String>()).to_string()
}

/// The element is of no namespace and has this name.
pub(super) fn is_named(node: Node, name: &str) -> bool {
    node.is_element() && node.tag_name().namespace().is_none() && node.tag_name().name() == name
}

fn check_element(node: Node, rule: &Rule) -> Result<(), XmlError> {
    check_attributes(node, rule)?;
    match &rule.content {
        Content::Value(value) => {
            if let Some(child) = node.children().find(Node::is_element) {
                return refuse(child, format!("<{}> takes a value, not elements", rule.name));
            }
            match value.complaint(&text_of(node)) {
                None => Ok(()),
                Some(complaint) => refuse(node, format!("<{}> {complaint}", rule.name)),
            }
        }
        Content::Nothing => check_children(node, &[], false),
        Content::All(rules) => check_children(node, rules, false),
        Content::Choice(rules) => check_children(node, rules, true),
    }
}

fn check_attributes(node: Node, rule: &Rule) -> Result<(), XmlError> {
    for attribute in node.attributes() {
        if attribute.namespace() == Some(SCHEMA_INSTANCE) {
            continue;
        }
        let known = rule
            .attributes
            .iter()
            .find(|known| known.name == attribute.name() && attribute.namespace().is_none());
        let Some(known) = known else {
            return refuse(node, format!("<{}> has no attribute '{}'", rule.name, attribute.name()));
        };
        if let Some(complaint) = known.value.complaint(trim(attribute.value())) {
            return refuse(
                node,
                format!("attribute '{}' of <{}> {complaint}", known.name, rule.name),
            );
        }
    }
    for attribute in rule.attributes.iter().filter(|attribute| attribute.required) {
        if node.attribute(attribute.name).is_none() {
            return refuse(
                node,
                format!("<{}> lacks its attribute '{}'", rule.name, attribute.name),
            );
        }
    }
    Ok(())
}

/// The children one by one, then what is missing among them. With `one_kind` all have the name of the first.
fn check_children(parent: Node, rules: &[Rule], one_kind: bool) -> Result<(), XmlError> {
    let parent_name = parent.tag_name().name();
    let mut counts = vec![0u64; rules.len()];
    for child in parent.children() {
        if child.is_text() && !trim(child.text().unwrap_or_default()).is_empty() {
            return refuse(child, format!("<{parent_name}> takes no text"));
        }
        if !child.is_element() {
            continue;
        }
        let name = child.tag_name().name();
        if is_named(parent, "TimeSpan")
            && let Some(element) = newer::ELEMENTS.iter().find(|element| is_named(child, element.name))
        {
            check_newer(parent, child, element)?;
            continue;
        }
        let Some(index) = rules.iter().position(|rule| is_named(child, rule.name)) else {
            return refuse(child, format!("<{parent_name}> has no element <{name}>"));
        };
        counts[index] += 1;
        if counts[index] > 1 && matches!(rules[index].occurs, Occurs::Once | Occurs::AtMostOnce) {
            return refuse(child, format!("<{name}> stands more than once in <{parent_name}>"));
        }
        if one_kind && let Some(other) = (0..rules.len()).find(|&other| other != index && counts[other] > 0) {
            return refuse(
                child,
                format!(
                    "<{parent_name}> has <{}> already: <{name}> cannot stand beside it",
                    rules[other].name
                ),
            );
        }
        check_element(child, &rules[index])?;
    }
    let missing =
        |index: &usize| counts[*index] == 0 && matches!(rules[*index].occurs, Occurs::Once | Occurs::AtLeastOnce);
    let chosen = one_kind && counts.iter().any(|&count| count > 0);
    match (0..rules.len()).find(missing) {
        Some(index) if !chosen => refuse(parent, format!("<{parent_name}> lacks <{}>", rules[index].name)),
        _ => Ok(()),
    }
}

/// An element of a time span that came with DiskSpd 2.3.
fn check_newer(span: Node, node: Node, element: &newer::Element) -> Result<(), XmlError> {
    let name = element.name;
    if span.children().find(|child| is_named(*child, name)) != Some(node) {
        return refuse(node, format!("<{name}> stands more than once in <TimeSpan>"));
    }
    if let Some(child) = node.children().find(Node::is_element) {
        return refuse(child, format!("<{name}> takes a value, not elements"));
    }
    let text = text_of(node);
    match (element.read)(&mut newer::Newer::default(), &text) {
        true => Ok(()),
        false => refuse(node, format!("<{name}> has no value '{text}'")),
    }
}

impl Value {
    /// What is wrong with a text as such a value.
    fn complaint(self, text: &str) -> Option<String> {
        match self {
            Value::Text => None,
            Value::Boolean if ["true", "false", "1", "0"].contains(&text) => None,
            Value::Boolean => Some(format!("is 'true' or 'false', not '{text}'")),
            Value::Word(words) if words.contains(&text) => None,
            Value::Word(words) => Some(format!("is '{}', not '{text}'", words.join("' or '"))),
            Value::Number(least, most) => {
                let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
                match text.parse::<u64>() {
                    Ok(number) if digits && (least..=most).contains(&number) => None,
                    _ => Some(format!("is a number from {least} to {most}, not '{text}'")),
                }
            }
        }
    }
}

/// Without the blanks that XML knows: others may belong to a path.
fn trim(text: &str) -> &str {
    text.trim_matches([' ', '\t', '\r', '\n'])
}

fn refuse(node: Node, reason: String) -> Result<(), XmlError> {
    Err(XmlError::at(node, XmlErrorKind::Schema, reason))
}
