//! Prints verification options.

use model::plan::{TrimWritten, VerifyMethod};

use super::Section;
use crate::notation::format_hexadecimal;

/// The value of `verify` for a method.
pub fn verify_method_name(method: VerifyMethod) -> &'static str {
    match method {
        VerifyMethod::Md5 => "md5",
        VerifyMethod::Crc64 => "crc64",
        VerifyMethod::Crc32 => "crc32",
        VerifyMethod::Crc32c => "crc32c",
        VerifyMethod::Crc16 => "crc16",
        VerifyMethod::Crc7 => "crc7",
        VerifyMethod::Sha1 => "sha1",
        VerifyMethod::Sha256 => "sha256",
        VerifyMethod::Sha512 => "sha512",
        VerifyMethod::Sha3_224 => "sha3-224",
        VerifyMethod::Sha3_256 => "sha3-256",
        VerifyMethod::Sha3_384 => "sha3-384",
        VerifyMethod::Sha3_512 => "sha3-512",
        VerifyMethod::Xxhash => "xxhash",
        VerifyMethod::Header => "meta",
        VerifyMethod::Pattern => "pattern",
        VerifyMethod::PatternWithHeader => "pattern_hdr",
        VerifyMethod::None => "null",
    }
}

/// A pattern with `%o` in place of block offsets.
pub(in crate::fio) fn verify_pattern(section: &Section<'_>) -> Option<String> {
    /// Bytes of an offset.
    const OFFSET: usize = 8;
    let verify = section.stream().verify.as_ref()?;
    let (pattern, mut text, mut from) = (&verify.pattern, String::new(), 0);
    let bytes = |bytes: &[u8]| match bytes.is_empty() {
        true => String::new(),
        false => format!("0x{}", format_hexadecimal(bytes)),
    };
    for offset in &verify.pattern_offsets {
        let to = (*offset as usize).clamp(from, pattern.len());
        text += &bytes(&pattern[from..to]);
        text += "%o";
        from = (to + OFFSET).min(pattern.len());
    }
    Some(text + &bytes(&pattern[from..])).filter(|text| !text.is_empty())
}

pub(in crate::fio) fn verify_async_cpus(section: &Section<'_>) -> Option<String> {
    let verify = section.stream().verify.as_ref()?;
    let list: Vec<String> = verify.processors.iter().map(u32::to_string).collect();
    (!list.is_empty()).then(|| list.join(","))
}

pub(in crate::fio) fn trims<'a>(section: &Section<'a>) -> Option<&'a TrimWritten> {
    section.stream().verify.as_ref()?.trims.as_ref()
}
