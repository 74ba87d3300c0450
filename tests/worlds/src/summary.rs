//! Many worlds in one row each for what they have in common.

use std::collections::BTreeMap;
use std::fmt;

use crate::figures::Figures;
use crate::many_worlds::Case;
use crate::played::Played;

/// What became of some worlds.
#[derive(Clone, Debug)]
pub struct Row {
    name: String,
    efficiency: Sorted,
    refusals_per_100: Sorted,
    /// What the obedient clairvoyant reaches.
    best: Sorted,
    lost: usize,
    unfinished: usize,
    failed: usize,
}

#[derive(Clone, Debug)]
struct Sorted(Vec<f64>);

/// All worlds, the benign ones, those whose limit was told or not; then groups of them, if wanted.
pub fn rows(cases: &[Case], with_groups: bool) -> Vec<Row> {
    let mut rows = vec![
        Row::of("all", cases.iter()),
        Row::of("benign", cases.iter().filter(|case| case.world.is_benign())),
        Row::of("limit known", cases.iter().filter(|case| !case.world.known.is_empty())),
        Row::of("limit not known", cases.iter().filter(|case| case.world.known.is_empty())),
    ];
    if with_groups {
        let mut groups = BTreeMap::<String, Vec<&Case>>::new();
        for case in cases {
            for name in group_names(case) {
                groups.entry(name).or_default().push(case);
            }
        }
        rows.extend(groups.into_iter().map(|(name, cases)| Row::of(&name, cases.into_iter())));
    }
    rows.retain(|row| !row.efficiency.0.is_empty());
    rows
}

fn group_names(case: &Case) -> impl Iterator<Item = String> {
    let world = &case.world;
    let changes = &world.changes;
    let fixed = [format!("kind {:?}", world.kind), format!("hint {}", world.hint.name())];
    let some = [
        world.headers.map(|style| format!("headers {style:?}")),
        changes.strangers.then(|| "with strangers".to_string()),
        changes.factor.map(|factor| format!("with limit x {factor}")),
        (changes.faults > 0.0).then(|| "with 503".to_string()),
        changes.stray.map(|_| "with stray 429".to_string()),
        changes.outage.map(|_| "with outage".to_string()),
        (changes.poison > 0).then(|| "with poison".to_string()),
    ];
    fixed.into_iter().chain(some.into_iter().flatten())
}

impl Row {
    /// The head of a table of rows.
    pub const HEAD: &str = "                         worlds    p1   p10   p25   p50  mean | refusals/100 p50    p90    p99 |  lost unfinished failed | best p10   p50  mean";

    pub(crate) fn of<'a>(name: &str, cases: impl Iterator<Item = &'a Case> + Clone) -> Self {
        let best = Sorted::of(cases.clone().map(Case::best));
        let played = cases.map(|case| &case.played);
        Self {
            name: name.to_string(),
            efficiency: Sorted::of(played.clone().map(|played| played.efficiency())),
            refusals_per_100: Sorted::of(played.clone().map(|played| played.refusals_per_100())),
            best,
            lost: played.clone().map(|played| played.lost).sum(),
            unfinished: played.clone().filter(|played| played.failure.is_none() && played.unfinished() > 0).count(),
            failed: played.filter(|played| played.failure.is_some()).count(),
        }
    }
}

impl Row {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The figures that floors are set for.
    pub(crate) fn figures(&self) -> Figures {
        let Self { efficiency, refusals_per_100, .. } = self;
        Figures {
            p10: efficiency.quantile(0.1),
            median: efficiency.quantile(0.5),
            mean: efficiency.mean(),
            refusals: refusals_per_100.quantile(0.9),
        }
    }

    /// What must not be, in a sentence for each that is.
    pub(crate) fn flaws(&self) -> impl Iterator<Item = String> {
        let Self { unfinished, lost, failed, efficiency, .. } = self;
        let flaw = |what: &str, count: usize, most: usize| {
            (count > most).then(|| format!("{what}: {count}, and {most} are allowed"))
        };
        [
            // Others use a key that has room for one request: 2 to 4 of 2,000 take more than thirty times the ideal.
            flaw("worlds that do not come to their end", *unfinished, efficiency.0.len().div_ceil(200)),
            flaw("documents that are lost", *lost, 0),
            flaw("worlds in which the policy does what it must not", *failed, 0),
        ]
        .into_iter()
        .flatten()
    }

    /// As cells of a table.
    pub(crate) fn cells(&self) -> String {
        let Self { refusals_per_100, lost, unfinished, .. } = self;
        let Figures { p10, median, mean, refusals } = self.figures();
        let p99 = refusals_per_100.quantile(0.99);
        format!("{p10:.3} | {median:.3} | {mean:.3} | {refusals:.0} | {p99:.0} | {unfinished} | {lost}")
    }
}

impl fmt::Display for Row {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, efficiency, refusals_per_100, best, lost, unfinished, failed } = self;
        write!(out, "{name:24} {:6}", efficiency.0.len())?;
        for share in [0.01, 0.1, 0.25, 0.5] {
            write!(out, " {:5.3}", efficiency.quantile(share))?;
        }
        write!(out, " {:5.3} |           ", efficiency.mean())?;
        for share in [0.5, 0.9, 0.99] {
            write!(out, " {:6.1}", refusals_per_100.quantile(share))?;
        }
        write!(out, " | {lost:5} {unfinished:10} {failed:6}")?;
        write!(out, " |    {:5.3} {:5.3} {:5.3}", best.quantile(0.1), best.quantile(0.5), best.mean())
    }
}

/// What is not there that should be; empty if all is.
pub(crate) fn missing(cases: &[Case]) -> String {
    let sum = |count: fn(&Played) -> usize| cases.iter().map(|case| count(&case.played)).sum::<usize>();
    match (sum(|played| played.lost), sum(Played::unfinished)) {
        (0, 0) => String::new(),
        (lost, unfinished) => format!("  LOST {lost}, UNFINISHED {unfinished}"),
    }
}

/// The mean over some cases.
pub(crate) fn mean(cases: &[Case], value: impl Fn(&Played) -> f64) -> f64 {
    cases.iter().map(|case| value(&case.played)).sum::<f64>() / cases.len() as f64
}

impl Sorted {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let mut values: Vec<_> = values.collect();
        values.sort_unstable_by(f64::total_cmp);
        Self(values)
    }

    fn quantile(&self, share: f64) -> f64 {
        let index = (share * self.0.len() as f64) as usize;
        self.0.get(index.min(self.0.len() - 1)).copied().unwrap_or(f64::NAN)
    }

    fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len() as f64
    }
}
