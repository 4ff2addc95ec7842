"""The targets of `pippin export`: one file each, which registers itself."""
