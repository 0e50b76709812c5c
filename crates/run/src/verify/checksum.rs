//! The checksums of fio's verification, byte for byte as fio writes them.
//!
//! Some checksums differ from the algorithm of the same name. They are reproduced so that each
//! program accepts the other's data. fio's `crc32` is not reflected and begins with 0. `crc32c` is
//! not inverted at its end. `sha1` has its words in native byte order. `sha256` and `sha512` store
//! the working buffer instead of the digest. For SHA-256, that is the last padded block, its start
//! overwritten by one byte of each state word. For SHA-512, it is the data that did not fill a
//! block.

use md5::Digest;
use model::plan::VerifyMethod;
use sha2::block_api::compress256;
use sha3::{Sha3_224, Sha3_256, Sha3_384, Sha3_512};

/// A CRC that processes sixteen bytes at a time with tables.
type Crc<W> = crc::Crc<W, crc::Table<16>>;

static CRC64: Crc<u64> = Crc::<u64>::new(&crc::CRC_64_REDIS);
static CRC32: Crc<u32> = Crc::<u32>::new(&crc::Algorithm {
    width: 32,
    poly: 0x04c1_1db7,
    init: 0,
    refin: false,
    refout: false,
    xorout: 0,
    check: 0,
    residue: 0,
});
static CRC16: Crc<u16> = Crc::<u16>::new(&crc::CRC_16_ARC);
static CRC7: Crc<u8> = Crc::<u8>::new(&crc::CRC_7_MMC);

/// The maximum length of a checksum in bytes.
pub(super) const MAX_BYTES: usize = 128;

/// A checksum of up to [`MAX_BYTES`] bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Checksum {
    bytes: [u8; MAX_BYTES],
    length: usize,
}

impl Checksum {
    /// Computes the checksum of `data`. It is empty for methods without a checksum.
    pub(super) fn compute(method: VerifyMethod, data: &[u8]) -> Checksum {
        let mut sum = Checksum {
            bytes: [0; MAX_BYTES],
            length: width(method),
        };
        let out = &mut sum.bytes[..sum.length];
        match method {
            VerifyMethod::Md5 => out.copy_from_slice(&md5::Md5::digest(data)),
            VerifyMethod::Crc64 => out.copy_from_slice(&CRC64.checksum(data).to_ne_bytes()),
            VerifyMethod::Crc32 => out.copy_from_slice(&CRC32.checksum(data).to_ne_bytes()),
            VerifyMethod::Crc32c => out.copy_from_slice(&crc32c(data).to_ne_bytes()),
            VerifyMethod::Crc16 => out.copy_from_slice(&CRC16.checksum(data).to_ne_bytes()),
            VerifyMethod::Crc7 => out[0] = CRC7.checksum(data),
            VerifyMethod::Sha1 => {
                let digest = sha1::Sha1::digest(data);
                for (word, place) in digest.as_chunks::<4>().0.iter().zip(out.as_chunks_mut::<4>().0) {
                    *place = u32::from_be_bytes(*word).to_ne_bytes();
                }
            }
            VerifyMethod::Sha256 => compute_fio_sha256(data, out),
            VerifyMethod::Sha512 => compute_fio_sha512(data, out),
            VerifyMethod::Sha3_224 => out.copy_from_slice(&Sha3_224::digest(data)),
            VerifyMethod::Sha3_256 => out.copy_from_slice(&Sha3_256::digest(data)),
            VerifyMethod::Sha3_384 => out.copy_from_slice(&Sha3_384::digest(data)),
            VerifyMethod::Sha3_512 => out.copy_from_slice(&Sha3_512::digest(data)),
            VerifyMethod::Xxhash => out.copy_from_slice(&xxhash_rust::xxh32::xxh32(data, 1).to_ne_bytes()),
            VerifyMethod::Header | VerifyMethod::Pattern | VerifyMethod::PatternWithHeader | VerifyMethod::None => {}
        }
        sum
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// Computes a checksum to measure its speed. Computes the full digests of SHA-256 and SHA-512.
pub fn compute(method: VerifyMethod, data: &[u8]) {
    match method {
        VerifyMethod::Sha256 => drop(std::hint::black_box(sha2::Sha256::digest(data))),
        VerifyMethod::Sha512 => drop(std::hint::black_box(sha2::Sha512::digest(data))),
        method => drop(std::hint::black_box(Checksum::compute(method, data))),
    }
}

/// Returns the length in bytes of the checksum's field.
pub(super) fn width(method: VerifyMethod) -> usize {
    match method {
        VerifyMethod::Md5 => 16,
        VerifyMethod::Crc64 => 8,
        VerifyMethod::Crc32 | VerifyMethod::Crc32c | VerifyMethod::Xxhash => 4,
        VerifyMethod::Crc16 => 2,
        VerifyMethod::Crc7 => 1,
        VerifyMethod::Sha1 => 20,
        VerifyMethod::Sha256 => 64,
        VerifyMethod::Sha512 => 128,
        VerifyMethod::Sha3_224 => 28,
        VerifyMethod::Sha3_256 => 32,
        VerifyMethod::Sha3_384 => 48,
        VerifyMethod::Sha3_512 => 64,
        VerifyMethod::Header | VerifyMethod::Pattern | VerifyMethod::PatternWithHeader | VerifyMethod::None => 0,
    }
}

/// Computes CRC-32C without the inversion at its end.
pub(super) fn crc32c(data: &[u8]) -> u32 {
    !crc32c::crc32c(data)
}

/// True if fio's checksum misses most errors. Then the record of a block needs another hash.
pub(super) fn needs_extra_hash(method: VerifyMethod) -> bool {
    method == VerifyMethod::Sha512
}

/// Computes the buffer that fio's SHA-256 leaves. It is the last padded block, with the length of
/// the data in native byte order, and starts with the lowest byte of each state word.
fn compute_fio_sha256(data: &[u8], out: &mut [u8]) {
    const START: [u32; 8] = [
        0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
    ];
    let mut state = START;
    let (blocks, rest) = data.as_chunks::<64>();
    compress256(&mut state, blocks);
    let mut last = [0; 64];
    last[..rest.len()].copy_from_slice(rest);
    last[rest.len()] = 0x80;
    // Without enough room, the length needs another block.
    if rest.len() >= 56 {
        compress256(&mut state, &[last]);
        last = [0; 64];
    }
    last[56..].copy_from_slice(&(data.len() as u64 * 8).to_ne_bytes());
    compress256(&mut state, &[last]);
    out.copy_from_slice(&last);
    for (place, word) in out.iter_mut().zip(state) {
        *place = word as u8;
    }
}

/// Computes the buffer that fio's SHA-512 leaves. fio never finalises it, so it holds the first
/// block, overwritten from its start by the data that did not fill a block.
fn compute_fio_sha512(data: &[u8], out: &mut [u8]) {
    out.fill(0);
    let rest = data.len() % 128;
    if data.len() >= 128 {
        out.copy_from_slice(&data[..128]);
    }
    out[..rest].copy_from_slice(&data[data.len() - rest..]);
}
