//! Runs on trees of files.

use dialects::vdbench::{Run, TreeFormat, with_tree_formats};
use model::Bytes;
use model::plan::{FileOperationKind, Pacing};
use testbed::With;

use super::{Fixture, plan_on_files, read, refusal, run};

#[test]
fn trees_and_working_sets_respect_their_total_sizes() {
    use model::plan::TargetKind;
    let tree = |fsd: &str, rd: &str| match plan_on_files(fsd, "", rd).targets.remove(0).kind {
        TargetKind::Tree { tree } => tree,
        other => panic!("{other:?}"),
    };
    // As recorded: 100 of 200 files, of which a run uses 25.
    let recorded = ",width=4,files=50,size=8k,totalsize=800k,workingsetsize=200k";
    assert_eq!(tree(recorded, "").file_count(), 100);
    assert_eq!(tree(recorded, ",fortotalsize=(40k,80k)").file_count(), 5);
    let set = |fsd: &str, rd: &str| {
        let work = plan_on_files(fsd, "", rd).steps[0].jobs[0].workers[0].streams[0]
            .files
            .clone();
        work.unwrap().working_set.map(|set| set.files)
    };
    assert_eq!(set(recorded, ""), Some(25));
    assert_eq!(set(recorded, ",forwss=(16k)"), Some(2));
    assert_eq!(set(",files=50", ""), None);
    assert_eq!(tree(",depth=2,width=2,files=3,distribution=all", "").file_count(), 18);
    assert_eq!(plan_on_files("", "", ",fsd=g").targets[0].path, "/d/g");
    // From half to one and a half of 1 MiB, in multiples of 10 KiB.
    let sizes: std::collections::BTreeSet<u64> = {
        let tree = tree(",files=5000,sizes=(1m,0)", "");
        (0..5000).map(|file| tree.file_size(file)).collect()
    };
    assert_eq!(sizes.len(), 102);
    assert!(
        sizes
            .iter()
            .all(|size| size % 10240 == 0 && (532_480..=1_566_720).contains(size)),
        "{sizes:?}"
    );
}

#[test]
fn trees_are_removed_before_the_first_run() {
    let text = "fsd=f,anchor=/a,files=2\nfsd=g,anchor=/b,files=2\nfwd=w,fsd=f\nfwd=v,fsd=g\n\
                rd=r1,fwd=w,fwdrate=9,elapsed=4\nrd=r2,fwd=(w,v),fwdrate=9,format=yes,elapsed=4";
    let runs = |args: &str| -> Vec<Run> {
        let mut env = Fixture::default().with(|fixture| fixture.text = Some(text.to_owned()));
        let (_, parameters, runs) = read(&format!("-f parmfile {args}"), &mut env).unwrap();
        with_tree_formats(&runs, &parameters)
    };
    let names = |runs: &[Run]| runs.iter().map(|run| run.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&runs("")), ["r1", "format_for_r2", "r2"]);
    let cleaned = runs("-c");
    assert_eq!(names(&cleaned), ["clean", "r1", "format_for_r2", "r2"]);
    let first = cleaned[0].files.as_ref().unwrap();
    assert_eq!(first.makes, Some(TreeFormat::Clean));
    assert_eq!(first.fsds.len(), 2, "the trees of all runs");
}

#[test]
fn rates_also_vary_on_files() {
    let plan = plan_on_files("", ",threads=2", ",distribution=variable,fwdrate=(100,2,300,2)");
    plan.check().unwrap();
    let workers = &plan.steps[0].jobs[0].workers;
    for worker in workers {
        let stream = &worker.streams[0];
        assert!(matches!(&stream.pacing, Pacing::Together { rate } if rate.per_second() == 100.0));
        let spans = &stream.rate_profile.as_ref().unwrap().spans;
        assert_eq!(spans.iter().map(|span| span.percent).collect::<Vec<_>>(), [50.0, 150.0]);
    }
    assert_eq!(workers.len(), 2);
}

#[test]
fn files_are_copied_and_moved_between_trees() {
    let text = |to: &str, fwd: &str| {
        format!(
            "fsd=default,depth=1,width=2,files=3\nfsd=f,anchor=/d/f\nfsd=g,anchor=/d/g{to}\n\
             fwd=w,fsd=f,xfersize=16k,{fwd}\nrd=rd1,fwd=w,fwdrate=max,format=yes,elapsed=4"
        )
    };
    for (operation, kind) in [("copy", FileOperationKind::Copy), ("move", FileOperationKind::Move)] {
        let fwd = format!("operation={operation},target=g");
        let lowered = run("-f parmfile", &text("", &fwd)).unwrap();
        let plan = &lowered[0].plan;
        plan.check().unwrap();
        let stream = &plan.steps[0].jobs[0].workers[0].streams[0];
        let work = stream.files.as_ref().unwrap();
        assert_eq!(work.kinds(), [kind]);
        let to = work.destination.unwrap();
        assert_eq!(plan.target(to).path, "/d/g");
        assert_eq!(stream.pattern.longest(&stream.mix), Bytes::kib(16), "the buffer");
    }
    for (to, fwd, named) in [
        ("", "operation=copy", "without `target=`"),
        ("", "operation=copy,target=x", "Could not find fsd=x"),
        (",files=4", "operation=copy,target=g", "from fsd=f to fsd=g"),
        ("", "operation=move,target=f", "from fsd=f to fsd=f"),
    ] {
        let what = refusal(&text(to, fwd));
        assert!(what.contains(named), "{fwd}: {what}");
    }
}

#[test]
fn poisson_prefers_the_first_files() {
    for (fileselect, midpoint) in [("poisson", Some(3.0)), ("(poisson,10)", Some(10.0)), ("random", None)] {
        let plan = plan_on_files("", &format!(",fileselect={fileselect}"), "");
        let work = plan.steps[0].jobs[0].workers[0].streams[0].files.clone().unwrap();
        assert_eq!((work.midpoint, work.in_order), (midpoint, false));
    }
}
