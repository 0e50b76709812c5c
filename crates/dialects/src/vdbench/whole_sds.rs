//! Runs over whole SDs, in addition to those of the parameter file: the lay-out, and the reads
//! after a restart of data validation.

use model::access::{Access, Advance, AtEnd, Sequential};
use model::content::Content;
use model::mix::Mix;
use model::plan::{
    AllocateMode, ErrorPolicy, Extent, Job, Pattern, Plan, Prepare, Region, Step, Stop, Stream, StreamTarget, Target,
    TargetCleanup, TargetKind,
};
use model::{Bytes, Direction};

use super::VdbenchEnv;
use super::data::{content, write_pattern};
use super::definitions::{Parameters, Sd, Transfer, Wd};
use super::lower::{JobLabel, Lowered, create_worker, derive_seed, end_on_failure, grids, origin, target_rules};
use super::runs::Run;
use super::streams::gcd;

/// The lay-out of a file that is too short begins at a multiple of this, for direct I/O.
const SECTOR: u64 = 4096;

/// An SD that must be laid out, and from where.
#[derive(Clone, Debug, PartialEq)]
pub struct Format {
    /// The SD.
    pub sd: Sd,
    /// Its present size in bytes.
    pub present: u64,
}

/// SDs of these runs that are files and shorter than their `size=`, or all files where
/// `formatsds=yes`. The hosts of a fleet extend their files themselves.
pub fn needs_format(runs: &[Run], parameters: &Parameters, env: &dyn VdbenchEnv) -> Vec<Format> {
    let general = &parameters.general;
    if general.format == Some(false) || general.concatenates || parameters.uses_fleet() {
        return Vec::new();
    }
    let recreates_all = parameters.general.format == Some(true);
    let mut formats: Vec<Format> = Vec::new();
    for sd in runs.iter().flat_map(|run| &run.sds) {
        let present = env.read_size(&sd.lun);
        let wanted = sd.size.or(present).unwrap_or(0);
        let is_short = present.unwrap_or(0) < wanted;
        let is_known = formats.iter().any(|other| env.is_same_file(&other.sd.lun, &sd.lun));
        if !is_known && !sd.lun.starts_with("/dev/") && wanted > 0 && (is_short || recreates_all) {
            let sd = Sd {
                size: Some(wanted),
                ..sd.clone()
            };
            formats.push(Format {
                sd,
                present: if recreates_all { 0 } else { present.unwrap_or(0) },
            });
        }
    }
    formats
}

/// One pass over an SD.
struct SdPass {
    sd: Sd,
    mix: Mix,
    depth: u32,
    block: u64,
    /// Its start, and the number of bytes that it covers.
    region: (u64, u64),
    prepare: Prepare,
}

/// A plan of one pass over each of these SDs.
fn whole_sds(name: &str, passes: Vec<SdPass>, parameters: &Parameters, seed: u64) -> Lowered {
    let general = &parameters.general;
    let job = |(number, pass): (usize, &SdPass)| {
        let sequential = Sequential {
            advance: Advance::Length { skip: 0 },
            at_end: AtEnd::Finish,
            ..Sequential::default()
        };
        let stream = Stream {
            target: StreamTarget::one(number as u32),
            region: Region {
                base: Extent::bytes(pass.region.0),
                length: Some(Extent::bytes(pass.region.1)),
            },
            mix: pass.mix,
            pattern: Pattern::simple(Access::Sequential(sequential), Bytes(pass.block)),
            content: content(general.compratio, general.dedup, pass.region.1 / pass.block).unwrap_or(Content::Once),
            on_error: match pass.mix.includes(Direction::Write) {
                true => ErrorPolicy::default(),
                false => general.error_policy(),
            },
            depth: pass.depth,
            ..Stream::default()
        };
        let mut workers = vec![create_worker(
            vec![stream],
            pass.depth,
            derive_seed(seed, number as u64),
        )];
        let reads = !pass.mix.includes(Direction::Write);
        parameters.validate(&pass.sd.name, &mut workers, reads);
        Job {
            name: pass.sd.name.clone(),
            stop: Stop {
                passes: Some(1),
                ..Stop::default()
            },
            workers,
            ..Job::default()
        }
    };
    let mut jobs: Vec<Job> = passes.iter().enumerate().map(job).collect();
    end_on_failure(&mut jobs);
    let target = |pass: &SdPass| Target {
        path: pass.sd.lun.clone(),
        kind: TargetKind::Path,
        prepare: pass.prepare.clone(),
        at_end: TargetCleanup::Keep,
    };
    let workload_of = jobs.iter().map(|_| vec![vec![0]]).collect();
    let build_label = |pass: &SdPass| JobLabel {
        report_files: vec![pass.sd.name.clone()],
        rank: None,
    };
    let job_labels = passes.iter().map(build_label).collect();
    let mut plan = Plan {
        name: name.into(),
        seed,
        targets: passes.iter().map(target).collect(),
        steps: vec![Step { jobs, prepare: None }],
        grids: grids(1),
        target_rules: target_rules(),
        origin: origin(),
        ..Plan::default()
    };
    write_pattern(&mut plan, general.pattern.as_ref());
    Lowered {
        workload_of,
        job_labels,
        lun_bytes: passes.iter().filter_map(|pass| pass.sd.size).sum(),
        plan,
        max_bytes: None,
    }
}

/// The lay-out: sequential writes after the present end of each file, 2 at a time. Existing data
/// stays: a run that only reads must not change it.
pub fn format_plan(formats: &[Format], parameters: &Parameters, seed: u64) -> Lowered {
    let smallest = formats.iter().filter_map(|format| format.sd.size).min().unwrap_or(0);
    let block = parameters
        .general
        .format_block
        .unwrap_or(if smallest < 131_072 { 512 } else { 131_072 })
        .max(512);
    let pass = |format: &Format| {
        let size = format.sd.size.unwrap_or(0);
        let key = parameters
            .validation
            .as_ref()
            .map_or(SECTOR, |validation| validation.key_block(&format.sd));
        let from = format.present.next_multiple_of(SECTOR).next_multiple_of(key).min(size);
        // Smaller blocks if whole ones would leave a remainder at the end of the missing part.
        let rounded_block = block.next_multiple_of(key);
        let block = match gcd(size - from, rounded_block) {
            divisor if from > 0 && divisor >= key.max(SECTOR) => divisor,
            _ => rounded_block,
        };
        SdPass {
            sd: format.sd.clone(),
            mix: Mix::WRITES,
            depth: 2,
            block,
            region: (from, (size - from) / block * block),
            prepare: Prepare::LayOut {
                size: Bytes(size),
                allocate: AllocateMode::Truncate,
                content: None,
                block: block as u32,
                extend: true,
                flush: false,
                on_open: false,
                may_create: true,
            },
        }
    };
    whole_sds("SD_format", formats.iter().map(pass).collect(), parameters, seed)
}

/// Reads of all key blocks that are known after a restart, up to the `size` of each SD.
pub fn recovery_plan(sds: &[Sd], parameters: &Parameters, env: &dyn VdbenchEnv, seed: u64) -> Lowered {
    const MAX_BLOCK: u64 = 131_072;
    let pass = |sd: &Sd| {
        let key = parameters
            .validation
            .as_ref()
            .map_or(512, |validation| validation.key_block(sd));
        let present = env.read_size(&sd.lun).unwrap_or(0);
        let keys = sd.size.map_or(present, |size| size.min(present)) / key;
        // A transfer that divides the SD leaves no remainder at its end.
        let at_once = (1..=(MAX_BLOCK / key).max(1))
            .rev()
            .find(|keys_at_once| keys.is_multiple_of(*keys_at_once));
        SdPass {
            sd: sd.clone(),
            mix: Mix::READS,
            depth: sd.threads,
            block: at_once.unwrap_or(1) * key,
            region: (0, keys * key),
            prepare: Prepare::Existing,
        }
    };
    whole_sds("journal_recovery", sds.iter().map(pass).collect(), parameters, seed)
}

/// The runs that reports show for passes over whole SDs.
impl Run {
    /// `SD_format`.
    pub fn format(formats: &[Format], block: u64) -> Run {
        let sds = formats.iter().map(|format| Sd {
            threads: 2,
            ..format.sd.clone()
        });
        Run {
            loops: vec![("threads".into(), "2".into()), ("iorate".into(), "max".into())],
            has_threads_loop: true,
            ..Run::over_whole_sds("SD_format", sds.collect(), 0, block)
        }
    }

    /// `journal_recovery`.
    pub fn recovery(sds: &[Sd]) -> Run {
        Run::over_whole_sds("journal_recovery", sds.to_vec(), 100, 131_072)
    }

    fn over_whole_sds(name: &str, sds: Vec<Sd>, rdpct: u32, block: u64) -> Run {
        let wd = Wd {
            name: name.into(),
            xfersize: Transfer::One(block),
            rdpct,
            seekpct: -1,
            ..Wd::default()
        };
        Run {
            name: name.into(),
            distribution: "exponential".into(),
            workloads: vec![(wd, 100.0)],
            sds,
            ..Run::default()
        }
    }
}
