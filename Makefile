# becalm: `make demo` shows what it does, `make test` runs all that CI runs.

.PHONY: help build demo test test-hosts component package matrix bench fuzz check

# What the guest needs: nothing, or a component built by other means. See guest/target.sh.
cargo = environment=$$(guest/target.sh) && env $$environment cargo

# They are built for WebAssembly, by host/build.rs and by the tests that need them.
guests = $(addprefix --exclude becalm-,component hostile caller service compose)

help:
	@echo "make build   target/release/becalm"
	@echo "make demo    build it and run its demo, under a minute"
	@echo "make test    everything that CI runs"
	@echo "make test-hosts the same component in Python, JavaScript, C and wasmtime's command line"
	@echo "make component becalm.wasm, the component by itself"
	@echo "make package the crate as it is published, with the component in it, into target/package"
	@echo "make matrix  every server model, measured in virtual time, into tests/matrix/"
	@echo "make bench   the policy by itself, and becalm against other clients where nothing limits"
	@echo "make fuzz    every parser under libFuzzer, a minute each (needs nightly and cargo-fuzz)"
	@echo "make check   formatting and lints, warnings denied"

build:
	@$(cargo) build --release
	@target/release/becalm component

demo: build
	@target/release/becalm demo

test: check
	@$(cargo) test --release --workspace $(guests)
	@$(MAKE) --no-print-directory package test-hosts

# The component in other languages and in wasmtime's command line, with the runtimes from their registries.
test-hosts:
	@$(cargo) build --release --quiet
	@environment=$$(guest/target.sh) && target="$${CARGO_TARGET_DIR:-$$PWD/target}" && \
		env $$environment BECALM="$$target/release/becalm" tests/hosts/run "$$target/hosts"

component:
	@$(cargo) run --release --quiet -- component -o becalm.wasm

# The crate that is published has the component in it, so that whoever installs it needs no target for WebAssembly. It is
# built from what is in it, in a folder that has nothing else.
package:
	@$(cargo) run --release --quiet -- component -o host/becalm.wasm >/dev/null
	@$(cargo) package --package becalm --no-verify --allow-dirty --quiet 2>/dev/null; status=$$?; rm host/becalm.wasm; exit $$status
	@target="$${CARGO_TARGET_DIR:-$$PWD/target}" && folder=$$(mktemp -d) && \
		tar xzf "$$target"/package/becalm-*.crate -C "$$folder" --strip-components 1 && \
		cargo build --release --quiet --config 'profile.release.lto="off"' --target-dir "$$target" \
			--manifest-path "$$folder/Cargo.toml" && rm -r "$$folder" && ls "$$target"/package/becalm-*.crate

matrix:
	@$(cargo) build --release --quiet
	@export BECALM_WRITE=1 && $(cargo) test --release --quiet --test matrix --test sharing
	@git --no-pager diff --stat -- tests/matrix

bench:
	@$(cargo) bench -p becalm-policy --bench machine
	@$(cargo) build --release --quiet -p becalm --examples
	@$(cargo) bench -p becalm --bench throughput

# Needs a nightly compiler and cargo-fuzz; `make fuzz seconds=600` for each target.
seconds ?= 60
targets = $(basename $(notdir $(wildcard guest/policy/fuzz/bins/*.rs)))
fuzz:
	@cd guest/policy && for target in $(targets); do \
		cargo +nightly fuzz run $$target -- -max_total_time=$(seconds) -dict=fuzz/words.dict -seed=1 -print_final_stats=1 || exit 1; \
	done

check:
	@$(cargo) fmt --all --check
	@$(cargo) clippy --release --workspace --all-targets -- -D warnings
	@$(cargo) doc --release --no-deps --workspace $(guests) --quiet
