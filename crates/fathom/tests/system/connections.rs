//! Idle and slow connections to a run with `--metrics`. They disturb neither the run nor other
//! clients.

use std::io::{BufRead, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};

use crate::prelude::*;

const TIMEOUT: Duration = Duration::from_secs(30);

/// A run that serves its metrics.
struct Run {
    _folder: Directory,
    child: KilledOnDrop,
    address: SocketAddr,
}

impl Run {
    /// Runs a job file under `ulimit -n`. `FOLDER` in it is the folder of the test.
    fn start(job: &str, open_files: u32) -> Run {
        let folder = folder();
        fs::write(
            folder.path().join("job.toml"),
            job.replace("FOLDER", text(folder.path())),
        )
        .unwrap();
        let script = format!("ulimit -n {open_files}; exec \"$@\"");
        let mut child = Command::new("sh")
            .args(["-c", &script, "sh", PROGRAM, "run", "job.toml", "-q", "--metrics", "0"])
            .env("FATHOM_HISTORY", "off")
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut err = BufReader::new(child.stderr.take().unwrap());
        err.read_line(&mut line).unwrap();
        let address = line.split("http://").nth(1).and_then(|rest| rest.split('/').next());
        let address = address.and_then(|address| address.parse().ok());
        let address = address.unwrap_or_else(|| panic!("no address is printed: {line}"));
        // The remaining output fits into the pipe.
        child.stderr = Some(err.into_inner());
        Run {
            _folder: folder,
            child: KilledOnDrop(child),
            address,
        }
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect_timeout(&self.address, TIMEOUT).unwrap()
    }

    /// The response of `/metrics`, and its duration.
    fn metrics(&self) -> (String, Duration) {
        let begun = Instant::now();
        let mut stream = self.connect();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        let request = format!(
            "GET /metrics HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
            self.address
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        (answer, begun.elapsed())
    }

    #[track_caller]
    fn expect_answer_within(&self, limit: Duration) {
        let (answer, took) = self.metrics();
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
        assert!(took < limit, "{took:?}");
    }

    #[track_caller]
    fn expect_success(mut self) {
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.child.0.try_wait().unwrap() {
                break status;
            }
            assert!(begun.elapsed() < TIMEOUT, "it does not end");
            std::thread::sleep(Duration::from_millis(20));
        };
        let mut err = String::new();
        self.child.0.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        assert_eq!(status.code(), Some(0), "{err}");
    }
}

/// True once the other side has closed the connection.
fn is_closed(stream: &mut TcpStream) -> bool {
    stream.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
    match stream.read(&mut [0; 64]) {
        Ok(count) => count == 0,
        Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
    }
}

const QUIET: &str = "[[job]]\nname = \"q\"\ntarget = \"null\"\nrate = \"10iops\"\ntime = \"9s\"\nwarm-up = \"0s\"\n";

/// A port scan once used up the file descriptors that a run needs.
#[test]
fn idle_connections_with_few_descriptors_fail_no_run() {
    // The second step opens a file 60 times, after the connections have come.
    let job = "[[job]]\nname = \"before\"\ntarget = \"null\"\nrate = \"10iops\"\ntime = \"3s\"\nwarm-up = \"0s\"\n\
               [[job]]\nname = \"opens\"\nstep = 2\ntarget = \"FOLDER/f.dat\"\nsize = \"1m\"\nengine = \"psync\"\nworkers = 60\n\
               time = \"1s\"\nwarm-up = \"0s\"\n";
    let run = Run::start(job, 256);
    let idle: Vec<TcpStream> = (0..377).map(|_| run.connect()).collect();
    run.expect_answer_within(Duration::from_secs(3));
    let open = fs::read_dir(format!("/proc/{}/fd", run.child.0.id())).unwrap().count();
    assert!(open < 60, "{open} are open");
    run.expect_success();
    drop(idle);
}

#[test]
fn connections_with_slow_headers_are_closed_after_five_seconds() {
    let run = Run::start(QUIET, 1024);
    let begun = Instant::now();
    let (mut slow, mut silent) = (run.connect(), run.connect());
    slow.write_all(b"GET /metrics HTTP/1.1\r\nX-Slow: ").unwrap();
    let mut ends = [None, None];
    while ends.contains(&None) {
        assert!(begun.elapsed() < Duration::from_secs(8), "{ends:?}");
        let _ = slow.write_all(b"x");
        for (end, stream) in ends.iter_mut().zip([&mut slow, &mut silent]) {
            if end.is_none() && is_closed(stream) {
                *end = Some(begun.elapsed());
            }
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    for end in ends.into_iter().flatten() {
        assert!(end >= Duration::from_millis(4500), "{end:?}");
    }
    run.expect_answer_within(Duration::from_secs(2));
    run.expect_success();
}

#[test]
fn beyond_sixty_four_connections_the_longest_idle_one_is_closed() {
    let run = Run::start(QUIET, 1024);
    // A client that watches always has an active request.
    let mut watching = run.connect();
    let request = format!("GET /events HTTP/1.1\r\nHost: {}\r\n\r\n", run.address);
    watching.write_all(request.as_bytes()).unwrap();
    let mut first = [0; 12];
    watching.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    let mut idle: Vec<TcpStream> = (0..64).map(|_| run.connect()).collect();
    run.expect_answer_within(Duration::from_secs(2));
    let closed: Vec<usize> = (0..64).filter(|place| is_closed(&mut idle[*place])).collect();
    // With the client there were 66 connections, so the two oldest idle ones were closed.
    assert_eq!(closed, [0, 1]);
    // The stream continues.
    let mut piece = [0; 4096];
    let begun = Instant::now();
    watching.set_read_timeout(Some(TIMEOUT)).unwrap();
    while begun.elapsed() < Duration::from_secs(2) {
        assert!(watching.read(&mut piece).unwrap() > 0, "the stream ended");
    }
    run.expect_success();
}
