//! How fast becalm is where nothing limits: against a native client with the same pool and no component (`examples/native.rs`),
//! and the openai package where Python has it. Every client runs in a process of its own, against a mock server in another;
//! they take turns, and the table has medians and ratios, because machines are noisy.
//!
//!     make bench

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// One row of the first table.
#[derive(Clone, Copy)]
struct Cell {
    latency_ms: u64,
    in_flight: u64,
}

const CELLS: [Cell; 10] = {
    const fn cell(latency_ms: u64, in_flight: u64) -> Cell {
        Cell { latency_ms, in_flight }
    }
    [
        cell(0, 8),
        cell(0, 64),
        cell(0, 512),
        cell(20, 8),
        cell(20, 64),
        cell(20, 512),
        cell(20, 1_000),
        cell(200, 8),
        cell(200, 64),
        cell(200, 512),
    ]
};

impl Cell {
    /// As many as take some three seconds, 20,000 at most.
    fn documents(self) -> u64 {
        let possible = 3_000 * self.in_flight / self.latency_ms.max(1);
        possible.min(MOST_DOCUMENTS)
    }
}

/// In flight at once, in the second table.
const CROWDS: [u64; 4] = [64, 512, 1_000, 4_000];

/// What a client took.
#[derive(Clone, Copy)]
struct Taken {
    time: Duration,
    /// Of the processor, in hundredths of a second.
    cpu: u64,
    peak_kb: u64,
}

fn main() {
    // `cargo test` runs benches too, to see that they build.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let folder = TempDir::new().expect("a folder");
    let native = Path::new(env!("CARGO_BIN_EXE_becalm")).parent().expect("a folder").join("examples/native");
    assert!(native.exists(), "`make bench` builds it: {}", native.display());
    let python = has_openai();
    let mut table = String::from(
        "| answers after | in flight | documents | becalm, documents/s | native | becalm / native | becalm / openai | peak memory, becalm / native |\n|---|---|---|---|---|---|---|---|\n",
    );
    for cell in CELLS {
        let row = measured(cell, folder.path(), &native, python.as_deref());
        println!("{row}");
        writeln!(table, "{row}").expect("a text");
    }
    let mut crowds = String::from(
        "| in flight | documents | becalm / native | CPU a document, becalm | native | peak memory, becalm | native |\n|---|---|---|---|---|---|---|\n",
    );
    for in_flight in CROWDS {
        let row = crowd(in_flight, folder.path(), &native);
        println!("{row}");
        writeln!(crowds, "{row}").expect("a text");
    }
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/throughput.md");
    fs::write(&results, format!("{}\n{table}\n{MANY}\n{crowds}", head())).expect("the results can be written");
}

/// Many in flight, and answers that come one by one, as those of a model do.
fn crowd(in_flight: u64, folder: &Path, native: &Path) -> String {
    let documents = 3 * in_flight;
    let input = batch(folder, "in.jsonl", documents);
    let server = Server::start("1s..3s");
    let output = folder.join("out.jsonl");
    let becalm = taken(&mut becalm(&server, in_flight, &output, &input), &output, documents);
    let native = taken(&mut client(native, None, &server, in_flight, &output, &input), &output, documents);
    let ratio = native.time.as_secs_f64() / becalm.time.as_secs_f64();
    let cpu = |taken: Taken| taken.cpu as f64 * 10.0 / documents as f64;
    format!(
        "| {in_flight} | {documents} | {ratio:.2} | {:.2} ms | {:.2} ms | {} MB | {} MB |",
        cpu(becalm),
        cpu(native),
        becalm.peak_kb / 1024,
        native.peak_kb / 1024
    )
}

fn becalm(server: &Server, in_flight: u64, output: &Path, input: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_becalm"));
    command.args(["run", "-q", "--model", "m", "--max-in-flight", &in_flight.to_string()]);
    command.args(["--base-url", &server.url, "-o"]).arg(output).arg(input);
    command
}

fn client(
    program: &Path,
    script: Option<&Path>,
    server: &Server,
    in_flight: u64,
    output: &Path,
    input: &Path,
) -> Command {
    let mut command = Command::new(program);
    command.args(script).arg(input).arg(output).args([&server.url, &in_flight.to_string()]);
    command
}

fn measured(cell: Cell, folder: &Path, native: &Path, python: Option<&str>) -> String {
    let documents = cell.documents();
    let fewer = documents.min(FEW_DOCUMENTS);
    let (input, few) = (batch(folder, "in.jsonl", documents), batch(folder, "few.jsonl", fewer));
    let server = Server::start(&format!("{}ms", cell.latency_ms));
    let output = folder.join("out.jsonl");
    let ours = || taken(&mut becalm(&server, cell.in_flight, &output, &input), &output, documents);
    let theirs = || taken(&mut client(native, None, &server, cell.in_flight, &output, &input), &output, documents);
    let pairs = (0..RUNS).map(|_| (ours(), theirs())).collect::<Vec<_>>();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/openai_client.py");
    let is_compared = cell.latency_ms == 20 && [64, 512].contains(&cell.in_flight);
    let python = python.filter(|_| is_compared).map(|python| {
        let mut command = client(Path::new(python), Some(&script), &server, cell.in_flight, &output, &few);
        let time = |_| taken(&mut command, &output, fewer).time.as_secs_f64();
        median((0..RUNS).map(time).collect()) * documents as f64 / fewer as f64
    });
    let time =
        |which: fn(&(Taken, Taken)) -> Taken| median(pairs.iter().map(|pair| which(pair).time.as_secs_f64()).collect());
    let (ours, theirs) = (time(|pair| pair.0), time(|pair| pair.1));
    // Of pairs that ran one after the other, so that what slows the machine down slows both.
    let ratio =
        median(pairs.iter().map(|(ours, theirs)| theirs.time.as_secs_f64() / ours.time.as_secs_f64()).collect());
    let memory = median(pairs.iter().map(|(ours, theirs)| ours.peak_kb as f64 / theirs.peak_kb as f64).collect());
    let ours_mb = median(pairs.iter().map(|(ours, _)| ours.peak_kb as f64 / 1024.0).collect());
    format!(
        "| {} ms | {} | {documents} | {:.0} | {:.0} | {ratio:.2} | {} | {memory:.1} ({ours_mb:.0} MB) |",
        cell.latency_ms,
        cell.in_flight,
        documents as f64 / ours,
        documents as f64 / theirs,
        python.map_or("–".into(), |python| format!("{:.1}", python / ours)),
    )
}

/// Texts of 2 KB.
fn batch(folder: &Path, name: &str, documents: u64) -> PathBuf {
    let text = "All work and no play makes a dull document. ".repeat(46);
    let lines = (0..documents).map(|n| format!("{{\"id\":\"document-{n}\",\"text\":\"{n}: {text}\"}}\n"));
    let path = folder.join(name);
    fs::write(&path, lines.collect::<String>()).expect("the batch can be written");
    path
}

/// Runs a client to its end, and sees that it did its job.
fn taken(command: &mut Command, output: &Path, documents: u64) -> Taken {
    let _ = fs::remove_file(output);
    let started = Instant::now();
    let mut child = command.stdout(Stdio::null()).spawn().expect("the client can be started");
    let (mut peak_kb, mut cpu) = (0, 0);
    let status = loop {
        peak_kb = peak_kb.max(peak_memory(&child).unwrap_or(0));
        cpu = cpu.max(cpu_time(&child).unwrap_or(0));
        if let Some(status) = child.try_wait().expect("a child") {
            break status;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let time = started.elapsed();
    assert!(status.success(), "{command:?}: {status}");
    let lines = BufReader::new(fs::File::open(output).expect("results")).lines().count() as u64;
    assert_eq!(lines, documents, "{command:?}");
    Taken { time, cpu, peak_kb }
}

/// The most that a process had in memory so far, where the system tells.
fn peak_memory(child: &Child) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

/// What a process took of the processor so far, where the system tells.
fn cpu_time(child: &Child) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).ok()?;
    // Behind the name, which may have blanks in it, user and system time are the twelfth and thirteenth field.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    Some(fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?)
}

/// A mock server without limit, in a process of its own.
struct Server {
    process: Child,
    url: String,
}

impl Server {
    fn start(latency: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_becalm"));
        command.args(["mock-server", "--limiter", "none", "--latency", latency]);
        let mut process =
            command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the server can be started");
        let mut url = String::new();
        let stdout = process.stdout.take().expect("its output");
        BufReader::new(stdout).read_line(&mut url).expect("its address");
        Self { process, url: url.trim().into() }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A Python that has the openai package: `BECALM_PYTHON`, or `python3`.
fn has_openai() -> Option<String> {
    let python = std::env::var("BECALM_PYTHON").unwrap_or_else(|_| "python3".into());
    let has_it = Command::new(&python).args(["-c", "import openai"]).stderr(Stdio::null()).status().ok()?.success();
    has_it.then_some(python)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Where and when.
fn head() -> String {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu = cpu.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or(": unknown processor");
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let date = jiff::Timestamp::now().strftime("%Y-%m-%d").to_string();
    format!(
        "# Throughput without a limit\n\nWritten by `make bench` on {date}, {cores} cores, {}: medians of {RUNS} runs, clients by turns, client and server on the same\nmachine. Ratios above 1 are in favour of becalm.\n",
        cpu.trim_start_matches([':', '\t', ' '])
    )
}

const MANY: &str = "\
## Many in flight

Answers after 1 to 3 s, one by one; a single run of each.
";
const RUNS: usize = 5;
const MOST_DOCUMENTS: u64 = 20_000;
/// For the openai package, which takes a minute for the others.
const FEW_DOCUMENTS: u64 = 2_000;
