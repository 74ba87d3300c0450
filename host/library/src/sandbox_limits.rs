//! How much a component may take of memory, tables and time, whatever it is.

use std::thread;
use std::time::Duration;

use wasmtime::component::ResourceTable;
use wasmtime::{Config, Engine, StoreLimits, StoreLimitsBuilder, UpdateDeadline};
use wasmtime_wasi_http::WasiHttpCtx;

/// The configuration with what the limits need: code that looks now and then whether its time is over.
pub(crate) fn configured(config: &Config) -> Config {
    let mut config = config.clone();
    config.epoch_interruption(true);
    config
}

/// Lets an engine's time go on for as long as there is one.
pub(crate) fn keep_time(engine: &Engine) {
    let engine = engine.weak();
    thread::spawn(move || {
        while let Some(engine) = engine.upgrade() {
            engine.increment_epoch();
            drop(engine);
            thread::sleep(TICK);
        }
    });
}

/// What an instance may take of memory.
pub(crate) fn limits() -> StoreLimits {
    StoreLimitsBuilder::new()
        .memory_size(MOST_MEMORY)
        .table_elements(MOST_ELEMENTS)
        // A component says "out of memory" by a trap that tells nothing; this says what it wanted.
        .trap_on_grow_failure(true)
        .build()
}

/// Where the host keeps what it hands out: requests, bodies, timers.
pub(crate) fn table() -> ResourceTable {
    let mut table = ResourceTable::new();
    table.set_max_capacity(MOST_RESOURCES);
    table
}

/// What an instance may do over HTTP.
pub(crate) fn http() -> WasiHttpCtx {
    let mut http = WasiHttpCtx::new();
    http.set_field_size_limit(MOST_FIELD_BYTES);
    http
}

/// Sees whether a component does anything but compute.
#[derive(Debug)]
pub(crate) struct Watchdog {
    calls: u64,
    calls_before: u64,
    silent_ticks: u32,
    most_silent_ticks: u32,
    /// What to do at each tick.
    at_tick: fn(u64) -> UpdateDeadline,
}

impl Watchdog {
    /// In real time, others have their turn at each tick. In virtual time they must not: it would depend on real time who
    /// comes first.
    pub(crate) fn new(is_virtual: bool) -> Self {
        let at_tick = if is_virtual { UpdateDeadline::Continue } else { UpdateDeadline::Yield };
        Self { calls: 0, calls_before: 0, silent_ticks: 0, most_silent_ticks: MOST_SILENT_TICKS, at_tick }
    }

    /// The component called the host, or was called by it.
    pub(crate) const fn called(&mut self) {
        self.calls += 1;
    }

    /// A tick has passed while it computed. (Of a wait it hears at the first tick after it, once.)
    pub(crate) fn tick(&mut self) -> wasmtime::Result<UpdateDeadline> {
        self.silent_ticks = if self.calls == self.calls_before { self.silent_ticks + 1 } else { 0 };
        self.calls_before = self.calls;
        if self.silent_ticks > self.most_silent_ticks {
            let seconds = (TICK * self.most_silent_ticks).as_secs_f32();
            return Err(wasmtime::Error::msg(format!("it computed for {seconds} s without a call to the host")));
        }
        Ok((self.at_tick)(1))
    }
}

/// Documents are fed in small numbers, so a session needs a few MiB; `analyze_batch` holds a whole batch.
const MOST_MEMORY: usize = 2 * 1024 * 1024 * 1024;
/// Of function tables: the component has one with some hundreds.
const MOST_ELEMENTS: usize = 100_000;
/// On its side. A request has up to four, and lends one more to `poll`; 10,000 may be in flight.
pub(crate) const MOST_HANDLES: usize = 100_000;
/// On the host's side, where some of them have children.
const MOST_RESOURCES: usize = 200_000;
/// Of the header fields of one request. Servers refuse more than 8 to 64 KiB.
const MOST_FIELD_BYTES: usize = 64 * 1024;
/// What one call may return. An answer of 64 MiB comes home as its text and as its body.
pub(crate) const MOST_BYTES_OF_A_CALL: usize = 512 * 1024 * 1024;
const TICK: Duration = Duration::from_millis(100);
/// Ten seconds. The longest work without a call, a document of 64 MiB that becomes a request, takes less than one.
const MOST_SILENT_TICKS: u32 = 100;

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use wasmtime::{Instance, Module, Store};

    use super::*;

    struct Hostile {
        limits: StoreLimits,
        watchdog: Watchdog,
    }

    /// Calls what a hostile module exports as `f`.
    async fn call(module: &str, watchdog: Watchdog) -> String {
        let engine = Engine::new(&configured(&Config::new())).unwrap();
        keep_time(&engine);
        let module = Module::new(&engine, wat::parse_str(module).unwrap()).unwrap();
        let mut store = Store::new(&engine, Hostile { limits: limits(), watchdog });
        store.limiter(|hostile| &mut hostile.limits);
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(|mut context| context.data_mut().watchdog.tick());
        let instance = Instance::new_async(&mut store, &module, &[]).await.unwrap();
        let function = instance.get_typed_func::<(), ()>(&mut store, "f").unwrap();
        match function.call_async(&mut store, ()).await {
            Ok(()) => "it came to its end".into(),
            Err(error) => format!("{error:?}"),
        }
    }

    #[tokio::test]
    async fn one_that_spins_lets_others_work_and_is_ended() {
        let turns = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&turns);
        let other = tokio::spawn(async move {
            loop {
                counted.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        });
        let watchdog = Watchdog { most_silent_ticks: 5, ..Watchdog::new(false) };
        let ended = call("(module (func (export \"f\") (loop br 0)))", watchdog).await;
        other.abort();
        assert!(ended.contains("it computed for 0.5 s without a call to the host"), "{ended}");
        assert!(turns.load(Ordering::Relaxed) >= 3, "nobody else had a turn");
    }

    #[tokio::test]
    async fn one_that_takes_all_memory_is_ended() {
        let grows = "(module (memory 1) (func (export \"f\") (loop (memory.grow (i32.const 1000)) drop br 0)))";
        let ended = call(grows, Watchdog::new(false)).await;
        assert!(ended.contains("forcing trap when growing memory"), "{ended}");
        let fills = "(module (table 1 funcref) (func (export \"f\")
            (loop (table.grow (ref.null func) (i32.const 1000)) drop br 0)))";
        let ended = call(fills, Watchdog::new(false)).await;
        assert!(ended.contains("forcing trap when growing table"), "{ended}");
    }

    #[test]
    fn one_that_calls_the_host_may_go_on_for_ever() {
        let mut watchdog = Watchdog::new(false);
        for _ in 0..10 * MOST_SILENT_TICKS {
            watchdog.called();
            assert!(watchdog.tick().is_ok());
        }
        assert!((0..MOST_SILENT_TICKS).all(|_| watchdog.tick().is_ok()));
        assert!(watchdog.tick().is_err());
    }

    #[test]
    fn what_is_handed_out_has_an_end() {
        let mut table = table();
        let taken = (0..=MOST_RESOURCES).map_while(|n| table.push(n).ok()).count();
        assert_eq!(taken, MOST_RESOURCES);
    }
}
