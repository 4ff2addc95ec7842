"""Run work on a Dask cluster; the only package that imports Dask."""
