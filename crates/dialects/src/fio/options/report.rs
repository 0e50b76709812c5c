//! fio's options for measurement and reports.

/// The values of these options.
#[derive(Clone, Debug, Default, PartialEq)]
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

choices! {
    /// How directions are reported.
    Unified at report.unified_rw_reporting {
        #[default] None: "none" "each separately";
        Mixed: "mixed" "together";
        Both: "both" "each separately and all together";
        + "0" "as none" => None; "1" "as mixed" => Mixed; "2" "as both" => Both;
    }

    /// The meaning of k.
    KbBase at report.kb_base {
        #[default] Binary: "1024" "1024";
        Decimal: "1000" "1000";
    }

    /// Bytes or bits.
    UnitBase at report.unit_base {
        #[default] Automatic: "0" "automatic";
        Bytes: "8" "bytes";
        Bits: "1" "bits";
    }
}
