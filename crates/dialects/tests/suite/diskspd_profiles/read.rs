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

fn accepted(text: &str) -> Profile {
    read(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn in_profile(elements: &str) -> Profile {
    accepted(&document(elements, "", ""))
}

fn in_span(elements: &str) -> TimeSpan {
    accepted(&document("", elements, "")).time_spans.remove(0)
}

fn in_target(elements: &str) -> Target {
    let mut profile = accepted(&document("", "", elements));
    profile.time_spans.remove(0).targets.remove(0)
}

fn refused(text: &str) -> XmlError {
    match read(text) {
        Err(error) => error,
        Ok(profile) => panic!("{text} was read as {profile:?}"),
    }
}

fn refused_in_span(elements: &str) -> XmlError {
    refused(&document("", elements, ""))
}

fn refused_in_target(elements: &str) -> XmlError {
    refused(&document("", "", elements))
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
        let profile = in_profile(&format!("<Verbose>{word}</Verbose>"));
        assert_eq!(profile.verbose, expected, "{word}");
        let elements = format!("<MeasureLatency>{word}</MeasureLatency><IORing>{word}</IORing>");
        let span = in_span(&elements);
        assert_eq!(span.latency, expected, "{word}");
        assert_eq!(span.newer.ring.is_some(), expected, "{word}");
        let target = in_target(&format!("<DisableOSCache>{word}</DisableOSCache>"));
        assert_eq!(target.cache == Cache::Unbuffered, expected, "{word}");
    }
    for word in ["", "TRUE", "True", "yes", "2", "tru e"] {
        let error = refused(&document(&format!("<Verbose>{word}</Verbose>"), "", ""));
        let expected = format!("<Verbose> must be 'true' or 'false', not '{word}'");
        assert_eq!(error.reason, expected);
    }
}

#[test]
fn numbers_are_read_exactly_and_in_range() {
    assert_eq!(in_span("<RandSeed>4294967295</RandSeed>").seed, u32::MAX);
    assert_eq!(in_span("<RandSeed> 007 </RandSeed>").seed, 7);
    for size in [0, u64::MAX] {
        let target = in_target(&format!("<FileSize>{size}</FileSize>"));
        assert_eq!(target.file_size, Some(size));
    }
    for name in ["Duration", "Warmup", "RandSeed"] {
        for text in ["", " ", "4294967296", "-1", "+1", "1.0", "1k", "0x10", "1 2", "١"] {
            let error = refused_in_span(&format!("<{name}>{text}</{name}>"));
            let text = text.trim();
            let range = format!("<{name}> must be a number from 0 to 4294967295, not '{text}'");
            assert_eq!(error.reason, range);
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
            let error = refused_in_target(&format!("<{name}>{number}</{name}>"));
            let range = format!("<{name}> must be a number from {least} to {most}, not '{number}'");
            assert_eq!(error.reason, range);
        }
    }
}

#[test]
fn keywords_are_those_of_the_schema() {
    for (word, format) in [("xml", ResultFormat::Xml), ("text", ResultFormat::Text)] {
        let profile = in_profile(&format!("<ResultFormat>{word}</ResultFormat>"));
        assert_eq!(profile.result_format, format);
    }
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
    let none = in_profile("<ETW><Process>false</Process></ETW>").etw;
    assert_eq!(none, Some(Default::default()));
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
        let error = refused_in_span(&format!("<Affinity>{assignment}</Affinity>"));
        assert_eq!(error.kind, XmlErrorKind::Affinity);
        assert_eq!(error.lines(), [expected]);
    }
    let both = "<Affinity><AffinityAssignment>0</AffinityAssignment><AffinityGroupAssignment/></Affinity>";
    assert_eq!(
        refused_in_span(both).reason,
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
    let error = refused_in_target(sizeless);
    assert_eq!(error.reason, "<RandomDataSource> lacks <SizeInBytes>");
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
    for (other, value) in [("Random", 4096), ("RandomRatio", 4)] {
        let error = refused_in_target(&format!("<{other}>{value}</{other}><StrideSize>4096</StrideSize>"));
        assert_eq!(error.kind, XmlErrorKind::Conflict);
        let expected = format!("sequential <StrideSize> conflicts with <{other}>");
        assert_eq!(error.lines(), [expected]);
    }
}

#[test]
fn an_incomplete_distribution_is_completed() {
    for (basis, given, expected) in [
        ("Percent", &[(90, 10)][..], &[(90, 10), (10, 90)][..]),
        ("Percent", &[(90, 100)], &[(90, 100), (10, 0)]),
        ("Percent", &[(100, 10)], &[(100, 10)]),
        ("Percent", &[(0, 10)], &[(0, 10), (100, 90)]),
        ("Absolute", &[(90, 1000)], &[(90, 1000), (10, 0)]),
        ("Absolute", &[(100, 0)], &[(100, 0)]),
        ("Percent", &[(70, 70), (70, 70)], &[(70, 70), (70, 70)]),
    ] {
        let range = |(percent, length): &(u32, u64)| format!("<Range IO='{percent}'>{length}</Range>");
        let ranges: String = given.iter().map(range).collect();
        let target = in_target(&format!("<Distribution><{basis}>{ranges}</{basis}></Distribution>"));
        let distribution = target.distribution.unwrap();
        assert_eq!(distribution.absolute, basis == "Absolute", "{basis} {ranges}");
        let pair = |range: &Range| (range.io_percent, range.length);
        let found: Vec<(u32, u64)> = distribution.ranges.iter().map(pair).collect();
        assert_eq!(found, expected, "{basis} {ranges}");
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
        let error = refused_in_target(&format!("<Distribution>{elements}</Distribution>"));
        assert_eq!(error.reason, expected);
    }
}

#[test]
fn pool_threads_have_targets() {
    let threads = "<ThreadTargets><ThreadTarget><Weight>4</Weight><Thread>2</Thread></ThreadTarget>\
                   <ThreadTarget><Thread>0</Thread></ThreadTarget></ThreadTargets>";
    let target = in_target(threads);
    let pairs = target
        .thread_targets
        .iter()
        .map(|target| (target.thread, target.weight));
    assert!(pairs.eq([(2, 4), (0, 0)]), "{target:?}");
    let without = "<ThreadTargets><ThreadTarget/></ThreadTargets>";
    assert_eq!(refused_in_target(without).reason, "<ThreadTarget> lacks <Thread>");
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
    let unknown_processor = "<Affinity><AffinityAssignment>999</AffinityAssignment></Affinity>";
    let text = document("", unknown_processor, "<Bad/>");
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
        assert_eq!(accepted(&text), expected);
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
