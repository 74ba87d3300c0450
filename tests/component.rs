//! The built component: what it may reach, and how large it is.

#[path = "support/guest.rs"]
mod guest;

use std::path::Path;
use std::{env, fs};

use becalm::{COMPONENT, Sandbox};
use tempfile::TempDir;
use walkdir::WalkDir;

/// Nothing else: no files, environment, standard streams or sockets.
const ALLOWED: [&str; 8] = [
    "wasi:http/types",
    "wasi:http/outgoing-handler",
    "wasi:io/error",
    "wasi:io/poll",
    "wasi:io/streams",
    "wasi:clocks/monotonic-clock",
    "wasi:clocks/wall-clock",
    "wasi:random/random",
];

/// 512 KB when this was written.
const MOST_BYTES: usize = 600_000;

#[test]
fn it_imports_http_io_clocks_and_random_and_nothing_else() {
    let sandbox = Sandbox::new().unwrap();
    let imports = sandbox.imports();
    println!("{} bytes, imports {imports:#?}", COMPONENT.len());
    for import in &imports {
        let (name, version) = import.split_once('@').unwrap();
        assert!(ALLOWED.contains(&name), "{import} is not allowed");
        assert_eq!(version, "0.2.4", "older hosts need the older version");
    }
    assert_eq!(sandbox.exports(), ["becalm:batch/analyzer@0.2.0"]);
}

#[test]
fn it_stays_small() {
    assert!(COMPONENT.len() <= MOST_BYTES, "{} bytes", COMPONENT.len());
}

/// Whoever wants to know what the bytes are of can build them.
#[test]
fn it_is_the_same_wherever_it_is_built() {
    if env::var_os(guest::ELSEWHERE).is_some() {
        // Only where it was built in the usual way.
        return;
    }
    let (here, elsewhere) = (Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."), TempDir::new().unwrap());
    for part in ["Cargo.toml", "Cargo.lock", "wit", "guest", "host", "tests/guests", "tests/worlds"] {
        for entry in
            WalkDir::new(here.join(part)).into_iter().map(Result::unwrap).filter(|entry| entry.path().is_file())
        {
            let copy = elsewhere.path().join(entry.path().strip_prefix(&here).unwrap());
            fs::create_dir_all(copy.parent().unwrap()).unwrap();
            fs::copy(entry.path(), copy).unwrap();
        }
    }
    let rebuilt = guest::built(elsewhere.path(), "elsewhere", "becalm-component");
    assert!(rebuilt == COMPONENT, "{} bytes here, {} there", COMPONENT.len(), rebuilt.len());
}
