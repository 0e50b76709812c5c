//! Data validation: the maps of a command line's runs, and what the runs found.

use std::fs;
use std::path::Path;

use ::run::KeyMapFile;
use dialects::vdbench::{Parameters, Run, Sd, Validation, VdbenchEnv, recovery_plan};
use model::mismatch::Mismatch;
use model::results::{JobResults, Results, WorkerResults};

use super::output::time;
use super::{Drive, Failure};
use report::formats::vdbench::thousands;

/// The error number of Vdbench for data that are not as they were written.
const MISMATCH: u32 = 60003;

/// SDs that have a map.
fn mapped<'a>(parameters: &'a Parameters, validation: &'a Validation) -> impl Iterator<Item = (&'a Sd, &'a Path, u64)> {
    parameters.sds.iter().filter_map(|sd| {
        let (map, length) = validation.maps.get(&sd.name)?;
        Some((sd, Path::new(map), *length))
    })
}

impl Drive<'_> {
    /// Decides what is checked of these runs.
    pub(super) fn place_maps(&self, runs: &[Run], parameters: &mut Parameters) -> Result<(), Failure> {
        if let Some(mut validation) = parameters.validation.take() {
            validation.place_maps(runs, parameters, &self.output.folder)?;
            parameters.validation = Some(validation);
        }
        Ok(())
    }

    /// Makes the maps, or restores those of an earlier run. Returns the SDs to read before anything
    /// else.
    pub(super) fn open_maps(&mut self, parameters: &Parameters) -> Result<Vec<Sd>, Failure> {
        let mut to_read = Vec::new();
        let Some(validation) = &parameters.validation else {
            return Ok(to_read);
        };
        for (sd, map, length) in mapped(parameters, validation) {
            let recovers = validation.journal.is_some_and(|journal| journal.recover);
            if recovers && self.restore_map(sd, map, length, validation)? > 0 {
                to_read.push(sd.clone());
            }
            if !recovers {
                let made = KeyMapFile::create(map, length);
                made.map_err(|error| format!("cannot make the map of key blocks {}: {error}", map.display()))?;
            }
        }
        let skips = validation.journal.is_some_and(|journal| journal.skip_reads);
        Ok(if skips { Vec::new() } else { to_read })
    }

    /// Takes over what an earlier run has left. Returns how many blocks are known.
    fn restore_map(&mut self, sd: &Sd, map: &Path, length: u64, validation: &Validation) -> Result<u64, Failure> {
        let (name, file) = (&sd.name, map.display());
        self.say_slave(&format!("Starting journal recovery for {name}"));
        let fail = |what: String, help: &str| Failure {
            text: format!("cannot recover sd={name}: {what}"),
            more: vec![format!("help: {help}")],
        };
        let ignores = validation.journal.is_some_and(|journal| journal.ignore_pending);
        let forgotten = if ignores {
            KeyMapFile::forget_pending(map)
        } else {
            Ok(())
        };
        let found = forgotten.and_then(|()| KeyMapFile::read(map));
        let found = found.map_err(|error| {
            let help = "run with `-j` first, with the same `journal=` or output directory";
            fail(format!("its journal {file} cannot be read: {error}"), help)
        })?;
        if found.length != length {
            let help = "give the transfer sizes of the run that wrote it";
            let what = format!(
                "key blocks of {file} have {} bytes, those of these runs {length}",
                found.length
            );
            return Err(fail(what, help));
        }
        if !found.complete {
            let what = format!("the run that wrote {file} did not end, and `-jm` writes it only then");
            return Err(fail(what, "use `-j` where a run may be killed"));
        }
        let present = self.env.size_of(&sd.lun).unwrap_or(0);
        if found.known_end > present {
            let what = format!(
                "lun={} has {present} bytes, and its journal knows blocks up to byte {}",
                sd.lun, found.known_end
            );
            return Err(fail(what, "the data behind its end are lost"));
        }
        let restored = format!(
            "Data Validation map restored for {}. Map contains {:>16} known blocks.",
            map.file_name().unwrap_or_default().to_string_lossy(),
            thousands(found.known)
        );
        self.output
            .write("errorlog", &format!("{} {}-0: {restored}", time(), self.style.host));
        self.say_slave(&format!(
            "Completed journal recovery for {name}. Starting data validation."
        ));
        Ok(found.known)
    }

    /// Reads all that is known.
    pub(super) fn read_known(&mut self, run: &Run, parameters: &Parameters) -> Result<(), Failure> {
        let lowered = recovery_plan(&run.sds, parameters, &self.env, self.seed);
        self.execute(run, lowered, parameters).map(|_| ())
    }

    /// Maps that are written when a run ends are not whole before.
    pub(super) fn mark_maps(&self, parameters: &Parameters, complete: bool) -> Result<(), Failure> {
        let validation = parameters.validation.as_ref();
        let validation = validation.filter(|one| one.journal.is_some_and(|journal| journal.map_only));
        for (_, map, _) in validation
            .into_iter()
            .flat_map(|validation| mapped(parameters, validation))
        {
            let marked = KeyMapFile::set_complete(map, complete);
            marked.map_err(|error| format!("cannot write the map of key blocks {}: {error}", map.display()))?;
        }
        Ok(())
    }

    /// Prints what a run has compared, and what was wrong.
    pub(super) fn report_validation(
        &mut self,
        run: &Run,
        results: &Results,
        parameters: &Parameters,
    ) -> Result<(), Failure> {
        let Some(validation) = &parameters.validation else {
            return Ok(());
        };
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
        self.say_slave(&format!(
            "Total amount of key blocks read and validated: {:>8}; key blocks marked in error: {:>4} ",
            thousands(compared),
            thousands(wrong)
        ));
        if let Some(what) = workers().flat_map(|worker| &worker.not_kept).next() {
            return Err(what.clone().into());
        }
        match wrong {
            0 => Ok(()),
            _ if workers().any(|worker| worker.mismatch_count >= validation.max_errors) => Err(format!(
                "'data_errors={}' requested. Abort rd={} after last error.",
                validation.max_errors, run.name
            )
            .into()),
            _ => Err(
                "Vdbench terminating due to Data Validation or I/O errors. See errorlog.html."
                    .to_owned()
                    .into(),
            ),
        }
    }

    /// Lines for each transfer with blocks that are wrong.
    fn report_mismatches(&mut self, job: &JobResults) {
        let mismatches: Vec<&Mismatch> = job.workers.iter().flat_map(|worker| &worker.mismatches).collect();
        let is_same = |one: &&Mismatch, other: &&Mismatch| one.block_offset == other.block_offset;
        for of_transfer in mismatches.chunk_by(is_same) {
            let first = of_transfer[0];
            let (lun, lba, size) = (&first.path, first.block_offset.0, first.block_length);
            self.say_slave(&format!(
                "Corrupted data block for sd={},lun={lun}; lba: {} (0x{lba:08x}) xfersize={size}",
                job.name,
                thousands(lba)
            ));
            self.say_slave(&format!(
                "{} of {} key blocks are corrupted.",
                of_transfer.len(),
                size / first.length.max(1)
            ));
            for mismatch in of_transfer {
                self.say_slave(&format!(
                    "Key block lba: 0x{:08x}: {}",
                    mismatch.offset.0, mismatch.fault
                ));
            }
            self.say_slave(&format!(
                "op: read   lun: {lun:<30} lba: {lba:>12} 0x{lba:08x} xfer: {size:>8} errno: {MISMATCH}: \
                 '{MISMATCH}            A Data Validation error was discovered' "
            ));
        }
    }

    /// All runs have ended: a validation that compared nothing has failed.
    pub(super) fn end_validation(&mut self, parameters: &Parameters) -> Result<(), Failure> {
        if parameters.validation.is_none() || self.compared > 0 {
            return Ok(());
        }
        let text = "No read validations done during a Data Validation run.".to_owned();
        let help = "help: run longer, on a smaller `range=`, or read: no block was read that had been written";
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
            // One that is left is emptied by the next run.
            let _ = fs::remove_file(map);
        }
    }

    /// A line of the slave, which Vdbench stamps a second time.
    fn say_slave(&mut self, text: &str) {
        let (now, host) = (time(), &self.style.host);
        let line = format!("{now} {host}-0: {now} {text}");
        self.output.say(&line);
        self.output.write("errorlog", &line);
    }
}
