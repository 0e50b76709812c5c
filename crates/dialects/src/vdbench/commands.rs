//! `startcmd=` and `endcmd=`: commands that a parameter file runs.

use super::blocks::Block;
use crate::Diagnostic;

/// The destination of a command's output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CommandOutput {
    /// `cons`: the console and the log file.
    Console,
    /// `sum`: the summary.
    Summary,
    /// `log`: the log file.
    #[default]
    Log,
}

/// A command of a parameter file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserCommand {
    /// The text for the shell.
    pub text: String,
    /// The destination of its output.
    pub output: CommandOutput,
    /// `master`: it runs on this machine only. By default, it runs on each host.
    pub on_master: bool,
}

/// The commands around a run, or around all runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commands {
    /// `startcmd=`.
    pub start: Option<UserCommand>,
    /// `endcmd=`.
    pub end: Option<UserCommand>,
}

impl Commands {
    /// Reads the commands of a definition.
    pub(super) fn read(block: &Block) -> Result<Commands, Diagnostic> {
        Ok(Commands {
            start: parse_command(block, "startcmd")?,
            end: parse_command(block, "endcmd")?,
        })
    }

    /// The commands, each with the name of its parameter.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, &UserCommand)> {
        let commands = [("startcmd", &self.start), ("endcmd", &self.end)];
        commands
            .into_iter()
            .filter_map(|(name, command)| Some((name, command.as_ref()?)))
    }
}

fn parse_command(block: &Block, name: &str) -> Result<Option<UserCommand>, Diagnostic> {
    let words = block.expanded_values(name);
    let Some((text, words)) = words.split_first() else {
        return Ok(None);
    };
    let mut command = UserCommand {
        text: text.clone(),
        ..UserCommand::default()
    };
    for word in words {
        match word.as_str() {
            "cons" => command.output = CommandOutput::Console,
            "sum" => command.output = CommandOutput::Summary,
            "log" => command.output = CommandOutput::Log,
            "master" => command.on_master = true,
            "slave" => command.on_master = false,
            _ => {
                return Err(block
                    .invalid(name, word)
                    .help("quote the command; after it, give `cons`, `sum` or `log`, and `master` or `slave`"));
            }
        }
    }
    Ok(Some(command))
}
