"""The answers of the language server, as pure functions of texts and a position.

Positions are pairs of line and column, which count from 0; columns count characters. ``protocol`` converts them to the
units of the editor. The findings are those of ``podberth lint`` and of the parser of test suites.
"""
