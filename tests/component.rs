//! The built component: what it may reach, and how large it is.

use becalm::{COMPONENT, Sandbox};

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

/// 459 KB when this was written, of which 62 KB are names.
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
    assert_eq!(sandbox.exports(), ["becalm:batch/analyzer@0.1.0"]);
}

#[test]
fn it_stays_small() {
    assert!(COMPONENT.len() <= MOST_BYTES, "{} bytes", COMPONENT.len());
}
