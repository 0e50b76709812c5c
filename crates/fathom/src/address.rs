//! The addresses that servers listen on: `127.0.0.1:7744`, `[::1]:7744`, `localhost:7744`, `7744`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};

use crate::fault::{Fault, Faults};

/// Parses an address. A port alone means loopback, which other machines cannot reach.
///
/// # Errors
/// [`Faults`] if the text is not an address.
pub fn parse(option: &str, text: &str) -> Result<SocketAddr, Faults> {
    let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let port = text
        .strip_prefix("localhost:")
        .or(text.strip_prefix(':'))
        .unwrap_or(text);
    if let Ok(port) = port.parse::<u16>() {
        return Ok(SocketAddr::new(loopback, port));
    }
    text.parse().map_err(|_| {
        let fault = Fault::new(format!("`{text}` is not an address with a port")).at(format!("{option} {text}"));
        fault.into_usage(
            "for example 127.0.0.1:9101, 9101 (this machine only), 0.0.0.0:9101 (every network), [::1]:9101",
        )
    })
}

/// Binds an address and returns the actual one: port 0 chooses a free port.
///
/// # Errors
/// [`Faults`] if the address cannot be bound.
pub fn bind(option: &str, address: SocketAddr) -> Result<(TcpListener, SocketAddr), Faults> {
    let bound = TcpListener::bind(address).and_then(|listener| {
        let bound = listener.local_addr()?;
        Ok((listener, bound))
    });
    bound.map_err(|error| {
        let why = error
            .raw_os_error()
            .map_or_else(|| error.to_string(), engine::os_error_name);
        let fault = Fault::new(format!("cannot listen on {address}: {why}")).at(option);
        let help = match error.kind() {
            std::io::ErrorKind::AddrInUse => {
                "end the program that uses this port, or use another port; port 0 picks a free one"
            }
            std::io::ErrorKind::PermissionDenied => "use a port above 1023; lower ones need root",
            _ => "use an address of this machine",
        };
        fault.into_refusal(help)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_means_loopback() {
        let check = |text: &str, expected: Option<&str>| {
            let found = parse("--metrics", text).ok().map(|address| address.to_string());
            assert_eq!(found.as_deref(), expected, "{text}");
        };
        check("9101", Some("127.0.0.1:9101"));
        check(":9101", Some("127.0.0.1:9101"));
        check("localhost:0", Some("127.0.0.1:0"));
        check("0.0.0.0:9101", Some("0.0.0.0:9101"));
        check("[::1]:9101", Some("[::1]:9101"));
        for wrong in ["", "host:9101", "127.0.0.1", "99999", "::1"] {
            check(wrong, None);
        }
    }
}
