//! Files that are packed, by what their names end with: `.gz` and `.zst`. They are unpacked as they are read.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

/// How a file is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    None,
    Gzip,
    Zstd,
}

impl Packing {
    /// By its name.
    pub(super) fn of(path: &Path) -> Self {
        match extension(path).as_str() {
            "gz" => Self::Gzip,
            "zst" => Self::Zstd,
            _ => Self::None,
        }
    }

    /// What is in it.
    pub(super) fn reader(self, file: File) -> io::Result<Box<dyn Read>> {
        Ok(match self {
            Self::None => Box::new(file),
            Self::Gzip => Box::new(MultiGzDecoder::new(file)),
            Self::Zstd => Box::new(zstd::Decoder::new(file)?),
        })
    }
}

/// What a name ends with, behind the last point, in lower case.
pub(super) fn extension(path: &Path) -> String {
    path.extension().and_then(|extension| extension.to_str()).unwrap_or_default().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::super::inputs::Inputs;

    #[test]
    fn what_is_packed_is_read_as_what_is_in_it() {
        let folder = tempfile::TempDir::new().unwrap();
        let lines = b"{\"id\":\"a\",\"text\":\"One.\"}\n{\"id\":\"b\",\"text\":\"Two.\"}\n";
        let file = |name: &str, bytes: &[u8]| {
            std::fs::write(folder.path().join(name), bytes).unwrap();
            folder.path().join(name)
        };
        let mut gzip = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
        // Two members, as `cat a.gz b.gz` makes them.
        gzip.write_all(lines).unwrap();
        let mut packed = gzip.finish().unwrap();
        let mut more = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
        more.write_all(b"{\"id\":\"c\",\"text\":\"Three.\"}\n").unwrap();
        packed.extend(more.finish().unwrap());
        let table = zstd::encode_all(&b"id;text\nd;Four.\n"[..], 0).unwrap();
        let named = [
            file("in.jsonl.gz", &packed),
            file("rows.csv.zst", &table),
            file("in.jl", b"{\"id\":\"e\",\"text\":\"Five.\"}\n"),
        ];
        let inputs = Inputs::scan(&named, std::io::empty(), None, &[]).unwrap();
        let ids = inputs.rows().map(|row| row.unwrap().id().to_string()).collect::<Vec<_>>();
        assert_eq!(ids, ["a", "b", "c", "d", "e"]);
        let broken = file("broken.jsonl.gz", b"this is no gzip");
        let error = Inputs::scan(&[broken], std::io::empty(), None, &[]).unwrap_err();
        assert!(error.to_string().contains("cannot read"), "{error}");
    }
}
