//! Vdbench's parameter files: runs and messages as observed in 5.04.06, addresses as its runs
//! logged them.

mod addresses;
mod concatenation;
mod hosts;
mod on_files;
mod page;
mod unused;

use std::fs;

use dialects::Diagnostic;
use dialects::vdbench::{
    self, Command, Parameters, Run, TreeFormat, VdbenchEnv, expand, lower, read_command, read_parameters,
};
use model::Nanos;
use model::content::Content;
use model::plan::{Pacing, Plan, Prepare, Process, Stream};
use testbed::With;

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/vdbench");

/// Files of one folder, or one text.
#[derive(Default)]
pub(crate) struct Fixture {
    pub(crate) folder: String,
    pub(crate) text: Option<String>,
    /// The size of every file under test; absent: none exists.
    pub(crate) size: Option<u64>,
}

impl VdbenchEnv for Fixture {
    fn read_file(&mut self, path: &str) -> Result<String, String> {
        match &self.text {
            Some(text) if path == "parmfile" => Ok(text.clone()),
            _ => fs::read_to_string(format!("{}/{path}", self.folder)).map_err(|error| error.to_string()),
        }
    }

    fn exists(&self, path: &str) -> bool {
        fs::exists(format!("{}/{path}", self.folder)).unwrap_or(false)
    }

    fn read_bytes(&mut self, path: &str) -> Result<Vec<u8>, String> {
        match path {
            "four" => Ok(vec![1, 2, 3, 4]),
            "large" => Ok(vec![0; 70_000]),
            _ => Err("it does not exist".into()),
        }
    }

    fn read_size(&self, _: &str) -> Option<u64> {
        self.size
    }

    fn is_local(&self, host: &str) -> bool {
        host == "localhost"
    }
}

pub(crate) fn read(args: &str, env: &mut Fixture) -> Result<(Command, Parameters, Vec<Run>), Diagnostic> {
    let words: Vec<String> = args.split_whitespace().map(str::to_owned).collect();
    let mut command = read_command(&words, "/tmp")?;
    if let Some((text, _)) = &command.self_test {
        env.text = Some(text.clone());
        command.files = vec!["parmfile".into()];
    }
    let parameters = read_parameters(&command, env)?;
    let runs = expand(&parameters, None)?;
    Ok((command, parameters, runs))
}

/// Reads and lowers a text, as the start of a run does.
fn run(args: &str, text: &str) -> Result<Vec<vdbench::Lowered>, String> {
    let mut env = Fixture::default().with(|fixture| fixture.text = Some(text.to_owned()));
    let what = |error: Diagnostic| error.what;
    let (_, parameters, runs) = read(args, &mut env).map_err(what)?;
    if let Some(refusal) = parameters.refusals.first() {
        return Err(refusal.what.clone());
    }
    runs.iter()
        .map(|run| lower(run, &parameters, &env, 1).map_err(what))
        .collect()
}

/// The plan of the first run of a text.
fn plan_of(text: &str) -> Plan {
    let plan = run("-f parmfile", text).unwrap().remove(0).plan;
    plan.check().unwrap();
    plan
}

fn refusal(text: &str) -> String {
    run("-f parmfile", text).unwrap_err()
}

/// Operations per second of a stream; 0 without a rate.
fn rate_of(stream: &Stream) -> f64 {
    match stream.pacing {
        Pacing::Together { rate } => rate.per_second(),
        _ => 0.0,
    }
}

#[test]
fn the_bytes_of_a_pattern_are_written_everywhere() {
    let text = |general: &str| {
        format!("{general}\nsd=sd1,lun=/a,size=1m\nwd=wd1,sd=sd1,rdpct=50\nrd=rd1,wd=wd1,iorate=max,elapsed=4")
    };
    let plan = plan_of(&text("pattern=four"));
    let bytes = Content::Pattern {
        bytes: vec![1, 2, 3, 4],
    };
    assert_eq!(plan.steps[0].jobs[0].workers[0].streams[0].content, bytes);
    let Prepare::LayOut { content, .. } = &plan.targets[0].prepare else {
        panic!("{plan:?}");
    };
    assert_eq!(content.as_ref(), Some(&bytes));
    for (args, general, expected) in [
        ("", "pattern=none", "cannot read pattern=none: it does not exist"),
        ("", "pattern=large", "it has 70000 bytes"),
        ("", "pattern=four,compratio=2", "`pattern=` together with"),
        ("-v", "pattern=four", "`pattern=` together with"),
    ] {
        let what = run(&format!("-f parmfile {args}"), &text(general)).unwrap_err();
        assert!(what.contains(expected), "{what}");
    }
}

#[test]
fn the_command_line_forces_a_format() {
    let text = "fsd=f,anchor=/a,files=2\nfwd=w,fsd=f\nrd=r1,fwd=w,fwdrate=9,format=restart,elapsed=4\n\
                rd=r2,fwd=w,fwdrate=9,elapsed=4";
    let formats = |args: &str| -> Vec<(Option<TreeFormat>, bool)> {
        let mut env = Fixture::default().with(|fixture| fixture.text = Some(text.to_owned()));
        let (_, _, runs) = read(&format!("-f parmfile {args}"), &mut env).unwrap();
        let files = runs.iter().map(|run| run.files.as_ref().unwrap());
        files.map(|files| (files.format.tree, files.format.only)).collect()
    };
    assert_eq!(formats(""), [(Some(TreeFormat::Restart), false), (None, false)]);
    assert_eq!(formats("-cn"), [(None, false); 2]);
    assert_eq!(formats("-cy"), [(Some(TreeFormat::All), false); 2]);
    assert_eq!(formats("-co"), [(Some(TreeFormat::All), true); 2]);
    assert_eq!(formats("-c"), formats(""));
    assert!(run("-f parmfile -cx", text).unwrap_err().contains("'-cx'"));
}

#[test]
fn varying_rates_are_shares_of_their_mean() {
    let text = |rates: &str, more: &str| {
        format!(
            "sd=sd1,lun=/a,size=64m\nsd=sd2,lun=/b,size=64m\nwd=wd1,sd=sd*,skew=25\nwd=wd2,sd=sd1\n\
             rd=rd1,wd=wd*,iorate={rates},elapsed=12,interval=1,{more}"
        )
    };
    let streams = |rates: &str, more: &str| -> Vec<Stream> {
        let lowered = run("-f parmfile", &text(rates, more)).unwrap();
        let jobs = lowered[0].plan.steps[0].jobs.iter();
        jobs.flat_map(|job| &job.workers)
            .flat_map(|worker| worker.streams.clone())
            .collect()
    };
    // 100 for 2 s, half of the maximum for a quarter of the run, none for 1 s: 300 in 6 s.
    for (distribution, process) in [
        ("variable", Process::Poisson),
        ("(variable,uniform)", Process::Uniform),
        ("spike", Process::Linear),
    ] {
        let found = streams("(100,2,50%,25%,0,1)", &format!("distribution={distribution}"));
        let rates = found.iter().map(|stream| match stream.pacing {
            Pacing::Together { rate } => {
                assert_eq!((rate.process, rate.phase_ns), (process, Nanos(0)));
                rate.amount as f64 / rate.per_ns.as_secs()
            }
            _ => panic!("{stream:?}"),
        });
        let total: f64 = rates.sum();
        assert!((total - 350.0 / 6.0).abs() < 1e-3, "{total}");
        for stream in &found {
            let course = stream.rate_profile.as_ref().expect("it varies");
            let spans = course.spans.iter().map(|span| {
                let rate = (span.percent * 350.0 / 600.0).round() as i64;
                (span.length_ns.0 / 1_000_000_000, rate)
            });
            assert_eq!(spans.collect::<Vec<_>>(), [(2, 100), (3, 50), (1, 0)]);
            assert_eq!(course.at_once, distribution == "spike");
        }
    }
    let constant = streams("100", "distribution=uniform");
    assert!(constant.iter().all(|stream| stream.rate_profile.is_none()));
    let refused = |rates: &str, more: &str| refusal(&text(rates, more));
    assert!(refused("(100,2,3)", "distribution=spike").contains("pairs of a rate and its seconds"));
    assert!(refused("max", "distribution=spike").contains("pairs of a rate and its seconds"));
    assert!(refused("(100,9,50,4)", "distribution=variable").contains("takes 13 seconds, longer than elapsed=12"));
    assert!(refused("100", "distribution=(uniform,exponential)").contains("with these words"));
}

#[test]
fn the_runs_of_recorded_files_start_with_the_recorded_lines() {
    let mut compared = 0;
    for entry in fs::read_dir(format!("{DATA}/parameters")).unwrap() {
        let folder = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        // Two are refused by both programs, one fits into memory here, and one found its disk
        // corrupted.
        let left_out = ["concatenate", "fs-skew-short", "validate-too-small", "journal-corrupt"];
        let is_refused = left_out.contains(&&*name);
        if !folder.is_dir() || is_refused {
            continue;
        }
        let text = |file: &str| fs::read_to_string(folder.join(file)).unwrap();
        let mut env = Fixture {
            folder: folder.display().to_string(),
            ..Fixture::default()
        };
        let (command, parameters, runs) =
            read(&text("args"), &mut env).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut ours: Vec<String> = Vec::new();
        for _ in 0..parameters.general.repeats.unwrap_or(1) {
            for run in &runs {
                let format = run.tree_format(&parameters.format_fwd);
                ours.extend(format.map(|format| format.start_text(false)));
                if run.files.as_ref().is_some_and(|files| files.format.only) {
                    continue;
                }
                ours.push(run.start_text(command.simulate));
                if command.simulate {
                    let points = run.points.iter();
                    ours.extend(points.map(|percent| run.point(*percent, 10_000.0).start_text(true)));
                }
            }
        }
        let starts = text("starts.txt");
        // Without a simulation, points of a curve depend on measured rates.
        let theirs: Vec<&str> = starts
            .lines()
            .filter_map(|line| {
                line.strip_prefix("Starting RD=")
                    .or(line.strip_prefix("Simulating RD="))
            })
            .filter(|line| !line.starts_with("SD_format") && !line.starts_with("journal_recovery"))
            .filter(|line| command.simulate || !line.contains("_("))
            .collect();
        assert!(!theirs.is_empty(), "{name}");
        // `stopcurve=` ended one case after its first curve.
        if name == "random-curve-loop" {
            ours.truncate(theirs.len());
        }
        assert_eq!(ours, theirs, "{name}");
        compared += 1;
    }
    assert!(compared >= 30, "{compared} cases");
}

#[test]
fn wrong_files_have_the_recorded_messages() {
    // Files that fathom refuses for its own reasons, or with its own message.
    let own = [
        ("openflags", "Invalid 'openflags=' parameter for Linux: o_nonsense"),
        ("no-rd", "No RD parameters specified"),
    ];
    let table = fs::read_to_string(format!("{DATA}/parameters/errors.txt")).unwrap();
    let mut compared = 0;
    for case in table.split("\n== ").skip(1) {
        let (name, rest) = case.split_once('\n').unwrap();
        let find = |start: &str| rest.lines().find_map(|line| line.strip_prefix(start));
        let args = find("args: ").unwrap_or_default();
        let indented = rest.lines().filter_map(|line| line.strip_prefix("    "));
        let text: String = indented.map(|line| format!("{line}\n")).collect();
        let exit = find("exit ").unwrap();
        let (code, expected) = exit.split_once(": ").unwrap();
        let outcome = run(args, &text);
        match own.iter().find(|(own, _)| *own == name) {
            Some((_, text)) => {
                let is_refused = outcome.as_ref().is_err_and(|what| what.starts_with(text));
                assert!(is_refused, "{name}: {outcome:?}");
            }
            // Only a run finds that out.
            None if name == "fs-anchor-missing" => assert!(outcome.is_ok(), "{outcome:?}"),
            None if code == "0" => assert!(outcome.is_ok(), "{name}: {outcome:?}"),
            None => assert_eq!(outcome.err().as_deref(), Some(expected), "{name}"),
        }
        compared += 1;
    }
    assert_eq!(compared, 33);
}

const FSD: &str = "fsd=fsd1,anchor=/d/t,depth=2,width=3,files=5,sizes=(16k,50,64k,50)\n";

/// A job for each workload, with a worker and a part of the rate for each thread.
#[test]
fn workloads_on_files_are_jobs_on_one_tree() {
    use model::plan::{FileOperationKind, TargetKind};
    let text = format!(
        "{FSD}fwd=a,fsd=fsd1,xfersize=(4k,50,8k,50),fileio=random,stopafter=10,threads=2,skew=60\n\
         fwd=b,fsd=fsd1,rdpct=70,fileselect=random,stopafter=25%\nfwd=c,fsd=fsd1,operation=delete\n\
         rd=rd1,fwd=*,fwdrate=100,format=no,elapsed=4"
    );
    let plan = plan_of(&text);
    let TargetKind::Tree { tree } = &plan.targets[0].kind else {
        panic!("{:?}", plan.targets)
    };
    assert_eq!((plan.targets.len(), tree.file_count()), (1, 45));
    let jobs = &plan.steps[0].jobs;
    let workers: Vec<usize> = jobs.iter().map(|job| job.workers.len()).collect();
    assert_eq!(workers, [2, 1, 1]);
    let rates = jobs.iter().map(|job| rate_of(&job.workers[0].streams[0]));
    assert_eq!(rates.collect::<Vec<_>>(), [30.0, 20.0, 20.0]);
    let work = |job: usize| jobs[job].workers[0].streams[0].files.clone().unwrap();
    let transfers = |job: usize| work(job).session.unwrap().transfers.unwrap();
    assert_eq!((work(0).block, work(0).in_order), (model::Bytes::kib(4), true));
    assert_eq!(transfers(0).count, Some(10));
    assert!(transfers(0).random);
    assert_eq!(transfers(0).write_percent, 0);
    assert_eq!(transfers(1).percent, 25.0);
    assert!(!transfers(1).random);
    assert_eq!(transfers(1).write_percent, 30);
    assert!(!work(1).in_order);
    assert_eq!(work(2).kinds(), vec![FileOperationKind::Delete]);
    assert_eq!(work(2).session, None);
}

#[test]
fn file_threads_use_direct_io_and_their_skew_at_the_maximum_rate() {
    let text = "fsd=default,files=50,sizes=(64k,50,1m,50),openflags=directio\nfsd=f,anchor=/d/t\n\
                fwd=default,fsd=f,fileio=(random,shared),xfersize=8k\n\
                fwd=a,threads=25,rdpct=100,skew=90\nfwd=b,threads=5,operation=write,skew=10\n\
                rd=rd1,fwd=*,fwdrate=max,elapsed=4\n";
    let plan = plan_of(text);
    let jobs = &plan.steps[0].jobs;
    assert_eq!((jobs[0].workers.len(), jobs[1].workers.len()), (25, 5));
    for (job, weight) in jobs.iter().zip([3_600_000, 2_000_000]) {
        for worker in &job.workers {
            let stream = &worker.streams[0];
            assert!(stream.cache.direct && stream.files.as_ref().unwrap().shares_files);
            assert_eq!(stream.flow.unwrap().weight, weight);
        }
    }
    // A waiting thread keeps its file, which other threads may need.
    let few = text
        .replace("(random,shared)", "random")
        .replace("files=50", "files=20");
    let what = refusal(&few);
    assert!(what.contains("with few files"), "{what}");
}

#[test]
fn threads_without_a_file_get_no_part_of_the_rate() {
    let text = "fsd=f,anchor=/d/t,files=5\nfwd=w,fsd=f,threads=16\nrd=rd1,fwd=w,fwdrate=100,elapsed=4\n";
    let workers = |text: &str| run("-f parmfile", text).unwrap()[0].plan.steps[0].jobs[0].workers.len();
    assert_eq!(workers(text), 5);
    let random = text.replace("threads=16", "threads=16,fileselect=random");
    assert_eq!(workers(&random), 16);
}

#[test]
fn a_group_that_replays_a_trace_is_refused_and_simulated() {
    let text = format!("rg=group1,devices=(123,456)\n{SD}wd=wd1,sd=sd1\nrd=rd1,wd=wd1,iorate=max");
    let what = refusal(&text);
    assert!(what.contains("rg=group1"), "{what}");
}

/// The first plan of a file with one FSD, one FWD and one RD.
fn plan_on_files(fsd: &str, fwd: &str, rd: &str) -> Plan {
    let text =
        format!("fsd=f,anchor=/d/t{fsd}\nfsd=g,anchor=/d/g\nfwd=w,fsd=f{fwd}\nrd=rd1,fwd=w,fwdrate=10,elapsed=4{rd}\n");
    plan_of(&text)
}

#[test]
fn operations_and_flags_on_files_are_in_the_plan() {
    use model::plan::FileOperationKind::{Access, Close, Create, Delete, Mkdir, Open, Rmdir, SetTimes, WriteBlock};
    use model::plan::WriteThrough;
    for (fwd, kinds) in [
        ("operation=mkdir", &[Mkdir][..]),
        ("operation=rmdir", &[Rmdir]),
        ("operation=access", &[Access]),
        ("operation=setattr", &[SetTimes]),
        ("operation=close", &[Open, Close]),
        (
            "operation=write,fileio=(sequential,delete)",
            &[Create, WriteBlock, Delete, Close],
        ),
    ] {
        let plan = plan_on_files("", &format!(",{fwd},openflags=fsync"), "");
        let stream = &plan.steps[0].jobs[0].workers[0].streams[0];
        assert_eq!(stream.files.as_ref().unwrap().kinds(), kinds, "{fwd}");
        assert!(stream.sync.on_close);
    }
    let once = plan_on_files("", ",fileselect=once", "");
    let job = &once.steps[0].jobs[0];
    assert!(job.workers[0].streams[0].files.as_ref().unwrap().once);
    assert_eq!(job.phases.warm_up_ns, Nanos(0), "it may end before");
    let synchronous = plan_on_files(",openflags=o_sync", "", "");
    let cache = &synchronous.steps[0].jobs[0].workers[0].streams[0].cache;
    assert_eq!(cache.write_through, WriteThrough::DataAndMetadata);
    assert!(!cache.direct);
}

/// Public files name their only host with `hd=`, and give operations where percentages of reads
/// apply.
#[test]
fn parameters_without_effect_change_no_plan() {
    let steps = |text: &str| plan_of(text).steps;
    let on_sds = |hd: &str| {
        steps(&format!(
            "sd=sd1,lun=/d/f,size=64m{hd}\nwd=wd1,sd=sd1{hd}\nrd=rd1,wd=wd1,iorate=100,elapsed=2"
        ))
    };
    assert_eq!(on_sds(",hd=localhost"), on_sds(""));
    let on_files = |fwd: &str, rd: &str| plan_on_files("", fwd, rd).steps;
    assert_eq!(on_files(",hd=localhost", ""), on_files("", ""));
    assert_eq!(on_files(",rdpct=30", ",foroperation=(read)"), on_files(",rdpct=30", ""));
    assert_ne!(on_files(",rdpct=30", ""), on_files("", ""));
}

#[test]
fn unsupported_file_parameters_are_refused_by_name() {
    for (fsd, fwd, rd, named) in [
        ("totalsize=50%", "", "", "totalsize"),
        ("", "", "forwss=(50%)", "wss"),
        ("distribution=top", "", "", "distribution"),
        ("openflags=o_direct,sizes=1000", "", "", "multiples of 512"),
        ("", "fileio=(sequential,delete),stopafter=2", "", "fileio"),
        ("", "fileio=(random,shared),fileselect=random", "", "fileselect=random"),
        ("", "fileselect=(poisson,x)", "", "fileselect"),
        ("", "fileselect=(skewed,3)", "", "fileselect"),
        ("", "", "fsd=other", "Could not find fsd=other for rd=rd1"),
        ("", "skew=50", "", "Total skew must add up to 100: 50.0"),
        ("", "", "format=(yes,limited)", "format=limited"),
        ("", "", "maxdata=3", "maxdata=3"),
        ("", "rdpct=50", "maxdataread=1m", "maxdataread"),
    ] {
        let text = format!("fsd=f,anchor=/d/t,{fsd}\nfwd=w,fsd=f,{fwd}\nrd=rd1,fwd=w,fwdrate=10,elapsed=4,{rd}\n");
        let text = text.replace(",\n", "\n");
        let what = refusal(&text);
        assert!(what.contains(named), "{fsd} {fwd} {rd}: {what}");
    }
}

const SD: &str = "sd=sd1,lun=/d/f,size=64m,threads=4\n";

#[test]
fn threads_belong_to_the_sd_and_shares_are_exact() {
    let text = format!(
        "{SD}sd=sd2,lun=/d/g,size=64m\nwd=wd1,sd=sd1,skew=25\nwd=wd2,sd=(sd1,sd2),rdpct=0\n\
         rd=rd1,wd=wd*,iorate=1000,elapsed=6,interval=2"
    );
    let plan = plan_of(&text);
    let jobs = &plan.steps[0].jobs;
    assert_eq!(jobs.iter().map(model::plan::Job::depth).collect::<Vec<_>>(), [4, 8]);
    let workers = jobs.iter().flat_map(|job| &job.workers);
    let rates = workers.flat_map(|worker| &worker.streams).map(rate_of);
    assert_eq!(rates.collect::<Vec<_>>(), [250.0, 375.0, 375.0]);
    // The first interval is not averaged.
    assert_eq!(jobs[0].phases.warm_up_ns, Nanos::secs(2));
    assert_eq!(jobs[0].stop.after_ns, Some(Nanos::secs(4)));
}

/// Regression: sums and products of such numbers overflowed, and a hundred thousand definitions
/// took a minute.
#[test]
fn impossible_numbers_are_refused() {
    for (sd, rd, named) in [
        ("size=618446744073709551615m", "elapsed=4", "618446744073709551615m"),
        ("size=8m", "elapsed=18446744073709551615", "elapsed"),
        ("size=8m", "elapsed=9007199254740992", "elapsed"),
        ("size=8m", "elapsed=4,pause=9007199254740992", "pause"),
        ("size=8m,count=(1,4294967296)", "elapsed=4", "count"),
    ] {
        let text = format!("sd=sd1,lun=/data/f%02d,{sd}\nwd=wd1,sd=*\nrd=rd1,wd=wd1,iorate=max,{rd}");
        let what = refusal(&text);
        assert!(what.contains("Invalid") && what.contains(named), "{what}");
    }
    let text = format!("{SD}wd=wd1,sd=*\nrd=rd1,wd=wd1,iorate=max");
    let what = run("-f parmfile -e 9999999999", &text).unwrap_err();
    assert!(what.contains("elapsed"), "{what}");
}

#[test]
fn unsupported_parameters_are_refused_by_name() {
    for (wd, rd, named) in [
        ("stride=(2m,1m)", "iorate=max", "a `stride=` that falls"),
        ("hotband=(90,110)", "iorate=max", "hotband"),
        ("iorate=10,priority=1", "iorate=100", "iorate"),
        ("priority=1", "iorate=max", "priority"),
        ("iorate=9,priority=1", "iorate=(1,1,2,1),distribution=spike", "iorate"),
        ("rdpct=50", "iorate=max,maxdatawritten=1m", "maxdatawritten"),
        ("range=(80,110),seekpct=0", "iorate=max", "range"),
    ] {
        let text = format!("{SD}wd=wd1,sd=sd1,{wd}\nrd=rd1,wd=wd1,{rd},elapsed=4");
        let what = refusal(&text);
        let is_named = what.contains("not supported") && what.contains(named);
        assert!(is_named, "{wd} {rd}: {what}");
    }
}

/// A workload with a rate of its own keeps it next to one without a rate, divided over its SDs.
#[test]
fn workloads_may_have_rates_of_their_own() {
    let text = |wds: &str| {
        format!("{SD}sd=sd2,lun=/d/g,size=64m\nsd=sd3,lun=/d/h,size=64m\n{wds}\nrd=rd1,wd=wd*,iorate=max,elapsed=4")
    };
    let wds = "wd=wd1,sd=(sd1,sd2),iorate=50,priority=1\nwd=wd2,sd=sd3,rdpct=0,priority=2";
    let plan = plan_of(&text(wds));
    let streams = plan.steps[0].jobs.iter().flat_map(|job| &job.workers[0].streams);
    assert_eq!(streams.map(rate_of).collect::<Vec<_>>(), [25.0, 25.0, 0.0]);
    // On one SD, streams without a rate are drawn only where none is due.
    let on_one = plan_of(&text(&wds.replace("sd=sd3", "sd=sd2")));
    let streams = on_one.steps[0].jobs[1].workers[0].streams.iter();
    let weights: Vec<u32> = streams.map(|stream| stream.weight).collect();
    assert_eq!(weights, [0, 500_000]);
    for (wds, named) in [
        (wds.replace(",priority=1", ""), "also must have  priority= specified."),
        (wds.replace(",priority=2", ""), "wd=wd2 has no priority="),
        (wds.replace("priority=2", "priority=1"), "have the same priority=1"),
        (wds.replace("priority=1", "priority=3"), "precedes that of another WD"),
        (
            format!("{wds}\nwd=wd3,sd=sd3,priority=3"),
            "several WDs without `iorate=`",
        ),
        (wds.replace("iorate=50", "iorate=50,skew=10"), "together"),
    ] {
        let what = refusal(&text(&wds));
        assert!(what.contains(named), "{wds}: {what}");
    }
}

/// The streams of an SD divide its share of the operations.
#[test]
fn shares_without_a_rate_count_all_streams_of_an_sd() {
    let text = format!(
        "{SD}sd=sd2,lun=/d/g,size=64m\nwd=wd1,sd=sd1,xfersize=(4k,50,8k,50),skew=80\nwd=wd2,sd=sd2,skew=20\n\
         rd=rd1,wd=wd*,iorate=max,elapsed=4"
    );
    let plan = plan_of(&text);
    let streams = plan.steps[0].jobs.iter().flat_map(|job| &job.workers[0].streams);
    let shares = streams.map(|stream| (stream.weight, stream.flow.map(|flow| flow.weight)));
    let expected = [(400_000, Some(800_000)), (400_000, None), (200_000, Some(200_000))];
    assert_eq!(shares.collect::<Vec<_>>(), expected);
}

/// The position is −ln(u) × blocks / 3, modulo the blocks: the first half has 1 / (1 + e^−1.5) of
/// the operations.
#[test]
fn poisson_positions_decrease_towards_the_end() {
    use model::access::{Access, Placement};
    let text = format!("{SD}wd=wd1,sd=sd1,seekpct=(poisson,3)\nrd=rd1,wd=wd1,iorate=max,elapsed=4");
    let plan = plan_of(&text);
    let access = &plan.steps[0].jobs[0].workers[0].streams[0].pattern.access[0];
    let Access::Random {
        placement: Placement::Ranges(ranges),
    } = access
    else {
        panic!("{access:?}");
    };
    let first_half = ranges.shares.read[..50].iter();
    let half: f64 = first_half.map(|share| share.operations_percent).sum();
    assert!((half - 100.0 / (1.0 + (-1.5f64).exp())).abs() < 1e-9, "{half}");
    let default = text.replace("(poisson,3)", "poisson");
    let other = plan_of(&default);
    assert_eq!(access, &other.steps[0].jobs[0].workers[0].streams[0].pattern.access[0]);
    let band = text.replace("seekpct=(poisson,3)", "hotband=(25,75)");
    let banded = plan_of(&band);
    let stream = &banded.steps[0].jobs[0].workers[0].streams[0];
    assert_eq!(access, &stream.pattern.access[0]);
    let resolve = |extent: model::plan::Extent| extent.resolve(64 << 20);
    assert_eq!(resolve(stream.region.base), 16 << 20);
    assert_eq!(stream.region.length.map(resolve), Some(32 << 20));
    let wrong = text.replace("(poisson,3)", "(poisson,x)");
    assert!(refusal(&wrong).contains("poisson,x"));
}

/// A key block divides the position and the length of every operation on an SD.
#[test]
fn key_blocks_divide_every_transfer() {
    let lengths = |text: &str| {
        let mut env = Fixture::default().with(|fixture| fixture.text = Some(text.to_owned()));
        let (_, mut parameters, runs) = read("-f parmfile -v", &mut env).unwrap();
        let mut validation = parameters.validation.take().unwrap();
        let placed = validation.place_maps(&runs, &parameters, std::path::Path::new("/out"), &env);
        placed.map_err(|error| error.what)?;
        let maps = validation.maps.into_values().map(|(_, length)| length);
        Ok::<Vec<u64>, String>(maps.collect())
    };
    let sds = "sd=sd1,lun=/d/a,size=64m\nsd=sd2,lun=/d/b,size=64m\n";
    for (sd, wd, rd, expected) in [
        ("", "xfersize=64k", "", [65536, 65536]),
        ("", "xfersize=(4k,50,6k,50)", "", [2048, 2048]),
        ("", "xfersize=64k,rhpct=10,whpct=10", "hitarea=10k", [2048, 2048]),
        ("", "xfersize=64k", "forxfersize=(8k,12k)", [4096, 4096]),
        ("sd=default,align=16k\n", "xfersize=(16k,64k,16k)", "", [16384, 16384]),
        ("", "xfersize=64k\nwd=wd2,sd=sd2,xfersize=16k", "", [65536, 16384]),
    ] {
        let text = format!("{sd}{sds}wd=wd1,sd=sd*,{wd}\nrd=rd1,wd=wd*,iorate=max,elapsed=4,{rd}\n");
        assert_eq!(lengths(&text.replace(",\n", "\n")).unwrap(), expected, "{text}");
    }
    let changing = format!("{sds}wd=wd1,sd=sd*\nrd=rd1,wd=wd1,iorate=max,elapsed=4,forcompratio=(1,2)\n");
    assert!(lengths(&changing).unwrap_err().contains("compratio"));
    let dedup = format!("dedupratio=2,dedupunit=4k\n{sds}wd=wd1,sd=sd*\nrd=rd1,wd=wd1,iorate=max,elapsed=4\n");
    assert!(lengths(&dedup).unwrap_err().contains("dedupratio"));
}

#[test]
fn remarks_continuations_and_abbreviations_are_read() {
    // Text after a blank is a remark; a comma continues the line; keywords may be abbreviated, in
    // either case.
    let text = format!("{SD}WD=wd1,sd=sd1,XF=8k rdpct=0\nrd=rd1,wd=wd1,\n* between\nior=max,el=4,in=2\neof\nnonsense");
    let plan = plan_of(&text);
    let stream = &plan.steps[0].jobs[0].workers[0].streams[0];
    assert_eq!(stream.mix, model::mix::Mix::READS);
    assert_eq!(stream.fixed_length(model::Direction::Read), Some(8192));
    for (text, expected) in [
        ("x=4k\n", "Keyword must contain a minimum of 2 characters: x=4k"),
        ("histogram=(default,1m))\n", "Unmatched Parenthesis "),
        (
            "sd=sd1,lun=$x\n",
            "Unknown variable substitution request in parameter file: sd=sd1,lun=$x",
        ),
    ] {
        assert_eq!(refusal(text), expected);
    }
}
