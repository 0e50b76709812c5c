//! Refuses runs on files with settings that cannot be honoured.

use model::plan::FileOperationKind;

use super::definitions::Transfer;
use super::file_runs::{FileLoad, FileRun, operation};
use super::runs::Run;
use crate::Diagnostic;

/// Refuses `mkdir` and `rmdir` on a tree of several hosts, unless they can be divided: a host does
/// not know the directories that others create, or the files in its own.
fn refuse_shared_directories(run: &Run, files: &FileRun, loads: &[FileLoad<'_>]) -> Result<(), Diagnostic> {
    let is_divisible = |load: &FileLoad<'_>| {
        let mut on_tree = loads.iter().filter(|other| other.fsd.name == load.fsd.name);
        load.fsd.depth == 1 && on_tree.all(|other| other.kind().is_on_directory())
    };
    let is_shared =
        |load: &&FileLoad<'_>| load.kind().is_on_directory() && load.part(files.makes).is_some() && !is_divisible(load);
    if let Some(load) = loads.iter().find(is_shared) {
        return Err(run.unsupported(
            &format!(
                "`operation={}` on fsd={}, which several hosts share",
                load.name(),
                load.fsd.name
            ),
            "use `depth=1` and a run of its own, set a single `host=` in the FWD, or define an FSD for each host: \
             `fsd=fsd_$host,anchor=/dir/$host`, `fwd=fwd_$host,fsd=fsd_$host,host=$host`",
        ));
    }
    Ok(())
}

pub(super) fn refuse_files(run: &Run, files: &FileRun) -> Result<(), Diagnostic> {
    let loads = files.loads();
    refuse_shared_directories(run, files, &loads)?;
    if let Some((what, fwd)) = files
        .fwds
        .iter()
        .find_map(|(fwd, _)| Some((fwd.refusal.as_ref()?, &fwd.name)))
    {
        return Err(run.unsupported(
            &format!("{what} of fwd={fwd}"),
            "`fileio=` can be `sequential`, `random`, `(random,shared)` with `fileselect=sequential`, and \
             `(sequential,delete)`; `fileselect=` can be `sequential`, `random`, `(poisson,midpoint)` and `once`",
        ));
    }
    let transfers_nothing = |load: &&FileLoad<'_>| {
        let kinds = load.requested();
        let has_transfers = [FileOperationKind::ReadBlock, FileOperationKind::WriteBlock]
            .iter()
            .any(|kind| kinds.contains(kind));
        files.makes.is_none() && has_transfers && load.fsd.sizes.iter().all(|(size, _)| *size == 0)
    };
    if let Some(load) = loads.iter().find(transfers_nothing) {
        return Err(run.unsupported(
            &format!("reads or writes of the empty files of fsd={}", load.fsd.name),
            "set `sizes=`, or use `operation=open`: a rate counts blocks, and an empty file has none",
        ));
    }
    let is_multiple = |load: &FileLoad<'_>, unit: u64| match &load.fwd.xfersize {
        Transfer::One(size) => size.is_multiple_of(unit),
        Transfer::Shares(shares) => shares.iter().all(|(size, _)| size.is_multiple_of(unit)),
        Transfer::Steps(..) => false,
    };
    if let Some(dedup) = run.dedup
        && !loads.iter().all(|load| is_multiple(load, dedup.unit))
    {
        return Err(run.unsupported(
            "transfers that are not multiples of `dedupunit=`",
            "set `dedupunit=` to a size that divides every `xfersize=`, also the 128k of `fwd=format`",
        ));
    }
    let is_odd = |load: &FileLoad<'_>| {
        let sizes = load.fsd.sizes.iter().map(|(size, _)| *size);
        let transfer = match load.fwd.xfersize {
            Transfer::One(size) => size,
            _ => 512,
        };
        load.is_direct(run) && { sizes }.chain([transfer]).any(|size| !size.is_multiple_of(512))
    };
    if loads.iter().any(is_odd) {
        return Err(run.unsupported(
            "`openflags=o_direct` with sizes that are not multiples of 512 bytes",
            "change `sizes=` or `xfersize=`, or leave the flag out",
        ));
    }
    let transfers = [operation("read"), operation("write")];
    let is_replaced =
        files.operations.len() < 2 && files.operations.iter().all(|operation| transfers.contains(operation));
    if files.fwds.iter().any(|(fwd, _)| fwd.rdpct.is_some()) && !is_replaced {
        return Err(run.unsupported("`operations=` with FWDs that have `rdpct=`", "remove one of them"));
    }
    Ok(())
}
