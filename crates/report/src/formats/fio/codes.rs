//! Error numbers in fio's reports: Linux `errno` values on every system.

/// fio's number for a Windows error; `EIO` (5) if there is no closer one.
pub fn from_windows(code: i32) -> i32 {
    match code {
        // Verification errors (84) already have fio's number.
        0 | 84 => code,
        2 | 3 | 123 | 161 => 2,
        5 | 32 | 33 => 13,
        6 => 9,
        8 | 14 => 12,
        13 | 87 | 131 | 206 => 22,
        15 | 20 | 55 => 19,
        17 => 18,
        19 => 30,
        21 => 11,
        39 | 112 | 1100 => 28,
        50 | 120 => 40,
        80 | 183 => 17,
        82 | 288 => 1,
        109 | 232 => 32,
        145 => 41,
        170 | 231 => 16,
        267 => 20,
        998 => 14,
        1006 => 6,
        _ => 5,
    }
}

/// fio's number for an error of the system.
pub fn fio_error_number(code: i32) -> i32 {
    match cfg!(windows) {
        true => from_windows(code),
        false => code,
    }
}

/// C's text for an error number.
pub fn error_text(number: i32) -> String {
    if cfg!(windows) {
        return known_error_text(number).map_or_else(|| "Unknown error".into(), str::to_owned);
    }
    let text = std::io::Error::from_raw_os_error(number).to_string();
    match text.rsplit_once(" (os error ") {
        Some((words, _)) => words.to_owned(),
        None => text,
    }
}

/// The texts of every number that [`from_windows`] returns, of `EISDIR` and of `EILSEQ`.
fn known_error_text(number: i32) -> Option<&'static str> {
    let words = match number {
        0 => "No error",
        1 => "Operation not permitted",
        2 => "No such file or directory",
        5 => "Input/output error",
        6 => "No such device or address",
        9 => "Bad file descriptor",
        11 => "Resource temporarily unavailable",
        12 => "Not enough space",
        13 => "Permission denied",
        14 => "Bad address",
        16 => "Resource device",
        17 => "File exists",
        18 => "Improper link",
        19 => "No such device",
        20 => "Not a directory",
        21 => "Is a directory",
        22 => "Invalid argument",
        28 => "No space left on device",
        30 => "Read-only file system",
        32 => "Broken pipe",
        40 => "Function not implemented",
        41 => "Directory not empty",
        84 => "Illegal byte sequence",
        _ => return None,
    };
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_windows_error_has_a_number_with_a_text() {
        for code in 0..2000 {
            let number = from_windows(code);
            assert!(known_error_text(number).is_some(), "{code} is {number}");
            assert_eq!(number == 0, code == 0);
        }
        assert_eq!(known_error_text(7), None);
    }

    #[test]
    fn common_windows_errors_have_the_expected_text() {
        let named = |code| known_error_text(from_windows(code)).unwrap();
        assert_eq!(named(3), "No such file or directory");
        assert_eq!(named(5), "Permission denied");
        assert_eq!(named(112), "No space left on device");
        assert_eq!(named(1117), "Input/output error");
    }
}
