"""Expressions with constants that the API server refuses when a policy is created, and some that it takes."""

REFUSED = {
    # Each with a part of what podberth says.
    "''.matches('[a')": "'[a', want a regular expression of RE2",
    "matches('', '(')": "'(', want a regular expression of RE2",
    "'x'.matches('\\\\C')": "want a regular expression of RE2",
    "'x'.find('(') == ''": "'(', want a regular expression of RE2",
    "'x'.findAll('(', 1 + 1).size() == 0": "'(', want a regular expression of RE2",
    "dyn('x').matches('*')": "'*', want a regular expression of RE2",
    "['x'].exists(x, x.matches('*'))": "'*', want a regular expression of RE2",
    "false && duration('1d') > duration('1h')": "'1d', want numbers with",
    "timestamp('not a time') < timestamp('2026-01-01T00:00:00Z')": "'not a time', want a time",
    "int('x') == 1": "'x', want a whole number",
    "int(string('x')) == 1": "'x', want a whole number",
    "int(1e99) == 1": "1e+99, want a whole",
    "uint(-1) == 1u": "-1, want a whole number from 0",
    "bool('yes')": "'yes', want true or false",
}
TAKEN = (
    "'x'.matches('^[a-z]+$')",
    "'x'.find('a') == ''",
    "object.metadata.?name.orValue('').matches('a' + '[')",
    "duration('90s') < duration('1h30m')",
    "int('12') == 12 && string(1) == '1' && type('x') == string",
    "quantity('1KiB').isGreaterThan(quantity('1'))",
    "isQuantity('1KiB')",
    "'a'.matches(object.metadata.?name.orValue('('))",
)
