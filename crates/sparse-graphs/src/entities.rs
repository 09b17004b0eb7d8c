//! Entities of a knowledge graph with classes.

use super::graph::{Splits, with_ends};
use super::labels::Labels;
use super::sources::{Owners, Sources, unquoted};
use super::triples::Names;
use burn::tensor::Device;
use sparse_files::io::Progress;
use sparse_files::io::source::{shown, silent};
use sparse_ops::extend::Allowed;
use sparse_ops::{CsrTensor, Result, SparseError};
use std::collections::BTreeSet;
use std::path::Path;

/// Which entities of a graph have classes: the names in its folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntityTask {
    /// The graph is in `{name}_stripped.nt.gz`.
    pub name: &'static str,
    /// The column of the entities in `trainingSet.tsv` and `testSet.tsv`.
    pub entity: &'static str,
    /// The column of their classes.
    pub class: &'static str,
}

impl EntityTask {
    /// The affiliations of persons.
    pub const AIFB: Self = Self { name: "aifb", entity: "person", class: "label_affiliation" };
    /// Which molecules cause cancer.
    pub const MUTAG: Self = Self { name: "mutag", entity: "bond", class: "label_mutagenic" };
    /// How rocks were formed.
    pub const BGS: Self = Self { name: "bgs", entity: "rock", class: "label_lithogenesis" };
    /// The categories of museum objects. The title of the column is misspelled in the files.
    pub const AM: Self = Self { name: "am", entity: "proxy", class: "label_cateogory" };
}

/// A knowledge graph some of whose entities have classes. [`read_entities`] reads one.
#[derive(Clone, Debug)]
pub struct EntityGraph {
    /// The names of the entities, by id.
    pub entities: Vec<String>,
    /// The names of the relations, the most frequent first; names of one frequency are in order.
    pub relations: Vec<String>,
    /// `[entities, entities]`, with rows as targets: number `2 r` has the edges of relation `r` from subject to object,
    /// and number `2 r + 1` the same from object to subject. All values are 1.
    pub adjacencies: Vec<CsrTensor<2>>,
    /// The names of the classes, in order.
    pub classes: Vec<String>,
    /// The class of every entity; those that have none are -1.
    pub labels: Labels,
    /// The entities for training and testing. There is no validation set in the files.
    pub splits: Splits,
}

/// Reads the graph of entities with classes: AIFB, MUTAG, BGS or AM, as they are downloaded.
///
/// | file | content |
/// |---|---|
/// | `{name}_stripped.nt.gz` | N-Triples: `subject predicate object .`, a triple a line; `.nt` if it is unpacked |
/// | `trainingSet.tsv`, `testSet.tsv` | after a line of titles, an entity a line, with its class in another column |
///
/// Each subject and object is an entity: an IRI, a literal with its type or language, or a blank node. A triple that is
/// listed twice is one edge. Ids count from 0 in the order of first appearance, the subject before its object. As in
/// PyG's `Entities`, relations are numbered by falling frequency and have numbers `2 r` and `2 r + 1`; where PyG's
/// order is that of a hash (relations of one frequency, entities, classes), here it is fixed. Compressed files need
/// the feature `gz`.
///
/// Source: Ristoski, de Vries, Paulheim, *A collection of benchmark datasets for systematic evaluations of machine
/// learning on the semantic web*, ISWC 2016; [the files](https://data.dgl.ai/dataset/aifb.tgz), of Schlichtkrull et al.
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::data::{EntityTask, read_entities};
///
/// let folder = std::env::temp_dir().join(format!("entities-{}", std::process::id()));
/// std::fs::create_dir_all(&folder).unwrap();
/// let graph = "<a> <knows> <b> .\n<b> <knows> <a> .\n<a> <name> \"Ann\"@en .\n";
/// std::fs::write(folder.join("aifb_stripped.nt"), graph).unwrap();
/// std::fs::write(folder.join("trainingSet.tsv"), "person\tid\tlabel_affiliation\na\t1\tx\n").unwrap();
/// std::fs::write(folder.join("testSet.tsv"), "person\tid\tlabel_affiliation\nb\t2\ty\n").unwrap();
/// let graph = read_entities(&folder, EntityTask::AIFB, &Device::flex()).unwrap();
/// assert_eq!((graph.entities.len(), graph.relations), (3, vec!["knows".into(), "name".to_string()]));
/// assert_eq!((graph.adjacencies.len(), graph.labels.to_vec()), (4, vec![0, 1, -1]));
/// # std::fs::remove_dir_all(folder).unwrap();
/// ```
///
/// # Errors
///
/// `invalid` for a file that cannot be read, a line that is no triple or has no such column, an entity that is not in
/// the graph or is listed twice; it names the file and the line.
pub fn read_entities(folder: impl AsRef<Path>, task: EntityTask, device: &Device) -> Result<EntityGraph> {
    read_entities_with(folder, task, device, &mut silent())
}

/// [`read_entities`], which reports its progress over all files.
///
/// # Errors
///
/// As [`read_entities`].
pub fn read_entities_with(
    folder: impl AsRef<Path>,
    task: EntityTask,
    device: &Device,
    progress: &mut Progress<'_>,
) -> Result<EntityGraph> {
    let folder = folder.as_ref();
    let plain = folder.join(format!("{}_stripped.nt", task.name));
    let graph = if plain.exists() { plain } else { folder.join(format!("{}_stripped.nt.gz", task.name)) };
    let [train, test] = ["trainingSet.tsv", "testSet.tsv"].map(|name| folder.join(name));
    let mut files = Sources::new(OP, folder, [&graph, &train, &test], progress)?;
    let (mut entities, mut names, allowed) = (Names::default(), Names::default(), Allowed::now());
    // Number of the relation, object and subject.
    let mut facts: Vec<[usize; 3]> = vec![];
    files.lines(&graph, b' ', |_, fields| {
        let mut rest = fields.text()?.trim_start();
        if rest.starts_with('#') {
            return Ok(());
        }
        let mut next = |what| term(&mut rest, what);
        let (subject, predicate, object) = (next("a subject")?, next("a predicate")?, next("an object")?);
        let end = rest.trim();
        if end != "." && !end.strip_prefix('.').is_some_and(|comment| comment.trim_start().starts_with('#')) {
            return Err(format!("a triple must end with a point, got {:?}", shown(end.as_bytes())));
        }
        let subject = entities.id(subject) as usize;
        facts.push([names.id(predicate) as usize, entities.id(object) as usize, subject]);
        allowed.check_elements(facts.len())
    })?;
    facts.sort_unstable();
    facts.dedup();
    let mut table = |path: &Path| {
        let (mut columns, mut rows): (Option<[usize; 2]>, _) = (None, vec![]);
        files.lines(path, b'\t', |line, fields| {
            let mut own = vec![];
            while fields.has_more() {
                own.push(unquoted(fields.any("a column")?));
            }
            let Some([entity, class]) = columns else {
                let place = |title| own.iter().position(|other| other == title);
                let found =
                    |title| place(title).ok_or_else(|| format!("there must be a column {title:?}, got {own:?}"));
                columns = Some([found(task.entity)?, found(task.class)?]);
                return Ok(());
            };
            let [Some(entity), Some(class)] = [own.get(entity), own.get(class)] else {
                return Err(format!("{} and {} must follow, got {own:?}", task.entity, task.class));
            };
            let Some(id) = entities.find(entity) else {
                return Err(format!("an entity must be one of the graph, got {:?}", shown(entity.as_bytes())));
            };
            rows.push((line, id as usize, class.clone()));
            Ok(())
        })?;
        Ok::<_, SparseError>(rows)
    };
    let (trained, tested) = (table(&train)?, table(&test)?);
    let count = entities.names.len();
    let all = || trained.iter().chain(&tested).map(|(_, _, class)| class);
    let classes: Vec<String> = all().cloned().collect::<BTreeSet<_>>().into_iter().collect();
    let (mut labels, mut owners) = (vec![Labels::MISSING; count], Owners::new(count));
    let mut split = |path: &Path, rows: &[(usize, usize, String)]| {
        for (line, id, class) in rows {
            owners.take(*id).map_err(|message| files.at(path, format!("line {line}: {message}")))?;
            labels[*id] = classes.binary_search(class).expect("a class of the list") as i64;
        }
        Ok::<_, SparseError>(rows.iter().map(|(_, id, _)| *id).collect())
    };
    let splits = Splits { train: split(&train, &trained)?, val: vec![], test: split(&test, &tested)? };
    files.finish();

    let mut relations: Vec<(&[[usize; 3]], &String)> =
        facts.chunk_by(|a, b| a[0] == b[0]).map(|own| (own, &names.names[own[0][0]])).collect();
    relations.sort_by_key(|&(own, name)| (std::cmp::Reverse(own.len()), name));
    let matrix = |mut ends: Vec<(usize, usize)>| {
        ends.sort_unstable();
        with_ends(&ends, [count, count], device)
    };
    let adjacencies = relations.iter().flat_map(|(own, _)| {
        let there = own.iter().map(|&[_, object, subject]| (object, subject)).collect();
        let back = own.iter().map(|&[_, object, subject]| (subject, object)).collect();
        [matrix(there), matrix(back)]
    });
    Ok(EntityGraph {
        adjacencies: adjacencies.collect(),
        relations: relations.iter().map(|(_, name)| (*name).clone()).collect(),
        labels: Labels::from_list(&labels, classes.len(), device)?,
        entities: entities.names,
        classes,
        splits,
    })
}

const OP: &str = "read_entities";

/// The next term of a line of N-Triples: an IRI without its brackets, or a blank node or literal as it is written.
fn term<'t>(rest: &mut &'t str, what: &str) -> Result<&'t str, String> {
    let text = rest.trim_start();
    let trouble = || format!("{what} must follow, got {:?}", shown(text.as_bytes()));
    let word = |text: &str| text.find([' ', '\t']).unwrap_or(text.len());
    let (term, end) = match text.as_bytes().first() {
        Some(b'<') => {
            let end = text.find('>').ok_or_else(trouble)?;
            (&text[1..end], end + 1)
        }
        Some(b'_') => (&text[..word(text)], word(text)),
        Some(b'"') if what == "an object" => {
            let mut escaped = false;
            let closes = |&(_, byte): &(usize, u8)| {
                let closes = byte == b'"' && !escaped;
                escaped = byte == b'\\' && !escaped;
                closes
            };
            let end = text.bytes().enumerate().skip(1).find(closes).ok_or_else(trouble)?.0 + 1;
            // A type or a language follows without a space.
            let end = if text[end..].starts_with("^^<") {
                end + text[end..].find('>').ok_or_else(trouble)? + 1
            } else if text[end..].starts_with('@') {
                end + word(&text[end..])
            } else {
                end
            };
            (&text[..end], end)
        }
        _ => return Err(trouble()),
    };
    *rest = &text[end..];
    Ok(term)
}
