//! Which files and devices, and how they are made ready.

use super::row::*;
use super::special;
use crate::fio::lower::queue;
use crate::fio::options::files;

/// The rows of these options.
pub const ROWS: &[Row] = rows! {
    special(first(40), "filename", special::filename).example("/dev/sdb:/dev/sdc")
        .help("Files or devices, divided by colons."),
    word(second(50), "lockfile", files::LockFile::WORDS).default("none").example("exclusive")
        .help("Lock that jobs hold on a file around each operation.").means(queue::lock),
    special(first(60), "directory", special::directory).example("/mnt/test")
        .help("Directories for the files, divided by colons; clones take them in turn."),
    text(first(70), field!(files.filename_format)).default("$jobname.$jobnum.$filenum").example("$jobname.$filenum")
        .help("Pattern of generated file names."),
    boolean(second(80), field!(files.unique_filename)).default("1").example("0")
        .help("With --client, put the host in front of generated names."),
    text(second(90), field!(files.opendir)).example("/srv/data")
        .help("Work on every regular file below this directory."),
    int(first(460), field!(files.nrfiles)).aliases(&["nr_files"]).default("1").example("4")
        .help("Files of each clone."),
    word(first(470), "file_service_type", files::ServiceType::WORDS).tail(special::service_type)
        .default("roundrobin").example("random:8").help("How the next file is chosen."),
    int(first(480), field!(files.openfiles)).default("0").example("2").help("Files open at a time; 0 for all."),
    special(first(340), "filesize", special::size_range).example("1m-8m")
        .help("Size of each file, or a range from which it is drawn."),
    word(second(350), "filetype", files::FileType::WORDS).default("none").example("block")
        .help("What kind of file is expected."),
    word(first(490), "fallocate", files::Fallocate::WORDS).default("native").example("none")
        .help("How space is reserved when a file is laid out."),
    word(first(500), "fadvise_hint", files::Fadvise::WORDS).default("1").example("0")
        .help("What the system is told about the pattern.").means(queue::hint),
    boolean(first(580), field!(files.overwrite)).default("0").example("1")
        .help("Lay a file out in full before it is written."),
    boolean(first(360), field!(files.file_append)).default("0").example("1").help("Begin at the end of the file."),
    boolean(first(330), field!(files.fill_device)).aliases(&["fill_fs"]).default("0").example("1")
        .help("Write until no space is left, which is no error then.")
        .is(field_of_plan!(Flag: stream.on_error.full_is_end)),
    boolean(first(1610), field!(files.create_serialize)).default("1").example("0")
        .help("Lay files out one job after another.")
        .without_effect("files are always laid out one after the other, before anything runs"),
    boolean(second(1620), field!(files.create_fsync)).default("1").example("0")
        .help("Flush a file after it was laid out."),
    boolean(first(1630), field!(files.create_on_open)).default("0").example("1")
        .help("Make a file only when the job opens it."),
    boolean(first(1650), field!(files.allow_file_create)).default("1").example("0")
        .help("A missing file may be made."),
    boolean(second(1660), field!(files.allow_mounted_write)).default("0").example("1")
        .help("Accepted; a mounted device is not written whatever it says."),
    boolean(first(1670), field!(files.pre_read)).default("0").example("1")
        .help("Read every file once before the job.").is(field_of_plan!(Flag: stream.cache.fill_before)),
    boolean(first(1580), field!(files.invalidate)).default("1").example("0")
        .help("Drop what the page cache holds of a file before the job.").means(queue::drop_before),
    boolean(first(1760), field!(files.unlink)).default("0").example("1").help("Delete the files after the job."),
    boolean(first(1770), field!(files.unlink_each_loop)).default("0").example("1")
        .help("Delete the files after each loop."),
};
