//! Third-party programs that call fio and read its output. They must work unchanged with fathom.

use crate::fio::support::Sandbox;
use crate::prelude::*;

/// The client, in the tested version.
const CLIENT: &str = "fio-plot==1.1.21";

/// The folder with the client's programs, installed once for all test runs.
fn client_programs() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fio-clients");
    need(testbed::python_packages(&folder, &[CLIENT]))?;
    Some(folder.join("bin"))
}

/// bench-fio runs a matrix of jobs, and fio-plot draws charts of its reports and logs.
#[test]
fn fio_plot_draws_charts_of_a_bench_fio_matrix() {
    let programs = need!(client_programs());
    let sandbox = Sandbox::new();
    let call = |program: &str, arguments: &str| {
        let path = format!("{}:{}", sandbox.programs().display(), std::env::var("PATH").unwrap());
        let mut command = Command::new(programs.join(program));
        command.args(split_words(arguments)).current_dir(sandbox.path());
        let ran = finish(command.env("PATH", path).env("MPLCONFIGDIR", sandbox.path()));
        assert_eq!(ran.code, Some(0), "{program} {arguments}: {ran:#?}");
        ran.out + &ran.err
    };
    let folder = sandbox.path().display().to_string();
    call(
        "bench-fio",
        &format!(
            "-d {folder} -t directory -s 4m -o out --runtime 2 --time-based --iodepth 1 4 --numjobs 1 2 --loginterval 500 \
             -m randread randwrite --destructive --quiet"
        ),
    );
    let name = sandbox.path().file_name().unwrap().to_str().unwrap().to_owned();
    let results = format!("out/{name}/4k");
    for mode in ["randread", "randwrite"] {
        for depth in [1, 4] {
            for jobs in [1, 2] {
                let report = sandbox.path().join(format!("{results}/{mode}-{depth}-{jobs}.json"));
                let text = fs::read_to_string(&report).unwrap();
                let report: Value = serde_json::from_str(&text).unwrap();
                let direction = if mode == "randread" { "read" } else { "write" };
                let operations = report["jobs"][0][direction]["total_ios"].as_u64();
                assert!(operations.unwrap() > 0, "{text}");
            }
        }
    }
    let charts = [
        ("bars", "-l -r randread"),
        ("depths", "-L -r randwrite -t iops"),
        ("iops over time", "-g -r randread -t iops -d 1 4 -n 1"),
        ("latency over time", "-g -r randwrite -t lat bw -d 4 -n 2"),
        ("histogram", "-H -r randread -d 4 -n 1"),
    ];
    for (title, arguments) in charts {
        let title = title.replace(' ', "-");
        let line = format!("-i {results} -T {title} {arguments} -o {title}.png");
        let message = call("fio-plot", &line);
        let bytes = fs::read(sandbox.path().join(format!("{title}.png"))).unwrap_or_default();
        let is_chart = bytes.starts_with(b"\x89PNG") && bytes.len() > 10_000;
        assert!(is_chart, "{title}: {} bytes\n{message}", bytes.len());
    }
}

/// The tools shipped with fio read our logs, reports and state files. We read genfio's job files.
#[test]
fn tools_shipped_with_fio_read_our_files() {
    let available = Command::new("fio2gnuplot").arg("--help").output();
    let available =
        available.map_err(|error| testbed::Unavailable::because(format!("`fio2gnuplot` cannot be run: {error}")));
    need!(available);
    let sandbox = Sandbox::new();
    let read = |name: &str| fs::read_to_string(sandbox.path().join(name)).unwrap();
    let call = |program: &str, arguments: &str| {
        let mut command = Command::new(program);
        let ran = finish(command.args(split_words(arguments)).current_dir(sandbox.path()));
        assert_eq!(ran.code, Some(0), "{program}: {ran:#?}");
        ran.out
    };
    let line = "--name=a --size=4m --rw=randread --bs=4k --numjobs=2 --runtime=2 --time_based --write_bw_log=w --log_avg_msec=200";
    let ran = sandbox.line(&format!("{line} --output-format=json+ --output=report.json"));
    ran.expect(0, &[]);

    fs::create_dir(sandbox.path().join("plots")).unwrap();
    call("fio2gnuplot", "-b -d plots/");
    let averages = read("plots/result.average");
    for (disk, log) in ["w_bw.1.log", "w_bw.2.log"].into_iter().enumerate() {
        let rate = |line: &str| line.split(", ").nth(1).unwrap().parse().unwrap();
        let rates: Vec<f64> = read(log).lines().map(rate).collect();
        let mean = rates.iter().sum::<f64>() / rates.len() as f64;
        let row = averages.lines().find_map(|line| line.strip_prefix(&format!("{disk} ")));
        let found: f64 = row.unwrap().split(' ').next().unwrap().parse().unwrap();
        assert!((found - mean).abs() <= 1.0 && mean > 0.0, "{log}: {found} and {mean}");
    }

    let report: Value = serde_json::from_str(&read("report.json")).unwrap();
    call("fio_jsonplus_clat2csv", "report.json table.csv");
    for job in 0..2 {
        let operations = report["jobs"][job]["read"]["total_ios"].as_u64().unwrap();
        let table = read(&format!("table_job{job}.csv"));
        let header: Vec<&str> = table.lines().next().unwrap().split(", ").collect();
        let column = header.iter().position(|name| *name == "read_clat_ns_cumulative");
        let column = column.unwrap();
        let mut rows = table.lines().rev();
        let last = rows.find_map(|row| row.split(", ").nth(column)?.parse::<u64>().ok());
        assert_eq!(last, Some(operations), "{table}");
    }

    let job = "--name=v --filename=v --size=1m --rw=write --verify=crc32c --verify_state_save=1 --number_ios=100";
    sandbox.line(job).expect(0, &[]);
    let state = call("fio-verify-state", "local-v-0-verify.state");
    let is_count = |line: &str| line.split_whitespace().eq(["Number", "IOs:", "100"]);
    assert!(state.lines().any(is_count), "{state}");

    let file = sandbox.file("device", 1 << 20);
    let line = format!("-d {} -r 1 -s -m randread,read -b 4k,64k -x made", file.display());
    call("genfio", &line);
    let mut names = sandbox.names().into_iter();
    let made = names.find(|name| name.starts_with("made") && name.ends_with(".fio"));
    sandbox.run(&["--parse-only", &made.unwrap()]).expect(0, &[]);
}
