//! What the user names becomes a list of files: files, folders with all that is in them, patterns.

use std::fs;
use std::path::{Path, PathBuf};

use glob::MatchOptions;
use same_file::is_same_file;
use walkdir::{DirEntry, WalkDir};

use super::error::InputError;

/// The files, in the order of their names. Of what is found rather than named, `except` is left out.
pub(super) fn files(path: &Path, except: &[PathBuf]) -> Result<Vec<PathBuf>, InputError> {
    let name = path.display().to_string();
    let mut found = match fs::metadata(path) {
        Ok(known) if known.is_dir() => folder(path)?,
        Ok(_) => return Ok(vec![path.into()]),
        Err(_) if is_pattern(&name) => pattern(&name)?,
        Err(source) => return Err(InputError::Unreadable { name, source }),
    };
    found.retain(|path| !except.iter().any(|other| is_same_file(path, other).unwrap_or(false)));
    if found.is_empty() { Err(InputError::Empty(name)) } else { Ok(found) }
}

/// All files in a folder and below; hidden ones are left out.
fn folder(path: &Path) -> Result<Vec<PathBuf>, InputError> {
    let mut found = vec![];
    for entry in WalkDir::new(path).sort_by_file_name().into_iter().filter_entry(is_visible) {
        let unreadable =
            |error: walkdir::Error| InputError::Unreadable { name: path.display().to_string(), source: error.into() };
        let entry = entry.map_err(unreadable)?;
        if entry.path().is_file() {
            found.push(entry.into_path());
        }
    }
    Ok(found)
}

/// The folder itself is taken even if it is hidden: it was named.
fn is_visible(entry: &DirEntry) -> bool {
    entry.depth() == 0 || !entry.file_name().as_encoded_bytes().starts_with(b".")
}

/// Whether it says more than one name, as shells do; one that quotes it leaves that to us.
fn is_pattern(name: &str) -> bool {
    name.contains(['*', '?', '['])
}

/// The files that it fits, and all of the folders that it fits.
fn pattern(name: &str) -> Result<Vec<PathBuf>, InputError> {
    let options = MatchOptions { require_literal_leading_dot: true, ..MatchOptions::default() };
    let paths = glob::glob_with(name, options)
        .map_err(|error| InputError::Pattern { pattern: name.into(), message: error.msg.into() })?;
    let mut found = vec![];
    for path in paths {
        let path = path.map_err(|error| InputError::Unreadable {
            name: error.path().display().to_string(),
            source: error.into(),
        })?;
        if path.is_dir() { found.extend(folder(&path)?) } else { found.push(path) }
    }
    // A pattern may fit a folder and the files in it.
    found.sort();
    found.dedup();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(folder: &Path, named: &str) -> Vec<String> {
        let files = files(&folder.join(named), &[folder.join("a/out.jsonl"), folder.join("a/none")]).unwrap();
        files.iter().map(|path| path.strip_prefix(folder).unwrap().display().to_string()).collect()
    }

    #[test]
    fn folders_and_patterns_are_sorted_and_leave_out_what_is_hidden() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("a/.git")).unwrap();
        fs::create_dir_all(folder.path().join("a/b")).unwrap();
        for name in ["a/2.md", "a/10.txt", "a/b/1.md", "a/.x.md", "a/.git/3.md", "a/[1].md", "a/out.jsonl"] {
            fs::write(folder.path().join(name), "t").unwrap();
        }
        assert_eq!(found(folder.path(), "a"), ["a/10.txt", "a/2.md", "a/[1].md", "a/b/1.md"]);
        assert_eq!(found(folder.path(), "a/*.md"), ["a/2.md", "a/[1].md"]);
        assert_eq!(found(folder.path(), "**/?.md"), ["a/2.md", "a/b/1.md"]);
        assert_eq!(found(folder.path(), "**"), ["a/10.txt", "a/2.md", "a/[1].md", "a/b/1.md"]);
        assert_eq!(found(folder.path(), "a/[1].md"), ["a/[1].md"], "a name comes before a pattern");
        assert!(matches!(files(&folder.path().join("*.pdf"), &[]), Err(InputError::Empty(_))));
        assert!(matches!(files(&folder.path().join("none"), &[]), Err(InputError::Unreadable { .. })));
    }
}
