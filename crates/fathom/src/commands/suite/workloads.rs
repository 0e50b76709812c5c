//! The workloads of a suite, checked before the first of them runs.

use std::path::{Path, PathBuf};

use analysis::requirement::Clause;
use analysis::verdict::JudgedWorkload;
use dialects::native::suite::{Suite, Workload, WorkloadBase};
use dialects::native::{self, Document, JobSpec, PartSpec};
use model::Bytes;
use model::block_size::BlockSizes;
use model::plan::{DepthPer, Plan, RateUnit};
use report::words;
use study::suite::{self, Load};
use study::verify::{Attempt, Search, Verification, VerifyError};

use super::super::run::{apply_options, check_target_count, load_document, record_preset_changes};
use super::super::verify::divide_among_hosts;
use super::Args;
use crate::fault::{Fault, Faults};
use crate::judged;
use crate::session::Session;

/// A workload that can be run.
pub(super) struct PreparedWorkload {
    pub(super) name: String,
    pub(super) document: Document,
    pub(super) required: String,
    pub(super) clauses: Vec<Clause>,
    /// Paces the workload at its required rate; `None` without one.
    pub(super) paced: Option<Verification>,
}

impl PreparedWorkload {
    /// Builds the document of an attempt; `attempt` is `None` for a workload without a rate.
    fn build_document(&self, attempt: Option<&Attempt>) -> Document {
        let mut document = self.document.clone();
        if let Some((paced, attempt)) = self.paced.as_ref().zip(attempt) {
            let issued = paced.issued(attempt);
            let job = &mut document.jobs[0];
            job.rate = Some((issued.rate_iops.ceil() as u64, RateUnit::Operations));
            job.depth = Some(issued.concurrency);
            job.depth_per = DepthPer::Job;
            job.workers = issued.workers;
            job.part.exact_mix = true;
            job.parts.iter_mut().for_each(|part| part.exact_mix = true);
        }
        document
    }

    /// Chooses the next attempt at a workload with a rate. There are no probes: a workload that
    /// requires only a rate is judged at its own depth.
    pub(super) fn next_attempt(&self, search: &Search) -> Option<Attempt> {
        let next = self.paced.as_ref()?.next(search)?;
        Some(Attempt {
            is_probe: false,
            ..next
        })
    }

    /// Lowers an attempt to a plan. Several hosts together issue the rate.
    pub(super) fn plan(&self, attempt: Option<&Attempt>, hosts: Option<u32>) -> Result<Plan, Faults> {
        let plan = native::lower(&self.build_document(attempt))?;
        Ok(match &self.paced {
            Some(_) => divide_among_hosts(hosts, plan),
            None => plan,
        })
    }
}

/// Lists the job files of a suite. Their paths begin at the folder of the suite.
pub(super) fn list_job_files(file: &str, suite: &Suite) -> Vec<PathBuf> {
    let folder = Path::new(file).parent().unwrap_or(Path::new(""));
    let job_files = suite.workloads.iter().filter_map(|workload| match &workload.base {
        WorkloadBase::File(name) => Some(folder.join(name)),
        WorkloadBase::Default | WorkloadBase::Preset(_) => None,
    });
    job_files.collect()
}

/// Prepares every workload with its requirement before any of them runs.
pub(super) fn prepare_workloads(
    session: &Session,
    args: &Args,
    file: &str,
    suite: &Suite,
) -> Result<Vec<PreparedWorkload>, Faults> {
    let folder = Path::new(file).parent().unwrap_or(Path::new(""));
    let prepare = |workload: &Workload| prepare_workload(session, args, folder, suite, workload);
    suite.workloads.iter().map(prepare).collect()
}

fn prepare_workload(
    session: &Session,
    args: &Args,
    folder: &Path,
    suite: &Suite,
    workload: &Workload,
) -> Result<PreparedWorkload, Faults> {
    let at = format!("{}:{}  {}", workload.at.file, workload.at.line, workload.at.text);
    let fault = |what: String, help: &str| Fault::new(what).at(&*at).into_usage(help);
    let of_file = match &workload.base {
        WorkloadBase::File(name) => Some(load_document(Some(&folder.join(name).display().to_string()))?),
        WorkloadBase::Default | WorkloadBase::Preset(_) => None,
    };
    let mut document = workload.document(suite, of_file)?;
    document.arguments.clone_from(&session.process.arguments);
    apply_options(&mut document, &args.load.options, args.study.measure.seed)?;
    record_preset_changes(&mut document, &args.load.options);
    check_target_count(&document)?;
    if document.jobs.len() != 1 {
        let message = format!(
            "the workload `{}` has {} jobs, but only one can be judged",
            workload.name,
            document.jobs.len()
        );
        return Err(fault(message, "make each a separate workload"));
    }
    let judged_by = document.preset_info.as_ref().and_then(|info| info.judged_by.clone());
    let Some(required) = workload.require.clone().or(judged_by) else {
        let message = format!("the workload `{}` has no requirement", workload.name);
        return Err(fault(message, "add one, for example require = \"iops>=4000,p99<=3ms\""));
    };
    let clauses = judged::parse_clauses(&required, &at)?;
    let job = &document.jobs[0];
    let paced = match workload
        .pace
        .unwrap_or_else(|| job.rate.is_none() && suite::is_paced(&clauses))
    {
        false => None,
        true if job.rate.is_some() => {
            let message = format!(
                "the workload `{}` sets a rate, but `pace` takes the rate from its requirement",
                workload.name
            );
            return Err(fault(message, "remove `rate` or `pace`"));
        }
        true => {
            let paced = suite::pacing(&clauses, read_load(job, &document, |name| workload.sets(name)));
            Some(paced.map_err(|VerifyError { what, .. }| {
                fault(what, "add iops>=… or mbps>=… to the requirement, or remove `pace`")
            })?)
        }
    };
    Ok(PreparedWorkload {
        name: workload.name.clone(),
        document,
        required,
        clauses,
        paced,
    })
}

fn read_load(job: &JobSpec, document: &Document, sets: impl Fn(&str) -> bool) -> Load {
    let parts = if job.parts.is_empty() {
        std::slice::from_ref(&job.part)
    } else {
        &job.parts
    };
    let total_share: f64 = parts.iter().map(|part| f64::from(part.share)).sum();
    let mean = |value: &dyn Fn(&PartSpec) -> f64| {
        parts
            .iter()
            .map(|part| value(part) * f64::from(part.share))
            .sum::<f64>()
            / total_share.max(1.0)
    };
    let name = job.targets.first().and_then(|target| target.strip_prefix("simulated:"));
    let simulated = name.and_then(|name| document.simulated.iter().find(|device| device.name == name));
    Load {
        block: Bytes(mean(&|part| mean_size(&part.sizes)).round() as u64),
        read_percent: mean(&|part| part.read_percent),
        depth: job.depth.filter(|_| sets("depth")),
        workers: sets("workers").then_some(job.workers),
        cpus: engine::sys::thread::usable_cpus().len() as u32,
        simulated: simulated.map(|device| device.device.clone()),
    }
}

/// Returns the average bytes of an operation.
fn mean_size(sizes: &BlockSizes) -> f64 {
    match sizes {
        BlockSizes::Fixed { size } => size.0 as f64,
        BlockSizes::Range { low, high, .. } => (low.0 + high.0) as f64 / 2.0,
        BlockSizes::Split { entries } => {
            let total_percent: f64 = entries.iter().map(|entry| entry.percent).sum();
            entries
                .iter()
                .map(|entry| entry.size.0 as f64 * entry.percent)
                .sum::<f64>()
                / total_percent.max(1e-9)
        }
    }
}

pub(super) fn describe_load(plan: &Plan) -> String {
    let Some((_, job)) = plan.jobs().next() else {
        return String::new();
    };
    format!(
        "{}, {}; {}",
        words::describe_operations(job),
        words::load(job),
        words::describe_phases(job)
    )
}

/// Returns a workload without any result yet.
pub(super) fn unrun_workload(ready: &PreparedWorkload) -> JudgedWorkload {
    JudgedWorkload {
        name: ready.name.clone(),
        objective: ready.document.objective.clone(),
        preset: ready.document.preset.as_ref().map(words::describe_preset),
        load: String::new(),
        required: ready.required.clone(),
        settings: String::new(),
        verdict: None,
        failure: Some("it did not run".into()),
        findings: Vec::new(),
    }
}
