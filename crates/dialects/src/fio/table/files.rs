//! Files and devices, and their preparation.

use model::plan::{Prepare, TargetCleanup};

use super::row::*;
use super::special;
use crate::assign;
use crate::fio::lower::queue;
use crate::fio::options::files;
use crate::fio::print;
use crate::fio::values::Unit;

/// The rows of these options.
pub const ROWS: &[Row] = rows! {
    special(tier1(40), "filename", special::parse_filename).example("/dev/sdb:/dev/sdc")
        .help("Files or devices, separated by colons.")
        .prints(|section| print::files::folder(section).is_none().then(|| print::files::paths(section).join(":")))
        .effects(&[
            ("--filename=a:b", "plan.targets.*.path=[a,b]"),
            ("--directory=d:e --filename=a --numjobs=2", "plan.targets.*.path=[d/a]"),
            ("--filename=f --opendir=d", "plan.targets.*.path=[f,d/a,d/b]"),
            ("--opendir=d --filename=f", "plan.targets.*.path=[d/a,d/b,f]"),
        ]),
    keyword(tier2(50), "lockfile", files::LockFile::WORDS).default("none").example("exclusive")
        .help("Lock on a file during each operation.").lowers_with(queue::lower_lock).prints(print::files::lockfile)
        .effects(&[
            ("--lockfile=exclusive", "stream.lock=exclusive"),
            ("--lockfile=readwrite", "stream.lock=readers_together"),
        ]),
    special(tier1(60), "directory", special::parse_directory).example("/mnt/test")
        .help("Directories for the files, separated by colons; clones use them round-robin.")
        .prints(print::files::folder)
        .effects(&[
            ("--directory=d:e --numjobs=3", "plan.targets.*.path=[d/x.0.0,e/x.1.0,d/x.2.0]"),
            ("--directory=d --filename=a", "plan.targets.*.path=[d/a]"),
        ]),
    text(tier1(70), field!(files.filename_format)).default("$jobname.$jobnum.$filenum").example("$jobname.$filenum")
        .help("Pattern of generated file names.")
        .effects(&[("--filename_format=$JOBNAME-$filenum.$jobnum", "plan.targets.*.path=[x-0.0]")]),
    boolean(tier2(80), field!(files.unique_filename)).default("1").example("0")
        .help("With --client, prefix generated names with the host."),
    text(tier2(90), field!(files.opendir)).example("/srv/data")
        .help("Use every regular file below this directory.")
        .effects(&[("--opendir=d", "plan.targets.*.path=[d/a,d/b]")]),
    int(tier1(460), field!(files.nrfiles)).aliases(&["nr_files"]).default("1").example("4")
        .help("Files per clone.")
        .effects(&[
            (
                "--nrfiles=3 --size=3m",
                "plan.targets.*.path=[x.0.0,x.0.1,x.0.2]; target.prepare.size=1048576; \
                 stream.region.length.bytes=1048576",
            ),
            ("--nrfiles=2 --size=64k --name=dev", "plan.targets.*.path=[dev.0.0,dev.0.1]"),
        ]),
    keyword(tier1(470), "file_service_type", files::ServiceType::WORDS).tail(special::parse_service_type)
        .default("roundrobin").example("random:8").help("Order in which files are used.")
        .prints(print::files::file_service_type)
        .effects(&[
            (
                "--nrfiles=2 --size=1m --file_service_type=random:8",
                "stream.target={open_at_once:2,operations:8,service:{service:random},targets:[0,1],to:files}",
            ),
            (
                "--nrfiles=2 --size=1m --file_service_type=zipf:1.3",
                "stream.target.service={service:zipf,theta:1.3}; stream.target.operations=1",
            ),
            (
                "--nrfiles=2 --size=1m --file_service_type=sequential",
                "stream.target.service={service:sequential}; stream.target.operations=1",
            ),
            (
                "--nrfiles=2 --size=1m --file_service_type=pareto:0.3",
                "stream.target.service={h:0.3,service:pareto}; stream.target.operations=1",
            ),
            (
                "--nrfiles=2 --size=1m --file_service_type=gauss:5",
                "stream.target.service={deviation_percent:5.0,service:normal}; stream.target.operations=1",
            ),
        ]),
    int(tier1(480), field!(files.openfiles)).default("0").example("2").help("Files open at a time; 0 for all.")
        .prints(print::files::openfiles)
        .effects(&[
            (
                "--nrfiles=4 --size=1m --openfiles=2",
                "stream.target.open_at_once=2; stream.target.service.service=round_robin; stream.target.operations=1",
            ),
        ]),
    special(tier1(340), "filesize", |reader, text| {
        let range = special::parse_range(reader, text, Unit::Bytes);
        assign(&mut reader.job.files.filesize, range)
    })
        .example("1m-8m").help("Size of each file, or a range to draw it from.")
        .effects(&[
            ("--filesize=2m --size=1m", "target.prepare.size=2097152"),
            // A percentage is of the configured size, and does not extend the file.
            (
                "--filename=f --filesize=1m --size=50% --offset=256k",
                "target.prepare.size=786432; stream.region.length.bytes=524288",
            ),
            (
                "--filesize=1m --size=75% --offset=512k",
                "target.prepare.size=1048576; stream.region.length.bytes=524288",
            ),
            // Sizes recorded from fio 3.33.
            (
                "--nrfiles=3 --filesize=1m-8m --size=30m",
                "plan.targets.*.prepare.size=[2105344,3330048,3227648]; stream.region.length=null",
            ),
            (
                "--numjobs=2 --nrfiles=3 --filesize=10k-100k --bs=1k --size=100k",
                "plan.targets.*.prepare.size=[22528,37888,36864,35840,90112,23552]",
            ),
            (
                "--rw=write --filesize=4m --dedupe_percentage=30 --dedupe_mode=working_set",
                "stream.content.working_set=51",
            ),
        ]),
    keyword(tier2(350), "filetype", files::FileType::WORDS).default("none").example("block")
        .help("Required kind of file."),
    keyword(tier1(490), "fallocate", files::Fallocate::WORDS).default("native").example("none")
        .help("How to allocate space when a file is laid out.").prints(print::files::fallocate)
        .effects(&[
            ("--size=1m --fallocate=keep", "target.prepare.allocate=keep_size"),
            ("--size=1m --fallocate=0", "target.prepare.allocate=none"),
        ]),
    keyword(tier1(500), "fadvise_hint", files::Fadvise::WORDS).default("1").example("0")
        .help("The access pattern passed to the kernel (fadvise).").lowers_with(queue::lower_hint).prints(print::stream::fadvise_hint)
        .effects(&[
            ("--rw=randread --fadvise_hint=0", "stream.hint.sequential=false; stream.hint.random=false"),
            ("--rw=read --fadvise_hint=random", "stream.hint.random=true"),
            ("--fadvise_hint=noreuse", "stream.hint.no_reuse=true"),
        ]),
    boolean(tier1(580), field!(files.overwrite)).default("0").example("1")
        .help("Lay out the whole file before writing it.").prints(print::files::overwrite)
        .effects(&[("--rw=write --size=1m --overwrite=1", "target.prepare.content!=null")]),
    boolean(tier1(360), field!(files.file_append)).default("0").example("1").help("Start at the end of the file.")
        .effects(&[
            (
                "--rw=write --filename=f --size=64k --file_append=1",
                "stream.region.base={align:0,bytes:131072,percent:0.0,round_up:false}; target.prepare.size=196608; \
                 target.prepare.extend=true",
            ),
        ]),
    boolean(tier1(330), field!(files.fill_device)).aliases(&["fill_fs"]).default("0").example("1")
        .help("Write until no space is left; then end without an error.")
        .plan_field(field_of_plan!(Flag: stream.on_error.stop_when_full))
        .effects(&[("--rw=write --fill_device=1", "stream.on_error.full_is_end=true")]),
    boolean(tier1(1610), field!(files.create_serialize)).default("1").example("0")
        .help("Lay out the files of one job at a time.")
        .without_effect("files are always laid out one at a time, before the jobs start"),
    boolean(tier2(1620), field!(files.create_fsync)).default("1").example("0")
        .help("Flush a file after laying it out.")
        .prints(|section| print::off(!matches!(section.target().prepare, Prepare::LayOut { flush: false, .. })))
        .effects(&[("--size=1m --create_fsync=0", "target.prepare.flush=false")]),
    boolean(tier1(1630), field!(files.create_on_open)).default("0").example("1")
        .help("Create a file only when the job opens it.")
        .prints(|section| print::on(matches!(section.target().prepare, Prepare::LayOut { on_open: true, .. })))
        .effects(&[("--size=1m --create_on_open=1", "target.prepare.on_open=true")]),
    boolean(tier1(1650), field!(files.allow_file_create)).default("1").example("0")
        .help("Allow creating missing files.")
        .prints(|section| print::off(!matches!(section.target().prepare, Prepare::LayOut { may_create: false, .. })))
        .effects(&[
            ("--size=1m --allow_file_create=0", "target.prepare.may_create=false"),
            ("--read_iolog=trace --allow_file_create=0", "plan.targets.1.prepare.may_create=false"),
        ]),
    boolean(tier2(1660), field!(files.allow_mounted_write)).default("0").example("1")
        .help("Accepted; a mounted device is never written."),
    boolean(tier1(1670), field!(files.pre_read)).default("0").example("1")
        .help("Read every file into the cache before the job.").plan_field(field_of_plan!(Flag: stream.cache.fill_before))
        .effects(&[("--pre_read=1", "stream.cache.fill_before=true; stream.cache.drop_before=false")]),
    boolean(tier1(1580), field!(files.invalidate)).default("1").example("0")
        .help("Drop a file from the page cache before each pass.")
        .lowers_with(|draft| {
            draft.parts.stream.cache.drop_before = draft.options.files.invalidate && !draft.options.files.pre_read;
        })
        .prints(print::stream::invalidate)
        .effects(&[("--invalidate=0", "stream.cache.drop_before=false")]),
    boolean(tier1(1760), field!(files.unlink)).default("0").example("1").help("Delete the files after the job.")
        .prints(|section| print::on(section.target().at_end == TargetCleanup::Remove))
        .effects(&[
            ("--unlink=1", "target.at_end=remove"),
            ("--read_iolog=trace --unlink=1", "target.at_end=remove"),
        ]),
    boolean(tier1(1770), field!(files.unlink_each_loop)).default("0").example("1")
        .help("Delete the files after each loop.")
        .prints(|section| print::on(section.target().at_end == TargetCleanup::RemoveEachPass))
        .effects(&[
            ("--unlink_each_loop=1", "target.at_end=remove_each_pass"),
            ("--read_iolog=trace --unlink_each_loop=1", "target.at_end=remove"),
        ]),
};
