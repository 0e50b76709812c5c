//! Messages about a command line, and reasons to refuse it.

/// Trims of written blocks.
const TRIMS: &str = "--rw=randtrimwrite --verify=md5 --trim_percentage=20 --trim_backlog=64";

// Messages with more than one cause.
const NO_CGROUP: &str = "x: cgroup_weight and cgroup_nodelete have no effect without cgroup";
const MIX_OF_RATES: &str =
    "x: each direction has its own rate, so the mix follows from the rates, not from rwmixread=50";
const NO_BACKLOG: &str = "x: trim_percentage has no effect without trim_backlog and verification after the writes";
const BUSY_WAIT: &str = "x (noop): ioengine=cpuio, cpuload=30, cpucycle=50000";
const PRIORITY_OF_TRACE: &str =
    "fio: cmdprio_percentage or cmdprio_bssplit with read_iolog is not supported by this program";

/// An option, a command line that has it, and the message that it causes.
pub type ExpectedMessage = (&'static str, &'static str, &'static str);

/// Notes about the meaning of figures. The line about iodepth is fio's own, the others are
/// fathom's.
pub const NOTES: &[ExpectedMessage] = &[
    ("cgroup_weight", "--cgroup_weight=500", NO_CGROUP),
    ("cgroup_nodelete", "--cgroup_nodelete=1", NO_CGROUP),
    (
        "iodepth",
        "--ioengine=psync --iodepth=16",
        "note: both iodepth >= 1 and synchronous I/O engine are selected, queue depth will be capped at 1",
    ),
    (
        "iodepth",
        "--ioengine=psync --iodepth=16",
        "x: iodepth=16 has no effect with the synchronous engine psync: one operation is in flight at a time",
    ),
    (
        "ioengine",
        "--ioengine=sync --iodepth=16",
        "x: iodepth=16 has no effect with the synchronous engine sync: one operation is in flight at a time",
    ),
    (
        "rwmixread",
        "--rw=randrw --rwmixread=70 --rate=5m,5m",
        "x: each direction has its own rate, so the mix follows from the rates, not from rwmixread=70",
    ),
    ("rw", "--rw=randrw --rate=6m,5m", MIX_OF_RATES),
    ("rate", "--rw=randrw --rate=6m,5m", MIX_OF_RATES),
    ("rate", "--rw=randrw --rate=18446744073709551615,1m", MIX_OF_RATES),
    ("rate_iops", "--rw=randrw --rate_iops=700,300", MIX_OF_RATES),
    (
        "runtime",
        "--runtime=30",
        "x: without time_based the job ends after its size, even before its runtime",
    ),
    (
        "trim_percentage",
        "--rw=trimwrite --verify=md5 --trim_percentage=20",
        NO_BACKLOG,
    ),
    (
        "read_iolog",
        "--read_iolog=trace --rw=write --bs=8k --loops=3",
        "x: the trace decides the I/O, so these options have no effect: loops, rw, bs",
    ),
    (
        "name",
        "--name=x --direct=0",
        "x: reads go through the page cache (direct=0): cached data is not read from the device",
    ),
    (
        "do_verify",
        "--rw=randtrimwrite --verify=md5 --do_verify=0 --trim_percentage=20 --trim_backlog=64",
        NO_BACKLOG,
    ),
    ("ioengine", "--ioengine=cpuio", "fio: io engine cpuio init failed."),
    ("ioengine", "--ioengine=exec", "fio: io engine exec init failed."),
    ("ioengine", "--ioengine=cpuio --cpuload=30", BUSY_WAIT),
    ("cpuload", "--ioengine=cpuio --cpuload=30", BUSY_WAIT),
    (
        "cpumode",
        "--ioengine=cpuio --cpuload=30 --cpumode=qsort",
        "x (qsort): ioengine=cpuio, cpuload=30, cpucycle=50000",
    ),
    (
        "cpuchunks",
        "--ioengine=cpuio --cpuload=30 --cpuchunks=700",
        "x (noop): ioengine=cpuio, cpuload=30, cpucycle=700",
    ),
    (
        "program",
        "--ioengine=exec --program=/bin/true",
        "x : program=/bin/true, arguments=(null)",
    ),
    (
        "program",
        "--ioengine=exec --program=/bin/true",
        "x : Saving output of /bin/true (null) : stdout=x.stdout stderr=x.stderr",
    ),
    (
        "arguments",
        "--ioengine=exec --program=p --arguments=-n_%n",
        "x : program=p, arguments=-n_%n",
    ),
    (
        "arguments",
        "--ioengine=exec --program=p --arguments=-n_%n",
        "x : Saving output of p -n_x : stdout=x.stdout stderr=x.stderr",
    ),
    (
        "offset",
        "--filename=g --filesize=1m --offset=2m",
        "x: you need to specify valid offset=",
    ),
    (
        "offset",
        "--filename=g --filesize=1m --offset=1022k",
        "fio: blocksize is larger than data set range",
    ),
];

/// Command lines without a message, because of the option.
pub const SILENCED: &[ExpectedMessage] = &[
    ("direct", "--direct=1", "page cache"),
    ("time_based", "--runtime=30 --time_based", "without time_based"),
    (
        "steadystate_duration",
        "--runtime=30 --ss=iops:5% --ss_dur=10",
        "without time_based",
    ),
    ("rw", "--rw=write", "page cache"),
    ("ioengine", "--ioengine=null", "page cache"),
    (
        "rwmixread",
        "--rw=randrw --rwmixread=70 --rate_iops=700,300",
        "rwmixread",
    ),
    ("rwmixread", "--rw=randrw --rwmixread=70 --rate=7m,3m", "rwmixread"),
    ("ioengine", "--ioengine=libaio --iodepth=16", "has no effect"),
    ("trim_backlog", TRIMS, "trim_percentage has no effect"),
    ("verify", TRIMS, "trim_percentage has no effect"),
    ("cgroup", "--cgroup=a --cgroup_weight=500", "no effect without cgroup"),
    ("size", "--ioengine=null --size=1m", "you need to specify size="),
    ("cpuload", "--ioengine=cpuio --cpuload=30", "init failed"),
    ("program", "--ioengine=exec --program=p", "init failed"),
    (
        "std_redirect",
        "--ioengine=exec --program=p --std_redirect=0",
        "Saving output",
    ),
];

/// Options that are refused together, and the message.
pub const PROBLEMS: &[ExpectedMessage] = &[
    (
        "filesize",
        "--filesize=8m-1m --size=8m",
        "fio: filesize: the range from 8 MiB to 1 MiB ends before it begins",
    ),
    (
        "filesize",
        "--filesize=25% --size=8m",
        "fio: filesize: the size exceeds the maximum file size, or is a percentage",
    ),
    (
        "hugepage-size",
        "--mem=mmaphuge --hugepage-size=3m",
        "fio: hugepage-size=3145728, which is not a power of two, is not supported by this program",
    ),
    (
        "buffer_pattern",
        "--buffer_pattern='missing'",
        "fio: buffer_pattern: cannot read 'missing': No such file or directory",
    ),
    (
        "num_range",
        "--rw=trim --num_range=4",
        "fio: num_range: no engine of this program trims more than one range at a time; omit it",
    ),
    (
        "cmdprio_percentage",
        "--ioengine=libaio --cmdprio_percentage=10 --cmdprio_bssplit=4k/10",
        "fio: cmdprio_percentage and cmdprio_bssplit options are mutually exclusive",
    ),
    (
        "read_iolog",
        "--read_iolog=missing",
        "fopen read iolog: No such file or directory (missing)",
    ),
    (
        "read_iolog",
        "--read_iolog=dev",
        "fio: read_iolog: dev: not a regular file: save the trace to a file, or pass it on standard input (`-`)",
    ),
    (
        "verify",
        "--read_iolog=trace --verify=md5",
        "fio: verify with read_iolog is not supported by this program; omit one of them",
    ),
    (
        "directory",
        "--directory=d --read_iolog=trace",
        "fio: directory with read_iolog: the trace contains full paths; omit directory",
    ),
    (
        "create_only",
        "--create_only=1 --read_iolog=trace",
        "fio: create_only with read_iolog is not supported by this program; omit one of them",
    ),
    (
        "cmdprio_percentage",
        "--ioengine=libaio --cmdprio_percentage=10 --read_iolog=trace",
        PRIORITY_OF_TRACE,
    ),
    (
        "replay_skip",
        "--read_iolog=trace --replay_skip=read,write",
        "fio: read_iolog: trace: the trace has no operations",
    ),
    (
        "ignore_error",
        "--ignore_error=EWRONG",
        "fio: ignore_error: unknown error `EWRONG`; use its number",
    ),
    (
        "filetype",
        "--filename=f --filetype=block",
        "fio: filetype: f is not a block device",
    ),
    ("zonesize", "--zonesize=1m", "fio: zonesize needs zonemode=strided"),
    (
        "zoneskip",
        "--zonemode=strided --zonesize=4k --zoneskip=10%",
        "fio: a zoneskip that is not a number of bytes is not supported by this program",
    ),
    (
        "mem",
        "--mem=cudamalloc",
        "fio: mem=cudamalloc is not supported by this program",
    ),
    (
        "mem",
        "--mem=mmap:somewhere",
        "fio: mem with a file is not supported by this program",
    ),
    (
        "verify",
        "--ioengine=filecreate --filesize=4k --rw=write --verify=md5",
        "fio: verify with ioengine=filecreate is not supported by this program",
    ),
    (
        "ioengine",
        "--ioengine=ftruncate --size=4k --rw=write --verify=md5",
        "fio: verify with ioengine=ftruncate is not supported by this program",
    ),
    (
        "cmdprio_bssplit",
        "--ioengine=libaio --cmdprio_bssplit=4k/10 --read_iolog=trace",
        PRIORITY_OF_TRACE,
    ),
];
