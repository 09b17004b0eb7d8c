//! What users of a shop did.

use super::graph::with_ends;
use super::hetero::{HeteroGraph, TypedNodes};
use super::sources::{Sources, check_dtype};
use burn::tensor::{Tensor, TensorCreationOptions, TensorData};
use sparse_files::io::Progress;
use sparse_files::io::source::silent;
use sparse_nn::EdgeType;
use sparse_ops::Result;
use sparse_ops::extend::Allowed;
use std::ops::Range;
use std::path::Path;

/// Reads `UserBehavior.csv` of Taobao, in a folder: `user,item,category,behaviour,time`, an action a line, where the
/// behaviour is `pv`, `cart`, `buy` or `fav`.
///
/// Only actions at a time in `times`, in seconds since 1970, count. PyG's `Taobao` takes `1511539200..1512316800`: the
/// days from 25 November to 3 December 2017. An action that is listed twice counts once. Nodes are `user`, `item` and
/// `category`, each in the order of their numbers in the file, without features. Edges:
///
/// - `user-{behaviour}-item` for each behaviour that there is, with the number of times as the value. PyG has one type
///   of edges with the behaviour of each: the sum of these.
/// - `item-in-category`, with value 1.
///
/// Takes `&device`, or `(&device, dtype)` for the dtype of the values. Cost: a sort of the actions; 24 bytes for each.
///
/// Source: Zhu et al., *Learning tree-based deep model for recommender systems*, KDD 2018;
/// [the file](https://tianchi.aliyun.com/dataset/649).
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::data::read_taobao;
///
/// let folder = std::env::temp_dir().join(format!("taobao-{}", std::process::id()));
/// std::fs::create_dir_all(&folder).unwrap();
/// let actions = "7,20,3,pv,1511540000\n7,20,3,pv,1511540009\n5,20,3,buy,1511540001\n";
/// std::fs::write(folder.join("UserBehavior.csv"), actions).unwrap();
/// let graph = read_taobao(&folder, 1511539200..1512316800, &Device::flex()).unwrap();
/// let views = graph.adjacency(("user", "pv", "item")).values::<1>();
/// assert_eq!(views.into_data().iter::<f32>().collect::<Vec<_>>(), [2.0]);
/// # std::fs::remove_dir_all(folder).unwrap();
/// ```
///
/// # Errors
///
/// `invalid` for a file that cannot be read or a line that breaks its format; it names the file and the line.
/// `unsupported_dtype`.
pub fn read_taobao(
    folder: impl AsRef<Path>,
    times: Range<i64>,
    options: impl Into<TensorCreationOptions>,
) -> Result<HeteroGraph> {
    read_taobao_with(folder, times, options, &mut silent())
}

/// [`read_taobao`], which reports its progress.
///
/// # Errors
///
/// As [`read_taobao`].
pub fn read_taobao_with(
    folder: impl AsRef<Path>,
    times: Range<i64>,
    options: impl Into<TensorCreationOptions>,
    progress: &mut Progress<'_>,
) -> Result<HeteroGraph> {
    const OP: &str = "read_taobao";
    let (folder, options) = (folder.as_ref(), options.into());
    check_dtype(OP, &options)?;
    let path = folder.join("UserBehavior.csv");
    let mut files = Sources::new(OP, folder, [&path], progress)?;
    let (mut actions, allowed): (Vec<Action>, _) = (vec![], Allowed::now());
    files.lines(&path, b',', |_, fields| {
        let mut id = |what| Ok::<_, String>(fields.id(what, 0, LARGEST)? as u32);
        let (user, item, category) = (id("a user")?, id("an item")?, id("a category")?);
        let name = fields.name("a behaviour")?;
        let known = BEHAVIOURS.iter().position(|other| *other == name);
        let behaviour = known.ok_or_else(|| format!("a behaviour must be one of {BEHAVIOURS:?}, got {name:?}"))?;
        let time = fields.int()?;
        if times.contains(&time) {
            actions.push((behaviour as u8, item, user, category, time));
            allowed.check_elements(actions.len())?;
        }
        fields.end()
    })?;
    files.finish();
    actions.sort_unstable();
    actions.dedup();
    let numbers = |of: fn(&Action) -> u32| {
        let mut all: Vec<u32> = actions.iter().map(of).collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    let (items, users, categories) = (numbers(|own| own.1), numbers(|own| own.2), numbers(|own| own.3));
    let place = |all: &[u32], number: u32| all.binary_search(&number).expect("a number of the list");
    let mut graph = HeteroGraph::default();
    for (name, all) in [("user", &users), ("item", &items), ("category", &categories)] {
        graph = graph.try_with_nodes(name, TypedNodes::new(all.len()))?;
    }
    for own in actions.chunk_by(|a, b| a.0 == b.0) {
        let same: Vec<_> = own.chunk_by(|a, b| (a.1, a.2) == (b.1, b.2)).collect();
        let ends: Vec<_> = same.iter().map(|own| (place(&items, own[0].1), place(&users, own[0].2))).collect();
        let counts = TensorData::new(same.iter().map(|own| own.len() as f32).collect(), [same.len()]);
        let counts = Tensor::<1>::from_data(counts, options.clone());
        let kind = EdgeType::new("user", BEHAVIOURS[own[0].0 as usize], "item");
        let adjacency = with_ends(&ends, [items.len(), users.len()], options.clone()).with_values(counts);
        graph = graph.try_with_edges(kind, adjacency)?;
    }
    let mut ends: Vec<_> = actions.iter().map(|own| (place(&categories, own.3), place(&items, own.1))).collect();
    ends.sort_unstable();
    ends.dedup();
    let within = with_ends(&ends, [categories.len(), items.len()], options);
    graph.try_with_edges(("item", "in", "category"), within)
}

/// Behaviour, item, user, category and time.
type Action = (u8, u32, u32, u32, i64);

/// The behaviours, in the order of their numbers in PyG.
const BEHAVIOURS: [&str; 4] = ["pv", "cart", "buy", "fav"];

/// Ids are below it.
const LARGEST: usize = i32::MAX as usize;
