//! Files that are not plain ones of this machine, and files that change.

mod common;

use common::{At, bytes, sample};
#[cfg(feature = "compression")]
use sparse_prepare::FeatureTable;
use sparse_prepare::{Options, Silent, Stage, prepare};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Edges and features under other names, into another folder.
#[cfg(any(feature = "compression", feature = "http"))]
fn renamed(options: &Options, out: &str, name: impl Fn(&str) -> String) -> Options {
    let mut own = options.clone();
    own.out = options.out.with_file_name(out);
    let features = own.features.iter_mut().flat_map(|table| &mut table.files.paths);
    own.edges.paths.iter_mut().chain(features).for_each(|path| *path = name(path));
    own
}

/// It fails, says so, and leaves no manifest.
#[cfg(any(feature = "compression", feature = "http"))]
fn fails(options: &Options, expected: &str) {
    let error = prepare(options, &Silent).unwrap_err().to_string();
    assert!(error.contains(expected), "{error}");
    assert!(!options.out.join(sparse_shards::MANIFEST).exists());
}

/// A pipe has no end, and one without a writer has no beginning.
#[cfg(unix)]
#[test]
fn edges_are_regular_files() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = sample(false).options(folder.path());
    let [pipe, link] = ["pipe.csv", "link.csv"].map(|name| folder.path().join(name));
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
    for path in [pipe, link] {
        options.edges.paths = vec![path.display().to_string()];
        let error = prepare(&options, &Silent).unwrap_err();
        assert_eq!(format!("{error:?}"), error.to_string());
        assert!(error.to_string().contains("must be a regular file or a folder"), "{error}");
    }
}

#[test]
fn files_must_not_change_while_they_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = sample(false).options(folder.path());
    prepare(&options, &Silent).unwrap();
    let whole = bytes(&options.out);
    // The same files as a folder, which is listed again.
    let inside = folder.path().join("edges");
    fs::create_dir(&inside).unwrap();
    for path in &mut options.edges.paths {
        fs::rename(&path, inside.join(Path::new(path).file_name().unwrap())).unwrap();
    }
    options.edges.paths = vec![format!("{}/", inside.display())];
    let features = PathBuf::from(&options.features.as_ref().unwrap().files.paths[0]);
    let (edges, more) = (inside.join("edges-1.csv"), inside.join("edges-2.csv"));
    options.overwrite = true;
    let check = |options: &Options, at: Stage, op: &str, name: &Path, change: &(dyn Fn() + Send + Sync)| {
        let error = prepare(options, &At(at, change)).unwrap_err().to_string();
        let name = name.file_name().unwrap().to_str().unwrap();
        assert!(error.starts_with(&format!("{op}: ")) && error.contains(name), "{error}");
        assert!(error.contains("files must not change while they are read, got a change of file:///"), "{error}");
        assert!(!options.out.join(sparse_shards::MANIFEST).exists());
    };
    // Edges were read when their copy was made.
    check(&options, Stage::Edges, "edges", &edges, &|| {
        let text = fs::read_to_string(&edges).unwrap();
        fs::write(&edges, format!("{text}n1,0.5,n2\n")).unwrap();
    });
    check(&options, Stage::Ids, "edges", &edges, &|| {
        File::options().write(true).open(&edges).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
    });
    check(&options, Stage::Edges, "edges", &more, &|| fs::write(&more, "from,w,to\n").unwrap());
    check(&options, Stage::Edges, "edges", &more, &|| fs::remove_file(&more).unwrap());
    check(&options, Stage::Manifest, "features", &features, &|| {
        let text = fs::read_to_string(&features).unwrap();
        fs::write(&features, text).unwrap();
        let past = SystemTime::UNIX_EPOCH;
        File::options().write(true).open(&features).unwrap().set_modified(past).unwrap();
    });
    let text = fs::read_to_string(&edges).unwrap();
    let text = text.strip_suffix("n1,0.5,n2\n").unwrap();
    fs::write(&edges, text).unwrap();
    let time = fs::metadata(&edges).unwrap().modified().unwrap();
    // A file that was another one for a while, before it was read or after: what was read of that one is not recorded.
    for at in [Stage::Import, Stage::Ids] {
        options.resume = false;
        check(&options, at, "edges", &edges, &|| fs::write(&edges, format!("{text}n1,0.5,n2\n")).unwrap());
        fs::write(&edges, text).unwrap();
        File::options().write(true).open(&edges).unwrap().set_modified(time).unwrap();
        options.resume = true;
        prepare(&options, &Silent).unwrap();
        assert!(bytes(&options.out) == whole, "{at:?}");
    }
}

#[cfg(feature = "compression")]
mod compressed {
    use super::*;
    use std::io::Write;

    /// Two members, as parallel compressors write them.
    fn gzip(text: &[u8]) -> Vec<u8> {
        let member = |text: &[u8]| {
            let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            writer.write_all(text).unwrap();
            writer.finish().unwrap()
        };
        let (head, tail) = text.split_at(text.len() / 2);
        [member(head), member(tail)].concat()
    }

    /// A frame of blocks that are stored as they are.
    fn zstd(text: &[u8]) -> Vec<u8> {
        // One segment, whose length is a field of four bytes.
        let mut out = [&[0x28, 0xb5, 0x2f, 0xfd, 0xa0][..], &(text.len() as u32).to_le_bytes()].concat();
        let blocks = text.chunks(1 << 16).collect::<Vec<_>>();
        for (k, block) in blocks.iter().enumerate() {
            let header = (block.len() as u32) << 3 | u32::from(k + 1 == blocks.len());
            out.extend(&header.to_le_bytes()[..3]);
            out.extend(*block);
        }
        out
    }

    #[test]
    fn compressed_text_gives_the_same_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let options = sample(false).options(folder.path());
        prepare(&options, &Silent).unwrap();
        let whole = bytes(&options.out);
        for (end, pack) in [("gz", gzip as fn(&[u8]) -> Vec<u8>), ("zst", zstd)] {
            let packed = renamed(&options, end, |path| {
                let own = format!("{path}.{end}");
                fs::write(&own, pack(&fs::read(path).unwrap())).unwrap();
                own
            });
            prepare(&packed, &Silent).unwrap();
            assert!(bytes(&packed.out) == whole, "{end}");

            // Cut in the last bytes: all lines that are complete must not do.
            for path in [packed.edges.paths.last(), paths(&packed).first()].into_iter().flatten() {
                let all = fs::read(path).unwrap();
                for keep in [all.len() - 3, all.len() / 3] {
                    fs::write(path, &all[..keep]).unwrap();
                    let mut cut = packed.clone();
                    cut.out = folder.path().join(format!("{end}-cut"));
                    fails(&cut, ": ");
                }
                fs::write(path, &all).unwrap();
            }
        }
        let mixed =
            renamed(&options, "mixed", |path| format!("{path}{}", if path.contains("-0") { ".gz" } else { "" }));
        fails(&mixed, "edges: files must be compressed in one way, got several");
    }

    fn paths(options: &Options) -> &[String] {
        options.features.as_ref().map_or(&[], |FeatureTable { files, .. }| &files.paths)
    }
}

#[cfg(feature = "http")]
mod http {
    use super::*;
    use std::io::{self, BufRead, BufReader, Write};
    use std::net::{TcpListener, TcpStream};
    use std::ops::Range;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread;

    /// What a server serves, and how.
    struct Server {
        folder: PathBuf,
        /// Bodies end after so many bytes, whatever was promised.
        cut: usize,
        /// Answers with a part of a file.
        parts: AtomicU64,
    }

    /// Serves a folder until the process ends. Gives the URL of it.
    fn serve(folder: &Path, cut: usize) -> (String, Arc<Server>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = Arc::new(Server { folder: folder.to_path_buf(), cut, parts: AtomicU64::new(0) });
        let own = server.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let own = own.clone();
                // A client that goes is no matter of the server.
                thread::spawn(move || own.answer(stream?));
            }
        });
        (url, server)
    }

    impl Server {
        /// HEAD and GET, with a range or without; one request for each connection.
        fn answer(&self, mut stream: TcpStream) -> io::Result<()> {
            let mut lines = BufReader::new(stream.try_clone()?).lines();
            let first = lines.next().unwrap_or_else(|| Ok(String::new()))?;
            let mut asked = None;
            for line in lines {
                let line = line?.to_ascii_lowercase();
                if line.is_empty() {
                    break;
                }
                asked = line.strip_prefix("range: bytes=").map(str::to_owned).or(asked);
            }
            let mut words = first.split(' ');
            let (method, path) = (words.next().unwrap_or(""), words.next().unwrap_or("/"));
            let end = "Connection: close\r\n\r\n";
            let Ok(body) = fs::read(self.folder.join(&path[1..])) else {
                return write!(stream, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n{end}");
            };
            let head = match asked.as_deref().map(|text| range(text, body.len())) {
                None => format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n{end}", body.len()),
                Some(Range { start, end: stop }) => {
                    self.parts.fetch_add(1, Ordering::Relaxed);
                    let place = format!("Content-Range: bytes {start}-{}/{}", stop - 1, body.len());
                    format!("HTTP/1.1 206 Partial Content\r\n{place}\r\nContent-Length: {}\r\n{end}", stop - start)
                }
            };
            stream.write_all(head.as_bytes())?;
            if method == "GET" {
                let part = &body[asked.map_or(0..body.len(), |text| range(&text, body.len()))];
                stream.write_all(&part[..part.len().min(self.cut)])?;
            }
            Ok(())
        }
    }

    /// Of `10-19`, `10-`, `-10`.
    fn range(text: &str, length: usize) -> Range<usize> {
        match text.split_once('-').unwrap() {
            ("", last) => length - last.parse::<usize>().unwrap().min(length)..length,
            (first, "") => first.parse().unwrap()..length,
            (first, last) => first.parse().unwrap()..(last.parse::<usize>().unwrap() + 1).min(length),
        }
    }

    fn name(path: &str) -> &str {
        Path::new(path).file_name().unwrap().to_str().unwrap()
    }

    #[test]
    fn files_of_a_server_give_the_same_bytes() {
        for parquet in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let options = sample(parquet).options(folder.path());
            prepare(&options, &Silent).unwrap();
            let (url, server) = serve(folder.path(), usize::MAX);
            let served = renamed(&options, "served", |path| format!("{url}/{}", name(path)));
            prepare(&served, &Silent).unwrap();
            assert!(bytes(&served.out) == bytes(&options.out), "{parquet}");
            // Of a Parquet file only what is needed is read.
            assert!(server.parts.load(Ordering::Relaxed) > 0 || !parquet);
        }
    }

    #[test]
    fn servers_that_fail_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let options = sample(false).options(folder.path());
        let (url, _) = serve(folder.path(), usize::MAX);
        let mut absent = renamed(&options, "absent", |path| format!("{url}/{}", name(path)));
        absent.edges.paths[1] = format!("{url}/nothing.csv");
        fails(&absent, &format!("edges: there must be a file at {url}/nothing.csv, got"));
        let mut absent = renamed(&options, "absent", |path| format!("{url}/{}", name(path)));
        absent.features.as_mut().unwrap().files.paths[0] = format!("{url}/nothing.csv");
        fails(&absent, &format!("features: there must be a file at {url}/nothing.csv, got"));
        // Whether a plan has begun or not.
        for cut in [0, 100, 10_000] {
            let (url, _) = serve(folder.path(), cut);
            fails(&renamed(&options, "cut", |path| format!("{url}/{}", name(path))), "error");
        }
    }

    #[test]
    fn a_file_of_a_server_must_not_change_either() {
        let folder = tempfile::tempdir().unwrap();
        let options = sample(false).options(folder.path());
        let (url, _) = serve(folder.path(), usize::MAX);
        let served = renamed(&options, "served", |path| format!("{url}/{}", name(path)));
        let path = &options.edges.paths[0];
        let change = || fs::write(path, fs::read_to_string(path).unwrap() + "n1,0.5,n2\n").unwrap();
        let error = prepare(&served, &At(Stage::Edges, change)).unwrap_err().to_string();
        let expected = format!("files must not change while they are read, got a change of {url}/edges-0.csv");
        assert!(error.contains(&expected), "{error}");
    }
}
