//! Which users chose which items.

use super::graph::with_ends;
use super::sources::{Sources, check_dtype};
use burn::tensor::TensorCreationOptions;
use sparse_files::io::Progress;
use sparse_files::io::source::silent;
use sparse_ops::extend::Allowed;
use sparse_ops::{CsrTensor, Result};
use std::path::Path;

/// The items of users, for training and testing. [`read_amazon_book`] reads them.
#[derive(Clone, Debug)]
pub struct Interactions {
    /// `[users, items]`, with value 1 for an item of a user.
    pub train: CsrTensor<2>,
    /// The items to predict, likewise.
    pub test: CsrTensor<2>,
}

/// Reads a recommendation set of LightGCN: Amazon-Book (PyG's `AmazonBook`), Gowalla, Yelp2018.
///
/// | file | content |
/// |---|---|
/// | `user_list.txt`, `item_list.txt` | after a line of titles, a user or an item a line |
/// | `train.txt`, `test.txt` | a user a line: its number and those of its items, from 0, between blanks |
///
/// An item that a user has several times is there once. Layers collect along rows: `train` carries items to users, and
/// `train.transpose()` the other way. Takes `&device`, or `(&device, dtype)`.
///
/// Source: He et al., *LightGCN*, SIGIR 2020; [the files](https://github.com/gusye1234/LightGCN-PyTorch).
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::data::read_amazon_book;
///
/// let folder = std::env::temp_dir().join(format!("books-{}", std::process::id()));
/// std::fs::create_dir_all(&folder).unwrap();
/// let files = [("user_list", "org_id remap_id\nA 0\nB 1\n"), ("item_list", "org_id remap_id\nx 0\ny 1\nz 2\n")];
/// for (name, text) in files.into_iter().chain([("train", "0 2 0\n1 1\n"), ("test", "1 2\n")]) {
///     std::fs::write(folder.join(format!("{name}.txt")), text).unwrap();
/// }
/// let set = read_amazon_book(&folder, &Device::flex()).unwrap();
/// assert_eq!((set.train.dims(), set.train.nnz(), set.test.nnz()), ([2, 3], 3, 1));
/// # std::fs::remove_dir_all(folder).unwrap();
/// ```
///
/// # Errors
///
/// `invalid` for a file that cannot be read, and for a number that is no user or item; it names the file and the line.
/// `unsupported_dtype`.
pub fn read_amazon_book(folder: impl AsRef<Path>, options: impl Into<TensorCreationOptions>) -> Result<Interactions> {
    read_amazon_book_with(folder, options, &mut silent())
}

/// [`read_amazon_book`], which reports its progress over all files.
///
/// # Errors
///
/// As [`read_amazon_book`].
pub fn read_amazon_book_with(
    folder: impl AsRef<Path>,
    options: impl Into<TensorCreationOptions>,
    progress: &mut Progress<'_>,
) -> Result<Interactions> {
    const OP: &str = "read_amazon_book";
    let (folder, options) = (folder.as_ref(), options.into());
    check_dtype(OP, &options)?;
    let paths = ["user_list.txt", "item_list.txt", "train.txt", "test.txt"].map(|name| folder.join(name));
    let mut files = Sources::new(OP, folder, &paths, progress)?;
    let allowed = Allowed::now();
    let mut count = |path: &Path| {
        let mut lines = 0usize;
        files.lines(path, b' ', |_, _| {
            lines += 1;
            allowed.check_elements(lines)
        })?;
        Ok::<_, sparse_ops::SparseError>(lines.saturating_sub(1))
    };
    let [user_list, item_list, train, test] = &paths;
    let (users, items) = (count(user_list)?, count(item_list)?);
    let mut part = |path: &Path| {
        let mut ends = vec![];
        files.lines(path, b' ', |_, fields| {
            let numbers = fields.words::<i64>("a whole number")?;
            let inside = |what: &str, number: i64, count: usize| match usize::try_from(number) {
                Ok(id) if id < count => Ok(id),
                _ => Err(format!("{what} must be in [0, {count}), got {number}")),
            };
            // A line is not empty.
            let user = inside("a user", numbers[0], users)?;
            for &number in &numbers[1..] {
                ends.push((user, inside("an item", number, items)?));
            }
            allowed.check_elements(ends.len())
        })?;
        ends.sort_unstable();
        ends.dedup();
        Ok::<_, sparse_ops::SparseError>(with_ends(&ends, [users, items], options.clone()))
    };
    let set = Interactions { train: part(train)?, test: part(test)? };
    files.finish();
    Ok(set)
}
