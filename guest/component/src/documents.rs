//! A document becomes the body of its request.

use serde_json::{Map, Value, json};

use crate::bindings::exports::becalm::batch::analyzer::{Chat, Input};
use crate::settings::{PLACEHOLDER, Prompt};

/// A request body, and how many tokens it may take.
pub(crate) struct Request {
    pub(crate) body: Vec<u8>,
    pub(crate) tokens: u64,
}

/// The request for an input; else why there can be none.
pub(crate) fn request(input: &Input, prompt: &Prompt) -> Result<Request, String> {
    match input {
        Input::Text(_) if prompt.chat.model.is_empty() => Err("no model is set (chat.model)".into()),
        Input::Text(text) => {
            Ok(sized(completion(text, prompt).to_string().into_bytes(), prompt.chat.max_tokens.map(u64::from)))
        }
        Input::Request(body) => match serde_json::from_str(body) {
            Ok(Value::Object(members)) => Ok(sized(body.as_bytes().to_vec(), answer_tokens(&members))),
            Ok(_) => Err("the request is JSON, but no object".into()),
            Err(error) => Err(format!("the request is no JSON: {error}")),
        },
    }
}

fn completion(text: &str, prompt: &Prompt) -> Value {
    let Chat { model, system_prompt, prompt_template, max_tokens, temperature, .. } = &prompt.chat;
    let system = system_prompt.as_ref().map(|content| json!({"role": "system", "content": content}));
    let user = json!({"role": "user", "content": prompt_template.replace(PLACEHOLDER, text)});
    let mut body = Map::new();
    body.insert("model".into(), json!(model));
    body.insert("messages".into(), system.into_iter().chain([user]).collect());
    body.extend(max_tokens.map(|most| ("max_tokens".into(), json!(most))));
    body.extend(temperature.map(|temperature| ("temperature".into(), json!(temperature))));
    body.extend(prompt.extra.clone());
    Value::Object(body)
}

/// A token is some four bytes of English; what the answer may take is reserved too.
fn sized(body: Vec<u8>, answer: Option<u64>) -> Request {
    let tokens = (body.len() as u64).div_ceil(4).saturating_add(answer.unwrap_or(0));
    Request { body, tokens }
}

fn answer_tokens(members: &Map<String, Value>) -> Option<u64> {
    ["max_completion_tokens", "max_tokens"].iter().find_map(|name| members.get(*name)?.as_u64())
}
