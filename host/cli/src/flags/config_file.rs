//! Where a flag is not given: the environment, then `becalm.toml` in this folder, then the user's own, then becalm's own
//! default. Names are those of the flags, so there is one list of them. A folder may come from somebody else: its file may not
//! say where the key goes, whom to trust, or which files are written.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Context, Result, anyhow, bail};
use clap::builder::{BoolishValueParser, StyledStr};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, ArgMatches, Command};
use etcetera::BaseStrategy;
use toml::{Table, Value};

use crate::terminal::output::aside;

/// Reads the command line, with defaults from the environment and from the file. Ends the process as clap does, for help
/// and for mistakes.
///
/// # Errors
///
/// If the file cannot be used.
pub(crate) fn matches(command: Command) -> Result<ArgMatches> {
    let named = std::env::var_os("BECALM_CONFIG").map(PathBuf::from);
    let is_configured =
        std::env::args_os().nth(1).is_some_and(|command| CONFIGURED.iter().any(|known| command == *known));
    let (mut file, mut origins) = (Table::new(), BTreeMap::new());
    // Other commands take nothing from them.
    let places = match named {
        _ if !is_configured => vec![],
        Some(named) => vec![Place { path: named, is_needed: true, is_trusted: true }],
        None => {
            let own = own_file().map(|path| Place { path, is_needed: false, is_trusted: true });
            own.into_iter().chain([Place { path: FILE.into(), is_needed: false, is_trusted: false }]).collect()
        }
    };
    for place in &places {
        for (key, value) in place.read(&command)? {
            origins.insert(key.clone(), place.path.display().to_string());
            file.insert(key, value);
        }
    }
    let mut command = command;
    for subcommand in CONFIGURED {
        command = command.mut_subcommand(subcommand, |subcommand| {
            subcommand.mut_args(|arg| with_file(with_environment(arg), &file))
        });
    }
    Ok(command.try_get_matches().unwrap_or_else(|error| {
        let _ = error.print();
        if let Some(key) = comes_from(&error, &file) {
            aside(format_args!("hint: {key} is set in {}", origins[key]));
        }
        std::process::exit(error.exit_code())
    }))
}

/// A file of defaults.
struct Place {
    path: PathBuf,
    is_needed: bool,
    /// Whether it is the user's own.
    is_trusted: bool,
}

impl Place {
    fn read(&self, command: &Command) -> Result<Table> {
        let name = self.path.display();
        let file = match std::fs::read_to_string(&self.path) {
            Ok(text) => text.parse::<Table>().map_err(|error| {
                // Not the whole error: it shows the line, and that may hold a key.
                let line = error.span().map_or(0, |span| text[..span.start].lines().count().max(1));
                anyhow!("{name}, line {line}: it is no TOML: {}", error.message())
            })?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && !self.is_needed => Table::new(),
            Err(error) => return Err(error).with_context(|| format!("cannot read {name}")),
        };
        if let Some(unknown) = file.keys().find(|key| !is_known(command, key)) {
            let hint = match unknown.contains("key") {
                true => "the key belongs in the environment, as OPENAI_API_KEY",
                false => "names are those of the flags of run, plan and probe, such as max-in-flight",
            };
            bail!("{name}: there is no flag --{unknown}\nhint: {hint}");
        }
        if let Some(trusted) = file.keys().find(|key| !self.is_trusted && OWN_ONLY.contains(&key.as_str())) {
            bail!(
                "{name}: {trusted} is not taken from the folder where becalm is started, which may be somebody else's\n\
                 hint: give it as a flag, in the environment, or in {}",
                own_file().map_or("the file that BECALM_CONFIG names".into(), |path| path.display().to_string())
            );
        }
        Ok(file)
    }
}

/// The user's own file.
fn own_file() -> Option<PathBuf> {
    Some(etcetera::choose_base_strategy().ok()?.config_dir().join("becalm").join(FILE))
}

fn is_known(command: &Command, key: &str) -> bool {
    let configured = command.get_subcommands().filter(|subcommand| CONFIGURED.contains(&subcommand.get_name()));
    configured.flat_map(Command::get_arguments).any(|arg| arg.get_long() == Some(key))
}

/// `BECALM_MAX_IN_FLIGHT` for `--max-in-flight`.
fn with_environment(arg: Arg) -> Arg {
    let Some(long) = arg.get_long().filter(|_| arg.get_env().is_none()) else { return arg };
    let name = OsString::from(format!("BECALM_{}", long.to_ascii_uppercase().replace('-', "_")));
    let is_switch = matches!(arg.get_action(), ArgAction::SetTrue);
    // It would double the length of the help.
    let arg = arg.env(name).hide_env(true);
    if is_switch { arg.value_parser(BoolishValueParser::new()) } else { arg }
}

fn with_file(arg: Arg, file: &Table) -> Arg {
    let Some(value) = arg.get_long().and_then(|long| file.get(long)) else { return arg };
    let values = match value {
        Value::Array(values) => values.iter().map(text).collect(),
        value => vec![text(value)],
    };
    // The help names the default that holds, not becalm's own beside it.
    let help = arg.get_help().map(StyledStr::to_string).unwrap_or_default();
    let help = help.split_once(" [default: ").map_or(help.clone(), |(help, _)| help.to_string());
    arg.default_values(values).help(help)
}

/// As it would stand on a command line.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Boolean(is_set) => is_set.to_string(),
        // No flag takes such a value, and each says what it takes.
        Value::Datetime(_) | Value::Array(_) | Value::Table(_) => format!("a {}", value.type_str()),
    }
}

/// The entry of the file that a mistake is in: on the command line it is not.
fn comes_from<'a>(error: &clap::Error, file: &'a Table) -> Option<&'a String> {
    let is_of_value = matches!(error.kind(), ErrorKind::ValueValidation | ErrorKind::InvalidValue);
    let Some(ContextValue::String(arg)) = error.get(ContextKind::InvalidArg).filter(|_| is_of_value) else {
        return None;
    };
    let flag = arg.split([' ', '=']).next()?;
    let is_given = std::env::args_os().any(|given| given.to_string_lossy().split('=').next() == Some(flag));
    file.keys().find(|key| flag.strip_prefix("--") == Some(key) && !is_given)
}

pub(crate) const FILE: &str = "becalm.toml";
/// Where the key goes, which one it is, whom it trusts, and which files are read and written.
const OWN_ONLY: [&str; 11] = [
    "base-url",
    "key-env",
    "key-header",
    "header",
    "ca-file",
    "output",
    "events",
    "proxy",
    "system-file",
    "prompt-file",
    "body",
];
/// The commands that have so many flags that one does not want to repeat them.
const CONFIGURED: [&str; 3] = ["run", "plan", "probe"];
