//! Simulated hosts: network namespaces with a name each, joined by a bridge in a namespace of its
//! own. They share kernel, file systems and clock; the machine's own network is not touched.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use super::ground::{Directory, Remedy, Undo};
use super::tools::{cannot, need_root, run};
use crate::Unavailable;

/// How many sets of hosts this process has made.
static MADE: AtomicU32 = AtomicU32::new(0);

/// Namespaces as hosts, gone when dropped.
#[derive(Debug)]
pub struct Hosts {
    /// Declared first: namespaces are removed before the folder with their records.
    _undo: Vec<Undo>,
    names: Vec<String>,
    agent: PathBuf,
    _directory: Directory,
}

impl Hosts {
    /// Hosts named `…h0` and so on, which reach one another by these names.
    ///
    /// # Errors
    /// [`Unavailable`] without root, `ip`, or namespaces.
    pub fn with_count(count: usize) -> Result<Hosts, Unavailable> {
        need_root("making network namespaces")?;
        let directory = Directory::new()?;
        let process = std::process::id();
        let which = MADE.fetch_add(1, Ordering::Relaxed);
        let mut undo = Vec::new();
        let mut namespace = |name: &str| -> Result<(), Unavailable> {
            undo.push(Undo::by(Remedy::DeleteNamespace(name.to_owned()), directory.ground())?);
            run("ip", &["netns", "add", name]).map(|_| ())
        };
        let names: Vec<String> = (0..count)
            .map(|number| format!("f{process}x{which}h{number}"))
            .collect();
        let switch = format!("f{process}x{which}sw");
        namespace(&switch)?;
        for name in &names {
            namespace(name)?;
        }
        run("ip", &["-n", &switch, "link", "add", "br0", "type", "bridge"])?;
        run("ip", &["-n", &switch, "link", "set", "br0", "up"])?;
        let address = |number: usize| format!("10.231.0.{}", number + 10);
        let known: String = names
            .iter()
            .enumerate()
            .map(|(number, name)| format!("{} {name}\n", address(number)))
            .collect();
        for (number, name) in names.iter().enumerate() {
            let (port, address) = (format!("p{number}"), format!("{}/24", address(number)));
            run(
                "ip",
                &[
                    "link", "add", "e0", "netns", name, "type", "veth", "peer", "name", &port, "netns", &switch,
                ],
            )?;
            run("ip", &["-n", &switch, "link", "set", &port, "master", "br0", "up"])?;
            run("ip", &["-n", name, "addr", "add", &address, "dev", "e0"])?;
            run("ip", &["-n", name, "link", "set", "e0", "up"])?;
            run("ip", &["-n", name, "link", "set", "lo", "up"])?;
            let folder = Path::new("/etc/netns").join(name);
            fs::create_dir_all(&folder).map_err(cannot(format!("cannot make {}", folder.display())))?;
            let text = format!("127.0.0.1 localhost\n{known}");
            fs::write(folder.join("hosts"), text).map_err(cannot("cannot name the hosts"))?;
        }
        let agent = directory.path().join("agent");
        // Called as ssh is: options, host, words.
        let script = "#!/bin/sh\nwhile [ \"${1#-}\" != \"$1\" ]; do shift; done\nh=$1; shift\n\
                      exec ip netns exec \"$h\" unshare -u -- sh -c \"hostname $h; $*\"\n";
        fs::write(&agent, script).map_err(cannot("cannot write a script"))?;
        fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).map_err(cannot("cannot mark a script"))?;
        Ok(Hosts {
            _undo: undo,
            names,
            agent,
            _directory: directory,
        })
    }

    /// Their names.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// A program that runs words on a host, called as ssh is: `agent HOST WORDS…`.
    pub fn agent(&self) -> &Path {
        &self.agent
    }

    /// Disconnects one of them, as a pulled cable does: the others are not notified.
    ///
    /// # Errors
    /// [`Unavailable`] if that cannot be done.
    pub fn cut_off(&self, number: usize) -> Result<(), Unavailable> {
        run("ip", &["-n", &self.names[number], "link", "set", "e0", "down"]).map(|_| ())
    }

    /// A command on one of them; the caller adds arguments.
    pub fn on(&self, number: usize, program: &str) -> Command {
        let mut command = Command::new("ip");
        let name = &self.names[number];
        command.args(["netns", "exec", name, "unshare", "-u", "--", "sh", "-c"]);
        command
            .arg(format!("hostname {name}; exec \"$@\""))
            .args(["sh", program]);
        command
    }
}
