//! A file system with one file, whose operations fail, stall or transfer too little on request.
//!
//! A thread of the test's own process serves it. Such a process must not touch a memory map of the
//! file itself: the kernel may hold the lock on the process's memory while it waits for a page, and
//! the serving thread needs that lock to answer. Tests of memory maps do that part [in a process of
//! their own](crate::in_own_process).

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    InitFlags, KernelConfig, LockOwner, MountOption, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry,
    ReplyOpen, ReplyWrite, Request, Session, WriteFlags,
};

use super::ground::{Directory, Remedy, Undo};
use super::tools::cannot;
use crate::Unavailable;

const FILE: INodeNo = INodeNo(2);
/// How long the kernel may cache its knowledge of the file.
const LIFETIME: Duration = Duration::from_secs(60);

/// A mounted file system with the single file `disk`, and its faults. Unmounted when dropped;
/// requests that still hang are answered first.
#[derive(Debug)]
pub struct FaultFs {
    faults: Arc<Faults>,
    path: PathBuf,
    /// Declared before the thread that serves: unmounting ends it.
    undo: Option<Undo>,
    session: Option<BackgroundSession>,
    _directory: Directory,
    _backing: Directory,
}

/// Operations that have reached the file system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Flushes.
    pub flushes: u64,
    /// Requests that hang at present.
    pub hanging: usize,
}

impl FaultFs {
    /// A file system without faults, whose file has this many zero bytes.
    ///
    /// # Errors
    /// [`Unavailable`] without FUSE or the right to mount.
    pub fn with_size(bytes: u64) -> Result<FaultFs, Unavailable> {
        if !Path::new("/dev/fuse").exists() {
            return Err(Unavailable::because("this system has no FUSE"));
        }
        let (directory, backing) = (Directory::new()?, Directory::fast()?);
        let file = fs::File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(backing.path().join("disk"))
            .and_then(|file| file.set_len(bytes).map(|()| file))
            .map_err(cannot("cannot create a backing file"))?;
        let faults = Arc::new(Faults {
            file,
            state: Mutex::default(),
        });
        let undo = Undo::by(Remedy::Unmount(directory.path().to_owned()), directory.ground())?;
        let mut config = Config::default();
        config.mount_options = vec![MountOption::FSName("fathom-testbed".into())];
        let session = Session::new(Serving(faults.clone()), directory.path(), &config)
            .and_then(Session::spawn)
            .map_err(cannot("FUSE cannot be mounted"))?;
        Ok(FaultFs {
            faults,
            path: directory.path().join("disk"),
            undo: Some(undo),
            session: Some(session),
            _directory: directory,
            _backing: backing,
        })
    }

    /// The file.
    pub fn file(&self) -> &Path {
        &self.path
    }

    /// Every read that touches these bytes fails with this error number, until [`FaultFs::clear`].
    pub fn fail_reads(&self, bytes: Range<u64>, errno: i32) {
        self.faults.state().failing_reads.push((bytes, errno));
    }

    /// Every write that touches these bytes fails with this error number, until [`FaultFs::clear`].
    pub fn fail_writes(&self, bytes: Range<u64>, errno: i32) {
        self.faults.state().failing_writes.push((bytes, errno));
    }

    /// Delays every `nth` operation by this time; 0 for none.
    pub fn delay_every(&self, nth: u64, by: Duration) {
        self.faults.state().delay = (nth, by);
    }

    /// Cuts every `nth` operation longer than 512 bytes to half its length, in whole sectors; 0 for
    /// none.
    pub fn cut_every(&self, nth: u64) {
        self.faults.state().cut_every = nth;
    }

    /// From now on every operation hangs, until [`FaultFs::release`].
    pub fn hang(&self) {
        self.faults.state().hanging = true;
    }

    /// Executes the hanging operations, and ends the hang.
    pub fn release(&self) {
        let waiting = {
            let mut state = self.faults.state();
            state.hanging = false;
            std::mem::take(&mut state.waiting)
        };
        for work in waiting {
            work();
        }
    }

    /// Removes all faults. Hanging operations continue.
    pub fn clear(&self) {
        {
            let mut state = self.faults.state();
            state.failing_reads.clear();
            state.failing_writes.clear();
            state.delay = (0, Duration::ZERO);
            state.cut_every = 0;
        }
        self.release();
    }

    /// The operations that have reached the file system so far.
    pub fn seen(&self) -> Seen {
        let state = self.faults.state();
        Seen {
            hanging: state.waiting.len(),
            ..state.seen
        }
    }

    /// The real content of the file, regardless of caches and faults.
    ///
    /// # Errors
    /// The error of the backing file.
    pub fn contents(&self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.faults.file.read_exact_at(&mut bytes, offset)?;
        Ok(bytes)
    }
}

impl Drop for FaultFs {
    fn drop(&mut self) {
        // A process with unanswered requests cannot end, not even by a kill.
        self.clear();
        self.undo = None;
        if let Some(session) = self.session.take() {
            let _ = session.join();
        }
    }
}

struct Faults {
    file: fs::File,
    state: Mutex<State>,
}

impl std::fmt::Debug for Faults {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Faults").finish_non_exhaustive()
    }
}

type Work = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct State {
    failing_reads: Vec<(Range<u64>, i32)>,
    failing_writes: Vec<(Range<u64>, i32)>,
    delay: (u64, Duration),
    cut_every: u64,
    hanging: bool,
    waiting: Vec<Work>,
    seen: Seen,
    /// Operations long enough to be cut.
    cuttable: u64,
}

/// The fate of one operation.
#[derive(Clone, Copy)]
enum Verdict {
    Fails(i32),
    Transfers(usize),
}

impl Faults {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decides about a read or a write and executes it: now, later, or when released.
    fn execute(&self, offset: u64, length: usize, write: bool, work: impl FnOnce(Verdict) + Send + 'static) {
        let mut state = self.state();
        let seen = if write {
            &mut state.seen.writes
        } else {
            &mut state.seen.reads
        };
        *seen += 1;
        let count = state.seen.reads + state.seen.writes;
        let verdict = state.verdict(offset, length, write);
        if state.hanging {
            state.waiting.push(Box::new(move || work(verdict)));
            return;
        }
        let (nth, by) = state.delay;
        drop(state);
        if nth > 0 && count.is_multiple_of(nth) {
            // Other operations must not wait for it.
            std::thread::spawn(move || {
                std::thread::sleep(by);
                work(verdict);
            });
        } else {
            work(verdict);
        }
    }
}

impl State {
    fn verdict(&mut self, offset: u64, length: usize, write: bool) -> Verdict {
        let faults = if write {
            &self.failing_writes
        } else {
            &self.failing_reads
        };
        let end = offset + length as u64;
        if let Some((_, errno)) = faults.iter().find(|(range, _)| range.start < end && range.end > offset) {
            return Verdict::Fails(*errno);
        }
        if length > 512 {
            self.cuttable += 1;
            if self.cut_every > 0 && self.cuttable.is_multiple_of(self.cut_every) {
                return Verdict::Transfers((length / 2).next_multiple_of(512));
            }
        }
        Verdict::Transfers(length)
    }
}

/// The FUSE interface that the kernel calls.
struct Serving(Arc<Faults>);

impl Serving {
    fn attributes(&self, node: INodeNo) -> FileAttr {
        let size = self.0.file.metadata().map_or(0, |meta| meta.len());
        let is_file = node == FILE;
        FileAttr {
            ino: node,
            size: if is_file { size } else { 0 },
            blocks: if is_file { size.div_ceil(512) } else { 0 },
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind: if is_file {
                FileType::RegularFile
            } else {
                FileType::Directory
            },
            perm: if is_file { 0o644 } else { 0o755 },
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        }
    }
}

fn to_errno(error: &io::Error) -> Errno {
    Errno::from_i32(error.raw_os_error().unwrap_or(libc::EIO))
}

impl Filesystem for Serving {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // Direct I/O in the background, as a disk does it; refused by kernels that cannot.
        let _ = config.add_capabilities(InitFlags::FUSE_ASYNC_DIO | InitFlags::FUSE_ASYNC_READ);
        Ok(())
    }

    fn lookup(&self, _request: &Request, _parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if name == "disk" {
            reply.entry(&LIFETIME, &self.attributes(FILE), Generation(0));
        } else {
            reply.error(Errno::ENOENT);
        }
    }

    fn getattr(&self, _request: &Request, node: INodeNo, _handle: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&LIFETIME, &self.attributes(node));
    }

    fn setattr(
        &self,
        _request: &Request,
        node: INodeNo,
        _mode: Option<u32>,
        _uid: Option<u32>,
        _gid: Option<u32>,
        size: Option<u64>,
        _atime: Option<fuser::TimeOrNow>,
        _mtime: Option<fuser::TimeOrNow>,
        _ctime: Option<SystemTime>,
        _handle: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<fuser::BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        match size.map_or(Ok(()), |size| self.0.file.set_len(size)) {
            Ok(()) => reply.attr(&LIFETIME, &self.attributes(node)),
            Err(error) => reply.error(to_errno(&error)),
        }
    }

    fn open(&self, _request: &Request, _node: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        // Without this, the kernel completes a short direct read by a second one through its cache.
        let direct = if flags.0 & libc::O_DIRECT == 0 {
            FopenFlags::empty()
        } else {
            FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES
        };
        // Without KEEP_CACHE, nothing cached survives from one opening to the next, where it would
        // hide faults.
        reply.opened(FileHandle(0), direct);
    }

    fn read(
        &self,
        _request: &Request,
        _node: INodeNo,
        _handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let faults = self.0.clone();
        self.0
            .execute(offset, size as usize, false, move |verdict| match verdict {
                Verdict::Fails(errno) => reply.error(Errno::from_i32(errno)),
                Verdict::Transfers(length) => {
                    let mut bytes = vec![0; length];
                    match read_as_much(&faults.file, &mut bytes, offset) {
                        Ok(count) => reply.data(&bytes[..count]),
                        Err(error) => reply.error(to_errno(&error)),
                    }
                }
            });
    }

    fn write(
        &self,
        _request: &Request,
        _node: INodeNo,
        _handle: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let (faults, data) = (self.0.clone(), data.to_vec());
        self.0.execute(offset, data.len(), true, move |verdict| match verdict {
            Verdict::Fails(errno) => reply.error(Errno::from_i32(errno)),
            Verdict::Transfers(length) => match faults.file.write_all_at(&data[..length], offset) {
                Ok(()) => reply.written(length as u32),
                Err(error) => reply.error(to_errno(&error)),
            },
        });
    }

    fn fsync(&self, _request: &Request, _node: INodeNo, _handle: FileHandle, _data_only: bool, reply: ReplyEmpty) {
        self.0.state().seen.flushes += 1;
        match self.0.file.sync_data() {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(to_errno(&error)),
        }
    }
}

fn read_as_much(file: &fs::File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut count = 0;
    while count < bytes.len() {
        match file.read_at(&mut bytes[count..], offset + count as u64)? {
            0 => break,
            more => count += more,
        }
    }
    Ok(count)
}
