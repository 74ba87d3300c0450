//! Components for tests, each a crate in tests/guests, built as becalm's own is.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use wit_component::ComponentEncoder;

/// The component that this package is the source of.
pub(crate) fn component(package: &str) -> Vec<u8> {
    // guest/target.sh names a folder where it had to build them by other means.
    let folder = env::var_os("BECALM_GUESTS").map_or_else(|| built(package), PathBuf::from);
    let file = folder.join(format!("{}.wasm", package.replace('-', "_")));
    let module = fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    ComponentEncoder::default().validate(true).module(&module).unwrap().encode().unwrap()
}

/// With a target folder of its own: others may be building in the common one.
fn built(package: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("guests");
    let status = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--package", package, "--profile", "component", "--target", TARGET])
        .args(["--manifest-path", concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml")])
        .arg("--target-dir")
        .arg(&folder)
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("CARGO_BUILD_TARGET")
        .status()
        .unwrap();
    assert!(status.success(), "{package} does not build");
    folder.join(TARGET).join("component")
}

const TARGET: &str = "wasm32-unknown-unknown";
