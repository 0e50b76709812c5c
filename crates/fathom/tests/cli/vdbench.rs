//! `fathom vdbench`: console, output files and exit codes.

use crate::prelude::*;

/// Prepares a run of a parameter file in a folder, which is `DIR` in the parameters.
pub fn prepare_vdbench(folder: &Path, parameters: &str, arguments: &[&str]) -> Command {
    fs::write(folder.join("parmfile"), parameters.replace("DIR", text(folder))).unwrap();
    let mut command = command(&[&["vdbench", "-f", "parmfile"], arguments].concat());
    command.current_dir(folder);
    command
}

pub fn run_vdbench(folder: &Path, parameters: &str, arguments: &[&str]) -> Ran {
    finish(&mut prepare_vdbench(folder, parameters, arguments))
}

/// Reads a file of the output directory, named without its extension.
pub fn read_page(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(format!("output/{name}.html"))).expect(name)
}

/// The run continues, because the files of the output directory have all lines too.
#[test]
fn an_unwritable_console_fails_the_command_after_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("data");
    fs::write(&file, vec![1; 1 << 20]).unwrap();
    let parameters = "sd=sd1,lun=DIR/data,size=1m\nwd=wd1,sd=sd1,xfersize=4k,rdpct=100\n\
         rd=rd1,wd=wd1,iorate=50,elapsed=2,interval=1\n";
    let full = File::options().write(true).open("/dev/full").unwrap();
    let mut command = prepare_vdbench(folder.path(), parameters, &[]);
    let child = command.stdout(full).stderr(Stdio::piped()).spawn().unwrap();
    end(child).expect(157, &["cannot write to standard output: ", "No space left on device"]);
    read_page(folder.path(), "errorlog").assert_contains(&["cannot write to standard output"]);
    read_page(folder.path(), "flatfile").assert_contains(&["avg_2-2"]);
}

#[test]
fn a_run_writes_the_output_files_of_vdbench() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("data");
    let parameters = "sd=sd1,lun=DIR/data,size=4m,threads=2\nwd=wd1,sd=sd1,xfersize=4k,rdpct=50\n\
         rd=rd1,wd=wd1,iorate=200,elapsed=3,interval=1\n";
    let ran = run_vdbench(folder.path(), parameters, &[]);
    let starts = [
        "Starting RD=SD_format; I/O rate: Uncontrolled MAX; elapsed=(none); For loops: threads=2 iorate=max",
        "Starting RD=rd1; I/O rate: 200; elapsed=3; For loops: None",
        "Vdbench execution completed successfully. Output directory: ",
        "\nVdbench distribution: vdbench50407 ",
    ];
    ran.expect(0, &starts);
    assert_eq!(fs::metadata(&file).unwrap().len(), 4 << 20);
    let output = folder.path().join("output");
    for name in [
        "summary", "totals", "flatfile", "histogram", "logfile", "errorlog", "parmfile", "status", "skew", "sd1", "wd1",
    ] {
        let title = format!("<title>Vdbench output/{name}.html</title><pre>\n");
        assert!(read_page(folder.path(), name).starts_with(&title), "{name}");
    }
    // The lay-out writes 4 MiB in blocks of 128 KiB. The run has rows of three intervals and of
    // their average.
    let flat = read_page(folder.path(), "flatfile");
    let cells = |run: &str, name: &str| flat_column(folder.path(), run, name);
    assert_eq!(cells("SD_format", "rate"), ["32.0000", "32.0000"]);
    assert_eq!(cells("rd1", "Interval"), ["1", "2", "3", "avg_2-3"]);
    assert_eq!(cells("rd1", "reqrate")[0], "200.0000");
    assert_eq!(cells("rd1", "threads")[0], "2");
    let overwriting = "vdbench parseflat -i output/flatfile.html -o output/../output/flatfile.html -c Run";
    let run = |line: &str| fathom_in(folder.path(), &split_words(line));
    run(overwriting).expect(157, &["is the flat file itself"]);
    assert_eq!(read_page(folder.path(), "flatfile"), flat);
    run("vdbench parseflat -i output/flatfile.html -o out.csv -c Run rate -a").expect(0, &[]);
    let table = fs::read_to_string(folder.path().join("out.csv")).unwrap();
    assert!(table.starts_with("Run,rate\nSD_format,32.0000\nrd1,"), "{table}");
    assert_eq!(table.lines().count(), 3);
    // A second run uses the same directory, and keeps a file that is not Vdbench's.
    fs::write(output.join("mine.html"), "<html>").unwrap();
    run_vdbench(folder.path(), parameters, &["-s"])
        .expect(0, &["Simulating RD=rd1; I/O rate: 200; elapsed=3; For loops: None"]);
    assert!(names(&output).contains(&"mine.html".to_owned()));
    assert!(
        !names(&output).contains(&"sd1.html".to_owned()),
        "a simulation has no SD report"
    );
}

/// Executes runs with two loops on two SDs.
#[test]
fn reports_have_links_skew_tables_includes_and_processor_time() {
    let folder = tempfile::tempdir().unwrap();
    let included = format!("* included\nsd=sd1,lun={},size=4m\n", text(&folder.path().join("a")));
    fs::write(folder.path().join("defs"), included).unwrap();
    let parameters = "hd=box,system=localhost\ninclude=defs\nsd=sd2,lun=DIR/b,size=4m\n\
         wd=wd1,sd=sd1,xfersize=4k,rdpct=50,skew=25\nwd=wd2,sd=sd2,xfersize=$xf\n\
         rd=rd1,wd=wd*,iorate=400,elapsed=2,interval=1,forthreads=(1,2),forrdpct=(0,50)\n";
    run_vdbench(folder.path(), parameters, &["xf=8k"]).expect(0, &["completed successfully"]);
    let page = |name: &str| read_page(folder.path(), name);
    let lines = |name: &str| page(name).lines().map(str::to_owned).collect::<Vec<_>>();
    // As recorded from Vdbench: a run that differs only in its last loop shows only that loop,
    // aligned with the run above.
    let links: Vec<String> = lines("totals")
        .into_iter()
        .filter(|line| line.contains("HREF=\"#"))
        .collect();
    links.assert_is(&[
        "Link to Run Definitions:         <A HREF=\"#_0\">SD_format For loops: threads=2 iorate=max</A>",
        "                                 <A HREF=\"#_1\">rd1 For loops: threads=1 rdpct=0</A>",
        "                                                          <A HREF=\"#_2\">rdpct=50</A>",
        "                                 <A HREF=\"#_3\">rd1 For loops: threads=2 rdpct=0</A>",
        "                                                          <A HREF=\"#_4\">rdpct=50</A>",
    ]);
    for number in 0..5 {
        assert!(page("summary").contains(&format!("<a name=\"_{number}\">")), "{number}");
    }
    let copy = page("parmfile");
    let order = [
        "* Contents of parameter file: ",
        "include=defs",
        "* Contents of include file: ",
        "* included",
        "* Continuing with original file: parmfile",
        "xfersize=$xf",
        "    variable substitution: wd=wd2,sd=sd2,xfersize=8k",
    ];
    let places: Vec<usize> = order.iter().map(|part| copy.find(part).expect(part)).collect();
    assert!(places.is_sorted(), "{copy}");
    // Rows of SDs, WDs and the host end with two columns of processor time.
    for name in ["sd1", "wd2", "box", "box-0"] {
        let rows = lines(name);
        let average = rows.iter().find(|line| line.contains("avg_2-2 ")).expect(name);
        assert_eq!(average.split_whitespace().count(), 15, "{name}: {average}");
    }
    let skew = lines("skew");
    let shares: Vec<&String> = skew.iter().filter(|line| line.contains(" wd1 ")).collect();
    assert_eq!(shares.len(), 4, "{skew:#?}");
    for row in shares {
        let percent: Vec<f64> = row
            .split_whitespace()
            .filter_map(|word| word.strip_suffix('%')?.parse().ok())
            .collect();
        assert!(percent[0] == 25.0 && (10.0..40.0).contains(&percent[1]), "{row}");
    }
    assert_eq!(skew.iter().filter(|line| line.ends_with("100.00%  100.00%")).count(), 4);
    assert_eq!(skew.iter().filter(|line| line.contains(" SD: ")).count(), 5);
}

/// Returns a column of the flat file, in the rows of a run.
pub fn flat_column(folder: &Path, run: &str, column: &str) -> Vec<String> {
    let flat = read_page(folder, "flatfile");
    let rows: Vec<Vec<&str>> = flat
        .lines()
        .filter(|line| !line.starts_with(['*', '<']))
        .map(|line| line.split_whitespace().collect())
        .collect();
    let place = |name: &str| rows[0].iter().position(|known| *known == name).unwrap();
    let of_run = rows.iter().filter(|row| row[place("Run")] == run);
    of_run.map(|row| row[place(column)].to_owned()).collect()
}

/// Returns a column of numbers of the flat file, in the rows of a run.
pub fn flat_numbers(folder: &Path, run: &str, column: &str) -> Vec<f64> {
    let cells = flat_column(folder, run, column);
    cells.iter().map(|cell| cell.parse().unwrap()).collect()
}

#[test]
fn formats_create_and_clean_only_files_of_the_tree() {
    let folder = tempfile::tempdir().unwrap();
    let anchor = folder.path().join("anchor");
    let tree = anchor.join("fathom-kept.tree");
    let file = |format: &str, fwd: &str| {
        format!(
            "fsd=fsd1,anchor=DIR/anchor,depth=1,width=2,files=10,size=64k\nfwd=fwd1,fsd=fsd1,threads=2,{fwd}\n\
             rd=rd1,fwd=fwd1,fwdrate=100,format={format},elapsed=2,interval=1\n"
        )
    };
    let read = "operation=read,xfersize=4k,fileio=random,stopafter=4";
    let ran = run_vdbench(folder.path(), &file("yes", read), &[]);
    let starts = [
        "Anchor size: anchor=",
        "dirs:            2; files:           20; bytes:     1.250m (1,310,720)",
        "Starting RD=format_for_rd1\n",
        "Starting RD=rd1; elapsed=2; fwdrate=100; For loops: None",
        "Vdbench execution completed successfully. Output directory: ",
    ];
    ran.expect(0, &starts);
    // 20 files of 64 KiB in transfers of at most 128 KiB: one create, one write and one close each.
    for (column, count) in [
        ("Mkdir_rate", "2.0000"),
        ("Write_rate", "20.0000"),
        ("Create_rate", "20.0000"),
        // Creating a file opens it.
        ("Open_rate", "20.0000"),
        ("Close_rate", "20.0000"),
    ] {
        let cells = flat_column(folder.path(), "format_for_rd1", column);
        assert_eq!(cells[0], count, "{column}");
    }
    assert_eq!(flat_column(folder.path(), "rd1", "Interval"), ["1", "2", "avg_2-2"]);
    let number = |column: &str| flat_numbers(folder.path(), "rd1", column)[2];
    let (reads, opens) = (number("Read_rate"), number("Open_rate"));
    assert!((50.0..150.0).contains(&reads), "{reads}");
    // Four reads for each open, except in the first and last session.
    assert!((reads / 4.0 - opens).abs() <= 3.0, "{reads} {opens}");
    for name in ["fsd1", "fwd1", "format", "fwd1.histogram", "summary", "totals"] {
        assert!(folder.path().join(format!("output/{name}.html")).exists(), "{name}");
    }
    for name in ["histogram", "fsd1.histogram", "fwd1.histogram"] {
        let page = read_page(folder.path(), name);
        let run = page.split("Starting RD=").last().unwrap();
        let title = "Total of all requested operations: ";
        let lines: Vec<&str> = run.lines().skip_while(|line| *line != title).collect();
        assert!(!page.contains("Reads") && !page.contains("reads done"), "{page}");
        assert_eq!(lines.len(), 3 + 27 + 1, "{page}");
        let of_row = |line: &&str| -> f64 { line.split_whitespace().nth(3).unwrap().parse().unwrap() };
        let counted: f64 = lines[3..30].iter().map(of_row).sum();
        assert!((counted - reads).abs() <= 5.0, "{counted} {reads}");
    }
    let sizes: Vec<u64> = walk(&tree)
        .iter()
        .map(|path| fs::metadata(path).unwrap().len())
        .collect();
    assert_eq!(sizes.iter().filter(|size| **size == 65_536).count(), 20);
    // Foreign files stay, in the anchor and in the tree.
    for foreign in [anchor.join("mine"), tree.join("d0/mine")] {
        fs::write(foreign, "x").unwrap();
    }
    run_vdbench(folder.path(), &file("no", "operation=delete"), &[]).expect(0, &["trying to delete a file"]);
    run_vdbench(folder.path(), &file("no", read), &[]).expect(0, &["avg_"]);
    run_vdbench(folder.path(), &file("yes", read), &[]).expect(0, &["Starting RD=format_for_rd1"]);
    run_vdbench(folder.path(), &file("(clean,only)", read), &[]).expect(0, &["cleanup complete."]);
    assert_eq!(fs::read_to_string(anchor.join("mine")).unwrap(), "x");
    assert_eq!(fs::read_to_string(tree.join("d0/mine")).unwrap(), "x");
    assert!(!tree.join("d1").exists());
    // A foreign directory with the name of the tree stays unchanged.
    fs::remove_dir_all(&tree).unwrap();
    fs::create_dir_all(tree.join("d0")).unwrap();
    fs::write(tree.join("d0/f0"), "x").unwrap();
    run_vdbench(folder.path(), &file("yes", read), &[]).expect(157, &["not a tree that fathom created"]);
    assert_eq!(fs::read_to_string(tree.join("d0/f0")).unwrap(), "x");
    let missing = file("yes", read).replace("DIR/anchor,", "DIR/none/anchor,");
    run_vdbench(folder.path(), &missing, &[]).expect(157, &["Unable to create anchor directory: "]);
}

/// Directories are created and removed level by level. Files wait for their directory, and a
/// directory waits until it is empty.
#[test]
fn directories_are_created_before_their_files_and_removed_after_them() {
    let folder = tempfile::tempdir().unwrap();
    let anchor = folder.path().join("anchor");
    let parameters = "fsd=fsd1,anchor=DIR/anchor,depth=2,width=3,files=4,distribution=all,size=4k\n\
         fwd=fwd1,fsd=fsd1,threads=6\n\
         rd=default,fwd=fwd1,fwdrate=max,format=no,elapsed=20,interval=1\n\
         rd=alone,operations=create\nrd=both,operations=(mkdir,create)\nrd=full,operations=rmdir\n\
         rd=times,operations=(access,setattr),elapsed=2\nrd=gone,operations=(rmdir,delete)\n";
    run_vdbench(folder.path(), parameters, &[]).exits(0).prints(&[
        "Vdbench is trying to create a directory, but the directory that we are",
        "trying to delete does not exist, and there are no threads currently",
        "..setattr... ...access...",
    ]);
    let sum = |run: &str, column: &str| -> f64 {
        let rates = flat_numbers(folder.path(), run, column);
        rates[..rates.len() - 1].iter().sum()
    };
    // 3 and 9 directories, with 4 files in each.
    for (run, column, count) in [
        ("alone", "Create_rate", 0.0),
        ("both", "Mkdir_rate", 12.0),
        ("both", "Create_rate", 48.0),
        ("full", "Rmdir_rate", 0.0),
        ("gone", "Delete_rate", 48.0),
        ("gone", "Rmdir_rate", 12.0),
    ] {
        assert_eq!(sum(run, column), count, "{run} {column}");
    }
    assert!(sum("times", "Access_rate") > 100.0 && sum("times", "Setattr_rate") > 100.0);
    assert_eq!(names(&anchor.join("fathom-kept.tree")).len(), 1, "the marker");
}

/// `totalsize=` limits the tree, and `wss=` the files of a run. `fileselect=once` uses each file
/// once.
#[test]
fn a_working_set_is_read_once_and_deleted_files_are_written_again() {
    let folder = tempfile::tempdir().unwrap();
    let anchor = folder.path().join("anchor");
    let parameters = "fsd=fsd1,anchor=DIR/anchor,width=4,files=50,size=8k,totalsize=800k,wss=200k,openflags=fsync\n\
         fwd=default,fsd=fsd1,xfersize=8k,threads=2\nfwd=fwd1,operation=read,fileselect=once\n\
         fwd=fwd2,operation=write,fileio=(sequential,delete)\n\
         rd=rd1,fwd=fwd1,fwdrate=max,format=yes,elapsed=20,interval=1\n\
         rd=rd2,fwd=fwd2,fwdrate=100,format=no,elapsed=2,interval=1\n\
         rd=rd3,fwd=fwd1,fwdrate=max,format=(yes,limited,only),elapsed=2,interval=1\n";
    run_vdbench(folder.path(), parameters, &[]).exits(0).prints(&[
        "Created totalsize=800.0k using          100 of          200 files for anchor=",
        "Created workingset=200.0k using           25 of          100 files for anchor=",
    ]);
    let first = |run: &str, column: &str| flat_column(folder.path(), run, column)[0].clone();
    let format = |column: &str| first("format_for_rd1", column);
    assert_eq!(format("Mkdir_rate"), "4.0000");
    assert_eq!(format("Create_rate"), "100.0000");
    assert_eq!(first("rd1", "Open_rate"), "25.0000");
    assert_eq!(first("rd1", "Read_rate"), "25.0000");
    let rate = |column: &str| flat_numbers(folder.path(), "rd2", column)[2];
    let (writes, deletes, creates) = (rate("Write_rate"), rate("Delete_rate"), rate("Create_rate"));
    assert!((50.0..150.0).contains(&writes), "{writes}");
    assert!(
        (writes - deletes).abs() <= 3.0 && (writes - creates).abs() <= 3.0,
        "{deletes} {creates}"
    );
    let mut files = walk(&anchor.join("fathom-kept.tree"));
    files.retain(|path| fs::metadata(path).unwrap().len() == 8192);
    assert_eq!(files.len(), 100);
    // A file that is too short is not used, and a tree with only such files is refused.
    let shorten = |path: &PathBuf| File::options().write(true).open(path).unwrap().set_len(100).unwrap();
    shorten(&files[0]);
    let (definitions, _) = parameters.split_once("rd=").unwrap();
    let read = format!("{definitions}rd=rd1,fwd=fwd1,fwdrate=max,format=no,elapsed=2,interval=1\n");
    run_vdbench(folder.path(), &read, &[]).expect(0, &["1 of 100 files in ", "are not used"]);
    files.iter().for_each(shorten);
    run_vdbench(folder.path(), &read, &[]).expect(157, &["not of the size that the tree defines"]);
}

/// With a link in place of a directory, operations would change files outside the tree.
#[test]
fn a_tree_with_a_link_in_place_of_a_directory_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let [anchor, own] = ["anchor", "own"].map(|name| folder.path().join(name));
    fs::create_dir(&anchor).unwrap();
    let tree = "fsd=fsd1,anchor=DIR/anchor,depth=2,width=2,files=2,sizes=16k\nfwd=fwd1,fsd=fsd1,operation=write\n";
    let run = |format: &str| {
        let run = format!("{tree}rd=rd1,fwd=fwd1,fwdrate=max,format={format},elapsed=2,interval=1\n");
        run_vdbench(folder.path(), &run, &[])
    };
    run("yes").expect(0, &["completed successfully"]);
    let directory = anchor.join("fathom-kept.tree/d1");
    fs::rename(&directory, &own).unwrap();
    std::os::unix::fs::symlink(&own, &directory).unwrap();
    let files: Vec<_> = walk(&own).into_iter().filter(|path| path.is_file()).collect();
    assert_eq!(files.len(), 4);
    for file in &files {
        fs::write(file, vec![7; 16 << 10]).unwrap();
    }
    for format in ["no", "yes", "clean", "restart"] {
        run(format).expect(157, &["d1", "a symbolic link in place of a directory"]);
        for file in &files {
            assert!(fs::read(file).unwrap().iter().all(|byte| *byte == 7), "{format}");
        }
    }
}

/// A run that only reads extends a short file, and keeps its contents.
#[test]
fn the_lay_out_of_a_short_file_begins_at_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("data");
    let own: Vec<u8> = (0..3_000_000_u32).map(|number| number as u8 | 1).collect();
    for validation in [&[][..], &["-v"]] {
        fs::write(&file, &own).unwrap();
        let parameters = "sd=sd1,lun=DIR/data,size=8m,threads=2\nwd=wd1,sd=sd1,xfersize=4k,rdpct=100\n\
             rd=rd1,wd=wd1,iorate=100,elapsed=2,interval=1\n";
        run_vdbench(folder.path(), parameters, validation).expect(0, &["SD_format", "completed successfully"]);
        let now = fs::read(&file).unwrap();
        assert_eq!(now.len(), 8 << 20);
        assert!(now[..own.len()] == own, "the file's own bytes were changed");
        // The missing part was written up to the end.
        assert!(now[now.len() - 4096..].iter().any(|byte| *byte != 0));
    }
}

/// Returns all files below a directory.
fn walk(at: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(at).unwrap().flatten().map(|entry| entry.path());
    let below = |path: PathBuf| if path.is_dir() { walk(&path) } else { vec![path] };
    entries.flat_map(below).collect()
}

/// At a rate that the target cannot reach, operations wait for a slot. They are not in flight
/// while they wait.
#[test]
fn queue_depth_never_exceeds_the_threads() {
    let folder = tempfile::tempdir().unwrap();
    let parameters = "sd=sd1,lun=DIR/data,size=4m,threads=2\nwd=wd1,sd=sd1,rdpct=0\nwd=wd2,sd=sd1,rdpct=0\n\
         rd=rd1,wd=wd*,iorate=5000000,elapsed=3,interval=1\n";
    run_vdbench(folder.path(), parameters, &[]).expect(0, &["avg_2-3"]);
    let column = |name: &str| flat_numbers(folder.path(), "rd1", name).into_iter();
    for (wait, depth) in column("resp").zip(column("queue_depth")) {
        assert!(wait > 10.0, "operations wait: {wait}");
        // An operation that ends in an interval may have begun in the previous interval.
        assert!((0.5..2.2).contains(&depth), "{depth}");
    }
    // The same in each interval of one of the workloads.
    let page = fs::read_to_string(folder.path().join("output/wd1.html")).unwrap();
    let rows = page.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let depths: Vec<f64> = rows
        .filter(|row| row.len() == 15 && row[1].parse::<u32>().is_ok())
        .map(|row| row[12].parse().unwrap())
        .collect();
    assert!(
        depths.len() >= 2 && depths.iter().all(|depth| (0.2..2.2).contains(depth)),
        "{depths:?}"
    );
}

#[test]
fn a_foreign_file_is_refused_before_the_first_run() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("data");
    let mut database = vec![0; 1 << 20];
    database[..16].copy_from_slice(b"SQLite format 3\0");
    fs::write(&file, &database).unwrap();
    let parameters = "sd=sd1,lun=DIR/data\nwd=wd1,sd=sd1\nwd=wd2,sd=sd1,rdpct=0\nrd=a,wd=wd1,iorate=max,elapsed=2\n\
         rd=b,wd=wd2,iorate=max,elapsed=2\n";
    let ran = run_vdbench(folder.path(), parameters, &[]);
    ran.expect(157, &["must not be written"]);
    assert!(!ran.out.contains("Starting RD=a"), "{ran:#?}");
    assert!(fs::read(&file).unwrap() == database);
}

/// Half of the blocks are duplicates of earlier blocks, and half of each block is zeros.
#[test]
fn data_has_the_requested_duplicates_and_compressibility() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("data");
    let parameters = "dedupratio=2,dedupunit=4k,compratio=2\nformatxfersize=4k\nsd=sd1,lun=DIR/data,size=8m\n\
         wd=wd1,sd=sd1\nrd=rd1,wd=wd1,iorate=100,elapsed=2\n";
    run_vdbench(folder.path(), parameters, &[]).expect(0, &["completed successfully"]);
    let bytes = fs::read(&file).unwrap();
    let unique: std::collections::HashSet<&[u8]> = bytes.chunks(4096).collect();
    // Of 2048 blocks, 1024 are unique; six standard deviations are 136.
    assert!((888..1160).contains(&unique.len()), "{}", unique.len());
    let zeros = bytes.iter().filter(|byte| **byte == 0).count() as f64 / bytes.len() as f64;
    assert!((0.48..0.53).contains(&zeros), "{zeros}");
    let odd = parameters.replace("dedupunit=4k", "dedupunit=8k");
    run_vdbench(folder.path(), &odd, &[]).expect(157, &["not multiples of `dedupunit=`"]);
}

#[test]
fn wrong_input_fails_with_code_157_and_the_cause() {
    let folder = tempfile::tempdir().unwrap();
    run_vdbench(folder.path(), "sd=sd1,lun=/x,size=1m\nwd=wd1,sd=sd1,xfresize=4k\n", &[])
        .exits(157)
        .prints(&[
            "Unknown keyword: xfresize",
            "help: did you mean `xfersize`?",
            "parmfile:2",
        ]);
    run_vdbench(folder.path(), "", &["-z"]).expect(157, &["Invalid execution parameter: '-z'"]);
    fathom(&["vdbench"]).expect(157, &["No input parameters specified"]);
    let idle = "sd=sd1,lun=/x,size=1m\nwd=wd1,sd=sd1\nrd=rd1,wd=wd1,iorate=0\n";
    run_vdbench(folder.path(), idle, &["-s"]).expect(157, &["iorate= parameter is missing."]);
    // A comment in Latin-1 is accepted.
    let mut latin = b"* Gr\xf6\xdfe\n".to_vec();
    latin.extend(idle.replace("iorate=0", "iorate=max").bytes());
    fs::write(folder.path().join("latin"), latin).unwrap();
    fathom_in(folder.path(), &["vdbench", "-f", "latin", "-s"]).expect(0, &["Simulating RD=rd1"]);
    let mut piped = Command::new("bash");
    piped.args(["-c", "\"$0\" vdbench -f <(cat latin) -s", PROGRAM]);
    finish(piped.current_dir(folder.path())).expect(0, &["Simulating RD=rd1"]);
    run_vdbench(folder.path(), "", &["-f", "/dev/null"]).expect(157, &["cannot read parameter file /dev/null"]);
    let traversal = "sd=../x,lun=/tmp/x,size=1m\nwd=wd1,sd=*\nrd=rd1,wd=wd1,iorate=max";
    run_vdbench(folder.path(), traversal, &[]).expect(157, &["cannot create a report file named `../x`"]);
}

#[test]
fn commands_of_a_parameter_file_need_permission() {
    let folder = tempfile::tempdir().unwrap();
    let run = |parameters: &str, allowed: &str| {
        let all = format!(
            "{parameters}\nsd=sd1,lun=DIR/data,size=1m\nwd=wd1,sd=sd1\nrd=rd1,wd=wd1,iorate=50,elapsed=2,interval=1,\
             startcmd=(\"echo before it\",sum),endcmd=\"echo after it\"\n"
        );
        finish(prepare_vdbench(folder.path(), &all, &[]).env("FATHOM_ALLOW_EXEC", allowed))
    };
    let both = "startcmd=(\"touch made; echo in $output\",cons,master)\nendcmd=(\"echo last >&2; exit 3\",cons)";
    let refused = "`startcmd=touch made; echo in $output` runs a command of the parameter file";
    run(both, "").expect(157, &[refused, "help: set FATHOM_ALLOW_EXEC=1 to allow it"]);
    assert!(!folder.path().join("made").exists() && !folder.path().join("data").exists());
    let ran = run(both, "1");
    ran.exits(0).prints(&[
        "completed successfully",
        "endcmd= failed: `echo last >&2; exit 3`: exit status: 3",
    ]);
    let order = [
        " Cmd: in /",
        "Starting RD=SD_format",
        "Starting RD=rd1",
        " localhost-0: Cmd: last\n",
    ];
    let places = order.map(|part| ran.out.find(part).unwrap_or_else(|| panic!("{part}: {}", ran.out)));
    assert!(places.is_sorted(), "{}", ran.out);
    read_page(folder.path(), "summary").assert_contains(&["Cmd: before it"]);
    read_page(folder.path(), "logfile").assert_contains(&["Cmd: after it"]);
    ran.out.assert_lacks(&["before it", "after it"]);
    let failed = run("startcmd=\"exit 4\"", "1");
    failed.expect(157, &["startcmd= failed: `exit 4`: exit status: 4"]);
    assert!(!failed.out.contains("Starting RD="), "{}", failed.out);
    run("startcmd=(true,nowhere)", "1").expect(157, &["Invalid contents for 'startcmd=': nowhere"]);
}

#[test]
fn other_commands_accept_parameter_files() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("test.parm");
    let curve = "sd=sd1,lun=/tmp/nowhere,size=64m\nwd=wd1,sd=sd1,rdpct=70\nrd=rd1,wd=wd1,iorate=curve,elapsed=60\n";
    fs::write(&file, curve).unwrap();
    fathom(&["convert", "--to", "fio", text(&file)]).expect(
        6,
        &["filename=/tmp/nowhere", "rwmixwrite=30", "points of `iorate=curve`"],
    );
    fathom(&["lint", "vdbench", "-f", text(&file)]).expect(0, &["BUFFERED (sd1)", "points of `iorate=curve`"]);
    let hosts = "hd=a,system=db1\nhd=b,system=db2\nsd=sd1,host=*,lun=/tmp/nowhere,size=64m\nwd=wd1,sd=sd1\n\
        rd=rd1,wd=wd1,iorate=max,elapsed=60\n";
    fs::write(&file, hosts).unwrap();
    let omitted = "Vdbench hd=a, b: the test of several hosts is read as that of one";
    fathom(&["lint", text(&file)]).expect(0, &[&format!("note OMITTED: the plan omits {omitted}")]);
    fathom(&["convert", "--to", "fio", text(&file)]).expect(6, &[&format!("lost: {omitted}")]);
}

#[test]
fn each_metadata_operation_has_its_own_counter() {
    let folder = tempfile::tempdir().unwrap();
    let parameters = "fsd=fsd1,anchor=DIR/tree,files=4,sizes=4k\nfwd=fwd1,fsd=fsd1,threads=3\n\
         rd=rd1,fwd=fwd1,fwdrate=60,format=yes,elapsed=3,operations=(getattr,setattr,access)\n";
    let ran = run_vdbench(folder.path(), parameters, &[]);
    ran.expect(0, &["completed successfully"]);
    for counter in [
        "GET_ATTR            Getattr requests: ",
        "SET_ATTR            Setattr requests: ",
        "ACCESS              Access requests: ",
    ] {
        let (_, count) = ran.out.split_once(counter).expect(counter);
        let count: u64 = count.split_whitespace().next().unwrap().parse().unwrap();
        // A third of 180 operations with a random schedule, and five standard deviations.
        assert!((22..98).contains(&count), "{counter}{count}");
    }
    let parse = split_words("vdbench parse -i output/flatfile.html -o none.csv -f Run other");
    let none = fathom_in(folder.path(), &parse);
    none.expect(0, &["No row of ", "none.csv has only the header."]);
}

/// Reads with a rate run while another SD has writes without a rate.
#[test]
fn a_workload_keeps_its_rate_while_another_has_no_rate() {
    let folder = tempfile::tempdir().unwrap();
    let parameters = "sd=sd1,lun=DIR/a,size=4m\nsd=sd2,lun=DIR/b,size=4m\n\
         wd=wd1,sd=sd1,xfersize=4k,rdpct=100,iorate=50,priority=1\n\
         wd=wd2,sd=sd2,xfersize=4k,rdpct=0,priority=2\nrd=rd1,wd=wd*,iorate=max,elapsed=5,threads=4\n";
    let ran = run_vdbench(folder.path(), parameters, &[]);
    ran.exits(0)
        .prints(&["Starting RD=rd1; I/O rate: Controlled MAX; elapsed=5; For loops: threads=4"]);
    let rate = |name: &str| -> f64 {
        let page = read_page(folder.path(), name);
        let average = page.lines().rfind(|line| line.contains("avg_2-5")).unwrap();
        average.split_whitespace().nth(2).unwrap().parse().unwrap()
    };
    // 200 operations are due in the four measured seconds; six standard deviations are 85.
    assert!((28.0..72.0).contains(&rate("wd1")), "{}", rate("wd1"));
    assert!(rate("wd2") > 200.0, "{}", rate("wd2"));
    // On one SD, it uses the slots that are left.
    run_vdbench(folder.path(), &parameters.replace("wd2,sd=sd2", "wd2,sd=sd1"), &[]).expect(0, &["completed"]);
    assert!((28.0..72.0).contains(&rate("wd1")), "{}", rate("wd1"));
    assert!(rate("wd2") > 200.0, "{}", rate("wd2"));
}

/// Half of the blocks of a tree are duplicates of earlier blocks.
#[test]
fn files_of_a_tree_have_the_requested_duplicates() {
    let folder = tempfile::tempdir().unwrap();
    let anchor = folder.path().join("tree");
    let parameters = "dedupratio=2,dedupunit=4k\nfsd=fsd1,anchor=DIR/tree,files=64,sizes=128k\n\
         fwd=format,threads=2,xfersize=4k\n\
         fwd=fwd1,fsd=fsd1,operation=getattr\nrd=rd1,fwd=fwd1,fwdrate=10,format=yes,elapsed=2\n";
    run_vdbench(folder.path(), parameters, &[]).expect(0, &["completed successfully"]);
    let mut blocks = std::collections::HashSet::new();
    let directory = anchor.join("fathom-kept.tree/d0");
    for entry in fs::read_dir(directory).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        assert_eq!(bytes.len(), 128 << 10);
        blocks.extend(bytes.chunks(4096).map(<[u8]>::to_vec));
    }
    // Of 2048 blocks, 1024 are unique.
    assert!((880..1170).contains(&blocks.len()), "{}", blocks.len());
    let odd = parameters.replace("fwd=format,threads=2,xfersize=4k", "fwd=format,threads=2,xfersize=2k");
    run_vdbench(folder.path(), &odd, &[]).expect(157, &["not multiples of `dedupunit=`"]);
}

#[test]
fn settings_without_effect_are_notes_and_decimal_units_reach_the_flat_file() {
    let folder = tempfile::tempdir().unwrap();
    let parameters = "sd=sd1,lun=DIR/data,size=4m\nwd=wd1,sd=sd1\nrd=rd1,wd=wd1,iorate=50,format=yes,elapsed=2\n";
    let mut command = prepare_vdbench(folder.path(), parameters, &["-mb", "elapsde=60"]);
    let ran = finish(command.env("FATHOM_NOTES", "1"));
    let notes = [
        "note: rd=rd1: `format=` has no effect: it affects only runs on files (`fwd=`)",
        "note: the variable `elapsde=60` of the command line has no effect",
    ];
    ran.expect(0, &notes);
    read_page(folder.path(), "logfile").assert_contains(&notes);
    // 4 MiB are 0.0042 of 10⁹ bytes, and 0.0039 of 2³⁰.
    assert_eq!(flat_column(folder.path(), "rd1", "lunsize")[0], "0.0042");
    let [rate, megabytes] = ["rate", "MB/sec"].map(|column| flat_numbers(folder.path(), "rd1", column)[0]);
    assert!((megabytes - rate * 4096.0 / 1e6).abs() < 1e-3, "{rate} {megabytes}");
    let file = folder.path().join("parmfile");
    let lint = ["lint", "vdbench", "-f", text(&file), "elapsde=60"];
    fathom(&lint).expect(0, &["OPTION-EFFECT", "`format=` has no effect", "`elapsde=60`"]);
}
