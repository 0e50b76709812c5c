//! Verifies a promise about storage: plans exactly the promised load and judges the results. The
//! load is an open loop: operations are due at the promised rate regardless of the storage, so the
//! full length of a stall is measured. Operations are never due faster, because beyond its limit
//! any storage makes them wait. The share of reads is exact to within one operation.

mod search;
mod text;

use analysis::caps::LimitLayer;
use analysis::lint::is_on_array;
use analysis::policies::{Bound, Burst, DEFAULT_LATENCY_SECS, Reach, ResolvedPolicy, Workload, compute_reach};
use analysis::requirement::{Clause, MAX_IOPS, Metric};
use analysis::verdict::{
    ClauseVerdict, Context, IssuedLoad, Machine, Outcome, UntestedFigure, Verdict, enforced_limits, judge,
};
use model::access::{Access, Sequential};
use model::block_size::BlockSizes;
use model::content::Content;
use model::mix::Mix;
use model::observation::Observation;
use model::plan::{
    self, DepthPer, Grid, GridScope, Origin, Phases, Plan, Prepare, Rate, SimulatedDevice, Step, Stop, Target,
    TargetId, TargetKind, WorkloadPart,
};
use model::results::Results;
use model::{Bytes, Direction, Nanos};

pub use search::{Attempt, PROBE_TIME, PROBE_WARM_UP, SLOTS_MAX, Search, slots_max};
pub use text::{
    NOT_TESTED, PARTLY_PROVEN, Paragraph, TestLength, count_proven, format_clauses, format_reach, format_report,
    headline, headline_for, is_partly_proven, verdict_word,
};

/// Length of the measured window of the short form.
pub const QUICK_TIME: Nanos = Nanos::secs(30);
/// Length of the full form in seconds, unless a policy states one.
pub const FULL_TIME_SECS: f64 = 300.0;
/// Warm-up of the short form.
pub const QUICK_WARM_UP: Nanos = Nanos::secs(5);
/// Minimum rate that one worker issues on any current machine, in operations per second.
const WORKER_IOPS: f64 = 50_000.0;
/// Operations in flight that one worker handles without falling behind its schedule.
const MAX_WORKER_DEPTH: u32 = 64;

/// A load that moves less than this share of a promised throughput does not test it.
const MIN_TESTED_SHARE: f64 = 0.95;

/// A promise about storage: the load and the figures that it must reach.
#[derive(Clone, Debug, PartialEq)]
pub struct Promise {
    /// Name of the policy, or `requirement`.
    pub name: String,
    /// The load for which the promise holds.
    pub workload: Workload,
    /// Operations per second to issue.
    pub rate_iops: f64,
    /// The requirements to judge.
    pub clauses: Vec<Clause>,
    /// The latency that the policy mentions in prose, in nanoseconds.
    pub latency_ns: Option<f64>,
    /// Burst credits of the policy, the machine and the disks, the longest first. A verdict names
    /// the first that could have lasted for the whole test.
    pub bursts: Vec<Burst>,
    /// Limits of the policy, the machine and the disks.
    pub layers: Vec<LimitLayer>,
}

/// The reason why a promise cannot be verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyError {
    /// Why it cannot be verified.
    pub what: String,
    /// The recommended action.
    pub help: String,
}

impl Promise {
    /// The promise of a policy, with additional `requirements`.
    ///
    /// The limits of a `machine` lower the policy's rates: behind it, no disk reaches more.
    ///
    /// # Errors
    /// [`VerifyError`] if there is nothing to judge, or no rate at which to judge it.
    pub fn from_policy(
        policy: &ResolvedPolicy,
        requirements: Vec<Clause>,
        rate: Option<f64>,
        machine: Option<&Machine>,
    ) -> Result<Promise, VerifyError> {
        let (mut clauses, mut workload) = (policy.clauses.clone(), policy.workload);
        if let Some(reach) = machine.map_or(&policy.reach, |machine| &machine.reach) {
            // Only a machine may lower what a policy promises.
            let allowed = machine.map_or(f64::INFINITY, |_| reach.iops.low);
            workload.rate_iops = workload.rate_iops.map(|rate| rate.min(allowed));
            let may_change = |clause: &&mut Clause| {
                allowed.is_finite() || {
                    let is_rate = clause.metric == Metric::Iops && clause.direction.is_none();
                    is_rate && clause.target <= reach.iops.low
                }
            };
            let changed = clauses.iter_mut().filter(may_change);
            changed.for_each(|clause| limit_clause(clause, reach, &workload));
        }
        clauses.extend(requirements);
        let needed = [workload.rate_iops, required_rate(&clauses, &workload)];
        let needed = needed.into_iter().flatten().max_by(f64::total_cmp);
        Promise {
            name: policy.id.clone(),
            workload,
            rate_iops: rate.or(needed).unwrap_or(0.0),
            clauses,
            latency_ns: policy.latency_ns,
            bursts: Vec::new(),
            layers: machine.map_or(&policy.layers, |machine| &machine.layers).clone(),
        }
        .with_credits(&policy.bursts)
        .validate()
    }

    /// A promise without a policy, for a load that the caller describes. Without `rate` the
    /// requirements must name one.
    ///
    /// # Errors
    /// [`VerifyError`] if they name no rate.
    pub fn from_requirement(
        clauses: Vec<Clause>,
        mut workload: Workload,
        rate: Option<f64>,
    ) -> Result<Promise, VerifyError> {
        let rate = rate.or_else(|| required_rate(&clauses, &workload));
        workload.rate_iops = rate;
        Promise {
            name: "requirement".into(),
            workload,
            rate_iops: rate.unwrap_or(0.0),
            clauses,
            latency_ns: None,
            bursts: Vec::new(),
            layers: Vec::new(),
        }
        .validate()
    }

    /// Adds burst credits of the machine and the disks.
    pub fn with_credits(mut self, credits: &[Burst]) -> Promise {
        self.bursts.extend(credits);
        self.bursts.sort_by(|a, b| b.lasts_secs().total_cmp(&a.lasts_secs()));
        self
    }

    fn validate(self) -> Result<Promise, VerifyError> {
        let refuse = |what: &str, help: &str| {
            Err(VerifyError {
                what: what.to_owned(),
                help: help.to_owned(),
            })
        };
        if self.clauses.is_empty() {
            return refuse(
                "there is no requirement to verify",
                "add --require, for example --require 'iops>=4000,p99<=3ms'",
            );
        }
        if let Some(clause) = self.clauses.iter().find(|clause| self.lacks_direction(clause)) {
            let direction = clause.direction.map_or("operation", Direction::word);
            return refuse(
                &format!("{clause} needs {direction}s, but the load has none"),
                "set the percentage of reads, for example --read 70",
            );
        }
        if self.rate_iops > MAX_IOPS {
            let what = format!(
                "{} operations of {} per second exceed the supported maximum",
                Metric::Iops.show(self.rate_iops),
                self.workload.block
            );
            return refuse(
                &what,
                &format!("require at most {MAX_IOPS} operations per second, or use larger blocks"),
            );
        }
        if !self.rate_iops.is_finite() || self.rate_iops <= 0.0 {
            return refuse(
                "the requirement has a latency but no rate: above its maximum rate, any storage makes operations wait",
                "add iops>=… or mbps>=… to the requirement, or set the rate with --rate",
            );
        }
        Ok(self)
    }

    /// True if the load has no operations in the clause's direction.
    fn lacks_direction(&self, clause: &Clause) -> bool {
        match clause.direction {
            None => false,
            Some(Direction::Read) => self.workload.read_percent == 0.0,
            Some(Direction::Write) => self.workload.read_percent == 100.0,
            Some(Direction::Trim) => true,
        }
    }

    /// The promised mean latency in seconds: from a clause, otherwise from the policy's prose.
    fn latency_secs(&self) -> Option<f64> {
        let has_no_direction = |clause: &&Clause| clause.direction.is_none();
        let find = |metric: fn(&Clause) -> bool| {
            self.clauses
                .iter()
                .filter(has_no_direction)
                .find(|clause| metric(clause))
        };
        let mean = find(|clause| clause.metric == Metric::Mean);
        // A promised percentile is also an upper bound of the mean.
        let clause = mean.or_else(|| find(|clause| matches!(clause.metric, Metric::Quantile { .. })));
        clause
            .map(|clause| clause.target)
            .or(self.latency_ns)
            .map(|ns| ns / 1e9)
    }
}

/// The highest rate that the clauses require, in operations per second of both directions.
fn required_rate(clauses: &[Clause], workload: &Workload) -> Option<f64> {
    let rates = clauses.iter().filter_map(|clause| {
        let target = match clause.metric {
            Metric::Iops => clause.target,
            Metric::Throughput => clause.target / workload.block.0 as f64,
            Metric::Mean | Metric::Quantile { .. } | Metric::Availability => return None,
        };
        let share = direction_share(clause, workload);
        (share > 0.0).then(|| target / share)
    });
    rates.max_by(f64::total_cmp)
}

/// The share of the operations that a clause counts.
fn direction_share(clause: &Clause, workload: &Workload) -> f64 {
    match clause.direction {
        None => 1.0,
        Some(Direction::Read) => workload.read_percent / 100.0,
        Some(Direction::Write) => 1.0 - workload.read_percent / 100.0,
        Some(Direction::Trim) => 0.0,
    }
}

/// Lowers a promised rate to what all limits allow, in the figure that binds.
fn limit_clause(clause: &mut Clause, reach: &Reach, workload: &Workload) {
    let share = direction_share(clause, workload);
    if share == 0.0 {
        return;
    }
    if clause.metric == Metric::Iops && reach.bound == Bound::Bytes && clause.target >= share * reach.iops.low {
        (clause.metric, clause.target) = (Metric::Throughput, f64::INFINITY);
    }
    clause.target = match clause.metric {
        Metric::Iops => clause.target.min(share * reach.iops.low),
        Metric::Throughput => clause.target.min(share * reach.bytes_per_sec.low),
        Metric::Mean | Metric::Quantile { .. } | Metric::Availability => clause.target,
    };
    clause.text = clause.to_string();
}

/// A promise and the targets on which to verify it.
#[derive(Clone, Debug, PartialEq)]
pub struct Verification {
    /// The promise to verify.
    pub promise: Promise,
    /// Directories, files, block devices, or names of simulated devices. The promise applies to all
    /// of them together.
    pub paths: Vec<String>,
    /// The device of each path, if they are simulated; else empty.
    pub simulated: Vec<SimulatedDevice>,
    /// Size of the test file.
    pub file_size: Option<Bytes>,
    /// CPUs that workers may use.
    pub cpus: u32,
    /// Threads; absent: as many as the rate needs.
    pub workers: Option<u32>,
    /// Operations in flight; absent: as many as the rate needs.
    pub concurrency: Option<u32>,
    /// Length of the measured window.
    pub measured: Nanos,
    /// Warm-up before it.
    pub warm_up: Nanos,
    /// The user requested the short form.
    pub quick: bool,
    /// Seed of all random decisions.
    pub seed: u64,
    /// The command line.
    pub arguments: Vec<String>,
}

impl Verification {
    /// The load of an attempt.
    pub fn issued(&self, attempt: &Attempt) -> IssuedLoad {
        let (measured_ns, warm_up_ns) = match attempt.is_probe {
            true => (PROBE_TIME.min(self.measured), PROBE_WARM_UP.min(self.warm_up)),
            false => (self.measured, self.warm_up),
        };
        IssuedLoad {
            block: self.promise.workload.block,
            random: self.promise.workload.random,
            read_percent: self.promise.workload.read_percent,
            rate_iops: self.promise.rate_iops,
            concurrency: attempt.slots,
            workers: self.worker_count().min(attempt.slots),
            targets: self.paths.len() as u32,
            warm_up_ns,
            measured_ns,
            quick: self.quick,
            attempt: attempt.number,
        }
    }

    /// Threads needed for the rate and for the operations in flight.
    fn worker_count(&self) -> u32 {
        let rate = self.promise.rate_iops;
        let in_flight = rate * self.promise.latency_secs().unwrap_or(DEFAULT_LATENCY_SECS);
        let enough = (rate / WORKER_IOPS)
            .ceil()
            .max((in_flight / f64::from(MAX_WORKER_DEPTH)).ceil()) as u32;
        // One worker drives a simulated device fastest.
        let max = if !self.simulated.is_empty() {
            1
        } else {
            self.cpus.max(1)
        };
        self.workers.map_or(enough.clamp(1, max), |workers| workers.max(1))
    }

    /// The plan of an attempt.
    pub fn plan(&self, attempt: &Attempt) -> Plan {
        let issued = self.issued(attempt);
        let workload = self.workload(&issued);
        let target = |(number, path): (usize, &String)| Target {
            path: path.clone(),
            kind: match self.simulated.get(number) {
                Some(device) => TargetKind::Simulated { device: device.clone() },
                None => TargetKind::Path,
            },
            prepare: Prepare::Filled { size: self.file_size },
            ..Target::default()
        };
        Plan {
            name: "verify".into(),
            seed: self.seed,
            targets: self.paths.iter().enumerate().map(target).collect(),
            steps: vec![Step {
                jobs: vec![workload.build_job(0)],
                ..Step::default()
            }],
            grids: [Nanos::millis(100), Nanos::secs(1)]
                .map(|length_ns| Grid::new(length_ns, GridScope::Job))
                .to_vec(),
            origin: Origin {
                arguments: self.arguments.clone(),
                ..Origin::default()
            },
            ..Plan::default()
        }
    }

    fn workload(&self, issued: &IssuedLoad) -> plan::Workload {
        let part = WorkloadPart {
            mix: match issued.read_percent {
                100.0 => Mix::READS,
                0.0 => Mix::WRITES,
                percent => Mix::Exact {
                    write_percent: 100.0 - percent,
                },
            },
            sizes: BlockSizes::Fixed { size: issued.block },
            ..WorkloadPart::default()
        };
        let part = match issued.random {
            true => part,
            false => WorkloadPart {
                access: Access::Sequential(Sequential::default()),
                // Generating fresh data for large blocks would take as long as a fast disk needs to
                // store it; the stamps make all sectors different.
                content: Content::Stamped,
                ..part
            },
        };
        let targets = (0..issued.targets).map(TargetId).collect();
        plan::Workload {
            parts: vec![part],
            workers: issued.workers,
            depth: issued.concurrency,
            depth_per: DepthPer::Job,
            rate: Some(exact_rate(issued.rate_iops)),
            phases: Phases::with_warm_up(issued.warm_up_ns),
            seed: self.seed,
            ..plan::Workload::new(&self.promise.name, targets, Stop::after(issued.measured_ns))
        }
    }

    /// Judges the results of a run of the plan; `None` if it measured nothing.
    pub fn judge(&self, results: &Results, search: &Search) -> Option<Verdict> {
        let observation = Observation::from_results(results, 0, 0)?;
        let job = results.steps.first()?.jobs.first()?;
        let context = Context {
            workload: Some(&self.promise.workload),
            intervals: &job.histograms,
            findings: &results.findings,
            bursts: &self.promise.bursts,
            latency_ns: self.promise.latency_ns,
            interrupted: results.interrupted,
            depth_search: search.depth_search(),
            enforced: &enforced_limits(results, 0, 0),
        };
        let mut verdict = judge(&self.promise.clauses, &observation, &context);
        verdict.notes.extend(self.suggest_more_targets(&verdict, results));
        if let Some(untested) = self.find_untested_throughput() {
            verdict.notes.push(untested.describe());
            verdict.untested = Some(untested);
        }
        Some(verdict)
    }

    /// Finds a promised throughput that this load does not reach, with the block size that tests
    /// it.
    fn find_untested_throughput(&self) -> Option<UntestedFigure> {
        let Promise {
            workload, rate_iops, ..
        } = &self.promise;
        let is_judged = |clause: &Clause| clause.metric == Metric::Throughput;
        if self.promise.clauses.iter().any(is_judged) {
            return None;
        }
        let reach_of = |block: Bytes| compute_reach(&self.promise.layers, block, workload.read_percent, 1);
        // Long operations reach the limit on bytes, short ones that on operations.
        let long = reach_of(Bytes::mib(1)).filter(|long| long.bound == Bound::Bytes)?;
        let (bytes, iops) = (long.bytes_per_sec.low, reach_of(Bytes(1))?.iops.low);
        let moved = rate_iops * workload.block.0 as f64;
        let enough = Bytes(((bytes / iops) as u64).next_power_of_two());
        let block = enough.to_string().replace(' ', "");
        (moved < MIN_TESTED_SHARE * bytes && enough > workload.block).then(|| {
            let show = |bytes: f64| Metric::Throughput.show(bytes);
            UntestedFigure {
                name: "throughput",
                promised: format!("throughput >= {}", format_bought(bytes)),
                why: format!(
                    "{rate_iops:.0} operations of {} per second move only {}; to test it, repeat with --block {block}",
                    workload.block,
                    show(moved),
                ),
                option: ("--block".to_owned(), block),
            }
        })
    }

    /// Suggests more targets after a missed rate. `None` unless all given targets were in use from
    /// the start.
    fn suggest_more_targets(&self, verdict: &Verdict, results: &Results) -> Option<String> {
        let missed = |judged: &&ClauseVerdict| {
            is_rate(&judged.clause) && judged.value.is_some_and(|value| value < judged.clause.target)
        };
        let missed = verdict.clauses.iter().filter(missed);
        if !missed.into_iter().any(|judged| judged.outcome != Outcome::Pass) {
            return None;
        }
        let facts = || results.hosts.iter().flat_map(|host| &host.environment.targets);
        match self.paths.len() {
            0 | 1 if facts().any(is_on_array) => Some(
                "the only target is on a volume of an array, and each volume has its own limits: if the promise is \
                 about the array, name more of its volumes"
                    .into(),
            ),
            0 | 1 => None,
            count => Some(format!(
                "all {count} named targets were in use: if the promise includes more targets, name those too"
            )),
        }
    }
}

/// Formats bytes per second, also in MiB/s if the throughput was sold in whole MiB/s.
fn format_bought(bytes_per_sec: f64) -> String {
    let mib = bytes_per_sec / Bytes::mib(1).0 as f64;
    let mb = Metric::Throughput.show(bytes_per_sec);
    match (mib - mib.round()).abs() < 1e-6 {
        true => format!("{mb} ({mib:.0} MiB/s)"),
        false => mb,
    }
}

fn is_rate(clause: &Clause) -> bool {
    matches!(clause.metric, Metric::Iops | Metric::Throughput)
}

/// A rate as an exact fraction: whole operations per second, or thousandths of them.
fn exact_rate(iops: f64) -> Rate {
    let rounded = iops.round();
    if (iops - rounded).abs() < 1e-9 * iops && rounded >= 1.0 {
        return Rate::iops(rounded as u64);
    }
    Rate {
        per_ns: Nanos::secs(1000),
        ..Rate::iops((iops * 1000.0).round().max(1.0) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::policies::{Catalogue, Inputs};
    use analysis::requirement;
    use model::plan::Pacing;

    fn ssd_ultra() -> Promise {
        let inputs = Inputs::from([("size".to_owned(), "400GB".to_owned())]);
        let policy = Catalogue::built_in()
            .find("provider-sla/ssd-ultra")
            .unwrap()
            .resolve(&inputs)
            .unwrap();
        Promise::from_policy(&policy, Vec::new(), None, None).unwrap()
    }

    fn verification(promise: Promise) -> Verification {
        Verification {
            promise,
            paths: vec!["/data".into()],
            simulated: Vec::new(),
            file_size: None,
            cpus: 8,
            workers: None,
            concurrency: None,
            measured: Nanos::secs(300),
            warm_up: Nanos::secs(30),
            quick: false,
            seed: 1,
            arguments: Vec::new(),
        }
    }

    fn reads(block: Bytes) -> Workload {
        Workload {
            block,
            random: true,
            read_percent: 100.0,
            rate_iops: None,
            concurrency: None,
            duration_secs: 300.0,
            warm_up_secs: 30.0,
        }
    }

    #[test]
    fn the_plan_is_the_promised_load() {
        let verification = verification(ssd_ultra());
        let first = verification.next(&Search::default()).unwrap();
        let plan = verification.plan(&first);
        assert_eq!(run::check(&plan), Ok(()));
        let job = &plan.steps[0].jobs[0];
        assert_eq!(job.depth(), 32);
        assert_eq!(
            (job.phases.warm_up_ns, job.stop.after_ns),
            (Nanos::secs(30), Some(Nanos::secs(300)))
        );
        let stream = &job.workers[0].streams[0];
        assert_eq!(stream.mix, Mix::Exact { write_percent: 30.0 });
        assert!(stream.cache.direct);
        let rates = job.workers.iter().map(|worker| match worker.streams[0].pacing {
            Pacing::Together { rate } => rate.per_second(),
            _ => 0.0,
        });
        assert!((rates.sum::<f64>() - 4000.0).abs() < 1e-6);
    }

    #[test]
    fn several_targets_share_one_promise() {
        let mut verification = verification(ssd_ultra());
        verification.paths = ["/a", "/b", "/c"].map(str::to_owned).to_vec();
        let first = verification.next(&Search::default()).unwrap();
        let plan = verification.plan(&first);
        assert_eq!(run::check(&plan), Ok(()));
        assert_eq!((plan.targets.len(), verification.issued(&first).targets), (3, 3));
        let job = &plan.steps[0].jobs[0];
        assert_eq!(job.depth(), 32, "the total depth of all targets");
        let streams = job.workers.iter().flat_map(|worker| &worker.streams);
        let required_rate = |target: u32| {
            let stream_rates = streams
                .clone()
                .filter(|stream| stream.target.ids() == [TargetId(target)]);
            let rates = stream_rates.map(|stream| match stream.pacing {
                Pacing::Together { rate } => rate.per_second(),
                _ => 0.0,
            });
            rates.sum::<f64>()
        };
        for target in 0..3 {
            assert!((required_rate(target) - 4000.0 / 3.0).abs() < 1e-6, "{target}");
        }
    }

    #[test]
    fn fast_promises_use_several_workers_except_when_simulated() {
        let clauses = requirement::parse("iops>=400000,mean<=1ms").unwrap();
        let promise = Promise::from_requirement(clauses, reads(Bytes::kib(4)), None).unwrap();
        let mut verification = verification(promise);
        let first = verification.next(&Search::default()).unwrap();
        // 50 in flight for each of 8 workers, plus 4 √50.
        assert_eq!((first.slots, verification.issued(&first).workers), (8 * 79, 8));
        let job = &verification.plan(&first).steps[0].jobs[0];
        assert_eq!((job.workers.len(), job.depth()), (8, 632));
        verification.simulated = vec![SimulatedDevice::default()];
        assert_eq!(verification.issued(&first).workers, 1);
    }

    #[test]
    fn requirements_name_their_rate() {
        let rate = |text: &str, workload: Workload| {
            let clauses = requirement::parse(text).unwrap();
            Promise::from_requirement(clauses, workload, None).map(|promise| promise.rate_iops)
        };
        assert_eq!(rate("iops>=900", reads(Bytes::kib(4))), Ok(900.0));
        assert_eq!(rate("mibps>=200", reads(Bytes::mib(1))), Ok(200.0));
        let mixed = Workload {
            read_percent: 70.0,
            ..reads(Bytes::kib(4))
        };
        assert!((rate("read.iops>=700", mixed).unwrap() - 1000.0).abs() < 1e-9);
        let error = rate("p99<=3ms", reads(Bytes::kib(4))).unwrap_err();
        assert!(
            error.what.contains("a latency but no rate") && error.help.contains("--rate"),
            "{error:?}"
        );
    }

    #[test]
    fn fractional_rates_are_exact_to_a_thousandth() {
        assert_eq!(exact_rate(4000.0), Rate::iops(4000));
        assert!((exact_rate(3051.7578).per_second() - 3051.758).abs() < 1e-9);
        assert!((exact_rate(0.25).per_second() - 0.25).abs() < 1e-9);
    }

    pub(super) fn rate_alone(iops: &str) -> Verification {
        let clauses = requirement::parse(&format!("iops>={iops}")).unwrap();
        verification(Promise::from_requirement(clauses, reads(Bytes::kib(4)), None).unwrap())
    }

    /// Simulates a search on storage that reaches `reached` operations per second with a number of
    /// slots. Returns the slots of each attempt, probes first.
    fn attempts(verification: &Verification, reached: impl Fn(u32) -> f64) -> (Vec<u32>, u32, bool) {
        let mut search = Search::default();
        let mut probes = Vec::new();
        loop {
            let attempt = verification.next(&search).unwrap();
            if !attempt.is_probe {
                return (probes, attempt.slots, search.depth_search().unwrap().saturated);
            }
            probes.push(attempt.slots);
            verification.record_probe(&mut search, &attempt, reached(attempt.slots));
        }
    }

    #[test]
    fn a_rate_alone_raises_the_depth_until_it_is_met() {
        // 256 servers of 20 ms each.
        let wide = |slots: u32| f64::from(slots.min(256)) * 50.0;
        assert_eq!(
            attempts(&rate_alone("4000"), |slots| wide(slots).min(4000.0)),
            (vec![32, 64, 128], 1024, false)
        );
    }

    #[test]
    fn a_rate_that_depth_does_not_raise_is_saturated() {
        let (probes, slots, saturated) = attempts(&rate_alone("4000"), |_| 3000.0);
        assert_eq!((probes, slots, saturated), (vec![32, 64, 128], 128, true));
        // Growth that may still reach the promise continues.
        let slow = |slots: u32| 3900.0 * (1.0 - 0.6 / f64::from(slots).sqrt()) + 60.0;
        let (probes, _, saturated) = attempts(&rate_alone("3900"), slow);
        assert_eq!((probes.last(), saturated), (Some(&1024), false));
    }

    #[test]
    fn a_depth_that_the_user_set_is_unchanged() {
        let mut fixed = rate_alone("4000");
        fixed.concurrency = Some(8);
        let attempt = fixed.next(&Search::default()).unwrap();
        assert_eq!((attempt.slots, attempt.is_probe), (8, false));
    }

    #[test]
    fn large_blocks_limit_the_number_of_slots() {
        let clauses = requirement::parse("mibps>=100000").unwrap();
        let verification = verification(Promise::from_requirement(clauses, reads(Bytes::mib(4)), None).unwrap());
        let (probes, slots, _) = attempts(&verification, f64::from);
        assert_eq!((probes.last(), slots), (Some(&256), 256));
    }
}
