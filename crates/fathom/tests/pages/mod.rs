//! Reports in a real browser: Debian's Chromium, driven by Playwright from PyPI. What is drawn is
//! read back and held to the results; screenshots stay in the folder for temporary files of the
//! build.

mod browser;
mod long;

use std::io::BufRead;

use self::browser::{Seen, open_pages, walk};
use crate::prelude::*;

/// A report of one job on paper.
const MAX_PRINTED_PAGES: u64 = 6;

/// Runs the program in a folder. Its exit code is a verdict, which is not checked here.
fn fathom(folder: &Path, arguments: &[&str]) {
    let ran = finish(command(arguments).current_dir(folder).env("FATHOM_JOURNAL", "off"));
    let printed = ran.out + &ran.err;
    assert!(!printed.contains("error:"), "{arguments:?}\n{printed}");
    assert!(ran.code.is_some(), "{arguments:?}\n{printed}");
}

fn fathom_line(folder: &Path, line: &str) {
    fathom(folder, &split_words(line));
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// What holds for every page.
fn whole(name: &str, seen: &Seen) {
    assert_eq!(seen.errors, Vec::<String>::new(), "{name}: the console is silent");
    // Nothing is asked for but the file itself.
    assert_eq!(seen.requests.len(), 1, "{name}: {:?}", seen.requests);
    assert_eq!(seen.state, "ready", "{name}");
    for faults in [&seen.misplaced, &seen.unfilled, &seen.overlapping, &seen.uncued] {
        assert_eq!(*faults, Vec::<String>::new(), "{name}");
    }
    let in_sight = seen.charts.len();
    assert!(seen.drawn_without_script[0] > 0, "{name}: {in_sight} charts");
    let hovered = seen.hovered.as_deref().unwrap();
    // Pointing at a chart shows a value.
    assert!(hovered.contains(char::is_numeric), "{name}: {hovered:?}");
    if let Some([before, without, again]) = &seen.toggled {
        assert!(before.iter().all(|shown| *shown), "{name}");
        let hidden = without.iter().filter(|shown| !**shown).count();
        assert_eq!(hidden, 1, "{name}: a series can be taken out");
        assert_eq!(again, before, "{name}: and put back");
    }
    // The page is dark where the reader's system is.
    assert_eq!(seen.dark, "rgb(18, 22, 28)", "{name}");
    let (width, pages) = (seen.phone_width, seen.printed_pages);
    assert!(width <= 390, "{name}: {width} pixels on a phone of 390");
    assert!(seen.printed_bytes > 10_000, "{name}: it prints");
    assert!(
        (1..=MAX_PRINTED_PAGES).contains(&pages),
        "{name}: {pages} pages on paper"
    );
    assert!(!seen.downloads.is_empty(), "{name}: the raw figures are in it");
}

/// True for a number of a chart, which has four digits, and the one in the results.
fn near(shown: f64, exact: f64) -> bool {
    (shown - exact).abs() <= 6e-4 * exact.abs().max(1e-3)
}

#[test]
fn a_mixed_run() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let folder = place.path();
    let line = "run --target mixed.bin --size 64MiB --read 70 --depth 4 --time 4s --quiet \
                --report mixed.html --out json=mixed.json";
    fathom_line(folder, line);
    let seen = need!(open_pages(&[&folder.join("mixed.html")]));
    let seen = &seen[0];
    whole("mixed", seen);
    let [before, after] = seen.zoomed.as_ref().unwrap();
    let width = |range: &[f64; 2]| range[1] - range[0];
    assert!(
        width(after) < 0.6 * width(before),
        "dragging zooms: {before:?} {after:?}"
    );
    assert!(seen.toggled.is_some());
    let [drawn, on_first_screen] = seen.drawn_without_script;
    assert_eq!(drawn, seen.charts.len());
    assert!(on_first_screen >= 2, "rate and latency are seen at once");

    let summary = json(&folder.join("mixed.json"));
    let job = &summary["jobs"][0];
    // Every file that is offered belongs to the results.
    let is_summary = |name: &str| name.ends_with(".json") && !name.contains("plan");
    let (_, offered) = seen.downloads.iter().find(|(name, _)| is_summary(name)).unwrap();
    let offered: Value = serde_json::from_str(offered).unwrap();
    assert_eq!(offered, summary, "the JSON in the page is the JSON of the run");
    for chart in ["iops", "latency-over-time", "heat", "percentiles", "cores"] {
        assert!(seen.charts.contains_key(chart), "{chart}: {:?}", seen.charts.keys());
    }
    // The curve of percentiles passes through the percentiles of the table.
    let unit = if seen.charts["percentiles"].is_empty() {
        1.0
    } else {
        chart_unit(seen, &summary)
    };
    for (direction, name) in [("read", "reads"), ("write", "writes")] {
        let curve = seen.trace("percentiles", name);
        for percentile in job[direction]["latency"]["percentiles"].as_array().unwrap() {
            let nines = -(1.0 - percentile["percent"].as_f64().unwrap() / 100.0).log10();
            let place = curve.x.iter().position(|x| (x.as_f64().unwrap() - nines).abs() < 1e-5);
            if let Some(place) = place {
                let shown = curve.y[place].as_f64().unwrap() * unit;
                assert!(
                    near(shown.round(), percentile["ns"].as_f64().unwrap()),
                    "{name} {percentile}: {shown}"
                );
            }
        }
    }
    // The rates over time are all operations.
    for (direction, name) in [("read", "reads"), ("write", "writes")] {
        let trace = seen.trace("iops", name);
        let operations = job[direction]["operations"].as_f64().unwrap();
        let measured = job["measured_ns"].as_f64().unwrap() / 1e9;
        let starts: Vec<f64> = trace.x.iter().map(|x| x.as_f64().unwrap()).collect();
        let ends = starts.iter().skip(1).copied().chain([measured]);
        let spans = starts.iter().zip(ends).zip(&trace.y);
        let sum: f64 = spans.map(|((start, end), y)| (end - start) * y.as_f64().unwrap()).sum();
        assert!(near(sum, operations), "{name}: {sum} of {operations}");
    }
    // The first screen has the figures that matter.
    seen.answer.assert_contains(&["What limits it", "IOPS", "MB/s"]);
}

/// Nanoseconds in the unit of the curve of percentiles: the one in which its first value is the
/// smallest latency.
fn chart_unit(seen: &Seen, summary: &Value) -> f64 {
    let first = seen.trace("percentiles", "reads").y[0].as_f64().unwrap();
    let min_ns = summary["jobs"][0]["read"]["latency"]["min_ns"].as_f64().unwrap();
    [1e3, 1e6, 1e9]
        .into_iter()
        .find(|unit| near((first * unit).round(), min_ns))
        .expect("the curve begins at the fastest operation")
}

#[test]
#[expect(clippy::too_many_lines, reason = "one story, or one table")]
fn a_verdict_a_sweep_and_a_comparison() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let folder = place.path();
    for line in [
        "run --target data.bin --size 64MiB --time 1s --keep --quiet --save one.fathom",
        "run --target data.bin --depth 2 --time 2s --quiet --save two.fathom",
        "verify data.bin --require iops>=1000,p99<=1us --time 2s --warm-up 0s --preflight 0s --quiet \
         --report verdict.html --out json=verdict.json",
        "sweep data.bin --over depth=1,2,4,8 --time 500ms --warm-up 0s --grid-only --slo p99<=50ms --quiet \
         --save sweep.fathom --report sweep.html --out json=sweep.json",
        "sweep data.bin --over depth=1,4 --over block=4k,16k --time 300ms --warm-up 0s --grid-only --quiet \
         --report table.html --out json=table.json",
        "report one.fathom two.fathom --force -o compared.html",
        "report sweep.fathom -o again.html",
    ] {
        fathom_line(folder, line);
    }
    fathom(
        folder,
        &[
            "ab", "--depth 1", "--depth 4", "--target", "data.bin", "--time", "300ms", "--warm-up", "0s", "--quiet",
            "--report", "ab.html", "--out", "json=ab.json",
        ],
    );
    // A device that nothing disturbs, so that the reasons are of the usual length.
    let device = "[[job]]\ntarget = \"simulated:disk\"\n[simulated.disk]\nservers = 4\nservice = \"exponential 2ms\"\n";
    fs::write(folder.join("disk.toml"), device).unwrap();
    fathom_line(
        folder,
        "verify disk.toml --report judged.html --require iops>=1000,p99<=3ms --quick -q",
    );
    let names = ["verdict", "sweep", "table", "ab", "compared", "again", "judged"];
    let files = names.map(|name| folder.join(format!("{name}.html")));
    let pages = need!(open_pages(&files.each_ref().map(PathBuf::as_path)));
    for (name, seen) in names.iter().zip(&pages) {
        whole(name, seen);
    }
    let [verdict, sweep, table, ab, compared, again, judged] = &pages[..] else {
        panic!("seven pages")
    };

    // The rate over time and the latencies lie within the first screen.
    assert!(judged.drawn_without_script[1] >= 2, "{:?}", judged.drawn_without_script);
    let judged = json(&folder.join("verdict.json"));
    let word = judged["verdict"]["outcome"].as_str().unwrap().to_uppercase();
    assert!(verdict.answer.starts_with(&word), "{word}: {}", verdict.answer);
    assert_ne!(word, "PASS", "no disk answers in 1 us");
    for clause in judged["verdict"]["clauses"].as_array().unwrap() {
        let reason = clause["reason"].as_str().unwrap();
        // On the page there are commas between thousands.
        let plain = verdict.answer.replace(',', "");
        assert!(plain.contains(&reason[1..].replace(',', "")), "{reason}: {plain}");
    }

    let report = json(&folder.join("sweep.json"));
    let rows = report["rows"].as_array().unwrap();
    let measured = sweep.trace("rate-0", "measured");
    assert_eq!(measured.x.len(), rows.len());
    for (index, row) in rows.iter().enumerate() {
        for (shown, exact) in [
            (&measured.y[index], &row["iops"]),
            (&measured.x[index], &row["settings"][0]["number"]),
        ] {
            assert!(near(shown.as_f64().unwrap(), exact.as_f64().unwrap()), "{shown}: {row}");
        }
    }
    for chart in ["rate-0", "latency-0", "plane-0"] {
        assert!(sweep.charts.contains_key(chart), "{chart}");
        // A saved sweep gives the same page.
        assert_eq!(sweep.charts[chart], again.charts[chart]);
    }

    let report = json(&folder.join("table.json"));
    let heat = &table.charts["heat-iops"][0];
    let fields = heat.values.iter().flatten().flatten();
    let shown: Vec<f64> = fields.filter_map(Value::as_f64).collect();
    let rows = report["rows"].as_array().unwrap().iter();
    let mut rates: Vec<f64> = rows.map(|row| row["iops"].as_f64().unwrap()).collect();
    assert_eq!(shown.len(), rates.len(), "a field for each point");
    rates.retain(|rate| !shown.iter().any(|shown| near(*shown, *rate)));
    assert_eq!(rates, Vec::<f64>::new(), "every rate stands in its field");

    let report = json(&folder.join("ab.json"));
    let changes = report["found"]["changes"].as_array().unwrap();
    let effects = ab.trace("effects", "B against A");
    for (index, change) in changes.iter().enumerate() {
        let (ratio, shown) = (change["ratio"].as_f64().unwrap(), effects.y[index].as_f64().unwrap());
        // Wide changes are drawn as ratios, on a logarithmic axis.
        let percent = 100.0 * (ratio - 1.0);
        assert!(near(shown, percent) || near(shown, ratio), "{change}");
    }
    let mean = |side: &str| ab.trace("latencies", side).y[0].as_f64().unwrap();
    let is_latency = |change: &&Value| change["figure"] != changes[0]["figure"];
    let change = changes.iter().find(is_latency).unwrap();
    let (shown, ratio) = (mean("B") / mean("A"), change["ratio"].as_f64().unwrap());
    assert!((shown - ratio).abs() < 2e-3 * ratio, "{change}");
    assert!(compared.answer.contains("What this means"), "{}", compared.answer);
}

#[test]
fn reports_of_other_tools() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let folder = place.path();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data");
    let found = browser::example(&source);
    fathom(
        folder,
        &["report", text(&found), "--require", "iops>=1", "-o", "other.html"],
    );
    let seen = need!(open_pages(&[&folder.join("other.html")]));
    whole("other", &seen[0]);
    assert!(seen[0].answer.contains("iops >= 1"), "{}", seen[0].answer);
}

#[test]
fn a_test_on_several_hosts() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let folder = place.path();
    let job = "[[job]]\nname = \"shared\"\ntarget = \"simulated:disk\"\ndepth = 4\ntime = \"20s\"\n[simulated.disk]\nsize = \"1GiB\"\nservers = 4\nservice = \"exponential 2ms\"\n";
    fs::write(folder.join("job.toml"), job).unwrap();
    let out = "--report fleet.html --out json=fleet.json";
    fathom_line(folder, &format!("run job.toml --quiet --hosts local,local,local {out}"));
    let seen = need!(open_pages(&[&folder.join("fleet.html")]));
    let seen = &seen[0];
    whole("fleet", seen);
    let summary = json(&folder.join("fleet.json"));
    let ranks = summary["jobs"][0]["ranks"].as_array().unwrap();
    assert_eq!(ranks.len(), 3);
    // A bar for each rank, and a line over time.
    let bars = seen.trace("ranks", "normal");
    for (shown, rank) in bars.y.iter().zip(ranks) {
        let iops = rank["total"]["iops"].as_f64().unwrap();
        assert!(near(shown.as_f64().unwrap(), iops), "{bars:?}");
    }
    let host = ranks[0]["host"].as_str().unwrap();
    let lines = (0..3).map(|rank| seen.trace("ranks-over-time", &format!("{rank} {host}")));
    let of_all = seen.trace("iops", "reads");
    let mean = |trace: &browser::Trace| {
        let rates: Vec<f64> = trace.y.iter().filter_map(|rate| rate.as_f64()).collect();
        rates.iter().sum::<f64>() / rates.len() as f64
    };
    let sum: f64 = lines.map(mean).sum();
    assert!((sum / mean(of_all) - 1.0).abs() < 0.01, "{sum} of {of_all:?}");
    let mut files = seen.downloads.keys();
    assert!(
        files.any(|name| name.ends_with("-ranks.csv")),
        "{:?}",
        seen.downloads.keys()
    );
}

#[test]
fn names_are_text() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let folder = place.path();
    let name = "</script><script>window.evil=1<!--<img src=x onerror=window.evil=2>";
    let load = split_words("run --target data.bin --size 16MiB --time 1s --quiet --report named.html --name");
    fathom(folder, &[&load[..], &[name]].concat());
    let seen = need!(open_pages(&[&folder.join("named.html")]));
    whole("named", &seen[0]);
    assert_eq!(seen[0].evil, None, "a name was run");
    assert!(seen[0].title.contains("QD"), "{}", seen[0].title);
    let page = fs::read_to_string(folder.join("named.html")).unwrap();
    assert!(page.contains("Test “&lt;/script&gt;&lt;script&gt;window.evil=1"));
}

#[test]
fn the_history_is_served() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let job = "[[job]]\ntarget = \"simulated:disk\"\ndepth = 4\ntime = \"3s\"\nwarm-up = \"0s\"\n[simulated.disk]\nsize = \"1GiB\"\nservers = 4\nservice = \"100us\"\n";
    fs::write(place.path().join("job.toml"), job).unwrap();
    let program = |arguments: &[&str]| {
        let mut command = command(arguments);
        command.env("FATHOM_HISTORY", place.path().join("history.sqlite"));
        command.current_dir(place.path());
        command
    };
    for seed in ["1", "2"] {
        finish(&mut program(&["run", "job.toml", "--quiet", "--seed", seed])).expect(0, &[]);
    }
    let mut serve = program(&["serve", "--listen", "127.0.0.1:0"]);
    let mut server = KilledOnDrop(serve.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
    let mut address = String::new();
    let mut out = BufReader::new(server.0.stdout.take().unwrap());
    out.read_line(&mut address).unwrap();
    let Some(seen) = walk(address.trim()) else { return };
    assert_eq!(seen.errors, Vec::<String>::new());
    assert_eq!(seen.elsewhere, Vec::<String>::new(), "no other host is asked");
    assert_eq!(seen.rows, 2);
    assert_eq!(seen.entry.0, "ready");
    assert!(seen.entry.1 >= 4, "{} charts", seen.entry.1);
    assert!(seen.entry.2.contains("IOPS"), "{}", seen.entry.2);
    assert!(seen.compared.contains("What this means"), "{}", seen.compared);
}
