//! `--server`: runs jobs for `--client` of another process, like `fathom agent --listen`.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, ToSocketAddrs};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use dialects::fio::{Address, Flags};
use engine::sys::signals::with_stop_signals_unblocked;

use super::output::Output;
use super::{FAILED, SIGNALLED};
use crate::exit::Exit;
use crate::fleet::link::{self, Listener};
use crate::fleet::{self, read_token};
use crate::process::Process;

/// Help for a missing token.
pub(super) const TOKEN_HELP: &str =
    "set FATHOM_TOKEN to the same random text on both sides, for example from `openssl rand -hex 16`";

/// Reads the token of `FATHOM_TOKEN`. Without a token, only processes of this machine can connect.
///
/// # Errors
/// The message, if the token is too short.
pub(super) fn token_from_env() -> Result<Option<String>, String> {
    match std::env::var("FATHOM_TOKEN") {
        Ok(text) if !text.is_empty() => read_token()
            .map(Some)
            .map_err(|faults| format!("fio: {}", faults.first())),
        _ => Ok(None),
    }
}

/// Resolves the addresses of a host.
///
/// # Errors
/// The message: there is no address, or the host is another machine and there is no token.
pub(super) fn resolve_addresses(
    (host, port, version_6): (&str, u16, Option<bool>),
    has_token: bool,
) -> Result<Vec<SocketAddr>, String> {
    let addresses = (host, port)
        .to_socket_addrs()
        .map_err(|error| format!("fio: failed to resolve {host}: {error}"))?;
    let fits = |address: &SocketAddr| version_6.is_none_or(|version_6| address.is_ipv6() == version_6);
    let addresses: Vec<SocketAddr> = addresses.filter(fits).collect();
    if addresses.is_empty() {
        return Err(format!(
            "fio: failed to resolve {host}: no address of the requested IP version"
        ));
    }
    match has_token || addresses.iter().all(|address| address.ip().is_loopback()) {
        true => Ok(addresses),
        false => Err(format!(
            "fio: {host},{port}: connections to other machines need a token on both sides"
        )),
    }
}

/// Serves until a stop request. `words` is the command line without the program.
pub(super) fn serve(process: &Process, flags: &Flags, words: &[String], output: &mut Output) -> u8 {
    let listening = token_from_env().and_then(|token| Ok((open_listener(flags, token.is_some())?, token)));
    let ((listener, shown), token) = match listening {
        Ok(listening) => listening,
        Err(line) => {
            let hint = line.contains("token").then_some(TOKEN_HELP);
            output.print_problem(&line);
            hint.into_iter().for_each(|hint| output.print_hint(hint));
            return FAILED;
        }
    };
    if let Some(file) = &flags.daemonize {
        return match spawn_background_server(process, words, listener, Path::new(file)) {
            Ok(()) => 0,
            Err(error) => {
                output.print_problem(&format!("fio: --daemonize={file}: {error}"));
                FAILED
            }
        };
    }
    output.print_line(&format!("fio: server listening on {shown}"));
    if token.is_none() && matches!(listener, Listener::Network(_)) {
        super::note("FATHOM_TOKEN is not set: every user of this machine can run jobs here");
    }
    match fleet::serve_listener(process, &listener, &token.unwrap_or_default(), false) {
        Exit::Interrupted(_) => SIGNALLED,
        _ => 0,
    }
}

fn open_listener(flags: &Flags, has_token: bool) -> Result<(Listener, String), String> {
    let (host, port, version_6) = match Address::parse(flags.server.as_deref().unwrap_or_default())? {
        Address::Socket(path) => {
            let listener = link::listen_at(Path::new(&path))
                .map_err(|error| format!("fio: failed to listen on sock:{path}: {error}"))?;
            return Ok((listener, path));
        }
        Address::Network { host, port, version_6 } => (host, port, version_6),
    };
    let default_ip = match has_token {
        true => Ipv4Addr::UNSPECIFIED,
        false => Ipv4Addr::LOCALHOST,
    };
    let bound = match &host {
        Some(host) => resolve_addresses((host, port, version_6), has_token)?,
        None => vec![SocketAddr::new(IpAddr::V4(default_ip), port)],
    };
    let failed = |error| format!("fio: failed to listen on {},{port}: {error}", bound[0].ip());
    let listener = TcpListener::bind(&bound[..]).map_err(failed)?;
    Ok((Listener::Network(listener), format!("{},{port}", bound[0].ip())))
}

/// Starts this program in the background, and waits until it listens. Writes its process ID to the
/// file.
fn spawn_background_server(process: &Process, words: &[String], listener: Listener, file: &Path) -> io::Result<()> {
    let mut rest = words.iter();
    let mut kept = Vec::new();
    while let Some(word) = rest.next() {
        match word.trim_start_matches('-') {
            "daemonize" => drop(rest.next()),
            name if name.starts_with("daemonize=") => {}
            _ => kept.push(word),
        }
    }
    let mut command = Command::new(std::env::current_exe()?);
    // Repeats the subcommand `fio`; a link or copy named `fio` has none.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::arg0(&mut command, &process.arguments[0]);
    let subcommand = &process.arguments[1..process.arguments.len() - words.len()];
    command.args(subcommand).args(kept);
    fleet::set_own_process_group(&mut command);
    let is_answered = listener.probe()?;
    drop(listener);
    let silent = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = with_stop_signals_unblocked(|| silent.spawn())?;
    std::fs::write(file, format!("{}\n", child.id()))?;
    while !is_answered() {
        if let Some(status) = child.try_wait()? {
            return Err(io::Error::other(format!("the server exited immediately ({status})")));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}
