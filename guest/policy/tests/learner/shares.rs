//! How many of arbitrary samples fall short, always of the same ones: what holds of nearly all can be watched too.

use std::fmt::Debug;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

/// What was seen of some samples.
#[derive(Debug)]
pub(crate) struct Shares {
    short: u32,
    samples: u32,
    worst: Option<(f64, String)>,
}

/// Measures so many samples against the least that is right.
pub(crate) fn short_of<Sample: Debug>(
    strategy: impl Strategy<Value = Sample>,
    samples: u32,
    least: f64,
    measure: impl Fn(&Sample) -> f64,
) -> Shares {
    let mut runner = TestRunner::deterministic();
    let mut shares = Shares { short: 0, samples, worst: None };
    for _ in 0..samples {
        let sample = strategy.new_tree(&mut runner).unwrap().current();
        let measured = measure(&sample);
        shares.short += u32::from(measured < least);
        if shares.worst.as_ref().is_none_or(|(worst, _)| measured < *worst) {
            shares.worst = Some((measured, format!("{sample:?}")));
        }
    }
    shares
}

impl Shares {
    /// At most so many of a thousand fall short, and not far fewer: else the number is to be lowered.
    #[track_caller]
    pub(crate) fn assert_at_most(&self, thousandths: u32) {
        let share = self.short * 1_000 / self.samples;
        let (worst, sample) = self.worst.as_ref().unwrap();
        println!("{share} of {thousandths} thousandths, worst {worst:.3} of {sample}");
        assert!(share <= thousandths, "{share} of a thousand instead of {thousandths}; worst {worst:.3}: {sample}");
    }
}
