//! Connects agents on other hosts: by ssh, over TCP, or as local processes.

use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use engine::sys::signals::with_stop_signals_unblocked;
use run::hosts::{Duplex, HandshakeError, Role, StreamComm};

use super::acceptor::Acceptor;
use super::child::{HostProcess, START_HELP};
use super::link::{CONNECT_TIMEOUT, ConnectError, Connector, Listener, connect};
use super::waiting::{Notice, interrupted};
use crate::address;
use crate::fault::{Fault, Faults};
use crate::user_file;

/// Host name of a local process.
pub const LOCAL: &str = "local";
/// Default of `FATHOM_SSH`. ssh must not prompt, because one runs for each host at the same time.
/// Its timeout includes the wait for the first line of a server that accepts the connection.
const DEFAULT_SSH: &str = "ssh -o BatchMode=yes -o ConnectTimeout=10";
/// How long the coordinator waits for agents, and how long agents retry.
const ARRIVAL_TIMEOUT: Duration = Duration::from_secs(300);
const MIN_TOKEN_LENGTH: usize = 16;

/// The connected hosts of a list.
#[derive(Debug)]
pub struct ConnectedHosts {
    pub comm: StreamComm,
    /// Their names until they introduce themselves.
    pub names: Vec<String>,
    pub children: Vec<HostProcess>,
}

/// Parses a comma-separated list of hosts, or a file (`@FILE`) with a host per line.
pub fn parse_hosts(text: &str) -> Result<Vec<String>, Faults> {
    let list = match text.strip_prefix('@') {
        None => text.to_owned(),
        Some(file) => {
            let path = std::path::Path::new(file);
            user_file::read_text(path, user_file::MAX_TEXT).map_err(|error| Faults::unreadable(path, &error))?
        }
    };
    let lines = list.lines().map(|line| line.split('#').next().unwrap_or_default());
    let hosts: Vec<String> = lines
        .flat_map(|line| line.split(','))
        .map(|host| host.trim().to_owned())
        .filter(|host| !host.is_empty())
        .collect();
    if hosts.is_empty() {
        let fault = Fault::new(format!("`{text}` contains no host")).at("--hosts");
        return Err(fault.into_usage("for example --hosts db1,db2, or --hosts @hosts.txt with one host per line"));
    }
    if let Some(several) = hosts
        .iter()
        .find(|host| host.contains('*') && !host.starts_with("listen://"))
    {
        let fault = Fault::new(format!(
            "invalid host `{several}`: only listen://ADDRESS*COUNT has a `*COUNT`"
        ));
        let help = "repeat a host for several processes: --hosts local,local";
        return Err(fault.at("--hosts").into_usage(help));
    }
    Ok(hosts)
}

pub fn connect_all(hosts: &[String], interrupt: &AtomicBool) -> Result<ConnectedHosts, Faults> {
    let (mut streams, mut names, mut children) = (Vec::new(), Vec::new(), Vec::new());
    let mut kinds = Vec::new();
    for host in hosts {
        let (kind, duplexes) = if let Some(rest) = host.strip_prefix("listen://") {
            ("TCP", accept_agents(host, rest, interrupt)?)
        } else if let Some(rest) = host.strip_prefix("tcp://") {
            let connected = connect_agent(host, rest, interrupt);
            (
                "TCP",
                vec![connected.map_err(|faults| interrupted(interrupt).unwrap_or(faults))?],
            )
        } else {
            let (child, duplex) = spawn_agent(host)?;
            children.push(child);
            (if host == LOCAL { "pipes" } else { "ssh" }, vec![duplex])
        };
        names.extend(duplexes.iter().map(|_| host.clone()));
        streams.extend(duplexes);
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let size = streams.len() as u32 + 1;
    Ok(ConnectedHosts {
        comm: StreamComm::new(0, size, streams, &kinds.join(" and ")),
        names,
        children,
    })
}

/// Starts an agent by ssh, or as a local process.
fn spawn_agent(host: &str) -> Result<(HostProcess, Duplex), Faults> {
    let variable = |name: &str, default: &str| std::env::var(name).unwrap_or_else(|_| default.to_owned());
    let mut command = if host == LOCAL {
        let own_path = std::env::current_exe()
            .map_err(|error| host_fault(host, format!("cannot find the fathom executable: {error}"), ""))?;
        let mut command = Command::new(own_path);
        command.args(["agent", "--stdio"]);
        command
    } else {
        let words = variable("FATHOM_SSH", DEFAULT_SSH);
        let mut words = words.split_whitespace();
        let mut command = Command::new(words.next().unwrap_or("ssh"));
        command.args(words).arg(host);
        command.arg(format!("{} agent --stdio", variable("FATHOM_REMOTE", "fathom")));
        command
    };
    set_own_process_group(&mut command);
    if host != LOCAL {
        // The child's stderr explains why the host is unreachable; it is reported with the host.
        command.stderr(Stdio::piped());
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = with_stop_signals_unblocked(|| command.spawn()).map_err(|error| {
        let message = format!("cannot start `{}`: {error}", command.get_program().to_string_lossy());
        host_fault(host, message, START_HELP)
    })?;
    match (child.stdout.take(), child.stdin.take()) {
        (Some(reader), Some(writer)) => Ok((
            HostProcess::new(host, child),
            Duplex::unsealed(Box::new(reader), Box::new(writer)),
        )),
        _ => Err(host_fault(host, "cannot open pipes to the process".into(), "")),
    }
}

/// Gives the child its own process group, so that Ctrl-C does not kill it: the coordinator asks it
/// to stop, and it sends its results.
#[cfg(unix)]
pub fn set_own_process_group(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    command.process_group(0);
}

/// Does nothing: this system has no process groups.
#[cfg(not(unix))]
pub fn set_own_process_group(_: &mut Command) {}

fn host_fault(host: &str, what: String, help: &str) -> Faults {
    let fault = Fault::new(what).at(host);
    let fault = if help.is_empty() { fault } else { fault.help(help) };
    Faults::refused(fault)
}

/// Reads the token that both sides must know.
///
/// # Errors
/// [`Faults`] if there is none, or a short one.
pub fn read_token() -> Result<String, Faults> {
    let token = std::env::var("FATHOM_TOKEN").unwrap_or_default();
    if token.len() < MIN_TOKEN_LENGTH {
        let message = match token.is_empty() {
            true => "connections over TCP need a token on both sides".to_owned(),
            false => format!("the token in FATHOM_TOKEN is shorter than {MIN_TOKEN_LENGTH} letters"),
        };
        let help = "set FATHOM_TOKEN to the same random text on all hosts, for example from `openssl rand -hex 16`";
        return Err(Fault::new(message).into_usage(help));
    }
    Ok(token)
}

/// Connects to an agent that listens.
fn connect_agent(host: &str, rest: &str, interrupt: &AtomicBool) -> Result<Duplex, Faults> {
    let token = read_token()?;
    let port = rest.rsplit_once(':').map(|(_, port)| port.parse::<u16>());
    let Some(Ok(_)) = port else {
        let fault = Fault::new(format!("`{host}` has no port")).at("--hosts");
        return Err(
            fault.into_usage("for example tcp://db1:7745, with the port of `fathom agent --listen` on that host")
        );
    };
    let addresses = rest.to_socket_addrs().map_err(|error| {
        let message = format!("cannot resolve this name: {error}");
        host_fault(
            host,
            message,
            "check the spelling, or use the address: tcp://192.0.2.1:7745",
        )
    })?;
    let addresses: Vec<SocketAddr> = addresses.collect();
    let connector = Connector {
        role: Role::Coordinator,
        token: &token,
        timeout: CONNECT_TIMEOUT,
        awaits_listener: false,
        interrupt,
    };
    connector.connect(|| connect(&addresses)).map_err(|error| {
        let not_there = "check that `fathom agent --listen` runs on that host, and that the port is open";
        match error {
            ConnectError::Unreachable(error) => host_fault(host, error.to_string(), not_there),
            ConnectError::Handshake(error) => {
                let help = match error {
                    HandshakeError::WrongToken => SAME_TOKEN,
                    HandshakeError::NotFathom => {
                        "another program uses this port: use the port of `fathom agent --listen`"
                    }
                    _ => not_there,
                };
                host_fault(host, error.to_string(), help)
            }
        }
    })
}

/// Help if the two sides have different tokens.
const SAME_TOKEN: &str = "set FATHOM_TOKEN to the same text on both sides";

/// Waits for agents to connect to this process: `listen://ADDRESS*COUNT`.
fn accept_agents(host: &str, rest: &str, interrupt: &AtomicBool) -> Result<Vec<Duplex>, Faults> {
    let token = read_token()?;
    let wrong = || {
        let fault = Fault::new(format!("`{host}` must end with `*` and the number of agents")).at("--hosts");
        fault.into_usage("for example listen://0.0.0.0:7745*16")
    };
    let (text, count) = rest.rsplit_once('*').ok_or_else(wrong)?;
    let count: usize = count.parse().ok().filter(|count| *count > 0).ok_or_else(wrong)?;
    let (listener, bound) = address::bind("--hosts", address::parse("--hosts", text)?)?;
    let expected = ExpectedAgents {
        requested_by: host,
        count,
        help: "start them with `fathom agent --connect`",
    };
    expected.wait_for_all((listener, bound), &token, interrupt)
}

/// Agents that are expected to connect to this process.
pub struct ExpectedAgents<'a> {
    /// The option or variable that expects them.
    pub requested_by: &'a str,
    pub count: usize,
    /// Help if they do not connect.
    pub help: &'a str,
}

impl ExpectedAgents<'_> {
    /// Waits until all have connected.
    pub fn wait_for_all(
        &self,
        (listener, bound): (TcpListener, SocketAddr),
        token: &str,
        interrupt: &AtomicBool,
    ) -> Result<Vec<Duplex>, Faults> {
        let failed = |error: io::Error| host_fault(self.requested_by, error.to_string(), "");
        let expected = if self.count == 1 {
            "1 agent".into()
        } else {
            format!("{} agents", self.count)
        };
        crate::screen::note(&format!("waiting for {expected} on {bound}"));
        let listener = Listener::Network(listener);
        listener.set_nonblocking();
        let mut acceptor = Acceptor::new(Role::Coordinator, token, self.count);
        let (begun, mut streams) = (Instant::now(), Vec::new());
        while streams.len() < self.count {
            match acceptor.poll(&listener).map_err(failed)? {
                Some((_, Ok(duplex))) => streams.push(duplex),
                Some((from, Err(error))) => crate::screen::note(&format!("rejected a process at {from}: {error}")),
                None => {}
            }
            if let Some(faults) = interrupted(interrupt) {
                return Err(faults);
            }
            if begun.elapsed() > ARRIVAL_TIMEOUT && streams.len() < self.count {
                let message = format!("{} of {} agents connected", streams.len(), self.count);
                return Err(host_fault(self.requested_by, message, self.help));
            }
        }
        Ok(streams)
    }
}

/// How faults describe a process that connects to its coordinator.
pub struct ConnectingProcess<'a> {
    /// Its name: `this agent`.
    pub name: &'a str,
    /// The option or variable with the address of the coordinator.
    pub requested_by: &'a str,
    /// Help if nothing answers at the address.
    pub help: &'a str,
}

/// Connects to the coordinator, which may start, or appear in DNS, after this process.
///
/// # Errors
/// The coordinator cannot be reached within [`ARRIVAL_TIMEOUT`], or a stop request comes first.
pub fn connect_to_coordinator(
    this: &ConnectingProcess<'_>,
    address: &str,
    token: &str,
    interrupt: &AtomicBool,
    quiet: bool,
) -> Result<Duplex, Faults> {
    let _notice = Notice::new(quiet, format!("waiting for the coordinator at {address}"));
    let connector = Connector {
        role: Role::Agent,
        token,
        timeout: ARRIVAL_TIMEOUT,
        awaits_listener: true,
        interrupt,
    };
    let connected = connector.connect(|| connect(&address.to_socket_addrs()?.collect::<Vec<_>>()));
    connected.map_err(|error| {
        let (message, help) = match error {
            ConnectError::Unreachable(error) => (format!("cannot reach {address}: {error}"), this.help),
            ConnectError::Handshake(error) => {
                let is_wrong = matches!(error, HandshakeError::WrongToken);
                let help = if is_wrong { SAME_TOKEN } else { "" };
                (format!("{address} rejects {}: {error}", this.name), help)
            }
        };
        interrupted(interrupt).unwrap_or_else(|| host_fault(this.requested_by, message, help))
    })
}
