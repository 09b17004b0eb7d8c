//! Small changes of bytes: what libFuzzer does without a view of the code.

use rand::rngs::StdRng;
use rand::{Rng, RngExt};

/// Words of the formats, and numbers at the edges of what they may be.
const WORDS: &[&[u8]] = &[
    b"%%MatrixMarket matrix ",
    b"coordinate",
    b"array",
    b"real",
    b"integer",
    b"pattern",
    b"complex",
    b"general",
    b"symmetric",
    b"skew-symmetric",
    b"hermitian",
    b"\n",
    b"\r\n",
    b" ",
    b"\t",
    b",",
    b";",
    b"#",
    b"\"",
    b"'",
    b"(",
    b")",
    b"[",
    b"]",
    b"{",
    b"}",
    b":",
    b"nan",
    b"inf",
    b"-0",
    b"1e999",
    b"-1",
    b"True",
    b"False",
    b"(2, 3)",
    b"()",
    b"<f8",
    b">i2",
    b"|b1",
    b"|u1",
    b"<U3",
    b"|S3",
    b"\x93NUMPY\x01\0",
    b"PK\x01\x02",
    b"PK\x05\x06",
    b"\x1f\x8b",
    b"\"I64\"",
    b"\"F32\"",
    b"\"BOOL\"",
    b"\"fill\"",
    b"undefined",
    b"value",
    b"csr",
    b"csc",
    b"bsr",
    b"coo",
];

/// A seed, changed in a few places, or now and then any bytes.
pub fn mutated(random: &mut StdRng, seeds: &[Vec<u8>]) -> Vec<u8> {
    if random.random_range(0..16) == 0 {
        let length = random.random_range(0..400);
        return (0..length).map(|_| random.next_u32() as u8).collect();
    }
    let mut bytes = seeds[random.random_range(0..seeds.len())].clone();
    // Mostly a few changes: many of them leave nothing of the format.
    for _ in 0..1 << random.random_range(0..4) {
        change(random, &mut bytes, seeds);
    }
    bytes
}

fn change(random: &mut StdRng, bytes: &mut Vec<u8>, seeds: &[Vec<u8>]) {
    let length = bytes.len();
    let (from, to) = (random.random_range(0..=length), random.random_range(0..=length));
    let (from, to) = (from.min(to), from.max(to).min(from.min(to) + 64));
    match random.random_range(0..10) {
        0 if length > from => bytes[from] ^= 1 << random.random_range(0..8),
        1 if length > from => bytes[from] = random.next_u32() as u8,
        2 => drop(bytes.drain(from..to)),
        3 => bytes.extend_from_within(from..to),
        4 => {
            let again = bytes[from..to].to_vec();
            drop(bytes.splice(from..from, again));
        }
        5 => {
            let word = WORDS[random.random_range(0..WORDS.len())];
            drop(bytes.splice(from..from, word.iter().copied()));
        }
        6 => {
            let other = &seeds[random.random_range(0..seeds.len())];
            let part = random.random_range(0..=other.len());
            bytes.truncate(from);
            bytes.extend(&other[part..]);
        }
        7 => {
            let width = 1 << random.random_range(0..4);
            for (place, byte) in bytes[from..].iter_mut().zip(number(random).to_le_bytes()).take(width) {
                *place = byte;
            }
        }
        _ => {
            // A number of a text.
            let digit = |at: &usize| bytes[*at].is_ascii_digit();
            let Some(start) = (from..length).find(digit) else { return };
            let end = (start..length).find(|at| !digit(at)).unwrap_or(length);
            let text = number(random).to_string();
            drop(bytes.splice(start..end, text.bytes()));
        }
    }
}

/// Small, or about a power of two.
fn number(random: &mut StdRng) -> u64 {
    let power = 1u64 << random.random_range(0..64);
    match random.random_range(0..5) {
        0 => random.random_range(0..8),
        1 => power - 1,
        2 => power.wrapping_add(1),
        3 => power.wrapping_neg(),
        _ => power,
    }
}
