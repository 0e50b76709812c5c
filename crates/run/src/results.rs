//! Results without measurements: the plan and the machine.

use std::time::{SystemTime, UNIX_EPOCH};

use engine::Clock;
use engine::probe::{self, System};
use model::environment::Environment;
use model::plan::Plan;
use model::results::{HostResults, Results, StepResults, Tool};

/// Incremented whenever a change of the measuring code may change figures.
pub const ENGINE_REVISION: u32 = 1;

/// Results of a plan that was not executed, for reports that only repeat the settings.
pub fn nothing_measured(plan: Plan, clock: &Clock) -> Results {
    let steps = plan.steps.iter().map(StepResults::not_started).collect();
    let environment = probe::environment(&System::live(), clock.describe());
    Results {
        steps,
        ..without_steps(plan, environment)
    }
}

/// Results of one host that begin and end now.
pub(crate) fn without_steps(plan: Plan, environment: Environment) -> Results {
    let now = unix_now_ns();
    let tool = Tool {
        name: "fathom".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        engine_revision: ENGINE_REVISION,
    };
    let host = HostResults {
        environment,
        started_unix_ns: now,
        ended_unix_ns: now,
        system: None,
        idleness: None,
    };
    Results::new(tool, plan, vec![host], Vec::new())
}

/// The wall clock, in nanoseconds since 1970.
pub(crate) fn unix_now_ns() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_nanos() as u64)
}
