//! The arithmetic of policy files: `+ − × ÷`, parentheses, a few functions, numbers with units, and
//! named values. It has no conditions, assignments or loops, so that policies stay readable data.
//! Every error has a character position.

use std::fmt;

/// The functions, with the number of arguments that each takes at least and at most.
const FUNCTIONS: [(&str, usize, usize); 5] = [
    ("min", 1, usize::MAX),
    ("max", 1, usize::MAX),
    ("clamp", 3, 3),
    ("ceil", 1, 1),
    ("floor", 1, 1),
];

/// Units that may follow a number. Sizes are in bytes, times in seconds, shares are fractions of
/// one.
const UNITS: [(&str, f64); 16] = [
    ("B", 1.0),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("TiB", 1_099_511_627_776.0),
    ("kB", 1e3),
    ("KB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
    ("us", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("min", 60.0),
    ("h", 3600.0),
    ("%", 0.01),
];

/// Maximum nesting of parentheses and functions, so that a file cannot overflow the stack.
const MAX_DEPTH: usize = 64;

/// Maximum number of operators in a formula: evaluation recurses, and each operator can add a
/// level.
const MAX_OPERATORS: usize = 1000;

/// A parsed formula.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    text: String,
    root: Node,
}

/// The reason why a formula has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpressionError {
    /// Text of the formula.
    pub text: String,
    /// Position of the error in characters, counted from 1.
    pub position: usize,
    /// The problem at this position.
    pub why: String,
}

impl fmt::Display for ExpressionError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "`{}`, character {}: {}", self.text, self.position, self.why)
    }
}

impl std::error::Error for ExpressionError {}

#[derive(Clone, Debug, PartialEq)]
enum Node {
    Number(f64),
    Name(String, usize),
    Negative(Box<Node>),
    Binary(Operator, Box<Node>, Box<Node>, usize),
    Call(Function, Vec<Node>, usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    Min,
    Max,
    Clamp,
    Ceil,
    Floor,
}

impl Expression {
    /// Parses a formula.
    ///
    /// # Errors
    /// [`ExpressionError`] with the position and the expected token.
    pub fn parse(text: &str) -> Result<Expression, ExpressionError> {
        let mut parser = Parser {
            text,
            characters: text.chars().collect(),
            at: 0,
            depth: 0,
            operators: 0,
        };
        let root = parser.parse_sum()?;
        parser.skip_blanks();
        match parser.peek() {
            None => Ok(Expression {
                text: text.to_owned(),
                root,
            }),
            Some(other) => Err(parser.error(format!(
                "unexpected `{other}`; expected the end of the formula, or + - * /"
            ))),
        }
    }

    /// The formula as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Evaluates the formula. `find` returns the value of a name.
    ///
    /// # Errors
    /// [`ExpressionError`] for an unknown name, a division by zero, bounds of `clamp` in the wrong
    /// order, and a result that is not a finite number.
    pub fn value(&self, find: &dyn Fn(&str) -> Option<f64>) -> Result<f64, ExpressionError> {
        let value = self.evaluate_node(&self.root, find)?;
        match value.is_finite() {
            true => Ok(value),
            false => Err(self.error(0, "the result is too large".into())),
        }
    }

    /// The names that it uses, each once, in the order of their first use.
    pub fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        collect_names(&self.root, &mut names);
        names
    }

    fn evaluate_node(&self, node: &Node, find: &dyn Fn(&str) -> Option<f64>) -> Result<f64, ExpressionError> {
        Ok(match node {
            Node::Number(value) => *value,
            Node::Name(name, at) => find(name).ok_or_else(|| self.error(*at, format!("unknown value `{name}`")))?,
            Node::Negative(inner) => -self.evaluate_node(inner, find)?,
            Node::Binary(operator, left, right, at) => {
                let (left, right) = (self.evaluate_node(left, find)?, self.evaluate_node(right, find)?);
                match operator {
                    Operator::Add => left + right,
                    Operator::Subtract => left - right,
                    Operator::Multiply => left * right,
                    Operator::Divide if right == 0.0 => return Err(self.error(*at, "division by zero".into())),
                    Operator::Divide => left / right,
                }
            }
            Node::Call(function, arguments, at) => {
                let values = arguments.iter().map(|argument| self.evaluate_node(argument, find));
                self.evaluate_call(*function, &values.collect::<Result<Vec<f64>, _>>()?, *at)?
            }
        })
    }

    fn evaluate_call(&self, function: Function, values: &[f64], at: usize) -> Result<f64, ExpressionError> {
        Ok(match (function, values) {
            (Function::Min, values) => values.iter().copied().fold(f64::INFINITY, f64::min),
            (Function::Max, values) => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            (Function::Clamp, [value, low, high]) if low <= high => value.clamp(*low, *high),
            (Function::Clamp, [_, low, high]) => {
                return Err(self.error(
                    at,
                    format!("the lower bound {low} of clamp is above the upper bound {high}"),
                ));
            }
            (Function::Ceil, [value]) => snap_to_integer(*value).ceil(),
            (Function::Floor, [value]) => snap_to_integer(*value).floor(),
            (Function::Clamp | Function::Ceil | Function::Floor, _) => {
                unreachable!("the number of arguments was checked when the formula was read")
            }
        })
    }

    fn error(&self, at: usize, why: String) -> ExpressionError {
        ExpressionError {
            text: self.text.clone(),
            position: at + 1,
            why,
        }
    }
}

/// Rounds a value that is almost a whole number: in floating point, 4000 × 0.003 × 1.25 is not
/// exactly 15.
fn snap_to_integer(value: f64) -> f64 {
    let rounded = value.round();
    match (value - rounded).abs() <= 1e-9 * value.abs().max(1.0) {
        true => rounded,
        false => value,
    }
}

fn collect_names<'a>(node: &'a Node, names: &mut Vec<&'a str>) {
    match node {
        Node::Number(_) => {}
        Node::Name(name, _) if names.contains(&name.as_str()) => {}
        Node::Name(name, _) => names.push(name),
        Node::Negative(inner) => collect_names(inner, names),
        Node::Binary(_, left, right, _) => {
            collect_names(left, names);
            collect_names(right, names);
        }
        Node::Call(_, arguments, _) => arguments.iter().for_each(|argument| collect_names(argument, names)),
    }
}

struct Parser<'a> {
    text: &'a str,
    characters: Vec<char>,
    at: usize,
    depth: usize,
    operators: usize,
}

impl Parser<'_> {
    fn error(&self, why: impl Into<String>) -> ExpressionError {
        self.error_at(self.at, why)
    }

    fn error_at(&self, at: usize, why: impl Into<String>) -> ExpressionError {
        ExpressionError {
            text: self.text.to_owned(),
            position: at + 1,
            why: why.into(),
        }
    }

    fn peek(&self) -> Option<char> {
        self.characters.get(self.at).copied()
    }

    fn skip_blanks(&mut self) {
        while self.peek().is_some_and(char::is_whitespace) {
            self.at += 1;
        }
    }

    /// Consumes an operator that `known` accepts.
    fn parse_operator(&mut self, operator_of: impl Fn(char) -> Option<Operator>) -> Option<(Operator, usize)> {
        self.skip_blanks();
        let operator = operator_of(self.peek()?)?;
        self.at += 1;
        Some((operator, self.at - 1))
    }

    fn parse_sum(&mut self) -> Result<Node, ExpressionError> {
        let mut left = self.parse_product()?;
        while let Some((operator, at)) = self.parse_operator(|sign| match sign {
            '+' => Some(Operator::Add),
            '-' | '−' => Some(Operator::Subtract),
            _ => None,
        }) {
            let right = self.parse_product()?;
            left = self.binary_node(operator, left, right, at)?;
        }
        Ok(left)
    }

    fn parse_product(&mut self) -> Result<Node, ExpressionError> {
        let mut left = self.parse_signed()?;
        while let Some((operator, at)) = self.parse_operator(|sign| match sign {
            '*' | '×' | '·' => Some(Operator::Multiply),
            '/' | '÷' => Some(Operator::Divide),
            _ => None,
        }) {
            let right = self.parse_signed()?;
            left = self.binary_node(operator, left, right, at)?;
        }
        Ok(left)
    }

    fn binary_node(&mut self, operator: Operator, left: Node, right: Node, at: usize) -> Result<Node, ExpressionError> {
        self.operators += 1;
        match self.operators > MAX_OPERATORS {
            true => Err(self.error_at(at, format!("the formula has more than {MAX_OPERATORS} operators"))),
            false => Ok(Node::Binary(operator, Box::new(left), Box::new(right), at)),
        }
    }

    fn parse_signed(&mut self) -> Result<Node, ExpressionError> {
        self.skip_blanks();
        let mut negative = false;
        while let Some('-' | '−') = self.peek() {
            (negative, self.at) = (!negative, self.at + 1);
            self.skip_blanks();
        }
        let value = self.parse_value()?;
        Ok(match negative {
            true => Node::Negative(Box::new(value)),
            false => value,
        })
    }

    fn parse_value(&mut self) -> Result<Node, ExpressionError> {
        match self.peek() {
            None => Err(self.error("a value is missing at the end")),
            Some('(') => {
                let opened = self.at;
                let inner = self.parse_nested(Parser::parse_sum)?;
                self.expect_closing(opened)?;
                Ok(inner)
            }
            Some(first) if first.is_ascii_digit() || first == '.' => self.parse_number(),
            Some(first) if first.is_alphabetic() || first == '_' => self.parse_name_or_call(),
            Some(other) => Err(self.error(format!("expected a number, a name or a parenthesis, not `{other}`"))),
        }
    }

    /// Parses the inside of a parenthesis, within the depth limit.
    fn parse_nested<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, ExpressionError>,
    ) -> Result<T, ExpressionError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.error(format!("parentheses are nested more than {MAX_DEPTH} deep")));
        }
        self.at += 1;
        let expression = read(self)?;
        self.depth -= 1;
        Ok(expression)
    }

    fn expect_closing(&mut self, opened: usize) -> Result<(), ExpressionError> {
        self.skip_blanks();
        match self.peek() {
            Some(')') => {
                self.at += 1;
                Ok(())
            }
            _ => Err(self.error_at(opened, "this parenthesis is not closed")),
        }
    }

    fn parse_number(&mut self) -> Result<Node, ExpressionError> {
        let start = self.at;
        let mut digits = String::new();
        while let Some(next) = self.peek() {
            let exponent = matches!(next, 'e' | 'E')
                && self
                    .characters
                    .get(self.at + 1)
                    .is_some_and(|after| after.is_ascii_digit() || matches!(after, '+' | '-'));
            if exponent {
                digits.push('e');
                self.at += 1;
                digits.extend(self.peek());
            } else if next.is_ascii_digit() || next == '.' {
                digits.push(next);
            } else if next != '_' {
                break;
            }
            self.at += 1;
        }
        let value: f64 = digits
            .parse()
            .map_err(|_| self.error_at(start, format!("`{digits}` is not a number")))?;
        Ok(Node::Number(value * self.parse_unit()?))
    }

    /// The factor of the unit after a number; 1 without a unit.
    fn parse_unit(&mut self) -> Result<f64, ExpressionError> {
        let start = self.at;
        let unit: String = self.characters[start..]
            .iter()
            .take_while(|next| next.is_alphabetic() || **next == '%')
            .collect();
        if unit.is_empty() {
            return Ok(1.0);
        }
        self.at += unit.chars().count();
        let unit_entry = UNITS.iter().find(|(name, _)| *name == unit);
        unit_entry.map(|(_, factor)| *factor).ok_or_else(|| {
            let names: Vec<&str> = UNITS.iter().map(|(name, _)| *name).collect();
            self.error_at(
                start,
                format!("unknown unit `{unit}`; known units: {}", names.join(", ")),
            )
        })
    }

    fn parse_name_or_call(&mut self) -> Result<Node, ExpressionError> {
        let start = self.at;
        while self
            .peek()
            .is_some_and(|next| next.is_alphanumeric() || matches!(next, '_' | '.'))
        {
            self.at += 1;
        }
        let name: String = self.characters[start..self.at].iter().collect();
        self.skip_blanks();
        if self.peek() != Some('(') {
            return Ok(Node::Name(name, start));
        }
        let Some(function) = function(&name) else {
            let function_names: Vec<&str> = FUNCTIONS.iter().map(|(name, ..)| *name).collect();
            return Err(self.error_at(
                start,
                format!(
                    "unknown function `{name}`; known functions: {}",
                    function_names.join(", ")
                ),
            ));
        };
        let opened = self.at;
        let arguments = self.parse_nested(Parser::parse_arguments)?;
        self.expect_closing(opened)?;
        let (min_args, max_args) = FUNCTIONS
            .iter()
            .find(|(function, ..)| *function == name)
            .map_or((1, usize::MAX), |(_, min_args, max_args)| (*min_args, *max_args));
        if arguments.len() < min_args || arguments.len() > max_args {
            let why = format!("`{name}` takes {min_args} values, not {}", arguments.len());
            return Err(self.error_at(start, why));
        }
        Ok(Node::Call(function, arguments, start))
    }

    fn parse_arguments(&mut self) -> Result<Vec<Node>, ExpressionError> {
        let mut arguments = vec![self.parse_sum()?];
        loop {
            self.skip_blanks();
            if self.peek() != Some(',') {
                return Ok(arguments);
            }
            self.at += 1;
            arguments.push(self.parse_sum()?);
        }
    }
}

fn function(name: &str) -> Option<Function> {
    Some(match name {
        "min" => Function::Min,
        "max" => Function::Max,
        "clamp" => Function::Clamp,
        "ceil" => Function::Ceil,
        "floor" => Function::Floor,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn evaluate(text: &str, names: &[(&str, f64)]) -> Result<f64, ExpressionError> {
        let find = |name: &str| names.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        Expression::parse(text)?.value(&find)
    }

    #[track_caller]
    fn check(text: &str, expected: f64) {
        let value = evaluate(text, &[("size_gib", 100.0), ("limits.iops", 4000.0)]).unwrap();
        assert!(
            (value - expected).abs() <= 1e-9 * expected.abs().max(1.0),
            "{text}: {value}"
        );
    }

    #[track_caller]
    fn check_error(text: &str, position: usize, part: &str) {
        let error = evaluate(text, &[("size_gib", 100.0)]).unwrap_err();
        assert_eq!(error.position, position, "{error}");
        assert!(error.to_string().contains(part), "{error}");
    }

    #[test]
    fn formulas_of_the_catalogue_have_their_values() {
        check("10 * size_gib", 1000.0);
        check("clamp(3 * size_gib, 100, 16_000)", 300.0);
        check("min(500 * size_gib, 80000)", 50_000.0);
        check("5.4e6 / (3000 − clamp(3 × size_gib, 100, 16000))", 2000.0);
        check("ceil(limits.iops * 3ms * 1.25)", 15.0);
        check("2 + 3 * 4 - 10 / 4", 11.5);
        check("-(2 - 5) - -1", 4.0);
        check("8 / 2 / 2", 2.0);
        check("10 - 3 - 2", 5.0);
        check("min(16KiB, 1MiB) + 1kB", 17_384.0);
        check("99.9%", 0.999);
        check("floor(2.999999999999)", 3.0);
        check("floor(-0.5)", -1.0);
        check("max(1, 2, 3)", 3.0);
        check("1.5e-3 * 2", 0.003);
    }

    #[test]
    fn errors_state_position_and_reason() {
        check_error("", 1, "a value is missing");
        check_error("1 +", 4, "a value is missing");
        check_error("1 + * 2", 5, "not `*`");
        check_error("(1 + 2", 1, "not closed");
        check_error("min(1, 2", 4, "not closed");
        check_error("1 2", 3, "unexpected `2`");
        check_error("size_gb * 2", 1, "unknown value `size_gb`");
        check_error("sqrt(2)", 1, "unknown function `sqrt`");
        check_error("clamp(1, 2)", 1, "takes 3 values");
        check_error("1 / (size_gib - 100)", 3, "division by zero");
        check_error("clamp(1, 3, 2)", 1, "is above the upper bound");
        check_error("4KIB", 2, "unknown unit `KIB`");
        check_error("1.2.3", 1, "not a number");
        check_error("1e308 * 1e308", 1, "too large");
        check_error(&"(".repeat(100), 65, "nested more than 64");
    }

    #[test]
    fn names_are_reported_once() {
        let expression = Expression::parse("min(a, b) + a * tier.iops").unwrap();
        assert_eq!(expression.names(), ["a", "b", "tier.iops"]);
    }

    #[test]
    fn fifty_thousand_additions_are_refused() {
        let long = |additions: usize| Expression::parse(&format!("1{}", "+1".repeat(additions)));
        assert_eq!(long(1000).unwrap().value(&|_| None).unwrap(), 1001.0);
        let error = long(50_000).unwrap_err();
        assert!(error.why.contains("more than 1000 operators"), "{}", error.why);
    }

    /// Generates formulas with their values.
    fn formulas() -> impl Strategy<Value = (String, f64)> {
        let leaf = prop_oneof![
            (0u32..10_000).prop_map(|value| (value.to_string(), f64::from(value))),
            (0u32..10_000).prop_map(|value| (format!("{}.5", value), f64::from(value) + 0.5)),
            Just(("seven".to_owned(), 7.0)),
        ];
        leaf.prop_recursive(6, 48, 3, |inner| {
            prop_oneof![
                (inner.clone(), inner.clone()).prop_map(|(a, b)| (format!("({} + {})", a.0, b.0), a.1 + b.1)),
                (inner.clone(), inner.clone()).prop_map(|(a, b)| (format!("({}-{})", a.0, b.0), a.1 - b.1)),
                (inner.clone(), inner.clone()).prop_map(|(a, b)| (format!("( {} × {} )", a.0, b.0), a.1 * b.1)),
                (inner.clone(), inner.clone()).prop_map(|(a, b)| (format!("min({},{})", a.0, b.0), a.1.min(b.1))),
                (inner.clone(), inner.clone(), inner.clone())
                    .prop_map(|(a, b, c)| (format!("max({}, {}, {})", a.0, b.0, c.0), a.1.max(b.1).max(c.1))),
                inner.prop_map(|a| (format!("-{}", a.0), -a.1)),
            ]
        })
    }

    proptest! {
        #[test]
        fn generated_formulas_have_their_values((text, expected) in formulas()) {
            match evaluate(&text, &[("seven", 7.0)]) {
                Ok(value) => prop_assert!((value - expected).abs() <= 1e-9 * expected.abs().max(1.0), "{} = {}", text, value),
                Err(error) => prop_assert!(!expected.is_finite(), "{}", error),
            }
        }

        #[test]
        fn evaluation_never_panics(text in "[-+*/×÷−(),.0-9a-z_%eE ]{0,40}|\\PC{0,20}") {
            let _ = evaluate(&text, &[("a", 1.0), ("e", 2.0)]);
        }
    }
}
