//! The statistics that steer or judge a run: pure functions, each with its source.

mod changes;
mod fits;
mod intervals;
mod modes;
mod paired;
mod periods;
mod quantiles;
mod ranks;
mod steady;
mod trend;

pub use changes::{Segment, median, segments, variation};
pub use fits::{
    Equation, LinearFit, WeightedLine, WeightedPoint, fit_weighted_line, least_squares, non_negative_least_squares,
};
pub use intervals::{BatchMeansInterval, batch_means, lag_one_correlation, mean, sample_deviation, wilson_interval};
pub use modes::{TwoModes, find_two_modes};
pub use paired::{
    MedianInterval, PairedRatio, SignedRanks, adjust_by_holm, detectable_shift, median_interval, paired_ratio,
    signed_ranks,
};
pub use periods::{Period, autocorrelation, period};
pub use quantiles::{
    normal_cdf, normal_quantile, student_cdf, student_quantile, two_sided_student, upper_tail_of_normal,
};
pub use ranks::{Support, quantile_interval, rank_interval, support};
pub use steady::{Line, SniaWindow, fit_line, snia_window};
pub use trend::{InitialTransient, Trend, critical_z, effective_sample_size, mann_kendall, mser5};
