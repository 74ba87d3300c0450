//! How long requests take: on their way, and in service. Each is a function of the request's number, in whole milliseconds,
//! so that it does not matter who asks first.

use crate::draws::{Draws, Purpose};
use crate::world::{Network, World};

/// The times of a world's requests.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    seed: u64,
    network: Network,
    median_ms: f64,
    sigma: f64,
}

impl Times {
    /// The times of this world.
    pub const fn of(world: &World) -> Self {
        Self { seed: world.seed, network: world.network, median_ms: world.service_ms, sigma: world.service_sigma }
    }

    /// From the client to the server.
    pub fn there_ms(&self, number: u64) -> u64 {
        self.delay_ms(Purpose::There, number)
    }

    /// From the server to the client.
    pub fn back_ms(&self, number: u64) -> u64 {
        self.delay_ms(Purpose::Back, number)
    }

    /// From a request's arrival to its answer of this status.
    pub fn service_ms(&self, number: u64, status: u16) -> u64 {
        if status == 200 { self.drawn_ms(Purpose::Service, number) } else { REFUSED_MS }
    }

    /// Of the clairvoyant, whose requests are not the client's.
    pub(crate) fn ideal_service_ms(&self, number: u64) -> u64 {
        self.drawn_ms(Purpose::IdealService, number)
    }

    /// One way, in the mean of all but the longest.
    pub(crate) fn mean_delay_ms(&self) -> u64 {
        whole(self.network.base_ms + self.network.jitter_ms / 2.0)
    }

    fn drawn_ms(&self, purpose: Purpose, number: u64) -> u64 {
        let factor =
            if self.sigma > 0.0 { Draws::numbered(self.seed, purpose, number).log_normal(self.sigma) } else { 1.0 };
        whole(self.median_ms * factor)
    }

    fn delay_ms(&self, way: Purpose, number: u64) -> u64 {
        let Network { base_ms, jitter_ms, is_heavy } = self.network;
        let mut draws = Draws::numbered(self.seed, way, number);
        let delay = base_ms + draws.between(0.0, jitter_ms);
        let longer = if is_heavy && draws.happens(HEAVY_SHARE) { draws.exponential(HEAVY_MEAN_MS) } else { 0.0 };
        whole(delay + longer)
    }
}

/// At least one, so that nothing happens at the instant that caused it.
fn whole(ms: f64) -> u64 {
    (ms.round() as u64).max(1)
}

const REFUSED_MS: u64 = 2;
const HEAVY_SHARE: f64 = 0.02;
const HEAVY_MEAN_MS: f64 = 500.0;
