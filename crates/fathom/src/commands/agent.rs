//! `fathom agent`: runs tests on this host on behalf of a coordinator.

use run::hosts::Duplex;

use crate::address;
use crate::exit::Exit;
use crate::fault::Faults;
use crate::fleet::link::Listener;
use crate::fleet::{self, ConnectingProcess};
use crate::session::Session;

/// Run tests on this host on behalf of a coordinator
#[derive(clap::Args)]
#[command(
    long_about = "Runs tests on this host on behalf of a coordinator, which is `fathom run --hosts` on another host. Over ssh the \
        coordinator starts the agent itself (--stdio); otherwise the agent listens, or connects to the coordinator. Both \
        sides of a connection need the same text in FATHOM_TOKEN. Messages are authenticated but not encrypted \
        (docs/fleet.md shows how to go through ssh).\n\n\
        The agent's rank comes from SLURM_PROCID, JOB_COMPLETION_INDEX (Kubernetes), an MPI launcher, or FATHOM_RANK (a \
        number from 0): with it, %r and for-hosts mean the same processes in every test.\n\n\
        The guard of this host decides about its targets. Programs named in a job run only where FATHOM_ALLOW_EXEC=1 is \
        set here. Results are kept in FATHOM_JOURNAL (default: the user's data directory) until the coordinator has them.",
    after_help = "Examples:\n  FATHOM_TOKEN=… fathom agent --listen 0.0.0.0:7745\n  \
        FATHOM_TOKEN=… fathom agent --connect db0:7745"
)]
pub struct Args {
    #[command(flatten)]
    transport: TransportArgs,
    /// Exit when the first coordinator has disconnected
    #[arg(long, requires = "listen")]
    once: bool,
}

/// The ways to reach a coordinator, of which one is required.
#[derive(clap::Args)]
#[group(required = true, multiple = false)]
struct TransportArgs {
    /// Listen for coordinators; a port alone listens on loopback
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// Connect to a coordinator (--hosts listen://ADDR*COUNT)
    #[arg(long, value_name = "HOST:PORT")]
    connect: Option<String>,
    /// Communicate over standard input and output, for ssh
    #[arg(long)]
    stdio: bool,
}

/// Serves coordinators.
pub fn execute(session: &Session, args: &Args) -> Result<Exit, Faults> {
    if args.transport.stdio {
        let duplex = Duplex::unsealed(Box::new(std::io::stdin()), Box::new(std::io::stdout()));
        return Ok(fleet::serve_duplex(&session.process, duplex, None));
    }
    let token = fleet::read_token()?;
    if let Some(address) = &args.transport.connect {
        let interrupt = session.process.interrupt_flag();
        let this = ConnectingProcess {
            name: "this agent",
            requested_by: "--connect",
            help: "start the coordinator with --hosts listen://ADDR*COUNT, and check its firewall",
        };
        let duplex = fleet::connect_to_coordinator(&this, address, &token, interrupt, false)?;
        return Ok(fleet::serve_duplex(&session.process, duplex, fleet::assigned_rank()));
    }
    let text = args.transport.listen.as_ref().expect("one of them is given");
    let (listener, bound) = address::bind("--listen", address::parse("--listen", text)?)?;
    crate::screen::note(&format!(
        "fathom {} listens on {bound}; press Ctrl-C to stop",
        env!("CARGO_PKG_VERSION")
    ));
    Ok(fleet::serve_listener(
        &session.process,
        &Listener::Network(listener),
        &token,
        args.once,
    ))
}
