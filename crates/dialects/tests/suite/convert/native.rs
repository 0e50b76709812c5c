//! The native syntax, written from plans that were read from it: the same plan again, field for
//! field.

use std::collections::HashSet;

use dialects::convert::{Form, to_native};
use dialects::native::options;
use model::plan::Plan;
use proptest::prelude::*;

use crate::convert::support::{flags, job_file, native_again, without_origin};

/// The plan survives the round trip, and no loss is listed.
#[track_caller]
fn check(plan: &Plan, what: &str) -> String {
    let written = to_native(plan);
    assert_eq!(written.lost, [], "{what}\n{}", written.text);
    assert_eq!(written.differs, [], "{what}\n{}", written.text);
    let again = native_again(&written);
    assert_eq!(without_origin(&again), without_origin(plan), "{what}\n{}", written.text);
    written.text
}

pub const LINES: &[&str] = &[
    "--target a.dat",
    "--target a.dat --target b.dat --size 3g --offset 1m --keep",
    "--target /dev/sdb --access sequential --workers 3 --block 64k",
    "--target a.dat --size 10485761 --access random-once --workers 7 --block 4k-64k",
    "--target a.dat --access zipf:1.3 --read 70 --content compressible:30 --align 64k",
    "--target a.dat --access pareto:0.3 --read 0.5 --content duplicated:20",
    "--target a.dat --access normal:12.5 --write 33.3 --content zeros --exact-mix",
    "--target a.dat --access hot:80/20 --trim --block 512",
    "--target a.dat --access mixed:60 --read 0 --content once --block 4k/60,64k/40",
    "--target a.dat --read 0 --content counting --flush-every 8 --flush-at-end",
    "--target a.dat --read 0 --content random --flush-every 1 --flush full",
    "--target a.dat --depth 32 --workers 4 --rate 4000iops --arrivals poisson --catch-up 1s",
    "--target a.dat --target b.dat --depth 7 --depth-per target --rate 100m/s",
    "--target a.dat --depth 10 --depth-per job --workers 4 --rate 1001",
    "--target a.dat --target b.dat --depth 11 --depth-per job --workers 4 --cpus 0,2-4",
    "--target a.dat --pause 1500us --pause-after 10 --time 90s --warm-up 0s --cool-down 250ms --start-delay 7ns",
    "--target a.dat --operations 1000 --workers 3 --batch 32 --tolerate-errors --log ops.csv",
    "--target a.dat --bytes 10m --time 1h --warm-up 2s",
    "--target a.dat --passes 2 --access sequential --size 1g --workers 2 --seed 99 --name nightly",
    "--target a.dat --until-precision 2.5%",
    "--target a.dat --until-steady 0.3% --latency-target 1ms --depth 64",
    "--target a.dat --cache buffered --engine psync",
    "--target a.dat --cache buffered-through --engine libaio --depth 4",
    "--target a.dat --cache direct-through --engine io_uring --poll --submission-thread",
    "--target a.dat --cache mapped",
    "--target null --engine null --size 2g",
    "--target /%h/a.dat --depth 8 --rate 100 --for-hosts 0,db1 --divide rate,depth,region",
    "--target a.dat --path cached --role data --replicas 3 --hops 2",
    "--target 'it is a file.dat' --time 30s",
    "--target /data --kind files --tree depth=2,width=5,files=20,sizes=4k/60,64k/40,prefill=80,shared=true --mix \
     'stat/60, create+fsync/5, delete/5' --workers 4 --rate 500 --block 16k --content zeros",
    "--target /data --kind files --tree sizes=0 --sequence 'delete, create+append, read-block' --order sequential",
];

pub const FILES: &[&str] = &[
    "cap = [\"VM, cached:iops=77000,mbps=485.5,kind=vm,path=cached\", \"log:iops=500,unit=256k,for=writes,role=log\"]\n[[job]]\n\
     name = \"a\"\ntarget = \"a.dat\"\npath = \"cached\"\n[[job]]\nname = \"b\"\ntarget = \"b.dat\"\nrole = \"log\"\ncap = \
     \"own:iops=900\"\n",
    "[[job]]\nname = \"fill\"\ntarget = \"a.dat\"\nsize = \"1g\"\nread = 0\naccess = \"sequential\"\npasses = 1\n[[job]]\nname = \
     \"scan\"\ntarget = \"a.dat\"\nafter = \"fill\"\n[[job]]\nname = \"last\"\nstep = 2\ntarget = [\"a.dat\", \"b.dat\"]\n",
    "name = \"two \\\"parts\\\"\"\nseed = 7\n[[job]]\nname = \"p\"\ntarget = \"a.dat\"\ndepth = 8\n[[job.part]]\nshare = 3\nread = \
     0\nblock = \"8k\"\n[[job.part]]\nshare = 1\naccess = \"sequential\"\n",
    "[[job]]\nname = \"s\"\ntarget = \"simulated:disk\"\nworkers = 3\n[simulated.disk]\nsize = \"1g\"\nservers = 8\nservice = \
     \"exponential 100us\"\niops-cap = 5000\nbandwidth-cap = \"10m/s\"\nstall = [\"1s 10ms\", \"2s 20ms\"]\nsubmit-cost = \
     \"5us\"\ninline = true\nfault = [\"operation 6 errno 5\", \"bytes 1m 4k errno 28\"]\nhost-pause = \"3s 1ms\"\n",
    "[[job]]\nname = \"u\"\ntarget = \"simulated:d e\"\n[simulated.\"d e\"]\nservice = \"uniform 50us 200us\"\n[[job]]\nname = \
     \"job2\"\ntarget = \"simulated:d e\"\n",
    "[[job]]\ntarget = \"C:\\\\it.dat\"\n[[job]]\ntarget = \"a.dat\"\nstep = 5\n",
];

#[test]
fn lines_survive_a_round_trip() {
    for line in LINES {
        check(&flags(line), line);
    }
}

#[test]
fn files_survive_a_round_trip() {
    for file in FILES {
        check(&job_file(file), file);
    }
}

#[test]
fn every_option_is_used_above() {
    let used: HashSet<&str> = LINES
        .iter()
        .flat_map(|line| line.split_whitespace())
        .filter_map(|word| word.strip_prefix("--"))
        .collect();
    for option in options() {
        let in_files = FILES.iter().any(|file| file.contains(&format!("\n{} = ", option.name)));
        assert!(used.contains(option.name) || in_files, "{} is not used", option.name);
    }
}

#[test]
fn one_job_becomes_a_line_and_several_a_file() {
    let check = |plan: &Plan, form: Form, text: &str| {
        let written = to_native(plan);
        assert_eq!((written.form, written.text.as_str()), (form, text));
    };
    check(
        &flags("--target a.dat --size 1048576 --depth 8 --write 30 --warm-up 2s --time 60"),
        Form::CommandLine,
        "fathom run --target a.dat --size 1m --read 70 --depth 8 --time 60s\n",
    );
    check(
        &job_file("[[job]]\ntarget = \"a\"\n[[job]]\nname = \"b\"\ntarget = \"a\"\nrate = 5\nstep = 2\n"),
        Form::JobFile,
        "name = \"test\"\n\n[[job]]\nname = \"job1\"\ntarget = \"a\"\n\n[[job]]\nname = \"b\"\ntarget = \"a\"\nrate = \"5iops\"\nstep = 2\n",
    );
}

/// Any job that flags can express.
fn jobs() -> impl Strategy<Value = String> {
    use proptest::sample::{select, subsequence};
    let any_of = |list: &'static [&'static str]| select(list).prop_map(str::to_owned);
    let number = |name: &'static str, max: u64| (1..=max).prop_map(move |value| format!("--{name} {value}"));
    let groups: Vec<BoxedStrategy<String>> = vec![
        (1u64..1 << 40).prop_map(|size| format!("--size {size}")).boxed(),
        (0u64..1 << 40).prop_map(|offset| format!("--offset {offset}")).boxed(),
        any_of(&[
            "--access sequential", "--access random-once", "--access zipf:1.7", "--access mixed:9",
            "--access hot:55.5/7",
        ])
        .boxed(),
        (0u32..=1000)
            .prop_map(|tenths| format!("--read {}", f64::from(tenths) / 10.0))
            .boxed(),
        any_of(&[
            "--block 8k", "--block 513", "--block 4k-1m", "--block 4k/25,8k/75", "--block 1g",
        ])
        .boxed(),
        number("align", 1 << 20).boxed(),
        any_of(&[
            "--content zeros", "--content counting", "--content once", "--content duplicated:9",
        ])
        .boxed(),
        any_of(&["--flush-every 3", "--flush full", "--flush-at-end", "--exact-mix"]).boxed(),
        number("depth", 500).boxed(),
        any_of(&["--depth-per job", "--depth-per target", "--depth-per worker"]).boxed(),
        number("workers", 20).boxed(),
        prop_oneof![number("rate", 1 << 30), any_of(&["--rate 12345678B/s", "--rate 1g/s"])].boxed(),
        number("time", 4000).boxed(),
        (0u64..1 << 40).prop_map(|nanos| format!("--warm-up {nanos}ns")).boxed(),
        (0u64..1 << 40)
            .prop_map(|nanos| format!("--cool-down {nanos}us"))
            .boxed(),
        number("operations", 1 << 40).boxed(),
        number("bytes", 1 << 50).boxed(),
        any_of(&["--cache buffered", "--cache mapped", "--cache direct-through"]).boxed(),
        any_of(&["--cpus 0", "--cpus 1,0", "--cpus 3-9"]).boxed(),
        any_of(&["--target b.dat", "--target b.dat --target c.dat"]).boxed(),
        (0u64..=u64::MAX).prop_map(|seed| format!("--seed {seed}")).boxed(),
    ];
    let count = groups.len();
    (groups, subsequence((0..count).collect::<Vec<_>>(), 0..=count)).prop_map(|(words, chosen)| {
        let chosen: Vec<&str> = chosen.into_iter().map(|index| words[index].as_str()).collect();
        format!("--target a.dat {}", chosen.join(" "))
    })
}

proptest! {
    #[test]
    fn any_flags_survive_a_round_trip(line in jobs()) {
        check(&flags(&line), &line);
    }
}
