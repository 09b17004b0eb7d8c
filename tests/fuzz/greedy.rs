//! Long inputs each of whose bytes asks for as much memory as it can.

/// `(target, what it is, input)`.
pub fn inputs() -> Vec<(&'static str, &'static str, Vec<u8>)> {
    const COUNT: usize = 1 << 18;
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
        ("edge_list", "short edges", repeat(b"", b"0 1\n")),
        ("edge_list", "short weights", repeat(b"", b"0 1 2\n")),
        ("edge_list", "new names", numbered(b"", &|k| format!("{k:x} a\n"))),
        ("edge_list", "empty names", repeat(b"", b",\n")),
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
