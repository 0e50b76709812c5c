//! Hosts that cannot be reached: the reason, the remedy, and interruption of the wait.

use super::vdbench::ssh_script;
use super::*;

/// Starts a run on hosts, with this script in the place of ssh.
fn with_ssh(workspace: &Workspace, script: &str, list: &str, more: &[&str]) -> Child {
    workspace
        .command(PROGRAM)
        .args(["run", "--hosts", list])
        .args(more)
        .arg(workspace.path("job.toml"))
        .env("FATHOM_SSH", ssh_script(workspace, script))
        .spawn()
        .unwrap()
}

#[test]
fn an_unreachable_host_is_reported_with_the_reason() {
    let workspace = need!(simulated());
    let check = |script: &str, code: &str, reason: &str, help: &str| {
        let ran = end(with_ssh(&workspace, script, "db1", &["--quiet"]));
        ran.expect(3, &["--> db1", code, &format!("why: {reason}"), help]);
    };
    let refused = "echo 'Could not resolve hostname db1' >&2; exit 255";
    let resolved = "Could not resolve hostname db1";
    check(refused, "exit status: 255", resolved, "FATHOM_SSH");
    let missing = "echo 'sh: fathom: not found' >&2; exit 127";
    check(missing, "exit status: 127", "sh: fathom: not found", "FATHOM_REMOTE");
}

/// The kernel completes the connection; no ssh server answers it.
#[test]
fn a_silent_host_is_given_up_after_ten_seconds() {
    let workspace = need!(Workspace::new(SIMULATED));
    if Command::new("ssh").arg("-V").output().is_err() {
        testbed::skip("ssh is not installed");
        return;
    }
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = format!("ssh://{}", silent.local_addr().unwrap());
    let started = workspace
        .command(PROGRAM)
        .args(["run", "--quiet", "--hosts", &host])
        .arg(workspace.path("job.toml"))
        .env_remove("FATHOM_SSH")
        .spawn()
        .unwrap();
    let ran = end(started);
    ran.exits(3).prints(&[
        &format!("--> {host}"),
        "timed out",
        "the name, the key and the firewall",
    ]);
    assert!(ran.took < Duration::from_secs(25), "it took {:?}", ran.took);
}

#[test]
fn several_processes_of_one_host_are_named_one_by_one() {
    let workspace = need!(simulated());
    let parts = ["invalid host `local*2`", "listen://ADDRESS*COUNT", "local,local"];
    end(workspace.with_hosts(None, "local*2", "saved")).expect(4, &parts);
}

/// Waits for a line on stderr, interrupts, and checks the end.
fn interrupt_and_check(mut child: Child, line: &str) {
    use std::io::{BufRead, BufReader};
    let (line_tx, heard) = std::sync::mpsc::channel();
    let err = child.stderr.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut all = String::new();
        for line in BufReader::new(err).lines().map_while(Result::ok) {
            all += &format!("{line}\n");
            let _ = line_tx.send(line);
        }
        all
    });
    let begun = Instant::now();
    let mut seen = false;
    while !seen && begun.elapsed() < WATCHDOG / 2 {
        seen = heard
            .recv_timeout(Duration::from_millis(100))
            .is_ok_and(|heard| heard.contains(line));
    }
    let asked = Instant::now();
    signal(child.id(), "INT");
    let ran = end(child);
    let all = reader.join().unwrap();
    assert!(seen, "`{line}` is missing: {all}");
    assert_eq!(ran.code, Some(130), "{all}");
    assert!(all.contains("interrupted while waiting for other hosts"), "{all}");
    assert!(
        asked.elapsed() < Duration::from_secs(5),
        "it took {:?}",
        asked.elapsed()
    );
}

#[test]
fn waiting_for_hosts_is_reported_and_can_be_interrupted() {
    let workspace = need!(simulated());
    let hanging = with_ssh(&workspace, "exec sleep 50", "db1,db2", &[]);
    interrupt_and_check(hanging, "waiting for db1, db2");
    let listening = with_ssh(&workspace, "", "listen://127.0.0.1:0*1", &[]);
    interrupt_and_check(listening, "waiting for 1 agent on 127.0.0.1:");
    // No process listens at a port that was just closed.
    let address = format!("127.0.0.1:{}", free_port());
    let worker = workspace.connecting_agent(&address).spawn().unwrap();
    interrupt_and_check(worker, &format!("waiting for the coordinator at {address}"));
}

#[test]
fn an_unusable_address_is_distinguished_from_a_missing_agent() {
    let workspace = need!(simulated());
    let check = |list: &str, code: i32, parts: &[&str]| {
        end(workspace.with_hosts(None, list, "saved")).expect(code, parts);
    };
    check(
        "tcp://localhost",
        4,
        &["`tcp://localhost` has no port", "for example tcp://db1:7745"],
    );
    check(
        "tcp://nosuch.invalid:7745",
        3,
        &["cannot resolve this name", "check the spelling"],
    );
}
