//! What readers open, and what a line of text may be.

use burn::tensor::{Device, Float};
use sparse_dev::told;
use sparse_tensor::Result;
use sparse_tensor::io::edge_list::{self, Options};
use sparse_tensor::io::matrix_market;

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
}
