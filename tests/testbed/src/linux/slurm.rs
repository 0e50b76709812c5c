//! Slurm with one node, this machine, all of it inside a folder.

use std::fs;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::ground::Directory;
use super::tools::{cannot, need_root, run};
use crate::Unavailable;

/// How long its node may take to appear.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A controller and a node, ended when dropped.
#[derive(Debug)]
pub struct Slurm {
    daemons: Vec<Child>,
    folder: Directory,
}

impl Slurm {
    /// Starts both daemons.
    ///
    /// # Errors
    /// [`Unavailable`] without root or Slurm, or if its node does not appear.
    pub fn new() -> Result<Slurm, Unavailable> {
        need_root("starting Slurm")?;
        let folder = Directory::new()?;
        let place = folder.path().display();
        let host = run("hostname", &["-s"])?;
        let host = host.trim();
        let (controller, node) = (free_port()?, free_port()?);
        for name in ["state", "spool"] {
            fs::create_dir(folder.path().join(name)).map_err(cannot("cannot make a folder"))?;
        }
        let words = format!(
            "ClusterName=testbed\nSlurmctldHost={host}\nSlurmUser=root\nSlurmdUser=root\nAuthType=auth/none\nCredType=cred/none\n\
             SlurmctldPort={controller}\nSlurmdPort={node}\nStateSaveLocation={place}/state\nSlurmdSpoolDir={place}/spool\n\
             SlurmctldPidFile={place}/controller.pid\nSlurmdPidFile={place}/node.pid\nProctrackType=proctrack/linuxproc\n\
             TaskPlugin=task/none\nSelectType=select/cons_tres\nMpiDefault=none\nSwitchType=switch/none\nReturnToService=2\n\
             SlurmdParameters=config_overrides\nNodeName={host} NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN\n\
             PartitionName=all Nodes=ALL Default=YES OverSubscribe=FORCE:8 State=UP\n"
        );
        let file = folder.path().join("slurm.conf");
        fs::write(&file, words).map_err(cannot("cannot write slurm.conf"))?;
        let mut slurm = Slurm {
            daemons: Vec::new(),
            folder,
        };
        for daemon in ["slurmctld", "slurmd"] {
            let mut command = slurm.command(daemon);
            command
                .arg("-D")
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            let child = command.spawn();
            slurm
                .daemons
                .push(child.map_err(cannot(format!("cannot start {daemon} (Debian: slurmctld, slurmd)")))?);
        }
        let begun = Instant::now();
        while begun.elapsed() < TIMEOUT {
            let output = slurm.command("sinfo").args(["--noheader", "--format=%T"]).output();
            let output = output.map_err(cannot("cannot ask Slurm (Debian: slurm-client)"))?;
            if String::from_utf8_lossy(&output.stdout).trim() == "idle" {
                return Ok(slurm);
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        Err(Unavailable::because("the node of Slurm does not appear"))
    }

    /// Whether it can start processes with PMIx.
    ///
    /// # Errors
    /// [`Unavailable`] if its plugin cannot open that library.
    pub fn has_pmix(&self) -> Result<(), Unavailable> {
        let output = self.command("srun").args(["--mpi=pmix", "true"]).output();
        let output = output.map_err(cannot("cannot call srun (Debian: slurm-client)"))?;
        match output.status.success() {
            true => Ok(()),
            false => Err(Unavailable::because(format!(
                "Slurm has no PMIx (Debian: libpmix-dev): {}",
                String::from_utf8_lossy(&output.stderr)
                    .lines()
                    .next()
                    .unwrap_or_default()
            ))),
        }
    }

    /// A Slurm program, or one that it starts, configured for this Slurm only.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("SLURM_CONF", self.folder.path().join("slurm.conf"));
        command
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        for daemon in self.daemons.iter_mut().rev() {
            let asked = Command::new("kill").arg(daemon.id().to_string()).status();
            let begun = Instant::now();
            while asked.is_ok() && begun.elapsed() < Duration::from_secs(5) && matches!(daemon.try_wait(), Ok(None)) {
                std::thread::sleep(Duration::from_millis(20));
            }
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

fn free_port() -> Result<u16, Unavailable> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(cannot("no port is free"))?;
    listener
        .local_addr()
        .map(|address| address.port())
        .map_err(cannot("no port is free"))
}
