//! What becalm says of itself and of mistakes, kept word for word in `snapshots/`; `INSTA_UPDATE=always cargo test --release
//! --test help` writes them anew.

use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Output};

use becalm::Settings;

fn becalm(folder: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_becalm"));
    command.current_dir(folder).env_clear().args(arguments).envs(environment.iter().copied());
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    format!("{}{}exit {}\n", text(stdout), text(stderr), status.code().unwrap())
}

#[test]
fn every_command_says_what_it_does() {
    let folder = tempfile::tempdir().unwrap();
    let mut said = String::new();
    for command in ["", "run", "plan", "demo", "mock-server", "probe", "report", "component", "completions", "man"] {
        let arguments = [command, "--help"].into_iter().filter(|argument| !argument.is_empty()).collect::<Vec<_>>();
        write!(said, "$ becalm {}\n{}\n", arguments.join(" "), becalm(folder.path(), &arguments, &[])).unwrap();
    }
    insta::assert_snapshot!(said);
}

#[test]
fn every_mistake_is_named_with_a_hint_and_an_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("a.txt", "one");
    write("a.csv", "nr,body\n1,one\n");
    write("twice.jsonl", "{\"id\":1,\"text\":\"x\"}\n{\"id\":1,\"text\":\"y\"}\n");
    write("torn.jsonl", "{\"id\":1,\n");
    write("thesis.jsonl", "my thesis\n");
    write("wrong.toml", "modle = \"m\"\n");
    write("key.toml", "api-key = \"sk-1\"\n");
    write("bare.toml", "model = \"m\"\napi-key = sk-very-secret\n");
    write("value.toml", "jitter = \"soon\"\n");
    let url = "--base-url=http://model.invalid/v1";
    let mut said = String::new();
    for arguments in [
        &["run"][..],
        &["run", "a.txt"],
        &["run", "a.txt", url],
        &["run", "none.txt", url, "--model=m"],
        &["run", "*.pdf", url, "--model=m"],
        &["run", "[", url, "--model=m"],
        &["run", "a.csv", url, "--model=m"],
        &["run", "twice.jsonl", url, "--model=m"],
        &["run", "torn.jsonl", url, "--model=m"],
        &["run", "a.txt", "--base-url=ftp://model.invalid", "--model=m"],
        &["run", "a.txt", url, "--model=m", "--limit=10"],
        &["run", "a.txt", url, "--model=m", "--limit=0/60s"],
        &["run", "a.txt", url, "--model=m", "--max-in-flight=0"],
        &["run", "a.txt", url, "--model=m", "--jitter=soon"],
        &["run", "a.txt", url, "--model=m", "--prompt=text"],
        &["run", "a.txt", url, "--model=m", "--budget=1"],
        &["run", "a.txt", url, "--model=m", "-q", "-v"],
        &["run", "a.txt", url, "--model=m", "--modle=m"],
        &["run", "a.txt", url, "--model=m", "-o", "thesis.jsonl"],
        &["run", "a.txt", url, "--model=m", "-o", "none/out.jsonl"],
        &["run", "a.txt", url, "--model=m", "-o", "out.jsonl", "--events", "none/events.jsonl"],
        &["plan", "a.txt"],
        &["probe", url],
        &["report", "thesis.jsonl"],
        &["mock-server", "--limiter=none", "--tokens=5"],
        &["frobnicate"],
    ] {
        write!(said, "$ becalm {}\n{}\n", arguments.join(" "), becalm(folder.path(), arguments, &[])).unwrap();
    }
    for file in ["wrong.toml", "key.toml", "bare.toml", "value.toml", "thesis.jsonl", "none.toml"] {
        let environment = [("BECALM_CONFIG", file)];
        let text = becalm(folder.path(), &["plan", "a.txt", "--model=m"], &environment);
        write!(said, "$ BECALM_CONFIG={file} becalm plan a.txt --model=m\n{text}\n").unwrap();
    }
    assert!(!said.contains("very-secret"));
    insta::assert_snapshot!(said);
}

/// The help says the component's own defaults.
#[test]
fn the_defaults_in_the_help_are_those_of_the_component() {
    let help = becalm(Path::new("."), &["run", "--help"], &[("COLUMNS", "400")]);
    // One space for any number of them, line ends included.
    let help = help.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
    let Settings { chat, limits, retry, .. } = Settings::default();
    let template = chat.prompt_template.replace("\n\n", " ");
    let seconds = |ms: u64| format!("{}s", ms / 1_000);
    for (flag, default) in [
        ("--system <TEXT>", chat.system_prompt.unwrap()),
        ("--prompt <TEMPLATE>", template),
        ("--max-tokens <N>", chat.max_tokens.unwrap().to_string()),
        ("--max-in-flight <N>", limits.max_in_flight.to_string()),
        ("--pace <SPAN>", limits.pace.to_string()),
        ("--jitter <SPAN>", seconds(retry.jitter)),
        ("--max-attempts <N>", retry.max_attempts.to_string()),
        ("--patience <SPAN>", seconds(retry.patience).replace("3600s", "1h")),
    ] {
        let (_, after) = help.split_once(flag).unwrap_or_else(|| panic!("no {flag}: {help}"));
        let (_, said) = after.split_once("[default: ").unwrap();
        assert!(said.starts_with(&format!("{default}]")), "{flag}: {default}, but {}", &said[..40]);
    }
    assert!(retry.fallback_wait.is_none() && help.contains("[default: one request looks, soon and then ever later]"));
}

/// Flag, environment, file, becalm's own: the first that says something holds.
#[test]
fn a_flag_wins_over_the_environment_and_that_over_the_file() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.txt"), "one").unwrap();
    let amount = |arguments: &[&str], environment: &[(&str, &str)]| {
        let said = becalm(folder.path(), &[&["plan", "a.txt"], arguments].concat(), environment);
        let plan = serde_json::from_str::<serde_json::Value>(said.lines().next().unwrap());
        plan.unwrap_or_else(|error| panic!("{error}: {said}"))["limits"][0]["amount"].as_u64().unwrap()
    };
    let (of_environment, of_flag) = ([("BECALM_LIMIT", "3/60s"), ("BECALM_JSON", "1")], ["--limit", "4/60s"]);
    assert_eq!(amount(&["--model", "m", "--json"], &[]), 60, "assumed");
    std::fs::write(folder.path().join("becalm.toml"), "model = \"m\"\njson = true\nlimit = [\"2/60s\", \"9/1h\"]\n")
        .unwrap();
    assert_eq!(amount(&[], &[]), 2);
    assert_eq!(amount(&[], &of_environment), 3);
    assert_eq!(amount(&of_flag, &of_environment), 4);
    assert_eq!(amount(&of_flag, &[]), 4);
}
