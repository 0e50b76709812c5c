//! Data validation: manages the maps of key blocks, and reports mismatches of the runs.

use std::fs;
use std::io;
use std::path::Path;

use ::run::KeyMapFile;
use ::run::targets::kept_file_path;
use dialects::vdbench::{Fsd, Parameters, Run, Sd, TreeFormat, Validation, VdbenchEnv, lower, recovery_plan};
use model::mismatch::{BlockFault, HeaderField, Mismatch};
use model::plan::TreeKeyBlocks;
use model::results::{JobResults, Results, WorkerResults};

use super::output::time;
use super::{Drive, Failure};
use report::formats::vdbench::group_digits;

/// Vdbench's error number for corrupted data.
const MISMATCH: u32 = 60003;

/// An SD or FSD that has a map.
#[derive(Clone, Copy)]
struct MappedStorage<'a> {
    storage: Storage<'a>,
    map: &'a Path,
    /// Bytes of its key blocks.
    length: u64,
}

#[derive(Clone, Copy)]
enum Storage<'a> {
    Sd(&'a Sd),
    Fsd(&'a Fsd),
}

/// The SDs and FSDs that have known blocks after a restart.
#[derive(Default)]
pub(super) struct KnownStorage {
    sds: Vec<Sd>,
    fsds: Vec<Fsd>,
}

impl KnownStorage {
    /// Creates the runs that read all known blocks.
    pub(super) fn recovery_runs(&self, parameters: &Parameters) -> Vec<Run> {
        let on_sds = (!self.sds.is_empty()).then(|| Run::recovery(&self.sds));
        let on_fsds = (!self.fsds.is_empty()).then(|| Run::tree_recovery(&self.fsds, parameters));
        on_sds.into_iter().chain(on_fsds).collect()
    }
}

impl<'a> Storage<'a> {
    fn name(self) -> &'a str {
        match self {
            Storage::Sd(sd) => &sd.name,
            Storage::Fsd(fsd) => &fsd.name,
        }
    }

    /// Returns its keyword and name.
    fn title(self) -> String {
        let keyword = match self {
            Storage::Sd(_) => "sd",
            Storage::Fsd(_) => "fsd",
        };
        format!("{keyword}={}", self.name())
    }
}

/// Returns the SDs and FSDs that have a map.
fn mapped_storage<'a>(parameters: &'a Parameters, validation: &'a Validation) -> Vec<MappedStorage<'a>> {
    let sds = parameters.sds.iter().map(Storage::Sd);
    let fsds = parameters.fsds.iter().map(Storage::Fsd);
    let with_map = |storage: Storage<'a>| {
        let (map, length) = validation.maps.get(storage.name())?;
        Some(MappedStorage {
            storage,
            map: Path::new(map),
            length: *length,
        })
    };
    sds.chain(fsds).filter_map(with_map).collect()
}

/// A file of a tree that is missing or lacks some of its known blocks.
struct ShortFile {
    number: u32,
    path: String,
    present: u64,
    known_end: u64,
}

impl ShortFile {
    fn failure(&self, fsd: &Fsd) -> Failure {
        let (path, present, known_end) = (&self.path, self.present, self.known_end);
        let text = format!(
            "Data Validation error for fsd={},file={path}: it has {present} bytes, but blocks up to byte {known_end} \
             were written",
            fsd.name
        );
        Failure::with_help(text, "the file lost data, or another program changed it")
    }
}

/// Finds files with known blocks that are too short. The minimum length of a file is `end(file, end
/// of its known blocks)`.
fn find_short_files(
    fsd: &Fsd,
    map: &Path,
    blocks: &TreeKeyBlocks,
    end: impl Fn(u32, u64) -> u64,
) -> io::Result<Vec<ShortFile>> {
    let known_ends = KeyMapFile::known_ends(map, blocks)?;
    let short = known_ends.into_iter().filter_map(|(number, known_end)| {
        let path = kept_file_path(Path::new(&fsd.anchor), blocks.tree(), number);
        let present = fs::symlink_metadata(&path).map_or(0, |metadata| metadata.len());
        (present < end(number, known_end)).then(|| ShortFile {
            number,
            path: path.display().to_string(),
            present,
            known_end,
        })
    });
    Ok(short.collect())
}

impl Drive<'_> {
    /// Determines the SDs and FSDs to validate, and the paths of their maps.
    pub(super) fn place_maps(&self, runs: &[Run], parameters: &mut Parameters) -> Result<(), Failure> {
        if let Some(mut validation) = parameters.validation.take() {
            validation.place_maps(runs, parameters, &self.output.folder, &self.env)?;
            parameters.validation = Some(validation);
        }
        Ok(())
    }

    /// Creates the maps, or restores an earlier run's. Returns the storage to read first.
    pub(super) fn open_maps(&mut self, parameters: &Parameters) -> Result<KnownStorage, Failure> {
        let mut to_read = KnownStorage::default();
        let Some(validation) = &parameters.validation else {
            return Ok(to_read);
        };
        let journal = validation.journal.unwrap_or_default();
        for mapped in mapped_storage(parameters, validation) {
            if journal.recover {
                let lock = KeyMapFile::lock(mapped.map).map_err(|error| cannot_recover(&mapped, &error))?;
                self.map_locks.push(lock);
                let known_end = self.restore_map(&mapped, parameters)?;
                match mapped.storage {
                    _ if known_end == 0 => {}
                    Storage::Sd(sd) => to_read.sds.push(Sd {
                        size: Some(known_end),
                        ..sd.clone()
                    }),
                    Storage::Fsd(fsd) => to_read.fsds.push(fsd.clone()),
                }
                continue;
            }
            let ratio = parameters.general.compratio;
            let created = match mapped.storage {
                Storage::Sd(sd) => {
                    KeyMapFile::create(mapped.map, mapped.length, self.block_count(sd, mapped.length), ratio)
                }
                Storage::Fsd(fsd) => {
                    let blocks = TreeKeyBlocks::new(&fsd.tree(), mapped.length);
                    KeyMapFile::create_for_tree(mapped.map, Path::new(&fsd.anchor), &blocks, ratio)
                }
            };
            self.map_locks
                .push(created.map_err(|error| cannot_create(mapped.map, &error))?);
        }
        Ok(match journal.skip_reads {
            true => KnownStorage::default(),
            false => to_read,
        })
    }

    fn block_count(&self, sd: &Sd, length: u64) -> u64 {
        let size = sd.size.or_else(|| self.env.read_size(&sd.lun)).unwrap_or(0);
        size.div_ceil(length)
    }

    /// Restores the map of an earlier run. Returns the end of the last known block.
    fn restore_map(&mut self, mapped: &MappedStorage<'_>, parameters: &Parameters) -> Result<u64, Failure> {
        let (name, file, map) = (mapped.storage.name(), mapped.map.display(), mapped.map);
        self.print_slave_line(&format!("Starting journal recovery for {name}"));
        let title = mapped.storage.title();
        let fail = |what: String, help: &str| Failure::with_help(format!("cannot recover {title}: {what}"), help);
        let journal = parameters.validation.as_ref().and_then(|validation| validation.journal);
        let journal = journal.unwrap_or_default();
        let map_file = KeyMapFile::read(map).map_err(|error| cannot_recover(mapped, &error))?;
        if map_file.length != mapped.length {
            let help = "use the transfer sizes of the run that wrote the journal, or start again with `-j`";
            let message = format!(
                "key blocks of {file} have {} bytes, those of these runs {}",
                map_file.length, mapped.length
            );
            return Err(fail(message, help));
        }
        if !map_file.complete {
            let message =
                format!("the run that wrote {file} did not end, and `-jm` writes the journal only at the end");
            let help = "start again with `-j`, which updates the journal at each write";
            return Err(fail(message, help));
        }
        // A killed run may leave a block with sectors of two writes, so the block is compared with
        // both.
        if journal.skip_reads && !journal.ignore_pending && map_file.compratio != parameters.general.compratio {
            let message = format!(
                "`-js` uses compratio={}, but the journal was written with compratio={}",
                parameters.general.compratio, map_file.compratio
            );
            return Err(fail(
                message,
                "omit `s`, add `i`, or set the `compratio=` of the earlier run",
            ));
        }
        if self.compratio_before.is_some_and(|ratio| ratio != map_file.compratio) {
            let message = "the journals of its SDs were written with different `compratio=`";
            return Err(fail(
                message.into(),
                "recover each SD separately, with its own parameter file",
            ));
        }
        self.compratio_before = Some(map_file.compratio);
        self.check_sizes(mapped, &map_file)
            .map_err(|(what, help)| fail(what, help))?;
        let forgotten = match journal.ignore_pending {
            true => KeyMapFile::forget_pending(map),
            false => Ok(()),
        };
        let extended = forgotten.and_then(|()| match mapped.storage {
            Storage::Sd(sd) => KeyMapFile::extend(map, self.block_count(sd, mapped.length)),
            Storage::Fsd(_) => Ok(()),
        });
        let restored_file = extended
            .and_then(|()| KeyMapFile::read(map))
            .map_err(|error| cannot_recover(mapped, &error))?;
        let restored = format!(
            "Data Validation map restored for {}. Map contains {:>16} known blocks.",
            map.file_name().unwrap_or_default().to_string_lossy(),
            group_digits(restored_file.known)
        );
        self.output.write(
            "errorlog",
            &format!("{} {}-0: {restored}", time(), self.style.host(None)),
        );
        self.print_slave_line(&format!(
            "Completed journal recovery for {name}. Starting data validation."
        ));
        Ok(restored_file.known_end)
    }

    /// Checks that an SD, or each file of an FSD, still has all known blocks. Fails with the cause
    /// and help.
    fn check_sizes(&self, mapped: &MappedStorage<'_>, map_file: &KeyMapFile) -> Result<(), (String, &'static str)> {
        let missing = |what: String, present: u64, known_end: u64| {
            let what = format!("{what} has {present} bytes, but its journal contains blocks up to byte {known_end}");
            let help = "restore the missing part and recover again, or start again with `-j`";
            Err((what, help))
        };
        let fsd = match mapped.storage {
            Storage::Sd(sd) => {
                let present = self.env.read_size(&sd.lun).unwrap_or(0);
                return match map_file.known_end > present {
                    true => missing(format!("lun={}", sd.lun), present, map_file.known_end),
                    false => Ok(()),
                };
            }
            Storage::Fsd(fsd) => fsd,
        };
        let blocks = TreeKeyBlocks::new(&fsd.tree(), mapped.length);
        if !map_file.belongs_to_tree(Path::new(&fsd.anchor), blocks.tree()) {
            let help = "use the `anchor=`, `depth=`, `width=`, `files=`, `sizes=`, `totalsize=` and `distribution=` of the run \
                        that wrote it, or start again with `-j`";
            return Err((format!("{} is the journal of another tree", mapped.map.display()), help));
        }
        match find_short_files(fsd, mapped.map, &blocks, |_, known_end| known_end) {
            Err(error) => Err((
                format!("cannot read {}: {error}", mapped.map.display()),
                "make it readable",
            )),
            Ok(short) => match short.first() {
                Some(short) => missing(short.path.clone(), short.present, short.known_end),
                None => Ok(()),
            },
        }
    }

    /// Forgets the blocks of files that a format will remove. Before other runs on trees, checks
    /// that each file still has all known blocks, because reads skip a file that is too short.
    pub(super) fn prepare_tree_maps(&self, run: &Run, parameters: &Parameters) -> Result<(), Failure> {
        let (Some(files), Some(validation)) = (&run.files, &parameters.validation) else {
            return Ok(());
        };
        for fsd in &files.fsds {
            let (Some((map, _)), Some(blocks)) = (validation.maps.get(&fsd.name), validation.tree_blocks(fsd)) else {
                continue;
            };
            let map = Path::new(map);
            let cannot_use = |error: io::Error| format!("cannot use the map of key blocks {}: {error}", map.display());
            if matches!(files.makes, None | Some(TreeFormat::Restart)) {
                let short = find_short_files(fsd, map, &blocks, |_, known_end| known_end).map_err(cannot_use)?;
                short.first().map_or(Ok(()), |file| Err(file.failure(fsd)))?;
            }
            match files.makes {
                None => {}
                Some(TreeFormat::Restart) => {
                    let file_size = |file: u32, _| blocks.tree().file_size(file);
                    let short = find_short_files(fsd, map, &blocks, file_size).map_err(cannot_use)?;
                    let numbers: Vec<u32> = short.iter().map(|file| file.number).collect();
                    KeyMapFile::forget_files(map, &blocks, &numbers).map_err(cannot_use)?;
                }
                Some(TreeFormat::All | TreeFormat::Directories | TreeFormat::Clean) => {
                    KeyMapFile::forget_from(map, 0).map_err(cannot_use)?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn read_known_blocks(&mut self, run: &Run, parameters: &Parameters) -> Result<(), Failure> {
        let mut earlier = parameters.clone();
        earlier.general.compratio = self.compratio_before.unwrap_or(parameters.general.compratio);
        let lowered = match run.files {
            Some(_) => lower(run, &earlier, &self.env, self.seed)?,
            None => recovery_plan(&run.sds, &earlier, &self.env, self.seed),
        };
        self.execute(run, lowered, &earlier).map(|_| ())
    }

    /// Records in each map whether it is complete. A map that is saved only at the end of a run is
    /// incomplete until then.
    pub(super) fn mark_maps(&self, parameters: &Parameters, has_ended: bool) -> Result<(), Failure> {
        let Some(validation) = &parameters.validation else {
            return Ok(());
        };
        let is_stale = !has_ended && validation.journal.is_some_and(|journal| journal.map_only);
        for MappedStorage { map, .. } in mapped_storage(parameters, validation) {
            let marked = KeyMapFile::mark(map, !is_stale, parameters.general.compratio);
            marked.map_err(|error| format!("cannot write the map of key blocks {}: {error}", map.display()))?;
        }
        Ok(())
    }

    /// Forgets the blocks after the end of an SD, after an interrupted lay-out.
    pub(super) fn forget_from(&self, sd: &Sd, end: u64, parameters: &Parameters) {
        let validation = parameters.validation.as_ref();
        if let Some((map, _)) = validation.and_then(|validation| validation.maps.get(&sd.name)) {
            // Ignore errors: a recovery would then report the missing blocks.
            let _ = KeyMapFile::forget_from(Path::new(map), end);
        }
    }

    /// Prints the numbers of validated and corrupted key blocks. Returns the number of
    /// corrupted key blocks.
    pub(super) fn report_validation(&mut self, results: &Results, parameters: &Parameters) -> Result<u64, Failure> {
        if parameters.validation.is_none() {
            return Ok(0);
        }
        for job in results.jobs() {
            self.report_mismatches(job, parameters);
        }
        let sum = |count: fn(&WorkerResults) -> u64| results.workers().map(count).sum::<u64>();
        let (compared, wrong) = (
            sum(|worker| worker.compared_blocks),
            sum(|worker| worker.mismatch_count),
        );
        self.compared += compared;
        self.print_slave_line(&format!(
            "Total amount of key blocks read and validated: {:>8}; key blocks marked in error: {:>4} ",
            group_digits(compared),
            group_digits(wrong)
        ));
        if let Some(what) = results.workers().flat_map(|worker| &worker.not_kept).next() {
            return Err(what.clone().into());
        }
        Ok(wrong)
    }

    /// Prints failed reads and writes of SDs. Returns their number.
    pub(super) fn report_io_errors(&mut self, results: &Results) -> u64 {
        let workers: Vec<&WorkerResults> = results.workers().collect();
        let tolerated =
            { workers.iter() }.flat_map(|worker| worker.tolerated.iter().map(move |failure| (worker.rank, failure)));
        let failures = { workers.iter() }.filter_map(|worker| Some((worker.rank, worker.failure.as_ref()?)));
        let mut listed = 0;
        for (rank, failure) in tolerated.chain(failures) {
            let (Some(operation), Some(errno)) = (&failure.operation, failure.errno) else {
                continue;
            };
            listed += 1;
            let (lba, size) = (operation.offset.0, operation.length);
            let line = format!(
                "op: {:<6} lun: {:<30} lba: {lba:>12} 0x{lba:08x} xfer: {size:>8} errno: {errno}: '{}' ",
                operation.direction.word(),
                operation.path,
                failure.what
            );
            self.print_rank_line(Some(rank as usize), &line);
        }
        let directions = workers.iter().flat_map(|worker| &worker.streams).flat_map(|stream| {
            stream
                .directions
                .iter()
                .filter_map(|(_, direction_results)| direction_results.as_ref())
        });
        let counted: u64 = directions.map(|direction_results| direction_results.errors).sum();
        let ending = workers.iter().filter(|worker| {
            let failure = worker.failure.as_ref();
            failure.is_some_and(|failure| failure.operation.is_some())
        });
        let failed = counted + ending.count() as u64;
        if failed > listed {
            self.print_slave_line(&format!("{} more reads and writes have failed.", failed - listed));
        }
        failed
    }

    /// Prints each transfer that has corrupted key blocks.
    fn report_mismatches(&mut self, job: &JobResults, parameters: &Parameters) {
        let mismatches: Vec<&Mismatch> = job.workers.iter().flat_map(|worker| &worker.mismatches).collect();
        let is_same = |a: &&Mismatch, b: &&Mismatch| (&a.path, a.block_offset) == (&b.path, b.block_offset);
        for transfer in mismatches.chunk_by(is_same) {
            let first = transfer[0];
            let (lun, lba, size) = (&first.path, first.block_offset.0, first.block_length);
            let mut fsds = parameters.fsds.iter();
            let place = match fsds.find(|fsd| Path::new(lun).starts_with(&fsd.anchor)) {
                Some(fsd) => format!("fsd={},file={lun}", fsd.name),
                None => format!("sd={},lun={lun}", job.name),
            };
            self.print_slave_line(&format!(
                "Corrupted data block for {place}; lba: {} (0x{lba:08x}) xfersize={size}",
                group_digits(lba)
            ));
            self.print_slave_line(&format!(
                "{} of {} key blocks are corrupted.",
                transfer.len(),
                size.div_ceil(first.length.max(1))
            ));
            for mismatch in transfer {
                let names_write = matches!(
                    mismatch.fault,
                    BlockFault::Header {
                        field: HeaderField::Number,
                        ..
                    }
                );
                let expected = mismatch.write_number.filter(|_| !names_write);
                let expected = expected.map_or(String::new(), |number| format!("; write {number} is expected"));
                self.print_slave_line(&format!(
                    "Key block lba: 0x{:08x}: {}{expected}",
                    mismatch.offset.0, mismatch.fault
                ));
            }
            self.print_slave_line(&format!(
                "op: read   lun: {lun:<30} lba: {lba:>12} 0x{lba:08x} xfer: {size:>8} errno: {MISMATCH}: \
                 '{MISMATCH}            A Data Validation error was discovered' "
            ));
        }
    }

    /// Checks after all runs that the validation compared some blocks.
    pub(super) fn end_validation(&mut self, parameters: &Parameters) -> Result<(), Failure> {
        if parameters.validation.is_none() || self.compared > 0 {
            return Ok(());
        }
        let text = "No read validations done during a Data Validation run.".to_owned();
        let help = match parameters.recovers_only() {
            true => "run with `-j` first: the journals contain no written block",
            false => "run for longer, use a smaller `range=`, or read more: no written block was read",
        };
        Err(Failure::with_help(text, help))
    }

    /// Removes maps that no later run needs.
    pub(super) fn remove_maps(&self, parameters: &Parameters) {
        let validation = parameters.validation.as_ref();
        let validation = validation.filter(|validation| validation.journal.is_none());
        for MappedStorage { map, .. } in validation
            .into_iter()
            .flat_map(|validation| mapped_storage(parameters, validation))
        {
            // Ignore errors: the next run clears the map.
            let _ = fs::remove_file(map);
        }
    }

    /// Prints a line of the slave, which has two time stamps as in Vdbench.
    fn print_slave_line(&mut self, text: &str) {
        self.print_rank_line(None, text);
    }

    fn print_rank_line(&mut self, rank: Option<usize>, text: &str) {
        let (now, host) = (time(), self.style.host(rank));
        let line = format!("{now} {host}-0: {now} {text}");
        self.output.print_line(&line);
        self.output.write("errorlog", &line);
    }
}

fn cannot_create(map: &Path, error: &io::Error) -> Failure {
    let help = match error.kind() {
        io::ErrorKind::WouldBlock => "wait for the other run, or set another `-o` or `journal=`",
        io::ErrorKind::InvalidData => "move that file, or set another `-o` or `journal=`",
        _ => "set `journal=` or `-o` to a directory with 8 bytes of free space per key block",
    };
    let text = format!("cannot create the map of key blocks {}: {error}", map.display());
    Failure::with_help(text, help)
}

fn cannot_recover(mapped: &MappedStorage<'_>, error: &io::Error) -> Failure {
    let help = match error.kind() {
        io::ErrorKind::NotFound => "run with `-j` first, or set the `journal=` or `-o` of the run that wrote it",
        io::ErrorKind::WouldBlock => "wait for the other run to end",
        io::ErrorKind::InvalidData => "restore a complete copy of the journal, or remove it and start again with `-j`",
        _ => "make the file readable and writable",
    };
    let text = format!(
        "cannot recover {}: its journal {} cannot be used: {error}",
        mapped.storage.title(),
        mapped.map.display()
    );
    Failure::with_help(text, help)
}
