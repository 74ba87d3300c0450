//! Floors: what the policy has to reach on random worlds, whichever they are.

use crate::figures::Figures;
use crate::summary::Row;

/// What is missed, in a sentence for each. Floors are for 2,000 worlds; of 300 each figure is let off so many standard
/// deviations, because chance alone spreads it.
pub fn missed(rows: &[Row], deviations_of_300: f64) -> Vec<String> {
    let found = FLOORS.iter().map(|floor| (floor, rows.iter().find(|row| row.name() == floor.row)));
    found
        .flat_map(|(floor, row)| match row {
            Some(row) => floor.missed_by(row, deviations_of_300),
            None => vec![format!("{}: there is no such world", floor.row)],
        })
        .collect()
}

/// What a row has to reach.
struct Floor {
    row: &'static str,
    least: Figures,
    /// One standard deviation among samples of 300 worlds.
    spread: Figures,
}

impl Floor {
    fn missed_by(&self, row: &Row, deviations: f64) -> Vec<String> {
        let Self { row: name, least, spread } = self;
        let figures = row.figures();
        let below = |what: &str, figure: f64, least: f64, spread: f64| {
            let least = least - deviations * spread;
            (figure < least).then(|| format!("{name}: the {what} is {figure:.4}, and has to be {least:.4} at least"))
        };
        let most = least.refusals + deviations * spread.refusals;
        let refused = (figures.refusals > most).then(|| {
            format!("{name}: one world in ten has {:.1} refusals per 100, and {most:.1} are allowed", figures.refusals)
        });
        [
            below("p10 of efficiency", figures.p10, least.p10, spread.p10),
            below("median of efficiency", figures.median, least.median, spread.median),
            below("mean of efficiency", figures.mean, least.mean, spread.mean),
            refused,
        ]
        .into_iter()
        .flatten()
        .chain(row.flaws().map(|flaw| format!("{name}: {flaw}")))
        .collect()
    }
}

const fn figures(p10: f64, median: f64, mean: f64, refusals: f64) -> Figures {
    Figures { p10, median, mean, refusals }
}

/// What is reached (all 0.57, 0.95, 0.86, 25; benign 0.73, 0.98, 0.92, 25; known 0.60, 0.97, 0.87, 15), less what chance takes
/// from a seed that nobody has chosen. Asked for is more: 0.58, 0.95, 0.87, 25; 0.72, 0.97, 0.90, 22; 0.65, 0.97, 0.88, 10.
/// The spread is that among 4,000 samples of 300 worlds, drawn with replacement from the 2,000 that begin at seed 10,000. Where
/// a limit is known there are but 80 in such a sample, hence the wide one.
const FLOORS: [Floor; 3] = [
    Floor { row: "all", least: figures(0.53, 0.935, 0.845, 29.0), spread: figures(0.040, 0.012, 0.011, 4.0) },
    Floor { row: "benign", least: figures(0.68, 0.97, 0.90, 31.0), spread: figures(0.033, 0.005, 0.010, 5.2) },
    Floor { row: "limit known", least: figures(0.53, 0.95, 0.845, 20.0), spread: figures(0.073, 0.018, 0.022, 5.5) },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::many_worlds::{Case, play_seeds};
    use crate::summary::rows;
    use becalm_policy::learner::Rules;

    const DEVIATIONS: f64 = 3.0;

    #[test]
    fn worlds_that_nobody_has_chosen_keep_above_the_floors() {
        let missed = missed(&rows(&play_seeds(30_000, 300, Rules::ALL), false), DEVIATIONS);
        assert!(missed.is_empty(), "{missed:#?}\nhint: `make worlds` shows the distribution and the worst of them");
    }

    #[test]
    fn whatever_is_missed_is_named() {
        let mut cases = play_seeds(30_000, 4, Rules::ALL);
        for Case { played, .. } in &mut cases {
            // The last answer has come late, and the first not at all.
            *played.answered_at_ms.last_mut().unwrap() *= 10;
            played.answered_at_ms.remove(0);
            played.lost = 1;
            played.refusals = 100 * played.documents as u64;
        }
        let missed = missed(&rows(&cases, false), 0.0);
        for sentence in ["p10 of", "median of", "mean of", "10000.0 refusals", "documents that are lost: 4"] {
            assert!(missed.iter().any(|missed| missed.contains(sentence)), "{sentence}: {missed:#?}");
        }
    }
}
