//! One world, step by step.

use becalm_policy::{Action, Admits, Ending, Limit, News, Outcome, Reply, Tick, Unit};
use becalm_worlds::{Schedule, Seen, World, obedient_ms, play_watched};

/// One world, with a line for each event.
pub(crate) fn replay(world: &World) {
    println!("{world}");
    let schedule = Schedule::of(world);
    println!("{schedule:?}, {} ms for who obeys hints", obedient_ms(world, &schedule));
    let played = play_watched(world, &schedule, &mut |at_ms, seen| {
        if !matches!(seen, Seen::Decided(Action::Wait(_))) {
            println!("{:12.3} {}", at_ms as f64 / 1e3, line(&seen));
        }
    });
    println!("efficiency {:.3}, {} requests, {} refusals", played.efficiency(), played.sent, played.refusals);
    println!("{} lost, {} unfinished, {:?}", played.lost, played.unfinished(), played.failure);
}

fn line(seen: &Seen) -> String {
    match seen {
        Seen::Decided(action) => decided(action),
        Seen::Arrived(document, reply) => format!("    at the server {document}: {}", reply.status),
        Seen::Returned(document, reply) => format!("        back {document}: {}", fields(reply)),
    }
}

fn decided(action: &Action) -> String {
    match action {
        Action::Send { document, attempt, in_flight } => {
            format!("send {}, try {attempt}, {in_flight} on the wire", document.index())
        }
        Action::Abort { document } => format!("abort {}", document.index()),
        Action::Finish { document, outcome } => format!("            finish {}{}", document.index(), ending(outcome)),
        Action::Tell(news) => told(news),
        Action::Wait(until) => format!("wait {}", until.map_or("for an answer".to_string(), seconds)),
        Action::Idle => "idle".to_string(),
    }
}

fn fields(reply: &Reply) -> String {
    let fields: Vec<_> = reply.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    format!("{} {}", reply.status, fields.join(", "))
}

fn ending(outcome: &Outcome) -> String {
    match &outcome.ending {
        Ending::Answered(_) => String::new(),
        Ending::Failed(failure) => format!(", failed: {}", failure.message),
        Ending::Postponed(postponement) => format!(", postponed: {}", postponement.message),
    }
}

fn told(news: &News) -> String {
    match news {
        News::Learnt(Limit { admits: Admits::InFlight(places), source, .. }) => {
            format!("learnt {places} in flight from {source:?}")
        }
        News::Learnt(Limit { admits: Admits::Rate(rate), source, cycles }) => {
            let unit = if rate.unit == Unit::Tokens { "tokens" } else { "requests" };
            format!("learnt {} {unit} per {} ms from {source:?}, {cycles} cycles", rate.amount, rate.window.as_ms())
        }
        News::Refused(refusal) => {
            format!("refused {}: wait {} ms by {}", refusal.document.index(), refusal.wait.as_ms(), refusal.source)
        }
        News::Paused(pause) => {
            format!("paused {} by {:?} {:?}", seconds(pause.until), pause.reason, pause.limit)
        }
        other => format!("{other:?}"),
    }
}

fn seconds(at: Tick) -> String {
    format!("until {:.3}", at.as_ms() as f64 / 1e3)
}
