//! The header before the data of each checked piece, in fio's layout. fio 3.38 and later write 48
//! bytes. Earlier versions wrote 40, with a shorter write number and the kind of checksum in two
//! bytes. New data gets the new form; the form of existing data is detected from each header.

use model::mismatch::{BlockFault, HeaderField};
use model::plan::VerifyMethod;

use super::checksum::crc32c;

const MAGIC: u16 = 0xacca;
/// The byte of the new form at the position of the old form's kind.
const VERSION: u8 = 0x81;

/// The layout of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// The current header of 48 bytes.
    Current,
    /// The older header of 40 bytes.
    Old,
}

/// The fields of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) length: u32,
    pub(super) seed: u64,
    pub(super) offset: u64,
    pub(super) time_ns: u64,
    pub(super) number: u64,
    pub(super) job: u16,
}

/// The expected fields of a header. An absent field is not checked.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExpectedHeader {
    pub(super) length: u32,
    pub(super) seed: Option<u64>,
    pub(super) offset: u64,
    pub(super) number: Option<u64>,
}

impl Form {
    /// Returns the length of the header in bytes, without the checksum that follows it.
    pub(super) fn bytes(self) -> usize {
        match self {
            Form::Current => 48,
            Form::Old => 40,
        }
    }

    /// Detects the form of a header. Returns the new form unless the header is clearly old.
    pub(super) fn detect(piece: &[u8]) -> Form {
        let old = piece[2] != VERSION && piece[3] == 0;
        if old { Form::Old } else { Form::Current }
    }
}

/// Returns fio's number of a method.
fn method_number(method: VerifyMethod) -> u8 {
    match method {
        VerifyMethod::Header => 1,
        VerifyMethod::Md5 => 2,
        VerifyMethod::Crc64 => 3,
        VerifyMethod::Crc32 => 4,
        VerifyMethod::Crc32c => 5,
        VerifyMethod::Crc16 => 7,
        VerifyMethod::Crc7 => 8,
        VerifyMethod::Sha256 => 9,
        VerifyMethod::Sha512 => 10,
        VerifyMethod::Sha3_224 => 11,
        VerifyMethod::Sha3_256 => 12,
        VerifyMethod::Sha3_384 => 13,
        VerifyMethod::Sha3_512 => 14,
        VerifyMethod::Xxhash => 15,
        VerifyMethod::Sha1 => 16,
        VerifyMethod::PatternWithHeader => 17,
        VerifyMethod::Pattern => 18,
        VerifyMethod::None => 19,
    }
}

/// Reads the seed from the header of a piece. `None` if there is no header.
pub(crate) fn read_seed(piece: &[u8]) -> Option<u64> {
    let seed = piece.get(8..16)?.try_into().ok()?;
    (piece[..2] == MAGIC.to_ne_bytes()).then(|| u64::from_ne_bytes(seed))
}

/// Reads the write number from the header of a piece. `None` if there is no header.
pub(super) fn read_write_number(piece: &[u8]) -> Option<u64> {
    let number = piece.get(32..40)?.try_into().ok()?;
    (piece[..2] == MAGIC.to_ne_bytes()).then(|| u64::from_ne_bytes(number))
}

impl Header {
    /// Writes the header at the start of a piece.
    pub(super) fn write(&self, form: Form, method: VerifyMethod, piece: &mut [u8]) {
        let mut at = 0;
        let mut put = |bytes: &[u8]| {
            piece[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        };
        put(&MAGIC.to_ne_bytes());
        match form {
            Form::Current => put(&[VERSION, method_number(method)]),
            Form::Old => put(&u16::from(method_number(method)).to_ne_bytes()),
        }
        put(&self.length.to_ne_bytes());
        put(&self.seed.to_ne_bytes());
        put(&self.offset.to_ne_bytes());
        put(&((self.time_ns / 1_000_000_000) as u32).to_ne_bytes());
        put(&((self.time_ns % 1_000_000_000) as u32).to_ne_bytes());
        match form {
            Form::Current => {
                put(&self.number.to_ne_bytes());
                put(&self.job.to_ne_bytes());
                put(&[0; 2]);
            }
            Form::Old => {
                put(&self.job.to_ne_bytes());
                put(&(self.number as u16).to_ne_bytes());
            }
        }
        let end = form.bytes() - 4;
        let checksum = crc32c(&piece[..end]);
        piece[end..end + 4].copy_from_slice(&checksum.to_ne_bytes());
    }

    /// Checks the header of a piece, in fio's order. Returns its form.
    pub(super) fn check(piece: &[u8], expected_fields: &ExpectedHeader) -> Result<Form, BlockFault> {
        let found = u16::from_ne_bytes([piece[0], piece[1]]);
        if found != MAGIC {
            return Err(BlockFault::Magic { found, expected: MAGIC });
        }
        let form = Form::detect(piece);
        let word = |at: usize| u64::from(u32::from_ne_bytes(std::array::from_fn(|index| piece[at + index])));
        let long = |at: usize| u64::from_ne_bytes(std::array::from_fn(|index| piece[at + index]));
        let require = |field: HeaderField, found: u64, expected: u64| {
            if found == expected {
                return Ok(());
            }
            Err(BlockFault::Header { field, found, expected })
        };
        require(HeaderField::Length, word(4), u64::from(expected_fields.length))?;
        if let Some(seed) = expected_fields.seed {
            require(HeaderField::Seed, long(8), seed)?;
        }
        require(HeaderField::Offset, long(16), expected_fields.offset)?;
        if let Some(number) = expected_fields.number {
            match form {
                Form::Current => require(HeaderField::Number, long(32), number)?,
                Form::Old => {
                    let stored = u16::from_ne_bytes([piece[34], piece[35]]);
                    require(HeaderField::Number, u64::from(stored), number & 0xffff)?;
                }
            }
        }
        let end = form.bytes() - 4;
        require(HeaderField::Checksum, word(end), u64::from(crc32c(&piece[..end])))?;
        Ok(form)
    }
}
