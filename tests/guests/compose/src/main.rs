//! Puts one component into another that imports what it exports. That one may come as its compiler leaves it, a module.
//!
//!     compose PLUG SOCKET OUTPUT
//!
//! A program of its own: what it is made of would change the features that wasmtime's dependencies are built with.

use std::{env, fs};

use anyhow::{Context, Result, bail};
use wac_graph::types::Package;
use wac_graph::{CompositionGraph, EncodeOptions, plug};
use wit_component::ComponentEncoder;

fn main() -> Result<()> {
    let arguments = env::args().skip(1).collect::<Vec<_>>();
    let [inner, outer, output] = &arguments[..] else { bail!("usage: compose PLUG SOCKET OUTPUT") };
    let mut graph = CompositionGraph::new();
    let mut register = |name, file: &String| {
        let bytes = component(fs::read(file).with_context(|| format!("cannot read {file}"))?)?;
        let package = Package::from_bytes(name, None, bytes, graph.types_mut())?;
        anyhow::Ok(graph.register_package(package)?)
    };
    let (inner, outer) = (register("test:plug", inner)?, register("test:socket", outer)?);
    plug(&mut graph, vec![inner], outer)?;
    fs::write(output, graph.encode(EncodeOptions::default())?).with_context(|| format!("cannot write {output}"))
}

fn component(bytes: Vec<u8>) -> Result<Vec<u8>> {
    if bytes.starts_with(MODULE) { ComponentEncoder::default().module(&bytes)?.encode() } else { Ok(bytes) }
}

/// The magic number and version 1.
const MODULE: &[u8] = b"\0asm\x01\0\0\0";
