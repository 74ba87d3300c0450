//! What a token is taken for, until somebody counts it.

/// Of a text of so many bytes: a token is some four bytes of English. (The component reckons the same.)
pub(crate) const fn estimated(bytes: u64) -> u64 {
    bytes.div_ceil(BYTES_PER_TOKEN)
}

pub(crate) const BYTES_PER_TOKEN: u64 = 4;
