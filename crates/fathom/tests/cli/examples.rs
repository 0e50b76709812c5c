//! Every example runs as it stands, only shorter.

use std::fs;

use testbed::{Directory, need};

use crate::support::{command, finish, names, text};

#[test]
fn every_example_runs() {
    let Some(folder) = need(Directory::on_disk()) else {
        return;
    };
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let mut count = 0;
    for entry in fs::read_dir(examples).unwrap().flatten() {
        let path = entry.path();
        assert_eq!(path.extension().and_then(|end| end.to_str()), Some("toml"));
        let run = |more: &[&str]| {
            let arguments = [&["run", text(&path)][..], more].concat();
            finish(command(&arguments).current_dir(folder.path()))
        };
        run(&["--dry-run"]).expect(0, &["dry run"]);
        let simulated = text(&path).contains("simulated");
        let shorter: &[&str] = if simulated {
            &[]
        } else {
            &["--time", "400ms", "--warm-up", "100ms", "--size", "32m"]
        };
        let ran = run(shorter);
        ran.expect(0, &["IOPS", "p99"]);
        if simulated {
            assert!(
                ran.out.contains("300 ms") || ran.out.contains("301 ms"),
                "the stall shows: {ran:#?}"
            );
        }
        count += 1;
    }
    assert!(count >= 5);
    assert_eq!(
        names(folder.path()),
        Vec::<String>::new(),
        "examples leave nothing behind"
    );
}
