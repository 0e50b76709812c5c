//! Runs that create and remove trees: `format=` before a run, and `-c` before all runs.

use super::definitions::Parameters;
use super::file_runs::{FileRun, operation};
use super::files::{FormatWords, Fsd, Fwd, TreeFormat};
use super::runs::{Run, RunRate};

/// All runs, each preceded by those that create or remove its trees.
pub fn with_tree_formats(runs: &[Run], parameters: &Parameters) -> Vec<Run> {
    let mut all = Vec::new();
    if parameters.cleans {
        all.extend(clean(runs, &parameters.format_fwd));
    }
    for run in runs {
        all.extend(run.tree_format(&parameters.format_fwd));
        if !run.files.as_ref().is_some_and(|files| files.format.only) {
            all.push(run.clone());
        }
    }
    all
}

/// The run of `-c`, which removes all trees; `None` without trees.
fn clean(runs: &[Run], format: &Fwd) -> Option<Run> {
    let mut fsds: Vec<Fsd> = Vec::new();
    for fsd in runs
        .iter()
        .filter_map(|run| run.files.as_ref())
        .flat_map(|files| &files.fsds)
    {
        if !fsds.iter().any(|known| known.name == fsd.name) {
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
    /// The run that creates the trees of this one before it.
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
            }),
            course: Vec::new(),
            ..self.clone()
        }
    }
}
