//! Log pages of NVMe devices.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

/// The namespace that every device has.
pub const FIRST_NAMESPACE: u32 = 1;

/// `struct nvme_passthru_cmd` (linux/nvme_ioctl.h).
#[derive(Debug, Default)]
#[repr(C)]
struct AdminCommand {
    opcode: u8,
    flags: u8,
    reserved: u16,
    namespace: u32,
    words_2_3: [u32; 2],
    metadata: u64,
    address: u64,
    metadata_length: u32,
    length: u32,
    words_10_15: [u32; 6],
    timeout_ms: u32,
    result: u32,
}

/// Reads the start of a log page of a namespace or of the controller. The command is Get Log Page
/// (NVM Express Base Specification 5.1.12), which changes nothing. `length` is a multiple of four.
///
/// # Errors
/// The system's error: not an NVMe device, no such page, or no permission.
pub fn log_page(device: &Path, number: u8, namespace: u32, length: usize) -> io::Result<Vec<u8>> {
    const GET_LOG_PAGE: u8 = 0x02;
    // _IOWR('N', 0x41, struct nvme_admin_cmd)
    const NVME_IOCTL_ADMIN_CMD: libc::Ioctl = 0xc048_4e41_u32 as libc::Ioctl;
    // Linux 6.2 and later require read access to the device, earlier kernels root. Neither writes.
    let file = File::open(device)?;
    let mut page = vec![0u8; length];
    // The command takes the count minus one in sixteen bits.
    let double_words = (length / 4).saturating_sub(1).min(0xffff) as u32;
    let mut command = AdminCommand {
        opcode: GET_LOG_PAGE,
        namespace,
        address: page.as_mut_ptr() as u64,
        length: length as u32,
        words_10_15: [u32::from(number) | double_words << 16, 0, 0, 0, 0, 0],
        ..AdminCommand::default()
    };
    let pointer: *mut AdminCommand = &mut command;
    // SAFETY: `command` has the layout of `struct nvme_passthru_cmd` (72 bytes, as the request
    // number says). The kernel writes to it and at most `length` bytes to `address`, which is
    // `page`, not borrowed elsewhere until the call returns.
    match unsafe { libc::ioctl(file.as_raw_fd(), NVME_IOCTL_ADMIN_CMD, pointer) } {
        0 => Ok(page),
        // The kernel returns the status of the command as a positive number.
        status if status > 0 => Err(io::Error::other(format!("the device returned status {status:#x}"))),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_has_the_size_in_the_request() {
        assert_eq!(size_of::<AdminCommand>(), 72);
    }

    #[test]
    fn other_files_are_an_error() {
        assert!(log_page(Path::new("/dev/null"), 0xd0, FIRST_NAMESPACE, 4096).is_err());
        assert!(log_page(Path::new("/nowhere"), 0xd0, FIRST_NAMESPACE, 4096).is_err());
    }
}
