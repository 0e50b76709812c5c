//! Stop rules, requirements and messages of engines without I/O.

use model::plan::{Stop, Worker};

use super::Unusable;
use crate::fio::draft::{JobClone, from_micros};
use crate::fio::lower::special::{ENDLESS, arguments, load};
use crate::fio::options::JobOptions;
use crate::fio::options::engine::CpuMode;

/// EINVAL.
const INVALID: i32 = 22;

/// A job without I/O ends after its runtime or its number of operations. Without either it runs
/// until stopped.
pub(super) fn stop(options: &JobOptions) -> Stop {
    let job = &options.job;
    let operations = Some(job.number_ios).filter(|operations| *operations > 0);
    let time = Some(from_micros(job.runtime)).filter(|time| time.0 > 0);
    Stop {
        after_ns: time.or(Some(ENDLESS)),
        operations,
        ..Stop::default()
    }
}

/// A clone whose engine lacks a requirement.
pub(super) fn find_unusable_engine(clone: JobClone<'_>, place: (usize, usize)) -> Option<Unusable> {
    let options = &clone.job.options;
    let engine = options.queue.ioengine.as_str();
    let missing = match engine {
        "cpuio" => load(options) == 0,
        "exec" => options.engine.program.is_none(),
        _ => false,
    };
    let line = format!("fio: io engine {engine} init failed.");
    missing.then(|| Unusable::new(clone, place, line, (INVALID, engine)))
}

/// A clone whose list of processors is empty, such as `cpus_allowed=1-0`.
pub(super) fn find_empty_affinity(clone: JobClone<'_>, place: (usize, usize), worker: &Worker) -> Option<Unusable> {
    let is_given = !clone.job.options.system.cpus_allowed.is_empty();
    let is_empty = is_given && worker.placement.cpus.is_empty();
    is_empty.then(|| Unusable::new(clone, place, "", (INVALID, "cpu_set_affinity")))
}

/// The lines that fio prints before a clone starts.
pub(super) fn startup_lines(clone: JobClone<'_>) -> Vec<String> {
    let options = &clone.job.options;
    let (name, engine_options) = (clone.job.name(), &options.engine);
    match options.queue.ioengine.as_str() {
        "cpuio" if load(options) > 0 => {
            let mode = match engine_options.cpumode {
                CpuMode::Noop => "noop",
                CpuMode::Qsort => "qsort",
            };
            vec![format!(
                "{name} ({mode}): ioengine=cpuio, cpuload={}, cpucycle={}",
                load(options),
                engine_options.cpuchunks
            )]
        }
        "exec" => match &engine_options.program {
            None => Vec::new(),
            Some(program) => {
                let arguments = engine_options.arguments.as_deref().unwrap_or("(null)");
                let mut lines = vec![format!("{name} : program={program}, arguments={arguments}")];
                if engine_options.std_redirect {
                    lines.push(format!(
                        "{name} : Saving output of {program} {} : stdout={name}.stdout stderr={name}.stderr",
                        self::arguments(options).as_deref().unwrap_or("(null)")
                    ));
                }
                lines
            }
        },
        _ => Vec::new(),
    }
}
