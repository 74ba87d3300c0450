//! Every scenario of `tests/scenarios`, twice: with the policy alone and with the real component, in virtual time. The two
//! timelines have to be equal, and as the scenario expects. Adding a scenario needs no Rust. With `BECALM_WRITE` set, what a
//! scenario expects is made what happened (`make scenarios`).

mod support;

use std::fmt::Write;

use support::scenario::{Line, Scenario, expect, families, family};
use support::{on_component, on_policy};

/// A test for each family, and the list of them.
macro_rules! families {
    ($($name:ident),* $(,)?) => {
        $(
            #[tokio::test(start_paused = true)]
            async fn $name() {
                play_all(stringify!($name)).await;
            }
        )*

        const FAMILIES: &[&str] = &[$(stringify!($name)),*];
    };
}

families![batch, body, failures, header, server, settings, status, transport];

#[test]
fn every_family_has_a_runner_and_every_runner_a_family() {
    assert_eq!(families(), FAMILIES);
}

#[test]
fn every_id_is_there_once() {
    let mut ids: Vec<_> = FAMILIES.iter().flat_map(|name| family(name)).map(|scenario| scenario.id).collect();
    ids.sort();
    assert!(ids.windows(2).all(|pair| pair[0] != pair[1]), "{ids:?}");
}

async fn play_all(name: &str) {
    let mut wrong = String::new();
    for scenario in family(name) {
        let policy = on_policy::play(&scenario).await;
        let component = on_component::play(&scenario).await;
        let problem = problem(&scenario, &policy, &component).or_else(|| {
            let lines = rewritten(&scenario, &policy)?;
            if std::env::var_os("BECALM_WRITE").is_some() {
                expect(name, &scenario.id, &lines);
                return None;
            }
            Some(format!("it went {lines:#?}, where it should go {:#?}", scenario.timeline))
        });
        if let Some(problem) = problem {
            write!(wrong, "\n{} of {name}: {problem}", scenario.id).unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

fn problem(scenario: &Scenario, policy: &[Line], component: &[Line]) -> Option<String> {
    if let Some(n) = (0..policy.len().max(component.len())).find(|n| policy.get(*n) != component.get(*n)) {
        return Some(format!("they differ: policy {:?}, component {:?}", policy.get(n), component.get(n)));
    }
    let silent = scenario.says.iter().find(|said| !policy.iter().any(|line| line.detail.contains(said.as_str())));
    silent.map(|said| {
        let details = policy.iter().map(|line| line.detail.as_str()).collect::<Vec<_>>();
        format!("nothing says {said:?}: {details:#?}")
    })
}

/// What the timeline would have to be, if it is not that: lines that are as expected stay as they are written.
fn rewritten(scenario: &Scenario, policy: &[Line]) -> Option<Vec<String>> {
    // A fault shows in the next try; the timeline need not say it once more.
    let told = policy.iter().filter(|line| !line.what.starts_with("faulted"));
    let mut expected = scenario.timeline.iter();
    let lines = told.map(|line| {
        let mut rest = expected.clone();
        let same = rest.find(|expected| line.is(expected)).cloned();
        expected = if same.is_some() { rest } else { expected.clone() };
        same.unwrap_or_else(|| format!("{} {}", line.at_ms, line.what))
    });
    Some(lines.collect::<Vec<_>>()).filter(|lines| *lines != scenario.timeline)
}
