//! `worlds`: how well the policy does on random worlds, on named servers and on the reference job; and one world, step by
//! step.

mod replay;

use std::process::ExitCode;

use becalm_policy::learner::Rules;
use becalm_worlds::{
    Case, NamedRow, ReferenceRow, Row, RuleRow, World, missed, named, named_world, play_seeds, reference, rows, rules,
};

fn main() -> ExitCode {
    let wanted = match Wanted::read(std::env::args().skip(1)) {
        Ok(wanted) => wanted,
        Err(problem) => {
            eprintln!("{problem}\nhint: {USAGE}");
            return ExitCode::from(2);
        }
    };
    let missed = match wanted.seed.map(World::of_seed).or(wanted
        .case
        .as_deref()
        .and_then(named_world)
        .map(|world| World { seed: world.seed + wanted.from, ..world }))
    {
        Some(world) => {
            replay::replay(&world);
            vec![]
        }
        None => wanted.print(),
    };
    for sentence in &missed {
        eprintln!("error: {sentence}");
    }
    ExitCode::from(u8::from(!missed.is_empty()))
}

/// What the command line asks for.
#[derive(Debug, Default)]
struct Wanted {
    seed: Option<u64>,
    case: Option<String>,
    from: u64,
    count: Option<usize>,
    worst: Option<usize>,
    groups: bool,
    floors: bool,
    named: bool,
    reference: bool,
    rules: bool,
}

impl Wanted {
    fn read(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut wanted = Self::default();
        while let Some(flag) = words.next() {
            if flag == "--case" {
                wanted.case = words.next();
                continue;
            }
            let mut number = || words.next().and_then(|word| word.parse().ok()).ok_or(format!("{flag} needs a number"));
            match flag.as_str() {
                "--seed" => wanted.seed = Some(number()?),
                "--from" => wanted.from = number()?,
                "--count" => wanted.count = Some(number()? as usize),
                "--worst" => wanted.worst = Some(number()? as usize),
                "--groups" => wanted.groups = true,
                "--floors" => wanted.floors = true,
                "--named" => wanted.named = true,
                "--reference" => wanted.reference = true,
                "--rules" => wanted.rules = true,
                _ => return Err(format!("{flag} is no flag")),
            }
        }
        Ok(wanted)
    }

    /// Random worlds, unless only others are asked for. Says what floors they miss, if that is asked for.
    fn print(&self) -> Vec<String> {
        // A panic of the policy is a row's failure; a replay shows it.
        std::panic::set_hook(Box::new(|_| {}));
        if self.rules {
            print_table(RuleRow::HEAD, &rules(self.from, self.count.unwrap_or(500)));
            return vec![];
        }
        let mut below = vec![];
        let count = self.count.unwrap_or(if self.named || self.reference { 0 } else { 2_000 });
        if count > 0 {
            let mut cases = play_seeds(self.from, count, Rules::ALL);
            let rows = rows(&cases, self.groups);
            print_table(Row::HEAD, &rows);
            if self.floors {
                below = missed(&rows, 0.0);
            }
            print_worst(&mut cases, self.worst.unwrap_or(10));
        }
        if self.named {
            print_table(NamedRow::HEAD, &named());
        }
        if self.reference {
            print_table(ReferenceRow::HEAD, &reference());
        }
        below
    }
}

fn print_table<T: std::fmt::Display>(head: &str, rows: &[T]) {
    println!("{head}");
    for row in rows {
        println!("{row}");
    }
    println!();
}

/// Each on one line, which a shell can run.
fn print_worst(cases: &mut [Case], count: usize) {
    cases.sort_by(|a, b| a.played.efficiency().total_cmp(&b.played.efficiency()));
    for case in cases.iter().take(count) {
        let Case { world, played, .. } = case;
        print!("cargo run --release -p becalm-worlds -- --seed {} # {:.3}", world.seed, played.efficiency());
        print!(", best {:.2}", case.best());
        print!(", {} refusals, {} lost, {} unfinished", played.refusals, played.lost, played.unfinished());
        print!(", ideal {} s, took {} s", played.schedule.ideal_ms / 1_000, played.took_ms() / 1_000);
        println!("{}: {world}", played.failure.as_ref().map_or_else(String::new, |failure| format!(", {failure}")));
    }
    println!();
}

const USAGE: &str = "worlds [--count 2000] [--from SEED] [--worst 10] [--groups] [--floors] [--named] [--reference] [--rules], or worlds --seed SEED";
