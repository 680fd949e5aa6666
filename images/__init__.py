"""Builds podberth's two images as OCI archives, without a container engine and without root: `make images`.

An image is three layers: Debian's Python (`debian`), the wheels of a lock (`wheels`), and podberth. `recipe` says what
is in them, `layers` and `archive` write them so that the same inputs give the same bytes, and `spdx` lists them.
docs/adr/0046-images.md has the reasons. Nothing of this is in the images.
"""
