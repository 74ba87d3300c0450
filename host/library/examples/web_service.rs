//! In a web service: texts in as JSON, answers out. One sandbox serves all; each request to the service has a session of its
//! own, and one that is broken off by its caller takes its requests to the model with it.
//!
//!     web_service BASE_URL
//!
//! It prints the address that it listens on. (Sessions do not know of each other. Where many are open at once on one key, give
//! each its part of the limit by `Settings::with_limit`, or they will find it out by refusals.)

use std::sync::Arc;

use anyhow::Result;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use becalm::{Access, Document, Pool, Route, Sandbox, Settings};
use tokio::net::TcpListener;

struct Service {
    sandbox: Sandbox,
    settings: Settings,
    access: Access,
    sender: Arc<Pool>,
}

#[tokio::main]
async fn main() -> Result<()> {
    let sandbox = Sandbox::new()?;
    let settings = Settings::new(std::env::args().nth(1).unwrap_or_default(), "some-model");
    let access = Access::new(&settings.endpoint.base_url, std::env::var("OPENAI_API_KEY").ok())?;
    let sender = Pool::new(&settings.timeouts, &Route::default())?;
    let service = Arc::new(Service { sandbox, settings, access, sender });
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}/analyze", listener.local_addr()?);
    axum::serve(listener, Router::new().route("/analyze", post(analyze)).with_state(service)).await?;
    Ok(())
}

/// One answer per text, in their order.
async fn analyze(
    State(service): State<Arc<Service>>,
    Json(texts): Json<Vec<String>>,
) -> Result<Json<Vec<String>>, (StatusCode, String)> {
    let Service { sandbox, settings, access, sender } = &*service;
    let documents = texts.into_iter().zip(1..).map(|(text, n)| Document::text(n.to_string(), text)).collect::<Vec<_>>();
    let report = sandbox.analyze_batch(&documents, settings, access.clone(), Arc::clone(sender) as _).await;
    let report = report.map_err(|error| (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))?;
    Ok(Json(report.outcomes.into_iter().map(|outcome| outcome.verdict.to_string()).collect()))
}
