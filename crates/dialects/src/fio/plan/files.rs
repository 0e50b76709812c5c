//! The files and devices of a clone: names, sizes and preparation.

use std::collections::HashMap;

use model::block_size::BlockSizes;
use model::draws::{GeneratorChoice, Purpose, Reduction};
use model::plan::{
    AllocateMode, Extent, FileService, Prepare, Region, StreamTarget, Target, TargetCleanup, TargetId, TargetKind,
};
use model::{Bytes, Direction};

use super::{Lowering, Unusable};
use crate::fio::disk::{Disk, PathFacts, PathKind};
use crate::fio::draft::JobClone;
use crate::fio::lower::{data, pattern, queue};
use crate::fio::options::JobOptions;
use crate::fio::options::files::{Fallocate, FileType, ServiceType};
use crate::fio::options::pattern::Rw;
use crate::fio::options::typed::Range;
use crate::fio::options::zones::ZoneMode;
use crate::fio::values::Amount;

/// The files of a clone.
pub(super) struct Files {
    pub(super) target: StreamTarget,
    pub(super) region: Region,
}

/// The targets of the plan.
#[derive(Default)]
pub(super) struct Targets {
    pub(super) list: Vec<Target>,
    /// Index by path: every clone looks up its files.
    by_path: HashMap<String, usize>,
}

impl Targets {
    /// Adds the target of a path. A file of several jobs is prepared so that it suffices for all.
    pub(super) fn add(&mut self, new: Target) -> TargetId {
        let Some(&index) = self.by_path.get(&new.path) else {
            self.by_path.insert(new.path.clone(), self.list.len());
            self.list.push(new);
            return TargetId(self.list.len() as u32 - 1);
        };
        let existing = &mut self.list[index];
        if laid_out(&new.prepare) > laid_out(&existing.prepare) {
            existing.prepare = new.prepare;
        }
        if existing.at_end == TargetCleanup::Keep {
            existing.at_end = new.at_end;
        }
        TargetId(index as u32)
    }

    /// The size to which earlier jobs lay out a file.
    fn laid_out(&self, path: &str) -> Option<u64> {
        self.by_path
            .get(path)
            .and_then(|&index| laid_out(&self.list[index].prepare))
    }
}

fn laid_out(prepare: &Prepare) -> Option<u64> {
    match prepare {
        Prepare::LayOut { size, .. } => Some(size.0),
        _ => None,
    }
}

/// The size of a clone's file, and the area in it.
struct Extents {
    /// The start of the area.
    base: Extent,
    /// The size of the file; absent if the existing size is kept.
    file: Option<u64>,
    /// The length of the area; absent: to the end.
    length: Option<Extent>,
}

impl Lowering<'_> {
    pub(super) fn lower_files(&mut self, clone: JobClone<'_>, place: (usize, usize)) -> Files {
        let options = &clone.job.options;
        let mut names = file_names(clone, self.env);
        let position_of = |name: &str| clone.job.given.iter().position(|(option, _)| option == name);
        if let Some(folder) = &options.files.opendir {
            match self.env.disk.list_files_below(folder) {
                Ok(globbed) if options.files.filename.is_empty() => names = globbed,
                // In the order of the options.
                Ok(globbed) if position_of("opendir") < position_of("filename") => names = [globbed, names].concat(),
                Ok(globbed) => names.extend(globbed),
                Err(why) => self.push_error(format!("fio: opendir: cannot read '{folder}': {why}")),
            }
            if names.is_empty() {
                self.push_error(format!("fio: opendir: no file exists below '{folder}'"));
                names.push(folder.clone());
            }
        }
        let range = options.files.filesize;
        if range.low > range.high {
            let (low, high) = (Bytes(range.low), Bytes(range.high));
            self.push_error(format!(
                "fio: filesize: the range from {low} to {high} ends before it begins"
            ));
        }
        if range.high > i64::MAX as u64 {
            self.push_error("fio: filesize: the size exceeds the maximum file size, or is a percentage");
        }
        let base = self.base_at_setup(options, clone_start(clone, &names, self.env.disk), &names);
        let mut ids = Vec::new();
        let mut length = None;
        self.area = Some(0);
        for (number, name) in names.iter().enumerate() {
            let facts = self.env.disk.find(name);
            self.check_kind(options, name, facts);
            let extents = extents(clone, number, names.len(), base, facts);
            length = extents.length;
            self.area = self
                .area
                .zip(extents.length)
                .map(|(sum, file)| sum.saturating_add(file.bytes.0));
            let prepare = self.prepare(clone, place, &extents, (name, facts));
            ids.push(self.targets.add(Target {
                path: name.clone(),
                kind: kind(options, &extents),
                prepare,
                at_end: match (options.files.unlink, options.files.unlink_each_loop) {
                    (_, true) => TargetCleanup::RemoveEachPass,
                    (true, false) => TargetCleanup::Remove,
                    (false, false) => TargetCleanup::Keep,
                },
            }));
        }
        if self.area.is_some_and(|sum| sum > i64::MAX as u64) && range.high <= i64::MAX as u64 {
            self.push_error("fio: filesize: all files together exceed 8 EiB");
        }
        // If sizes differ, the area extends to the end of each file.
        let uneven = names.len() > 1 && !have_equal_sizes(options, names.len());
        Files {
            target: target(options, ids),
            region: Region {
                // Repeating an operation on a name would have no effect.
                base: if is_name_engine(options) {
                    Extent::default()
                } else {
                    base
                },
                length: length.filter(|_| !uneven),
            },
        }
    }

    /// The start of a clone in files that it may extend. A percentage is of the size before the
    /// extension. If sizes differ, the percentage is kept.
    fn base_at_setup(&self, options: &JobOptions, base: Extent, names: &[String]) -> Extent {
        if base.percent == 0.0 || !has_size(options) {
            return base;
        }
        let mut sizes = names.iter().map(|name| {
            let size = match self.env.disk.find(name) {
                Some(facts) => (facts.kind == PathKind::File).then_some(facts.size),
                None => self.env.disk.is_complete().then_some(0),
            }?;
            Some(self.targets.laid_out(name).unwrap_or(0).max(size))
        });
        match sizes.next().flatten() {
            Some(first) if sizes.all(|size| size == Some(first)) => Extent::bytes(base.resolve(first)),
            _ => base,
        }
    }

    /// Rejects a file that `filetype` excludes.
    fn check_kind(&mut self, options: &JobOptions, name: &str, facts: Option<PathFacts>) {
        let is_device = |facts: PathFacts| matches!(facts.kind, PathKind::Device | PathKind::CharacterDevice);
        if is_name_engine(options) && facts.is_some_and(is_device) {
            self.push_error("fio: only files are supported");
        }
        let kind = facts.map_or(PathKind::File, |facts| facts.kind);
        if options.zones.zonemode == ZoneMode::Zoned && kind == PathKind::Device && self.env.disk.is_zoned(name) {
            let why = format!(
                "fio: zonemode=zbd on the zoned device {name} is not supported by this program: the \
                job defines the zones, on a file or a regular device"
            );
            self.push_error(why);
        }
        let (fits, kind_name) = match options.files.filetype {
            FileType::None => return,
            FileType::File => (kind == PathKind::File, "regular file"),
            FileType::Block => (kind == PathKind::Device, "block device"),
            FileType::Character => (kind == PathKind::CharacterDevice, "character device"),
        };
        if !fits {
            self.push_error(format!("fio: filetype: {name} is not a {kind_name}"));
        }
    }

    fn prepare(
        &mut self,
        clone: JobClone<'_>,
        place: (usize, usize),
        extents: &Extents,
        (name, facts): (&str, Option<PathFacts>),
    ) -> Prepare {
        let options = &clone.job.options;
        let has_size = |facts: PathFacts| matches!(facts.kind, PathKind::File | PathKind::CharacterDevice);
        let sized = extents.file.is_some() || extents.length.is_some();
        if is_diskless(options) && sized || facts.is_some_and(|facts| !has_size(facts)) {
            return Prepare::Existing;
        }
        if let Some((line, errno, function)) = self.find_open_error(name, facts, extents.file.unwrap_or(0)) {
            self.unusable
                .push(Unusable::new(clone, place, line, (errno, &function)));
            return Prepare::Existing;
        }
        let trims = matches!(
            options.pattern.rw,
            Rw::Trim | Rw::RandTrim | Rw::TrimWrite | Rw::RandTrimWrite
        );
        if trims && self.is_untrimmable(options, facts) {
            self.unusable.push(trim_error(clone, place));
            return Prepare::Existing;
        }
        if let Some(line) = self.find_zone_error(options, name, facts) {
            let error = (22, "zbd_create_zone_info() failed");
            self.unusable.push(Unusable::new(clone, place, line, error));
            return Prepare::Existing;
        }
        let no_room = no_room_line(clone, extents.base);
        let Some(size) = extents.file.filter(|_| no_room.is_none()) else {
            let offset = extents.base.resolve(facts.map_or(0, |facts| facts.size));
            let needs = |what: &str| format!("{}: you need to specify {what}", clone.job.name());
            let (line, function) = match (no_room, facts) {
                (Some(line), _) => (line, ""),
                (None, Some(facts)) if facts.size > 0 && offset >= facts.size => (needs("valid offset="), ""),
                (None, Some(facts)) if facts.size > 0 => return Prepare::Existing,
                (None, _) => (needs("size="), "total_file_size"),
            };
            // fio reports the first error of a job, which is an earlier one.
            let (errno, function) = match clone.job.include_missing {
                true => (2, "job file open"),
                false => (22, function),
            };
            self.unusable.push(Unusable::new(clone, place, line, (errno, function)));
            return Prepare::Existing;
        };
        let writes_only = matches!(options.pattern.rw, Rw::Write | Rw::RandWrite);
        let filled = !writes_only || options.files.overwrite;
        let content = data::content(options, self.env.disk, &mut self.errors);
        Prepare::LayOut {
            size: Bytes(size),
            allocate: match options.files.fallocate {
                // Allocation would fill the file system before the first write.
                _ if options.files.fill_device => AllocateMode::None,
                Fallocate::None => AllocateMode::None,
                Fallocate::Native => AllocateMode::Native,
                Fallocate::Posix => AllocateMode::Posix,
                Fallocate::Keep => AllocateMode::KeepSize,
                Fallocate::Truncate => AllocateMode::Truncate,
            },
            content: filled.then(|| data::laid_out(content)),
            block: longest(options),
            extend: options.files.file_append,
            flush: options.files.create_fsync,
            on_open: options.files.create_on_open,
            may_create: options.files.allow_file_create,
        }
    }
}

impl Lowering<'_> {
    /// The error with which fio fails before it changes a file: line, error number and function.
    fn find_open_error(&self, name: &str, facts: Option<PathFacts>, size: u64) -> Option<(&'static str, i32, String)> {
        if self.jobs.flags.readonly && is_file(facts) && facts.is_none_or(|facts| facts.size < size) {
            let line = "fio: refusing extend of file due to read-only";
            return Some(match facts {
                Some(_) => (line, 30, String::new()),
                None => (line, 2, format!("open({name})")),
            });
        }
        None
    }

    /// The error line for a file without a whole zone; fio sets up zones in existing files only.
    fn find_zone_error(&self, options: &JobOptions, name: &str, facts: Option<PathFacts>) -> Option<String> {
        let (zones, is_known) = (&options.zones, facts.is_some() || self.env.disk.is_complete());
        let size = facts
            .map_or(0, |facts| facts.size)
            .max(self.targets.laid_out(name).unwrap_or(0));
        let is_smaller = zones.zonemode == ZoneMode::Zoned && is_known && size < zones.zonesize;
        is_smaller.then(|| {
            format!(
                "{name}: file/device size {size} is smaller than zone size {}",
                zones.zonesize
            )
        })
    }

    /// Whether this is a file in which the engine cannot trim. The kernel discards only blocks of
    /// devices; the engine `falloc` punches holes in files.
    pub(super) fn is_untrimmable(&self, options: &JobOptions, facts: Option<PathFacts>) -> bool {
        let is_known = facts.is_some() || self.env.disk.is_complete();
        is_file(facts) && is_known && options.queue.ioengine != "falloc"
    }
}

/// A clone that would trim a file.
pub(super) fn trim_error(clone: JobClone<'_>, place: (usize, usize)) -> Unusable {
    let line = "fio: a trim needs a device; use ioengine=falloc to punch holes in a file";
    Unusable::new(clone, place, line, (25, "td_io_queue"))
}

/// Whether the path is a file, or becomes one.
fn is_file(facts: Option<PathFacts>) -> bool {
    facts.is_none_or(|facts| facts.kind == PathKind::File)
}

/// Whether the engine does not touch files.
pub(super) fn is_diskless(options: &JobOptions) -> bool {
    matches!(
        options.queue.ioengine.as_str(),
        "null" | "cpuio" | "exec" | "filecreate" | "dircreate" | "dirstat" | "dirdelete"
    )
}

/// Whether the engine operates on names.
fn is_name_engine(options: &JobOptions) -> bool {
    queue::kind(options).is_metadata_engine()
}

/// The maximum number of names that an engine handles at a time.
const MAX_NAMES: usize = 1024;

/// The nominal size of a target without a size of its own.
pub(super) const NOMINAL_SIZE: u64 = 1 << 40;

fn kind(options: &JobOptions, extents: &Extents) -> TargetKind {
    let size = || Bytes(extents.file.unwrap_or_else(|| pattern::shortest_block(options)));
    let directory = match options.queue.ioengine.as_str() {
        "filecreate" | "dircreate" => Some(false),
        "dirstat" | "dirdelete" => Some(true),
        _ => None,
    };
    if let Some(directory) = directory {
        return TargetKind::Name {
            size: size(),
            directory,
        };
    }
    match is_diskless(options) {
        true => TargetKind::Nothing {
            size: Bytes(extents.file.unwrap_or(NOMINAL_SIZE)),
        },
        false => TargetKind::Path,
    }
}

fn longest(options: &JobOptions) -> u32 {
    let sizes = pattern::sizes(options);
    let ranges = Direction::ALL.into_iter().map(|direction| match &sizes[direction] {
        BlockSizes::Fixed { size } => size.0,
        other => other.max().0,
    });
    ranges.max().unwrap_or(4096).min(1 << 30) as u32
}

fn target(options: &JobOptions, ids: Vec<TargetId>) -> StreamTarget {
    if let [target] = ids[..] {
        return StreamTarget::One { target };
    }
    let files = &options.files;
    let parameter = files.file_service_count;
    StreamTarget::Files {
        open_at_once: match files.openfiles {
            // Names need no open files, so only the names in use at a time are limited.
            _ if is_name_engine(options) => ids.len().min(MAX_NAMES) as u32,
            0 => ids.len() as u32,
            max => max.clamp(1, ids.len() as i64) as u32,
        },
        service: match files.file_service_type {
            ServiceType::Random => FileService::Random,
            ServiceType::RoundRobin => FileService::RoundRobin,
            ServiceType::Sequential => FileService::Sequential,
            ServiceType::Zipf => FileService::Zipf {
                theta: parameter.unwrap_or(1.1),
            },
            ServiceType::Pareto => FileService::Pareto {
                h: parameter.unwrap_or(0.2),
            },
            ServiceType::Normal => FileService::Normal {
                deviation_percent: parameter.unwrap_or(10.0),
            },
        },
        operations: match files.file_service_type {
            ServiceType::Random | ServiceType::RoundRobin | ServiceType::Sequential => {
                parameter.map_or(1, |operations| (operations as u64).max(1))
            }
            ServiceType::Zipf | ServiceType::Pareto | ServiceType::Normal => 1,
        },
        targets: ids,
    }
}

/// The start of a clone in each of its files.
fn clone_start(clone: JobClone<'_>, names: &[String], disk: &dyn Disk) -> Extent {
    let pattern = &clone.job.options.pattern;
    if clone.job.options.files.file_append {
        let size = names
            .first()
            .and_then(|name| disk.find(name))
            .map_or(0, |facts| facts.size);
        return Extent::bytes(size);
    }
    let mut base = Extent::default();
    let mut add = |amount: Option<Amount>, times: u64| match amount {
        Some(Amount::Bytes(bytes)) => base.bytes.0 = base.bytes.0.saturating_add(bytes.saturating_mul(times)),
        Some(Amount::Percent(percent)) => base.percent += percent as f64 * times as f64,
        Some(Amount::Zones(_)) | None => {}
    };
    add(pattern.offset, 1);
    let on_files = names.iter().all(|name| is_file(disk.find(name)));
    add(pattern.offset_increment, offset_increment_count(clone, on_files));
    if base.percent > 0.0 {
        base.align = match pattern.offset_align {
            0 => pattern::shortest_block(&clone.job.options),
            align => align.unsigned_abs(),
        };
        base.round_up = true;
    }
    base
}

/// How many times a clone adds `offset_increment`. fio creates the clones after the first in
/// descending order. This matters if a clone extends a file of which the next one uses a
/// percentage.
fn offset_increment_count(clone: JobClone<'_>, on_files: bool) -> u64 {
    let options = &clone.job.options;
    let clones = options.job.numjobs.max(1) as u64;
    match (clone.index, options.pattern.offset_increment) {
        (1.., Some(Amount::Percent(_))) if on_files && has_size(options) => clones - u64::from(clone.index),
        (index, _) => u64::from(index),
    }
}

/// Whether the job sets the size of its files.
fn has_size(options: &JobOptions) -> bool {
    matches!(options.pattern.size, Some(Amount::Bytes(1..))) || options.files.filesize.high > 0
}

/// The error line of fio 3.33 if the offset leaves no room for a block within `filesize`.
fn no_room_line(clone: JobClone<'_>, base: Extent) -> Option<String> {
    let options = &clone.job.options;
    let Range { low, high } = options.files.filesize;
    let offset = base.bytes.0;
    let is_known = low == high && high > 0 && offset > 0 && base.percent == 0.0 && !options.files.file_append;
    match is_known && offset.saturating_add(pattern::shortest_block(options)) > high {
        true if offset > high => Some(format!("{}: you need to specify valid offset=", clone.job.name())),
        true => Some("fio: blocksize is larger than data set range".into()),
        false => None,
    }
}

/// The number of files that get one block more, from the remainder of the division.
fn files_with_extra_block(options: &JobOptions, count: usize) -> u64 {
    match options.pattern.size {
        Some(Amount::Bytes(size)) => size % count as u64 / pattern::shortest_block(options),
        _ => 0,
    }
}

/// Whether all files of a clone have the same size.
fn have_equal_sizes(options: &JobOptions, count: usize) -> bool {
    let range = options.files.filesize;
    range.low == range.high && (range.high > 0 || files_with_extra_block(options, count) == 0)
}

fn extents(clone: JobClone<'_>, number: usize, count: usize, base: Extent, facts: Option<PathFacts>) -> Extents {
    let options = &clone.job.options;
    let (pattern, range) = (&options.pattern, options.files.filesize);
    let block = pattern::shortest_block(options);
    if range.high > 0 {
        let size = match range.low >= range.high {
            true => range.high,
            false => draw_size(clone.draws, number, range, block),
        };
        let room = size.saturating_sub(base.bytes.0);
        let area = match pattern.size {
            Some(Amount::Percent(percent)) if percent < 100 => {
                let file_bytes = (u128::from(size) * u128::from(percent) / 100) as u64;
                room.min(file_bytes - file_bytes % block)
            }
            _ => room,
        };
        // A percentage of the size does not extend the file.
        let file = if area < room { base.bytes.0 + area } else { size };
        return Extents {
            base,
            file: Some(file).filter(|size| *size > 0),
            length: Some(Extent::bytes(area)),
        };
    }
    if is_file(facts) && fills_without_size(options) {
        return Extents {
            base,
            file: Some(MAX_FILL_SIZE),
            length: Some(Extent::bytes(MAX_FILL_SIZE.saturating_sub(base.bytes.0))),
        };
    }
    match pattern.size {
        Some(Amount::Bytes(size)) if size > 0 => {
            let extra_block = if (number as u64) < files_with_extra_block(options, count) {
                block
            } else {
                0
            };
            let size = (size / count as u64).saturating_add(extra_block);
            Extents {
                base,
                file: Some(base.bytes.0.saturating_add(size)),
                length: Some(Extent::bytes(size)),
            }
        }
        Some(Amount::Percent(percent)) => Extents {
            base,
            file: None,
            length: Some(Extent {
                percent: percent as f64,
                align: block,
                ..Extent::default()
            }),
        },
        _ => Extents {
            base,
            file: match facts.map_or(0, |facts| facts.size) {
                _ if is_name_engine(options) && is_diskless(options) => Some(block),
                // Engines without I/O need no size.
                0 if is_diskless(options) && options.queue.ioengine != "null" => Some(NOMINAL_SIZE),
                0 => None,
                size => is_diskless(options).then_some(size),
            },
            length: None,
        },
    }
}

/// The size of a file that a job without a size writes until no space is left. File systems have a
/// maximum size of files: ext4 has 16 TiB.
const MAX_FILL_SIZE: u64 = 1 << 43;

/// Whether only the end of the space ends the writes to a file.
fn fills_without_size(options: &JobOptions) -> bool {
    let is_sized = !matches!(
        options.pattern.size,
        None | Some(Amount::Bytes(0) | Amount::Percent(100))
    );
    let writes_only = matches!(options.pattern.rw, Rw::Write | Rw::RandWrite);
    options.files.fill_device && writes_only && !is_sized && !is_diskless(options)
}

/// The size that fio draws for this file of this clone, in whole blocks. A range that begins within
/// the first block can yield 0: like in fio, the file then has no size.
fn draw_size(form: GeneratorChoice, number: usize, range: Range, block: u64) -> u64 {
    let mut draws = form.start();
    let mut size = range.low;
    for _ in 0..=number {
        size = range.low + draws.next_below(Purpose::FileSize, range.high - range.low, Reduction::MultiplyHigh32);
    }
    size - size % block
}

/// The default format of generated names.
const DEFAULT_NAMES: &str = "$jobname.$jobnum.$filenum";
/// The default for clients, whose hosts may share a file system.
const NAMES_OF_CLIENTS: &str = "$clientuid.$jobname.$jobnum.$filenum";

/// The paths of a clone, in order.
fn file_names(clone: JobClone<'_>, env: super::LowerEnv<'_>) -> Vec<String> {
    let disk = env.disk;
    let files = &clone.job.options.files;
    if !files.filename.is_empty() {
        return files.filename.clone();
    }
    let section = &clone.job.section;
    let count = files.nrfiles.max(1) as u32;
    if count == 1
        && disk
            .find(section)
            .is_some_and(|facts| matches!(facts.kind, PathKind::Device | PathKind::CharacterDevice))
    {
        return vec![section.clone()];
    }
    let directory = match files.directory.len() {
        0 => None,
        several => Some(files.directory[clone.index as usize % several].as_str()),
    };
    let format = match files.filename_format.as_deref().unwrap_or(DEFAULT_NAMES) {
        DEFAULT_NAMES if env.client.is_some() && files.unique_filename => NAMES_OF_CLIENTS,
        format => format,
    };
    let client = env.client.unwrap_or("localhost");
    let name = |file: u32| join_path(directory, &expand_format(format, section, (clone.index, file), client));
    (0..count).map(name).collect()
}

/// Joins a directory and a name.
pub(in crate::fio) fn join_path(directory: Option<&str>, name: &str) -> String {
    match directory {
        Some(directory) => format!("{directory}/{name}"),
        None => name.to_owned(),
    }
}

/// Replaces the keywords of a name format, in any case.
fn expand_format(format: &str, section: &str, (clone, file): (u32, u32), client: &str) -> String {
    let keywords = [
        ("$jobname", section.to_owned()),
        ("$jobnum", clone.to_string()),
        ("$filenum", file.to_string()),
        // A socket path cannot be part of a file name.
        ("$clientuid", client.replace(['/', '\\'], "_")),
    ];
    let mut name = String::new();
    let mut rest = format;
    while let Some(first) = rest.chars().next() {
        let keyword = keywords.iter().find(|(keyword, _)| {
            rest.get(..keyword.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(keyword))
        });
        let length = match keyword {
            Some((keyword, value)) => {
                name.push_str(value);
                keyword.len()
            }
            None => {
                name.push(first);
                first.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    name
}
