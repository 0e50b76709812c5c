//! Runs over whole trees, in addition to those of the parameter file: `format=` before a run, `-c`
//! before all runs, and the reads after a restart of data validation.

use super::commands::Commands;
use super::definitions::{Parameters, Transfer};
use super::file_runs::{FileRun, operation};
use super::files::{FormatWords, Fsd, Fwd, TreeFormat};
use super::runs::{Run, RunRate};

/// True for a run that Vdbench adds to lay out the files of others.
pub fn is_layout(run: &str) -> bool {
    run.starts_with("SD_format") || run.starts_with("format_for_")
}

/// All runs, each preceded by the runs that create or remove its trees.
pub fn with_tree_formats(runs: &[Run], parameters: &Parameters) -> Vec<Run> {
    let mut expanded = Vec::new();
    if parameters.cleans {
        expanded.extend(clean(runs, &parameters.format_fwd));
    }
    for run in runs {
        expanded.extend(run.tree_format(&parameters.format_fwd));
        if !run.files.as_ref().is_some_and(|files| files.format.only) {
            expanded.push(run.clone());
        }
    }
    expanded
}

/// The run of `-c`, which removes all trees; `None` without trees.
fn clean(runs: &[Run], format: &Fwd) -> Option<Run> {
    let mut fsds: Vec<Fsd> = Vec::new();
    for fsd in runs
        .iter()
        .filter_map(|run| run.files.as_ref())
        .flat_map(|files| &files.fsds)
    {
        if !fsds
            .iter()
            .any(|formatted| (&formatted.name, &formatted.ranks) == (&fsd.name, &fsd.ranks))
        {
            fsds.push(fsd.clone());
        }
    }
    let run = runs.iter().find(|run| run.files.is_some())?;
    Some(Run {
        name: "clean".into(),
        ..run.on_trees(TreeFormat::Clean, &fsds, false, format)
    })
}

impl Run {
    /// The run that creates this run's trees, directly before it.
    pub fn tree_format(&self, format: &Fwd) -> Option<Run> {
        let files = self.files.as_ref()?;
        Some(self.on_trees(files.format.tree?, &files.fsds, files.format.limited, format))
    }

    /// A run that creates or removes trees.
    fn on_trees(&self, makes: TreeFormat, fsds: &[Fsd], is_limited: bool, format: &Fwd) -> Run {
        let operations: Vec<usize> = match makes {
            TreeFormat::All | TreeFormat::Restart => vec![operation("mkdir"), operation("create")],
            TreeFormat::Directories => vec![operation("mkdir")],
            TreeFormat::Clean => vec![operation("delete")],
        };
        let fwd = Fwd {
            fsds: fsds.iter().map(|fsd| fsd.name.clone()).collect(),
            // All threads create each tree, and those that write wait for directories.
            threads: format.threads * (fsds.len() * operations.len()) as u32,
            ..format.clone()
        };
        Run {
            name: format!("format_for_{}", self.name),
            rate: RunRate::Max,
            first_rate: RunRate::Max,
            elapsed: self.elapsed.filter(|_| is_limited),
            interval: 1,
            warmup: 0,
            pause: 0,
            maxdata: None,
            points: Vec::new(),
            files: Some(FileRun {
                format: FormatWords::default(),
                fwds: vec![(fwd, 100.0)],
                fsds: fsds.to_vec(),
                operations,
                makes: Some(makes),
                recovers: false,
            }),
            course: Vec::new(),
            commands: Commands::default(),
            ..self.clone()
        }
    }

    /// `journal_recovery` of trees: reads all key blocks that are known after a restart.
    pub fn tree_recovery(fsds: &[Fsd], parameters: &Parameters) -> Run {
        const MAX_BLOCK: u64 = 131_072;
        const NAME: &str = "journal_recovery";
        let length = |fsd: &Fsd| {
            let maps = parameters.validation.as_ref().map(|validation| &validation.maps);
            let length = maps.and_then(|maps| maps.get(&fsd.name)).map(|(_, length)| *length);
            length.filter(|length| *length > 0).unwrap_or(MAX_BLOCK)
        };
        let fwd = |fsd: &Fsd| Fwd {
            name: NAME.into(),
            fsds: vec![fsd.name.clone()],
            operation: operation("read"),
            once: true,
            threads: parameters.format_fwd.threads,
            xfersize: Transfer::One((MAX_BLOCK / length(fsd)).max(1) * length(fsd)),
            ..Fwd::default()
        };
        let complete_tree = |fsd: &Fsd| Fsd {
            working_set: None,
            ..fsd.clone()
        };
        let share = 100.0 / fsds.len().max(1) as f64;
        Run {
            workloads: Vec::new(),
            files: Some(FileRun {
                format: FormatWords::default(),
                fwds: fsds.iter().map(|fsd| (fwd(fsd), share)).collect(),
                fsds: fsds.iter().map(complete_tree).collect(),
                operations: Vec::new(),
                makes: None,
                recovers: true,
            }),
            ..Run::recovery(&[])
        }
    }
}
