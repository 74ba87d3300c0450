//! A host of stock wasmtime with its own HTTP client: nothing of becalm's library is in it.

#![allow(dead_code, reason = "every test program uses a part of it")]

use wasmtime::component::{Component, Instance, Linker, ResourceTable};
use wasmtime::{Engine, Result, Store};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView, default_hooks};

#[derive(Default)]
pub(crate) struct Stock {
    wasi: WasiCtx,
    http: WasiHttpCtx,
    table: ResourceTable,
}

impl WasiView for Stock {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl WasiHttpView for Stock {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView { ctx: &mut self.http, table: &mut self.table, hooks: default_hooks() }
    }
}

pub(crate) fn linker(engine: &Engine) -> Result<Linker<Stock>> {
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(&mut linker)?;
    Ok(linker)
}

pub(crate) async fn instance(component: &[u8]) -> Result<(Store<Stock>, Instance)> {
    let engine = Engine::default();
    let component = Component::new(&engine, component)?;
    let mut store = Store::new(&engine, Stock::default());
    let instance = linker(&engine)?.instantiate_async(&mut store, &component).await?;
    Ok((store, instance))
}
