//! Targets that several hosts share, and work that they divide.

use model::plan::FileOperationKind;
use testbed::With;

use super::*;

/// How the targets of all ranks were prepared, in the order of ranks.
fn prepared(results: &Results) -> Vec<String> {
    let count = results.plan.targets.len() as u32;
    let facts = |number: u32| results.hosts.iter().find_map(|host| host.environment.target(number));
    (0..count)
        .map(|number| facts(number).unwrap().prepared.clone())
        .collect()
}

const WRITTEN: &str = "of random data written for this run";
const ELSEWHERE: &str = "written for this run by another process of this test";

/// Checks that one rank has written the file, and the others have waited for it.
#[track_caller]
fn assert_created_once(results: &Results, ranks: usize) {
    let prepared = prepared(results);
    assert_eq!(prepared.len(), ranks);
    let count = |words: &str| prepared.iter().filter(|how| how.contains(words)).count();
    assert_eq!((count(WRITTEN), count(ELSEWHERE)), (1, ranks - 1), "{prepared:?}");
}

/// The first and last byte that each rank has touched, by its log.
fn touched(workspace: &Workspace, ranks: u32) -> Vec<(u64, u64)> {
    let of = |rank: u32| {
        let text = fs::read_to_string(workspace.path(&format!("log.{rank}"))).unwrap();
        let mut rows = text.lines();
        let header: Vec<&str> = rows.next().unwrap().split(',').collect();
        let column = |name: &str| header.iter().position(|title| *title == name).unwrap();
        let (offset, length) = (column("offset"), column("length"));
        rows.fold((u64::MAX, 0), |(first, last), row| {
            let cells: Vec<&str> = row.split(',').collect();
            let (offset, length): (u64, u64) = (cells[offset].parse().unwrap(), cells[length].parse().unwrap());
            (first.min(offset), last.max(offset + length))
        })
    };
    (0..ranks).map(of).collect()
}

#[test]
fn one_rank_creates_a_file_that_all_share() {
    // The runs overwrite the random data of the file with zeros, so its mark no longer helps.
    let job = "[[job]]\nname = \"w\"\ntarget = \"DIR/shared.dat\"\nsize = \"96m\"\nread = 50\ndepth = 4\n\
               operations = 400\ncontent = \"zeros\"\nlog = \"DIR/log\"\n";
    let workspace = need!(Workspace::with_job(job));
    let file = workspace.path("shared.dat");
    end(workspace.with_hosts(None, "local,local,local", "saved")).expect(0, &[]);
    assert_created_once(&workspace.saved("saved"), 3);
    assert_eq!(fs::metadata(&file).unwrap().len(), 96 << 20);
    // The user has named the file, so it stays.
    fs::remove_file(&file).unwrap();
    workspace.write_job(&format!("{job}divide = \"region\"\n"));
    end(workspace.with_hosts(None, "local,local,local", "divided")).expect(0, &[]);
    assert_created_once(&workspace.saved("divided"), 3);
    let parts = touched(&workspace, 3);
    for (rank, (first, last)) in (0..).zip(&parts) {
        let part = rank * (32 << 20)..(rank + 1) * (32 << 20);
        assert!(part.contains(first) && *last <= part.end, "{rank}: {parts:?}");
    }
}

#[test]
fn one_rank_creates_a_file_that_all_share_under_mpi() {
    let hosts = need!(hosts(3));
    let job = "[[job]]\nname = \"w\"\ntarget = \"DIR/shared.dat\"\nsize = \"64m\"\nwrite = 100\noperations = 100\n";
    let workspace = need!(Workspace::with_job(job));
    let file = workspace.path("shared.dat");
    for launcher in ["mpirun.openmpi", "mpirun.mpich"] {
        end(workspace.with_mpi(&hosts, launcher, launcher)).expect(0, &["by MPI ("]);
        assert_created_once(&workspace.saved(launcher), 3);
        fs::remove_file(&file).unwrap();
    }
}

#[test]
fn the_creator_of_a_file_removes_it_once_all_have_ended() {
    let workspace = need!(Workspace::new(""));
    let file = workspace.path("shared.dat");
    let line = "fio --name=w --rw=randwrite --bs=4k --size=48m --number_ios=50 --unlink=1";
    run(workspace
        .command(PROGRAM)
        .args(line.split(' '))
        .arg(format!("--filename={}", file.display()))
        .env("FATHOM_HOSTS", "local,local"))
    .expect(0, &[]);
    assert!(!file.exists());
}

#[test]
fn no_file_is_created_if_one_rank_is_refused() {
    let workspace = need!(Workspace::new(""));
    // A foreign file, which the second rank would write to.
    fs::write(workspace.path("1.dat"), vec![7; 32 << 20]).unwrap();
    workspace
        .write_job("[[job]]\nname = \"w\"\ntarget = \"DIR/%r.dat\"\nsize = \"32m\"\nwrite = 100\ntime = \"20s\"\n");
    end(workspace.with_hosts(None, "local,local", "saved")).expect(3, &["rank 1", "1.dat"]);
    assert!(!workspace.path("0.dat").exists());
}

/// A device on which each operation takes a millisecond, regardless of other operations.
const DEVICE: &str = "[simulated.disk]\nsize = \"1GiB\"\nservers = 64\nservice = \"1ms\"\n";

/// Operations and operations per second of each rank of a job.
fn rates(results: &Results, job: usize) -> Vec<(u32, u64, f64)> {
    let workers = results.steps[0].jobs[job].workers.iter();
    let describe_worker = |worker: &model::results::WorkerResults| {
        let part = JobResults::default().with(|job| job.workers = vec![worker.clone()]);
        let operations = part.total().operations;
        (
            worker.rank,
            operations,
            operations as f64 / worker.measured_ns.as_secs(),
        )
    };
    workers.map(describe_worker).collect()
}

#[test]
fn a_divided_depth_or_rate_is_the_total_of_all_ranks() {
    let workspace = need!(Workspace::new(""));
    let run = |hosts: &str, more: &str| {
        workspace.write_job(&format!(
            "seed = 7\n[[job]]\nname = \"r\"\ntarget = \"simulated:disk\"\noperations = 4000\n{more}\n{DEVICE}"
        ));
        end(workspace.with_hosts(None, hosts, "saved")).expect(0, &[]);
        rates(&workspace.saved("saved"), 0)
    };
    let close = |rate: f64, expected: f64| (rate / expected - 1.0).abs() < 0.03;
    let found = run("local,local,local", "depth = 8\ndivide = \"depth\"");
    let in_flight: Vec<f64> = found.iter().map(|(_, _, rate)| rate * 1e-3).collect();
    assert!(
        in_flight
            .iter()
            .zip([3.0, 3.0, 2.0])
            .all(|(found, expected)| close(*found, expected)),
        "{in_flight:?}"
    );
    // The same with named hosts; all of them have this machine's name.
    let host = ranks(&workspace.saved("saved"))[0].host.clone();
    let found = run(
        "local,local",
        &format!("depth = 8\ndivide = \"depth\"\nfor-hosts = \"{host}\""),
    );
    let in_flight: f64 = found.iter().map(|(_, _, rate)| rate * 1e-3).sum();
    assert!(found.len() == 2 && close(in_flight, 8.0), "{found:?}");
    let found = run("local,local", "depth = 8\nrate = \"1000iops\"\ndivide = \"rate\"");
    let total: f64 = found.iter().map(|(_, _, rate)| rate).sum();
    assert!(found.len() == 2 && close(total, 1000.0), "{found:?}");
    assert!(found.iter().all(|(_, _, rate)| close(*rate, 500.0)), "{found:?}");
}

#[test]
fn some_hosts_read_while_others_write() {
    let workspace = need!(Workspace::new(""));
    let job = |readers: &str| {
        format!(
            "seed = 7\n[[job]]\nname = \"readers\"\ntarget = \"simulated:disk\"\noperations = 300\nfor-hosts = \"{readers}\"\n\
             [[job]]\nname = \"writer\"\ntarget = \"simulated:disk\"\nwrite = 100\noperations = 200\nfor-hosts = \"2\"\n{DEVICE}"
        )
    };
    workspace.write_job(&job("0,1"));
    end(workspace.with_hosts(None, "local,local,local", "saved")).expect(0, &["readers", "writer"]);
    let results = workspace.saved("saved");
    let of = |job: usize| -> Vec<(u32, u64)> {
        rates(&results, job)
            .iter()
            .map(|(rank, operations, _)| (*rank, *operations))
            .collect()
    };
    assert_eq!(of(0), [(0, 300), (1, 300)]);
    assert_eq!(of(1), [(2, 200)]);
    let done = |job: usize| results.steps[0].jobs[job].directions();
    assert!(
        done(0).read.is_some_and(|read| read.operations == 600)
            && done(0).write.is_none_or(|write| write.operations == 0)
    );
    assert!(done(1).write.is_some_and(|write| write.operations == 200));
    // A name that no host has is not ignored.
    workspace.write_job(&job("0,db9"));
    end(workspace.with_hosts(None, "local,local,local", "saved")).expect(3, &["`db9`", "neither a host nor a rank"]);
}

/// A tree for each host, as with `mdtest -u`: no host uses or removes files of another one.
#[test]
fn each_host_has_its_own_tree_in_a_shared_directory() {
    let hosts = need!(hosts(3));
    let workspace = need!(Workspace::new(""));
    let folder = workspace.path("data");
    fs::create_dir(&folder).unwrap();
    // Each host ends when its tree has no files left: with one tree for all, they would find fewer.
    workspace.write_job(
        "[[job]]\nname = \"files\"\ntarget = \"DIR/data\"\nkind = \"files\"\nmix = \"delete\"\nworkers = 2\n\
         time = \"30s\"\nwarm-up = \"0s\"\ntree = \"depth=1,width=4,files=10,sizes=4KiB\"\n",
    );
    end(workspace.with_hosts(Some(&hosts), &hosts.names().join(","), "saved")).expect(0, &["by ssh"]);
    let results = workspace.saved("saved");
    for rank in 0..3 {
        let deleted = file_operations(&results, 0, Some(rank));
        assert_eq!(deleted, [(FileOperationKind::Delete, 40)], "rank {rank}");
    }
    assert_eq!(file_operations(&results, 0, None), [(FileOperationKind::Delete, 120)]);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "each host removes its tree");
}

/// The operations on files of a step, of one rank or of all.
fn file_operations(results: &Results, step: usize, rank: Option<u32>) -> Vec<(FileOperationKind, u64)> {
    let workers = results.steps[step].jobs[0].workers.iter();
    let workers = workers.filter(|worker| rank.is_none_or(|rank| worker.rank == rank));
    let part = JobResults::default().with(|job| job.workers = workers.cloned().collect());
    let kinds = part.file_operations().into_iter();
    kinds
        .map(|operation| (operation.kind, operation.results.operations))
        .collect()
}

/// Each file is created and deleted once: a second creation of one would fail.
#[test]
fn hosts_divide_the_files_of_a_shared_tree() {
    let workspace = need!(Workspace::new(""));
    let folder = workspace.path("data");
    fs::create_dir(&folder).unwrap();
    let job = |step: u32, mix: &str| {
        format!(
            "[[job]]\ntarget = \"DIR/data\"\nkind = \"files\"\nstep = {step}\nmix = \"{mix}\"\nworkers = 2\n\
             time = \"30s\"\nwarm-up = \"0s\"\n"
        )
    };
    let tree = "tree = \"depth=1,width=4,files=10,sizes=4KiB,shared=true\"\n";
    workspace.write_job(&format!("{}{tree}{}", job(1, "create"), job(2, "delete")));
    end(workspace.with_hosts(None, "local,local,local", "saved")).expect(0, &[]);
    let results = workspace.saved("saved");
    for (step, kind) in [FileOperationKind::Create, FileOperationKind::Delete]
        .into_iter()
        .enumerate()
    {
        for (rank, files) in (0..).zip([14, 13, 13]) {
            assert_eq!(
                file_operations(&results, step, Some(rank)),
                [(kind, files)],
                "rank {rank}"
            );
        }
        assert_eq!(file_operations(&results, step, None), [(kind, 40)]);
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "one host removes the tree");

    let small = tree.replace("width=4,files=10", "width=1,files=2");
    workspace.write_job(&format!("{}{small}", job(1, "create")));
    let ran = end(workspace.with_hosts(None, "local,local,local", "saved"));
    ran.expect(3, &["fewer files (2) than hosts (3) that share it"]);

    for rank in 0..2 {
        fs::create_dir(folder.join(rank.to_string())).unwrap();
    }
    workspace.write_job(&format!("{}{tree}", job(1, "create")).replace("DIR/data", "DIR/data/%r"));
    let ran = end(workspace.with_hosts(None, "local,local", "saved"));
    ran.expect(3, &["(rank 1)", "they do not share this directory"]);
    assert_eq!(fs::read_dir(folder.join("0")).unwrap().count(), 0);
}
