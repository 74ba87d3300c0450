//! The smallest embedding: a batch that fits into memory, and one outcome per document, in their order.
//!
//!     smallest BASE_URL

use becalm::{Access, Document, Pool, Route, Sandbox, Settings};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let settings = Settings::new(std::env::args().nth(1).unwrap_or_default(), "some-model");
    let access = Access::new(&settings.endpoint.base_url, std::env::var("OPENAI_API_KEY").ok())?;
    let sender = Pool::new(&settings.timeouts, &Route::default())?;
    let documents = (1..=20).map(|n| Document::text(n.to_string(), "Some text.")).collect::<Vec<_>>();
    let report = Sandbox::new()?.analyze_batch(&documents, &settings, access, sender).await?;
    for outcome in report.outcomes {
        println!("{}: {}", outcome.id, outcome.verdict);
    }
    Ok(())
}
