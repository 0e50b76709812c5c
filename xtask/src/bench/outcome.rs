//! The outcome of a run, read from the tool's output.

use serde_json::Value;

use super::BenchError;
use super::child::{FinishedProgram, Usage};

/// The figures that are compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) operations: f64,
    pub(crate) iops: f64,
    /// Total latency: from before the call to the completion.
    pub(crate) mean_ns: f64,
    pub(crate) max_ns: f64,
    /// Percent and nanoseconds. For fio of completion latency, the only one with percentiles by
    /// default.
    pub(crate) percentiles: Vec<(f64, f64)>,
    pub(crate) usage: Usage,
    /// The whole document, for figures that only one tool has.
    pub(crate) json: Value,
}

impl Outcome {
    /// Reads `fathom run --out json`.
    pub(crate) fn from_fathom(finished: &FinishedProgram) -> Result<Outcome, BenchError> {
        let json = json(&finished.stdout)?;
        let total = &json["jobs"][0]["total"];
        let latency = &total["latency"];
        let percentiles = latency["percentiles"].as_array().into_iter().flatten();
        Ok(Outcome {
            operations: number(&total["operations"])?,
            iops: number(&total["iops"])?,
            mean_ns: number(&latency["mean_ns"])?,
            max_ns: number(&latency["max_ns"])?,
            percentiles: percentiles
                .filter_map(|percentile| Some((percentile["percent"].as_f64()?, percentile["ns"].as_f64()?)))
                .collect(),
            usage: finished.usage,
            json,
        })
    }

    /// Reads `fio --output-format=json`.
    pub(crate) fn from_fio(finished: &FinishedProgram) -> Result<Outcome, BenchError> {
        let json = json(&finished.stdout)?;
        let job = &json["jobs"][0];
        let (read, write) = (&job["read"], &job["write"]);
        let operations = [number(&read["total_ios"])?, number(&write["total_ios"])?];
        let sum = operations[0] + operations[1];
        let main = if operations[0] >= operations[1] { read } else { write };
        let mean = |direction: &Value| direction["lat_ns"]["mean"].as_f64().unwrap_or_default();
        let percentiles = main["clat_ns"]["percentile"].as_object().into_iter().flatten();
        Ok(Outcome {
            operations: sum,
            iops: number(&read["iops"])? + number(&write["iops"])?,
            mean_ns: (mean(read) * operations[0] + mean(write) * operations[1]) / sum.max(1.0),
            max_ns: number(&main["lat_ns"]["max"])?,
            percentiles: percentiles
                .filter_map(|(percent, ns)| Some((percent.parse().ok()?, ns.as_f64()?)))
                .collect(),
            usage: finished.usage,
            json,
        })
    }

    /// Reads DiskSpd's text report: the first line of totals.
    pub(crate) fn from_diskspd(finished: &FinishedProgram) -> Result<Outcome, BenchError> {
        let total = finished.stdout.lines().find_map(|line| line.strip_prefix("total:"));
        let columns: Vec<f64> = total
            .into_iter()
            .flat_map(|line| line.split('|').map_while(|column| column.trim().parse().ok()))
            .collect();
        match columns[..] {
            [_bytes, operations, _mib_per_second, iops, ..] => Ok(Outcome {
                operations,
                iops,
                usage: finished.usage,
                ..Outcome::default()
            }),
            _ => Err(BenchError(format!("no totals in {:?}", finished.stdout))),
        }
    }

    /// Reads the output of the bare loop, which measures no latency.
    pub(crate) fn from_floor(finished: &FinishedProgram) -> Result<Outcome, BenchError> {
        let json = json(&finished.stdout)?;
        let operations = number(&json["operations"])?;
        Ok(Outcome {
            operations,
            iops: operations / number(&json["seconds"])?,
            usage: finished.usage,
            ..Outcome::default()
        })
    }

    /// A percentile that the tool reported.
    pub(crate) fn percentile(&self, percent: f64) -> Option<f64> {
        let is_percentile = |(this, _): &&(f64, f64)| (this - percent).abs() < 1e-6;
        self.percentiles.iter().find(is_percentile).map(|(_, ns)| *ns)
    }
}

/// fio may print remarks before its JSON.
fn json(text: &str) -> Result<Value, BenchError> {
    let start = text
        .find('{')
        .ok_or_else(|| BenchError(format!("no JSON in {text:?}")))?;
    Ok(serde_json::from_str(&text[start..])?)
}

fn number(value: &Value) -> Result<f64, BenchError> {
    value
        .as_f64()
        .ok_or_else(|| BenchError(format!("a number was expected, not {value}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finished(stdout: &str) -> FinishedProgram {
        FinishedProgram {
            usage: Usage::default(),
            stdout: stdout.to_owned(),
            stderr: String::new(),
        }
    }

    #[test]
    fn fio_is_read() {
        let recorded = include_str!("fio-3.33.json");
        let found = Outcome::from_fio(&finished(&format!("fio: a remark\n{recorded}"))).unwrap();
        assert_eq!(found.operations, 2_924_930.0);
        assert_eq!(found.iops, 2_922_007.992_008);
        assert!(found.mean_ns > 0.0 && found.max_ns >= found.mean_ns);
        assert!(found.percentile(99.0).is_some_and(|ns| ns > 0.0));
        assert_eq!(found.percentile(12.0), None);
    }

    #[test]
    fn fathom_is_read() {
        let text = r#"{"jobs": [{"total": {"operations": 10, "iops": 5.0, "latency": {"mean_ns": 2.5, "max_ns": 9,
            "percentiles": [{"percent": 50.0, "ns": 2}, {"percent": 99.9, "ns": 8}]}}}]}"#;
        let found = Outcome::from_fathom(&finished(text)).unwrap();
        assert_eq!(
            (found.operations, found.iops, found.mean_ns, found.max_ns),
            (10.0, 5.0, 2.5, 9.0)
        );
        assert_eq!(found.percentile(99.9), Some(8.0));
    }

    #[test]
    fn diskspd_and_the_floor_are_read() {
        let text = "thread |       bytes     |     I/Os     |    MiB/s   |  I/O per s |\n\
                    total:         8192000 |         2000 |       7.81 |    2000.00 |    0.012\n\
                    total:               0 |            0 |       0.00 |       0.00 |    0.000\n";
        let found = Outcome::from_diskspd(&finished(text)).unwrap();
        assert_eq!((found.operations, found.iops), (2000.0, 2000.0));
        let found = Outcome::from_floor(&finished("{\"operations\": 100, \"seconds\": 0.5}")).unwrap();
        assert_eq!((found.operations, found.iops), (100.0, 200.0));
    }

    #[test]
    fn text_that_is_not_json_is_quoted() {
        let why = Outcome::from_fio(&finished("fio: no such file")).unwrap_err();
        assert!(why.to_string().contains("no such file"));
    }
}
