//! Data validation: the maps of key blocks, and mismatches of the runs.

use std::fs;
use std::io;
use std::path::Path;

use ::run::KeyMapFile;
use dialects::vdbench::{Parameters, Run, Sd, Validation, VdbenchEnv, recovery_plan};
use model::mismatch::Mismatch;
use model::results::{JobResults, Results, WorkerResults};

use super::output::time;
use super::{Drive, Failure};
use report::formats::vdbench::thousands;

/// Vdbench's error number for corrupted data.
const MISMATCH: u32 = 60003;

/// SDs that have a map.
fn mapped<'a>(parameters: &'a Parameters, validation: &'a Validation) -> impl Iterator<Item = (&'a Sd, &'a Path, u64)> {
    parameters.sds.iter().filter_map(|sd| {
        let (map, length) = validation.maps.get(&sd.name)?;
        Some((sd, Path::new(map), *length))
    })
}

impl Drive<'_> {
    /// Decides which SDs of these runs are validated.
    pub(super) fn place_maps(&self, runs: &[Run], parameters: &mut Parameters) -> Result<(), Failure> {
        if let Some(mut validation) = parameters.validation.take() {
            validation.place_maps(runs, parameters, &self.output.folder, &self.env)?;
            parameters.validation = Some(validation);
        }
        Ok(())
    }

    /// Creates the maps, or restores those of an earlier run. Returns the SDs to read first.
    pub(super) fn open_maps(&mut self, parameters: &Parameters) -> Result<Vec<Sd>, Failure> {
        let mut to_read = Vec::new();
        let Some(validation) = &parameters.validation else {
            return Ok(to_read);
        };
        let journal = validation.journal.unwrap_or_default();
        for (sd, map, length) in mapped(parameters, validation) {
            let size = sd.size.or_else(|| self.env.size_of(&sd.lun)).unwrap_or(0);
            let count = size.div_ceil(length);
            if journal.recover {
                let lock = KeyMapFile::lock(map).map_err(|error| cannot_recover(sd, map, &error))?;
                self.map_locks.push(lock);
                let known_end = self.restore_map(sd, map, (length, count), parameters)?;
                if known_end > 0 {
                    to_read.push(Sd {
                        size: Some(known_end),
                        ..sd.clone()
                    });
                }
            } else {
                let made = KeyMapFile::create(map, length, count, parameters.general.compratio);
                self.map_locks.push(made.map_err(|error| cannot_make(map, &error))?);
            }
        }
        Ok(if journal.skip_reads { Vec::new() } else { to_read })
    }

    /// Restores the map of an earlier run. Returns the end of the last known block.
    fn restore_map(
        &mut self,
        sd: &Sd,
        map: &Path,
        (length, count): (u64, u64),
        parameters: &Parameters,
    ) -> Result<u64, Failure> {
        let (name, file) = (&sd.name, map.display());
        self.print_slave_line(&format!("Starting journal recovery for {name}"));
        let fail = |what: String, help: &str| Failure {
            text: format!("cannot recover sd={name}: {what}"),
            more: vec![format!("help: {help}")],
        };
        let journal = parameters.validation.as_ref().and_then(|validation| validation.journal);
        let journal = journal.unwrap_or_default();
        let found = KeyMapFile::read(map).map_err(|error| cannot_recover(sd, map, &error))?;
        if found.length != length {
            let help = "use the transfer sizes of the run that wrote the journal, or start again with `-j`";
            let what = format!(
                "key blocks of {file} have {} bytes, those of these runs {length}",
                found.length
            );
            return Err(fail(what, help));
        }
        if !found.complete {
            let what = format!("the run that wrote {file} did not end, and `-jm` writes the journal only at the end");
            let help = "start again with `-j`, which updates the journal at each write";
            return Err(fail(what, help));
        }
        // A killed run may leave a block with sectors of two writes, so the block is compared with
        // both.
        if journal.skip_reads && !journal.ignore_pending && found.compratio != parameters.general.compratio {
            let what = format!(
                "`-js` uses compratio={}, but the journal was written with compratio={}",
                parameters.general.compratio, found.compratio
            );
            return Err(fail(
                what,
                "omit `s`, add `i`, or set the `compratio=` of the earlier run",
            ));
        }
        if self.compratio_before.is_some_and(|ratio| ratio != found.compratio) {
            let what = "the journals of its SDs were written with different `compratio=`";
            return Err(fail(
                what.into(),
                "recover each SD separately, with its own parameter file",
            ));
        }
        self.compratio_before = Some(found.compratio);
        let present = self.env.size_of(&sd.lun).unwrap_or(0);
        if found.known_end > present {
            let what = format!(
                "lun={} has {present} bytes, but its journal contains blocks up to byte {}",
                sd.lun, found.known_end
            );
            let help = "restore the missing part and recover again, or start again with `-j`";
            return Err(fail(what, help));
        }
        let forgotten = match journal.ignore_pending {
            true => KeyMapFile::forget_pending(map),
            false => Ok(()),
        };
        let found = forgotten
            .and_then(|()| KeyMapFile::extend(map, count))
            .and_then(|()| KeyMapFile::read(map))
            .map_err(|error| cannot_recover(sd, map, &error))?;
        let restored = format!(
            "Data Validation map restored for {}. Map contains {:>16} known blocks.",
            map.file_name().unwrap_or_default().to_string_lossy(),
            thousands(found.known)
        );
        self.output
            .write("errorlog", &format!("{} {}-0: {restored}", time(), self.style.host));
        self.print_slave_line(&format!(
            "Completed journal recovery for {name}. Starting data validation."
        ));
        Ok(found.known_end)
    }

    /// Reads all known blocks.
    pub(super) fn read_known(&mut self, run: &Run, parameters: &Parameters) -> Result<(), Failure> {
        let mut before = parameters.clone();
        before.general.compratio = self.compratio_before.unwrap_or(parameters.general.compratio);
        let lowered = recovery_plan(&run.sds, &before, &self.env, self.seed);
        self.execute(run, lowered, &before).map(|_| ())
    }

    /// Marks in each map whether it is complete: maps that are written only at the end of a run are
    /// incomplete before.
    pub(super) fn mark_maps(&self, parameters: &Parameters, has_ended: bool) -> Result<(), Failure> {
        let Some(validation) = &parameters.validation else {
            return Ok(());
        };
        let is_stale = !has_ended && validation.journal.is_some_and(|journal| journal.map_only);
        for (_, map, _) in mapped(parameters, validation) {
            let marked = KeyMapFile::mark(map, !is_stale, parameters.general.compratio);
            marked.map_err(|error| format!("cannot write the map of key blocks {}: {error}", map.display()))?;
        }
        Ok(())
    }

    /// Removes blocks beyond the end of an SD from the map, after an interrupted lay-out.
    pub(super) fn forget_from(&self, sd: &Sd, end: u64, parameters: &Parameters) {
        let validation = parameters.validation.as_ref();
        if let Some((map, _)) = validation.and_then(|validation| validation.maps.get(&sd.name)) {
            // If this fails, a recovery correctly reports missing blocks.
            let _ = KeyMapFile::forget_from(Path::new(map), end);
        }
    }

    /// Prints the numbers of validated and corrupted key blocks. Returns the number of corrupted
    /// ones.
    pub(super) fn report_validation(&mut self, results: &Results, parameters: &Parameters) -> Result<u64, Failure> {
        if parameters.validation.is_none() {
            return Ok(0);
        }
        let jobs: Vec<&JobResults> = results.steps.iter().flat_map(|step| &step.jobs).collect();
        let workers = || jobs.iter().flat_map(|job| &job.workers);
        for job in &jobs {
            self.report_mismatches(job);
        }
        let sum = |count: fn(&WorkerResults) -> u64| workers().map(count).sum::<u64>();
        let (compared, wrong) = (
            sum(|worker| worker.compared_blocks),
            sum(|worker| worker.mismatch_count),
        );
        self.compared += compared;
        self.print_slave_line(&format!(
            "Total amount of key blocks read and validated: {:>8}; key blocks marked in error: {:>4} ",
            thousands(compared),
            thousands(wrong)
        ));
        if let Some(what) = workers().flat_map(|worker| &worker.not_kept).next() {
            return Err(what.clone().into());
        }
        Ok(wrong)
    }

    /// Prints failed reads and writes of SDs. Returns their number.
    pub(super) fn report_io_errors(&mut self, results: &Results) -> u64 {
        let jobs = results.steps.iter().flat_map(|step| &step.jobs);
        let workers: Vec<&WorkerResults> = jobs.flat_map(|job| &job.workers).collect();
        let tolerated = workers.iter().flat_map(|worker| &worker.tolerated);
        let failures = workers.iter().filter_map(|worker| worker.failure.as_ref());
        let mut listed = 0;
        for failure in tolerated.chain(failures) {
            let (Some(operation), Some(errno)) = (&failure.operation, failure.errno) else {
                continue;
            };
            listed += 1;
            let (lba, size) = (operation.offset.0, operation.length);
            self.print_slave_line(&format!(
                "op: {:<6} lun: {:<30} lba: {lba:>12} 0x{lba:08x} xfer: {size:>8} errno: {errno}: '{}' ",
                operation.direction.word(),
                operation.path,
                failure.what
            ));
        }
        let streams = workers.iter().flat_map(|worker| &worker.streams);
        let directions = streams.flat_map(|stream| stream.directions.iter().filter_map(|(_, found)| found.as_ref()));
        let counted: u64 = directions.map(|found| found.errors).sum();
        let ending = workers.iter().filter(|worker| {
            let failure = worker.failure.as_ref();
            failure.is_some_and(|failure| failure.operation.is_some())
        });
        let all = counted + ending.count() as u64;
        if all > listed {
            self.print_slave_line(&format!("{} more reads and writes have failed.", all - listed));
        }
        all
    }

    /// Prints each transfer with corrupted blocks.
    fn report_mismatches(&mut self, job: &JobResults) {
        let mismatches: Vec<&Mismatch> = job.workers.iter().flat_map(|worker| &worker.mismatches).collect();
        let is_same = |one: &&Mismatch, other: &&Mismatch| one.block_offset == other.block_offset;
        for of_transfer in mismatches.chunk_by(is_same) {
            let first = of_transfer[0];
            let (lun, lba, size) = (&first.path, first.block_offset.0, first.block_length);
            self.print_slave_line(&format!(
                "Corrupted data block for sd={},lun={lun}; lba: {} (0x{lba:08x}) xfersize={size}",
                job.name,
                thousands(lba)
            ));
            self.print_slave_line(&format!(
                "{} of {} key blocks are corrupted.",
                of_transfer.len(),
                size / first.length.max(1)
            ));
            for mismatch in of_transfer {
                self.print_slave_line(&format!(
                    "Key block lba: 0x{:08x}: {}",
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
            true => "help: run with `-j` first: the journals contain no written block",
            false => "help: run for longer, use a smaller `range=`, or read more: no written block was read",
        };
        Err(Failure {
            text,
            more: vec![help.into()],
        })
    }

    /// Removes maps that no later run needs.
    pub(super) fn remove_maps(&self, parameters: &Parameters) {
        let validation = parameters.validation.as_ref();
        let validation = validation.filter(|validation| validation.journal.is_none());
        for (_, map, _) in validation
            .into_iter()
            .flat_map(|validation| mapped(parameters, validation))
        {
            // The next run clears a remaining map.
            let _ = fs::remove_file(map);
        }
    }

    /// Prints a line of the slave, which has a second time stamp in Vdbench.
    fn print_slave_line(&mut self, text: &str) {
        let (now, host) = (time(), &self.style.host);
        let line = format!("{now} {host}-0: {now} {text}");
        self.output.print_line(&line);
        self.output.write("errorlog", &line);
    }
}

fn cannot_make(map: &Path, error: &io::Error) -> Failure {
    let help = match error.kind() {
        io::ErrorKind::WouldBlock => "wait for the other run, or set another `-o` or `journal=`",
        io::ErrorKind::InvalidData => "move that file, or set another `-o` or `journal=`",
        _ => "set `journal=` or `-o` to a directory with 8 bytes of free space per key block",
    };
    Failure {
        text: format!("cannot create the map of key blocks {}: {error}", map.display()),
        more: vec![format!("help: {help}")],
    }
}

fn cannot_recover(sd: &Sd, map: &Path, error: &io::Error) -> Failure {
    let help = match error.kind() {
        io::ErrorKind::NotFound => "run with `-j` first, or set the `journal=` or `-o` of the run that wrote it",
        io::ErrorKind::WouldBlock => "wait for the other run to end",
        io::ErrorKind::InvalidData => "restore a complete copy of the journal, or start again with `-j`",
        _ => "make the file readable and writable",
    };
    Failure {
        text: format!(
            "cannot recover sd={}: its journal {} cannot be used: {error}",
            sd.name,
            map.display()
        ),
        more: vec![format!("help: {help}")],
    }
}
