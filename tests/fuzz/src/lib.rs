//! Mutated inputs for every parser of external input. A parser may refuse an input, but it must not
//! panic, and must end in time.

#![forbid(unsafe_code)]

mod env;
mod mutate;

use std::fs;
use std::path::{Path, PathBuf};

use env::NullEnv;
pub use mutate::Mutator;

/// A parser, with inputs that it accepts.
#[derive(Debug)]
pub struct Target {
    /// Its name.
    pub name: &'static str,
    /// Folders of the repository with inputs.
    folders: &'static [&'static str],
    /// Suffixes of the names of input files.
    ends: &'static [&'static str],
    /// Inputs that are not in a file.
    lines: &'static [&'static str],
    /// The parser, including the lowering to a plan if there is one.
    pub parse: fn(&[u8]),
}

/// Longest input, in bytes.
pub const MAX_BYTES: usize = 64 << 10;

const fn target(
    name: &'static str,
    folders: &'static [&'static str],
    ends: &'static [&'static str],
    parse: fn(&[u8]),
) -> Target {
    Target {
        name,
        folders,
        ends,
        lines: &[],
        parse,
    }
}

const FIO_LINES: &[&str] = &[
    "--name=a --ioengine=libaio --rw=randrw --rwmixread=70 --bssplit=4k/60:64k/40 --iodepth=8 --size=1g --numjobs=3",
    "--name=a --filename=/dev/a:/dev/b --zonemode=strided --zonesize=1m --zoneskip=2m --random_distribution=zoned:50/5:50/95",
    "--name=a --verify=crc32c --verify_pattern=\"abcd\"-12%o0xff --verify_interval=4k --rate=10m,,5m --thinktime=1ms --runtime=1m",
    "--name=a --ss=iops_slope:0.3% --ss_dur=10 --cpus_allowed=0-3,5 --percentile_list=50:99.9 --write_lat_log=x --sprandom=1",
];

const DISKSPD_LINES: &[&str] = &[
    "-b8K -d10 -o4 -t8 -r -w50 -L -Sh -Z1G -c20G -g100i -rdpct90/10:10/90 t.dat",
    "-T1b -b4b -s4bi -f1g -z7 -W5 -C5 -D100 -n -ag0,0,1 -ys -Rxml -si64K #0 c:",
];

/// All targets.
pub const TARGETS: &[Target] = &[
    Target {
        lines: FIO_LINES,
        ..target("fio-line", &[], &[], |bytes| fio(&words(bytes), ""))
    },
    target("fio-job", &["tests/data/fio"], &[".fio", ".job"], |bytes| {
        fio(&["job.fio".to_owned()], &text(bytes))
    }),
    Target {
        lines: DISKSPD_LINES,
        ..target("diskspd-line", &[], &[], |bytes| diskspd(&words(bytes), ""))
    },
    target("iometer", &["tests/data/iometer"], &[".icf"], |bytes| {
        iometer(&text(bytes))
    }),
    target("vdbench", &["tests/data/vdbench/parameters"], &["parmfile"], |bytes| {
        vdbench(text(bytes))
    }),
    target("diskspd-profile", &["tests/data/diskspd"], &[".xml"], |bytes| {
        diskspd(&["-Xp.xml".to_owned()], &text(bytes))
    }),
    target(
        "job",
        &["examples", "crates/dialects/presets", "crates/fathom/tests/scenarios"],
        &[".toml"],
        |bytes| {
            if let Ok(document) = dialects::native::read_job_file("job.toml", &text(bytes)) {
                let _ = dialects::native::lower(&document);
            }
        },
    ),
    target(
        "suite",
        &["examples", "crates/fathom/tests/scenarios", "crates/dialects/presets"],
        &[".toml"],
        |bytes| {
            let _ = dialects::native::suite::read_suite("suite.toml", &text(bytes));
        },
    ),
    target("policy", &["crates/analysis/policies"], &[".toml"], |bytes| {
        let origin = analysis::policies::Origin::User("user.toml".into());
        let _ = analysis::policies::Policy::parse("user", &text(bytes), origin);
    }),
    Target {
        lines: &[
            "max(min(1800 + 50 * size_gib, 50000), 3000)",
            "-(1 + 2) * 3GiB / min(a, b, 4) - round(x)",
        ],
        ..target("formula", &[], &[], |bytes| {
            if let Ok(formula) = analysis::policies::Expression::parse(&text(bytes)) {
                let _ = formula.value(&|_| Some(3.0));
            }
        })
    },
    Target {
        lines: &[
            "iops>=4000,p99<=3ms",
            "read.p99.9<=500us; mbps>=100, stalls(1s)=0, availability>=99.9%",
        ],
        ..target("requirement", &[], &[], |bytes| {
            drop(analysis::requirement::parse(&text(bytes)))
        })
    },
    target("result", &["tests/data/results"], &[".json"], |bytes| {
        let _ = archive::load_any_bytes(bytes, Path::new("result.json"));
    }),
    target(
        "report",
        &["tests/data"],
        &[".txt", ".xml", ".json", ".html", ".csv", ".toml"],
        |bytes| {
            let _ = dialects::import::read("report", &dialects::import::decode(bytes).text);
        },
    ),
    Target {
        lines: &[
            "500, 100, 0, 0, 0\n1000, 200, 1, 4096, 0, 0x0004",
            "500, 900, 1500, 0, 0, 0",
        ],
        ..target("fio-log", &[], &[], |bytes| {
            use dialects::import::logs::{LogKind, read_log};
            for kind in [LogKind::Bandwidth, LogKind::Latency, LogKind::Histogram] {
                let _ = read_log(kind, "a_lat.log", &text(bytes));
            }
        })
    },
    target("iolog", &["tests/data/fio"], &[".log", ".iolog"], |bytes| {
        trace(bytes, model::plan::TraceForm::FioText)
    }),
    Target {
        lines: &["\x07\x41\x65\x61\x00\x00\x00\x01"],
        ..target("blktrace", &["tests/data"], &[".blktrace", ".bin"], |bytes| {
            trace(bytes, model::plan::TraceForm::Blktrace { swapped: false });
            trace(bytes, model::plan::TraceForm::Blktrace { swapped: true });
        })
    },
    Target {
        lines: &["1.5GiB", "64k", "250ms", "1h", "18446744073709551615"],
        ..target("quantity", &[], &[], |bytes| {
            let _ = text(bytes).parse::<model::Bytes>();
            let _ = text(bytes).parse::<model::Nanos>();
        })
    },
];

impl Target {
    /// Inputs that the parser accepts.
    pub fn seeds(&self) -> Vec<Vec<u8>> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut paths = Vec::new();
        self.folders
            .iter()
            .for_each(|folder| collect(&root.join(folder), &mut paths));
        paths.sort();
        let fits = |path: &&PathBuf| self.ends.iter().any(|end| path.to_string_lossy().ends_with(end));
        let files = paths.iter().filter(fits).filter_map(|path| fs::read(path).ok());
        let lines = self.lines.iter().map(|line| line.as_bytes().to_vec());
        files.filter(|bytes| bytes.len() <= MAX_BYTES).chain(lines).collect()
    }
}

/// Files below a folder. Links are not followed: the recorded trees of `/sys` have loops.
fn collect(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => collect(&entry.path(), paths),
            Ok(kind) if kind.is_file() => paths.push(entry.path()),
            _ => {}
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn words(bytes: &[u8]) -> Vec<String> {
    text(bytes).split_whitespace().map(str::to_owned).collect()
}

fn fio(arguments: &[String], job_file: &str) {
    let mut env = NullEnv(job_file.to_owned());
    if let dialects::fio::ParseOutcome::Run(jobs) = dialects::fio::read("fio", arguments, &mut env) {
        let env = dialects::fio::LowerEnv {
            arguments,
            disk: &NullEnv(String::new()),
            fresh_seed: 1,
            process: 1,
            utc_offset_s: 0,
            client: None,
        };
        // A plan of thousands of workers takes long to build, and reveals nothing more about the
        // parser.
        if jobs.jobs.len() < 64 {
            let _ = dialects::fio::lower(&jobs, env);
        }
    }
}

/// No target exists, and every manager is this machine.
fn vdbench(text: String) {
    use dialects::vdbench::{VdbenchEnv, expand, lower_all, read_command, read_parameters};

    struct OneFile(String);
    impl VdbenchEnv for OneFile {
        fn read_file(&mut self, _: &str) -> Result<String, String> {
            Ok(self.0.clone())
        }
        fn read_bytes(&mut self, _: &str) -> Result<Vec<u8>, String> {
            Ok(vec![1])
        }
        fn read_size(&self, _: &str) -> Option<u64> {
            Some(1 << 30)
        }
        fn is_local(&self, _: &str) -> bool {
            true
        }
    }
    let mut env = OneFile(text);
    let command = read_command(&["-fparmfile".to_owned()], "/tmp").expect("it names a file");
    let Ok(parameters) = read_parameters(&command, &mut env) else {
        return;
    };
    if let Ok(runs) = expand(&parameters, None) {
        let _ = lower_all(&runs, &parameters, &env, 1);
    }
}

fn iometer(text: &str) {
    use dialects::iometer::{self, Arguments, Machine, PathFacts};

    struct Nothing;
    impl Machine for Nothing {
        fn is_here(&self, _: &str) -> bool {
            true
        }
        fn is_only_read(&self) -> bool {
            true
        }
        fn find(&self, _: &str) -> PathFacts {
            PathFacts::Nothing
        }
        fn is_mount_point(&self, _: &str) -> bool {
            false
        }
        fn free_bytes(&self, _: &str) -> Option<u64> {
            None
        }
        fn cpus(&self) -> u32 {
            2
        }
    }
    if let Ok(parsed) = iometer::read("x.icf", text) {
        let _ = iometer::lower(&parsed.config, &Arguments::default(), &Nothing, false, 1);
    }
}

fn diskspd(arguments: &[String], profile: &str) {
    let mut env = NullEnv(profile.to_owned());
    if let dialects::diskspd::ParseOutcome::Run(request) = dialects::diskspd::read("diskspd", arguments, &mut env) {
        let env = dialects::diskspd::LowerEnv {
            cpus: &[0, 1],
            arguments,
            form: dialects::diskspd::text::TextVersion::V2_2,
            windows: false,
            memory: Some(1 << 30),
            topology: &[],
        };
        let _ = dialects::diskspd::lower(&request.profile, env);
    }
}

fn trace(bytes: &[u8], form: model::plan::TraceForm) {
    let replay = model::plan::Replay {
        trace: "trace".into(),
        form,
        files: vec!["a".into()],
        redirected: true,
        flushes: false,
        without_times: false,
        speed_percent: 100,
        scale: 1,
        align: 0,
        skip: model::plan::TraceSkip::default(),
    };
    let _ = model::trace::Survey::read(bytes, &replay);
}
