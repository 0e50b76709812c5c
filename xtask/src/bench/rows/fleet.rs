//! The cost of running a test on many ranks: real processes on this machine, and as many synthetic
//! results.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;

use super::*;

/// Almost no work, so that only the cost of coordination is visible.
const NOTHING: &str = "[[job]]\nname = \"nothing\"\ntarget = \"null\"\nsize = \"1GiB\"\ndepth = 1\nrate = \"100iops\"\nwarm-up = \"0s\"\ntime = \"SECONDSs\"\n";
/// A minute of a simulated device, which takes almost no time.
const MINUTE: &str = "seed = 1\n[[job]]\nname = \"minute\"\ntarget = \"simulated:disk\"\nread = 70\ndepth = 4\ntime = \"60s\"\n\
                      [simulated.disk]\nsize = \"1GiB\"\nservers = 4\nservice = \"exponential 4ms\"\n";
const MIB: f64 = 1024.0 * 1024.0;

pub(super) fn measure(bench: &Bench, row: &'static str) -> Result<Vec<Figure>, BenchError> {
    let folder = bench.places.folder()?.join("fleet");
    fs::create_dir_all(&folder)?;
    let mut figures = Vec::new();
    real(bench, row, &folder, &mut figures)?;
    report_copies(bench, row, &folder, &mut figures)?;
    // A quick look does not build the program for it, which takes longer than all rows.
    if !bench.options.smoke {
        synthetic(bench, row, &folder, &mut figures)?;
    }
    Ok(figures)
}

/// One run with this many processes.
struct Ran {
    usage: Usage,
    saved: f64,
}

fn job(folder: &Path, seconds: u32) -> Result<String, BenchError> {
    let path = folder.join(format!("nothing-{seconds}.toml"));
    fs::write(&path, NOTHING.replace("SECONDS", &seconds.to_string()))?;
    Ok(path.display().to_string())
}

fn run(bench: &Bench, folder: &Path, surroundings: &[String], arguments: &[&str]) -> Result<Ran, BenchError> {
    let saved = folder.join("saved");
    let _ = fs::remove_file(&saved);
    let path = saved.display().to_string();
    let mut line = vec![
        "env".to_owned(),
        format!("FATHOM_JOURNAL={}", folder.join("journal").display()),
    ];
    line.extend(surroundings.iter().cloned());
    line.extend(bench.tools.own(arguments));
    line.extend(["--quiet".into(), "--save".into(), path]);
    let finished = child::run(&line)?;
    Ok(Ran {
        usage: finished.usage,
        saved: fs::metadata(&saved)?.len() as f64,
    })
}

/// Processes on this machine: more than it has processors, so that they compete for them and this
/// is the worst case.
fn real(bench: &Bench, row: &'static str, folder: &Path, figures: &mut Vec<Figure>) -> Result<(), BenchError> {
    let job = job(folder, 1)?;
    let counts: &[usize] = if bench.options.smoke { &[1, 4] } else { &[1, 4, 16, 64] };
    bench.record_text("fathom run nothing.toml --hosts local,local,… --quiet --save FILE".into());
    for count in counts {
        let list = vec!["local"; *count].join(",");
        let runs: Vec<Ran> = (0..bench.options.pairs)
            .map(|_| run(bench, folder, &[], &["run", &job, "--hosts", &list]))
            .collect::<Result<_, _>>()?;
        let count_words = if *count == 1 {
            "1 rank".to_owned()
        } else {
            format!("{count} ranks")
        };
        let per_rank = |value: Option<f64>, unit: &str| {
            let value = value.unwrap_or_default() / *count as f64;
            format!("{} {unit} for each rank", digits(value))
        };
        type Row<'a> = (&'a str, &'static str, fn(&Ran) -> f64);
        let rows: [Row; 4] = [
            ("time beyond that of the test", "ms", |ran| {
                (ran.usage.wall_secs - 1.0) * 1e3
            }),
            ("CPU time of all processes", "ms", |ran| ran.usage.cpu_secs() * 1e3),
            ("memory of the largest process", "MiB", |ran| {
                ran.usage.memory_bytes as f64 / MIB
            }),
            ("saved file", "KiB", |ran| ran.saved / 1024.0),
        ];
        for (what, unit, value) in rows {
            let found = median(&runs.iter().map(value).collect::<Vec<f64>>());
            let figure = Figure::new(row, format!("{what}, {count_words}"), Nothing, found);
            figures.push(figure.unit(unit).with_detail(per_rank(found, unit)));
        }
    }
    Ok(())
}

/// Bytes that a rank sends while it measures: intervals, partial results, heartbeats.
fn report_copies(bench: &Bench, row: &'static str, folder: &Path, figures: &mut Vec<Figure>) -> Result<(), BenchError> {
    let agent = folder.join("agent");
    let copies = folder.join("copies");
    // In place of ssh: runs the command here, and records its output on the way.
    let text = format!("#!/bin/sh\nshift\nexec sh -c \"$1 | tee {}/$$\"\n", copies.display());
    fs::write(&agent, text)?;
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755))?;
    let own = bench.tools.own(&[]).remove(0);
    let surroundings = [
        format!("FATHOM_SSH={}", agent.display()),
        format!("FATHOM_REMOTE={own}"),
    ];
    let bytes = |seconds: u32| -> Result<f64, BenchError> {
        let _ = fs::remove_dir_all(&copies);
        fs::create_dir(&copies)?;
        let job = job(folder, seconds)?;
        run(bench, folder, &surroundings, &["run", &job, "--hosts", "a,b"])?;
        let sizes: Vec<f64> = fs::read_dir(&copies)?
            .map(|entry| Ok(entry?.metadata()?.len() as f64))
            .collect::<Result<_, std::io::Error>>()?;
        Ok(sizes.iter().sum::<f64>() / sizes.len().max(1) as f64)
    };
    let (short, long) = if bench.options.smoke { (2, 4) } else { (4, 14) };
    let (few, many) = (bytes(short)?, bytes(long)?);
    let found = (many - few) / f64::from(long - short);
    let detail = format!(
        "{} KiB in {short} s, {} KiB in {long} s",
        digits(few / 1024.0),
        digits(many / 1024.0)
    );
    let figure = Figure::new(row, "bytes that a rank sends per second", Nothing, Some(found / 1024.0));
    figures.push(figure.unit("KiB").with_detail(detail));
    Ok(())
}

/// Results of one process, copied as many results and merged by the code that merges real ones.
fn synthetic(bench: &Bench, row: &'static str, folder: &Path, figures: &mut Vec<Figure>) -> Result<(), BenchError> {
    let gather = bench
        .tools
        .build_example("fathom-archive", "gather")?
        .display()
        .to_string();
    let minute = folder.join("minute.toml");
    fs::write(&minute, MINUTE)?;
    let template = folder.join("minute");
    let arguments = [
        "run",
        &minute.display().to_string(),
        "--quiet",
        "--save",
        &template.display().to_string(),
    ];
    child::run(&bench.tools.own(&arguments))?;
    bench.record_text("gather minute.fathom RANKS FILE".into());
    let out = folder.join("gathered").display().to_string();
    let gathered = |ranks: u32| -> Result<(Value, Usage), BenchError> {
        let line = [
            gather.clone(),
            template.display().to_string(),
            ranks.to_string(),
            out.clone(),
        ];
        let finished = child::run(&line)?;
        Ok((serde_json::from_str(&finished.stdout)?, finished.usage))
    };
    let alone = gathered(1)?;
    let counts: &[u32] = if bench.options.smoke {
        &[100]
    } else {
        &[100, 1000, 10_000]
    };
    let mut costs: Vec<f64> = Vec::new();
    for count in counts {
        let repeats = if *count < 1000 { bench.options.pairs } else { 1 };
        let runs: Vec<(Value, Usage)> = (0..repeats).map(|_| gathered(*count)).collect::<Result<_, _>>()?;
        let median_per_rank = |name: &str| {
            let of_runs: Vec<f64> = runs.iter().filter_map(|(json, _)| json[name].as_f64()).collect();
            median(&of_runs).map(|value| value / f64::from(*count))
        };
        let mut add = |what: &str, unit: &'static str, found: Option<f64>| {
            let figure = Figure::new(row, format!("{what}, {count} ranks"), Nothing, found);
            figures.push(figure.unit(unit).with_detail("for each rank"));
        };
        let memory: Vec<f64> = runs.iter().map(|(_, usage)| usage.memory_bytes as f64).collect();
        let memory = median(&memory).map(|all| (all - alone.1.memory_bytes as f64) / f64::from(*count) / 1024.0);
        for (what, unit, name, factor) in [
            ("dividing the plan", "µs", "share_ms", 1e3),
            ("merging results", "µs", "merge_ms", 1e3),
            ("self-checks", "µs", "check_ms", 1e3),
            ("saving", "µs", "save_ms", 1e3),
            ("saved file", "KiB", "saved_bytes", 1.0 / 1024.0),
        ] {
            add(what, unit, median_per_rank(name).map(|value| value * factor));
        }
        add("peak memory, with the saved text", "KiB", memory);
        let parts = ["share_ms", "merge_ms", "check_ms", "save_ms"];
        costs.push(parts.iter().filter_map(|name| median_per_rank(name)).sum());
    }
    if let (Some(first), Some(last)) = (costs.first(), costs.last().filter(|_| costs.len() > 1)) {
        let what = "time per rank with the most ranks, compared with the fewest";
        let detail = format!("{} ms : {} ms", digits(*last), digits(*first));
        figures.push(
            Figure::new(row, what, AtMost(2.0), Some(last / first))
                .unit("×")
                .with_detail(detail),
        );
    }
    Ok(())
}
