//! Jobs on trees of files as users run them: reports by kind of operation, and removal of trees.

use crate::prelude::*;

const ON_TREE: &str = "run --kind files --tree depth=1,width=4,files=25,sizes=8KiB --warm-up 0s";

fn run_on_tree(folder: &Path, more: &[&str]) -> Ran {
    fathom_in(folder, &[&split_words(ON_TREE)[..], more].concat())
}

#[test]
fn every_output_format_lists_the_kinds_of_operation() {
    let folder = need!(Directory::fast());
    let run = |more: &[&str]| {
        let mix = ["--mix", "stat/2, read-block/1, create+fsync/1, delete/1"];
        let words = [&["--target", ".", "--operations", "300"][..], &mix, more].concat();
        run_on_tree(folder.path(), &words)
    };
    let kinds = ["create", "read-block", "fsync", "stat", "delete"];
    let json = run(&["--quiet", "--out", "json"]);
    json.expect(0, &[]);
    let job = &json.json()["jobs"][0];
    let files = job["files"].as_array().unwrap();
    assert_eq!(files.len(), 5, "{job}");
    let operations = |name: &str| {
        let found = files.iter().find(|found| found["operation"] == name);
        found.unwrap_or_else(|| panic!("{name} in {job}"))["operations"]
            .as_u64()
            .unwrap()
    };
    let counts = ["create", "read_block", "fsync", "stat", "delete"].map(operations);
    assert_eq!(counts.iter().sum::<u64>(), 300);
    assert_eq!(job["total"]["operations"], 300);
    assert_eq!(job["read"]["operations"].as_u64().unwrap(), counts[1] + counts[3]);
    assert_eq!(
        job["total"]["bytes"].as_u64().unwrap(),
        counts[0] * 8192 + counts[1] * 4096
    );
    run(&["--save", "saved.json"]).expect(0, &kinds.map(|kind| if kind == "stat" { "  stat " } else { kind }));
    run(&["--quiet", "--out", "markdown=a.md,html=a.html,csv-percentiles=a.csv"]).expect(0, &[]);
    for name in ["a.md", "a.html", "a.csv"] {
        let written = fs::read_to_string(folder.path().join(name)).unwrap();
        let missing: Vec<&&str> = kinds.iter().filter(|kind| !written.contains(**kind)).collect();
        assert!(missing.is_empty(), "{name} has no {missing:?}: {written}");
    }
    let saved: Value = serde_json::from_str(&fs::read_to_string(folder.path().join("saved.json")).unwrap()).unwrap();
    let steps = &saved["steps"][0]["jobs"][0]["workers"][0]["streams"][0]["files"];
    assert_eq!(steps.as_array().unwrap().len(), 5, "{steps}");
    assert_eq!(
        names(folder.path()),
        ["a.csv", "a.html", "a.md", "saved.json"],
        "the trees are removed"
    );
}

#[test]
fn an_interrupt_while_the_tree_is_created_leaves_no_tree() {
    let folder = need!(Directory::fast());
    let line =
        split_words("run --target . --kind files --mix stat --time 60s --tree depth=1,width=100,files=1000,sizes=1KiB");
    let child = spawn(command(&line).current_dir(folder.path()));
    wait_until(
        20,
        || names(folder.path()).iter().any(|name| name.ends_with(".tree")),
        "no tree is created",
    );
    signal(&child, "INT");
    let ended = child.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(130), "{errors}");
    assert!(errors.contains("interrupted before the measurement"), "{errors}");
    assert_eq!(names(folder.path()), Vec::<String>::new());
}

#[test]
fn the_next_run_removes_the_tree_of_a_killed_run() {
    let folder = need!(Directory::fast());
    let long = format!("{ON_TREE} --target . --mix stat --time 60s");
    let child = spawn(command(&split_words(&long)).current_dir(folder.path()));
    let find_tree = || names(folder.path()).into_iter().find(|name| name.ends_with(".tree"));
    wait_until(
        20,
        || find_tree().is_some_and(|name| folder.path().join(name).join("d3").exists()),
        "no tree is created",
    );
    // While its run is alive, other runs leave the tree alone.
    let short = split_words("--target . --mix stat --operations 10");
    run_on_tree(folder.path(), &short).expect(0, &["stat"]);
    let left = find_tree().expect("the tree of a live run stays");
    kill(child);
    assert_eq!(find_tree(), Some(left.clone()), "a killed run leaves its tree");
    run_on_tree(folder.path(), &short).expect(0, &[&format!("removed ./{left}"), "a file tree left by a killed run"]);
    assert_eq!(names(folder.path()), Vec::<String>::new());
}

#[test]
fn impossible_trees_are_refused_before_anything_is_created() {
    let folder = need!(Directory::fast());
    fs::write(folder.path().join("file"), "mine").unwrap();
    let run = |target: &str| {
        let words = format!("--mix stat --operations 10 --target {target}");
        run_on_tree(folder.path(), &split_words(&words))
    };
    run("file").expect(3, &["file is not a directory"]);
    run("missing").expect(3, &["missing does not exist"]);
    run(". --dry-run").exits(0).prints(&[
        "a tree of 100 files in 5 directories, removed at the end",
        "nothing was opened for writing",
    ]);
    let huge = split_words("run --target . --kind files --mix stat --tree sizes=1TiB");
    fathom_in(folder.path(), &huge).expect(3, &["cannot create 1000.00 TiB at .: this would "]);
    fathom(&["precondition", text(folder.path()), "--kind", "files", "--mix", "stat"])
        .expect(4, &["only block jobs can precondition"]);
    assert_eq!(names(folder.path()), ["file"]);
}
