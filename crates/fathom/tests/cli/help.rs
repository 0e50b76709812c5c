//! Help, manual pages, completions, schemas.

use crate::support::{fathom, fathom_line};

/// Compares text with a golden file; `FATHOM_UPDATE=1` rewrites the file.
#[track_caller]
fn golden(name: &str, actual: &str) {
    let path = format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("FATHOM_UPDATE").is_some() {
        std::fs::write(&path, actual).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        expected == actual,
        "{path} differs; FATHOM_UPDATE=1 rewrites it:\n{actual}"
    );
}

#[test]
fn help_equals_the_golden_files() {
    let commands = "quick,run,presets,verify,suite,warm-up,policies,advise,lint,sweep,ab,capture,precondition,compare,\
                    calc,convert,explain,show,report,nfs,history,history show,history prune,trend,serve,baseline,\
                    targets,selftest,schema,man,completions,agent,recover";
    let pages = commands.split(',').map(|command| format!("{command} --help"));
    for line in pages.chain(["--help", "run -h", "help exit-codes"].map(str::to_owned)) {
        let ran = fathom_line(&line);
        ran.succeeds_silently();
        golden(&format!("{}.txt", line.replace(' ', "_").replace("--", "")), &ran.out);
    }
}

#[test]
fn the_list_of_commands_fits_one_screen() {
    let help = fathom(&["--help"])
        .expect(0, &["Measure:", "Housekeeping:"])
        .out
        .clone();
    assert!(help.lines().count() <= 49, "{} lines", help.lines().count());
    assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
}

#[test]
fn a_mistyped_command_causes_a_suggestion_and_a_former_name_works() {
    fathom(&["rnu"]).expect(4, &["a similar subcommand exists: 'run'"]);
    fathom(&["worker", "--help"]).expect(0, &["Usage: fathom agent"]);
    assert_eq!(fathom(&["help", "recover"]).out, fathom(&["recover", "--help"]).out);
}

#[test]
fn job_files_of_other_tools_name_the_right_command() {
    let folder = tempfile::tempdir().unwrap();
    for (name, help) in [
        ("job.fio", "run it with `fathom fio "),
        ("profile.XML", "run it with `fathom diskspd -X"),
        ("test.parm", "fathom vdbench -f"),
        ("test.icf", "run it with `fathom iometer "),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, "[a]\nrw=read\n").unwrap();
        let path = path.to_str().unwrap();
        fathom(&["run", path]).expect(4, &[help]);
    }
    let saved = folder.path().join("a.fathom");
    std::fs::write(&saved, "{\"format_version\":1}").unwrap();
    for saved in [saved.to_str().unwrap(), "history:33"] {
        fathom(&["run", saved]).expect(4, &[&format!("`fathom convert --to native {saved} > job.toml`")]);
    }
    // A missing file is reported as missing, even with such a name.
    fathom(&["run", "/nowhere/job.fio"]).expect(3, &["/nowhere/job.fio"]);
}

#[test]
fn a_call_without_arguments_prints_the_help_as_an_error() {
    let empty: [&str; 0] = [];
    let ran = fathom(&empty);
    assert_eq!(ran.expect(4, &["Usage: fathom <COMMAND>", "quick"]).out, "");
}

#[test]
fn manual_pages_and_completions_have_every_option() {
    let page = fathom(&["man", "run"]);
    let page = &page.expect(0, &[".TH fathom-run"]).out;
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let text = fathom(&["completions", shell]);
        text.expect(0, &["fathom"]);
        for option in dialects::native::options() {
            assert!(text.out.contains(option.name), "{} for {shell}", option.name);
        }
    }
    for option in dialects::native::options() {
        let escaped = option.name.replace('-', "\\-");
        assert!(page.contains(&escaped), "{} in the manual page", option.name);
    }
}

#[test]
fn schemas_equal_the_published_ones() {
    for schema in archive::SCHEMAS {
        let path = format!(
            "{}/../../docs/schema/{}.schema.json",
            env!("CARGO_MANIFEST_DIR"),
            schema.name
        );
        let published = std::fs::read_to_string(path).unwrap();
        assert_eq!(fathom(&["schema", schema.name]).expect(0, &[]).out, published);
    }
}
