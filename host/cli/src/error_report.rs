//! Errors as people read them: all causes, and a hint what to do.

use becalm::documents::InputError;
use becalm::outcomes::JournalError;
use becalm::{Error, SettingsError};

use crate::exit::{BrokenOff, Exit};
use crate::terminal::output::aside;

/// Prints an error with all its causes, and a hint where there is one.
pub(crate) fn report(error: &anyhow::Error) -> Exit {
    aside(format_args!("error: {error:#}"));
    if let Some(hint) = error.chain().find_map(hint) {
        aside(format_args!("hint: {hint}"));
    }
    if error.is::<BrokenOff>() { Exit::Unfinished } else { Exit::Usage }
}

/// What to do about it.
fn hint(error: &(dyn std::error::Error + 'static)) -> Option<String> {
    if let Some(error) = error.downcast_ref() {
        return Some(match error {
            InputError::Unreadable { .. } => "check the name and its permissions".into(),
            InputError::Unusable(_) => {
                "a line of JSONL is {\"id\": …, \"text\": …} or {\"custom_id\": …, \"body\": {…}}, a text is UTF-8"
                    .into()
            }
            InputError::NoColumn { .. } => "name the columns with --id-column and --text-column".into(),
            InputError::Pattern { .. } => "write [*], [?] and [[] for the characters themselves".into(),
            InputError::DuplicateId { .. } => "give every document an id of its own".into(),
            InputError::Empty(_) => "name a file, a folder with files, or - for standard input".into(),
        });
    }
    if let Some(error) = error.downcast_ref() {
        return Some(match error {
            JournalError::Unusable { .. } => "choose another file with -o".into(),
            JournalError::Locked { .. } => "wait for it to end, or choose another file with -o".into(),
            JournalError::Foreign { .. } => "name a new file with -o, or one that becalm wrote".into(),
        });
    }
    if error.is::<BrokenOff>() {
        return Some("with -o, run the same command again to go on".into());
    }
    match error.downcast_ref()? {
        Error::Settings(SettingsError { field, .. }) => flag(field).map(|flag| format!("it is set by {flag}")),
        Error::BaseUrl(_) => Some("it looks like https://api.example.com/v1".into()),
        Error::Credentials => Some("the key goes into OPENAI_API_KEY".into()),
        Error::Key => Some("check OPENAI_API_KEY for line ends and stray characters".into()),
        _ => None,
    }
}

/// The flag behind a field of the settings.
fn flag(field: &str) -> Option<&'static str> {
    let flags = [
        ("endpoint.base-url", "--base-url or OPENAI_BASE_URL"),
        ("chat.prompt-template", "--prompt"),
        ("chat.max-tokens", "--max-tokens"),
        ("limits.max-in-flight", "--max-in-flight"),
        ("limits.rates", "--limit or --rpm"),
        ("limits.pace", "--pace"),
        ("retry.max-attempts", "--max-attempts"),
        ("retry.jitter", "--jitter"),
        ("retry.patience", "--patience"),
        ("retry.fallback-wait", "--fallback-wait"),
    ];
    flags.iter().find(|(name, _)| field.starts_with(name)).map(|(_, flag)| *flag)
}
