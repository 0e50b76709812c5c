//! Several hosts: `hd=`, `host=`, and the division of work among them.

use dialects::vdbench::{Host, Lowered, lower, with_tree_formats};
use model::plan::{Job, Prepare};
use model::testing::assert_contains;
use testbed::With;

use super::{Fixture, rate_of, read, refusal, run};

const HOSTS: &str = "hd=default,shell=ssh,user=bench\nhd=one,system=db1\nhd=two,system=db2\n";

/// The last run of a file with two other hosts.
fn lowered(text: &str) -> Result<Lowered, String> {
    let mut all = run("-f parmfile", &format!("{HOSTS}{text}"))?;
    let last = all.pop().expect("a run");
    last.plan.check().expect("a valid plan");
    Ok(last)
}

/// Each job with its hosts, operations in flight and rate.
fn jobs(text: &str) -> Vec<(String, String, u64, f64)> {
    let lowered = lowered(text).unwrap();
    let jobs = lowered.plan.steps[0].jobs.iter().zip(&lowered.job_labels);
    jobs.map(|(job, part)| {
        let streams = job.workers.iter().flat_map(|worker| &worker.streams);
        let rate = streams.map(rate_of);
        let hosts = job.hosts.join(",");
        assert_eq!(part.rank.map(|rank| rank.to_string()).unwrap_or_default(), hosts);
        (job.name.clone(), hosts, job.depth(), rate.sum())
    })
    .collect()
}

fn job(name: &str, host: &str, depth: u64, rate: f64) -> (String, String, u64, f64) {
    (name.into(), host.into(), depth, rate)
}

#[test]
fn a_shared_sd_divides_its_threads_and_rate_among_the_hosts() {
    let text = "sd=sd1,lun=/d/f%h,size=64m,threads=5\nsd=sd2,lun=/d/g,size=64m,threads=2,host=two\n\
                wd=wd1,sd=sd*\nrd=rd1,wd=wd1,iorate=90,elapsed=4";
    let expected = [
        job("sd1", "0", 3, 30.0),
        job("sd1", "1", 2, 30.0),
        job("sd2", "1", 2, 30.0),
    ];
    assert_eq!(jobs(text), expected);
    let Lowered { plan, lun_bytes, .. } = lowered(text).unwrap();
    assert_eq!(lun_bytes, 128 << 20, "a shared SD counts once");
    // Each host creates and extends its own files, whose names are literal.
    let paths: Vec<&str> = plan.targets.iter().map(|target| &*target.path).collect();
    assert_eq!(paths, ["/d/f%%h", "/d/f%%h", "/d/g"]);
    for target in &plan.targets {
        assert!(
            matches!(target.prepare, Prepare::LayOut { extend: true, .. }),
            "{target:?}"
        );
    }
    let existing = run("-f parmfile", &format!("formatsds=no\n{HOSTS}{text}")).unwrap();
    assert_eq!(existing[0].plan.targets[0].prepare, Prepare::Existing);
}

#[test]
fn workloads_run_where_they_and_their_sds_have_a_common_host() {
    let sds = "sd=sd1,lun=/d/f,size=64m,host=one\nsd=sd2,lun=/d/g,size=64m,host=two\nsd=sd3,lun=/d/h,size=64m\n";
    let rd = "\nrd=rd1,wd=wd*,iorate=60,elapsed=4";
    let found = jobs(&format!("{sds}wd=wd1,sd=sd*,host=one{rd}"));
    assert_eq!(found, [job("sd1", "0", 8, 30.0), job("sd3", "0", 8, 30.0)]);
    let found = jobs(&format!("{sds}wd=wd1,sd=sd1,skew=20\nwd=wd2,sd=(sd2,sd3){rd}"));
    let expected = [
        job("sd1", "0", 8, 12.0),
        job("sd2", "1", 8, 16.0),
        job("sd3", "0", 4, 16.0),
        job("sd3", "1", 4, 16.0),
    ];
    assert_eq!(found, expected);
    // A rate of its own is divided in the same way.
    let own = "wd=wd1,sd=(sd1,sd3),iorate=30,priority=1\nrd=rd1,wd=wd*,iorate=max,elapsed=4";
    let expected = [
        job("sd1", "0", 8, 10.0),
        job("sd3", "0", 4, 10.0),
        job("sd3", "1", 4, 10.0),
    ];
    assert_eq!(jobs(&format!("{sds}{own}")), expected);
    for (text, what) in [
        ("wd=wd1,sd=sd2,host=one", "Could not find sd=sd2 for wd=wd1,host=one"),
        ("wd=wd1,sd=sd1,host=three", "Could not find hd=three, which wd1 names"),
    ] {
        assert_eq!(lowered(&format!("{sds}{text}{rd}")).unwrap_err(), what);
    }
}

/// A host counts its own operations, so all hosts need the same shares of workloads.
#[test]
fn hosts_with_the_same_workloads_keep_their_shares_alone() {
    let flows = |text: &str| -> Vec<(String, Vec<u32>, Vec<Option<i64>>)> {
        let jobs = lowered(text).unwrap().plan.steps.remove(0).jobs;
        let flow = |job: Job| {
            let streams = || job.workers.iter().flat_map(|worker| &worker.streams);
            let weights = streams().map(|stream| stream.weight).collect();
            let flows = streams().map(|stream| stream.flow.map(|flow| flow.id)).collect();
            (job.hosts.join(","), weights, flows)
        };
        jobs.into_iter().map(flow).collect()
    };
    let sd = "sd=sd1,lun=/d/f,size=64m\n";
    let wds = "wd=wd1,sd=sd*,skew=80\nwd=wd2,sd=sd1\nrd=rd1,wd=wd*,iorate=max,elapsed=4";
    let alone = |host: &str| (host.to_owned(), vec![400_000, 100_000], vec![None, None]);
    // On one SD the weights suffice.
    assert_eq!(flows(&format!("{sd}{wds}")), [alone("0"), alone("1")]);
    let two = format!("{sd}sd=sd2,lun=/d/g,size=64m\n{wds}");
    let first = |host: &str, id| (host.to_owned(), vec![200_000, 100_000], vec![Some(id), None]);
    let second = |host: &str, id| (host.to_owned(), vec![200_000], vec![Some(id)]);
    assert_eq!(
        flows(&two),
        [first("0", 1), first("1", 2), second("0", 1), second("1", 2)]
    );
    let trees = |fwds: &str| {
        format!("fsd=default,files=100\nfsd=fsd_$host,anchor=/d/$host\n{fwds}rd=rd1,fwd=fwd*,fwdrate=max,elapsed=4")
    };
    let on_one = |host: &str| format!("fwd=fwd_{host},fsd=fsd_{host},host={host},operation=read,skew=50\n");
    let what = lowered(&trees(&format!("{}{}", on_one("one"), on_one("two")))).unwrap_err();
    assert!(what.contains("on hosts with different workloads"), "{what}");
}

#[test]
fn definitions_that_mention_the_host_are_repeated_for_each() {
    let text = "sd=sd_$host,lun=/d/$host/#host,size=(60m,#hosts),host=$host\nwd=wd_!host,sd=sd_$host,host=$host\n\
                rd=rd1,wd=wd_*,iorate=40,elapsed=4";
    assert_eq!(jobs(text), [job("sd_one", "0", 8, 20.0), job("sd_two", "1", 8, 20.0)]);
    let lowered = lowered(text).unwrap();
    let paths: Vec<&str> = lowered.plan.targets.iter().map(|target| &*target.path).collect();
    assert_eq!(paths, ["/d/one/0", "/d/two/1"]);
    assert_eq!(lowered.lun_bytes, 60 << 20);
    // Without other hosts this process does all of it.
    let local = run("-f parmfile", &format!("hd=box,system=localhost\n{text}")).unwrap();
    let names: Vec<&str> = local[0].plan.targets.iter().map(|target| &*target.path).collect();
    assert_eq!(names, ["/d/box/0"]);
    assert!(local[0].plan.steps[0].jobs[0].hosts.is_empty());
}

#[test]
fn trees_have_one_host() {
    let text = "fsd=fsd_$host,anchor=/d/a,files=20\nfwd=fwd_$host,fsd=fsd_$host,host=$host,threads=2\n\
                rd=rd1,fwd=fwd*,fwdrate=40,elapsed=4";
    let expected = [job("fwd_one", "0", 2, 20.0), job("fwd_two", "1", 2, 20.0)];
    assert_eq!(jobs(text), expected);
    let lowered = lowered(text).unwrap();
    assert_eq!(lowered.plan.targets.len(), 2, "the anchors are on different hosts");
    assert_eq!(lowered.job_labels[1].report_files, ["fsd_two", "fwd_two"]);
}

/// As in Vdbench, threads are dealt to one host after the other.
#[test]
fn a_host_without_a_thread_does_nothing() {
    let text = "sd=sd1,lun=/d/f,size=64m,threads=1\nwd=wd1,sd=sd1\nrd=rd1,wd=wd1,iorate=9,elapsed=4";
    assert_eq!(jobs(text), [job("sd1", "0", 1, 9.0)]);
}

/// Only that host knows its size, and it uses all of it.
#[test]
fn a_device_of_another_host_needs_no_size() {
    let text = "sd=sd1,host=two,lun=/dev/sdx,openflags=o_direct\nsd=sd2,host=two,lun=/d/f\n\
                wd=wd1,sd=sd*,xfersize=8k\nrd=rd1,wd=wd1,iorate=9,elapsed=4";
    let lowered = lowered(text).unwrap();
    let regions = lowered.plan.jobs().map(|(_, job)| &job.workers[0].streams[0].region);
    let regions = regions.map(|region| (region.base.bytes.0, region.length.is_some()));
    assert_eq!(regions.collect::<Vec<_>>(), [(8192, false), (0, false)]);
    let mut targets = lowered.plan.targets.iter();
    assert!(targets.all(|target| target.prepare == Prepare::Existing));
    assert_eq!(lowered.lun_bytes, 0);
}

/// Threads and rate are divided by hosts, as in Vdbench, and each host has every n-th file.
#[test]
fn hosts_share_a_tree_that_one_of_them_creates() {
    let text = "fsd=f,anchor=/d/a,files=21,shared=yes\nfwd=w,fsd=f,threads=6,skew=75\n\
                fwd=d,fsd=f,operation=delete,host=two,threads=8\nrd=r,fwd=*,fwdrate=80,elapsed=4,format=yes";
    let expected = [job("w", "0", 3, 30.0), job("w", "1", 3, 30.0), job("d", "1", 8, 20.0)];
    assert_eq!(jobs(text), expected);
    let mut env = Fixture::default().with(|fixture| fixture.text = Some(format!("{HOSTS}{text}")));
    let (_, parameters, runs) = read("-f parmfile", &mut env).unwrap();
    let runs = with_tree_formats(&runs, &parameters);
    let all = runs.iter().map(|run| lower(run, &parameters, &env, 1).unwrap());
    let all: Vec<Lowered> = all.collect();
    let parts = |lowered: &Lowered| -> Vec<Option<(u32, u32)>> {
        let workers = lowered.plan.jobs().flat_map(|(_, job)| &job.workers[..1]);
        let parts = workers.map(|worker| worker.streams[0].files.as_ref()?.part.as_ref());
        parts.map(|part| part.map(|part| (part.index, part.count))).collect()
    };
    assert_eq!(parts(&all[1]), [Some((0, 2)), Some((1, 2)), Some((1, 2))]);
    assert_eq!(parts(&all[0]), [None, None], "one host creates the tree");
    assert!(all[0].plan.jobs().all(|(_, job)| job.hosts == ["0"]));
    assert_eq!(all[1].lun_bytes, all[0].lun_bytes, "a shared tree counts once");
}

#[test]
fn hosts_keep_what_is_needed_to_reach_them() {
    let text = "hd=default,user=root\nhd=a,system=192.0.2.7,shell=vdbench\nhd=b,clients=2\nhd=c,system=localhost\n\
                sd=sd1,lun=/d/f,size=64m\nwd=wd1,sd=sd1\nrd=rd1,wd=wd1,iorate=9";
    let mut env = Fixture::default().with(|fixture| fixture.text = Some(text.to_owned()));
    let (_, parameters, _) = read("-f parmfile", &mut env).unwrap();
    let host = |label: &str, system: &str, has_agent, is_local| Host {
        label: label.into(),
        system: system.into(),
        user: Some("root".into()),
        has_agent,
        is_local,
    };
    let expected = [
        host("a", "192.0.2.7", true, false),
        host("b_cl0", "b", false, false),
        host("b_cl1", "b", false, false),
        host("c", "localhost", false, true),
    ];
    assert_eq!(parameters.hosts, expected);
}

/// Vdbench runs it in only one slave, with all threads of the SD.
#[test]
fn sequential_work_runs_on_one_host() {
    for seek in ["0", "eof"] {
        let text = format!(
            "sd=sd1,lun=/d/f,size=64m,threads=5\nwd=wd1,sd=sd1,seekpct={seek}\nrd=rd1,wd=wd1,iorate=9,elapsed=4"
        );
        assert_eq!(jobs(&text), [job("sd1", "0", 5, 9.0)]);
    }
}

#[test]
fn what_other_hosts_do_not_support_is_refused() {
    let sds = "sd=sd1,lun=/d/f,size=64m\nsd=sd2,lun=/d/g,size=64m,host=two\n";
    let rd = "rd=rd1,wd=wd*,iorate=9,elapsed=4";
    for (text, what) in [
        (
            format!("{sds}wd=wd1,sd=sd1,stride=(8k,16k)\n{rd}"),
            "`stride=` or `streams=` of wd=wd1 on sd=sd1",
        ),
        (
            format!("sd=sd1,lun=/dev/sdx,openflags=o_direct\nwd=wd1,sd=sd1,rhpct=50\n{rd}"),
            "cannot read the size of sd=sd1: it is on other hosts",
        ),
        (
            format!("{sds}wd=wd1,sd=sd1,skew=20\nwd=wd2,sd=sd2\n{}", rd.replace('9', "max")),
            "`skew=` under `iorate=max` on hosts with different workloads",
        ),
        (
            format!("{sds}wd=wd1,sd=sd1\nwd=wd2,sd=sd2,seekpct=eof\n{rd}"),
            "`seekpct=eof` together with other work on several hosts",
        ),
        (
            format!("sd=sd1,host=one,lun=/d/f,host=two,lun=/d/g,size=64m\nwd=wd1,sd=sd1\n{rd}"),
            "sd=sd1: a `lun=` for each `host=`",
        ),
        (
            "fsd=f,anchor=/d,depth=2,shared=yes\nfwd=w,fsd=f,operation=rmdir\nrd=r,fwd=w,fwdrate=9,elapsed=4".into(),
            "`operation=rmdir` on fsd=f, which several hosts share",
        ),
        (
            "fsd=f,anchor=/d\nfwd=w,fsd=f\nrd=r,fwd=w,fwdrate=9,elapsed=4".into(),
            "Multiple hosts may only be requested for an FSD when 'shared=yes' is specified. rd=r",
        ),
    ] {
        let found = lowered(&text).unwrap_err();
        assert!(found.contains(what), "{text}: {found}");
    }
    for (general, what) in [
        ("validate=yes", "data validation"),
        ("formatsds=yes", "`formatsds=yes`"),
    ] {
        let text = format!("{general}\n{HOSTS}{sds}wd=wd1,sd=sd1\n{rd}");
        let found = refusal(&text);
        assert_contains(&found, &format!("{what} is not supported on other hosts"));
    }
    // ssh would take such names as options.
    for hd in [
        "hd=a,system=-oProxyCommand",
        "hd=a,system=\"b c\"",
        "hd=a,system=b,user=-l",
        "hd=local",
    ] {
        let found = refusal(&format!("{hd}\n{sds}wd=wd1,sd=sd1\n{rd}"));
        let is_named = found.contains("invalid system=") || found.contains("invalid user=");
        assert!(is_named, "{found}");
    }
}
