//! Progress of a run: a line, or a view that fills a terminal. Both are made from events. The
//! caller knows the terminal, and reads clocks and counters.

mod line;
mod metrics;
mod state;
mod view;

pub use line::{Live, Update};
pub use metrics::Metrics;
pub use state::{Machine, State};
pub use view::{Look, draw};
