//! What this machine's generator can do by itself: the ceiling of each engine where no storage is
//! in the way, and how exactly it keeps a schedule.

use model::plan::{
    CacheMode, ENGINES, Effect, EngineChoice, EngineInfo, EngineKind, Origin, Phases, Plan, Prepare, Rate, Step, Stop,
    Target, TargetId, TargetKind, Workload,
};
use model::results::Results;
use model::{Bytes, Nanos};

use crate::figures::Figures;

/// Bytes of the file that engines read from memory.
const FILE: Bytes = Bytes(64 << 20);
/// The queue depth that engines with a queue are tried with, beside one at a time.
const DEEP: u32 = 32;
/// The rate that the timer is tried with.
const RATE: u64 = 4000;

/// One row of the self-test.
#[derive(Clone, Debug, PartialEq)]
pub struct Ceiling {
    /// The engine.
    pub engine: EngineKind,
    /// Queue depth.
    pub depth: u32,
    /// Operations per second of one worker; absent if it could not be had.
    pub iops: Option<f64>,
    /// CPU time per operation.
    pub cpu_per_operation: Option<Nanos>,
    /// Median latency.
    pub median: Option<Nanos>,
    /// Why there are no figures.
    pub why_not: Option<String>,
}

/// How late operations of a schedule start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jitter {
    /// Operations per second that were due.
    pub rate: u64,
    /// Half of them start later than this.
    pub median: Nanos,
    /// One in a hundred starts later than this.
    pub p99: Nanos,
    /// The latest.
    pub max: Nanos,
    /// Operations that it is drawn from.
    pub operations: u64,
}

/// The engines and depths that are tried on a file in memory, and first the engine that does
/// nothing.
fn tried() -> Vec<(EngineKind, u32)> {
    let null = std::iter::once(EngineKind::Null.info());
    let real = ENGINES.iter().filter(|engine| {
        engine.native && engine.is_here() && engine.effect == Effect::Transfer && engine.kind != EngineKind::Auto
    });
    let depths = |engine: &EngineInfo| if engine.synchronous { 1 } else { 2 };
    null.chain(real)
        .flat_map(|engine| {
            [1, DEEP]
                .into_iter()
                .take(depths(engine))
                .map(|depth| (engine.kind, depth))
        })
        .collect()
}

/// A plan for each engine and depth, so that an engine that cannot be had does not stop the others;
/// the last one is for the timer. `folder` takes the file; `length` is the measured window of each.
pub fn plans(folder: &str, length: Nanos) -> Vec<Plan> {
    let of_engine = |(engine, depth): (EngineKind, u32)| plan(folder, length, engine, depth, None);
    let timer = plan(folder, length, EngineKind::Null, 1, Some(Rate::iops(RATE)));
    tried().into_iter().map(of_engine).chain([timer]).collect()
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
            prepare: Prepare::Filled { size: Some(FILE) },
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
            jobs: vec![workload.job(0)],
            ..Step::default()
        }],
        origin: Origin::default(),
        ..Plan::default()
    }
}

/// The row for the `number`th of [`plans`]; `None` for the last, which is the timer's.
pub fn ceiling(number: usize, outcome: Result<&Results, String>) -> Option<Ceiling> {
    let (engine, depth) = *tried().get(number)?;
    let none = Ceiling {
        engine,
        depth,
        iops: None,
        cpu_per_operation: None,
        median: None,
        why_not: None,
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
            ..none
        },
        Err(why) => Ceiling {
            why_not: Some(why),
            ..none
        },
    })
}

/// How exactly the schedule was kept, from the results of the last plan.
pub fn jitter(results: &Results) -> Option<Jitter> {
    let total = results.steps.first()?.jobs.first()?.total();
    let delay = total.schedule_delay.as_ref()?;
    Some(Jitter {
        rate: RATE,
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
    fn every_plan_is_whole() {
        let plans = plans("/tmp", Nanos::millis(100));
        assert_eq!(plans.len(), tried().len() + 1);
        for plan in &plans {
            assert_eq!(run::check(plan), Ok(()), "{:?}", plan.steps[0].jobs[0].name);
        }
    }

    #[test]
    fn an_engine_that_cannot_be_had_keeps_its_row() {
        let row = ceiling(2, Err("it is not here".into())).unwrap();
        assert_eq!((row.engine, row.iops), (tried()[2].0, None));
        assert_eq!(row.why_not.as_deref(), Some("it is not here"));
        assert_eq!(ceiling(tried().len(), Err(String::new())), None);
    }
}
