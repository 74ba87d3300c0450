//! What each rule of the learner is worth: the same worlds without it.

use std::fmt;

use becalm_policy::learner::{Rule, Rules};

use crate::many_worlds::play_seeds;
use crate::summary::Row;

/// All worlds, played with every rule or without one.
#[derive(Clone, Debug)]
pub struct RuleRow {
    without: Option<Rule>,
    all: Row,
}

/// All rules first, then without each of them.
pub fn rules(from: u64, count: usize) -> Vec<RuleRow> {
    let without = [None].into_iter().chain(Rule::ALL.map(Some));
    let row = |without: Option<Rule>| {
        let rules = without.map_or(Rules::ALL, |rule| Rules::ALL.without(rule));
        RuleRow { without, all: Row::of("", play_seeds(from, count, rules).iter()) }
    };
    without.map(row).collect()
}

impl RuleRow {
    /// The head of a table of rows.
    pub const HEAD: &str = "\
| without | p10 | median | mean | refusals per 100, p90 | p99 | not finished | lost |
|---|--:|--:|--:|--:|--:|--:|--:|";
}

impl fmt::Display for RuleRow {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.without.map_or("–".to_string(), |rule| format!("`{rule:?}`"));
        write!(out, "| {name} | {} |", self.all.cells())
    }
}
