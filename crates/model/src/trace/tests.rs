use super::*;
use crate::plan::TraceSkip;

fn replay(form: TraceForm) -> Replay {
    Replay {
        trace: "t".into(),
        form,
        files: Vec::new(),
        redirected: false,
        flushes: false,
        without_times: false,
        speed_percent: 100,
        scale: 1,
        align: 0,
        skip: TraceSkip::default(),
    }
}

fn text() -> Replay {
    replay(TraceForm::FioText)
}

/// All entries of a trace, read in pieces of this many bytes, and the messages about it.
fn entries(trace: &[u8], replay: &Replay, piece: usize) -> Result<(Vec<Entry>, Vec<String>), TraceError> {
    struct Slow<'a>(&'a [u8], usize);
    impl std::io::Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let max = self.1.min(buffer.len());
            std::io::Read::read(&mut self.0, &mut buffer[..max])
        }
    }
    let mut feed = Feed::new(Slow(trace, piece), Reader::collecting(replay));
    let (mut all_entries, mut notes) = (Vec::new(), Vec::new());
    while feed.next(&mut all_entries, &mut notes)? {}
    Ok((all_entries, notes))
}

/// The entries in words: file, what, gap in microseconds.
fn words(entries: &[Entry]) -> Vec<String> {
    let line = |entry: &Entry| {
        let what = match entry.what {
            EntryAction::Move(Operation {
                direction,
                offset,
                length,
            }) => format!("{} {offset} {length}", direction.word()),
            EntryAction::Flush { data_only: true } => "datasync".into(),
            EntryAction::Flush { data_only: false } => "sync".into(),
            EntryAction::Open => "open".into(),
            EntryAction::Close => "close".into(),
            EntryAction::WaitUntil(time) => format!("until {time}"),
        };
        format!("{} {what} +{}", entry.file, entry.gap.0 / 1000)
    };
    entries.iter().map(line).collect()
}

#[track_caller]
fn check(trace: &str, replay: &Replay, expected: &[&str], said: &[&str]) {
    for piece in [1, 7, 64, 1 << 20] {
        let (entries, notes) = entries(trace.as_bytes(), replay, piece).unwrap();
        assert_eq!(words(&entries), expected, "in pieces of {piece}");
        assert_eq!(notes, said, "in pieces of {piece}");
    }
}

const TRACE: &str = "fio version 3 iolog\n5 x add\n6 y add\n10 x open\n20 x write 8192 4096\n50 y open\n50 y read 1000 512\n\
                     90 x sync 0 0\n70 x datasync 0 0\n200 x trim 4096 65536\n300 x close\n";

#[test]
fn version_3_has_a_time_in_each_line() {
    check(
        TRACE,
        &text(),
        &[
            "0 open +4", "0 write 8192 4096 +10", "1 open +30", "1 read 1000 512 +0", "0 sync +40",
            // Times that go back count as none.
            "0 datasync +0", "0 trim 4096 65536 +130", "0 close +100",
        ],
        &[],
    );
}

#[test]
fn times_places_and_kinds_are_those_that_the_replay_needs() {
    let wanted = Replay {
        speed_percent: 50,
        scale: 2,
        align: 512,
        skip: TraceSkip {
            writes: true,
            flushes: true,
            ..TraceSkip::default()
        },
        ..text()
    };
    check(
        TRACE,
        &wanted,
        &[
            "0 open +8", "1 open +60", "1 read 0 512 +0", "0 datasync +0", "0 trim 2048 65536 +260", "0 close +200",
        ],
        &[],
    );
    let at_once = Replay {
        without_times: true,
        ..text()
    };
    let (entries, _) = entries(TRACE.as_bytes(), &at_once, 64).unwrap();
    assert!(entries.iter().all(|entry| entry.gap == Nanos(0)));
}

#[test]
fn a_redirected_trace_has_one_file() {
    let wanted = Replay {
        files: vec!["z".into()],
        redirected: true,
        ..text()
    };
    let trace = "fio version 3 iolog\n1 x add\n1 y add\n1 x open\n1 y open\n1 x close\n1 y read 0 512\n1 y close\n";
    // Closed only once all of them are.
    check(trace, &wanted, &["0 open +0", "0 read 0 512 +0", "0 close +0"], &[]);
}

#[test]
fn version_2_waits_at_wait_lines() {
    let trace = "fio version 2 iolog\nx add\nx open\nx write 0 4096\nx wait 300 0\nx write 4096 4096\nx close\n";
    check(
        trace,
        &text(),
        &[
            "0 open +0", "0 write 0 4096 +0", "0 until 300 ms +0", "0 write 4096 4096 +0", "0 close +0",
        ],
        &[],
    );
    let at_once = Replay {
        without_times: true,
        ..text()
    };
    let (entries, _) = entries(trace.as_bytes(), &at_once, 64).unwrap();
    assert_eq!(entries.len(), 4);
}

#[test]
fn lines_without_a_meaning_are_reported() {
    let trace = "fio version 3 iolog\n5 x add\n10 x open\n30 x wait 5 5\n50 x sync_file_range 0 0\nhello\n\
                 60 x write 1m 4096\n70 x frob\n70 x b c\n70 x read 5\nfio version 3 iolog\n80 x read 0 0\n90 x read 0 512";
    check(
        trace,
        &text(),
        &["0 open +5", "0 read 0 512 +10"],
        &[
            "iolog: ignoring wait command with version 3 for file x",
            "fio: bad iolog file action: sync_file_range",
            "bad iolog3: hello",
            "bad iolog3: 60 x write 1m 4096",
            "fio: bad iolog file action: frob",
            "fio: bad iolog file action: b",
            "bad iolog3: 70 x read 5",
        ],
    );
}

#[test]
fn unexecutable_operations_are_errors() {
    for (trace, expected) in [
        ("", "it is empty"),
        (
            "junk\n",
            "its first line names neither version 2 nor version 3 of fio's form",
        ),
        (
            "fio version 3 iolog\n10 x open\n",
            "line 2 names x, which no line before has added",
        ),
        (
            "fio version 3 iolog\n0 x add\n10 x write 0 4096\n",
            "line 3 uses x, which is not open there",
        ),
    ] {
        let error = entries(trace.as_bytes(), &text(), 64).unwrap_err();
        assert_eq!(error.to_string(), expected, "{trace}");
    }
    let endless = format!("fio version 3 iolog\n{}", "x".repeat(5000));
    let error = entries(endless.as_bytes(), &text(), 1 << 20).unwrap_err();
    assert!(matches!(error, TraceError::Line { line: 2, .. }), "{error}");
    // A file that did not exist when the trace was scanned.
    let mut feed = Feed::new(TRACE.as_bytes(), Reader::new(&text()));
    let error = feed.next(&mut Vec::new(), &mut Vec::new()).unwrap_err();
    assert!(matches!(error, TraceError::Changed(_)), "{error}");
}

#[test]
fn a_survey_lists_files_and_operations() {
    let survey = Survey::read(TRACE.as_bytes(), &text()).unwrap();
    assert_eq!(survey.files, ["x", "y"]);
    assert_eq!((survey.flushes, survey.waits), (2, 0));
    let write = survey.moves.write.unwrap();
    assert_eq!((write.operations, write.shortest, write.longest), (1, 4096, 4096));
    assert_eq!(survey.moves.trim.unwrap().longest, 65536);
    assert_eq!(survey.trimmed.len(), 1);
    let noise = format!("{TRACE}{}", "noise\n".repeat(1000));
    let survey = Survey::read(noise.as_bytes(), &text()).unwrap();
    assert_eq!(survey.notes.len(), 21);
    assert_eq!(survey.notes[20], "980 more such lines in the trace");
}

#[test]
fn written_lines_survive_a_round_trip() {
    let mut trace = iolog::HEADER.as_bytes().to_vec();
    for (time, action, place) in [
        (0, iolog::Action::Add, None),
        (9, iolog::Action::Open, None),
        (10, iolog::Action::Move(Direction::Read), Some((u64::MAX, 512))),
        (100, iolog::Action::Move(Direction::Write), Some((0, u32::MAX))),
        (120, iolog::Action::Sync, Some((0, 0))),
        (121, iolog::Action::DataSync, Some((0, 0))),
        (130, iolog::Action::Move(Direction::Trim), Some((5, 6))),
        (140, iolog::Action::Close, None),
    ] {
        iolog::append_line(&mut trace, time, "some/file", action, place);
    }
    let (entries, notes) = entries(&trace, &text(), 64).unwrap();
    assert_eq!(
        words(&entries),
        [
            "0 open +0".to_owned(),
            format!("0 read {} 512 +1", u64::MAX),
            format!("0 write 0 {} +90", u32::MAX),
            "0 sync +20".into(),
            "0 datasync +1".into(),
            "0 trim 5 6 +9".into(),
            "0 close +10".into(),
        ]
    );
    assert!(notes.is_empty(), "{notes:?}");
}

/// A blktrace record.
fn record(time: u64, sector: u64, bytes: u32, action: u32, device: u32, more: &[u8], swapped: bool) -> Vec<u8> {
    let word = |word: u32| if swapped { word.swap_bytes() } else { word }.to_ne_bytes();
    let long = |long: u64| if swapped { long.swap_bytes() } else { long }.to_ne_bytes();
    let half = more.len() as u16;
    let half = if swapped { half.swap_bytes() } else { half };
    let mut record = Vec::new();
    record.extend(word(0x6561_7407));
    record.extend(word(1));
    record.extend(long(time));
    record.extend(long(sector));
    record.extend(word(bytes));
    record.extend(word(action));
    record.extend(word(4321));
    record.extend(word(device));
    record.extend(word(0));
    record.extend([0, 0]);
    record.extend(half.to_ne_bytes());
    record.extend(more);
    record
}

#[test]
fn blktrace_records_are_read_in_both_byte_orders() {
    const QUEUED: u32 = 1 | 1 << 20;
    let (read, write, flush, discard) = (QUEUED | 1 << 16, QUEUED | 1 << 17, QUEUED | 1 << 18, QUEUED | 1 << 29);
    let (sda, sdb) = (8 << 20, 8 << 20 | 16);
    for swapped in [false, true] {
        let mut trace = Vec::new();
        // A notice, which is followed by data and is not a request.
        trace.extend(record(1000, 0, 0, 1 << 26, 0, b"blktrace", swapped));
        trace.extend(record(5000, 8, 4096, read, sda, &[], swapped));
        trace.extend(record(9000, 16, 8192, write, sda, b"cdb", swapped));
        trace.extend(record(9500, 16, 8192, 7 | 1 << 17, sda, &[], swapped));
        trace.extend(record(10_000, 16, 8192, 8 | 1 << 17, sda, &[], swapped));
        trace.extend(record(20_000, 0, 0, flush, sdb, &[], swapped));
        trace.extend(record(21_000, 0, 0, read, sdb, &[], swapped));
        trace.extend(record(30_000, 2048, 1 << 20, discard | 1 << 17, sdb, &[], swapped));
        assert_eq!(blktrace::recognise(&trace), Some(swapped));
        let wanted = replay(TraceForm::Blktrace { swapped });
        for piece in [1, 47, 49, 1 << 20] {
            let (entries, notes) = entries(&trace, &wanted, piece).unwrap();
            assert_eq!(
                words(&entries),
                [
                    "0 open +0",
                    "0 read 4096 4096 +0",
                    "0 write 8192 8192 +4",
                    "1 open +0",
                    "1 sync +11",
                    "1 trim 1048576 1048576 +9",
                ]
            );
            assert_eq!(notes, ["fio: ignoring zero byte block trace"]);
        }
        let survey = Survey::read(&trace[..], &wanted).unwrap();
        assert_eq!(survey.files, ["8:0", "8:16"]);
        assert_eq!(survey.depth, 1);
    }
    assert_eq!(blktrace::recognise(b"fio version 3"), None);
    assert_eq!(blktrace::device_numbers("8:16"), Some((8, 16)));
}

#[test]
fn a_broken_record_ends_the_trace() {
    let mut trace = record(5000, 8, 4096, 1 | 1 << 16, 8 << 20, &[], false);
    let complete = trace.clone();
    trace.extend(vec![0; 48]);
    let wanted = replay(TraceForm::Blktrace { swapped: false });
    let error = entries(&trace, &wanted, 64).unwrap_err();
    assert!(matches!(error, TraceError::Record { record: 2 }), "{error}");
    // A truncated trace is reported.
    let (entries, notes) = entries(&[&complete[..], &complete[..20]].concat(), &wanted, 64).unwrap();
    assert_eq!(
        (entries.len(), &notes[..]),
        (2, &["fio: iolog short read".to_owned()][..])
    );
}

#[test]
fn the_depth_of_a_trace_is_the_maximum_in_flight() {
    let mut trace = Vec::new();
    for number in 0..6 {
        trace.extend(record(number + 1, number * 8, 4096, 1 | 1 << 16, 8 << 20, &[], false));
    }
    // Two were merged, and the others end.
    for (number, action) in [(7, 2), (8, 3), (9, 8), (10, 8)] {
        trace.extend(record(number, 0, 4096, action | 1 << 16, 8 << 20, &[], false));
    }
    let survey = Survey::read(&trace[..], &replay(TraceForm::Blktrace { swapped: false })).unwrap();
    assert_eq!(survey.depth, 4);
}
