//! Calls made by a thread pool, and files that are replaced while an engine is in use.

use engine::{Access, Action};
use model::plan::{EngineChoice, EngineKind};

use crate::driver::{BLOCK, Job, Rig, real_engines, setup};
use crate::test_targets::open;

const BLOCKS: u64 = 64;
const SIZE: u64 = BLOCKS * BLOCK as u64;

#[test]
fn a_pool_has_the_guarantees_of_every_engine() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("f");
    std::fs::write(&path, vec![0; SIZE as usize]).unwrap();
    let queue = match cfg!(windows) {
        true => EngineKind::Iocp,
        false => EngineKind::IoUring,
    };
    for kind in [EngineKind::Psync, EngineKind::Pvsync2, queue] {
        // The pool uses synchronous calls, regardless of the engine.
        let file = open(&path, EngineKind::Psync, false, Access::ReadWrite);
        let mut pooled = setup(kind, vec![file], 8);
        pooled.depth_is_one = false;
        pooled.choice = EngineChoice {
            offload: true,
            ..pooled.choice
        };
        let mut rig = Rig::open(pooled).unwrap();
        let block_content = |job: &Job| (job.offset / u64::from(BLOCK) + 1) as u8;
        let writes: Vec<Job> = (0..BLOCKS).map(|block| Job::write(block * u64::from(BLOCK))).collect();
        rig.run_successfully(&writes, |job, buffer| buffer.fill(block_content(job)));
        assert_eq!(rig.one(Job::flush(Action::Flush)), 0);
        let reads: Vec<Job> = (0..BLOCKS).map(|block| Job::read(block * u64::from(BLOCK))).collect();
        for done in rig.run_successfully(&reads, |_, _| ()) {
            assert!(
                done.data.iter().all(|byte| *byte == block_content(&done.job)),
                "{kind:?} {:?}",
                done.job
            );
        }
        assert!(rig.one(Job::read(SIZE + 1)) <= 0, "beyond the end");
    }
}

#[test]
fn a_file_is_replaced_by_another() {
    let directory = tempfile::tempdir().unwrap();
    let paths = [b'a', b'b'].map(|content| {
        let path = directory.path().join(char::from(content).to_string());
        std::fs::write(&path, vec![content; SIZE as usize]).unwrap();
        path
    });
    for kind in real_engines() {
        let file = |number: usize| open(&paths[number], kind, false, Access::Read);
        let mut exchanging = setup(kind, vec![file(0)], 4);
        exchanging.exchanges_files = true;
        let mut rig = Rig::open(exchanging).unwrap();
        let read = [Job::read(0), Job::read(u64::from(BLOCK))];
        for (number, content) in [(0, b'a'), (1, b'b'), (0, b'a')] {
            rig.engine.exchange_file(0, file(number)).unwrap();
            for done in rig.run_successfully(&read, |_, _| ()) {
                assert!(done.data.iter().all(|byte| *byte == content), "{kind:?}");
            }
        }
    }
}
