//! The smallest embedding: a batch that fits into memory, and one outcome per document, in their order.
//!
//!     smallest BASE_URL

use becalm::{Access, Document, Pool, Route, Sandbox};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let sandbox = Sandbox::new()?;
    let mut settings = sandbox.default_settings().await?;
    settings.endpoint.base_url = std::env::args().nth(1).unwrap_or_default();
    settings.chat.model = "some-model".into();
    let access = Access::new(&settings.endpoint.base_url, std::env::var("OPENAI_API_KEY").ok())?;
    let sender = Pool::new(&settings.timeouts, &Route::default())?;
    let documents = (1..=20).map(|n| Document::text(n.to_string(), "Some text.")).collect::<Vec<_>>();
    let report = sandbox.analyze_batch(&documents, &settings, access, sender).await?;
    for outcome in report.outcomes {
        println!("{}: {}", outcome.id, outcome.verdict);
    }
    Ok(())
}
