//! Attention in one walk has the bits of its parts, one after the other.

use sparse_core::{Compressed, Dropout, Epilogue, Scores, attend, dropout, sddmm, segment_softmax, spmm};

fn numbers(len: usize, seed: f32) -> Vec<f32> {
    (0..len).map(|k| ((k as f32 + seed) * 0.73).sin() * 3.0).collect()
}

struct Case {
    ptr: Vec<i32>,
    idx: Vec<i32>,
    cols: usize,
    heads: usize,
    features: usize,
    width: usize,
}

impl Case {
    /// Rows of these lengths.
    fn new(lengths: &[usize], [heads, features, width]: [usize; 3]) -> Self {
        let ptr = lengths.iter().scan(0, |end, &len| {
            *end += len as i32;
            Some(*end)
        });
        let ptr: Vec<i32> = [0].into_iter().chain(ptr).collect();
        let cols = 61;
        let idx = (0..ptr[lengths.len()]).map(|k| k * 7919 % cols).collect();
        Self { ptr, idx, cols: cols as usize, heads, features, width }
    }

    fn parts(&self, given: bool, drops: Option<Dropout>) -> (Vec<f32>, Vec<f32>) {
        let (rows, nnz) = (self.ptr.len() - 1, self.idx.len());
        let (query, key, value) = self.operands();
        let mut scores = numbers(nnz * self.heads, 4.0);
        if !given {
            let ids: Vec<i32> = (0..rows).flat_map(|r| (self.ptr[r]..self.ptr[r + 1]).map(move |_| r as i32)).collect();
            sddmm(&ids, &self.idx, &query, &key, self.heads, self.features, &mut scores);
            scores.iter_mut().for_each(|x| *x *= 0.5);
        }
        let mut weights = vec![0.0; scores.len()];
        segment_softmax(&scores, self.heads, &self.ptr, false, &mut weights);
        let mut used = weights.clone();
        if let Some(rule) = drops {
            dropout(None, &mut used, rule);
        }
        let mut out = vec![f32::NAN; rows * self.width];
        let a = Compressed { ptr: &self.ptr, idx: &self.idx, perm: None };
        spmm(a, &used, &value, [1, self.heads, self.width], Epilogue::default(), &mut out);
        (out, weights)
    }

    fn operands(&self) -> (Vec<f32>, Vec<f32>, Vec<f32>) {
        let rows = self.ptr.len() - 1;
        let (query, key) = (numbers(rows * self.features, 1.0), numbers(self.cols * self.features, 2.0));
        (query, key, numbers(self.cols * self.width, 3.0))
    }

    fn one_walk(&self, given: bool, drops: Option<Dropout>, keep: bool) -> (Vec<f32>, Option<Vec<f32>>) {
        let (rows, nnz) = (self.ptr.len() - 1, self.idx.len());
        let (query, key, value) = self.operands();
        let list = numbers(nnz * self.heads, 4.0);
        let scores = if given {
            Scores::Given(&list[..])
        } else {
            Scores::Products { query: &query, key: &key, features: self.features, scale: 0.5 }
        };
        let mut out = vec![f32::NAN; rows * self.width];
        let mut weights = keep.then(|| vec![f32::NAN; nnz * self.heads]);
        let a = Compressed { ptr: &self.ptr, idx: &self.idx, perm: None };
        attend(a, scores, &value, self.heads, self.width, drops, weights.as_deref_mut(), &mut out);
        (out, weights)
    }
}

#[test]
fn has_the_bits_of_its_parts() {
    let skewed: Vec<usize> = (0..900).map(|r| if r == 400 { 20_000 } else { r * 31 % 17 }).collect();
    let even = vec![40; 500];
    for lengths in [&[][..], &[0, 0], &[3], &[0, 5, 0, 1], &skewed, &even] {
        for sizes in [[1, 3, 1], [1, 40, 33], [2, 6, 8], [8, 16, 64], [3, 3, 3]] {
            let case = Case::new(lengths, sizes);
            for drops in [None, Some(Dropout { p: 0.4, seed: 7 })] {
                for given in [true, false] {
                    let (out, weights) = case.parts(given, drops);
                    let of = format!("{} rows, {sizes:?}, {drops:?}, given {given}", lengths.len());
                    assert_eq!(case.one_walk(given, drops, true), (out.clone(), Some(weights)), "{of}");
                    assert_eq!(case.one_walk(given, drops, false), (out, None), "{of}");
                }
            }
        }
    }
}

#[test]
#[should_panic(expected = "attend: the elements must be in the order of their rows")]
fn values_must_be_in_order() {
    let a = Compressed { ptr: &[0, 1], idx: &[0], perm: Some(&[0]) };
    attend(a, Scores::Given(&[1.0_f32]), &[1.0], 1, 1, None, None, &mut [0.0]);
}

#[test]
#[should_panic(expected = "segments must be all 2 rows")]
fn rows_must_have_all_elements() {
    let a = Compressed { ptr: &[0, 1], idx: &[0, 0], perm: None };
    attend(a, Scores::Given(&[1.0_f32, 1.0]), &[1.0], 1, 1, None, None, &mut [0.0]);
}
