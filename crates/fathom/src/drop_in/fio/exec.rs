//! Runs commands before and after a job (`exec_prerun`, `exec_postrun`), only with the user's
//! permission.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use dialects::fio::{Job, Jobs};
use engine::sys::signals::with_stop_signals_unblocked;
use model::plan::Plan;

use super::output::Output;
use crate::permissions::{ALLOW_PROGRAMS_VARIABLE, are_programs_allowed};

/// The commands of a run, by step and number of the job in the plan.
#[derive(Debug, Default)]
pub(super) struct Commands {
    list: Vec<JobCommands>,
    /// Jobs of later steps that did not begin, because the command before them failed.
    cancelled: Vec<(usize, usize)>,
}

#[derive(Debug)]
struct JobCommands {
    job: (usize, usize),
    name: String,
    clones: usize,
    before: Option<String>,
    after: Option<String>,
}

impl Commands {
    /// Collects the commands of these jobs.
    ///
    /// # Errors
    /// The line that refuses the commands.
    pub(super) fn from_jobs(jobs: &Jobs, plan: &Plan) -> Result<Commands, String> {
        let runs_program = |job: &&Job| job.options.queue.ioengine == "exec" && job.options.engine.program.is_some();
        if let Some(job) = jobs.jobs.iter().find(runs_program).filter(|_| !are_programs_allowed()) {
            let what = format!("{}: ioengine=exec runs a program", job.name());
            return Err(refusal_line(&what));
        }
        let job_commands = |(place, job): ((usize, usize), &Job)| JobCommands {
            job: place,
            name: job.name().to_owned(),
            clones: job.options.job.numjobs.max(1) as usize,
            before: job.options.job.exec_prerun.clone(),
            after: job.options.job.exec_postrun.clone(),
        };
        let places = plan.jobs().map(|(place, _)| place);
        let mut list: Vec<JobCommands> = places.zip(&jobs.jobs).map(job_commands).collect();
        list.retain(|commands| commands.before.is_some() || commands.after.is_some());
        match list.first().filter(|_| !are_programs_allowed()) {
            Some(job) => {
                let option = job.before.as_ref().map_or("exec_postrun", |_| "exec_prerun");
                let what = format!("{}: {option} runs a command of the job file", job.name);
                Err(refusal_line(&what))
            }
            None => Ok(Commands {
                list,
                cancelled: Vec::new(),
            }),
        }
    }

    pub(super) fn output_files(&self) -> BTreeSet<PathBuf> {
        let of_job = |commands: &JobCommands| {
            let before = commands.before.as_ref().map(|_| commands.output_file("prerun"));
            let after = commands.after.as_ref().map(|_| commands.output_file("postrun"));
            before.into_iter().chain(after)
        };
        self.list.iter().flat_map(of_job).map(PathBuf::from).collect()
    }

    /// Runs the commands before the jobs of a later step while its workers wait. Returns the jobs
    /// that must not begin.
    pub(super) fn run_before_step(&mut self, step: usize, output: &mut Output) -> Vec<(usize, usize)> {
        let failed = self.run_prerun(step, output);
        self.cancelled.extend(&failed);
        failed
    }

    /// Runs the commands before the jobs of a step. Returns the numbers of jobs that must not run.
    pub(super) fn run_prerun(&self, step: usize, output: &mut Output) -> Vec<(usize, usize)> {
        let step_commands = self.list.iter().filter(|commands| commands.job.0 == step);
        let failed = step_commands.filter(|command| !command.run(command.before.as_deref(), "prerun", output));
        failed.map(|commands| commands.job).collect()
    }

    /// Runs the command after a job, if the job began.
    pub(super) fn run_postrun(&self, job: (usize, usize), output: &mut Output) {
        if self.cancelled.contains(&job) {
            return;
        }
        for commands in self.list.iter().filter(|commands| commands.job == job) {
            commands.run(commands.after.as_deref(), "postrun", output);
        }
    }
}

/// Returns the line that refuses a command or a program.
pub(super) fn refusal_line(what: &str) -> String {
    format!("fio: {what} with the rights of this user; set {ALLOW_PROGRAMS_VARIABLE}=1 to allow it")
}

impl JobCommands {
    fn output_file(&self, when: &str) -> String {
        format!("{}.{when}.txt", self.name)
    }

    /// Runs a command once for each clone, as fio does. Returns false if a run fails.
    fn run(&self, command: Option<&str>, when: &str, output: &mut Output) -> bool {
        let Some(command) = command else { return true };
        (0..self.clones).all(|_| {
            let file = self.output_file(when);
            output.print_line(&format!("{} : Saving output of {when} in {file}", self.name));
            match run_shell(command, &file) {
                Ok(success) => success,
                Err(error) => {
                    output.print_problem(&format!("fio: exec of cmd <{command}> failed: {error}"));
                    false
                }
            }
        })
    }
}

/// Runs a command with its output in a file. Returns true on success.
fn run_shell(command: &str, file: &str) -> std::io::Result<bool> {
    let file = File::create(file)?;
    let mut shell = Command::new("sh");
    shell
        .args(["-c", command])
        .stdin(Stdio::null())
        .stderr(file.try_clone()?)
        .stdout(file);
    Ok(with_stop_signals_unblocked(|| shell.status())?.success())
}
