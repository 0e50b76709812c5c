//! What a result is held against: limits from the catalogue or from the command line, requirements, policies.

use std::path::Path;

use analysis::policies::Origin;
use analysis::requirement;
use analysis::verdict::Outcome;
use clap::{Arg, ArgAction, ArgMatches};
use study::explain::Asked;

use crate::catalogue::{self, CatalogueArgs, InputArgs};
use crate::exit::Exit;
use crate::fault::{Fault, Faults};
use crate::limits::{self, LimitArgs};
use crate::options::{options, typed};

/// All options.
pub fn promise_options() -> Vec<Arg> {
    let against = |name: &'static str| Arg::new(name).long(name).help_heading("Requirements");
    let mut all = options::<LimitArgs>();
    all.extend(limits::storage_arguments());
    all.push(
        against("require")
            .value_name("CLAUSES")
            .action(ArgAction::Append)
            .help("Required figures, such as 'iops>=4000,p99<=20ms,read.mean<=3ms,mbps>=200'"),
    );
    all.push(
        against("policy")
            .value_name("NAME|FILE")
            .help("What a policy of the catalogue, or of a file, promises; `fathom policies` lists them"),
    );
    let catalogue = options::<CatalogueArgs>().into_iter();
    all.extend(catalogue.map(|arg| arg.help_heading("Requirements")));
    all.extend(options::<InputArgs>());
    all
}

/// Reads all of them.
pub fn read(args: &ArgMatches) -> Result<Asked, Faults> {
    let mut asked = Asked::default();
    if let Some(name) = args.get_one::<String>("policy") {
        take_policy(&mut asked, args, name)?;
    }
    let known = limits::known(&typed(args), &typed(args))?;
    asked.layers.extend(known.layers);
    asked.bursts.extend(known.bursts.iter().map(limits::policy_burst));
    // A verdict names the first that may have carried the whole test.
    asked.bursts.sort_by(|a, b| b.lasts_secs().total_cmp(&a.lasts_secs()));
    asked.credits.extend(known.bursts);
    for text in args.get_many::<String>("require").into_iter().flatten() {
        let clauses = requirement::parse(text).map_err(|errors| {
            let fault =
                |error: requirement::RequirementError| Fault::new(error.to_string()).at(format!("--require {text}"));
            Faults::many(errors.into_iter().map(fault).collect(), Exit::Usage)
        })?;
        asked.clauses.extend(clauses);
    }
    Ok(asked)
}

/// A policy's limits, load and promises.
fn take_policy(asked: &mut Asked, args: &ArgMatches, name: &str) -> Result<(), Faults> {
    let wrong = |why: String| Faults::usage(Fault::new(why).at(format!("--policy {name}")));
    let file = Path::new(name);
    let is_file = file.extension().is_some_and(|extension| extension == "toml");
    let catalogue = catalogue::catalogue(&typed(args), is_file.then_some(file))?;
    let policy = match is_file {
        true => catalogue
            .entries()
            .find(|policy| *policy.origin() == Origin::User(name.to_owned())),
        false => Some(catalogue.find(name).map_err(wrong)?),
    };
    let policy = policy.ok_or_else(|| wrong("the file holds no policy".into()))?;
    let resolved = policy
        .resolve(&catalogue::inputs(&typed(args))?)
        .map_err(|error| wrong(format!("{}: {error}", policy.id())))?;
    asked.layers.extend(resolved.layers);
    asked.clauses.extend(resolved.clauses);
    for burst in &resolved.bursts {
        asked.credits.push(limits::burst(resolved.title.clone(), *burst));
    }
    asked.bursts.extend(resolved.bursts);
    asked.latency_ns = resolved.latency_ns;
    asked.workload = Some(resolved.workload);
    Ok(())
}

/// The exit code of verdicts: one that is not kept outweighs one that is undecided. `None` without verdicts.
pub(super) fn exit(verdicts: &[Outcome]) -> Option<Exit> {
    if verdicts.is_empty() {
        None
    } else if verdicts.contains(&Outcome::Fail) {
        Some(Exit::Failed)
    } else if verdicts.contains(&Outcome::Inconclusive) {
        Some(Exit::Inconclusive)
    } else {
        Some(Exit::Done)
    }
}
