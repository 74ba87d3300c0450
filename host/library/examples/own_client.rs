//! HTTP in the embedder's own hands: here a model that lives in this process, elsewhere a client that a platform has already.
//! The component cannot tell the difference; its first request is refused, and it waits for the second that the refusal asks
//! for.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::Result;
use becalm::http::{Answered, Timeouts, body};
use becalm::{Access, Document, Sandbox, Sender, Settings};
use bytes::Bytes;
use http::{Request, Response};

/// Refuses the first request, and repeats what the others ask.
#[derive(Default)]
struct Parrot {
    requests: AtomicU32,
}

impl Sender for Parrot {
    fn send(&self, request: Request<Bytes>, _timeouts: Timeouts) -> Answered {
        let is_first = self.requests.fetch_add(1, Ordering::Relaxed) == 0;
        Box::pin(async move {
            let answer = match is_first {
                true => Response::builder().status(429).header("retry-after", "1").body(body("")),
                false => Response::builder().body(body(answer(request.body()))),
            };
            Ok(answer.expect("it is a whole response"))
        })
    }
}

/// A chat completion that says what the last message of the request says.
fn answer(request: &[u8]) -> String {
    let request = serde_json::from_slice::<serde_json::Value>(request).unwrap_or_default();
    let message = request["messages"].as_array().and_then(|messages| messages.last()).cloned();
    serde_json::json!({"choices": [{"message": message, "finish_reason": "stop"}]}).to_string()
}

#[tokio::main]
async fn main() -> Result<()> {
    let settings = Settings::new("http://parrot.invalid/v1", "parrot");
    let access = Access::new(&settings.endpoint.base_url, None)?;
    let documents = (1..=20).map(|n| Document::text(n.to_string(), format!("Text {n}."))).collect::<Vec<_>>();
    let report = Sandbox::new()?.analyze_batch(&documents, &settings, access, Arc::new(Parrot::default())).await?;
    for outcome in &report.outcomes {
        println!("{}: {}", outcome.id, outcome.verdict);
    }
    println!("refused: {}", report.refusals);
    Ok(())
}
