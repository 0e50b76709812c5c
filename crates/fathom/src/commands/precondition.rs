//! `fathom precondition`.

use ::run::targets::SharedFiles;
use ::run::targets::guard::Permissions;
use archive::history::{EntryKind, Subject};
use clap::{ValueHint, value_parser};
use dialects::native::{self, Document, JobSpec};
use model::access::{Access, Sequential};
use model::block_size::BlockSizes;
use model::plan::{Control, DividedSettings, Pacing, Plan};
use model::results::Results;
use model::{Bytes, Nanos};
use report::numbers::{duration, format_time, rate, throughput};
use report::words;
use study::precondition::{
    Cell, CellResult, DEPTH, FILL_BLOCK, FILL_DEPTH, FILL_PASSES, MAX_ROUNDS, NextRun, Procedure, ProcedureSettings,
    ROUND_TIME, Report, Round, WINDOW_ROUNDS, Window, matrix_cells,
};

use super::run;
use super::study_outputs::{self, Contents, Form, StudyOutputs, csv_number, csv_table};
use super::sweep;
use crate::exit::Exit;
use crate::fault::{Fault, Faults};
use crate::fleet;
use crate::history;
use crate::options::{self, MeasureArgs, Subset, TestArgs};
use crate::outputs::OutputSpec;
use crate::pages;
use crate::permissions::{self, SafetyArgs};
use crate::screen::{self, Screen, wrap_paragraph};
use crate::session::Session;

/// Options that end a load; here the procedure decides when it ends.
const EXCLUDED_OPTIONS: [&str; 12] = [
    "target", "time", "warm-up", "cool-down", "operations", "bytes", "passes", "until-precision", "until-steady",
    "latency-target", "step", "after",
];
/// Options that the cells of the matrix set.
const CELL_OPTIONS: [&str; 7] = ["access", "read", "write", "trim", "exact-mix", "block", "align"];

/// The options that describe the load of a round.
pub struct RoundOptions;

impl Subset for RoundOptions {
    fn has(name: &str) -> bool {
        !EXCLUDED_OPTIONS.contains(&name)
    }
}

/// Help heading of the options of the procedure.
const HEADING: &str = "Procedure";

/// Bring an SSD to steady state before a test (SNIA)
#[derive(clap::Args)]
#[command(
    long_about = "Brings a device to the steady state of a used one, by the Solid State Storage Performance Test \
        Specification 2.0 of SNIA. ALL DATA ON IT IS LOST.\n\nFirst it writes the range twice with sequential \
        operations of 128 KiB, independent of the load (WIPC). Then it runs the load in rounds of a minute (WDPC): \
        random writes of 4 KiB at depth 32, or the load of the flags; with --matrix each round is the 56 cells of \
        the specification's IOPS test. Steady state is reached once five rounds differ by at most 20 % of their mean \
        and the line through them changes by at most 10 % of it; if 25 rounds do not reach it, the exit code is \
        1.\n\nTARGET is a block device or a file, or a job file of one job (.toml), whose load the rounds use. In a \
        directory it creates a file and removes it at the end unless --keep is given.\n\nPurge the device yourself \
        beforehand, as the specification demands (`blkdiscard`, `nvme format`). Between two rounds the device rests \
        for some milliseconds.",
    after_help = "Examples:\n  fathom precondition /dev/nvme1n1 --allow-destroy /dev/nvme1n1\n  fathom precondition \
        /dev/nvme1n1 --matrix --allow-destroy /dev/nvme1n1 --out text,json=rounds.json\n  fathom precondition \
        /dev/sdb --read 65 --block 64k --depth 16 --round 30s --allow-destroy /dev/sdb",
    mut_arg("out", |arg| arg.help(
        "Reports to write, each to stdout or a file: text, json, html, csv (a row for each cell of each round) [default: text]"
    )),
)]
pub struct Args {
    /// Block device, file or directory; or a job file of one job
    #[arg(value_name = "TARGET|FILE.toml", value_hint = ValueHint::AnyPath)]
    what: String,
    /// How often to write the range first; 0 starts with the rounds [default: 2]
    // The native option `passes` ends a job, so the id differs.
    #[arg(long = "passes", value_name = "N", help_heading = HEADING, value_parser = value_parser!(u32).range(0..=100))]
    fill_passes: Option<u32>,
    /// Length of a round, or of each cell with --matrix [default: 60s]
    #[arg(long, value_name = "TIME", help_heading = HEADING)]
    round: Option<String>,
    /// Maximum number of rounds, at least 5 [default: 25]
    #[arg(long, value_name = "N", help_heading = HEADING)]
    #[arg(value_parser = value_parser!(u32).range(i64::from(WINDOW_ROUNDS)..=10_000))]
    rounds: Option<u32>,
    /// Run 7 mixes in 8 sizes per round; 4 KiB random writes decide
    #[arg(long, conflicts_with_all = CELL_OPTIONS, help_heading = HEADING)]
    matrix: bool,
    #[command(flatten)]
    test: TestArgs<RoundOptions>,
    #[command(flatten)]
    output: OutputSpec,
    #[command(flatten)]
    measure: MeasureArgs,
    #[command(flatten)]
    safety: SafetyArgs,
}

/// Fills the device, runs the rounds and reports whether it is steady.
pub fn execute(session: &Session, args: &Args) -> Result<Exit, Faults> {
    let outputs = StudyOutputs::new(&args.output, None, study_outputs::STUDY_FORMS)?;
    let mut document = load_document(session, args)?;
    if !session.has_fleet() {
        fleet::expand_names_for_one_host(&mut document)?;
    }
    let permissions = permissions::from_args(&args.safety);
    let base = native::lower(&document)?;
    refuse_fixed_rate(&base)?;
    if session.has_fleet() && args.matrix {
        let fault = Fault::new("the target's sector size decides which cells a matrix has, and only its host knows it");
        return Err(fault
            .at("--matrix")
            .into_usage("run `fathom precondition --matrix` on that host, or remove --matrix"));
    }
    let (cells, left_out) = select_cells(args, &base);
    let settings = read_settings(args, &base, cells)?;
    let plans = Plans {
        document,
        settings: settings.clone(),
    };
    if args.test.dry.dry_run {
        return dry_run(session, &plans, &permissions);
    }
    outputs.check_files(&base.targets)?;
    let target = base.targets.first().map_or(String::new(), |target| target.path.clone());
    let mut runner = PreconditionRunner {
        session,
        plans,
        permissions,
        shared_files: SharedFiles::default(),
        screen: Screen::from_args(session, &args.measure.progress, false)?,
    };
    let mut procedure = Procedure::new(settings);
    let (bad, judged) = run_rounds(session, &mut runner, &mut procedure)?;
    drop(runner);
    let unfinished = session.process.is_interrupted() || bad != Exit::Done;
    let report = procedure.report(&target, left_out, unfinished);
    let written = outputs.finish(&Contents {
        text: format_text(&report),
        json: &report,
        other_forms: &[(Form::Csv, &|| format_csv(&report))],
        page: Some(&|| pages::rounds(&report)),
        study: None,
    });
    if let Some(results) = &judged {
        let word = if report.steady { "steady" } else { "not steady" };
        history::record(
            &args.measure,
            None,
            EntryKind::Precondition,
            Subject::Run(results),
            None,
            Some(word),
        );
    }
    written?;
    Ok(match (bad, report.steady) {
        _ if session.process.is_interrupted() => Exit::interrupted(),
        (Exit::Done, true) => Exit::Done,
        (Exit::Done, false) => Exit::Failed,
        (bad, _) => bad,
    })
}

/// Fills the device and runs rounds until the procedure is finished or a run fails. Returns the
/// exit code of the runs, and the results of the deciding one.
fn run_rounds(
    session: &Session,
    runner: &mut PreconditionRunner,
    procedure: &mut Procedure,
) -> Result<(Exit, Option<Results>), Faults> {
    let mut bad = Exit::Done;
    let mut judged = None;
    while let Some(next) = procedure.next_run() {
        let results = match runner.execute(next) {
            Ok(results) => results,
            Err(faults) if procedure.fill().is_none() && procedure.rounds().is_empty() => return Err(faults),
            Err(_) if session.process.is_interrupted() => break,
            Err(faults) => {
                // The rounds so far are still reported.
                runner.screen.close();
                faults.print(screen::colour_on_stderr());
                bad = faults.exit();
                break;
            }
        };
        if session.process.is_interrupted() {
            break;
        }
        bad = Exit::from_results(&results, false);
        if bad != Exit::Done {
            let why = results.findings.iter().max_by_key(|finding| finding.severity);
            let why = why.map_or("operations failed".into(), |finding| finding.what.clone());
            runner.screen.close();
            Faults::one(Fault::new(format!("{}: {why}", describe_run(next))), bad).print(screen::colour_on_stderr());
            break;
        }
        if let Err(why) = procedure.record(next, &results) {
            let fault = Fault::new(format!("{}: {why}", describe_run(next)));
            return Err(Faults::one(
                fault.help("lengthen the rounds: --round 60s"),
                Exit::Failed,
            ));
        }
        runner.print_run(next, procedure);
        if is_deciding(next) {
            judged = Some(results);
        }
    }
    Ok((bad, judged))
}

/// True if the procedure judges steadiness by this run.
fn is_deciding(next: NextRun) -> bool {
    match next {
        NextRun::Fill => false,
        NextRun::Round { cell, .. } => cell.is_none_or(|(_, cell)| cell == Cell::TRACKED),
    }
}

fn describe_run(next: NextRun) -> String {
    match next {
        NextRun::Fill => "filling".into(),
        NextRun::Round { number, cell: None } => format!("round {number}"),
        NextRun::Round {
            number,
            cell: Some((_, cell)),
        } => format!("round {number}, {}", cell.name()),
    }
}

fn load_document(session: &Session, args: &Args) -> Result<Document, Faults> {
    let target = &args.what;
    let is_file = target.ends_with(".toml");
    let mut document = run::load_document(is_file.then_some(target))?;
    document.arguments.clone_from(&session.process.arguments);
    if !is_file {
        let job = &mut document.jobs[0];
        job.targets = vec![target.clone()];
        (job.part.read_percent, job.depth) = (0.0, Some(DEPTH));
    }
    args.test.apply(&mut document, args.measure.seed)?;
    sweep::require_repeatable_job(&document, "the rounds run")?;
    let job = &document.jobs[0];
    let [_] = &job.targets[..] else {
        let fault = Fault::new(format!(
            "there are {} targets, but each run preconditions one",
            job.targets.len()
        ));
        return Err(fault.at(target).into_usage("run the command once for each"));
    };
    let ends = |control: &Control| {
        matches!(
            control,
            Control::SteadyState(_) | Control::Precision(_) | Control::LatencyTarget(_)
        )
    };
    if job.on_files {
        let fault = Fault::new("only block jobs can precondition, but this job works on files");
        return Err(fault.at(target).into_usage("remove `kind = \"files\"`"));
    }
    if job.operations.is_some() || job.bytes.is_some() || job.passes.is_some() || job.control.iter().any(ends) {
        let fault = Fault::new("the job sets its own end, but precondition sets the round length");
        return Err(fault
            .at(target)
            .into_usage("remove operations, bytes, passes, until-… and latency-target; set the length with --round"));
    }
    Ok(document)
}

/// Refuses a load whose rate does not show the state of the device.
fn refuse_fixed_rate(plan: &Plan) -> Result<(), Faults> {
    let workers = plan.jobs().flat_map(|(_, job)| &job.workers);
    let mut streams = workers.flat_map(|worker| &worker.streams);
    if streams.any(|stream| stream.pacing != Pacing::Unpaced || stream.think.is_some()) {
        let fault = Fault::new("the load has a rate or pauses, so its rate cannot show whether the device is steady");
        return Err(fault.into_usage("remove --rate and the pauses"));
    }
    Ok(())
}

/// Selects the cells of a round that the target supports. Returns notices about the others.
fn select_cells(args: &Args, plan: &Plan) -> (Vec<Cell>, Vec<String>) {
    if !args.matrix {
        return (Vec::new(), Vec::new());
    }
    let facts = ::run::targets::survey(plan);
    let alignment_max = facts
        .iter()
        .map(|facts| facts.direct_alignment)
        .max()
        .unwrap_or_default();
    let (kept, out): (Vec<Cell>, Vec<Cell>) = matrix_cells().into_iter().partition(|cell| cell.block >= alignment_max);
    let notices = match out.first() {
        None => Vec::new(),
        Some(_) => vec![format!(
            "Omitted {} cells below {alignment_max}, the sector size of the target.",
            out.len()
        )],
    };
    (kept, notices)
}

fn read_settings(args: &Args, base: &Plan, cells: Vec<Cell>) -> Result<ProcedureSettings, Faults> {
    let round = options::parse_time("round", args.round.as_deref(), "60s")?.unwrap_or(ROUND_TIME);
    let load = match cells.is_empty() {
        true => base
            .steps
            .first()
            .and_then(|step| step.jobs.first())
            .map_or(String::new(), words::describe_operations),
        false => format!("{} cells of mixes and sizes", cells.len()),
    };
    Ok(ProcedureSettings {
        passes: args.fill_passes.unwrap_or(FILL_PASSES),
        round,
        rounds: args.rounds.unwrap_or(MAX_ROUNDS),
        cells,
        load,
    })
}

/// Builds the plan of each run.
struct Plans {
    document: Document,
    settings: ProcedureSettings,
}

impl Plans {
    fn plan(&self, next: NextRun) -> Result<Plan, Faults> {
        let mut document = self.document.clone();
        let job = &mut document.jobs[0];
        let name = describe_run(next);
        match next {
            NextRun::Fill => *job = self.fill_job(job),
            NextRun::Round { number, cell } => {
                // Each round needs new random positions: repeated ones would overwrite only a part.
                document.seed = Some(document.seed.unwrap_or(1).wrapping_add(u64::from(number)));
                if let Some((_, cell)) = cell {
                    job.parts.clear();
                    job.part.read_percent = f64::from(cell.read_percent);
                    job.part.sizes = BlockSizes::Fixed { size: cell.block };
                    (job.part.trim, job.part.exact_mix, job.part.alignment) = (false, false, None);
                    job.part.access = JobSpec::default().part.access;
                }
                job.time = Some(self.settings.round);
                (job.warm_up, job.cool_down) = (Some(Nanos(0)), Nanos(0));
            }
        }
        job.name = Some(name.clone());
        document.name = Some(name);
        Ok(native::lower(&document)?)
    }

    /// Builds the job that writes the whole range in sequence, `passes` times.
    fn fill_job(&self, job_spec: &JobSpec) -> JobSpec {
        let mut job = JobSpec {
            targets: job_spec.targets.clone(),
            size: job_spec.size,
            offset: job_spec.offset,
            keep: job_spec.keep,
            direct: job_spec.direct,
            engine: job_spec.engine,
            cpus: job_spec.cpus.clone(),
            depth: Some(FILL_DEPTH),
            passes: Some(self.settings.passes),
            hosts: job_spec.hosts.clone(),
            divide: DividedSettings {
                region: job_spec.divide.region,
                ..DividedSettings::default()
            },
            ..JobSpec::default()
        };
        job.part.access = Access::Sequential(Sequential::default());
        job.part.read_percent = 0.0;
        job.part.sizes = BlockSizes::Fixed { size: FILL_BLOCK };
        job.part.content = job_spec.part.content.clone();
        job
    }

    /// Returns the first run after a number of passes of filling.
    fn first_with_passes(&self, passes: u32) -> NextRun {
        let settings = ProcedureSettings {
            passes,
            ..self.settings.clone()
        };
        Procedure::new(settings).next_run().expect("a procedure has a round")
    }
}

/// Executes the runs of the procedure.
struct PreconditionRunner<'a> {
    session: &'a Session,
    plans: Plans,
    permissions: Permissions,
    shared_files: SharedFiles,
    screen: Screen,
}

impl PreconditionRunner<'_> {
    fn execute(&mut self, next: NextRun) -> Result<Results, Faults> {
        let mut plan = self.plans.plan(next)?;
        self.session.prepare_shared_files(&mut self.shared_files, &mut plan)?;
        self.screen.print(&self.introduction(next, &plan));
        let (permissions, shared_files) = (&self.permissions, &mut self.shared_files);
        let executed = self
            .screen
            .execute(self.session, plan, permissions, shared_files, describe_run(next));
        Ok(executed?)
    }

    fn introduction(&self, next: NextRun, plan: &Plan) -> String {
        let settings = &self.plans.settings;
        let load = words::describe_operations(&plan.steps[0].jobs[0]);
        match next {
            NextRun::Fill => format!("filling, {} times: {load}", settings.passes),
            NextRun::Round { number, cell: None } => {
                format!("[{number}/{}] {} of {load}", settings.rounds, duration(settings.round))
            }
            NextRun::Round {
                number,
                cell: Some((position, cell)),
            } => {
                let cells = settings.cells.len();
                format!(
                    "[{number}/{}, {}/{cells}] {}",
                    settings.rounds,
                    position + 1,
                    cell.name()
                )
            }
        }
    }

    fn print_run(&mut self, next: NextRun, procedure: &Procedure) {
        match (next, procedure.fill(), procedure.rounds().last()) {
            (NextRun::Fill, Some(fill), _) => self.screen.print(&format!("  {} in {}", fill.bytes, fill.took_ns)),
            (NextRun::Round { number, .. }, _, Some(round)) if round.number == number => {
                let judged = round.window.map_or(String::new(), |window| {
                    let figures = window.figures;
                    format!(
                        "; rounds {} to {}: range {:.1} %, excursion {:.1} %",
                        window.first,
                        window.last,
                        100.0 * figures.range,
                        100.0 * figures.excursion
                    )
                });
                let line = format!("  round {number}: {} IOPS{judged}", rate(round.tracked));
                self.screen.print(&line);
            }
            _ => {}
        }
    }
}

fn dry_run(session: &Session, plans: &Plans, permissions: &Permissions) -> Result<Exit, Faults> {
    let settings = &plans.settings;
    let time_max = settings.round.0 * u64::from(settings.rounds) * settings.cells.len().max(1) as u64;
    let mut text = format!(
        "filled {} times, then up to {} rounds, {} in all: {}\n",
        settings.passes,
        settings.rounds,
        duration(Nanos(time_max)),
        settings.load
    );
    let mut refused = false;
    let mut shown = vec![plans.first_with_passes(settings.passes), plans.first_with_passes(0)];
    shown.dedup();
    for next in shown {
        let plan = plans.plan(next)?;
        let (described, exit) = run::dry_run_in_study(session.ranks(), [&plan, &plan], permissions)?;
        refused |= exit == Exit::Refused;
        text += &format!("\n{}:\n{described}", describe_run(next));
    }
    screen::put(&text)?;
    Ok(if refused { Exit::Refused } else { Exit::Done })
}

fn format_text(report: &Report) -> String {
    let mut text = format!("{}: {}\n", report.target, report.settings.load);
    text += &format!("{} written in total\n", report.written);
    text += &format!(
        "\n{:>7}{:>13}{:>11}{:>11}{:>14}{:>12}{:>12}{:>12}  {}\n",
        "round", "IOPS", "MiB/s", "mean", "average of 5", "slope", "range", "excursion", "steady"
    );
    for round in &report.rounds {
        let shown = round.measured.iter().find(|cell| cell.iops == round.tracked);
        let (bytes, mean) = shown.map_or((0.0, 0.0), |cell| (cell.bytes_per_sec, cell.mean_ns));
        text += &format!(
            "{:>7}{:>13}{:>11}{:>11}",
            round.number,
            rate(round.tracked),
            throughput(bytes / f64::from(1 << 20)),
            format_time(mean)
        );
        text += &match &round.window {
            None => format!("{:>14}{:>12}{:>12}{:>12}  -\n", "-", "-", "-", "-"),
            Some(window) => {
                let figures = &window.figures;
                format!(
                    "{:>14}{:>12}{:>12}{:>12}  {}\n",
                    rate(figures.average),
                    format!("{:+.1}", figures.slope),
                    format!("{:.1} %", 100.0 * figures.range),
                    format!("{:.1} %", 100.0 * figures.excursion),
                    if window.steady { "yes" } else { "no" }
                )
            }
        };
    }
    text += &format_cells(report);
    text += "\nWhat this means\n";
    for sentence in &report.sentences {
        text += &wrap_paragraph(sentence);
    }
    text
}

/// Formats the cells of the last round: sizes down, mixes across.
fn format_cells(report: &Report) -> String {
    let Some(round) = report.rounds.last().filter(|_| !report.settings.cells.is_empty()) else {
        return String::new();
    };
    let mut sizes: Vec<Bytes> = report.settings.cells.iter().map(|cell| cell.block).collect();
    let mut mixes: Vec<u32> = report.settings.cells.iter().map(|cell| cell.read_percent).collect();
    sizes.sort_unstable_by_key(|size| std::cmp::Reverse(*size));
    mixes.sort_unstable_by_key(|read| std::cmp::Reverse(*read));
    sizes.dedup();
    mixes.dedup();
    let mut text = format!("\nIOPS of round {}, reads/writes across\n{:>10}", round.number, "");
    for read in &mixes {
        text += &format!("{:>11}", format!("{read}/{}", 100 - read));
    }
    text += "\n";
    for size in sizes {
        text += &format!("{:>10}", size.to_string());
        for read in &mixes {
            let wanted = Cell {
                read_percent: *read,
                block: size,
            };
            let measured_cell = round.measured.iter().find(|cell| cell.cell == Some(wanted));
            text += &format!("{:>11}", measured_cell.map_or("-".into(), |cell| rate(cell.iops)));
        }
        text += "\n";
    }
    text
}

/// Formats one CSV row per cell of each round.
fn format_csv(report: &Report) -> String {
    let row = |round: &Round, measured: &CellResult| {
        let window = round.window.as_ref();
        let figure = |select: fn(&Window) -> f64| csv_number(window.map(select));
        let of_cell = |select: fn(Cell) -> u64| measured.cell.map_or(String::new(), |cell| select(cell).to_string());
        vec![
            round.number.to_string(),
            of_cell(|cell| cell.read_percent.into()),
            of_cell(|cell| cell.block.0),
            measured.iops.to_string(),
            measured.bytes_per_sec.to_string(),
            measured.mean_ns.to_string(),
            csv_number(measured.p999_ns),
            figure(|window| window.figures.average),
            figure(|window| window.figures.slope),
            figure(|window| window.figures.range),
            figure(|window| window.figures.excursion),
            window.map_or(String::new(), |window| window.steady.to_string()),
        ]
    };
    let rounds = report.rounds.iter();
    csv_table(
        "round,read_percent,block_bytes,iops,bytes_per_sec,mean_ns,p999_ns,average,slope,range,excursion,steady",
        rounds.flat_map(|round| round.measured.iter().map(move |measured| row(round, measured))),
    )
}
