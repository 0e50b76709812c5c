//! The phases of one worker on the clock of its engine.

use model::Nanos;
use model::event::Phase;
use model::plan::{Phases, Stop};

/// The phase of a worker, and its next boundary.
#[derive(Clone, Debug)]
pub(crate) struct Timeline {
    phase: Phase,
    /// The start of the current phase.
    phase_start: Nanos,
    /// The end of the current phase by time.
    phase_end: Nanos,
    measured_length: Option<Nanos>,
    /// The deadline of the measured phase and of the verify phase.
    measured_deadline: Nanos,
    cool_down: Nanos,
    interval: Nanos,
    /// The next exchange of recorders.
    exchange: Nanos,
}

impl Timeline {
    /// A timeline whose I/O begins at `start`.
    pub(crate) fn new(phases: &Phases, stop: &Stop, start: Nanos, interval: Nanos) -> Timeline {
        let mut timeline = Timeline {
            phase: Phase::WarmUp,
            phase_start: start,
            phase_end: start + phases.warm_up_ns,
            measured_length: stop.after_ns,
            measured_deadline: Nanos::NEVER,
            cool_down: phases.cool_down_ns,
            interval,
            exchange: start + interval,
        };
        if phases.warm_up_bytes.is_some() && phases.warm_up_ns == Nanos(0) {
            timeline.phase_end = Nanos::NEVER;
        } else if phases.warm_up_ns == Nanos(0) {
            timeline.enter(Phase::Measured, start);
        }
        timeline
    }

    pub(crate) fn phase(&self) -> Phase {
        self.phase
    }

    pub(crate) fn phase_start(&self) -> Nanos {
        self.phase_start
    }

    /// The end of the phase by time.
    pub(crate) fn phase_end(&self) -> Nanos {
        self.phase_end
    }

    pub(crate) fn next_boundary(&self) -> Nanos {
        self.phase_end.min(self.exchange)
    }

    /// The next exchange of recorders.
    pub(crate) fn next_exchange(&self) -> Nanos {
        self.exchange
    }

    /// Records an exchange of recorders at `now`. The next exchange is the next multiple of the
    /// interval after the start of the phase.
    pub(crate) fn record_exchange(&mut self, now: Nanos) {
        let passed = 1 + now.since(self.exchange).0 / self.interval.0;
        self.exchange += Nanos(passed * self.interval.0);
    }

    /// The phase after the current one.
    pub(crate) fn next_phase(&self) -> Phase {
        match self.phase {
            Phase::Delay | Phase::WarmUp => Phase::Measured,
            Phase::Measured if self.cool_down > Nanos(0) => Phase::CoolDown,
            Phase::Measured | Phase::CoolDown | Phase::Verify | Phase::Draining => Phase::Draining,
        }
    }

    /// Lifts the end of the phase and the next exchange, until operations in flight complete.
    pub(crate) fn lift_limits(&mut self) {
        (self.phase_end, self.exchange) = (Nanos::NEVER, Nanos::NEVER);
    }

    /// Enters a phase at the given instant.
    pub(crate) fn enter(&mut self, phase: Phase, at: Nanos) {
        self.phase = phase;
        self.phase_start = at;
        self.phase_end = match phase {
            Phase::Measured => self.measured_length.map_or(Nanos::NEVER, |length| at + length),
            Phase::CoolDown => at + self.cool_down,
            Phase::Verify => self.measured_deadline,
            Phase::Delay | Phase::WarmUp | Phase::Draining => Nanos::NEVER,
        };
        if phase == Phase::Measured {
            self.measured_deadline = self.phase_end;
        }
        self.exchange = if phase == Phase::Draining {
            Nanos::NEVER
        } else {
            at + self.interval
        };
    }
}
