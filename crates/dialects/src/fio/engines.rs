//! fio's engines, and which of them fathom supports.

use model::plan::EngineKind;

/// An fio engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Engine {
    /// Name in `ioengine=`.
    pub name: &'static str,
    /// fio has it on Windows too.
    pub on_windows: bool,
    /// It keeps several operations in flight.
    pub asynchronous: bool,
}

const fn synchronous(name: &'static str) -> Engine {
    Engine {
        name,
        on_windows: true,
        asynchronous: false,
    }
}

const fn asynchronous(name: &'static str) -> Engine {
    Engine {
        asynchronous: true,
        ..synchronous(name)
    }
}

const fn posix(engine: Engine) -> Engine {
    Engine {
        on_windows: false,
        ..engine
    }
}

impl Engine {
    /// Whether this system has it. Other engines are known, but not loadable.
    pub fn is_loadable(&self) -> bool {
        (self.on_windows || cfg!(not(windows))) && EngineKind::from_fio_name(self.name).is_some()
    }
}

/// All engines, in fio's order. Engines that need special libraries or devices are listed too, to
/// tell them from misspellings.
pub const ENGINES: &[Engine] = &[
    synchronous("cpuio"),
    synchronous("mmap"),
    synchronous("sync"),
    posix(synchronous("psync")),
    posix(synchronous("vsync")),
    posix(synchronous("pvsync")),
    posix(synchronous("pvsync2")),
    asynchronous("null"),
    posix(synchronous("ftruncate")),
    synchronous("filecreate"),
    synchronous("filestat"),
    synchronous("filedelete"),
    synchronous("dircreate"),
    synchronous("dirstat"),
    synchronous("dirdelete"),
    synchronous("exec"),
    posix(asynchronous("posixaio")),
    posix(synchronous("falloc")),
    posix(synchronous("splice")),
    posix(asynchronous("io_uring")),
    posix(asynchronous("libaio")),
    // On other systems, so that job files from Windows run.
    asynchronous("windowsaio"),
    synchronous("net"),
    synchronous("netsplice"),
    synchronous("e4defrag"),
    synchronous("page_fault"),
    synchronous("mtd"),
    synchronous("sg"),
    asynchronous("io_uring_cmd"),
    asynchronous("rbd"),
    asynchronous("rados"),
    synchronous("http"),
    asynchronous("nfs"),
    asynchronous("nbd"),
    asynchronous("rdma"),
    synchronous("gfapi"),
    synchronous("libhdfs"),
    synchronous("libpmem"),
    synchronous("dev-dax"),
    asynchronous("dfs"),
    asynchronous("libiscsi"),
    synchronous("libzbc"),
    asynchronous("xnvme"),
    asynchronous("libblkio"),
    synchronous("libcufile"),
    synchronous("libhipfile"),
    synchronous("ime_psync"),
];

/// Alternatives to engines that fathom lacks.
pub const ALTERNATIVES: &[(&[&str], &str)] = &[
    (
        &["io_uring_cmd", "xnvme", "libblkio", "libzbc", "sg"],
        "use io_uring or libaio on the block device of the drive, such as /dev/nvme0n1",
    ),
    (
        &["rbd", "rados", "nbd", "libiscsi"],
        "map it as a block device (rbd map, nbd-client, iscsiadm) and use io_uring or libaio on that",
    ),
    (
        &["nfs", "gfapi", "libhdfs", "dfs", "ime_psync"],
        "mount it and use io_uring, libaio or psync on a file there",
    ),
    (
        &["http"],
        "mount the bucket (rclone mount, s3fs) and use psync on a file there",
    ),
    (
        &["libpmem", "dev-dax"],
        "use mmap on a file of a file system that is mounted with dax",
    ),
    (&["page_fault"], "use mmap"),
    (&["mtd"], "use psync on the block device of the flash, /dev/mtdblock0"),
    (
        &["libcufile", "libhipfile"],
        "use io_uring with direct=1, which reads into main memory; use gdsio to read into GPU memory",
    ),
    (&["net", "netsplice"], "measure a network with iperf3"),
    (&["rdma"], "measure a network with perftest (ib_read_bw)"),
    (&["e4defrag"], "use the program e4defrag"),
];

/// The alternative to an engine that fathom lacks.
pub(super) fn alternative_to(name: &str) -> Option<&'static str> {
    let row = ALTERNATIVES.iter().find(|(engines, _)| engines.contains(&name));
    row.map(|(_, alternative)| *alternative)
}

/// The engine of a name, if it can be loaded here.
pub fn find(name: &str) -> Option<&'static Engine> {
    ENGINES
        .iter()
        .find(|engine| engine.name == name && engine.is_loadable())
}

/// True if fio has an engine of this name, loadable or not.
pub(super) fn is_known(name: &str) -> bool {
    ENGINES.iter().any(|engine| engine.name == name)
}

/// The messages for an engine that cannot be loaded: a line for stdout, and lines for stderr.
pub(super) fn unloadable_messages(name: &str) -> (String, [String; 2]) {
    (
        format!(
            "fio: file:fathom:0, func=dlopen, error={name}: cannot open shared object file: No such file or directory"
        ),
        [
            format!("fio: engine {name} not loadable"),
            "fio: failed to load engine".into(),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unsupported_engine_has_an_alternative() {
        for engine in ENGINES {
            let is_built = EngineKind::from_fio_name(engine.name).is_some();
            assert_eq!(alternative_to(engine.name).is_none(), is_built, "{}", engine.name);
        }
    }
}
