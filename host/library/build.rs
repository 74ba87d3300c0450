//! Builds the component that the host embeds: the guest as WebAssembly module, made a component by `wit-component`; and
//! writes down the contract that it carries. `BECALM_COMPONENT=file` takes a module or component that was built elsewhere
//! instead; a published crate has the component in it, and needs no target for WebAssembly.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use anyhow::{Context, Result, bail, ensure};
use wasmparser::Parser;
use wit_component::{ComponentEncoder, WitPrinter};

fn main() -> Result<()> {
    println!("cargo::rerun-if-env-changed=BECALM_COMPONENT");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    // Asked at run time: a target folder may be shared by several checkouts.
    let package = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let wasm = match env::var_os("BECALM_COMPONENT").filter(|file| !file.is_empty()) {
        Some(file) => given(Path::new(&file))?,
        None if package.join("../../guest/policy").exists() => built(&package.join("../.."), &out)?,
        None => given(&package.join("becalm.wasm"))?,
    };
    let component = if Parser::is_component(&wasm) { wasm } else { encoded(&wasm)? };
    fs::write(out.join("becalm.wit"), contract(&component)?)?;
    fs::write(out.join("becalm.component.wasm"), component)?;
    Ok(())
}

fn given(file: &Path) -> Result<Vec<u8>> {
    println!("cargo::rerun-if-changed={}", file.display());
    fs::read(file).with_context(|| format!("the component {} cannot be read", file.display()))
}

/// Runs cargo again, for the guest; with a target folder of its own, because the outer cargo holds a lock on the other.
fn built(root: &Path, out: &Path) -> Result<Vec<u8>> {
    for source in ["Cargo.toml", "Cargo.lock", "wit", "guest/policy/src", "guest/policy/Cargo.toml"]
        .into_iter()
        .chain(["guest/component/src", "guest/component/Cargo.toml"])
    {
        println!("cargo::rerun-if-changed={}", root.join(source).display());
    }
    ensure_target()?;
    let status = Command::new(env::var("CARGO")?)
        .args(["build", "--package", "becalm-component", "--profile", "component", "--target", TARGET])
        .arg("--manifest-path")
        .arg(root.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(out.join("guest"))
        // What the outer build was told (by clippy, for instance) is not meant for the guest. Its bytes are the same wherever
        // it is built: panics name files of other crates, by where cargo keeps them.
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .env("CARGO_ENCODED_RUSTFLAGS", format!("--remap-path-prefix={}=cargo", cargo_home().display()))
        .env_remove("CARGO_BUILD_TARGET")
        .status()?;
    ensure!(status.success(), "the guest does not build, see above");
    let file = out.join("guest").join(TARGET).join("component/becalm_component.wasm");
    fs::read(&file).with_context(|| format!("the guest's build left no {}", file.display()))
}

fn cargo_home() -> PathBuf {
    let usual = || env::home_dir().unwrap_or_default().join(".cargo");
    env::var_os("CARGO_HOME").map_or_else(usual, PathBuf::from)
}

fn ensure_target() -> Result<()> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let folder = Command::new(rustc).args(["--print", "target-libdir", "--target", TARGET]).output()?;
    if folder.status.success() && Path::new(String::from_utf8(folder.stdout)?.trim()).is_dir() {
        return Ok(());
    }
    bail!("the Rust target {TARGET} is not installed\nhint: run `make build`, or `rustup target add {TARGET}`");
}

fn encoded(module: &[u8]) -> Result<Vec<u8>> {
    ComponentEncoder::default().validate(true).module(module)?.encode().context("the guest is no valid component")
}

/// What it imports and exports, as WIT.
fn contract(component: &[u8]) -> Result<String> {
    let decoded = wit_component::decode(component)?;
    let (resolve, package) = (decoded.resolve(), decoded.package());
    let others = resolve.packages.iter().map(|(id, _)| id).filter(|id| *id != package).collect::<Vec<_>>();
    let mut printer = WitPrinter::default();
    printer.print(resolve, package, &others)?;
    Ok(printer.output.to_string())
}

const TARGET: &str = "wasm32-unknown-unknown";
