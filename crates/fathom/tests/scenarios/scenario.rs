//! A scenario: a device, a load, the known facts, and the answer.

use analysis::caps::{Applies, LayerKind, Limit, LimitLayer};
use analysis::diagnosis::{Context, Counts, Diagnosis, KnownBurst, Network, Temperature, diagnose};
use analysis::{requirement, verdict};
use model::environment::VolumeUse;
use model::observation::{CoreShare, DeviceView, GeneratorCost, Observation};
use study::confirm::{add_repetitions, repeated_steps};
use testbed::With;

use crate::execute;
use crate::prelude::*;

#[derive(Debug)]
pub struct Scenario {
    pub name: String,
    table: toml::Table,
}

impl Scenario {
    pub fn parse_all(text: &str) -> Vec<Scenario> {
        let file: toml::Table = text.parse().unwrap();
        let list = file["scenario"].as_array().unwrap();
        let scenario = |value: &toml::Value| {
            let table = value.as_table().unwrap().clone();
            Scenario {
                name: table["name"].as_str().unwrap().to_owned(),
                table,
            }
        };
        list.iter().map(scenario).collect()
    }

    /// A table of the scenario. It is empty if the scenario does not have it.
    pub fn part(&self, name: &str) -> toml::Table {
        self.table
            .get(name)
            .map(|part| part.as_table().unwrap().clone())
            .unwrap_or_default()
    }

    fn flag(&self, name: &str) -> bool {
        self.table.get(name).is_some_and(|value| value.as_bool().unwrap())
    }

    fn plan(&self, load: toml::Table, seed: u64) -> Plan {
        let mut job = toml::Table::from_iter([("target".into(), "simulated:device".into())]);
        job.insert("depth".into(), 32.into());
        job.insert("time".into(), "40s".into());
        // The written data is not checked, and generating it would take most of the time.
        job.insert("content".into(), "zeros".into());
        job.extend(load);
        let mut device = toml::Table::from_iter([("servers".into(), 64.into())]);
        device.insert("service".into(), "lognormal 2ms 0.3".into());
        device.extend(self.part("device"));
        let file = toml::Table::from_iter([
            ("job".into(), toml::Value::Array(vec![job.into()])),
            (
                "simulated".into(),
                toml::Table::from_iter([("device".into(), device.into())]).into(),
            ),
        ]);
        let text = toml::to_string(&file).unwrap();
        let mut document = dialects::native::read_job_file(&self.name, &text)
            .unwrap_or_else(|faults| panic!("{}: {faults:?}\n{text}", self.name));
        document.seed = Some(seed);
        dialects::native::lower(&document).unwrap_or_else(|faults| panic!("{}: {faults:?}", self.name))
    }

    /// Runs the load and diagnoses it.
    pub fn diagnosis(&self, seed: u64) -> Diagnosis {
        let mut plan = self.plan(self.part("load"), seed);
        if self.flag("confirm") {
            plan = add_repetitions(&plan).plan;
        }
        let second = repeated_steps(&plan).first().map(|(_, second)| *second);
        let results = execute(plan);
        let mut observation = Observation::from_results(&results, 0, 0).unwrap();
        let deeper = second.map(|step| Observation::from_results(&results, step, 0).unwrap());
        let other = self.part("other-load");
        let other = (!other.is_empty()).then(|| {
            let results = execute(self.plan(other, seed + 1));
            Observation::from_results(&results, 0, 0).unwrap()
        });
        let mut context = Context {
            deeper: deeper.as_ref(),
            other_rate: other.as_ref(),
            bursts: self.bursts(),
            ..Context::for_job(&results, 0, 0)
        };
        let host = self.part("host");
        add_host_figures(&mut observation, &host);
        add_facts(&mut context, &host, &observation);
        diagnose(&observation, &self.layers(), &context)
    }

    /// Runs the load and judges its requirements. Returns the outcome in lower case, and the
    /// reasons.
    pub fn verdict(&self, seed: u64) -> (String, String) {
        let results = execute(self.plan(self.part("load"), seed));
        let mut observation = Observation::from_results(&results, 0, 0).unwrap();
        add_host_figures(&mut observation, &self.part("host"));
        let clauses = requirement::parse(self.table["require"].as_str().unwrap()).unwrap();
        let context =
            verdict::Context::default().with(|context| context.intervals = &results.steps[0].jobs[0].histograms);
        let judged = verdict::judge(&clauses, &observation, &context);
        let reasons = judged.clauses.iter().map(|clause| format!("{clause:?}"));
        (
            judged.outcome.word().to_lowercase(),
            reasons.collect::<Vec<_>>().join("; "),
        )
    }

    /// The declared limits.
    pub fn layers(&self) -> Vec<LimitLayer> {
        let caps = self.table.get("caps").map(|caps| caps.as_array().unwrap().clone());
        let layer = |cap: toml::Value| {
            let cap = cap.as_table().unwrap().clone();
            let limit = |name: &str, factor: f64| {
                let values = match cap.get(name)? {
                    toml::Value::Array(range) => range.iter().map(number).collect(),
                    value => vec![number(value)],
                };
                Some(Limit {
                    low: values[0] * factor,
                    high: values[values.len() - 1] * factor,
                })
            };
            let word = |name: &str| cap.get(name).map(|value| value.as_str().unwrap());
            LimitLayer {
                name: word("name").unwrap().into(),
                kind: match word("kind") {
                    None | Some("disk") => LayerKind::Disk,
                    Some("vm") => LayerKind::Machine,
                    Some("cgroup") => LayerKind::ControlGroup,
                    Some("link") => LayerKind::Link,
                    Some(other) => panic!("unknown kind {other}"),
                },
                applies: match word("for") {
                    None => Applies::All,
                    Some("reads") => Applies::Reads,
                    Some("writes") => Applies::Writes,
                    Some(other) => panic!("unknown direction {other}"),
                },
                iops: limit("iops", 1.0),
                bytes_per_sec: limit("mbps", 1e6),
                unit: cap.get("unit").map(|unit| Bytes(number(unit) as u64)),
                source: "the scenario".into(),
                ..LimitLayer::default()
            }
        };
        caps.unwrap_or_default().into_iter().map(layer).collect()
    }

    fn bursts(&self) -> Vec<KnownBurst> {
        let burst = self.part("burst");
        if burst.is_empty() {
            return Vec::new();
        }
        vec![KnownBurst {
            layer: burst["name"].as_str().unwrap().into(),
            counts: match burst.get("bytes").is_some() {
                true => Counts::Bytes,
                false => Counts::Operations,
            },
            ceiling: number(&burst["ceiling"]),
            refill: number(&burst["refill"]),
            bucket: number(&burst["bucket"]),
        }]
    }
}

fn number(value: &toml::Value) -> f64 {
    let whole = value.as_integer().map(|value| value as f64);
    whole
        .or(value.as_float())
        .unwrap_or_else(|| panic!("{value} is not a number"))
}

/// Adds the figures of a host, which a simulated device does not have.
fn add_host_figures(observation: &mut Observation, host: &toml::Table) {
    let value = |name: &str| host.get(name).map(number);
    if let Some(cores) = host.get("cores") {
        let share = |(cpu, core): (usize, &toml::Value)| {
            let shares = core.as_array().unwrap();
            CoreShare {
                cpu: cpu as u32,
                user: number(&shares[0]),
                kernel: number(&shares[1]),
                stolen: None,
            }
        };
        observation.cores = cores.as_array().unwrap().iter().enumerate().map(share).collect();
    }
    let busiest_worker = value("worker").unwrap_or(0.05);
    observation.generator = Some(GeneratorCost {
        busiest_worker,
        processors: busiest_worker,
        ceiling_iops: value("ceiling"),
    });
    observation.device = value("in-device").map(|in_flight| DeviceView {
        in_flight,
        iops: observation.total.iops.unwrap(),
        bytes_per_sec: observation.total.bytes_per_sec.unwrap(),
        busy: 1.0,
    });
}

fn add_facts(context: &mut Context<'_>, host: &toml::Table, observation: &Observation) {
    let value = |name: &str| host.get(name).map(number);
    context.polls = host.get("polls").is_some();
    context.unloaded_ns = value("unloaded-ms").map(|time| time * 1e6);
    if host.contains_key("link") || host.contains_key("losses") {
        context.network = Some(Network {
            link_share: value("link"),
            losses: value("losses").map(|losses| losses as u64),
        });
    }
    context.temperature = value("temperature").map(|highest| Temperature { highest, limit: 80.0 });
    let window = observation.measured_ns.unwrap();
    let share = |name: &str| Nanos((value(name).unwrap_or(0.0) * window.0 as f64) as u64);
    if host.keys().any(|key| key.ends_with("-exceeded")) {
        context.window_ns = window;
        context.volumes = vec![VolumeUse {
            provider: "Amazon EBS".into(),
            instance_iops_exceeded_ns: share("instance-exceeded"),
            volume_iops_exceeded_ns: share("volume-exceeded"),
            volume_throughput_exceeded_ns: share("volume-throughput-exceeded"),
            ..VolumeUse::default()
        }];
    }
}
