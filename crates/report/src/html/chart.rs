//! What a chart shows, in the terms of its reader: axes with units, series, marks. `svg` draws it;
//! `page.js`, tests and screen readers read the same figures.

use serde::Serialize;

/// A chart.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Chart {
    /// Unique in its page; letters, digits and `-`.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// How to read it, in a sentence or two.
    pub about: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// A second vertical axis, at the right.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub right: Option<Axis>,
    /// What is drawn, in this order.
    pub series: Vec<Series>,
    /// Lines and bands with a word beside them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
    /// A heat map in place of series.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heat: Option<Heat>,
}

/// An axis.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Axis {
    /// What is counted along it.
    pub title: String,
    /// The unit, as it is written behind figures; empty for plain numbers.
    pub unit: String,
    /// How values are spread over it.
    pub scale: Scale,
    /// Ticks with words of their own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ticks: Vec<Tick>,
    /// It begins at zero.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub from_zero: bool,
}

/// How values are spread over an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Evenly.
    #[default]
    Linear,
    /// By their logarithm.
    Log,
    /// Names, one beside the other.
    Names,
}

/// A tick with words of its own.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tick {
    /// Where.
    pub at: f64,
    /// What it says.
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
    /// Vertical values; a gap where there is none.
    pub y: Vec<Option<f64>>,
    /// Lower ends of the intervals of `y`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub low: Vec<Option<f64>>,
    /// Upper ends.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub high: Vec<Option<f64>>,
    /// What is said of each value beside itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<String>,
    /// It belongs to the axis at the right.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub right: bool,
    /// Its figures are not well supported: it is drawn grey and broken.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub weak: bool,
    /// Its colour by meaning.
    pub tone: Tone,
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
    /// A line that keeps its height until the next point.
    Steps,
    /// A line with its points.
    Points,
    /// Points alone.
    Dots,
    /// Bars beside each other.
    Bars,
    /// Bars on top of each other.
    Stack,
    /// A row for each name with its point, its interval and its words; such a chart has one series.
    Rows,
    /// A thin line behind the others, for the eye.
    Guide,
}

/// What a colour stands for. Every series has a name as well: no meaning hangs on colour alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Tone {
    /// The next colour of the page.
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
    /// Something to keep below, or within.
    Limit,
    /// What others say.
    Other,
}

/// A line across the chart with a word beside it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mark {
    /// The axis on which `at` lies.
    pub across: Across,
    /// Where.
    pub at: f64,
    /// To where, if it is a band.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<f64>,
    /// What it says.
    pub words: String,
    /// Its colour.
    pub tone: Tone,
}

/// The axis of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Across {
    /// A vertical line.
    X,
    /// A horizontal line.
    Y,
}

/// A heat map: a value for each field of a grid.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Heat {
    /// Columns.
    pub x: Vec<X>,
    /// Rows, from the bottom.
    pub y: Vec<X>,
    /// Values, row by row; a gap where there is none.
    pub z: Vec<Vec<Option<f64>>>,
    /// What a value is.
    pub title: String,
    /// The colours follow the logarithm.
    pub log: bool,
}

impl Axis {
    /// An axis with even spacing.
    pub fn linear(title: &str, unit: &str) -> Axis {
        Axis {
            title: title.into(),
            unit: unit.into(),
            ..Axis::default()
        }
    }

    /// An axis with even spacing that begins at zero.
    pub fn from_zero(title: &str, unit: &str) -> Axis {
        Axis {
            from_zero: true,
            ..Axis::linear(title, unit)
        }
    }

    /// An axis that is spread by logarithms.
    pub fn log(title: &str, unit: &str) -> Axis {
        Axis {
            scale: Scale::Log,
            ..Axis::linear(title, unit)
        }
    }

    /// An axis of names.
    pub fn names(title: &str) -> Axis {
        Axis {
            scale: Scale::Names,
            ..Axis::linear(title, "")
        }
    }

    /// The title with its unit.
    pub fn words(&self) -> String {
        match self.unit.as_str() {
            "" => self.title.clone(),
            unit if unit == self.title => self.title.clone(),
            unit => format!("{} ({unit})", self.title),
        }
    }
}

impl Series {
    /// A series of numbers over numbers.
    pub fn new(name: impl Into<String>, form: Form, points: impl IntoIterator<Item = (f64, f64)>) -> Series {
        let (x, y) = points.into_iter().map(|(x, y)| (X::Number(x), finite(y))).unzip();
        Series {
            name: name.into(),
            form,
            x,
            y,
            ..Series::default()
        }
    }

    /// A series of numbers over names.
    pub fn over_names(
        name: impl Into<String>,
        form: Form,
        points: impl IntoIterator<Item = (String, Option<f64>)>,
    ) -> Series {
        let (x, y) = points
            .into_iter()
            .map(|(x, y)| (X::Name(x), y.and_then(finite)))
            .unzip();
        Series {
            name: name.into(),
            form,
            x,
            y,
            ..Series::default()
        }
    }

    /// The same in a colour with a meaning.
    pub fn tone(self, tone: Tone) -> Series {
        Series { tone, ..self }
    }

    /// The same on the axis at the right.
    pub fn at_right(self) -> Series {
        Series { right: true, ..self }
    }
}

/// A number that JSON can hold.
fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

impl Chart {
    /// There is nothing to draw.
    pub fn is_empty(&self) -> bool {
        let drawn = |series: &Series| series.form != Form::Guide && series.y.iter().any(Option::is_some);
        self.heat.is_none() && !self.series.iter().any(drawn)
    }
}

/// Nanoseconds in a unit of [`time_unit`].
pub(super) fn unit_ns(unit: &str) -> f64 {
    match unit {
        "us" => 1e3,
        "ms" => 1e6,
        _ => 1e9,
    }
}

/// A unit in which times of about this length read well, and the nanoseconds in it.
pub fn time_unit(about_ns: f64) -> (&'static str, f64) {
    match about_ns {
        ns if ns < 100_000.0 => ("us", 1e3),
        ns if ns < 100_000_000_000.0 => ("ms", 1e6),
        _ => ("s", 1e9),
    }
}
