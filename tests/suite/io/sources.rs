//! What readers open, and what a line of text may be.

use burn::tensor::{Device, Float};
use sparse_tensor::data::{OgbOptions, read_folder, read_ogb, read_planetoid};
use sparse_tensor::io::edge_list::{self, Options};
use sparse_tensor::io::matrix_market;
use sparse_tensor::{Limits, Result};

fn told<T>(result: Result<T>) -> String {
    let trouble = result.err().expect("an error");
    assert_eq!(trouble.kind(), "invalid", "{trouble}");
    trouble.to_string()
}

/// The last line would win, with the weight 3; a first line that is no text would be a header.
#[test]
fn lines_are_text_and_end() {
    let cut = "line 1: a line must end with \\n or \\r\\n, got \\r alone";
    let edges = |text: &str| edge_list::parse(text.as_bytes(), &Options::new());
    assert_eq!(told(edges("0 1\r1 2\r2 3")), format!("edge_list: {cut}"));
    assert_eq!(told(edges("0 1\n1 2\n\0 7\n")), "edge_list: line 3: must be text, got the control character 0x00");
    assert_eq!(told(edges("a\0b c\n0 1\n")), "edge_list: line 1: must be text, got the control character 0x00");
    assert_eq!(told(edges("0 1\n1\u{7f}2\n")), "edge_list: line 2: must be text, got the control character 0x7f");
    let units = edge_list::parse(&b"0\x1f1\n1\x1f2\n"[..], &Options::new().with_separator(0x1f));
    assert_eq!(units.unwrap().edges, [(0, 1), (1, 2)]);
    assert_eq!(edges("0\t1\r\n1\t2\r\n\r\n2\t3\r").unwrap().edges, [(0, 1), (1, 2), (2, 3)]);
    let head = "%%MatrixMarket matrix coordinate real general";
    let market = |text: String| told(matrix_market::parse(text.as_bytes()));
    assert_eq!(market(format!("{head}\r2 2 1\r1 1 5\r")), format!("matrix_market: {cut}"));
    let inside = market(format!("{head}\n% a comment\n2 2 1\n1 1\05\n"));
    assert_eq!(inside, "matrix_market: line 4: must be text, got the control character 0x00");
    let latin = [head.as_bytes(), b"\n% M\xfcller\n2 2 1\n1 1 5\n"].concat();
    assert_eq!(matrix_market::parse(&latin[..]).unwrap().coordinates, [(0, 0)]);
}

#[cfg(unix)]
mod links {
    use super::*;
    use sparse_tensor::io::{MappedFile, npy, npz, safetensors};
    use sparse_tensor::{CooTensor, CsrTensor};
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;
    use std::process::Command;

    type Read = fn(&Path) -> Result<()>;

    const FILES: [(&str, Read); 7] = [
        ("matrix_market", |path| matrix_market::read(path).map(drop)),
        ("edge_list", |path| edge_list::read(path, &Options::new()).map(drop)),
        ("npy", |path| npy::load::<2, Float>(path, &Device::flex()).map(drop)),
        ("npz", |path| npz::load::<_, Float>(path, &Device::flex()).map(|_: CsrTensor<2>| ())),
        ("npz::Archive", |path| npz::Archive::open(path).map(drop)),
        ("safetensors", |path| safetensors::load(path, &Device::flex()).map(|_: CooTensor<2>| ())),
        ("MappedFile", |path| MappedFile::open(path).map(drop)),
    ];

    #[test]
    fn what_is_no_regular_file_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        // No writer ever opens the pipe.
        assert!(Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
        symlink("/dev/zero", at("endless")).unwrap();
        fs::create_dir(at("folder")).unwrap();
        for (reader, read) in FILES {
            for (name, got) in [("pipe", "a pipe"), ("endless", "a device"), ("folder", "a folder")] {
                let text = told(read(&at(name)));
                let end = format!("cannot be read, got {got}, where a regular file must be");
                assert!(text.ends_with(&end) && text.contains(name), "{reader}: {text}");
            }
        }
    }

    /// A folder of small graphs, with a link in place of one file.
    fn linked(from: &Path, file: &str, to: &Path) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        copy(from, folder.path());
        fs::remove_file(folder.path().join(file)).unwrap();
        symlink(to, folder.path().join(file)).unwrap();
        folder
    }

    fn copy(from: &Path, to: &Path) {
        for entry in fs::read_dir(from).unwrap().map(|entry| entry.unwrap()) {
            let to = to.join(entry.file_name());
            if entry.path().is_dir() {
                fs::create_dir_all(&to).unwrap();
                copy(&entry.path(), &to);
            } else {
                fs::copy(entry.path(), to).unwrap();
            }
        }
    }

    #[test]
    fn no_link_leads_out_of_a_folder_unless_asked() {
        let folder = crate::data::folder("", None);
        let ogb = crate::raw_graphs::ogb_folder("", None);
        let planetoid = crate::raw_graphs::planetoid("python3", "", None);
        let readers: [(&Path, &str, Read); 3] = [
            (folder.path(), "labels.txt", |path| read_folder(path, &Device::flex()).map(drop)),
            (ogb.path(), "raw/edge.csv", |path| read_ogb(path, &OgbOptions::new(), &Device::flex()).map(drop)),
            (planetoid.path(), "ind.python3.graph", |path| read_planetoid(path, "python3", &Device::flex()).map(drop)),
        ];
        let follow = Limits::new().follow_links(true);
        for (whole, file, read) in readers {
            read(whole).unwrap();
            let out = linked(whole, file, &whole.join(file));
            let text = told(read(out.path()));
            let rule = format!("{file}: must be in the folder (Limits::follow_links follows), got a link out of the");
            assert!(text.contains(&rule), "{text}");
            follow.run(|| read(out.path())).unwrap();
            let endless = linked(whole, file, Path::new("/dev/zero"));
            assert!(told(read(endless.path())).contains("got a link out of the folder, to /dev/zero"));
            let text = told(follow.run(|| read(endless.path())));
            assert!(text.ends_with("cannot be read, got a device, where a regular file must be"), "{text}");
            // Inside the folder a link is as good as the file.
            let inside = linked(whole, file, Path::new("moved"));
            let moved = inside.path().join(file).with_file_name("moved");
            fs::copy(whole.join(file), moved).unwrap();
            read(inside.path()).unwrap();
        }
    }
}
