"""The results of CEL's own functions and of Kubernetes' libraries, for docs/cel.md and editors, each with an example.

Types and values are the code's. Each example is among the expressions that tests put to a real apiserver
(tests/captured/cel_libraries.txt). A function without a row here, or a row without a function, stops the tool that
writes the page.
"""

from collections.abc import Mapping

from .variables import Manual

_TIME = "timestamp('2026-03-09T13:45:30.250Z')"

MANUALS: Mapping[str, Mapping[str, Manual]] = {
    "macros": {
        "has": Manual(
            "the field is there, and no default; what stands before the last dot must be there", "has({'a': 1}.a)"
        ),
        "all": Manual(
            "the condition holds for every element, or key; with two names for index and element, or key and value",
            "[1, 2, 3].all(x, x > 0)",
        ),
        "exists": Manual("it holds for one at least", "[1, 2, 3].exists(x, x > 2)"),
        "exists_one": Manual("it holds for exactly one", "[1, 2, 3].exists_one(x, x > 2)"),
        "existsOne": Manual("the same with two names", "[1, 2, 3].existsOne(i, v, v > 2)"),
        "filter": Manual("the elements, or keys, for which it holds", "[1, 2, 3].filter(x, x > 1)"),
        "map": Manual(
            "what is made of each element, or key; with a condition, of those for which it holds",
            "[1, 2, 3].map(x, x * 2)",
        ),
        "transformList": Manual("`map` with two names", "{'a': 1}.transformList(k, v, k + '=' + string(v))"),
    },
    "operators": {
        "_&&_": Manual("both hold; false if one is false, even where the other is an error", "1 / 0 == 1 && false"),
        "_||_": Manual(
            "one of them holds; true if one is true, even where the other is an error", "true || 1 / 0 == 1"
        ),
        "!_": Manual("it does not hold", "!(1 > 2)"),
        "_?_:_": Manual(
            "the second where the first holds, or else the third, which has its type", "2 > 1 ? 'more' : 'less'"
        ),
        "_==_": Manual("equal in value, lists and maps by what is in them", "[1, 2] == [1, 2]"),
        "_!=_": Manual("not equal", "{'a': 1} != {'a': 2}"),
        "_<_": Manual("below; texts by code point", "1 < 2"),
        "_<=_": Manual("below or equal", "'a' <= 'b'"),
        "_>_": Manual(
            "above; of times, later", "timestamp('2026-01-01T00:00:00Z') > timestamp('2025-01-01T00:00:00Z')"
        ),
        "_>=_": Manual("above or equal", "duration('90s') >= duration('1m')"),
        "@in": Manual("an element of the list, or a key of the map", "'a' in {'a': 1}"),
        "_+_": Manual("the sum; texts and lists one behind the other. Overflow is an error", "[1] + [2]"),
        "_-_": Manual("the difference. Overflow is an error", "3 - 5"),
        "_*_": Manual("the product. Overflow is an error", "3 * 4"),
        "_/_": Manual("the quotient; of integers the whole part, and an error for 0", "7 / 2"),
        "_%_": Manual("the rest of a division; an error for 0", "7 % 3"),
        "-_": Manual("the negative", "-(5)"),
        "_[_]": Manual(
            "the element at a place, from 0, or the value of a key; an error where there is none", "{'a': 1}['a']"
        ),
    },
    "standard": {
        "size": Manual("how many characters, bytes, elements or keys", "size('héllo')"),
        "contains": Manual("the second stands somewhere in the first", "'train-0'.contains('ain')"),
        "startsWith": Manual("the first begins with the second", "'train-0'.startsWith('train')"),
        "endsWith": Manual("the first ends with the second", "'train-0'.endsWith('-0')"),
        "matches": Manual(
            "the pattern (RE2) is found somewhere in the text; with `^` and `$` it is all of it",
            "'train-0'.matches('^[a-z]+-[0-9]+$')",
        ),
    },
    "conversions": {
        "bool": Manual(
            "of `'true'`, `'t'`, `'1'`, `'false'`, `'f'`, `'0'` and the like; an error for another text", "bool('true')"
        ),
        "bytes": Manual("the text as UTF-8", "string(bytes('abc'))"),
        "double": Manual("the number; an error for a text that is none", "double('1.5')"),
        "int": Manual(
            "the number, without its fraction; of a timestamp seconds since 1970, of a duration nanoseconds",
            "int(3.9)",
        ),
        "uint": Manual("the same; an error for a negative number", "uint('5')"),
        "string": Manual("the value as text", "string(duration('90s'))"),
        "dyn": Manual("the value, of a type that is not checked", "dyn(1) == dyn(1u)"),
        "type": Manual("the type, to be compared with `int`, `string`, `list`, …", "type([1]) == list"),
    },
    "times": {
        "timestamp": Manual(
            "a time as RFC 3339 writes it, or seconds since 1970", "int(timestamp('2026-01-01T00:00:00Z'))"
        ),
        "duration": Manual("numbers with units, from `h` to `ns`", "duration('1h30m') == duration('90m')"),
        "getFullYear": Manual(
            "the year. A second operand is a time zone, by name or as `'+02:00'`, here as below; without, UTC",
            f"{_TIME}.getFullYear()",
        ),
        "getMonth": Manual("the month, from 0", f"{_TIME}.getMonth()"),
        "getDate": Manual("the day of the month, from 1", f"{_TIME}.getDate()"),
        "getDayOfMonth": Manual("the day of the month, from 0", f"{_TIME}.getDayOfMonth()"),
        "getDayOfWeek": Manual("the day of the week, from 0, which is Sunday", f"{_TIME}.getDayOfWeek()"),
        "getDayOfYear": Manual("the day of the year, from 0", f"{_TIME}.getDayOfYear()"),
        "getHours": Manual("the hour; of a duration all hours of it", f"{_TIME}.getHours('Europe/Berlin')"),
        "getMinutes": Manual("the minute; of a duration all minutes of it", "duration('1h30m').getMinutes()"),
        "getSeconds": Manual("the second; of a duration all seconds of it", "duration('1m30s').getSeconds()"),
        "getMilliseconds": Manual(
            "the milliseconds behind the second; of a duration all milliseconds of it", f"{_TIME}.getMilliseconds()"
        ),
    },
    "lists": {
        "isSorted": Manual("no element is below the one before it", "['a', 'b', 'b', 'c'].isSorted()"),
        "sum": Manual("all elements added; 0 for none. Overflow is an error", "[1, 3].sum()"),
        "min": Manual("the least element; an error for an empty list", "[1, 3].min()"),
        "max": Manual("the greatest element; an error for an empty list", "[1, 3].max()"),
        "indexOf": Manual("the place of the first that is equal; -1: none is", "[1, 2, 2, 3].indexOf(2)"),
        "lastIndexOf": Manual(
            "the place of the last that is equal; -1: none is", "['a', 'b', 'b', 'c'].lastIndexOf('b')"
        ),
        "slice": Manual(
            "from the first place to before the second; an error outside of the list", "[1, 2, 3, 4].slice(1, 3)"
        ),
        "flatten": Manual("the lists in it opened, one level deep or so many", "dyn([1, [2, [3, [4]]]]).flatten(2)"),
        "distinct": Manual("each element once, in order", "[1, 2, 2, 3, 3, 3].distinct()"),
        "reverse": Manual("the last element first", "[5, 3, 1, 2].reverse()"),
        "sort": Manual("in order, the least first", "['b', 'c', 'a'].sort()"),
        "lists.range": Manual("the numbers from 0 to before it; at most 10,000", "lists.range(5)"),
        "sortBy": Manual(
            "in order of what is made of each element, which can be compared", "['foo', 'ba', 'z'].sortBy(e, size(e))"
        ),
    },
    "sets": {
        "sets.contains": Manual("the first has every element of the second", "sets.contains([1, 2, 3, 4], [2, 3])"),
        "sets.equivalent": Manual(
            "each has every element of the other", "sets.equivalent(['a', 'b'], ['b', 'a', 'a'])"
        ),
        "sets.intersects": Manual("some element is in both", "sets.intersects([1], [1, 2])"),
    },
    "optionals": {
        "optional.of": Manual("a value that is present", "optional.of(1).hasValue()"),
        "optional.none": Manual("a value that is absent", "optional.none().orValue(2)"),
        "optional.ofNonZeroValue": Manual(
            "present, unless it is zero, false or empty", "optional.ofNonZeroValue('').hasValue()"
        ),
        "_?._": Manual(
            "the field, or key, where there is one; every further access to it is optional, too",
            "{'a': {'b': 1}}.?x.b.orValue(0)",
        ),
        "_[?_]": Manual("the element or the key's value, where there is one", "[1, 2][?5].orValue(0)"),
        "hasValue": Manual("it is present", "optional.none().hasValue()"),
        "value": Manual("the value; an error where it is absent", "optional.of('a').value()"),
        "orValue": Manual("the value, or else the other", "{'a': 1}[?'b'].orValue(0)"),
        "or": Manual("the first that is present", "optional.none().or(optional.of(3)).value()"),
        "first": Manual("the first element, where there is one", "[1, 2].first().value()"),
        "last": Manual("the last element, where there is one", "[1, 2].last().value()"),
        "optional.unwrap": Manual("the values that are present", "optional.unwrap([optional.of(1), optional.none()])"),
        "unwrapOpt": Manual("the same", "[optional.of(1), optional.none()].unwrapOpt()"),
        "optMap": Manual("what is made of the value, where there is one", "optional.of(1).optMap(x, x + 1).value()"),
        "optFlatMap": Manual(
            "the same of what is optional itself", "optional.of(1).optFlatMap(x, optional.of(x + 1)).value()"
        ),
    },
    "strings": {
        "charAt": Manual(
            "the character at a place, from 0; empty just behind the end, an error beyond", "'tacocat'.charAt(3)"
        ),
        "format": Manual(
            "the text with `%s`, `%d`, `%f`, `%e`, `%b`, `%x`, `%X` and `%o` filled in",
            "'%s %d %.1f'.format(['a', 1, 2.5])",
        ),
        "indexOf": Manual(
            "the place of the first that is equal, or the first from a place on; -1: there is none",
            "'tacocat'.indexOf('c', 3)",
        ),
        "lastIndexOf": Manual(
            "the place of the last, or the last that begins at a place or before; -1: there is none",
            "'tacocat'.lastIndexOf('c')",
        ),
        "join": Manual("the texts one behind the other, with another between them", "['a', 'b'].join('-')"),
        "lowerAscii": Manual("A to Z in small letters", "'Ab'.lowerAscii()"),
        "upperAscii": Manual("a to z in capital letters", "'Ab'.upperAscii()"),
        "trim": Manual("without white space at both ends", "' a '.trim()"),
        "replace": Manual("every second text in the place of the first, or so many of them", "'aba'.replace('a', 'c')"),
        "split": Manual("the parts between a separator, at most so many of them", "'a,b,c'.split(',', 2)"),
        "substring": Manual(
            "from a place on, or to before another; an error outside of the text", "'tacocat'.substring(0, 4)"
        ),
        "strings.quote": Manual("in double quotes, escaped", "strings.quote('a\"b')"),
    },
    "regex": {
        "find": Manual("the first match of a pattern (RE2); empty: none", "\"abc 123\".find('[0-9]+')"),
        "findAll": Manual("all matches, empty ones included, or at most so many", "\"123 abc 456\".findAll('[0-9]+')"),
    },
    "quantities": {
        "quantity": Manual(
            "the amount as Kubernetes reads it; an error if it is none",
            'quantity("200M") == quantity("0.2G") && quantity("0.2G") == quantity("200M")',
        ),
        "isQuantity": Manual("the text is one", 'isQuantity("1.3Gi")'),
        "sign": Manual("-1, 0 or 1; not a member, upstream's documentation notwithstanding", 'sign(quantity("-5"))'),
        "isGreaterThan": Manual("the first is more", 'quantity("150Mi").isGreaterThan(quantity("100Mi"))'),
        "isLessThan": Manual("the first is less", 'quantity("50M").isLessThan(quantity("50Mi"))'),
        "compareTo": Manual("-1, 0 or 1: less, equal, more", 'quantity("50M").compareTo(quantity("50Mi"))'),
        "asApproximateFloat": Manual("the amount, perhaps rounded", 'quantity("1.1Ki").asApproximateFloat()'),
        "asInteger": Manual("the amount; an error unless `isInteger()`", 'quantity("50k").asInteger()'),
        "isInteger": Manual(
            "it is held as an integer: `'2'` and `'50M'` are, `'2000m'` and `'100Ti'` are not",
            'quantity("1000m").isInteger()',
        ),
        "add": Manual("the sum", 'quantity("50k").add(20).sub(quantity("100k")).asInteger()'),
        "sub": Manual("the difference", 'quantity("50k").sub(quantity("20")) == quantity("49.98k")'),
    },
    "versions": {
        "semver": Manual(
            "the version (semver.org); an error if it is none. With `true`, `v1.2` and `01.2.0` are some too",
            'semver("v01.01", true) == semver("1.1.0")',
        ),
        "isSemver": Manual("the text is one", 'isSemver("v1.0.0")'),
        "isGreaterThan": Manual(
            "the first is newer; build metadata does not count", 'semver("1.2.3").isGreaterThan(semver("1.0.0"))'
        ),
        "isLessThan": Manual("the first is older", 'semver("1.0.0").isLessThan(semver("1.2.3"))'),
        "compareTo": Manual("-1, 0 or 1: older, equal, newer", 'semver("1.0.0-alpha").compareTo(semver("1.0.0"))'),
        "major": Manual("the first number", 'semver("1.2.3").major()'),
        "minor": Manual("the second number", 'semver("1.2.3").minor()'),
        "patch": Manual("the third number", 'semver("1.2.3").patch()'),
    },
    "addresses": {
        "ip": Manual(
            "the address; an error if it is none, has a zone or is IPv4 within IPv6", 'ip("::1") == ip("0:0::1")'
        ),
        "isIP": Manual("the text is one", 'isIP("192.168.0.1.0")'),
        "ip.isCanonical": Manual(
            "the text is the canonical form of the address; an error if it is none", 'ip.isCanonical("2001:DB8::68")'
        ),
        "family": Manual("4 or 6", 'ip("2001:db8::68").family()'),
        "isUnspecified": Manual("it is `0.0.0.0` or `::`", 'ip("::").isUnspecified()'),
        "isLoopback": Manual("it is of `127.0.0.0/8` or `::1`", 'ip("127.0.0.1").isLoopback()'),
        "isLinkLocalMulticast": Manual(
            "it is of `224.0.0.0/24`, or of `ff02::/16` with any flags", 'ip("ff02::1").isLinkLocalMulticast()'
        ),
        "isLinkLocalUnicast": Manual(
            "it is of `169.254.0.0/16` or `fe80::/10`", 'ip("169.254.169.254").isLinkLocalUnicast()'
        ),
        "isGlobalUnicast": Manual(
            "it is of one host and none of these; private addresses are", 'ip("192.168.0.1").isGlobalUnicast()'
        ),
        "string": Manual("the canonical form", 'string(ip("2001:DB8:0:0::68"))'),
    },
    "networks": {
        "cidr": Manual(
            "the network; bits behind the mask are kept. An error if it is none",
            'cidr("192.168.0.1/24") == cidr("192.168.0.0/24")',
        ),
        "isCIDR": Manual("the text is one", 'isCIDR("192.168.0.0/16")'),
        "containsIP": Manual(
            "the address is in it; an error for a text that is no address",
            'cidr("192.168.0.0/24").containsIP("192.168.0.1")',
        ),
        "containsCIDR": Manual(
            "all of the other is in it; an error for a text that is no network",
            'cidr("192.168.0.0/24").containsCIDR("192.168.0.0/25")',
        ),
        "ip": Manual("the address before the mask", 'string(cidr("192.168.0.1/24").ip())'),
        "prefixLength": Manual("the bits of the mask", 'cidr("192.168.0.0/24").prefixLength()'),
        "masked": Manual("the same without the bits behind the mask", 'string(cidr("192.168.0.1/24").masked())'),
        "string": Manual("the address, `/` and the bits of the mask", 'string(cidr("192.168.0.0/24"))'),
    },
    "urls": {
        "url": Manual(
            "an absolute URI or an absolute path, as Go reads it; an error if it is none",
            "url('HTTP://example.com/a') == url('http://example.com/a')",
        ),
        "isURL": Manual("the text is one", "isURL('../relative-path')"),
        "getScheme": Manual(
            "what is before the colon, in small letters; empty: absent", "url('HTTPS://example.com/').getScheme()"
        ),
        "getHost": Manual("host and port; empty: absent", "url('https://[::1]:80/').getHost()"),
        "getHostname": Manual(
            "the host without port and brackets; empty: absent", "url('https://[::1]:80/').getHostname()"
        ),
        "getPort": Manual("the port; empty: absent", "url('https://example.com:80/').getPort()"),
        "getEscapedPath": Manual("the path, escaped", "url('https://example.com/path with spaces/').getEscapedPath()"),
        "getQuery": Manual(
            "the values of each parameter, unescaped", "url('https://example.com/path?k1=a&k2=b&k2=c').getQuery()['k2']"
        ),
    },
    "formats": {
        "format.named": Manual(
            "one of the formats below, by its name; absent: there is none", 'format.named("unknown").hasValue()'
        ),
        "validate": Manual("what is wrong with the text; absent: nothing", 'format.uuid().validate("123").value()'),
        "format.dns1123Label": Manual(
            "a label of DNS: the name of a Namespace", 'format.dns1123Label().validate("a.b").hasValue()'
        ),
        "format.dns1123Subdomain": Manual(
            "labels with dots between: the name of most objects",
            'format.dns1123Subdomain().validate("apiextensions.k8s.io").hasValue()',
        ),
        "format.dns1035Label": Manual(
            "a label that begins with a letter: the name of a Service",
            'format.dns1035Label().validate("my-label-name").hasValue()',
        ),
        "format.qualifiedName": Manual(
            "the key of a label or an annotation", 'format.qualifiedName().validate("/a").value()'
        ),
        "format.dns1123LabelPrefix": Manual(
            "the beginning of such a label, which may end in a dash",
            'format.dns1123LabelPrefix().validate("my-label-prefix-").hasValue()',
        ),
        "format.dns1123SubdomainPrefix": Manual(
            "the beginning of such labels, which may end in a dash: `generateName`",
            'format.dns1123SubdomainPrefix().validate("mysubdomain.prefix.-").hasValue()',
        ),
        "format.dns1035LabelPrefix": Manual(
            "the same of a label that begins with a letter",
            'format.dns1035LabelPrefix().validate("my-label-prefix-").hasValue()',
        ),
        "format.labelValue": Manual(
            "the value of a label", 'format.labelValue().validate("my-cool-label-Value").hasValue()'
        ),
        "format.uri": Manual("as `isURL` has it", 'format.uri().validate("../a").value()'),
        "format.uuid": Manual(
            "a UUID, with dashes or without", 'format.uuid().validate("123E4567e89b12d3a456426614174000").hasValue()'
        ),
        "format.byte": Manual("base64", 'format.byte().validate("aGVsbG8").value()'),
        "format.date": Manual("a day as RFC 3339 writes it", 'format.date().validate("2021-02-29").value()'),
        "format.datetime": Manual(
            "a time as RFC 3339 writes it", 'format.datetime().validate("2021-01-01T24:00:00Z").value()'
        ),
    },
}
"""By the table of the page and the function's name as the code has it."""
