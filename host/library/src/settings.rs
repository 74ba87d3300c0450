//! Settings without a call into WebAssembly: the contract's defaults, and a way to set what is usually set.

use std::time::Duration;

use crate::contract::{Chat, Endpoint, Limits, Rate, Retry, Settings, Timeouts, Unit};

/// The defaults that the contract names; a test holds them equal to the component's own. The endpoint's `base_url` is missing
/// from them, and the model.
impl Default for Settings {
    fn default() -> Self {
        Self {
            endpoint: Endpoint { base_url: String::new(), headers: vec![] },
            chat: Chat {
                model: String::new(),
                system_prompt: Some("You are a document analyst.".into()),
                prompt_template: "Analyze this document:\n\n{text}".into(),
                max_tokens: Some(512),
                temperature: None,
                extra: None,
            },
            limits: Limits { max_in_flight: 8, rates: vec![], pace: 0 },
            retry: Retry {
                max_attempts: 5,
                base: 1_000,
                cap: 60_000,
                jitter: 2_000,
                patience: 3_600_000,
                fallback_wait: None,
            },
            timeouts: Timeouts { connect: 10_000, first_byte: 600_000, between_bytes: 60_000, whole_request: 900_000 },
            seed: None,
            trace: false,
        }
    }
}

impl Settings {
    /// The defaults, for this endpoint (up to and without `/chat/completions`) and this model.
    pub fn new(base_url: impl Into<String>, model: impl Into<String>) -> Self {
        let mut settings = Self::default();
        (settings.endpoint.base_url, settings.chat.model) = (base_url.into(), model.into());
        settings
    }

    /// With this system message. Default: "You are a document analyst."; none: no such message.
    #[must_use]
    pub fn with_system_prompt(mut self, prompt: Option<&str>) -> Self {
        self.chat.system_prompt = prompt.map(String::from);
        self
    }

    /// With this user message, in which `{text}` stands for the document. Default: "Analyze this document:", an empty line,
    /// `{text}`.
    #[must_use]
    pub fn with_prompt(mut self, template: impl Into<String>) -> Self {
        self.chat.prompt_template = template.into();
        self
    }

    /// With at most so many tokens in an answer, at least 1. Default: 512; none: as the endpoint decides.
    #[must_use]
    pub const fn with_max_tokens(mut self, most: Option<u32>) -> Self {
        self.chat.max_tokens = most;
        self
    }

    /// With at most so many requests on the wire at one time, 1 to 10,000. Default: 8.
    #[must_use]
    pub const fn with_max_in_flight(mut self, most: u32) -> Self {
        self.limits.max_in_flight = most;
        self
    }

    /// With a limit that is known: so many requests in any window of that length, 1 ms to 31 days. All hold that are given;
    /// default: none, that is learnt.
    #[must_use]
    pub fn with_limit(self, requests: u64, window: Duration) -> Self {
        self.with_rate(Unit::Requests, requests, window)
    }

    /// The same of tokens: those of the prompt, estimated, and `max_tokens`.
    #[must_use]
    pub fn with_token_limit(self, tokens: u64, window: Duration) -> Self {
        self.with_rate(Unit::Tokens, tokens, window)
    }

    /// With a longest wait for the next request, 1 ms to 31 days; what would wait longer is postponed. Default: an hour.
    #[must_use]
    pub fn with_patience(mut self, longest: Duration) -> Self {
        self.retry.patience = milliseconds(longest);
        self
    }

    /// With a seed, so that jitter and back-off are the same in each run. Default: none.
    #[must_use]
    pub const fn with_seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    fn with_rate(mut self, unit: Unit, amount: u64, window: Duration) -> Self {
        self.limits.rates.push(Rate { unit, amount, window: milliseconds(window) });
        self
    }
}

fn milliseconds(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::Sandbox;

    #[tokio::test]
    async fn they_are_the_components_own() {
        assert_eq!(Settings::default(), Sandbox::new().unwrap().default_settings().await.unwrap());
    }

    #[test]
    fn what_is_set_stands_where_it_belongs() {
        let settings = Settings::new("http://localhost/v1", "m")
            .with_limit(10, Duration::from_secs(60))
            .with_token_limit(40_000, Duration::from_secs(60))
            .with_max_in_flight(3)
            .with_system_prompt(None)
            .with_prompt("{text}")
            .with_max_tokens(None)
            .with_patience(Duration::from_secs(5))
            .with_seed(7);
        let rate = |unit, amount| Rate { unit, amount, window: 60_000 };
        assert_eq!(settings.limits.rates, [rate(Unit::Requests, 10), rate(Unit::Tokens, 40_000)]);
        assert_eq!((settings.limits.max_in_flight, settings.retry.patience, settings.seed), (3, 5_000, Some(7)));
        let chat = Chat {
            model: "m".into(),
            system_prompt: None,
            prompt_template: "{text}".into(),
            max_tokens: None,
            ..settings.chat.clone()
        };
        assert_eq!(settings.chat, chat);
    }
}
