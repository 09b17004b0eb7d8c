//! The same bytes where a Ballista cluster runs the plans: a scheduler and an executor, in this process, over TCP.

mod common;

use ballista_core::serde::BallistaCodec;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use ballista_executor::new_standalone_executor;
use ballista_scheduler::standalone::new_standalone_scheduler;
use common::{At, bytes, sample};
use sparse_prepare::{Duplicates, Files, Options, Silent, Stage, generate, prepare};
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::process::Command;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// A scheduler, and an executor that runs two tasks at a time. Both end with the runtime.
fn cluster() -> (Runtime, String) {
    // Plans of a build without optimisation take much stack.
    let runtime = Builder::new_multi_thread().thread_stack_size(16 << 20).enable_all().build().unwrap();
    let port = runtime.block_on(async {
        let port = new_standalone_scheduler().await.unwrap().port();
        let client = SchedulerGrpcClient::connect(format!("http://localhost:{port}")).await.unwrap();
        new_standalone_executor(client, 2, BallistaCodec::default()).await.unwrap();
        port
    });
    (runtime, format!("df://localhost:{port}"))
}

fn both(options: &Options, scheduler: &str) {
    prepare(options, &Silent).unwrap();
    let mut remote = options.clone();
    remote.out = options.out.with_file_name("remote");
    remote.scheduler = Some(scheduler.to_owned());
    prepare(&remote, &Silent).unwrap();
    assert!(bytes(&remote.out) == bytes(&options.out));
}

#[test]
fn a_cluster_gives_the_same_bytes() {
    let (_runtime, scheduler) = cluster();
    for parquet in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let mut case = sample(parquet);
        both(&case.options(folder.path()), &scheduler);
        // Without weights, and of the greatest weight: other columns.
        let folder = tempfile::tempdir().unwrap();
        (case.weights, case.duplicates, case.symmetrize) = (parquet, Duplicates::One, parquet);
        both(&case.options(folder.path()), &scheduler);
    }
}

#[test]
fn plans_of_many_partitions_give_the_same_bytes() {
    let (_runtime, scheduler) = cluster();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("edges.csv");
    let mut text = Vec::new();
    generate(&mut text, 30_000, 8_000, 7).unwrap();
    fs::write(&path, text).unwrap();
    let mut options = Options::new(Files::new([path.to_str().unwrap()]), folder.path().join("graph"));
    (options.threads, options.parts, options.symmetrize) = (5, 3, true);
    both(&options, &scheduler);
}

#[test]
fn text_comes_in_several_forms() {
    let (_runtime, scheduler) = cluster();
    let folder = tempfile::tempdir().unwrap();
    for (name, header, text) in [("some", false, "# made by hand\n3 1\n# more\n1 2\n"), ("empty", true, "a b\n")] {
        let path = folder.path().join(format!("{name}.txt"));
        fs::write(&path, text).unwrap();
        let files = Files::new([path.to_str().unwrap()]);
        let files = Files { delimiter: Some(b' '), header, comment: Some(b'#'), ..files };
        let mut options = Options::new(files, folder.path().join(name));
        options.overwrite = true;
        both(&options, &scheduler);
    }
}

/// The binary is ended with a cluster and goes on without, and the other way around.
#[test]
fn a_run_goes_on_elsewhere() {
    let (_runtime, scheduler) = cluster();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("edges.csv"), "a,b,w\n1,2,0.5\n2,3,1.5\n3,1,2\n1,2,0.25\n").unwrap();
    let run = |more: &[&str]| {
        let all = ["edges.csv", "--weight", "w", "--symmetrize", "--threads", "2"];
        let output = Command::new(env!("CARGO_BIN_EXE_sparse-prepare"))
            .current_dir(folder.path())
            .args([&all[..], more].concat())
            .output();
        output.unwrap().status.success()
    };
    assert!(run(&["--out", "whole"]));
    let elsewhere = ["--scheduler", scheduler.as_str()];
    for (name, first, second) in [("a", &elsewhere[..], &[][..]), ("b", &[][..], &elsewhere[..])] {
        let out = ["--out", name];
        assert!(!run(&[&out[..], first, &["--abort-at", "edges:begin"]].concat()));
        assert!(run(&[&out[..], second, &["--resume"]].concat()));
        assert!(bytes(&folder.path().join(name)) == bytes(&folder.path().join("whole")), "{name}");
    }
}

#[test]
fn a_cluster_that_ends_leaves_no_manifest() {
    let (runtime, scheduler) = cluster();
    let folder = tempfile::tempdir().unwrap();
    let mut options = sample(true).options(folder.path());
    prepare(&options, &Silent).unwrap();
    let whole = bytes(&options.out);
    options.out = folder.path().join("ended");
    options.scheduler = Some(scheduler);
    let runtime = Mutex::new(Some(runtime));
    let end = || {
        let runtime = runtime.lock().unwrap().take().unwrap();
        // Not in the runtime that waits for it.
        thread::spawn(|| runtime.shutdown_timeout(Duration::from_secs(20))).join().unwrap();
    };
    let error = prepare(&options, &At(Stage::Edges, end)).unwrap_err().to_string();
    assert!(error.starts_with("edges: "), "{error}");
    assert!(!options.out.join(sparse_shards::MANIFEST).exists());
    (options.scheduler, options.resume) = (None, true);
    prepare(&options, &Silent).unwrap();
    assert!(bytes(&options.out) == whole);
}

#[test]
fn what_is_wrong_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = sample(false).options(folder.path());
    // A port that nobody listens at.
    let free: SocketAddr = "127.0.0.1:1".parse().unwrap();
    // One that never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = |address| format!("df://{address}");
    for (scheduler, expected) in [
        (url(free), "onnection refused"),
        (url(silent.local_addr().unwrap()), "Timeout"),
        ("somewhere".into(), "relative URL"),
    ] {
        options.scheduler = Some(scheduler.clone());
        let error = prepare(&options, &Silent).unwrap_err().to_string();
        let rule = "--scheduler: must be the scheduler of a Ballista cluster, such as df://host:50050, got";
        assert!(error.starts_with(&format!("{rule} {scheduler}: ")) && error.contains(expected), "{error}");
    }
    // A scheduler without executors.
    let alone = Builder::new_multi_thread().enable_all().build().unwrap();
    let port = alone.block_on(new_standalone_scheduler()).unwrap().port();
    options.scheduler = Some(format!("df://localhost:{port}"));
    let error = prepare(&options, &Silent).unwrap_err().to_string();
    assert!(error.contains("no executor ran a plan of one row within 60 s"), "{error}");
    // What the plans find.
    let (_runtime, scheduler) = cluster();
    options.scheduler = Some(scheduler);
    options.src = "w".into();
    let error = prepare(&options, &Silent).unwrap_err().to_string();
    assert!(error.contains("ids must be integers or strings"), "{error}");
    options.src = "from".into();
    fs::write(&options.edges.paths[1], "from,w,to\nn1,1,n2\nn1,x,n2\n").unwrap();
    let error = prepare(&options, &Silent).unwrap_err().to_string();
    assert!(error.starts_with("import: ") && error.contains("Job ") && error.contains("'x'"), "{error}");
    assert!(!options.out.join(sparse_shards::MANIFEST).exists());
}
