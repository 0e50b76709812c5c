//! The data of a chart: axes with units, series, marks. `svg` draws it; `page.js` and tests read it
//! as JSON.

use model::Direction;
use serde::Serialize;

/// A chart.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Chart {
    /// Unique in its page; letters, digits and `-`.
    pub id: String,
    /// Heading above the chart.
    pub title: String,
    /// The caption: how to read the chart, in a sentence or two.
    pub about: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// A second vertical axis, at the right.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub right: Option<Axis>,
    /// The series, in drawing order.
    pub series: Vec<Series>,
    /// Labelled lines and bands.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
    /// A heat map instead of series.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heat: Option<Heat>,
}

/// An axis.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Axis {
    /// The quantity along the axis.
    pub title: String,
    /// The unit to write after values; empty for plain numbers.
    pub unit: String,
    /// How values map to positions.
    pub scale: Scale,
    /// Ticks with custom labels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ticks: Vec<Tick>,
    /// The axis includes 0.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub from_zero: bool,
}

/// How values map to positions on an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Linear.
    #[default]
    Linear,
    /// Logarithmic.
    Log,
    /// Names with equal spacing.
    Names,
}

/// A tick with a custom label.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tick {
    /// Its value on the axis.
    pub at: f64,
    /// Text at the tick.
    pub words: String,
}

/// A series.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// How it is drawn.
    pub form: Form,
    /// Horizontal values: numbers, or names on an axis of names.
    pub x: Vec<X>,
    /// Vertical values; `None` is a gap.
    pub y: Vec<Option<f64>>,
    /// Lower ends of the confidence intervals of `y`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub low: Vec<Option<f64>>,
    /// Upper ends.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub high: Vec<Option<f64>>,
    /// Limits of the values, drawn across their bars.
    #[serde(skip)]
    pub limits: Vec<Option<f64>>,
    /// Tooltip texts of the values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<String>,
    /// It uses the axis on the right.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub right: bool,
    /// Its figures are weakly supported: it is drawn grey and dashed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub weak: bool,
    /// Its colour, by meaning.
    pub tone: Tone,
    /// The style of each row of [`Form::Rows`]; without one, all rows look alike.
    #[serde(skip)]
    pub row_styles: Vec<PointStyle>,
}

/// The style of the point of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointStyle {
    /// The colour of the series with this number in the other charts of the page.
    Series(usize),
    /// A disc: the requirement is met.
    Met,
    /// A cross: the requirement is missed.
    Missed,
    /// A hollow square: the evidence does not decide.
    Undecided,
}

/// A horizontal value.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum X {
    /// A number.
    Number(f64),
    /// A name.
    Name(String),
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// A line through its points.
    #[default]
    Line,
    /// A line that stays level until the next point.
    Steps,
    /// A line and its points.
    Points,
    /// Points without a line.
    Dots,
    /// Bars side by side.
    Bars,
    /// Stacked bars.
    Stack,
    /// A row for each name, with a point, an interval and a text. Such a chart has a single series.
    Rows,
    /// A thin reference line behind the others.
    Guide,
}

/// The meaning of a colour. Every series also has a name, so colour is never the only distinction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Tone {
    /// The next unused colour.
    #[default]
    Next,
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Trims.
    Trim,
    /// All directions together.
    Total,
    /// A limit.
    Limit,
    /// A figure for comparison.
    Other,
}

/// The colour of a direction.
pub fn direction_tone(direction: Direction) -> Tone {
    match direction {
        Direction::Read => Tone::Read,
        Direction::Write => Tone::Write,
        Direction::Trim => Tone::Trim,
    }
}

/// A labelled line or band across the chart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mark {
    /// The axis of `at`.
    pub across: MarkAxis,
    /// Position, or start of a band.
    pub at: f64,
    /// End of a band.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<f64>,
    /// Text at the line or band.
    pub words: String,
    /// Colour of the line or band.
    pub tone: Tone,
}

impl Mark {
    /// Creates a line.
    pub fn line(across: MarkAxis, at: f64, words: impl Into<String>, tone: Tone) -> Mark {
        Mark {
            across,
            at,
            to: None,
            words: words.into(),
            tone,
        }
    }

    /// Creates a band between two positions.
    pub fn band(across: MarkAxis, at: f64, to: f64, words: impl Into<String>, tone: Tone) -> Mark {
        Mark {
            to: Some(to),
            ..Mark::line(across, at, words, tone)
        }
    }
}

/// The axis of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MarkAxis {
    /// A vertical line.
    X,
    /// A horizontal line.
    Y,
}

/// A heat map: a value for each cell of a grid.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Heat {
    /// Columns.
    pub x: Vec<X>,
    /// Rows, from the bottom.
    pub y: Vec<X>,
    /// Values, row by row; `None` is a gap.
    pub z: Vec<Vec<Option<f64>>>,
    /// The quantity of the values.
    pub title: String,
    /// Colours are on a logarithmic scale.
    pub log: bool,
}

impl Axis {
    /// Creates a linear axis.
    pub fn linear(title: &str, unit: &str) -> Axis {
        Axis {
            title: title.into(),
            unit: unit.into(),
            ..Axis::default()
        }
    }

    /// Creates a linear axis that includes 0.
    pub fn from_zero(title: &str, unit: &str) -> Axis {
        Axis {
            from_zero: true,
            ..Axis::linear(title, unit)
        }
    }

    /// Creates a logarithmic axis.
    pub fn log(title: &str, unit: &str) -> Axis {
        Axis {
            scale: Scale::Log,
            ..Axis::linear(title, unit)
        }
    }

    /// Creates an axis of names.
    pub fn names(title: &str) -> Axis {
        Axis {
            scale: Scale::Names,
            ..Axis::linear(title, "")
        }
    }

    /// The title with its unit.
    pub fn title_with_unit(&self) -> String {
        match self.unit.as_str() {
            "" => self.title.clone(),
            unit if unit == self.title => self.title.clone(),
            unit => format!("{} ({unit})", self.title),
        }
    }
}

impl Series {
    /// Creates a series over numbers.
    pub fn new(name: impl Into<String>, form: Form, points: impl IntoIterator<Item = (f64, f64)>) -> Series {
        let (x, y) = points
            .into_iter()
            .map(|(x, y)| (X::Number(x), finite_or_none(y)))
            .unzip();
        Series {
            name: name.into(),
            form,
            x,
            y,
            ..Series::default()
        }
    }

    /// Creates a series over names.
    pub fn over_names(
        name: impl Into<String>,
        form: Form,
        points: impl IntoIterator<Item = (String, Option<f64>)>,
    ) -> Series {
        let (x, y) = points
            .into_iter()
            .map(|(x, y)| (X::Name(x), y.and_then(finite_or_none)))
            .unzip();
        Series {
            name: name.into(),
            form,
            x,
            y,
            ..Series::default()
        }
    }

    /// Sets the colour.
    pub fn tone(self, tone: Tone) -> Series {
        Series { tone, ..self }
    }

    /// Moves the series to the axis on the right.
    pub fn at_right(self) -> Series {
        Series { right: true, ..self }
    }
}

/// Returns the number if JSON can represent it.
fn finite_or_none(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

impl Chart {
    /// True if there is nothing to draw.
    pub fn is_empty(&self) -> bool {
        let drawn = |series: &Series| series.form != Form::Guide && series.y.iter().any(Option::is_some);
        self.heat.is_none() && !self.series.iter().any(drawn)
    }
}

/// Nanoseconds per unit, for units that [`time_unit`] returns.
pub(super) fn unit_ns(unit: &str) -> f64 {
    match unit {
        "us" => 1e3,
        "ms" => 1e6,
        _ => 1e9,
    }
}

/// A readable unit for times of about this length, and its length in nanoseconds.
pub fn time_unit(about_ns: f64) -> (&'static str, f64) {
    match about_ns {
        ns if ns < 100_000.0 => ("us", 1e3),
        ns if ns < 100_000_000_000.0 => ("ms", 1e6),
        _ => ("s", 1e9),
    }
}
