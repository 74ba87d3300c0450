//! The command line as a process.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// How a process ended, and what it said.
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The command line in a folder, with nothing of the environment but a key, and this on standard input. The key must not be
/// in what it says.
pub(crate) async fn becalm(folder: &Path, arguments: &[&str], input: &str) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_becalm"));
    command.current_dir(folder).args(arguments).env_clear().env("OPENAI_API_KEY", "sk-very-secret");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let input = input.to_string();
    let output = tokio::task::spawn_blocking(move || {
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    });
    let Output { status, stdout, stderr } = output.await.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let ended = Ended { code: status.code().unwrap(), stdout: text(stdout), stderr: text(stderr) };
    assert!(!ended.stderr.contains("very-secret") && !ended.stdout.contains("very-secret"), "the key was printed");
    ended
}
