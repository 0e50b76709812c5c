//! `fathom worker`: carries out, on this host, what another process tells it.

use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Command};
use run::hosts::{Duplex, Role};

use crate::address;
use crate::exit::{EXPLAINED, Exit};
use crate::fault::{Fault, Faults};
use crate::fleet::link::Listener;
use crate::fleet::{self, ready};
use crate::session::Session;

/// The command line.
pub fn command() -> Command {
    Command::new("worker")
        .about("Carries out on this host what `--hosts` of another one asks for")
        .long_about(
            "Carries out on this host what another process asks for: `fathom run --hosts` over there. ssh starts it by itself \
             (--stdio); elsewhere it listens, or connects to the one that leads. Both sides of a connection must have the same \
             text in FATHOM_TOKEN; what goes over it is neither secret nor sealed (docs/fleet.md tells how to go through ssh).\n\n\
             Who connects stands where SLURM_PROCID, JOB_COMPLETION_INDEX (Kubernetes) or a launcher of MPI says, or FATHOM_RANK (a \
             number from 0 on): %r and for-hosts then mean the same processes each time.\n\n\
             The guard of this host decides about its targets. Programs that a job names run only where FATHOM_ALLOW_EXEC=1 is \
             set here. What was measured is kept in FATHOM_JOURNAL (default: the user's data folder) until it has arrived.",
        )
        .after_help(format!(
            "Examples:\n  FATHOM_TOKEN=… fathom worker --listen 0.0.0.0:7745\n  \
             FATHOM_TOKEN=… fathom worker --connect head:7745\n\n{EXPLAINED}"
        ))
        .arg(
            Arg::new("listen")
                .long("listen")
                .value_name("ADDR")
                .help("Wait on this address for who leads, one after the other; a port alone is this machine only"),
        )
        .arg(
            Arg::new("connect")
                .long("connect")
                .value_name("HOST:PORT")
                .help("Connect to who leads, which listens (--hosts listen://ADDR*COUNT)"),
        )
        .arg(
            Arg::new("stdio")
                .long("stdio")
                .action(ArgAction::SetTrue)
                .help("Talk over standard input and output, as ssh connects them"),
        )
        .arg(
            Arg::new("once")
                .long("once")
                .requires("listen")
                .action(ArgAction::SetTrue)
                .help("End when the first that leads has left"),
        )
        .group(ArgGroup::new("how").args(["listen", "connect", "stdio"]).required(true))
}

/// Serves whoever leads.
pub fn carry_out(session: &Session, given: &ArgMatches) -> Result<Exit, Faults> {
    if given.get_flag("stdio") {
        let duplex = Duplex {
            reader: Box::new(std::io::stdin()),
            writer: Box::new(std::io::stdout()),
        };
        return Ok(fleet::serve_duplex(&session.process, duplex, None));
    }
    let token = fleet::token()?;
    if let Some(address) = given.get_one::<String>("connect") {
        let mut stream = fleet::arrive(address, session.process.interrupt_flag(), false).map_err(|error| {
            if let Some(faults) = fleet::interrupted(session.process.interrupt_flag()) {
                return faults;
            }
            let fault = Fault::new(format!("{address} cannot be reached: {error}")).at("--connect");
            Faults::one(
                fault.help("start the one that leads, with --hosts listen://ADDR*COUNT, and look at its firewall"),
                Exit::Refused,
            )
        })?;
        let duplex = ready(&mut stream, Role::Agent, &token).map_err(|error| {
            let fault = Fault::new(format!("{address} does not take this worker: {error}")).at("--connect");
            let fault = match error.kind() {
                std::io::ErrorKind::PermissionDenied => fault.help(fleet::SAME_TOKEN),
                _ => fault,
            };
            Faults::one(fault, Exit::Refused)
        })?;
        return Ok(fleet::serve_duplex(&session.process, duplex, fleet::number()));
    }
    let text = given.get_one::<String>("listen").expect("one of them is given");
    let (listener, bound) = address::bind("--listen", address::parse("--listen", text)?)?;
    eprintln!("fathom {} waits on {bound}; Ctrl-C ends it", env!("CARGO_PKG_VERSION"));
    Ok(fleet::serve_listener(
        &session.process,
        &Listener::Network(listener),
        &token,
        given.get_flag("once"),
    ))
}
