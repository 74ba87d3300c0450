//! Reads ahead, in a thread of its own: while the batch runs, its thread has other things to do than to wait for a disk.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{self, JoinHandle};
use std::vec;

use super::error::InputError;
use super::inputs::Inputs;
use super::row::Row;

type Item = Result<Row, InputError>;

/// Documents in their order. Dropping it ends the thread.
pub struct Prefetch {
    portion: vec::IntoIter<Item>,
    /// A few portions, so that little is in memory.
    portions: Option<Receiver<Vec<Item>>>,
    thread: Option<JoinHandle<()>>,
}

impl Prefetch {
    /// Those documents that are wanted, in their order.
    pub fn of(inputs: Arc<Inputs>, is_wanted: impl Fn(&Row) -> bool + Send + 'static) -> Self {
        let (sender, portions) = sync_channel(1);
        let thread = thread::spawn(move || {
            let mut rows = inputs.rows().filter(|row| row.as_ref().map_or(true, &is_wanted));
            loop {
                let portion = portion(&mut rows);
                if portion.is_empty() || sender.send(portion).is_err() {
                    break;
                }
            }
        });
        Self { portion: vec![].into_iter(), portions: Some(portions), thread: Some(thread) }
    }

    fn end(&mut self) -> thread::Result<()> {
        self.portions = None;
        self.thread.take().map_or(Ok(()), JoinHandle::join)
    }
}

impl Iterator for Prefetch {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        if self.portion.len() == 0 {
            match self.portions.as_ref().and_then(|portions| portions.recv().ok()) {
                Some(portion) => self.portion = portion.into_iter(),
                None => self.end().unwrap_or_else(|panic| resume_unwind(panic)),
            }
        }
        self.portion.next()
    }
}

impl Drop for Prefetch {
    fn drop(&mut self) {
        // It would have been told by `next`, if anyone had asked.
        let _ = self.end();
    }
}

/// The next rows, until they are worth handing over.
fn portion(rows: &mut impl Iterator<Item = Item>) -> Vec<Item> {
    let (mut portion, mut bytes) = (vec![], 0);
    while bytes < PORTION_BYTES {
        let Some(row) = rows.next() else { break };
        bytes += LEAST_BYTES + row.as_ref().map_or(0, Row::bytes);
        portion.push(row);
    }
    portion
}

const PORTION_BYTES: usize = 256 * 1024;
/// What a row without content weighs.
const LEAST_BYTES: usize = 256;

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    fn inputs(rows: usize) -> Arc<Inputs> {
        let lines =
            (0..rows).map(|n| format!("{{\"id\":{n},\"text\":\"{}\"}}\n", "x".repeat(n + 1))).collect::<String>();
        Arc::new(Inputs::scan(&["-".into()], lines.as_bytes(), None, &[]).unwrap())
    }

    fn ids(rows: impl Iterator<Item = Item>) -> Vec<String> {
        rows.map(|row| row.unwrap().id().to_string()).collect()
    }

    #[test]
    fn it_brings_what_is_wanted_in_its_order() {
        let inputs = inputs(2_000);
        let is_wanted = |row: &Row| row.id() != "7";
        let wanted = ids(inputs.rows()).into_iter().filter(|id| id != "7").collect::<Vec<_>>();
        assert_eq!(ids(Prefetch::of(Arc::clone(&inputs), is_wanted)), wanted);
        assert_eq!(ids(Prefetch::of(inputs, |_| false)), [""; 0]);
    }

    #[test]
    fn it_ends_when_it_is_no_longer_wanted() {
        let inputs = inputs(2_000);
        let mut ahead = Prefetch::of(Arc::clone(&inputs), |_| true);
        assert!(ahead.next().is_some());
        drop(ahead);
        assert_eq!(Arc::strong_count(&inputs), 1, "the thread is still there");
    }

    #[test]
    #[should_panic(expected = "on purpose")]
    fn a_reader_that_breaks_down_is_no_end_of_the_input() {
        Prefetch::of(inputs(1), |_| panic!("{}", io::Error::other("on purpose"))).count();
    }
}
