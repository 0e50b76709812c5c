//! Compares targets: their kind, preparation and region.

use model::Bytes;
use model::plan::{
    Dialect, Extent, FileService, FileTree, Prepare, PrepareWhen, Region, StreamTarget, TargetCleanup, TargetKind,
};

use super::{Difference, difference, difference_if};
use crate::convert::compare::{Pair, StreamContext, is_device, known_size};
use crate::convert::{native, words};

/// Compares paths: a stream or file set of the converted worker must have each original path.
pub(in crate::convert::compare) fn compare_paths(pair: &Pair<'_>) -> Difference {
    let streams = pair.got.worker.streams.iter();
    let got_paths: Vec<&str> = streams
        .flat_map(|stream| stream.target.ids())
        .map(|id| pair.got.plan.target(*id).path.as_str())
        .collect();
    let wanted = pair.wanted.paths();
    // The original may be a directory, and the converted target a file in it.
    let is_present = |path: &&str| {
        got_paths
            .iter()
            .any(|name| name == path || path.ends_with('/') && name.starts_with(path))
    };
    match wanted.iter().all(is_present) {
        true => None,
        false => difference(wanted.join(", "), pair.got.paths().join(", ")),
    }
}

pub(in crate::convert::compare) fn compare_file_choice(pair: &Pair<'_>) -> Difference {
    let choice = |target: &StreamTarget| match target {
        StreamTarget::Files {
            // Target numbers differ between plans.
            targets: _,
            open_at_once,
            service,
            operations,
        } => Some((*open_at_once, *service, *operations)),
        StreamTarget::One { target: _ } => None,
    };
    let (wanted, got) = (&pair.wanted.stream.target, &pair.got.stream.target);
    let (count, (open, service, operations)) = (wanted.ids().len(), choice(wanted)?);
    if count < 2 || choice(wanted) == choice(got) {
        return None;
    }
    difference(
        format!(
            "{count} files, {}, {operations} operations each, {open} open",
            order_of_files(service)
        ),
        match pair.to {
            Dialect::Iometer => "each target has its own queue depth",
            _ => "each operation picks a target",
        },
    )
}

/// How a worker chooses the next of its files.
fn order_of_files(service: FileService) -> String {
    match service {
        FileService::RoundRobin => "in turn".into(),
        FileService::Random => "at random".into(),
        FileService::Sequential => "one after another".into(),
        FileService::Zipf { theta } => format!("by Zipf's law ({theta})"),
        FileService::Pareto { h } => format!("by Pareto's law ({h})"),
        FileService::Normal { deviation_percent } => format!("by a normal distribution ({deviation_percent} %)"),
    }
}

pub(in crate::convert::compare) fn describe_target_kind(at: &StreamContext<'_>, _: &StreamContext<'_>) -> String {
    match &at.target.kind {
        TargetKind::Path | TargetKind::Template { number: _ } => "a file or device".into(),
        TargetKind::Name { size: _, directory } => if *directory { "a directory" } else { "a name" }.into(),
        TargetKind::Tree { tree } => format!("a tree of files, {}{}", native::format_tree(tree), tree_details(tree)),
        TargetKind::Nothing { size } => format!("the null engine, {size}"),
        TargetKind::Simulated { device } => native::describe_simulated_device(device),
    }
}

/// Returns how both plans prepare the file of a target; `None` if the target is not a file.
fn file_preparations<'p>(pair: &Pair<'p>) -> Option<(&'p Prepare, &'p Prepare)> {
    let real = !matches!(
        pair.wanted.target.kind,
        TargetKind::Nothing { .. } | TargetKind::Simulated { .. } | TargetKind::Tree { .. }
    );
    // A device is never created.
    let file = real && !is_device(&pair.wanted.target.path);
    file.then_some((&pair.wanted.target.prepare, &pair.got.target.prepare))
}

pub(in crate::convert::compare) fn compare_file_size(pair: &Pair<'_>) -> Difference {
    let (wanted, got) = file_preparations(pair)?;
    let words = |size: Bytes| format!("a file of {}", words::format_size(size.0));
    let wanted = wanted.size()?;
    difference_if(Some(wanted), got.size(), |size| size.map(words).unwrap_or_default())
}

pub(in crate::convert::compare) fn compare_preparation(pair: &Pair<'_>) -> Difference {
    let (wanted, got) = file_preparations(pair)?;
    let describe = |prepare: &Prepare| match prepare {
        Prepare::Existing => "an existing file",
        Prepare::Filled { .. } => "a file that is filled with random data once, then reused",
        Prepare::Recreate { .. } => "a file that is recreated",
        Prepare::LayOut { .. } => "a file that is laid out if it is too small",
    };
    wanted.size()?;
    difference_if(describe(wanted), describe(got), |words| words)
}

pub(in crate::convert::compare) fn compare_recreation_per_step(pair: &Pair<'_>) -> Difference {
    let each_step = |at: &StreamContext<'_>| at.plan.prepare == PrepareWhen::EachStep && at.plan.steps.len() > 1;
    let recreated = |at: &StreamContext<'_>| matches!(at.target.prepare, Prepare::Recreate { .. });
    let differ = recreated(&pair.wanted) && recreated(&pair.got) && each_step(&pair.wanted) != each_step(&pair.got);
    match differ {
        true => difference("the file is recreated for each step", "it is created once"),
        false => None,
    }
}

pub(in crate::convert::compare) fn compare_file_removal(pair: &Pair<'_>) -> Difference {
    if matches!(
        pair.wanted.target.kind,
        TargetKind::Nothing { .. } | TargetKind::Simulated { .. } | TargetKind::Tree { .. }
    ) {
        return None;
    }
    let (wanted, got) = (pair.wanted.target.at_end, pair.got.target.at_end);
    if (pair.from, wanted, got) == (Dialect::Native, TargetCleanup::Keep, TargetCleanup::KeepNamed) {
        return difference("the created file is kept", "it is removed");
    }
    let describe = |at_end: TargetCleanup| match at_end {
        TargetCleanup::KeepNamed | TargetCleanup::Keep => "it is kept",
        TargetCleanup::Remove => "it is removed at the end",
        TargetCleanup::RemoveEachPass => "it is removed after every pass",
    };
    difference_if(describe(wanted), describe(got), |words| words)
}

pub(in crate::convert::compare) fn compare_region(pair: &Pair<'_>) -> Difference {
    // If the size is unknown, compare the regions at two sizes. One percent of each is a multiple
    // of any block size, so rounding makes no difference.
    let target_sizes = known_size(pair.wanted.target).map(|size| vec![size]);
    let sizes = target_sizes.unwrap_or_else(|| vec![100 << 48, 300 << 40]);
    let areas = |region: &Region| sizes.iter().map(|size| region.resolve(*size)).collect::<Vec<_>>();
    let (wanted, got) = (&pair.wanted.stream.region, &pair.got.stream.region);
    let in_words = |Region { base, length }: &Region| {
        let length = length.map_or("everything".to_owned(), |length| format_extent(&length));
        format!("{length} from {}", format_extent(base))
    };
    match areas(wanted) == areas(got) {
        true => None,
        false => difference(in_words(wanted), in_words(got)),
    }
}

fn format_extent(extent: &Extent) -> String {
    match (extent.bytes.0, extent.percent) {
        (bytes, 0.0) => words::format_size(bytes),
        (0, percent) => format!("{percent} %"),
        (bytes, percent) => format!("{} and {percent} %", words::format_size(bytes)),
    }
}

/// Describes properties of a tree that native jobs do not have.
fn tree_details(tree: &FileTree) -> String {
    let FileTree {
        fills_all_levels,
        files_max,
        changes_directories,
        kept,
        ..
    } = tree;
    let limit = files_max.map(|files| format!("only {files} files"));
    let details = [
        fills_all_levels.then(|| "files at all levels".to_owned()),
        limit,
        changes_directories.then(|| "mkdir and rmdir on its directories".to_owned()),
        kept.map(|_| "kept between runs".to_owned()),
    ];
    { details }
        .into_iter()
        .flatten()
        .map(|detail| format!(", {detail}"))
        .collect()
}
