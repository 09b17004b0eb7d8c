//! A folder is read whole or not at all.

use sparse_shards::{
    About, Dtype, Element, Features, HEADER, IdKind, Ids, Kind, Manifest, Part, ShardError, ShardFile, ShardWriter,
    remove_manifest,
};
use std::fs;
use std::path::Path;

fn array<T: Element>(folder: &Path, part: usize, kind: Kind, width: Option<u64>, of: &[T]) -> ShardFile {
    let mut file = ShardWriter::create(folder, part, kind, width).unwrap();
    of.chunks(2).for_each(|some| file.write(some).unwrap());
    assert_eq!(file.elements(), of.len() as u64);
    file.finish().unwrap()
}

/// Row pointers, columns, values, offsets of the ids and their bytes.
type Rows<'a> = (&'a [i64], &'a [i32], &'a [f32], &'a [i64], &'a [u8]);

/// Three parts, of which the second is empty: 0 -> 1, 0 -> 3, 2 -> 0, 3 -> 2.
fn sample(folder: &Path) -> Manifest {
    let rows: [Rows; 3] = [
        (&[0, 2, 2], &[1, 3], &[0.5, 1.5], &[0, 1, 4], b"abcd"),
        (&[0], &[], &[], &[0], b""),
        (&[0, 1, 2], &[0, 2], &[2.5, 3.5], &[0, 0, 2], "é".as_bytes()),
    ];
    let mut parts = Vec::new();
    for (p, (ptr, idx, values, offsets, bytes)) in rows.into_iter().enumerate() {
        let start = [0, 2, 2][p];
        let nodes = start..start + ptr.len() as u64 - 1;
        let features: Vec<f32> = (nodes.start * 3..nodes.end * 3).map(|x| x as f32).collect();
        let files = vec![
            array(folder, p, Kind::RowPtr, None, ptr),
            array(folder, p, Kind::ColIdx, None, idx),
            array(folder, p, Kind::Values, None, values),
            array(folder, p, Kind::Features, Some(3), &features),
            array(folder, p, Kind::IdOffsets, None, offsets),
            array(folder, p, Kind::IdBytes, None, bytes),
        ];
        parts.push(Part { nodes, edges: idx.len() as u64, files });
    }
    let columns = ["a", "b", "c"].map(String::from).to_vec();
    let features = Some(Features { dtype: Dtype::F32, width: 3, columns });
    Manifest::new(About { weights: true, ids: IdKind::Text, features, ..About::default() }, parts)
}

fn message(error: ShardError) -> String {
    assert_eq!(format!("{error:?}"), error.to_string());
    error.to_string()
}

#[test]
fn what_was_written_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let written = sample(folder);
    assert!(message(Manifest::open(folder).unwrap_err()).contains("must hold `manifest.json`"));
    written.write(folder).unwrap();
    let read = Manifest::open(folder).unwrap();
    assert_eq!((read.nodes, read.edges, &read.about, &read.parts), (4, 4, &written.about, &written.parts));
    assert_eq!([0, 1, 2, 3, 4].map(|node| read.owner(node)), [Some(0), Some(0), Some(2), Some(2), None]);
    let mut bytes = 0;
    read.verify_with(&mut |some| bytes += some).unwrap();
    assert_eq!(bytes, read.bytes());
    assert_eq!(read.ids(0).unwrap(), Ids::Text(vec!["a".into(), "bcd".into()]));
    assert_eq!(read.ids(1).unwrap(), Ids::Text(vec![]));
    assert_eq!(read.ids(2).unwrap(), Ids::Text(vec!["".into(), "é".into()]));
    assert!(read.ids(3).is_err() && read.verify_part(3, &mut |_| {}).is_err());
    let idx = fs::read(read.path(2, Kind::ColIdx).unwrap()).unwrap();
    assert_eq!(&idx[HEADER as usize..], [0, 0, 0, 0, 2, 0, 0, 0]);
    assert_eq!(read.path(2, Kind::Ids), None);
    remove_manifest(folder).unwrap();
    remove_manifest(folder).unwrap();
    assert!(matches!(Manifest::open(folder), Err(ShardError::NoManifest { .. })));
}

#[test]
fn every_change_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let manifest = sample(folder);
    manifest.write(folder).unwrap();
    for file in manifest.parts.iter().flat_map(|part| &part.files) {
        let path = folder.join(&file.name);
        let whole = fs::read(&path).unwrap();

        fs::remove_file(&path).unwrap();
        assert!(matches!(Manifest::open(folder), Err(ShardError::Missing { path: got, .. }) if got == path));
        for length in [0, 64, whole.len() - 1, whole.len() + 1] {
            let mut other = whole.clone();
            other.resize(length, 0);
            fs::write(&path, other).unwrap();
            assert!(matches!(Manifest::open(folder), Err(ShardError::Length { got, .. }) if got == length as u64));
        }
        // A byte of the header, and each byte of the elements.
        for at in [20].into_iter().chain(HEADER as usize..whole.len()) {
            let mut other = whole.clone();
            other[at] ^= 1;
            fs::write(&path, other).unwrap();
            match Manifest::open(folder) {
                Ok(manifest) => {
                    assert!(at > 20, "{} {at}", file.name);
                    assert!(matches!(manifest.verify(), Err(ShardError::Checksum { path: got, .. }) if got == path));
                }
                Err(error) => assert!(at == 20 && message(error).contains("must begin with the header")),
            }
        }
        fs::write(&path, whole).unwrap();
    }
    Manifest::open(folder).unwrap().verify().unwrap();
}

#[test]
fn a_manifest_that_lies_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    sample(folder).write(folder).unwrap();
    let path = folder.join("manifest.json");
    let text = fs::read_to_string(&path).unwrap();
    for (old, new, expected) in [
        ("\"version\": 1", "\"version\": 2", "must be of format sparse-shards 1, got sparse-shards 2"),
        ("\"sparse-shards\"", "\"other\"", "must be of format"),
        ("\"nodes\": 4", "\"nodes\": 5", "must have (5, 4) nodes and edges, got (4, 4)"),
        ("\"edges\": 4", "\"edges\": 5", "must have (4, 5)"),
        ("\"end\": 4", "\"end\": 5", "must take"),
        ("\"end\": 4", "\"end\": 18446744073709551615", "must take None"),
        ("\"start\": 2", "\"start\": 1", "must own nodes from 2 on, got 1..2"),
        ("part-00001/row_ptr.npy", "../row_ptr.npy", "must be \"part-00001/row_ptr.npy\", got \"../row_ptr.npy\""),
        ("\"kind\": \"values\"", "\"kind\": \"ids\"", "must have the files"),
        ("\"col_idx\": \"i32\"", "\"col_idx\": \"i64\"", "must be I32, got I64"),
        ("\"width\": 3", "\"width\": 0", "features must be"),
        ("\"ids\": \"text\"", "\"ids\": \"int\"", "must have the files"),
        ("\"parts\"", "\"shards\"", "must be a manifest in JSON"),
        ("}\n", "", "must be a manifest in JSON"),
    ] {
        let other = text.replacen(old, new, 1);
        assert_ne!(other, text, "{old}");
        fs::write(&path, if new.is_empty() { text.trim_end().trim_end_matches('}').to_owned() } else { other })
            .unwrap();
        let got = message(Manifest::open(folder).unwrap_err());
        assert!(got.starts_with("Manifest::open: ") && got.contains(expected), "{old}: {got}");
    }
    fs::write(&path, text).unwrap();
    Manifest::open(folder).unwrap();
}

#[test]
fn a_wrong_structure_is_found_though_its_checksum_is_right() {
    for (ptr, idx, ids, expected) in [
        ([1, 2, 2], [0, 1], [3, 4], "row pointers must start at 0, got 1"),
        ([0, 3, 2], [0, 1], [3, 4], "row pointers must ascend up to 2, got 3 after 0 at row 0"),
        ([0, 1, 0], [0, 1], [3, 4], "row pointers must ascend up to 2, got 0 after 1 at row 1"),
        ([0, 0, 1], [0, 1], [3, 4], "row pointers must end at 2, got 1"),
        ([0, 2, 2], [1, 0], [3, 4], "got 0 after 1 in row 0"),
        ([0, 2, 2], [1, 1], [3, 4], "got 1 after 1 in row 0"),
        ([0, 1, 2], [0, 2], [3, 4], "below 2, got 2 after -1 in row 1"),
        ([0, 1, 2], [-1, 1], [3, 4], "got -1 after -1 in row 0"),
        ([0, 1, 2], [0, 1], [4, 4], "ids must ascend strictly, got 4 after Some(4)"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let files = vec![
            array::<i64>(folder, 0, Kind::RowPtr, None, &ptr),
            array::<i32>(folder, 0, Kind::ColIdx, None, &idx),
            array::<i64>(folder, 0, Kind::Ids, None, &ids),
        ];
        let manifest = Manifest::new(About::default(), vec![Part { nodes: 0..2, edges: 2, files }]);
        manifest.write(folder).unwrap();
        let got = message(Manifest::open(folder).unwrap().verify().unwrap_err());
        assert!(got.starts_with("Manifest::verify: ") && got.contains(expected), "{got}");
    }
}

#[test]
fn a_file_is_complete_or_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let names = || fs::read_dir(folder.join("part-00000")).unwrap().count();
    let mut file = ShardWriter::<f32>::create(folder, 0, Kind::Values, None).unwrap();
    file.write(&[1.0; 1 << 19]).unwrap();
    assert_eq!(names(), 1);
    drop(file);
    assert_eq!(names(), 0);
    let mut file = ShardWriter::<f32>::create(folder, 0, Kind::Features, Some(2)).unwrap();
    file.write(&[1.0; 3]).unwrap();
    assert!(message(file.finish().unwrap_err()).contains("rows must have 2 elements, at least 1, got 3 in all"));
    assert_eq!(names(), 0);
    // Longer than what is kept before it goes to the file.
    let numbers: Vec<i64> = (0..300_001).collect();
    let file = array(folder, 0, Kind::Ids, None, &numbers);
    let bytes = fs::read(folder.join(&file.name)).unwrap();
    assert_eq!(bytes.len() as u64, file.bytes);
    let got = bytes[HEADER as usize..].chunks_exact(8).map(i64::take);
    assert!(got.eq(numbers));
    // A folder that is a file.
    fs::write(folder.join("part-00001"), "").unwrap();
    let broken = ShardWriter::<i64>::create(folder, 1, Kind::Ids, None);
    assert!(message(broken.err().unwrap()).starts_with("ShardWriter: "));
}
