//! Files, and what looks like one.

use super::*;

#[test]
fn files() {
    let file = || ask("swap-file", "/home/user/data");
    file().refused(&[FOREIGN]);
    file().helped("if its contents may be lost, name it again: --allow-overwrite /home/user/data");
    file().overwrite("/home/user/data").allowed(&[OVERWRITES]);
    file().destroy("/home/user/data").allowed(&[OVERWRITES]);
    file().overwrite("/swapfile").refused(&[FOREIGN]);
    file().drop_in().allowed(&[OVERWRITES]);
    for intent in [
        Intent::TRUNCATE,
        Intent::UNLINK,
        Intent::PUNCH,
        Intent::LAY_OUT,
        Intent::READ | Intent::UNLINK,
    ] {
        file().wants(intent).refused(&[FOREIGN]);
    }
    file().wants(Intent::READ).allowed(&[]);
    let ours = || {
        file().with(|subject| {
            subject.mark = MarkState::Intact {
                random_len: model::Bytes(1),
            }
        })
    };
    ours().allowed(&[]);
    ours().drop_in().allowed(&[]);
    // Nothing can be lost with an empty file.
    file().with(|subject| subject.size = 0).allowed(&[]);
}

#[test]
fn files_that_hold_something_known() {
    let database = || ask("swap-file", "/home/user/data").holds(SignatureKind::Database, "SQLite", None);
    let lost = "a SQLite data file on it will be lost";
    database().refused(&["it contains a SQLite data file", FOREIGN]);
    database().helped("if everything on it may be lost, name it again: --allow-destroy /home/user/data");
    database().drop_in().refused(&["it contains a SQLite data file"]);
    database()
        .overwrite("/home/user/data")
        .refused(&["it contains a SQLite data file"]);
    database().destroy("/home/user/data").allowed(&[lost, OVERWRITES]);
    database()
        .drop_in()
        .destroy("/home/user/data")
        .allowed(&[lost, OVERWRITES]);
    // A file that fathom prepared and that was formatted since.
    let formatted = || {
        let file = ask("swap-file", "/home/user/data").holds(SignatureKind::FileSystem, "ext4", Some("test"));
        file.with(|subject| {
            subject.mark = MarkState::Intact {
                random_len: model::Bytes(1),
            }
        })
    };
    formatted().refused(&["it contains an ext4 file system \"test\""]);
    formatted()
        .destroy("/home/user/data")
        .allowed(&["an ext4 file system \"test\" on it will be lost"]);
}

#[test]
fn other_kinds_of_files() {
    ask("blank-disk", "/dev/null").allowed(&[]);
    let tape = || {
        ask("blank-disk", "/dev/null").with(|subject| {
            subject.identity = Some(Identity::CharacterDevice(engine::DeviceNumber::new(9, 0)));
        })
    };
    tape().refused(&["it is neither a file nor a block device"]);
    tape().drop_in().refused(&["it is neither a file nor a block device"]);
    tape().wants(Intent::READ).allowed(&[]);
    let folder = ask("swap-file", "/home/user/data").with(|subject| subject.kind = FileKind::Other);
    folder.refused(&["it is neither a file nor a block device"]);
}

#[test]
fn files_of_the_kernel_are_no_storage() {
    always_refused(
        "swap-file",
        "/proc/sysrq-trigger",
        &["it is a file of the kernel (proc): writing to it controls the system"],
    );
    always_refused(
        "swap-file",
        "/sys/power/state",
        &["it is a file of the kernel (sysfs): writing to it controls the system"],
    );
}

#[test]
fn a_misspelt_device_is_not_made_in_memory() {
    let permissions = Permissions::default();
    let system = tree("blank-disk");
    let missing = |caller, path: &str| {
        let guard = Guard::new(&system, caller, &permissions);
        guard.decide_missing(Path::new(path), Intent::CREATE | Intent::LAY_OUT)
    };
    let refusal = missing(CallerKind::Native, "/dev/sdx");
    let refusal = refusal.refusal().expect("it was allowed");
    assert_eq!(
        refusal.reasons[0].to_string(),
        "no such device exists; a file would be created in its place, in memory"
    );
    assert!(!refusal.can_be_lifted());
    assert!(matches!(missing(CallerKind::DropIn, "/dev/sdx"), Decision::Allowed { notes } if notes.len() == 1));
    for path in ["/home/new", "/developer/new", "relative"] {
        assert_eq!(
            missing(CallerKind::Native, path),
            Decision::Allowed { notes: Vec::new() },
            "{path}"
        );
    }
}
