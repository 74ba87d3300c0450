//! Answers of a CDN in front of the endpoint. They say nothing of the key, and the endpoint never saw the request.

use crate::reply::Reply;

/// What a CDN said in the endpoint's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cdn {
    /// It lets this client, or this network, through no more: a signature that it does not like, or a page that asks for a
    /// browser.
    Blocked,
    /// It admits no more requests now.
    Limited,
}

/// What a CDN said, if it was one: Cloudflare's codes of errors, and pages with a challenge.
pub(crate) fn said(reply: &Reply) -> Option<Cdn> {
    if !(400..600).contains(&reply.status) {
        return None;
    }
    let start = &reply.body[..reply.body.len().min(LOOKED_AT)];
    let names = |words: &[u8]| start.windows(words.len()).any(|part| part.eq_ignore_ascii_case(words));
    let is_challenge = reply.headers.first("cf-mitigated").is_some_and(|value| value.trim() == "challenge");
    match () {
        () if names(b"error code: 1015") => Some(Cdn::Limited),
        () if is_challenge || BLOCKED.iter().any(|words| names(words)) => Some(Cdn::Blocked),
        () => None,
    }
}

/// 1006 to 1008: the address is banned; 1009: the country; 1010: the client's signature; 1020: a rule of the firewall.
const BLOCKED: [&[u8]; 8] = [
    b"error code: 1006",
    b"error code: 1007",
    b"error code: 1008",
    b"error code: 1009",
    b"error code: 1010",
    b"error code: 1020",
    b"challenge-platform",
    b"cf-challenge",
];
/// Such pages are long, and say what they are at their beginning.
const LOOKED_AT: usize = 16 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cdn_is_told_from_the_endpoint() {
        let said = |status, body: &str| said(&Reply { status, body: body.into(), ..Reply::default() });
        assert_eq!(said(403, "error code: 1010"), Some(Cdn::Blocked));
        assert_eq!(said(429, "error code: 1015"), Some(Cdn::Limited));
        assert_eq!(said(403, "<script src='/cdn-cgi/challenge-platform/x'>"), Some(Cdn::Blocked));
        assert_eq!(said(403, r#"{"error":{"message":"no such permission"}}"#), None);
        assert_eq!(said(200, "error code: 1010"), None);
    }
}
