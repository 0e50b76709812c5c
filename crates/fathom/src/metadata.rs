//! Asks the metadata service of the cloud for the size of this machine. Only `--metadata` sends
//! these requests.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use engine::probe::Cloud;

/// Environment variable that replaces [`ADDRESS`].
pub const VARIABLE: &str = "FATHOM_METADATA";
/// Address of the service in all known clouds.
const ADDRESS: &str = "169.254.169.254:80";
/// Time limit of all requests together.
const TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum bytes of an answer, which is a line plus headers.
const MAX_ANSWER: usize = 64 << 10;

/// Asks for the machine's type, and returns it with the cloud that answered. Tries all clouds if
/// none is known.
///
/// # Errors
/// A sentence: the address is invalid, or there is no usable answer within [`TIMEOUT`].
pub fn machine_type(cloud: Option<Cloud>) -> Result<(Cloud, String), String> {
    let address = std::env::var(VARIABLE).unwrap_or_else(|_| ADDRESS.to_owned());
    let parsed = address.parse();
    let parsed: SocketAddr =
        parsed.map_err(|_| format!("invalid value `{address}` of {VARIABLE}; use an address and a port: {ADDRESS}"))?;
    query_clouds(parsed, cloud, TIMEOUT)
}

fn query_clouds(address: SocketAddr, cloud: Option<Cloud>, timeout: Duration) -> Result<(Cloud, String), String> {
    let service = Service {
        address,
        deadline: Instant::now() + timeout,
    };
    let all = [Cloud::Amazon, Cloud::Azure, Cloud::Google];
    let clouds = cloud.as_ref().map_or(&all[..], std::slice::from_ref);
    let answer = |cloud: &Cloud| Some((*cloud, service.machine_type(*cloud)?));
    clouds
        .iter()
        .find_map(answer)
        .ok_or_else(|| format!("the metadata service at {address} does not report the machine's type"))
}

struct Service {
    address: SocketAddr,
    deadline: Instant,
}

impl Service {
    fn machine_type(&self, cloud: Cloud) -> Option<String> {
        let answer = match cloud {
            Cloud::Amazon => {
                let token = self.request("PUT", "/latest/api/token", "X-aws-ec2-metadata-token-ttl-seconds: 60")?;
                let header = format!("X-aws-ec2-metadata-token: {}", check_word(&token)?);
                self.request("GET", "/latest/meta-data/instance-type", &header)?
            }
            Cloud::Azure => {
                let path = "/metadata/instance/compute/vmSize?api-version=2021-02-01&format=text";
                self.request("GET", path, "Metadata: true")?
            }
            Cloud::Google => {
                let path = "/computeMetadata/v1/instance/machine-type";
                self.request("GET", path, "Metadata-Flavor: Google")?
            }
        };
        // Google answers with projects/NUMBER/machineTypes/NAME.
        check_word(answer.rsplit('/').next()?).map(str::to_owned)
    }

    /// Returns the time that is left; `None` if there is none.
    fn left(&self) -> Option<Duration> {
        let time_left = self.deadline.checked_duration_since(Instant::now())?;
        (!time_left.is_zero()).then_some(time_left)
    }

    /// Sends a request, and returns the body of an answer with status 200.
    fn request(&self, method: &str, path: &str, header: &str) -> Option<String> {
        let mut stream = TcpStream::connect_timeout(&self.address, self.left()?).ok()?;
        stream.set_write_timeout(Some(self.left()?)).ok()?;
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\n{header}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            self.address.ip()
        );
        stream.write_all(request.as_bytes()).ok()?;
        let mut bytes = Vec::new();
        let mut piece = [0; 4096];
        while parse_body(&bytes).is_none() {
            stream.set_read_timeout(Some(self.left()?)).ok()?;
            match stream.read(&mut piece).ok()? {
                0 => break,
                count => bytes.extend_from_slice(&piece[..count]),
            }
            if bytes.len() > MAX_ANSWER {
                return None;
            }
        }
        parse_body(&bytes)
    }
}

/// Extracts the body of a complete answer with status 200 that states its length.
fn parse_body(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let mut lines = head.lines();
    if lines.next()?.split(' ').nth(1) != Some("200") {
        return None;
    }
    let length = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_length = name.eq_ignore_ascii_case("content-length");
        is_length.then(|| value.trim().parse::<usize>().ok())?
    })?;
    body.get(..length).map(|body| body.trim().to_owned())
}

fn check_word(text: &str) -> Option<&str> {
    let text = text.trim();
    let is_plain = !text.is_empty() && text.len() <= 1024 && text.bytes().all(|byte| byte.is_ascii_graphic());
    is_plain.then_some(text)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// Starts a service on loopback. It answers known requests, and others with 404.
    fn service(answers: &'static [(&'static str, &'static str, &'static str)]) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut bytes = Vec::new();
                let mut piece = [0; 1024];
                while !bytes.windows(4).any(|end| end == b"\r\n\r\n") {
                    let count = stream.read(&mut piece).unwrap();
                    if count == 0 {
                        break;
                    }
                    bytes.extend_from_slice(&piece[..count]);
                }
                let request = String::from_utf8(bytes).unwrap();
                let fits = |(start, header, _): &&(&str, &str, &str)| {
                    request.starts_with(start) && request.lines().any(|line| line == *header)
                };
                let (status, body) = match answers.iter().find(fits) {
                    Some((_, _, body)) => ("200 OK", *body),
                    None => ("404 Not Found", "no"),
                };
                let answer = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
                stream.write_all(answer.as_bytes()).unwrap();
            }
        });
        address
    }

    const AMAZON: &[(&str, &str, &str)] = &[
        (
            "PUT /latest/api/token ",
            "X-aws-ec2-metadata-token-ttl-seconds: 60",
            "secret==",
        ),
        (
            "GET /latest/meta-data/instance-type ",
            "X-aws-ec2-metadata-token: secret==",
            "m6i.large",
        ),
    ];
    const AZURE: &[(&str, &str, &str)] = &[(
        "GET /metadata/instance/compute/vmSize?",
        "Metadata: true",
        "Standard_D8ds_v5",
    )];
    const GOOGLE: &[(&str, &str, &str)] = &[(
        "GET /computeMetadata/v1/instance/machine-type ",
        "Metadata-Flavor: Google",
        "projects/42/machineTypes/n2-standard-8\n",
    )];

    #[test]
    fn each_cloud_gets_its_own_request() {
        for (answers, cloud, name) in [
            (AMAZON, Cloud::Amazon, "m6i.large"),
            (AZURE, Cloud::Azure, "Standard_D8ds_v5"),
            (GOOGLE, Cloud::Google, "n2-standard-8"),
        ] {
            let address = service(answers);
            let expected = Ok((cloud, name.to_owned()));
            assert_eq!(query_clouds(address, Some(cloud), TIMEOUT), expected);
            assert_eq!(
                query_clouds(address, None, TIMEOUT),
                expected,
                "the first cloud that answers"
            );
        }
        let error = query_clouds(service(AZURE), Some(Cloud::Amazon), TIMEOUT).unwrap_err();
        assert!(error.contains("does not report the machine's type"), "{error}");
    }

    #[test]
    fn a_silent_service_is_abandoned_at_the_deadline() {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let start = Instant::now();
        assert!(query_clouds(silent.local_addr().unwrap(), None, Duration::from_millis(200)).is_err());
        assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    }

    #[test]
    fn an_incomplete_answer_is_ignored() {
        assert_eq!(parse_body(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab"), None);
        assert_eq!(
            parse_body(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nab"),
            Some("ab".into())
        );
        assert_eq!(
            parse_body(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nab"),
            None
        );
        assert_eq!(check_word("a b"), None);
    }
}
