"""The images that `make images` builds: what is in them, and podberth run from them."""
