//! Small documents for every rule of reading: the meaning of each element, and what is refused with
//! which position.

use dialects::diskspd::profile::{Cache, Precreate, Processor, Profile, Range, ResultFormat, Target, TimeSpan};
use dialects::diskspd::xml::{XmlError, XmlErrorKind, read};
use testbed::{AssertIs, With};

/// A document with these elements in the profile, in its time span and in its target.
fn document(profile: &str, span: &str, target: &str) -> String {
    format!(
        "<Profile>{profile}<TimeSpans><TimeSpan>{span}<Targets><Target>{target}<Path>a</Path></Target></Targets>\
         </TimeSpan></TimeSpans></Profile>"
    )
}

fn in_profile(elements: &str) -> Profile {
    read(&document(elements, "", "")).unwrap_or_else(|error| panic!("{elements}: {error}"))
}

fn in_span(elements: &str) -> TimeSpan {
    let mut profile = read(&document("", elements, "")).unwrap_or_else(|error| panic!("{elements}: {error}"));
    profile.time_spans.remove(0)
}

fn in_target(elements: &str) -> Target {
    let mut profile = read(&document("", "", elements)).unwrap_or_else(|error| panic!("{elements}: {error}"));
    profile.time_spans.remove(0).targets.remove(0)
}

fn refused(text: &str) -> XmlError {
    match read(text) {
        Err(error) => error,
        Ok(profile) => panic!("{text} was read as {profile:?}"),
    }
}

#[test]
fn absent_elements_have_their_default() {
    let expected = Profile {
        time_spans: vec![TimeSpan {
            targets: vec![Target::default().with(|target| target.path = "a".to_string())],
            ..TimeSpan::default()
        }],
        ..Profile::default()
    };
    assert_eq!(in_profile(""), expected);
}

#[test]
fn only_the_value_true_is_true() {
    for (word, expected) in [
        ("true", true),
        (" true\n", true),
        ("false", false),
        ("1", false),
        ("0", false),
    ] {
        assert_eq!(
            in_profile(&format!("<Verbose>{word}</Verbose>")).verbose,
            expected,
            "{word}"
        );
        let span = in_span(&format!(
            "<MeasureLatency>{word}</MeasureLatency><IORing>{word}</IORing>"
        ));
        assert_eq!(span.latency, expected, "{word}");
        assert_eq!(span.newer.ring.is_some(), expected, "{word}");
        let target = in_target(&format!("<DisableOSCache>{word}</DisableOSCache>"));
        assert_eq!(target.cache == Cache::Unbuffered, expected, "{word}");
    }
    for word in ["", "TRUE", "True", "yes", "2", "tru e"] {
        let error = refused(&document(&format!("<Verbose>{word}</Verbose>"), "", ""));
        assert_eq!(
            error.reason,
            format!("<Verbose> must be 'true' or 'false', not '{word}'")
        );
    }
}

#[test]
fn numbers_are_read_exactly_and_in_range() {
    assert_eq!(in_span("<RandSeed>4294967295</RandSeed>").seed, u32::MAX);
    assert_eq!(in_span("<RandSeed> 007 </RandSeed>").seed, 7);
    assert_eq!(
        in_target("<FileSize>18446744073709551615</FileSize>").file_size,
        Some(u64::MAX)
    );
    assert_eq!(in_target("<FileSize>0</FileSize>").file_size, Some(0));
    let of_span = [
        ("Duration", "a number from 0 to 4294967295"),
        ("Warmup", "a number from 0 to 4294967295"),
        ("RandSeed", "a number from 0 to 4294967295"),
    ];
    for (name, expected) in of_span {
        for text in ["", " ", "4294967296", "-1", "+1", "1.0", "1k", "0x10", "1 2", "١"] {
            let error = refused(&document("", &format!("<{name}>{text}</{name}>"), ""));
            let text = text.trim();
            assert_eq!(error.reason, format!("<{name}> must be {expected}, not '{text}'"));
            assert_eq!(error.kind, XmlErrorKind::Schema);
        }
    }
    for (name, least, most) in [
        ("RandomRatio", 1u64, 99u64),
        ("WriteRatio", 0, 100),
        ("IOPriority", 1, 3),
        ("FileSize", 0, u64::MAX),
        ("BlockSize", 0, u64::from(u32::MAX)),
    ] {
        for number in [least, most] {
            in_target(&format!("<{name}>{number}</{name}>"));
        }
        for number in [i128::from(least) - 1, i128::from(most) + 1] {
            let error = refused(&document("", "", &format!("<{name}>{number}</{name}>")));
            let range = format!("<{name}> must be a number from {least} to {most}, not '{number}'");
            assert_eq!(error.reason, range);
        }
    }
}

#[test]
fn keywords_are_those_of_the_schema() {
    assert_eq!(
        in_profile("<ResultFormat>xml</ResultFormat>").result_format,
        ResultFormat::Xml
    );
    assert_eq!(
        in_profile("<ResultFormat>text</ResultFormat>").result_format,
        ResultFormat::Text
    );
    let precreate = "<PrecreateFiles>CreateOnlyFilesWithConstantOrZeroSizes</PrecreateFiles>";
    assert_eq!(in_profile(precreate).precreate, Some(Precreate::ConstantOrZeroSizes));
    for (profile, target) in [
        ("<ResultFormat>XML</ResultFormat>", ""),
        ("<PrecreateFiles>Always</PrecreateFiles>", ""),
        ("", "<FlushType></FlushType>"),
        ("", "<WriteBufferContent><Pattern>noise</Pattern></WriteBufferContent>"),
        ("", "<Throughput unit=\"iops\">1</Throughput>"),
    ] {
        assert_eq!(refused(&document(profile, "", target)).kind, XmlErrorKind::Schema);
    }
}

#[test]
fn a_tracing_element_enables_tracing() {
    assert_eq!(in_profile("<ETW/>").etw, None);
    assert_eq!(
        in_profile("<ETW><Process>false</Process></ETW>").etw,
        Some(Default::default())
    );
    let etw = in_profile("<ETW><DiskIO>true</DiskIO></ETW>").etw.unwrap();
    assert!(etw.disk_io && !etw.process);
}

#[test]
fn processors_are_read_in_the_old_and_the_new_form() {
    let old = in_span(
        "<GroupAffinity>true</GroupAffinity><Affinity><AffinityAssignment>3</AffinityAssignment>\
         <AffinityAssignment>0</AffinityAssignment></Affinity>",
    );
    let processor = |group, number| Processor { group, number };
    assert_eq!(old.affinity, [processor(0, 3), processor(0, 0)]);
    let new = in_span(
        "<Affinity><AffinityGroupAssignment Group='65535' Processor='255'/><AffinityGroupAssignment/>\
         <AffinityGroupAssignment Processor='2'></AffinityGroupAssignment></Affinity>",
    );
    assert_eq!(new.affinity, [processor(65535, 255), processor(0, 0), processor(0, 2)]);
    assert_eq!(in_span("<Affinity/>").affinity, []);
    for (assignment, expected) in [
        (
            "<AffinityGroupAssignment Group='65536'/>",
            "ERROR: profile specifies group assignment group 65536, out of range",
        ),
        (
            "<AffinityGroupAssignment Processor='256'/>",
            "ERROR: profile specifies group assignment to core 256, out of range",
        ),
        (
            "<AffinityAssignment>256</AffinityAssignment>",
            "ERROR: profile specifies group assignment to core 256, out of range",
        ),
    ] {
        let error = refused(&document("", &format!("<Affinity>{assignment}</Affinity>"), ""));
        assert_eq!(error.kind, XmlErrorKind::Affinity);
        assert_eq!(error.lines(), [expected]);
    }
    let both = "<Affinity><AffinityAssignment>0</AffinityAssignment><AffinityGroupAssignment/></Affinity>";
    assert_eq!(
        refused(&document("", both, "")).reason,
        "<Affinity> cannot have both <AffinityAssignment> and <AffinityGroupAssignment>"
    );
}

#[test]
fn the_last_cache_element_in_diskspds_order_wins() {
    let element = |name: &str| format!("<{name}>true</{name}>");
    for (names, cache, write_through, memory_mapped) in [
        (&["DisableOSCache"][..], Cache::Unbuffered, false, false),
        (&["DisableLocalCache"], Cache::NoLocal, false, false),
        (&["DisableAllCache"], Cache::Unbuffered, true, false),
        (&["WriteThrough"], Cache::Cached, true, false),
        (&["MemoryMappedIo"], Cache::Cached, false, true),
        (&["DisableLocalCache", "DisableOSCache"], Cache::NoLocal, false, false),
        (&["DisableLocalCache", "DisableAllCache"], Cache::NoLocal, true, false),
        (&["MemoryMappedIo", "DisableOSCache"], Cache::Unbuffered, false, true),
    ] {
        for reversed in [false, true] {
            let mut elements: Vec<String> = names.iter().map(|name| element(name)).collect();
            if reversed {
                elements.reverse();
            }
            let target = in_target(&elements.concat());
            assert_eq!(target.cache, cache, "{names:?}");
            assert_eq!(target.write_through, write_through, "{names:?}");
            assert_eq!(target.memory_mapped, memory_mapped, "{names:?}");
        }
    }
}

#[test]
fn write_buffers_have_a_source_only_if_random() {
    let source = "<RandomDataSource><SizeInBytes>1048576</SizeInBytes><FilePath> s.bin </FilePath></RandomDataSource>";
    let content =
        |pattern: &str, source: &str| in_target(&format!("<WriteBufferContent>{pattern}{source}</WriteBufferContent>"));
    let random = content("<Pattern>random</Pattern>", source).source.unwrap();
    assert_eq!((random.size, random.file.as_deref()), (1 << 20, Some("s.bin")));
    let zero = content("<Pattern>zero</Pattern>", source);
    assert!(zero.zero_buffers && zero.source.is_none());
    for target in [
        content("<Pattern>sequential</Pattern>", source),
        content("", source),
        content("<Pattern>random</Pattern>", ""),
    ] {
        assert!(!target.zero_buffers && target.source.is_none());
    }
    let unnamed = "<RandomDataSource><SizeInBytes>4096</SizeInBytes><FilePath></FilePath></RandomDataSource>";
    assert_eq!(content("<Pattern>random</Pattern>", unnamed).source.unwrap().file, None);
    let sizeless = "<WriteBufferContent><RandomDataSource/></WriteBufferContent>";
    assert_eq!(
        refused(&document("", "", sizeless)).reason,
        "<RandomDataSource> lacks <SizeInBytes>"
    );
}

#[test]
fn patterns_have_their_strides() {
    for (elements, percent, alignment) in [
        ("", 0, 0),
        ("<StrideSize>8192</StrideSize>", 0, 8192),
        ("<Random>4096</Random>", 100, 4096),
        ("<RandomRatio>40</RandomRatio><Random>4096</Random>", 40, 4096),
        ("<RandomRatio>40</RandomRatio>", 40, 0),
    ] {
        let target = in_target(elements);
        assert_eq!(target.random_percent, percent, "{elements}");
        assert_eq!(target.alignment, alignment, "{elements}");
    }
    for (other, expected) in [
        (
            "<Random>4096</Random>",
            "sequential <StrideSize> conflicts with <Random>",
        ),
        (
            "<RandomRatio>4</RandomRatio>",
            "sequential <StrideSize> conflicts with <RandomRatio>",
        ),
    ] {
        let error = refused(&document("", "", &format!("{other}<StrideSize>4096</StrideSize>")));
        assert_eq!(error.kind, XmlErrorKind::Conflict);
        assert_eq!(error.lines(), [expected]);
    }
}

#[test]
fn an_incomplete_distribution_is_completed() {
    let ranges = |ranges: &str| {
        let distribution = in_target(&format!("<Distribution>{ranges}</Distribution>"))
            .distribution
            .unwrap();
        let pair = |range: &Range| (range.io_percent, range.length);
        (
            distribution.absolute,
            distribution.ranges.iter().map(pair).collect::<Vec<_>>(),
        )
    };
    for (elements, expected) in [
        (
            "<Percent><Range IO='90'>10</Range></Percent>",
            (false, vec![(90, 10), (10, 90)]),
        ),
        (
            "<Percent><Range IO='90'>100</Range></Percent>",
            (false, vec![(90, 100), (10, 0)]),
        ),
        (
            "<Percent><Range IO='100'>10</Range></Percent>",
            (false, vec![(100, 10)]),
        ),
        (
            "<Percent><Range IO='0'>10</Range></Percent>",
            (false, vec![(0, 10), (100, 90)]),
        ),
        (
            "<Absolute><Range IO='90'>1000</Range></Absolute>",
            (true, vec![(90, 1000), (10, 0)]),
        ),
        ("<Absolute><Range IO='100'>0</Range></Absolute>", (true, vec![(100, 0)])),
        (
            "<Percent><Range IO='70'>70</Range><Range IO='70'>70</Range></Percent>",
            (false, vec![(70, 70), (70, 70)]),
        ),
    ] {
        assert_eq!(ranges(elements), expected, "{elements}");
    }
    for (elements, expected) in [
        ("", "<Distribution> lacks <Percent>"),
        ("<Percent/>", "<Percent> lacks <Range>"),
        (
            "<Percent><Range>5</Range></Percent>",
            "<Range> requires the attribute 'IO'",
        ),
        (
            "<Percent><Range IO='101'>5</Range></Percent>",
            "attribute 'IO' of <Range> must be a number from 0 to 100, not '101'",
        ),
        (
            "<Percent><Range IO='5'>0</Range></Percent>",
            "<Range> must be a number from 1 to 100, not '0'",
        ),
        (
            "<Percent><Range IO='5'>5</Range></Percent><Absolute><Range IO='5'>5</Range></Absolute>",
            "<Distribution> cannot have both <Percent> and <Absolute>",
        ),
    ] {
        let error = refused(&document("", "", &format!("<Distribution>{elements}</Distribution>")));
        assert_eq!(error.reason, expected);
    }
}

#[test]
fn pool_threads_have_targets() {
    let threads = "<ThreadTargets><ThreadTarget><Weight>4</Weight><Thread>2</Thread></ThreadTarget>\
                   <ThreadTarget><Thread>0</Thread></ThreadTarget></ThreadTargets>";
    let pairs: Vec<_> = in_target(threads)
        .thread_targets
        .iter()
        .map(|target| (target.thread, target.weight))
        .collect();
    assert_eq!(pairs, [(2, 4), (0, 0)]);
    let without = "<ThreadTargets><ThreadTarget/></ThreadTargets>";
    assert_eq!(
        refused(&document("", "", without)).reason,
        "<ThreadTarget> lacks <Thread>"
    );
}

#[test]
fn elements_outside_the_schema_are_refused() {
    for (text, expected) in [
        ("<Results/>", "the root is <Results> instead of <Profile>"),
        (
            "<Profile xmlns='urn:other'/>",
            "the root is <Profile> instead of <Profile>",
        ),
        ("<Profile/>", "<Profile> lacks <TimeSpans>"),
        ("<Profile><TimeSpans/></Profile>", "<TimeSpans> lacks <TimeSpan>"),
        (
            "<Profile><TimeSpans><TimeSpan/></TimeSpans></Profile>",
            "<TimeSpan> lacks <Targets>",
        ),
        (
            "<Profile><TimeSpans><TimeSpan><Targets/></TimeSpan></TimeSpans></Profile>",
            "<Targets> lacks <Target>",
        ),
        (
            "<Profile><TimeSpans><TimeSpan><Targets><Target/></Targets></TimeSpan></TimeSpans></Profile>",
            "<Target> lacks <Path>",
        ),
        (
            &document("<Speed>1</Speed>", "", ""),
            "unknown element <Speed> in <Profile>",
        ),
        (
            &document("<progress>1</progress>", "", ""),
            "unknown element <progress> in <Profile>",
        ),
        (
            &document("<Progress unit='s'>1</Progress>", "", ""),
            "unknown attribute 'unit' in <Progress>",
        ),
        (&document("text", "", ""), "<Profile> takes no text"),
        (
            &document("", "<Duration>1<b/></Duration>", ""),
            "<Duration> takes a value, not elements",
        ),
        (
            &document("", "<Warmup>1</Warmup><Warmup>1</Warmup>", ""),
            "<Warmup> occurs more than once in <TimeSpan>",
        ),
        (
            &document("", "", "<Path>b</Path>"),
            "<Path> occurs more than once in <Target>",
        ),
        (
            &document("", "", "<x:Weight xmlns:x='urn:other'>1</x:Weight>"),
            "unknown element <Weight> in <Target>",
        ),
    ] {
        let error = refused(text);
        assert_eq!(error.reason, expected, "{text}");
        assert_eq!(error.kind, XmlErrorKind::Schema);
    }
}

#[test]
fn the_schema_is_checked_first() {
    let text = document(
        "",
        "<Affinity><AffinityAssignment>999</AffinityAssignment></Affinity>",
        "<Bad/>",
    );
    assert_eq!(refused(&text).reason, "unknown element <Bad> in <Target>");
}

#[test]
fn a_mistake_has_a_position() {
    let error = refused("<Profile>\n  <Progress>1</Progress>\n  <ResultFormat>json</ResultFormat>\n</Profile>");
    assert_eq!((error.line, error.column), (3, 3));
    error.lines().assert_is(&[
        "ERROR: failed to load profile, line 3, line position 3, errorCode c00ce000",
        "ERROR: reason: <ResultFormat> must be 'text' or 'xml', not 'json'",
    ]);
    let error = refused("<Profile>\n  <Progress>1</Profile>");
    assert_eq!((error.kind, error.line), (XmlErrorKind::Syntax, 2));
    assert!(!error.reason.contains(" at 2:"), "{}", error.reason);
    assert!(error.lines()[0].ends_with("errorCode c00ce500"), "{:?}", error.lines());
}

#[test]
fn documents_are_read_with_and_without_declarations() {
    let plain = document("", "", "");
    let expected = read(&plain).unwrap();
    for text in [
        format!("\u{feff}{plain}"),
        format!("<?xml version=\"1.0\"?>{plain}"),
        format!("<?xml version=\"1.0\" encoding=\"utf-8\" standalone=\"yes\"?>\r\n{plain}\r\n"),
        format!("\u{feff}<?xml version='1.0' encoding='utf-16'?>\n{plain}"),
        format!("<!-- a test --><?tool data?>{plain}<!-- end -->"),
        plain.replace("<Path>a</Path>", "<Path>\n  a\n</Path>"),
        plain.replace("<Path>a</Path>", "<Path><!-- here -->a<!-- there --></Path>"),
        plain.replace("<Path>a</Path>", "<Path><![CDATA[a]]></Path>"),
        plain.replace("<Path>a</Path>", "<Path>&#97;</Path>"),
        plain.replace(
            "<Profile>",
            "<Profile xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance' xsi:noNamespaceSchemaLocation='diskspd.xsd'>",
        ),
    ] {
        assert_eq!(read(&text).unwrap_or_else(|error| panic!("{text}: {error}")), expected);
    }
}

#[test]
fn a_path_may_be_long_and_non_ascii() {
    let path = "ø/".repeat(2000);
    let text = document("", "", "").replace("<Path>a<", &format!("<Path>{path}<"));
    assert_eq!(read(&text).unwrap().time_spans[0].targets[0].path, path);
}

/// No document expands entities, however small, and none is nested more deeply than the parser can
/// follow.
#[test]
fn hostile_documents_are_refused() {
    let entities = "<!DOCTYPE Profile [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;'>]><Profile>&b;</Profile>";
    assert_eq!(refused(entities).kind, XmlErrorKind::Syntax);
    let deep = format!("{}{}", "<Profile>".repeat(200_000), "</Profile>".repeat(200_000));
    refused(&deep);
    for text in [
        "", " ", "Profile", "<", "<Profile", "\u{feff}", "\0", "<Profile>\0</Profile>",
    ] {
        assert_eq!(refused(text).kind, XmlErrorKind::Syntax, "{text:?}");
    }
}
