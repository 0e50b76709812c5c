//! Due times of a paced stream, independent of when operations complete.

use crate::draws::{Draws, Purpose};
use crate::plan::{CatchUp, Process, Rate, RateProfile, RateUnit};
use crate::units::Nanos;

/// Overdue operations have at most this number of distinct ages, so that a long backlog takes no
/// time.
const MAX_AGES: u64 = 10_000;

/// The state of a schedule. Due times are absolute: operations due during a stall keep their due
/// times, so that their latency includes the wait (no coordinated omission).
#[derive(Clone, Debug)]
pub struct Schedule {
    rate: Rate,
    purpose: Purpose,
    /// When the next operation is due, at a constant rate.
    due: Nanos,
    /// The start, and how the rate varies afterwards.
    rate_profile: Option<Box<(Nanos, RateProfile)>>,
    /// Fraction of a nanosecond beyond `due`, in units of 1/`rate.amount`.
    remainder: u64,
    /// Operations dropped because the schedule was too far behind.
    dropped: u64,
    /// Bytes of the last operation, to estimate the dropped operations of a byte rate.
    last_length: u32,
}

impl Schedule {
    /// A schedule whose first operation is due at `start` plus its phase. `purpose` is the
    /// generator of random gaps.
    pub fn new(rate: Rate, start: Nanos, purpose: Purpose, draws: &mut Draws) -> Schedule {
        let mut schedule = Schedule {
            rate,
            purpose,
            due: start + rate.phase_ns,
            rate_profile: None,
            remainder: 0,
            dropped: 0,
            last_length: 0,
        };
        if rate.process != Process::Linear {
            schedule.add_random_gap(draws, 1);
        }
        schedule
    }

    /// The same schedule, with a rate that varies from `start` on.
    pub fn with_rate_profile(self, start: Nanos, profile: Option<&RateProfile>) -> Schedule {
        Schedule {
            rate_profile: profile.map(|profile| Box::new((start, profile.clone()))),
            ..self
        }
    }

    /// When the next operation is due.
    #[inline(always)]
    pub fn due(&self) -> Nanos {
        self.due_with_profile(self.due)
    }

    /// When an operation is due that a constant rate would make due at `even`.
    #[inline(always)]
    fn due_with_profile(&self, even: Nanos) -> Nanos {
        match self.rate_profile.as_deref() {
            None => even,
            Some((start, profile)) => *start + stretch(profile, even.since(*start)),
        }
    }

    /// Advances by an operation of `length` bytes.
    pub fn advance(&mut self, length: u32, draws: &mut Draws) {
        self.last_length = length;
        let units = match self.rate.unit {
            RateUnit::Operations => 1,
            RateUnit::Bytes => u64::from(length),
        };
        match self.rate.process {
            Process::Linear => self.add_gap(units),
            Process::Poisson | Process::Uniform => self.add_random_gap(draws, units),
        }
    }

    /// Adds `units` × `per` / `amount` nanoseconds to the due time. Carries the fraction, so that
    /// rounding does not accumulate.
    fn add_gap(&mut self, units: u64) {
        let amount = u128::from(self.rate.amount.max(1));
        let ticks = u128::from(units) * u128::from(self.rate.per_ns.0) + u128::from(self.remainder);
        self.due += Nanos(u64::try_from(ticks / amount).unwrap_or(u64::MAX));
        self.remainder = (ticks % amount) as u64;
    }

    /// Adds a random gap with the same mean to the due time: −ln(1 − U) × mean if exponentially
    /// distributed.
    fn add_random_gap(&mut self, draws: &mut Draws, units: u64) {
        let mean = units as f64 * self.rate.per_ns.0 as f64 / self.rate.amount.max(1) as f64;
        let drawn = draws.next_f64(self.purpose);
        let gap = match self.rate.process {
            Process::Uniform => 2.0 * drawn * mean,
            Process::Linear | Process::Poisson => -libm::log(1.0 - drawn) * mean,
        };
        self.due += Nanos(gap.round() as u64);
    }

    /// Shifts the whole schedule, for streams that do not make up for pauses.
    pub fn shift(&mut self, by: Nanos) {
        self.due += by;
    }

    /// Drops operations that are too far behind, if the plan limits the backlog. Call it before
    /// `due`.
    pub fn limit_backlog(&mut self, now: Nanos, draws: &mut Draws) {
        if let CatchUp::Within(limit) = self.rate.catch_up {
            while now.since(self.due()) > limit {
                self.dropped += 1;
                let length = self.last_length.max(1);
                self.advance(length, draws);
            }
        }
    }

    /// Operations dropped so far.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Operations due before `end` that were not issued. They count as late at the end of a run.
    pub fn overdue(&self, end: Nanos) -> u64 {
        if self.due() >= end {
            return 0;
        }
        let end = match self.rate_profile.as_deref() {
            None => end,
            Some((start, profile)) => *start + shrink(profile, end.since(*start)),
        };
        1 + (end.since(self.due).0 as f64 / self.mean_gap()) as u64
    }

    /// The ages at `end` of these operations, each with a number of operations that are at least as
    /// old. Random gaps count with their mean.
    pub fn overdue_ages(&self, end: Nanos) -> impl Iterator<Item = (Nanos, u64)> {
        let (count, gap) = (self.overdue(end), self.mean_gap());
        let group = count.div_ceil(MAX_AGES).max(1);
        (0..count.div_ceil(group)).map(move |index| {
            let next = count.min((index + 1) * group);
            let youngest = self.due + Nanos(((next - 1) as f64 * gap) as u64);
            (end.since(self.due_with_profile(youngest)), next - index * group)
        })
    }

    /// The mean time between operations at a constant rate, in nanoseconds.
    fn mean_gap(&self) -> f64 {
        let units = match self.rate.unit {
            RateUnit::Operations => 1,
            RateUnit::Bytes => u64::from(self.last_length.max(1)),
        };
        (units as f64 * self.rate.per_ns.0 as f64 / self.rate.amount.max(1) as f64).max(1e-9)
    }
}

/// Converts the due time `even` of a constant rate to the time when the varying rate has produced
/// as many operations. Within a span without operations, that is the end of the span.
fn stretch(profile: &RateProfile, even: Nanos) -> Nanos {
    let period: u64 = profile.spans.iter().map(|span| span.length_ns.0).sum();
    let (rounds, mut rest) = (even.0 / period, (even.0 % period) as f64);
    let mut time = rounds * period;
    for span in &profile.spans {
        let (length, factor) = (span.length_ns.0, span.percent / 100.0);
        let share = length as f64 * factor;
        // Tolerate half a nanosecond of rounding.
        if rest + 0.5 < share {
            time += (rest / factor) as u64;
            break;
        }
        rest -= share;
        time += length;
    }
    const SECOND: u64 = 1_000_000_000;
    Nanos(if profile.at_once { time - time % SECOND } else { time })
}

/// The reverse of [`stretch`].
fn shrink(profile: &RateProfile, time: Nanos) -> Nanos {
    let period: u64 = profile.spans.iter().map(|span| span.length_ns.0).sum();
    let mut rest = time.0 % period;
    let mut even = (time.0 - rest) as f64;
    for span in &profile.spans {
        let within_span = rest.min(span.length_ns.0);
        even += within_span as f64 * span.percent / 100.0;
        rest -= within_span;
    }
    Nanos(even as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draws::GeneratorChoice;
    use crate::plan::RateSpan;

    /// As in a recorded Vdbench run with `iorate=(100,1,300,1,0,1)`: 100 operations in the first
    /// second, 300 in the second, none in the third.
    #[test]
    fn a_varying_rate_has_its_operations_in_each_second() {
        let span = |percent| RateSpan {
            length_ns: Nanos::secs(1),
            percent,
        };
        for (process, at_once) in [
            (Process::Linear, true),
            (Process::Linear, false),
            (Process::Poisson, false),
        ] {
            let profile = RateProfile {
                spans: vec![span(75.0), span(225.0), span(0.0)],
                at_once,
            };
            assert!(profile.is_valid());
            let rate = Rate {
                process,
                amount: 400,
                per_ns: Nanos::secs(3),
                ..Rate::iops(0)
            };
            let mut draws = GeneratorChoice::Native { seed: 5 }.start();
            let start = Nanos(700);
            let mut schedule = Schedule::new(rate, start, Purpose::GapRead, &mut draws);
            schedule = schedule.with_rate_profile(start, Some(&profile));
            assert!(process != Process::Linear || schedule.overdue(start + Nanos::secs(1)) == 101);
            let mut counts = [0_u32; 6];
            let mut last = start;
            while schedule.due().since(start) < Nanos::secs(6) {
                let due = schedule.due();
                assert!(due >= last);
                last = due;
                let second = due.since(start).0 / 1_000_000_000;
                assert!(!at_once || due == start + Nanos::secs(second));
                counts[second as usize] += 1;
                schedule.advance(4096, &mut draws);
            }
            match process {
                Process::Linear => assert_eq!(counts, [100, 300, 0, 100, 300, 0]),
                _ => assert!(
                    counts[2] + counts[5] == 0
                        && (150..250).contains(&(counts[0] + counts[3]))
                        && (510..690).contains(&(counts[1] + counts[4])),
                    "{counts:?}"
                ),
            }
            assert_eq!(schedule.overdue(Nanos(0)), 0);
        }
    }

    #[test]
    fn a_linear_schedule_does_not_drift() {
        let mut draws = GeneratorChoice::Native { seed: 1 }.start();
        for amount in [1, 3, 7, 1_000, 4_000, 49_999, 3_000_000] {
            let mut schedule = Schedule::new(Rate::iops(amount), Nanos(500), Purpose::GapRead, &mut draws);
            for _ in 0..amount * 3 {
                schedule.advance(4096, &mut draws);
            }
            assert_eq!(schedule.due(), Nanos(500) + Nanos::secs(3), "{amount}");
        }
    }

    #[test]
    fn shares_of_a_total_interleave_and_add_up() {
        let mut draws = GeneratorChoice::Native { seed: 1 }.start();
        let total = Rate::iops(1000);
        let mut due: Vec<u64> = Vec::new();
        for worker in 0..3 {
            let mut schedule = Schedule::new(total.share(worker, 3), Nanos(0), Purpose::GapRead, &mut draws);
            for _ in 0..100 {
                due.push(schedule.due().0);
                schedule.advance(4096, &mut draws);
            }
        }
        due.sort_unstable();
        for (k, due) in due.iter().enumerate() {
            assert_eq!(*due, k as u64 * 1_000_000);
        }
    }

    #[test]
    fn bytes_are_paced_by_their_number() {
        let mut draws = GeneratorChoice::Native { seed: 1 }.start();
        let mut schedule = Schedule::new(Rate::bytes(1 << 20), Nanos(0), Purpose::GapRead, &mut draws);
        schedule.advance(1 << 19, &mut draws);
        assert_eq!(schedule.due(), Nanos::millis(500));
        schedule.advance(1 << 18, &mut draws);
        assert_eq!(schedule.due(), Nanos::millis(750));
    }

    #[test]
    fn poisson_gaps_have_the_right_mean_and_spread() {
        let mut draws = GeneratorChoice::Native { seed: 7 }.start();
        let rate = Rate {
            process: Process::Poisson,
            ..Rate::iops(1000)
        };
        let mut schedule = Schedule::new(rate, Nanos(0), Purpose::GapRead, &mut draws);
        let mut last = schedule.due().0;
        let (mut sum, mut squares, n) = (0.0, 0.0, 100_000);
        for _ in 0..n {
            schedule.advance(4096, &mut draws);
            let gap = (schedule.due().0 - last) as f64;
            last = schedule.due().0;
            sum += gap;
            squares += gap * gap;
        }
        let mean = sum / f64::from(n);
        let deviation = (squares / f64::from(n) - mean * mean).sqrt();
        // Three standard errors of an exponential distribution with mean 1 ms.
        assert!((mean - 1e6).abs() < 1e4, "{mean}");
        assert!((deviation - 1e6).abs() < 2e4, "{deviation}");
    }

    #[test]
    fn a_capped_backlog_is_dropped_and_counted() {
        let mut draws = GeneratorChoice::Native { seed: 1 }.start();
        let rate = Rate {
            catch_up: CatchUp::Within(Nanos::millis(10)),
            ..Rate::iops(1000)
        };
        let mut schedule = Schedule::new(rate, Nanos(0), Purpose::GapRead, &mut draws);
        schedule.limit_backlog(Nanos::millis(100), &mut draws);
        assert_eq!(schedule.due(), Nanos::millis(90));
        assert_eq!(schedule.dropped(), 90);
        assert_eq!(schedule.overdue(Nanos::millis(100)), 11);
        assert_eq!(schedule.overdue(Nanos::millis(90)), 0);
    }

    #[test]
    fn overdue_operations_have_the_ages_of_their_due_times() {
        let mut draws = GeneratorChoice::Native { seed: 1 }.start();
        let mut ages = |iops: u64, end: Nanos| {
            let schedule = Schedule::new(Rate::iops(iops), Nanos(0), Purpose::GapRead, &mut draws);
            schedule.overdue_ages(end).collect::<Vec<_>>()
        };
        let aged = |micros: u64| (Nanos::micros(micros), 1_u64);
        assert_eq!(ages(1000, Nanos::micros(2500)), [aged(2500), aged(1500), aged(500)]);
        assert!(ages(1000, Nanos(0)).is_empty());
        // Many are grouped; a group has the age of its youngest operation.
        let many = ages(1_000_000, Nanos::secs(1));
        assert_eq!(many.iter().map(|(_, count)| count).sum::<u64>(), 1_000_001);
        assert!(many.len() <= 10_000, "{}", many.len());
        assert!(
            (Nanos::millis(999)..Nanos::secs(1)).contains(&many[0].0),
            "{:?}",
            many[0]
        );
    }
}
