//! The statistics that steer a run or judge it. Pure functions from numbers to numbers; each names its source.

mod changes;
mod intervals;
mod modes;
mod periods;
mod quantiles;
mod ranks;
mod steady;

pub use changes::{Segment, median, segments, variation};
pub use intervals::{BatchMeans, batch_means, lag_one_correlation, mean, sample_deviation, wilson};
pub use modes::{TwoModes, two_modes};
pub use periods::{Period, autocorrelation, period};
pub use quantiles::{normal_cdf, normal_quantile, student_cdf, student_quantile};
pub use ranks::{Support, quantile_interval, rank_interval, support};
pub use steady::{Line, SniaWindow, fit_line, snia_window};
