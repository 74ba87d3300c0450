//! Components for tests, each a crate in tests/guests, built as becalm's own is.

#![allow(dead_code, reason = "every test program uses a part of it")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use tempfile::TempDir;
use wit_component::ComponentEncoder;

/// The component that this package is the source of.
pub(crate) fn component(package: &str) -> Vec<u8> {
    // guest/target.sh names a folder where it had to build them by other means.
    match env::var_os(ELSEWHERE) {
        Some(folder) => encoded(Path::new(&folder), package),
        None => built(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")), "guests", package),
    }
}

/// The same from the sources in this folder. With a target folder of its own: others may be building in the common one.
pub(crate) fn built(root: &Path, target: &str, package: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(target);
    let home = env::var_os("CARGO_HOME").map_or_else(|| env::home_dir().unwrap().join(".cargo"), PathBuf::from);
    let status = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--package", package, "--profile", "component", "--target", TARGET])
        .arg("--manifest-path")
        .arg(root.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&folder)
        .env("CARGO_ENCODED_RUSTFLAGS", format!("--remap-path-prefix={}=cargo", home.display()))
        .env_remove("CARGO_BUILD_TARGET")
        .status()
        .unwrap();
    assert!(status.success(), "{package} does not build");
    encoded(&folder.join(TARGET).join("component"), package)
}

/// That component with becalm's in it, by a program of its own.
pub(crate) fn composed(package: &str) -> Vec<u8> {
    let folder = TempDir::new().unwrap();
    let file = |name: &str| folder.path().join(name);
    fs::write(file("becalm.wasm"), becalm::COMPONENT).unwrap();
    fs::write(file("other.wasm"), component(package)).unwrap();
    let status = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--release", "--package", "becalm-compose"])
        .args(["--manifest-path", concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml")])
        .args(["--target-dir", concat!(env!("CARGO_TARGET_TMPDIR"), "/compose"), "--"])
        .args(["becalm.wasm", "other.wasm", "composed.wasm"].map(file))
        .status()
        .unwrap();
    assert!(status.success(), "{package} cannot be composed");
    fs::read(file("composed.wasm")).unwrap()
}

fn encoded(folder: &Path, package: &str) -> Vec<u8> {
    let file = folder.join(format!("{}.wasm", package.replace('-', "_")));
    let module = fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    ComponentEncoder::default().validate(true).module(&module).unwrap().encode().unwrap()
}

/// Where guests were built by other means.
pub(crate) const ELSEWHERE: &str = "BECALM_GUESTS";

const TARGET: &str = "wasm32-unknown-unknown";
