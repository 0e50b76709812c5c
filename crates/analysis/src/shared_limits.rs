//! Compares concurrent jobs with the limits that they share. A virtual machine limits I/O served by
//! the host's cache and I/O to disks separately, so a load on both paths can exceed either figure
//! without reaching a limit.

use model::diagnosis::{JobPath, LayerUse, LimitTable};
use model::observation::Observation;
use model::plan::CachePath;

use crate::caps::{self, Demand, LayerKind, LimitLayer};
use crate::diagnosis::{Bound, layer_bounds};

/// Builds one table for each group of concurrent loads. A single load gets a table only if its
/// storage path is known. Otherwise its diagnosis lists the limits.
pub fn limit_tables(loads: &[Observation], layers: &[LimitLayer]) -> Vec<LimitTable> {
    let mut tables: Vec<LimitTable> = Vec::new();
    for first in loads
        .iter()
        .filter(|load| load.concurrency.is_none_or(|at_once| !at_once.is_sum))
    {
        let group = first.concurrency.map(|at_once| at_once.group);
        let others: Vec<&Observation> = loads.iter().filter(|other| !std::ptr::eq(*other, first)).collect();
        let members = caps::concurrent_loads(first, &others);
        let is_listed = tables
            .iter()
            .filter(|table| Some(table.group) == group)
            .any(|table| table.jobs.iter().any(|job| job.job == first.name));
        let is_alone = members.len() == 1;
        if is_listed || is_alone && first.load.storage.is_unknown() {
            continue;
        }
        let limits = limit_rows(&members, layers);
        if !limits.is_empty() {
            tables.push(LimitTable {
                group: group.unwrap_or(0),
                jobs: members.iter().map(|load| job_path(load)).collect(),
                sentences: sentences(&members, layers),
                limits,
            });
        }
    }
    tables
}

fn job_path(load: &Observation) -> JobPath {
    JobPath {
        job: load.name.clone(),
        iops: caps::flow_iops(&load.total, load).unwrap_or(0.0),
        storage: load.load.storage.clone(),
    }
}

/// Rows for every limit that applies to a load, and for the sums over both paths.
fn limit_rows(loads: &[&Observation], layers: &[LimitLayer]) -> Vec<LayerUse> {
    let mut rows = Vec::new();
    for layer in layers {
        let Some(demand) = caps::demand(layer, loads) else {
            continue;
        };
        rows.extend(layer_uses(layer, demand));
    }
    let sums = both_paths(loads, layers);
    rows.extend(sums.into_iter().flat_map(|sum| layer_uses(&sum.layer, sum.demand)));
    rows
}

fn layer_uses(layer: &LimitLayer, demand: Demand) -> Vec<LayerUse> {
    let jobs = demand.jobs.clone();
    let layer_use = |bound: &Bound| LayerUse {
        jobs: jobs.clone(),
        ..LayerUse::from(bound)
    };
    let total = demand.iops;
    layer_bounds(layer, demand, total).iter().map(layer_use).collect()
}

/// The limits of a machine's two paths, with their sum.
struct BothPaths<'a> {
    cached: &'a LimitLayer,
    uncached: &'a LimitLayer,
    /// The sum of both limits, with the demand of the loads on it.
    layer: LimitLayer,
    demand: Demand,
}

/// Machines whose loads use both paths, or exceed the limit of one.
fn both_paths<'a>(loads: &[&Observation], layers: &'a [LimitLayer]) -> Vec<BothPaths<'a>> {
    let machine_layers = |path: CachePath| {
        layers
            .iter()
            .filter(move |layer| layer.kind == LayerKind::Machine && layer.path == Some(path) && layer.job.is_none())
    };
    let mut paths = Vec::new();
    for (cached, uncached) in machine_layers(CachePath::Cached).zip(machine_layers(CachePath::Uncached)) {
        let are_comparable =
            (&cached.role, cached.applies, cached.unit) == (&uncached.role, uncached.applies, uncached.unit);
        let Some(limit) = cached.iops.zip(uncached.iops).filter(|_| are_comparable) else {
            continue;
        };
        let layer = LimitLayer {
            name: sum_name(cached, uncached),
            path: None,
            iops: Some(limit.0 + limit.1),
            bytes_per_sec: cached.bytes_per_sec.zip(uncached.bytes_per_sec).map(|(a, b)| a + b),
            ..cached.clone()
        };
        let Some(demand) = caps::demand(&layer, loads) else {
            continue;
        };
        let used = |layer: &LimitLayer| caps::demand(layer, loads).map(|demand| demand.iops);
        let exceeds = |layer: &LimitLayer| {
            used(layer).is_some_and(|used| layer.iops.is_some_and(|limit| limit.is_exceeded_by(used)))
        };
        let uses_both = used(cached).is_some() && used(uncached).is_some();
        if uses_both || exceeds(cached) || exceeds(uncached) {
            paths.push(BothPaths {
                cached,
                uncached,
                layer,
                demand,
            });
        }
    }
    paths
}

/// Combined limits for loads that exceed the one path they were assigned to. Part of the I/O must
/// have taken the other path, so only the combined limit applies.
pub(crate) fn combined_path_limits(loads: &[&Observation], layers: &[LimitLayer]) -> Vec<LimitLayer> {
    let uses = |layer: &LimitLayer| caps::demand(layer, loads).is_some();
    let sums = both_paths(loads, layers).into_iter();
    sums.filter(|sum| !(uses(sum.cached) && uses(sum.uncached)))
        .map(|sum| sum.layer)
        .collect()
}

/// `VM Standard_D8ds_v4, cached + uncached`.
fn sum_name(cached: &LimitLayer, uncached: &LimitLayer) -> String {
    let machine = cached.name.strip_suffix(CachePath::Cached.word());
    match machine == uncached.name.strip_suffix(CachePath::Uncached.word()) && machine.is_some() {
        true => format!("{} + uncached", cached.name),
        false => format!("{} + {}", cached.name, uncached.name),
    }
}

/// Describes the table in sentences.
fn sentences(loads: &[&Observation], layers: &[LimitLayer]) -> Vec<String> {
    let mut sentences = Vec::new();
    for paths in both_paths(loads, layers) {
        sentences.extend(describe_both_paths(loads, &paths));
    }
    let replicated = loads
        .iter()
        .filter_map(|load| Some((load, load.load.storage.replicas.filter(|replicas| *replicas > 1)?)));
    for (load, replicas) in replicated {
        sentences.push(format!(
            "{}: the storage keeps {replicas} copies, so each write counts {replicas} times against the disks below.",
            load.name
        ));
    }
    sentences
}

/// `78,300 IOPS`.
fn format_iops(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text + " IOPS"
}

fn describe_both_paths(loads: &[&Observation], both: &BothPaths<'_>) -> Vec<String> {
    let percent = |used: f64, limit: f64| format!("{:.1} %", 100.0 * used / limit);
    let limit = |layer: &LimitLayer| layer.iops.unwrap_or_default();
    let (demanded, sum) = (both.demand.iops, limit(&both.layer));
    let used = |layer: &LimitLayer| caps::demand(layer, loads).map(|demand| demand.iops);
    let describe_sum = |word: &str, path_limit: &LimitLayer| {
        format!(
            "All jobs together did {}: {} of the {word} limit alone ({}), {} of the cached and uncached limits together ({})",
            format_iops(demanded),
            percent(demanded, limit(path_limit).low),
            format_iops(limit(path_limit).low),
            percent(demanded, sum.low),
            format_iops(sum.low),
        )
    };
    let paths = [("cached", both.cached), ("uncached", both.uncached)];
    let Some(used) = used(both.cached).zip(used(both.uncached)) else {
        let [(taken, layer), (other, _)] = match used(both.cached) {
            Some(_) => paths,
            None => [paths[1], paths[0]],
        };
        let describe_sum = describe_sum(taken, layer);
        return match demanded <= sum.high * (1.0 + caps::TOLERANCE_ABOVE) {
            // Each path carries at most its own limit, so reaching the sum means reaching both.
            true if sum.is_reached_by(demanded) => vec![format!(
                "Both limits of the machine are reached. {describe_sum}, so part of the load took the {other} path. \
                    To compare each path with its own jobs, name the path of each job (--path JOB={other}, or `path` \
                    in a job file)."
            )],
            true => vec![format!(
                "{describe_sum}. One path cannot carry that, so part of the load probably took the {other} path, \
                    although every job counts as {taken}: name the path of each job (--path JOB={other}, or `path` in \
                    a job file)."
            )],
            false => vec![format!(
                "{describe_sum}. That exceeds both limits combined: another cache served part of the load, or other \
                    limits apply."
            )],
        };
    };
    let uses = [(used.0, paths[0]), (used.1, paths[1])];
    let reached: Vec<&str> = uses
        .iter()
        .filter(|(used, (_, layer))| limit(layer).is_reached_by(*used))
        .map(|(_, (word, _))| *word)
        .collect();
    let shares: Vec<String> = uses
        .iter()
        .map(|(used, (word, layer))| {
            let limit = limit(layer).low;
            format!(
                "{word} {} of {} ({})",
                format_iops(*used),
                format_iops(limit),
                percent(*used, limit)
            )
        })
        .collect();
    let conclusion = match reached[..] {
        [_, _] => "Both limits of the machine are reached",
        ["cached"] => "The cached limit of the machine is reached, the uncached one is not",
        ["uncached"] => "The uncached limit of the machine is reached, the cached one is not",
        _ => "Neither limit of the machine is reached",
    };
    vec![
        format!("{conclusion}: {}.", shares.join(", ")),
        format!(
            "{}. The two paths have separate limits, so each is compared with its own jobs.",
            describe_sum("cached", both.cached)
        ),
    ]
}

#[cfg(test)]
mod tests {
    use model::observation::{Concurrency, IoStats};
    use model::plan::StoragePath;
    use model::testing::{assert_contains, assert_starts_with};
    use model::{Bytes, Direction, Nanos};

    use super::*;
    use crate::caps::Limit;
    use crate::diagnosis::{Answer, Context, diagnose};
    use crate::policies::{Catalogue, Disks, stack_of_paths};

    fn load(name: &str, direction: Direction, iops: f64, storage: StoragePath) -> Observation {
        let flow = IoStats {
            iops: Some(iops),
            bytes_per_sec: Some(iops * 4096.0),
            ..IoStats::default()
        };
        let mut load = Observation {
            name: name.into(),
            total: flow.clone(),
            measured_ns: Some(Nanos::secs(30)),
            concurrency: Some(Concurrency::default()),
            ..Observation::default()
        };
        load.directions[direction] = Some(flow);
        load.load.block = Some(Bytes::kib(4));
        load.load.storage = storage;
        load
    }

    fn storage_on(path: CachePath) -> StoragePath {
        StoragePath {
            cache: Some(path),
            ..StoragePath::default()
        }
    }

    fn machine_limits(machine: &str) -> Vec<LimitLayer> {
        let wanted = Disks {
            machine: Some(machine.into()),
            ..Disks::default()
        };
        stack_of_paths(&Catalogue::built_in(), &wanted).unwrap()
    }

    /// Layer, unit, use, limit, and whether it is reached.
    fn iops_rows(table: &LimitTable) -> Vec<(&str, f64, f64, bool)> {
        let rows = table.limits.iter().filter(|row| row.unit == "IOPS");
        rows.map(|row| (row.layer.as_str(), row.used, row.limit, row.met))
            .collect()
    }

    /// Azure's combined test: 78.3 k reads per second through the host's cache, and 12.6 k writes
    /// per second that bypass it.
    fn azure(reader: StoragePath, writer: StoragePath) -> LimitTable {
        let loads = [
            load("reader1", Direction::Read, 78_300.0, reader),
            load("writer1", Direction::Write, 12_600.0, writer),
        ];
        let mut tables = limit_tables(&loads, &machine_limits("Standard_D8ds_v4"));
        assert_eq!(tables.len(), 1);
        tables.remove(0)
    }

    #[test]
    fn both_limits_of_a_machine_are_reached_together() {
        let table = azure(storage_on(CachePath::Cached), storage_on(CachePath::Uncached));
        assert_eq!(
            iops_rows(&table),
            [
                ("VM Standard_D8ds_v4, cached", 78_300.0, 77_000.0, true),
                ("VM Standard_D8ds_v4, uncached", 12_600.0, 12_800.0, true),
                ("VM Standard_D8ds_v4, cached + uncached", 90_900.0, 89_800.0, true),
            ]
        );
        assert_eq!(
            table.sentences,
            [
                "Both limits of the machine are reached: cached 78,300 IOPS of 77,000 IOPS (101.7 %), uncached 12,600 \
                    IOPS of 12,800 IOPS (98.4 %).",
                "All jobs together did 90,900 IOPS: 118.1 % of the cached limit alone (77,000 IOPS), 101.2 % of the \
                    cached and uncached limits together (89,800 IOPS). The two paths have separate limits, so each is \
                    compared with its own jobs.",
            ]
        );
    }

    #[test]
    fn a_load_beyond_one_path_gets_advice_to_name_its_paths() {
        let table = azure(storage_on(CachePath::Cached), storage_on(CachePath::Cached));
        assert_eq!(
            iops_rows(&table),
            [
                ("VM Standard_D8ds_v4, cached", 90_900.0, 77_000.0, false),
                ("VM Standard_D8ds_v4, cached + uncached", 90_900.0, 89_800.0, true),
            ]
        );
        let [sentence] = &table.sentences[..] else {
            panic!("{table:?}")
        };
        assert_starts_with(sentence, "Both limits of the machine are reached.");
        assert!(sentence.contains("118.1 % of the cached limit alone"), "{sentence}");
        assert!(sentence.contains("--path JOB=uncached"), "{sentence}");
        // 84,000 also exceeds one path of 77,000, but leaves the other path unsaturated.
        let loads = [load("a", Direction::Read, 84_000.0, storage_on(CachePath::Cached))];
        let tables = limit_tables(&loads, &machine_limits("Standard_D8ds_v4"));
        assert_contains(&tables[0].sentences[0], "One path cannot carry that");
        // Without a path, the whole load counts as uncached.
        let table = azure(StoragePath::default(), StoragePath::default());
        assert_contains(&table.sentences[0], "710.2 % of the uncached limit alone (12,800 IOPS)");
        // Far beyond both limits, that advice would be wrong.
        let loads = [
            load("a", Direction::Read, 200_000.0, storage_on(CachePath::Cached)),
            load("b", Direction::Read, 1000.0, storage_on(CachePath::Cached)),
        ];
        let tables = limit_tables(&loads, &machine_limits("Standard_D8ds_v4"));
        assert_contains(&tables[0].sentences[0], "That exceeds both limits combined");
    }

    #[test]
    fn jobs_that_share_a_limit_reach_it_together() {
        let half = |name: &str| load(name, Direction::Write, 6400.0, StoragePath::default());
        let (a, b) = (half("a"), half("b"));
        let layers = machine_limits("Standard_D8ds_v4");
        let context = Context {
            others: vec![&b],
            ..Context::default()
        };
        let found = diagnose(&a, &layers, &context);
        assert_eq!(found.answer, Answer::Cap, "{found:?}");
        assert_eq!(found.layer.as_deref(), Some("VM Standard_D8ds_v4, uncached"));
        assert_contains(&found.sentence, "12800 IOPS (a + b together) reach its limit");
        let diagnosis = diagnose(&a, &layers, &Context::default());
        assert_ne!(diagnosis.answer, Answer::Cap, "half of a limit is not the limit");
    }

    #[test]
    fn only_concurrent_rates_add_up() {
        let load_at = |name: &str, start: u64, length: u64, group: u32| Observation {
            measured_ns: Some(Nanos::secs(length)),
            concurrency: Some(Concurrency {
                group,
                start_ns: Nanos::secs(start),
                is_sum: false,
            }),
            ..load(name, Direction::Read, 1000.0, StoragePath::default())
        };
        let first = load_at("first", 0, 30, 0);
        let counts = |other: Observation| first.is_concurrent_with(&other);
        assert!(counts(load_at("same", 0, 30, 0)));
        assert!(counts(load_at("nearly", 3, 30, 0)));
        assert!(!counts(load_at("later", 4, 30, 0)), "26 of 30 s");
        assert!(!counts(load_at("short", 0, 10, 0)), "a third of the window");
        assert!(!counts(load_at("other", 0, 30, 1)), "another step");
        let mut sum = load_at("sum", 0, 30, 0);
        sum.concurrency.as_mut().unwrap().is_sum = true;
        assert!(!counts(sum), "a sum would count twice");
    }

    #[test]
    fn copies_of_writes_count_only_against_disks() {
        let replicated = StoragePath {
            replicas: Some(3),
            hops: Some(2),
            ..StoragePath::default()
        };
        let mut mixed = load("db", Direction::Read, 7000.0, replicated);
        mixed.directions.write = Some(IoStats {
            iops: Some(1000.0),
            bytes_per_sec: Some(4_096_000.0),
            ..IoStats::default()
        });
        mixed.total.iops = Some(8000.0);
        let layer = |kind: LayerKind| LimitLayer {
            name: "layer".into(),
            kind,
            iops: Some(Limit::exactly(10_000.0)),
            ..LimitLayer::default()
        };
        let demand_iops =
            |load: &Observation, layer: &LimitLayer| caps::demand(layer, &[load]).map(|demand| demand.iops);
        assert_eq!(
            demand_iops(&mixed, &layer(LayerKind::Disk)),
            Some(10_000.0),
            "7000 + 3 × 1000"
        );
        assert_eq!(demand_iops(&mixed, &layer(LayerKind::Machine)), Some(8000.0));
        assert_eq!(demand_iops(&mixed, &layer(LayerKind::Link)), Some(8000.0));
        let tables = limit_tables(std::slice::from_ref(&mixed), &[layer(LayerKind::Disk)]);
        assert_eq!(iops_rows(&tables[0]), [("layer", 10_000.0, 10_000.0, true)]);
        assert_eq!(
            (tables[0].jobs[0].storage.replicas, tables[0].jobs[0].storage.hops),
            (Some(3), Some(2))
        );
        assert_contains(&tables[0].sentences[0], "each write counts 3 times");
        // A source that does not separate writes cannot be scaled.
        mixed.directions = Default::default();
        assert_eq!(demand_iops(&mixed, &layer(LayerKind::Disk)), None);
        assert_eq!(demand_iops(&mixed, &layer(LayerKind::Machine)), Some(8000.0));
    }

    #[test]
    fn limits_select_jobs_by_role_and_name() {
        let with_role = |role: &str| StoragePath {
            role: Some(role.into()),
            ..StoragePath::default()
        };
        let loads = [
            load("a", Direction::Write, 100.0, with_role("log")),
            load("b", Direction::Write, 20.0, with_role("log")),
            load("c", Direction::Write, 3.0, with_role("data")),
        ];
        let demand_on = |role: Option<&str>, job: Option<&str>| {
            let layer = LimitLayer {
                role: role.map(str::to_owned),
                job: job.map(str::to_owned),
                iops: Some(Limit::exactly(1000.0)),
                ..LimitLayer::default()
            };
            let loads: Vec<&Observation> = loads.iter().collect();
            caps::demand(&layer, &loads).map(|demand| (demand.iops, demand.jobs.join(" ")))
        };
        assert_eq!(demand_on(None, None), Some((123.0, "a b c".into())));
        assert_eq!(demand_on(Some("log"), None), Some((120.0, "a b".into())));
        assert_eq!(demand_on(None, Some("c")), Some((3.0, "c".into())));
        assert_eq!(demand_on(Some("data"), Some("a")), None);
    }
}
