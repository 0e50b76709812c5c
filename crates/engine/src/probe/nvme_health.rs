//! What an NVMe device says of its own health: the SMART / Health Information log page.
//!
//! NVM Express Base Specification, Get Log Page 02h: 512 bytes, little-endian, temperatures in
//! Kelvin, counts of 16 bytes. It is asked for the controller as a whole, and needs root.

use std::path::Path;

use model::environment::Health;

use crate::sys::nvme;

/// Number of the page.
const PAGE: u8 = 0x02;
/// Its length.
const LENGTH: usize = 512;
/// The controller, not one of its namespaces.
const CONTROLLER: u32 = 0xffff_ffff;
/// Zero degrees Celsius in Kelvin, as the specification rounds it.
const ZERO_CELSIUS: i32 = 273;

/// Bits of the critical warning, from the lowest.
const WARNINGS: [&str; 6] = [
    "its spare blocks are below their threshold",
    "its temperature is beyond a threshold",
    "its reliability is degraded by errors of media or of itself",
    "its media take no writes any more",
    "the backup of its volatile memory has failed",
    "its persistent memory region takes no writes or is unreliable",
];

/// Asks a device, by its kernel name; `None` where it does not tell or may not be asked.
pub(super) fn read(name: &str) -> Option<Health> {
    if !name.starts_with("nvme") {
        return None;
    }
    let page = nvme::log_page(&Path::new("/dev").join(name), PAGE, CONTROLLER, LENGTH).ok()?;
    parse(&page)
}

/// Reads the bytes of the page; `None` if they are too few or hold nothing.
fn parse(page: &[u8]) -> Option<Health> {
    // A device that does not fill the page in leaves it empty: no device is at 0 Kelvin.
    let page: &[u8; LENGTH] = page.get(..LENGTH)?.try_into().ok()?;
    let kelvin = u16::from_le_bytes([page[1], page[2]]);
    if kelvin == 0 {
        return None;
    }
    let warned = WARNINGS.iter().enumerate().filter(|(bit, _)| page[0] >> bit & 1 == 1);
    let mut complaints: Vec<String> = warned.map(|(_, words)| (*words).to_owned()).collect();
    let (spare, threshold, used) = (page[3], page[4], page[5]);
    if let Some(first) = complaints.first_mut().filter(|_| page[0] & 1 == 1) {
        *first = format!("{first}: {spare} % are left, {threshold} % is the threshold");
    }
    if used >= 100 {
        complaints.push(format!("{used} % of its promised life are used up"));
    }
    let media_errors = count(page, 160);
    if media_errors > 0 {
        complaints.push(format!(
            "it has met {media_errors} errors of its media or of the data on them"
        ));
    }
    Some(Health {
        source: "NVMe health log".into(),
        complaints,
        celsius: Some(i32::from(kelvin) - ZERO_CELSIUS),
        used_percent: Some(u32::from(used)),
        spare_percent: Some(u32::from(spare)),
        media_errors: Some(media_errors),
        ..Health::default()
    })
}

/// A count of 16 bytes, no more than fits.
fn count(page: &[u8; LENGTH], at: usize) -> u64 {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&page[at..at + 16]);
    u64::try_from(u128::from_le_bytes(bytes)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page as a device in good health fills it in.
    fn page() -> [u8; LENGTH] {
        let mut page = [0; LENGTH];
        page[1..3].copy_from_slice(&311u16.to_le_bytes());
        (page[3], page[4], page[5]) = (100, 10, 3);
        // Data units read, written; power-on hours; unsafe shutdowns; entries of the error log:
        // none of them a complaint.
        for (at, value) in [
            (32, 81_234_567u128),
            (48, 45_678_901),
            (128, 9_000),
            (144, 31),
            (176, 412),
        ] {
            page[at..at + 16].copy_from_slice(&value.to_le_bytes());
        }
        page
    }

    #[test]
    fn a_device_that_is_well() {
        let found = parse(&page()).unwrap();
        assert_eq!(found.complaints, Vec::<String>::new());
        assert_eq!(
            (found.celsius, found.used_percent, found.spare_percent),
            (Some(38), Some(3), Some(100))
        );
        assert_eq!(
            (found.media_errors, found.source.as_str()),
            (Some(0), "NVMe health log")
        );
    }

    #[test]
    fn each_bit_of_the_critical_warning_is_reported() {
        for (bit, words) in WARNINGS.iter().enumerate() {
            let mut page = page();
            page[0] = 1 << bit;
            let found = parse(&page).unwrap().complaints;
            assert_eq!(found.len(), 1, "{bit}");
            assert!(found[0].starts_with(words), "{bit}: {found:?}");
        }
        let mut all = page();
        (all[0], all[3]) = (0x3f, 4);
        let found = parse(&all).unwrap().complaints;
        assert_eq!(found.len(), 6);
        assert_eq!(
            found[0],
            "its spare blocks are below their threshold: 4 % are left, 10 % is the threshold"
        );
    }

    #[test]
    fn wear_and_errors_of_media_are_reported() {
        let mut worn = page();
        worn[5] = 99;
        assert_eq!(parse(&worn).unwrap().complaints.len(), 0);
        worn[5] = 255;
        worn[160..176].copy_from_slice(&7u128.to_le_bytes());
        let found = parse(&worn).unwrap();
        let expected = [
            "255 % of its promised life are used up",
            "it has met 7 errors of its media or of the data on them",
        ];
        assert_eq!(found.complaints, expected);
        assert_eq!((found.used_percent, found.media_errors), (Some(255), Some(7)));
        worn[160..176].copy_from_slice(&[0xff; 16]);
        assert_eq!(parse(&worn).unwrap().media_errors, Some(u64::MAX));
        worn[1..3].copy_from_slice(&263u16.to_le_bytes());
        assert_eq!(parse(&worn).unwrap().celsius, Some(-10));
    }

    #[test]
    fn what_is_no_such_page_has_no_health() {
        assert_eq!(parse(&[0; LENGTH]), None);
        assert_eq!(parse(&page()[..511]), None);
        assert_eq!(read("sda"), None);
        assert_eq!(read("nvme-nowhere"), None);
    }
}
