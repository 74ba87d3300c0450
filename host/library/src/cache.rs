//! The compiled component on disk, so that not every process has to compile it. Compiled code is run as it is: it is only
//! taken from a file that nobody but this user can have written, and that is whole.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use tracing::debug;
use wasmtime::Engine;
use wasmtime::component::Component;
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

/// Where a component comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// It was compiled now.
    Compiled,
    /// It was compiled before.
    Loaded,
}

/// The component for this engine: from the folder, else compiled, and left there for the next process. What cannot be read,
/// written or trusted there is as if it were not there.
pub(crate) fn component(engine: &Engine, wasm: &[u8], folder: &Path) -> wasmtime::Result<(Component, Found)> {
    let path = path(engine, wasm, folder);
    match load(engine, &path) {
        Ok(component) => return Ok((component, Found::Loaded)),
        Err(error) => debug!(path = %path.display(), %error, "no compiled component is taken"),
    }
    let component = Component::new(engine, wasm)?;
    let stored = component.serialize().map_err(io::Error::other).and_then(|code| store(&path, &code));
    if let Err(error) = stored {
        debug!(path = %path.display(), %error, "the compiled component is not kept");
    }
    Ok((component, Found::Compiled))
}

/// Another component, another wasmtime, other settings of it or another kind of processor: another file.
fn path(engine: &Engine, wasm: &[u8], folder: &Path) -> PathBuf {
    let mut hasher = Xxh3::new();
    hasher.write(wasm);
    engine.precompile_compatibility_hash().hash(&mut hasher);
    folder.join(format!("{:032x}.compiled", hasher.digest128()))
}

fn load(engine: &Engine, path: &Path) -> wasmtime::Result<Component> {
    let mut file = File::open(path)?;
    let folder = path.parent().unwrap_or(path);
    if !is_ours(&file.metadata()?) || !is_ours(&fs::metadata(folder)?) {
        return Err(io::Error::other("others can write it").into());
    }
    let mut bytes = vec![];
    file.read_to_end(&mut bytes)?;
    let code = bytes.split_first_chunk().filter(|(sum, code)| xxh3_128(code).to_be_bytes() == **sum);
    let (_, code) = code.ok_or_else(|| io::Error::other("it is damaged"))?;
    deserialized(engine, code)
}

#[expect(unsafe_code, reason = "compiled code is taken as it is")]
fn deserialized(engine: &Engine, code: &[u8]) -> wasmtime::Result<Component> {
    // SAFETY: `Component::serialize` wrote it: only this user can write the file, and what is in it is what was written. That
    // it fits this wasmtime and this processor is checked by wasmtime itself.
    unsafe { Component::deserialize(engine, code) }
}

/// Whole or not at all: it is written beside, and renamed.
fn store(path: &Path, code: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    private_folder(folder)?;
    // Drawn anew each time: others may be at it too.
    let beside = path.with_extension(format!("{:016x}", RandomState::new().hash_one(())));
    let written = write(&beside, code).and_then(|()| fs::rename(&beside, path));
    written.inspect_err(|_| drop(fs::remove_file(&beside)))
}

fn write(path: &Path, code: &[u8]) -> io::Result<()> {
    let mut file = private_file(path)?;
    file.write_all(&xxh3_128(code).to_be_bytes())?;
    file.write_all(code)
}

#[cfg(unix)]
fn private_file(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

#[cfg(not(unix))]
fn private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

#[cfg(unix)]
fn private_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn private_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).create(folder)
}

/// Whether nobody but this user can write it.
#[cfg(unix)]
fn is_ours(metadata: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    metadata.uid() == rustix::process::geteuid().as_raw() && metadata.mode() & 0o022 == 0
}

/// Elsewhere nobody can be sure of that from here, so the component is compiled each time.
#[cfg(not(unix))]
fn is_ours(_metadata: &Metadata) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The smallest component: nothing but a header.
    const WASM: &[u8] = b"\0asm\x0d\0\x01\0";

    fn found(folder: &Path) -> Found {
        component(&Engine::default(), WASM, folder).unwrap().1
    }

    /// The one file that is there.
    fn file(folder: &Path) -> PathBuf {
        let mut entries = fs::read_dir(folder).unwrap();
        let file = entries.next().unwrap().unwrap().path();
        assert!(entries.next().is_none(), "nothing is left beside it");
        file
    }

    #[test]
    fn it_is_compiled_once() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("a/b");
        assert_eq!([(); 3].map(|()| found(&folder)), [Found::Compiled, Found::Loaded, Found::Loaded]);
        file(&folder);
    }

    #[test]
    fn what_is_damaged_or_foreign_is_made_anew() {
        let folder = tempfile::tempdir().unwrap();
        found(folder.path());
        let whole = fs::read(file(folder.path())).unwrap();
        let mut flipped = whole.clone();
        flipped[whole.len() / 2] ^= 1;
        let mut code = b"no code at all".to_vec();
        code.splice(0..0, xxh3_128(&code).to_be_bytes());
        for damaged in [&whole[..whole.len() - 1], &flipped, &code, b"", b"short"] {
            fs::write(file(folder.path()), damaged).unwrap();
            assert_eq!([(); 2].map(|()| found(folder.path())), [Found::Compiled, Found::Loaded], "{}", damaged.len());
        }
    }

    #[cfg(unix)]
    #[test]
    fn what_others_can_write_is_not_taken() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        found(folder.path());
        let writable = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        writable(&file(folder.path()), 0o666);
        assert_eq!([(); 2].map(|()| found(folder.path())), [Found::Compiled, Found::Loaded]);
        writable(folder.path(), 0o777);
        assert_eq!([(); 2].map(|()| found(folder.path())), [Found::Compiled; 2]);
    }

    #[test]
    fn where_nothing_can_be_written_it_is_compiled() {
        assert_eq!(found(Path::new("/dev/null/cache")), Found::Compiled);
    }
}
