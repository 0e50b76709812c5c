//! Several hosts: connects the `hd=` hosts as a fleet.

use dialects::vdbench::{Host, Parameters};
use run::hosts::Coordinator;

use super::{Drive, Failure};
use crate::fault::Faults;
use crate::fleet;

/// The environment variable with the port of the agents of `shell=vdbench`.
const PORT: &str = "FATHOM_VDBENCH_PORT";
/// The default port, as in the examples of `fathom agent`.
const DEFAULT_PORT: u16 = 7745;

impl Drive<'_> {
    /// Connects the hosts of a file that names other machines. Each label is a rank, in the order
    /// of definition.
    pub(super) fn connect_hosts(&mut self, parameters: &Parameters) -> Result<(), Failure> {
        if !parameters.uses_fleet() {
            return Ok(());
        }
        let port = agent_port()?;
        let addresses: Vec<String> = parameters.hosts.iter().map(|host| address(host, port)).collect();
        for (host, address) in parameters.hosts.iter().zip(&addresses) {
            self.output
                .print_stamped(&format!("Starting slave: {}-0 on {address}", host.label));
        }
        let mut connected = fleet::connect(&self.session.process, &addresses).map_err(failure_from_faults)?;
        // A run may use only some of the hosts.
        connected.coordinator = connected.coordinator.take().map(Coordinator::with_idle_ranks);
        self.session.set_fleet(connected);
        Ok(())
    }
}

/// Returns the address of a host in the syntax of `--hosts`.
fn address(host: &Host, port: u16) -> String {
    let system = &host.system;
    match (host.is_local, host.has_agent, &host.user) {
        (true, ..) => "local".to_owned(),
        (_, true, _) if system.contains(':') => format!("tcp://[{system}]:{port}"),
        (_, true, _) => format!("tcp://{system}:{port}"),
        (_, _, Some(user)) => format!("{user}@{system}"),
        (_, _, None) => system.clone(),
    }
}

fn agent_port() -> Result<u16, Failure> {
    let Ok(text) = std::env::var(PORT) else {
        return Ok(DEFAULT_PORT);
    };
    text.parse()
        .map_err(|_| format!("invalid value `{text}` of {PORT}: use the port of `fathom agent --listen`").into())
}

fn failure_from_faults(faults: Faults) -> Failure {
    let text = faults.text(false);
    let first = faults.into_first();
    // The first line names the place too.
    let shown = 1 + usize::from(first.at.is_some());
    let lines = text.lines().skip(shown).map(|line| line.trim_start().to_owned());
    let more = lines.collect();
    let text = match first.at {
        Some(at) => format!("cannot connect to {at}: {}", first.what),
        None => format!("cannot connect to the hosts: {}", first.what),
    };
    Failure { text, more }
}
