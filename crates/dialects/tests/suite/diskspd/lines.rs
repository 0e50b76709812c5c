//! Whole lines: which mistake is reported first, what ends the process, and what counts as a
//! switch.

use dialects::diskspd::newer::{KindOrder, Separation};
use dialects::diskspd::profile::ResultFormat;
use dialects::diskspd::{EventRole, xml};
use testbed::With;

use crate::diskspd::support::{AssertMessages, TestEnv, end, newer, profile, reading, request, split, strings};

#[test]
fn the_order_decides_which_mistake_is_reported() {
    // Targets first, then the first pass, then the second pass from left to right.
    "-q t.dat -b0x".assert_refused(&["ERROR: parameters (-b0x) must come before targets on the command line"]);
    "-q -o0 -d-1".assert_refused(&["ERROR: invalid measured duration time (-d): '-1'"]);
    "-q -o0".assert_refused(&["ERROR: invalid option: '-q'"]);
    "-o0".assert_refused_by_name(&[]);
    for garbage in ["--help", "-", "-é5", "-0"] {
        garbage.assert_refused(&[&format!("ERROR: invalid option: '{garbage}'")]);
    }
}

#[test]
fn help_is_printed_when_the_parser_reaches_it() {
    let asked = end(reading("-d5 -?"));
    assert_eq!(asked.code, 0);
    assert_eq!(
        asked.stdout[..3],
        strings(&[
            "",
            "Usage: diskspd [options] target1 [ target2 [ target3 ...] ]",
            "version 2.2.0 (2024/6/3)"
        ])
    );
    assert_eq!(end(reading("-o0 -?")).code, 3);
    assert_eq!(end(reading("-? -o0")).code, 0);
    assert_eq!(end(reading("-? -d-1")).code, 3);
    let nothing = end(TestEnv::default().read(&[]));
    assert_eq!((nothing.code, nothing.stdout), (3, asked.stdout));
    assert!(nothing.stderr.is_empty());
}

#[test]
fn switches_of_the_next_version_are_refused_by_name() {
    for (switch, messages) in [
        (
            "-SY",
            &[
                "ERROR: unrecognized option provided to -S",
                "ERROR: incorrectly provided option: '-SY'",
            ][..],
        ),
        ("-oc4", &["ERROR: incorrectly provided option: '-oc4'"]),
        (
            "-aup",
            &[
                "ERROR: syntax error parsing affinity at highlighted character",
                "-aup",
                "  ^",
                "ERROR: incorrectly provided option: '-aup'",
            ],
        ),
        (
            "-a0-1",
            &[
                "ERROR: syntax error parsing affinity at highlighted character",
                "-a0-1",
                "   ^",
                "ERROR: incorrectly provided option: '-a0-1'",
            ],
        ),
        ("-bsp", &["Invalid integer", "ERROR: invalid block size passed to -b"]),
        ("-Rs", &["ERROR: invalid results format (-R): 's'"]),
        ("-u8", &["ERROR: invalid option: '-u8'"]),
    ] {
        // As in 2.2, which does not know them.
        switch.assert_refused(messages);
        let hints = end(reading(&format!("{switch} t.dat"))).hints;
        assert!(
            hints.iter().any(|hint| hint.contains("FATHOM_DISKSPD_VERSION=2.3")),
            "{switch}: {hints:?}"
        );
    }
    assert!(end(reading("-o0 t.dat")).hints.is_empty());
}

#[test]
fn switches_of_the_next_version_are_read_on_request() {
    let span = |line: &str| {
        request(newer(&format!("-Rp {line} t.dat")))
            .profile
            .time_spans
            .remove(0)
    };
    let ring = |line: &str| {
        span(line)
            .newer
            .ring
            .map(|ring| (ring.unregistered, ring.batch, ring.trailing_p))
    };
    assert_eq!(ring("-u"), Some((false, None, false)));
    assert_eq!(ring("-u8"), Some((false, Some(8), false)));
    assert_eq!(ring("-un16p"), Some((true, Some(16), true)));
    assert_eq!(span("-oc4 -o8").newer.dequeue, Some(4));
    assert_eq!(span("-oc4 -o8").targets[0].requests, 8);
    // The defaults of 2.3, and what its lines contain.
    assert_eq!(span("").newer.separation, Some(Separation::PageDirectory));
    assert_eq!(span("-bsn").newer.separation, Some(Separation::System));
    assert_eq!(span("-b4K -bs2b").newer.separation, Some(Separation::Bytes(8192)));
    assert_eq!(span("").newer.order.kind, Some(KindOrder::FastInGroup));
    let order = span("-ac -as -aE").newer.order;
    assert!(order.cores);
    assert!(order.groups);
    assert_eq!(order.kind, Some(KindOrder::Frugal));
    let list = |line: &str| span(line).affinity.iter().map(|cpu| cpu.number).collect::<Vec<_>>();
    assert_eq!(list("-a0-2,1"), [0, 1, 2, 1]);
    assert_eq!(list("-ag0"), [0, 1, 2, 3]);
    assert_eq!(span("-Sby").newer.bypass, Some(model::plan::BypassIo::Partial));
    for wrong in [
        "-u0", "-un", "-u8x", "-oc0", "-oc", "-bs0", "-bs2G", "-bsx", "-acx", "-a2-", "-ag1", "-Rsfoo",
    ] {
        assert_eq!(end(newer(&format!("{wrong} t.dat"))).code, 3, "{wrong}");
    }
    let machine = end(newer("-Rsxml"));
    assert_eq!((machine.code, machine.system), (0, Some(ResultFormat::Xml)));
    // A printed profile is the same profile again.
    let profile = request(newer("-Rp -un8p -oc4 -bs64K -acsP -SY -s64K t.dat")).profile;
    assert_eq!(xml::read(&xml::lines(&profile).join("\n")).unwrap(), profile);
}

#[test]
fn events_are_opened_while_the_line_is_parsed() {
    let mut env = TestEnv::default();
    let request = request(env.read(&split("-ysbegun -yfended -yrgo -ypstop t.dat")));
    let named = |name: &str| Some(name.to_string());
    assert_eq!(request.events.start, named("begun"));
    assert_eq!(request.events.finish, named("ended"));
    assert_eq!(request.events.wait, named("go"));
    assert_eq!(request.events.stop, named("stop"));
    let roles: Vec<EventRole> = env.opened.iter().map(|(role, _)| *role).collect();
    assert_eq!(
        roles,
        [EventRole::Start, EventRole::Finish, EventRole::Wait, EventRole::Stop]
    );
}

#[test]
fn events_that_cannot_be_opened_end_the_process() {
    for (switch, message) in [
        ("-ysx", "Error creating/opening start notification event: 'x'"),
        ("-yfx", "Error creating/opening finish notification event: 'x'"),
        ("-yrx", "Error creating/opening wait-for-start event: 'x'"),
        ("-ypx", "Error creating/opening force-stop event: 'x'"),
        ("-yex", "Error opening event 'x'"),
    ] {
        let mut env = TestEnv::default().with(|test_env| test_env.events_fail = true);
        let end = end(env.read(&[switch, "t.dat"]));
        assert_eq!((end.code, end.stderr), (1, strings(&[message])), "{switch}");
        // DiskSpd's messages do not give the reason.
        assert_eq!(end.hints, strings(&["no"]), "{switch}");
    }
}

#[test]
fn setting_an_event_starts_no_run() {
    let mut env = TestEnv::default();
    let done = end(env.read(&["-yego"]));
    assert_eq!(done.code, 1);
    assert_eq!(done.stdout, strings(&["Succesfully set event: 'go'", "Now exiting..."]));
    assert_eq!(env.signalled, ["go"]);
    let mistaken = end(env.read(&split("-yego -o0 t.dat")));
    assert_eq!(mistaken.code, 3);
    assert_eq!(mistaken.stdout, strings(&["Succesfully set event: 'go'"]));
}

#[test]
fn slashes_and_other_dashes_introduce_switches() {
    let mut windows = TestEnv::default().with(|test_env| test_env.slash = true);
    let on_windows = request(windows.read(&["/b4K", "-r", "t.dat"])).profile;
    assert_eq!(on_windows, profile("-b4K -r t.dat"));
    let refused = end(windows.read(&["/a0,x", "t.dat"]));
    assert_eq!(
        refused.stderr[1..],
        strings(&["-a0,x", "    ^", "ERROR: incorrectly provided option: '/a0,x'"])
    );
    // Elsewhere a slash begins a path.
    let path = profile("-b4K /dev/sdx").time_spans[0].targets[0].path.clone();
    assert_eq!(path, "/dev/sdx");

    for dash in ["\u{2010}", "\u{2011}", "\u{2012}", "\u{2013}", "\u{2014}", "\u{2212}"] {
        let request = request(reading(&format!("-r {dash}b4K t.dat")));
        assert_eq!(request.profile, profile("-r -b4K t.dat"), "{dash}");
        assert_eq!(
            request.notes,
            [format!("read a typographic dash as `-` in `{dash}b4K`")]
        );
        assert!(request.stderr.is_empty());
    }
}

#[test]
fn everything_else_is_a_target() {
    let mut env = TestEnv::default();
    let request = request(env.read(&["-Rp", "#1", "d:", "*1", "dir with space\\file.dat", "", "+x"]));
    let paths: Vec<&str> = request.profile.time_spans[0]
        .targets
        .iter()
        .map(|target| target.path.as_str())
        .collect();
    assert_eq!(paths, ["#1", "d:", "*1", "dir with space\\file.dat", "", "+x"]);
}
