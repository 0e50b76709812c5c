//! Opens and checks the files of a worker, and empties or fills their caches.

use std::path::{Path, PathBuf};

use engine::{Access, File, FileKind, Identity, OpenError, OpenOptions, needs_overlapped, sys};
use model::Direction;
use model::mix::Mix;
use model::plan::{CacheMode, Effect, EngineKind, PriorityRule, Stream, StreamTarget, Worker};

use super::thread::has_own_priorities;
use super::{Assignment, ReadyKind, ReadyTarget};
use crate::setup_error::SetupError;
use crate::worker::features::priorities;

/// The files of a worker.
#[derive(Debug)]
pub(crate) struct OpenedFiles {
    /// The files of the engine.
    pub(crate) files: Vec<File>,
    /// The files of each stream.
    pub(crate) streams: Vec<OpenedStream>,
    /// Number of the target behind each file.
    pub(crate) targets: Vec<u32>,
    /// I/O priority of each file; 0 for the thread's priority.
    pub(crate) priorities: Vec<u16>,
}

/// The files of one stream.
#[derive(Clone, Debug)]
pub(crate) struct OpenedStream {
    /// The options with which they are opened.
    pub(crate) options: OpenOptions,
    /// I/O priority of their operations; 0 for the thread's priority.
    pub(crate) priority: u16,
    /// Files whose cached pages are dropped before each pass.
    pub(crate) uncached: Vec<PathBuf>,
    /// Index of each target's file. If a set has more files than may be open, only the first
    /// targets have a file.
    pub(crate) files: Vec<u16>,
    /// I/O priorities for parts of the operations, and the same files with each of them.
    pub(crate) rules: Vec<(PriorityRule, Vec<u16>)>,
}

impl OpenedStream {
    /// The first file, for callers that need not distinguish the files.
    pub(crate) fn first(&self) -> u16 {
        self.files[0]
    }
}

/// Opens the files of a worker, and prepares their caches.
pub(super) fn open(assignment: &Assignment<'_>) -> Result<OpenedFiles, SetupError> {
    let mut opened = open_files(assignment)?;
    // In fio, the first operation fails instead.
    if assignment.checks_alignment {
        for (stream, opened_stream) in assignment.worker.streams.iter().zip(&opened.streams) {
            let mut files = opened_stream.files.iter();
            files.try_for_each(|file| check_alignment(stream, &opened.files[usize::from(*file)]))?;
        }
    }
    prepare_caches(assignment, &mut opened)?;
    Ok(opened)
}

/// Opens each target once for each combination of open options and I/O priority.
fn open_files(assignment: &Assignment<'_>) -> Result<OpenedFiles, SetupError> {
    let mut opening = FileOpener {
        assignment,
        files: Vec::new(),
        opened: Vec::new(),
    };
    let own_priorities = has_own_priorities(assignment.worker);
    let mut streams = Vec::new();
    for stream in &assignment.worker.streams {
        let options = open_options(stream, assignment.worker);
        let priority = if own_priorities {
            priorities::default_priority_number(stream)
        } else {
            0
        };
        let mut opened = OpenedStream {
            options,
            priority,
            uncached: Vec::new(),
            files: Vec::new(),
            rules: Vec::new(),
        };
        if stream.replay.is_some() {
            // The trace decides when to open them.
            let file_slots = stream.target.ids().iter().map(|target| opening.reserve_slot(target.0));
            opened.files = file_slots.collect::<Result<_, _>>()?;
            streams.push(opened);
            continue;
        }
        // Slots for files that are opened and closed belong to one stream.
        let (targets, shared) = match &stream.target {
            StreamTarget::Files {
                targets, open_at_once, ..
            } if (*open_at_once as usize) < targets.len() => (&targets[..*open_at_once as usize], false),
            target => (target.ids(), true),
        };
        let mut open = |priority: u16| -> Result<Vec<u16>, SetupError> {
            let target_ids = targets
                .iter()
                .map(|target| opening.add_file(target.0, options, priority, shared));
            target_ids.collect()
        };
        opened.files = open(priority)?;
        let rules = priorities::priority_rules(stream).into_iter();
        let rules = rules.map(|rule| {
            Ok((
                rule,
                open(priorities::priority_number(rule.class, rule.level, rule.hint))?,
            ))
        });
        opened.rules = rules.collect::<Result<_, SetupError>>()?;
        streams.push(opened);
    }
    let (targets, priorities) = opening.opened.iter().map(|opened| (opened.0, opened.2)).unzip();
    let files = opening.files;
    for (stream, opened) in assignment.worker.streams.iter().zip(&streams) {
        prepare_bypass(&stream.cache, &files, opened)?;
    }
    Ok(OpenedFiles {
        files,
        streams,
        targets,
        priorities,
    })
}

/// Makes a stream's files bypass the local cache or drivers, as configured.
fn prepare_bypass(cache: &CacheMode, files: &[File], opened: &OpenedStream) -> Result<(), SetupError> {
    let opened_files = || opened.files.iter().map(|file| &files[usize::from(*file)]);
    let failed = |what: String, source| SetupError::Placement { what, source };
    if let Some(wanted) = cache.bypass_io {
        for (file, handle) in opened_files().filter_map(|file| file.handle().map(|handle| (file, handle))) {
            let what = || format!("cannot use BypassIO for reads of {}", file.path().display());
            sys::file::enable_bypass_io(handle, wanted).map_err(|source| failed(what(), source))?;
        }
    }
    if !cache.local_only {
        return Ok(());
    }
    let first = &files[usize::from(opened.first())];
    if !first.handle().is_some_and(sys::file::is_remote) {
        let path = first.path().display().to_string();
        return Err(SetupError::NotRemote { path });
    }
    for file in opened_files() {
        let what = || format!("cannot bypass the local cache of {}", file.path().display());
        let bypassed = file.handle().map_or(Ok(()), sys::file::bypass_local_cache);
        bypassed.map_err(|source| failed(what(), source))?;
    }
    Ok(())
}

/// Opens files, each only once.
struct FileOpener<'a> {
    assignment: &'a Assignment<'a>,
    files: Vec<File>,
    /// Target, options, priority, and whether several streams may share it.
    opened: Vec<(u32, OpenOptions, u16, bool)>,
}

impl FileOpener<'_> {
    fn add_file(&mut self, target: u32, options: OpenOptions, priority: u16, shared: bool) -> Result<u16, SetupError> {
        let entry = (target, options, priority, shared);
        if let Some(index) = self.opened.iter().position(|opened| shared && *opened == entry) {
            return Ok(index as u16);
        }
        let index = self.next_index()?;
        let engine = self.assignment.worker.engine.kind;
        let mut file = open_target(&self.assignment.targets[target as usize], options, engine)?;
        file.set_priority(priority).map_err(|source| SetupError::Placement {
            what: format!("cannot set the I/O priority of {}", file.path().display()),
            source,
        })?;
        self.files.push(file);
        self.opened.push(entry);
        Ok(index)
    }

    /// A slot for a file that is opened later.
    fn reserve_slot(&mut self, target: u32) -> Result<u16, SetupError> {
        let index = self.next_index()?;
        let nothing = File::placeholder(0);
        self.opened.push((target, *nothing.options(), 0, false));
        self.files.push(nothing);
        Ok(index)
    }

    fn next_index(&self) -> Result<u16, SetupError> {
        u16::try_from(self.files.len()).map_err(|_| {
            SetupError::unsupported(
                "a worker can have at most 65536 files open",
                "open fewer at the same time, or spread them over more workers",
            )
        })
    }
}

/// Opens a target, and fails if it was replaced since the guard's decision. Metadata engines get
/// the name.
pub(crate) fn open_target(ready: &ReadyTarget, options: OpenOptions, engine: EngineKind) -> Result<File, OpenError> {
    match &ready.what {
        ReadyKind::Path(path) if engine.is_metadata_engine() => Ok(File::named(path, ready.size)),
        ReadyKind::Path(path) => open_permitted(path, options, ready.identity),
        ReadyKind::Tree { path, .. } => Ok(File::named(path, ready.size)),
        ReadyKind::Nothing => Ok(File::placeholder(ready.size)),
        ReadyKind::Simulated { device } => Ok(File::simulated(*device, ready.size)),
    }
}

fn open_options(stream: &Stream, worker: &Worker) -> OpenOptions {
    let engine = worker.engine.kind;
    // Streams whose target is reopened share its file, so that it is opened and closed once.
    let shares_file = |other: &&Stream| other.reopen_every.is_some() && other.target == stream.target;
    let sharing = || worker.streams.iter().filter(shares_file).chain([stream]);
    // Verification may have to read written data.
    let reads = sharing().any(|stream| stream.mix.includes(Direction::Read)) || stream.verify.is_some();
    let access = match (reads, sharing().any(|stream| includes_writes(&stream.mix))) {
        (true, true) => Access::ReadWrite,
        // Reads of these engines change the allocation, or must fail for another reason than a
        // failed open.
        _ if matches!(engine.info().effect, Effect::Allocate | Effect::Truncate) => Access::ReadWrite,
        // The system maps only readable files.
        (false, true) if engine == EngineKind::Mmap => Access::ReadWrite,
        (false, true) => Access::Write,
        _ => Access::Read,
    };
    let mut options = OpenOptions {
        hint: stream.hint,
        overlapped: needs_overlapped(&worker.engine, worker.slots()) && stream.cache.mapping.is_none(),
        ..OpenOptions::new(access, stream.cache)
    };
    // For remote files, direct I/O bypasses only the local cache.
    options.cache.direct |= options.cache.local_only && sys::file::DIRECT_BYPASSES_LOCAL_CACHE;
    options
}

/// Empties or fills the page cache for the streams that request it.
fn prepare_caches(assignment: &Assignment<'_>, opened: &mut OpenedFiles) -> Result<(), SetupError> {
    for (stream, of_stream) in assignment.worker.streams.iter().zip(&mut opened.streams) {
        for (number, id) in stream.target.ids().iter().enumerate() {
            let reopened = match of_stream.files.get(number).filter(|_| stream.replay.is_none()) {
                Some(_) => None,
                None if stream.cache.drop_before || stream.cache.fill_before => {
                    let target = &assignment.targets[id.0 as usize];
                    Some(open_target(target, of_stream.options, assignment.worker.engine.kind)?)
                }
                None => continue,
            };
            let file = reopened
                .as_ref()
                .unwrap_or_else(|| &opened.files[usize::from(of_stream.files[number])]);
            prepare_cache(stream, file)?;
            if stream.cache.drop_before && !stream.cache.direct && sys::file::CAN_DROP_CACHE && file.handle().is_some()
            {
                of_stream.uncached.push(file.path().to_owned());
            }
        }
    }
    Ok(())
}

fn prepare_cache(stream: &Stream, file: &File) -> Result<(), SetupError> {
    let Some(handle) = file.handle() else { return Ok(()) };
    if file.kind() == FileKind::CharacterDevice {
        return Ok(());
    }
    let failed = |source| SetupError::Open(OpenError::new(file.path(), source));
    // Without a way to drop pages, write-back is not needed; for read-only files it would fail.
    if stream.cache.drop_before && sys::file::CAN_DROP_CACHE {
        handle.sync_data().map_err(failed)?;
        sys::file::drop_cache(handle);
    }
    if stream.cache.fill_before {
        let mut reader = std::fs::File::open(file.path()).map_err(failed)?;
        std::io::copy(&mut reader, &mut std::io::sink()).map_err(failed)?;
    }
    Ok(())
}

/// Opens a permitted file, and fails if it was replaced since.
fn open_permitted(path: &Path, options: OpenOptions, permitted: Option<Identity>) -> Result<File, OpenError> {
    let file = File::open(path, options)?;
    if permitted.is_some() && file.identity() != permitted {
        let error = std::io::Error::other("another file or device has replaced it since it was examined");
        return Err(OpenError::new(path, error));
    }
    Ok(file)
}

fn includes_writes(mix: &Mix) -> bool {
    mix.includes(Direction::Write) || mix.includes(Direction::Trim)
}

/// Direct I/O needs multiples of a sector. This check fails before the test instead of at the first
/// operation.
fn check_alignment(stream: &Stream, file: &File) -> Result<(), SetupError> {
    if !file.options().cache.direct {
        return Ok(());
    }
    let alignment = file.direct_alignment();
    let check = |what: &'static str, size: u64| {
        if size.is_multiple_of(alignment) {
            return Ok(());
        }
        Err(SetupError::Alignment {
            path: file.path().display().to_string(),
            what,
            size,
            alignment,
        })
    };
    for direction in stream
        .mix
        .directions()
        .filter(|direction| *direction != Direction::Trim)
    {
        check("blocks", stream.pattern.shortest_in(direction).0)?;
        check("blocks", stream.pattern.longest_in(direction).0)?;
        check("an alignment", stream.pattern.alignment[direction].0)?;
    }
    check("an offset", stream.region.base.resolve(file.size()))
}
