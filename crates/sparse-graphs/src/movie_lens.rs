//! Ratings of movies.

use super::graph::with_ends;
use super::hetero::{HeteroGraph, TypedNodes};
use super::sources::{Sources, check_dtype, unquoted};
use burn::tensor::{Tensor, TensorCreationOptions, TensorData};
use sparse_files::io::Progress;
use sparse_files::io::source::silent;
use sparse_ops::Result;
use sparse_ops::extend::Allowed;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;

/// Movies, users and their ratings. [`read_movie_lens`] reads them.
#[derive(Clone, Debug)]
pub struct MovieLens {
    /// Nodes `movie`, with a feature for each genre that is 0 or 1, and `user`, without features; edges
    /// `user-rates-movie`, whose values are the ratings.
    pub graph: HeteroGraph,
    /// The genres, in order.
    pub genres: Vec<String>,
    /// The titles of the movies.
    pub titles: Vec<String>,
    /// The number of each movie in the files.
    pub movies: Vec<i64>,
    /// The number of each user in the files.
    pub users: Vec<i64>,
    /// When each rating was given, in seconds since 1970, in the order of the stored edges.
    pub times: Vec<i64>,
}

/// Reads a data set of MovieLens, such as `ml-latest-small/`.
///
/// | file | content |
/// |---|---|
/// | `movies.csv` | after a line of titles, a movie a line: `movieId,title,genres`, with a bar between genres |
/// | `ratings.csv` | after a line of titles, a rating a line: `userId,movieId,rating,timestamp` |
///
/// Movies are in the order of their file, users in that of their first rating. As in PyG's `MovieLens`,
/// `(no genres listed)` is a genre too; the sentence embeddings that PyG puts before the genres are made from
/// [`titles`](MovieLens::titles) by a language model, which is not here. PyG rounds ratings down to whole numbers:
/// `values.floor()`. Takes `&device`, or `(&device, dtype)` for the dtype of features and ratings.
///
/// Source: Harper, Konstan, *The MovieLens datasets: history and context*, TiiS 2015;
/// [the files](https://grouplens.org/datasets/movielens/).
///
/// ```
/// use burn::tensor::Device;
/// use sparse_tensor::data::read_movie_lens;
///
/// let folder = std::env::temp_dir().join(format!("movies-{}", std::process::id()));
/// std::fs::create_dir_all(&folder).unwrap();
/// let movies = "movieId,title,genres\n5,Heat (1995),Action|Crime\n2,\"Net, The (1995)\",Crime\n";
/// std::fs::write(folder.join("movies.csv"), movies).unwrap();
/// std::fs::write(folder.join("ratings.csv"), "userId,movieId,rating,timestamp\n7,2,4.5,100\n").unwrap();
/// let set = read_movie_lens(&folder, &Device::flex()).unwrap();
/// assert_eq!(set.graph.adjacency(("user", "rates", "movie")).dims(), [2, 1]);
/// assert_eq!((set.titles[1].as_str(), set.genres.len()), ("Net, The (1995)", 2));
/// # std::fs::remove_dir_all(folder).unwrap();
/// ```
///
/// # Errors
///
/// `invalid` for a file that cannot be read or a line that breaks its format, a movie that is listed twice or not at
/// all, and a movie that a user rates twice; it names the file and the line. `would_densify` for more
/// genres of movies than [`dense_limit`](sparse_ops::dense_limit) allows. `unsupported_dtype`.
pub fn read_movie_lens(folder: impl AsRef<Path>, options: impl Into<TensorCreationOptions>) -> Result<MovieLens> {
    read_movie_lens_with(folder, options, &mut silent())
}

/// [`read_movie_lens`], which reports its progress over all files.
///
/// # Errors
///
/// As [`read_movie_lens`].
pub fn read_movie_lens_with(
    folder: impl AsRef<Path>,
    options: impl Into<TensorCreationOptions>,
    progress: &mut Progress<'_>,
) -> Result<MovieLens> {
    let (folder, options) = (folder.as_ref(), options.into());
    check_dtype(OP, &options)?;
    let [listed, rated] = ["movies.csv", "ratings.csv"].map(|name| folder.join(name));
    let mut files = Sources::new(OP, folder, [&listed, &rated], progress)?;
    let allowed = Allowed::now();
    let (mut ids, mut movies, mut titles, mut lists) = (HashMap::new(), vec![], vec![], vec![]);
    files.lines(&listed, b',', |number, fields| {
        if number == 1 {
            return Ok(());
        }
        let movie = fields.int()?;
        // A title may have commas, and genres have none.
        let (title, genres) = fields.text()?.rsplit_once(',').ok_or("genres must follow, got the end of the line")?;
        if ids.insert(movie, movies.len()).is_some() {
            return Err(format!("a movie must be listed once, got {movie} again"));
        }
        movies.push(movie);
        titles.push(unquoted(title));
        lists.push(genres.trim().split('|').map(String::from).collect::<BTreeSet<_>>());
        allowed.check_elements(movies.len())
    })?;
    let genres: Vec<String> = lists.iter().flatten().cloned().collect::<BTreeSet<_>>().into_iter().collect();
    let (mut numbers, mut users, mut ratings) = (HashMap::new(), vec![], vec![]);
    files.lines(&rated, b',', |number, fields| {
        if number == 1 {
            return Ok(());
        }
        let (user, movie) = (fields.int()?, fields.int()?);
        let next = users.len();
        let user_id = *numbers.entry(user).or_insert(next);
        if user_id == next {
            users.push(user);
        }
        let movie = *ids.get(&movie).ok_or_else(|| format!("a movie must be one of movies.csv, got {movie}"))?;
        ratings.push((movie, user_id, number, fields.float()?, fields.int()?));
        allowed.check_elements(ratings.len())?;
        fields.end()
    })?;
    ratings.sort_unstable_by_key(|&(movie, user, number, ..)| (movie, user, number));
    if let Some(twice) = ratings.windows(2).find(|pair| (pair[0].0, pair[0].1) == (pair[1].0, pair[1].1)) {
        let (movie, user, number) = (movies[twice[1].0], users[twice[1].1], twice[1].2);
        let message = format!("line {number}: a user must rate a movie once, got user {user} and movie {movie} again");
        return Err(files.at(&rated, message));
    }
    files.finish();

    let place = |genre| genres.binary_search(genre).expect("a genre of the list");
    let listed = lists.iter().enumerate().flat_map(|(movie, own)| own.iter().map(move |genre| (movie, place(genre))));
    let features = with_ends(&listed.collect::<Vec<_>>(), [movies.len(), genres.len()], options.clone());
    let ends: Vec<_> = ratings.iter().map(|&(movie, user, ..)| (movie, user)).collect();
    let values: Vec<f32> = ratings.iter().map(|&(.., rating, _)| rating).collect();
    let values = Tensor::<1>::from_data(TensorData::new(values, [ends.len()]), options.clone());
    let rates = with_ends(&ends, [movies.len(), users.len()], options).with_values(values);
    let graph = HeteroGraph::default()
        .try_with_nodes("movie", TypedNodes::of(features.try_to_dense()?))?
        .try_with_nodes("user", TypedNodes::new(users.len()))?
        .try_with_edges(("user", "rates", "movie"), rates)?;
    let times = ratings.iter().map(|&(.., time)| time).collect();
    Ok(MovieLens { graph, genres, titles, movies, users, times })
}

const OP: &str = "read_movie_lens";
