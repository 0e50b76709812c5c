//! Affinity lists, checked against the machine's processors.

use dialects::diskspd::{ParseOutcome, Processors};

use crate::diskspd::support::{TestEnv, end, strings};

/// Checks the result of an `-a` list on a machine with processors 0, 1, 3 and 64 of 66.
#[track_caller]
fn check(list: &str, expected: &[&str]) {
    let mut env = TestEnv {
        processors: Processors {
            online: vec![0, 1, 3, 64],
            possible: 66,
        },
        ..TestEnv::default()
    };
    let switch = format!("-a{list}");
    let reading = env.read(&[&switch, "t.dat"]);
    if expected.is_empty() {
        assert!(matches!(reading, ParseOutcome::Run(_)), "{list}: {reading:?}");
    } else {
        assert_eq!(end(reading).stderr, strings(expected), "{list}");
    }
    // Printing a profile does not query the machine.
    let printed = env.read(&["-Rp", &switch, "t.dat"]);
    assert!(matches!(printed, ParseOutcome::Print(_)), "{list}: {printed:?}");
}

#[test]
fn lists_may_only_name_processors_that_exist() {
    check("0,1,3,g1,0", &[]);
    check(
        "g2,0",
        &["ERROR: affinity assignment to group 2; system only has 2 groups"],
    );
    check(
        "64",
        &["ERROR: affinity assignment to group 0 cpu 64 not possible; group has a max of 64 cpus"],
    );
    check(
        "g1,2",
        &["ERROR: affinity assignment to group 1 cpu 2 not possible; group has a max of 2 cpus"],
    );
    let inactive = "ERROR: affinity assignment to group 0 cpu 2 not possible; cpu is not active (current mask \
                    0x000000000000000B)";
    check("2", &[inactive]);
    check(
        "g9,0,2",
        &[
            "ERROR: affinity assignment to group 9; system only has 2 groups",
            "ERROR: affinity assignment to group 9; system only has 2 groups",
        ],
    );
    check(
        "g1,0,1",
        &[
            "ERROR: affinity assignment to group 1 cpu 1 not possible; cpu is not active (current mask 0x0000000000000001)",
        ],
    );
}
