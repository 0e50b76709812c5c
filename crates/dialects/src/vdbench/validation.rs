//! Data validation: `-v`, `-j`, `validate=` and `journal=`.

use std::collections::BTreeMap;
use std::path::Path;

use model::plan::{EngineKind, KeyBlocks, KeyJournal, TreeKeyBlocks, Verify, VerifyMethod, Worker};

use super::VdbenchEnv;
use super::blocks::{Block, invalid};
use super::definitions::{Parameters, Sd, Transfer, Wd};
use super::file_runs::FileRun;
use super::files::{Fsd, Fwd, OPERATIONS};
use super::runs::Run;
use super::streams::gcd;
use super::workloads::matches_name;
use crate::Diagnostic;

with_defaults! {
    /// What reads check, and where the expected data is recorded.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Validation {
        /// Each write is read back immediately.
        pub read_after_write: bool,
        /// Known blocks are read before they are written.
        pub read_before_write: bool = true,
        /// Maps are kept for a later run.
        pub journal: Option<Journal>,
        /// The file of the map of each SD or FSD, and the bytes of its key blocks.
        pub maps: BTreeMap<String, (String, u64)>,
    }
}

/// How the maps of a run are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Journal {
    /// Restore the maps of the previous run.
    pub recover: bool,
    /// Do nothing else.
    pub recover_only: bool,
    /// Restore without reading everything.
    pub skip_reads: bool,
    /// Do not check blocks whose writes were in flight.
    pub ignore_pending: bool,
    /// Do not flush writes to the maps.
    pub no_flush: bool,
    /// Write the maps only when a run ends.
    pub map_only: bool,
}

const TIMES: &str = "times of writes are not stored: an error reports which write was found and which was expected";
const ZEROS: &str = "blocks that read as zeros may be lost writes";

/// The letter of `-v` or `-j` that a keyword of `validate=` or `journal=` is equivalent to.
const VALIDATE_WORDS: &[(&str, char)] = &[
    ("read_after_write", 'r'),
    ("no_preread", 'w'),
    ("time", 't'),
    ("ignore_zero_reads", 'z'),
];
const JOURNAL_WORDS: &[(&str, char)] = &[
    ("recover", 'r'),
    ("noflush", 'n'),
    ("maponly", 'm'),
    ("only", 'o'),
    ("skip_read_all", 's'),
    ("ignore_pending", 'i'),
];

impl Validation {
    /// Adds the settings of the letters after `-v`.
    ///
    /// # Errors
    /// Letters that are unknown, or not supported.
    pub(super) fn add_letters(&mut self, letters: &str, word: &str) -> Result<(), Diagnostic> {
        for letter in letters.chars() {
            match letter {
                'r' | '2' => self.read_after_write = true,
                'w' => self.read_before_write = false,
                't' => return Err(unsupported(word, TIMES)),
                'z' => return Err(unsupported(word, ZEROS)),
                _ => return Err(unknown(word)),
            }
        }
        Ok(())
    }

    /// Adds the settings of the letters after `-j`.
    ///
    /// # Errors
    /// Letters that are unknown, or not supported.
    pub(super) fn add_journal_letters(&mut self, letters: &str, word: &str) -> Result<(), Diagnostic> {
        let mut journal = self.journal.unwrap_or_default();
        for letter in letters.chars() {
            match letter {
                'r' => journal.recover = true,
                'o' => (journal.recover, journal.recover_only) = (true, true),
                's' => journal.skip_reads = true,
                'i' => journal.ignore_pending = true,
                'n' => journal.no_flush = true,
                'm' => journal.map_only = true,
                '2' => self.read_after_write = true,
                't' => return Err(unsupported(word, TIMES)),
                _ => return Err(unknown(word)),
            }
        }
        self.journal = Some(journal);
        Ok(())
    }

    /// Adds `validate=` and `journal=` to the settings of the command line.
    pub(super) fn with_parameters(asked: Option<&Validation>, block: &Block) -> Result<Option<Validation>, Diagnostic> {
        let mut validation = asked.cloned();
        let is_off = |words: &[String]| words.is_empty() || *words == ["no"];
        for (field, table) in [("validate", VALIDATE_WORDS), ("journal", JOURNAL_WORDS)] {
            let words = block.expanded_values(field);
            if is_off(&words) {
                continue;
            }
            let validation = validation.get_or_insert_default();
            let locate = |error: Diagnostic| match block.item(field) {
                Some(item) => error.at(item.at.clone()),
                None => error,
            };
            for (number, word) in words.iter().enumerate() {
                let entry = table.iter().find(|(name, _)| name == word);
                let letters = match entry {
                    Some((_, letter)) => letter.to_string(),
                    None if number == 0 && word == "yes" => String::new(),
                    None => {
                        let names: Vec<&str> = table.iter().map(|(name, _)| *name).collect();
                        let help = format!("it takes yes, no, {}", names.join(", "));
                        return Err(locate(Diagnostic::new(invalid(field, word)).help(help)));
                    }
                };
                let shown = format!("{field}={word}");
                let added = match field {
                    "validate" => validation.add_letters(&letters, &shown),
                    _ => validation.add_journal_letters(&letters, &shown),
                };
                added.map_err(locate)?;
            }
        }
        let journal = validation.as_ref().and_then(|validation| validation.journal);
        if let Some(journal) = journal.filter(|journal| !journal.recover) {
            // A new journal would replace the one to be read.
            let modifiers = [
                (journal.skip_reads, "`-js` or `journal=skip_read_all`"),
                (journal.ignore_pending, "`-ji` or `journal=ignore_pending`"),
            ];
            if let Some((_, name)) = modifiers.iter().find(|(is_set, _)| *is_set) {
                return Err(
                    Diagnostic::new(format!("{name} only affects a journal recovery, and none is requested"))
                        .help("add `r` to recover the journal of an earlier run, as in `-jrs`, or remove the option"),
                );
            }
        }
        Ok(validation)
    }

    /// Decides the key blocks of each SD and FSD that the runs use, and where its map is: in the
    /// directory of its `journal=`, or in this one.
    ///
    /// # Errors
    /// What cannot be validated.
    pub fn place_maps(
        &mut self,
        runs: &[Run],
        parameters: &Parameters,
        directory: &Path,
        env: &dyn VdbenchEnv,
    ) -> Result<(), Diagnostic> {
        for run in runs {
            if run.dedup.is_some() {
                return Err(refusal("`dedupratio=`: every block is different", "remove one of them"));
            }
            if let Some(files) = &run.files {
                self.place_tree_maps(files, parameters, (directory, env))?;
            }
            for sd in &run.sds {
                let length = run.workloads.iter().filter(|(wd, _)| wd.sds.contains(&sd.name));
                let length = length.fold(0, |length, (wd, _)| gcd(length, unit(sd, wd)));
                self.place_map("SD", &sd.name, sd.journal.as_ref(), (directory, length))?;
            }
        }
        // Ends of regions are multiples of the largest transfer of the whole file.
        for sd in &parameters.sds {
            let is_other = |other: &&Sd| other.name != sd.name && self.maps.contains_key(&other.name);
            let mut others = parameters.sds.iter().filter(is_other);
            let duplicate = others.find(|other| env.is_same_file(&other.lun, &sd.lun));
            let duplicate = duplicate.map(|other| (other.name.clone(), other.lun.clone()));
            let Some(map) = self.maps.get_mut(&sd.name) else {
                continue;
            };
            if let Some((name, lun)) = duplicate {
                let message = format!("one lun in two SDs, sd={} and sd={name}", sd.name);
                let help = match lun == sd.lun {
                    true => "let the workloads use one SD".to_owned(),
                    false => format!("let the workloads use one SD: {} and {lun} are the same file", sd.lun),
                };
                return Err(refusal(&message, &help));
            }
            if sd.offset != 0 {
                return Err(refusal("`offset=`", "use `range=`"));
            }
            let wds = parameters.wds.iter().filter(|wd| wd.sds.contains(&sd.name));
            map.1 = wds.fold(map.1, |length, wd| gcd(length, unit(sd, wd)));
            map.1 = looped_sizes(parameters).fold(map.1, gcd);
        }
        let ratios = parameters.rds.iter().flat_map(|rd| &rd.loops);
        match ratios.into_iter().any(|(field, _)| *field == "compratio") {
            true => Err(refusal(
                "a `compratio=` that changes from run to run",
                "move `compratio=` before the first SD",
            )),
            false => Ok(()),
        }
    }

    /// Adds the map of an SD or FSD, whose transfers are multiples of `length`.
    fn place_map(
        &mut self,
        kind: &str,
        name: &str,
        journal: Option<&String>,
        (directory, length): (&Path, u64),
    ) -> Result<(), Diagnostic> {
        if name.contains(['/', '\\', '\0']) {
            let message = format!("an {kind} called `{name}`: its map is a file of that name");
            return Err(refusal(&message, "use another name"));
        }
        let extension = if self.journal.is_some() { "jnl" } else { "map" };
        let directory = match journal {
            Some(journal) if self.journal.is_some() => Path::new(journal),
            _ => directory,
        };
        let file = directory.join(format!("{name}.{extension}")).display().to_string();
        let map = self.maps.entry(name.to_owned()).or_insert((file, 0));
        map.1 = gcd(map.1, length);
        Ok(())
    }

    /// Decides the key blocks of the trees of a run.
    fn place_tree_maps(
        &mut self,
        files: &FileRun,
        parameters: &Parameters,
        (directory, env): (&Path, &dyn VdbenchEnv),
    ) -> Result<(), Diagnostic> {
        refuse_tree_loops(parameters)?;
        for load in files.loads() {
            let operation = OPERATIONS[load.operation];
            if operation.1.needs_destination() && load.fwd.rdpct.is_none() {
                let message = format!("`operation={}`: its data has the stamps of the first tree", operation.0);
                return Err(refusal(&message, "leave it out, or run it without validation"));
            }
            if load.fwd.shares_files {
                return Err(refusal(
                    "`fileio=(random,shared)`: two threads would write one block at once",
                    "use `fileio=random`, with which each thread has its own file",
                ));
            }
        }
        for fsd in &files.fsds {
            if parameters.sds.iter().any(|sd| sd.name == fsd.name) {
                let message = format!("an SD and an FSD that are both called `{}`", fsd.name);
                return Err(refusal(&message, "rename one of them"));
            }
            let is_other = |other: &&Fsd| other.name != fsd.name && env.is_same_file(&other.anchor, &fsd.anchor);
            if let Some(other) = parameters.fsds.iter().find(is_other) {
                let message = format!("one anchor in two FSDs, fsd={} and fsd={}", fsd.name, other.name);
                return Err(refusal(&message, "let the workloads use one FSD"));
            }
            // Runs with and without a format need the same key blocks.
            let uses_tree = |fwd: &&Fwd| fwd.fsds.iter().any(|wanted| matches_name(wanted, &fsd.name));
            let fwds = parameters.fwds.iter().chain(files.fwds.iter().map(|(fwd, _)| fwd));
            let fwds = fwds.filter(uses_tree).chain([&parameters.format_fwd]);
            let length = fwds.fold(0, |length, fwd| gcd(length, size_unit(&fwd.xfersize)));
            let length = looped_sizes(parameters).fold(length, gcd);
            self.place_map("FSD", &fsd.name, fsd.journal.as_ref(), (directory, length))?;
        }
        Ok(())
    }

    /// The key blocks of an FSD.
    pub fn tree_blocks(&self, fsd: &Fsd) -> Option<TreeKeyBlocks> {
        let (_, length) = self.maps.get(&fsd.name)?;
        Some(TreeKeyBlocks::new(&fsd.tree(), *length))
    }

    /// Bytes of an SD's key blocks.
    pub(super) fn key_block(&self, sd: &Sd) -> u64 {
        self.maps.get(&sd.name).map_or(512, |(_, length)| *length)
    }

    fn apply(&self, name: &str, workers: &mut [Worker], known_only: bool, errors_max: u64) {
        let Some((map, length)) = self.maps.get(name) else {
            return;
        };
        let keys = KeyBlocks {
            length: *length as u32,
            map: map.clone(),
            journal: match self.journal {
                None => KeyJournal::AtEnd,
                Some(journal) if journal.map_only => KeyJournal::AtEnd,
                Some(journal) if journal.no_flush => KeyJournal::EachWrite,
                Some(_) => KeyJournal::EachWriteFlushed,
            },
            read_before_write: self.read_before_write,
            read_after_write: self.read_after_write,
            known_only,
            max_mismatches: errors_max,
        };
        for worker in workers {
            // On a tree, each worker has one operation in flight, on its own file.
            worker.batching.serialize_overlap = worker.engine.kind != EngineKind::Files;
            for stream in &mut worker.streams {
                stream.verify = Some(Verify {
                    keys: Some(keys.clone()),
                    ..Verify::new(VerifyMethod::Xxhash)
                });
            }
        }
    }
}

impl Parameters {
    /// Lets the workers of an SD or FSD check their reads, with data validation. `known_only`: they
    /// read nothing else.
    pub(super) fn validate(&self, name: &str, workers: &mut [Worker], known_only: bool) {
        if let Some(validation) = &self.validation {
            validation.apply(name, workers, known_only, self.general.errors_max());
        }
    }

    /// Reads only blocks that are known from an earlier run.
    pub fn recovers_only(&self) -> bool {
        let journal = self.validation.as_ref().and_then(|validation| validation.journal);
        journal.is_some_and(|journal| journal.recover_only)
    }
}

/// Transfer sizes of loops.
fn looped_sizes(parameters: &Parameters) -> impl Iterator<Item = u64> {
    let loops = parameters.rds.iter().flat_map(|rd| &rd.loops);
    let sizes = loops.filter(|(field, _)| *field == "xfersize");
    sizes.flat_map(|(_, sizes)| sizes).map(|size| *size as u64)
}

/// Refuses trees that change from run to run, because key blocks are numbered by files.
fn refuse_tree_loops(parameters: &Parameters) -> Result<(), Diagnostic> {
    let shapes = ["depth", "width", "files", "sizes", "totalsize"];
    let mut loops = parameters.rds.iter().flat_map(|rd| &rd.loops);
    match loops.find(|(field, _)| shapes.contains(field)) {
        Some((field, _)) => Err(refusal(
            &format!("a `{field}=` that changes from run to run"),
            "use a separate parameter file for each tree",
        )),
        None => Ok(()),
    }
}

/// The greatest length that divides all these sizes.
fn size_unit(xfersize: &Transfer) -> u64 {
    match xfersize {
        Transfer::One(size) => *size,
        Transfer::Shares(shares) => shares.iter().fold(0, |length, (size, _)| gcd(length, *size)),
        Transfer::Steps(min, max, align) => gcd(gcd(*min, *max), *align),
    }
}

/// The greatest length that divides position and length of every transfer of a workload.
fn unit(sd: &Sd, wd: &Wd) -> u64 {
    let sizes = size_unit(&wd.xfersize);
    let hits = if wd.hits == (0.0, 0.0) { 0 } else { sd.hitarea };
    let (min, max) = wd.stride.unwrap_or((0, 0));
    [sd.align, hits, min, max].into_iter().fold(sizes, gcd)
}

fn refusal(what: &str, help: &str) -> Diagnostic {
    Diagnostic::new(format!("data validation is not supported with {what}")).help(help.to_owned())
}

fn unsupported(word: &str, why: &str) -> Diagnostic {
    Diagnostic::new(format!("`{word}` is not supported: {why}")).help("leave it out")
}

fn unknown(word: &str) -> Diagnostic {
    Diagnostic::new(format!("Invalid execution parameter: '{word}'")).help("docs/vdbench.md lists the options")
}
