//! Progress of a run, from its events: a line, or a full-screen view. The caller accesses the
//! terminal, and reads clocks and counters.

mod line;
mod metrics;
mod state;
mod view;

pub use line::{Live, Update};
pub use metrics::Metrics;
pub use state::{Machine, State};
pub use view::{Line, ViewOptions, draw};
