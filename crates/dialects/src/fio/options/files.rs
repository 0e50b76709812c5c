//! Which files and devices, and how they are made ready.

use super::row::*;
use super::special;
use super::typed::Range;

/// The values of these options.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(
    missing_docs,
    reason = "a field is the option of its name, and its row below says what it means"
)]
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
    pub filename_directory: Option<String>,
}

/// The rows of these options.
pub const ROWS: &[Row] = &[
    special(first(40), "filename", special::filename)
        .help("Files or devices, divided by colons.")
        .example("/dev/sdb:/dev/sdc"),
    word(second(50), "lockfile", LOCKFILE_WORDS)
        .default("none")
        .help("Lock that jobs hold on a file around each operation.")
        .example("exclusive"),
    special(first(60), "directory", special::directory)
        .help("Directories for the files, divided by colons; clones take them in turn.")
        .example("/mnt/test"),
    text(first(70), "filename_format", |job| &mut job.files.filename_format)
        .default("$jobname.$jobnum.$filenum")
        .help("Pattern of generated file names.")
        .example("$jobname.$filenum"),
    boolean(second(80), "unique_filename", |job| &mut job.files.unique_filename)
        .default("1")
        .help("With --client, put the host in front of generated names.")
        .example("0"),
    text(second(90), "opendir", |job| &mut job.files.opendir)
        .help("Work on every regular file below this directory.")
        .example("/srv/data"),
    int(first(460), "nrfiles", |job| &mut job.files.nrfiles)
        .aliases(&["nr_files"])
        .default("1")
        .help("Files of each clone.")
        .example("4"),
    word(first(470), "file_service_type", FILE_SERVICE_TYPE_WORDS)
        .tail(special::service_type)
        .default("roundrobin")
        .help("How the next file is chosen.")
        .example("random:8"),
    int(first(480), "openfiles", |job| &mut job.files.openfiles)
        .default("0")
        .help("Files open at a time; 0 for all.")
        .example("2"),
    special(first(340), "filesize", special::size_range)
        .help("Size of each file, or a range from which it is drawn.")
        .example("1m-8m"),
    word(second(350), "filetype", FILETYPE_WORDS)
        .default("none")
        .help("What kind of file is expected.")
        .example("block"),
    word(first(490), "fallocate", FALLOCATE_WORDS)
        .default("native")
        .help("How space is reserved when a file is laid out.")
        .example("none"),
    word(first(500), "fadvise_hint", FADVISE_HINT_WORDS)
        .default("1")
        .help("What the system is told about the pattern.")
        .example("0"),
    boolean(first(580), "overwrite", |job| &mut job.files.overwrite)
        .default("0")
        .help("Lay a file out in full before it is written.")
        .example("1"),
    boolean(first(360), "file_append", |job| &mut job.files.file_append)
        .default("0")
        .help("Begin at the end of the file.")
        .example("1"),
    boolean(first(330), "fill_device", |job| &mut job.files.fill_device)
        .aliases(&["fill_fs"])
        .default("0")
        .help("Write until no space is left, which is no error then.")
        .example("1"),
    boolean(first(1610), "create_serialize", |job| &mut job.files.create_serialize)
        .default("1")
        .without_effect("files are always laid out one after the other, before anything runs")
        .help("Lay files out one job after another.")
        .example("0"),
    boolean(second(1620), "create_fsync", |job| &mut job.files.create_fsync)
        .default("1")
        .help("Flush a file after it was laid out.")
        .example("0"),
    boolean(first(1630), "create_on_open", |job| &mut job.files.create_on_open)
        .default("0")
        .help("Make a file only when the job opens it.")
        .example("1"),
    boolean(first(1650), "allow_file_create", |job| &mut job.files.allow_file_create)
        .default("1")
        .help("A missing file may be made.")
        .example("0"),
    boolean(second(1660), "allow_mounted_write", |job| {
        &mut job.files.allow_mounted_write
    })
    .default("0")
    .help("Accepted; a mounted device is not written whatever it says.")
    .example("1"),
    boolean(first(1670), "pre_read", |job| &mut job.files.pre_read)
        .default("0")
        .help("Read every file once before the job.")
        .example("1"),
    boolean(first(1580), "invalidate", |job| &mut job.files.invalidate)
        .default("1")
        .help("Drop what the page cache holds of a file before the job.")
        .example("0"),
    boolean(first(1760), "unlink", |job| &mut job.files.unlink)
        .default("0")
        .help("Delete the files after the job.")
        .example("1"),
    boolean(first(1770), "unlink_each_loop", |job| &mut job.files.unlink_each_loop)
        .default("0")
        .help("Delete the files after each loop.")
        .example("1"),
];

/// How jobs lock a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LockFile {
    /// `none`: not at all.
    #[default]
    None,
    /// `exclusive`: one operation at a time.
    Exclusive,
    /// `readwrite`: many reads or one write.
    ReadWrite,
}

const LOCKFILE_WORDS: &[Word] = &[
    Word::new("none", "not at all", |job| job.files.lockfile = LockFile::None),
    Word::new("exclusive", "one operation at a time", |job| {
        job.files.lockfile = LockFile::Exclusive
    }),
    Word::new("readwrite", "many reads or one write", |job| {
        job.files.lockfile = LockFile::ReadWrite
    }),
];

/// How the next file is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ServiceType {
    /// `random`: at random.
    Random,
    /// `zipf`: by a Zipf distribution.
    Zipf,
    /// `pareto`: by a Pareto distribution.
    Pareto,
    /// `normal`: by a normal distribution.
    Normal,
    /// `roundrobin`: in turn.
    #[default]
    RoundRobin,
    /// `sequential`: the next when one is done.
    Sequential,
}

const FILE_SERVICE_TYPE_WORDS: &[Word] = &[
    Word::new("random", "at random", |job| {
        job.files.file_service_type = ServiceType::Random
    }),
    Word::new("zipf", "by a Zipf distribution", |job| {
        job.files.file_service_type = ServiceType::Zipf
    }),
    Word::new("pareto", "by a Pareto distribution", |job| {
        job.files.file_service_type = ServiceType::Pareto
    }),
    Word::new("normal", "by a normal distribution", |job| {
        job.files.file_service_type = ServiceType::Normal
    }),
    Word::new("gauss", "as normal", |job| {
        job.files.file_service_type = ServiceType::Normal
    }),
    Word::new("roundrobin", "in turn", |job| {
        job.files.file_service_type = ServiceType::RoundRobin
    }),
    Word::new("sequential", "the next when one is done", |job| {
        job.files.file_service_type = ServiceType::Sequential
    }),
];

/// What kind of file is expected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileType {
    /// `none`: whatever is there.
    #[default]
    None,
    /// `file`: a regular file.
    File,
    /// `block`: a block device.
    Block,
    /// `char`: a character device.
    Character,
}

const FILETYPE_WORDS: &[Word] = &[
    Word::new("none", "whatever is there", |job| job.files.filetype = FileType::None),
    Word::new("file", "a regular file", |job| job.files.filetype = FileType::File),
    Word::new("block", "a block device", |job| job.files.filetype = FileType::Block),
    Word::new("char", "a character device", |job| {
        job.files.filetype = FileType::Character
    }),
];

/// How space is reserved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fallocate {
    /// `none`: not at all.
    None,
    /// `native`: by the call of the system.
    #[default]
    Native,
    /// `posix`: by posix_fallocate.
    Posix,
    /// `keep`: without changing the size.
    Keep,
    /// `truncate`: by setting the size.
    Truncate,
}

const FALLOCATE_WORDS: &[Word] = &[
    Word::new("none", "not at all", |job| job.files.fallocate = Fallocate::None),
    Word::new("native", "by the call of the system", |job| {
        job.files.fallocate = Fallocate::Native
    }),
    Word::new("posix", "by posix_fallocate", |job| {
        job.files.fallocate = Fallocate::Posix
    }),
    Word::new("keep", "without changing the size", |job| {
        job.files.fallocate = Fallocate::Keep
    }),
    Word::new("truncate", "by setting the size", |job| {
        job.files.fallocate = Fallocate::Truncate
    }),
    Word::new("0", "as none", |job| job.files.fallocate = Fallocate::None),
    Word::new("1", "as posix", |job| job.files.fallocate = Fallocate::Posix),
];

/// What the system is told about the pattern.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fadvise {
    /// `0`: nothing.
    None,
    /// `1`: what follows from rw.
    #[default]
    ByPattern,
    /// `random`: random access.
    Random,
    /// `sequential`: sequential access.
    Sequential,
    /// `noreuse`: data is used once.
    NoReuse,
}

const FADVISE_HINT_WORDS: &[Word] = &[
    Word::new("0", "nothing", |job| job.files.fadvise_hint = Fadvise::None),
    Word::new("1", "what follows from rw", |job| {
        job.files.fadvise_hint = Fadvise::ByPattern
    }),
    Word::new("random", "random access", |job| {
        job.files.fadvise_hint = Fadvise::Random
    }),
    Word::new("sequential", "sequential access", |job| {
        job.files.fadvise_hint = Fadvise::Sequential
    }),
    Word::new("noreuse", "data is used once", |job| {
        job.files.fadvise_hint = Fadvise::NoReuse
    }),
];
