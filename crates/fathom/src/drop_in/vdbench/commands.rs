//! Runs the commands of `startcmd=` and `endcmd=`, only with the user's permission.

use std::io::{BufRead, BufReader, Seek};
use std::process::{Command, Stdio};

use dialects::vdbench::{CommandOutput, Parameters, Run, UserCommand};
use engine::sys::signals::with_stop_signals_unblocked;

use super::output::time;
use super::{Drive, Failure};
use crate::permissions::{ALLOW_PROGRAMS_VARIABLE, are_programs_allowed};

/// Refuses the commands of a file without permission.
pub(super) fn check_commands(runs: &[Run], parameters: &Parameters) -> Result<(), Failure> {
    let of_runs = runs.iter().map(|run| &run.commands);
    let mut commands = std::iter::once(&parameters.general.commands)
        .chain(of_runs)
        .flat_map(|commands| commands.named());
    match commands.next().filter(|_| !are_programs_allowed()) {
        None => Ok(()),
        Some((name, command)) => {
            let text = format!(
                "`{name}={}` runs a command of the parameter file with the rights of this user",
                command.text
            );
            Err(Failure::with_help(
                text,
                &format!("set {ALLOW_PROGRAMS_VARIABLE}=1 to allow it"),
            ))
        }
    }
}

impl Drive<'_> {
    /// Runs `startcmd=`. A command that fails ends everything, because the runs depend on it.
    pub(super) fn run_start_command(&mut self, command: Option<&UserCommand>) -> Result<(), Failure> {
        match self.run_user_command(command)? {
            None => Ok(()),
            Some(failure) => Err(format!("startcmd= failed: {failure}").into()),
        }
    }

    /// Runs `endcmd=`. The results are complete, so a failure is only reported.
    pub(super) fn run_end_command(&mut self, command: Option<&UserCommand>) -> Result<(), Failure> {
        if let Some(failure) = self.run_user_command(command)? {
            self.output.print_stamped(&format!("endcmd= failed: {failure}"));
        }
        Ok(())
    }

    /// Runs a command, and prints its output. Returns how it failed.
    fn run_user_command(&mut self, command: Option<&UserCommand>) -> Result<Option<String>, Failure> {
        let Some(UserCommand {
            text,
            output,
            on_master,
        }) = command
        else {
            return Ok(None);
        };
        let prefix = match on_master {
            true => String::new(),
            false => format!("{}-0: ", self.style.host(None)),
        };
        let failed = |error: std::io::Error| Failure::from(format!("cannot run `{text}`: {error}"));
        // Unlike a pipe, a file does not wait for programs that the command leaves running.
        let mut file = tempfile::tempfile().map_err(failed)?;
        let mut shell = Command::new("sh");
        // Commands name the output directory `$output` or `!output`.
        shell
            .args(["-c", &text.replace("!output", "$output")])
            .env("output", &self.output.folder)
            .stdin(Stdio::null())
            .stdout(file.try_clone().map_err(failed)?)
            .stderr(file.try_clone().map_err(failed)?);
        let status = with_stop_signals_unblocked(|| shell.status()).map_err(failed)?;
        file.rewind().map_err(failed)?;
        for line in BufReader::new(file).split(b'\n').map_while(Result::ok) {
            let line = format!("{prefix}Cmd: {}", String::from_utf8_lossy(&line).trim_end_matches('\r'));
            match output {
                CommandOutput::Console => self.output.print_stamped(&line),
                CommandOutput::Summary => self.output.write("summary", &format!("{} {line}", time())),
                CommandOutput::Log => self.output.write("logfile", &format!("{} {line}", time())),
            }
        }
        Ok((!status.success()).then(|| format!("`{text}`: {status}")))
    }
}
