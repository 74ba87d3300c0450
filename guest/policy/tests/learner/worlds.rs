//! Arbitrary endpoints, and what may happen before they behave.

use becalm_policy::{Delay, Rate, TransportError, Unit};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::endpoint::{Hinting, Model};

/// Where a batch runs.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) model: Model,
    pub(crate) hinting: Hinting,
    /// What the client was told.
    pub(crate) rates: Vec<Rate>,
    /// Every reply states the limit.
    pub(crate) is_stated: bool,
    pub(crate) max_in_flight: u32,
    /// From arrival to answer; a refusal comes at once.
    pub(crate) latency: Delay,
    /// One way.
    pub(crate) network: Delay,
    /// What a request may take longer on its way there.
    pub(crate) jitter: Delay,
    pub(crate) seed: u64,
}

/// What happens to a request before it reaches the limit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Turn {
    /// It does reach it.
    Through,
    /// It is answered past it.
    Answer,
    Reply {
        status: u16,
        hint: Option<Delay>,
    },
    Break(TransportError),
    /// Nothing ever comes back.
    Silence,
}

impl World {
    /// What goes through in that time at best.
    pub(crate) fn admits(&self, model: Model, span: Delay) -> f64 {
        let places = match model {
            Model::Places(places) => places.min(self.max_in_flight as usize),
            _ => self.max_in_flight as usize,
        };
        let by_wire = places as f64 / self.round_trip().as_ms() as f64;
        let by_limit = model.rate().map_or(f64::MAX, |(amount, window)| amount as f64 / window.as_ms() as f64);
        by_wire.min(by_limit) * span.as_ms() as f64
    }

    /// From sending to the answer, on average.
    pub(crate) fn round_trip(&self) -> Delay {
        self.latency + self.network.times(2) + self.jitter.divided_by(2)
    }

    /// The window of the limit; where there is none, the time in which the wire is filled anew.
    pub(crate) fn window(&self) -> Delay {
        self.model.rate().map_or(self.round_trip(), |(_, window)| window)
    }

    /// The same, and the client knows the limit.
    pub(crate) fn known(self) -> Self {
        let rates = self.model.rate().map(|(amount, window)| Rate { unit: Unit::Requests, amount, window });
        Self { rates: rates.into_iter().collect(), ..self }
    }
}

/// Log-uniform.
pub(crate) fn between(least: u64, most: u64) -> impl Strategy<Value = u64> {
    ((least as f64).ln()..=(most as f64).ln()).prop_map(move |exponent| (exponent.exp() as u64).clamp(least, most))
}

/// Rolling and fixed windows, buckets large and small.
pub(crate) fn limit() -> impl Strategy<Value = Model> {
    // Pauses of less than 20 ms are what clocks add, and windows of less than a second nobody enforces.
    let rate = (between(1, 100), between(1_000, 60_000)).prop_map(|(amount, window)| (amount.min(window / 20), window));
    (0..4, rate, 0.0..1.0).prop_map(|(kind, (amount, window), part)| {
        let window = Delay::from_ms(window);
        match kind {
            0 => Model::Rolling { amount, window },
            1 => Model::Fixed { amount, window },
            2 => Model::Bucket { amount, window, burst: amount },
            _ => Model::Bucket { amount, window, burst: 1 + (amount as f64 * part) as u64 / 2 },
        }
    })
}

/// A limit, or places, or nothing.
pub(crate) fn model() -> impl Strategy<Value = Model> {
    prop_oneof![6 => limit(), 1 => (1..32_usize).prop_map(Model::Places), 1 => Just(Model::Unlimited)]
}

/// Where that limit binds: the wire could carry 1.3 to 6 times as much.
pub(crate) fn world(model: impl Strategy<Value = Model>) -> impl Strategy<Value = World> {
    let hinting = prop_oneof![Just(Hinting::Exact), Just(Hinting::RoundedUp), Just(Hinting::Silent)];
    (model, hinting, between(2, 64), 1.3..6.0, between(20, 3_000), 1..50_u64, any::<u64>()).prop_map(
        |(model, hinting, max_in_flight, spare, latency, network, seed)| {
            let latency = match model.rate() {
                None => latency,
                Some((amount, window)) => {
                    let round_trip = (max_in_flight * window.as_ms()) as f64 / (amount as f64 * spare);
                    (round_trip as u64).saturating_sub(2 * network).clamp(5, 5_000)
                }
            };
            let max_in_flight = match model {
                Model::Places(places) => max_in_flight.max(places as u64 + 1),
                _ => max_in_flight,
            };
            World {
                model,
                hinting,
                rates: vec![],
                is_stated: false,
                max_in_flight: max_in_flight as u32,
                latency: Delay::from_ms(latency),
                network: Delay::from_ms(network),
                jitter: Delay::ZERO,
                seed,
            }
        },
    )
}

/// A hint that has nothing to do with any limit.
pub(crate) fn lie() -> impl Strategy<Value = Option<Delay>> {
    proptest::option::of(between(1, 300_000).prop_map(Delay::from_ms))
}

/// A refusal, with or without a reason to it.
pub(crate) fn refusal() -> impl Strategy<Value = Turn> {
    lie().prop_map(|hint| Turn::Reply { status: 429, hint })
}

/// Anything that is no refusal and no answer.
pub(crate) fn fault() -> impl Strategy<Value = Turn> {
    let status = prop_oneof![Just(500), Just(502), Just(503), Just(504), Just(529), Just(408)];
    let error = prop_oneof![
        Just(TransportError::ConnectionRefused),
        Just(TransportError::ConnectionTerminated),
        Just(TransportError::HttpResponseIncomplete),
    ];
    prop_oneof![
        4 => (status, lie()).prop_map(|(status, hint)| Turn::Reply { status, hint }),
        1 => between(1, 300_000).prop_map(|ms| Turn::Reply { status: 403, hint: Some(Delay::from_ms(ms)) }),
        2 => error.prop_map(Turn::Break),
        1 => Just(Turn::Silence),
    ]
}

/// What happens to the first requests.
pub(crate) fn history(longest: usize) -> impl Strategy<Value = Vec<Turn>> {
    let turn = prop_oneof![3 => Just(Turn::Answer), 4 => Just(Turn::Through), 3 => refusal(), 2 => fault()];
    vec(turn, 0..longest)
}
