//! Zones of files and zoned devices, and data placement.

use crate::fio::values::Amount;

/// The values of these options.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Zones {
    pub zonemode: ZoneMode,
    pub zonesize: u64,
    pub zonerange: u64,
    pub zoneskip: Option<Amount>,
    pub zonecapacity: u64,
    pub read_beyond_wp: bool,
    pub max_open_zones: i64,
    pub job_max_open_zones: i64,
    pub ignore_zone_limits: bool,
    pub recover_zbd_write_error: bool,
    pub zone_reset_threshold: f64,
    pub zone_reset_frequency: f64,
    pub sprandom: bool,
    pub spr_num_regions: i64,
    pub spr_op: f64,
    pub spr_cs: u64,
}

choices! {
    /// The zone mode of a job.
    ZoneMode at zones.zonemode {
        #[default] None: "none" "no zones";
        Strided: "strided" "windows that move through the file";
        Zoned: "zbd" "zones that are written sequentially";
    }
}
