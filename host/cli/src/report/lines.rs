//! Files that are read line by line.

use std::io::BufRead;

use anyhow::Result;

/// Reads line by line, each with its number from 1; a torn last line is left out.
pub(super) fn each_line(mut file: impl BufRead, mut take: impl FnMut(u64, &[u8]) -> Result<()>) -> Result<()> {
    let mut bytes = vec![];
    for number in 1.. {
        bytes.clear();
        file.read_until(b'\n', &mut bytes)?;
        if !bytes.ends_with(b"\n") {
            break;
        }
        take(number, &bytes)?;
    }
    Ok(())
}
