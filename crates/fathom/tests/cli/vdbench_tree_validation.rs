//! `fathom vdbench` with data validation of trees: files that are created, removed and rewritten,
//! and journals after a kill.

use crate::prelude::*;
use crate::vdbench_validation::{
    WRONG, kill_after, kill_and_restart, overwrite, parse_totals, start, truncate, validate,
};

fn tree_file(folder: &Path, name: &str) -> PathBuf {
    folder.join("tree/fathom-kept.tree").join(name)
}

/// Returns parameters of runs that create, overwrite and read six files.
fn create_write_read(size: &str) -> String {
    format!(
        "fsd=fsd1,anchor=DIR/tree,width=2,files=3,sizes={size}\nfwd=format,threads=2\n\
         fwd=default,fsd=fsd1,fileselect=once,threads=2\n\
         fwd=fill,operation=write,xfersize=8k\nfwd=scan,operation=read,xfersize=4k\n\
         fwd=rm,operation=delete\n\
         rd=default,fwdrate=max,elapsed=10\nrd=rd1,fwd=fill,format=yes,pause=3\nrd=rd2,fwd=scan\n"
    )
}

#[test]
fn each_run_validates_every_block_of_the_previous_run() {
    let folder = tempfile::tempdir().unwrap();
    let run = |parameters: &str, option: &str| parse_totals(&run_vdbench(folder.path(), parameters, &[option]));
    let parameters = create_write_read("40k").replace(",pause=3", "");
    // Six files have 60 blocks, which the format writes first.
    let totals = validate(folder.path(), &parameters, &["-v"]);
    assert_eq!(totals, [(0, 0), (60, 0), (60, 0)]);
    assert_eq!(run(&parameters, "-vr"), [(60, 0), (120, 0), (60, 0)]);
    assert_eq!(run(&parameters, "-vrw"), [(60, 0), (60, 0), (60, 0)]);
    // The last block of a file may be shorter, unless it has no room for a header.
    let short = create_write_read("10001").replace(",pause=3", "");
    assert_eq!(run(&short, "-vr"), [(18, 0), (36, 0), (18, 0)]);
    let shorter = create_write_read("8200").replace(",pause=3", "");
    assert_eq!(run(&shorter, "-v"), [(0, 0), (12, 0), (12, 0)]);
    // Files that were removed and created again are not compared with their old contents.
    let again = parameters.replace("rd=rd2,", "rd=rd3,fwd=rm\nrd=rd4,fwd=fill,format=restart\nrd=rd2,");
    assert_eq!(run(&again, "-v"), [(0, 0), (60, 0), (0, 0), (0, 0), (60, 0), (60, 0)]);
    let first = parameters.replace("operation=write,", "operation=write,fileio=(sequential,delete),");
    assert_eq!(run(&first, "-v"), [(0, 0), (0, 0), (60, 0)]);
}

#[test]
fn a_corrupted_block_is_reported_with_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let child = start(folder.path(), &create_write_read("40k"), &["-v"], "Waiting 3 seconds");
    let wrong = tree_file(folder.path(), "d1/f4");
    overwrite(&wrong, 12288, &[0; 4096]);
    let ran = end(child);
    let named = format!("Corrupted data block for fsd=fsd1,file={}", wrong.display());
    ran.exits(157).prints(&[
        &named,
        "lba: 12,288 (0x00003000) xfersize=4096",
        "1 of 1 key blocks are corrupted.",
        "Key block lba: 0x00003000: no header at this offset: 0000 instead of acca; write 2 is expected",
        WRONG,
    ]);
    assert_eq!(parse_totals(&ran), [(0, 0), (60, 0), (60, 1)]);
    assert_eq!(ran.out.matches("Corrupted data block").count(), 1);
    // A corrupted block is not overwritten, but the rest of its file is.
    let twice = create_write_read("40k").replace("rd=rd2,fwd=scan", "rd=rd2,fwd=fill");
    let child = start(folder.path(), &twice, &["-v"], "Waiting 3 seconds");
    overwrite(&wrong, 12288, &[0; 4096]);
    let before = fs::read(&wrong).unwrap();
    let place = "lba: 8,192 (0x00002000)";
    end(child).expect(157, &[&named, place, "1 of 2 key blocks are corrupted."]);
    let after = fs::read(&wrong).unwrap();
    let changed: Vec<usize> = (0..5)
        .filter(|block| before[block * 8192..][..8192] != after[block * 8192..][..8192])
        .collect();
    assert_eq!(changed, [0, 2, 3, 4]);
    let child = start(folder.path(), &create_write_read("40k"), &["-v"], "Waiting 3 seconds");
    truncate(&wrong, 20480);
    let file = format!("file={}: it has 20480 bytes, but blocks up to byte 40960", text(&wrong));
    end(child).expect(157, &["Data Validation error for fsd=fsd1,", &file]);
}

const MIXED: &str = "fsd=fsd1,anchor=DIR/tree,depth=2,width=2,files=10,sizes=(20k,50,70000,50),journal=DIR\n\
                     fwd=format,threads=3\nfwd=default,fsd=fsd1,fileselect=random,threads=2\n\
                     fwd=mix,rdpct=40,fileio=random,xfersize=(4k,70,12k,30)\n\
                     fwd=fill,operation=write,xfersize=8k\nfwd=new,operation=create\nfwd=rm,operation=delete\n\
                     fwd=clear,operation=write,fileio=(sequential,delete),fileselect=seq,xfersize=16k,threads=1\n\
                     rd=rd1,fwd=*,fwdrate=max,elapsed=60,format=restart\n";

#[test]
fn files_that_are_created_and_deleted_raise_no_false_alarm() {
    let folder = tempfile::tempdir().unwrap();
    let parameters = MIXED.replace("elapsed=60", "elapsed=4");
    let (compared, wrong) = validate(folder.path(), &parameters, &["-vr"])[1];
    assert!(compared > 1000 && wrong == 0, "{compared} {wrong}");
}

#[test]
fn a_killed_run_leaves_a_journal_of_every_file() {
    let folder = tempfile::tempdir().unwrap();
    // Omit the workloads that mostly leave empty files. One thread still deletes and creates files.
    let parameters = MIXED.replace("fwd=new,operation=create\nfwd=rm,operation=delete\n", "");
    kill_and_restart(folder.path(), &parameters);
    let ran = run_vdbench(folder.path(), &parameters, &["-jo"]);
    ran.expect(0, &["Starting RD=journal_recovery; ", "completed successfully"]);
    assert!(parse_totals(&ran)[0].0 > 100, "{ran:#?}");
    assert!(folder.path().join("fsd1.jnl").exists());
    kill_after(folder.path(), &parameters, "-jm", 400);
    let unfinished = "did not end, and `-jm` writes the journal only at the end";
    run_vdbench(folder.path(), &parameters, &["-jr"]).expect(157, &[unfinished]);
}

/// A lost write leaves the old contents of a block in place of the new.
#[test]
fn a_restart_finds_lost_writes_in_files() {
    let folder = tempfile::tempdir().unwrap();
    let first = create_write_read("40k").replace(",pause=3", "");
    let then = first.replace(",format=yes", "");
    run_vdbench(folder.path(), &first, &["-jn"]).expect(0, &["completed successfully"]);
    let file = tree_file(folder.path(), "d0/f1");
    let old = fs::read(&file).unwrap();
    let ran = run_vdbench(folder.path(), &then, &["-jrn"]);
    ran.expect(0, &["Starting journal recovery for fsd1", "completed successfully"]);
    assert_eq!(parse_totals(&ran), [(60, 0), (60, 0), (60, 0)]);
    // The format wrote each block once, and so did each run.
    overwrite(&file, 8192, &old[8192..12288]);
    let lost = run_vdbench(folder.path(), &then, &["-jo"]);
    let named = format!("fsd=fsd1,file={}; lba: 0 (0x00000000) xfersize=40960", file.display());
    let numbers = "Key block lba: 0x00002000: the write number in its header is 2 instead of 3";
    lost.expect(157, &[&named, "1 of 10 key blocks are corrupted.", numbers, WRONG]);
    assert_eq!(parse_totals(&lost), [(60, 1)]);
    // After the report, the contents of the block are unknown.
    assert_eq!(validate(folder.path(), &then, &["-jo"]), [(59, 0)]);
    let other = then.replace("files=3", "files=4");
    run_vdbench(folder.path(), &other, &["-jr"]).expect(157, &["is the journal of another tree"]);
    // A tree of the same shape elsewhere would have every block corrupted.
    let elsewhere = then.replace("DIR/tree", "DIR/twin");
    run_vdbench(folder.path(), &elsewhere, &["-jo"]).expect(157, &["is the journal of another tree"]);
    let sizes = then.replace("xfersize=4k", "xfersize=2k");
    run_vdbench(folder.path(), &sizes, &["-jr"]).expect(157, &["have 4096 bytes, those of these runs 2048"]);
    fs::remove_file(&file).unwrap();
    let missing = "d0/f1 has 0 bytes, but its journal contains blocks up to byte 40960";
    run_vdbench(folder.path(), &then, &["-jr"]).expect(157, &[missing]);
}

#[test]
fn trees_that_cannot_be_validated_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let tree = "fsd=f,anchor=DIR/t\nfwd=w,fsd=f\nrd=rd1,fwd=w,fwdrate=max,elapsed=2\n";
    let fwd = "fwd=w,fsd=f";
    let same_anchor = "one anchor in two FSDs, fsd=f and fsd=g";
    for (part, replacement, named) in [
        (
            fwd,
            "fsd=g,anchor=DIR/u\nfwd=w,target=g,operation=copy,fsd=f",
            "`operation=copy`",
        ),
        (fwd, "fwd=w,fsd=f,fileio=(random,shared)", "`fileio=(random,shared)`"),
        (
            "elapsed=2",
            "elapsed=2,forsizes=(4k,8k),format=yes",
            "a `sizes=` that changes from run to run",
        ),
        (fwd, "fsd=g,anchor=DIR/t\nfwd=w,fsd=f", same_anchor),
        (fwd, "fsd=g,anchor=./t\nfwd=w,fsd=f", same_anchor),
        (
            "fsd=f,anchor",
            "sd=f,lun=DIR/a,size=1m\nfsd=f,anchor",
            "an SD and an FSD that are both called `f`",
        ),
    ] {
        let ran = run_vdbench(folder.path(), &tree.replace(part, replacement), &["-v"]);
        ran.expect(157, &["data validation is not supported with ", named]);
    }
}
