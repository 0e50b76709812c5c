//! Targets before and after a run: found, judged by the guard, prepared, opened, and removed where they are ours.
//!
//! All faults of all targets are collected before anything is changed.

pub mod guard;
pub mod marker;

mod fill;
mod ground;
mod names;
mod others;
mod own;
mod permit;
mod survey;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use engine::probe::{self, System};
use engine::{Access, Clock, File, FileKind, Identity, OpenHow, sys};
use model::content::Content;
use model::environment::TargetFacts;
use model::event::Event;
use model::plan::{
    AllocateMode, AtEndOfJob, CacheMode, OpenHint, Plan, Prepare, StreamTarget, Target, TargetId, TargetKind,
};
use model::{Bytes, Direction};

use fill::Expected;
pub use fill::FillError;
pub use ground::Ground;
use guard::{Claim, Permissions};
use names::{examine_name, fits_engines};
pub use others::{Others, Removal};
pub use own::HeldFile;
use own::OwnFile;
pub use permit::{Judged, Objection, judge};
pub(crate) use permit::{Permitted, permit};
pub use survey::survey;

use crate::worker::{ReadyKind, ReadyTarget};

/// The size of a file of our own where none is given, if the file system has room.
const USUAL_SIZE: u64 = 1 << 30;
/// No smaller file says anything about a disk.
const LEAST_SIZE: u64 = 16 << 20;
/// Part of the file system that preparation leaves free.
const KEPT_FREE: f64 = 0.20;
/// Part of the file system that may be used all the same: so little does not change how full it is.
const UNNOTICED: f64 = 0.01;

/// Why a target cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// There is nothing at the path.
    #[error("{path} does not exist")]
    Missing {
        /// The path.
        path: String,
        /// What to do.
        help: String,
    },
    /// It is something that cannot be tested.
    #[error("{path} is {what}")]
    Unfit {
        /// The path.
        path: String,
        /// What it is.
        what: &'static str,
        /// What to do.
        help: String,
    },
    /// An existing file is smaller than asked for and not ours to change.
    #[error("{path} has {actual}, but {wanted} are asked for, and fathom did not make it")]
    TooSmall {
        /// The path.
        path: String,
        /// Its size.
        actual: Bytes,
        /// The size asked for.
        wanted: Bytes,
    },
    /// Preparation would fill the file system.
    #[error(
        "{wanted} for {path} would leave less than 20 % of its file system free: {available} of {total} are available"
    )]
    NoRoom {
        /// The path.
        path: String,
        /// The size asked for.
        wanted: Bytes,
        /// Bytes that may still be used.
        available: Bytes,
        /// Size of the file system.
        total: Bytes,
    },
    /// The file system does not hold that much. Nothing was changed.
    #[error("{wanted} for {path} do not fit on its file system, which has {available} left")]
    NoSpace {
        /// The path.
        path: String,
        /// The size asked for.
        wanted: Bytes,
        /// Bytes that may still be used.
        available: Bytes,
    },
    /// Another file or device stands at the path than the one that was judged.
    #[error("{path} was replaced while it was being prepared")]
    Replaced {
        /// The path.
        path: String,
    },
    /// The system refuses to tell about it.
    #[error("cannot look at {path}: {source}")]
    Look {
        /// The path.
        path: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// The guard does not give away what another process of this test has made meanwhile.
    #[error("{why}")]
    Refused {
        /// The path.
        path: String,
        /// What it says.
        why: Box<guard::Refusal>,
    },
    /// Preparation failed.
    #[error(transparent)]
    Fill(#[from] FillError),
}

impl TargetError {
    /// What to do about it.
    pub fn help(&self) -> Option<String> {
        match self {
            TargetError::Missing { help, .. } | TargetError::Unfit { help, .. } => Some(help.clone()),
            TargetError::TooSmall { .. } => Some("name another file, or leave the size out to use it as it is".into()),
            TargetError::NoRoom { available, total, .. } => {
                let most = spare(total.0, available.0) >> 20 << 20;
                Some(match most {
                    0 => "free some space, or test on another file system".into(),
                    most => format!("a size of up to {} is possible here", Bytes(most)),
                })
            }
            TargetError::NoSpace { .. } => Some("free some space, or use a smaller size".into()),
            TargetError::Look { path, source } if source.kind() == std::io::ErrorKind::PermissionDenied => {
                let help = match path.starts_with("/dev/") {
                    true => sys::told::PRIVILEGED,
                    false => sys::told::PRIVILEGED_FILE,
                };
                Some(help.into())
            }
            TargetError::Look { .. } | TargetError::Replaced { .. } | TargetError::Refused { .. } => None,
            TargetError::Fill(error) => match error.errno() {
                Some(sys::file::NO_SPACE) => Some("free some space, or use a smaller size".into()),
                Some(sys::file::TOO_LARGE) => Some("raise the limit (ulimit -f), or use a smaller size".into()),
                Some(sys::file::ACCESS_DENIED | sys::file::NOT_PERMITTED) => {
                    Some("choose a place that this user may write to, or run as root".into())
                }
                Some(sys::file::READ_ONLY) => Some("the file system is mounted read-only; choose another place".into()),
                _ => None,
            },
        }
    }
}

/// What will be done to make a target ready.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Nothing: it is used as it is.
    UseAsItIs,
    /// A file with our mark is used again.
    Reuse {
        /// Bytes that it is known to hold.
        size: Bytes,
    },
    /// A file is made and filled.
    Create {
        /// Its size.
        size: Bytes,
        /// It is removed at the end.
        own: bool,
    },
    /// A directory is made.
    CreateDirectory,
    /// A file of ours is filled further.
    Extend {
        /// Bytes it holds now.
        from: Bytes,
        /// Bytes it will hold.
        to: Bytes,
    },
    /// An existing file is emptied and written again.
    Rewrite {
        /// Its size afterwards.
        size: Bytes,
    },
}

/// A target that was looked at, with what will be done to it.
#[derive(Clone, Debug)]
pub struct Examined {
    /// Number of the target in the plan.
    pub number: usize,
    /// Path that will be opened.
    pub path: PathBuf,
    /// What it is, if it exists.
    pub kind: Option<FileKind>,
    /// Its size now.
    pub size: u64,
    /// What will be done to make it ready.
    pub action: Action,
    /// Directions of the operations that the plan issues to it.
    pub directions: Vec<Direction>,
}

/// Targets that are ready, and what must be undone at the end.
#[derive(Debug)]
pub(crate) struct ReadyTargets {
    pub(crate) list: Vec<ReadyTarget>,
    pub(crate) facts: Vec<TargetFacts>,
    own: Vec<OwnFile>,
    remove: Vec<PathBuf>,
    /// Files that were made or written anew here, as they are now.
    made: Vec<(PathBuf, Option<Identity>)>,
    /// Targets that another process of the test has made meanwhile.
    elsewhere: Vec<(Examined, Option<Claim>)>,
}

impl ReadyTargets {
    /// The file that was made at a path in this run; what it is, where the system tells.
    fn made_at(&self, path: &Path) -> Option<Option<Identity>> {
        let made = self.made.iter().find(|(made, _)| made == path);
        made.map(|(_, identity)| *identity)
    }

    /// What is ours and what the plan wants removed.
    pub(crate) fn finish(self) -> Removal {
        Removal::of(self.own, self.remove)
    }
}

/// Directions of the operations that any stream of the plan issues to a target.
pub fn directions(plan: &Plan, target: TargetId) -> Vec<Direction> {
    let streams = || {
        plan.jobs()
            .flat_map(|(_, job)| &job.workers)
            .flat_map(|worker| &worker.streams)
    };
    let meets = |to: &StreamTarget| to.ids().contains(&target);
    let occurs = |direction: &Direction| streams().any(|s| meets(&s.target) && s.mix.includes(*direction));
    Direction::ALL.into_iter().filter(occurs).collect()
}

/// Looks at every target that is a path, and decides what preparation will do. Nothing is changed.
///
/// # Errors
/// Every [`TargetError`] found.
pub fn examine(plan: &Plan) -> Result<Vec<Examined>, Vec<TargetError>> {
    let (mut examined, mut errors) = (Vec::new(), Vec::new());
    for (number, target) in plan.targets.iter().enumerate() {
        let found = match target.kind {
            TargetKind::Path => examine_one(plan, number, target),
            TargetKind::Name { directory, .. } => examine_name(plan, number, target, directory),
            TargetKind::Nothing { .. } | TargetKind::Simulated { .. } | TargetKind::Template { .. } => continue,
        };
        match found.and_then(|one| fits_engines(plan, target, one)) {
            Ok(one) => examined.push(one),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(examined) } else { Err(errors) }
}

fn examine_one(plan: &Plan, number: usize, target: &Target) -> Result<Examined, TargetError> {
    let path = names::opened_as(&target.path, plan.target_rules, cfg!(windows));
    let directions = directions(plan, TargetId(number as u32));
    let found = |path: PathBuf, kind, size, action| Examined {
        number,
        path,
        kind,
        size,
        action,
        directions,
    };
    let kind = match sys::facts::kind_of(&path) {
        Ok(kind) => kind,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let action = match made_before(plan, number) {
                true if target.prepare == Prepare::Existing => Action::UseAsItIs,
                _ => for_missing(target, &path)?,
            };
            return Ok(found(path, None, 0, action));
        }
        Err(source) => {
            return Err(TargetError::Look {
                path: target.path.clone(),
                source,
            });
        }
    };
    if kind == FileKind::Directory {
        // The drop-in modes name files, as their tools do.
        if !matches!(target.prepare, Prepare::Filled { .. }) {
            let help = "name a file in it, or give a size to have one made there".into();
            return Err(TargetError::Unfit {
                path: target.path.clone(),
                what: "a directory",
                help,
            });
        }
        let size = size_in(&path, wanted(target), &target.path)?;
        let inside = own::path_in(&path, number);
        return Ok(found(
            inside,
            None,
            0,
            Action::Create {
                size: Bytes(size),
                own: true,
            },
        ));
    }
    let (kind, size) = identify(&path, &target.path)?;
    match kind {
        FileKind::BlockDevice => Ok(found(path, Some(kind), size, Action::UseAsItIs)),
        FileKind::Regular => {
            let action = for_file(target, &path, size)?;
            Ok(found(path, Some(kind), size, action))
        }
        // fio writes to them as to anything, as large as the job says; the guard knows which of them are harmless.
        FileKind::CharacterDevice if plan.target_rules.character_devices => {
            Ok(found(path, Some(kind), wanted(target).unwrap_or(0), Action::UseAsItIs))
        }
        FileKind::CharacterDevice | FileKind::Directory | FileKind::Other | FileKind::Nothing => {
            let what = if kind == FileKind::CharacterDevice {
                "a character device"
            } else {
                "no file or block device"
            };
            let help = "test a regular file, a directory or a block device".into();
            Err(TargetError::Unfit {
                path: target.path.clone(),
                what,
                help,
            })
        }
    }
}

/// True if an earlier entry of the plan makes a file of the same path.
fn made_before(plan: &Plan, number: usize) -> bool {
    let (before, path) = (&plan.targets[..number], &plan.targets[number].path);
    let mut same = before.iter().filter(|other| other.path == *path);
    same.any(|other| matches!(other.prepare, Prepare::Recreate { .. }))
}

/// The folder that a file lies in or would be made in; that of a bare name is the current one.
pub(crate) fn parent_folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// A file that cannot be whole is not begun: it would take all the space that others need before it failed.
fn fits(one: &Examined, size: u64) -> Result<(), TargetError> {
    let Ok((_, available)) = sys::file::space(parent_folder(&one.path)) else {
        return Ok(());
    };
    // What an existing file takes up is free once it is emptied; a file with holes takes less than its size.
    let freed = fs::metadata(&one.path).map_or(0, |meta| sys::file::allocated(&meta));
    if size > available.saturating_add(freed) {
        return Err(TargetError::NoSpace {
            path: one.path.display().to_string(),
            wanted: Bytes(size),
            available: Bytes(available),
        });
    }
    Ok(())
}

/// What a path is and how large, found out on the open file.
fn identify(path: &Path, name: &str) -> Result<(FileKind, u64), TargetError> {
    let look = |source| TargetError::Look {
        path: name.to_owned(),
        source,
    };
    match fs::File::open(path) {
        Ok(file) => {
            let (kind, _, size) = sys::file::identify(&file).map_err(look)?;
            Ok((kind, size))
        }
        // There is more to say about a device than that it cannot be opened.
        Err(error) => match sys::facts::identity_of(path) {
            Some(Identity::BlockDevice(_)) => Ok((FileKind::BlockDevice, 0)),
            Some(Identity::CharacterDevice(_)) => Ok((FileKind::CharacterDevice, 0)),
            None if sys::facts::kind_of(path).is_ok_and(|kind| kind == FileKind::BlockDevice) => {
                Ok((FileKind::BlockDevice, 0))
            }
            Some(Identity::File { .. }) | None => Err(look(error)),
        },
    }
}

fn wanted(target: &Target) -> Option<u64> {
    match &target.prepare {
        Prepare::Existing => None,
        Prepare::Filled { size } => size.map(|size| size.0),
        Prepare::Recreate { size, .. } | Prepare::LayOut { size, .. } => Some(size.0),
    }
}

fn for_missing(target: &Target, path: &Path) -> Result<Action, TargetError> {
    let missing = |help: &str| TargetError::Missing {
        path: target.path.clone(),
        help: help.into(),
    };
    if sys::facts::names_a_device(path) {
        return Err(missing(
            "check the number or letter, and that the disk is attached (`fathom targets` lists them)",
        ));
    }
    let folder = parent_folder(path);
    // What fio lays out may lie in folders that are not there either.
    let with_folders = matches!(target.prepare, Prepare::LayOut { may_create: true, .. });
    if !folder.is_dir() && !with_folders {
        return Err(missing(
            "check the spelling; the directory above it does not exist either",
        ));
    }
    match &target.prepare {
        Prepare::Existing => Err(missing("check the spelling, or give a size to have it made")),
        Prepare::LayOut { may_create: false, .. } => Err(missing("the job does not allow it to be made")),
        Prepare::Filled { size: None } => Err(missing(
            "check the spelling, or give a size to have a file of that name made",
        )),
        Prepare::Filled { size: Some(size) } => {
            let size = size_in(folder, Some(size.0), &target.path)?;
            Ok(Action::Create {
                size: Bytes(size),
                own: false,
            })
        }
        Prepare::Recreate { size, .. } | Prepare::LayOut { size, .. } => Ok(Action::Create {
            size: *size,
            own: false,
        }),
    }
}

/// Bytes of a file system that may be filled: what is left above a fifth of it, and where it is nearly as full as that
/// already, a hundredth of it, as far as half of what is left.
fn spare(total: u64, available: u64) -> u64 {
    let part = |share: f64| (total as f64 * share) as u64;
    let unnoticed = part(UNNOTICED).min(available / 2);
    available.saturating_sub(part(KEPT_FREE)).max(unnoticed)
}

/// The size of a file that is to be made in a folder, checked against the space there.
fn size_in(folder: &Path, wanted: Option<u64>, name: &str) -> Result<u64, TargetError> {
    let look = |source| TargetError::Look {
        path: name.to_owned(),
        source,
    };
    let (total, available) = sys::file::space(folder).map_err(look)?;
    let spare = spare(total, available);
    let size = match wanted {
        Some(size) => size,
        // Whole MiB, so that every usual block size divides it.
        None => USUAL_SIZE.min(available / 20).min(spare).max(LEAST_SIZE) >> 20 << 20,
    };
    if size > spare {
        let (wanted, available, total) = (Bytes(size), Bytes(available), Bytes(total));
        return Err(TargetError::NoRoom {
            path: name.to_owned(),
            wanted,
            available,
            total,
        });
    }
    Ok(size)
}

fn for_file(target: &Target, path: &Path, size: u64) -> Result<Action, TargetError> {
    match &target.prepare {
        Prepare::Existing if size == 0 => Err(TargetError::Unfit {
            path: target.path.clone(),
            what: "an empty file",
            help: "give a size to have it filled, or name another file".into(),
        }),
        Prepare::Existing => Ok(Action::UseAsItIs),
        Prepare::Recreate { size, .. } => Ok(Action::Rewrite { size: *size }),
        Prepare::LayOut { on_open: true, .. } => Ok(Action::UseAsItIs),
        Prepare::LayOut {
            size: least, extend, ..
        } if size < least.0 => Ok(match extend {
            true => Action::Extend {
                from: Bytes(size),
                to: *least,
            },
            false => Action::Rewrite { size: *least },
        }),
        Prepare::LayOut { .. } => Ok(Action::UseAsItIs),
        Prepare::Filled { size: asked } => {
            let asked = asked.map(|asked| asked.0);
            match marker::read(path) {
                Some(mark) if asked.is_none_or(|asked| asked <= mark.size.0) => Ok(Action::Reuse { size: mark.size }),
                Some(mark) => {
                    let to = asked.unwrap_or(mark.size.0);
                    size_in(parent_folder(path), Some(to - mark.size.0), &target.path)?;
                    Ok(Action::Extend {
                        from: mark.size,
                        to: Bytes(to),
                    })
                }
                None if size == 0 && asked.is_some() => Ok(Action::Create {
                    size: Bytes(size_in(parent_folder(path), asked, &target.path)?),
                    own: false,
                }),
                None if size == 0 => Err(TargetError::Unfit {
                    path: target.path.clone(),
                    what: "an empty file",
                    help: "give a size to have it filled, or name another file".into(),
                }),
                None => match asked {
                    Some(wanted) if wanted > size => Err(TargetError::TooSmall {
                        path: target.path.clone(),
                        actual: Bytes(size),
                        wanted: Bytes(wanted),
                    }),
                    _ => Ok(Action::UseAsItIs),
                },
            }
        }
    }
}

/// Targets that the guard has permitted, and how they are made ready.
pub(crate) struct Preparation<'a> {
    pub(crate) plan: &'a Plan,
    /// Where facts are read from.
    pub(crate) system: &'a System,
    pub(crate) permitted: &'a [(Examined, Option<Claim>)],
    pub(crate) clock: Clock,
    pub(crate) interrupt: &'a AtomicBool,
    /// Other processes that may want the same files, and what the user allows.
    pub(crate) others: Option<(&'a dyn Others, &'a Permissions)>,
}

/// Carries out what [`examine`] has decided and the guard permitted, except for targets that steps prepare anew. On any
/// failure everything made so far is removed again.
pub(crate) fn prepare(
    preparation: &Preparation<'_>,
    watcher: &mut dyn FnMut(Event),
) -> Result<ReadyTargets, TargetError> {
    let plan = preparation.plan;
    let mut ready = ReadyTargets {
        list: Vec::new(),
        facts: Vec::new(),
        own: Vec::new(),
        remove: Vec::new(),
        made: Vec::new(),
        elsewhere: Vec::new(),
    };
    let mut devices = 0..;
    for (number, target) in plan.targets.iter().enumerate() {
        let id = TargetId(number as u32);
        let later = made_on_open(target).is_some() || (0..plan.steps.len()).any(|step| plan.prepares_anew(step, id));
        let (what, facts, identity) = match &target.kind {
            TargetKind::Nothing { size } => (ReadyKind::Nothing, made_up(target, "nothing", *size), None),
            TargetKind::Simulated { device } => {
                let facts = made_up(target, "simulated", device.size);
                let device = devices.next().unwrap_or_default();
                (ReadyKind::Simulated { device }, facts, None)
            }
            TargetKind::Path if !later => preparation.make_ready(number, 0, &mut ready, watcher)?,
            TargetKind::Path => {
                let path = preparation
                    .one(number)
                    .map(|(one, _)| one.path.clone())
                    .unwrap_or_default();
                (ReadyKind::Path(path), made_up(target, "", Bytes(0)), None)
            }
            TargetKind::Name { size, .. } => {
                let path = preparation.make_name_ready(number, &mut ready)?;
                (ReadyKind::Path(path), made_up(target, "name", *size), None)
            }
            // Refused before anything is examined.
            TargetKind::Template { .. } => (ReadyKind::Nothing, made_up(target, "nothing", Bytes(0)), None),
        };
        ready.list.push(ReadyTarget {
            what,
            identity,
            size: facts.size.0,
            shared_position: Arc::new(AtomicU64::new(0)),
            lock: Arc::default(),
        });
        ready.facts.push(facts);
    }
    Ok(ready)
}

impl Preparation<'_> {
    /// Prepares the targets of a step that are made anew for it.
    pub(crate) fn prepare_step(
        &self,
        step: usize,
        ready: &mut ReadyTargets,
        watcher: &mut dyn FnMut(Event),
    ) -> Result<(), TargetError> {
        for (number, target) in self.plan.targets.iter().enumerate() {
            let id = TargetId(number as u32);
            let opened_first = || self.plan.uses(step, id) && !(0..step).any(|step| self.plan.uses(step, id));
            let anew = match made_on_open(target) {
                Some(_) => opened_first(),
                None => self.plan.prepares_anew(step, id),
            };
            if !anew || target.kind != TargetKind::Path {
                continue;
            }
            let (_, facts, identity) = self.make_ready(number, step as u32, ready, watcher)?;
            // A file that grows while the job runs is as large as the job will make it.
            let size = made_on_open(target).unwrap_or_default().max(facts.size.0);
            (ready.list[number].size, ready.list[number].identity) = (size, identity);
            ready.facts[number] = facts;
        }
        Ok(())
    }

    fn one(&self, number: usize) -> Option<&(Examined, Option<Claim>)> {
        self.permitted.iter().find(|(one, _)| one.number == number)
    }

    fn make_ready(
        &self,
        number: usize,
        step: u32,
        ready: &mut ReadyTargets,
        watcher: &mut dyn FnMut(Event),
    ) -> Result<(ReadyKind, TargetFacts, Option<Identity>), TargetError> {
        let target = &self.plan.targets[number];
        let place = self.permitted.iter().position(|(one, _)| one.number == number);
        let Some((place, (one, claim))) = place.map(|place| (place, &self.permitted[place])) else {
            return Err(TargetError::Missing {
                path: target.path.clone(),
                help: "it was not looked at before".into(),
            });
        };
        let done = match ready.was_made_elsewhere(number) {
            true => Ok(others::MADE_ELSEWHERE.to_owned()),
            false => self.fill(target, (one, claim.as_ref()), ready, watcher),
        };
        let how = match (done, self.others) {
            (Err(TargetError::Fill(error)), Some((others, permissions))) if error.is_taken() => {
                others.wait_for_file(step);
                self.look_again(number, permissions, ready)?
            }
            (done, _) => done?,
        };
        let elsewhere = ready.elsewhere.iter().find(|(one, _)| one.number == number);
        let (one, claim) = elsewhere.unwrap_or(&self.permitted[place]);
        let expected = match (claim, ready.made_at(&one.path)) {
            (Some(claim), _) => claim.file().identity(),
            (None, made) => made.flatten(),
        };
        let file = reopen(one, expected)?;
        let mut facts = probe::target(self.system, &file, &how);
        if one.kind == Some(FileKind::CharacterDevice) {
            // It has no size of its own.
            facts.size = Bytes(one.size);
        }
        Ok((ReadyKind::Path(one.path.clone()), facts, file.identity()))
    }
}

/// The size that a file will have which is made only when its job begins.
fn made_on_open(target: &Target) -> Option<u64> {
    match &target.prepare {
        Prepare::LayOut {
            on_open: true, size, ..
        } => Some(size.0),
        _ => None,
    }
}

/// Facts about a target that is no file.
fn made_up(target: &Target, kind: &str, size: Bytes) -> TargetFacts {
    TargetFacts {
        path: target.path.clone(),
        kind: kind.into(),
        size,
        ..TargetFacts::default()
    }
}

/// Opens a prepared target to look at it.
fn reopen(one: &Examined, expected: Option<Identity>) -> Result<File, TargetError> {
    let how = OpenHow {
        access: Access::Read,
        cache: CacheMode::BUFFERED,
        hint: OpenHint::default(),
        exclusive: false,
        overlapped: false,
    };
    let file = File::open(&one.path, how).map_err(|error| TargetError::Look {
        path: one.path.display().to_string(),
        source: error.source,
    })?;
    if expected.is_some() && expected != file.identity() {
        return Err(TargetError::Replaced {
            path: one.path.display().to_string(),
        });
    }
    Ok(file)
}

impl Preparation<'_> {
    /// Does what was decided. Returns what that was, in words.
    fn fill(
        &self,
        target: &Target,
        (one, claim): (&Examined, Option<&Claim>),
        ready: &mut ReadyTargets,
        watcher: &mut dyn FnMut(Event),
    ) -> Result<String, TargetError> {
        let plan = self.plan;
        let (from, size, how) = match &one.action {
            Action::UseAsItIs | Action::CreateDirectory => {
                note_end(target, one, ready);
                return Ok("used as it is".into());
            }
            Action::Reuse { size } => {
                keep_mark_true(plan, one);
                note_end(target, one, ready);
                return Ok(format!("prepared earlier with {size} of random data"));
            }
            Action::Create { size, .. } => (0, size.0, format!("{size} of random data written for this run")),
            Action::Extend { from, to } => (from.0, to.0, format!("extended from {from} to {to} with random data")),
            Action::Rewrite { size } => (0, size.0, format!("written anew with {size}")),
        };
        if matches!(target.prepare, Prepare::Recreate { .. }) {
            fits(one, size)?;
        }
        if matches!(target.prepare, Prepare::LayOut { may_create: true, .. }) {
            let folder = parent_folder(&one.path);
            fs::create_dir_all(folder).map_err(|error| FillError::File {
                what: "cannot make the folder",
                path: folder.display().to_string(),
                errno: error.raw_os_error(),
                written: Bytes(0),
            })?;
        }
        let own = matches!(one.action, Action::Create { own: true, .. });
        if own {
            let keep = target.at_end == AtEndOfJob::Keep;
            let file = OwnFile::create(&one.path, keep).map_err(|error| FillError::File {
                what: "cannot create",
                path: one.path.display().to_string(),
                errno: error.raw_os_error(),
                written: Bytes(0),
            })?;
            ready.own.push(file);
            own::sweep(&one.path, watcher);
        }
        let made_before = ready.made_at(&one.path);
        let created = one.kind.is_none() && made_before.is_none();
        let on_open = made_on_open(target).is_some();
        let size = if on_open { 0 } else { size };
        let fresh = Content::Fresh;
        let (content, block, allocate) = match &target.prepare {
            Prepare::LayOut {
                content,
                block,
                allocate,
                ..
            } if !on_open => (content.as_ref(), *block, *allocate),
            Prepare::LayOut { block, .. } => (None, *block, AllocateMode::None),
            Prepare::Recreate { content, .. } => (Some(content), fill::BLOCK, AllocateMode::None),
            Prepare::Filled { .. } | Prepare::Existing => (Some(&fresh), fill::BLOCK, AllocateMode::Native),
        };
        let expected = match (claim, ready.own.last().filter(|_| own)) {
            (Some(claim), _) => Expected::This(claim.file().identity()),
            (None, Some(file)) => Expected::This(file.identity()),
            (None, None) => made_before.map_or(Expected::Nothing, Expected::This),
        };
        let fill = fill::Fill {
            path: &one.path,
            expected,
            empty: matches!(one.action, Action::Rewrite { .. }) || made_before.is_some(),
            // A file that is only allocated has nothing to write.
            from: if content.is_some() { from } else { size },
            size,
            content: content.unwrap_or(&fresh),
            block,
            allocate,
            flush: !matches!(target.prepare, Prepare::LayOut { flush: false, .. }),
            // What is checked later has to be there.
            declare: matches!(target.prepare, Prepare::Recreate { .. }) && plan.target_rules.declare_valid,
            seed: plan.seed ^ (one.number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x00f1_11ed,
        };
        let (took, filled) = fill::fill(&fill, self.clock, self.interrupt, watcher).inspect_err(|error| {
            // A file that this run made is of no use half filled; an older one stays, without a mark, and so does one that somebody
            // else has made meanwhile.
            if created && !own && !error.is_taken() {
                let _ = fs::remove_file(&one.path);
            }
        })?;
        if matches!(target.prepare, Prepare::Filled { .. }) {
            let _ = marker::write(&one.path, marker::Mark { size: Bytes(size) });
            keep_mark_true(plan, one);
        }
        if !own {
            ready.made.retain(|(path, _)| *path != one.path);
            ready.made.push((one.path.clone(), sys::facts::identity_of(&one.path)));
        }
        let how = match filled {
            fill::Filled::Written => how,
            fill::Filled::Declared => format!("declared valid at {}: it holds what the disk held before", Bytes(size)),
        };
        watcher(Event::Prepared {
            target: one.path.display().to_string(),
            how: how.clone(),
            took_ns: took,
        });
        note_end(target, one, ready);
        Ok(how)
    }
}

fn note_end(target: &Target, one: &Examined, ready: &mut ReadyTargets) {
    if matches!(target.at_end, AtEndOfJob::Remove | AtEndOfJob::RemoveEachPass)
        && !matches!(one.kind, Some(FileKind::BlockDevice | FileKind::CharacterDevice))
    {
        ready.remove.push(one.path.clone());
    }
}

/// A file that the plan writes something else to than random data, or trims, is no longer what its mark says.
fn keep_mark_true(plan: &Plan, one: &Examined) {
    let id = TargetId(one.number as u32);
    let mut streams = plan
        .jobs()
        .flat_map(|(_, job)| &job.workers)
        .flat_map(|worker| &worker.streams);
    let spoils = streams.any(|stream| {
        let random = matches!(
            stream.content,
            Content::Fresh | Content::Drawn | Content::Once | Content::Stamped
        );
        let writes = stream.mix.includes(Direction::Write) && !random;
        stream.target.ids().contains(&id) && (writes || stream.mix.includes(Direction::Trim))
    });
    if spoils {
        marker::remove(&one.path);
    }
}

#[cfg(test)]
mod tests {
    use super::spare;

    #[test]
    fn what_is_filled_leaves_a_fifth_or_is_hardly_anything() {
        const TOTAL: u64 = 1000;
        let spare_of = |available| spare(TOTAL, available);
        assert_eq!(spare_of(1000), 800);
        assert_eq!(spare_of(500), 300);
        // A fifth is left and less: a hundredth may still be used, but never the last half of what there is.
        assert_eq!(spare_of(205), 10);
        assert_eq!(spare_of(200), 10);
        assert_eq!(spare_of(21), 10);
        assert_eq!(spare_of(8), 4);
        assert_eq!(spare_of(0), 0);
    }
}
