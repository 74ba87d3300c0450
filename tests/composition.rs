//! The component where no host knows of becalm: in stock wasmtime, as a part of another component, and as a web service of a
//! platform that runs components.

#[path = "support/guest.rs"]
mod guest;
#[path = "support/listening.rs"]
mod listening;
#[path = "support/stock.rs"]
mod stock;

use std::sync::LazyLock;
use std::time::Duration;

use becalm::COMPONENT;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use listening::listening;
use serde_json::{Value, json};
use stock::Stock;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use wasmtime::component::{Component, Val};
use wasmtime::{Engine, Store};
use wasmtime_wasi_http::WasiHttpView;
use wasmtime_wasi_http::p2::bindings::ProxyPre;
use wasmtime_wasi_http::p2::bindings::http::types::Scheme;
use wasmtime_wasi_http::p2::body::HyperOutgoingBody;

fn member<'a>(record: &'a mut Val, field: &str) -> &'a mut Val {
    let Val::Record(fields) = record else { panic!("{record:?}") };
    &mut fields.iter_mut().find(|(name, _)| name == field).unwrap().1
}

#[tokio::test(flavor = "multi_thread")]
async fn stock_wasmtime_runs_it() {
    let (listening, server) = listening().await;
    let (mut store, instance) = stock::instance(COMPONENT).await.unwrap();
    let analyzer = instance.get_export_index(&mut store, None, "becalm:batch/analyzer@0.2.0").unwrap();
    let mut function = |name| {
        let index = instance.get_export_index(&mut store, Some(&analyzer), name).unwrap();
        instance.get_func(&mut store, index).unwrap()
    };
    let (default_settings, analyze_batch) = (function("default-settings"), function("analyze-batch"));
    let mut settings = [Val::Bool(false)];
    default_settings.call_async(&mut store, &[], &mut settings).await.unwrap();
    let [mut settings] = settings;
    *member(member(&mut settings, "endpoint"), "base-url") = Val::String(listening.base_url());
    *member(member(&mut settings, "chat"), "model") = Val::String("some-model".into());
    let document = |n: u32| {
        let input = Val::Variant("text".into(), Some(Box::new(Val::String("Some text.".into()))));
        Val::Record(vec![("id".into(), Val::String(n.to_string())), ("input".into(), input)])
    };
    let documents = Val::List((1..=20).map(document).collect());
    let mut report = [Val::Bool(false)];
    analyze_batch.call_async(&mut store, &[documents, settings], &mut report).await.unwrap();
    let [Val::Result(Ok(Some(report)))] = &mut report else { panic!("{report:?}") };
    let Val::List(outcomes) = member(report, "outcomes") else { panic!("no outcomes") };
    assert_eq!(outcomes.len(), 20);
    for (outcome, n) in outcomes.iter_mut().zip(1..) {
        assert_eq!(*member(outcome, "id"), Val::String(n.to_string()));
        assert!(matches!(member(outcome, "verdict"), Val::Variant(verdict, _) if verdict == "answered"));
    }
    assert_eq!(server.stats().answered, 20);
    assert!(server.stats().refused > 0, "nothing was refused, so nothing was shown");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_component_calls_it() {
    let (listening, server) = listening().await;
    let (mut store, instance) = stock::instance(&guest::composed("becalm-caller")).await.unwrap();
    type Answers = Result<Vec<String>, String>;
    let answers = instance.get_typed_func::<(String, Vec<String>), (Answers,)>(&mut store, "answers").unwrap();
    let texts = vec!["Some text.".to_string(); 20];
    let (said,) = answers.call_async(&mut store, (listening.base_url(), texts)).await.unwrap();
    assert_eq!(said.unwrap(), ["Analysed 175 bytes."; 20]);
    assert_eq!(server.stats().answered, 20);
    let (said,) = answers.call_async(&mut store, ("nowhere".into(), vec![])).await.unwrap();
    assert!(said.unwrap_err().starts_with("endpoint.base-url"), "an error comes through");
}

static SERVICE: LazyLock<ProxyPre<Stock>> = LazyLock::new(|| {
    let engine = Engine::default();
    let component = Component::new(&engine, guest::composed("becalm-service")).unwrap();
    ProxyPre::new(stock::linker(&engine).unwrap().instantiate_pre(&component).unwrap()).unwrap()
});

/// What a platform does: an instance for each request.
async fn handle(request: http::Request<hyper::body::Incoming>) -> wasmtime::Result<http::Response<HyperOutgoingBody>> {
    let mut store = Store::new(SERVICE.engine(), Stock::default());
    let (sender, receiver) = oneshot::channel();
    let request = store.data_mut().http().new_incoming_request(Scheme::Http, request)?;
    let response = store.data_mut().http().new_response_outparam(sender)?;
    let service = SERVICE.instantiate_async(&mut store).await?;
    tokio::spawn(async move { service.wasi_http_incoming_handler().call_handle(&mut store, request, response).await });
    Ok(receiver.await??)
}

/// A platform on a port of its own.
async fn platform() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            let service = http1::Builder::new().serve_connection(TokioIo::new(connection), service_fn(handle));
            tokio::spawn(service);
        }
    });
    url
}

fn client() -> reqwest::Client {
    // It fails only if there is one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::new()
}

fn batch(count: usize) -> String {
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "Some text."}]});
    (1..=count).map(|n| json!({"custom_id": n.to_string(), "body": body}).to_string() + "\n").collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_platform_serves_it() {
    let (listening, server) = listening().await;
    let client = client();
    let url = platform().await;
    let post = client.post(&url).header("becalm-base-url", listening.base_url()).body(batch(20));
    let answer = post.send().await.unwrap().text().await.unwrap();
    let mut lines = answer.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect::<Vec<_>>();
    lines.sort_by_key(|line| line["custom_id"].as_str().unwrap().parse::<u32>().unwrap());
    assert_eq!(lines.len(), 20, "{answer}");
    for (line, n) in lines.iter().zip(1..) {
        assert_eq!(line["custom_id"], n.to_string());
        let said = &line["response"]["body"]["choices"][0]["message"]["content"];
        assert!(said.as_str().is_some_and(|said| said.starts_with("Analysed")), "{line}");
    }
    assert_eq!(server.stats().answered, 20);

    let wrong = client.post(&url).header("becalm-base-url", listening.base_url()).body("{}\n").send().await.unwrap();
    assert_eq!((wrong.status().as_u16(), wrong.text().await.unwrap()), (400, "line 1 is no document\n".into()));
    assert_eq!(client.get(&url).send().await.unwrap().status(), 405);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_hangs_up_on_a_platform_takes_the_batch_along() {
    let (listening, server) = listening().await;
    let post = client().post(platform().await).header("becalm-base-url", listening.base_url());
    let mut answer = post.body(batch(100)).send().await.unwrap();
    assert!(answer.chunk().await.unwrap().is_some(), "an outcome comes as soon as it is there");
    drop(answer);
    tokio::time::sleep(Duration::from_secs(3)).await;
    let sent = server.stats().sent;
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(server.stats().sent, sent, "it goes on without its caller");
}
