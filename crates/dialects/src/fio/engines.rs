//! The engines that fio has, and which of them there are here.

/// An engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Engine {
    /// Its name.
    pub name: &'static str,
    /// It can be run, or will be; others are known and count as not loadable.
    pub here: bool,
    /// It keeps several operations in flight.
    pub asynchronous: bool,
}

const fn engine(name: &'static str, here: bool, asynchronous: bool) -> Engine {
    Engine {
        name,
        here,
        asynchronous,
    }
}

const POSIX: bool = cfg!(not(windows));

/// All of them; those that need libraries of their own or special devices are named so that they can be told from slips.
pub const ENGINES: &[Engine] = &[
    engine("cpuio", true, false),
    engine("mmap", true, false),
    engine("sync", true, false),
    engine("psync", POSIX, false),
    engine("vsync", POSIX, false),
    engine("pvsync", POSIX, false),
    engine("pvsync2", POSIX, false),
    engine("null", true, true),
    engine("ftruncate", POSIX, false),
    engine("filecreate", true, false),
    engine("filestat", true, false),
    engine("filedelete", true, false),
    engine("dircreate", true, false),
    engine("dirstat", true, false),
    engine("dirdelete", true, false),
    engine("exec", true, false),
    engine("posixaio", POSIX, true),
    engine("falloc", POSIX, false),
    engine("splice", POSIX, false),
    engine("io_uring", POSIX, true),
    engine("libaio", POSIX, true),
    // A job file that was written on Windows runs elsewhere too.
    engine("windowsaio", true, true),
    engine("net", false, false),
    engine("netsplice", false, false),
    engine("e4defrag", false, false),
    engine("page_fault", false, false),
    engine("mtd", false, false),
    engine("sg", false, false),
    engine("io_uring_cmd", false, true),
    engine("rbd", false, true),
    engine("rados", false, true),
    engine("http", false, false),
    engine("nfs", false, true),
    engine("nbd", false, true),
    engine("rdma", false, true),
    engine("gfapi", false, false),
    engine("libhdfs", false, false),
    engine("libpmem", false, false),
    engine("dev-dax", false, false),
    engine("dfs", false, true),
    engine("libiscsi", false, true),
    engine("libzbc", false, false),
    engine("xnvme", false, true),
    engine("libblkio", false, true),
    engine("libcufile", false, false),
    engine("libhipfile", false, false),
    engine("ime_psync", false, false),
];

/// The engine of a name, if it can be loaded here.
pub fn find(name: &str) -> Option<&'static Engine> {
    ENGINES.iter().find(|engine| engine.here && engine.name == name)
}

/// What is said of an engine that cannot be loaded: a line for stdout, and lines for stderr.
pub(super) fn not_loadable(name: &str) -> (String, [String; 2]) {
    (
        format!(
            "fio: file:engines.rs:0, func=dlopen, error={name}: cannot open shared object file: No such file or directory"
        ),
        [
            format!("fio: engine {name} not loadable"),
            "fio: failed to load engine".into(),
        ],
    )
}
