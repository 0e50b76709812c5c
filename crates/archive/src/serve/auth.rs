//! Authorizes requests by their method, host name and token.

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

use super::ErrorPage;

/// Shorter tokens could be guessed.
const MIN_TOKEN_LENGTH: usize = 16;
const MAX_TOKEN_LENGTH: usize = 128;
const TOKEN_PARAMETER: &str = "token";

/// The secret that authorizes a request.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// Parses a token of at least 16 letters, digits, `-`, `_`, `.`: these need no escaping in a
    /// URL or a cookie.
    pub fn parse(word: &str) -> Option<Token> {
        let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        ((MIN_TOKEN_LENGTH..=MAX_TOKEN_LENGTH).contains(&word.len()) && word.chars().all(is_allowed))
            .then(|| Token(word.into()))
    }

    /// The secret word.
    pub fn word(&self) -> &str {
        &self.0
    }

    /// Compares digests in constant time.
    fn matches(&self, word: &str) -> bool {
        let (ours, theirs) = (Sha256::digest(&self.0), Sha256::digest(word));
        ours.iter().zip(theirs).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
    }
}

/// Hides the secret.
impl fmt::Debug for Token {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Token(…)")
    }
}

/// Authorizes the requests to a server.
#[derive(Clone, Debug)]
pub struct AuthGuard {
    address: SocketAddr,
    token: Option<Token>,
}

impl AuthGuard {
    /// The guard of a server at an address. Without a token all requests are authorized.
    pub fn new(address: SocketAddr, token: Option<Token>) -> AuthGuard {
        AuthGuard { address, token }
    }

    /// Changes require a token, because a loopback address is open to every user of the machine.
    pub(super) fn permits_changes(&self) -> bool {
        self.token.is_some()
    }

    /// Name of the cookie. It contains the port, because servers on other ports share the cookies.
    fn cookie_name(&self) -> String {
        format!("fathom_{}", self.address.port())
    }

    /// True if a `Host` header is safe from DNS rebinding. In such an attack, a foreign site points
    /// its own name to this address to read our pages in the user's browser. IP addresses and
    /// `localhost` are safe. Other names are allowed only with a token, whose cookie the browser
    /// does not send to that name.
    fn accepts_host(&self, host: &str) -> bool {
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => host,
        };
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        let is_local = |number: IpAddr| number.is_loopback() || !self.address.ip().is_loopback();
        match bare.parse::<IpAddr>() {
            Ok(number) => is_local(number),
            Err(_) => {
                name.eq_ignore_ascii_case("localhost")
                    || (self.token.is_some() && !self.address.ip().is_loopback() && !name.is_empty())
            }
        }
    }

    /// True if the request contains the token.
    fn is_authorized(&self, token: &Token, headers: &HeaderMap) -> bool {
        let text = |value: &HeaderValue| value.to_str().unwrap_or_default().to_owned();
        let bearer = headers.get(AUTHORIZATION).map(text);
        let bearer = bearer.as_deref().and_then(|value| value.strip_prefix("Bearer "));
        if bearer.is_some_and(|word| token.matches(word.trim())) {
            return true;
        }
        let name = self.cookie_name();
        let cookies: Vec<String> = headers.get_all(COOKIE).iter().map(text).collect();
        cookies.iter().flat_map(|line| line.split(';')).any(|pair| {
            let pair = pair.trim().split_once('=');
            pair.is_some_and(|(key, word)| key == name && token.matches(word))
        })
    }

    /// The response to an unauthorized request, or the redirect that removes the token from the
    /// address.
    fn reject_or_redirect(&self, request: &Request) -> Option<Response<Body>> {
        let changes = *request.method() == Method::POST && self.permits_changes();
        if !matches!(*request.method(), Method::GET | Method::HEAD) && !changes {
            let what = "these pages are read-only";
            let help = "start `fathom serve` with --token to label and remove entries here";
            let mut response = ErrorPage::new(StatusCode::METHOD_NOT_ALLOWED, what, help).into_response();
            response
                .headers_mut()
                .insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return Some(response);
        }
        let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
        if !host.is_some_and(|host| self.accepts_host(host)) {
            let what = "the server does not accept this host name";
            let help = format!("use its numeric address: http://{}/", self.address);
            return Some(ErrorPage::new(StatusCode::MISDIRECTED_REQUEST, what, &help).into_response());
        }
        let token = self.token.as_ref()?;
        if changes && !is_same_origin(request.headers()) {
            let what = "the request comes from a page of another server";
            let help = "open the list of this server and repeat the change there";
            return Some(ErrorPage::new(StatusCode::FORBIDDEN, what, help).into_response());
        }
        if let Some(response) = self.redirect_with_cookie(token, request.uri()) {
            return Some(response);
        }
        if self.is_authorized(token, request.headers()) {
            return None;
        }
        let what = "this server requires a token";
        let help =
            "open the address that `fathom serve` printed, with ?token=…; programs send `Authorization: Bearer …`";
        let mut response = ErrorPage::new(StatusCode::UNAUTHORIZED, what, help).into_response();
        response
            .headers_mut()
            .insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        Some(response)
    }

    /// Moves the token from the address to a cookie, so that it does not stay visible there.
    fn redirect_with_cookie(&self, token: &Token, uri: &Uri) -> Option<Response<Body>> {
        let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(uri).ok()?;
        let (_, word) = pairs.iter().find(|(key, _)| key == TOKEN_PARAMETER)?;
        if !token.matches(word) {
            return None;
        }
        let rest: Vec<&str> = uri
            .query()
            .unwrap_or_default()
            .split('&')
            .filter(|pair| pair.split('=').next() != Some(TOKEN_PARAMETER))
            .collect();
        // Two slashes would name another host.
        let path = format!("/{}", uri.path().trim_start_matches('/'));
        let location = match rest.is_empty() {
            true => path,
            false => format!("{path}?{}", rest.join("&")),
        };
        let cookie = format!("{}={}; HttpOnly; SameSite=Strict; Path=/", self.cookie_name(), token.0);
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::SEE_OTHER;
        let headers = response.headers_mut();
        headers.insert(LOCATION, HeaderValue::try_from(location).ok()?);
        headers.insert(SET_COOKIE, HeaderValue::try_from(cookie).ok()?);
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        Some(response)
    }
}

/// True if a form comes from a page of this server. Browsers send cookies to every port of a host,
/// so a page of another server on this machine could otherwise make changes in the user's name.
fn is_same_origin(headers: &HeaderMap) -> bool {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let host = text(HOST);
    match headers.get(ORIGIN).map(|value| value.to_str().unwrap_or_default()) {
        None => true,
        Some(origin) => origin.split_once("://").is_some_and(|(_, from)| Some(from) == host),
    }
}

/// Middleware that authorizes every request.
pub(super) async fn authorize(State(guard): State<Arc<AuthGuard>>, request: Request, next: Next) -> Response<Body> {
    let mut response = match guard.reject_or_redirect(&request) {
        Some(response) => response,
        None => next.run(request).await,
    };
    const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(RESOURCE_POLICY, HeaderValue::from_static("same-origin"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(address: &str, token: bool) -> AuthGuard {
        let token = token.then(|| Token::parse("0123456789abcdef").expect("it is long enough"));
        AuthGuard::new(address.parse().expect("an address"), token)
    }

    #[test]
    fn names_open_to_dns_rebinding_are_rejected() {
        let check =
            |guard: &AuthGuard, host: &str, expected: bool| assert_eq!(guard.accepts_host(host), expected, "{host}");
        let local = guard("127.0.0.1:7744", false);
        for host in ["127.0.0.1:7744", "localhost:7744", "LOCALHOST", "[::1]:80", "127.0.0.1"] {
            check(&local, host, true);
        }
        for host in [
            "", "evil.example", "evil.example:7744", "localhost.evil.example", "192.168.0.1:7744", "[::2]:1", ":7744",
        ] {
            check(&local, host, false);
        }
        let open = guard("0.0.0.0:7744", false);
        check(&open, "192.168.0.1:7744", true);
        check(&open, "evil.example:7744", false);
        check(&guard("0.0.0.0:7744", true), "lab.example:7744", true);
        check(&guard("127.0.0.1:7744", true), "evil.example:7744", false);
    }

    #[test]
    fn tokens_are_plain_words_of_sufficient_length() {
        for word in [
            "short", "0123456789abcde", "0123456789abcdef;", "0123456789abcde\u{e9}", "0123456789 abcdef",
        ] {
            assert_eq!(Token::parse(word), None, "{word}");
        }
        let token = Token::parse("0123456789abcdef").expect("it is long enough");
        assert!(token.matches("0123456789abcdef"));
        assert!(!token.matches("0123456789abcdeg") && !token.matches("") && !token.matches("0123456789abcdef0"));
        assert!(!format!("{token:?}").contains("0123"));
    }
}
