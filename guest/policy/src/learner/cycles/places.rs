//! Endpoints that limit how many are on the wire at one time.

#[derive(Debug)]
pub(super) struct Places {
    /// How often it turned out not to be so.
    disproved: u32,
    /// After a refusal beside others on the wire: fewer than so many have to be on it for the next to go.
    mark: Option<usize>,
    /// The episode in which that refusal came.
    mark_episode: u32,
    known: Option<usize>,
    /// Whether one more than before is being tried.
    is_trying: bool,
    failures: u32,
    /// Answers on a full wire since the number changed, and since it is known.
    full_answers: u64,
    all_answers: u64,
}

impl Places {
    pub(super) const fn new(is_possible: bool) -> Self {
        Self {
            disproved: if is_possible { 0 } else { OFTEN },
            mark: None,
            mark_episode: 0,
            known: None,
            is_trying: false,
            failures: 0,
            full_answers: 0,
            all_answers: 0,
        }
    }

    pub(super) const fn known(&self) -> Option<usize> {
        self.known
    }

    /// Full rounds of answers since it is known.
    pub(super) fn rounds(&self) -> u32 {
        let rounds = self.all_answers / self.known.map_or(1, |places| places.max(1) as u64);
        u32::try_from(rounds).unwrap_or(u32::MAX)
    }

    pub(super) const fn mark(&self) -> Option<usize> {
        self.mark
    }

    /// A request was refused beside so many others: it may be them.
    pub(super) fn suspect(&mut self, on_wire: usize, episode: u32) {
        if self.disproved < 3 && on_wire >= 1 {
            (self.mark, self.mark_episode) = (Some(on_wire), episode);
        }
    }

    /// Another one of that episode was refused too: they are fewer.
    pub(super) fn fewer(&mut self, on_wire: usize, episode: u32) {
        if self.mark.is_some() && episode == self.mark_episode {
            self.mark = (on_wire >= 1).then_some(on_wire);
        }
    }

    /// What waits for places comes without a hint.
    pub(super) const fn rule_out(&mut self) {
        self.disproved = OFTEN;
    }

    pub(super) const fn take_mark(&mut self) -> Option<usize> {
        self.mark.take()
    }

    pub(super) const fn disprove(&mut self) {
        self.disproved = self.disproved.saturating_add(1);
        self.known = None;
    }

    pub(super) fn found(&mut self, places: usize) {
        if self.is_trying {
            self.failures += 1;
        }
        if self.sure() != Some(places) {
            (self.all_answers, self.failures) = (0, 0);
        }
        self.known = Some(places);
        (self.full_answers, self.is_trying) = (0, false);
    }

    /// Of a episode that names places, fewer were on the wire with a later refusal.
    pub(super) fn at_most(&mut self, places: usize) {
        if self.known.is_some_and(|known| known > places) {
            self.found(places);
        }
    }

    /// Without the one that is only being tried.
    pub(super) fn sure(&self) -> Option<usize> {
        self.known.map(|known| known - usize::from(self.is_trying))
    }

    /// A request was answered that had gone beside so many others: after some rounds on a full wire one more is tried, less
    /// often the more such tries were refused.
    pub(super) fn admitted(&mut self, others: usize) {
        let Some(places) = self.known.as_mut() else { return };
        if others + 1 >= *places {
            self.full_answers += 1;
            self.all_answers += 1;
        }
        let round = *places as u64;
        if self.is_trying && self.full_answers > 2 * round {
            (self.is_trying, self.failures) = (false, 0);
        }
        if !self.is_trying && self.full_answers > 4 * round * 4_u64.pow(self.failures.min(4)) {
            *places += 1;
            (self.full_answers, self.is_trying) = (0, true);
        }
    }

    /// A request was refused without a hint that had gone beside so many others. Says whether places explain it: not if it
    /// was alone.
    pub(super) fn refused(&mut self, others: usize, consecutive_refusals: u32) -> bool {
        let Some(places) = self.known.as_mut() else { return false };
        if others == 0 || !(self.is_trying || self.all_answers > 2 * *places as u64) || consecutive_refusals >= 6 {
            return false;
        }
        if core::mem::take(&mut self.is_trying) {
            self.failures += 1;
            *places -= 1;
        } else {
            *places = (*places * 85 / 100).max(1);
        }
        self.full_answers = 0;
        true
    }
}

/// More than can be.
const OFTEN: u32 = 9;
