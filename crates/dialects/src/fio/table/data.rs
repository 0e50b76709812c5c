//! Contents of writes.

use model::content::Content;

use super::row::*;
use super::special;
use crate::assign;
use crate::fio::lower::data as lower;
use crate::fio::options::data;
use crate::fio::print;

/// Options that discard written blocks.
const TRIMS: &str = "--rw=randtrimwrite --verify=md5 --trim_percentage=20 --trim_backlog=64 --trim_backlog_batch=8 \
                     --trim_verify_zero=0";

/// The rows of these options.
pub const ROWS: &[Row] = rows! {
    flag(tier1(2080), field!(data.zero_buffers)).help("Write zeros.")
        .prints(|section| print::bare(print::stream::content(section) == Some(&Content::Zeros)))
        .effects(&[("--rw=write --zero_buffers", "stream.content={content:zeros}")]),
    flag(tier1(2090), field!(data.refill_buffers)).help("Generate new random data for every write.")
        .prints(print::stream::refill_buffers)
        .effects(&[("--rw=write --refill_buffers", "stream.content={content:fresh}")]),
    boolean(tier1(2100), field!(data.scramble_buffers)).default("1").example("0")
        .help("Write position and time into every 512 bytes of repeated data.")
        .prints(|section| print::off(print::stream::content(section) != Some(&Content::Once)))
        .effects(&[("--rw=write --scramble_buffers=0", "stream.content={content:once}")]),
    special(tier1(2110), "buffer_pattern", |reader, text| {
        assign(&mut reader.job.data.buffer_pattern, special::parse_pieces(text))
    })
        .example("0xdeadbeef").help("Repeat these bytes.")
        .lowers_with(|draft| draft.parts.stream.content = lower::content(draft.options, draft.disk, draft.errors))
        .prints(print::stream::buffer_pattern)
        .effects(&[
            ("--rw=write --buffer_pattern=0xdead'bytes'", "stream.content={bytes:[222,173,97,98],content:pattern}"),
            (
                "--rw=write --dedupe_percentage=30 --buffer_compress_percentage=50 --buffer_pattern=0xab",
                "stream.content.constant.pattern=[171]",
            ),
        ]),
    int(tier1(2120), field!(data.buffer_compress_percentage)).min(0).max(100).default("0").example("50")
        .help("Compressibility of written data, in percent.")
        .prints(|section| print::stream::constant(section).map(|part| part.percent.to_string()))
        .effects(&[
            (
                "--rw=write --buffer_compress_percentage=50",
                "stream.content={chunk:512,content:compressible,pattern:[],percent:50}",
            ),
            ("--rw=write --buffer_compress_percentage=100", "stream.content={content:zeros}"),
            (
                "--rw=write --dedupe_percentage=30 --buffer_compress_percentage=50",
                "stream.content.constant.percent=50",
            ),
        ]),
    int(tier2(2130), field!(data.buffer_compress_chunk)).default("512").example("4k")
        .help("Chunk size for buffer_compress_percentage.").prints(print::stream::buffer_compress_chunk)
        .effects(&[
            (
                "--rw=write --buffer_compress_percentage=50 --buffer_compress_chunk=4k",
                "stream.content.content=compressible; stream.content.chunk=4096",
            ),
            (
                "--rw=write --dedupe_percentage=30 --buffer_compress_percentage=50 --buffer_compress_chunk=4k",
                "stream.content.constant.chunk=4096",
            ),
        ]),
    int(tier1(2140), field!(data.dedupe_percentage)).min(0).max(100).default("0").example("30")
        .help("Share of buffers that repeat an earlier one, in percent.").prints(print::stream::dedupe_percentage)
        .effects(&[
            (
                "--rw=write --dedupe_percentage=30",
                "stream.content={constant:null,content:duplicated,percent:30,shared:false,working_set:0}",
            ),
            (
                "--rw=write --dedupe_percentage=30 --buffer_compress_percentage=50",
                "stream.content.constant.percent=50; stream.content.constant.chunk=512",
            ),
        ]),
    keyword(tier2(2150), "dedupe_mode", data::DedupeMode::WORDS).default("repeat").example("working_set")
        .help("Which earlier buffer to repeat: the previous one, or one of a set.")
        .effects(&[
            (
                "--rw=write --size=4m --dedupe_percentage=30 --dedupe_mode=working_set --dedupe_global=1",
                "stream.content.shared=true",
            ),
            // 5 % of 1024 blocks.
            (
                "--rw=write --size=4m --dedupe_percentage=30 --dedupe_mode=working_set",
                "stream.content={constant:null,content:duplicated,percent:30,shared:false,working_set:51}",
            ),
        ]),
    int(tier2(2160), field!(data.dedupe_working_set_percentage)).min(0).max(100).default("5").example("10")
        .help("Size of the set of repeated buffers, in percent.")
        .effects(&[
            (
                "--rw=write --size=4m --dedupe_percentage=30 --dedupe_mode=working_set --dedupe_working_set_percentage=50",
                "stream.content={constant:null,content:duplicated,percent:30,shared:false,working_set:512}",
            ),
        ]),
    boolean(tier2(2170), field!(data.dedupe_global)).default("0").example("1")
        .help("Share the set of repeated buffers between jobs.")
        .effects(&[
            (
                "--rw=write --size=4m --dedupe_percentage=30 --dedupe_mode=working_set --dedupe_global=1",
                "stream.content.shared=true",
            ),
        ]),
    int(tier2(900), field!(data.trim_percentage)).min(0).max(100).default("0").example("10")
        .help("Share of written blocks to discard, in percent; needs verify and trim_backlog.")
        .prints(|section| Some(print::verify::trims(section)?.percent.to_string()))
        .effects(&[(TRIMS, "stream.verify.trims.percent=20")]),
    boolean(tier2(910), field!(data.trim_verify_zero)).default("1").example("0")
        .help("Require that discarded blocks read as zeros.")
        .prints(|section| print::off(print::verify::trims(section)?.read_as_zeros))
        .effects(&[(TRIMS, "stream.verify.trims.read_as_zeros=false")]),
    size(tier2(920), field!(data.trim_backlog)).default("0").example("100")
        .help("Discard after this many written blocks.")
        .prints(|section| Some(print::verify::trims(section)?.backlog.to_string()))
        .effects(&[(TRIMS, "stream.verify.trims.backlog=64")]),
    int(tier2(930), field!(data.trim_backlog_batch)).default("0").example("10").help("Blocks to discard at a time.")
        .prints(|section| print::positive(print::verify::trims(section)?.batch))
        .effects(&[(TRIMS, "stream.verify.trims.batch=8")]),
};
