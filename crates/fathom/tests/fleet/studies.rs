//! Commands with several runs on several hosts. Each rank creates its files on its own host, once,
//! and removes them at the end.

use super::*;

/// A folder with a directory for each of two ranks. None has the name in the plan.
fn create_workspace() -> Option<Workspace> {
    let workspace = Workspace::new("")?;
    for rank in ["0", "1"] {
        fs::create_dir(workspace.path(rank)).unwrap();
    }
    Some(workspace)
}

fn rank_path(workspace: &Workspace) -> String {
    workspace.path("%r").to_str().unwrap().to_owned()
}

fn start(workspace: &Workspace, command: Command, words: &[&str]) -> Ran {
    run(prepare(command, workspace.folder.path()).args(words))
}

/// Runs a command of the program on two processes of this machine.
fn on_two(workspace: &Workspace, line: &str) -> Ran {
    let words: Vec<&str> = line.split_whitespace().chain(["--hosts", "local,local"]).collect();
    start(workspace, Command::new(PROGRAM), &words)
}

#[track_caller]
fn assert_nothing_is_left(workspace: &Workspace) {
    for rank in ["0", "1"] {
        let left: Vec<_> = fs::read_dir(workspace.path(rank)).unwrap().flatten().collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

/// Checks that every run of a saved study had both ranks. The first run must have created their
/// files, which the others used.
#[track_caller]
fn assert_created_once(workspace: &Workspace, saved: &str, runs: usize) {
    let study = archive::load_study(&workspace.path(saved)).unwrap();
    assert_eq!(study.runs.len(), runs);
    for (number, run) in study.runs.iter().enumerate() {
        let results = &run.results;
        assert_eq!(ranks(results).len(), 2);
        assert!(measured(results).iter().all(|(_, _, found, _)| {
            let counted = |direction: &Option<model::results::DirectionResults>| {
                direction.as_ref().map_or(0, |direction| direction.operations)
            };
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

const SWEEP: &str = "--size 8m --read 50 --over depth=1,2 --time 300ms --warm-up 0 --grid-only --quiet";

#[test]
fn a_sweep_creates_its_files_on_the_hosts_that_execute_it() {
    let workspace = need!(create_workspace());
    let (target, saved) = (rank_path(&workspace), workspace.path("study"));
    let line = format!("sweep {target} --save {} {SWEEP}", saved.display());
    on_two(&workspace, &line).expect(0, &["together, by pipes"]);
    assert_created_once(&workspace, "study", 2);
    assert_nothing_is_left(&workspace);
    // A dry run does not examine this machine either.
    on_two(&workspace, &format!("sweep {target} --dry-run")).expect(0, &["each of 2 hosts checks its own targets"]);
}

#[test]
fn a_sweep_under_mpirun_creates_its_files_in_each_process() {
    let hosts = need!(hosts(1));
    let workspace = need!(create_workspace());
    let (target, saved) = (rank_path(&workspace), workspace.path("study"));
    let line = format!(
        "--oversubscribe -n 2 {PROGRAM} sweep {target} --save {} {SWEEP}",
        saved.display()
    );
    let words: Vec<&str> = line.split(' ').collect();
    start(&workspace, hosts.on(0, "mpirun.openmpi"), &words).expect(0, &["by MPI ("]);
    assert_created_once(&workspace, "study", 2);
    assert_nothing_is_left(&workspace);
}

#[test]
fn a_suite_is_judged_for_all_hosts_together() {
    let workspace = need!(create_workspace());
    let saved = workspace.path("study");
    fs::write(
        workspace.path("suite.toml"),
        format!(
            "[defaults]\ntarget = \"{}\"\nsize = \"8m\"\ntime = \"1s\"\nwarm-up = \"200ms\"\n\
             [[workload]]\nname = \"reads\"\nrequire = \"iops>=100,p99<=1s\"\n\
             [[workload]]\nname = \"writes\"\nread = 0\nrequire = \"iops>=100,p99<=1s\"\n",
            rank_path(&workspace)
        ),
    )
    .unwrap();
    let suite = workspace.path("suite.toml");
    let page = workspace.path("sign.md");
    let (sign_off, study) = (page.display(), saved.display());
    let line = format!("suite {} --sign-off {sign_off} --quiet --save {study}", suite.display());
    let ran = on_two(&workspace, &line);
    // A second may be too short for a verdict, but no requirement is missed.
    let code = if ran.code == Some(2) { 2 } else { 0 };
    ran.expect(code, &["reads", "writes"]);
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("| Issued by | 2 processes on "), "{page}");
    assert_created_once(&workspace, "study", 2);
    assert_nothing_is_left(&workspace);
    // The required rate applies to the sum of both ranks.
    for run in archive::load_study(&saved).unwrap().runs {
        let rates = run.results.steps[0].jobs[0].total();
        assert!((90..=130).contains(&rates.operations), "{}", rates.operations);
    }
}

#[test]
fn preconditioning_fills_files_on_each_host() {
    let workspace = need!(create_workspace());
    let target = rank_path(&workspace);
    let how = "--size 8m --passes 1 --quiet --round 100ms --rounds 5 --out json";
    let ran = on_two(&workspace, &format!("precondition {target} {how}"));
    // The files need not be steady after half a second.
    assert!(matches!(ran.code, Some(0 | 1)), "{}\n{}", ran.out, ran.err);
    let report: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(report["fill"]["bytes"], 16 << 20, "each has filled its own");
    assert_eq!(report["rounds"].as_array().unwrap().len(), 5);
    assert_nothing_is_left(&workspace);
    let matrix = format!("precondition {target} --matrix");
    on_two(&workspace, &matrix).expect(4, &["only its host knows it"]);
}

#[test]
fn a_screening_runs_on_one_machine_only() {
    let workspace = need!(Workspace::new(""));
    let folder = workspace.folder.path().to_str().unwrap();
    let before = fs::read_dir(folder).unwrap().count();
    let refused = |words: &[&str], hosts: &str, named: &str| {
        let mut command = Command::new(PROGRAM);
        command.env("FATHOM_HOSTS", hosts);
        let ran = start(&workspace, command, words);
        ran.expect(4, &["`fathom quick` runs only on this machine", named, "fathom sweep"]);
    };
    refused(&["quick", "--hosts", "local,local", folder], "", "--hosts local,local");
    refused(&["quick", folder], "local", "FATHOM_HOSTS=local");
    assert_eq!(fs::read_dir(folder).unwrap().count(), before);
}
