//! A component that imports becalm's contract. Composed with becalm's component it becomes one that imports WASI alone: no
//! host is needed that knows of becalm.

#![allow(unsafe_code, missing_docs, reason = "generated bindings")]

wit_bindgen::generate!({
    path: "../../../wit",
    inline: r"
        package example:caller;

        world caller {
            import becalm:batch/analyzer@0.2.0;
            /// What a model says to each text, in their order.
            export answers: func(base-url: string, texts: list<string>) -> result<list<string>, string>;
        }
    ",
    world: "example:caller/caller",
    generate_all,
});

use becalm::batch::analyzer::{Document, Input, Verdict, analyze_batch, default_settings};

struct Caller;

export!(Caller);

impl Guest for Caller {
    fn answers(base_url: String, texts: Vec<String>) -> Result<Vec<String>, String> {
        let mut settings = default_settings();
        settings.endpoint.base_url = base_url;
        settings.chat.model = "some-model".into();
        let documents = texts.into_iter().zip(1..);
        let documents = documents.map(|(text, n)| Document { id: n.to_string(), input: Input::Text(text) });
        let report = analyze_batch(&documents.collect::<Vec<_>>(), &settings)
            .map_err(|error| format!("{}: {}", error.field, error.message))?;
        Ok(report.outcomes.into_iter().map(|outcome| said(outcome.verdict)).collect())
    }
}

fn said(verdict: Verdict) -> String {
    match verdict {
        Verdict::Answered(answer) => answer.text.unwrap_or_default(),
        Verdict::Failed(failure) => format!("failed: {}", failure.message),
        Verdict::Postponed(postponement) => format!("postponed: {}", postponement.message),
    }
}
