//! Commands of several runs on several hosts: each rank makes its files where it is, once, and
//! removes them at the end.

use super::*;

/// A place with a directory for each of two ranks, and none of the name that stands in the plan.
fn ground() -> Option<Ground> {
    let ground = Ground::new("")?;
    for rank in ["0", "1"] {
        fs::create_dir(ground.path(rank)).unwrap();
    }
    Some(ground)
}

fn of_each(ground: &Ground) -> String {
    ground.path("%r").to_str().unwrap().to_owned()
}

fn start(ground: &Ground, command: &mut Command, words: &[&str]) -> Ran {
    end(own(command, &ground.journal()).args(words).spawn().unwrap())
}

#[track_caller]
fn nothing_is_left(ground: &Ground) {
    for rank in ["0", "1"] {
        let left: Vec<_> = fs::read_dir(ground.path(rank)).unwrap().flatten().collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

/// Every run of a saved study had both ranks; the first has made their files, and the others have
/// used them.
#[track_caller]
fn made_once(ground: &Ground, saved: &str, runs: usize) {
    let study = archive::load_study(&ground.path(saved)).unwrap();
    assert_eq!(study.runs.len(), runs);
    for (number, run) in study.runs.iter().enumerate() {
        let results = &run.results;
        assert_eq!(ranks(results).len(), 2);
        assert!(measured(results).iter().all(|(_, _, found, _)| {
            let counted = |one: &Option<model::results::DirectionResults>| one.as_ref().map_or(0, |one| one.operations);
            counted(&found.read) + counted(&found.write) > 0
        }));
        let expected = match number {
            0 => "written for this run",
            _ => "prepared earlier",
        };
        for target in 0..2 {
            let facts = results
                .hosts
                .iter()
                .find_map(|host| host.environment.target(target))
                .unwrap();
            assert!(facts.prepared.contains(expected), "{number}: {}", facts.prepared);
            assert!(facts.path.contains(&format!("/{target}/fathom-")), "{}", facts.path);
        }
    }
}

const SWEEP: [&str; 12] = [
    "--size", "8m", "--read", "50", "--over", "depth=1,2", "--time", "300ms", "--warm-up", "0", "--grid-only",
    "--quiet",
];

#[test]
fn a_sweep_makes_its_files_on_the_hosts_that_carry_it_out() {
    let Some(ground) = ground() else { return };
    let (target, saved) = (of_each(&ground), ground.path("study"));
    let words = [
        "sweep",
        &target,
        "--hosts",
        "local,local",
        "--save",
        saved.to_str().unwrap(),
    ];
    let mut command = Command::new(PROGRAM);
    let words: Vec<&str> = words.into_iter().chain(SWEEP).collect();
    start(&ground, &mut command, &words).expect(0, &["together, by pipes"]);
    made_once(&ground, "study", 2);
    nothing_is_left(&ground);
    // Nor does a dry run look at what lies here.
    let words = ["sweep", &target, "--hosts", "local,local", "--dry-run"];
    start(&ground, &mut Command::new(PROGRAM), &words).expect(0, &["each of 2 hosts checks its own targets"]);
}

#[test]
fn a_sweep_under_mpirun_makes_its_files_in_each_process() {
    let Some(hosts) = need(Hosts::with_count(1)) else {
        return;
    };
    let Some(ground) = ground() else { return };
    let (target, saved) = (of_each(&ground), ground.path("study"));
    let words = [
        "--oversubscribe",
        "-n",
        "2",
        PROGRAM,
        "sweep",
        &target,
        "--save",
        saved.to_str().unwrap(),
    ];
    let mut command = hosts.on(0, "mpirun.openmpi");
    let words: Vec<&str> = words.into_iter().chain(SWEEP).collect();
    start(&ground, &mut command, &words).expect(0, &["by MPI ("]);
    made_once(&ground, "study", 2);
    nothing_is_left(&ground);
}

#[test]
fn a_suite_is_held_to_by_all_hosts_together() {
    let Some(ground) = ground() else { return };
    let saved = ground.path("study");
    fs::write(
        ground.path("suite.toml"),
        format!(
            "[defaults]\ntarget = \"{}\"\nsize = \"8m\"\ntime = \"1s\"\nwarm-up = \"200ms\"\n\
             [[workload]]\nname = \"reads\"\nrequire = \"iops>=100,p99<=1s\"\n\
             [[workload]]\nname = \"writes\"\nread = 0\nrequire = \"iops>=100,p99<=1s\"\n",
            of_each(&ground)
        ),
    )
    .unwrap();
    let suite = ground.path("suite.toml");
    let page = ground.path("sign.md");
    let words = [
        "suite",
        suite.to_str().unwrap(),
        "--hosts",
        "local,local",
        "--sign-off",
        page.to_str().unwrap(),
        "--quiet",
        "--save",
        saved.to_str().unwrap(),
    ];
    let ran = start(&ground, &mut Command::new(PROGRAM), &words);
    // A second may be too short to tell, but nothing is broken.
    let code = if ran.code == Some(2) { 2 } else { 0 };
    ran.expect(code, &["reads", "writes"]);
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("| Issued by | 2 processes on "), "{page}");
    made_once(&ground, "study", 2);
    nothing_is_left(&ground);
    // The rate that is required is that of both, not of each.
    for run in archive::load_study(&saved).unwrap().runs {
        let rates = run.results.steps[0].jobs[0].total();
        assert!((90..=130).contains(&rates.operations), "{}", rates.operations);
    }
}

#[test]
fn preconditioning_fills_what_lies_on_the_hosts() {
    let Some(ground) = ground() else { return };
    let target = of_each(&ground);
    let words = [
        "precondition", &target, "--hosts", "local,local", "--size", "8m", "--passes", "1", "--quiet",
    ];
    let rounds = ["--round", "100ms", "--rounds", "5", "--out", "json"];
    let all: Vec<&str> = words.into_iter().chain(rounds).collect();
    let ran = start(&ground, &mut Command::new(PROGRAM), &all);
    // Whether it is steady after half a second is another question.
    assert!(matches!(ran.code, Some(0 | 1)), "{}\n{}", ran.out, ran.err);
    let report: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(report["fill"]["bytes"], 16 << 20, "each has filled its own");
    assert_eq!(report["rounds"].as_array().unwrap().len(), 5);
    nothing_is_left(&ground);
    let words = ["precondition", &target, "--hosts", "local,local", "--matrix"];
    start(&ground, &mut Command::new(PROGRAM), &words).expect(4, &["only its host knows it"]);
}

#[test]
fn a_screening_is_of_one_machine() {
    let Some(ground) = Ground::new("") else { return };
    let folder = ground.folder.path().to_str().unwrap();
    let before = fs::read_dir(folder).unwrap().count();
    let refused = |words: &[&str], hosts: &str, named: &str| {
        let mut command = Command::new(PROGRAM);
        command.env("FATHOM_HOSTS", hosts);
        let ran = start(&ground, &mut command, words);
        ran.expect(4, &["`fathom quick` runs only on this machine", named, "fathom sweep"]);
    };
    refused(&["quick", "--hosts", "local,local", folder], "", "--hosts local,local");
    refused(&["quick", folder], "local", "FATHOM_HOSTS=local");
    assert_eq!(fs::read_dir(folder).unwrap().count(), before);
}
