//! The health that an NVMe device reports: the SMART / Health Information log page. NVM Express
//! Base Specification, Get Log Page 02h: 512 bytes, little-endian, temperatures in Kelvin, counts
//! of 16 bytes. The page covers the whole controller; reading it needs root.

use std::path::Path;

use model::environment::Health;

use crate::sys::nvme;

/// Log page identifier of the health page.
const HEALTH_LOG_PAGE: u8 = 0x02;
/// Bytes of the health page.
const PAGE_BYTES: usize = 512;
/// Namespace identifier that means the whole controller.
const ALL_NAMESPACES: u32 = 0xffff_ffff;
/// Zero degrees Celsius in Kelvin, as the specification rounds it.
const ZERO_CELSIUS_IN_KELVIN: i32 = 273;

/// Bits of the critical warning, from the lowest.
const WARNINGS: [&str; 6] = [
    "its available spare is below the threshold",
    "its temperature is beyond a threshold",
    "its reliability is degraded by media or internal errors",
    "its media are in read-only mode",
    "the backup of its volatile memory has failed",
    "its persistent memory region is read-only or unreliable",
];

/// Reads the health of a device, by its kernel name; `None` if it reports none or access is denied.
pub(super) fn read(name: &str) -> Option<Health> {
    if !name.starts_with("nvme") {
        return None;
    }
    let page = nvme::log_page(
        &Path::new("/dev").join(name),
        HEALTH_LOG_PAGE,
        ALL_NAMESPACES,
        PAGE_BYTES,
    )
    .ok()?;
    parse(&page)
}

/// Parses the page; `None` if it is too short or empty.
fn parse(page: &[u8]) -> Option<Health> {
    let page: &[u8; PAGE_BYTES] = page.get(..PAGE_BYTES)?.try_into().ok()?;
    let kelvin = u16::from_le_bytes([page[1], page[2]]);
    // A temperature of 0 K means that the device did not fill in the page.
    if kelvin == 0 {
        return None;
    }
    let warned = WARNINGS.iter().enumerate().filter(|(bit, _)| page[0] >> bit & 1 == 1);
    let mut problems: Vec<String> = warned.map(|(_, words)| (*words).to_owned()).collect();
    let (spare, threshold, used) = (page[3], page[4], page[5]);
    if let Some(first) = problems.first_mut().filter(|_| page[0] & 1 == 1) {
        *first = format!("{first}: {spare} % left, threshold {threshold} %");
    }
    if used >= 100 {
        problems.push(format!("{used} % of its rated life is used up"));
    }
    let media_errors = count(page, 160);
    if media_errors > 0 {
        problems.push(format!("it reports {media_errors} media and data integrity errors"));
    }
    Some(Health {
        source: "NVMe health log".into(),
        problems,
        celsius: Some(i32::from(kelvin) - ZERO_CELSIUS_IN_KELVIN),
        used_percent: Some(u32::from(used)),
        spare_percent: Some(u32::from(spare)),
        media_errors: Some(media_errors),
        ..Health::default()
    })
}

/// A 16-byte count, capped at the largest `u64`.
fn count(page: &[u8; PAGE_BYTES], at: usize) -> u64 {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&page[at..at + 16]);
    u64::try_from(u128::from_le_bytes(bytes)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page of a healthy device.
    fn page() -> [u8; PAGE_BYTES] {
        let mut page = [0; PAGE_BYTES];
        page[1..3].copy_from_slice(&311u16.to_le_bytes());
        (page[3], page[4], page[5]) = (100, 10, 3);
        // Data units read and written, power-on hours, unsafe shutdowns, error log entries: no
        // cause for complaint.
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
    fn a_healthy_device_has_no_problems() {
        let health = parse(&page()).unwrap();
        assert_eq!(health.problems, Vec::<String>::new());
        assert_eq!(
            (health.celsius, health.used_percent, health.spare_percent),
            (Some(38), Some(3), Some(100))
        );
        assert_eq!(
            (health.media_errors, health.source.as_str()),
            (Some(0), "NVMe health log")
        );
    }

    #[test]
    fn each_bit_of_the_critical_warning_is_reported() {
        for (bit, words) in WARNINGS.iter().enumerate() {
            let mut page = page();
            page[0] = 1 << bit;
            let problems = parse(&page).unwrap().problems;
            assert_eq!(problems.len(), 1, "{bit}");
            assert!(problems[0].starts_with(words), "{bit}: {problems:?}");
        }
        let mut full_page = page();
        (full_page[0], full_page[3]) = (0x3f, 4);
        let problems = parse(&full_page).unwrap().problems;
        assert_eq!(problems.len(), 6);
        assert_eq!(
            problems[0],
            "its available spare is below the threshold: 4 % left, threshold 10 %"
        );
    }

    #[test]
    fn wear_and_media_errors_are_reported() {
        let mut worn = page();
        worn[5] = 99;
        assert_eq!(parse(&worn).unwrap().problems.len(), 0);
        worn[5] = 255;
        worn[160..176].copy_from_slice(&7u128.to_le_bytes());
        let health = parse(&worn).unwrap();
        let expected = [
            "255 % of its rated life is used up",
            "it reports 7 media and data integrity errors",
        ];
        assert_eq!(health.problems, expected);
        assert_eq!((health.used_percent, health.media_errors), (Some(255), Some(7)));
        worn[160..176].copy_from_slice(&[0xff; 16]);
        assert_eq!(parse(&worn).unwrap().media_errors, Some(u64::MAX));
        worn[1..3].copy_from_slice(&263u16.to_le_bytes());
        assert_eq!(parse(&worn).unwrap().celsius, Some(-10));
    }

    #[test]
    fn an_empty_or_short_page_has_no_health() {
        assert_eq!(parse(&[0; PAGE_BYTES]), None);
        assert_eq!(parse(&page()[..511]), None);
        assert_eq!(read("sda"), None);
        assert_eq!(read("nvme-nowhere"), None);
    }
}
