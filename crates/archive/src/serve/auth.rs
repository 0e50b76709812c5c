//! Who may ask: methods, the name that the server was called by, and the token.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Query, Request, State};
use axum::http::header::{
    ALLOW, AUTHORIZATION, CACHE_CONTROL, COOKIE, HOST, HeaderName, HeaderValue, LOCATION, ORIGIN, REFERRER_POLICY,
    SET_COOKIE, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, Method, Response, StatusCode, Uri};
use axum::middleware::Next;
use sha2::{Digest, Sha256};

use super::Trouble;

/// Shorter ones can be tried out.
const MIN_TOKEN: usize = 16;
const MAX_TOKEN: usize = 128;
const PARAMETER: &str = "token";

/// A word that only those know who may ask.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// A token of at least 16 letters, digits, `-`, `_`, `.`: what stands in an address and a
    /// cookie as it is.
    pub fn parse(word: &str) -> Option<Token> {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        ((MIN_TOKEN..=MAX_TOKEN).contains(&word.len()) && word.chars().all(plain)).then(|| Token(word.into()))
    }

    /// The word.
    pub fn word(&self) -> &str {
        &self.0
    }

    /// In the same time whatever is wrong: digests are compared, and all of each.
    fn is(&self, word: &str) -> bool {
        let (ours, theirs) = (Sha256::digest(&self.0), Sha256::digest(word));
        ours.iter().zip(theirs).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
    }
}

/// It is a secret.
impl fmt::Debug for Token {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Token(…)")
    }
}

/// Who is let in.
#[derive(Clone, Debug)]
pub struct AuthGuard {
    address: SocketAddr,
    token: Option<Token>,
}

impl AuthGuard {
    /// The door of a server at an address. Without a token everybody who reaches it is let in.
    pub fn new(address: SocketAddr, token: Option<Token>) -> AuthGuard {
        AuthGuard { address, token }
    }

    /// Only those who have shown a token change anything: a loopback address is open to every user
    /// of the machine.
    pub(super) fn permits_changes(&self) -> bool {
        self.token.is_some()
    }

    /// Other ports of the machine have cookies in common with this one.
    fn cookie(&self) -> String {
        format!("fathom_{}", self.address.port())
    }

    /// Pages of other sites can lead a name of theirs to this address and ask in the user's
    /// browser. A number or `localhost` cannot be led anywhere; other names are taken where a token
    /// is asked for, which that browser does not send to them.
    fn knows(&self, host: &str) -> bool {
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => host,
        };
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        let local = |number: IpAddr| number.is_loopback() || !self.address.ip().is_loopback();
        match bare.parse::<IpAddr>() {
            Ok(number) => local(number),
            Err(_) => {
                name.eq_ignore_ascii_case("localhost")
                    || (self.token.is_some() && !self.address.ip().is_loopback() && !name.is_empty())
            }
        }
    }

    /// The token was sent along.
    fn opens(&self, token: &Token, headers: &HeaderMap) -> bool {
        let text = |value: &HeaderValue| value.to_str().unwrap_or_default().to_owned();
        let bearer = headers.get(AUTHORIZATION).map(text);
        let bearer = bearer.as_deref().and_then(|value| value.strip_prefix("Bearer "));
        if bearer.is_some_and(|word| token.is(word.trim())) {
            return true;
        }
        let name = self.cookie();
        let cookies: Vec<String> = headers.get_all(COOKIE).iter().map(text).collect();
        let mut pairs = cookies.iter().flat_map(|line| line.split(';'));
        pairs.any(|pair| {
            let pair = pair.trim().split_once('=');
            pair.is_some_and(|(key, word)| key == name && token.is(word))
        })
    }

    /// An answer for those who stay outside, or who have shown the token and may come again without
    /// it in the address.
    fn stop(&self, request: &Request) -> Option<Response<Body>> {
        let changes = *request.method() == Method::POST && self.permits_changes();
        if !matches!(*request.method(), Method::GET | Method::HEAD) && !changes {
            let what = "these pages can only be read";
            let help = "start `fathom serve` with --token to label and remove entries here";
            let mut answer = Trouble::new(StatusCode::METHOD_NOT_ALLOWED, what, help).answer();
            answer
                .headers_mut()
                .insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return Some(answer);
        }
        let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
        if !host.is_some_and(|host| self.knows(host)) {
            let what = "this server does not go by that name";
            let help = format!("use its address by number: http://{}/", self.address);
            return Some(Trouble::new(StatusCode::MISDIRECTED_REQUEST, what, &help).answer());
        }
        let token = self.token.as_ref()?;
        if changes && !is_same_origin(request.headers()) {
            let what = "another site asks for this change";
            let help = "open the list here and ask again";
            return Some(Trouble::new(StatusCode::FORBIDDEN, what, help).answer());
        }
        if let Some(answer) = self.introduced(token, request.uri()) {
            return Some(answer);
        }
        if self.opens(token, request.headers()) {
            return None;
        }
        let what = "this server asks for its token";
        let help = "open the whole address that was printed where it was started, with ?token=…; programs send `Authorization: Bearer …`";
        let mut answer = Trouble::new(StatusCode::UNAUTHORIZED, what, help).answer();
        answer
            .headers_mut()
            .insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        Some(answer)
    }

    /// The right token in the address becomes a cookie, so that it does not stay there.
    fn introduced(&self, token: &Token, uri: &Uri) -> Option<Response<Body>> {
        let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(uri).ok()?;
        let (_, word) = pairs.iter().find(|(key, _)| key == PARAMETER)?;
        if !token.is(word) {
            return None;
        }
        let rest: Vec<&str> = uri
            .query()
            .unwrap_or_default()
            .split('&')
            .filter(|part| part.split('=').next() != Some(PARAMETER))
            .collect();
        // Two slashes would name another host.
        let path = format!("/{}", uri.path().trim_start_matches('/'));
        let place = match rest.is_empty() {
            true => path,
            false => format!("{path}?{}", rest.join("&")),
        };
        let cookie = format!("{}={}; HttpOnly; SameSite=Strict; Path=/", self.cookie(), token.0);
        let mut answer = Response::new(Body::empty());
        *answer.status_mut() = StatusCode::SEE_OTHER;
        let headers = answer.headers_mut();
        headers.insert(LOCATION, HeaderValue::try_from(place).ok()?);
        headers.insert(SET_COOKIE, HeaderValue::try_from(cookie).ok()?);
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        Some(answer)
    }
}

/// Browsers name the origin of a form. Cookies go to every port of a host, so that a page of
/// another server on this machine could ask for changes in its reader's name.
fn is_same_origin(headers: &HeaderMap) -> bool {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let host = text(HOST);
    match headers.get(ORIGIN).map(|value| value.to_str().unwrap_or_default()) {
        None => true,
        Some(origin) => origin.split_once("://").is_some_and(|(_, from)| Some(from) == host),
    }
}

/// Stands before every page.
pub(super) async fn pass(State(door): State<Arc<AuthGuard>>, request: Request, next: Next) -> Response<Body> {
    let mut answer = match door.stop(&request) {
        Some(answer) => answer,
        None => next.run(request).await,
    };
    const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
    let headers = answer.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(RESOURCE_POLICY, HeaderValue::from_static("same-origin"));
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    fn door(address: &str, token: bool) -> AuthGuard {
        let token = token.then(|| Token::parse("0123456789abcdef").expect("it is long enough"));
        AuthGuard::new(address.parse().expect("an address"), token)
    }

    #[test]
    fn names_that_could_be_led_here_are_not_known() {
        let check = |door: &AuthGuard, host: &str, expected: bool| assert_eq!(door.knows(host), expected, "{host}");
        let local = door("127.0.0.1:7744", false);
        for host in ["127.0.0.1:7744", "localhost:7744", "LOCALHOST", "[::1]:80", "127.0.0.1"] {
            check(&local, host, true);
        }
        for host in [
            "", "evil.example", "evil.example:7744", "localhost.evil.example", "192.168.0.1:7744", "[::2]:1", ":7744",
        ] {
            check(&local, host, false);
        }
        let open = door("0.0.0.0:7744", false);
        check(&open, "192.168.0.1:7744", true);
        check(&open, "evil.example:7744", false);
        check(&door("0.0.0.0:7744", true), "lab.example:7744", true);
        check(&door("127.0.0.1:7744", true), "evil.example:7744", false);
    }

    #[test]
    fn tokens_are_plain_words_of_some_length() {
        for word in [
            "short", "0123456789abcde", "0123456789abcdef;", "0123456789abcde\u{e9}", "0123456789 abcdef",
        ] {
            assert_eq!(Token::parse(word), None, "{word}");
        }
        let token = Token::parse("0123456789abcdef").expect("it is long enough");
        assert!(token.is("0123456789abcdef"));
        assert!(!token.is("0123456789abcdeg") && !token.is("") && !token.is("0123456789abcdef0"));
        assert!(!format!("{token:?}").contains("0123"));
    }
}
