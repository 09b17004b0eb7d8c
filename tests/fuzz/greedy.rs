//! Long inputs each of whose bytes asks for as much memory as it can, and compressed ones that become far longer.

use crate::targets::{Entry, home, zip};
use flate2::{Compress, Compression, Crc, FlushCompress, GzBuilder};
use sparse_tensor::Limits;
use sparse_tensor::io::edge_list::{self, Options};
use std::fs;
use std::io::Write;

pub struct Input {
    pub target: &'static str,
    pub what: &'static str,
    pub bytes: Vec<u8>,
    pub limits: Limits,
    /// How many bytes a reader may take for it, after decompression.
    pub taken: usize,
    /// Whether it must be an error.
    pub refused: bool,
}

const COUNT: usize = 1 << 18;
const MIB: usize = 1 << 20;

pub fn inputs() -> Vec<Input> {
    let plain = plain().into_iter().map(|(target, what, bytes)| {
        let taken = bytes.len();
        Input { target, what, bytes, limits: Limits::new(), taken, refused: false }
    });
    plain.chain(compressed()).collect()
}

/// `(target, what it is, input)`.
fn plain() -> Vec<(&'static str, &'static str, Vec<u8>)> {
    let repeat = |first: &[u8], part: &[u8]| [first, &part.repeat(COUNT / part.len())].concat();
    let numbered = |first: &[u8], line: &dyn Fn(usize) -> String| {
        let lines: String = (0..COUNT / 8).map(line).collect();
        [first, lines.as_bytes()].concat()
    };
    // Of the folders the first byte chooses a file.
    let pickles = [
        ("lists", &b"\0]"[..], &b"]"[..]),
        ("tuples in tuples", b"\0N", b"\x85"),
        ("marks", b"\0", b"("),
        ("values", b"\0", b"N"),
        ("objects", b"\0N", b"NR"),
        ("lists of one item", b"\0", b"]Na"),
        ("entries of the memo", b"\0N", b"\x94"),
        ("lists in the memo", b"\0", b"]\x94"),
        ("classes", b"\0\x8c\x3f0123456789012345678901234567890123456789012345678901234567890a12q\0", b"h\0h\0\x93"),
        ("short strings", b"\0", b"U\x01a"),
        ("dictionaries of one entry", b"\0", b"}NNs"),
    ];
    let rows = 500;
    let triangle = [b"%%MatrixMarket matrix array real symmetric\n500 500\n", &*b"1\n".repeat(rows * (rows + 1) / 2)];
    let pattern = |symmetry: &str, line: &str| {
        let count = COUNT / line.len();
        let head = format!("%%MatrixMarket matrix coordinate pattern {symmetry}\n2 2 {count}\n");
        [head.as_bytes(), &line.as_bytes().repeat(count)].concat()
    };
    let tensor = |shape: &str| format!("{{\"dtype\":\"U8\",\"shape\":[{shape}0],\"data_offsets\":[0,0]}}");
    let long = format!("{{\"a\":{}}}", tensor(&"0,".repeat(COUNT / 2)));
    let many: String = (0..COUNT / 64).map(|k| format!("\"{k}\":{},", tensor(""))).collect();
    let many = format!("{{{many}\"a\":{}}}", tensor(""));
    let header = format!("{{'descr': '|i1', 'fortran_order': False, 'shape': ({COUNT},)}}");
    let header = format!("{header:80}");
    let counted = |header: String| [&(header.len() as u64).to_le_bytes()[..], header.as_bytes()].concat();
    let mut inputs: Vec<_> =
        pickles.map(|(what, first, part)| ("planetoid", what, repeat(first, part))).into_iter().collect();
    inputs.extend([
        ("matrix_market", "a triangle of ones", triangle.concat()),
        ("matrix_market", "coordinates", pattern("general", "1 1\n")),
        ("matrix_market", "coordinates with mirrors", pattern("symmetric", "2 1\n")),
        ("edge_list", "short edges", repeat(b"\0\0\0", b"0 1\n")),
        ("edge_list", "short weights", repeat(b"\0\0\0", b"0 1 2\n")),
        ("edge_list", "new names", numbered(b"\x08\0\0", &|k| format!("{k:x} a\n"))),
        ("edge_list", "empty names", repeat(b"\x08\0\0", b",\n")),
        ("npy", "bytes", [b"\x93NUMPY\x01\0\x50\0", header.as_bytes(), &[1; COUNT]].concat()),
        ("safetensors", "a long shape", counted(long)),
        ("safetensors", "many tensors", counted(many)),
        ("ogb", "edges", repeat(b"\x01", b"0,1\n")),
        ("ogb", "features", repeat(b"\x02", b"1,1\n")),
        ("ogb", "labels", repeat(b"\x03", b"1\n")),
        ("folder", "labels", repeat(b"\x02", b"1\n")),
        ("folder", "training nodes", repeat(b"\x03", b"0\n")),
    ]);
    inputs
}

/// Files that are compressed as well as they can be.
fn compressed() -> Vec<Input> {
    let default = inflated();
    // Of any file, or 64 times its length: as the documentation of `Limits` says.
    let of = |target, what, bytes: Vec<u8>| {
        let taken = default.max(64 * bytes.len());
        Input { target, what, bytes, limits: Limits::new(), taken, refused: true }
    };
    // Lines that take long to read, in fewer bytes.
    let within = |target, what, bytes| Input {
        target,
        what,
        bytes,
        limits: Limits::new().bytes(COUNT),
        taken: COUNT,
        refused: true,
    };
    // A claim alone takes nothing.
    let claim = |target, what, bytes: Vec<u8>| {
        let taken = bytes.len();
        Input { target, what, bytes, limits: Limits::new(), taken, refused: true }
    };
    let twice = 2 * default / MIB;
    const BANNER: &[u8] = b"%%MatrixMarket matrix coordinate pattern general\n";
    let coordinates = [BANNER, b"2 2 1000000000\n"].concat();
    let array = b"%%MatrixMarket matrix array integer general\n1000000 1000000\n";
    let comment = [&b"%".repeat(MIB - 1)[..], b"\n"].concat();
    vec![
        of("text_files", "comments", gzip(BANNER, &comment, twice)),
        of("text_files", "a line without an end", gzip(b"%", &[b'%'; MIB], twice)),
        of("text_files", "zeros", gzip(BANNER, &[0; MIB], twice)),
        within("text_files", "coordinates", gzip(&coordinates, &b"1 1\n".repeat(COUNT), 4)),
        within("text_files", "an array", gzip(array, &b"1\n".repeat(COUNT), 4)),
        within("text_files", "edges", gzip(b"", &b"0 1\n".repeat(COUNT), 4)),
        within("text_files", "weights", gzip(b"", &b"0 1 2\n".repeat(COUNT), 4)),
        Input { refused: false, ..of("npz", "row pointers", empty_rows(default / 16, default / 4)) },
        of("npz", "too many row pointers", empty_rows(default / 2, 2 * default)),
        of("npz", "more than the archive says", empty_rows(MIB, 2 * default)),
        claim("npz", "less than the archive says", empty_rows(default / 16, 0)),
        claim("npz", "a large claim", empty_rows(u32::MAX as usize / 8, 0)),
    ]
}

/// What a short compressed file may become by default, as the error says.
fn inflated() -> usize {
    let path = home().join("inflated");
    let comment = [&b"#".repeat(MIB - 1)[..], b"\n"].concat();
    fs::write(&path, gzip(b"", &comment, 128)).unwrap();
    let error = edge_list::read(&path, &Options::new()).expect_err("128 MiB of a short file are too many").to_string();
    let number = error.split("at most ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
    number.unwrap_or_else(|| panic!("the error must name the limit, got {error}"))
}

/// A text that goes on with so many copies of a part. A file of gzip may have several members.
fn gzip(first: &[u8], part: &[u8], times: usize) -> Vec<u8> {
    let member = |bytes: &[u8]| {
        let mut out = GzBuilder::new().write(Vec::new(), Compression::best());
        out.write_all(bytes).unwrap();
        out.finish().unwrap()
    };
    [member(first), member(part).repeat(times)].concat()
}

/// The same as a stream of an archive. After a full flush nothing refers to what was before, so blocks may be repeated.
fn deflated(first: &[u8], part: &[u8], times: usize) -> Vec<u8> {
    let blocks = |bytes: &[u8]| {
        let mut out = Vec::with_capacity(bytes.len() + 1024);
        Compress::new(Compression::best(), false).compress_vec(bytes, &mut out, FlushCompress::Full).unwrap();
        out
    };
    // The last block is empty.
    [blocks(first), blocks(part).repeat(times), b"\x01\0\0\xff\xff".to_vec()].concat()
}

/// A matrix in compressed rows whose pointers are all zero. After the first there are so many bytes of them.
fn empty_rows(rows: usize, bytes: usize) -> Vec<u8> {
    let first = numpy("<i4", &format!("{},", rows + 1), &[0; 4]);
    let mut crc = Crc::new();
    crc.update(&first);
    (0..bytes / MIB).for_each(|_| crc.update(&[0; MIB]));
    let pointers = deflated(&first, &[0; MIB], bytes / MIB);
    let shape = [rows as u64, 1].map(u64::to_le_bytes).concat();
    zip(&[
        Entry::stored("format", numpy("|S3", "", b"csr")),
        Entry::stored("shape", numpy("<i8", "2,", &shape)),
        Entry::deflated("indptr", pointers, first.len() + 4 * rows, crc.sum()),
        Entry::stored("indices", numpy("<i4", "0,", &[])),
        Entry::stored("data", numpy("<f4", "0,", &[])),
    ])
}

fn numpy(descr: &str, shape: &str, elements: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape})}}");
    [b"\x93NUMPY\x01\0\x76\0", format!("{header:117}\n").as_bytes(), elements].concat()
}
