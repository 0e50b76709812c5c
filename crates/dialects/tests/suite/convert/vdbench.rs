//! Conversions to Vdbench parameter files.

use dialects::convert::to_vdbench;
use dialects::vdbench::{VdbenchEnv, expand, lower_all, read_command, read_parameters};
use model::plan::Plan;

use crate::convert::support::{flags, job_file, texts};

struct OneFile(String);

impl VdbenchEnv for OneFile {
    fn read_file(&mut self, _: &str) -> Result<String, String> {
        Ok(self.0.clone())
    }

    fn read_bytes(&mut self, _: &str) -> Result<Vec<u8>, String> {
        Err("there is none".into())
    }

    fn size_of(&self, _: &str) -> Option<u64> {
        None
    }

    fn is_local(&self, _: &str) -> bool {
        true
    }
}

fn plan_of(text: &str) -> Plan {
    let mut env = OneFile(text.to_owned());
    let command = read_command(&["-f".to_owned(), "x.parm".to_owned()], "").unwrap();
    let parameters = read_parameters(&command, &mut env).unwrap();
    let runs = expand(&parameters, None).unwrap();
    lower_all(&runs, &parameters, &env, 1).unwrap().0
}

/// Two SDs of different size and depth, several sizes, a mix, a part of an SD, shares and rates.
#[test]
fn a_parameter_file_survives_a_round_trip() {
    let text = "data_errors=1\n\
                sd=sd1,lun=/d/one,size=64m,threads=4,openflags=(o_direct,o_dsync)\n\
                sd=sd2,lun=\"/d/t-w o\",size=32m,threads=2\n\
                sd=sd3,lun=/d/one,size=64m,threads=4,openflags=o_direct,range=(16777216,33554432)\n\
                wd=wd1,sd=sd1,xfersize=4k,rdpct=70,seekpct=100,skew=75\n\
                wd=wd2,sd=sd1,xfersize=64k,rdpct=0,seekpct=0,skew=25\n\
                wd=wd3,sd=sd2,xfersize=(4k,50,16k,50),rdpct=100,seekpct=20\n\
                wd=wd4,sd=sd3,xfersize=8k,rdpct=100,seekpct=100\n\
                rd=run1,wd=(wd1,wd2),iorate=400,elapsed=4,interval=1\n\
                rd=run2,wd=wd3,iorate=max,elapsed=3,interval=1,warmup=2\n\
                rd=run3,wd=wd4,iorate=100,distribution=deterministic,elapsed=3,interval=1\n";
    let found = to_vdbench(&plan_of(text));
    assert_eq!((found.text.as_str(), texts(&found.lost)), (text, Vec::new()));
    assert!(found.differs.is_empty(), "{:?}", found.differs);
}

#[test]
fn differences_to_vdbench_are_listed() {
    let words = "--target /d/one --size 1g --read 70 --block 8k --workers 4 --depth 8 --time 60s --warm-up 0s";
    let found = to_vdbench(&flags(words));
    assert_eq!(
        found.text,
        "data_errors=1\nsd=sd1,lun=/d/one,size=1g,threads=32,openflags=o_direct\n\
         wd=wd1,sd=sd1,xfersize=8k,rdpct=70,seekpct=100\nrd=run1,wd=wd1,iorate=max,elapsed=61,interval=1\n"
    );
    let lost = texts(&found.lost).join("\n");
    for part in [
        "warm-up: 0s; Vdbench: 1s",
        "workers: 4 with one target each; Vdbench: workers: 1",
        "depth: 8; Vdbench: 32",
    ] {
        assert!(lost.contains(part), "{part}: {lost}");
    }
    // A target that is used whole has no size, so its size is not listed either.
    let device = to_vdbench(&flags("--target /dev/nvme1n1 --depth 4 --time 60s --warm-up 5s"));
    let lost = texts(&device.lost).join("\n");
    assert!(
        !device.text.contains("size=1") && lost.contains("Vdbench: everything from 4k"),
        "{lost}"
    );
}

#[test]
fn trees_of_files_are_refused() {
    let tree = job_file("[[job]]\ntarget = \"/d\"\nkind = \"files\"\nmix = \"read\"\ntree = \"files=8,sizes=4k\"\n");
    let found = to_vdbench(&tree);
    assert_eq!(found.text, "");
    assert!(
        texts(&found.lost)[0].contains("but does not write them"),
        "{:?}",
        found.lost
    );
}
