//! Settings on their way in: the defaults, the checks, and the two forms that the rest works with.

use becalm_policy as policy;
use policy::Delay;
use serde_json::{Map, Value};

use crate::bindings::exports::becalm::batch::analyzer::{
    Chat, Endpoint, Header, Limits, Rate, Retry, Settings, SettingsError, Timeouts, Unit,
};

/// The defaults of the contract. Those of waiting and retrying are the policy's own.
pub(crate) fn defaults() -> Settings {
    let policy = policy::Settings::default();
    Settings {
        endpoint: Endpoint { base_url: String::new(), headers: vec![] },
        chat: Chat {
            model: String::new(),
            system_prompt: Some("You are a document analyst.".into()),
            prompt_template: format!("Analyze this document:\n\n{PLACEHOLDER}"),
            max_tokens: Some(512),
            temperature: None,
            extra: None,
        },
        limits: Limits { max_in_flight: policy.max_in_flight, rates: vec![], pace: policy.pace.as_ms() },
        retry: Retry {
            max_attempts: policy.max_attempts,
            base: policy.base.as_ms(),
            cap: policy.cap.as_ms(),
            jitter: policy.jitter.as_ms(),
            patience: policy.patience.as_ms(),
            fallback_wait: None,
        },
        timeouts: Timeouts {
            connect: 10_000,
            first_byte: 600_000,
            between_bytes: 60_000,
            whole_request: policy.whole_request.as_ms(),
        },
        seed: None,
        trace: false,
    }
}

/// What the policy needs of the settings, checked.
pub(crate) fn policy(settings: &Settings) -> Result<policy::Settings, SettingsError> {
    let Settings { limits, retry, timeouts, .. } = settings;
    let policy = policy::Settings {
        max_in_flight: limits.max_in_flight,
        rates: limits.rates.iter().map(rate).collect(),
        pace: Delay::from_ms(limits.pace),
        max_attempts: retry.max_attempts,
        base: Delay::from_ms(retry.base),
        cap: Delay::from_ms(retry.cap),
        jitter: Delay::from_ms(retry.jitter),
        patience: Delay::from_ms(retry.patience),
        fallback_wait: retry.fallback_wait.map(Delay::from_ms),
        whole_request: Delay::from_ms(timeouts.whole_request),
        about: policy::About { url: url(&settings.endpoint.base_url), model: settings.chat.model.clone() },
    };
    policy.check()?;
    for (field, value) in [
        ("timeouts.connect", timeouts.connect),
        ("timeouts.first-byte", timeouts.first_byte),
        ("timeouts.between-bytes", timeouts.between_bytes),
    ] {
        policy::span(field, Delay::from_ms(value), 1, policy::DAY)?;
    }
    Ok(policy)
}

fn rate(rate: &Rate) -> policy::Rate {
    let unit = match rate.unit {
        Unit::Requests => policy::Unit::Requests,
        Unit::Tokens => policy::Unit::Tokens,
    };
    policy::Rate { unit, amount: rate.amount, window: Delay::from_ms(rate.window) }
}

/// What every request of a batch has in common, checked.
pub(crate) struct Prompt {
    pub(crate) chat: Chat,
    pub(crate) extra: Map<String, Value>,
}

pub(crate) fn prompt(chat: Chat) -> Result<Prompt, SettingsError> {
    if !chat.prompt_template.contains(PLACEHOLDER) {
        return Err(wrong(
            "chat.prompt-template",
            format!("{PLACEHOLDER} does not occur in it; it stands for the document"),
        ));
    }
    if chat.max_tokens == Some(0) {
        return Err(wrong("chat.max-tokens", "0 is out of range: at least 1".into()));
    }
    if chat.temperature.is_some_and(|temperature| !(0.0..=2.0).contains(&temperature)) {
        return Err(wrong("chat.temperature", "out of range: 0 to 2".into()));
    }
    let extra = match chat.extra.as_deref().map(serde_json::from_str) {
        None => Map::new(),
        Some(Ok(Value::Object(members))) => members,
        Some(Ok(_)) => return Err(wrong("chat.extra", "it is JSON, but no object".into())),
        Some(Err(error)) => return Err(wrong("chat.extra", format!("it is no JSON: {error}"))),
    };
    Ok(Prompt { chat, extra })
}

/// Where the requests go, taken apart and checked.
pub(crate) struct Target {
    pub(crate) is_tls: bool,
    pub(crate) authority: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<Header>,
}

pub(crate) fn target(endpoint: Endpoint) -> Result<Target, SettingsError> {
    let fault = |message: &str| wrong("endpoint.base-url", format!("{:?} {message}", endpoint.base_url));
    let (is_tls, rest) = match endpoint.base_url.split_once("://") {
        Some(("https", rest)) => (true, rest),
        Some(("http", rest)) => (false, rest),
        _ => return Err(fault("does not begin with http:// or https://")),
    };
    let rest = url(rest);
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    if authority.is_empty() || authority.contains('@') {
        return Err(fault("needs a host, and no user name"));
    }
    if rest.contains('#') || rest.contains(|c: char| c.is_ascii_control() || c == ' ' || !c.is_ascii()) {
        return Err(fault("may only have host, port, path and query, in ASCII"));
    }
    let (authority, path) = (authority.into(), path.into());
    endpoint.headers.iter().enumerate().try_for_each(header)?;
    Ok(Target { is_tls, authority, path, headers: endpoint.headers })
}

/// Where requests go, with or without the scheme: the base URL may end with slashes, or be the whole address already. Its query
/// stays at the end (Azure's `?api-version=…`).
fn url(base_url: &str) -> String {
    let (path, query) = base_url.split_at(base_url.find('?').unwrap_or(base_url.len()));
    let path = path.trim_end_matches('/');
    format!("{}{METHOD}{query}", path.strip_suffix(METHOD).unwrap_or(path))
}

fn header((index, header): (usize, &Header)) -> Result<(), SettingsError> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let name = header.name.as_str();
    if name.is_empty()
        || !name.bytes().all(is_token)
        || header.value.contains(|c: char| c.is_ascii_control() && c != '\t')
    {
        return Err(wrong(&format!("endpoint.headers[{index}]"), format!("{name:?} cannot be sent as a header field")));
    }
    Ok(())
}

fn wrong(field: &str, message: String) -> SettingsError {
    SettingsError { field: field.into(), message }
}

impl From<policy::SettingsError> for SettingsError {
    fn from(error: policy::SettingsError) -> Self {
        Self { field: error.field, message: error.message }
    }
}

/// Stands for the document in the prompt template.
pub(crate) const PLACEHOLDER: &str = "{text}";
const METHOD: &str = "/chat/completions";
