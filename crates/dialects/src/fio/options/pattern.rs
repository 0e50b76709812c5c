//! Direction, order and offsets.

use super::typed::{Distribution, Range, Split};
use crate::fio::values::Amount;
use model::PerDirection;

/// The values of these options.
#[derive(Clone, Debug, Default, PartialEq)]
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

choices! {
    /// Direction and order.
    Rw at pattern.rw {
        #[default] Read: "read" "Sequential read";
        Write: "write" "Sequential write";
        Trim: "trim" "Sequential trim";
        RandRead: "randread" "Random read";
        RandWrite: "randwrite" "Random write";
        RandTrim: "randtrim" "Random trim";
        ReadWrite: "rw" "Sequential read and write mix", "readwrite" "Sequential read and write mix";
        RandReadWrite: "randrw" "Random read and write mix";
        TrimWrite: "trimwrite" "Trim and write mix, trims preceding writes";
        RandTrimWrite: "randtrimwrite" "Randomly trim and write mix, trims preceding writes";
    }

    /// The operations between two random positions.
    Sequencer at pattern.rw_sequencer {
        #[default] Sequential: "sequential" "continue after the last one";
        Identical: "identical" "repeat the last one";
    }

    /// Generators of random offsets.
    Generator at pattern.random_generator {
        #[default] Tausworthe: "tausworthe" "three-component generator of 32 bits";
        Lfsr: "lfsr" "shift register that visits every block once";
        Tausworthe64: "tausworthe64" "five-component generator of 64 bits";
    }

    /// The distribution of random offsets.
    DistributionName at pattern.random_distribution {
        #[default] Random: "random" "evenly";
        Zipf: "zipf" "by a Zipf law";
        Pareto: "pareto" "by a Pareto law";
        Normal: "normal" "by a normal law";
        Zoned: "zoned" "by percentages of the file";
        ZonedAbs: "zoned_abs" "by byte ranges of the file";
        Sequence: "sequence" "by a list of blocks";
    }
}
