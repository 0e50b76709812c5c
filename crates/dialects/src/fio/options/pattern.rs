//! What is read and written: direction, order, offsets.

use super::row::*;
use super::special;
use super::typed::{Distribution, Range, Split};
use crate::fio::values::{Amount, Unit};
use model::PerDirection;

/// The values of these options.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(
    missing_docs,
    reason = "a field is the option of its name, and its row below says what it means"
)]
pub struct Pattern {
    pub rw: Rw,
    pub rw_sequencer: Sequencer,
    pub rwmixread: i64,
    pub rwmixwrite: i64,
    pub size: Option<Amount>,
    pub io_size: Option<Amount>,
    pub offset: Option<Amount>,
    pub offset_increment: Option<Amount>,
    pub offset_align: i64,
    pub bs: PerDirection<u64>,
    pub ba: PerDirection<u64>,
    pub bsrange: PerDirection<Range>,
    pub bssplit: PerDirection<Vec<Split>>,
    pub bs_unaligned: bool,
    pub bs_is_seq_rand: bool,
    pub randrepeat: bool,
    pub randseed: Option<u64>,
    pub norandommap: bool,
    pub softrandommap: bool,
    pub random_generator: Generator,
    pub random_distribution: DistributionName,
    pub random_sequence_stride: bool,
    pub percentage_random: PerDirection<u64>,
    pub rw_step: i64,
    pub distribution: Distribution,
}

/// The rows of these options.
pub const ROWS: &[Row] = &[
    word(first(100), "rw", RW_WORDS)
        .tail(special::sequence)
        .aliases(&["readwrite"])
        .default("read")
        .help("IO direction")
        .example("randrw"),
    word(first(220), "rw_sequencer", RW_SEQUENCER_WORDS)
        .default("sequential")
        .help("What happens between two random positions of `rw=...:N`.")
        .example("identical"),
    int(first(1330), "rwmixread", |job| &mut job.pattern.rwmixread)
        .least(0)
        .most(100)
        .default("50")
        .then(|job| job.pattern.rwmixwrite = 100i64.saturating_sub(job.pattern.rwmixread))
        .help("Share of reads in a mixed job, in percent.")
        .example("70"),
    int(first(1340), "rwmixwrite", |job| &mut job.pattern.rwmixwrite)
        .least(0)
        .most(100)
        .default("50")
        .then(|job| job.pattern.rwmixread = 100i64.saturating_sub(job.pattern.rwmixwrite))
        .help("Share of writes in a mixed job, in percent.")
        .example("30"),
    removed(first(1350), "rwmixcycle").help("Gone.").example("500"),
    amount(first(310), "size", |job| &mut job.pattern.size)
        .help("Bytes of each clone, over all its files; also the region they lie in.")
        .example("1g"),
    amount(first(320), "io_size", |job| &mut job.pattern.io_size)
        .aliases(&["io_limit"])
        .help("Bytes to transfer, where they are not the size.")
        .example("4g"),
    amount(first(370), "offset", |job| &mut job.pattern.offset)
        .aliases(&["fileoffset"])
        .default("0")
        .help("Where in the file the region begins.")
        .example("25%"),
    amount(first(380), "offset_increment", |job| &mut job.pattern.offset_increment)
        .default("0")
        .help("What is added to the offset for each further clone.")
        .example("1g"),
    int(second(390), "offset_align", |job| &mut job.pattern.offset_align)
        .default("0")
        .help("Alignment of an offset in percent.")
        .example("4k"),
    per_direction(first(110), "bs", |job| &mut job.pattern.bs, Unit::Bytes)
        .least(1)
        .aliases(&["blocksize"])
        .default("4096")
        .help("Block size unit")
        .example("4k,64k"),
    per_direction(first(120), "ba", |job| &mut job.pattern.ba, Unit::Bytes)
        .least(1)
        .aliases(&["blockalign"])
        .help("Alignment of offsets; the smallest block size if not given.")
        .example("4k"),
    special(first(130), "bsrange", special::block_range)
        .aliases(&["blocksize_range"])
        .help("Range from which block sizes are drawn.")
        .example("4k-64k"),
    special(first(140), "bssplit", special::block_split)
        .help("Block sizes with the percentage of each.")
        .example("4k/60:64k/40"),
    flag(second(150), "bs_unaligned", |job| &mut job.pattern.bs_unaligned)
        .aliases(&["blocksize_unaligned"])
        .help("Drawn block sizes need not be multiples of the smallest."),
    boolean(second(160), "bs_is_seq_rand", |job| &mut job.pattern.bs_is_seq_rand)
        .default("0")
        .help("The read size is for sequential operations, the write size for random ones.")
        .example("1"),
    boolean(first(170), "randrepeat", |job| &mut job.pattern.randrepeat)
        .aliases(&["allrandrepeat"])
        .default("1")
        .help("Draw the same numbers in every run.")
        .example("0"),
    optional_size(first(180), "randseed", |job| &mut job.pattern.randseed)
        .default("0x89")
        .help("Seed of the random numbers.")
        .example("42"),
    flag(first(190), "norandommap", |job| &mut job.pattern.norandommap)
        .help("Random offsets may repeat before all blocks had their turn."),
    boolean(first(200), "softrandommap", |job| &mut job.pattern.softrandommap)
        .default("0")
        .help("Go on without a map of blocks where memory for it is short.")
        .example("1"),
    word(first(410), "random_generator", RANDOM_GENERATOR_WORDS)
        .default("tausworthe")
        .help("Generator of random offsets.")
        .example("lfsr"),
    word(first(420), "random_distribution", RANDOM_DISTRIBUTION_WORDS)
        .tail(special::distribution)
        .default("random")
        .help("How random offsets spread over the file.")
        .example("zipf:1.2"),
    boolean(second(430), "random_sequence_stride", |job| {
        &mut job.pattern.random_sequence_stride
    })
    .default("0")
    .help("A list of blocks moves on by its length in each round.")
    .example("1"),
    per_direction(
        first(440),
        "percentage_random",
        |job| &mut job.pattern.percentage_random,
        Unit::Bytes,
    )
    .least(0)
    .most(100)
    .default("100,100,100")
    .help("Share of operations at random positions, in percent.")
    .example("50"),
    removed(first(450), "percentage_sequential")
        .help("Gone; see percentage_random.")
        .example("50"),
];

/// Direction and order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rw {
    /// `read`: Sequential read.
    #[default]
    Read,
    /// `write`: Sequential write.
    Write,
    /// `trim`: Sequential trim.
    Trim,
    /// `randread`: Random read.
    RandRead,
    /// `randwrite`: Random write.
    RandWrite,
    /// `randtrim`: Random trim.
    RandTrim,
    /// `rw`: Sequential read and write mix.
    ReadWrite,
    /// `randrw`: Random read and write mix.
    RandReadWrite,
    /// `trimwrite`: Trim and write mix, trims preceding writes.
    TrimWrite,
    /// `randtrimwrite`: Randomly trim and write mix, trims preceding writes.
    RandTrimWrite,
}

const RW_WORDS: &[Word] = &[
    Word::new("read", "Sequential read", |job| job.pattern.rw = Rw::Read),
    Word::new("write", "Sequential write", |job| job.pattern.rw = Rw::Write),
    Word::new("trim", "Sequential trim", |job| job.pattern.rw = Rw::Trim),
    Word::new("randread", "Random read", |job| job.pattern.rw = Rw::RandRead),
    Word::new("randwrite", "Random write", |job| job.pattern.rw = Rw::RandWrite),
    Word::new("randtrim", "Random trim", |job| job.pattern.rw = Rw::RandTrim),
    Word::new("rw", "Sequential read and write mix", |job| {
        job.pattern.rw = Rw::ReadWrite
    }),
    Word::new("readwrite", "Sequential read and write mix", |job| {
        job.pattern.rw = Rw::ReadWrite
    }),
    Word::new("randrw", "Random read and write mix", |job| {
        job.pattern.rw = Rw::RandReadWrite
    }),
    Word::new("trimwrite", "Trim and write mix, trims preceding writes", |job| {
        job.pattern.rw = Rw::TrimWrite
    }),
    Word::new(
        "randtrimwrite",
        "Randomly trim and write mix, trims preceding writes",
        |job| job.pattern.rw = Rw::RandTrimWrite,
    ),
];

/// What happens between two random positions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sequencer {
    /// `sequential`: go on behind the last one.
    #[default]
    Sequential,
    /// `identical`: repeat the last one.
    Identical,
}

const RW_SEQUENCER_WORDS: &[Word] = &[
    Word::new("sequential", "go on behind the last one", |job| {
        job.pattern.rw_sequencer = Sequencer::Sequential
    }),
    Word::new("identical", "repeat the last one", |job| {
        job.pattern.rw_sequencer = Sequencer::Identical
    }),
];

/// Generators of random offsets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Generator {
    /// `tausworthe`: three-component generator of 32 bits.
    #[default]
    Tausworthe,
    /// `lfsr`: shift register that visits every block once.
    Lfsr,
    /// `tausworthe64`: five-component generator of 64 bits.
    Tausworthe64,
}

const RANDOM_GENERATOR_WORDS: &[Word] = &[
    Word::new("tausworthe", "three-component generator of 32 bits", |job| {
        job.pattern.random_generator = Generator::Tausworthe
    }),
    Word::new("lfsr", "shift register that visits every block once", |job| {
        job.pattern.random_generator = Generator::Lfsr
    }),
    Word::new("tausworthe64", "five-component generator of 64 bits", |job| {
        job.pattern.random_generator = Generator::Tausworthe64
    }),
];

/// How random offsets spread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DistributionName {
    /// `random`: evenly.
    #[default]
    Random,
    /// `zipf`: by a Zipf law.
    Zipf,
    /// `pareto`: by a Pareto law.
    Pareto,
    /// `normal`: by a normal law.
    Normal,
    /// `zoned`: by shares of parts of the file.
    Zoned,
    /// `zoned_abs`: by shares of parts given in bytes.
    ZonedAbs,
    /// `sequence`: by a list of blocks.
    Sequence,
}

const RANDOM_DISTRIBUTION_WORDS: &[Word] = &[
    Word::new("random", "evenly", |job| {
        job.pattern.random_distribution = DistributionName::Random
    }),
    Word::new("zipf", "by a Zipf law", |job| {
        job.pattern.random_distribution = DistributionName::Zipf
    }),
    Word::new("pareto", "by a Pareto law", |job| {
        job.pattern.random_distribution = DistributionName::Pareto
    }),
    Word::new("normal", "by a normal law", |job| {
        job.pattern.random_distribution = DistributionName::Normal
    }),
    Word::new("zoned", "by shares of parts of the file", |job| {
        job.pattern.random_distribution = DistributionName::Zoned
    }),
    Word::new("zoned_abs", "by shares of parts given in bytes", |job| {
        job.pattern.random_distribution = DistributionName::ZonedAbs
    }),
    Word::new("sequence", "by a list of blocks", |job| {
        job.pattern.random_distribution = DistributionName::Sequence
    }),
];
