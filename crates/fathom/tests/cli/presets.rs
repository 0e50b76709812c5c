//! Presets and objectives.

use crate::prelude::*;

#[test]
fn presets_are_listed_and_printed_in_full() {
    fathom(&["presets"]).expect(0, &["oltp@1", "COPY TEST, NOT STORAGE TEST", "powerstore-16@1"]);
    let all = fathom(&["presets", "--json"]).expect(0, &[]).json();
    assert_eq!(all.as_array().unwrap().len(), 24);
    for preset in all.as_array().unwrap() {
        let id = preset["id"].as_str().unwrap();
        fathom(&["presets", id]).expect(0, &["Its job file", "For DiskSpd, on", "For fio, on", "From: "]);
        let whole = fathom(&["presets", id, "--json"]).expect(0, &[]).json();
        let toml = fathom(&["presets", id, "--toml"]);
        assert_eq!(toml.expect(0, &[]).out, whole["toml"].as_str().unwrap());
        // fio has no trees of files.
        let is_tree = whole["toml"].as_str().unwrap().contains("kind = \"files\"");
        assert_eq!(
            whole["fio"]["text"].as_str().unwrap().contains("rw="),
            !is_tree,
            "{whole:#}"
        );
    }
    // The command line of the source. For one target, its -F4 equals -t4.
    let azure = fathom(&["presets", "azure-max-write-iops", "--json"]).json();
    let line = azure["diskspd"]["text"].as_str().unwrap();
    for part in ["-b8K", "-w100", "-r", "-t4", "-o128", "-W30", "-d30", "-Sh"] {
        assert!(line.split_whitespace().any(|word| word == part), "{part} in {line}");
    }
}

#[test]
fn unknown_names_are_explained() {
    fathom(&["presets", "oltpp"]).expect(4, &["unknown preset `oltpp`", "did you mean `oltp`?"]);
    fathom(&["presets", "oltp@9"]).expect(4, &["no version `9`", "`oltp@1`"]);
    let run = |more: &[&str]| fathom(&[&["run", "--dry-run"][..], more].concat());
    run(&["--preset", "olpt", "--target", "."]).expect(4, &["--preset olpt", "did you mean `oltp`?"]);
    run(&["--preset", "oltp"]).expect(4, &["no target"]);
    run(&["--preset", "oltp", "job.toml"])
        .expect(4, &["job file `job.toml` and the preset `oltp`", "remove one of them"]);
    run(&["--preset", "powerstore-16", "--target", "/data"])
        .expect(4, &["needs 16 targets, but 1 are named", "name 16 volumes"]);
    run(&["--preset", "oltp", "--objective", " ", "--target", "."]).expect(4, &["the objective is empty"]);
}

#[test]
fn every_preset_could_run() {
    let folder = folder();
    for preset in fathom(&["presets", "--json"]).json().as_array().unwrap() {
        let id = preset["id"].as_str().unwrap();
        let toml = fathom(&["presets", id, "--toml"]).out;
        let (smaller, size) = match toml.contains("kind = \"files\"") {
            true => ("tree", "files=5,sizes=64k"),
            false => ("size", "32m"),
        };
        let mut words: Vec<String> = ["run", "--dry-run", &format!("--{smaller}"), size, "--preset", id]
            .map(str::to_owned)
            .into();
        let count = preset["targets"].as_u64().unwrap();
        for number in 0..count {
            words.push("--target".into());
            words.push(match count {
                1 => text(folder.path()).to_owned(),
                _ => format!("{}/{number}.dat", text(folder.path())),
            });
        }
        fathom(&words).exits(0).prints(&[
            "dry run",
            &format!("preset: {id}@{}, changed: {smaller}", preset["version"]),
            "objective: ",
        ]);
    }
    assert_eq!(names(folder.path()), Vec::<String>::new());
}

#[test]
fn a_result_contains_its_preset_its_changes_and_its_objective() {
    let folder = need!(Directory::fast());
    let saved = folder.path().join("saved");
    let data = folder.path().join("data");
    fs::create_dir(&data).unwrap();
    let line = format!(
        "run --preset oltp@1 --target {} --size 16m --time 300ms --warm-up 0s --quiet --save {}",
        data.display(),
        saved.display()
    );
    let words = split_words(&line);
    fathom(&words).exits(0).prints(&[
        "preset: oltp@1, changed: size, time, warm-up",
        "objective: most operations per second",
        "8 KiB",
    ]);
    let shown = fathom(&["show", text(&saved), "--out", "json"]).expect(0, &[]).json();
    assert_eq!(shown["preset"]["name"], "oltp@1");
    assert_eq!(shown["preset"]["changed"], Value::from(vec!["size", "time", "warm-up"]));
    let own = [&words[..], &["--objective", "what  this\ndisk does"]].concat();
    let own = fathom(&own);
    own.expect(0, &["objective: what this disk does\n"]);
    assert!(!own.out.contains("most operations per second"));
    // An objective needs no preset, and a result without a preset does not mention one.
    let job = folder.path().join("job.toml");
    fs::write(
        &job,
        "objective = \"nothing at all\"\n[[job]]\ntarget = \"null\"\ntime = \"100ms\"\nwarm-up = \"0s\"\n",
    )
    .unwrap();
    let ran = fathom(&["run", "--quiet", text(&job)]);
    ran.expect(0, &["objective: nothing at all\n"]);
    assert!(!ran.out.contains("preset"));
}

#[test]
fn the_requirement_of_a_preset_decides_the_exit_code() {
    let folder = folder();
    let preset = fathom(&["presets", "sql-20ms", "--toml"]).out;
    let on = |device: &str, more: &[&str]| {
        let job = folder.path().join("job.toml");
        let jobs = preset
            .replace("[[job]]\n", "[[job]]\ntarget = \"simulated:disk\"\n")
            .replace("workers = 8", "workers = 1");
        fs::write(&job, format!("{jobs}\n[simulated.disk]\nsize = \"8GiB\"\n{device}\n")).unwrap();
        fathom(&[&["run", "--quiet", text(&job)], more].concat())
    };
    // Eight operations at a time, 5 ms or 40 ms each.
    on("servers = 8\nservice = \"exponential 5ms\"", &[])
        .expect(0, &["Judged by mean <= 20 ms", "PASS          mean <= 20 ms"]);
    let slow = on("servers = 8\nservice = \"exponential 40ms\"", &[]);
    slow.expect(1, &["FAIL          mean <= 20 ms"]);
    // In JSON, the verdict is next to the figures.
    let json = on("servers = 8\nservice = \"exponential 40ms\"", &["--out", "json"]);
    let json = json.expect(1, &[]).json();
    let judged = &json["judged"];
    assert_eq!(json["kind"], "summary", "{json:#}");
    assert_eq!(judged["outcome"], "fail", "{json:#}");
    assert_eq!(judged["required"][0], "mean <= 20 ms", "{judged:#}");
    let clause = &judged["jobs"][0]["verdict"]["clauses"][0];
    let value = clause["value"].as_f64().unwrap();
    assert!((38e6..42e6).contains(&value), "40 ms: {judged:#}");
    // A user's copy of the job file is not the preset.
    assert!(!slow.out.contains("preset:"), "{}", slow.out);
    let job = folder.path().join("wrong.toml");
    fs::write(&job, preset.replace("mean<=20ms", "mean<=20")).unwrap();
    fathom(&["run", "--target", "null", text(&job)]).expect(4, &["has no unit", "judged-by"]);
}

#[test]
fn other_commands_read_presets_as_flags() {
    fathom_line("convert --to fio native --preset olap --target /data/f.dat --size 1g")
        .expect(0, &["bs=512k", "rw=read"]);
    // The converted test does not have the name of the preset, because flags are the user's own
    // test. It keeps the objective.
    let native = fathom_line("convert --to native native --preset olap --target /data/f.dat");
    native.expect(0, &["objective = \"most bytes per second\"", "block = \"512k\""]);
    assert!(!native.out.contains("preset"), "{}", native.out);
    let flags = fathom(&[
        "convert", "--to", "native", "native", "--target", "null", "--objective", "it's fast",
    ]);
    flags.expect(0, &["--objective 'it'\\''s fast'"]);
}
