//! Runs the component: one compiled `Sandbox`, any number of [`Session`]s in it. The order is settings → session → events.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use tracing::debug;
use wasmtime::component::{Component, Linker};
use wasmtime::{Config, Engine, Store};

use crate::cache;
use crate::clock::Clock;
use crate::contract::{Batch, BatchPre, Document, Report, Settings};
use crate::error::Error;
use crate::guest::Guest;
use crate::http::{Access, Hooks, Sender};
use crate::instance::Instance;
use crate::sandbox_limits;
use crate::session::Session;

/// The component as built, from which any runtime for WASI 0.2 can make its own instance.
pub const COMPONENT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/becalm.component.wasm"));

/// What the component imports and exports, as WIT: the contract, and WASI as far as it is used.
pub const CONTRACT: &str = include_str!(concat!(env!("OUT_DIR"), "/becalm.wit"));

/// The compiled component. Compiling takes a moment, opening sessions does not.
pub struct Sandbox {
    engine: Engine,
    batch: BatchPre<Guest>,
    component: Component,
    clock: Clock,
}

impl Sandbox {
    /// Compiles the component.
    ///
    /// # Errors
    ///
    /// If the machine's runtime cannot be set up.
    pub fn new() -> Result<Self, Error> {
        let engine = engine(&Config::new())?;
        sandbox_limits::keep_time(&engine);
        Self::compiled(&engine, COMPONENT, |_| Ok(())).map_err(Error::component)
    }

    /// Compiles the component, or takes it from this folder, where an earlier process left it compiled.
    ///
    /// Only what this user alone can write is taken, and only if it is whole and fits this version and this machine;
    /// otherwise it is compiled, and left there.
    ///
    /// # Errors
    ///
    /// If the machine's runtime cannot be set up.
    pub fn cached(folder: &Path) -> Result<Self, Error> {
        let started = Instant::now();
        let engine = engine(&Config::new())?;
        let (component, found) = cache::component(&engine, COMPONENT, folder).map_err(Error::component)?;
        debug!(?found, after_ms = started.elapsed().as_millis(), "the component is there");
        sandbox_limits::keep_time(&engine);
        Self::linked(&engine, component, |_| Ok(())).map_err(Error::component)
    }

    /// The same with a wasmtime configuration of the caller's.
    ///
    /// # Errors
    ///
    /// If the configuration does not fit the machine or the component.
    #[cfg(feature = "engine")]
    pub fn with_config(config: &Config) -> Result<Self, Error> {
        Self::with_component(config, COMPONENT)
    }

    /// The same with another component of this contract, such as one that was built elsewhere.
    ///
    /// # Errors
    ///
    /// If it is no such component, or imports what the sandbox does not have.
    #[cfg(feature = "engine")]
    pub fn with_component(config: &Config, component: &[u8]) -> Result<Self, Error> {
        let engine = engine(config)?;
        sandbox_limits::keep_time(&engine);
        Self::with_engine(&engine, component, |_| Ok(()))
    }

    /// The same in an engine of the caller's, with imports beside those of WASI: for platforms that run other components
    /// too, and for components that ask for more.
    ///
    /// Whoever brings an engine keeps its time: a component that only computes is ended after 100 ticks of the engine's epoch,
    /// and never where its configuration has no `epoch_interruption`.
    ///
    /// # Errors
    ///
    /// If it is no such component, or imports what there is not.
    #[cfg(feature = "engine")]
    pub fn with_engine(
        engine: &Engine,
        component: &[u8],
        imports: impl FnOnce(&mut Linker<Guest>) -> wasmtime::Result<()>,
    ) -> Result<Self, Error> {
        Self::compiled(engine, component, imports).map_err(Error::component)
    }

    fn compiled(
        engine: &Engine,
        component: &[u8],
        imports: impl FnOnce(&mut Linker<Guest>) -> wasmtime::Result<()>,
    ) -> wasmtime::Result<Self> {
        let started = Instant::now();
        let compiled = Component::new(engine, component)?;
        debug!(bytes = component.len(), after_ms = started.elapsed().as_millis(), "the component is compiled");
        Self::linked(engine, compiled, imports)
    }

    fn linked(
        engine: &Engine,
        component: Component,
        imports: impl FnOnce(&mut Linker<Guest>) -> wasmtime::Result<()>,
    ) -> wasmtime::Result<Self> {
        let mut linker = Linker::new(engine);
        wasmtime_wasi::p2::add_to_linker_proxy_interfaces_async(&mut linker)?;
        crate::http::add_to_linker(&mut linker)?;
        imports(&mut linker)?;
        let batch = BatchPre::new(linker.instantiate_pre(&component)?)?;
        Ok(Self { engine: engine.clone(), batch, component, clock: Clock::default() })
    }

    /// The same component in another time.
    #[must_use]
    pub fn in_time(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// What the component imports, as `package:name/interface@version`.
    pub fn imports(&self) -> Vec<String> {
        self.component.component_type().imports(&self.engine).map(|(name, _)| name.to_string()).collect()
    }

    /// What the component exports.
    pub fn exports(&self) -> Vec<String> {
        self.component.component_type().exports(&self.engine).map(|(name, _)| name.to_string()).collect()
    }

    /// The component's own defaults. Those of `Settings::default()` are the same, and need no component.
    ///
    /// # Errors
    ///
    /// If the component traps.
    pub async fn default_settings(&self) -> Result<Settings, Error> {
        let (mut store, batch) = self.instantiate(Hooks::closed()).await?;
        batch.becalm_batch_analyzer().call_default_settings(&mut store).await.map_err(Error::component)
    }

    /// Opens a session. `access` says which origin the guest may reach and with which key, `sender` carries its requests.
    ///
    /// # Errors
    ///
    /// [`Error::Settings`] names the field of a setting that cannot be used.
    pub async fn open(&self, settings: Settings, access: Access, sender: Arc<dyn Sender>) -> Result<Session, Error> {
        let max_in_flight = settings.limits.max_in_flight;
        Ok(Session::new(self.instance(settings, access, sender).await?, max_in_flight))
    }

    pub(crate) async fn instance(
        &self,
        settings: Settings,
        access: Access,
        sender: Arc<dyn Sender>,
    ) -> Result<Instance, Error> {
        let started = Instant::now();
        let (mut store, batch) = self.instantiate(Hooks::new(access, sender, settings.limits.max_in_flight)).await?;
        debug!(after_us = started.elapsed().as_micros(), "there is an instance of the component");
        let opened = batch.becalm_batch_analyzer().session().call_open(&mut store, &settings).await;
        let session = opened.map_err(Error::component)?.map_err(Error::Settings)?;
        let (base_url, rates) = (&settings.endpoint.base_url, settings.limits.rates.len());
        debug!(base_url, rates, after_us = started.elapsed().as_micros(), "a session is open");
        Ok(Instance { store, batch, session })
    }

    /// One outcome per document, in their order. For batches that fit into memory; nothing is heard before the end.
    ///
    /// # Errors
    ///
    /// [`Error::Settings`] names the field of a setting that cannot be used.
    pub async fn analyze_batch(
        &self,
        documents: &[Document],
        settings: &Settings,
        access: Access,
        sender: Arc<dyn Sender>,
    ) -> Result<Report, Error> {
        let (mut store, batch) = self.instantiate(Hooks::new(access, sender, settings.limits.max_in_flight)).await?;
        let report = batch.becalm_batch_analyzer().call_analyze_batch(&mut store, documents, settings).await;
        report.map_err(Error::component)?.map_err(Error::Settings)
    }

    async fn instantiate(&self, hooks: Hooks) -> Result<(Store<Guest>, Batch), Error> {
        let mut store = Store::new(&self.engine, Guest::new(hooks, self.clock));
        store.limiter(|guest| &mut guest.limits);
        store.set_max_component_handles(sandbox_limits::MOST_HANDLES);
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(|mut context| context.data_mut().watchdog.tick());
        store.set_hostcall_fuel(sandbox_limits::MOST_BYTES_OF_A_CALL);
        let batch = self.batch.instantiate_async(&mut store).await.map_err(Error::component)?;
        Ok((store, batch))
    }
}

fn engine(config: &Config) -> Result<Engine, Error> {
    Engine::new(&sandbox_limits::configured(config)).map_err(Error::component)
}
