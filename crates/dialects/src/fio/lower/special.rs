//! Lowers engines without I/O, which work on names, use processors, or run a program.

use model::Nanos;
use model::access::{Access, Advance, AtEnd, Sequential};
use model::plan::{CpuWork, Pattern, Program, Think, ThinkCount};

use super::pattern as usual;
use crate::fio::draft::{Draft, from_micros};
use crate::fio::options::JobOptions;
use crate::fio::options::engine::CpuMode;

/// A duration that means "until stopped".
pub(in crate::fio) const ENDLESS: Nanos = Nanos::secs(1 << 30);

/// Numbers sorted in one operation.
const NUMBERS_PER_SORT: u64 = 256 * 1024;
/// The interval at which a program is polled.
const POLL_INTERVAL: Nanos = Nanos::millis(50);

/// The target share of a processor, in percent; 0 if not set.
pub(in crate::fio) fn load(options: &JobOptions) -> u64 {
    options.engine.cpuload.clamp(0, 100) as u64
}

fn work_time(options: &JobOptions) -> Nanos {
    from_micros(options.engine.cpuchunks.max(1) as u64)
}

/// Lowers the work of a processor engine.
pub(in crate::fio) fn lower_work(draft: &mut Draft<'_>) {
    let options = &*draft.options;
    draft.parts.worker.engine.work = (options.queue.ioengine == "cpuio").then(|| match options.engine.cpumode {
        CpuMode::Noop => CpuWork::Spin {
            time_ns: work_time(options),
        },
        CpuMode::Qsort => CpuWork::Sort {
            numbers: NUMBERS_PER_SORT,
            percent: load(options).max(1) as u8,
        },
    });
}

/// Lowers the program of the `exec` engine.
pub(in crate::fio) fn lower_program(draft: &mut Draft<'_>) {
    let options = &*draft.options;
    let engine_options = &options.engine;
    if options.queue.ioengine != "exec" {
        return;
    }
    let name = options.job.name.clone().unwrap_or_default();
    let file = |end: &str| engine_options.std_redirect.then(|| format!("{name}.{end}"));
    draft.parts.worker.engine.program = Some(Program {
        path: engine_options.program.clone().unwrap_or_default(),
        arguments: arguments(options)
            .unwrap_or_default()
            .split_whitespace()
            .map(str::to_owned)
            .collect(),
        output: file("stdout"),
        errors: file("stderr"),
        look_ns: POLL_INTERVAL,
        // Without a runtime it is terminated at the first poll, as in fio.
        ends_after_ns: from_micros(options.job.runtime),
        grace_ns: Nanos::secs(engine_options.grace_time.max(0) as u64),
    });
}

/// The arguments of a program: `%r` is replaced by the time of the job in seconds, `%n` by its
/// name.
pub(in crate::fio) fn arguments(options: &JobOptions) -> Option<String> {
    let arguments = options.engine.arguments.as_deref()?;
    let seconds = (options.job.runtime / 1_000_000).to_string();
    let name = options.job.name.as_deref().unwrap_or_default();
    Some(arguments.replace("%r", &seconds).replace("%n", name))
}

/// The fixed pauses of engines that ignore `thinktime`; `None` for the others.
pub(super) fn think(options: &JobOptions) -> Option<Option<Think>> {
    let pause = match (options.queue.ioengine.as_str(), options.engine.cpumode, load(options)) {
        ("exec", _, _) => POLL_INTERVAL,
        // The engine itself pauses.
        ("cpuio", CpuMode::Qsort, _) | ("cpuio", _, 0) => Nanos(0),
        ("cpuio", CpuMode::Noop, load) => Nanos(work_time(options).0 * (100 - load) / load),
        _ => return None,
    };
    let think = Think::new(pause, 1, ThinkCount::Completed);
    Some(Some(think).filter(|think| think.pause_ns.0 > 0))
}

/// Lowers `exit_on_io_done`: the job ends when all I/O jobs have ended.
pub(in crate::fio) fn lower_ends_with_io(draft: &mut Draft<'_>) {
    let ends = draft.options.queue.ioengine == "cpuio" && draft.options.engine.exit_on_io_done;
    draft.parts.job.ends_with_io = ends;
}

/// Only the first operation on a name has an effect, so names are visited in order.
pub(super) fn pattern(options: &JobOptions) -> Pattern {
    Pattern {
        access: vec![Access::Sequential(Sequential {
            advance: Advance::Length { skip: 0 },
            at_end: AtEnd::Finish,
            ..Sequential::default()
        })],
        ..usual::pattern(options)
    }
}
