//! The rules of [`Cycles`](super::Cycles), each with its reason. Any can be left out, so that its worth can be measured.

/// A rule that could be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The pace is the best of the last three cycles: one bad cycle does not make it collapse.
    BestOfThree,
    /// A probe that is refused although the hint was obeyed doubles the next hint: hints may be too short, and refusals may
    /// count.
    DoubledHint,
    /// Refused requests take slots until an admission shows that they do not.
    CountedRefusals,
    /// After a replay that failed, and once it was confirmed, the amount of a cycle only shrinks: small buckets and sliding
    /// counters admit a burst once.
    SmallerBurst,
    /// Where the window is short beside all that went before, bursts become smaller at the same rate.
    Spread,
    /// A refusal after a full cycle only slows, by 3 to 20 %; soon after growth it takes the growth back.
    SlowDown,
    /// Where going half as fast brings no fewer refusals, the pace goes back: others use the key too.
    Futile,
    /// One request at a time goes earlier than the cycle says: pauses that are too long are found out.
    Trials,
    /// Where they find nothing too long, trials go earlier still, to find limits that rose.
    Growth,
    /// After a refusal beside others on the wire, one goes when an answer came back; if that alone passes, places are
    /// limited, not a rate.
    Places,
    /// At first, and after each pause, requests go in small groups, each when the one before was not refused.
    SlowStart,
    /// A window that is near to one that providers use is that one.
    UsualWindow,
    /// What an exact log explains teaches nothing; where a limit is known, neither does one refusal in a hundred requests.
    Explained,
}

impl Rule {
    /// Every one of them.
    pub const ALL: [Self; 13] = [
        Self::BestOfThree,
        Self::DoubledHint,
        Self::CountedRefusals,
        Self::SmallerBurst,
        Self::Spread,
        Self::SlowDown,
        Self::Futile,
        Self::Trials,
        Self::Growth,
        Self::Places,
        Self::SlowStart,
        Self::UsualWindow,
        Self::Explained,
    ];
}

/// Which rules hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules(u32);

impl Rules {
    /// All of them.
    pub const ALL: Self = Self(u32::MAX);

    /// All of these but one.
    #[must_use]
    pub const fn without(self, rule: Rule) -> Self {
        Self(self.0 & !(1 << rule as u32))
    }

    /// Whether this one holds.
    pub(crate) const fn has(self, rule: Rule) -> bool {
        self.0 & (1 << rule as u32) != 0
    }
}
