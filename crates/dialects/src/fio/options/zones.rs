//! Windows in a file, zoned and placement-aware devices.

use crate::fio::values::Amount;

/// The values of these options.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Zones {
    pub zonemode: ZoneMode,
    pub zonesize: u64,
    pub zonerange: u64,
    pub zoneskip: Option<Amount>,
    pub sprandom: bool,
    pub spr_num_regions: i64,
    pub spr_op: f64,
    pub spr_cs: u64,
}

choices! {
    /// Whether a job works in zones.
    ZoneMode at zones.zonemode {
        #[default] None: "none" "it does not";
        Strided: "strided" "windows that move through the file";
        Zoned: "zbd" "the zones of a zoned device";
    }
}
