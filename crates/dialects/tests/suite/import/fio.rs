//! fio: recorded reports of 3.42 in JSON, JSON+ and normal form, and one in the form of 2.x.

use dialects::import::{self, Form};
use model::observation::Load;
use model::{Bytes, Direction, Nanos};

use super::{folders, only, read, read_text, rules};

/// Cases whose reports show no operations, or that write other forms.
const WITHOUT: [&str; 2] = ["06-etcd-fdatasync", "20-terse-style"];

#[test]
fn every_recorded_report_is_read() {
    for case in folders("fio/golden") {
        for (name, form) in [
            ("normal.txt", Form::FioNormal),
            ("out.json", Form::FioJson),
            ("out.json+", Form::FioJson),
        ] {
            let path = format!("fio/golden/{case}/{name}");
            if !super::data(&path).exists() {
                continue;
            }
            let imported = import::read(&path, &read_text(&path));
            if WITHOUT.contains(&&*case) && imported.is_err() {
                continue;
            }
            let imported = imported.unwrap();
            assert_eq!(imported.form, form, "{path}");
            assert_eq!(imported.unread, [], "{path}");
            assert!(imported.loads.iter().all(|load| load.total.iops.is_some()), "{path}");
            let mut versions = imported.loads.iter().map(|load| load.version.as_deref().unwrap());
            assert!(versions.all(|version| version.starts_with("fio-3.42")), "{path}");
        }
    }
}

#[test]
fn grouped_clones_are_one_load_with_their_total_depth() {
    let imported = read("fio/golden/05-sla-70-30/out.json");
    // Sat Nov 21 19:36:43 2026 in UTC, which its text does not state.
    assert_eq!(imported.started_unix_secs, Some(1_795_289_803));
    let load = only(&imported.loads);
    assert_eq!(
        (load.load.workers, load.load.depth),
        (Some(4), Some(32)),
        "4 clones with 8 each"
    );
    assert_eq!(load.load.rate_iops, Some(4000.0));
    assert_eq!(load.load.closed_loop, Some(false));
    assert_eq!(load.load.block, Some(Bytes(32 << 10)));
    assert_eq!(load.load.read_percent, Some(70.0));
    assert_eq!(load.total.operations, Some(12_000));
    assert_eq!(load.measured_ns, Some(Nanos::millis(3001)));
    let read = load.directions.read.as_ref().unwrap();
    let latency = read.latency.as_ref().unwrap();
    assert_eq!(
        latency.mean_ns,
        Some(95_263.454762),
        "the total latency, not the completion latency"
    );
    assert_eq!(latency.quantile(0.999), Some(1_613_824.0));
    let completion = latency.completion.expect("the percentiles are of clat");
    assert_eq!((completion.mean_ns, completion.min_ns), (82_454.474762, 932.0));
    let all = load.total.latency.as_ref().and_then(|latency| latency.completion);
    assert_eq!(all.map(|all| all.min_ns), Some(823.0), "of reads and writes");
    assert_eq!(
        read.iops_deviation,
        Some(4.0 * 1.481773),
        "fio states that of one clone"
    );
    assert!(rules(&imported).contains(&"PCT-COMPLETION"));
    assert!(load.device.is_some(), "one device, one group");
    assert_eq!(load.errors, Some(0));
}

#[test]
fn the_normal_report_is_read_without_guessing_more() {
    let imported = read("fio/golden/05-sla-70-30/normal.txt");
    let load = only(&imported.loads);
    assert_eq!((load.load.workers, load.load.depth), (Some(4), Some(32)));
    assert_eq!(load.load.rate_iops, None);
    assert_eq!(load.load.closed_loop, None);
    assert_eq!(load.load.direct, None);
    let read = load.directions[Direction::Read].as_ref().unwrap();
    assert_eq!(read.operations, Some(8400));
    assert_eq!(
        read.iops,
        Some(8400.0 / 3.001),
        "from count and time, not from four digits"
    );
    let latency = read.latency.as_ref().unwrap();
    assert_eq!(latency.mean_ns, Some(1_323_180.0));
    assert_eq!(latency.max_ns, Some(85_754_000.0));
    assert_eq!(latency.quantile(0.99), Some(45_876_000.0));
    let completion = latency.completion.expect("the percentiles are of clat");
    assert_eq!((completion.mean_ns, completion.min_ns), (1_312_449.61, 1202.0));
    assert_eq!(load.total.iops_deviation, Some(4.0 * 18.38 + 4.0 * 8.28));
}

#[test]
fn jobs_that_run_together_are_also_summed() {
    let imported = read("fio/golden/23-two-globals-kb1000/out.json");
    let names: Vec<&str> = imported.loads.iter().map(|load| load.name.as_str()).collect();
    assert_eq!(names, ["one", "two", "all jobs of group 0 together"]);
    let jobs = imported.loads[..2].iter();
    let sum: u64 = jobs.filter_map(|load| load.total.operations).sum();
    assert_eq!(imported.loads[2].total.operations, Some(sum));
    let alone = read("fio/golden/07-four-stonewalled/out.json");
    assert_eq!(alone.loads.len(), 4, "one after the other");
}

#[test]
fn ungrouped_clones_are_added_up() {
    let text = read_text("fio/golden/05-sla-70-30/out.json");
    let mut document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let options = document["global options"].as_object_mut().unwrap();
    options.remove("group_reporting");
    let job = document["jobs"][0].clone();
    document["jobs"].as_array_mut().unwrap().push(job);
    let imported = import::read("x", &document.to_string()).unwrap();
    let load = only(&imported.loads);
    assert_eq!((load.load.workers, load.load.depth), (Some(2), Some(16)));
    assert_eq!(load.total.operations, Some(24_000));
    assert_eq!(load.breakdown.len(), 6);
    assert!(
        load.total.latency.as_ref().unwrap().quantiles.is_empty(),
        "percentiles do not add"
    );
    assert!(rules(&imported).contains(&"PCT-PER-CLONE"));
}

/// fio 3.33 omits options without a value, such as `group_reporting`, from its JSON.
#[test]
fn a_single_entry_covers_all_clones() {
    let text =
        read_text("fio/golden/05-sla-70-30/out.json").replace("\"group_reporting\" : \"\"", "\"gtod_cpu\" : \"0\"");
    let imported = import::read("x", &text).unwrap();
    let load = only(&imported.loads);
    assert_eq!((load.load.workers, load.load.depth), (Some(4), Some(32)));
    assert_eq!((load.load.rate_iops, load.generator), (Some(4000.0), None));
}

#[test]
fn an_entry_of_several_jobs_has_no_load() {
    let imported = read("fio/golden/13-groups-desc/out.json");
    let merged: Vec<bool> = imported.loads.iter().map(|load| load.load == Load::default()).collect();
    assert_eq!(
        merged,
        [true, false, false],
        "a1 reads, but the options of a2 only write"
    );
    assert!(rules(&imported).contains(&"JOBS-MERGED"));
    let text = read("fio/golden/13-groups-desc/normal.txt");
    let loads = text.loads.iter();
    let known: Vec<_> = loads.map(|load| (load.load.workers, load.load.depth)).collect();
    assert_eq!(known, [(Some(3), None), (Some(1), Some(1)), (Some(1), Some(1))]);
    assert!(rules(&text).contains(&"JOBS-MERGED"));
    // Two jobs that only read: twice the clones, and more in flight than one of them allows.
    let text = read_text("fio/golden/03-fioread/out.json");
    let mut document: serde_json::Value = serde_json::from_str(&text).unwrap();
    for (factor, is_merged) in [(1, false), (2, true)] {
        let job = &mut document["jobs"][0];
        for value in ["/job_runtime", "/read/lat_ns/mean"] {
            let value = job.pointer_mut(value).unwrap();
            *value = ((f64::from(factor) * value.as_f64().unwrap()).round() as u64).into();
        }
        let imported = import::read("x", &document.to_string()).unwrap();
        assert_eq!(rules(&imported).contains(&"JOBS-MERGED"), is_merged, "{factor}");
    }
}

#[test]
fn notes_before_the_json_and_several_documents_are_accepted() {
    let text = read_text("fio/golden/05-sla-70-30/out.json");
    let noted = format!("fio: this platform does not support process shared mutexes\nnote: {{}}\n{text}\n{text}");
    assert_eq!(import::read("x", &noted).unwrap().loads.len(), 1);
    let cut = format!("note\n{}", &text[..text.len() / 2]);
    let problems = import::read("x", &cut).unwrap_err();
    assert!(problems[0].at.as_ref().unwrap().line > 50, "{problems:?}");
}

/// The counts of all directions of a job are added.
#[test]
fn short_operations_are_counted() {
    let text = read_text("fio/golden/05-sla-70-30/out.json");
    let mut document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let short = |document: &serde_json::Value| only(&import::read("x", &document.to_string()).unwrap().loads).short;
    assert_eq!(short(&document), Some(0));
    for (direction, count) in [("read", 5), ("write", 2)] {
        document["jobs"][0][direction]["short_ios"] = count.into();
    }
    assert_eq!(short(&document), Some(7));
    let text = read_text("fio/golden/05-sla-70-30/normal.txt").replace("short=0,0", "short=4,1");
    assert_eq!(only(&import::read("x", &text).unwrap().loads).short, Some(5));
}

#[test]
fn a_synchronous_engine_has_no_queue() {
    let text = read_text("fio/golden/01-seqread-psync/out.json");
    let mut document: serde_json::Value = serde_json::from_str(&text).unwrap();
    document["jobs"][0]["job options"]["iodepth"] = "64".into();
    let imported = import::read("x", &document.to_string()).unwrap();
    let load = &imported.loads[0].load;
    assert_eq!(load.depth, load.workers.map(u64::from));
    assert!(rules(&imported).contains(&"SYNC-ENGINE"));
}

#[test]
fn reports_of_fio_2_are_read() {
    let text = "test: (g=0): rw=randrw, bs=4K-4K/4K-4K/4K-4K, ioengine=libaio, iodepth=64\nfio-2.2.10\nStarting 1 process\n\n\
                test: (groupid=0, jobs=1): err= 0: pid=1234: Tue Mar  1 10:00:00 2016\n\
                  read : io=3071.7MB, bw=63317KB/s, iops=15829, runt= 49676msec\n    slat (usec): min=2, max=335, avg= 6.52, stdev= 3.18\n\
                    clat (usec): min=120, max=20335, avg=3106.52, stdev=703.18\n     lat (usec): min=125, max=20340, avg=3113.05, stdev=703.20\n\
                    clat percentiles (usec):\n     |  1.00th=[ 1752],  5.00th=[ 2096], 99.00th=[ 5344], 99.99th=[14272]\n\
                    bw (KB  /s): min=54328, max=69352, per=100.00%, avg=63359.60, stdev=2802.90\n\
                  write: io=1024.4MB, bw=21115KB/s, iops=5278, runt= 49676msec\n    clat (usec): min=90, max=18335, avg=2700.10, stdev=650.00\n\
                  cpu          : usr=5.01%, sys=18.34%, ctx=180000, majf=0, minf=9\n\
                     issued    : total=r=786347/w=262229/d=0, short=r=0/w=0/d=0, drop=r=0/w=0/d=0\n";
    let imported = import::read("x", text).unwrap();
    let load = only(&imported.loads);
    assert_eq!((load.load.depth, load.load.block), (Some(64), Some(Bytes(4096))));
    assert_eq!(load.version.as_deref(), Some("fio-2.2.10"));
    let read = load.directions.read.as_ref().unwrap();
    assert_eq!(read.operations, Some(786_347));
    assert!((read.iops.unwrap() - 15_829.0).abs() < 1.0);
    assert_eq!(read.bytes_per_sec, Some(63_317.0 * 1024.0));
    assert_eq!(read.latency.as_ref().unwrap().quantile(0.99), Some(5_344_000.0));
    let in_flight = load.in_flight().unwrap();
    assert!((in_flight - 63.5).abs() < 1.0, "{in_flight}");
}
