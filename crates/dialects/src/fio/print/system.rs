//! Prints CPU and memory placement, priorities and error handling.

use super::Section;
use crate::notation;

/// The processors of all clones, and whether each clone has its own.
pub(in crate::fio) fn processors(section: &Section<'_>) -> Option<(Vec<u32>, bool)> {
    let lists: Vec<&Vec<u32>> = section.clones().iter().map(|clone| &clone.placement.cpus).collect();
    if lists.iter().all(|list| list.is_empty()) {
        return None;
    }
    if lists.iter().all(|list| *list == lists[0]) {
        return Some((lists[0].clone(), false));
    }
    let all: Vec<u32> = lists.iter().flat_map(|list| list.iter().copied()).collect();
    Some((notation::period(&all).to_vec(), true))
}

pub(in crate::fio) fn hugepage_size(section: &Section<'_>) -> Option<String> {
    let memory = section.worker().memory;
    super::size(memory.huge_page_size.0).filter(|_| memory.huge_pages)
}

/// Tolerated errors of reads, writes and checks.
fn tolerated<'a>(section: &Section<'a>) -> [&'a Vec<i32>; 3] {
    let policy = &section.stream().on_error;
    [&policy.tolerate_read, &policy.tolerate_write, &policy.tolerate_verify]
}

pub(in crate::fio) fn continue_on_error(section: &Section<'_>) -> Option<String> {
    let word = match tolerated(section).map(|list| !list.is_empty()) {
        [false, false, false] => return None,
        [true, false, false] => "read",
        [false, true, false] => "write",
        [true, true, false] => "io",
        [false, false, true] => "verify",
        _ => "all",
    };
    Some(word.into())
}

pub(in crate::fio) fn ignore_error(section: &Section<'_>) -> Option<String> {
    let lists = tolerated(section).map(|list| list.iter().map(|error| name(*error)).collect::<Vec<_>>().join(":"));
    let list = lists.join(",");
    Some(list.trim_end_matches(',').to_owned()).filter(|list| !list.is_empty())
}

/// The name of an error, or its number.
fn name(error: i32) -> String {
    match error {
        5 => "EIO".into(),
        28 => "ENOSPC".into(),
        84 => "EILSEQ".into(),
        other => other.to_string(),
    }
}
