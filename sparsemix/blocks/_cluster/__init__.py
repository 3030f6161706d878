"""A fit over blocks by the workers of a Dask cluster."""
