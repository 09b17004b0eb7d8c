//! Links out of the folders that readers of graphs read.
#![cfg(unix)]

use burn::tensor::Device;
use sparse_dev::told;
use sparse_tensor::data::{OgbOptions, read_folder, read_ogb, read_planetoid};
use sparse_tensor::{Limits, Result};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

type Read = fn(&Path) -> Result<()>;

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
    let others = crate::readers::READERS.map(|reader| (reader.folder("", None), reader));
    let readers: [(&Path, &str, Read); 3] = [
        (folder.path(), "labels.txt", |path| read_folder(path, &Device::flex()).map(drop)),
        (ogb.path(), "raw/edge.csv", |path| read_ogb(path, &OgbOptions::new(), &Device::flex()).map(drop)),
        (planetoid.path(), "ind.python3.graph", |path| read_planetoid(path, "python3", &Device::flex()).map(drop)),
    ];
    let follow = Limits::new().follow_links(true);
    let others = others.iter().map(|(folder, reader)| (folder.path(), reader.text, reader.read));
    for (whole, file, read) in readers.into_iter().chain(others) {
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
