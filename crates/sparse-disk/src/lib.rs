//! Files as readers and writers of this project take them: what is read is a regular file ([`open`]), and what is
//! written is whole or not there ([`replace`], [`Replacement`]).
//!
//! ```
//! let folder = std::env::temp_dir().join(format!("sparse-disk-{}", std::process::id()));
//! std::fs::create_dir_all(&folder).unwrap();
//! let path = folder.join("a");
//! sparse_disk::replace(&path, |error| error, |out| std::io::Write::write_all(out, b"one")).unwrap();
//! assert_eq!(std::io::read_to_string(sparse_disk::open(&path).unwrap()).unwrap(), "one");
//! assert!(sparse_disk::open(&folder).is_err());
//! # std::fs::remove_dir_all(folder).unwrap();
//! ```

#![forbid(unsafe_code)]

mod open;
mod replace;

pub use open::{check_inside, open, read};
pub use replace::{Replacement, replace, sync_folder};
