//! Decisions about regular files, kernel files and missing paths.

use super::*;

#[test]
fn foreign_files_need_permission_and_own_files_do_not() {
    let file = || ask("swap-file", "/home/user/data");
    file().assert_refused(&[FOREIGN]);
    file().assert_help("if its contents may be lost, name it again: --allow-overwrite /home/user/data");
    file().allow_overwrite("/home/user/data").assert_allowed(&[OVERWRITES]);
    file().allow_destroy("/home/user/data").assert_allowed(&[OVERWRITES]);
    file().allow_overwrite("/swapfile").assert_refused(&[FOREIGN]);
    file().for_drop_in().assert_allowed(&[OVERWRITES]);
    for intent in [
        Intent::TRUNCATE,
        Intent::UNLINK,
        Intent::PUNCH,
        Intent::LAY_OUT,
        Intent::READ | Intent::UNLINK,
    ] {
        file().with_intent(intent).assert_refused(&[FOREIGN]);
    }
    file().with_intent(Intent::READ).assert_allowed(&[]);
    let ours = || file().with(|subject| subject.mark = MarkState::Intact { random_len: Bytes(1) });
    ours().assert_allowed(&[]);
    ours().for_drop_in().assert_allowed(&[]);
    let unfinished = file().with(|subject| subject.mark = MarkState::Unfinished);
    unfinished.assert_help(
        "if no other run uses it, remove it, so that fathom creates it again; or, if its contents may be lost, name \
         it again: --allow-overwrite /home/user/data",
    );
    let partly = file().with(|subject| subject.mark = MarkState::PartlyIntact);
    partly.assert_help(
        "test only the same part again (`--size`), or remove the file, so that fathom creates it again; or, if its \
         contents may be lost, name it again: --allow-overwrite /home/user/data",
    );
    // An empty file has no contents to lose.
    file().with(|subject| subject.size = 0).assert_allowed(&[]);
}

#[test]
fn files_with_known_contents_need_permission_to_destroy() {
    let database = || ask("swap-file", "/home/user/data").with_signature(SignatureKind::Database, "SQLite", None);
    let lost = "a SQLite data file on it will be lost";
    database().assert_refused(&["it contains a SQLite data file", FOREIGN]);
    database().assert_help("if everything on it may be lost, name it again: --allow-destroy /home/user/data");
    database()
        .for_drop_in()
        .assert_refused(&["it contains a SQLite data file"]);
    database()
        .allow_overwrite("/home/user/data")
        .assert_refused(&["it contains a SQLite data file"]);
    database()
        .allow_destroy("/home/user/data")
        .assert_allowed(&[lost, OVERWRITES]);
    database()
        .for_drop_in()
        .allow_destroy("/home/user/data")
        .assert_allowed(&[lost, OVERWRITES]);
    // A file system was created later in a file that fathom prepared.
    let formatted = || {
        let file = ask("swap-file", "/home/user/data").with_signature(SignatureKind::FileSystem, "ext4", Some("test"));
        file.with(|subject| subject.mark = MarkState::Intact { random_len: Bytes(1) })
    };
    formatted().assert_refused(&["it contains an ext4 file system \"test\""]);
    formatted()
        .allow_destroy("/home/user/data")
        .assert_allowed(&["an ext4 file system \"test\" on it will be lost"]);
}

#[test]
fn character_devices_other_than_null_are_refused() {
    ask("blank-disk", "/dev/null").assert_allowed(&[]);
    let tape = || {
        ask("blank-disk", "/dev/null").with(|subject| {
            subject.identity = Some(Identity::CharacterDevice(engine::DeviceNumber::new(9, 0)));
        })
    };
    tape().assert_refused(&["it is neither a file nor a block device"]);
    tape()
        .for_drop_in()
        .assert_refused(&["it is neither a file nor a block device"]);
    tape().with_intent(Intent::READ).assert_allowed(&[]);
    let folder = ask("swap-file", "/home/user/data").with(|subject| subject.kind = FileKind::Other);
    folder.assert_refused(&["it is neither a file nor a block device"]);
}

#[test]
fn kernel_files_are_refused() {
    ask("swap-file", "/proc/sysrq-trigger")
        .assert_always_refused(&["it is a kernel interface (proc): a write changes system settings"]);
    ask("swap-file", "/sys/power/state")
        .assert_always_refused(&["it is a kernel interface (sysfs): a write changes system settings"]);
}

#[test]
fn a_misspelt_device_is_not_created_as_a_file() {
    let permissions = Permissions::default();
    let system = load_tree("blank-disk");
    let missing = |caller, path: &str| {
        let guard = Guard::new(&system, caller, &permissions);
        guard.decide_missing(Path::new(path), Intent::CREATE | Intent::LAY_OUT)
    };
    let refusal = missing(CallerKind::Native, "/dev/sdx");
    let refusal = refusal.refusal().expect("the guard refuses");
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
