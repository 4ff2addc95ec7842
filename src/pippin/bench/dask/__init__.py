"""Where one machine ends: cells, partitions and trees on the workers of a Dask cluster."""
