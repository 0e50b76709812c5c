//! Questions that an ATA disk answers about itself, through the kernel's SCSI layer (`SG_IO`, T10
//! SAT: ATA PASS-THROUGH (16)).

use std::ffi::c_void;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Length of what a disk answers in one block.
pub const BLOCK: usize = 512;

/// What is asked. There are no others, so that nothing can be sent that would change a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// CHECK POWER MODE: leaves the mode as it is.
    PowerMode,
    /// SMART RETURN STATUS.
    SmartStatus,
    /// SMART READ DATA: a block.
    SmartData,
    /// SMART READ THRESHOLDS: a block.
    SmartThresholds,
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status of the SCSI command: 0 or, with sense data, 2.
    pub status: u8,
    /// Sense data, in which the registers of the disk come back where they are the answer.
    pub sense: Vec<u8>,
    /// The block, where one was asked for and all of it came.
    pub block: Option<Box<[u8; BLOCK]>>,
}

/// `struct sg_io_hdr` (scsi/sg.h).
#[repr(C)]
struct Header {
    interface: i32,
    direction: i32,
    command_length: u8,
    sense_room: u8,
    vectors: u16,
    length: u32,
    data: *mut c_void,
    command: *const u8,
    sense: *mut u8,
    timeout_ms: u32,
    flags: u32,
    identity: i32,
    user: *mut c_void,
    status: u8,
    masked_status: u8,
    message_status: u8,
    sense_length: u8,
    host_status: u16,
    driver_status: u16,
    missing: i32,
    duration_ms: u32,
    info: u32,
}

/// A disk that can be asked. Opening it waits for no medium.
#[derive(Debug)]
pub struct Disk(File);

impl Disk {
    /// Opens it for reading.
    ///
    /// # Errors
    /// That of the system.
    pub fn open(path: &Path) -> io::Result<Disk> {
        let mut how = OpenOptions::new();
        how.read(true).custom_flags(libc::O_NONBLOCK);
        how.open(path).map(Disk)
    }

    /// Asks. The kernel lets root do so (`CAP_SYS_RAWIO`).
    ///
    /// # Errors
    /// That of the system: it takes no such commands (`ENOTTY`, `EINVAL`), the caller may not ask,
    /// or the command did not reach the disk.
    pub fn ask(&self, question: Question) -> io::Result<Answer> {
        const SG_IO: libc::Ioctl = 0x2285;
        const NO_DATA: i32 = -1;
        const FROM_DEVICE: i32 = -3;
        // Disks answer within milliseconds; one that has failed is not waited for.
        const PATIENCE_MS: u32 = 5000;
        let command = question.command();
        let mut sense = [0u8; 64];
        let mut block = Box::new([0u8; BLOCK]);
        let with_block = question.brings_a_block();
        let mut header = Header {
            interface: i32::from(b'S'),
            direction: if with_block { FROM_DEVICE } else { NO_DATA },
            command_length: command.len() as u8,
            sense_room: sense.len() as u8,
            vectors: 0,
            length: if with_block { BLOCK as u32 } else { 0 },
            data: block.as_mut_ptr().cast(),
            command: command.as_ptr(),
            sense: sense.as_mut_ptr(),
            timeout_ms: PATIENCE_MS,
            flags: 0,
            identity: 0,
            user: std::ptr::null_mut(),
            status: 0,
            masked_status: 0,
            message_status: 0,
            sense_length: 0,
            host_status: 0,
            driver_status: 0,
            missing: 0,
            duration_ms: 0,
            info: 0,
        };
        let pointer: *mut Header = &mut header;
        // SAFETY: `header` has the layout of `struct sg_io_hdr`. The kernel writes to it, at most
        // `length` bytes to `data`, which is `block` of that length, and at most `sense_room` bytes
        // to `sense`, and reads `command_length` bytes of `command`; all four outlive the call,
        // which returns when the command is over, and they are borrowed nowhere else.
        if unsafe { libc::ioctl(self.0.as_raw_fd(), SG_IO, pointer) } < 0 {
            return Err(io::Error::last_os_error());
        }
        if header.host_status != 0 {
            let status = header.host_status;
            return Err(io::Error::other(format!(
                "the command ended on its way with status {status:#x}"
            )));
        }
        let sense = sense[..usize::from(header.sense_length).min(sense.len())].to_vec();
        let whole = with_block && header.missing == 0 && header.status == 0;
        Ok(Answer {
            status: header.status,
            sense,
            block: whole.then_some(block),
        })
    }
}

impl Question {
    fn brings_a_block(self) -> bool {
        matches!(self, Question::SmartData | Question::SmartThresholds)
    }

    /// ATA PASS-THROUGH (16). Registers, as ACS names them: feature, count, LBA and command.
    fn command(self) -> [u8; 16] {
        const PASS_THROUGH_16: u8 = 0x85;
        const CHECK_POWER_MODE: u8 = 0xe5;
        const SMART: u8 = 0xb0;
        let (feature, command) = match self {
            Question::PowerMode => (0, CHECK_POWER_MODE),
            Question::SmartStatus => (0xda, SMART),
            Question::SmartData => (0xd0, SMART),
            Question::SmartThresholds => (0xd1, SMART),
        };
        let mut bytes = [0; 16];
        bytes[0] = PASS_THROUGH_16;
        if self.brings_a_block() {
            // PIO data-in; from the device, in blocks, as many as the count says.
            (bytes[1], bytes[2], bytes[6]) = (4 << 1, 0b0000_1110, 1);
        } else {
            // No data; the registers are wanted back.
            (bytes[1], bytes[2]) = (3 << 1, 0b0010_0000);
        }
        bytes[4] = feature;
        if command == SMART {
            // The key without which disks refuse the command.
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
            size_of::<Header>(),
            if cfg!(target_pointer_width = "64") { 88 } else { 64 }
        );
    }

    #[test]
    fn commands_are_those_of_the_standard() {
        let power = [0x85, 0x06, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xe5, 0];
        assert_eq!(Question::PowerMode.command(), power);
        let status = [0x85, 0x06, 0x20, 0, 0xda, 0, 0, 0, 0, 0, 0x4f, 0, 0xc2, 0, 0xb0, 0];
        assert_eq!(Question::SmartStatus.command(), status);
        let data = [0x85, 0x08, 0x0e, 0, 0xd0, 0, 1, 0, 0, 0, 0x4f, 0, 0xc2, 0, 0xb0, 0];
        assert_eq!(Question::SmartData.command(), data);
        assert_eq!(Question::SmartThresholds.command()[4], 0xd1);
    }

    #[test]
    fn what_is_no_disk_is_an_error() {
        let errno = |path: &str| {
            let error = Disk::open(Path::new(path)).and_then(|disk| disk.ask(Question::SmartStatus));
            error.unwrap_err().raw_os_error()
        };
        assert_eq!(errno("/dev/null"), Some(libc::ENOTTY));
        assert_eq!(errno("/nowhere"), Some(libc::ENOENT));
    }

    /// The block layer's way to the driver, which takes no such commands.
    #[test]
    fn a_block_device_without_scsi_says_that_it_takes_no_such_commands() {
        let Some(device) = testbed::need(testbed::LoopDevice::of_size(1 << 20, testbed::LoopOptions::default())) else {
            return;
        };
        let disk = Disk::open(device.path()).unwrap();
        for question in [
            Question::PowerMode,
            Question::SmartStatus,
            Question::SmartData,
            Question::SmartThresholds,
        ] {
            let error = disk.ask(question).unwrap_err();
            // Some drivers say that there is no such request, the loop driver that it is an invalid
            // one.
            let errno = error.raw_os_error();
            assert!(
                matches!(errno, Some(libc::ENOTTY | libc::EINVAL)),
                "{question:?}: {error}"
            );
        }
    }
}
