use super::*;
use crate::html::chart::{Heat, Tick};
use model::testing::assert_contains;
use testbed::With;

fn chart(series: Vec<Series>) -> Chart {
    Chart {
        id: "x".into(),
        title: "A < B".into(),
        x: Axis::linear("time", "s"),
        y: Axis::from_zero("rate", "IOPS"),
        series,
        ..Chart::default()
    }
}

/// The path data of a class in a series, and the plot area.
fn data(drawn: &str, series: usize, class: &str) -> (String, [f64; 4]) {
    let group = drawn
        .split(&format!("data-series=\"{series}\""))
        .nth(1)
        .expect("the series is drawn");
    let path = group
        .split(&format!("class=\"{class}\" d=\""))
        .nth(1)
        .expect("the path exists");
    let area = drawn.split("data-area=\"").nth(1).unwrap().split('"').next().unwrap();
    let area: Vec<f64> = area.split(' ').map(|number| number.parse().unwrap()).collect();
    (path.split('"').next().unwrap().to_owned(), area.try_into().unwrap())
}

#[test]
fn points_are_drawn_at_their_values() {
    let drawn = draw(&chart(vec![Series::new(
        "a",
        Form::Line,
        [(0.0, 0.0), (5.0, 50.0), (10.0, 100.0)],
    )]));
    let (line, [_, _, width, height]) = data(&drawn, 0, "line");
    // 5 % of margin above the highest value.
    let up = |value: f64| height - height * value / 105.0;
    let expected = [(0.0, up(0.0)), (width / 2.0, up(50.0)), (width, up(100.0))];
    let found: Vec<(f64, f64)> = line
        .split(['M', 'L'])
        .skip(1)
        .map(|point| point.split_once(' ').unwrap())
        .map(|(x, y)| (x.parse().unwrap(), y.parse().unwrap()))
        .collect();
    for ((x, y), (to_x, to_y)) in found.iter().zip(expected) {
        assert!(
            (x - to_x).abs() < 0.11 && (y - to_y).abs() < 0.11,
            "{line}: {expected:?}"
        );
    }
    assert_eq!(found.len(), 3);
    assert!(drawn.contains("aria-label=\"A &lt; B\""));
}

#[test]
fn gaps_are_not_drawn_and_the_last_step_has_full_length() {
    let mut gap = Series::new("a", Form::Line, [(0.0, 1.0), (1.0, 2.0), (2.0, 3.0)]);
    gap.y[1] = None;
    let steps = Series::new("b", Form::Steps, [(0.0, 1.0), (1.0, 2.0), (2.0, 3.0)]);
    let drawn = draw(&chart(vec![gap, steps]));
    assert_eq!(data(&drawn, 0, "line").0.matches('M').count(), 2);
    let (line, [_, _, width, _]) = data(&drawn, 1, "line");
    let last = line.rsplit('H').next().unwrap().split('V').next().unwrap();
    assert!((last.parse::<f64>().unwrap() - width).abs() < 0.11, "{line}");
}

#[test]
fn a_long_series_keeps_its_extremes() {
    let value = |at: u32| if at == 50_321 { 9000.0 } else { f64::from(at % 7) };
    let series = Series::new("a", Form::Line, (0..100_000).map(|at| (f64::from(at), value(at))));
    let drawn = draw(&chart(vec![series]));
    assert!(drawn.len() < 40_000, "{} bytes", drawn.len());
    let (line, [_, _, _, height]) = data(&drawn, 0, "line");
    let highest = line
        .split(['M', 'L'])
        .filter_map(|point| point.split_once(' ')?.1.parse::<f64>().ok())
        .fold(f64::INFINITY, f64::min);
    assert!(
        (highest - height * (1.0 - 1.0 / 1.05)).abs() < 0.2,
        "{highest} of {height}"
    );
}

#[test]
fn bars_are_stacked_or_side_by_side() {
    let bars = |form: Form, value: f64| Series::over_names("a", form, [("cpu 0".to_owned(), Some(value))]);
    let with_names = |series: Vec<Series>| chart(series).with(|chart| chart.x = Axis::names("processor"));
    let drawn = draw(&with_names(vec![bars(Form::Stack, 30.0), bars(Form::Stack, 50.0)]));
    let feet = |series: usize| {
        let path = data(&drawn, series, "bars").0;
        let (foot, top) = path.split_once('V').unwrap();
        let number = |text: &str| {
            text.split(['M', ' ', 'h'])
                .find_map(|part| part.parse::<f64>().ok())
                .unwrap()
        };
        (number(foot.split(' ').nth(1).unwrap()), number(top))
    };
    assert_eq!(
        feet(0).1.to_string(),
        feet(1).0.to_string(),
        "the second starts at the top of the first"
    );
    let side_by_side = draw(&with_names(vec![bars(Form::Bars, 30.0), bars(Form::Bars, 50.0)]));
    let left_edge = |series: usize| {
        data(&side_by_side, series, "bars").0.split(' ').next().unwrap()[1..]
            .parse::<f64>()
            .unwrap()
    };
    assert!(left_edge(0) < left_edge(1));
}

#[test]
fn charts_of_odd_values_are_drawn() {
    let strange = [
        Series::new("a", Form::Points, [(1.0, f64::NAN)]),
        Series::new("b", Form::Steps, []),
        Series::new("c", Form::Dots, [(0.0, -5.0), (0.0, f64::INFINITY)]),
    ];
    let empty = Heat::default();
    for scale in [Axis::linear("x", ""), Axis::log("x", "")] {
        let odd = chart(strange.to_vec())
            .with(|chart| (chart.x, chart.y, chart.right) = (scale.clone(), scale, Some(Axis::from_zero("r", ""))));
        let with_heat = odd.clone().with(|chart| chart.heat = Some(empty.clone()));
        for chart in [odd, with_heat] {
            let drawn = draw(&chart);
            assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
        }
    }
}

#[test]
fn rows_draw_intervals_and_keep_the_end_of_a_long_name() {
    let long = format!("/{}/after.fathom", "folder".repeat(20));
    let mut series = Series::over_names("IOPS", Form::Rows, [("a<b".into(), Some(100.0)), (long, Some(200.0))]);
    series.low = vec![Some(90.0), None];
    series.high = vec![Some(110.0), None];
    series.words = vec!["100 (90 to 110)".into(), "200".into()];
    let drawn = draw(&chart(vec![series]).with(|chart| chart.y = Axis::linear("IOPS", "IOPS")));
    // 90 to 200 with a margin of 5 % at both ends, over 528 units from 16 on.
    let across = |value: f64| format!("{:.1}", 16.0 + 528.0 * (value - 84.5) / 121.0);
    assert_contains(&drawn, &format!("M{} 50H{}", across(90.0), across(110.0)));
    assert!(drawn.contains(&format!("M{} 50h0", across(100.0))), "{drawn}");
    assert!(drawn.contains(&format!("M{} 90h0", across(200.0))), "{drawn}");
    assert_eq!(
        drawn.matches("class=\"line\"").count(),
        1,
        "no interval where there is none"
    );
    assert!(drawn.contains("a&lt;b") && drawn.contains("/after.fathom</text>") && drawn.contains('…'));
}

/// Left end, right end and baseline of each label, as wide as on a phone.
fn labels(drawn: &str) -> Vec<(f64, f64, f64)> {
    let label = |label: &str| {
        let attribute = |name: &str| -> f64 {
            let value = label.split(&format!(" {name}=\"")).nth(1).unwrap();
            value.split('"').next().unwrap().parse().unwrap()
        };
        let (head, words) = label.split_once('>').unwrap();
        let long = words.split('<').next().unwrap().chars().count() as f64 * WIDE_LETTER;
        let (x, y) = (attribute("x"), attribute("y"));
        match head.contains("text-anchor=\"end\"") {
            true => (x - long, x, y),
            false => (x, x + long, y),
        }
    };
    drawn.split("<text class=\"label").skip(1).map(label).collect()
}

fn assert_apart(labels: &[(f64, f64, f64)]) {
    for (number, label) in labels.iter().enumerate() {
        assert!(
            label.0 >= 0.0 && label.1 <= WIDTH && label.2 >= LABEL_LINE - 4.0,
            "{label:?} is outside"
        );
        for other in &labels[..number] {
            let apart = label.1 <= other.0 || other.1 <= label.0 || (label.2 - other.2).abs() >= LABEL_LINE - 0.1;
            assert!(apart, "{label:?} {other:?}");
        }
    }
}

fn mark(across: MarkAxis, at: f64, words: &str) -> Mark {
    Mark::line(across, at, words, Tone::Limit)
}

#[test]
fn guide_labels_overlap_neither_each_other_nor_points_nor_lines() {
    let guide = |depth: f64| {
        let line = [100.0, 100_000.0].map(|rate| (rate, depth / rate * 1e3));
        Series::new(format!("{depth} in flight"), Form::Guide, line)
    };
    let points = [(8558.0, 0.117), (18_008.0, 0.222), (42_362.0, 0.755), (29_253.0, 2.19)];
    let mut series: Vec<Series> = [0.25, 1.0, 4.0, 16.0, 64.0, 256.0].map(guide).to_vec();
    series.push(Series::new("measured", Form::Points, points));
    let mut plane = chart(series);
    (plane.x, plane.y) = (Axis::log("rate", "IOPS"), Axis::log("latency", "ms"));
    plane.marks = vec![mark(MarkAxis::Y, 2.0, "limit of p99, 2 ms")];
    let found = labels(&draw(&plane));
    assert!(found.len() >= 5, "{found:?}");
    assert_apart(&found);
}

#[test]
fn labels_of_marks_that_are_near_each_other_have_rows() {
    let mut near = chart(vec![Series::new("a", Form::Line, [(0.0, 0.0), (10.0, 100.0)])]);
    near.marks = vec![
        mark(MarkAxis::X, 9.6, "limit met up to here"),
        mark(MarkAxis::X, 9.0, "knee"),
        mark(MarkAxis::X, 8.8, "ideal device full"),
        mark(MarkAxis::Y, 100.0, "mean 100"),
        mark(MarkAxis::Y, 99.0, "VM: 99"),
        mark(MarkAxis::Y, 98.0, "required 98"),
        mark(
            MarkAxis::Y,
            0.0,
            "a name that is longer than the plot area is wide, and so cannot be written in full",
        ),
    ];
    let drawn = draw(&near);
    let found = labels(&drawn);
    assert_eq!(found.len(), near.marks.len(), "each has a label: {found:?}");
    assert_apart(&found);
    assert_eq!(drawn.matches("class=\"leader").count(), 2, "two in higher rows");
    let area = drawn.split("data-area=\"").nth(1).unwrap().split('"').next().unwrap();
    let top: f64 = area.split(' ').nth(1).unwrap().parse().unwrap();
    assert!(
        found.iter().all(|label| label.2 < top),
        "no label hides data: {found:?}, {top}"
    );
    let mut series = Series::over_names("a", Form::Rows, [("a".into(), Some(100.0))]);
    series.words = vec!["100".into()];
    let rows = draw(&Chart {
        marks: near
            .marks
            .into_iter()
            .filter(|mark| mark.across == MarkAxis::Y)
            .collect(),
        ..chart(vec![series])
    });
    assert_apart(&labels(&rows));
}

#[test]
fn values_of_cells_are_written_where_they_fit() {
    let grid = |columns: usize, rows: usize| {
        let names = |count: usize| (0..count).map(|name| X::Name(name.to_string())).collect();
        let heat = Heat {
            x: names(columns),
            y: names(rows),
            z: vec![vec![Some(88.0); columns]; rows],
            ..Heat::default()
        };
        draw(&Chart {
            heat: Some(heat),
            x: Axis::names("x"),
            y: Axis::names("y"),
            ..chart(Vec::new())
        })
    };
    let written = |drawn: &str| drawn.matches(">88</text>").count();
    assert_eq!(written(&grid(2, 4)), 8);
    assert_eq!(written(&grid(2, 40)), 0, "the rows are too low");
    assert_eq!(written(&grid(80, 1)), 0, "the columns are too narrow");
}

#[test]
fn tick_labels_with_wide_characters_do_not_overlap() {
    let mut percentiles = chart(vec![Series::new("a", Form::Line, [(0.0, 1.0), (6.0, 2.0)])]);
    let words = ["min", "p90", "p99", "p99.9", "p99.99", "p99.999", "p99.9999"];
    let ticks = words.iter().enumerate().map(|(at, words)| Tick {
        at: at as f64,
        words: (*words).to_owned(),
    });
    percentiles.x.ticks = ticks.collect();
    let drawn = draw(&percentiles);
    let places: Vec<(f64, f64)> = drawn
        .split("<g class=\"tick\"")
        .skip(1)
        .map(|tick| {
            let text = tick.split("<text x=\"").nth(1).unwrap();
            let words = text.split('>').nth(1).unwrap().split('<').next().unwrap();
            let half = words.chars().count() as f64 * WIDE_LETTER / 2.0;
            let middle: f64 = text.split('"').next().unwrap().parse().unwrap();
            (middle - half, middle + half)
        })
        .collect();
    assert_eq!(places.len(), words.len(), "{places:?}");
    assert!(places.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{places:?}");
    assert!(places.iter().all(|place| place.1 <= WIDTH + 0.1), "{places:?}");
}
