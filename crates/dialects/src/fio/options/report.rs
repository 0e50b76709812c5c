//! What is measured and told.

use super::row::*;
use super::special;

/// The values of these options.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(
    missing_docs,
    reason = "a field is the option of its name, and its row below says what it means"
)]
pub struct Report {
    pub group_reporting: bool,
    pub stats: bool,
    pub clat_percentiles: bool,
    pub lat_percentiles: bool,
    pub slat_percentiles: bool,
    pub percentile_list: Vec<f64>,
    pub significant_figures: i64,
    pub unified_rw_reporting: Unified,
    pub disk_util: bool,
    pub gtod_reduce: bool,
    pub disable_lat: bool,
    pub disable_clat: bool,
    pub disable_slat: bool,
    pub disable_bw_measurement: bool,
    pub kb_base: KbBase,
    pub unit_base: UnitBase,
    pub block_error_percentiles: bool,
    pub job_start_clock_id: i64,
}

/// The rows of these options.
pub const ROWS: &[Row] = &[
    flag(first(2060), "group_reporting", |job| &mut job.report.group_reporting)
        .help("One entry for all jobs of a group."),
    boolean(first(2070), "stats", |job| &mut job.report.stats)
        .default("1")
        .help("The job appears in reports.")
        .example("0"),
    boolean(first(2180), "clat_percentiles", |job| &mut job.report.clat_percentiles)
        .default("1")
        .help("Percentiles of completion latency.")
        .example("0"),
    boolean(first(2190), "lat_percentiles", |job| &mut job.report.lat_percentiles)
        .default("0")
        .help("Percentiles of total latency.")
        .example("1"),
    boolean(first(2200), "slat_percentiles", |job| &mut job.report.slat_percentiles)
        .default("0")
        .help("Percentiles of submission latency.")
        .example("1"),
    reals(first(2210), "percentile_list", |job| &mut job.report.percentile_list)
        .most(100)
        .default("1:5:10:20:30:40:50:60:70:80:90:95:99:99.5:99.9:99.95:99.99")
        .help("Which percentiles.")
        .example("50:99:99.9"),
    int(first(2220), "significant_figures", |job| {
        &mut job.report.significant_figures
    })
    .least(1)
    .most(10)
    .default("4")
    .help("Digits of figures in the normal report.")
    .example("6"),
    word(first(2300), "unified_rw_reporting", UNIFIED_RW_REPORTING_WORDS)
        .default("none")
        .help("Reads, writes and trims are told together.")
        .example("mixed"),
    boolean(first(2230), "disk_util", |job| &mut job.report.disk_util)
        .default("1")
        .help("Activity of the devices below.")
        .example("0"),
    boolean(first(2240), "gtod_reduce", |job| &mut job.report.gtod_reduce)
        .default("0")
        .then(special::reduce_clock_calls)
        .help("Measure no latencies.")
        .example("1"),
    boolean(first(2250), "disable_lat", |job| &mut job.report.disable_lat)
        .default("0")
        .help("Measure no total latency.")
        .example("1"),
    boolean(first(2260), "disable_clat", |job| &mut job.report.disable_clat)
        .default("0")
        .help("Measure no completion latency.")
        .example("1"),
    boolean(first(2270), "disable_slat", |job| &mut job.report.disable_slat)
        .default("0")
        .help("Measure no submission latency.")
        .example("1"),
    boolean(first(2280), "disable_bw_measurement", |job| {
        &mut job.report.disable_bw_measurement
    })
    .aliases(&["disable_bw"])
    .default("0")
    .help("Take no samples of bandwidth.")
    .example("1"),
    word(first(2410), "kb_base", KB_BASE_WORDS)
        .default("1024")
        .help("What k means in sizes and reports.")
        .example("1000"),
    word(first(2420), "unit_base", UNIT_BASE_WORDS)
        .default("0")
        .help("Bytes or bits in reports.")
        .example("8"),
    boolean(second(2040), "block_error_percentiles", |job| {
        &mut job.report.block_error_percentiles
    })
    .default("0")
    .help("Life of blocks until their first error.")
    .example("1"),
    int(second(2050), "job_start_clock_id", |job| {
        &mut job.report.job_start_clock_id
    })
    .default("0")
    .help("Clock of the start time in reports.")
    .example("1"),
];

/// How directions are told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unified {
    /// `none`: each for itself.
    #[default]
    None,
    /// `mixed`: together.
    Mixed,
    /// `both`: each for itself and together.
    Both,
}

const UNIFIED_RW_REPORTING_WORDS: &[Word] = &[
    Word::new("none", "each for itself", |job| {
        job.report.unified_rw_reporting = Unified::None
    }),
    Word::new("mixed", "together", |job| {
        job.report.unified_rw_reporting = Unified::Mixed
    }),
    Word::new("both", "each for itself and together", |job| {
        job.report.unified_rw_reporting = Unified::Both
    }),
    Word::new("0", "as none", |job| job.report.unified_rw_reporting = Unified::None),
    Word::new("1", "as mixed", |job| job.report.unified_rw_reporting = Unified::Mixed),
    Word::new("2", "as both", |job| job.report.unified_rw_reporting = Unified::Both),
];

/// What k means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KbBase {
    /// `1024`: 1024.
    #[default]
    Binary,
    /// `1000`: 1000.
    Decimal,
}

const KB_BASE_WORDS: &[Word] = &[
    Word::new("1024", "1024", |job| job.report.kb_base = KbBase::Binary),
    Word::new("1000", "1000", |job| job.report.kb_base = KbBase::Decimal),
];

/// Bytes or bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnitBase {
    /// `0`: as it suits.
    #[default]
    Automatic,
    /// `8`: bytes.
    Bytes,
    /// `1`: bits.
    Bits,
}

const UNIT_BASE_WORDS: &[Word] = &[
    Word::new("0", "as it suits", |job| job.report.unit_base = UnitBase::Automatic),
    Word::new("8", "bytes", |job| job.report.unit_base = UnitBase::Bytes),
    Word::new("1", "bits", |job| job.report.unit_base = UnitBase::Bits),
];
