//! Diagnosis of the limit of a load, on the real kernel.

use testbed::{AssertContains, Directory, Limit, LoopDevice, LoopFs, LoopOptions, Throttle, need};

use crate::calling::{fathom, fathom_line, text};

/// A control group limits reads to 1000 per second. The diagnosis finds and names it without an
/// option. Over ten seconds and more, some seconds may be slow for other reasons.
#[test]
fn a_control_group_is_found_and_named() {
    let device = need!(LoopDevice::filled(64 << 20, LoopOptions::DIRECT));
    let throttle = need!(Throttle::new());
    need!(throttle.set(device.path(), Limit::ReadOperations(1000)));
    let found = {
        let _inside = need!(throttle.enter());
        let path = text(device.path());
        let line = format!("run --target {path} --depth 16 --time 12s --out json --confirm");
        let diagnose = || fathom_line(&line).expect(0, &[]).json()["diagnoses"][0]["diagnosis"].clone();
        // Other tests may slow down the second depth alone. That confirms nothing, so it is
        // measured again.
        let mut found = diagnose();
        for _ in 0..2 {
            if found["confirmed"] != true {
                found = diagnose();
            }
        }
        found
    };
    // If other programs leave no processor free, they limit the load.
    if found["answer"] == "processor" {
        let sentence = found["sentence"].as_str().unwrap();
        assert!(sentence.starts_with("other programs used"), "{found:#}");
        return;
    }
    assert_eq!(found["answer"], "cap", "{found:#}");
    assert_eq!(found["confirmed"], true, "{found:#}");
    let layer = found["layer"].as_str().unwrap();
    assert!(layer.starts_with("control group, reads"), "{found:#}");
    assert!((found["share"].as_f64().unwrap() - 1.0).abs() < 0.02, "{found:#}");
}

/// The same test on a file.
#[test]
fn a_control_group_over_a_file_is_found_and_named() {
    let (ext4, throttle) = (need!(LoopFs::ext4(256 << 20)), need!(Throttle::new()));
    let file = ext4.path().join("f");
    let run = |options: &str| fathom_line(&format!("run --target {} --size 64m {options}", text(&file)));
    // The file is laid out before the limit applies.
    run("--operations 10").expect(0, &[]);
    need!(throttle.set(ext4.device().path(), Limit::ReadOperations(1000)));
    let ran = {
        let _inside = need!(throttle.enter());
        run("--depth 16 --time 12s --cap disk:iops=500000")
    };
    ran.expect(0, &["control group, reads of device", "out of reach"]);
    if !ran.out.contains("D-CPU: other programs used") {
        ran.expect(0, &["D-CAP", "--confirm"]);
    }
}

#[test]
fn limits_are_named_and_mistakes_reported() {
    let folder = need!(Directory::fast());
    let file = folder.path().join("f");
    let line = format!("run --target {} --size 8m --time 1s --rate 200iops", file.display());
    let with = |options: &str| fathom_line(&format!("{line} {options}"));
    with("--cap disk:iops=5000").expect(0, &["What limits", "the requested rate"]);
    with("--confirm").expect(0, &["NOT-CONFIRMED"]);
    with("--cap disk:iosp=5000").expect(4, &["did you mean `iops`"]);
    with("--vm no-such-machine").expect(4, &[]);
}

/// Azure's combined test as a job file. Each job names its path, and has its own limit in addition
/// to those of the machine.
#[test]
fn jobs_of_a_file_are_compared_with_the_limits_of_their_paths() {
    let folder = need!(Directory::fast());
    let file = folder.path().join("combined.toml");
    let jobs = "cap = \"array:iops=40000,path=uncached\"\n\
                [defaults]\nblock = \"4KiB\"\ndepth = 512\ntime = \"30s\"\nwarm-up = \"0s\"\n\
                [[job]]\nname = \"reader1\"\ntarget = \"simulated:readcache\"\npath = \"cached\"\n\
                [[job]]\nname = \"writer1\"\ntarget = \"simulated:nocache\"\nwrite = 100\nrole = \"log\"\nreplicas = 3\nhops = 2\n\
                cap = \"log:iops=25200,kind=link\"\n";
    let device = |name: &str, iops: u32| {
        format!("[simulated.{name}]\nsize = \"30GiB\"\nservers = 512\nservice = \"1ms\"\niops-cap = {iops}\n")
    };
    let write = |jobs: &str| {
        let devices = device("readcache", 78_300) + &device("nocache", 12_600);
        std::fs::write(&file, format!("{jobs}{devices}")).unwrap();
    };
    write(jobs);
    let saved = folder.path().join("combined.result");
    let (job, result) = (text(&file), text(&saved));
    let line = format!("run {job} --no-history --save {result} --vm Standard_D8ds_v4 --out json");
    let json = fathom_line(&line).expect(0, &[]).json();
    let rows = json["shared_limits"][0]["limits"].as_array().unwrap().iter();
    let rows = rows.filter(|row| row["unit"] == "IOPS").map(|row| {
        let [limit, share] = ["limit", "share"].map(|name| row[name].as_f64().unwrap());
        (
            row["layer"].as_str().unwrap(),
            limit as u64,
            (1000.0 * share).round() as u64,
        )
    });
    // Three copies of 12,600 writes are 37,800 operations of the array, and still 12,600 on the
    // link above it.
    let expected = [
        ("VM Standard_D8ds_v4, cached", 77_000, 1017),
        ("VM Standard_D8ds_v4, uncached", 12_800, 984),
        ("array", 40_000, 945),
        ("log", 25_200, 500),
        ("VM Standard_D8ds_v4, cached + uncached", 89_800, 1012),
    ];
    assert_eq!(rows.collect::<Vec<_>>(), expected, "{json:#}");
    let answers = [0, 1].map(|job: usize| &json["diagnoses"][job]["diagnosis"]["layer"]);
    assert_eq!(
        answers,
        ["VM Standard_D8ds_v4, cached", "VM Standard_D8ds_v4, uncached"]
    );
    // The file states its limits, so the result keeps them.
    fathom(&["explain", result]).expect(0, &["array", "37,799 IOPS", "each write counts 3 times"]);
    let page = folder.path().join("combined.html");
    fathom(&["report", result, "-o", text(&page)]).expect(0, &[]);
    std::fs::read_to_string(&page).unwrap().assert_contains(&[
        "Limits of jobs that ran at the same time",
        "3 copies: each write causes 3 device writes",
        "2 times",
    ]);
    // A limit of a role that no job has would apply to nothing.
    write(&jobs.replace("path=uncached", "role=dta"));
    fathom(&["run", text(&file), "--no-history"]).expect(4, &["the limit `array` applies to no job"]);
}
