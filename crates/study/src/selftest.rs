//! Measures the generator itself: the maximum rate of each engine without storage, and the delay of
//! scheduled operations.

use model::plan::{
    CacheMode, ENGINES, Effect, EngineChoice, EngineInfo, EngineKind, Origin, Phases, Plan, Prepare, Rate, Step, Stop,
    Target, TargetId, TargetKind, Workload,
};
use model::results::Results;
use model::{Bytes, Nanos};

use crate::figures::Figures;

/// Size of the file that engines read from the page cache.
const FILE_SIZE: Bytes = Bytes(64 << 20);
/// The second queue depth for asynchronous engines; the first is 1.
const ASYNC_DEPTH: u32 = 32;
/// The rate for the timer test.
const TIMER_RATE: u64 = 4000;

/// One row of the self-test.
#[derive(Clone, Debug, PartialEq)]
pub struct Ceiling {
    /// The tested engine.
    pub engine: EngineKind,
    /// Queue depth.
    pub depth: u32,
    /// Operations per second of one worker; absent if the engine does not work here.
    pub iops: Option<f64>,
    /// CPU time per operation.
    pub cpu_per_operation: Option<Nanos>,
    /// Median latency.
    pub median: Option<Nanos>,
    /// The reason why the figures are absent.
    pub failure: Option<String>,
}

/// The delay of scheduled operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jitter {
    /// Operations per second that were due.
    pub rate: u64,
    /// Half of the operations start later than this.
    pub median: Nanos,
    /// One operation in a hundred starts later than this.
    pub p99: Nanos,
    /// The longest delay.
    pub max: Nanos,
    /// Number of operations measured.
    pub operations: u64,
}

/// The engines and depths to test: the null engine, then the others on a file in the page cache.
fn tested_engines() -> Vec<(EngineKind, u32)> {
    let null = std::iter::once(EngineKind::Null.info());
    let real = ENGINES.iter().filter(|engine| {
        engine.native && engine.is_here() && engine.effect == Effect::Transfer && engine.kind != EngineKind::Auto
    });
    let depths = |engine: &EngineInfo| if engine.synchronous { 1 } else { 2 };
    null.chain(real)
        .flat_map(|engine| {
            [1, ASYNC_DEPTH]
                .into_iter()
                .take(depths(engine))
                .map(|depth| (engine.kind, depth))
        })
        .collect()
}

/// A plan for each engine and depth, and a last one for the timer. They are separate so that an
/// unavailable engine does not stop the others. `folder` receives the test file; `length` is the
/// measured window of each.
pub fn plans(folder: &str, length: Nanos) -> Vec<Plan> {
    let engine_plan = |(engine, depth): (EngineKind, u32)| plan(folder, length, engine, depth, None);
    let timer = plan(folder, length, EngineKind::Null, 1, Some(Rate::iops(TIMER_RATE)));
    tested_engines().into_iter().map(engine_plan).chain([timer]).collect()
}

fn plan(folder: &str, length: Nanos, engine: EngineKind, depth: u32, rate: Option<Rate>) -> Plan {
    let target = match engine {
        EngineKind::Null => Target {
            path: "null".into(),
            kind: TargetKind::Nothing { size: Bytes(1 << 40) },
            ..Target::default()
        },
        _ => Target {
            path: folder.into(),
            prepare: Prepare::Filled { size: Some(FILE_SIZE) },
            ..Target::default()
        },
    };
    let workload = Workload {
        depth,
        rate,
        cache: CacheMode {
            fill_before: engine != EngineKind::Null,
            mapping: (engine == EngineKind::Mmap).then(Default::default),
            ..CacheMode::BUFFERED
        },
        engine: EngineChoice::new(engine),
        phases: Phases::with_warm_up(Nanos(length.0 / 4)),
        ..Workload::new(engine.name(), vec![TargetId(0)], Stop::after(length))
    };
    Plan {
        name: "selftest".into(),
        seed: 1,
        targets: vec![target],
        steps: vec![Step {
            jobs: vec![workload.build_job(0)],
            ..Step::default()
        }],
        origin: Origin::default(),
        ..Plan::default()
    }
}

/// The row of plan `number` of [`plans`]; `None` for the last one, the timer's.
pub fn ceiling(number: usize, outcome: Result<&Results, String>) -> Option<Ceiling> {
    let (engine, depth) = *tested_engines().get(number)?;
    let empty = Ceiling {
        engine,
        depth,
        iops: None,
        cpu_per_operation: None,
        median: None,
        failure: None,
    };
    let figures = match outcome {
        Ok(results) => Figures::from_results(results, 0).ok_or_else(|| "nothing was measured".to_owned()),
        Err(why) => Err(why),
    };
    Some(match figures {
        Ok(figures) => Ceiling {
            iops: Some(figures.iops),
            cpu_per_operation: Some(figures.cpu_per_operation),
            median: Some(figures.median),
            ..empty
        },
        Err(why) => Ceiling {
            failure: Some(why),
            ..empty
        },
    })
}

/// The delay of scheduled operations in the results of the last plan.
pub fn jitter(results: &Results) -> Option<Jitter> {
    let total = results.steps.first()?.jobs.first()?.total();
    let delay = total.schedule_delay.as_ref()?;
    Some(Jitter {
        rate: TIMER_RATE,
        median: Nanos(delay.quantile(0.5)),
        p99: Nanos(delay.quantile(0.99)),
        max: Nanos(delay.max()),
        operations: delay.n(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_plan_is_valid() {
        let plans = plans("/tmp", Nanos::millis(100));
        assert_eq!(plans.len(), tested_engines().len() + 1);
        for plan in &plans {
            assert_eq!(run::check(plan), Ok(()), "{:?}", plan.steps[0].jobs[0].name);
        }
    }

    #[test]
    fn an_unavailable_engine_keeps_its_row() {
        let row = ceiling(2, Err("it is not available here".into())).unwrap();
        assert_eq!((row.engine, row.iops), (tested_engines()[2].0, None));
        assert_eq!(row.failure.as_deref(), Some("it is not available here"));
        assert_eq!(ceiling(tested_engines().len(), Err(String::new())), None);
    }
}
