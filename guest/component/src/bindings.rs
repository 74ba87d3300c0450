//! The contract in wit/, as Rust types. This file adds no meaning to it.

#![allow(unsafe_code, missing_docs, unreachable_pub, reason = "generated from wit/, where every item is documented")]

wit_bindgen::generate!({ path: "../../wit", world: "batch", pub_export_macro: false });
