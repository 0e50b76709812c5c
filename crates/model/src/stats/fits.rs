//! Least squares: a weighted line, and linear models with non-negative coefficients.

/// A straight line through weighted points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WeightedLine {
    /// Change of y for each unit of x.
    pub slope: f64,
    /// Value at x = 0.
    pub start: f64,
    /// Standard error of the slope, with weights known up to a common factor; absent for two
    /// points, which any line fits.
    pub slope_error: Option<f64>,
}

/// A point of a fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WeightedPoint {
    /// Position on the horizontal axis.
    pub x: f64,
    /// Measured value at that position.
    pub y: f64,
    /// Its weight: the inverse of its variance, up to a common factor.
    pub weight: f64,
}

/// The line with the least weighted squares of residuals (Aitken 1935; Bevington and Robinson,
/// chapter 6). `None` unless two points of positive weight have different x.
pub fn fit_weighted_line(points: &[WeightedPoint]) -> Option<WeightedLine> {
    let weighted_points = || points.iter().filter(|point| point.weight > 0.0);
    let total: f64 = weighted_points().map(|point| point.weight).sum();
    let mean_x = weighted_points().map(|point| point.weight * point.x).sum::<f64>() / total;
    let mean_y = weighted_points().map(|point| point.weight * point.y).sum::<f64>() / total;
    let squares: f64 = weighted_points().map(|p| p.weight * (p.x - mean_x).powi(2)).sum();
    if !(squares > 0.0 && squares.is_finite()) {
        return None;
    }
    let cross_products: f64 = weighted_points()
        .map(|p| p.weight * (p.x - mean_x) * (p.y - mean_y))
        .sum();
    let slope = cross_products / squares;
    let start = mean_y - slope * mean_x;
    let residuals: f64 = weighted_points()
        .map(|p| p.weight * (p.y - start - slope * p.x).powi(2))
        .sum();
    let free = weighted_points().count().saturating_sub(2);
    Some(WeightedLine {
        slope,
        start,
        slope_error: (free > 0).then(|| (residuals / free as f64 / squares).sqrt()),
    })
}

/// An equation of a linear model: Σ coefficient × factor = value, with its weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Equation<const K: usize> {
    /// The factors of the coefficients.
    pub factors: [f64; K],
    /// Value that the weighted sum of the coefficients should have.
    pub value: f64,
    /// Weight of the equation in the fit.
    pub weight: f64,
}

/// A linear model that was fitted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinearFit<const K: usize> {
    /// The coefficients; those fixed at 0 are exactly 0.
    pub coefficients: [f64; K],
    /// Standard errors of the free coefficients; absent unless there are more equations than free
    /// coefficients.
    pub errors: Option<[f64; K]>,
    /// Weighted sum of squares of the residuals.
    pub residual: f64,
}

/// Ordinary weighted least squares. `None` if the equations do not determine all coefficients.
pub fn least_squares<const K: usize>(equations: &[Equation<K>]) -> Option<LinearFit<K>> {
    fit_free(equations, [true; K])
}

/// Exact weighted least squares with non-negative coefficients. In the best solution, some
/// coefficients are 0 and the others free (Lawson and Hanson 1974, chapter 23), so all choices are
/// tried. `None` if no choice is determined.
pub fn non_negative_least_squares<const K: usize>(equations: &[Equation<K>]) -> Option<LinearFit<K>> {
    let choices = (1u32..1 << K).map(|choice| std::array::from_fn(|k| choice & (1 << k) != 0));
    let fits = choices.filter_map(|free| fit_free(equations, free));
    fits.filter(|fit| fit.coefficients.iter().all(|value| *value >= 0.0))
        .min_by(|a, b| a.residual.total_cmp(&b.residual))
}

/// Fits with all coefficients 0 that are not free.
fn fit_free<const K: usize>(equations: &[Equation<K>], free: [bool; K]) -> Option<LinearFit<K>> {
    let free_indexes: Vec<usize> = (0..K).filter(|k| free[*k]).collect();
    // Scale the columns to equal length, because factors such as N and N² differ by orders of
    // magnitude.
    let scale = |k: usize| {
        let squares: f64 = equations.iter().map(|e| e.weight * e.factors[k].powi(2)).sum();
        squares.sqrt()
    };
    let scales: Vec<f64> = free_indexes.iter().map(|k| scale(*k)).collect();
    if equations.len() < free_indexes.len() || scales.iter().any(|scale| !(*scale > 0.0 && scale.is_finite())) {
        return None;
    }
    let sum_of = |f: &dyn Fn(&Equation<K>) -> f64| equations.iter().map(f).sum::<f64>();
    let normal = |i: usize, j: usize| {
        sum_of(&|e| e.weight * e.factors[free_indexes[i]] * e.factors[free_indexes[j]]) / (scales[i] * scales[j])
    };
    let size = free_indexes.len();
    let matrix: Vec<Vec<f64>> = (0..size).map(|i| (0..size).map(|j| normal(i, j)).collect()).collect();
    let inverse = invert(matrix)?;
    let right: Vec<f64> = (0..size)
        .map(|i| sum_of(&|e| e.weight * e.factors[free_indexes[i]] * e.value) / scales[i])
        .collect();
    let mut coefficients = [0.0; K];
    for (i, k) in free_indexes.iter().enumerate() {
        coefficients[*k] = (0..size).map(|j| inverse[i][j] * right[j]).sum::<f64>() / scales[i];
    }
    let weighted_residual = |e: &Equation<K>| {
        let model: f64 = (0..K).map(|k| coefficients[k] * e.factors[k]).sum();
        e.weight * (e.value - model).powi(2)
    };
    let residual = sum_of(&weighted_residual);
    let errors = (equations.len() > size).then(|| {
        let variance = residual / (equations.len() - size) as f64;
        let mut errors = [0.0; K];
        for (i, k) in free_indexes.iter().enumerate() {
            errors[*k] = (variance * inverse[i][i]).max(0.0).sqrt() / scales[i];
        }
        errors
    });
    Some(LinearFit {
        coefficients,
        errors,
        residual,
    })
}

/// Inverts a matrix (Gauss–Jordan with row exchanges); `None` if it is practically singular.
fn invert(mut matrix: Vec<Vec<f64>>) -> Option<Vec<Vec<f64>>> {
    let size = matrix.len();
    for (row, values) in matrix.iter_mut().enumerate() {
        values.extend((0..size).map(|column| f64::from(u8::from(row == column))));
    }
    for column in 0..size {
        let best = (column..size).max_by(|a, b| matrix[*a][column].abs().total_cmp(&matrix[*b][column].abs()))?;
        matrix.swap(column, best);
        let pivot = matrix[column][column];
        if pivot.abs() < 1e-12 {
            return None;
        }
        matrix[column].iter_mut().for_each(|value| *value /= pivot);
        let used = matrix[column].clone();
        for (_, values) in matrix.iter_mut().enumerate().filter(|(row, _)| *row != column) {
            let factor = values[column];
            values
                .iter_mut()
                .zip(&used)
                .for_each(|(value, used)| *value -= factor * used);
        }
    }
    Some(matrix.into_iter().map(|row| row[size..].to_vec()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draws::{GeneratorChoice, Purpose};

    fn point(x: f64, y: f64, weight: f64) -> WeightedPoint {
        WeightedPoint { x, y, weight }
    }

    #[test]
    fn a_weighted_line_is_that_of_repeated_points() {
        // A weight of 3 equals three points.
        let weighted = fit_weighted_line(&[point(0.0, 1.0, 1.0), point(1.0, 2.0, 3.0), point(4.0, 0.0, 1.0)]).unwrap();
        let repeated = [
            point(0.0, 1.0, 1.0),
            point(1.0, 2.0, 1.0),
            point(1.0, 2.0, 1.0),
            point(1.0, 2.0, 1.0),
            point(4.0, 0.0, 1.0),
        ];
        let repeated = fit_weighted_line(&repeated).unwrap();
        assert!((weighted.slope - repeated.slope).abs() < 1e-12 && (weighted.start - repeated.start).abs() < 1e-12);
        assert_eq!(fit_weighted_line(&[point(1.0, 1.0, 1.0), point(1.0, 2.0, 1.0)]), None);
        assert_eq!(fit_weighted_line(&[point(1.0, 1.0, 1.0), point(2.0, 2.0, 0.0)]), None);
    }

    #[test]
    fn the_line_of_a_published_example() {
        // Anscombe's first quartet: y = 3.0001 + 0.5001 x, standard error of the slope 0.1179
        // (Anscombe 1973).
        let x = [10.0, 8.0, 13.0, 9.0, 11.0, 14.0, 6.0, 4.0, 12.0, 7.0, 5.0];
        let y = [8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68];
        let points: Vec<WeightedPoint> = x.iter().zip(y).map(|(x, y)| point(*x, y, 1.0)).collect();
        let line = fit_weighted_line(&points).unwrap();
        let error = line.slope_error.unwrap();
        assert!((line.slope - 0.5001).abs() < 5e-5 && (line.start - 3.0001).abs() < 5e-5);
        assert!((error - 0.1179).abs() < 5e-5, "{error}");
    }

    #[test]
    fn negative_coefficients_are_fixed_at_zero() {
        let equations = |truth: [f64; 3]| -> Vec<Equation<3>> {
            let factors_at = |x: f64| [1.0, x, x * x];
            let value_at = |x: f64| factors_at(x).iter().zip(truth).map(|(factor, c)| factor * c).sum();
            let equation = |x: f64| Equation {
                factors: factors_at(x),
                value: value_at(x),
                weight: 1.0,
            };
            [1.0, 2.0, 5.0, 40.0, 300.0].map(equation).to_vec()
        };
        let assert_near = |fit: LinearFit<3>, truth: [f64; 3]| {
            let close = |(a, b): (&f64, f64)| (a - b).abs() <= 1e-6 * b.abs().max(1.0);
            assert!(fit.coefficients.iter().zip(truth).all(close), "{fit:?}");
        };
        assert_near(
            non_negative_least_squares(&equations([3.0, 0.5, 0.01])).unwrap(),
            [3.0, 0.5, 0.01],
        );
        assert_near(
            least_squares(&equations([3.0, 0.5, -0.001])).unwrap(),
            [3.0, 0.5, -0.001],
        );
        let held = non_negative_least_squares(&equations([3.0, 0.5, -0.001])).unwrap();
        assert_eq!(held.coefficients[2], 0.0);
        let too_few: [Equation<3>; 0] = [];
        assert_eq!(non_negative_least_squares(&too_few), None);
    }

    /// The conditions of Karush, Kuhn and Tucker hold only at the optimum: the gradient is 0 for
    /// free coefficients and not negative for fixed ones.
    #[test]
    fn the_optimality_conditions_hold_for_random_equations() {
        let mut draws = GeneratorChoice::Native { seed: 5 }.start();
        for _ in 0..300 {
            let mut random = || draws.next_f64(Purpose::Content) * 2.0 - 1.0;
            let equations: Vec<Equation<3>> = (0..7)
                .map(|_| Equation {
                    factors: [random(), random(), random()],
                    value: random(),
                    weight: random().abs() + 0.1,
                })
                .collect();
            let Some(fit) = non_negative_least_squares(&equations) else {
                // If every choice has a negative coefficient, all-zero is best, and every gradient
                // at 0 shows it.
                continue;
            };
            for k in 0..3 {
                let gradient: f64 = equations
                    .iter()
                    .map(|e| {
                        let model: f64 = (0..3).map(|k| fit.coefficients[k] * e.factors[k]).sum();
                        2.0 * e.weight * (model - e.value) * e.factors[k]
                    })
                    .sum();
                match fit.coefficients[k] > 0.0 {
                    true => assert!(gradient.abs() < 1e-9, "{gradient} {fit:?}"),
                    false => assert!(gradient > -1e-9, "{gradient} {fit:?}"),
                }
            }
        }
    }
}
