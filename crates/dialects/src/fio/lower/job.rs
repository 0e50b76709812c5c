//! Lowers start delays, warm-up and shared flows.

use model::plan::{Flow, Span};
use model::{Bytes, Nanos};

use crate::fio::draft::{Draft, from_micros};

pub(in crate::fio) fn lower_start_delay(draft: &mut Draft<'_>) {
    let delay = draft.options.job.startdelay;
    draft.parts.job.phases.start_delay = Span {
        low_ns: from_micros(delay.low),
        high_ns: from_micros(delay.high),
    };
}

pub(in crate::fio) fn lower_warm_up(draft: &mut Draft<'_>) {
    let job = &draft.options.job;
    let phases = &mut draft.parts.job.phases;
    phases.warm_up_bytes = Some(Bytes(job.ramp_size)).filter(|bytes| bytes.0 > 0);
    phases.warm_up_ns = match phases.warm_up_bytes {
        // Without a time, only the bytes end the warm-up.
        Some(_) if job.ramp_time == 0 => Nanos::secs(1 << 30),
        _ => from_micros(job.ramp_time),
    };
}

/// Lowers the share of a job in a flow.
pub(in crate::fio) fn lower_flow(draft: &mut Draft<'_>) {
    let job = &draft.options.job;
    let weight = u32::try_from(job.flow).ok().filter(|weight| *weight > 0);
    draft.parts.stream.flow = weight.map(|weight| Flow {
        id: job.flow_id,
        weight,
        pause_ns: from_micros(job.flow_sleep.max(0) as u64),
    });
}
