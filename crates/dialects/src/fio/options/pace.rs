//! Rates, pauses, latency limits.

use model::PerDirection;

/// The values of these options.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pace {
    pub thinktime: u64,
    pub thinktime_spin: u64,
    pub thinktime_blocks: i64,
    pub thinktime_blocks_type: ThinkBlocks,
    pub thinktime_iotime: u64,
    pub thinkcycles: i64,
    pub rate: PerDirection<u64>,
    pub rate_min: PerDirection<u64>,
    pub rate_process: RateProcess,
    pub rate_cycle: i64,
    pub rate_ignore_thinktime: bool,
    pub rate_iops: PerDirection<u64>,
    pub rate_iops_min: PerDirection<u64>,
    pub max_latency: PerDirection<u64>,
    pub latency_target: u64,
    pub latency_window: u64,
    pub latency_percentile: f64,
    pub latency_run: bool,
    pub steadystate: Criterion,
    pub steadystate_duration: u64,
    pub steadystate_ramp_time: u64,
    pub steadystate_check_interval: u64,
    pub steadystate_limit: f64,
    pub steadystate_percent: bool,
}

choices! {
    /// Which operations thinktime_blocks counts.
    ThinkBlocks at pace.thinktime_blocks_type {
        #[default] Complete: "complete" "those that completed";
        Issue: "issue" "those that were issued";
    }

    /// How operations are spaced.
    RateProcess at pace.rate_process {
        #[default] Linear: "linear" "evenly";
        Poisson: "poisson" "at random, with exponential gaps";
    }

    /// The measure that must be steady.
    Criterion at pace.steadystate {
        Iops: "iops" "largest deviation of operations per second";
        #[default] IopsSlope: "iops_slope" "slope of operations per second";
        Bw: "bw" "largest deviation of bandwidth";
        BwSlope: "bw_slope" "slope of bandwidth";
        Lat: "lat" "largest deviation of latency";
        LatSlope: "lat_slope" "slope of latency";
    }
}
