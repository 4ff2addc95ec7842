"""Atomic writes, safe opens, compression limits, checksums and manifests."""
