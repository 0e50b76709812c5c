//! Splits a command line among hosts (`--client`). Arguments after a `--client` belong to its host;
//! consecutive `--client` options share the next arguments. A host without arguments uses those
//! before the first `--client`. Flags apply to the whole run.

use super::flags::{FLAGS, Parameter};
use super::table;

/// Hosts that share one command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostArgs {
    /// The hosts as the user wrote them; one may be a file with a host per line.
    pub hosts: Vec<String>,
    /// The command line of their jobs, without hosts.
    pub arguments: Vec<String>,
}

/// Splits a command line at its hosts; `None` if it names none.
pub fn split_by_host(arguments: &[String]) -> Option<Vec<HostArgs>> {
    let mut flags = Vec::new();
    let mut common: Vec<String> = Vec::new();
    let mut has_common_jobs = false;
    let mut parts: Vec<HostArgs> = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let class = Argument::classify(argument);
        let mut words = vec![argument.clone()];
        if class.takes_next {
            words.extend(rest.next().cloned());
        }
        match class.kind {
            ArgumentKind::Client => {
                let host = match argument.split_once('=') {
                    Some((_, host)) => host.to_owned(),
                    None => words.get(1).cloned().unwrap_or_default(),
                };
                match parts.last_mut().filter(|part| part.arguments.is_empty()) {
                    Some(part) => part.hosts.push(host),
                    None => parts.push(HostArgs {
                        hosts: vec![host],
                        arguments: Vec::new(),
                    }),
                }
            }
            ArgumentKind::Flag => flags.extend(words),
            ArgumentKind::Option | ArgumentKind::Job => match parts.last_mut() {
                Some(part) => part.arguments.extend(words),
                None => {
                    has_common_jobs |= class.kind == ArgumentKind::Job;
                    common.extend(words);
                }
            },
        }
    }
    for part in &mut parts {
        let own_arguments = std::mem::take(&mut part.arguments);
        part.arguments.clone_from(&flags);
        match own_arguments.is_empty() {
            true => part.arguments.extend(common.iter().cloned()),
            // Options without a job are defaults for all hosts.
            false if !has_common_jobs => part.arguments.extend(common.iter().cloned().chain(own_arguments)),
            false => part.arguments.extend(own_arguments),
        }
    }
    (!parts.is_empty()).then_some(parts)
}

/// The default port of servers.
pub const DEFAULT_PORT: u16 = 8765;

/// The address of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// On the network.
    Network {
        /// Name or IP address; absent: this machine.
        host: Option<String>,
        /// TCP port of the server.
        port: u16,
        /// IPv6 only, IPv4 only, or either if absent.
        version_6: Option<bool>,
    },
    /// A socket in the file system.
    Socket(String),
}

impl Address {
    /// Parses `HOST,PORT`, either of which may be omitted, with an optional prefix `ip:`, `ip6:` or
    /// `sock:`.
    ///
    /// # Errors
    /// The error line.
    pub fn parse(text: &str) -> Result<Address, String> {
        if let Some(path) = text.strip_prefix("sock:") {
            return match path {
                "" => Err(format!("fio: {text}: the path of the socket is missing")),
                path => Ok(Address::Socket(path.to_owned())),
            };
        }
        let (rest, version_6) = match (text.strip_prefix("ip:"), text.strip_prefix("ip6:")) {
            (Some(rest), _) => (rest, Some(false)),
            (_, Some(rest)) => (rest, Some(true)),
            _ => (text, None),
        };
        let (host, port) = match rest.split_once(',') {
            Some((host, port)) => {
                let port = port.trim().parse().ok().filter(|port| *port > 0);
                (host, port.ok_or_else(|| format!("fio: {text}: bad server port"))?)
            }
            None => (rest, DEFAULT_PORT),
        };
        Ok(Address::Network {
            host: (!host.is_empty()).then(|| host.to_owned()),
            port,
            version_6,
        })
    }
}

/// How an argument of the command line is treated.
struct Argument {
    kind: ArgumentKind,
    /// The next argument is its value.
    takes_next: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ArgumentKind {
    Client,
    /// It applies to the run.
    Flag,
    Option,
    /// A job file, or the name of a job.
    Job,
}

impl Argument {
    fn classify(argument: &str) -> Argument {
        let body = argument.strip_prefix("--").or(argument.strip_prefix('-')).unwrap_or("");
        if body.is_empty() {
            return Argument {
                kind: ArgumentKind::Job,
                takes_next: false,
            };
        }
        let (name, has_value) = match body.split_once('=') {
            Some((name, _)) => (name, true),
            None => (body, false),
        };
        let flags = FLAGS.iter().map(|flag| {
            (
                flag.name,
                flag.name == "client",
                true,
                flag.parameter == Parameter::Required,
            )
        });
        let rows = table::common_rows().chain(table::engine_rows());
        let options = rows.flat_map(|row| row.names().map(|name| (name, false, false, !row.may_be_bare(false))));
        let candidates: Vec<_> = flags
            .chain(options)
            .filter(|(candidate, ..)| candidate.starts_with(name))
            .collect();
        let exact = candidates.iter().find(|(candidate, ..)| *candidate == name);
        // Parsing the host's command line reports ambiguous and unknown names.
        match exact.or(candidates.first().filter(|_| candidates.len() == 1)) {
            Some((name, is_client, is_flag, takes)) => Argument {
                kind: match (is_client, is_flag, *name) {
                    (true, ..) => ArgumentKind::Client,
                    (_, true, _) => ArgumentKind::Flag,
                    (_, _, "name") => ArgumentKind::Job,
                    _ => ArgumentKind::Option,
                },
                takes_next: *takes && !has_value,
            },
            None => Argument {
                kind: ArgumentKind::Option,
                takes_next: false,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_for_the_hosts_before_them() {
        let check = |line: &str, expected: &[(&str, &str)]| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            let found: Vec<(String, String)> = split_by_host(&words)
                .unwrap_or_default()
                .into_iter()
                .map(|part| (part.hosts.join(" "), part.arguments.join(" ")))
                .collect();
            let found: Vec<(&str, &str)> = found.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
            assert_eq!(found, expected, "{line}");
        };
        check("a.fio --output x", &[]);
        check("--client=h a.fio", &[("h", "a.fio")]);
        check("--client h a.fio", &[("h", "a.fio")]);
        check("--client=h --client=i a.fio", &[("h i", "a.fio")]);
        check(
            "--client=h a.fio b.fio --client=i c.fio",
            &[("h", "a.fio b.fio"), ("i", "c.fio")],
        );
        check("a.fio --client=h --client=i", &[("h i", "a.fio")]);
        check(
            "a.fio --client=h --client=i c.fio --client=j",
            &[("h i", "c.fio"), ("j", "a.fio")],
        );
        check("--client=h --name=x --rw=read", &[("h", "--name=x --rw=read")]);
        check(
            "--output-format json --client=h a.fio --output o --client=i b.fio",
            &[
                ("h", "--output-format json --output o a.fio"),
                ("i", "--output-format json --output o b.fio"),
            ],
        );
        check(
            "--ioengine=null --client=h a.fio --client=i b.fio",
            &[("h", "--ioengine=null a.fio"), ("i", "--ioengine=null b.fio")],
        );
        check("--client=h --direct a.fio", &[("h", "--direct a.fio")]);
    }

    #[test]
    fn servers_have_addresses() {
        let network = |host: Option<&str>, port, version_6| Address::Network {
            host: host.map(str::to_owned),
            port,
            version_6,
        };
        let check = |text: &str, expected: Option<Address>| assert_eq!(Address::parse(text).ok(), expected, "{text}");
        check("", Some(network(None, 8765, None)));
        check(",4444", Some(network(None, 4444, None)));
        check("1.2.3.4", Some(network(Some("1.2.3.4"), 8765, None)));
        check("ip:box,4444", Some(network(Some("box"), 4444, Some(false))));
        check("ip6:::1,4444", Some(network(Some("::1"), 4444, Some(true))));
        check("sock:/tmp/fio.sock", Some(Address::Socket("/tmp/fio.sock".into())));
        for wrong in ["sock:", "box,", "box,0", "box,70000", "box,a"] {
            check(wrong, None);
        }
    }
}
