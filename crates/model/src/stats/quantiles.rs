//! Quantiles of the normal and of Student's distribution.

/// The quantile of the standard normal distribution, to about 1e-15 (Acklam's rational
/// approximation, refined by one Halley step). `p` must be strictly between 0 and 1.
pub fn normal_quantile(p: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969683028665376e1, 2.209460984245205e2, -2.759285104469687e2, 1.383_577_518_672_69e2, -3.066479806614716e1,
        2.506628277459239,
    ];
    const B: [f64; 5] = [
        -5.447609879822406e1, 1.615858368580409e2, -1.556989798598866e2, 6.680131188771972e1, -1.328068155288572e1,
    ];
    const C: [f64; 6] = [
        -7.784894002430293e-3, -3.223964580411365e-1, -2.400758277161838, -2.549732539343734, 4.374664141464968,
        2.938163982698783,
    ];
    const D: [f64; 4] = [
        7.784695709041462e-3, 3.224671290700398e-1, 2.445134137142996, 3.754408661907416,
    ];
    let tail = |q: f64| {
        (((((C[0] * q + C[1]) * q + C[2]) * q + C[3]) * q + C[4]) * q + C[5])
            / ((((D[0] * q + D[1]) * q + D[2]) * q + D[3]) * q + 1.0)
    };
    let x = if p < 0.02425 {
        tail((-2.0 * p.ln()).sqrt())
    } else if p > 1.0 - 0.02425 {
        -tail((-2.0 * (1.0 - p).ln()).sqrt())
    } else {
        let q = p - 0.5;
        let r = q * q;
        (((((A[0] * r + A[1]) * r + A[2]) * r + A[3]) * r + A[4]) * r + A[5]) * q
            / (((((B[0] * r + B[1]) * r + B[2]) * r + B[3]) * r + B[4]) * r + 1.0)
    };
    let error = normal_cdf(x) - p;
    let step = error * (std::f64::consts::TAU).sqrt() * (x * x / 2.0).exp();
    x - step / (1.0 + x * step / 2.0)
}

/// The distribution function of the standard normal distribution, through the incomplete gamma
/// function.
pub fn normal_cdf(x: f64) -> f64 {
    // erf by its series near 0, and by the continued fraction of erfc elsewhere.
    let z = x.abs() / std::f64::consts::SQRT_2;
    let upper = if z < 2.0 {
        let mut term = z;
        let mut sum = z;
        let mut n = 0.0;
        while term.abs() > 1e-17 * sum.abs() {
            n += 1.0;
            term *= -z * z / n;
            sum += term / (2.0 * n + 1.0);
        }
        0.5 * (1.0 - 2.0 / std::f64::consts::PI.sqrt() * sum)
    } else {
        let mut fraction = 0.0;
        for k in (1..=60).rev() {
            fraction = f64::from(k) / 2.0 / (z + fraction);
        }
        0.5 * (-z * z).exp() / std::f64::consts::PI.sqrt() / (z + fraction)
    };
    if x < 0.0 { upper } else { 1.0 - upper }
}

/// The quantile of Student's distribution with `degrees` degrees of freedom (at least 1), to about
/// 1e-10. Inverts the distribution function by bisection and Newton steps.
pub fn student_quantile(p: f64, degrees: u32) -> f64 {
    if p == 0.5 {
        return 0.0;
    }
    if p < 0.5 {
        return -student_quantile(1.0 - p, degrees);
    }
    let (mut low, mut high) = (0.0, 1.0);
    while student_cdf(high, degrees) < p {
        (low, high) = (high, high * 2.0);
        if high > 1e12 {
            return f64::INFINITY;
        }
    }
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        if student_cdf(middle, degrees) < p {
            low = middle
        } else {
            high = middle
        }
        if high - low <= 1e-12 * high {
            break;
        }
    }
    (low + high) / 2.0
}

/// Probability that a value of Student's distribution is at least as far from 0 as `t`, on either
/// side.
pub fn two_sided_student(t: f64, degrees: u32) -> f64 {
    // If t² overflows, the whole distribution is on one side.
    if !(t * t).is_finite() {
        return 0.0;
    }
    let v = f64::from(degrees.max(1));
    incomplete_beta(v / (v + t * t), v / 2.0, 0.5)
}

/// Probability that a value of the standard normal distribution is `z` or more.
pub fn upper_tail_of_normal(z: f64) -> f64 {
    normal_cdf(-z)
}

/// The distribution function of Student's distribution with `degrees` degrees of freedom (at least
/// 1).
pub fn student_cdf(t: f64, degrees: u32) -> f64 {
    let tail_probability = 0.5 * two_sided_student(t, degrees);
    if t < 0.0 {
        tail_probability
    } else {
        1.0 - tail_probability
    }
}

/// The regularised incomplete beta function, by its continued fraction (Abramowitz and Stegun
/// 26.5.8, evaluated by Lentz's method).
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(1.0 - x, b, a);
    }
    let front = (a * x.ln() + b * (1.0 - x).ln() - ln_beta(a, b)).exp() / a;
    let tiny = 1e-300;
    let clamp = |value: f64| if value.abs() < tiny { tiny } else { value };
    let (mut c, mut d) = (1.0, 1.0 / clamp(1.0 - (a + b) * x / (a + 1.0)));
    let mut fraction = d;
    for m in 1..300 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        for step in [even, odd] {
            d = 1.0 / clamp(1.0 + step * d);
            c = clamp(1.0 + step / c);
            fraction *= c * d;
        }
        if (c * d - 1.0).abs() < 1e-15 {
            break;
        }
    }
    front * fraction
}

fn ln_beta(a: f64, b: f64) -> f64 {
    ln_gamma(a) + ln_gamma(b) - ln_gamma(a + b)
}

/// ln Γ by Lanczos' approximation (g = 7, nine terms).
fn ln_gamma(x: f64) -> f64 {
    const TERMS: [f64; 9] = [
        0.999_999_999_999_809_9,
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    if x < 0.5 {
        let pi = std::f64::consts::PI;
        return (pi / (pi * x).sin()).ln() - ln_gamma(1.0 - x);
    }
    let x = x - 1.0;
    let t = x + 7.5;
    let sum = TERMS
        .iter()
        .enumerate()
        .skip(1)
        .fold(TERMS[0], |sum, (k, term)| sum + term / (x + k as f64));
    0.5 * std::f64::consts::TAU.ln() + (x + 0.5) * t.ln() - t + sum.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_match_published_tables() {
        let assert_near =
            |value: f64, expected: f64| assert!((value - expected).abs() < 2e-6, "{value} for {expected}");
        assert_near(normal_quantile(0.975), 1.959_964);
        assert_near(normal_quantile(0.5), 0.0);
        assert_near(normal_quantile(0.001), -3.090_232);
        assert_near(normal_quantile(0.999_999), 4.753_424);
        assert_near(student_quantile(0.975, 1), 12.706_205);
        assert_near(student_quantile(0.975, 4), 2.776_445);
        assert_near(student_quantile(0.95, 19), 1.729_133);
        assert_near(student_quantile(0.975, 39), 2.022_691);
        assert_near(student_quantile(0.025, 19), -2.093_024);
        assert_near(student_quantile(0.975, 1_000_000), 1.959_966);
        assert_near(two_sided_student(2.776_445, 4), 0.05);
        assert_near(two_sided_student(-12.706_205, 1), 0.05);
        assert_near(two_sided_student(0.0, 7), 1.0);
        assert_near(two_sided_student(f64::INFINITY, 7), 0.0);
        assert_near(upper_tail_of_normal(1.959_964), 0.025);
        assert_near(upper_tail_of_normal(-1.959_964), 0.975);
        // Distribution functions invert quantiles, on both sides.
        assert_near(student_cdf(student_quantile(0.025, 19), 19), 0.025);
        assert_near(student_cdf(2.093_024, 19), 0.975);
        assert_near(student_cdf(f64::NEG_INFINITY, 9), 0.0);
        assert_near(normal_cdf(-1.959_964), 0.025);
    }
}
