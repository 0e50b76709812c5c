//! Options that state what results are judged by: limits, requirements and policies.

use analysis::requirement;
use analysis::verdict::Outcome;
use study::explain::ExplainContext;

use crate::catalogue::{self, CatalogueArgs, InputArgs};
use crate::exit::Exit;
use crate::fault::{Fault, Faults};
use crate::limits::{self, LimitArgs, Storage, StorageArgs};

/// The help heading of the requirements.
const HEADING: &str = "Requirements";

/// Options for judging existing results, which may come from another machine.
#[derive(clap::Args)]
pub struct PromiseArgs {
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    storage: StorageArgs<true>,
    /// Require figures, such as 'iops>=4000,p99<=20ms,mbps>=200'
    #[arg(long, value_name = "CLAUSES", help_heading = HEADING)]
    require: Vec<String>,
    /// Judge by this policy; `fathom policies` lists them
    #[arg(long, value_name = "NAME|FILE", help_heading = HEADING)]
    policy: Option<String>,
    #[command(flatten, next_help_heading = HEADING)]
    catalogue: CatalogueArgs,
    #[command(flatten)]
    inputs: InputArgs,
}

impl PromiseArgs {
    /// True if an option states a promise.
    pub fn judges(&self) -> bool {
        !self.require.is_empty() || self.policy.is_some()
    }

    /// True if options state limits or describe the storage below the loads.
    pub fn states_limits(&self) -> bool {
        self.limits.is_given() || self.describes_storage()
    }

    /// True if an option describes the storage below the loads.
    pub fn describes_storage(&self) -> bool {
        self.limits.host_cache || !self.storage.0.is_empty()
    }

    /// Reads the options that describe the storage below the loads.
    pub fn storage(&self) -> Result<Storage, Faults> {
        Storage::parse(&self.storage, self.limits.host_cache)
    }
}

/// Builds the context of a diagnosis from the options.
pub fn read_context(args: &PromiseArgs) -> Result<ExplainContext, Faults> {
    let mut context = ExplainContext::default();
    if let Some(name) = &args.policy {
        add_policy(&mut context, args, name)?;
    }
    let known_limits = limits::from_args(&args.limits, &args.catalogue)?;
    context.layers.extend(known_limits.layers);
    context
        .bursts
        .extend(known_limits.bursts.iter().map(limits::policy_burst));
    // The longest burst comes first: a verdict names the first that could have lasted for the whole
    // test.
    context.bursts.sort_by(|a, b| b.lasts_secs().total_cmp(&a.lasts_secs()));
    context.credits.extend(known_limits.bursts);
    for text in &args.require {
        let clauses = requirement::parse(text).map_err(|errors| {
            let fault =
                |error: requirement::RequirementError| Fault::new(error.to_string()).at(format!("--require {text}"));
            Faults::many(errors.into_iter().map(fault).collect(), Exit::Usage)
        })?;
        context.clauses.extend(clauses);
    }
    Ok(context)
}

fn add_policy(context: &mut ExplainContext, args: &PromiseArgs, name: &str) -> Result<(), Faults> {
    let inputs = catalogue::parse_inputs(&args.inputs)?;
    let resolved = catalogue::resolve_policy(&args.catalogue, name, &inputs)?;
    context.layers.extend(resolved.layers);
    context.clauses.extend(resolved.clauses);
    for burst in &resolved.bursts {
        context
            .credits
            .push(limits::known_burst(resolved.title.clone(), *burst));
    }
    context.bursts.extend(resolved.bursts);
    context.latency_ns = resolved.latency_ns;
    context.workload = Some(resolved.workload);
    Ok(())
}

/// Returns the exit code of verdicts: FAIL outweighs INCONCLUSIVE. `None` without either.
pub(super) fn exit_of_verdicts(verdicts: &[Outcome]) -> Option<Exit> {
    if verdicts.contains(&Outcome::Fail) {
        Some(Exit::Failed)
    } else if verdicts.contains(&Outcome::Inconclusive) {
        Some(Exit::Inconclusive)
    } else {
        None
    }
}
