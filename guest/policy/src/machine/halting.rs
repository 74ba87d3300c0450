//! When nothing more is sent, because every request would fail like those before.

use alloc::format;

use super::Machine;
use super::action::{Action, News};
use crate::outcome::{Failure, FailureKind, PostponeReason};
use crate::verdict::Reach;

impl Machine {
    /// Ends the batch with this failure, if it concerns all.
    pub(super) fn halt_if(&mut self, reach: Reach, failure: &Failure) {
        let halts = match reach {
            Reach::Document => false,
            Reach::UntilProven => self.answered_at.is_none(),
            Reach::Batch => true,
        };
        if halts && !self.has_ended() {
            self.decided.push_back(Action::Tell(News::Halted(failure.clone())));
            self.end(
                PostponeReason::Halted,
                format!("not sent, it would fail like the one before: {}", failure.message),
            );
        }
    }

    /// The same words for the first few documents and no answer: it is a setting that is rejected, and would be for all.
    pub(super) fn halt_if_setting(&mut self, failure: &Failure) {
        if self.answered_at.is_some() || failure.kind != FailureKind::Rejected {
            return;
        }
        let times = match &self.rejected {
            Some((message, times)) if *message == failure.message => times + 1,
            _ => 1,
        };
        self.rejected = Some((failure.message.clone(), times));
        if times >= MOST_REJECTIONS {
            self.halt_if(Reach::Batch, failure);
        }
    }

    /// Successes that are no answers and no answer yet: all would be paid for, again and again.
    pub(super) fn halt_if_unusable(&mut self, failure: &Failure) {
        if self.answered_at.is_none() && failure.kind == FailureKind::UnusableAnswer {
            self.unusable += 1;
            if self.unusable >= MOST_UNUSABLE {
                self.halt_if(Reach::Batch, failure);
            }
        }
    }
}

const MOST_REJECTIONS: u32 = 5;
const MOST_UNUSABLE: u32 = 3;
