//! How long the endpoint takes: the mean time from sending a request to the head of a success.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use super::sender::{Answered, Sender, Timeouts};

/// Carries requests by another sender and measures it.
pub struct Metered {
    sender: Arc<dyn Sender>,
    sums: Arc<Sums>,
}

#[derive(Default)]
struct Sums {
    count: AtomicU64,
    microseconds: AtomicU64,
}

impl Metered {
    /// Measures a sender.
    pub fn new(sender: Arc<dyn Sender>) -> Arc<Self> {
        Arc::new(Self { sender, sums: Arc::default() })
    }

    /// The mean so far; nothing before the first success.
    pub fn latency(&self) -> Duration {
        let count = self.sums.count.load(Ordering::Relaxed).max(1);
        Duration::from_micros(self.sums.microseconds.load(Ordering::Relaxed) / count)
    }
}

impl Sender for Metered {
    fn send(&self, request: http::Request<Bytes>, timeouts: Timeouts) -> Answered {
        let answered = self.sender.send(request, timeouts);
        let sums = Arc::clone(&self.sums);
        Box::pin(async move {
            let started = Instant::now();
            let answer = answered.await?;
            if answer.status().is_success() {
                let taken = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
                sums.count.fetch_add(1, Ordering::Relaxed);
                sums.microseconds.fetch_add(taken, Ordering::Relaxed);
            }
            Ok(answer)
        })
    }
}
