//! The results as a file, and as the table of a page.

use super::report::{Beside, QUICK, Row};
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// A run.
#[derive(Serialize, Deserialize)]
pub(crate) struct Report {
    pub machine: String,
    pub threads: usize,
    pub malloc: String,
    pub rounds: usize,
    /// Of the sources, and how long the run took; older files do not say it.
    pub commit: Option<String>,
    pub minutes: Option<f64>,
    pub rows: Vec<Row>,
}

/// The table is between these lines.
const START: &str = "<!-- peers -->\n";
const END: &str = "<!-- end of peers -->\n";

/// A row whose bound takes less of its time has its reason on the page.
const SHARE: f64 = 90.0;

impl Report {
    pub(crate) fn load(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).expect("a report of an earlier run");
        serde_json::from_str(&text).expect("a report")
    }

    pub(crate) fn save(&self, path: &Path) {
        let text = serde_json::to_string_pretty(self).expect("numbers and text");
        std::fs::write(path, text + "\n").expect("a file to write to");
    }

    /// Puts the table into a page, in the place of the one that is there.
    ///
    /// # Panics
    ///
    /// If the text of the page does not name a row that is below 90 % of its bound, in bold letters.
    pub(crate) fn write_into(&self, page: &Path) {
        let text = std::fs::read_to_string(page).expect("a page");
        let (before, rest) = text.split_once(START).expect("where the table starts");
        let (_, after) = rest.split_once(END).expect("where the table ends");
        let words = after.split_whitespace().collect::<Vec<_>>().join(" ");
        let named = |row: &Row| words.contains(&format!("**{}**", row.work));
        let silent = |row: &&Row| row.share().is_some_and(|share| share < SHARE) && !named(row);
        let silent: Vec<&str> = self.rows.iter().filter(silent).map(|row| &row.work[..]).collect();
        assert!(silent.is_empty(), "below {SHARE} % of the bound without a reason: {silent:?}");
        std::fs::write(page, format!("{before}{START}{}{END}{after}", self.table())).expect("a page to write to");
    }

    fn table(&self) -> String {
        let quick = if self.rounds <= QUICK { ", a quick run" } else { "" };
        let commit = self.commit.as_ref().map(|commit| format!("; commit {commit}")).unwrap_or_default();
        let minutes = self.minutes.map(|minutes| format!(", {minutes:.0} minutes")).unwrap_or_default();
        let mut out = format!(
            "{}{commit}.\n{} threads; malloc: {}; medians of {} rounds{quick}{minutes}.\n\n",
            self.machine, self.threads, self.malloc, self.rounds
        );
        out += TITLES;
        for row in &self.rows {
            let Row { work, ms, first, bound, memory, peer } = row;
            let share = row.share().map_or("-".into(), |share| format!("{share:.0} %"));
            let bound = bound.map_or("-".into(), number);
            let [time, first, memory] = [number(*ms), number(*first), megabytes(*memory)];
            let cells = match peer {
                None => format!("- | {time} | - | - | - | - | {first} | - | {bound} | {share} | {memory} | -"),
                Some(Beside { name, ms: other, first: its_first, least, most, memory: its_memory }) => {
                    let [ratio, least, most] = [other / ms, *least, *most].map(|ratio| format!("{ratio:.2}x"));
                    let [other, its_first, its_memory] = [number(*other), number(*its_first), megabytes(*its_memory)];
                    format!("{name} | {time} | {other} | {ratio} | {least} | {most} | {first} | {its_first}")
                        + &format!(" | {bound} | {share} | {memory} | {its_memory}")
                }
            };
            writeln!(out, "| {work} | {cells} |").expect("a string");
        }
        out
    }
}

const TITLES: &str = "\
| name | peer | this library, ms | peer, ms | ratio | min | max | first call | peer's | bound | share | MB | peer, MB |
|---|---|---|---|---|---|---|---|---|---|---|---|---|
";

/// Three digits.
fn number(ms: f64) -> String {
    let digits = if ms < 10.0 { 2 } else { usize::from(ms < 100.0) };
    format!("{ms:.digits$}")
}

fn megabytes(bytes: f64) -> String {
    if bytes < 0.5 { "-".into() } else { format!("{bytes:.0}") }
}

/// That of the working tree, and whether it has changes.
pub(crate) fn commit() -> Option<String> {
    let output = Command::new("git").args(["describe", "--always", "--dirty"]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (!text.trim().is_empty()).then(|| text.trim().into())
}

/// The processor, and how many of its cores there are.
pub(crate) fn machine() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix(": "));
    let (name, mhz) = (field("model name").unwrap_or("a processor"), field("cpu MHz").unwrap_or("unknown"));
    let sets = ["avx512f", "avx2"].into_iter().find(|set| text.contains(set)).unwrap_or("no AVX2");
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    // A virtual machine may not name its processor; these numbers do.
    let [family, model] = ["cpu family", "model"].map(|name| field(name).unwrap_or("unknown"));
    format!("{name}, family {family}, model {model}, {mhz} MHz, {cores} cores, {sets}")
}
