//! Sends read-only queries to ATA disks through the kernel's SCSI layer (`SG_IO`, T10 SAT: ATA
//! PASS-THROUGH (16)).

use std::ffi::c_void;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

pub use crate::sys::ata_query::{BLOCK, Query, Response};

/// `struct sg_io_hdr` (scsi/sg.h).
#[repr(C)]
struct SgIoHeader {
    interface: i32,
    direction: i32,
    command_length: u8,
    max_sense_length: u8,
    iovec_count: u16,
    length: u32,
    data: *mut c_void,
    command: *const u8,
    sense: *mut u8,
    timeout_ms: u32,
    flags: u32,
    pack_id: i32,
    user: *mut c_void,
    status: u8,
    masked_status: u8,
    message_status: u8,
    sense_length: u8,
    host_status: u16,
    driver_status: u16,
    residual: i32,
    duration_ms: u32,
    info: u32,
}

/// An open disk. Opening it does not wait for a medium.
#[derive(Debug)]
pub struct Disk(File);

impl Disk {
    /// Opens it for reading.
    ///
    /// # Errors
    /// The system's error.
    pub fn open(path: &Path) -> io::Result<Disk> {
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(libc::O_NONBLOCK);
        options.open(path).map(Disk)
    }

    /// Sends a query. Requires root (`CAP_SYS_RAWIO`).
    ///
    /// # Errors
    /// The system's error: the device does not support such commands (`ENOTTY`, `EINVAL`), access
    /// is denied, or the command did not reach the disk.
    pub fn query(&self, query: Query) -> io::Result<Response> {
        const SG_IO: libc::Ioctl = 0x2285;
        const NO_DATA: i32 = -1;
        const FROM_DEVICE: i32 = -3;
        // Disks respond within milliseconds; do not wait for a failed one.
        const TIMEOUT_MS: u32 = 5000;
        let command = query.command();
        let mut sense = [0u8; 64];
        let mut block = Box::new([0u8; BLOCK]);
        let with_block = query.returns_block();
        let mut header = SgIoHeader {
            interface: i32::from(b'S'),
            direction: if with_block { FROM_DEVICE } else { NO_DATA },
            command_length: command.len() as u8,
            max_sense_length: sense.len() as u8,
            iovec_count: 0,
            length: if with_block { BLOCK as u32 } else { 0 },
            data: block.as_mut_ptr().cast(),
            command: command.as_ptr(),
            sense: sense.as_mut_ptr(),
            timeout_ms: TIMEOUT_MS,
            flags: 0,
            pack_id: 0,
            user: std::ptr::null_mut(),
            status: 0,
            masked_status: 0,
            message_status: 0,
            sense_length: 0,
            host_status: 0,
            driver_status: 0,
            residual: 0,
            duration_ms: 0,
            info: 0,
        };
        let pointer: *mut SgIoHeader = &mut header;
        // SAFETY: `header` has the layout of `struct sg_io_hdr`. The kernel writes to it, at most
        // `length` bytes to `data`, which is `block` of that length, and at most `max_sense_length`
        // bytes to `sense`, and reads `command_length` bytes of `command`; all four outlive the
        // call, which returns when the command is over, and they are borrowed nowhere else.
        if unsafe { libc::ioctl(self.0.as_raw_fd(), SG_IO, pointer) } < 0 {
            return Err(io::Error::last_os_error());
        }
        if header.host_status != 0 {
            let status = header.host_status;
            return Err(io::Error::other(format!(
                "the command did not reach the disk: SCSI host status {status:#x}"
            )));
        }
        let sense = sense[..usize::from(header.sense_length).min(sense.len())].to_vec();
        let is_complete = with_block && header.residual == 0 && header.status == 0;
        Ok(Response {
            status: header.status,
            sense,
            block: is_complete.then_some(block),
        })
    }
}

impl Query {
    fn returns_block(self) -> bool {
        matches!(self, Query::SmartData | Query::SmartThresholds)
    }

    /// Encodes the query as ATA PASS-THROUGH (16). The register names are those of ACS.
    fn command(self) -> [u8; 16] {
        const PASS_THROUGH_16: u8 = 0x85;
        const CHECK_POWER_MODE: u8 = 0xe5;
        const SMART: u8 = 0xb0;
        let (feature, command) = match self {
            Query::PowerMode => (0, CHECK_POWER_MODE),
            Query::SmartStatus => (0xda, SMART),
            Query::SmartData => (0xd0, SMART),
            Query::SmartThresholds => (0xd1, SMART),
        };
        let mut bytes = [0; 16];
        bytes[0] = PASS_THROUGH_16;
        if self.returns_block() {
            // PIO data-in from the device; the count register holds the number of blocks.
            (bytes[1], bytes[2], bytes[6]) = (4 << 1, 0b0000_1110, 1);
        } else {
            // No data; return the registers.
            (bytes[1], bytes[2]) = (3 << 1, 0b0010_0000);
        }
        bytes[4] = feature;
        if command == SMART {
            // The signature that SMART commands require.
            (bytes[10], bytes[12]) = (0x4f, 0xc2);
        }
        bytes[14] = command;
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_has_the_size_that_the_kernel_expects() {
        assert_eq!(
            size_of::<SgIoHeader>(),
            if cfg!(target_pointer_width = "64") { 88 } else { 64 }
        );
    }

    #[test]
    fn commands_are_those_of_the_standard() {
        let power = [0x85, 0x06, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xe5, 0];
        assert_eq!(Query::PowerMode.command(), power);
        let status = [0x85, 0x06, 0x20, 0, 0xda, 0, 0, 0, 0, 0, 0x4f, 0, 0xc2, 0, 0xb0, 0];
        assert_eq!(Query::SmartStatus.command(), status);
        let data = [0x85, 0x08, 0x0e, 0, 0xd0, 0, 1, 0, 0, 0, 0x4f, 0, 0xc2, 0, 0xb0, 0];
        assert_eq!(Query::SmartData.command(), data);
        assert_eq!(Query::SmartThresholds.command()[4], 0xd1);
    }

    #[test]
    fn other_files_are_an_error() {
        let errno = |path: &str| {
            let error = Disk::open(Path::new(path)).and_then(|disk| disk.query(Query::SmartStatus));
            error.unwrap_err().raw_os_error()
        };
        assert_eq!(errno("/dev/null"), Some(libc::ENOTTY));
        assert_eq!(errno("/nowhere"), Some(libc::ENOENT));
    }

    /// The loop driver supports no such commands.
    #[test]
    fn a_block_device_without_scsi_refuses_queries() {
        let Some(device) = testbed::need(testbed::LoopDevice::with_size(1 << 20, testbed::LoopOptions::default()))
        else {
            return;
        };
        let disk = Disk::open(device.path()).unwrap();
        for query in [
            Query::PowerMode,
            Query::SmartStatus,
            Query::SmartData,
            Query::SmartThresholds,
        ] {
            let error = disk.query(query).unwrap_err();
            // Some drivers return ENOTTY, the loop driver EINVAL.
            let errno = error.raw_os_error();
            assert!(matches!(errno, Some(libc::ENOTTY | libc::EINVAL)), "{query:?}: {error}");
        }
    }
}
