//! The order of runs: lay-outs, loops and curves.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, Instant};

use dialects::vdbench::{Format, Parameters, Run, RunRate, format_plan};

use super::Drive;
use super::failure::Failure;
use super::monitor::Request;

impl Drive<'_> {
    /// Executes the runs after a restart, and all runs as often as requested.
    pub(super) fn run_all(
        &mut self,
        recovery_runs: &[Run],
        (format_run, formats): (Option<&Run>, &[Format]),
        runs: &[Run],
        parameters: &Parameters,
    ) -> Result<(), Failure> {
        for run in recovery_runs {
            self.read_known_blocks(run, parameters)?;
        }
        if !parameters.recovers_only() {
            let commands = &parameters.general.commands;
            self.run_start_command(commands.start.as_ref())?;
            if format_run.is_some() {
                self.announce_lay_out(formats, parameters);
            }
            self.repeat(runs, (format_run, formats), parameters)?;
            self.run_end_command(commands.end.as_ref())?;
        }
        self.end_validation(parameters)
    }

    /// Executes all runs as often as requested.
    fn repeat(
        &mut self,
        runs: &[Run],
        (format_run, formats): (Option<&Run>, &[Format]),
        parameters: &Parameters,
    ) -> Result<(), Failure> {
        let start = Instant::now();
        let limit = match (self.command.repeat, parameters.general.repeat_seconds) {
            (Some(limit), _) => Some(limit),
            (None, Some(seconds)) => Some(Some(seconds)),
            (None, None) => None,
        };
        let repeats = parameters.general.repeats;
        let mut round = 1;
        loop {
            if limit.is_some() || repeats.is_some() {
                self.output.print_stamped(&format!("Starting loop {round}"));
            }
            // As in Vdbench, each loop begins with the lay-out.
            if let Some(run) = format_run {
                self.lay_out_files(run, formats, parameters)?;
            }
            for run in runs {
                if !self.run_with_curve(run, parameters)? {
                    return Ok(());
                }
            }
            let continues = match limit {
                Some(None) => true,
                Some(Some(seconds)) => start.elapsed() < Duration::from_secs(seconds),
                None => round < repeats.unwrap_or(1),
            };
            if !continues {
                if limit.is_none() && repeats.is_some() {
                    self.print_end_of_loops(round);
                }
                return Ok(());
            }
            round += 1;
        }
    }

    fn print_end_of_loops(&mut self, count: u64) {
        let text = format!("* Terminating loop run after {count} loops *");
        let stars = "*".repeat(text.len());
        for line in ["*", &stars, &text, &stars, "*"] {
            self.output.print_stamped(line);
        }
    }

    /// Executes a run and the points of its curve. Returns false if no other run may follow.
    fn run_with_curve(&mut self, run: &Run, parameters: &Parameters) -> Result<bool, Failure> {
        let mut run = run.clone();
        if let RunRate::OfLast(percent) = run.rate {
            run.rate = RunRate::Number((self.last_rate * percent / 100.0).round().max(1.0));
        }
        self.run_start_command(run.commands.start.as_ref())?;
        let base = self.run(&run, parameters)?;
        if base.request == Some(Request::EndTest) {
            return Ok(false);
        }
        for percent in &run.points {
            let point = run.point(*percent, base.rate);
            let outcome = self.run(&point, parameters)?;
            if let Some(stop) = run.stopcurve.filter(|stop| outcome.response_ms > *stop) {
                self.output.print_stamped(&format!(
                    "Vdbench terminating because of requested 'stopcurve={stop:.3}' with observed response time of {:.3} ms",
                    outcome.response_ms
                ));
                return Ok(false);
            }
            if outcome.request == Some(Request::EndTest) {
                return Ok(false);
            }
        }
        self.run_end_command(run.commands.end.as_ref())?;
        if run.pause > 0 {
            self.output.print_stamped(&format!(
                "Waiting {} seconds; requested by 'pause' parameter",
                run.pause
            ));
            self.sleep(Duration::from_secs(run.pause))?;
        }
        Ok(true)
    }

    fn announce_lay_out(&mut self, formats: &[Format], parameters: &Parameters) {
        self.output.print_stamped(
            "Vdbench will attempt to expand a disk file if the requested file size is a multiple of 1mb",
        );
        for format in formats {
            let lun = &format.sd.lun;
            self.output.print_stamped(&match parameters.general.format {
                Some(true) => format!("'formatsds=yes' is causing {lun} to be (re)formatted."),
                _ => format!("lun={lun} does not exist or is too small. host=localhost"),
            });
        }
    }

    /// Lays out files. After a failure, removes new files and restores the length of the others, so
    /// that the files do not look complete.
    fn lay_out_files(&mut self, run: &Run, formats: &[Format], parameters: &Parameters) -> Result<(), Failure> {
        let is_new = |format: &&Format| !Path::new(&format.sd.lun).exists();
        let new: Vec<&Format> = formats.iter().filter(is_new).collect();
        let done = self.execute(run, format_plan(formats, parameters, self.seed), parameters);
        if done.is_err() {
            for format in formats {
                if parameters.general.format != Some(true) {
                    self.forget_from(&format.sd, format.present, parameters);
                }
                if new.contains(&format) {
                    let _ = fs::remove_file(&format.sd.lun);
                    continue;
                }
                let grown = fs::metadata(&format.sd.lun).is_ok_and(|metadata| metadata.len() > format.present);
                let shortened = || {
                    File::options()
                        .write(true)
                        .open(&format.sd.lun)?
                        .set_len(format.present)
                };
                if grown && parameters.general.format != Some(true) {
                    let _ = shortened();
                }
            }
        }
        done.map(|_| ())
    }
}
