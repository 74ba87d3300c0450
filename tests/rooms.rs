//! The shape of the tree: short files, small folders, and no file that imports, by whatever way, from one that imports it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use walkdir::WalkDir;

const ROOTS: [&str; 5] =
    ["guest/policy/src", "guest/component/src", "host/library/src", "host/cli/src", "tests/worlds/src"];

/// The files below a root, by their module's path; what stands in them before their tests.
fn modules(root: &str) -> BTreeMap<Vec<String>, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(root);
    let files = WalkDir::new(&root).into_iter().map(Result::unwrap);
    let files = files.filter(|file| file.path().extension().is_some_and(|extension| extension == "rs"));
    let named = files.map(|file| {
        let path = file.path().strip_prefix(&root).unwrap().with_extension("");
        let mut names = path.iter().map(|name| name.to_string_lossy().into_owned()).collect::<Vec<_>>();
        if matches!(names.last().map(String::as_str), Some("mod" | "lib" | "main")) {
            names.pop();
        }
        let text = fs::read_to_string(file.path()).unwrap();
        let (text, _) = text.split_once("#[cfg(test)]\nmod tests").unwrap_or((&text, ""));
        (names, text.to_string())
    });
    named.collect()
}

/// The paths of a `use`, with its braces taken apart.
fn paths(declaration: &str) -> Vec<String> {
    let Some((before, inner)) = declaration.split_once('{') else { return vec![declaration.trim().into()] };
    let (mut depth, mut parts) = (0, vec![String::new()]);
    for sign in inner.trim_end().trim_end_matches('}').chars() {
        depth += i32::from(sign == '{') - i32::from(sign == '}');
        match sign {
            ',' if depth == 0 => parts.push(String::new()),
            sign => parts.last_mut().unwrap().push(sign),
        }
    }
    let parts = parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty());
    parts.flat_map(|part| paths(&format!("{}{part}", before.trim()))).collect()
}

/// The module that a path leads into.
fn target(from: &[String], path: &str, modules: &BTreeMap<Vec<String>, String>) -> Vec<String> {
    let mut place = from.to_vec();
    for name in path.split("::") {
        match name.trim() {
            "crate" => place.clear(),
            "self" => {}
            "super" => drop(place.pop()),
            name => place.push(name.into()),
        }
    }
    while !modules.contains_key(&place) && place.pop().is_some() {}
    place
}

#[test]
fn no_file_imports_in_a_circle() {
    for root in ROOTS {
        let modules = modules(root);
        let imports = modules.iter().map(|(name, text)| {
            let declarations = text.split(';').filter_map(|part| part.rsplit_once("use ").map(|(_, path)| path));
            let own = declarations
                .filter(|path| ["crate::", "super::", "self::"].iter().any(|start| path.starts_with(start)));
            let targets = own.flat_map(paths).map(|path| target(name, &path, &modules));
            (name.clone(), targets.filter(|target| target != name).collect::<BTreeSet<_>>())
        });
        let mut imports = imports.collect::<BTreeMap<_, _>>();
        // Whatever imports nothing that is left is no part of a circle.
        while let Some(free) = imports.iter().find(|(_, targets)| targets.is_empty()).map(|(name, _)| name.clone()) {
            imports.remove(&free);
            for targets in imports.values_mut() {
                targets.remove(&free);
            }
        }
        let left = imports.keys().map(|name| name.join("::")).collect::<Vec<_>>();
        assert!(left.is_empty(), "{root}: there is a circle among {left:?}");
        assert!(modules.len() > 5, "{root}: these are not its files");
    }
}

#[test]
fn files_are_short_and_folders_small() {
    for root in ROOTS {
        for (name, text) in modules(root) {
            let lines = text.lines().count();
            let most = if root == "host/cli/src" { 250 } else { 270 };
            assert!(lines <= most, "{root}, {}: {lines} lines", name.join("::"));
        }
    }
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/src");
    for folder in WalkDir::new(program).into_iter().map(Result::unwrap).filter(|entry| entry.file_type().is_dir()) {
        let count = fs::read_dir(folder.path()).unwrap().count();
        assert!(count <= 12, "{}: {count} entries", folder.path().display());
    }
}
