//! DiskSpd's syntax, written from plans that were read from it: recorded command lines and
//! profiles, and generated ones.

use std::fs;
use std::path::Path;

use dialects::convert::{Form, to_diskspd};
use model::plan::{EngineKind, Plan};
use proptest::prelude::*;
use testbed::With;

use crate::convert::support::{TestEnv, diskspd, diskspd_again, diskspd_line, env_for_line, lower_env, without_origin};
use crate::diskspd::support::cases;

/// The plan of a recorded case; `None` if the case does not describe a run.
fn read_plan(case: &Path) -> Option<Plan> {
    let text = fs::read_to_string(case.join("argv.txt")).unwrap();
    let arguments: Vec<String> = text.lines().map(str::to_owned).collect();
    let files = fs::read_dir(case).unwrap().flatten().map(|entry| {
        let name = entry.file_name().into_string().unwrap();
        (name, fs::read_to_string(entry.path()).unwrap_or_default())
    });
    let mut env = TestEnv::default().with(|test_env| test_env.files = files.collect());
    let words: Vec<String> = std::iter::once("-Rp".to_owned()).chain(arguments).collect();
    let dialects::diskspd::ParseOutcome::Print(request) = dialects::diskspd::read("diskspd", &words, &mut env) else {
        panic!("{}", case.display());
    };
    let lowered = dialects::diskspd::lower(&request.profile, lower_env(false));
    lowered.ok().map(|lowered| lowered.plan)
}

/// The plan survives the round trip, and no loss is listed.
#[track_caller]
fn check(plan: &Plan, what: &str) -> (Form, String) {
    let written = to_diskspd(plan);
    assert_eq!(written.lost, [], "{what}\n{}", written.text);
    assert_eq!(written.differs, [], "{what}\n{}", written.text);
    let again = diskspd_again(&written);
    assert_eq!(without_origin(&again), without_origin(plan), "{what}\n{}", written.text);
    (written.form, written.text)
}

/// `-u` means the ring of the respective system (io_uring or IoRing), and both are written as `-u`.
#[test]
fn dash_u_means_the_ring_of_the_system() {
    for (windows, kind) in [(false, EngineKind::IoUring), (true, EngineKind::IoRing)] {
        for line in ["-u -o8 a.dat", "-u a.dat", "-u -x -F2 a.dat b.dat"] {
            let words: Vec<String> = ["-Rp"].into_iter().chain(line.split(' ')).map(str::to_owned).collect();
            let mut env = env_for_line(&words);
            let dialects::diskspd::ParseOutcome::Print(request) = dialects::diskspd::read("diskspd", &words, &mut env)
            else {
                panic!("{line}");
            };
            let lowered = dialects::diskspd::lower(&request.profile, lower_env(windows));
            let plan = lowered.unwrap().plan;
            let workers: Vec<EngineKind> = plan
                .jobs()
                .flat_map(|(_, job)| &job.workers)
                .map(|w| w.engine.kind)
                .collect();
            assert!(
                !workers.is_empty() && workers.iter().all(|worker| *worker == kind),
                "{line}: {workers:?}"
            );
            let written = to_diskspd(&plan).text;
            assert!(written.contains(" -u "), "{line}: {written}");
        }
    }
}

#[test]
fn recorded_cases_survive_a_round_trip() {
    let mut looked_at = 0;
    for group in ["profiles", "runs", "offsets"] {
        for case in cases(group) {
            if let Some(plan) = read_plan(&case) {
                check(&plan, &case.display().to_string());
                looked_at += 1;
            }
        }
    }
    assert!(looked_at >= 59, "only {looked_at} cases");
}

#[test]
fn lines_look_as_people_write_them() {
    let check_line = |line: &str, expected: &str| {
        let (form, text) = check(&diskspd_line(line), line);
        assert_eq!(form, Form::CommandLine, "{line}");
        assert_eq!(text.as_str(), &*format!("{expected}\n"), "{line}");
    };
    check_line("a.dat", "diskspd -d10 -W5 -a0 a.dat");
    check_line(
        "-w30 -r -b8192 -t8 -o4 -d60 -Sh -n -L -D250 a.dat",
        "diskspd -b8K -d60 -W5 -r -t8 -o4 -w30 -Sh -n -L -D250 a.dat",
    );
    check_line(
        "-c1G -B1M -f512M -s128K -t2 -T4M -ag0,3 -g100i -fs -z7 -u a.dat b.dat",
        "diskspd -c1G -d10 -W5 -B1M -f512M -s128K -T4M -fs -t2 -g100i -a3 -u -bsp -z7 a.dat b.dat",
    );
    check_line(
        "-F3 -O8 -r -rdpct90/10:10/90 -w100 -Zr -W0 -C2 -I1 -n a.dat b.dat",
        "diskspd -d10 -W0 -C2 -r -rdpct90/10:10/90 -F3 -O8 -w100 -I1 -Zr -n a.dat b.dat",
    );
    check_line(
        "-rs40 -r8K -i100 -j20 -t2 -n a.dat",
        "diskspd -d10 -W5 -rs40 -r8K -t2 -i100 -j20 -n a.dat",
    );
}

fn switches() -> impl Strategy<Value = String> {
    use proptest::sample::{select, subsequence};
    let any_of = |list: &'static [&'static str]| select(list).prop_map(str::to_owned);
    let number = |name: &'static str, min: u64, max: u64| (min..=max).prop_map(move |value| format!("{name}{value}"));
    let groups: Vec<BoxedStrategy<String>> = vec![
        any_of(&["-b4K", "-b513", "-b1M", "-b100000"]).boxed(),
        number("-d", 1, 10_000).boxed(),
        number("-W", 0, 100).boxed(),
        number("-C", 0, 100).boxed(),
        any_of(&[
            "-r", "-rs1", "-rs99", "-s", "-s2M", "-r4K", "-rs50 -r8K", "-r -rdpct10/90:90/10", "-r -rdabs50/1G:50/2G",
        ])
        .boxed(),
        number("-o", 1, 300).boxed(),
        prop_oneof![number("-t", 1, 9), number("-F", 1, 9), any_of(&["-F3 -O9", "-O4"])].boxed(),
        number("-w", 0, 100).boxed(),
        any_of(&["-Sh", "-Su", "-Sw", "-Sm", "-Smw", "-Sr", "-Sm -Nv", "-Sb"]).boxed(),
        any_of(&["-Z", "-Zr", "-Z1G", "-Z1G,source.dat"]).boxed(),
        prop_oneof![number("-c", 1, 1 << 45), any_of(&["-c1G", "-c10M"])].boxed(),
        number("-B", 1, 1 << 40).boxed(),
        any_of(&["-n", "-a2", "-a0,2,1", "-a"]).boxed(),
        any_of(&["-x", "-u", "-l", "-fr", "-fs", "-vs", "-L", "-D", "-D20"]).boxed(),
        any_of(&["-I1", "-I2", "-I3", "-si", "-p"]).boxed(),
        prop_oneof![
            number("-g", 1, 1 << 31),
            any_of(&["-g100i", "-g7i", "-i10 -j5", "-i1 -j1000"])
        ]
        .boxed(),
        number("-z", 0, 0xffff_ffff).boxed(),
    ];
    let count = groups.len();
    let targets = any_of(&["a.dat", "a.dat b.dat", "/dev/sdx", "a.dat a.dat"]);
    (groups, subsequence((0..count).collect::<Vec<_>>(), 0..=count), targets).prop_map(|(words, chosen, targets)| {
        let chosen: Vec<&str> = chosen.into_iter().map(|index| words[index].as_str()).collect();
        format!("{} {targets}", chosen.join(" "))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { max_global_rejects: 20_000, ..ProptestConfig::default() })]
    /// Any line that DiskSpd accepts.
    #[test]
    fn any_line_survives_a_round_trip(line in switches()) {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let reading = dialects::diskspd::read("diskspd", &words, &mut env_for_line(&words));
        prop_assume!(!matches!(reading, dialects::diskspd::ParseOutcome::End(_)));
        check(&diskspd(&words, &mut env_for_line(&words)), &line);
    }
}
