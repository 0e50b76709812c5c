//! Reads a valid document into a profile. Absent elements leave the defaults.

use roxmltree::{Document, Node};

use super::elements::{Element, Form, PROFILE, TARGET};
use super::schema::{check, is_named, text_of};
use super::{XmlError, XmlErrorKind};
use crate::diskspd::profile::{Processor, Profile, Target};

/// Reads an XML profile.
pub fn read(text: &str) -> Result<Profile, XmlError> {
    let document = Document::parse(text)?;
    let root = document.root_element();
    check(root)?;
    let mut profile = Profile::default();
    read_all(PROFILE, &mut profile, root)?;
    Ok(profile)
}

/// Reads the children of `parent` by the table.
pub(super) fn read_all<T>(table: &[Element<T>], of: &mut T, parent: Node) -> Result<(), XmlError> {
    for element in table {
        let Some(node) = child(parent, element.rule.name) else {
            continue;
        };
        match element.form {
            Form::Value { read, .. } => read(of, &text_of(node)),
            Form::Nested { read, .. } => read(of, node)?,
        }
    }
    Ok(())
}

pub(super) fn target(node: Node) -> Result<Target, XmlError> {
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

/// Reads the processors of an affinity list. The old form has no groups.
pub(super) fn affinity(node: Node) -> Result<Vec<Processor>, XmlError> {
    let old = elements(node, "AffinityAssignment").map(|node| (node, 0, text_of(node).parse().unwrap_or_default()));
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

pub(super) fn child<'a, 'input>(node: Node<'a, 'input>, name: &str) -> Option<Node<'a, 'input>> {
    node.children().find(|child| is_named(*child, name))
}

/// The children of this name.
pub(super) fn elements<'a, 'input>(
    list: Node<'a, 'input>,
    name: &'static str,
) -> impl Iterator<Item = Node<'a, 'input>> {
    list.children().filter(move |element| is_named(*element, name))
}

/// The number of a child element, which the schema has validated; `None` if the element is absent.
pub(super) fn number<T: std::str::FromStr>(node: Node, name: &str) -> Option<T> {
    child(node, name).and_then(|value| text_of(value).parse().ok())
}

/// The number of an attribute, which the schema has validated; 0 if it is absent.
pub(super) fn attribute_number(node: Node, name: &str) -> u32 {
    node.attribute(name)
        .and_then(|value| value.trim().parse().ok())
        .unwrap_or_default()
}
