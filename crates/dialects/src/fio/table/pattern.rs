//! What is read and written: direction, order, offsets.

use super::row::*;
use super::special;
use crate::fio::lower::pattern as lower;
use crate::fio::options::pattern;
use crate::fio::values::Unit;

/// The rows of these options.
pub const ROWS: &[Row] = rows! {
    word(first(100), "rw", pattern::Rw::WORDS).tail(special::sequence).aliases(&["readwrite"]).default("read")
        .example("randrw").help("IO direction").means(lower::direction),
    word(first(220), "rw_sequencer", pattern::Sequencer::WORDS).default("sequential").example("identical")
        .help("What happens between two random positions of `rw=...:N`."),
    int(first(1330), field!(pattern.rwmixread)).least(0).most(100).default("50").example("70")
        .help("Share of reads in a mixed job, in percent.")
        .then(|job| job.pattern.rwmixwrite = 100i64.saturating_sub(job.pattern.rwmixread)),
    int(first(1340), field!(pattern.rwmixwrite)).least(0).most(100).default("50").example("30")
        .help("Share of writes in a mixed job, in percent.")
        .then(|job| job.pattern.rwmixread = 100i64.saturating_sub(job.pattern.rwmixwrite)),
    removed(first(1350), "rwmixcycle").example("500").help("Gone."),
    amount(first(310), field!(pattern.size)).example("1g")
        .help("Bytes of each clone, over all its files; also the region they lie in."),
    amount(first(320), field!(pattern.io_size)).aliases(&["io_limit"]).example("4g")
        .help("Bytes to transfer, where they are not the size."),
    amount(first(370), field!(pattern.offset)).aliases(&["fileoffset"]).default("0").example("25%")
        .help("Where in the file the region begins."),
    amount(first(380), field!(pattern.offset_increment)).default("0").example("1g")
        .help("What is added to the offset for each further clone."),
    int(second(390), field!(pattern.offset_align)).default("0").example("4k")
        .help("Alignment of an offset in percent."),
    per_direction(first(110), field!(pattern.bs), Unit::Bytes).aliases(&["blocksize"]).least(1).default("4096")
        .example("4k,64k").help("Block size unit").means(lower::positions),
    per_direction(first(120), field!(pattern.ba), Unit::Bytes).aliases(&["blockalign"]).least(1).example("4k")
        .help("Alignment of offsets; the smallest block size if not given."),
    special(first(130), "bsrange", special::block_range).aliases(&["blocksize_range"]).example("4k-64k")
        .help("Range from which block sizes are drawn."),
    special(first(140), "bssplit", special::block_split).example("4k/60:64k/40")
        .help("Block sizes with the percentage of each."),
    flag(second(150), field!(pattern.bs_unaligned)).aliases(&["blocksize_unaligned"])
        .help("Drawn block sizes need not be multiples of the smallest."),
    boolean(second(160), field!(pattern.bs_is_seq_rand)).default("0").example("1")
        .help("The read size is for sequential operations, the write size for random ones."),
    boolean(first(170), field!(pattern.randrepeat)).aliases(&["allrandrepeat"]).default("1").example("0")
        .help("Draw the same numbers in every run."),
    optional_size(first(180), field!(pattern.randseed)).default("0x89").example("42")
        .help("Seed of the random numbers."),
    flag(first(190), field!(pattern.norandommap)).help("Random offsets may repeat before all blocks had their turn."),
    boolean(first(200), field!(pattern.softrandommap)).default("0").example("1")
        .help("Go on without a map of blocks where memory for it is short."),
    word(first(410), "random_generator", pattern::Generator::WORDS).default("tausworthe").example("lfsr")
        .help("Generator of random offsets."),
    word(first(420), "random_distribution", pattern::DistributionName::WORDS).tail(special::distribution)
        .default("random").example("zipf:1.2").help("How random offsets spread over the file."),
    boolean(second(430), field!(pattern.random_sequence_stride)).default("0").example("1")
        .help("A list of blocks moves on by its length in each round."),
    per_direction(first(440), field!(pattern.percentage_random), Unit::Bytes).least(0).most(100)
        .default("100,100,100").example("50").help("Share of operations at random positions, in percent."),
    removed(first(450), "percentage_sequential").example("50").help("Gone; see percentage_random."),
};
