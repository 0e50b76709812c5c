//! Files and devices, and their preparation.

use super::typed::Range;

/// The values of these options.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Files {
    pub filename: Vec<String>,
    pub lockfile: LockFile,
    pub directory: Vec<String>,
    pub filename_format: Option<String>,
    pub unique_filename: bool,
    pub opendir: Option<String>,
    pub nrfiles: i64,
    pub file_service_type: ServiceType,
    pub openfiles: i64,
    pub filesize: Range,
    pub filetype: FileType,
    pub fallocate: Fallocate,
    pub fadvise_hint: Fadvise,
    pub overwrite: bool,
    pub file_append: bool,
    pub fill_device: bool,
    pub create_serialize: bool,
    pub create_fsync: bool,
    pub create_on_open: bool,
    pub allow_file_create: bool,
    pub allow_mounted_write: bool,
    pub pre_read: bool,
    pub invalidate: bool,
    pub unlink: bool,
    pub unlink_each_loop: bool,
    pub file_service_count: Option<f64>,
}

choices! {
    /// How jobs lock a file.
    LockFile at files.lockfile {
        #[default] None: "none" "not at all";
        Exclusive: "exclusive" "one operation at a time";
        ReadWrite: "readwrite" "many reads or one write";
    }

    /// Order in which files are used.
    ServiceType at files.file_service_type {
        Random: "random" "at random";
        Zipf: "zipf" "by a Zipf distribution";
        Pareto: "pareto" "by a Pareto distribution";
        Normal: "normal" "by a normal distribution", "gauss" "as normal";
        #[default] RoundRobin: "roundrobin" "one after another";
        Sequential: "sequential" "the next file when one is finished";
    }

    /// Required kind of file.
    FileType at files.filetype {
        #[default] None: "none" "any kind";
        File: "file" "a regular file";
        Block: "block" "a block device";
        Character: "char" "a character device";
    }

    /// How space is reserved.
    Fallocate at files.fallocate {
        None: "none" "not at all";
        #[default] Native: "native" "by the system's own call";
        Posix: "posix" "by posix_fallocate";
        Keep: "keep" "without changing the size";
        Truncate: "truncate" "by setting the size";
        + "0" "as none" => None; "1" "as posix" => Posix;
    }

    /// The access pattern passed to the kernel (fadvise).
    Fadvise at files.fadvise_hint {
        None: "0" "nothing";
        #[default] ByPattern: "1" "derived from rw";
        Random: "random" "random access";
        Sequential: "sequential" "sequential access";
        NoReuse: "noreuse" "data is used once";
    }
}
