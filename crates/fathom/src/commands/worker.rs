//! `fathom worker`: carries out, on this host, what another process tells it.

use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Command};
use run::hosts::Duplex;

use crate::address;
use crate::exit::{EXPLAINED, Exit};
use crate::fault::{Fault, Faults};
use crate::fleet::link::Listener;
use crate::fleet::{self, ConnectError};
use crate::session::Session;

/// The command line.
pub fn command() -> Command {
    Command::new("worker")
        .about("Carries out on this host what `--hosts` of another one asks for")
        .long_about(
            "Carries out on this host what another process asks for: `fathom run --hosts` over there. ssh starts it by itself \
             (--stdio); elsewhere it listens, or connects to the one that leads. Both sides of a connection must have the same \
             text in FATHOM_TOKEN; what goes over it is sealed but not secret (docs/fleet.md tells how to go through ssh).\n\n\
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
        let duplex = Duplex::unsealed(Box::new(std::io::stdin()), Box::new(std::io::stdout()));
        return Ok(fleet::serve_duplex(&session.process, duplex, None));
    }
    let token = fleet::token()?;
    if let Some(address) = given.get_one::<String>("connect") {
        let interrupt = session.process.interrupt_flag();
        let duplex = fleet::arrive(address, &token, interrupt, false).map_err(|error| {
            if let Some(faults) = fleet::interrupted(interrupt) {
                return faults;
            }
            let fault = |what: String| Fault::new(what).at("--connect");
            let fault = match error {
                ConnectError::Unreachable(error) => fault(format!("{address} cannot be reached: {error}"))
                    .help("start the one that leads, with --hosts listen://ADDR*COUNT, and look at its firewall"),
                ConnectError::Handshake(error) => {
                    fleet::with_token_help(fault(format!("{address} does not take this worker: {error}")), &error)
                }
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
