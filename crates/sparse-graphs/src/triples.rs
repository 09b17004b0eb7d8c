//! Knowledge graphs.

use super::sources::Sources;
use burn::tensor::{Device, Int, Tensor};
use sparse_files::io::Progress;
use sparse_files::io::source::silent;
use sparse_ops::Result;
use sparse_ops::extend::{Allowed, ints};
use std::collections::HashMap;
use std::path::Path;

/// The facts of a knowledge graph: head, relation and tail. [`read_triples`] reads them.
#[derive(Clone, Debug)]
pub struct Triples {
    /// The names of the entities, by id.
    pub entities: Vec<String>,
    /// The names of the relations, by id.
    pub relations: Vec<String>,
    /// `[n, 3]`, the facts for training: ids of head, relation and tail.
    pub train: Tensor<2, Int>,
    /// The facts for validation, likewise.
    pub val: Tensor<2, Int>,
    /// The facts for testing, likewise.
    pub test: Tensor<2, Int>,
}

/// Reads a knowledge graph such as FB15k-237 or WN18RR: `train.txt`, `valid.txt` and `test.txt` with a fact a line, the
/// names `head`, `relation` and `tail` with tabs between them.
///
/// Ids count from 0 in the order of first appearance, in these files one after the other and the head of a fact before
/// its tail. PyG's `FB15k_237` counts so. PyG's `WordNet18RR` numbers its relations in an order of its own, and the
/// `entities.dict` of RotatE is a file of its own: map by the names there. A fact that is listed twice stays twice, and
/// names that occur in `valid.txt` or `test.txt` only have ids too.
///
/// Source: Toutanova and Chen, *Observed versus latent features for knowledge base and text inference*, 2015
/// (FB15k-237); Dettmers et al., *Convolutional 2D Knowledge Graph Embeddings*, AAAI 2018 (WN18RR, and the files of
/// both).
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::data::read_triples;
///
/// let folder = std::env::temp_dir().join(format!("triples-{}", std::process::id()));
/// std::fs::create_dir_all(&folder).unwrap();
/// std::fs::write(folder.join("train.txt"), "paris\tin\tfrance\nlyon\tin\tfrance\n").unwrap();
/// std::fs::write(folder.join("valid.txt"), "").unwrap();
/// std::fs::write(folder.join("test.txt"), "lyon\tnear\tparis\n").unwrap();
/// let facts = read_triples(&folder, &Device::flex()).unwrap();
/// assert_eq!((facts.entities, facts.relations), (
///     vec!["paris".into(), "france".into(), "lyon".into()],
///     vec!["in".to_string(), "near".to_string()],
/// ));
/// assert_eq!(facts.test.into_data().convert::<i64>().to_vec::<i64>().unwrap(), [2, 1, 0]);
/// # std::fs::remove_dir_all(folder).unwrap();
/// ```
///
/// # Errors
///
/// `invalid` for a file that cannot be read, or a line without three names; it names the file and the line.
pub fn read_triples(folder: impl AsRef<Path>, device: &Device) -> Result<Triples> {
    read_triples_with(folder, device, &mut silent())
}

/// [`read_triples`], which reports its progress over all files.
///
/// # Errors
///
/// As [`read_triples`].
pub fn read_triples_with(folder: impl AsRef<Path>, device: &Device, progress: &mut Progress<'_>) -> Result<Triples> {
    let folder = folder.as_ref();
    let paths = ["train.txt", "valid.txt", "test.txt"].map(|name| folder.join(name));
    let mut files = Sources::new("read_triples", folder, &paths, progress)?;
    let (mut entities, mut relations, allowed) = (Names::default(), Names::default(), Allowed::now());
    let mut part = |path: &Path| {
        let mut ids = vec![];
        files.lines(path, b'\t', |_, fields| {
            ids.push(entities.id(fields.name("a head")?));
            ids.push(relations.id(fields.name("a relation")?));
            ids.push(entities.id(fields.name("a tail")?));
            allowed.check_elements(ids.len())?;
            fields.end()
        })?;
        let count = ids.len() / 3;
        Ok(ints(ids, [count, 3], device))
    };
    let [train, val, test] = &paths;
    let (train, val, test) = (part(train)?, part(val)?, part(test)?);
    files.finish();
    Ok(Triples { entities: entities.names, relations: relations.names, train, val, test })
}

/// Names in the order of first appearance.
#[derive(Default)]
pub(super) struct Names {
    ids: HashMap<String, i64>,
    pub(super) names: Vec<String>,
}

impl Names {
    pub(super) fn find(&self, name: &str) -> Option<i64> {
        self.ids.get(name).copied()
    }

    pub(super) fn id(&mut self, name: &str) -> i64 {
        if let Some(id) = self.find(name) {
            return id;
        }
        let id = self.names.len() as i64;
        self.ids.insert(name.into(), id);
        self.names.push(name.into());
        id
    }
}
