#!/bin/sh
# Makes sure that the guest can be built. Prints what the build needs in its environment, as NAME=value words: nothing,
# if the Rust target is there or rustup can get it; else BECALM_COMPONENT, a guest that was built here with Debian's
# compiler, and BECALM_GUESTS, the folder with it and the guests of the tests. All messages go to standard error.
set -eu

target=wasm32-unknown-unknown
root=$(cd "$(dirname "$0")/.." && pwd)
say() { echo "$*" >&2; }

if [ -n "${BECALM_COMPONENT:-}" ]; then
    exit 0
fi

# Without this, rustup would first try to download what rust-toolchain.toml names.
toolchain="RUSTUP_TOOLCHAIN=${RUSTUP_TOOLCHAIN:-stable}"
folder=$(env "$toolchain" rustc --print target-libdir --target "$target" 2>/dev/null) || folder=
if [ -d "$folder" ]; then
    exit 0
fi
say "the Rust target $target is missing; getting it with rustup"
if env "$toolchain" rustup target add "$target" >&2; then
    exit 0
fi

if ! command -v apt-get >/dev/null; then
    say "error: the Rust target $target is not installed, and rustup cannot get it"
    say "hint: install it by hand, or set BECALM_COMPONENT to a component that was built elsewhere"
    exit 1
fi
say "rustup cannot get it; building the guest with Debian's rustc-web and rust-web-src"
admin=
if [ "$(id -u)" != 0 ]; then
    admin=sudo
fi
if ! dpkg -s rustc-web rust-web-src >/dev/null 2>&1; then
    { $admin apt-get update && $admin apt-get install -y --no-install-recommends rustc-web rust-web-src; } >&2 || {
        say "error: neither rustup nor apt-get can be reached"
        say "hint: set BECALM_COMPONENT to a component that was built elsewhere"
        exit 1
    }
fi
host=$(env "$toolchain" rustc --print host-tuple)
linker=$(env "$toolchain" rustc --print sysroot)/lib/rustlib/$host/bin/rust-lld
folder=$root/target/debian-guest
# Debian ships the standard library as source only for this target, so it is built along.
env "$toolchain" RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 \
    CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER="$linker" \
    cargo build --manifest-path "$root/Cargo.toml" --package becalm-component --package becalm-hostile \
    --package becalm-caller --package becalm-service --profile component --target "$target" --target-dir "$folder" -Zbuild-std=std,panic_abort >&2
guests=$folder/$target/component
echo "$toolchain" "BECALM_COMPONENT=$guests/becalm_component.wasm" "BECALM_GUESTS=$guests"
