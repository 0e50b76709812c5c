//! Finds the counterpart of a stream if threads are spread differently. Plans can have thousands of
//! streams, so an index replaces the comparison of each stream with all others.

use std::collections::HashMap;

use model::Direction;
use model::plan::Stream;

use super::{StreamContext, words};

/// The properties that make streams similar.
const PROPERTIES: usize = 4;

/// A path, the properties that must agree (a bit each), and their values, 0 for the others.
type Key = (usize, usize, [usize; PROPERTIES]);

/// The streams of a converted step, by path and properties.
pub(super) struct SimilarStreams<'c, 'a> {
    contexts: &'c [StreamContext<'a>],
    interner: TextInterner,
    /// For each direction: the last stream of each key.
    indexes: HashMap<Direction, HashMap<Key, usize>>,
}

/// A number for each text. Equal texts have equal numbers.
#[derive(Default)]
struct TextInterner(HashMap<String, usize>);

impl TextInterner {
    fn intern(&mut self, text: String) -> usize {
        let next = self.0.len() + 1;
        *self.0.entry(text).or_insert(next)
    }

    /// The properties of a stream.
    fn properties(&mut self, stream: &Stream, direction: Direction) -> [usize; PROPERTIES] {
        let texts = [
            words::describe_access(stream, direction),
            words::format_sizes(&stream.pattern.sizes[direction]),
            words::mix(&stream.mix),
            format!("{:?}", stream.region),
        ];
        // Equal texts of different properties need not differ: a key has one place for each.
        texts.map(|text| self.intern(text))
    }
}

impl<'c, 'a> SimilarStreams<'c, 'a> {
    pub(super) fn new(contexts: &'c [StreamContext<'a>]) -> SimilarStreams<'c, 'a> {
        SimilarStreams {
            contexts,
            interner: TextInterner::default(),
            indexes: HashMap::new(),
        }
    }

    /// The stream on the same target that shares most properties with this one; the last of equals.
    /// If no stream is on that target, the first one.
    pub(super) fn find(&mut self, context: &StreamContext<'_>) -> Option<&'c StreamContext<'a>> {
        let direction = context.stream.mix.directions().next().unwrap_or(Direction::Read);
        let (contexts, interner) = (self.contexts, &mut self.interner);
        let index = self
            .indexes
            .entry(direction)
            .or_insert_with(|| index_streams(contexts, interner, direction));
        let properties = interner.properties(context.stream, direction);
        let paths: Vec<usize> = context
            .paths()
            .into_iter()
            .map(|path| interner.intern(path.to_owned()))
            .collect();
        let mut masks: Vec<usize> = (0..1 << PROPERTIES).collect();
        masks.sort_by_key(|mask| std::cmp::Reverse(mask.count_ones()));
        let by_count = masks.chunk_by(|a, b| a.count_ones() == b.count_ones());
        let mut matches = by_count.filter_map(|masks| {
            let keys = masks
                .iter()
                .flat_map(|mask| paths.iter().map(move |path| pack_key(*path, *mask, properties)));
            keys.filter_map(|key| index.get(&key)).max()
        });
        match matches.next() {
            Some(at) => contexts.get(*at),
            None => contexts.first(),
        }
    }
}

fn index_streams(
    contexts: &[StreamContext<'_>],
    interner: &mut TextInterner,
    direction: Direction,
) -> HashMap<Key, usize> {
    let mut index = HashMap::new();
    for (at, context) in contexts.iter().enumerate() {
        let properties = interner.properties(context.stream, direction);
        for path in context.paths() {
            let path = interner.intern(path.to_owned());
            index.extend((0..1 << PROPERTIES).map(|mask| (pack_key(path, mask, properties), at)));
        }
    }
    index
}

fn pack_key(path: usize, mask: usize, properties: [usize; PROPERTIES]) -> Key {
    let mut chosen = properties;
    for (place, property) in chosen.iter_mut().enumerate() {
        if mask & 1 << place == 0 {
            *property = 0;
        }
    }
    (path, mask, chosen)
}
