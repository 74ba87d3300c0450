# becalm: `make demo` shows what it does, `make test` and `make test-real` run all that CI runs.

.PHONY: help build demo test test-hosts test-limiters test-real limiters-table component package wheel npm scenarios worlds faults matrix bench fuzz check

# What the guest needs: nothing, or a component built by other means. See guest/target.sh.
cargo = environment=$$(guest/target.sh) && env $$environment cargo

# They are built for WebAssembly, by host/library/build.rs and by the tests that need them.
guests = $(addprefix --exclude becalm-,component hostile caller service compose)

help:
	@echo "make build   target/release/becalm"
	@echo "make demo    build it and run its demo, under a minute"
	@echo "make test    formatting, lints and all tests that need nothing of others"
	@echo "make test-hosts the same component in Python, JavaScript, C and wasmtime's command line"
	@echo "make test-limiters becalm, told nothing, behind nginx, haproxy, express-rate-limit, slowapi, LiteLLM and governor"
	@echo "make test-real both: what others wrote, from its registries"
	@echo "make limiters-table the same limiters, other clients too, into tests/limiters/table.md"
	@echo "make component becalm.wasm, the component by itself"
	@echo "make package the two crates as they are published, into target/package"
	@echo "make wheel   the Python package, with the component in it, into target/package"
	@echo "make npm     the JavaScript package, with the component in it, into target/package"
	@echo "make scenarios every scenario is made to expect what happens, in tests/scenarios/"
	@echo "make worlds  2,000 random servers that nobody has chosen, and whether the floors hold; count=… seed=…"
	@echo "make faults  1,000 random batches against endpoints in trouble: none lost, and how much is sent for it; seed=…"
	@echo "make matrix  every server model, measured in virtual time, into tests/matrix/"
	@echo "make bench   the policy by itself, and becalm against other clients where nothing limits"
	@echo "make fuzz    every parser under libFuzzer, a minute each (needs nightly and cargo-fuzz)"
	@echo "make check   formatting and lints, warnings denied"

build:
	@$(cargo) build --release
	@"$${CARGO_TARGET_DIR:-target}/release/becalm" component

demo: build
	@"$${CARGO_TARGET_DIR:-target}/release/becalm" demo

test: check
	@$(cargo) test --release --workspace $(guests)
	@$(MAKE) --no-print-directory package

# The component in other languages and in wasmtime's command line, with the runtimes from their registries.
test-hosts:
	@$(cargo) build --release --quiet
	@environment=$$(guest/target.sh) && target="$${CARGO_TARGET_DIR:-$$PWD/target}" && \
		env $$environment BECALM="$$target/release/becalm" tests/hosts/run "$$target/hosts"

# Limiters that others wrote, from their registries, on this machine; options=--report-only, or others of measure.py.
test-limiters:
	@$(cargo) build --release --quiet
	@target="$${CARGO_TARGET_DIR:-$$PWD/target}" && \
		BECALM="$$target/release/becalm" tests/limiters/run "$$target/limiters" $(options)

test-real: test-limiters test-hosts

# Takes some seven minutes.
limiters-table:
	@$(MAKE) --no-print-directory test-limiters options="--report-only --table tests/limiters/table.md"

component:
	@$(cargo) run --release --quiet -- component -o becalm.wasm

# The library that is published has the component in it, so that whoever installs it needs no target for WebAssembly. Both
# packages are built from what is in them, in a folder that has nothing else: the library by itself, the program on it.
version = $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
package:
	@$(cargo) run --release --quiet -- component -o host/library/becalm.wasm >/dev/null
	@$(cargo) package --package becalm --package becalm-cli --no-verify --allow-dirty --quiet 2>/dev/null; status=$$?; \
		rm host/library/becalm.wasm; exit $$status
	@target="$${CARGO_TARGET_DIR:-$$PWD/target}" && folder=$$(mktemp -d) && \
		crates="becalm-$(version) becalm-cli-$(version)" && \
		for crate in $$crates; do \
			tar xzf "$$target/package/$$crate.crate" -C "$$folder" && \
			cargo build --release --quiet --config 'profile.release.lto="off"' \
				--config "patch.crates-io.becalm.path='$$folder/becalm-$(version)'" \
				--target-dir "$$target" --manifest-path "$$folder/$$crate/Cargo.toml" || exit 1; \
		done && rm -r "$$folder" && ls $$(printf "$$target/package/%s.crate " $$crates)

# The packages for Python and Node; `make test-hosts` tries each where there is nothing else.
wheel:
	@$(cargo) build --release --quiet
	@target="$${CARGO_TARGET_DIR:-$$PWD/target}" && \
		BECALM="$$target/release/becalm" host/python/package "$$target/hosts/python" "$$target/package"

npm:
	@$(cargo) build --release --quiet
	@target="$${CARGO_TARGET_DIR:-$$PWD/target}" && \
		BECALM="$$target/release/becalm" host/javascript/package "$$target/hosts/javascript" "$$target/package"

scenarios:
	@$(cargo) build --release --quiet
	@export BECALM_WRITE=1 && $(cargo) test --release --quiet --test scenarios
	@git --no-pager diff --stat -- tests/scenarios

# Other worlds every day; `make worlds seed=10000` for the same again.
count ?= 2000
seed ?= $(shell date +%Y%m%d)
worlds:
	@cargo build --release --quiet -p becalm-worlds
	@target="$${CARGO_TARGET_DIR:-$$PWD/target}" && \
		(echo "# $(count) worlds from seed $(seed)"; echo; echo '```'; \
		"$$target/release/worlds" --count $(count) --from $(seed) --groups --floors; status=$$?; \
		echo '```'; exit $$status) >"$$target/worlds.md" 2>&1; status=$$?; cat "$$target/worlds.md"; exit $$status

# Other batches every day; `make faults seed=1` for the same again.
faults:
	@BECALM_SEED=$(seed) BECALM_COUNT=1000 cargo test --release --quiet -p becalm-policy --test faults -- --nocapture

matrix:
	@$(cargo) build --release --quiet
	@export BECALM_WRITE=1 && $(cargo) test --release --quiet --test matrix --test sharing
	@git --no-pager diff --stat -- tests/matrix

bench:
	@$(cargo) bench -p becalm-policy --bench machine
	@$(cargo) build --release --quiet -p becalm-cli --examples
	@$(cargo) bench -p becalm-cli --bench throughput

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
	@$(cargo) clippy --release -p becalm --no-default-features -- -D warnings
	@$(cargo) doc --release --no-deps --workspace $(guests) --quiet
