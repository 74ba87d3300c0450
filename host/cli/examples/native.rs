//! The same job without a component: the pool, a number of workers, a file. What `make bench` compares becalm with; it has no
//! policy, so it is of use only where nothing limits.
//!
//!     native INPUT OUTPUT BASE_URL IN_FLIGHT

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result, ensure};
use becalm::http::Timeouts;
use becalm::{Pool, Route, Sender};
use bytes::Bytes;
use http::Request;
use http_body_util::BodyExt;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::task::JoinSet;

#[derive(Deserialize)]
struct Document {
    id: String,
    text: String,
}

/// What the workers share.
struct Job {
    lines: Mutex<std::io::Lines<BufReader<File>>>,
    output: Mutex<File>,
    pool: Arc<Pool>,
    url: String,
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = std::env::args().skip(1).collect::<Vec<_>>();
    let [input, output, base_url, in_flight] = &arguments[..] else {
        anyhow::bail!("usage: native INPUT OUTPUT BASE_URL IN_FLIGHT");
    };
    let timeouts =
        becalm::Timeouts { connect: 10_000, first_byte: 600_000, between_bytes: 60_000, whole_request: 900_000 };
    let job = Arc::new(Job {
        lines: Mutex::new(BufReader::new(File::open(input)?).lines()),
        output: Mutex::new(File::create(output)?),
        pool: Pool::new(&timeouts, &Route::default())?,
        url: format!("{base_url}/chat/completions"),
    });
    let mut workers = JoinSet::new();
    for _ in 0..in_flight.parse::<usize>()? {
        let job = Arc::clone(&job);
        workers.spawn(async move {
            while let Some(line) = job.next()? {
                job.bring_home(&line).await?;
            }
            anyhow::Ok(())
        });
    }
    workers.join_all().await.into_iter().collect()
}

impl Job {
    fn next(&self) -> Result<Option<String>> {
        Ok(self.lines.lock().ok().context("a worker failed")?.next().transpose()?)
    }

    /// One request, and one line for its answer, written at once as becalm does.
    async fn bring_home(&self, line: &str) -> Result<()> {
        let document = serde_json::from_str::<Document>(line)?;
        let body = json!({
            "model": "m",
            "messages": [
                {"role": "system", "content": "You are a document analyst."},
                {"role": "user", "content": format!("Analyze this document:\n\n{}", document.text)},
            ],
            "max_tokens": 512,
        });
        let request = Request::post(&self.url).header("content-type", "application/json");
        let timeouts = Timeouts {
            first_byte: Some(std::time::Duration::from_secs(600)),
            between_bytes: Some(std::time::Duration::from_secs(60)),
        };
        let answer = self.pool.send(request.body(Bytes::from(body.to_string()))?, timeouts).await?;
        ensure!(answer.status().is_success(), "HTTP {}", answer.status());
        let body = answer.into_body().collect().await?.to_bytes();
        let completion = serde_json::from_slice::<Value>(&body)?;
        ensure!(completion["choices"][0]["message"]["content"].is_string(), "that is no completion");
        let body = RawValue::from_string(String::from_utf8(body.into())?)?;
        let result = json!({"custom_id": document.id, "response": {"status_code": 200, "body": body}, "error": null});
        self.output.lock().ok().context("a worker failed")?.write_all(format!("{result}\n").as_bytes())?;
        Ok(())
    }
}
