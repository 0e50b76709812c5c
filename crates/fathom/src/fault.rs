//! Problems as shown to users: what, where, why, and what to do.

use std::io::{self, Write};
use std::path::Path;

use archive::ArchiveError;
use dialects::Diagnostic;
use engine::sys;
use model::plan::PlanError;
use model::visible;
use run::RunError;
use run::hosts::HostError;
use run::targets::TargetError;

use crate::exit::Exit;

/// A problem with its place, reasons and help.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fault {
    /// The problem, in a sentence.
    pub what: String,
    /// The place of the problem: an option, a line of a file, a host.
    pub at: Option<String>,
    /// The reasons, one per line.
    pub why: Vec<String>,
    /// What the user can do.
    pub help: Option<String>,
}

/// The problems of a command, and its exit code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faults {
    list: Vec<Fault>,
    exit: Exit,
}

impl Fault {
    /// Creates a fault without place, reasons and help.
    pub fn new(what: impl Into<String>) -> Fault {
        Fault {
            what: what.into(),
            ..Fault::default()
        }
    }

    pub fn help(self, help: impl Into<String>) -> Fault {
        Fault {
            help: Some(help.into()),
            ..self
        }
    }

    pub fn at(self, at: impl Into<String>) -> Fault {
        Fault {
            at: Some(at.into()),
            ..self
        }
    }

    /// Converts an error in the command line, with help.
    pub fn into_usage(self, help: impl Into<String>) -> Faults {
        Faults::usage(self.help(help))
    }

    /// Converts the reason why a command is refused, with help.
    pub fn into_refusal(self, help: impl Into<String>) -> Faults {
        Faults::refused(self.help(help))
    }

    /// Creates the fault of a user's file that cannot be read or written.
    pub fn for_file(verb: &str, path: &Path, error: &io::Error) -> Fault {
        let why = error
            .raw_os_error()
            .map_or_else(|| error.to_string(), engine::os_error_name);
        let help = match error.kind() {
            io::ErrorKind::NotFound => Some("check the spelling, and that its directory exists".to_owned()),
            io::ErrorKind::PermissionDenied => Some("choose a path that this user may use, or run as root".into()),
            io::ErrorKind::AlreadyExists => Some("choose another name, or remove it".into()),
            io::ErrorKind::StorageFull => Some("free some space, or choose another path".into()),
            _ => None,
        };
        Fault {
            what: format!("cannot {verb} {}: {why}", path.display()),
            help,
            ..Fault::default()
        }
    }
}

impl Faults {
    pub fn one(fault: Fault, exit: Exit) -> Faults {
        Faults {
            list: vec![fault],
            exit,
        }
    }

    pub fn many(list: Vec<Fault>, exit: Exit) -> Faults {
        Faults { list, exit }
    }

    /// Wraps an error in the command line.
    pub fn usage(fault: Fault) -> Faults {
        Faults::one(fault, Exit::Usage)
    }

    /// Wraps the reason why a command is refused.
    pub fn refused(fault: Fault) -> Faults {
        Faults::one(fault, Exit::Refused)
    }

    /// Creates the fault of a user's file that cannot be read.
    pub fn unreadable(path: &Path, error: &io::Error) -> Faults {
        Faults::refused(Fault::for_file("read", path, error))
    }

    pub fn with(self, exit: Exit) -> Faults {
        Faults { exit, ..self }
    }

    /// Returns the first fault as a sentence.
    pub fn first(&self) -> String {
        self.list.first().map(|fault| fault.what.clone()).unwrap_or_default()
    }

    pub fn into_first(self) -> Fault {
        self.list.into_iter().next().unwrap_or_default()
    }

    pub fn exit(&self) -> Exit {
        self.exit
    }

    pub fn print(&self, colour: bool) {
        // If stderr is closed, the lines are lost.
        let _ = io::stderr().write_all(self.text(colour).as_bytes());
    }

    pub fn text(&self, colour: bool) -> String {
        let (bold, reset) = if colour { ("\x1b[1;31m", "\x1b[0m") } else { ("", "") };
        let mut text = String::new();
        for fault in &self.list {
            text += &format!("{bold}error{reset}: {}\n", visible(&fault.what));
            if let Some(at) = &fault.at {
                text += &format!("  --> {}\n", visible(at));
            }
            for why in &fault.why {
                text += &format!("  why: {}\n", visible(why));
            }
            if let Some(help) = &fault.help {
                text += &format!("  help: {}\n", visible(help));
            }
        }
        text
    }
}

impl From<Vec<Diagnostic>> for Faults {
    fn from(list: Vec<Diagnostic>) -> Faults {
        let fault = |problem: Diagnostic| Fault {
            at: problem.at.map(|place| place.to_string()),
            help: problem.help,
            ..Fault::new(problem.what)
        };
        Faults {
            list: list.into_iter().map(fault).collect(),
            exit: Exit::Usage,
        }
    }
}

impl From<Diagnostic> for Faults {
    fn from(problem: Diagnostic) -> Faults {
        vec![problem].into()
    }
}

impl From<PlanError> for Faults {
    fn from(error: PlanError) -> Faults {
        RunError::Plan(error).into()
    }
}

impl From<Vec<TargetError>> for Faults {
    fn from(errors: Vec<TargetError>) -> Faults {
        let exit = match errors.iter().any(is_operation_failure) {
            true => Exit::Failed,
            false => Exit::Refused,
        };
        let fault = |error: &TargetError| Fault {
            help: error.help(),
            ..Fault::new(error.to_string())
        };
        Faults {
            list: errors.iter().map(fault).collect(),
            exit,
        }
    }
}

/// True if an operation failed while targets were prepared: the storage failed. A file that cannot
/// be created, or does not fit, is a refusal instead.
fn is_operation_failure(error: &TargetError) -> bool {
    let TargetError::Fill(error) = error else { return false };
    error.errno() == Some(sys::file::IO_ERROR)
}

impl From<RunError> for Faults {
    fn from(error: RunError) -> Faults {
        match error {
            RunError::Plan(error) => Faults {
                list: error
                    .0
                    .into_iter()
                    .map(|fault| Fault::new(fault.what).at(fault.at))
                    .collect(),
                exit: Exit::Usage,
            },
            RunError::Targets(errors) => errors.into(),
            RunError::Refused(refusals) => Faults {
                list: refusals
                    .into_iter()
                    .map(|refusal| Fault {
                        what: format!("{} must not be {}", refusal.path.display(), refusal.intent),
                        at: None,
                        why: refusal.reasons.iter().map(ToString::to_string).collect(),
                        help: Some(refusal.help),
                    })
                    .collect(),
                exit: Exit::Refused,
            },
            RunError::Setup(faults) => {
                // All workers of a job fail in the same way, so the fault is reported once.
                let mut list: Vec<Fault> = Vec::new();
                for fault in faults {
                    let fault = Fault {
                        help: fault.why.help(),
                        ..Fault::new(fault.why.to_string())
                    };
                    if !list.contains(&fault) {
                        list.push(fault);
                    }
                }
                Faults {
                    list,
                    exit: Exit::Refused,
                }
            }
            RunError::Hosts(troubles) => host_faults(troubles, Exit::Refused),
            RunError::HostsLost(troubles) => host_faults(troubles, Exit::Partial),
            RunError::Interrupted => {
                let fault = Fault::new(
                    "interrupted before the measurement; files that were being \
                    prepared are removed",
                );
                Faults::one(fault, Exit::interrupted())
            }
        }
    }
}

fn host_faults(troubles: Vec<HostError>, exit: Exit) -> Faults {
    let fault = |trouble: HostError| Fault::new(trouble.why).at(trouble.host);
    Faults::many(troubles.into_iter().map(fault).collect(), exit)
}

impl From<ArchiveError> for Faults {
    fn from(error: ArchiveError) -> Faults {
        // An unreadable file that the user named is not an internal error.
        match &error {
            ArchiveError::System {
                verb: "read",
                path,
                source,
            } => Faults::unreadable(path, source),
            ArchiveError::System { verb, path, source } => {
                Faults::one(Fault::for_file(verb, path, source), Exit::Internal)
            }
            ArchiveError::Version { .. } => Faults::refused(Fault::new(error.to_string())),
            ArchiveError::Foreign { .. } | ArchiveError::NotStudy { .. } => {
                Faults::refused(Fault::new(error.to_string()).help(
                    "name a file of `--save FILE`, or a history entry (`history:12`; \
                    `fathom history` lists them)",
                ))
            }
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use model::Bytes;
    use run::targets::FillError;

    use super::*;

    fn exit(errno: i32) -> Exit {
        let error = FillError::File {
            action: "cannot create",
            path: "/mnt/fathom.tmp".into(),
            errno: Some(errno),
            written: Bytes(0),
        };
        Faults::from(vec![TargetError::Fill(error)]).exit()
    }

    /// Exit code 3 is documented for tests that cannot begin.
    #[test]
    fn a_file_that_cannot_be_created_refuses_the_test() {
        let (eio, eacces, enotdir, emfile, enospc, erofs, enametoolong) = (5, 13, 20, 24, 28, 30, 36);
        for errno in [eacces, enotdir, emfile, enospc, erofs, enametoolong] {
            assert_eq!(exit(errno), Exit::Refused, "{errno}");
        }
        assert_eq!(exit(eio), Exit::Failed);
    }
}
