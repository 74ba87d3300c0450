//! A batch of any size: documents are read from standard input, a line each, as there is room for them, and each outcome is
//! printed as it comes. Whoever reads the output slowly slows down the reading of the input, and nothing piles up.
//!
//!     streaming BASE_URL < lines

use std::pin::pin;

use anyhow::Result;
use becalm::{Access, Document, Happening, Pool, Route, Sandbox, Settings};
use futures_util::{StreamExt, stream};
use tokio::io::{AsyncBufReadExt, BufReader, Lines, Stdin, stdin};

#[tokio::main]
async fn main() -> Result<()> {
    let settings = Settings::new(std::env::args().nth(1).unwrap_or_default(), "some-model");
    let access = Access::new(&settings.endpoint.base_url, std::env::var("OPENAI_API_KEY").ok())?;
    let sender = Pool::new(&settings.timeouts, &Route::default())?;
    let session = Sandbox::new()?.open(settings, access, sender).await?;

    let documents = stream::unfold((1, BufReader::new(stdin()).lines()), read);
    let mut events = pin!(session.analyze(documents));
    while let Some(event) = events.next().await {
        match event?.what {
            Happening::Outcome(outcome) => println!("{}: {}", outcome.id, outcome.verdict),
            Happening::Paused(pause) => eprintln!("nothing is sent until {} ({:?})", pause.until, pause.reason),
            _ => {}
        }
    }
    Ok(())
}

/// The next document, with the number of its line for a name. (What cannot be read ends the input here.)
async fn read(
    (number, mut lines): (u64, Lines<BufReader<Stdin>>),
) -> Option<(Document, (u64, Lines<BufReader<Stdin>>))> {
    let line = lines.next_line().await.ok()??;
    Some((Document::text(number.to_string(), line), (number + 1, lines)))
}
