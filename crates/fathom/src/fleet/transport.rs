//! How hosts are reached: a process of this program on each, by ssh, over TCP, or on this machine.

use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use run::hosts::{Duplex, HandshakeError, Role, StreamComm};

use super::acceptor::Acceptor;
use super::child::HostProcess;
use super::link::{CONNECT_TIMEOUT, ConnectError, Connector, Listener, connect};
use super::waiting::{Notice, interrupted};
use crate::address;
use crate::exit::Exit;
use crate::fault::{Fault, Faults};
use crate::user_file;

/// A process of this machine.
pub const LOCAL: &str = "local";
/// What reaches a host, unless `FATHOM_SSH` says otherwise. It must not ask anything: there is one
/// for each host at once.
const SSH: &str = "ssh -o BatchMode=yes";
/// How long is waited for those that come by themselves, and how long they try to reach who leads.
const ARRIVAL_TIMEOUT: Duration = Duration::from_secs(300);
const SHORTEST_TOKEN: usize = 16;

/// All hosts of a list.
#[derive(Debug)]
pub struct Reached {
    pub comm: StreamComm,
    /// What they are called until they say it.
    pub names: Vec<String>,
    pub children: Vec<HostProcess>,
}

/// The hosts of a list with commas between them, or of a file (`@FILE`) with a line for each.
pub fn named(text: &str) -> Result<Vec<String>, Faults> {
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
        let fault = Fault::new(format!("`{text}` names no host")).at("--hosts");
        return Err(Faults::usage(fault.help(
            "for example --hosts db1,db2, or --hosts @hosts.txt with a line for each",
        )));
    }
    if let Some(several) = hosts
        .iter()
        .find(|host| host.contains('*') && !host.starts_with("listen://"))
    {
        let fault = Fault::new(format!(
            "`{several}` is not a host: only listen://ADDRESS*COUNT takes a `*COUNT`"
        ));
        let help = "name a host once for each process: --hosts local,local";
        return Err(Faults::usage(fault.at("--hosts").help(help)));
    }
    Ok(hosts)
}

/// Reaches these hosts.
pub fn all(hosts: &[String], interrupt: &AtomicBool) -> Result<Reached, Faults> {
    let (mut streams, mut names, mut children) = (Vec::new(), Vec::new(), Vec::new());
    let mut kinds = Vec::new();
    for host in hosts {
        let (kind, duplexes) = if let Some(rest) = host.strip_prefix("listen://") {
            ("TCP", awaited(host, rest, interrupt)?)
        } else if let Some(rest) = host.strip_prefix("tcp://") {
            let connected = connected(host, rest, interrupt);
            (
                "TCP",
                vec![connected.map_err(|faults| interrupted(interrupt).unwrap_or(faults))?],
            )
        } else {
            let (child, duplex) = started(host)?;
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
    Ok(Reached {
        comm: StreamComm::new(0, size, streams, &kinds.join(" and ")),
        names,
        children,
    })
}

/// A worker on a host by ssh, or on this machine.
fn started(host: &str) -> Result<(HostProcess, Duplex), Faults> {
    let variable = |name: &str, usual: &str| std::env::var(name).unwrap_or_else(|_| usual.to_owned());
    let mut command = if host == LOCAL {
        let own =
            std::env::current_exe().map_err(|error| at(host, format!("this program is not found: {error}"), ""))?;
        let mut command = Command::new(own);
        command.args(["agent", "--stdio"]);
        command
    } else {
        let words = variable("FATHOM_SSH", SSH);
        let mut words = words.split_whitespace();
        let mut command = Command::new(words.next().unwrap_or("ssh"));
        command.args(words).arg(host);
        command.arg(format!("{} agent --stdio", variable("FATHOM_REMOTE", "fathom")));
        command
    };
    apart(&mut command);
    if host != LOCAL {
        // Why it does not reach the host is reported with the host.
        command.stderr(Stdio::piped());
    }
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| {
            let what = format!(
                "`{}` cannot be started: {error}",
                command.get_program().to_string_lossy()
            );
            at(
                host,
                what,
                "FATHOM_SSH is what reaches a host, FATHOM_REMOTE what this program is called there",
            )
        })?;
    match (child.stdout.take(), child.stdin.take()) {
        (Some(reader), Some(writer)) => Ok((
            HostProcess::new(host, child),
            Duplex::unsealed(Box::new(reader), Box::new(writer)),
        )),
        _ => Err(at(host, "there are no pipes to it".into(), "")),
    }
}

/// A key that the terminal sends to this process is not for those beside it: they are asked to
/// stop, and tell what they measured.
#[cfg(unix)]
pub fn apart(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    command.process_group(0);
}

/// The same where there are no such groups.
#[cfg(not(unix))]
pub fn apart(_: &mut Command) {}

fn at(host: &str, what: String, help: &str) -> Faults {
    let fault = Fault::new(what).at(host);
    let fault = if help.is_empty() { fault } else { fault.help(help) };
    Faults::one(fault, Exit::Refused)
}

/// The token that both sides must know.
///
/// # Errors
/// [`Faults`] if there is none, or a short one.
pub fn token() -> Result<String, Faults> {
    let token = std::env::var("FATHOM_TOKEN").unwrap_or_default();
    if token.len() < SHORTEST_TOKEN {
        let what = match token.is_empty() {
            true => "processes that meet over TCP need a token that both sides know".to_owned(),
            false => format!("the token in FATHOM_TOKEN is shorter than {SHORTEST_TOKEN} letters"),
        };
        let help = "set FATHOM_TOKEN to the same random text on all hosts, for example from `openssl rand -hex 16`";
        return Err(Faults::usage(Fault::new(what).help(help)));
    }
    Ok(token)
}

/// A worker that listens.
fn connected(host: &str, rest: &str, interrupt: &AtomicBool) -> Result<Duplex, Faults> {
    let token = token()?;
    let port = rest.rsplit_once(':').map(|(_, port)| port.parse::<u16>());
    let Some(Ok(_)) = port else {
        let fault = Fault::new(format!("`{host}` names no port")).at("--hosts");
        return Err(Faults::usage(fault.help(
            "for example tcp://db1:7745: the port on which `fathom agent --listen` waits there",
        )));
    };
    let addresses = rest.to_socket_addrs().map_err(|error| {
        let what = format!("this name has no address: {error}");
        at(
            host,
            what,
            "check its spelling, or give the address: tcp://192.0.2.1:7745",
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
        let not_there = "is `fathom agent --listen` running there, and is the port open?";
        match error {
            ConnectError::Unreachable(error) => at(host, error.to_string(), not_there),
            ConnectError::Handshake(error) => {
                let help = match error {
                    HandshakeError::WrongToken => SAME_TOKEN,
                    HandshakeError::NotFathom => {
                        "the port is that of another program: name the one of `fathom agent --listen`"
                    }
                    _ => not_there,
                };
                at(host, error.to_string(), help)
            }
        }
    })
}

/// What to do where two sides do not know the same token.
const SAME_TOKEN: &str = "set FATHOM_TOKEN to the same text on both sides";

/// A fault of a handshake, with what to do about its token if that is the cause.
pub fn with_token_help(fault: Fault, error: &HandshakeError) -> Fault {
    match error {
        HandshakeError::WrongToken => fault.help(SAME_TOKEN),
        _ => fault,
    }
}

/// Workers that come by themselves: `listen://ADDRESS*COUNT`.
fn awaited(host: &str, rest: &str, interrupt: &AtomicBool) -> Result<Vec<Duplex>, Faults> {
    let token = token()?;
    let wrong = || {
        let fault = Fault::new(format!("`{host}` does not say how many will come")).at("--hosts");
        Faults::usage(fault.help("for example listen://0.0.0.0:7745*16"))
    };
    let (text, count) = rest.rsplit_once('*').ok_or_else(wrong)?;
    let count: usize = count.parse().ok().filter(|count| *count > 0).ok_or_else(wrong)?;
    let (listener, bound) = address::bind("--hosts", address::parse("--hosts", text)?)?;
    let awaited = Awaited {
        named: host,
        count,
        help: "start them with `fathom agent --connect`",
    };
    awaited.at((listener, bound), &token, interrupt)
}

/// Processes that come by themselves.
pub struct Awaited<'a> {
    /// What asked for them.
    pub named: &'a str,
    pub count: usize,
    /// What to do where they do not come.
    pub help: &'a str,
}

impl Awaited<'_> {
    /// Waits until all have come.
    pub fn at(
        &self,
        (listener, bound): (TcpListener, SocketAddr),
        token: &str,
        interrupt: &AtomicBool,
    ) -> Result<Vec<Duplex>, Faults> {
        let failed = |error: io::Error| at(self.named, error.to_string(), "");
        let workers = if self.count == 1 {
            "1 worker".into()
        } else {
            format!("{} workers", self.count)
        };
        crate::screen::note(&format!("waiting for {workers} on {bound}"));
        let listener = Listener::Network(listener);
        listener.set_nonblocking();
        let mut acceptor = Acceptor::new(Role::Coordinator, token, self.count);
        let (begun, mut streams) = (Instant::now(), Vec::new());
        while streams.len() < self.count {
            match acceptor.poll(&listener).map_err(failed)? {
                Some((_, Ok(duplex))) => streams.push(duplex),
                Some((from, Err(error))) => crate::screen::note(&format!("a process at {from} is not let in: {error}")),
                None => {}
            }
            if let Some(faults) = interrupted(interrupt) {
                return Err(faults);
            }
            if begun.elapsed() > ARRIVAL_TIMEOUT && streams.len() < self.count {
                let what = format!("{} of {} agents connected", streams.len(), self.count);
                return Err(at(self.named, what, self.help));
            }
        }
        Ok(streams)
    }
}

/// Connects to the coordinator, which may be started after this process, or get its name later.
///
/// # Errors
/// Why it cannot be reached, after [`ARRIVAL_TIMEOUT`] or where this process is asked to stop.
pub fn arrive(address: &str, token: &str, interrupt: &AtomicBool, quiet: bool) -> Result<Duplex, ConnectError> {
    let _notice = Notice::unless(quiet, format!("waiting for the coordinator at {address}"));
    let connector = Connector {
        role: Role::Agent,
        token,
        timeout: ARRIVAL_TIMEOUT,
        awaits_listener: true,
        interrupt,
    };
    connector.connect(|| connect(&address.to_socket_addrs()?.collect::<Vec<_>>()))
}
