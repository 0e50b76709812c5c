//! Windows in a file, zoned and placement-aware devices.

use super::row::*;
use crate::fio::values::Amount;

/// The values of these options.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(
    missing_docs,
    reason = "a field is the option of its name, and its row below says what it means"
)]
pub struct Zones {
    pub zonemode: ZoneMode,
    pub zonesize: u64,
    pub zonerange: u64,
    pub zoneskip: Option<Amount>,
}

/// The rows of these options.
pub const ROWS: &[Row] = &[
    word(second(1100), "zonemode", ZONEMODE_WORDS)
        .default("none")
        .help("Whether the job works in zones.")
        .example("strided"),
    size(second(1110), "zonesize", |job| &mut job.zones.zonesize)
        .default("0")
        .help("Bytes to transfer in a zone.")
        .example("256m"),
    refused(third(1120), "zonecapacity", "size")
        .default("0")
        .help("Bytes of a zone that can be written.")
        .example("128m"),
    size(second(1130), "zonerange", |job| &mut job.zones.zonerange)
        .default("0")
        .help("Bytes from the beginning of a zone to its end.")
        .example("256m"),
    amount(second(1140), "zoneskip", |job| &mut job.zones.zoneskip)
        .default("0")
        .help("Bytes between two zones.")
        .example("256m"),
    refused(third(1150), "read_beyond_wp", "bool")
        .default("0")
        .help("Read behind the write pointer.")
        .example("1"),
    refused(third(1160), "max_open_zones", "int")
        .default("0")
        .help("Zones open at a time.")
        .example("14"),
    refused(third(1170), "job_max_open_zones", "int")
        .default("0")
        .help("Zones that a clone has open at a time.")
        .example("14"),
    refused(third(1180), "ignore_zone_limits", "bool")
        .default("0")
        .help("Take no notice of the device's limits.")
        .example("1"),
    refused(third(1190), "recover_zbd_write_error", "bool")
        .default("0")
        .help("Go on after a failed write to a zone.")
        .example("1"),
    refused(third(1200), "write_zone_remainder", "bool")
        .default("0")
        .help("Fill what is left of a zone.")
        .example("1"),
    refused(third(1210), "zone_reset_threshold", "float list")
        .help("Share of written data at which zones are reset.")
        .example("0.5"),
    refused(third(1220), "zone_reset_frequency", "float list")
        .help("How often zones are reset.")
        .example("0.1"),
    refused(third(1230), "fdp", "bool")
        .default("0")
        .help("Flexible data placement.")
        .example("1"),
    refused(third(1240), "dataplacement", "word")
        .aliases(&["data_placement"])
        .default("none")
        .help("Kind of data placement.")
        .example("fdp"),
    refused(third(1250), "plid_select", "word")
        .aliases(&["fdp_pli_select"])
        .default("roundrobin")
        .help("How placement identifiers are chosen.")
        .example("random"),
    refused(third(1260), "plids", "word")
        .aliases(&["fdp_pli"])
        .help("Placement identifiers.")
        .example("0,1"),
    refused(third(1270), "dp_scheme", "text")
        .help("File with a scheme of placements.")
        .example("scheme.txt"),
    refused(third(1280), "sprandom", "bool")
        .default("0")
        .help("Age an SSD in one pass.")
        .example("1"),
    refused(third(1290), "spr_num_regions", "int")
        .default("100")
        .help("Regions of that pass.")
        .example("100"),
    refused(third(1300), "spr_op", "float list")
        .default("0.15")
        .help("Spare capacity that pass assumes.")
        .example("0.15"),
    refused(third(1310), "spr_cs", "size")
        .default("0")
        .help("Cache that pass assumes.")
        .example("1g"),
];

/// Whether a job works in zones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ZoneMode {
    /// `none`: it does not.
    #[default]
    None,
    /// `strided`: windows that move through the file.
    Strided,
    /// `zbd`: the zones of a zoned device.
    Zoned,
}

const ZONEMODE_WORDS: &[Word] = &[
    Word::new("none", "it does not", |job| job.zones.zonemode = ZoneMode::None),
    Word::new("strided", "windows that move through the file", |job| {
        job.zones.zonemode = ZoneMode::Strided
    }),
    Word::new("zbd", "the zones of a zoned device", |job| {
        job.zones.zonemode = ZoneMode::Zoned
    }),
];
