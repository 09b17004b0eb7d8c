//! Events between users and items.

use super::sources::{Sources, check_dtype};
use burn::tensor::{Tensor, TensorCreationOptions, TensorData};
use sparse_files::io::Progress;
use sparse_files::io::source::silent;
use sparse_nn::TemporalEvents;
use sparse_ops::Result;
use sparse_ops::extend::Allowed;
use std::path::Path;

/// Events between users and items. [`read_jodie`] reads them.
#[derive(Clone, Debug)]
pub struct JodieEvents {
    /// Events from users, which are the first nodes, to items.
    pub events: TemporalEvents,
    /// The class of each event.
    pub labels: Vec<i64>,
    /// Number of users.
    pub users: usize,
}

/// Reads a file of JODIE, such as `wikipedia.csv`: after a line of titles, an event a line,
/// `user_id,item_id,timestamp,state_label` and then its features, in the order of time.
///
/// Users and items count from 0. Item `i` is node `users + i`, and there are as many of each as the largest number
/// says. Of a time only the whole number counts. (PyG's `JODIEDataset`.) Takes `&device`, or `(&device, dtype)` for the
/// dtype of the features.
///
/// Source: Kumar, Zhang, Leskovec, *Predicting dynamic embedding trajectory in temporal interaction networks*, KDD
/// 2019; [the files](https://snap.stanford.edu/jodie/).
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::data::read_jodie;
///
/// let path = std::env::temp_dir().join(format!("jodie-{}.csv", std::process::id()));
/// std::fs::write(&path, "user_id,item_id,timestamp,state_label,features\n0,0,0.0,0,0.5,1\n1,0,36.5,1,0,2\n").unwrap();
/// let set = read_jodie(&path, &Device::flex()).unwrap();
/// assert_eq!((set.events.targets(), set.events.times()), (&[2, 2][..], &[0, 36][..]));
/// assert_eq!((set.events.messages().dims(), set.labels), ([2, 2], vec![0, 1]));
/// # std::fs::remove_file(path).unwrap();
/// ```
///
/// # Errors
///
/// `invalid` for a file that cannot be read, a line that breaks its format, one with another number of features, and
/// time that runs backwards; it names the file and the line. `unsupported_dtype`.
pub fn read_jodie(path: impl AsRef<Path>, options: impl Into<TensorCreationOptions>) -> Result<JodieEvents> {
    read_jodie_with(path, options, &mut silent())
}

/// [`read_jodie`], which reports its progress.
///
/// # Errors
///
/// As [`read_jodie`].
pub fn read_jodie_with(
    path: impl AsRef<Path>,
    options: impl Into<TensorCreationOptions>,
    progress: &mut Progress<'_>,
) -> Result<JodieEvents> {
    const OP: &str = "read_jodie";
    let (path, options) = (path.as_ref(), options.into());
    check_dtype(OP, &options)?;
    let mut files = Sources::new(OP, path.parent().unwrap_or(path), [path], progress)?;
    let (mut sources, mut items, mut times, mut labels) = (vec![], vec![], vec![], vec![]);
    let (mut messages, allowed, mut width) = (vec![], Allowed::now(), None);
    files.lines(path, b',', |number, fields| {
        if number == 1 {
            return Ok(());
        }
        sources.push(fields.id("a user", 0, LARGEST)?);
        items.push(fields.id("an item", 0, LARGEST)?);
        let time = fields.time()?;
        match times.last() {
            Some(&before) if time < before => {
                return Err(format!("time must not run backwards, got {time} after {before}"));
            }
            _ => times.push(time),
        }
        labels.push(fields.class()?);
        let before = messages.len();
        while fields.has_more() {
            messages.push(fields.float()?);
            allowed.check_elements(messages.len())?;
        }
        allowed.check_elements(sources.len())?;
        let got = messages.len() - before;
        let want = *width.get_or_insert(got);
        if got == want { Ok(()) } else { Err(format!("a line must have {want} features, got {got}")) }
    })?;
    files.finish();
    let users = sources.iter().max().map_or(0, |&last| last + 1);
    let targets: Vec<usize> = items.into_iter().map(|item| users + item).collect();
    let nodes = targets.iter().max().map_or(users, |&last| last + 1);
    let messages = TensorData::new(messages, [sources.len(), width.unwrap_or(0)]);
    let messages = Tensor::<2>::from_data(messages, options);
    Ok(JodieEvents { events: TemporalEvents::new(nodes, sources, targets, times, messages)?, labels, users })
}

/// Ids are below this: nodes are lists.
const LARGEST: usize = 1 << 31;
