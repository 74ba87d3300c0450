//! A world on one line, for the list of the worst.

use std::fmt;

use becalm_policy::{Rate, Unit};

use crate::world::{Changes, Network, World};

/// On one line, as far as it is not as usual.
impl fmt::Display for World {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, amount, window_ms, documents, max_in_flight, service_ms, service_sigma, .. } = self;
        let Network { base_ms, jitter_ms, is_heavy } = self.network;
        write!(out, "{kind:?} {amount}/{}s", *window_ms as f64 / 1e3)?;
        option(out, "burst", self.burst)?;
        option(out, "cap", self.cap)?;
        option(out, "short", self.short.map(|(amount, ms)| format!("{amount}/{}s", ms as f64 / 1e3)))?;
        option(out, "tokens", self.tokens.map(|tokens| format!("{}(median {:.0})", tokens.amount, tokens.median)))?;
        write!(out, " docs={documents} in-flight={max_in_flight} answer={service_ms:.0}ms~{service_sigma}")?;
        write!(out, " net={base_ms:.0}+{jitter_ms:.0}ms{}", if is_heavy { " heavy" } else { "" })?;
        write!(out, " hint={:?}", self.hint)?;
        option(out, "headers", self.headers.map(|style| format!("{style:?}")))?;
        for Rate { unit, amount, window } in &self.known {
            let unit = if *unit == Unit::Tokens { "tokens" } else { "" };
            write!(out, " known={amount}{unit}/{}s", window.as_ms() as f64 / 1e3)?;
        }
        write!(out, "{}", self.changes)
    }
}

impl fmt::Display for Changes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { strangers, factor, faults, fault_hint_s, stray, outage, poison } = self;
        option(out, "strangers", strangers.then_some("yes"))?;
        option(out, "factor", *factor)?;
        option(out, "503", (*faults > 0.0).then(|| format!("{faults}({fault_hint_s:?})")))?;
        option(out, "stray", stray.map(|stray| format!("{}({:?})", stray.number, stray.hint_s)))?;
        option(out, "outage", outage.map(|share| format!("{share:.2}")))?;
        option(out, "poison", (*poison > 0).then_some(poison))
    }
}

fn option<T: fmt::Display>(out: &mut fmt::Formatter<'_>, name: &str, value: Option<T>) -> fmt::Result {
    value.map_or(Ok(()), |value| write!(out, " {name}={value}"))
}
