//! The policy that loses documents, as it is widely used: everything at once, and three retries after fixed waits that
//! take no notice of what the server says. Real code, for the demo to compare with.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use becalm::http::Timeouts;
use becalm::{Pool, Sender};
use bytes::Bytes;
use http::Request;
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::sleep;

/// What became of a batch, or of one document.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) answered: u64,
    pub(crate) failed: u64,
    pub(crate) refusals: u64,
    /// How long was waited after each refusal, as it was measured.
    pub(crate) waits: Vec<Duration>,
}

/// Sends so many documents, with waits of 1, 2 and 4 times `step`.
pub(crate) async fn send_all(pool: &Arc<Pool>, base_url: &str, documents: u64, step: Duration) -> Result<Outcome> {
    let url = format!("{base_url}/chat/completions");
    let mut requests = JoinSet::new();
    for document in 0..documents {
        requests.spawn(send(Arc::clone(pool), url.clone(), document, step));
    }
    let mut all = Outcome::default();
    while let Some(sent) = requests.join_next().await {
        let one = sent??;
        all.answered += one.answered;
        all.failed += one.failed;
        all.refusals += one.refusals;
        all.waits.extend(one.waits);
    }
    all.waits.sort_unstable();
    Ok(all)
}

async fn send(pool: Arc<Pool>, url: String, document: u64, step: Duration) -> Result<Outcome> {
    let body = json!({
        "model": "demo",
        "messages": [{"role": "user", "content": format!("Analyze this document:\n\nDocument {document}.")}],
        "max_tokens": 512,
    });
    let mut outcome = Outcome::default();
    for retry in [1, 2, 4].map(Some).into_iter().chain([None]) {
        let request = Request::post(&url).header("content-type", "application/json");
        let request = request.body(Bytes::from(body.to_string()))?;
        if pool.send(request, Timeouts::default()).await?.status().is_success() {
            outcome.answered = 1;
            return Ok(outcome);
        }
        outcome.refusals += 1;
        if let Some(factor) = retry {
            let refused = Instant::now();
            sleep(step * factor).await;
            outcome.waits.push(refused.elapsed());
        }
    }
    outcome.failed = 1;
    Ok(outcome)
}
