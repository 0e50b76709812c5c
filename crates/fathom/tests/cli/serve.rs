//! Pages over HTTP: the history, and a watched run. The requests use plain sockets.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use crate::history::Workspace;
use crate::prelude::*;
use crate::support::KilledOnDrop;

const TIMEOUT: Duration = Duration::from_secs(30);
const NASTY: &str = "</script><b>x";

/// A history of two runs on a simulated device.
fn two_runs() -> Workspace {
    let workspace = Workspace::new();
    workspace.expect("run job.toml -q --seed 1", 0, &[]);
    workspace.expect("run job.toml -q --seed 7", 0, &[]);
    workspace.fathom(&["history", "label", "2", NASTY]).expect(0, &[]);
    workspace
}

/// Starts a server. Reads its address from the first line of its output.
fn serve(workspace: &Workspace, words: &[&str]) -> Server {
    let mut command = workspace.command(&[&["serve"][..], words].concat());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut line).unwrap();
    let url = line.trim().to_owned();
    let child = KilledOnDrop(child);
    Server { child, url }
}

struct Server {
    child: KilledOnDrop,
    url: String,
}

impl Server {
    /// Address, such as `127.0.0.1:7744`.
    fn address(&self) -> &str {
        let rest = self.url.strip_prefix("http://").expect("an address is printed");
        rest.split('/').next().unwrap()
    }

    fn get(&self, path: &str) -> Response {
        request(self.address(), "GET", path, &[("Host", self.address())])
    }

    fn get_with(&self, path: &str, header: (&str, &str)) -> Response {
        request(self.address(), "GET", path, &[("Host", self.address()), header])
    }

    /// Sends a form, as a browser does.
    fn post(&self, path: &str, form: &str, headers: &[(&str, &str)]) -> Response {
        let length = form.len().to_string();
        let own = [
            ("Host", self.address()),
            ("Content-Type", "application/x-www-form-urlencoded"),
            ("Content-Length", &length),
        ];
        let mut stream = send(self.address(), "POST", path, &[&own[..], headers].concat());
        stream.write_all(form.as_bytes()).unwrap();
        read_response(stream)
    }

    fn interrupt(mut self) -> Option<i32> {
        signal(&self.child.0, "INT");
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.0.try_wait().unwrap() {
                return status.code();
            }
            assert!(began.elapsed() < TIMEOUT, "it does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[derive(Debug)]
struct Response {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Response {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.head.lines().filter_map(|line| line.split_once(": "));
        Some(headers.find(|(key, _)| key.eq_ignore_ascii_case(name))?.1)
    }

    #[track_caller]
    fn expect(&self, status: u16, parts: &[&str]) -> &Response {
        assert_eq!(self.status, status, "{}\n{}", self.head, self.text());
        self.text().assert_contains(parts);
        self
    }
}

fn send(address: &str, method: &str, path: &str, headers: &[(&str, &str)]) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    stream.set_write_timeout(Some(TIMEOUT)).unwrap();
    let mut request = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
    for (name, value) in headers {
        request += &format!("{name}: {value}\r\n");
    }
    stream.write_all((request + "\r\n").as_bytes()).unwrap();
    stream
}

fn request(address: &str, method: &str, path: &str, headers: &[(&str, &str)]) -> Response {
    read_response(send(address, method, path, headers))
}

fn read_response(mut stream: TcpStream) -> Response {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
    let end = end.expect("a response has a head");
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok());
    Response {
        status: status.expect("a response has a status"),
        head,
        body: bytes[end + 4..].to_vec(),
    }
}

#[test]
fn the_history_is_listed_shown_and_compared() {
    let workspace = two_runs();
    let server = serve(&workspace, &["--listen", "0"]);
    let list = server.get("/");
    let label = "&lt;/script&gt;&lt;b&gt;x (tried)";
    list.expect(200, &["href=\"/entry/1\"", "href=\"/entry/2\"", label]);
    assert!(!list.text().contains(NASTY), "a label stays text");
    assert_eq!(list.header("cache-control"), Some("no-store"));
    assert_eq!(list.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(list.header("referrer-policy"), Some("same-origin"));
    assert!(list.text().contains("default-src 'none'; script-src 'none'"));

    let narrowed = server.get("/?label=SCRIPT&kind=run&since=1d&target=disk");
    let form = ["value=\"SCRIPT\"", "<option selected>run</option>"];
    narrowed.expect(200, &["href=\"/entry/2\""]).expect(200, &form);
    assert!(!narrowed.text().contains("href=\"/entry/1\""));
    server.get("/?kind=verify").expect(200, &["No entry matches"]);
    let page = server.get("/?verdict=PASS");
    page.expect(200, &["No entry matches", "<option selected>PASS</option>"]);
    // Nothing can be changed without a token.
    list.text().assert_lacks(&["/remove"]);
    server.get("/?since=soon").expect(400, &["`soon` is not a date"]);
    let page = server.get("/?label=%3C%2Fscript%3E");
    page.expect(200, &["value=\"&lt;/script&gt;\"", "href=\"/entry/2\""]);

    server.get("/entry/1").expect(
        200,
        &[
            "<title>SIMULATION: no real storage — ",
            "Test “tried”",
            "<svg class=\"plot\"",
            "href=\"/\"",
            "script-src 'sha256-",
        ],
    );
    let labelled = server.get("/entry/2");
    labelled.expect(200, &["Label: &lt;/script&gt;"]);
    assert!(!labelled.text().contains(NASTY));

    workspace.expect("history export 1 exported", 0, &[]);
    let file = server.get("/entry/1/file");
    assert!(file.body == fs::read(workspace.path("exported")).unwrap());
    assert!(file.header("content-disposition").unwrap().starts_with("attachment"));

    let compared = server.get("/compare?a=1&b=2");
    compared.expect(200, &["history:1", "history:2", "seed"]);
    let selected = server.get("/compare?entry=2&entry=1");
    assert_eq!(
        selected.expect(200, &[]).body,
        compared.body,
        "the older one comes first"
    );
    // Results of different loads are not comparable.
    workspace.expect("run job.toml -q --depth 8", 0, &[]);
    server.get("/compare?entry=3&entry=1").expect(
        422,
        &[
            "are not comparable",
            "in flight: 4 / 8",
            "href=\"/compare?a=1&amp;b=3&amp;force=1\"",
        ],
    );
    server.get("/compare?a=1&b=3&force=1").expect(200, &["history:3"]);
    server.get("/compare?entry=2").expect(400, &["not 1"]);
    server.get("/compare?a=1&b=99").expect(404, &["no entry 99"]);
    server.get("/entry/99").expect(404, &["no entry 99", "What to do"]);
    server.get("/entry/x").expect(404, &[]);
    server.get("/secret").expect(404, &["no such page"]);
    assert_eq!(server.interrupt(), Some(0));
}

#[test]
fn a_verdict_is_listed_and_its_report_command_has_its_clauses() {
    let workspace = two_runs();
    let server = serve(&workspace, &["--listen", "0"]);
    workspace.fathom(&split_words("verify job.toml --require iops>=1000 --quick -q"));
    let passed = "<td class=\"words good\" data-title=\"Verdict\">PASS</td>";
    server.get("/?verdict=PASS").expect(200, &[passed]);
    let command = "fathom report history:3 <span class=\"option\">--require</span> &#39;iops&gt;=1000&#39;";
    server.get("/entry/3").expect(200, &[command]);
}

#[test]
fn only_reads_with_a_known_host_name_are_accepted() {
    let workspace = two_runs();
    let server = serve(&workspace, &["--listen", "127.0.0.1:0"]);
    let address = server.address();
    let host = ("Host", address);
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        let answer = request(address, method, "/entry/1", &[host, ("Content-Length", "0")]);
        assert_eq!(answer.expect(405, &[]).header("allow"), Some("GET, HEAD"));
    }
    assert!(request(address, "HEAD", "/", &[host]).expect(200, &[]).body.is_empty());
    let evil = request(address, "GET", "/", &[("Host", "evil.example")]);
    evil.expect(421, &[]);
    assert!(!evil.text().contains("/entry/1"));
    request(address, "GET", "/", &[("Host", "localhost:1")]).expect(200, &[]);
    assert!(request(address, "GET", "/", &[]).status >= 400, "without a name");
}

#[test]
fn other_machines_need_a_token() {
    let workspace = two_runs();
    let secret = "0123456789abcdef-secret";
    let server = serve(&workspace, &["--listen", "0.0.0.0:0", "--token", secret]);
    assert!(server.url.ends_with(&format!("/?token={secret}")), "{}", server.url);
    let refused = server.get("/");
    refused.expect(401, &["token"]);
    assert!(!refused.text().contains("/entry/1") && !refused.text().contains(secret));
    server.get("/?token=0123456789abcdef-secreT").expect(401, &[]);
    server.get("/entry/1").expect(401, &[]);
    let shown = server.get(&format!("//elsewhere.example?label=x&token={secret}"));
    shown.expect(303, &[]);
    // No other host.
    assert_eq!(shown.header("location"), Some("/elsewhere.example?label=x"));
    let cookie = shown.header("set-cookie").unwrap();
    assert!(cookie.contains("HttpOnly; SameSite=Strict"), "{cookie}");
    let pair = cookie.split(';').next().unwrap();
    let get = |name: &str, value: &str| server.get_with("/", (name, value));
    get("Cookie", &format!("other=1; {pair}")).expect(200, &["/entry/1"]);
    get("Cookie", &format!("{pair}0")).expect(401, &[]);
    get("Authorization", &format!("Bearer {secret}")).expect(200, &["/entry/1"]);
    get("Authorization", "Bearer ").expect(401, &[]);
    drop(server);

    // A generated token differs each time.
    let words = [0, 1].map(|_| {
        let server = serve(&workspace, &["--listen", "0.0.0.0:0"]);
        server.get("/").expect(401, &[]);
        let word = server.url.split_once("?token=").expect("it is printed").1.to_owned();
        let bearer = format!("Bearer {word}");
        server.get_with("/", ("Authorization", &bearer)).expect(200, &[]);
        word
    });
    assert!(words[0] != words[1] && words[0].len() == 32, "{words:?}");
    workspace.expect("serve --listen 0.0.0.0:0 --token short", 4, &["a token has 16 to 128"]);
}

#[test]
fn entries_are_labelled_and_removed_with_the_token() {
    let workspace = two_runs();
    let secret = "0123456789abcdef-secret";
    let server = serve(&workspace, &["--listen", "127.0.0.1:0", "--token", secret]);
    let bearer = format!("Bearer {secret}");
    let known = ("Authorization", bearer.as_str());
    let here = format!("http://{}", server.address());
    let own = [known, ("Origin", here.as_str())];
    let list = || server.get_with("/", known).text();
    assert!(list().contains("formaction=\"/remove\"") && list().contains("formaction=\"/label\""));

    // Without the token, and from a page of another server on this machine, nothing changes.
    server.post("/label", "entry=1&text=mine", &[]).expect(401, &[]);
    for origin in ["http://127.0.0.1:1", "null", "https://evil.example"] {
        let answer = server.post("/remove", "entry=1&sure=1", &[known, ("Origin", origin)]);
        answer.expect(403, &["another server"]);
    }
    assert!(list().contains("href=\"/entry/1\"") && !list().contains("mine"));

    let labelled = server.post("/label", "entry=1&entry=2&text=+mine+%3Cb%3E+", &own);
    assert_eq!(labelled.expect(303, &[]).header("location"), Some("/"));
    assert_eq!(list().matches("mine &lt;b&gt; (tried)").count(), 2);
    server.post("/label", "entry=2&text=", &own).expect(303, &[]);
    assert_eq!(list().matches("mine &lt;b&gt; (tried)").count(), 1);

    // Removal needs a confirmation.
    let asked = server.post("/remove", "entry=1", &own);
    let parts = ["mine &lt;b&gt;", "name=\"sure\" value=\"1\"", "cannot be restored"];
    asked.expect(200, &parts);
    assert!(list().contains("href=\"/entry/1\""));
    server.post("/remove", "entry=1&sure=1", &own).expect(303, &[]);
    assert!(!list().contains("href=\"/entry/1\"") && list().contains("href=\"/entry/2\""));

    let post = |path: &str, form: &str| server.post(path, form, &own);
    post("/remove", "sure=1").expect(400, &["no entry is selected"]);
    post("/label", "entry=1&text=x").expect(404, &["no entry 1"]);
    post("/label", "entry=2").expect(400, &["label is missing"]);
    post("/label", "entry=x&text=x").expect(404, &[]);
    post("/label", &format!("entry=2&text={}", "x".repeat(20_000))).expect(413, &[]);
    post("/entry/2", "").expect(405, &[]);
}

#[test]
fn a_missing_or_damaged_history_is_reported_on_a_page() {
    let workspace = two_runs();
    let server = serve(&workspace, &["--listen", "0"]);
    let history = workspace.path("h.sqlite");
    fs::write(&history, "no database at all, and long enough to be looked at").unwrap();
    server.get("/").expect(503, &["damaged", "What to do"]);
    server.get("/entry/1").expect(503, &["damaged"]);
    fs::remove_file(&history).unwrap();
    server.get("/").expect(200, &["The history is empty"]);
    server.get("/entry/1").expect(404, &["no history"]);
    assert!(!history.exists(), "reading creates no file");
}

#[test]
fn a_busy_port_and_a_wrong_address_are_refused_before_anything_is_measured() {
    let workspace = two_runs();
    let server = serve(&workspace, &["--listen", "0"]);
    let taken = server.address().to_owned();
    let parts = ["cannot listen on", "--listen", "the program that uses this port"];
    workspace.expect(&format!("serve --listen {taken}"), 3, &parts);
    let line = format!("run job.toml --metrics {taken}");
    assert_eq!(workspace.expect(&line, 3, &["cannot listen on", "--metrics"]).out, "");
    workspace.expect(
        "run job.toml --metrics somewhere",
        4,
        &["`somewhere` is not an address"],
    );
}

#[test]
fn a_running_test_can_be_watched() {
    let workspace = two_runs();
    let arguments = [
        "run", "--target", "null", "--name", "a\"b", "--warm-up", "0", "--time", "5s", "-q", "--metrics", "0",
    ];
    let mut run = workspace.command(&arguments);
    let mut child = run.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let mut err = BufReader::new(child.stderr.take().unwrap());
    err.read_line(&mut line).unwrap();
    let url = line.split(' ').find(|word| word.starts_with("http://"));
    let url = url.expect("the address is printed").to_owned();
    let child = KilledOnDrop(child);
    let mut server = Server { child, url };
    server.get("/").expect(
        200,
        &[
            "<script>", "connect-src 'self'", "script-src 'sha256-", "id=\"rate\"", "id=\"p99\"",
        ],
    );
    request(server.address(), "GET", "/metrics", &[("Host", "evil.example")]).expect(421, &[]);
    server.get("/other").expect(404, &["/metrics"]);

    // The history names it while it runs, with a link.
    let history = serve(&workspace, &["--listen", "127.0.0.1:0"]);
    let link = format!("<a href=\"{}\">a&quot;b, since ", server.url);
    history.get("/").expect(200, &["Running now", &link]);

    // The stream sends events as they occur, until the run ends.
    let stream = send(server.address(), "GET", "/events", &[("Host", server.address())]);
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let head: Vec<String> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
    assert!(head.contains(&"content-type: text/event-stream".to_owned()), "{head:?}");
    let mut events = lines.filter_map(|line| {
        let data = line.strip_prefix("data: ")?;
        Some(serde_json::from_str::<Value>(data).expect("an event is JSON"))
    });
    let mut next_interval = || events.find(|event| event["event"] == "interval");
    let first = next_interval().expect("an interval event arrives");
    assert!(first["read_iops"].as_f64().unwrap() > 0.0);

    let answer = server.get("/metrics");
    answer.expect(
        200,
        &[
            "fathom_phase{test=\"a\\\"b\"",
            "phase=\"measuring\"} 1",
            "fathom_left_seconds{",
        ],
    );
    let openmetrics = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!(answer.header("content-type"), Some(openmetrics));
    assert_valid_openmetrics(&answer.text());
    let operations = sample(&answer.text(), "fathom_operations_total");
    assert!(operations > 0.0);
    next_interval().expect("another interval event arrives");
    let later = sample(&server.get("/metrics").text(), "fathom_operations_total");
    assert!(later > operations, "the counter grows");
    let last = events.last().expect("there is an end");
    assert_eq!(last["event"], "summary");
    assert_eq!(server.child.0.wait().unwrap().code(), Some(0));
    drop(server);
    let after = history.get("/");
    assert!(!after.text().contains("Running now"), "{}", after.text());
}

/// The value of the first sample of a name.
fn sample(text: &str, name: &str) -> f64 {
    let line = text.lines().find(|line| line.starts_with(&format!("{name}{{")));
    let (_, value) = line.and_then(|line| line.rsplit_once(' ')).expect("there is a sample");
    value.parse().expect("it is a number")
}

/// Checks the rules of OpenMetrics. Every sample belongs to the family above it, each family occurs
/// once, and the end is marked.
fn assert_valid_openmetrics(text: &str) {
    assert!(text.ends_with("\n# EOF\n"), "{text}");
    let (mut family, mut kind, mut seen) = (String::new(), String::new(), Vec::new());
    for line in text.lines().filter(|line| *line != "# EOF") {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, of) = rest.split_once(' ').unwrap();
            assert!(!seen.contains(&name.to_owned()), "{name} occurs twice");
            (family, kind) = (name.to_owned(), of.to_owned());
            seen.push(family.clone());
        } else if let Some(rest) = line.strip_prefix("# UNIT ") {
            let (name, unit) = rest.split_once(' ').unwrap();
            assert!(name == family && name.ends_with(&format!("_{unit}")), "{line}");
        } else if line.starts_with("# HELP ") {
            assert!(line.starts_with(&format!("# HELP {family} ")), "{line}");
        } else {
            let (name, rest) = line.split_once('{').unwrap();
            let suffix = if kind == "counter" { "_total" } else { "" };
            assert_eq!(name, format!("{family}{suffix}"), "{line}");
            let (labels, value) = rest.rsplit_once("} ").unwrap();
            assert!(value.parse::<f64>().is_ok(), "{line}");
            assert_eq!(labels.contains("quantile="), kind == "summary", "{line}");
        }
    }
}
