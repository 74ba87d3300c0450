//! What belongs to one instance of the component: its clocks, its HTTP, what it holds, and how much it may take.

use wasmtime::StoreLimits;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

use crate::clock::Clock;
use crate::http::Hooks;
use crate::sandbox_limits::{self, Watchdog};

/// What belongs to one instance of the component. Imports of the caller's see it, and nothing of it.
#[allow(unreachable_pub, reason = "it is public with the feature `engine`")]
pub struct Guest {
    wasi: WasiCtx,
    http: WasiHttpCtx,
    hooks: Hooks,
    table: ResourceTable,
    pub(crate) limits: StoreLimits,
    pub(crate) watchdog: Watchdog,
}

impl Guest {
    pub(crate) fn new(hooks: Hooks, clock: Clock) -> Self {
        let mut wasi = WasiCtxBuilder::new();
        clock.install(&mut wasi);
        Self {
            wasi: wasi.build(),
            http: sandbox_limits::http(),
            hooks,
            table: sandbox_limits::table(),
            limits: sandbox_limits::limits(),
            watchdog: Watchdog::new(matches!(clock, Clock::Virtual(_))),
        }
    }

    /// Whether it keeps nothing of what it handed out.
    #[cfg(test)]
    pub(crate) fn has_no_resources(&self) -> bool {
        self.table.is_empty()
    }
}

impl WasiView for Guest {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        self.watchdog.called();
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl WasiHttpView for Guest {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        self.watchdog.called();
        WasiHttpCtxView { hooks: &mut self.hooks, table: &mut self.table, ctx: &mut self.http }
    }
}
