"""Kubernetes' URL library (apiserver pkg/cel/library/urls.go, Go 1.26 net/url).

A URL is represented by the text that Go's URL.String writes, which upstream also compares. Go works on bytes, so inside
this module each character of a text stands for one byte.
"""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote_to_bytes

from . import ip
from .overload import LibraryError, Overload, overload


def _others(kept: str) -> re.Pattern[str]:
    """Return a regular expression for any character that is not in ``kept`` and is neither a letter nor a digit."""
    return re.compile(f"[^A-Za-z0-9{re.escape(kept)}]")


# The characters that are escaped in each part (net/url/encoding_table.go).
_NOT_PATH: Final = _others("-._~$&+,/:;=@")
_NOT_HOST: Final = _others("-._~!$&'()*+,;=:[]<>\"")
_NOT_USER: Final = _others("-._~$&+,;=")
_NOT_FRAGMENT: Final = _others("-._~!$&()*+,/:;=?@")
# validEncoded and validUserinfo; in a host also escapes other than a percent sign of ASCII.
_INVALID_PATH: Final = _others("-._~$&+,/:;=@!'()*[]%")
_INVALID_FRAGMENT: Final = _others("-._~!$&()*+,/:;=?@'[]%")
_INVALID_USER: Final = _others("-._:~!$&'()*+,;=%@")
_INVALID_HOST: Final = re.compile(r"%(?!25)[0-7].|[^A-Za-z0-9\x80-\xff%\-._~!$&'()*+,;=:\[\]<>\"]", re.DOTALL)

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2}).{0,2}", re.DOTALL)
_PORT: Final = re.compile(r"(?::[0-9]*)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlParts:
    """The parts of a URL. Each character stands for one byte. Only ``path`` and ``fragment`` keep percent escapes."""

    scheme: str
    user: str | None
    """The user information in the format of Go's URL.String; None if the URL has none."""
    host: str
    path: str
    opaque: str
    query: str
    forces_query: bool
    omits_host: bool
    fragment: str

    @property
    def text(self) -> str:
        """The URL in the format of Go's URL.String."""
        made = f"{self.scheme}:" if self.scheme else ""
        if self.opaque:
            made += self.opaque
        else:
            has_authority = self.host != "" or self.user is not None
            if (self.scheme or has_authority) and not (self.omits_host and not has_authority):
                made += "//" if has_authority or self.path else ""
                made += f"{self.user}@" if self.user is not None else ""
                made += _escaped(self.host, _NOT_HOST)
            made += self.path
        made += f"?{self.query}" if self.forces_query or self.query else ""
        return made + (f"#{self.fragment}" if self.fragment else "")


def parse(text: str) -> UrlParts:
    """Return the parts of an absolute URI or an absolute path, as the CEL function ``url`` of Kubernetes parses them.

    Raises:
        LibraryError: the text is neither an absolute URI nor an absolute path.
    """
    raw = text.encode("utf-8", "surrogatepass").decode("latin-1")
    _parsed(raw, "", via_request=True)
    before, _, fragment = raw.partition("#")
    return _parsed(before, _as_written(fragment, _INVALID_FRAGMENT, _NOT_FRAGMENT), via_request=False)


def _parsed(raw: str, fragment: str, *, via_request: bool) -> UrlParts:
    if _CONTROL.search(raw):
        raise _error("invalid control character in URL")
    if not raw and via_request:
        raise _error("empty url")
    if raw.startswith(":"):
        raise _error("missing protocol scheme")
    found = _SCHEME.match(raw)
    scheme = found[1].lower() if found else ""
    rest = raw[found.end() :] if found else raw
    forces_query = rest.endswith("?") and rest.count("?") == 1
    rest, _, query = rest.partition("?")
    opaque, user, host, omits_host = "", None, "", False
    if raw == "*":
        pass
    elif not rest.startswith("/"):
        if not scheme:
            raise _error("invalid URI for request")
        opaque, rest = rest, ""
    elif rest.startswith("//") and (scheme or (not via_request and not rest.startswith("///"))):
        authority, slash, rest = rest[2:].partition("/")
        user, host = _authority(scheme, authority)
        rest = slash + rest
    else:
        omits_host = bool(scheme)
    return UrlParts(
        scheme=scheme,
        user=user,
        host=host,
        path=_as_written(rest, _INVALID_PATH, _NOT_PATH) if raw != "*" else "*",
        opaque=opaque,
        query=query,
        forces_query=forces_query,
        omits_host=omits_host,
        fragment=fragment,
    )


def _as_written(text: str, invalid: re.Pattern[str], escaped: re.Pattern[str]) -> str:
    """Return a path or fragment like Go's EscapedPath: unchanged if all characters are permitted, else escaped again.

    ``invalid`` matches a character that is not permitted, and ``escaped`` each character that needs an escape.
    """
    bare = _unescaped(text)
    return _escaped(bare, escaped) if invalid.search(text) else text


def _authority(scheme: str, authority: str) -> tuple[str | None, str]:
    user, at, host = authority.rpartition("@")
    found = _host(scheme, host)
    if not at:
        return None, found
    if _INVALID_USER.search(user):
        raise _error("net/url: invalid userinfo")
    name, colon, password = user.partition(":")
    written = _escaped(_unescaped(name), _NOT_USER)
    return (f"{written}:{_escaped(_unescaped(password), _NOT_USER)}" if colon else written), found


def _host(scheme: str, host: str) -> str:
    opened = host.rfind("[")
    if opened > 0:
        raise _error("invalid IP-literal")
    if opened == 0:
        return _literal(host)
    # Only http and https are strict about more than one colon.
    colon = host.find(":") if scheme in ("http", "https") else host.rfind(":")
    if colon >= 0:
        _want_port(host[colon:])
    return _unescaped_host(host)


def _literal(host: str) -> str:
    """Return ``host``, an IPv6 address in brackets and perhaps a port, with the address and its zone unescaped."""
    closed = host.rfind("]")
    if closed < 0:
        raise _error("missing ']' in host")
    _want_port(host[closed + 1 :])
    address, percent, zone = host[1:closed].partition("%25")
    address = _unescaped_host(address)
    try:
        ip.parse_any(address)
    except LibraryError as error:
        raise _error(f"invalid host: {error}") from error
    if ":" not in address:
        raise _error("invalid IP-literal")
    if percent and not zone:
        raise _error("invalid host: zone must be a non-empty string")
    return f"[{address}{f'%{_unescaped(zone)}' if percent else ''}]{host[closed + 1 :]}"


def _want_port(text: str) -> None:
    if not _PORT.fullmatch(text):
        raise _error(f'invalid port "{text}" after host')


def _unescaped_host(host: str) -> str:
    if wrong := _INVALID_HOST.search(host):
        what = (
            f'invalid URL escape "{wrong[0]}"' if wrong[0][0] == "%" else f'invalid character "{wrong[0]}" in host name'
        )
        raise _error(what)
    return _unescaped(host)


def _unescaped(text: str, *, is_query: bool = False) -> str:
    if wrong := _ESCAPE.search(text):
        raise _error(f'invalid URL escape "{wrong[0]}"')
    bare = text.replace("+", " ") if is_query else text
    return unquote_to_bytes(bare.encode("latin-1")).decode("latin-1")


def _escaped(text: str, others: re.Pattern[str]) -> str:
    return others.sub(lambda each: f"%{ord(each[0]):02X}", text)


def _error(what: str) -> LibraryError:
    return LibraryError(f"URL parse error during conversion from string: {what}")


def _shown(text: str) -> str:
    """Return the text whose UTF-8 bytes are the characters of ``text``; bytes that are not UTF-8 are replaced."""
    return text.encode("latin-1").decode("utf-8", "replace")


def request_problem(text: str) -> str:
    """Return why Go's url.ParseRequestURI refuses a text; empty if the text is accepted.

    A fragment counts as part of the path or query.
    """
    try:
        _parsed(text.encode("utf-8", "surrogatepass").decode("latin-1"), "", via_request=True)
    except LibraryError as error:
        return f'parse "{text}": {str(error).partition(": ")[2]}'
    return ""


def _host_and_port(text: str) -> tuple[str, str]:
    host = parse(text).host
    colon = host.rfind(":")
    port = ""
    if colon >= 0 and _PORT.fullmatch(host[colon:]):
        host, port = host[:colon], host[colon + 1 :]
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    return _shown(bare), port


def _query(text: str) -> dict[str, list[str]]:
    """Return a mapping from query parameters to values; malformed parameters are omitted, as in Go's URL.Query."""
    found: dict[str, list[str]] = {}
    for pair in parse(text).query.split("&"):
        if not pair or ";" in pair:
            continue
        name, _, value = pair.partition("=")
        try:
            key, bare = (_shown(_unescaped(each, is_query=True)) for each in (name, value))
        except LibraryError:
            continue
        found.setdefault(key, []).append(bare)
    return found


def _path(text: str) -> str:
    found = parse(text)
    return "" if found.opaque else _shown(found.path)


OVERLOADS: tuple[Overload, ...] = (
    overload("string_to_url", "url(string): kubernetes.URL", lambda text: _shown(parse(text).text)),
    overload("is_url_string", "isURL(string): bool", lambda text: not request_problem(text)),
    overload("url_get_scheme", ".getScheme(kubernetes.URL): string", lambda text: parse(text).scheme),
    overload("url_get_host", ".getHost(kubernetes.URL): string", lambda text: _shown(parse(text).host)),
    overload("url_get_hostname", ".getHostname(kubernetes.URL): string", lambda text: _host_and_port(text)[0]),
    overload("url_get_port", ".getPort(kubernetes.URL): string", lambda text: _host_and_port(text)[1]),
    overload("url_get_escaped_path", ".getEscapedPath(kubernetes.URL): string", _path),
    overload("url_get_query", ".getQuery(kubernetes.URL): map(string, list(string))", _query),
)
