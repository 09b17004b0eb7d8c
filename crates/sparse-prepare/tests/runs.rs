//! The binary: runs that end early and go on, disks that fill, and what is refused.

mod common;

use common::{At, bytes, sample, table};
use datafusion::arrow::array::{ArrayRef, Float32Array, Int32Array, Int64Array};
use sparse_prepare::{Files, Options, Silent, Stage, When, prepare};
use sparse_shards::{Ids, Kind, Manifest, ShardError};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

const BINARY: &str = env!("CARGO_BIN_EXE_sparse-prepare");

/// A ring with chords, of strings, with weights and features.
fn write(folder: &Path) {
    let mut edges = String::from("a,b,w\n");
    let mut rows = format!("id{}\n", (0..40).map(|c| format!(",x{c}")).collect::<String>());
    for k in 0..300 {
        edges += &format!("n{k},n{},{}.5\nn{},n{k},2\n", (k + 1) % 300, k % 7, k * 31 % 300);
        rows += &format!("n{k}{}\n", ",0.25".repeat(40));
    }
    rows += &format!("lonely{}\n", ",1".repeat(40));
    fs::write(folder.join("edges.csv"), edges).unwrap();
    fs::write(folder.join("rows.csv"), rows).unwrap();
}

const ALL: &[&str] = &["edges.csv", "--features", "rows.csv", "--weight", "w", "--parts", "2", "--by", "hash"];

fn run(folder: &Path, arguments: &[&str]) -> Output {
    let threads: &[&str] =
        if arguments.contains(&"verify") || arguments.contains(&"--threads") { &[] } else { &["--threads", "2"] };
    Command::new(BINARY).current_dir(folder).args(threads).args(arguments).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn done(output: &Output) {
    assert!(output.status.success(), "{}", said(output));
}

/// What a run writes that nothing ends.
fn whole(folder: &Path) -> std::collections::BTreeMap<std::path::PathBuf, Vec<u8>> {
    whole_of(folder, ALL)
}

fn whole_of(folder: &Path, all: &[&str]) -> std::collections::BTreeMap<std::path::PathBuf, Vec<u8>> {
    write(folder);
    done(&run(folder, &[all, &["--out", "whole"]].concat()));
    let whole = bytes(&folder.join("whole"));
    // Seven files of each part, and the manifest.
    assert_eq!(whole.len(), 2 * 6 + 1, "{:?}", whole.keys());
    whole
}

#[test]
fn a_run_that_was_killed_goes_on() {
    killed(ALL, false);
}

#[cfg(feature = "metis")]
#[test]
fn a_run_with_metis_that_was_killed_goes_on() {
    let all: Vec<_> = ALL.iter().map(|&word| if word == "hash" { "metis" } else { word }).collect();
    killed(&all, true);
}

/// Ends a run at each moment of each stage. `parts`: whether METIS finds them.
fn killed(all: &[&str], parts: bool) {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let whole = whole_of(folder, all);
    let stages: Vec<_> = Stage::ALL.iter().copied().filter(|&stage| parts || stage != Stage::Parts).collect();
    for (k, stage) in stages.iter().enumerate() {
        for when in When::ALL {
            let name = format!("{}-{}", stage.word(), when.word());
            let arguments = [all, &["--out", &name]].concat();
            let moment = format!("{}:{}", stage.word(), when.word());
            let output = run(folder, &[&arguments[..], &["--abort-at", &moment]].concat());
            assert!(!output.status.success(), "{moment}");
            let last = *stage == Stage::Manifest && *when == When::End;
            assert_eq!(Manifest::open(folder.join(&name)).is_ok(), last, "{moment}");
            if !last {
                assert!(matches!(Manifest::open(folder.join(&name)), Err(ShardError::NoManifest { .. })));
                // Other arguments are refused, and leave the stages as they are.
                let other = run(folder, &[&arguments[..], &["--resume", "--symmetrize"]].concat());
                let refused =
                    said(&other).contains("must have the arguments and files of the run that it goes on with");
                // Nothing is recorded before the first stage ends.
                assert!(refused != (k == 0) || (k == 0 && !refused), "{moment}: {}", said(&other));
                if k == 0 {
                    fs::remove_dir_all(folder.join(&name)).unwrap();
                }
            }
            let output = run(folder, &[&arguments[..], &["--resume"]].concat());
            done(&output);
            let resumed = said(&output).matches("finished by an earlier run").count();
            // When nodes have their parts, nobody asks who found them.
            let told = k - usize::from(parts && *stage > Stage::Nodes);
            assert_eq!(resumed, if last { 0 } else { told }, "{moment}: {}", said(&output));
            assert!(bytes(&folder.join(&name)) == whole, "{moment}");
        }
    }
}

#[test]
fn another_input_starts_again_or_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let whole = whole(folder);
    let arguments = [ALL, &["--out", "g", "--temp", "tmp"]].concat();
    let output = run(folder, &[&arguments[..], &["--abort-at", "edges:middle"]].concat());
    assert!(!output.status.success());
    let text = fs::read_to_string(folder.join("edges.csv")).unwrap();
    fs::write(folder.join("edges.csv"), format!("{text}n1,n5,0.5\n")).unwrap();
    let output = run(folder, &[&arguments[..], &["--resume"]].concat());
    assert!(said(&output).contains("resume: must have the arguments and files"), "{}", said(&output));
    fs::write(folder.join("edges.csv"), text).unwrap();
    // Now with another time of change.
    done(&run(folder, &arguments));
    let got = bytes(&folder.join("g"));
    assert!(got == whole, "{:?}", got.keys());
    // Nothing is left of the way there.
    assert_eq!(fs::read_dir(folder.join("tmp")).unwrap().count(), 0);
    // It is there: resumed, nothing is to be done; another one must be allowed.
    done(&run(folder, &[&arguments[..], &["--resume"]].concat()));
    let other = ["edges.csv", "--out", "g", "--parts", "1"];
    let output = run(folder, &other);
    assert!(said(&output).contains("--overwrite replaces it"), "{}", said(&output));
    assert!(bytes(&folder.join("g")) == whole);
    done(&run(folder, &[&other[..], &["--overwrite"]].concat()));
    assert_eq!(Manifest::open(folder.join("g")).unwrap().parts.len(), 1);
    // No file of the second part stays.
    assert_eq!(bytes(&folder.join("g")).len(), 5);
}

/// Two runs into one folder, with intermediate results in two: the first one does not go on with what the second wrote.
#[test]
fn a_run_goes_on_with_its_own_files_only() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let whole = whole(folder);
    let first = [ALL, &["--out", "g", "--temp", "tmp"]].concat();
    assert!(!run(folder, &[&first[..], &["--abort-at", "nodes:end"]].concat()).status.success());
    let second = [ALL, &["--out", "g"]].concat();
    assert!(!run(folder, &[&second[..], &["--abort-at", "relabel:middle"]].concat()).status.success());
    let output = run(folder, &[&first[..], &["--resume"]].concat());
    assert!(said(&output).contains("resume: --temp must be that of the run"), "{}", said(&output));
    done(&run(folder, &[&second[..], &["--resume"]].concat()));
    assert!(bytes(&folder.join("g")) == whole);
}

/// A cleaner of `/tmp` may take some files of a table and leave others.
#[test]
fn a_table_that_lost_a_file_is_not_gone_on_with() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let whole = whole(folder);
    // A second file of edges, so that both threads write.
    let text = fs::read_to_string(folder.join("edges.csv")).unwrap();
    let (head, rest) = text.split_at(text.match_indices('\n').nth(300).unwrap().0 + 1);
    fs::create_dir(folder.join("many")).unwrap();
    fs::write(folder.join("many/0.csv"), head).unwrap();
    fs::write(folder.join("many/1.csv"), format!("a,b,w\n{rest}")).unwrap();
    let all = [&["many/", "--temp", "tmp"], &ALL[1..]].concat();
    for (moment, table, spoil) in [
        ("ids:begin", "import", "remove"),
        ("nodes:begin", "import", "remove"),
        ("relabel:begin", "import", "copy"),
        ("edges:begin", "relabel", "remove"),
        ("edges:middle", "relabel", "cut"),
        ("ids:begin", "import", "folder"),
        ("nodes:begin", "ids.parquet", "remove"),
        ("relabel:begin", "nodes.parquet", "remove"),
        ("features:begin", "nodes.parquet", "cut"),
    ] {
        let name = format!("{}-{table}-{spoil}", moment.replace(':', "-"));
        let arguments = [&all[..], &["--out", &name]].concat();
        assert!(!run(folder, &[&arguments[..], &["--abort-at", moment]].concat()).status.success());
        let work = fs::read_dir(folder.join("tmp")).unwrap().map(|entry| entry.unwrap().path());
        let work: Vec<_> = work.filter(|path| path.extension().is_some_and(|end| end == "work")).collect();
        let [work] = &work[..] else { panic!("{work:?}") };
        let path = work.join(table);
        let file = if path.is_dir() { path.join("00001.parquet") } else { path.clone() };
        match spoil {
            "remove" => fs::remove_file(&file).unwrap(),
            "copy" => drop(fs::copy(&file, path.join("00002.parquet")).unwrap()),
            "folder" => fs::remove_dir_all(&path).unwrap(),
            _ => fs::File::options().write(true).open(&file).unwrap().set_len(100).unwrap(),
        }
        for _ in 0..2 {
            let output = run(folder, &[&arguments[..], &["--resume"]].concat());
            let said = said(&output);
            assert!(!output.status.success() && said.contains("start again without --resume"), "{name}: {said}");
            assert!(said.contains("sparse-prepare: resume: ") && said.contains(table), "{name}: {said}");
            assert!(matches!(Manifest::open(folder.join(&name)), Err(ShardError::NoManifest { .. })));
        }
        done(&run(folder, &arguments));
        assert!(bytes(&folder.join(&name)) == whole, "{name}");
    }
}

/// Also without a kill: at the end of a stage what it read must still be there.
#[test]
fn a_table_that_loses_a_file_while_it_is_read_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = sample(false).options(folder.path());
    for (stage, table) in [(Stage::Ids, "import"), (Stage::Relabel, "import"), (Stage::Edges, "relabel")] {
        options.out = folder.path().join(stage.word());
        let file = options.out.join("prepare.work").join(table).join("00000.parquet");
        assert!(prepare(&options, &At(stage, || fs::remove_file(&file).unwrap())).is_err());
        assert!(matches!(Manifest::open(&options.out), Err(ShardError::NoManifest { .. })));
        options.resume = true;
        let told = prepare(&options, &Silent).unwrap_err().to_string();
        assert!(told.contains("start again without --resume"), "{told}");
        options.resume = false;
    }
}

#[test]
fn a_state_that_cannot_be_read_stops_only_a_run_that_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let whole = whole(folder);
    let arguments = [ALL, &["--out", "g"]].concat();
    for text in ["{", "{\"digest\": \"0\", \"import\": true}"] {
        assert!(!run(folder, &[&arguments[..], &["--abort-at", "nodes:end"]].concat()).status.success());
        fs::write(folder.join("g/prepare.state.json"), text).unwrap();
        let output = run(folder, &[&arguments[..], &["--resume"]].concat());
        let said = said(&output);
        assert!(said.contains("resume: ") && said.contains("must be a state of this version"), "{said}");
        done(&run(folder, &arguments));
        assert!(bytes(&folder.join("g")) == whole);
        fs::remove_dir_all(folder.join("g")).unwrap();
    }
}

/// What went wrong is told, not that the folder of what is spilled could not be removed.
#[test]
fn the_first_error_is_told() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("inf.csv"), "a,b,w\n1,2,1e39\n").unwrap();
    let edges = folder.path().join("inf.csv");
    let mut options = Options::new(Files::new([edges.to_str().unwrap()]), folder.path().join("g"));
    options.weight = Some("w".into());
    let spill = options.out.join("prepare.spill");
    let replace = || {
        fs::remove_dir_all(&spill).unwrap();
        // It is no folder that can be removed.
        fs::write(&spill, "").unwrap();
    };
    let told = prepare(&options, &At(Stage::Edges, replace)).unwrap_err().to_string();
    assert!(told.starts_with("edges: weights must be finite in f32"), "{told}");
}

#[cfg(unix)]
#[test]
fn one_run_at_a_time_writes_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let whole = whole(folder);
    fs::create_dir(folder.join("g")).unwrap();
    let lock = fs::File::open(folder.join("g")).unwrap();
    lock.try_lock().unwrap();
    let arguments = [ALL, &["--out", "g"]].concat();
    let output = run(folder, &arguments);
    assert!(!output.status.success() && said(&output).contains("one run at a time"), "{}", said(&output));
    assert_eq!(fs::read_dir(folder.join("g")).unwrap().count(), 0);
    drop(lock);
    done(&run(folder, &arguments));
    assert!(bytes(&folder.join("g")) == whole);
}

/// A limit of the length of files is a disk that fills, for those that write more. Needs no rights.
#[cfg(unix)]
#[test]
fn a_disk_that_fills_leaves_no_manifest() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let whole = whole(folder);
    let mut failed = Vec::new();
    for blocks in [0, 1, 4, 8, 16, 24, 32, 40, 48, 500] {
        let name = format!("g{blocks}");
        let arguments = [ALL, &["--out", &name]].concat();
        let limited = limited(folder, blocks, &arguments);
        if !limited.status.success() {
            let said = said(&limited);
            assert!(said.contains("sparse-prepare: ") && said.contains("File too large"), "{said}");
            assert!(matches!(Manifest::open(folder.join(&name)), Err(ShardError::NoManifest { .. })));
            failed.push(said.lines().count());
            // When there is room again, it goes on.
            done(&run(folder, &[&arguments[..], &["--resume"]].concat()));
        }
        assert!(bytes(&folder.join(&name)) == whole, "{blocks}");
    }
    // In several stages, and not with the highest limit. A stage that is finished prints a line.
    failed.dedup();
    assert!(failed.len() > 1 && failed.len() < 10, "{failed:?}");
}

/// A disk with room for what is written, and none for what memory does not hold.
#[cfg(unix)]
#[test]
fn a_disk_that_fills_with_what_is_spilled_leaves_no_manifest() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut text = Vec::new();
    sparse_prepare::generate(&mut text, 200_000, 20_000, 5).unwrap();
    fs::write(folder.join("edges.csv"), text).unwrap();
    // One sort of 3 MB, into small files.
    let all = ["edges.csv", "--symmetrize", "--parts", "16", "--threads", "1", "--temp", "tmp"];
    let run_in = |memory: &str, name: &str, more: &[&str]| {
        run(folder, &[&all[..], &["--memory", memory, "--out", name], more].concat())
    };
    done(&run_in("1GiB", "whole", &[]));
    let whole = bytes(&folder.join("whole"));
    for (memory, fits) in [("1GiB", true), ("16MiB", false)] {
        assert!(!run_in(memory, memory, &["--abort-at", "edges:begin"]).status.success());
        let arguments = [&all[..], &["--memory", memory, "--out", memory, "--resume"]].concat();
        let limited = limited(folder, 1000, &arguments);
        assert_eq!(limited.status.success(), fits, "{}", said(&limited));
        if !fits {
            let said = said(&limited);
            assert!(said.contains("sparse-prepare: edges: ") && said.contains("File too large"), "{said}");
            assert!(matches!(Manifest::open(folder.join(memory)), Err(ShardError::NoManifest { .. })));
            // No file of it stays.
            let left = fs::read_dir(folder.join("tmp")).unwrap().map(|entry| entry.unwrap().file_name());
            let left: Vec<_> = left.filter(|name| name.to_string_lossy().ends_with("spill")).collect();
            assert!(left.is_empty(), "{left:?}");
            done(&run(folder, &arguments));
        }
        assert!(bytes(&folder.join(memory)) == whole, "{memory}");
    }
}

/// Runs with a limit of the length of files, in blocks of 512 bytes.
#[cfg(unix)]
fn limited(folder: &Path, blocks: u32, arguments: &[&str]) -> Output {
    // The signal is ignored, so that the write gives an error.
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
    Command::new("sh").arg("-c").arg(script).arg(BINARY).args(arguments).current_dir(folder).output().unwrap()
}

#[test]
fn what_is_wrong_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (name, text) in [
        ("good.csv", "a,b,w\n1,2,0.5\n2,3,1.5\n"),
        ("text.csv", "a,b\n1,2\nx,3\n"),
        ("null.csv", "a,b\n1,\n"),
        ("float.csv", "a,b\n1.5,2.5\n"),
        ("nan.csv", "a,b,w\n1,2,NaN\n"),
        ("inf.csv", "a,b,w\n1,2,1e39\n"),
        ("none.csv", "a,b,w\n1,2,\n"),
        ("short.csv", "a,b\n1,2\n3\n"),
        ("rows.csv", "id,x\n1,1\n2,2\n3,3\n"),
        ("missing.csv", "id,x\n1,1\n3,3\n"),
        ("twice.csv", "id,x\n1,1\n2,2\n3,3\n2,2\n"),
        ("hole.csv", "id,x\n1,1\n2,\n3,3\n"),
        ("nanrow.csv", "id,x\n1,1\n2,NaN\n3,3\n"),
        ("word.csv", "id,x\n1,1\n2,two\n3,3\n"),
        ("ids.csv", "id\n1\n2\n3\n"),
        ("turned.csv", "b,a,w\n1,2,0.5\n"),
        ("wide.csv", "a,b,w,x\n1,2,0.5,1\n"),
    ] {
        fs::write(folder.join(name), text).unwrap();
    }
    let long: String = (0..2000).map(|k| format!("{k},{}\n", k + 1)).collect();
    fs::write(folder.join("late.csv"), format!("a,b\n{long}x,y\n")).unwrap();
    let ids: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None]));
    table(&folder.join("null.parquet"), [("a", ids.clone()), ("b", ids)]);
    let good: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    table(&folder.join("good.parquet"), [("a", good.clone()), ("b", good.clone())]);
    table(&folder.join("other.parquet"), [("a", good.clone()), ("c", good)]);
    let floats: ArrayRef = Arc::new(Float32Array::from(vec![1.0, 2.0]));
    table(&folder.join("float.parquet"), [("a", floats.clone()), ("b", floats)]);

    for (arguments, expected) in [
        ("absent.csv", "edges: there must be a file at absent.csv, got"),
        (
            "good.csv --src nobody",
            "edges: the column must be a name or a position of [\"a\", \"b\", \"w\"], got \"nobody\"",
        ),
        ("good.csv --dst 3", "got \"3\""),
        ("good.csv float.parquet", "files must be of one format, got Parquet and CSV"),
        ("good.csv --parts 0", "--parts must be 1 to 256, got 0"),
        ("good.csv --threads 0", "--threads must be at least 1, got 0"),
        ("good.csv --memory 1K", "--memory must be at least 16777216 bytes, got 1024"),
        ("good.csv --delimiter ab", "--delimiter: must be one character"),
        ("good.csv.gz", "edges: "),
        ("null.csv", "ids: ids must not be null"),
        ("null.parquet", "ids: ids must not be null"),
        ("float.csv", "ids must be integers or strings, got Float64 in \"a\" (--ids text"),
        ("float.parquet", "ids must be integers or strings, got Float32 in \"a\""),
        ("good.parquet float.parquet", "ids must be integers or strings, got Float32 in \"a\""),
        ("good.parquet other.parquet", "edges: every file must have the column \"b\", got [\"a\", \"c\"] in file:///"),
        ("good.csv turned.csv", "files must have the same columns, got [\"a\", \"b\", \"w\"] in file:///"),
        ("good.csv wide.csv", "and [\"a\", \"b\", \"w\", \"x\"] in file:///"),
        ("late.csv", "(--ids text takes ids that are no integers)"),
        ("text.csv --ids int", "(--ids text takes ids that are no integers)"),
        ("nan.csv --weight w", "relabel: weights must be finite, got NaN"),
        ("inf.csv --weight w", "edges: weights must be finite in f32, got 1000000000"),
        ("none.csv --weight w", "relabel: weights must be numbers, got none"),
        ("short.csv", "unequal lengths"),
        ("good.csv --features missing.csv", "got none of the id 2"),
        ("good.csv --features twice.csv", "features: a node must have one row, got several of the id 2"),
        ("good.csv --features hole.csv", "features: column \"x\" must have a number in every row, got none"),
        (
            "good.csv --features nanrow.csv",
            "features: numbers must be finite in f32, got NaN in column \"x\" of the id 2",
        ),
        ("good.csv --features word.csv", "features: "),
        ("good.csv --features ids.csv", "there must be a column of features beside the ids, got none"),
        ("good.csv --features float.parquet", "ids must be integers or strings, got Float32"),
        ("good.csv --by metis", if cfg!(feature = "metis") { "" } else { "must be built with the feature `metis`" }),
        (
            "good.csv --scheduler df://127.0.0.1:1",
            if cfg!(feature = "ballista") {
                "--scheduler: must be the scheduler of a Ballista cluster"
            } else {
                "--scheduler must be built with the feature `ballista`"
            },
        ),
        (
            "s3://bucket/good.csv",
            if cfg!(feature = "aws") { "" } else { "edges: s3://bucket/good.csv must be read by a build" },
        ),
    ] {
        if expected.is_empty() {
            continue;
        }
        let output = run(folder, &[&arguments.split(' ').collect::<Vec<_>>()[..], &["--out", "g"]].concat());
        assert!(!output.status.success(), "{arguments}");
        let said = said(&output);
        assert!(said.contains("sparse-prepare: ") && said.contains(expected), "{arguments}: {said}");
        assert!(!said.contains("panicked"), "{said}");
        assert!(!folder.join("g/manifest.json").exists());
    }
    // What was wrong leaves nothing in the way.
    done(&run(folder, &["good.csv", "--features", "rows.csv", "--out", "g"]));
    done(&run(folder, &["verify", "g"]));
    fs::remove_file(folder.join("g/part-00000/col_idx.npy")).unwrap();
    let output = run(folder, &["verify", "g"]);
    assert!(said(&output).contains("every file of the manifest must be there"), "{}", said(&output));
}

#[test]
fn text_comes_in_several_forms() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("a.txt"), "# made by hand\n3 1\n# more\n1 2\n").unwrap();
    fs::write(folder.join("a.tsv"), "from\tto\n3\t1\n1\t2\n").unwrap();
    fs::create_dir(folder.join("many")).unwrap();
    fs::write(folder.join("many/0.csv"), "a,b\n3,1\n").unwrap();
    fs::write(folder.join("many/1.csv"), "a,b\n1,2\n3,1\n").unwrap();
    fs::write(folder.join("empty.csv"), "a,b\n").unwrap();
    let mut first = None;
    for (k, arguments) in [
        &["a.txt", "--delimiter", " ", "--comment", "#", "--no-header"][..],
        &["a.tsv"],
        &["many/*.csv", "--parts", "1", "--by", "hash"],
        &["many/"],
        &["many/0.csv", "many/1.csv", "--src", "a", "--dst", "b"],
    ]
    .into_iter()
    .enumerate()
    {
        let out = format!("g{k}");
        done(&run(folder, &[arguments, &["--out", &out]].concat()));
        let mut got = bytes(&folder.join(out));
        got.remove(Path::new("manifest.json"));
        assert!(*first.get_or_insert_with(|| got.clone()) == got, "{arguments:?}");
    }
    done(&run(folder, &["empty.csv", "--out", "empty", "--parts", "2"]));
    let empty = Manifest::open(folder.join("empty")).unwrap();
    assert_eq!((empty.nodes, empty.edges, empty.parts.len()), (0, 0, 2));
    empty.verify().unwrap();
}

/// The first file may hold less than others do: no text, narrow integers, or nothing.
#[test]
fn files_of_a_table_may_differ_in_what_they_hold() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::create_dir(folder.join("text")).unwrap();
    fs::write(folder.join("text/0.csv"), "").unwrap();
    fs::write(folder.join("text/1.csv"), "a,b,w\n").unwrap();
    fs::write(folder.join("text/2.csv"), "a,b,w\n07,8,1\n").unwrap();
    fs::write(folder.join("text/3.csv"), "a,b,w\n8,x,0.5\n").unwrap();
    fs::write(folder.join("rows-0.csv"), "id,f\n07,1\n8,2\n").unwrap();
    fs::write(folder.join("rows-1.csv"), "id,f\nx,0.5\n").unwrap();
    fs::write(folder.join("integers.csv"), "a,b\n7,8\n").unwrap();
    let files = ["text/1.csv", "text/2.csv", "text/3.csv", "text/0.csv"];
    for (out, edges) in [("folder", &["text/"][..]), ("pattern", &["text/*.csv"]), ("list", &files)] {
        let features = ["--features", "rows-0.csv", "--features", "rows-1.csv"];
        done(&run(folder, &[edges, &features, &["--weight", "w", "--out", out]].concat()));
        let manifest = Manifest::open(folder.join(out)).unwrap();
        assert_eq!((manifest.nodes, manifest.edges), (3, 2));
        assert_eq!(manifest.ids(0).unwrap(), Ids::Text(vec!["07".into(), "8".into(), "x".into()]));
    }
    // Edges of integers refuse text in any file.
    let features = ["integers.csv", "--features", "rows-0.csv", "--features", "rows-1.csv", "--out", "mixed"];
    let output = run(folder, &features);
    assert!(said(&output).contains("features: ids must be integers, as those of the edges are"), "{}", said(&output));

    let narrow: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
    let wide: ArrayRef = Arc::new(Int64Array::from(vec![2, 1 << 40]));
    let (half, whole): (ArrayRef, ArrayRef) =
        (Arc::new(Float32Array::from(vec![0.5, 1.0])), Arc::new(Int64Array::from(vec![3, 4])));
    // What is not asked for may be anything.
    table(&folder.join("0.parquet"), [("a", narrow.clone()), ("x", half.clone()), ("b", narrow), ("w", half.clone())]);
    table(&folder.join("1.parquet"), [("w", whole.clone()), ("a", wide.clone()), ("b", wide), ("x", whole)]);
    let arguments = ["0.parquet", "1.parquet", "--src", "a", "--dst", "b", "--weight", "w", "--out", "parquet"];
    done(&run(folder, &arguments));
    let manifest = Manifest::open(folder.join("parquet")).unwrap();
    assert_eq!(manifest.ids(0).unwrap(), Ids::Int(vec![1, 2, 1 << 40]));
    let values = fs::read(manifest.path(0, Kind::Values).unwrap()).unwrap();
    let values: Vec<f32> = values[128..].chunks(4).map(|own| f32::from_le_bytes(own.try_into().unwrap())).collect();
    // The edge 2 -> 2 is in both.
    assert_eq!(values, [0.5, 3.0, 4.0]);
}
