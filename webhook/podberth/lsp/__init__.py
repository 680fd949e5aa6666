"""The language server of policies: diagnostics, completion, hover, definitions and fixes in an editor.

``answers`` is the pure part: from the text of a document and a position to an answer. ``manual`` has the sentences of
the manual about names and functions. ``folder`` reads the files next to a document, and ``protocol`` speaks with the
editor.
"""
