//! The wire between a client and a world's server: which request arrives when, what it gets, and when the client has it. It
//! has no clock and decides nothing for the client, so that any client can be put before it: the policy alone in `play`, the
//! real component in `tests/worlds.rs`.

use becalm_policy::Reply;

use crate::events::{Event, Events, Stage};
use crate::schedule::Schedule;
use crate::server::Server;
use crate::times::Times;
use crate::world::{Document, World};

/// Carries requests. Call [`send`](Self::send) for each, in the order in which the client sends;
/// [`advance`](Self::advance) at each [`next_at_ms`](Self::next_at_ms), and then [`next_returned`](Self::next_returned)
/// until there is none. Of one millisecond all comes before what the client does then: at the server in the order in which it
/// was put on its way, at the client in the order of documents.
#[derive(Debug)]
pub struct Wire {
    server: Server,
    times: Times,
    documents: Vec<Document>,
    /// The number of the request that each document has on the wire.
    on_wire: Vec<Option<u64>>,
    replies: Vec<Reply>,
    events: Events,
    /// Documents, the first of them last.
    returned: Vec<usize>,
    sent: u64,
}

impl Wire {
    /// A wire that nobody has used.
    pub fn new(world: &World, schedule: &Schedule) -> Self {
        let documents = world.job();
        Self {
            server: Server::new(world, schedule),
            times: Times::of(world),
            on_wire: vec![None; documents.len()],
            replies: vec![Reply::default(); documents.len()],
            documents,
            events: Events::default(),
            returned: vec![],
            sent: 0,
        }
    }

    /// The request of this document goes out. Gives its number.
    pub fn send(&mut self, now_ms: u64, document: usize) -> u64 {
        let request = self.sent;
        self.sent += 1;
        self.on_wire[document] = Some(request);
        self.events.push(now_ms + self.times.there_ms(request), Stage::Arrived, document, request);
        request
    }

    /// The client waits for this document's request no more.
    pub fn give_up(&mut self, document: usize) {
        self.on_wire[document] = None;
    }

    /// When the next thing happens.
    pub fn next_at_ms(&self) -> Option<u64> {
        self.events.next_at_ms()
    }

    /// Everything happens that is due. Tells what arrives at the server, and what it gets there.
    pub fn advance(&mut self, now_ms: u64, mut arrived: impl FnMut(usize, &Reply)) {
        while let Some(event) = self.events.due(now_ms) {
            match event.stage {
                Stage::Arrived => self.arrive(now_ms, event, &mut arrived),
                Stage::Served => self.leave(now_ms, event),
                Stage::Returned if self.is_on_wire(event) => self.returned.push(event.document),
                Stage::Returned => {}
            }
        }
        self.returned.sort_unstable_by(|a, b| b.cmp(a));
    }

    /// The next document whose reply the client has.
    pub fn next_returned(&mut self) -> Option<(usize, &Reply)> {
        let document = self.returned.pop()?;
        self.on_wire[document] = None;
        Some((document, &self.replies[document]))
    }

    fn arrive(&mut self, now_ms: u64, event: Event, arrived: &mut impl FnMut(usize, &Reply)) {
        let Event { document, request, .. } = event;
        if !self.is_on_wire(event) {
            return;
        }
        let reply = self.server.arrive(now_ms, self.documents[document]);
        arrived(document, &reply);
        let served_ms = now_ms + self.times.service_ms(request, reply.status);
        if reply.status == 200 {
            self.events.push(served_ms, Stage::Served, document, request);
        } else {
            self.events.push(served_ms + self.times.back_ms(request), Stage::Returned, document, request);
        }
        self.replies[document] = reply;
    }

    fn leave(&mut self, now_ms: u64, Event { document, request, .. }: Event) {
        self.server.leave();
        self.events.push(now_ms + self.times.back_ms(request), Stage::Returned, document, request);
    }

    /// Whether it is not given up.
    fn is_on_wire(&self, event: Event) -> bool {
        self.on_wire[event.document] == Some(event.request)
    }
}
