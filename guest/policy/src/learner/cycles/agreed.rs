//! How many cycles in a row agree with what is believed.

use crate::settings::Rate;

/// What the last cycles agree in.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Agreed {
    rate: Option<Rate>,
    pub(super) cycles: u32,
}

impl Agreed {
    /// A cycle ended that went at this rate.
    pub(super) fn cycle(&mut self, rate: Rate) {
        let is_same = self.rate.is_some_and(|agreed| agreed.is_near(rate));
        *self = match is_same {
            true => Self { cycles: self.cycles.saturating_add(1), ..*self },
            false => Self { rate: Some(rate), cycles: 1 },
        };
    }
}
