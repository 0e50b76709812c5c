//! Vdbench parameter files with several hosts.

use super::*;

/// Starts a parameter file on the first host or on this machine. `ssh` replaces the ssh command.
fn start(workspace: &Workspace, hosts: Option<&Hosts>, ssh: &Path, parameters: &str) -> Child {
    fs::write(workspace.path("parmfile"), parameters).unwrap();
    let command = hosts.map_or_else(|| Command::new(PROGRAM), |hosts| hosts.on(0, PROGRAM));
    prepare(command, workspace.folder.path())
        .args(["vdbench", "-f", "parmfile", "-o", "output"])
        .current_dir(workspace.folder.path())
        .env("FATHOM_SSH", ssh)
        .env("FATHOM_REMOTE", PROGRAM)
        .spawn()
        .unwrap()
}

/// The rows of a page in the output directory, below the heading of a run.
fn rows(workspace: &Workspace, page: &str, run: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(workspace.path(&format!("output/{page}.html"))).unwrap();
    let start = format!("{run};");
    let of_run = text.split("Starting RD=").find(|part| part.starts_with(&start));
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let lines = of_run.unwrap_or_default().lines().skip(1).map(words);
    let is_row = |words: &Vec<String>| {
        words.len() > 10 && words[0].len() == 12 && (words[1].starts_with("avg_") || words[1].parse::<u32>().is_ok())
    };
    lines.filter(is_row).collect()
}

/// A script that runs an agent on this machine in place of ssh.
fn local_agent(workspace: &Workspace) -> PathBuf {
    ssh_script(workspace, &format!("exec '{PROGRAM}' agent --stdio"))
}

/// Waits until the summary has a text, or for half the time that a run may take.
fn wait_for_summary(workspace: &Workspace, text: &str) {
    let begun = Instant::now();
    let summary = workspace.path("output/summary.html");
    let has_text = || fs::read_to_string(&summary).is_ok_and(|summary| summary.contains(text));
    while !has_text() && begun.elapsed() < WATCHDOG / 2 {
        sleep(Duration::from_millis(50));
    }
}

#[track_caller]
fn figures(rows: &[Vec<String>], column: usize) -> Vec<f64> {
    rows.iter().map(|row| row[column].parse().expect("a number")).collect()
}

/// Checks that each row of `total` is the sum of the rows of the parts.
#[track_caller]
fn assert_sum(workspace: &Workspace, run: &str, total: &str, parts: &[&str], columns: &[usize]) {
    let whole = rows(workspace, total, run);
    let parts: Vec<_> = parts.iter().map(|part| rows(workspace, part, run)).collect();
    for column in columns {
        for (number, value) in figures(&whole, *column).into_iter().enumerate() {
            let sum: f64 = parts.iter().map(|part| figures(part, *column)[number]).sum();
            assert!((sum - value).abs() < 0.26, "{run}, {column}: {value} is not {sum}");
        }
    }
}

#[test]
fn sds_of_two_hosts_add_up() {
    let hosts = need!(hosts(2));
    let workspace = need!(Workspace::new(""));
    let folder = workspace.folder.path().display();
    let [first, second] = hosts.names() else {
        panic!("two hosts")
    };
    // The first host is this machine, the second one is reached by ssh.
    let parameters = format!(
        "hd=default,shell=ssh\nhd=one,system={first}\nhd=two,system={second}\n\
         sd=sd_$host,host=$host,lun={folder}/$host.dat,size=8m,threads=2\n\
         sd=both,lun={folder}/both.dat,size=8m,threads=5\n\
         wd=wd_$host,sd=sd_$host,host=$host,rdpct=50,xfersize=4k\nwd=wd_both,sd=both,xfersize=8k\n\
         rd=rd1,wd=wd*,iorate=600,elapsed=4,interval=1\n\
         rd=rd2,wd=wd_two,iorate=100,elapsed=3,interval=1\n\
         rd=rd3,wd=wd_both,iorate=max,elapsed=2,interval=1\n"
    );
    let ran = end(start(&workspace, Some(&hosts), hosts.agent(), &parameters));
    ran.exits(0).prints(&[
        "Starting slave: one-0 on local",
        &format!("Starting slave: two-0 on {second}"),
        "All slaves are now connected",
        "completed successfully",
    ]);
    for name in ["one.dat", "two.dat", "both.dat"] {
        assert_eq!(fs::metadata(workspace.path(name)).unwrap().len(), 8 << 20, "{name}");
    }
    // Rate, throughput and queue depth.
    assert_sum(&workspace, "rd1", "summary", &["one", "two"], &[2, 3]);
    assert_sum(&workspace, "rd1", "summary", &["one-0", "two-0"], &[2, 3]);
    assert_sum(&workspace, "rd1", "summary", &["sd_one", "sd_two", "both"], &[2, 3]);
    assert_sum(&workspace, "rd3", "summary", &["one", "two"], &[2, 3, 12]);
    let idle = rows(&workspace, "one", "rd2");
    assert!(idle.is_empty(), "{idle:?}");
    for (page, run, count) in [
        ("summary", "rd1", 5),
        ("one", "rd1", 5),
        ("two", "rd2", 4),
        ("totals", "rd1", 1),
    ] {
        let found = rows(&workspace, page, run);
        assert_eq!(found.len(), count, "{page} {run}: {found:?}");
        assert!(found.iter().all(|row| row.len() == 15), "{found:?}");
        // Processor time of the hosts is known for the average only.
        let cpu = &figures(&found, 13);
        let (average, intervals) = cpu.split_last().unwrap();
        assert!(*average > 0.0 && intervals.iter().all(|cpu| *cpu == 0.0), "{found:?}");
    }
    // A third of the rate goes to each WD, and half of that to each host of the shared SD.
    for (page, range) in [("summary", 450.0..750.0), ("one", 200.0..400.0)] {
        let rate = figures(&rows(&workspace, page, "rd1"), 2).pop().unwrap();
        assert!(range.contains(&rate), "{page}: {rate}");
    }
    // Three of the five threads run on the first host.
    let queue = |host: &str| figures(&rows(&workspace, host, "rd3"), 12).pop().unwrap();
    let queues = [queue("one"), queue("two")];
    let is_shared = (0.1..=3.05).contains(&queues[0]) && (0.1..=2.05).contains(&queues[1]);
    assert!(is_shared, "{queues:?}");
    let skew = fs::read_to_string(workspace.path("output/skew.html")).unwrap();
    assert_eq!(skew.matches(" Host: ").count(), 2, "{skew}");
    assert!(workspace.path("output/two.histogram.html").exists());
}

#[test]
fn trees_of_two_hosts_add_up_and_agents_serve_them_over_tcp() {
    let hosts = need!(hosts(3));
    let workspace = need!(Workspace::new(""));
    let folder = workspace.folder.path().display();
    let [_, first, second] = hosts.names() else {
        panic!("three hosts")
    };
    let agents = workspace.start_agents(&hosts);
    let parameters = format!(
        "hd=default,shell=vdbench\nhd=a,system={first}\nhd=b,system={second}\n\
         fsd=fsd_$host,anchor={folder}/$host,depth=1,width=2,files=10,size=64k\n\
         fwd=fwd_$host,fsd=fsd_$host,host=$host,operation=read,threads=2,xfersize=4k,fileio=random\n\
         rd=rd1,fwd=fwd*,fwdrate=200,format=yes,elapsed=4,interval=1\n"
    );
    let ran = end(start(&workspace, Some(&hosts), hosts.agent(), &parameters));
    ran.exits(0).prints(&[
        &format!("Starting slave: a-0 on tcp://{first}:7745"),
        &format!("a-0: anchor={folder}/a create complete."),
        &format!("b-0: anchor={folder}/b create complete."),
        "completed successfully",
    ]);
    agents.into_iter().for_each(kill);
    // Rate of requested operations, reads, and megabytes.
    assert_sum(&workspace, "rd1", "summary", &["a", "b"], &[2, 7]);
    assert_sum(&workspace, "rd1", "summary", &["fsd_a", "fsd_b"], &[2, 7]);
    let rate = figures(&rows(&workspace, "summary", "rd1"), 2).pop().unwrap();
    assert!((150.0..250.0).contains(&rate), "{rate}");
    // Each host has created its anchor and its 20 files.
    for host in ["a", "b"] {
        let tree = workspace.path(host).join("fathom-kept.tree");
        let folders = ["d0", "d1"].map(|folder| fs::read_dir(tree.join(folder)).unwrap());
        let files = folders.into_iter().flatten();
        let sizes = files.map(|file| file.unwrap().metadata().unwrap().len());
        assert_eq!(sizes.filter(|size| *size == 65_536).count(), 20, "{}", tree.display());
    }
}

/// Each host deletes every second file of one tree. Only both together remove all of them.
#[test]
fn two_hosts_share_a_tree() {
    let Some(workspace) = Workspace::new("") else { return };
    let folder = workspace.folder.path().display();
    let local = local_agent(&workspace);
    let parameters = format!(
        "hd=one,system=localhost\nhd=two,system=db1,shell=ssh\n\
         fsd=tree,anchor={folder}/tree,depth=1,width=2,files=15,size=4k,shared=yes\n\
         fwd=reads,fsd=tree,operation=read,threads=4,xfersize=4k\n\
         fwd=both,fsd=tree,operation=delete,threads=2\nfwd=half,fsd=tree,operation=delete,host=two\nfwd=look,fsd=tree,operation=getattr,host=one\n\
         rd=rd1,fwd=reads,fwdrate=200,format=yes,elapsed=3,interval=1\n\
         rd=rd2,fwd=(half,look),fwdrate=200,elapsed=3,interval=1\n"
    );
    let files = || {
        let folders =
            ["d0", "d1"].map(|name| fs::read_dir(workspace.path("tree/fathom-kept.tree").join(name)).unwrap());
        folders.into_iter().flatten().count()
    };
    let ran = end(start(&workspace, None, &local, &parameters));
    let created = format!("one-0: anchor={folder}/tree create complete.");
    ran.expect(0, &[&created, "completed successfully"]);
    assert_eq!(files(), 15, "the second host has deleted its half");
    assert_sum(&workspace, "rd1", "summary", &["one", "two"], &[2, 7]);
    for page in ["one", "two"] {
        let rate = figures(&rows(&workspace, page, "rd1"), 2).pop().unwrap();
        assert!((70.0..130.0).contains(&rate), "{page}: {rate}");
    }

    let (definitions, _) = parameters.split_once("rd=rd1").unwrap();
    let both = format!("{definitions}rd=rd3,fwd=both,fwdrate=max,elapsed=9,interval=1\n");
    end(start(&workspace, None, &local, &both)).expect(0, &["completed successfully"]);
    assert_eq!(files(), 0);

    fs::remove_dir_all(workspace.path("tree")).unwrap();
    fs::create_dir(workspace.path("tree")).unwrap();
    let nothing_to_delete = "trying to delete a file, but no files are available";
    end(start(&workspace, None, &local, &both)).expect(0, &[nothing_to_delete]);
    assert_eq!(fs::read_dir(workspace.path("tree")).unwrap().count(), 0);
    // The directories of one level are divided like files.
    let directories = both.replace("operation=delete,threads=2", "operation=mkdir,threads=2");
    end(start(&workspace, None, &local, &directories)).expect(0, &["completed successfully"]);
    assert_eq!(files(), 0, "both directories exist");
}

/// A script in the place of ssh.
pub(super) fn ssh_script(workspace: &Workspace, text: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let path = workspace.path("reach.sh");
    fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn hosts_that_cannot_take_part_end_the_test_before_it_measures() {
    let workspace = need!(Workspace::new(""));
    let folder = workspace.folder.path().display().to_string();
    let parameters = |host: &str, sd: &str| {
        format!(
            "hd=one,system=localhost\nhd=two,system={host},shell=ssh\n\
             sd=sd_$host,host=$host,lun={folder}/$host.dat,size=1m{sd}\nwd=wd1,sd=sd*,rdpct=0\n\
             rd=rd1,wd=wd1,iorate=50,elapsed=30,interval=1\n"
        )
    };
    let refused = ssh_script(&workspace, "echo 'Could not resolve hostname db1' >&2; exit 255");
    let parts = [
        "cannot connect to db1: ",
        "exit status: 255",
        "why: Could not resolve hostname db1",
    ];
    end(start(&workspace, None, &refused, &parameters("db1", ""))).expect(157, &parts);
    assert!(!workspace.path("one.dat").exists());

    // An agent on this machine, as on a host whose file is missing, or holds foreign data.
    let local = local_agent(&workspace);
    fs::write(workspace.path("one.dat"), vec![7; 1 << 20]).unwrap();
    let missing = format!("formatsds=no\n{}", parameters("db1", ""));
    end(start(&workspace, None, &local, &missing)).expect(157, &["(rank 1): ", "two.dat does not exist"]);
    assert_eq!(fs::read(workspace.path("one.dat")).unwrap(), vec![7; 1 << 20]);

    let mut database = b"SQLite format 3\0".to_vec();
    database.resize(1 << 20, 1);
    fs::write(workspace.path("two.dat"), &database).unwrap();
    let ran = end(start(&workspace, None, &local, &parameters("db1", "")));
    let again = "name it again: FATHOM_ALLOW_DESTROY=";
    ran.expect(157, &["(rank 1): ", "two.dat must not be written", again]);
    assert_eq!(fs::read(workspace.path("two.dat")).unwrap(), database);
    assert_eq!(fs::read(workspace.path("one.dat")).unwrap(), vec![7; 1 << 20]);
}

/// No host writes if the files of one would fill its file system.
#[test]
fn lay_outs_of_other_hosts_need_free_space() {
    let workspace = need!(Workspace::new(""));
    let folder = workspace.folder.path().display();
    let local = local_agent(&workspace);
    let parameters = format!(
        "hd=one,system=localhost\nhd=two,system=db1,shell=ssh\n\
         sd=sd1,host=one,lun={folder}/one.dat,size=1m\nsd=sd2,host=two,lun={folder}/two.dat,size=900t\n\
         wd=wd1,sd=sd*\nrd=rd1,wd=wd1,iorate=50,elapsed=3,interval=1\n"
    );
    let ran = end(start(&workspace, None, &local, &parameters));
    ran.expect(157, &["(rank 1)", "cannot create 900 TiB at ", ": this would "]);
    assert!(!workspace.path("one.dat").exists() && !workspace.path("two.dat").exists());
}

#[test]
fn maxdata_and_the_monitor_end_runs_of_several_hosts() {
    let workspace = need!(Workspace::new(""));
    let folder = workspace.folder.path().display();
    let local = local_agent(&workspace);
    let parameters = format!(
        "monitor={folder}/control\nhd=one,system=localhost\nhd=two,system=db1,shell=ssh\n\
         sd=sd_$host,host=$host,lun={folder}/$host.dat,size=1m\nwd=wd1,sd=sd*,xfersize=64k\n\
         rd=default,wd=wd1,iorate=100,elapsed=60,interval=1\nrd=rd1,maxdata=1m\nrd=rd2\nrd=rd3,elapsed=3\n"
    );
    let child = start(&workspace, None, &local, &parameters);
    wait_for_summary(&workspace, "Starting RD=rd2");
    fs::write(workspace.path("control"), "end_rd\n").unwrap();
    let ran = end(child);
    ran.exits(0).prints(&[
        "Reached maxdata=1m. rd=rd1",
        "rd=rd2 shutting down",
        "completed successfully",
    ]);
    assert!(ran.took < Duration::from_secs(40), "{:?}", ran.took);
    // The last run is complete.
    assert_eq!(rows(&workspace, "two", "rd3").len(), 4);
}

/// A failed host ends the others, and the run.
#[test]
fn a_lost_host_fails_the_run() {
    let workspace = need!(Workspace::new(""));
    let folder = workspace.folder.path().display().to_string();
    // The agent of the second host is killed while it measures.
    let pid = workspace.path("pid");
    let script = format!("echo $$ > '{}'; exec '{PROGRAM}' agent --stdio", pid.display());
    let local = ssh_script(&workspace, &script);
    let parameters = format!(
        "hd=one,system=localhost\nhd=two,system=db1,shell=ssh\n\
         sd=sd_$host,host=$host,lun={folder}/$host.dat,size=1m\nwd=wd1,sd=sd*\n\
         rd=rd1,wd=wd1,iorate=50,elapsed=40,interval=1\n"
    );
    let child = start(&workspace, None, &local, &parameters);
    wait_for_summary(&workspace, " 2   ");
    let pid: u32 = fs::read_to_string(&pid).unwrap().trim().parse().unwrap();
    signal(pid, "KILL");
    let ran = end(child);
    ran.expect(157, &["(rank 1)", "the report includes its results until then"]);
    assert!(ran.took < Duration::from_secs(30), "{:?}", ran.took);
    assert!(!ran.out.contains("completed successfully"), "{}", ran.out);
}
