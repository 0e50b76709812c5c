//! Zones of files and zoned devices, and data placement.

use super::row::*;
use crate::fio::lower::pattern;
use crate::fio::options::zones;
use crate::fio::print;

/// The requirement of options for data placement.
const PLACEMENT: &str = "an NVMe drive with data placement (FDP or streams) and passthrough commands (io_uring_cmd)";

/// The rows of these options.
pub const ROWS: &[Row] = rows! {
    keyword(tier2(1100), "zonemode", zones::ZoneMode::WORDS).default("none").example("strided")
        .help("Zone mode: moving windows, or the zones of a zoned device.").lowers_with(pattern::check_zones).prints(print::pattern::zonemode)
        .effects(&[
            (
                "--zonemode=strided --zonesize=8k --zonerange=16k --zoneskip=32k",
                "stream.pattern.access.*.pattern=[zones]",
            ),
            ("--rw=randwrite --zonemode=zbd --zonesize=8k", "stream.pattern.access.*.pattern=[write_pointers]"),
        ]),
    size(tier2(1110), field!(zones.zonesize)).default("0").example("256m").help("Bytes to transfer per zone.")
        .prints(print::pattern::zonesize)
        .effects(&[
            (
                "--zonemode=strided --zonesize=8k",
                "stream.pattern.access.0.work=8192; stream.pattern.access.0.range=8192",
            ),
            ("--zonemode=strided --zonesize=8k --zonerange=16k", "stream.pattern.access.0.work=8192"),
        ]),
    size(tier2(1120), field!(zones.zonecapacity)).default("0").example("128m")
        .help("Writable bytes of a zone; 0 for all.")
        .prints(|section| {
            let zones = print::pattern::write_pointers(section).filter(|zones| zones.capacity != zones.zone);
            zones.map(|zones| crate::notation::format_size(zones.capacity.0))
        })
        .effects(&[
            ("--rw=write --zonemode=zbd --zonesize=8k --zonecapacity=4k", "stream.pattern.access.0.capacity=4096"),
        ]),
    size(tier2(1130), field!(zones.zonerange)).default("0").example("256m")
        .help("Size of a zone.")
        .prints(|section| print::pattern::zones(section).map(|zones| crate::notation::format_size(zones.range.0)))
        .effects(&[("--zonemode=strided --zonesize=8k --zonerange=16k", "stream.pattern.access.0.range=16384")]),
    amount(tier2(1140), field!(zones.zoneskip)).default("0").example("256m").help("Bytes between two zones.")
        .prints(|section| print::pattern::zones(section).map(|zones| crate::notation::format_size(zones.skip.0)))
        .effects(&[("--zonemode=strided --zonesize=8k --zoneskip=32k", "stream.pattern.access.0.skip=32768")]),
    boolean(tier2(1150), field!(zones.read_beyond_wp)).default("0").example("1")
        .help("Also read beyond the write pointer.")
        .prints(|section| print::on(print::pattern::write_pointers(section).is_some_and(|zones| zones.read_beyond)))
        .effects(&[("--rw=randread --zonemode=zbd --zonesize=8k --read_beyond_wp=1", "stream.pattern.access.0.read_beyond=true")]),
    int(tier2(1160), field!(zones.max_open_zones)).default("0").example("14")
        .help("Maximum open zones of a file; 0 for no limit.")
        .prints(|section| print::positive(print::pattern::write_pointers(section)?.open.into()))
        .effects(&[("--rw=randwrite --zonemode=zbd --zonesize=8k --max_open_zones=14", "stream.pattern.access.0.open=14")]),
    int(tier2(1170), field!(zones.job_max_open_zones)).default("0").example("14")
        .help("Like max_open_zones, but per job; the smaller limit applies.")
        .effects(&[("--rw=randwrite --zonemode=zbd --zonesize=8k --job_max_open_zones=3", "stream.pattern.access.0.open=3")]),
    boolean(tier2(1180), field!(zones.ignore_zone_limits)).default("0").example("1")
        .help("Ignore the device's zone limits.")
        .without_effect("the job defines the zones, not the device"),
    boolean(tier2(1190), field!(zones.recover_zbd_write_error)).default("0").example("1")
        .help("Continue after a failed write to a zone.")
        .without_effect("the device has no write pointers"),
    refused(tier3(1200), "write_zone_remainder", "bool", "a zoned device that reports the remainder \
        of a zone").default("0").example("1")
        .help("Fill the remainder of a zone."),
    real(tier2(1210), field!(zones.zone_reset_threshold)).max(1).default("0").example("0.5")
        .help("Reset zones early once this share of the zones holds data.")
        .prints(|section| Some(print::pattern::write_pointers(section)?.reset?.above.to_string()))
        .effects(&[
            (
                "--rw=randwrite --zonemode=zbd --zonesize=8k --zone_reset_threshold=0.5 --zone_reset_frequency=0.25",
                "stream.pattern.access.0.reset={above:0.5,share:0.25}",
            ),
        ]),
    real(tier2(1220), field!(zones.zone_reset_frequency)).max(1).default("0").example("0.1")
        .help("Share of writes that reset a zone early.")
        .prints(|section| Some(print::pattern::write_pointers(section)?.reset?.share.to_string()))
        .effects(&[
            (
                "--rw=randwrite --zonemode=zbd --zonesize=8k --zone_reset_threshold=0.5 --zone_reset_frequency=0.25",
                "stream.pattern.access.0.reset={above:0.5,share:0.25}",
            ),
        ]),
    refused(tier3(1230), "fdp", "bool", PLACEMENT).default("0").example("1").help("Flexible data placement."),
    refused(tier3(1240), "dataplacement", "word", PLACEMENT).aliases(&["data_placement"]).default("none").example("fdp")
        .help("Data placement type."),
    refused(tier3(1250), "plid_select", "word", PLACEMENT).aliases(&["fdp_pli_select"]).default("roundrobin").example("random")
        .help("Selection of placement identifiers."),
    refused(tier3(1260), "plids", "word", PLACEMENT).aliases(&["fdp_pli"]).example("0,1").help("Placement identifiers."),
    refused(tier3(1270), "dp_scheme", "text", PLACEMENT).example("scheme.txt").help("File with the placement scheme."),
    boolean(tier2(1280), field!(zones.sprandom)).default("0").example("1")
        .help("Bring an SSD, in one pass, into the state that long random writes leave.")
        .lowers_with(pattern::check_aging).prints(|section| print::on(print::pattern::aged(section).is_some()))
        .effects(&[("--rw=randwrite --sprandom=1", "stream.pattern.access.*.placement.distribution=[aged]")]),
    int(tier2(1290), field!(zones.spr_num_regions)).min(2).max(1 << 20).default("100").example("200")
        .help("Number of regions of the sprandom pass.")
        .prints(|section| print::pattern::aged(section).map(|aged| aged.regions.to_string()))
        .effects(&[("--rw=randwrite --sprandom=1 --spr_num_regions=50", "stream.pattern.access.0.placement.regions=50")]),
    real(tier2(1300), field!(zones.spr_op)).default("0.15").example("0.28")
        .help("Over-provisioning of the device, as a share between 0 and 1.")
        .prints(|section| print::pattern::aged(section).map(|aged| aged.spare.to_string()))
        .effects(&[("--rw=randwrite --sprandom=1 --spr_op=0.25", "stream.pattern.access.0.placement.spare=0.25")]),
    size(tier2(1310), field!(zones.spr_cs)).default("0").example("1g")
        .help("Write cache size of the device; blocks are overwritten one region later.")
        .prints(|section| print::size(print::pattern::aged(section)?.cache.0))
        .effects(&[("--rw=randwrite --sprandom=1 --spr_cs=8k", "stream.pattern.access.0.placement.cache=8192")]),
};
