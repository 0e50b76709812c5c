//! Lowers replayed traces. A trace is surveyed first, because the plan needs its files, directions
//! and lengths.

use std::io::{Cursor, Read};

use model::Bytes;
use model::access::{Access, Sequential};
use model::block_size::BlockSizes;
use model::mix::Mix;
use model::plan::{
    AllocateMode, Pattern, Prepare, Region, Replay, Stop, StreamTarget, SyncRule, Target, TargetCleanup, TargetKind,
    TraceForm, TraceSkip,
};
use model::trace::{Survey, TraceError, blktrace};
use model::{Direction, PerDirection};

use super::Lowering;
use super::files::{Files, NOMINAL_SIZE, is_diskless, trim_error};
use crate::fio::disk::{PathKind, TraceFile};
use crate::fio::draft::{JobClone, from_micros, push_error};
use crate::fio::jobs::Job;
use crate::fio::lower::{pattern, queue};
use crate::fio::options::JobOptions;
use crate::fio::options::replay::Skip;
use crate::fio::values;

/// The surveyed trace of a clone.
#[derive(Clone)]
pub(super) struct SurveyedTrace {
    pub(super) replay: Replay,
    survey: Survey,
}

/// Options of operations that a trace overrides.
const OVERRIDDEN_BY_TRACE: [&str; 17] = [
    "filename", "size", "io_size", "number_ios", "loops", "time_based", "rw", "bs", "bsrange", "bssplit", "offset",
    "rate", "rate_iops", "fsync", "fdatasync", "sync_file_range", "nrfiles",
];

impl Lowering<'_> {
    /// The trace that a clone replays, if its job has one that can be replayed.
    pub(super) fn surveyed_trace(&mut self, clone: JobClone<'_>) -> Option<SurveyedTrace> {
        let options = &clone.job.options;
        let written = options.replay.read_iolog.as_ref()?;
        let names = match &options.replay.merge_blktrace_file {
            Some(merged) => vec![merged.clone()],
            None => values::split_names(written),
        };
        let name = names.get(clone.index as usize % names.len().max(1))?;
        if let Some((_, trace)) = self
            .traces
            .iter()
            .find(|((known_name, replay), _)| known_name == name && *replay == options.replay)
        {
            return Some(trace.clone());
        }
        match self.survey_trace(clone.job, name) {
            Ok(trace) => {
                let key = (name.clone(), options.replay.clone());
                self.traces.push((key, trace.clone()));
                Some(trace)
            }
            Err(why) => {
                self.push_error(why);
                None
            }
        }
    }

    fn survey_trace(&mut self, job: &Job, name: &str) -> Result<SurveyedTrace, String> {
        let refusal = |why: String| format!("fio: read_iolog: {name}: {why}");
        let facts = self.env.disk.find(name).filter(|_| name != "-");
        if facts.is_some_and(|facts| facts.kind != PathKind::File) {
            return Err(refusal(
                "not a regular file: save the trace to a file, or pass it on standard input (`-`)".into(),
            ));
        }
        let TraceFile { path, mut bytes } = self
            .env
            .disk
            .trace(name)
            .map_err(|why| format!("fopen read iolog: {why} ({name})"))?;
        let mut start = Vec::new();
        let read = bytes.by_ref().take(4).read_to_end(&mut start);
        read.map_err(|error| refusal(error.to_string()))?;
        let form = match blktrace::recognise(&start) {
            Some(swapped) => TraceForm::Blktrace { swapped },
            None => TraceForm::FioText,
        };
        let mut replay = lower_replay(&job.options, path, form)?;
        let trace = Cursor::new(start).chain(bytes);
        let mut survey = Survey::read(trace, &replay).map_err(|error| refusal(error_text(&error)))?;
        if self.jobs.flags.readonly {
            self.skip_writes(job, &mut replay, &mut survey);
        }
        if survey.moves.iter().all(|(_, moves)| moves.is_none()) && survey.waits == 0 {
            return Err(refusal("the trace has no operations".into()));
        }
        let notes = std::mem::take(&mut survey.notes);
        self.stderr.extend(notes);
        replay.files = survey.files.clone();
        replay.flushes = survey.flushes > 0;
        Ok(SurveyedTrace { replay, survey })
    }

    /// With `--readonly`, writes and trims of a trace are skipped and reported.
    fn skip_writes(&mut self, job: &Job, replay: &mut Replay, survey: &mut Survey) {
        (replay.skip.writes, replay.skip.trims) = (true, true);
        survey.moves.trim = None;
        survey.trimmed.clear();
        if let Some(writes) = survey.moves.write.take() {
            self.stderr.push(format!(
                "fio: <{}> skips replay of {} writes due to read-only",
                job.name(),
                writes.operations
            ));
        }
    }

    /// The files of a trace.
    pub(super) fn files_of_trace(
        &mut self,
        clone: JobClone<'_>,
        trace: &SurveyedTrace,
        place: (usize, usize),
    ) -> Files {
        let options = &clone.job.options;
        self.area = None;
        let mut ids = Vec::new();
        for (number, name) in trace.replay.files.iter().enumerate() {
            let path = match blktrace::device_numbers(name) {
                Some((major, minor)) if is_binary(&trace.replay) && !trace.replay.redirected => {
                    let device = self.env.disk.device(major, minor);
                    if device.is_none() {
                        let message = format!(
                            "fio: could not find device {major}/{minor}; set \
                                replay_redirect to another device"
                        );
                        self.push_error(message);
                    }
                    device.unwrap_or_else(|| name.clone())
                }
                _ => name.clone(),
            };
            let diskless = is_diskless(options);
            let trims = trace.survey.trimmed.contains(&(number as u32));
            let prepare = match trims && !diskless && self.is_untrimmable(options, self.env.disk.find(&path)) {
                true => {
                    self.unusable.push(trim_error(clone, place));
                    Prepare::Existing
                }
                false => self.prepare_for_trace(options, trace, &path),
            };
            ids.push(self.targets.add(Target {
                path,
                kind: match diskless {
                    true => TargetKind::Nothing {
                        size: Bytes(NOMINAL_SIZE),
                    },
                    false => TargetKind::Path,
                },
                prepare: if diskless { Prepare::Existing } else { prepare },
                at_end: match options.files.unlink || options.files.unlink_each_loop {
                    true => TargetCleanup::Remove,
                    false => TargetCleanup::Keep,
                },
            }));
        }
        Files {
            target: match ids[..] {
                [target] => StreamTarget::One { target },
                _ => StreamTarget::Files {
                    open_at_once: ids.len().max(1) as u32,
                    service: model::plan::FileService::RoundRobin,
                    operations: 1,
                    targets: ids,
                },
            },
            region: Region::default(),
        }
    }

    /// The preparation of a trace's file: nothing is laid out; a missing file is created if the
    /// trace writes it.
    fn prepare_for_trace(&self, options: &JobOptions, trace: &SurveyedTrace, path: &str) -> Prepare {
        let missing = self.env.disk.find(path).is_none();
        if !missing || !trace.changes_data() {
            return Prepare::Existing;
        }
        Prepare::LayOut {
            size: Bytes(0),
            allocate: AllocateMode::None,
            content: None,
            block: 4096,
            extend: true,
            flush: false,
            on_open: false,
            may_create: options.files.allow_file_create,
        }
    }

    /// Notes the options that a trace overrides, as in fio.
    pub(super) fn note_overridden_options(&mut self, job: &Job) {
        let is_given = |name: &&str| job.given.iter().any(|(is_given, _)| is_given == name);
        let overridden: Vec<&str> = OVERRIDDEN_BY_TRACE.into_iter().filter(is_given).collect();
        if job.options.replay.read_iolog.is_some() && !overridden.is_empty() {
            self.notes.push(format!(
                "{}: the trace decides the I/O, so these options have no effect: {}",
                job.name(),
                overridden.join(", ")
            ));
        }
    }
}

impl SurveyedTrace {
    fn changes_data(&self) -> bool {
        self.survey.moves.write.is_some() || self.survey.moves.trim.is_some()
    }

    pub(super) fn mix(&self) -> Mix {
        let moves = &self.survey.moves;
        Mix::Traced {
            reads: moves.read.is_some(),
            writes: moves.write.is_some(),
            trims: moves.trim.is_some(),
        }
    }

    /// The lengths in the trace. Positions come from the replay.
    pub(super) fn pattern(&self) -> Pattern {
        let sizes_of = |direction: Direction| {
            let moves = self.survey.moves[direction];
            let (low, high) = moves.map_or((4096, 4096), |moves| (moves.shortest, moves.longest));
            match low == high {
                true => BlockSizes::Fixed {
                    size: Bytes(u64::from(low)),
                },
                false => BlockSizes::Range {
                    low: Bytes(u64::from(low)),
                    high: Bytes(u64::from(high)),
                    unaligned: true,
                },
            }
        };
        Pattern {
            access: vec![Access::Sequential(Sequential::default())],
            sizes: PerDirection::from_fn(sizes_of),
            whole_blocks: false,
            ..Pattern::default()
        }
    }

    /// The depth of the trace, unless the job sets one.
    pub(super) fn depth(&self, options: &JobOptions, is_set: bool) -> u32 {
        match is_binary(&self.replay) && !is_set && queue::is_asynchronous(options) {
            true => self.survey.depth,
            false => queue::depth(options),
        }
    }

    /// Replays of blktrace bypass the cache by default, because blktrace records requests below it.
    pub(super) fn is_direct(&self, options: &JobOptions, is_set: bool) -> bool {
        match is_binary(&self.replay) && !is_set {
            true => pattern::shortest_block(options).is_multiple_of(4096),
            false => options.queue.direct,
        }
    }

    /// Flushes that are not in the trace.
    pub(super) fn sync(&self, options: &JobOptions) -> SyncRule {
        if !self.changes_data() {
            return SyncRule::default();
        }
        SyncRule {
            at_end: options.queue.end_fsync,
            on_close: options.queue.fsync_on_close,
            file_system_at_end: options.queue.end_syncfs,
            ..SyncRule::default()
        }
    }
}

/// A trace is replayed once.
pub(super) fn stop(options: &JobOptions) -> Stop {
    Stop {
        after_ns: Some(from_micros(options.job.runtime)).filter(|time| time.0 > 0),
        passes: Some(1),
        counts_all: true,
        ..Stop::default()
    }
}

/// Rejects options that contradict a trace.
pub(super) fn refuse(job: &Job, errors: &mut Vec<crate::Diagnostic>) {
    let options = &job.options;
    if options.replay.read_iolog.is_none() {
        return;
    }
    let mut refuse = |what: &str| push_error(errors, format!("fio: {what}"));
    if options.verify.verify != crate::fio::options::verify::Checksum::Off {
        refuse("verify with read_iolog is not supported by this program; omit one of them");
    }
    if !options.files.directory.is_empty() {
        refuse("directory with read_iolog: the trace contains full paths; omit directory");
    }
    if options.job.create_only {
        refuse("create_only with read_iolog is not supported by this program; omit one of them");
    }
    if options.engine.cmdprio_percentage != PerDirection::default() || options.engine.cmdprio_bssplit.is_some() {
        refuse("cmdprio_percentage or cmdprio_bssplit with read_iolog is not supported by this program");
    }
}

fn is_binary(replay: &Replay) -> bool {
    matches!(replay.form, TraceForm::Blktrace { .. })
}

fn lower_replay(options: &JobOptions, trace: String, form: TraceForm) -> Result<Replay, String> {
    let options = &options.replay;
    let small = |name: &str, value: i64| {
        u32::try_from(value).map_err(|_| {
            format!(
                "fio: {name}: {value} is out of range; use a number from 0 to {}",
                u32::MAX
            )
        })
    };
    let skips = |kind: Skip| options.replay_skip.contains(&kind);
    Ok(Replay {
        trace,
        form,
        files: options.replay_redirect.iter().cloned().collect(),
        redirected: options.replay_redirect.is_some(),
        flushes: false,
        without_times: options.replay_no_stall,
        speed_percent: small("replay_time_scale", options.replay_time_scale)?,
        scale: small("replay_scale", options.replay_scale)?.max(1),
        align: small("replay_align", options.replay_align)?,
        skip: TraceSkip {
            reads: skips(Skip::Reads),
            writes: skips(Skip::Writes),
            trims: skips(Skip::Trims),
            flushes: skips(Skip::Syncs),
        },
    })
}

fn error_text(error: &TraceError) -> String {
    match error {
        TraceError::NotOpen { .. } | TraceError::Unknown { .. } => {
            format!("{error}; a trace must add and open a file before it uses it")
        }
        _ => error.to_string(),
    }
}
