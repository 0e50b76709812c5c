//! `--server` and `--client` of fio. Jobs run on several servers on this machine, and programs read
//! their JSON.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;
use testbed::{Directory, need};

use super::calling::KilledOnDrop;
use super::{PROGRAM, Ran, Workspace, command, end, free_port, hosts, run, wait_until};

/// A server on this machine.
struct Server {
    child: KilledOnDrop,
    address: String,
}

fn fio(folder: &Path, token: Option<&str>) -> Command {
    let mut command = command(PROGRAM, folder);
    command.arg("fio").current_dir(folder);
    match token {
        Some(token) => command.env("FATHOM_TOKEN", token),
        None => command.env_remove("FATHOM_TOKEN"),
    };
    command
}

impl Server {
    /// Starts a server whose jobs run in this folder.
    fn at(folder: &Path, token: Option<&str>) -> Server {
        let port = free_port();
        fs::create_dir_all(folder).unwrap();
        let address = format!("127.0.0.1,{port}");
        let child = fio(folder, token).arg(format!("--server={address}")).spawn();
        let listens = || TcpStream::connect(("127.0.0.1", port)).is_ok();
        wait_until(20, listens, "the server does not listen");
        let child = KilledOnDrop(child.unwrap());
        Server { child, address }
    }

    /// Starts two servers, in folders of their own.
    fn two(folder: &Path) -> [Server; 2] {
        ["s1", "s2"].map(|name| Server::at(&folder.join(name), None))
    }

    fn port(&self) -> u64 {
        self.address.split_once(',').unwrap().1.parse().unwrap()
    }

    fn flag(&self) -> String {
        format!("--client={}", self.address)
    }
}

fn client(folder: &Path, words: &[&str]) -> Ran {
    run(fio(folder, None).args(words))
}

/// Parses the JSON document, which begins at the first brace.
#[track_caller]
pub(super) fn document(ran: &Ran) -> Value {
    let begin = ran.out.find('{');
    let begin = begin.unwrap_or_else(|| panic!("no document: {} {}", ran.out, ran.err));
    serde_json::from_str(&ran.out[begin..]).unwrap()
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

const JOBS: &str = "[global]\nioengine=psync\nsize=1m\nbs=4k\n[a]\nrw=randrw\nnumjobs=2\n[b]\nstonewall\nrw=read\n";

#[test]
fn the_total_is_the_sum_of_the_servers() {
    let folder = need!(Directory::fast());
    let folder = folder.path();
    let servers = Server::two(folder);
    fs::write(folder.join("jobs.fio"), JOBS).unwrap();
    let flags = servers.each_ref().map(Server::flag);
    let ran = client(folder, &[&flags[0], &flags[1], "jobs.fio", "--output-format=json"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{}", ran.out);
    let document = document(&ran);
    let names = [
        "fio version", "timestamp", "time", "global options", "client_stats", "disk_util",
    ];
    let found = keys(&document);
    assert!(found.iter().all(|key| names.contains(key)), "{found:?}");
    assert!(document.get("timestamp_ms").is_none() && document.get("jobs").is_none());
    // As fio 3.42: one object for each host, with its name.
    let globals = document["global options"].as_array().unwrap();
    assert_eq!(globals.len(), 2);
    let stats = document["client_stats"].as_array().unwrap();
    for (global, entry) in globals.iter().zip(stats.chunks(3)) {
        assert_eq!((&global["bs"], &global["ioengine"]), (&"4k".into(), &"psync".into()));
        assert_eq!(&global["hostname"], &entry[0]["hostname"]);
        assert_eq!(&global["port"], &entry[0]["port"]);
    }
    let shown = stats.iter().map(|entry| {
        assert_eq!(entry["hostname"], "127.0.0.1");
        (entry["jobname"].as_str().unwrap(), entry["port"].as_u64().unwrap())
    });
    let of_server = |server: &Server| ["a", "a", "b"].map(|job| (job, server.port()));
    let mut expected = servers.each_ref().map(of_server).concat();
    expected.push(("All clients", servers[1].port()));
    assert_eq!(shown.collect::<Vec<_>>(), expected);
    // Each job issues 256 operations, one for each block.
    for entry in &stats[..6] {
        let total = |direction: &str| entry[direction]["total_ios"].as_u64().unwrap();
        assert_eq!(total("read") + total("write"), 256, "{entry}");
        assert!(entry.get("eta").is_none() && entry.get("elapsed").is_none());
        let rw = if entry["jobname"] == "a" { "randrw" } else { "read" };
        assert_eq!(entry["job options"]["rw"], rw);
    }
    let (all, parts) = (&stats[6], &stats[..6]);
    for direction in ["read", "write"] {
        for key in ["io_bytes", "total_ios", "short_ios"] {
            let sum: u64 = parts.iter().map(|entry| entry[direction][key].as_u64().unwrap()).sum();
            assert_eq!(all[direction][key].as_u64(), Some(sum), "{direction} {key}");
        }
        let total = &all[direction]["clat_ns"];
        let latencies = || parts.iter().map(|entry| &entry[direction]["clat_ns"]);
        let counted: u64 = latencies().map(|latency| latency["N"].as_u64().unwrap()).sum();
        assert_eq!(total["N"].as_u64(), Some(counted));
        let max = latencies().map(|latency| latency["max"].as_u64().unwrap()).max();
        assert_eq!(total["max"].as_u64(), max);
        let sums = latencies().map(|latency| latency["mean"].as_f64().unwrap() * latency["N"].as_f64().unwrap());
        let mean = sums.sum::<f64>() / counted as f64;
        assert!((total["mean"].as_f64().unwrap() - mean).abs() < 0.01, "{direction}");
        assert!(total["percentile"]["99.000000"].as_u64().unwrap() > 0);
    }
    let runtimes = parts.iter().map(|entry| entry["job_runtime"].as_u64().unwrap());
    assert_eq!(all["job_runtime"].as_u64(), Some(runtimes.sum::<u64>()));
    // Each server created its own files in its folder, with the host in their names.
    for server in ["s1", "s2"] {
        for name in ["127.0.0.1.a.0.0", "127.0.0.1.a.1.0", "127.0.0.1.b.0.0"] {
            let file = fs::metadata(folder.join(server).join(name)).unwrap();
            assert_eq!(file.len(), 1 << 20, "{server}/{name}");
        }
    }
    assert!(!folder.join("127.0.0.1.a.0.0").exists());
}

#[test]
fn file_names_follow_the_job() {
    let folder = need!(Directory::fast());
    let folder = folder.path();
    let server = Server::at(&folder.join("s"), None);
    let words = [
        "--name=u", "--size=4k", "--rw=write", "--unique_filename=0", "--name=v", "--size=4k", "--rw=write",
        "--filename=50%h",
    ];
    let flag = server.flag();
    let ran = client(folder, &[&[flag.as_str()], &words[..]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(folder.join("s/u.0.0").exists());
    // No part of a file name of fio is replaced by a host.
    assert!(folder.join("s/50%h").exists());
    // An existing file is read unchanged, without a size.
    let words = [
        &*flag, "--name=w", "--rw=read", "--filename=u.0.0", "--output-format=json",
    ];
    let ran = client(folder, &words);
    assert_eq!(document(&ran)["client_stats"][0]["read"]["io_bytes"], 4096);
}

#[test]
fn each_server_has_its_own_jobs_and_a_list_of_hosts_shares_them() {
    let folder = need!(Directory::fast());
    let folder = folder.path();
    let servers = Server::two(folder);
    let [first, second] = servers.each_ref().map(Server::flag);
    let one = "[one]\nioengine=null\nsize=1m\nrw=read\n[more]\nstonewall\nioengine=null\nsize=2m\nrw=write\n";
    fs::write(folder.join("one.fio"), one).unwrap();
    fs::write(folder.join("two.fio"), "[two]\nioengine=null\nsize=3m\nrw=write\n").unwrap();
    let done = |ran: &Ran| -> Vec<(String, u64, u64)> {
        let document = document(ran);
        let entries = document["client_stats"].as_array().unwrap();
        let job_counts = |entry: &Value| {
            let bytes = |direction: &str| entry[direction]["io_bytes"].as_u64().unwrap() >> 20;
            let name = entry["jobname"].as_str().unwrap().to_owned();
            (name, bytes("read"), bytes("write"))
        };
        entries.iter().map(job_counts).collect()
    };
    let entry = |name: &str, read, write| (name.to_owned(), read, write);
    let ran = client(folder, &[&first, "one.fio", &second, "two.fio", "--output-format=json"]);
    let [one, more, two] = [entry("one", 1, 0), entry("more", 0, 2), entry("two", 0, 3)];
    assert_eq!(done(&ran), [one, more, two.clone(), entry("All clients", 1, 5)]);
    let hosts = format!("{}\n{}\n", servers[0].address, servers[1].address);
    fs::write(folder.join("hosts"), hosts).unwrap();
    let ran = client(folder, &["--client=hosts", "two.fio", "--output-format=json"]);
    assert_eq!(done(&ran), [two.clone(), two.clone(), entry("All clients", 0, 6)]);
    // A single entry is its own sum.
    let ran = client(folder, &[&first, "two.fio", "--output-format=json"]);
    assert_eq!(done(&ran), [two]);
}

#[test]
fn the_normal_report_and_the_logs_name_hosts() {
    let folder = need!(Directory::fast());
    let folder = folder.path();
    let servers = Server::two(folder);
    let words = [
        "--name=w", "--rw=write", "--size=1m", "--rate_iops=100", "--runtime=2", "--time_based", "--log_avg_msec=200",
        "--write_bw_log=x", "--write_hist_log=x", "--log_hist_msec=200",
    ];
    let [first, second] = servers.each_ref().map(Server::flag);
    let ran = client(folder, &[&[first.as_str(), &second], &words[..]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let lines: Vec<&str> = ran.out.lines().collect();
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let host = host.trim();
    let entries: Vec<&str> = lines
        .iter()
        .copied()
        .filter(|line| line.contains(": (groupid="))
        .collect();
    assert_eq!(entries.len(), 3, "{}", ran.out);
    for (line, start) in [
        (lines[0], &*format!("hostname={host}, be=0, ")),
        (lines[1], &format!("<{host}> w: (g=0): rw=write, bs=(R) 4096B-4096B")),
        (entries[0], "w: (groupid=0, jobs=1): err= 0: pid="),
        (entries[2], "All clients: (groupid=0, jobs=2): err= 0: pid=0: "),
    ] {
        assert!(line.starts_with(start), "{start}: {}", ran.out);
    }
    assert_eq!(lines[2], format!("<{host}> Starting 1 process"));
    let is_group = |line: &&&str| **line == "Run status group 0 (all jobs):";
    assert_eq!(lines.iter().filter(is_group).count(), 2);
    // The lines of a log are columns of numbers.
    for server in &servers {
        let log = folder.join(format!("x_bw.1.log.{}", server.address));
        let text = fs::read_to_string(&log).unwrap();
        assert!(text.lines().count() >= 5, "{text}");
        for line in text.lines() {
            let columns: Vec<&str> = line.split(", ").collect();
            assert_eq!(columns.len(), 5, "{line}");
            assert!(columns.iter().all(|column| column.parse::<u64>().is_ok()), "{line}");
        }
        assert!(folder.join(format!("x_clat_hist.1.log.{}", server.address)).exists());
    }
    // A host that is named once needs no port in its lines.
    let ran = client(folder, &[&[first.as_str()], &words[..]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(folder.join("x_bw.1.log.127.0.0.1").exists());
}

#[test]
fn a_program_that_is_not_our_server_is_reported_in_bounded_time() {
    let folder = need!(Directory::fast());
    let folder = folder.path();
    let job = ["--name=n", "--ioengine=null", "--size=1m"];
    let with = |host: &str| {
        let flag = format!("--client={host}");
        client(folder, &[&[flag.as_str()], &job[..]].concat())
    };
    let port = free_port();
    let ran = with(&format!("127.0.0.1,{port}"));
    let failed = format!("fio: failed to connect to 127.0.0.1:{port}");
    ran.expect(1, &["fio: connect: Connection refused", &failed]);
    // One program sends nothing, one sends something else, and one hangs up, as fio's own server
    // does.
    let kinds: [(&[u8], bool, &str); 3] = [
        (b"", true, "it does not respond"),
        (&[b'x'; 200], true, "the program at this address is not fathom"),
        (b"", false, "it closed the connection without a greeting"),
    ];
    for (says, stays, message) in kinds {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let other = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            // Read its input, so that the connection ends without a reset.
            let _ = stream.read(&mut [0; 512]);
            stream.write_all(says).unwrap();
            while stays && stream.read(&mut [0; 512]).is_ok_and(|count| count > 0) {}
        });
        let ran = with(&format!("127.0.0.1,{port}"));
        ran.expect(1, &[message, "servers of fio itself use another protocol"]);
        assert!(ran.took < Duration::from_secs(20), "{:?}", ran.took);
        other.join().unwrap();
    }
}

#[test]
fn without_a_token_only_this_machine_is_served() {
    let folder = need!(Directory::fast());
    let folder = folder.path();
    let refused = ["connections to other machines need a token", "set FATHOM_TOKEN"];
    client(folder, &["--server=0.0.0.0,8799"]).expect(1, &refused);
    client(folder, &["--client=192.0.2.1", "--name=n", "--size=1m"]).expect(1, &refused);
    let server = Server::at(&folder.join("s"), Some("0123456789abcdef"));
    let flag = server.flag();
    let words = [flag.as_str(), "--name=n", "--ioengine=null", "--size=1m"];
    client(folder, &words).expect(1, &["the two sides do not have the same token", "set FATHOM_TOKEN"]);
    run(fio(folder, Some("0123456789abcdef")).args(words)).expect(0, &["n: (groupid=0, jobs=1)"]);
    client(folder, &["--server", "--client=x", "--name=n"]).expect(1, &["fio: can't be both client and server"]);
    let twice = [flag.as_str(), flag.as_str(), "--name=n", "--size=1m"];
    client(folder, &twice).expect(1, &["occurs twice"]);
}

#[test]
fn a_socket_in_the_file_system_is_only_for_its_user() {
    use std::os::unix::fs::{FileTypeExt, PermissionsExt};
    let folder = need!(Directory::fast());
    let folder = folder.path();
    let path = folder.join("socket");
    let number = folder.join("number");
    // The server runs in the background. Its process ID is in a file.
    let daemon = format!("--daemonize={}", number.display());
    client(folder, &["--server=sock:socket", &daemon]).expect(0, &[]);
    let meta = fs::metadata(&path).unwrap();
    assert!(meta.file_type().is_socket() && meta.permissions().mode() & 0o777 == 0o600);
    let job = [
        "--client=sock:socket", "--name=n", "--ioengine=null", "--size=1m", "--output-format=json",
    ];
    let ran = client(folder, &job);
    let process = fs::read_to_string(&number).unwrap().trim().to_owned();
    client(folder, &["--server=sock:socket"]).expect(1, &["another process listens there"]);
    assert!(Command::new("kill").arg(&process).status().unwrap().success());
    wait_until(20, || !path.exists(), "the socket stays");
    let entry = &document(&ran)["client_stats"][0];
    assert_eq!((&entry["hostname"], &entry["port"]), (&"socket".into(), &0.into()));
    assert_eq!(entry["read"]["io_bytes"], 1 << 20);
}

#[test]
fn options_that_need_the_local_host_are_refused_by_name() {
    let folder = need!(Directory::fast());
    let check = |option: &str, message: &str| {
        let words = ["--client=127.0.0.1,9", "--name=n", "--size=1m", option];
        client(folder.path(), &words).expect(1, &[message]);
    };
    for (option, name) in [
        ("--exec_prerun=true", "exec_prerun"),
        ("--write_iolog=t", "write_iolog"),
        ("--status-interval=1", "--status-interval"),
    ] {
        check(option, &format!("fio: {name} is not supported with --client"));
    }
    check("--write_lat_log=x", "fio: logs with --client need log_avg_msec");
}

#[test]
fn the_other_servers_continue_after_a_loss() {
    let folder = need!(Directory::fast());
    let folder = folder.path();
    let mut servers = Server::two(folder);
    let [first, second] = servers.each_ref().map(Server::flag);
    let words = [
        &first, &second, "--name=w", "--rw=write", "--size=1m", "--rate_iops=100", "--runtime=8", "--time_based",
        "--output-format=json",
    ];
    let running = fio(folder, None).args(words).spawn().unwrap();
    sleep(Duration::from_secs(4));
    servers[1].child.0.kill().unwrap();
    let ran = end(running);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    assert!(ran.err.contains("fio: client <127.0.0.1>: "), "{}", ran.err);
    let document = document(&ran);
    let runtime = |place: usize| document["client_stats"][place]["job_runtime"].as_u64().unwrap();
    assert!(runtime(0) >= 7900, "{}", runtime(0));
    assert!(runtime(1) < 7000, "{}", runtime(1));
}

#[test]
fn one_host_reports_like_a_local_run() {
    let hosts = need!(hosts(1));
    let workspace = need!(Workspace::new(""));
    workspace.write_job(
        "[[job]]\nname = \"r\"\ntarget = \"DIR/%h.dat\"\nsize = \"4m\"\nread = 100\nblock = \"4k\"\noperations = 500\n",
    );
    let name = hosts.names()[0].clone();
    let ran = run(workspace
        .command(PROGRAM)
        .args(workspace.run_args("saved"))
        .args(["--host", &name])
        .env("FATHOM_SSH", hosts.agent())
        .env("FATHOM_REMOTE", PROGRAM));
    ran.expect(0, &["IOPS", &format!("on {name}, by ssh")]);
    assert!(!ran.out.contains("rank"), "{}", ran.out);
    let results = workspace.saved("saved");
    let machines = results.hosts.iter().map(|host| &*host.environment.host.name);
    assert_eq!(machines.collect::<Vec<_>>(), [&*name]);
    assert_eq!(results.steps[0].jobs[0].total().operations, 500);
    let file = fs::metadata(workspace.path(&format!("{name}.dat"))).unwrap();
    assert_eq!(file.len(), 4 << 20);
}

/// Scripts call the program by a link or a copy named `fio`. They connect as soon as the call
/// returns.
#[test]
fn a_server_in_the_background_listens_when_the_call_returns() {
    let folder = need!(Directory::fast());
    let folder = folder.path();
    std::os::unix::fs::symlink(PROGRAM, folder.join("fio")).unwrap();
    fs::create_dir(folder.join("copy")).unwrap();
    testbed::copy_program(PROGRAM, folder.join("copy/fio"));
    for program in ["fio", "copy/fio"] {
        let called = |arguments: &[&str]| {
            let mut command = command(folder.join(program), folder);
            run(command.args(arguments).current_dir(folder).env_remove("FATHOM_TOKEN"))
        };
        called(&["--server=sock:socket", "--daemonize=number"]).expect(0, &[]);
        let ran = called(&["--client=sock:socket", "--name=n", "--ioengine=null", "--size=1m"]);
        let process = fs::read_to_string(folder.join("number")).unwrap();
        assert!(Command::new("kill").arg(process.trim()).status().unwrap().success());
        ran.expect(0, &["n: (groupid=0, jobs=1)"]);
        wait_until(20, || !folder.join("socket").exists(), "the socket stays");
    }
}
