//! Every fuzz target with inputs from a fixed seed: words of the dictionary, cut, joined, repeated and with bytes changed.
//! libFuzzer finds more (`make fuzz`); this runs everywhere and is the same every time.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng, RngExt, SeedableRng};

#[path = "../fuzz/targets.rs"]
mod targets;

#[test]
fn no_target_panics_on_inputs_from_a_fixed_seed() {
    let words = words();
    for (name, target) in targets::TARGETS {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        for n in 0..INPUTS {
            let input = input(&mut random, &words);
            let end = std::panic::catch_unwind(|| target(&input));
            assert!(end.is_ok(), "{name}, input {n}: {:?}", String::from_utf8_lossy(&input));
        }
    }
}

#[test]
fn every_target_has_its_program() {
    let folder = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/bins")).unwrap();
    let name = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().path().file_stem().unwrap().to_os_string();
    let mut programs: Vec<_> = folder.map(name).collect();
    let mut names = targets::TARGETS.map(|(name, _)| name);
    programs.sort();
    names.sort_unstable();
    assert_eq!(programs, names);
}

fn input(random: &mut Xoshiro256PlusPlus, words: &[Vec<u8>]) -> Vec<u8> {
    let mut input = vec![];
    for _ in 0..random.random_range(0..6) {
        let word = &words[random.random_range(0..words.len())];
        let end = if random.random_bool(0.8) { word.len() } else { random.random_range(0..=word.len()) };
        input.extend_from_slice(&word[..end]);
    }
    for _ in 0..random.random_range(0..4) {
        let byte = (random.next_u32() & 0xff) as u8;
        let at = random.random_range(0..=input.len());
        match random.random_range(0..3) {
            0 => input.insert(at, byte),
            1 if at < input.len() => input[at] = byte,
            _ if at < input.len() => drop(input.remove(at)),
            _ => {}
        }
    }
    input
}

/// The dictionary, in libFuzzer's form: a word in quotes a line, with `\xhh` for other bytes.
fn words() -> Vec<Vec<u8>> {
    let lines = include_str!("../fuzz/words.dict").lines();
    let words = lines.filter_map(|line| line.strip_prefix('"')?.strip_suffix('"'));
    words.map(unescaped).collect()
}

fn unescaped(word: &str) -> Vec<u8> {
    let mut bytes = vec![];
    let mut rest = word;
    while let Some(at) = rest.find("\\x") {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        bytes.push(u8::from_str_radix(&rest[at + 2..at + 4], 16).unwrap());
        rest = &rest[at + 4..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    bytes
}

const INPUTS: usize = 30_000;
